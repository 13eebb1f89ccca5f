/* Determinants of what is factored, for linalg_lu.h: products of pivots, and of their logarithms. */
#include <string.h>

static const double LOG_OF_TWO = 0x1.62e42fefa39efp-1;

/* The product of the pivots, which are a stride and one number apart, with the sign of the exchanges, over 2^exponents:
 * neither the factors nor partial products leave the range. */
INLINE Number lu_scaled_product(const Number *a, Index stride, const Lane *swaps, int n, Lane *exponents) {
    Number product = number(broadcast(1.0));
    *exponents = broadcast(0.0);
    for (int j = 0; j < n; j++) {
        product = times(product, scaled(a[j + j * stride], scale_to(largest_part(a[j + j * stride]), 0.0)));
        *exponents -= exponent(scale_to(largest_part(a[j + j * stride]), 0.0));
        Lane unit = scale_to(largest_part(product), 0.0);
        *exponents -= exponent(unit);
        product = scaled(product, unit);
        product = choose(equal(swaps[j], broadcast(j)), product, minus(product));
    }
    return product;
}

/* The product itself: zero or infinite where it leaves the range. */
INLINE Number lu_product_group(const Number *a, Index stride, const Lane *swaps, int n) {
    Lane exponents;
    Number product = lu_scaled_product(a, stride, swaps, n, &exponents);
    for (int step = 0; step < 3; step++) { /* 2^2300 times any double is infinite, 2^-2300 times any is zero */
        Lane part = pick(greater(exponents, broadcast(1000.0)), broadcast(1000.0), exponents);
        part = pick(greater(broadcast(-1000.0), part), broadcast(-1000.0), part);
        product = scaled(product, power_of_two(part));
        exponents -= part;
    }
    return product;
}

/* The logarithm of a number times a power of two. */
static __attribute__((noinline)) double scaled_logarithm(double number, double exponent) {
    return log(number) + exponent * LOG_OF_TWO;
}

/* The product over its size, and the logarithm of that. */
INLINE Number lu_sign_group(const Number *a, Index stride, const Lane *swaps, int n, Lane *logarithms) {
    Lane exponents;
    const Number product = lu_scaled_product(a, stride, swaps, n, &exponents);
    const Lane size = root(add_square(broadcast(0.0), product)); /* far from the ends of the range, or zero */
    double sizes[LANES], powers[LANES], found[LANES];
    memcpy(sizes, &size, sizeof size);
    memcpy(powers, &exponents, sizeof exponents);
    for (int lane = 0; lane < LANES; lane++) {
        if (lane > 0 && sizes[lane] == sizes[0] && powers[lane] == powers[0]) found[lane] = found[0]; /* one matrix */
        else found[lane] = scaled_logarithm(sizes[lane], powers[lane]);
    }
    memcpy(logarithms, found, sizeof found);
    return divide_by_real(product, larger(size, broadcast(0x1p-1000)));
}
