/* Joining terms one after the other. */
#include "partial.h"

Partial partial_take(Memory *memory, const Network *network) {
    int terms = network->terms, words = network->words, nodes = 2 * terms;
    Partial partial = {
        .memory = memory,
        .network = network,
        .nodes = terms,
        .alive = ZEROS(memory, bool, nodes),
        .legs = TAKE(memory, Word, (size_t)nodes * (size_t)words),
        .lasting = TAKE(memory, Word, words),
        .size = ZEROS(memory, Log, nodes),
        .holders = ZEROS(memory, Ints, words * 64),
        .left = ZEROS(memory, int, nodes),
        .right = ZEROS(memory, int, nodes),
    };
    memcpy(partial.legs, network->sets, (size_t)terms * (size_t)words * sizeof(Word));
    memcpy(partial.lasting, network->output, (size_t)words * sizeof(Word));
    for (int term = 0; term < terms; term++) {
        const Word *legs = row(partial.legs, term, words);
        partial.alive[term] = true;
        partial.size[term] = weigh(network, legs);
        Positions each = positions(legs, words);
        for (int p; (p = next_position(&each)) >= 0;) {
            ints_push(memory, &partial.holders[p], term);
            if (partial.holders[p].count > 2) partial.lasting[p >> 6] |= bit(p);
        }
    }
    return partial;
}

void partial_legs(const Partial *partial, int a, int b, Word *legs) {
    int words = partial->network->words;
    const Word *x = row(partial->legs, a, words), *y = row(partial->legs, b, words);
    for (int w = 0; w < words; w++) legs[w] = (x[w] ^ y[w]) | (x[w] & y[w] & partial->lasting[w]);
}

Log partial_size(const Partial *partial, int a, int b) {
    const Network *network = partial->network;
    int words = network->words;
    const Word *x = row(partial->legs, a, words), *y = row(partial->legs, b, words);
    Log sum = 0;
    if (network->weighing == WEIGHT_PER_LABEL) {
        const Log *table = network->weights;
        for (int w = 0; w < words; w++) {
            Word legs = (x[w] ^ y[w]) | (x[w] & y[w] & partial->lasting[w]);
            for (int byte = 0; byte < 8; byte++, table += 256) sum += table[legs >> (8 * byte) & 255];
        }
        return sum;
    }
    for (int w = 0; w < words; w++)
        sum += network->weights[w] * count_bits((x[w] ^ y[w]) | (x[w] & y[w] & partial->lasting[w]));
    return sum;
}

int partial_join(Partial *partial, int a, int b) {
    const Network *network = partial->network;
    int words = network->words, joined = partial->nodes++;
    Word *legs = own_row(partial->legs, joined, words);
    partial_legs(partial, a, b, legs);
    partial->alive[a] = partial->alive[b] = false;
    partial->alive[joined] = true;
    partial->left[joined] = a;
    partial->right[joined] = b;
    for (int w = 0; w < words; w++) {
        Word in_a = row(partial->legs, a, words)[w], in_b = row(partial->legs, b, words)[w];
        for (Word left = in_a | in_b; left; left &= left - 1) {
            int p = w * 64 + lowest(left);
            Ints *holders = &partial->holders[p];
            if (in_a & bit(p)) ints_drop(holders, a);
            if (in_b & bit(p)) ints_drop(holders, b);
            if (has(legs, p)) ints_push(partial->memory, holders, joined);
            if (holders->count <= 2 && !has(network->output, p)) partial->lasting[w] &= ~bit(p);
        }
    }
    partial->size[joined] = weigh(network, legs);
    return joined;
}

Network partial_network(Memory *memory, const Partial *partial, int *ids) {
    const Network *network = partial->network;
    int words = network->words, terms = 0, total = 0;
    for (int node = 0; node < partial->nodes; node++)
        if (partial->alive[node]) ids[terms++] = node;
    int *starts = TAKE(memory, int, terms + 1);
    bool *in_output = TAKE(memory, bool, words * 64);
    starts[0] = 0;
    for (int i = 0; i < terms; i++) {
        for (int w = 0; w < words; w++) total += count_bits(row(partial->legs, ids[i], words)[w]);
        starts[i + 1] = total;
    }
    int *numbers = TAKE(memory, int, total + 1);
    for (int i = 0, next = 0; i < terms; i++) {
        Positions each = positions(row(partial->legs, ids[i], words), words);
        for (int p; (p = next_position(&each)) >= 0;) numbers[next++] = p;
    }
    for (int p = 0; p < words * 64; p++) in_output[p] = has(network->output, p);
    Description left = {terms, words * 64, starts, numbers, network->bits, in_output, NULL, 0};
    Network result = network_make(memory, &left);
    int *labels = TAKE(memory, int, result.words * 64); /* those of the whole network */
    for (int p = 0; p < result.words * 64; p++)
        labels[p] = result.labels[p] < 0 ? -1 : network->labels[result.labels[p]];
    result.labels = labels;
    return result;
}
