/* Best trees of all subsets of the nodes below one node. */
#include "subtree.h"

static double fractions[ONE]; /* 2^(i/4096) */

static __attribute__((constructor)) void fractions_make(void) {
    for (int i = 0; i < ONE; i++) fractions[i] = exp2(i / (double)ONE);
}

static inline double power(Log exponent) {
    int whole = exponent >> 12;
    if (whole < -1000) return 0;
    if (whole > 1000) return INFINITY;
    uint64_t bits = (uint64_t)(whole + 1023) << 52;
    double scale;
    memcpy(&scale, &bits, sizeof scale);
    return fractions[exponent & (ONE - 1)] * scale;
}

/* Of one contraction, in units of 2^base. A result above the limit costs four times as much for each bit above. */
static inline double price(const Aim *aim, Log products, Log size, Log base) {
    double sum = aim->products ? power(products - base) : 0;
    if (aim->size_power)
        sum += power(aim->size_power * size + aim->element + (size > aim->cached ? aim->uncached : 0) - base);
    return size > aim->largest ? sum * power(2 * (size - aim->largest)) : sum;
}

Subtrees subtrees_take(Memory *memory, const Network *network, const Aim *aim, int leaves) {
    size_t subsets = (size_t)1 << leaves, words = (size_t)network->words;
    return (Subtrees){
        .network = network,
        .aim = aim,
        .leaves = leaves,
        .joined = TAKE(memory, Word, subsets * words),
        .legs = TAKE(memory, Word, subsets * words),
        .size = TAKE(memory, Log, subsets),
        .best = TAKE(memory, double, subsets),
        .split = TAKE(memory, int, subsets),
        .slack = 1 + 1e-12,
    };
}

static Region open_region(const Subtrees *s, const Tree *tree, int top, int leaves, Random *random) {
    Region region = {.top = top, .leaves = {top}, .leaf_count = 1, .base = tree->cost[top]};
    bool drawn = random_bits(random) & 1;
    while (region.leaf_count < leaves) {
        int place = -1;
        double highest = -INFINITY;
        for (int i = 0; i < region.leaf_count; i++) {
            if (is_term(tree, region.leaves[i])) continue;
            double rank = drawn ? random_unit(random) : tree->cost[region.leaves[i]];
            if (rank > highest) {
                highest = rank;
                place = i;
            }
        }
        if (place < 0) break;
        int node = region.leaves[place];
        region.inner[region.inner_count++] = node;
        region.leaves[place] = tree->left[node];
        region.leaves[region.leaf_count++] = tree->right[node];
        if (tree->cost[node] > region.base) region.base = tree->cost[node];
    }
    for (int i = 0; i < region.inner_count; i++) {
        int node = region.inner[i], words = tree->words;
        const Word *a = row(tree->legs, tree->left[node], words), *b = row(tree->legs, tree->right[node], words);
        Log size = weigh(s->network, row(tree->legs, node, words));
        region.cost += price(s->aim, weigh_either(s->network, a, b), size, region.base);
    }
    return region;
}

/* Labels of every subset of the leaves: all, and those still open. */
static void label_subsets(Subtrees *s, const Tree *tree, const Region *region) {
    int words = tree->words, all = (1 << region->leaf_count) - 1;
    const Word *open = row(tree->legs, region->top, words);
    memset(s->joined, 0, (size_t)words * sizeof(Word));
    for (int subset = 1; subset <= all; subset++) {
        const Word *rest = row(s->joined, subset & (subset - 1), words);
        const Word *leaf = row(tree->legs, region->leaves[lowest((Word)subset)], words);
        Word *joined = own_row(s->joined, subset, words);
        for (int w = 0; w < words; w++) joined[w] = rest[w] | leaf[w];
    }
    for (int subset = 1; subset <= all; subset++) {
        const Word *joined = row(s->joined, subset, words), *outside = row(s->joined, all ^ subset, words);
        Word *legs = own_row(s->legs, subset, words);
        if (subset & (subset - 1))
            for (int w = 0; w < words; w++) legs[w] = joined[w] & (outside[w] | open[w]);
        else memcpy(legs, joined, (size_t)words * sizeof(Word));
        s->size[subset] = weigh(s->network, legs);
    }
}

Log subtree_products(const Subtrees *s, int subset, int part) {
    int words = s->network->words;
    return weigh_either(s->network, row(s->legs, part, words), row(s->legs, subset ^ part, words));
}

double subtree_price(const Subtrees *s, int subset, Log products) {
    return price(s->aim, products, s->size[subset], s->region.base);
}

static void solve(Subtrees *s, const Region *region) {
    int all = (1 << region->leaf_count) - 1;
    double most = region->cost * s->slack; /* what costs more than the tree that is there is of no use */
    for (int subset = 1; subset <= all; subset++) {
        s->split[subset] = 0;
        s->best[subset] = 0;
        if (!(subset & (subset - 1))) continue;
        int highest = 1 << (31 - __builtin_clz((unsigned)subset)), rest = subset ^ highest;
        double best = most;
        for (int part = rest; part; part = (part - 1) & rest) { /* against what is left, with the highest */
            int other = subset ^ part;
            double cost = s->best[part] + s->best[other];
            if (cost >= best) continue;
            cost += subtree_price(s, subset, subtree_products(s, subset, part));
            if (cost < best) {
                best = cost;
                s->split[subset] = part;
            }
        }
        s->best[subset] = s->split[subset] ? best : INFINITY;
    }
}

void subtree_rebuild(const Subtrees *s, Tree *tree) {
    const Region *region = &s->region;
    int top = region->top;
    int subsets[2 * MOST_LEAVES], nodes[2 * MOST_LEAVES], depth = 0, used = 1, words = tree->words;
    subsets[depth] = (1 << region->leaf_count) - 1;
    nodes[depth++] = top;
    while (depth) {
        int subset = subsets[--depth], node = nodes[depth], halves[2] = {s->split[subset], subset ^ s->split[subset]};
        int children[2];
        for (int i = 0; i < 2; i++) {
            int half = halves[i];
            if (half & (half - 1)) {
                children[i] = region->inner[used++];
                subsets[depth] = half;
                nodes[depth++] = children[i];
            } else {
                children[i] = region->leaves[lowest((Word)half)];
            }
        }
        tree->left[node] = children[0];
        tree->right[node] = children[1];
        if (node != top) memcpy(own_row(tree->legs, node, words), row(s->legs, subset, words), (size_t)words * 8);
        Log products = weigh_either(s->network, row(s->legs, halves[0], words), row(s->legs, halves[1], words));
        tree->size[node] = weigh(s->network, row(tree->legs, node, words));
        tree->cost[node] = cost_of(s->aim, products, tree->size[node]);
    }
}

bool subtree_improve(Subtrees *s, Tree *tree, int top, int leaves, Random *random) {
    const Region *region = &s->region;
    s->region = open_region(s, tree, top, leaves, random);
    if (region->leaf_count < 3) return false;
    label_subsets(s, tree, region);
    solve(s, region);
    s->work += 1 + (int64_t)(0.12 * pow(3, region->leaf_count));
    if (!(s->best[(1 << region->leaf_count) - 1] < region->cost * (1 - 1e-9))) return false;
    subtree_rebuild(s, tree);
    return true;
}
