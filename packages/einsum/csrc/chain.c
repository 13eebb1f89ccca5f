/* What one chain does: starting, annealing, mending. */
#include "chain.h"
#include "anneal.h"
#include "bands.h"

enum { LEAVES = 8, FEWEST_ROTATIONS = 1024, STEPS_PER_SLICE = 2, BANDS_DRAWN = 12 };

static const double HOPELESS = 16;           /* bits above the best tree, where no slice is worth being taken out */
static const double LESS = 1.0 / 16;         /* bits that bands keep below the limit: there is the whole result, too */
static const double LOWERING = 0.9;          /* part of annealing in which the largest result comes down to the limit */
static const double MORE_THAN_LARGEST = 2.5; /* bits by which the peak may be above the largest result */

bool chain_make(Chain *chain, const Network *network, const Aim *aim, uint64_t seed) {
    *chain = (Chain){.network = network, .aim = *aim, .memory = {NULL, &chain->out}};
    if (setjmp(chain->out)) {
        memory_free(&chain->memory);
        return false;
    }
    random_seed(&chain->random, seed);
    chain->subtrees = subtrees_take(&chain->memory, network, &chain->aim, LEAVES + 2);
    chain->tree = tree_take(&chain->memory, network);
    chain->best = tree_take(&chain->memory, network);
    chain->slices = slices_take(&chain->memory, network);
    chain->best_slices = slices_take(&chain->memory, network);
    chain->limit = (Limit){INFINITY, INT32_MAX, NULL};
    chain->cost = chain->best_cost = INFINITY;
    for (int kind = 0; kind < START_KINDS; kind++) {
        chain->starts[kind] = tree_take(&chain->memory, network);
        chain->start_costs[kind] = INFINITY;
    }
    return true;
}

void chain_free(Chain *chain) { memory_free(&chain->memory); }

/* What results may have. */
static void set_size(Chain *chain, Log size) { chain->limit.size = chain->aim.largest = size; }

static void keep(Chain *chain) {
    chain->best_cost = chain->cost;
    tree_copy(&chain->best, &chain->tree);
    slices_copy(chain->network, &chain->best_slices, &chain->slices);
}

/* The tree as the best one, if it is, and keeps the limit. Where only the peak does not, results have to be smaller. */
static void keep_if_better(Chain *chain) {
    Limit *limit = &chain->limit;
    if (chain->cost >= chain->best_cost) return;
    if (is_limited(chain)) {
        Log size = tree_size(&chain->tree);
        if (size > limit->size) return;
        if (!slices_keep(&chain->memory, chain->network, limit, &chain->tree, &chain->slices)) {
            if (size > ONE * (limit->largest - MORE_THAN_LARGEST)) set_size(chain, size - 1);
            return;
        }
    }
    keep(chain);
}

static void refill(Chain *chain) {
    tree_fill(&chain->memory, chain->network, &chain->aim, sliced_labels(&chain->slices), &chain->tree);
    chain->cost = tree_cost(&chain->tree) + chain->slices.weight;
}

/* Slices until the limit is kept, and no more, unless the tree is far from being the best one then. */
static void fit(Chain *chain) {
    Memory *memory = &chain->memory;
    slices_fit(memory, chain->network, &chain->aim, &chain->limit, &chain->random, &chain->tree, &chain->slices);
    chain->cost = tree_cost(&chain->tree) + chain->slices.weight;
    if (chain->cost > chain->best_cost + ONE * HOPELESS) return;
    slices_drop(memory, chain->network, &chain->aim, &chain->limit, &chain->tree, &chain->slices);
    chain->cost = tree_cost(&chain->tree) + chain->slices.weight;
    if (chain->cost < chain->best_cost &&
        slices_keep(memory, chain->network, &chain->limit, &chain->tree, &chain->slices))
        keep(chain);
}

void chain_limit(Chain *chain, const Limit *limit) {
    chain->limit = *limit;
    chain->aim.largest = limit->size;
    chain->best_cost = INFINITY;
    slices_clear(chain->network, &chain->slices);
}

/* Two results of this size are what the limit allows. */
static void begin_size(Chain *chain) { set_size(chain, (Log)(ONE * fmax(0, chain->limit.largest - 1))); }

void chain_begin(Chain *chain, const Tree *tree, const Slices *slices) {
    if (tree != &chain->tree) tree_copy(&chain->tree, tree);
    if (slices) slices_copy(chain->network, &chain->slices, slices);
    else slices_clear(chain->network, &chain->slices);
    if (is_limited(chain)) {
        begin_size(chain);
        tree_reprice(chain->network, &chain->aim, &chain->tree);
        fit(chain);
    }
    chain->cost = tree_cost(&chain->tree) + chain->slices.weight;
    keep_if_better(chain);
}

void chain_bands(Chain *chain, Leash *leash) {
    Memory *memory = &chain->memory;
    Mark mark = memory_mark(memory);
    const Log size = (Log)(ONE * (chain->limit.largest - LESS));
    Tree best = tree_take(memory, chain->network);
    Slices best_slices = slices_take(memory, chain->network);
    double least = chain->best_cost;
    tree_copy(&best, &chain->tree); /* to go on from where no draw is cheaper */
    slices_copy(chain->network, &best_slices, &chain->slices);
    bool halves = random_below(&chain->random, 2);
    for (int i = 0; i < BANDS_DRAWN && (!i || leash_progress(leash) < 1); i++, halves = !halves) {
        leash->work +=
            banded_tree(memory, chain->network, size, least, halves, &chain->random, &chain->tree, &chain->slices);
        if (chain->slices.weight >= least) continue;
        refill(chain);
        if (chain->cost >= least) continue;
        least = chain->cost;
        tree_copy(&best, &chain->tree);
        slices_copy(chain->network, &best_slices, &chain->slices);
    }
    if (least < chain->best_cost) {
        chain_begin(chain, &best, &best_slices);
    } else {
        tree_copy(&chain->tree, &best);
        slices_copy(chain->network, &chain->slices, &best_slices);
        refill(chain);
    }
    memory_release(memory, mark);
}

/* The same tree with the slices of before. */
static void take_back(Chain *chain, const Slices *before) {
    const Network *network = chain->network;
    for (int p = 0; p < network->words * 64; p++) {
        const bool is = has(chain->slices.labels, p), was = has(before->labels, p);
        if (is && !was) slices_take_out(&chain->memory, network, &chain->aim, &chain->tree, &chain->slices, p);
        if (was && !is) slices_cut(network, &chain->aim, &chain->tree, &chain->slices, p);
    }
}

/* Another choice of slices for the tree as it is: one is taken out, and what is needed then is sliced instead. */
static void reslice(Chain *chain, double temperature) {
    Memory *memory = &chain->memory;
    Mark mark = memory_mark(memory);
    const Network *network = chain->network;
    slices_add(memory, network, &chain->aim, chain->limit.size, temperature, &chain->random, chain->limit.clock,
               &chain->tree, &chain->slices);
    chain->cost = tree_cost(&chain->tree) + chain->slices.weight;
    int count = 0, chosen = -1;
    Positions each = positions(chain->slices.labels, network->words);
    for (int p; (p = next_position(&each)) >= 0;)
        if (!random_below(&chain->random, ++count)) chosen = p;
    if (chosen >= 0) {
        Slices before = slices_take(memory, network);
        slices_copy(network, &before, &chain->slices);
        double cost = chain->cost;
        slices_take_out(memory, network, &chain->aim, &chain->tree, &chain->slices, chosen);
        bool fits = slices_add(memory, network, &chain->aim, chain->limit.size, temperature, &chain->random,
                               chain->limit.clock, &chain->tree, &chain->slices);
        chain->cost = tree_cost(&chain->tree) + chain->slices.weight;
        if (!fits || chain->cost > cost - ONE * temperature * log(random_unit(&chain->random))) {
            take_back(chain, &before);
            chain->cost = cost;
        }
    }
    memory_release(memory, mark);
}

static void mend(Chain *chain, Tree *tree, int leaves, int rounds, Leash *leash) {
    if (tree->terms < 3 || leash_progress(leash) >= 1) return;
    Mark mark = memory_mark(&chain->memory);
    int *order = TAKE(&chain->memory, int, tree->terms);
    for (int round = 0; round < rounds; round++) {
        bool changed = false;
        double worth = tree_cost(tree) - ONE * (13.3 + log2(tree->terms)); /* a ten thousandth of the average */
        tree_order(&chain->memory, tree, order);
        for (int i = tree->terms - 2; i >= 0; i--) {
            if (tree->cost[order[i]] < worth) continue;
            int64_t before = chain->subtrees.work;
            changed |= subtree_improve(&chain->subtrees, tree, order[i], leaves, &chain->random);
            leash->work += chain->subtrees.work - before;
            if (leash_progress(leash) >= 1) goto out;
        }
        if (!changed) break;
    }
out:
    memory_release(&chain->memory, mark);
}

/* Whether a start of a kind is likely to end in time; those that look at every term beside every other take long. */
static bool is_affordable(const Chain *chain, StartKind kind, const Leash *leash) {
    double pairs = (double)chain->network->terms * chain->network->terms, left = INFINITY;
    double work = kind == SWEEP ? 0.3 * pairs : kind == BISECTION ? 0.8 * pairs : 0;
    if (leash->allowed < INT64_MAX) left = (double)(leash->allowed - leash->work);
    if (leash->until < INFINITY) left = fmin(left, (leash->until - seconds_now()) / seconds_of_work(chain->network));
    return work <= left;
}

static int64_t draw_start(Chain *chain, StartKind kind, bool plain) {
    Random *random = &chain->random;
    Memory *memory = &chain->memory;
    if (kind == DIRECTION) return direction_tree(memory, chain->network, random, &chain->tree);
    if (kind == SWEEP) return sweep_tree(memory, chain->network, random, &chain->tree);
    if (kind == BISECTION) {
        double share = 0.05 + 0.4 * random_unit(random);
        return bisection_tree(memory, chain->network, share, random, &chain->tree);
    }
    double alpha = plain ? 1 : 0.05 + 1.5 * random_unit(random), noise = plain ? 0 : 2 * pow(1e-3, random_unit(random));
    return greedy_tree(memory, chain->network, alpha, noise, random, &chain->tree);
}

void chain_start(Chain *chain, int first, Leash *leash) {
    if (first && leash_progress(leash) >= 1) return;
    Leash drawing = leash_part(leash, 0.7);
    int number = 0; /* of starts before */
    for (int kind = 0; kind < START_KINDS; kind++) number += chain->start_counts[kind];
    for (;; number++) {
        static const StartKind TURNS[] = {GREEDY, SWEEP, DIRECTION, BISECTION, GREEDY};
        StartKind kind = TURNS[(first + number) % 5];
        if (!is_affordable(chain, kind, &drawing)) kind = GREEDY;
        drawing.work += draw_start(chain, kind, !first && !number);
        refill(chain);
        chain->start_counts[kind]++;
        if (chain->cost < chain->start_costs[kind]) {
            chain->start_costs[kind] = chain->cost;
            tree_copy(&chain->starts[kind], &chain->tree);
        }
        keep_if_better(chain);
        if (leash_progress(&drawing) >= 1) break;
    }
    leash->work += drawing.work;
    for (int kind = 0; kind < START_KINDS; kind++) {
        if (!chain->start_counts[kind] || leash_progress(leash) >= 1) continue;
        mend(chain, &chain->starts[kind], LEAVES, 5, leash);
        tree_copy(&chain->tree, &chain->starts[kind]);
        chain->start_costs[kind] = chain->cost = tree_cost(&chain->tree);
        keep_if_better(chain);
    }
}

/* Results may be as large as the highest size in the beginning, and as the limit's after most of the way. */
static void anneal(Chain *chain, Log highest, double hot, double cold, Leash *leash) {
    int terms = chain->network->terms;
    int64_t count = 4 * (int64_t)terms > FEWEST_ROTATIONS ? 4 * (int64_t)terms : FEWEST_ROTATIONS;
    const Log lowest = chain->limit.size;
    bool low = highest <= lowest;
    if (terms < 3) return;
    int step = 0;
    for (double progress; (progress = leash_progress(leash)) < 1; step++) {
        double temperature = hot * pow(cold / hot, progress);
        if (!low) {
            low = progress >= LOWERING;
            set_size(chain, low ? lowest : highest - (Log)((highest - lowest) * (progress / LOWERING)));
        }
        rotate(chain->network, &chain->aim, &chain->tree, temperature, count, &chain->random);
        leash->work += count;
        if (is_limited(chain) && step % STEPS_PER_SLICE == 0) {
            reslice(chain, temperature);
            leash->work += count / 2;
        }
        chain->cost = tree_cost(&chain->tree) + chain->slices.weight;
        if (low) keep_if_better(chain);
    }
    if (!low) set_size(chain, lowest);
    if (is_limited(chain) && !clock_over(leash->clock)) fit(chain);
}

void chain_anneal(Chain *chain, double hot, double cold, Leash *leash) { anneal(chain, 0, hot, cold, leash); }

void chain_lower(Chain *chain, const Tree *tree, double hot, double cold, Leash *leash) {
    tree_copy(&chain->tree, tree);
    slices_clear(chain->network, &chain->slices);
    begin_size(chain);
    refill(chain);
    anneal(chain, tree_size(&chain->tree), hot, cold, leash);
}

void chain_finish(Chain *chain, Leash *leash) {
    if (chain->best_cost < INFINITY) {
        tree_copy(&chain->tree, &chain->best);
        slices_copy(chain->network, &chain->slices, &chain->best_slices);
    }
    mend(chain, &chain->tree, LEAVES, 10, leash);
    if (is_limited(chain) && !clock_over(leash->clock)) fit(chain);
    chain->cost = tree_cost(&chain->tree) + chain->slices.weight;
    keep_if_better(chain);
}
