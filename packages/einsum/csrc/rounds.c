/* The schedule of a search, and what its chains exchange. */
#include "rounds.h"
#include "team.h"

enum { BANDED_FROM = 60 }; /* terms of networks that are also cut in bands */
enum { EPOCHS = 8, WARM_ROUNDS = 3, ROTATIONS_FOR_CHAIN = 2000 };

/* Parts of the search; the rest is for warm rounds. */
static const double STARTS = 0.15, FRESH = 0.57, FRESH_UNSLICED = 0.3;
static const double SLICING = 0.35;                                 /* slicing the first trees, beside those */
static const double BANDS = 0.3;                                    /* the part of that for bands */
static const double HOT = 0.6, RAW = 0.4, WARM = 0.25, COLD = 0.12; /* temperatures in bits */
static const double PLAIN_BITS = 20, MORE_BITS = 40; /* by what a tree costs: once as hot for each of these, above */
static const double MOST_BYTES = 256e6;              /* of all trees; with larger ones there are fewer chains */
static const double SLOWER = 4;                      /* than rotations alone: slices take time, and other programs */
static const double FAR = 4;                         /* bits, by which bands are cheaper than what is worth annealing */
static const double BEHIND = 1.0;                    /* bits, at which a chain gives up and follows the best */

bool rounds_make(Rounds *rounds, Memory *memory, const Network *network, const Aim *aim, uint64_t seed) {
    double bytes = 2.0 * network->terms * network->words * sizeof(Word) * (START_KINDS + 2); /* of a chain's trees */
    rounds->network = network;
    rounds->aim = *aim;
    rounds->seed = seed;
    rounds->wanted = bytes * CHAINS < MOST_BYTES ? CHAINS : bytes * 2 < MOST_BYTES ? (int)(MOST_BYTES / bytes) : 2;
    rounds->best = tree_take(memory, network);
    rounds->best_slices = slices_take(memory, network);
    rounds->best_cost = INFINITY;
    rounds->active = rounds->made = 1; /* the others when there is work for them */
    return chain_make(&rounds->chains[0], network, aim, seed * 1000003);
}

void rounds_free(Rounds *rounds) {
    while (rounds->made) chain_free(&rounds->chains[--rounds->made]);
}

/* By how much temperatures are higher: what a rotation changes grows with the bits of extents and of hyper-edges, and so
   does what a tree costs. */
static double warmth_of(double cost) { return cost < INFINITY ? fmax(1, (cost / ONE - PLAIN_BITS) / MORE_BITS) : 1; }

/* Trees are sliced and compared from now on: the annealed one, and the starts that are no sweeps, as these need slices all
   along. Large networks are cut in bands first. Where these are not far cheaper, the cheapest of the trees is annealed
   while the limit comes down. */
static void begin_limited(Rounds *rounds, Chain *chain, int number, Leash *leash) {
    static const StartKind KINDS[] = {GREEDY, BISECTION};
    const bool best_of_all = !number && rounds->standing == WITHOUT_LIMIT; /* else that one has slices already */
    Mark mark = memory_mark(&chain->memory);
    Tree annealed = tree_take(&chain->memory, rounds->network);
    const Tree *cheapest = &annealed;
    Leash banding = leash_part(leash, BANDS);
    tree_copy(&annealed, best_of_all ? &rounds->best : &chain->best);
    chain_limit(chain, &(Limit){rounds->largest, 0, rounds->clock});
    if (rounds->network->terms >= BANDED_FROM) chain_bands(chain, &banding);
    leash->work += banding.work;
    const double bands = chain->best_cost;
    chain_begin(chain, &annealed, NULL);
    double least = chain->cost, weight = chain->slices.weight;
    for (int i = 0; i < 2 && !clock_over(rounds->clock); i++) {
        if (chain->start_costs[KINDS[i]] == INFINITY) continue;
        chain_begin(chain, &chain->starts[KINDS[i]], NULL);
        if (chain->cost >= least) continue;
        least = chain->cost;
        weight = chain->slices.weight;
        cheapest = &chain->starts[KINDS[i]];
    }
    if (least < bands + ONE * FAR) {
        const double scale = warmth_of(least - weight), /* what a slice costs: rotations know no more */
            hot = cheapest == &annealed ? WARM : RAW;
        chain_lower(chain, cheapest, scale * hot, scale * COLD, leash);
    }
    memory_release(&chain->memory, mark);
    if (chain->best_cost < INFINITY) chain_begin(chain, &chain->best, &chain->best_slices);
}

static void run_task(void *data, int number, int thread) {
    Rounds *rounds = data;
    Chain *chain = &rounds->chains[number];
    Leash leash = rounds->leash;
    chain->memory.out = &chain->out;
    if (setjmp(chain->out)) {
        chain->failed = true;
        return;
    }
    leash.asks = thread == 0;
    leash.begun = seconds_now();
    leash.until = leash.begun + rounds->seconds;
    switch (rounds->task) {
    case MAKE:
        if (number >= rounds->made) {
            uint64_t seed = rounds->seed * 1000003 + (uint64_t)number;
            chain->failed = !chain_make(chain, rounds->network, &rounds->aim, seed);
        }
        break;
    case LIMIT:
        if (clock_over(rounds->clock)) break;
        begin_limited(rounds, chain, number, &leash);
        break;
    case START: chain_start(chain, number, &leash); break;
    case ANNEAL: chain_anneal(chain, rounds->hot[number], rounds->cold[number], &leash); break;
    case FINISH: chain_finish(chain, &leash); break;
    }
    rounds->done[number] = leash.work;
    chain->memory.out = &rounds->out;
}

/* The cheapest of the chains' best trees; the first of equals. */
static void keep_best(Rounds *rounds) {
    bool changed = false;
    for (int i = 0; i < rounds->active; i++) {
        Chain *chain = &rounds->chains[i];
        bool own = chain->best_cost < INFINITY;
        double cost = own ? chain->best_cost : chain->cost;
        Standing standing = !is_limited(chain) && rounds->largest < INFINITY ? WITHOUT_LIMIT : own ? KEEPS : EXCEEDS;
        if (cost == INFINITY || standing < rounds->standing) continue;
        if (standing == rounds->standing && cost >= rounds->best_cost) continue;
        tree_copy(&rounds->best, own ? &chain->best : &chain->tree);
        slices_copy(rounds->network, &rounds->best_slices, own ? &chain->best_slices : &chain->slices);
        rounds->best_cost = cost;
        rounds->standing = standing;
        changed = true;
    }
    if (changed) rounds->note(rounds->data, rounds);
}

/* All chains do a task that takes this part of the search: of what is left, as what was done before may have taken more.
   Where memory runs out the search ends, as what a chain has then is of no use. */
static void all_do(Rounds *rounds, Task task, double part) {
    const int turns = (rounds->active + rounds->threads - 1) / rounds->threads;
    const double fraction = part / fmax(rounds->parts_left, part);
    int64_t work = INT64_MAX;
    if (rounds->end_work < INT64_MAX) {
        const int64_t left = rounds->end_work > rounds->work ? rounds->end_work - rounds->work : 0;
        work = (int64_t)(fraction * (double)left / rounds->active);
    }
    rounds->parts_left -= part;
    rounds->task = task;
    rounds->leash = (Leash){.clock = rounds->clock, .allowed = part > 0 ? work : 0};
    rounds->seconds = rounds->until < INFINITY ? fraction * fmax(0, rounds->until - seconds_now()) / turns : INFINITY;
    team_run(rounds->active, rounds->threads, run_task, rounds);
    if (task == MAKE) rounds->made = rounds->active;
    for (int i = 0; i < rounds->active; i++) rounds->failed |= rounds->chains[i].failed;
    if (rounds->failed) longjmp(rounds->out, 1);
    for (int i = 0; i < rounds->active; i++) rounds->work += rounds->done[i];
    if (task == ANNEAL) rounds->anneals += rounds->active;
    if (task != ANNEAL && task != MAKE) keep_best(rounds);
}

/* The chains begin with the best starts of different kinds, in order of their costs. */
static void deal_starts(Rounds *rounds) {
    const Tree *trees[START_KINDS];
    double costs[START_KINDS];
    int count = 0;
    for (int kind = 0; kind < START_KINDS; kind++) {
        int best = 0;
        for (int i = 1; i < rounds->active; i++)
            if (rounds->chains[i].start_costs[kind] < rounds->chains[best].start_costs[kind]) best = i;
        double cost = rounds->chains[best].start_costs[kind];
        if (cost == INFINITY) continue;
        int place = count++;
        for (; place && costs[place - 1] > cost; place--) {
            costs[place] = costs[place - 1];
            trees[place] = trees[place - 1];
        }
        costs[place] = cost;
        trees[place] = &rounds->chains[best].starts[kind];
    }
    for (int i = 0; i < rounds->active; i++) chain_begin(&rounds->chains[i], trees[i % count], NULL);
}

/* A chain that is far behind goes on from where the best one is. */
static void exchange(Rounds *rounds) {
    int best = 0, worst = 0;
    for (int i = 1; i < rounds->active; i++) {
        if (rounds->chains[i].cost < rounds->chains[best].cost) best = i;
        if (rounds->chains[i].cost > rounds->chains[worst].cost) worst = i;
    }
    if (rounds->chains[worst].cost > rounds->chains[best].cost + ONE * BEHIND)
        chain_begin(&rounds->chains[worst], &rounds->chains[best].tree, &rounds->chains[best].slices);
}

static double fresh_part(const Rounds *rounds) { return rounds->largest < INFINITY ? FRESH_UNSLICED : FRESH; }

static double warmth(const Rounds *rounds) {
    double least = rounds->best_cost;
    for (int i = 0; i < rounds->active; i++) least = fmin(least, rounds->chains[i].best_cost);
    return warmth_of(least);
}

static void anneal_fresh(Rounds *rounds) {
    for (int epoch = 0; epoch < EPOCHS && !clock_over(rounds->clock); epoch++) {
        const double scale = warmth(rounds);
        for (int i = 0; i < rounds->active; i++) {
            rounds->hot[i] = scale * HOT * pow(COLD / HOT, (double)epoch / EPOCHS);
            rounds->cold[i] = scale * HOT * pow(COLD / HOT, (epoch + 1.0) / EPOCHS);
        }
        all_do(rounds, ANNEAL, 0.95 * fresh_part(rounds) / EPOCHS);
        if (rounds->largest == INFINITY) exchange(rounds); /* what is cheap unsliced may be dear when it is sliced */
    }
    all_do(rounds, FINISH, 0.05 * fresh_part(rounds));
}

static void anneal_warm(Rounds *rounds) {
    const double part = (1 - STARTS - fresh_part(rounds)) / WARM_ROUNDS, scale = warmth(rounds);
    for (int round = 0; round < WARM_ROUNDS && !clock_over(rounds->clock); round++) {
        for (int i = 0; i < rounds->active; i++) {
            Chain *chain = &rounds->chains[i];
            bool follows = i < rounds->active / 2 || round == WARM_ROUNDS - 1;
            rounds->hot[i] = scale * WARM * pow(1.1, (rounds->active - 1) / 2.0 - i);
            rounds->cold[i] = scale * COLD;
            if (follows || chain->best_cost == INFINITY) chain_begin(chain, &rounds->best, &rounds->best_slices);
            else chain_begin(chain, &chain->best, &chain->best_slices);
        }
        all_do(rounds, ANNEAL, 0.9 * part);
        all_do(rounds, FINISH, 0.1 * part);
    }
}

/* As many chains as have enough to do; where only time counts, by how long rotations take, and at least one a thread. */
static void make_chains(Rounds *rounds, double seconds) {
    const Network *network = rounds->network;
    double work = (double)(rounds->end_work - rounds->work);
    int least = 1;
    if (rounds->end_work == INT64_MAX) {
        work = rounds->threads * seconds / (SLOWER * seconds_of_work(network));
        least = rounds->threads;
    }
    const double chains = floor(work / ((double)ROTATIONS_FOR_CHAIN * network->terms));
    rounds->active = (int)fmin(rounds->wanted, fmax(least, chains));
    if (rounds->active > rounds->made) all_do(rounds, MAKE, 0);
}

void rounds_run(Rounds *rounds, int64_t work, double seconds) {
    if (setjmp(rounds->out)) {
        rounds->failed = true;
        return;
    }
    for (int i = 0; i < rounds->made; i++) rounds->chains[i].memory.out = &rounds->out;
    rounds->end_work = work < INT64_MAX ? rounds->work + work : INT64_MAX;
    rounds->until = seconds < INFINITY ? seconds_now() + seconds : INFINITY;
    rounds->parts_left = rounds->largest < INFINITY ? 1 + SLICING : 1;
    for (int i = 0; i < rounds->made; i++) chain_limit(&rounds->chains[i], &(Limit){INFINITY, INT32_MAX, NULL});
    if (rounds->standing == NOTHING) { /* the greedy tree of one chain, which may be all that there is time for */
        rounds->active = 1;
        all_do(rounds, START, 0);
    }
    if (clock_over(rounds->clock)) return;
    make_chains(rounds, seconds);
    all_do(rounds, START, STARTS);
    deal_starts(rounds);
    anneal_fresh(rounds);
    if (rounds->largest < INFINITY) all_do(rounds, LIMIT, SLICING);
    anneal_warm(rounds);
}
