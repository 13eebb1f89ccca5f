/* What main.c begins and ends around a driver. */
#ifndef TENSOR_CPU_FUZZ_MAIN_H
#define TENSOR_CPU_FUZZ_MAIN_H

#include <stdint.h>

void example_begin(uint64_t seed);
void example_end(void);

#endif
