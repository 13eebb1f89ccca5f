/* Networks from lists of labels, and the table of logarithms of sums. */
#include "network.h"

Log log_of_sum[1024];

static __attribute__((constructor)) void log_of_sum_make(void) {
    for (int i = 0; i < 1024; i++) log_of_sum[i] = (Log)lrint(ONE * log2(1 + exp2(-i / 32.0)));
}

/* How often each label occurs in different terms. */
static int *occurrences(Memory *memory, const Description *from) {
    int *counts = ZEROS(memory, int, from->labels + 1);
    for (int i = 0; i < from->starts[from->terms]; i++) counts[from->numbers[i]]++;
    return counts;
}

/* Positions of labels of one extent follow each other; with `apart` each extent begins a new word. -1: not in sets. */
static int place_labels(const Description *from, const int *order, int kept, bool apart, int *place) {
    int next = 0;
    for (int i = 0; i < from->labels; i++) place[i] = -1;
    for (int i = 0; i < kept; i++) {
        if (apart && i && from->bits[order[i]] != from->bits[order[i - 1]]) next = (next + 63) & ~63;
        place[order[i]] = next++;
    }
    return next;
}

typedef struct {
    double bits;
    int label;
} Extent;

static int by_extent(const void *a, const void *b) {
    const Extent *x = a, *y = b;
    if (x->bits != y->bits) return x->bits < y->bits ? -1 : 1;
    return (x->label > y->label) - (x->label < y->label);
}

/* Up to 8 words are as they come; more are whole vectors of eight. */
static int whole_words(int places) {
    int words = places > 64 ? (places + 63) / 64 : 1;
    return words > 8 ? (words + 7) & ~7 : words;
}

static void weigh_words(Memory *memory, Network *network, double unit) {
    Log *weights = ZEROS(memory, Log, network->words);
    for (int w = 0; w < network->words; w++)
        for (int p = w * 64; p < w * 64 + 64; p++)
            if (network->labels[p] >= 0) weights[w] = (Log)lrint(unit * network->bits[p]);
    network->weights = weights;
}

static void weigh_bytes(Memory *memory, Network *network, double unit) {
    Log *weights = ZEROS(memory, Log, network->words * 8 * 256);
    for (int byte = 0; byte < network->words * 8; byte++) {
        Log *table = weights + byte * 256;
        for (int value = 1; value < 256; value++) {
            int p = byte * 8 + lowest((Word)value);
            table[value] = table[value & (value - 1)] + (Log)lrint(unit * network->bits[p]);
        }
    }
    network->weights = weights;
}

Network network_make(Memory *memory, const Description *from) {
    int *counts = occurrences(memory, from), *order = TAKE(memory, int, from->labels + 1);
    int *place = TAKE(memory, int, from->labels + 1), kept = 0, extents = 0;
    Extent *sorted = TAKE(memory, Extent, from->labels + 1);
    double total = 0;
    for (int i = 0; i < from->labels; i++) {
        if (from->bits[i] > 0 && counts[i] + from->in_output[i] > 1) {
            sorted[kept++] = (Extent){from->bits[i], i};
            total += from->bits[i];
        }
    }
    qsort(sorted, (size_t)kept, sizeof *sorted, by_extent);
    for (int i = 0; i < kept; i++) {
        order[i] = sorted[i].label;
        extents += !i || sorted[i].bits != sorted[i - 1].bits;
    }
    int words = whole_words(place_labels(from, order, kept, true, place));
    Weighing weighing = extents < 2 ? ONE_WEIGHT : WEIGHT_PER_WORD;
    if (words > 2 * whole_words(kept) + 1) {
        weighing = WEIGHT_PER_LABEL;
        words = whole_words(place_labels(from, order, kept, false, place));
    }
    int *labels = TAKE(memory, int, words * 64);
    double *bits = ZEROS(memory, double, words * 64);
    Word *sets = ZEROS(memory, Word, (size_t)from->terms * (size_t)words), *output = ZEROS(memory, Word, words);
    for (int p = 0; p < words * 64; p++) labels[p] = -1;
    for (int i = 0; i < kept; i++) {
        int label = order[i], p = place[label];
        labels[p] = label;
        bits[p] = from->bits[label];
        if (from->in_output[label]) output[p >> 6] |= bit(p);
    }
    for (int term = 0; term < from->terms; term++) {
        for (int i = from->starts[term]; i < from->starts[term + 1]; i++) {
            int p = place[from->numbers[i]];
            if (p >= 0) own_row(sets, term, words)[p >> 6] |= bit(p);
        }
    }
    double unit = ONE;
    while (total * unit > (double)(1 << 28)) unit /= 2; /* coarser, where sums would not fit */
    bool exact = unit == ONE;
    for (int p = 0; p < words * 64; p++) exact &= ONE * bits[p] == rint(ONE * bits[p]);
    Network network = {from->terms, words, weighing, 0, NULL, sets, output, labels, bits, exact};
    if (weighing == WEIGHT_PER_LABEL) weigh_bytes(memory, &network, unit);
    else weigh_words(memory, &network, unit);
    network.weight = weighing == ONE_WEIGHT ? network.weights[0] : 0;
    return network;
}

Log label_weight(const Network *network, int position) {
    if (network->weighing == WEIGHT_PER_LABEL) return network->weights[(position >> 3) * 256 + (1 << (position & 7))];
    return network->weights[position >> 6];
}
