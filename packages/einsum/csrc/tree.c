/* Trees: filling in, ordering and measuring. */
#include "tree.h"

Tree tree_take(Memory *memory, const Network *network) {
    int nodes = 2 * network->terms;
    return (Tree){
        .terms = network->terms,
        .words = network->words,
        .top = nodes - 2,
        .left = ZEROS(memory, int, nodes),
        .right = ZEROS(memory, int, nodes),
        .legs = ZEROS(memory, Word, (size_t)nodes * (size_t)network->words),
        .cost = ZEROS(memory, Log, nodes),
        .size = ZEROS(memory, Log, nodes),
    };
}

void tree_copy(Tree *to, const Tree *from) {
    size_t nodes = 2 * (size_t)from->terms;
    to->top = from->top;
    memcpy(to->left, from->left, nodes * sizeof *to->left);
    memcpy(to->right, from->right, nodes * sizeof *to->right);
    memcpy(to->legs, from->legs, nodes * (size_t)from->words * sizeof *to->legs);
    memcpy(to->cost, from->cost, nodes * sizeof *to->cost);
    memcpy(to->size, from->size, nodes * sizeof *to->size);
}

void tree_order(Memory *memory, const Tree *tree, int *order) {
    Mark mark = memory_mark(memory);
    int *stack = TAKE(memory, int, 2 * tree->terms), depth = 0, place = tree->terms - 1;
    stack[depth++] = tree->top;
    while (depth) {
        int node = stack[--depth];
        if (is_term(tree, node)) continue;
        order[--place] = node;
        stack[depth++] = tree->left[node]; /* its right child is taken first, and so comes last */
        stack[depth++] = tree->right[node];
    }
    memory_release(memory, mark);
}

/* How many terms have each label. */
static int *count_labels(Memory *memory, const Network *network) {
    int *counts = ZEROS(memory, int, network->words * 64);
    for (int term = 0; term < network->terms; term++) {
        Positions each = positions(row(network->sets, term, network->words), network->words);
        for (int p; (p = next_position(&each)) >= 0;) counts[p]++;
    }
    return counts;
}

/* The labels that are open when two nodes have been joined; counts has how many nodes with the label are left. */
static void join_legs(const Network *network, const Word *a, const Word *b, int *counts, Word *legs) {
    for (int w = 0; w < network->words; w++) {
        Word both = a[w] & b[w];
        legs[w] = a[w] ^ b[w];
        for (; both; both &= both - 1) {
            int p = w * 64 + lowest(both);
            if (--counts[p] > 1 || has(network->output, p)) legs[w] |= bit(p);
        }
    }
}

void tree_fill(Memory *memory, const Network *network, const Aim *aim, const Word *sliced, Tree *tree) {
    Mark mark = memory_mark(memory);
    int words = network->words, *order = TAKE(memory, int, network->terms), *counts = count_labels(memory, network);
    for (int term = 0; term < network->terms; term++)
        for (int w = 0; w < words; w++)
            own_row(tree->legs, term, words)[w] = row(network->sets, term, words)[w] & (sliced ? ~sliced[w] : ~(Word)0);
    tree_order(memory, tree, order);
    for (int i = 0; i < network->terms - 1; i++) {
        int node = order[i];
        const Word *a = row(tree->legs, tree->left[node], words), *b = row(tree->legs, tree->right[node], words);
        join_legs(network, a, b, counts, own_row(tree->legs, node, words));
    }
    memory_release(memory, mark);
    tree_reprice(network, aim, tree);
}

void tree_reprice(const Network *network, const Aim *aim, Tree *tree) {
    int words = network->words;
    for (int node = 0; node < 2 * network->terms - 1; node++) {
        tree->size[node] = weigh(network, row(tree->legs, node, words));
        if (is_term(tree, node)) continue;
        const Word *a = row(tree->legs, tree->left[node], words), *b = row(tree->legs, tree->right[node], words);
        tree->cost[node] = cost_of(aim, weigh_either(network, a, b), tree->size[node]);
    }
}

double tree_cost(const Tree *tree) {
    Log top = NEVER;
    for (int node = tree->terms; node < 2 * tree->terms - 1; node++)
        if (tree->cost[node] > top) top = tree->cost[node];
    double sum = 0;
    for (int node = tree->terms; node < 2 * tree->terms - 1; node++)
        if (tree->cost[node] > top - 50 * ONE) sum += exp2((double)(tree->cost[node] - top) / ONE);
    return sum > 0 ? top + ONE * log2(sum) : NEVER;
}

Log tree_size(const Tree *tree) {
    Log largest = 0;
    for (int node = tree->terms; node < 2 * tree->terms - 1; node++)
        if (tree->size[node] > largest) largest = tree->size[node];
    return largest;
}

double tree_peak(Memory *memory, const Network *network, const Word *sliced, const Tree *tree) {
    Mark mark = memory_mark(memory);
    int nodes = 2 * network->terms, *order = TAKE(memory, int, network->terms);
    double *size = ZEROS(memory, double, nodes), *peak = ZEROS(memory, double, nodes); /* in units of the largest */
    double whole = sliced ? weigh(network, network->output) : NEVER, unit = fmax(whole, tree_size(tree));
    tree_order(memory, tree, order);
    for (int i = 0; i < network->terms - 1; i++) {
        int node = order[i], a = tree->left[node], b = tree->right[node];
        size[node] = exp2((tree->size[node] - unit) / ONE);
        double least = fmin(fmax(peak[a], size[a] + peak[b]), fmax(peak[b], size[b] + peak[a]));
        peak[node] = fmax(least, size[a] + size[b] + size[node]);
    }
    double most = peak[tree->top] + exp2((whole - unit) / ONE);
    memory_release(memory, mark);
    return (unit + ONE * log2(most)) / ONE;
}

static double exact_bits(const Network *network, const Word *set) {
    double sum = 0;
    Positions each = positions(set, network->words);
    for (int p; (p = next_position(&each)) >= 0;) sum += network->bits[p];
    return sum;
}

/* Sums of numbers of any size, as a factor and an exponent. */
typedef struct {
    double factor, exponent;
} Sum;

static void add(Sum *sum, double bits) {
    if (sum->factor <= 0 || bits > sum->exponent + 500) {
        sum->factor = sum->factor > 0 ? sum->factor * exp2(sum->exponent - bits) : 0;
        sum->exponent = bits;
    }
    sum->factor += exp2(bits - sum->exponent);
}

static double sum_bits(const Sum *sum) { return sum->factor > 0 ? sum->exponent + log2(sum->factor) : -INFINITY; }

Measure tree_measure(Memory *memory, const Network *network, const Word *sliced, const Cache *cache, Tree *tree) {
    Mark mark = memory_mark(memory);
    int words = network->words, nodes = 2 * network->terms, *order = TAKE(memory, int, network->terms);
    double *bits = TAKE(memory, double, nodes), largest = -INFINITY, slices = sliced ? exact_bits(network, sliced) : 0;
    double *size = ZEROS(memory, double, nodes), *peak = ZEROS(memory, double, nodes); /* in units of the largest */
    Word *joined = TAKE(memory, Word, words);
    Sum products = {0}, elements = {0};
    for (int node = 0; node < nodes - 1; node++) {
        bits[node] = exact_bits(network, row(tree->legs, node, words));
        if (!is_term(tree, node) && bits[node] > largest) largest = bits[node];
    }
    double whole = sliced && slices > 0 ? exact_bits(network, network->output) : -INFINITY;
    double unit = fmax(0, fmax(whole, largest));
    tree_order(memory, tree, order);
    for (int i = 0; i < network->terms - 1; i++) {
        int node = order[i], a = tree->left[node], b = tree->right[node];
        for (int w = 0; w < words; w++) joined[w] = row(tree->legs, a, words)[w] | row(tree->legs, b, words)[w];
        add(&products, exact_bits(network, joined));
        const int moved[] = {a, b, node};
        for (int k = 0; k < 3; k++) {
            const double size_bits = bits[moved[k]];
            add(&elements, size_bits + (cache && size_bits > cache->bits ? cache->uncached : 0));
        }
        size[node] = exp2(bits[node] - unit); /* terms are the caller's: they take nothing */
        double a_first = fmax(peak[a], size[a] + peak[b]), b_first = fmax(peak[b], size[b] + peak[a]);
        if (b_first < a_first) {
            tree->left[node] = b;
            tree->right[node] = a;
        }
        peak[node] = fmax(fmin(a_first, b_first), size[a] + size[b] + size[node]);
    }
    double most = peak[tree->top] + exp2(whole - unit);
    memory_release(memory, mark);
    return (Measure){sum_bits(&products) + slices, sum_bits(&elements) + slices, largest,
                     most > 0 ? log2(most) + unit : -INFINITY};
}
