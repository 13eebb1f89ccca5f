/* Choosing labels to slice. */
#include "slices.h"

static const double NEARLY = 0.05, EXACTLY = 1e-10; /* bits: what rounded weights may add up to, and exact ones */

Slices slices_take(Memory *memory, const Network *network) { return (Slices){ZEROS(memory, Word, network->words), 0}; }

void slices_copy(const Network *network, Slices *to, const Slices *from) {
    to->weight = from->weight;
    memcpy(to->labels, from->labels, (size_t)network->words * sizeof *to->labels);
}

void slices_clear(const Network *network, Slices *slices) {
    slices->weight = 0;
    memset(slices->labels, 0, (size_t)network->words * sizeof *slices->labels);
}

/* For each label, what the contractions cost that have it, in units of the whole tree. */
static void share_of_labels(const Network *network, const Tree *tree, double *shares) {
    int words = network->words;
    double whole = tree_cost(tree);
    for (int node = tree->terms; node < 2 * tree->terms - 1; node++) {
        double part = ((double)tree->cost[node] - whole) / ONE;
        if (part < -40) continue;
        part = exp2(part);
        const Word *a = row(tree->legs, tree->left[node], words), *b = row(tree->legs, tree->right[node], words);
        for (int w = 0; w < words; w++)
            for (Word left = a[w] | b[w]; left; left &= left - 1) shares[w * 64 + lowest(left)] += part;
    }
}

static int largest_node(const Tree *tree) {
    int largest = tree->terms;
    for (int node = tree->terms; node < 2 * tree->terms - 1; node++)
        if (tree->size[node] > tree->size[largest]) largest = node;
    return largest;
}

void slices_cut(const Network *network, const Aim *aim, Tree *tree, Slices *slices, int position) {
    int words = network->words;
    for (int node = tree->terms; node < 2 * tree->terms - 1; node++) { /* prices first: children still have the label */
        const Word *a = row(tree->legs, tree->left[node], words), *b = row(tree->legs, tree->right[node], words);
        if (!has(a, position) && !has(b, position)) continue;
        Log weight = label_weight(network, position), products = weigh_either(network, a, b) - weight;
        if (has(row(tree->legs, node, words), position)) tree->size[node] -= weight;
        tree->cost[node] = cost_of(aim, products, tree->size[node]);
    }
    for (int node = 0; node < 2 * tree->terms - 1; node++) {
        Word *legs = own_row(tree->legs, node, words);
        if (is_term(tree, node) && has(legs, position)) tree->size[node] -= label_weight(network, position);
        legs[position >> 6] &= ~bit(position);
    }
    slices->labels[position >> 6] |= bit(position);
    slices->weight += label_weight(network, position);
}

/* Whether each node has a label that is sliced, if it were not. */
static bool *nodes_with(Memory *memory, const Network *network, const Tree *tree, int position) {
    const int terms = network->terms, words = network->words;
    int *order = TAKE(memory, int, terms), *inside = TAKE(memory, int, 2 * terms),
        total = has(network->output, position);
    bool *with = TAKE(memory, bool, 2 * terms);
    for (int term = 0; term < terms; term++) {
        with[term] = has(row(network->sets, term, words), position);
        inside[term] = with[term];
        total += with[term];
    }
    tree_order(memory, tree, order);
    for (int i = 0; i < terms - 1; i++) {
        const int node = order[i];
        inside[node] = inside[tree->left[node]] + inside[tree->right[node]];
        with[node] = inside[node] && inside[node] < total;
    }
    return with;
}

void slices_take_out(Memory *memory, const Network *network, const Aim *aim, Tree *tree, Slices *slices, int position) {
    Mark mark = memory_mark(memory);
    const bool *with = nodes_with(memory, network, tree, position);
    const Log weight = label_weight(network, position);
    const int words = network->words;
    for (int node = 0; node < 2 * tree->terms - 1; node++) {
        if (!with[node]) continue;
        own_row(tree->legs, node, words)[position >> 6] |= bit(position);
        tree->size[node] += weight;
    }
    for (int node = tree->terms; node < 2 * tree->terms - 1; node++) {
        if (!with[tree->left[node]] && !with[tree->right[node]]) continue;
        const Word *a = row(tree->legs, tree->left[node], words), *b = row(tree->legs, tree->right[node], words);
        tree->cost[node] = cost_of(aim, weigh_either(network, a, b), tree->size[node]);
    }
    slices->labels[position >> 6] &= ~bit(position);
    slices->weight -= weight;
    memory_release(memory, mark);
}

/* The label of a result that costs least to slice, for each bit, by what contractions with each cost; -1 where it has
   none. */
static int cheapest(const Network *network, const Tree *tree, int node, const double *shares, double noise,
                    Random *random) {
    double least = INFINITY;
    int best = -1;
    Positions each = positions(row(tree->legs, node, network->words), network->words);
    for (int p; (p = next_position(&each)) >= 0;) {
        double bits = label_weight(network, p) / (double)ONE, share = fmin(shares[p], 1);
        double more = log2(share + (1 - share) * exp2(fmin(bits, 1000))) / bits + noise * random_unit(random);
        if (more < least) {
            least = more;
            best = p;
        }
    }
    return best;
}

bool slices_add(Memory *memory, const Network *network, const Aim *aim, Log size, double noise, Random *random,
                Clock *clock, Tree *tree, Slices *slices) {
    Mark mark = memory_mark(memory);
    bool fits = true;
    double *shares = TAKE(memory, double, network->words * 64);
    while (fits && tree_size(tree) > size) {
        const int node = largest_node(tree);
        memset(shares, 0, (size_t)network->words * 64 * sizeof *shares);
        share_of_labels(network, tree, shares);
        const bool hurry = clock && clock_over(clock); /* then all that this result needs, by the same prices */
        do {
            const int position = cheapest(network, tree, node, shares, noise, random);
            fits = position >= 0;
            if (fits) slices_cut(network, aim, tree, slices, position);
        } while (hurry && fits && tree->size[node] > size);
    }
    memory_release(memory, mark);
    return fits;
}

bool slices_keep(Memory *memory, const Network *network, const Limit *limit, Tree *tree, const Slices *slices) {
    double peak = tree_peak(memory, network, sliced_labels(slices), tree);
    if (fabs(peak - limit->largest) > (network->exact ? EXACTLY : NEARLY)) return peak < limit->largest;
    return tree_measure(memory, network, sliced_labels(slices), NULL, tree).peak <= limit->largest + 1e-9;
}

bool slices_fit(Memory *memory, const Network *network, const Aim *aim, const Limit *limit, Random *random, Tree *tree,
                Slices *slices) {
    const Log largest = (Log)fmin(ONE * limit->largest, INT32_MAX / 2);
    bool more = slices_add(memory, network, aim, largest, 0, random, limit->clock, tree, slices);
    while (!slices_keep(memory, network, limit, tree, slices)) {
        if (!more || tree_size(tree) <= 0) return false;
        more = slices_add(memory, network, aim, tree_size(tree) - 1, 0, random, limit->clock, tree, slices);
    }
    return true;
}

/* For each label that is sliced, the largest result that would have it. */
static void largest_with(const Network *network, const Tree *tree, const Word *uncut, const Slices *slices,
                         Log *largest) {
    memset(largest, 0, (size_t)network->words * 64 * sizeof *largest);
    for (int node = tree->terms; node < 2 * tree->terms - 1; node++) {
        const Word *legs = row(uncut, node, network->words);
        for (int w = 0; w < network->words; w++) {
            for (Word left = legs[w] & slices->labels[w]; left; left &= left - 1) {
                int p = w * 64 + lowest(left);
                if (tree->size[node] > largest[p]) largest[p] = tree->size[node];
            }
        }
    }
}

void slices_drop(Memory *memory, const Network *network, const Aim *aim, const Limit *limit, Tree *tree,
                 Slices *slices) {
    if (!slices->weight) return;
    Mark mark = memory_mark(memory);
    Word *tried = ZEROS(memory, Word, network->words);
    Log *largest = TAKE(memory, Log, network->words * 64);
    Tree uncut = tree_take(memory, network);
    tree_copy(&uncut, tree);
    tree_fill(memory, network, aim, NULL, &uncut);
    largest_with(network, tree, uncut.legs, slices, largest);
    for (;;) {
        int heaviest = -1;
        Positions each = positions(slices->labels, network->words);
        for (int p; (p = next_position(&each)) >= 0;) {
            Log weight = label_weight(network, p);
            if (has(tried, p) || largest[p] + weight > ONE * limit->largest + ONE / 8.0) continue;
            if (heaviest < 0 || weight > label_weight(network, heaviest)) heaviest = p;
        }
        if (heaviest < 0 || (limit->clock && clock_over(limit->clock))) break;
        tried[heaviest >> 6] |= bit(heaviest);
        slices_take_out(memory, network, aim, tree, slices, heaviest);
        if (slices_keep(memory, network, limit, tree, slices)) largest_with(network, tree, uncut.legs, slices, largest);
        else slices_cut(network, aim, tree, slices, heaviest);
    }
    memory_release(memory, mark);
}
