/* A dynamic programme over the tree of a plan: orders of intermediates by which contractions and copies cost less.
 *
 * From operands to result, each slot keeps a few options: the order that the plan has, and the others of which the whole
 * branch costs least, each with the cheapest way to it. Orders to choose from follow from those of the two factors: the larger
 * one's with the labels of the other behind, in front, or in the place of what is summed; or the labels of one, of the
 * other, of both; each of them as it is, and with the labels moved to the ends that the next step sums, or keeps of
 * both its factors.
 *
 * Estimates are rough, so that a step in other orders than usual must be better by a margin. Only steps that matter are
 * opened, and as many as pay: estimates of one take about forty microseconds.
 */
#include "layouts.h"

enum { BASES = 9, VARIANTS = 5, USUAL = 0, OPTIONS = 8 };
static const double MARGIN = 1.2, SMALLEST_SHARE = 1.0 / 256;
static const double COPY = 1; /* nanoseconds of an element that is copied, at least */

typedef struct {
    Order order;
    double cost; /* of the branch */
    int from[2]; /* which options of the two slots */
} Option;

typedef struct {
    Option options[OPTIONS];
    int count;
} Slot;

typedef struct {
    Memory *memory;
    Extents extents;
    Slot *slots;
    int operands;
    const Layout *steps;
    unsigned char *marks; /* by label, all zero between two uses */
} Chooser;

/* Marks of a label: in the factors and the result of the step; summed or kept in both factors by the next step. */
enum { IN_FIRST = 1, IN_SECOND = 2, IN_RESULT = 4, SUMMED_NEXT = 8, SHARED_NEXT = 16 };

typedef struct {
    int *items;
    int count;
} Labels;

static void mark(const Chooser *chooser, Order order, unsigned char what) {
    for (int i = 0; i < order.count; i++) chooser->marks[order.labels[i]] |= what;
}

static void clear(const Chooser *chooser, Order order) {
    for (int i = 0; i < order.count; i++) chooser->marks[order.labels[i]] = 0;
}

/* Appends labels of an order of which the bits under a mask are these. */
static void take(const Chooser *chooser, Labels *to, const int *labels, int count, int mask, int bits) {
    for (int i = 0; i < count; i++)
        if ((chooser->marks[labels[i]] & mask) == bits) to->items[to->count++] = labels[i];
}

static void take_order(const Chooser *chooser, Labels *to, Order order, int mask, int bits) {
    take(chooser, to, order.labels, order.count, mask, bits);
}

typedef struct {
    int items[BASES * VARIANTS][MOST_AXES];
    int count, length;
} Orders;

static void add_order(Orders *orders, Order order) {
    size_t bytes = sizeof(int) * (size_t)order.count;
    for (int i = 0; i < orders->count; i++)
        if (!memcmp(orders->items[i], order.labels, bytes)) return;
    memcpy(orders->items[orders->count++], order.labels, bytes);
}

static void add(Orders *orders, const Labels *labels) { add_order(orders, (Order){labels->items, labels->count}); }

/* The larger factor's order, with the other's labels behind, in front, and where the larger one's are first summed. */
static void add_in_place(const Chooser *chooser, Orders *orders, Order larger, Order other, int in_larger) {
    int room[MOST_AXES], mask = IN_RESULT | in_larger, before = 0;
    Labels labels = {room, 0};
    take_order(chooser, &labels, larger, IN_RESULT, IN_RESULT);
    take_order(chooser, &labels, other, mask, IN_RESULT);
    add(orders, &labels);
    labels.count = 0;
    take_order(chooser, &labels, other, mask, IN_RESULT);
    take_order(chooser, &labels, larger, IN_RESULT, IN_RESULT);
    add(orders, &labels);
    while (before < larger.count && chooser->marks[larger.labels[before]] & IN_RESULT) before++;
    labels.count = 0;
    take(chooser, &labels, larger.labels, before, IN_RESULT, IN_RESULT);
    take_order(chooser, &labels, other, mask, IN_RESULT);
    take(chooser, &labels, larger.labels + before, larger.count - before, IN_RESULT, IN_RESULT);
    add(orders, &labels);
}

static double size_of(const Chooser *chooser, Order order) {
    double size = 1;
    for (int i = 0; i < order.count; i++) size *= chooser->extents.extents[order.labels[i]];
    return size;
}

/* Groups of labels of one factor, of the other and of both, as a product of matrices may have them. */
static void add_groups(const Chooser *chooser, Orders *orders, Order a, Order b, Order larger) {
    const int mask = IN_RESULT | IN_FIRST | IN_SECOND;
    int room[MOST_AXES];
    Labels labels = {room, 0};
    for (int turned = 0; turned < 2; turned++) {
        labels.count = 0;
        take_order(chooser, &labels, turned ? b : a, mask, IN_RESULT | (turned ? IN_SECOND : IN_FIRST));
        take_order(chooser, &labels, turned ? a : b, mask, IN_RESULT | (turned ? IN_FIRST : IN_SECOND));
        take_order(chooser, &labels, larger, mask, mask);
        add(orders, &labels);
    }
}

/* The orders so far, with labels moved for the next step: those summed there, those that both have, and the others. */
static void add_moved(const Chooser *chooser, Orders *orders) {
    const int mask = SUMMED_NEXT | SHARED_NEXT, bases = orders->count, length = orders->length;
    int room[MOST_AXES];
    for (int base = 0; base < bases; base++) {
        const int *items = orders->items[base];
        for (int summed_first = 0; summed_first < 2; summed_first++) {
            Labels labels = {room, 0};
            take(chooser, &labels, items, length, mask, summed_first ? SUMMED_NEXT : 0);
            take(chooser, &labels, items, length, mask, summed_first ? 0 : SUMMED_NEXT);
            take(chooser, &labels, items, length, mask, SHARED_NEXT);
            add(orders, &labels);
            labels.count = 0; /* only what is summed moves */
            take(chooser, &labels, items, length, SUMMED_NEXT, summed_first ? SUMMED_NEXT : 0);
            take(chooser, &labels, items, length, SUMMED_NEXT, summed_first ? 0 : SUMMED_NEXT);
            add(orders, &labels);
        }
    }
}

/* All orders that a result may get from factors in these, the usual one first. */
static void propose(const Chooser *chooser, Orders *orders, Order a, Order b, Order usual) {
    double first = size_of(chooser, a), second = size_of(chooser, b);
    orders->count = 0;
    orders->length = usual.count;
    add_order(orders, usual);
    if (4 * first > second) add_in_place(chooser, orders, a, b, IN_FIRST);
    if (4 * second > first) add_in_place(chooser, orders, b, a, IN_SECOND);
    add_groups(chooser, orders, a, b, first >= second ? a : b);
    add_moved(chooser, orders);
}

static Order kept(const Chooser *chooser, Order order) {
    int *labels = TAKE(chooser->memory, int, order.count + 1);
    memcpy(labels, order.labels, sizeof(int) * (size_t)order.count);
    return (Order){labels, order.count};
}

static bool same(Order one, Order other) {
    return one.count == other.count && !memcmp(one.labels, other.labels, sizeof(int) * (size_t)one.count);
}

/* Keeps an order, if it is among the cheapest of its slot. The usual one, which comes first, always is. */
static void keep(const Chooser *chooser, Slot *slot, Order order, double cost, int i, int k) {
    int place = 0;
    while (place < slot->count && !same(slot->options[place].order, order)) place++;
    bool known = place < slot->count;
    if (known && cost >= slot->options[place].cost) return;
    if (!known && place == OPTIONS) {
        place = USUAL + 1;
        for (int one = place + 1; one < OPTIONS; one++)
            if (slot->options[one].cost > slot->options[place].cost) place = one;
        if (cost >= slot->options[place].cost) return;
    }
    if (place == slot->count) slot->count++;
    slot->options[place] = (Option){known ? slot->options[place].order : kept(chooser, order), cost, {i, k}};
}

/* Leaves out orders that cost more than the cheapest one and a copy from it. */
static void prune(Slot *slot, double copy) {
    double least = INFINITY;
    int left = USUAL + 1;
    for (int i = 0; i < slot->count; i++) least = fmin(least, slot->options[i].cost);
    for (int i = USUAL + 1; i < slot->count; i++)
        if (slot->options[i].cost < least + copy) slot->options[left++] = slot->options[i];
    if (slot->count > left) slot->count = left;
}

/* What an order has to cost less than, to be kept. */
static double to_beat(const Slot *slot, Order order) {
    double most = slot->count < OPTIONS ? INFINITY : 0;
    for (int i = 0; i < slot->count; i++) {
        if (same(slot->options[i].order, order)) return slot->options[i].cost;
        if (i > USUAL) most = fmax(most, slot->options[i].cost);
    }
    return most;
}

/* What no order that is kept costs more than; INFINITY while there is room for more. */
static double dearest(const Slot *slot) {
    double most = slot->count < OPTIONS ? INFINITY : 0;
    for (int i = 0; i < slot->count; i++) most = fmax(most, slot->options[i].cost);
    return most;
}

static int cheapest(const Slot *slot) {
    int best = USUAL;
    for (int i = 1; i < slot->count; i++)
        if (slot->options[i].cost < slot->options[best].cost) best = i;
    return best;
}

static void fill(const Chooser *chooser, int number, const Layout *next, bool open, Orders *orders) {
    const Layout *step = &chooser->steps[number];
    Slot *slot = &chooser->slots[chooser->operands + number];
    const Slot *first = &chooser->slots[step->first], *second = &chooser->slots[step->second];
    Order other = {NULL, 0};
    slot->count = 0;
    const int best_first = cheapest(first), best_second = cheapest(second);
    if (open) {
        int result = chooser->operands + number, partner = next->first == result ? next->second : next->first;
        other = chooser->slots[partner].options[USUAL].order;
        mark(chooser, next->usual, SHARED_NEXT);
        for (int i = 0; i < other.count; i++) { /* what both factors have, and the next result has not, is summed */
            unsigned char *of = &chooser->marks[other.labels[i]];
            *of = *of & SHARED_NEXT ? SHARED_NEXT : SUMMED_NEXT;
        }
        for (int i = 0; i < next->usual.count; i++) { /* what the next result has from this factor alone is neither */
            int label = next->usual.labels[i], found = 0;
            while (found < other.count && other.labels[found] != label) found++;
            if (found == other.count) chooser->marks[label] = 0;
        }
        mark(chooser, step->usual, IN_RESULT);
    }
    for (int i = 0; i < first->count; i++) {
        for (int k = 0; k < second->count; k++) {
            if (i != USUAL && k != USUAL && i != best_first && k != best_second) continue; /* all pairs are too many */
            const Option *a = &first->options[i], *b = &second->options[k];
            double before = a->cost + b->cost;
            if (before >= dearest(slot)) continue;
            orders->count = 1; /* the usual one */
            if (open) {
                mark(chooser, a->order, IN_FIRST);
                mark(chooser, b->order, IN_SECOND);
                propose(chooser, orders, a->order, b->order, step->usual);
            }
            Factors factors = factors_laid(&chooser->extents, a->order, b->order);
            for (int one = 0; one < orders->count; one++) {
                Order order = one ? (Order){orders->items[one], step->usual.count} : step->usual;
                double factor = i == USUAL && k == USUAL && one == 0 ? 1 : MARGIN;
                double bound = (to_beat(slot, order) - before) / factor;
                if (bound <= 0) continue;
                double cost = contraction_cost(&chooser->extents, &factors, order, bound);
                if (cost < bound || bound == INFINITY) keep(chooser, slot, order, before + factor * cost, i, k);
            }
            factors_forgotten(&chooser->extents, &factors);
        }
    }
    prune(slot, COPY * size_of(chooser, step->usual));
    if (open) {
        clear(chooser, other);
        clear(chooser, next->usual);
        clear(chooser, chooser->slots[step->first].options[USUAL].order);
        clear(chooser, chooser->slots[step->second].options[USUAL].order);
    }
}

static int by_cost(const void *one, const void *other) {
    double a = *(const double *)one, b = *(const double *)other;
    return a < b ? 1 : a > b ? -1 : 0;
}

/* Whether a step is estimated at all: two factors, of so few labels that sets of them are words. */
static bool estimated(const Chooser *chooser, int number) {
    const Layout *step = &chooser->steps[number];
    int labels = 0;
    for (int side = 0; side < 2; side++) {
        int slot = side ? step->second : step->first;
        if (slot < 0) return false;
        labels += chooser->slots[slot].options[USUAL].order.count;
    }
    return labels <= MOST_AXES;
}

static void single(Slot *slot, Order order, double cost) {
    slot->options[USUAL] = (Option){order, cost, {USUAL, USUAL}};
    slot->count = 1;
}

/* A step that is not estimated: what it reads is in the usual orders, and so is what it gives. */
static void passed_on(const Chooser *chooser, int number) {
    const Layout *step = &chooser->steps[number];
    double cost = chooser->slots[step->first].options[USUAL].cost;
    if (step->second >= 0) cost += chooser->slots[step->second].options[USUAL].cost;
    single(&chooser->slots[chooser->operands + number], step->usual, cost);
}

bool layouts_choose(Memory *memory, const double *extents, int labels, const Order *operands, int operand_count,
                    Layout *steps, int step_count, double worth) {
    Chooser chooser = {.memory = memory, .operands = operand_count, .steps = steps};
    chooser.extents.extents = extents;
    chooser.extents.closely = false;
    for (int array = 0; array < 3; array++) chooser.extents.strides[array] = ZEROS(memory, double, labels + 1);
    chooser.marks = ZEROS(memory, unsigned char, labels + 1);
    int slot_count = operand_count + step_count;
    chooser.slots = ZEROS(memory, Slot, slot_count);
    const Layout **next = ZEROS(memory, const Layout *, slot_count);
    double *costs = ZEROS(memory, double, step_count + 1), *sorted = TAKE(memory, double, step_count + 1), total = 0;
    for (int i = 0; i < operand_count; i++) single(&chooser.slots[i], operands[i], 0);
    for (int i = 0; i < step_count; i++) {
        const Layout *step = &steps[i];
        single(&chooser.slots[operand_count + i], step->usual, 0);
        next[step->first] = step;
        if (step->second >= 0) next[step->second] = step;
        if (estimated(&chooser, i)) {
            Factors factors = factors_laid(&chooser.extents, chooser.slots[step->first].options[USUAL].order,
                                           chooser.slots[step->second].options[USUAL].order);
            costs[i] = contraction_cost(&chooser.extents, &factors, step->usual, INFINITY);
            factors_forgotten(&chooser.extents, &factors);
            total += costs[i];
        }
    }
    memcpy(sorted, costs, sizeof(double) * (size_t)step_count);
    qsort(sorted, (size_t)step_count, sizeof(double), by_cost);
    double opened = total / worth, least = SMALLEST_SHARE * total;
    if (opened < 1 || total == INFINITY) return false;
    if (opened < step_count) least = fmax(least, sorted[(int)opened]);
    Orders *orders = TAKE(memory, Orders, 1);
    for (int i = 0; i < step_count; i++) {
        const Layout *reader = next[operand_count + i];
        bool free = reader && reader->second >= 0 && estimated(&chooser, (int)(reader - steps));
        if (!estimated(&chooser, i)) {
            passed_on(&chooser, i);
            continue;
        }
        fill(&chooser, i, reader, free && fmax(costs[i], costs[reader - steps]) >= least, orders);
    }
    int *option = ZEROS(memory, int, slot_count);
    bool changed = false;
    for (int i = step_count - 1; i >= 0; i--) { /* readers come after what they read */
        Layout *step = &steps[i];
        const Option *taken = &chooser.slots[operand_count + i].options[option[operand_count + i]];
        step->chosen = taken->order;
        changed |= !same(step->chosen, step->usual);
        option[step->first] = taken->from[0];
        if (step->second >= 0) option[step->second] = taken->from[1];
    }
    return changed;
}
