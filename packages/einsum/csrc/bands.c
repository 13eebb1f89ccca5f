/* Cutting a network in bands. */
#include "bands.h"
#include "directions.h"

enum { FEWEST_TERMS = 8 };              /* that are cut */
enum { TRIED = PIVOTS * (PIVOTS - 1) }; /* directions for each part: all sums and differences */
static const double LEAST_SHARE = 0.3;  /* of the terms, in each of two parts */

typedef struct {
    Memory *memory;
    const Network *network; /* without the labels that are sliced */
    Word *sets;             /* its terms */
    Parts parts;
    Directions directions; /* of the whole network */
    Slices *slices;
    Log size;            /* that results may have */
    double dearest;      /* weight of slices at which it is given up */
    int *order, ordered; /* terms of the parts that are done */
    int *total, *before; /* of each label: terms of a part that have it; those before a place */
} Bands;

/* The widest boundary of an order of terms, and how many come before its narrowest place, the nearer to the middle the
   better. */
typedef struct {
    Log widest;
    int place;
    double narrowest;
} Scan;

static void count_holders(const Network *network, const int *terms, int count, int *holders) {
    memset(holders, 0, (size_t)network->words * 64 * sizeof *holders);
    for (int i = 0; i < count; i++) {
        Positions each = positions(row(network->sets, terms[i], network->words), network->words);
        for (int p; (p = next_position(&each)) >= 0;) holders[p]++;
    }
}

static Scan scan(Bands *bands, const int *terms, int count) {
    const Network *network = bands->network;
    Scan found = {0, count / 2, INFINITY};
    Log crossing = 0;
    memset(bands->before, 0, (size_t)network->words * 64 * sizeof *bands->before);
    for (int i = 0; i < count; i++) {
        Positions each = positions(row(network->sets, terms[i], network->words), network->words);
        for (int p; (p = next_position(&each)) >= 0;) {
            if (!bands->before[p]++) crossing += label_weight(network, p);
            if (bands->before[p] == bands->total[p]) crossing -= label_weight(network, p);
        }
        if (crossing > found.widest) found.widest = crossing;
        double share = (i + 1.0) / count, score = crossing * (1 + fabs(2 * share - 1));
        if (share < LEAST_SHARE || share > 1 - LEAST_SHARE || score >= found.narrowest) continue;
        found.narrowest = score;
        found.place = i + 1;
    }
    bands->parts.work += 6 * count;
    return found;
}

/* Slices what both parts have of terms that are cut at a place; what is in the output stays. */
static void slice_across(Bands *bands, const int *terms, int count, int place) {
    const Network *network = bands->network;
    count_holders(network, terms, place, bands->before);
    for (int p = 0; p < network->words * 64; p++) {
        if (!bands->before[p] || bands->before[p] == bands->total[p] || has(network->output, p)) continue;
        bands->slices->labels[p >> 6] |= bit(p);
        bands->slices->weight += label_weight(network, p);
        for (int i = 0; i < count; i++) own_row(bands->sets, terms[i], network->words)[p >> 6] &= ~bit(p);
    }
}

static void cut(Bands *bands, int *terms, int count) {
    if (bands->slices->weight >= bands->dearest) return;
    Mark mark = memory_mark(bands->memory);
    int *tried = TAKE(bands->memory, int, count), *order = TAKE(bands->memory, int, count);
    Scan best = {INT32_MAX, 0, INFINITY};
    count_holders(bands->network, terms, count, bands->total);
    bands->directions.drawn = 0;
    for (int i = 0; i < TRIED; i++) {
        Direction direction = direction_draw(&bands->directions, bands->parts.random);
        memcpy(tried, terms, (size_t)count * sizeof *tried);
        directions_sort(&bands->directions, &direction, tried, count);
        Scan found = scan(bands, tried, count);
        if (found.widest >= best.widest) continue;
        best = found;
        memcpy(order, tried, (size_t)count * sizeof *order);
    }
    memcpy(terms, order, (size_t)count * sizeof *terms);
    memory_release(bands->memory, mark);
    if (best.widest > bands->size && count >= FEWEST_TERMS) {
        slice_across(bands, terms, count, best.place);
        cut(bands, terms, best.place);
        cut(bands, terms + best.place, count - best.place);
        return;
    }
    memcpy(bands->order + bands->ordered, terms, (size_t)count * sizeof *terms);
    bands->ordered += count;
}

int64_t banded_tree(Memory *memory, const Network *network, Log size, double dearest, Random *random, Tree *tree,
                    Slices *slices) {
    Mark mark = memory_mark(memory);
    const size_t words = (size_t)network->terms * (size_t)network->words;
    Network rest = *network;
    Bands bands = {
        .memory = memory,
        .network = &rest,
        .sets = TAKE(memory, Word, words),
        .parts = parts_take(memory, network, random),
        .slices = slices,
        .size = size,
        .dearest = dearest,
        .order = TAKE(memory, int, network->terms),
        .total = TAKE(memory, int, network->words * 64),
        .before = TAKE(memory, int, network->words * 64),
    };
    int *terms = TAKE(memory, int, network->terms);
    bands.directions = directions_take(memory, &bands.parts);
    memcpy(bands.sets, network->sets, words * sizeof *bands.sets);
    rest.sets = bands.sets;
    for (int i = 0; i < network->terms; i++) terms[i] = i;
    slices_clear(network, slices);
    cut(&bands, terms, network->terms);
    if (bands.ordered == network->terms) chain_tree(network, bands.order, tree);
    memory_release(memory, mark);
    return bands.parts.work;
}
