/* Forgets what exponential_types.h defined for one type. */
#undef T
#undef SUFFIX
#undef BITS
#undef FUNCTION
#undef IS_DOUBLE
#undef FMA
#undef SHIFTER
#undef BIAS
#undef MANTISSA
#undef GREATEST
#undef LEAST
#undef LARGEST
#undef LN2_HIGH
#undef LN2_LOW
