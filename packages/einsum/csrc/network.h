/* Networks: terms as sets of labels, and how much a set weighs. What is minimised. */
#ifndef SEARCH_NETWORK_H
#define SEARCH_NETWORK_H

#include "memory.h"

/* How the weight of a set is found. Labels of one extent share words where that takes few words, so that bits are
   counted and multiplied; otherwise each byte of a set is looked up. */
typedef enum { ONE_WEIGHT, WEIGHT_PER_WORD, WEIGHT_PER_LABEL } Weighing;

/* Sets hold only labels that two terms have, or a term and the output: all others are summed before. */
typedef struct {
    int terms, words;
    Weighing weighing;
    Log weight;         /* of every label, with ONE_WEIGHT */
    const Log *weights; /* by word, or by byte and its value */
    const Word *sets;   /* of each term */
    const Word *output;
    const int *labels;  /* number of the label at each position, or -1 */
    const double *bits; /* log2 of the extent at each position */
    bool exact;         /* whether weights are these bits exactly, as those of powers of 2 */
} Network;

/* What a network is made from. Term i has numbers[starts[i]] up to numbers[starts[i + 1]]. */
typedef struct {
    int terms, labels;
    const int *starts, *numbers;
    const double *bits;
    const bool *in_output;
    const int *output; /* in order */
    int output_count;
} Description;

Network network_make(Memory *memory, const Description *description);

static inline Log weigh(const Network *network, const Word *set) {
    int words = network->words;
    Log sum = 0;
    if (network->weighing == WEIGHT_PER_LABEL) {
        const Log *table = network->weights;
        for (int w = 0; w < words; w++)
            for (int byte = 0; byte < 8; byte++, table += 256) sum += table[set[w] >> (8 * byte) & 255];
    } else {
        for (int w = 0; w < words; w++) sum += network->weights[w] * count_bits(set[w]);
    }
    return sum;
}

static inline Log weigh_either(const Network *network, const Word *a, const Word *b) {
    int words = network->words;
    Log sum = 0;
    if (network->weighing == WEIGHT_PER_LABEL) {
        const Log *table = network->weights;
        for (int w = 0; w < words; w++)
            for (int byte = 0; byte < 8; byte++, table += 256) sum += table[(a[w] | b[w]) >> (8 * byte) & 255];
    } else {
        for (int w = 0; w < words; w++) sum += network->weights[w] * count_bits(a[w] | b[w]);
    }
    return sum;
}

/* How long a rotation takes, as processors are today. */
static inline double seconds_of_work(const Network *network) { return 25e-9 + 2e-9 * network->words; }

Log label_weight(const Network *network, int position);

/* What a contraction costs: its products, and its result as often as it is moved; as if elements were products. */
typedef struct {
    bool products;  /* whether they count */
    int size_power; /* of the size of a result: 0, 1, or 2 where the largest is what counts */
    Log element;    /* weight of that power of the size */
    Log cached;     /* results above take longer to move; INT32_MAX where that does not count */
    Log uncached;   /* by so much more */
    Log largest;    /* results above are slowly priced out; INT32_MAX without a limit */
} Aim;

extern Log log_of_sum[1024]; /* log2(1 + 2^-x) for x in steps of 1/32 */

static inline Log add_logs(Log a, Log b) {
    Log high = a > b ? a : b, index = (high - (a > b ? b : a) + 64) >> 7;
    return index < 1024 ? high + log_of_sum[index] : high;
}

static inline Log cost_of(const Aim *aim, Log products, Log size) {
    if (!aim->size_power) return products;
    Log moved = aim->size_power * size + aim->element + (size > aim->cached ? aim->uncached : 0);
    return aim->products ? add_logs(products, moved) : moved;
}

#endif
