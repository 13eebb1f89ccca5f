/* Simplification: terms absorbed by a neighbour before the search begins. */
#include "partial.h"

/* By the first rule the labels of one term lie within those of the other: vectors, duplicates, terms inside a
   hyper-edge. By the second the result is no larger than the larger term, and few products come on top: matrices. */
enum { SUBSETS, SMALL_RESULTS, RULES };

static const Log MORE_PRODUCTS = 2 * ONE + ONE / 64;

/* The neighbour that absorbs a term best, or -1. Only terms at least as large are asked. */
static int absorber(const Partial *partial, int term, int rule) {
    int words = partial->network->words, best = -1;
    double best_score = INFINITY;
    const Word *legs = row(partial->legs, term, words);
    Positions each = positions(legs, words);
    for (int p; (p = next_position(&each)) >= 0;) {
        const Ints *holders = &partial->holders[p];
        for (int i = 0; i < holders->count && i < NEIGHBOURS; i++) {
            int other = holders->items[i];
            if (other == term || partial->size[other] < partial->size[term]) continue;
            Log size = partial->size[other], result = partial_size(partial, term, other);
            Log products = weigh_either(partial->network, legs, row(partial->legs, other, words));
            bool good = rule == SUBSETS ? products <= size : result <= size && products <= size + MORE_PRODUCTS;
            double score = (double)(result - size) + 0.01 * (double)products;
            if (good && score < best_score) {
                best_score = score;
                best = other;
            }
        }
    }
    return best;
}

void simplify(Partial *partial) {
    int most = 2 * partial->network->terms - 1;
    for (int rule = 0; rule < RULES; rule++) {
        for (bool changed = true; changed;) {
            changed = false;
            for (int term = 0; term < partial->nodes && partial->nodes < most; term++) {
                int other = partial->alive[term] ? absorber(partial, term, rule) : -1;
                if (other < 0) continue;
                partial_join(partial, term, other);
                changed = true;
            }
        }
    }
}
