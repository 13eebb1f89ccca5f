/* Distances, and orders along directions; the sweep whose direction is best. */
#include "directions.h"

enum { DRAWN = 12, TURNED = 6 };

/* Steps from one of the terms to every other; those that cannot be reached are farther than any. Returns a farthest one. */
static int measure_from(Memory *memory, Parts *parts, const Word *without, const int *terms, int count, int first,
                        int *distances) {
    Mark mark = memory_mark(memory);
    const Network *network = parts->network;
    int *queue = TAKE(memory, int, count), head = 0, tail = 0;
    bool *seen = ZEROS(memory, bool, network->words * 64);
    for (int i = 0; i < network->terms; i++) distances[i] = -1;
    for (int i = 0; i < count; i++) distances[terms[i]] = count;
    distances[first] = 0;
    queue[tail++] = first;
    while (head < tail) {
        int term = queue[head++];
        Positions each = positions(row(network->sets, term, network->words), network->words);
        for (int p; (p = next_position(&each)) >= 0;) {
            if (seen[p] || (without && has(without, p))) continue;
            seen[p] = true;
            for (int i = 0; i < parts->holders[p].count; i++) {
                int other = parts->holders[p].items[i];
                if (distances[other] < count) continue;
                distances[other] = distances[term] + 1;
                queue[tail++] = other;
            }
        }
    }
    memory_release(memory, mark);
    parts->work += 4 * count;
    return queue[tail - 1];
}

Directions directions_take(Memory *memory, const Network *network) {
    Directions directions = {.keyed = TAKE(memory, Keyed, network->terms)};
    for (int i = 0; i < PIVOTS; i++) directions.distances[i] = TAKE(memory, int, network->terms);
    return directions;
}

void directions_measure(Directions *directions, Memory *memory, Parts *parts, const Word *without, const int *terms,
                        int count) {
    int **distances = directions->distances, middle = terms[0], least = -1;
    const int first = terms[random_below(parts->random, count)];
    const int end = measure_from(memory, parts, without, terms, count, first, distances[0]);
    const int other_end = measure_from(memory, parts, without, terms, count, end, distances[0]);
    measure_from(memory, parts, without, terms, count, other_end, distances[1]);
    directions->farthest = distances[0][other_end];
    for (int i = 0; i < count; i++) {
        const int *to_end = &distances[0][terms[i]], *to_other = &distances[1][terms[i]];
        const int nearest = *to_end < *to_other ? *to_end : *to_other;
        if (nearest > least && nearest < count) {
            least = nearest;
            middle = terms[i];
        }
    }
    /* Across from the middle between two opposite corners is a third one, and across from that a fourth. */
    int third = measure_from(memory, parts, without, terms, count, middle, distances[2]);
    if (third == end || third == other_end) third = middle;
    const int fourth = measure_from(memory, parts, without, terms, count, third, distances[2]);
    measure_from(memory, parts, without, terms, count, fourth, distances[3]);
    directions->drawn = 0;
}

static double bell(Random *random) { /* about a normal distribution */
    double sum = -3;
    for (int i = 0; i < 6; i++) sum += random_unit(random);
    return sum;
}

Direction direction_draw(Directions *directions, Random *random) {
    Direction direction;
    int pairs = PIVOTS * (PIVOTS - 1), number = directions->drawn++ % (2 * pairs);
    double small = number < pairs ? 0.25 / (1 + directions->farthest) : 1;
    for (int k = 0; k < PIVOTS; k++) direction.along[k] = small * bell(random);
    if (number < pairs) {
        int pair = number / 2, a = 0;
        for (; pair >= PIVOTS - 1 - a; a++) pair -= PIVOTS - 1 - a;
        direction.along[a] += 1;
        direction.along[a + 1 + pair] += number & 1 ? 1 : -1;
    }
    return direction;
}

static int by_key(const void *a, const void *b) {
    const Keyed *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->term > y->term) - (x->term < y->term);
}

void directions_sort(Directions *directions, const Direction *direction, int *terms, int count) {
    Keyed *keyed = directions->keyed;
    for (int i = 0; i < count; i++) {
        keyed[i] = (Keyed){0, terms[i]};
        for (int k = 0; k < PIVOTS; k++) keyed[i].key += direction->along[k] * directions->distances[k][terms[i]];
    }
    qsort(keyed, (size_t)count, sizeof *keyed, by_key);
    for (int i = 0; i < count; i++) terms[i] = keyed[i].term;
}

/* Log2 of the cost of joining one term after the other, in units of cost. */
static double cost_of_order(Parts *parts, const int *terms) {
    const Network *network = parts->network;
    int count = network->terms;
    Log open = 0, top = NEVER;
    double sum = 0;
    memset(parts->inside, 0, (size_t)network->words * 64 * sizeof *parts->inside);
    for (int i = 0; i < count; i++) {
        Log closed = 0;
        Positions each = positions(row(network->sets, terms[i], network->words), network->words);
        for (int p; (p = next_position(&each)) >= 0;) {
            int inside = ++parts->inside[p];
            if (inside == 1) open += label_weight(network, p);
            if (inside == parts->holders[p].count && !has(network->output, p)) closed += label_weight(network, p);
        }
        if (open > top) {
            sum *= exp2((double)(top - open) / ONE);
            top = open;
        }
        sum += exp2((double)(open - top) / ONE);
        open -= closed;
    }
    parts->work += 6 * count;
    return top + ONE * log2(sum);
}

int64_t direction_tree(Memory *memory, const Network *network, Random *random, Tree *tree) {
    Mark mark = memory_mark(memory);
    Parts parts = parts_take(memory, network, random);
    Directions directions = directions_take(memory, network);
    int count = network->terms, *terms = TAKE(memory, int, count), *best_terms = TAKE(memory, int, count);
    Direction best = {{0}};
    double least = INFINITY;
    for (int i = 0; i < count; i++) terms[i] = i;
    directions_measure(&directions, memory, &parts, NULL, terms, count);
    for (int i = 0; i < DRAWN + TURNED; i++) {
        Direction direction = best;
        double turn = 0.5 * pow(0.05, (i - DRAWN) / (double)TURNED);
        if (i < DRAWN) direction = direction_draw(&directions, random);
        else
            for (int k = 0; k < PIVOTS; k++) direction.along[k] += turn * bell(random);
        directions_sort(&directions, &direction, terms, count);
        double cost = cost_of_order(&parts, terms);
        if (cost >= least) continue;
        least = cost;
        best = direction;
        memcpy(best_terms, terms, (size_t)count * sizeof *terms);
    }
    chain_tree(network, best_terms, tree);
    memory_release(memory, mark);
    return parts.work;
}
