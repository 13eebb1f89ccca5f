/* Cutting a network in bands. */
#include "bands.h"
#include "directions.h"

enum { FEWEST_TERMS = 8, MOST_PARTS = 8 }; /* that are cut, and at once */
enum { TRIED = PIVOTS * (PIVOTS - 1) };    /* directions for each part: all sums and differences */

static const double NEAR = 0.4;    /* of the share that is cut off: so much less of it, or more */
static const double UNLIKE = 0.15; /* directions are across each other if first halves share so nearly a half */
static const double SECONDS_OF_TERM = 1.5e-6; /* that a cut takes, to measure a part and to try all directions */

typedef struct {
    Memory *memory;
    const Network *network;
    Parts parts;
    Directions directions; /* of the part at hand */
    Slices *slices;
    Log size;             /* that may live at once */
    double dearest;       /* weight of slices at which it is given up */
    bool halves;          /* parts are cut in the middle of their narrowest direction, as suits networks without any */
    int *order, ordered;  /* terms of the parts that are done */
    int *starts, *labels; /* of each term */
    Log *weights;         /* of each label; 0 once it is sliced */
    double seconds;       /* that all cuts take */
    bool *first_half;     /* of each term */
    int *total, *before;  /* of each label: terms of a part that have it; those before a place */
} Bands;

/* The most that lives at once when terms are joined in their order; how many come before its narrowest place near a share
   of them, and what crosses there. */
typedef struct {
    Log most, crossing;
    int place;
} Scan;

typedef struct {
    Scan scan;
    int *terms;
} Tried;

static void list_labels(Bands *bands) {
    const Network *network = bands->network;
    int count = 0;
    for (int term = 0; term < network->terms; term++) {
        bands->starts[term] = count;
        for (int w = 0; w < network->words; w++) count += count_bits(row(network->sets, term, network->words)[w]);
    }
    bands->starts[network->terms] = count;
    bands->labels = TAKE(bands->memory, int, count + 1);
    for (int term = 0; term < network->terms; term++) {
        Positions each = positions(row(network->sets, term, network->words), network->words);
        for (int i = bands->starts[term]; i < bands->starts[term + 1]; i++) bands->labels[i] = next_position(&each);
    }
    for (int p = 0; p < network->words * 64; p++)
        bands->weights[p] = network->labels[p] < 0 ? 0 : label_weight(network, p);
}

static void count_holders(const Bands *bands, const int *terms, int count, int *holders) {
    memset(holders, 0, (size_t)bands->network->words * 64 * sizeof *holders);
    for (int i = 0; i < count; i++)
        for (int k = bands->starts[terms[i]]; k < bands->starts[terms[i] + 1]; k++) holders[bands->labels[k]]++;
}

static Scan scan(Bands *bands, const int *terms, int count, double wanted) {
    Scan found = {0, 0, count / 2};
    Log crossing = 0;
    double narrowest = INFINITY;
    memset(bands->before, 0, (size_t)bands->network->words * 64 * sizeof *bands->before);
    for (int i = 0; i < count; i++) {
        const Log previous = crossing;
        for (int k = bands->starts[terms[i]]; k < bands->starts[terms[i] + 1]; k++) {
            const int p = bands->labels[k], before = ++bands->before[p];
            if (before == 1) crossing += bands->weights[p];
            if (before == bands->total[p]) crossing -= bands->weights[p];
        }
        if (i && add_logs(previous, crossing) > found.most) found.most = add_logs(previous, crossing);
        const double off = fabs((i + 1.0) / count / wanted - 1), score = crossing * (1 + off);
        if (off > NEAR || i + 1 == count || score >= narrowest) continue;
        narrowest = score;
        found.place = i + 1;
        found.crossing = crossing;
    }
    return found;
}

/* Slices what both parts have of terms that are cut at a place; what is in the output stays. */
static void slice_across(Bands *bands, const int *terms, int place) {
    const Network *network = bands->network;
    count_holders(bands, terms, place, bands->before);
    for (int p = 0; p < network->words * 64; p++) {
        const bool crosses = bands->before[p] && bands->before[p] < bands->total[p];
        if (!crosses || !bands->weights[p] || has(network->output, p)) continue;
        bands->slices->labels[p >> 6] |= bit(p);
        bands->slices->weight += bands->weights[p];
        bands->weights[p] = 0;
    }
}

/* The direction along which least lives at once, of those that are across another one; NULL if there is none. */
static const Tried *narrowest(Bands *bands, const Tried *tried, int count, const Tried *across) {
    const Tried *best = NULL;
    for (int i = 0; across && i < count; i++) bands->first_half[across->terms[i]] = 2 * i < count;
    for (int i = 0; i < TRIED; i++) {
        if (best && tried[i].scan.most >= best->scan.most) continue;
        int shared = 0;
        for (int k = 0; across && 2 * k < count; k++) shared += bands->first_half[tried[i].terms[k]];
        if (across && fabs(2.0 * shared / count - 0.5) > UNLIKE) continue;
        best = &tried[i];
    }
    return best;
}

/* In how many parts to cut along one direction, until sweeps along the other are narrow enough. */
static int parts_along(const Bands *bands, const Tried *other) {
    const double room = bands->size - (other->scan.most - other->scan.crossing);
    const double parts = room > 0 ? ceil(other->scan.crossing / room) : MOST_PARTS;
    return (int)fmin(MOST_PARTS, fmax(2, parts));
}

/* Sorts a part along the direction in which it is swept or cut, and finds the place to cut it. */
static Scan choose_direction(Bands *bands, int *terms, int count) {
    Mark mark = memory_mark(bands->memory);
    Random *random = bands->parts.random;
    Tried tried[TRIED];
    directions_measure(&bands->directions, bands->memory, &bands->parts, bands->slices->labels, terms, count);
    for (int i = 0; i < TRIED; i++) {
        const Direction direction = direction_draw(&bands->directions, random);
        tried[i].terms = TAKE(bands->memory, int, count);
        memcpy(tried[i].terms, terms, (size_t)count * sizeof *terms);
        directions_sort(&bands->directions, &direction, tried[i].terms, count);
        tried[i].scan = scan(bands, tried[i].terms, count, 0.5);
    }
    const Tried *along = narrowest(bands, tried, count, NULL), *across = narrowest(bands, tried, count, along);
    const Tried *chosen = along;
    Scan found = along->scan;
    if (found.most > bands->size && !bands->halves) {
        int parts = parts_along(bands, across ? across : along);
        if (across) {
            const int others = parts_along(bands, along);
            if ((others - 1.0) * across->scan.crossing < (parts - 1.0) * along->scan.crossing) {
                chosen = across;
                parts = others;
            }
        }
        found = scan(bands, chosen->terms, count, 1.0 / parts);
        found.most = along->scan.most;
    }
    memcpy(terms, chosen->terms, (size_t)count * sizeof *terms);
    memory_release(bands->memory, mark);
    return found;
}

static void cut(Bands *bands, int *terms, int count) {
    if (bands->slices->weight >= bands->dearest) return;
    bands->seconds += SECONDS_OF_TERM * count;
    count_holders(bands, terms, count, bands->total);
    const Scan found = choose_direction(bands, terms, count);
    if (found.most > bands->size && count >= FEWEST_TERMS) {
        slice_across(bands, terms, found.place);
        cut(bands, terms, found.place);
        cut(bands, terms + found.place, count - found.place);
        return;
    }
    memcpy(bands->order + bands->ordered, terms, (size_t)count * sizeof *terms);
    bands->ordered += count;
}

int64_t banded_tree(Memory *memory, const Network *network, Log size, double dearest, bool halves, Random *random,
                    Tree *tree, Slices *slices) {
    Mark mark = memory_mark(memory);
    Bands bands = {
        .memory = memory,
        .network = network,
        .parts = parts_take(memory, network, random),
        .directions = directions_take(memory, network),
        .slices = slices,
        .size = size,
        .dearest = dearest,
        .halves = halves,
        .order = TAKE(memory, int, network->terms),
        .starts = TAKE(memory, int, network->terms + 1),
        .weights = TAKE(memory, Log, network->words * 64),
        .total = TAKE(memory, int, network->words * 64),
        .before = TAKE(memory, int, network->words * 64),
        .first_half = ZEROS(memory, bool, network->terms),
    };
    int *terms = TAKE(memory, int, network->terms);
    for (int i = 0; i < network->terms; i++) terms[i] = i;
    list_labels(&bands);
    slices_clear(network, slices);
    cut(&bands, terms, network->terms);
    if (bands.ordered == network->terms) chain_tree(network, bands.order, tree);
    memory_release(memory, mark);
    return (int64_t)(bands.seconds / seconds_of_work(network));
}
