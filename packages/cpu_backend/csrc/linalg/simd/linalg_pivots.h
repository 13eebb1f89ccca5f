/* Determinants of what is factored, for linalg_lu.h: products of pivots, and of their logarithms. */
#include <string.h>

static const double LOG_OF_TWO = 0x1.62e42fefa39efp-1;

/* The product of the pivots, which are a stride and one number apart, over 2^exponents: neither the factors nor partial
 * products leave the range. */
static __attribute__((noinline)) Number lu_scaled_product(const Number *a, Index stride, int n, Lane *exponents) {
    Number product = number(broadcast(1.0));
    *exponents = broadcast(0.0);
    for (int j = 0; j < n; j++) {
        product = times(product, scaled(a[j + j * stride], scale_to(largest_part(a[j + j * stride]), 0.0)));
        *exponents -= exponent(scale_to(largest_part(a[j + j * stride]), 0.0));
        Lane unit = scale_to(largest_part(product), 0.0);
        *exponents -= exponent(unit);
        product = scaled(product, unit);
    }
    return product;
}

/* The product of the pivots as it is; answers where one of them is so large or small that it may leave the range. */
INLINE Mask lu_plain_product(const Number *a, Index stride, int n, Number *product) {
    const int power = 900 / n;
    Lane least = broadcast(1.0), most = least;
    *product = a[0];
    for (int j = 0; j < n; j++) {
        const Lane size = largest_part(a[j + j * stride]);
        if (j > 0) *product = times(*product, a[j + j * stride]);
        most = larger(most, size);
        least = pick(greater(least, size), size, least);
    }
    return greater(most, power_of_two(broadcast(power))) | greater(power_of_two(broadcast(-power)), least);
}

/* With its sign changed where the number of exchanges is odd. */
INLINE Number lu_with_sign(Number product, const Lane *swaps, int n) {
    Mask odd = no_lane();
    for (int j = 0; j < n; j++) odd ^= complement(equal(swaps[j], broadcast(j)));
    return choose(odd, minus(product), product);
}

/* x times 2^exponents: 2^2300 times any double is infinite, 2^-2300 times any is zero. */
INLINE Number times_power(Number x, Lane exponents) {
    for (int step = 0; step < 3; step++) {
        const Lane part = within(exponents, 1000.0);
        x = scaled(x, power_of_two(part));
        exponents -= part;
    }
    return x;
}

INLINE Number lu_product_group(const Number *a, Index stride, const Lane *swaps, int n) {
    Number product;
    const Mask far = lu_plain_product(a, stride, n, &product);
    if (any(far)) {
        Lane exponents;
        const Number careful = lu_scaled_product(a, stride, n, &exponents);
        product = choose(far, times_power(careful, exponents), product);
    }
    return lu_with_sign(product, swaps, n);
}

/* The logarithm of a number times a power of two. */
static __attribute__((noinline)) double scaled_logarithm(double number, double exponent) {
    return log(number) + exponent * LOG_OF_TWO;
}

/* The product over its size, and the logarithm of that. */
INLINE Number lu_sign_group(const Number *a, Index stride, const Lane *swaps, int n, Lane *logarithms) {
    Lane exponents;
    Number product = lu_with_sign(lu_scaled_product(a, stride, n, &exponents), swaps, n);
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
