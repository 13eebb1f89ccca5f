/* Greedy trees. */
#include "starts.h"

typedef struct {
    double score;
    int a, b;
} Pair;

typedef struct {
    Pair *pairs; /* a heap, the smallest score first */
    int count, room;
} Heap;

static void heap_push(Memory *memory, Heap *heap, Pair pair) {
    if (heap->count == heap->room) {
        heap->room = 2 * heap->room + 250;
        Pair *pairs = TAKE(memory, Pair, heap->room);
        if (heap->count) memcpy(pairs, heap->pairs, (size_t)heap->count * sizeof *pairs);
        heap->pairs = pairs;
    }
    Pair *pairs = heap->pairs;
    int i = heap->count++;
    for (; i && pairs[(i - 1) / 2].score > pair.score; i = (i - 1) / 2) pairs[i] = pairs[(i - 1) / 2];
    pairs[i] = pair;
}

static Pair heap_pop(Heap *heap) {
    Pair *pairs = heap->pairs, first = pairs[0], last = pairs[--heap->count];
    int i = 0;
    for (int child; (child = 2 * i + 1) < heap->count; i = child) {
        if (child + 1 < heap->count && pairs[child + 1].score < pairs[child].score) child++;
        if (pairs[child].score >= last.score) break;
        pairs[i] = pairs[child];
    }
    pairs[i] = last;
    return first;
}

typedef struct {
    Partial partial;
    Heap heap;
    double alpha, noise;
    Random *random;
    int *seen, stamp; /* nodes paired already */
    int64_t work;
} Greedy;

/* Sign and logarithm of what joining adds, as sizes may be beyond any number. */
static double score_of(const Greedy *greedy, int a, int b) {
    const Log *size = greedy->partial.size;
    double result = partial_size(&greedy->partial, a, b), x = size[a], y = size[b], top = fmax(result, fmax(x, y));
    double more = exp2((result - top) / ONE) - greedy->alpha * (exp2((x - top) / ONE) + exp2((y - top) / ONE));
    top /= ONE;
    double score = top > 60 ? fmax(0, top + log2(fabs(more) + 0x1p-60)) : log2(1 + fabs(more) * exp2(top));
    if (more < 0) score = -score;
    return greedy->noise > 0 ? score + greedy->noise * log(-log(random_unit(greedy->random))) : score;
}

/* Pairs of a node with its neighbours; with those of smaller numbers only where all nodes are gone through. */
static void push_pairs(Greedy *greedy, int node, bool smaller_only) {
    Partial *partial = &greedy->partial;
    int words = partial->network->words;
    greedy->seen[node] = ++greedy->stamp;
    Positions each = positions(row(partial->legs, node, words), words);
    for (int p; (p = next_position(&each)) >= 0;) {
        const Ints *holders = &partial->holders[p];
        for (int i = 0; i < holders->count && i < NEIGHBOURS; i++) {
            int other = holders->items[i];
            if (greedy->seen[other] == greedy->stamp || (smaller_only && other > node)) continue;
            greedy->seen[other] = greedy->stamp;
            heap_push(partial->memory, &greedy->heap, (Pair){score_of(greedy, node, other), node, other});
            greedy->work += 8;
        }
    }
}

/* What shares no label is joined last, the smallest first. */
static Pair smallest_pair(const Partial *partial) {
    int a = -1, b = -1;
    for (int node = 0; node < partial->nodes; node++) {
        if (!partial->alive[node]) continue;
        if (a < 0 || partial->size[node] < partial->size[a]) {
            b = a;
            a = node;
        } else if (b < 0 || partial->size[node] < partial->size[b]) {
            b = node;
        }
    }
    return (Pair){0, a, b};
}

int64_t greedy_tree(Memory *memory, const Network *network, double alpha, double noise, Random *random, Tree *tree) {
    Mark mark = memory_mark(memory);
    int terms = network->terms;
    Greedy greedy = {partial_take(memory, network), {0}, alpha, noise, random, ZEROS(memory, int, 2 * terms), 0, 0};
    Partial *partial = &greedy.partial;
    for (int term = 0; term < terms; term++) push_pairs(&greedy, term, true);
    while (partial->nodes < 2 * terms - 1) {
        Pair pair = {0, -1, -1};
        while (greedy.heap.count && pair.a < 0) {
            Pair first = heap_pop(&greedy.heap);
            if (partial->alive[first.a] && partial->alive[first.b]) pair = first;
        }
        if (pair.a < 0) pair = smallest_pair(partial);
        push_pairs(&greedy, partial_join(partial, pair.a, pair.b), false);
    }
    memcpy(tree->left, partial->left, 2 * (size_t)terms * sizeof *tree->left);
    memcpy(tree->right, partial->right, 2 * (size_t)terms * sizeof *tree->right);
    tree->top = 2 * terms - 2;
    memory_release(memory, mark);
    return greedy.work + 10 * terms;
}
