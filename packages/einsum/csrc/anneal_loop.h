/* The loop over rotations, included once for each instruction set: SUFFIXED(name) names it, TARGET marks it, and
   COUNT_BITS is how bits of a word are counted. */

/* Sizes and unions of sets; for a fixed number of words the compiler unrolls. */
static inline __attribute__((always_inline)) TARGET Log SUFFIXED(new_legs)(const Network *network, const int words,
                                                                           const Weighing weighing, const Word *a,
                                                                           const Word *b, const Word *c,
                                                                           const Word *open, Word *legs, Log *inner,
                                                                           Log *outer) {
    /* x = (a, b) becomes (a, c), below y with the open legs; b is joined to it there. */
    const Log *weights = network->weights;
    Log inner_sum = 0, outer_sum = 0, size = 0;
    for (int w = 0; w < words; w++) {
        Word joined = a[w] | c[w], kept = joined & (b[w] | open[w]), all = kept | b[w];
        legs[w] = kept;
        if (weighing == WEIGHT_PER_LABEL) {
            const Log *table = weights + w * 2048;
            for (int byte = 0; byte < 64; byte += 8, table += 256) {
                inner_sum += table[joined >> byte & 255];
                outer_sum += table[all >> byte & 255];
                size += table[kept >> byte & 255];
            }
        } else {
            const Log weight = weighing == ONE_WEIGHT ? 1 : weights[w];
            inner_sum += weight * COUNT_BITS(joined);
            outer_sum += weight * COUNT_BITS(all);
            size += weight * COUNT_BITS(kept);
        }
    }
    const Log weight = weighing == ONE_WEIGHT ? network->weight : 1;
    *inner = inner_sum * weight;
    *outer = outer_sum * weight;
    return size * weight;
}

static inline __attribute__((always_inline)) TARGET void
SUFFIXED(rotations)(const Network *network, const Aim *aim, Tree *tree, const float colder, int64_t count,
                    Random *random, const int words, const Weighing weighing, const bool sized) {
    const int terms = tree->terms;
    int *left = tree->left, *right = tree->right;
    Word *legs = tree->legs, *fresh = own_row(legs, 2 * terms - 1, words); /* a row that no node has */
    Log *cost = tree->cost, *size = tree->size;
    for (; count > 0; count--) {
        const uint64_t drawn = random_bits(random);
        const int y = terms + (int)(((drawn >> 32) * (uint64_t)(terms - 1)) >> 32);
        int x = left[y], c = right[y];
        if (drawn & 1) {
            x = right[y];
            c = left[y];
        }
        if (x < terms) { /* a term cannot be taken apart: the other one then */
            if (c < terms) continue;
            const int other = x;
            x = c;
            c = other;
        }
        const int a = drawn & 2 ? left[x] : right[x], b = drawn & 2 ? right[x] : left[x];
        Log inner, outer,
            new_size = SUFFIXED(new_legs)(network, words, weighing, row(legs, a, words), row(legs, b, words),
                                          row(legs, c, words), row(legs, y, words), fresh, &inner, &outer);
        Log worse;
        if (sized) {
            inner = cost_of(aim, inner, new_size);
            outer = cost_of(aim, outer, size[y]);
            const Log above = new_size - aim->largest, before = size[x] - aim->largest;
            worse = (above > 0 ? above : 0) - (before > 0 ? before : 0);
        } else {
            worse = 0;
        }
        worse += add_logs(inner, outer) - add_logs(cost[x], cost[y]);
        if (worse > 0 && (float)worse * colder > surprise[drawn >> 4 & (SURPRISES - 1)]) continue;
        left[x] = a;
        right[x] = c;
        left[y] = x;
        right[y] = b;
        cost[x] = inner;
        cost[y] = outer;
        if (sized) size[x] = new_size;
        Word *changed = own_row(legs, x, words);
        for (int w = 0; w < words; w++) changed[w] = fresh[w];
    }
}

#define ROTATIONS(words, weighing, sized)                                                                              \
    SUFFIXED(rotations)(network, aim, tree, colder, count, random, words, weighing, sized)
#define FOR_WORDS(count)                                                                                               \
    case count:                                                                                                        \
        if (sized) ROTATIONS(count, ONE_WEIGHT, true);                                                                 \
        else ROTATIONS(count, ONE_WEIGHT, false);                                                                      \
        return;

static TARGET void SUFFIXED(rotate)(const Network *network, const Aim *aim, Tree *tree, float colder, int64_t count,
                                    Random *random) {
    const bool sized = aim->size_power != 0 || aim->largest != INT32_MAX;
    const int words = network->words;
    if (network->weighing == WEIGHT_PER_LABEL) {
        ROTATIONS(words, WEIGHT_PER_LABEL, sized);
    } else if (network->weighing == WEIGHT_PER_WORD) {
        if (words == 1) ROTATIONS(1, WEIGHT_PER_WORD, sized);
        else if (words == 2) ROTATIONS(2, WEIGHT_PER_WORD, sized);
        else ROTATIONS(words, WEIGHT_PER_WORD, sized);
    } else {
        switch (words) {
            FOR_WORDS(1)
            FOR_WORDS(2)
            FOR_WORDS(3)
            FOR_WORDS(4)
            FOR_WORDS(5)
            FOR_WORDS(6)
            FOR_WORDS(7)
            FOR_WORDS(8)
        default: ROTATIONS(words, ONE_WEIGHT, sized);
        }
    }
}

#undef FOR_WORDS
#undef ROTATIONS
#undef TARGET
#undef COUNT_BITS
#undef SUFFIXED
