/* A second dynamic programme over the subsets of few terms, in nanoseconds of `layout_cost`.
 *
 * Costs of the first one are numbers of elements and products. By these `ijkl,ij->kl` is as good as `ijkl,ik->jl`, which
 * takes several times as long, as what it sums lies apart. So contractions that belong to a tree which costs little more
 * than the best one are estimated again with their labels in order: those of terms as they are given, those of results as
 * the builder of steps puts them, and the output's as it was asked for. Estimates are rough, so that a tree must be better
 * by a margin.
 */
#include "refine.h"

#include "layout_cost.h"

const double REFINED_SLACK = 1.05;
static const double MARGIN = 1.05;
static const double ESTIMATE = 130; /* that an estimate takes */
static const double PRODUCT = 0.5;  /* of a small contraction, roughly */
enum { LEAST = 11 /* bits of the products of a contraction that is worth a look */, MOST_ESTIMATES = 4096 };
enum { SMALL = 6 /* bits less than the heaviest contraction has */, SMALL_ONES = 4 /* times as many as others */ };

/* The best tree known of a subset. */
typedef struct {
    Order order;
    double time; /* INFINITY where none is known */
    int part;    /* one half of its last contraction */
} Best;

typedef struct {
    Memory *memory;
    Subtrees *subtrees;
    Extents extents;
    Order output;
    int all;
    const int *position; /* by label: its place in sets, or -1 */
    Log small;           /* products of a contraction whose time need not be known well */
    Best *best;          /* by subset */
    int *room;           /* for an order */
} Refiner;

/* A contraction that may be taken: a subset, and one of its halves. */
typedef struct {
    int subset, part;
} Split;

static bool is_single(int subset) { return !(subset & (subset - 1)); }

static Log products_of(const Network *network, const Tree *tree, int node) {
    const Word *a = row(tree->legs, tree->left[node], tree->words),
               *b = row(tree->legs, tree->right[node], tree->words);
    return weigh_either(network, a, b);
}

static Log most_products(const Network *network, const Tree *tree) {
    Log most = 0;
    for (int node = tree->terms; node < 2 * tree->terms - 1; node++) {
        Log products = products_of(network, tree, node);
        if (products > most) most = products;
    }
    return most;
}

/* Whether labels of a term that a contraction sums are no neighbours. */
static bool sums_apart(const Description *from, const int *position, int term, const Word *kept) {
    int runs = 0;
    bool summed = false;
    for (int i = from->starts[term]; i < from->starts[term + 1]; i++) {
        int label = from->numbers[i], place = position[label];
        if (from->bits[label] == 0) continue;
        bool before = summed;
        summed = place < 0 || !has(kept, place);
        runs += summed && !before;
    }
    return runs > 1;
}

/* Whether that is so of any term of a contraction that is not small: others are as good as they can be, or nearly. */
static bool any_apart(const Refiner *refiner, const Description *from, const Tree *tree) {
    const Network *network = refiner->subtrees->network;
    for (int node = tree->terms; node < 2 * tree->terms - 1; node++) {
        if (products_of(network, tree, node) <= refiner->small) continue;
        const Word *kept = row(tree->legs, node, tree->words);
        const int halves[2] = {tree->left[node], tree->right[node]};
        for (int i = 0; i < 2; i++)
            if (is_term(tree, halves[i]) && sums_apart(from, refiner->position, halves[i], kept)) return true;
    }
    return false;
}

/* Contractions of trees within the slack, those of larger subsets first; -1 where there are too many. */
static int collect(Memory *memory, const Subtrees *s, int all, Log small, Split *splits, int most) {
    double *outside = TAKE(memory, double, all + 1), allowed = s->best[all] * REFINED_SLACK;
    int count = 0, large = 0;
    for (int subset = 0; subset < all; subset++) outside[subset] = INFINITY; /* least of what is not below a subset */
    outside[all] = 0;
    for (int subset = all; subset; subset--) {
        if (is_single(subset) || outside[subset] + s->best[subset] > allowed) continue;
        int rest = subset & (subset - 1);
        for (int part = rest; part; part = (part - 1) & rest) {
            int other = subset ^ part;
            double cost = outside[subset] + s->best[part] + s->best[other];
            if (cost > allowed) continue;
            Log products = subtree_products(s, subset, part);
            cost += subtree_price(s, subset, products);
            if (cost > allowed) continue;
            large += products > small;
            if (large > most || count == (1 + SMALL_ONES) * most) return -1;
            splits[count++] = (Split){subset, part};
            outside[part] = fmin(outside[part], cost - s->best[part]);
            outside[other] = fmin(outside[other], cost - s->best[other]);
        }
    }
    return count;
}

static bool is_open(const Refiner *refiner, int subset, int label) {
    const Subtrees *s = refiner->subtrees;
    int position = refiner->position[label];
    return position >= 0 && has(row(s->legs, subset, s->network->words), position);
}

static bool is_first(const Refiner *refiner, int one, int other) {
    if (is_single(one) != is_single(other)) return is_single(one); /* terms come before results */
    const int *leaves = refiner->subtrees->region.leaves;
    return leaves[lowest((Word)one)] < leaves[lowest((Word)other)];
}

/* Labels of the result of a contraction: those of its first factor, of its second one, of both. */
static Order usual_order(const Refiner *refiner, int subset, Order a, Order b, const double *of_a, const double *of_b) {
    int *labels = refiner->room, count = 0;
    if (subset == refiner->all) return refiner->output;
    for (int i = 0; i < a.count; i++)
        if (is_open(refiner, subset, a.labels[i]) && of_b[a.labels[i]] == 0) labels[count++] = a.labels[i];
    for (int i = 0; i < b.count; i++)
        if (is_open(refiner, subset, b.labels[i]) && of_a[b.labels[i]] == 0) labels[count++] = b.labels[i];
    for (int i = 0; i < a.count; i++)
        if (is_open(refiner, subset, a.labels[i]) && of_b[a.labels[i]] != 0) labels[count++] = a.labels[i];
    return (Order){labels, count};
}

/* The tree of a subset from those of its two halves, if it is the best one so far. */
static void contract(const Refiner *refiner, int subset, int part) {
    Best *best = refiner->best, *known = &best[subset];
    int one = part, other = subset ^ part;
    double before = best[one].time + best[other].time;
    if (before >= known->time) return;
    if (!is_first(refiner, one, other)) one = other, other = part;
    Order a = best[one].order, b = best[other].order;
    Log products = subtree_products(refiner->subtrees, subset, part);
    Factors factors = factors_laid(&refiner->extents, a, b);
    Order order = usual_order(refiner, subset, a, b, refiner->extents.strides[0], refiner->extents.strides[1]);
    double time = before, bound = known->time - before;
    if (products <= refiner->small) time += PRODUCT * exp2((double)products / ONE);
    else time += contraction_cost(&refiner->extents, &factors, order, bound);
    factors_forgotten(&refiner->extents, &factors);
    if (time >= known->time) return;
    int *labels = TAKE(refiner->memory, int, order.count + 1);
    memcpy(labels, order.labels, sizeof(int) * (size_t)order.count);
    *known = (Best){{labels, order.count}, time, part};
}

/* Contracts a node of the tree that was found by costs, after those below it; gives its subset. */
static int contract_node(const Refiner *refiner, const Tree *tree, int node) {
    const int *leaves = refiner->subtrees->region.leaves;
    int leaf = 0;
    if (is_term(tree, node)) {
        while (leaves[leaf] != node) leaf++;
        return 1 << leaf;
    }
    int one = contract_node(refiner, tree, tree->left[node]), other = contract_node(refiner, tree, tree->right[node]);
    contract(refiner, one | other, one);
    return one | other;
}

/* Extents and orders, and terms as the trees that are known. */
static void prepare(Refiner *refiner, const Description *from) {
    Memory *memory = refiner->memory;
    double *lengths = TAKE(memory, double, from->labels + 1);
    for (int i = 0; i < from->labels; i++) lengths[i] = rint(exp2(from->bits[i]));
    refiner->extents.extents = lengths;
    refiner->extents.closely = true;
    for (int array = 0; array < 3; array++) refiner->extents.strides[array] = ZEROS(memory, double, from->labels + 1);
    refiner->output = (Order){from->output, from->output_count};
    refiner->best = TAKE(memory, Best, refiner->all + 1);
    refiner->room = TAKE(memory, int, from->labels + 1);
    for (int subset = 1; subset <= refiner->all; subset++) refiner->best[subset].time = INFINITY;
    for (int leaf = 0; 1 << leaf <= refiner->all; leaf++) {
        int term = refiner->subtrees->region.leaves[leaf], start = from->starts[term];
        refiner->best[1 << leaf] = (Best){{from->numbers + start, from->starts[term + 1] - start}, 0, 0};
    }
}

static void take_splits(const Refiner *refiner, int subset) {
    if (is_single(subset)) return;
    int part = refiner->best[subset].part;
    refiner->subtrees->split[subset] = part;
    take_splits(refiner, part);
    take_splits(refiner, subset ^ part);
}

bool refine_tree(Memory *memory, const Description *from, Subtrees *s, double share, Tree *tree) {
    int all = (1 << tree->terms) - 1;
    Log products = most_products(s->network, tree);
    if (products < LEAST * ONE || from->labels > MOST_AXES) return false;
    int position[MOST_AXES];
    for (int i = 0; i < from->labels; i++) position[i] = -1;
    for (int p = 0; p < s->network->words * 64; p++)
        if (s->network->labels[p] >= 0) position[s->network->labels[p]] = p;
    Refiner refiner = {.memory = memory, .subtrees = s, .all = all};
    refiner.position = position;
    refiner.small = products - SMALL * ONE;
    if (!any_apart(&refiner, from, tree)) return false;
    prepare(&refiner, from);
    contract_node(&refiner, tree, tree->top);
    double standing = refiner.best[all].time, allowed = share * standing;
    int most = (int)fmin(allowed / ESTIMATE, MOST_ESTIMATES);
    if (most < tree->terms || 1e9 * seconds_of_work(s->network) * (double)s->work > allowed) return false;
    Split *splits = TAKE(memory, Split, (1 + SMALL_ONES) * most);
    int count = collect(memory, s, all, refiner.small, splits, most);
    if (count < tree->terms) return false; /* none but those of the tree */
    for (int subset = 1; subset <= all; subset++)
        if (!is_single(subset)) refiner.best[subset].time = INFINITY;
    while (count--) contract(&refiner, splits[count].subset, splits[count].part);
    if (!(refiner.best[all].time * MARGIN < standing)) return false;
    take_splits(&refiner, all);
    subtree_rebuild(s, tree);
    return true;
}
