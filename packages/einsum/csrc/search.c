/* The search, put together. */
#include "search.h"

#include "refine.h"

enum { EXACT_TERMS = 12, FREE_WORK = 2000, LEAST_WORK = 20000, SETTLED_AFTER = 2, FEWEST_PER_TERM = 5000 };

static const double SHARE = 0.1; /* of the time of contracting, that few terms are refined in */
static const double LONGER = 3;  /* than all before, each round of a search by share */
static const double FIRST = 2;   /* seconds of the first round of a search by the clock */
static const double FOLLOWING = 4,
                    LAST = 8;     /* times as long as the one before: the next round, and at least the last */
static const double WHOLE = 0.04; /* part of the search for the network as it was given */
static const double WHOLE_HOT = 0.12, WHOLE_COLD = 0.024; /* temperatures there, in bits */

typedef struct {
    const Request *request;
    Outcome *outcome;
    Memory *memory;
    Clock clock;
    Aim aim;
    Network whole, reduced;
    Partial partial; /* of the whole network, when it has been simplified */
    int *ids;        /* of the reduced terms in the whole tree */
    Tree tree;       /* of the whole network */
    Slices slices;
    double largest;
    Rounds rounds;
} Search;

/* The tree of the whole network that goes with one of the reduced network. */
static void assemble(Search *search, const Tree *reduced, const Slices *slices) {
    const Network *whole = &search->whole, *from = &search->reduced;
    Mark mark = memory_mark(search->memory);
    Tree *tree = &search->tree;
    int terms = from->terms, next = search->partial.nodes;
    int *order = TAKE(search->memory, int, terms + 1), *node = TAKE(search->memory, int, 2 * terms);
    size_t nodes = 2 * (size_t)whole->terms;
    memcpy(tree->left, search->partial.left, nodes * sizeof *tree->left);
    memcpy(tree->right, search->partial.right, nodes * sizeof *tree->right);
    memcpy(node, search->ids, (size_t)terms * sizeof *node);
    if (terms > 1) tree_order(search->memory, reduced, order);
    for (int i = 0; i < terms - 1; i++) {
        tree->left[next] = node[reduced->left[order[i]]];
        tree->right[next] = node[reduced->right[order[i]]];
        node[order[i]] = next++;
    }
    tree->top = 2 * whole->terms - 2;
    slices_clear(whole, &search->slices);
    for (int p = 0; slices && p < from->words * 64; p++) {
        if (!has(slices->labels, p)) continue;
        for (int q = 0; q < whole->words * 64; q++) {
            if (whole->labels[q] != from->labels[p]) continue;
            search->slices.labels[q >> 6] |= bit(q);
            search->slices.weight += label_weight(whole, q);
        }
    }
    tree_fill(search->memory, whole, &search->aim, sliced_labels(&search->slices), tree);
    memory_release(search->memory, mark);
}

static Measure measure(Search *search) {
    return tree_measure(search->memory, &search->whole, sliced_labels(&search->slices), &search->request->cache,
                        &search->tree);
}

static void note(void *data, Rounds *rounds) {
    Search *search = data;
    Outcome *outcome = search->outcome;
    if (rounds->standing == WITHOUT_LIMIT || outcome->history_count == MOST_HISTORY) return;
    assemble(search, &rounds->best, &rounds->best_slices);
    Measure found = measure(search);
    outcome->history[outcome->history_count++] = (Progress){(double)rounds->work, found.products, found.size};
}

/* How many rotations take as long as this part of contracting by the best tree. */
static double work_of_share(const Search *search, const Measure *found) {
    const Request *request = search->request;
    double seconds = exp2(fmin(found->products, 1000)) / request->product_rate +
                     exp2(fmin(found->elements, 1000)) / request->element_rate +
                     (search->whole.terms - 1) * request->step_seconds;
    return fmin(request->share * seconds / seconds_of_work(&search->reduced), request->most_rotations);
}

/* Searches as long as the share allows, each time longer than all before, as the best tree decides how long that is. The
   last time takes all that is left. */
static void search_by_share(Search *search) {
    Rounds *rounds = &search->rounds;
    double next = 0;
    int idle = 0;
    while (idle < SETTLED_AFTER && !atomic_load(&search->clock.stopped)) {
        double before = rounds->best_cost;
        Standing standing = rounds->standing;
        rounds_run(rounds, (int64_t)next, INFINITY);
        if (rounds->failed) return;
        assemble(search, &rounds->best, &rounds->best_slices);
        Measure found = measure(search);
        double allowed = (1 - WHOLE) * work_of_share(search, &found) - (double)rounds->work;
        next = fmax(LONGER * (double)rounds->work, (double)LEAST_WORK);
        if (allowed < 2 * next) next = allowed;
        if (allowed < LEAST_WORK) return;
        bool better = rounds->standing > standing || rounds->best_cost < before - ONE / 64;
        bool enough = rounds->work > (int64_t)FEWEST_PER_TERM * rounds->network->terms;
        idle = better ? 0 : idle + enough;
    }
    if (idle == SETTLED_AFTER) search->outcome->reason = SETTLED;
}

/* Searches until then in rounds, each longer than all before, so that a search that is interrupted has annealed trees. A
   short search is one round, and of a long one the last round is nearly all. */
static void search_by_seconds(Search *search, double until) {
    Rounds *rounds = &search->rounds;
    for (double next = FIRST; until - seconds_now() > LAST * next; next *= FOLLOWING) {
        rounds_run(rounds, INT64_MAX, next);
        if (rounds->failed || atomic_load(&search->clock.stopped)) return;
    }
    rounds_run(rounds, INT64_MAX, until - seconds_now());
}

static bool search_reduced(Search *search) {
    const Request *request = search->request;
    Rounds *rounds = &search->rounds;
    *rounds = (Rounds){
        .clock = &search->clock,
        .largest = search->largest,
        .threads = request->threads,
        .note = note,
        .data = search,
    };
    bool made = rounds_make(rounds, search->memory, &search->reduced, &search->aim, request->seed);
    if (made && request->share < INFINITY) search_by_share(search);
    else if (made && request->seconds < INFINITY)
        search_by_seconds(search, request->begun + (1 - WHOLE) * request->seconds);
    else if (made)
        rounds_run(rounds, request->rotations < 0x1p62 ? (int64_t)((1 - WHOLE) * request->rotations) : INT64_MAX,
                   INFINITY);
    Outcome *outcome = search->outcome;
    for (int i = 0; i < rounds->made; i++) {
        for (int kind = 0; kind < START_KINDS; kind++) {
            outcome->times[kind] += rounds->chains[i].start_counts[kind];
            outcome->best[kind] = fmin(outcome->best[kind], rounds->chains[i].start_costs[kind] / ONE);
        }
    }
    outcome->times[ANNEALING] = rounds->anneals;
    outcome->best[ANNEALING] = rounds->anneals ? rounds->best_cost / ONE : INFINITY;
    rounds_free(rounds);
    if (!made || rounds->failed) return false;
    assemble(search, &rounds->best, &rounds->best_slices);
    return true;
}

static void mend_whole(Search *search, Chain *chain) {
    const Request *request = search->request;
    double now = seconds_now(), share = work_of_share(search, &search->outcome->measure);
    double work = WHOLE * fmin(request->share < INFINITY ? share : INFINITY, request->rotations);
    Limit limit = {search->largest, 0, &search->clock};
    Leash leash = {
        .clock = &search->clock,
        .allowed = work < 0x1p62 ? (int64_t)work : INT64_MAX,
        .begun = now,
        .until = request->begun + 0.99 * request->seconds,
        .asks = true,
    };
    if (search->largest < INFINITY) chain_limit(chain, &limit);
    chain_begin(chain, &search->tree, &search->slices);
    if (search->rounds.standing == WITHOUT_LIMIT && search->largest < INFINITY) /* there was no time to slice */
        chain_bands(chain, &leash);
    Leash annealing = leash_part(&leash, 0.6);
    chain_anneal(chain, WHOLE_HOT, WHOLE_COLD, &annealing);
    leash.work += annealing.work;
    chain_finish(chain, &leash);
    if (chain->best_cost == INFINITY) { /* one term after the other holds least at once */
        sweep_tree(&chain->memory, &search->whole, &chain->random, &chain->tree);
        tree_fill(&chain->memory, &search->whole, &chain->aim, NULL, &chain->tree);
        chain_begin(chain, &chain->tree, NULL);
    }
    search->rounds.work += leash.work;
    bool found = chain->best_cost < INFINITY;
    tree_copy(&search->tree, found ? &chain->best : &chain->tree);
    slices_copy(&search->whole, &search->slices, found ? &chain->best_slices : &chain->slices);
}

/* Annealing and mending of the whole tree, where simplification was not the best that could be done. */
static bool finish_whole(Search *search) {
    if (search->largest == INFINITY && clock_over(&search->clock)) return true;
    Chain *chain = TAKE(search->memory, Chain, 1);
    if (!chain_make(chain, &search->whole, &search->aim, search->request->seed * 1000003 + 77)) return false;
    if (setjmp(chain->out)) {
        chain_free(chain);
        return false;
    }
    mend_whole(search, chain);
    chain_free(chain);
    return true;
}

/* Takes a tree that costs little more and whose labels are in better orders, if it fits. */
static void refine(Search *search, Subtrees *subtrees) {
    const Request *request = search->request;
    double share = fmin(request->share, SHARE);
    Tree before = tree_take(search->memory, &search->whole);
    tree_copy(&before, &search->tree);
    bool refined = refine_tree(search->memory, &request->network, subtrees, share, &search->tree);
    if (refined && measure(search).peak > search->largest + 1e-9) tree_copy(&search->tree, &before);
}

/* Looks at every tree of few terms; false where that would take too long, or where slices are needed. */
static bool exactly(Search *search) {
    const Request *request = search->request;
    int terms = search->whole.terms;
    double work = 0.12 * pow(3, terms);
    if (terms > EXACT_TERMS) return false;
    Random random;
    random_seed(&random, request->seed);
    greedy_tree(search->memory, &search->whole, 1, 0, &random, &search->tree);
    tree_fill(search->memory, &search->whole, &search->aim, NULL, &search->tree);
    Measure found = measure(search);
    double allowed = request->share < INFINITY ? work_of_share(search, &found) : request->rotations;
    if (work > fmax(allowed, FREE_WORK)) return false;
    Aim aim = search->aim;
    Subtrees subtrees = subtrees_take(search->memory, &search->whole, &aim, terms);
    bool refines = request->timed && terms > 2;
    if (refines) subtrees.slack = REFINED_SLACK;
    subtree_improve(&subtrees, &search->tree, search->tree.top, terms, &random);
    search->rounds.work = subtrees.work;
    if (refines) refine(search, &subtrees);
    return measure(search).peak <= search->largest + 1e-9;
}

static void write_result(Search *search) {
    Outcome *outcome = search->outcome;
    int terms = search->whole.terms, *order = TAKE(search->memory, int, terms);
    int *id = TAKE(search->memory, int, 2 * terms);
    outcome->measure = measure(search); /* puts branches into the order that keeps the peak low */
    outcome->rotations = (double)search->rounds.work;
    outcome->rotation_seconds = seconds_of_work(&search->whole);
    outcome->path = TAKE(search->memory, int, 2 * terms);
    tree_order(search->memory, &search->tree, order);
    for (int i = 0; i < terms; i++) id[i] = i;
    for (int i = 0; i < terms - 1; i++) {
        int a = id[search->tree.left[order[i]]], b = id[search->tree.right[order[i]]];
        outcome->path[2 * i] = a < b ? a : b;
        outcome->path[2 * i + 1] = a < b ? b : a;
        id[order[i]] = terms + i;
    }
    outcome->sliced = TAKE(search->memory, int, search->whole.words * 64);
    Positions each = positions(search->slices.labels, search->whole.words);
    for (int p; (p = next_position(&each)) >= 0;) outcome->sliced[outcome->sliced_count++] = search->whole.labels[p];
    Progress last = {outcome->rotations, outcome->measure.products, outcome->measure.size};
    if (outcome->history_count < MOST_HISTORY) outcome->history[outcome->history_count++] = last;
}

static Aim aim_of(const Request *request) {
    Aim aim = {.products = !request->smallest, .cached = INT32_MAX, .largest = INT32_MAX};
    if (request->smallest) {
        aim.size_power = 2;
    } else if (request->element_products > 0) { /* a result is written, and read again */
        aim.size_power = 1;
        aim.element = (Log)lrint(ONE * fmin(1000, fmax(-1000, log2(2 * request->element_products))));
        if (request->timed) {
            aim.cached = (Log)lrint(ONE * fmin(1000, request->cache.bits));
            aim.uncached = (Log)lrint(ONE * request->cache.uncached);
        }
    }
    return aim;
}

static bool fits_output(const Search *search) {
    double bits = 0;
    Positions each = positions(search->whole.output, search->whole.words);
    for (int p; (p = next_position(&each)) >= 0;) bits += search->whole.bits[p];
    return bits <= search->request->largest + 1e-9;
}

static bool run(Search *search) {
    Memory *memory = search->memory;
    const Request *request = search->request;
    Outcome *outcome = search->outcome;
    jmp_buf out;
    memory->out = &out;
    if (setjmp(out)) return false;
    search->aim = aim_of(request);
    search->whole = network_make(memory, &request->network);
    search->tree = tree_take(memory, &search->whole);
    search->slices = slices_take(memory, &search->whole);
    search->largest = fits_output(search) ? request->largest : INFINITY; /* where nothing helps, nothing is sliced */
    search->reduced = search->whole;
    if (exactly(search)) {
        outcome->reason = EXACT;
        outcome->times[EXACT_TREE] = 1;
        outcome->best[EXACT_TREE] = search->whole.terms > 1 ? tree_cost(&search->tree) / ONE : INFINITY;
        write_result(search);
        return true;
    }
    search->partial = partial_take(memory, &search->whole);
    simplify(&search->partial);
    search->ids = TAKE(memory, int, 2 * search->whole.terms);
    search->reduced = partial_network(memory, &search->partial, search->ids);
    if (search->reduced.terms == 1) assemble(search, NULL, NULL);
    else if (!search_reduced(search)) return false;
    outcome->measure = measure(search);
    if (!finish_whole(search)) return false;
    if (atomic_load(&search->clock.stopped)) outcome->reason = INTERRUPTED;
    write_result(search);
    return true;
}

bool search_run(Memory *memory, const Request *request, Outcome *outcome) {
    Search *search = calloc(1, sizeof *search);
    if (!search) return false;
    search->request = request;
    search->outcome = outcome;
    search->memory = memory;
    search->clock = (Clock){
        .begun = request->begun,
        .deadline = request->begun + request->seconds,
        .interrupted = request->interrupted,
        .data = request->data,
        .asked = request->begun,
    };
    for (int method = 0; method < METHODS; method++) outcome->best[method] = INFINITY;
    outcome->reason = request->share < INFINITY ? BY_SHARE : request->seconds < INFINITY ? BY_SECONDS : BY_ROTATIONS;
    bool done = run(search);
    rounds_free(&search->rounds);
    free(search);
    return done;
}
