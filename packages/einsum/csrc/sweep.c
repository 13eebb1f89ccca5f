/* Sweeps: an order of terms in which the boundary stays small. */
#include "parts.h"

enum { ELSEWHERE, WAITING, AT_BOUNDARY, TAKEN };

static const double NOISE = 0.5; /* bits that are drawn at each choice, so that equals are taken in any order */

Parts parts_take(Memory *memory, const Network *network, Random *random) {
    int places = network->words * 64, terms = network->terms;
    Parts parts = {
        .network = network,
        .memory = memory,
        .random = random,
        .holders = ZEROS(memory, Ints, places),
        .outside = ZEROS(memory, int, places),
        .inside = ZEROS(memory, int, places),
        .state = ZEROS(memory, int, terms),
        .boundary = TAKE(memory, int, terms),
        .order = TAKE(memory, int, terms),
        .open = TAKE(memory, Word, network->words),
        .closing = TAKE(memory, Word, network->words),
    };
    for (int term = 0; term < terms; term++) {
        Positions each = positions(row(network->sets, term, network->words), network->words);
        for (int p; (p = next_position(&each)) >= 0;) ints_push(memory, &parts.holders[p], term);
    }
    return parts;
}

/* Weight of the boundary when a term has been taken. */
static Log boundary_with(const Parts *parts, int term) {
    const Network *network = parts->network;
    const Word *legs = row(network->sets, term, network->words);
    Log sum = 0;
    if (network->weighing != WEIGHT_PER_LABEL) {
        for (int w = 0; w < network->words; w++)
            sum += network->weights[w] * count_bits((parts->open[w] | legs[w]) & ~(legs[w] & parts->closing[w]));
        return sum;
    }
    Positions each = positions(legs, network->words); /* beside the boundary as it is */
    for (int p; (p = next_position(&each)) >= 0;) {
        bool was = has(parts->open, p), stays = !has(parts->closing, p);
        sum += label_weight(network, p) * (stays - was);
    }
    return sum;
}

static int choose(const Parts *parts, int waiting) {
    int best = 0;
    double smallest = INFINITY;
    for (int i = 0; i < waiting; i++) {
        double weight = boundary_with(parts, parts->boundary[i]) + ONE * NOISE * random_unit(parts->random);
        if (weight < smallest) {
            smallest = weight;
            best = i;
        }
    }
    return best;
}

/* Takes all terms of a part, from the first on. */
static void grow(Parts *parts, const int *terms, int count, int first) {
    const Network *network = parts->network;
    int words = network->words, waiting = 0, next = 0;
    for (int i = 0; i < count; i++) {
        parts->state[terms[i]] = WAITING;
        Positions each = positions(row(network->sets, terms[i], words), words);
        for (int p; (p = next_position(&each)) >= 0;) parts->inside[p] = 0;
    }
    memset(parts->open, 0, (size_t)words * sizeof(Word));
    memset(parts->closing, 0, (size_t)words * sizeof(Word));
    parts->boundary[waiting++] = first;
    parts->state[first] = AT_BOUNDARY;
    for (int taken = 0; taken < count; taken++) {
        if (!waiting) { /* another component */
            while (parts->state[terms[next]] != WAITING) next++;
            parts->boundary[waiting++] = terms[next];
            parts->state[terms[next]] = AT_BOUNDARY;
        }
        parts->work += waiting + 4;
        int place = choose(parts, waiting), term = parts->boundary[place];
        parts->boundary[place] = parts->boundary[--waiting];
        parts->state[term] = TAKEN;
        parts->order[taken] = term;
        const Word *legs = row(network->sets, term, words);
        for (int w = 0; w < words; w++) parts->open[w] = (parts->open[w] | legs[w]) & ~(legs[w] & parts->closing[w]);
        Positions each = positions(legs, words);
        for (int p; (p = next_position(&each)) >= 0;) {
            const Ints *holders = &parts->holders[p];
            int left = holders->count - ++parts->inside[p];
            if (left == 1 && !has(network->output, p)) parts->closing[p >> 6] |= bit(p);
            else parts->closing[p >> 6] &= ~bit(p);
            for (int i = 0; i < holders->count; i++) {
                int other = holders->items[i];
                if (parts->state[other] != WAITING) continue;
                parts->state[other] = AT_BOUNDARY;
                parts->boundary[waiting++] = other;
            }
        }
    }
    for (int i = 0; i < count; i++) parts->state[terms[i]] = ELSEWHERE;
}

void parts_sweep(Parts *parts, int *terms, int count) {
    grow(parts, terms, count, terms[random_below(parts->random, count)]);
    grow(parts, terms, count, parts->order[count - 1]); /* where a sweep ends is far from where it began */
    memcpy(terms, parts->order, (size_t)count * sizeof *terms);
}

void chain_tree(const Network *network, const int *terms, Tree *tree) {
    for (int i = 1, node = network->terms; i < network->terms; i++, node++) {
        tree->left[node] = i == 1 ? terms[0] : node - 1;
        tree->right[node] = terms[i];
    }
    tree->top = 2 * network->terms - 2;
}

int64_t sweep_tree(Memory *memory, const Network *network, Random *random, Tree *tree) {
    Mark mark = memory_mark(memory);
    Parts parts = parts_take(memory, network, random);
    int *terms = TAKE(memory, int, network->terms);
    for (int i = 0; i < network->terms; i++) terms[i] = i;
    parts_sweep(&parts, terms, network->terms);
    chain_tree(network, terms, tree);
    memory_release(memory, mark);
    return parts.work;
}
