/* Forgets the element type that every_type.h named last. */
#undef NAME
#undef PART
#undef PARTS
#undef PART_BYTES
#undef ALGEBRA
