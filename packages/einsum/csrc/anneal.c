/* Rotations, for the instruction sets that count bits fast. */
#include "anneal.h"

enum { SURPRISES = 4096 };

static float surprise[SURPRISES]; /* -log(u) for u in (0, 1): what a worse tree has to beat */

static __attribute__((constructor)) void surprise_make(void) {
    for (int i = 0; i < SURPRISES; i++) surprise[i] = (float)-log((i + 0.5) / SURPRISES);
}

#define SUFFIXED(name) name##_plain
#define TARGET
#define COUNT_BITS count_bits
#include "anneal_loop.h"

#ifdef __x86_64__
#define SUFFIXED(name) name##_popcnt
#define TARGET __attribute__((target("popcnt,bmi,bmi2,avx2")))
#define COUNT_BITS __builtin_popcountll
#include "anneal_loop.h"

#define SUFFIXED(name) name##_avx512
#define TARGET __attribute__((target("popcnt,bmi,bmi2,avx2,avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq")))
#define COUNT_BITS __builtin_popcountll
#include "anneal_loop.h"
#endif

void rotate(const Network *network, const Aim *aim, Tree *tree, double temperature, int64_t count, Random *random) {
    const float colder = (float)(1 / (temperature * ONE));
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512vpopcntdq") && __builtin_cpu_supports("avx512vl")) {
        rotate_avx512(network, aim, tree, colder, count, random);
        return;
    }
    if (__builtin_cpu_supports("popcnt") && __builtin_cpu_supports("avx2")) {
        rotate_popcnt(network, aim, tree, colder, count, random);
        return;
    }
#endif
    rotate_plain(network, aim, tree, colder, count, random);
}
