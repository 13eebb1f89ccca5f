/* Recursive bisection. */
#include "parts.h"

enum { PASSES = 4, PATIENCE = 40 };

typedef struct {
    Parts parts;
    Tree *tree;
    int next; /* node */
    double share;
    int *total; /* of each label: terms of the part that have it; 0 where it is open outside of the part as well */
    int *first; /* of each label: terms of the first half that have it */
    bool *in_first, *moved; /* of each term */
    Log *gain;              /* of moving each term across */
    int *moves;
    Ints touched; /* labels of the part */
} Bisection;

/* Which labels of a part lie inside it. */
static void count_inside(Bisection *b, const int *terms, int count) {
    const Network *network = b->parts.network;
    for (int i = 0; i < b->touched.count; i++) b->total[b->touched.items[i]] = b->first[b->touched.items[i]] = 0;
    b->touched.count = 0;
    for (int i = 0; i < count; i++) {
        Positions each = positions(row(network->sets, terms[i], network->words), network->words);
        for (int p; (p = next_position(&each)) >= 0;)
            if (!b->total[p]++) ints_push(b->parts.memory, &b->touched, p);
    }
    for (int i = 0; i < b->touched.count; i++) {
        int p = b->touched.items[i];
        if (b->total[p] < b->parts.holders[p].count || has(network->output, p)) b->total[p] = 0;
    }
}

/* How much less crosses when a term has moved. */
static Log gain_of(const Bisection *b, int term) {
    const Network *network = b->parts.network;
    Log gain = 0;
    Positions each = positions(row(network->sets, term, network->words), network->words);
    for (int p; (p = next_position(&each)) >= 0;) {
        int total = b->total[p], here = b->in_first[term] ? b->first[p] : total - b->first[p];
        if (total < 2) continue;
        Log weight = label_weight(network, p);
        gain += here == 1 ? weight : here == total ? -weight : 0;
    }
    return gain;
}

static void move(Bisection *b, int term) {
    const Network *network = b->parts.network;
    int step = b->in_first[term] ? -1 : 1;
    b->in_first[term] = !b->in_first[term];
    Positions each = positions(row(network->sets, term, network->words), network->words);
    for (int p; (p = next_position(&each)) >= 0;) b->first[p] += step;
}

/* Moves terms across, each once, the best first, and keeps as many of the moves as together gained most. */
static bool improve(Bisection *b, const int *terms, int count, int smallest, int *in_first) {
    const Network *network = b->parts.network;
    Log gained = 0, most = 0;
    int made = 0, kept = 0, size = *in_first;
    for (int i = 0; i < count; i++) {
        b->moved[terms[i]] = false;
        b->gain[terms[i]] = gain_of(b, terms[i]);
    }
    while (made < count && made < kept + PATIENCE + count / 16) {
        int best = -1;
        for (int i = 0; i < count; i++) {
            int term = terms[i];
            bool room = b->in_first[term] ? size > smallest : count - size > smallest;
            if (!b->moved[term] && room && (best < 0 || b->gain[term] > b->gain[best])) best = term;
        }
        b->parts.work += count / 8 + 10;
        if (best < 0) break;
        gained += b->gain[best];
        size += b->in_first[best] ? -1 : 1;
        move(b, best);
        b->moved[best] = true;
        b->moves[made++] = best;
        if (gained > most) {
            most = gained;
            kept = made;
        }
        Positions each = positions(row(network->sets, best, network->words), network->words);
        for (int p; (p = next_position(&each)) >= 0;) {
            const Ints *holders = &b->parts.holders[p];
            if (b->total[p] < 2) continue;
            for (int i = 0; i < holders->count && i < NEIGHBOURS; i++)
                if (!b->moved[holders->items[i]]) b->gain[holders->items[i]] = gain_of(b, holders->items[i]);
        }
    }
    while (made > kept) {
        int term = b->moves[--made];
        size += b->in_first[term] ? -1 : 1;
        move(b, term);
    }
    *in_first = size;
    return most > 0;
}

/* How many of the terms, in their order, make the first half. */
static int best_cut(Bisection *b, const int *terms, int count, int smallest) {
    const Network *network = b->parts.network;
    Log crossing = 0;
    double least = INFINITY;
    int best = count / 2;
    for (int i = 0; i < count - smallest; i++) {
        Positions each = positions(row(network->sets, terms[i], network->words), network->words);
        for (int p; (p = next_position(&each)) >= 0;) {
            if (b->total[p] < 2) continue;
            int taken = ++b->first[p];
            crossing += taken == 1 ? label_weight(network, p) : taken == b->total[p] ? -label_weight(network, p) : 0;
        }
        double weight = crossing + ONE * 0.5 * random_unit(b->parts.random);
        if (i + 1 >= smallest && weight < least) {
            least = weight;
            best = i + 1;
        }
    }
    for (int i = 0; i < b->touched.count; i++) b->first[b->touched.items[i]] = 0;
    for (int i = 0; i < count; i++) {
        b->in_first[terms[i]] = false;
        if (i < best) move(b, terms[i]);
    }
    return best;
}

static int contract(Bisection *b, int *terms, int count) {
    if (count == 1) return terms[0];
    int cut = 1;
    if (count > 2) {
        int smallest = (int)(count * b->share);
        if (smallest < 1) smallest = 1;
        parts_sweep(&b->parts, terms, count);
        count_inside(b, terms, count);
        cut = best_cut(b, terms, count, smallest);
        for (int pass = 0; pass < PASSES && improve(b, terms, count, smallest, &cut); pass++) continue;
        int first = 0, *order = b->parts.order, second = cut;
        for (int i = 0; i < count; i++) order[b->in_first[terms[i]] ? first++ : second++] = terms[i];
        memcpy(terms, order, (size_t)count * sizeof *terms);
    }
    int left = contract(b, terms, cut), right = contract(b, terms + cut, count - cut), node = b->next++;
    b->tree->left[node] = left;
    b->tree->right[node] = right;
    return node;
}

int64_t bisection_tree(Memory *memory, const Network *network, double share, Random *random, Tree *tree) {
    Mark mark = memory_mark(memory);
    int places = network->words * 64, count = network->terms, *terms = TAKE(memory, int, count);
    Bisection b = {
        .parts = parts_take(memory, network, random),
        .tree = tree,
        .next = count,
        .share = share,
        .total = ZEROS(memory, int, places),
        .first = ZEROS(memory, int, places),
        .in_first = ZEROS(memory, bool, count),
        .moved = ZEROS(memory, bool, count),
        .gain = ZEROS(memory, Log, count),
        .moves = TAKE(memory, int, count),
    };
    for (int i = 0; i < count; i++) terms[i] = i;
    tree->top = contract(&b, terms, count);
    memory_release(memory, mark);
    return b.parts.work;
}
