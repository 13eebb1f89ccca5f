/* What every file of the search uses: logarithms as whole numbers, sets of labels as words, random numbers, the clock. */
#ifndef SEARCH_COMMON_H
#define SEARCH_COMMON_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef uint64_t Word;

/* A logarithm to the base 2 in units of 1/4096: sums of weights are exact, in any order and on any processor. */
typedef int32_t Log;
enum { ONE = 4096, NEVER = -(1 << 28) };

static inline double seconds_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static inline int lowest(Word word) { return __builtin_ctzll(word); }
/* As sums of ever wider fields: without an instruction for it the compiler would call a function. */
static inline int count_bits(Word word) {
    word -= word >> 1 & 0x5555555555555555;
    word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333);
    word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0f;
    return (int)(word * 0x0101010101010101 >> 56);
}
static inline Word bit(int position) { return (Word)1 << (position & 63); }
static inline bool has(const Word *set, int position) { return set[position >> 6] >> (position & 63) & 1; }
static inline const Word *row(const Word *sets, int number, int words) { return sets + (size_t)number * (size_t)words; }
static inline Word *own_row(Word *sets, int number, int words) { return sets + (size_t)number * (size_t)words; }

/* Each position of a set in turn: for (EACH(position, set, words)). */
typedef struct {
    const Word *set;
    int words, word;
    Word left;
} Positions;

static inline Positions positions(const Word *set, int words) { return (Positions){set, words, 0, words ? set[0] : 0}; }
static inline int next_position(Positions *p) {
    while (!p->left) {
        if (++p->word >= p->words) return -1;
        p->left = p->set[p->word];
    }
    int found = p->word * 64 + lowest(p->left);
    p->left &= p->left - 1;
    return found;
}

/* xoshiro256++ of Blackman and Vigna, seeded by their splitmix64. */
typedef struct {
    uint64_t state[4];
} Random;

static inline uint64_t rotated(uint64_t x, int by) { return (x << by) | (x >> (64 - by)); }

static inline uint64_t random_bits(Random *random) {
    uint64_t *s = random->state, result = rotated(s[0] + s[3], 23) + s[0], t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotated(s[3], 45);
    return result;
}

static inline double random_unit(Random *random) { return ((double)(random_bits(random) >> 11) + 0.5) * 0x1p-53; }
static inline int random_below(Random *random, int count) {
    return (int)(((random_bits(random) >> 32) * (uint64_t)count) >> 32);
}

static inline void random_seed(Random *random, uint64_t seed) {
    for (int i = 0; i < 4; i++) {
        uint64_t z = (seed += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        random->state[i] = z ^ (z >> 31);
    }
}

#endif
