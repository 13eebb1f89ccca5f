/* Which of the versions of a kernel this processor runs.
 *
 * Every file in simd/ is compiled once per instruction set; SIMD_NAME(f) is then f_plain, f_avx2 or f_avx512. A file
 * there ends with one table of functions, declared by SIMD_TABLE, and the rest of the extension reaches its functions
 * through SIMD_CHOICE(table) alone. The plain version is C for any processor.
 */
#ifndef TENSOR_CPU_CPU_H
#define TENSOR_CPU_CPU_H

#include <stdbool.h>
#include <stddef.h>

typedef enum { PLAIN, AVX2, AVX512 } InstructionSet;

/* The best one that the processor and the operating system have, or the one that cpu_choose() set. */
InstructionSet cpu_instruction_set(void);

/* Use another one from now on, for tests and comparisons; returns 0, or -1 when the processor lacks it. For kernels
 * made afterwards. */
int cpu_choose(InstructionSet set);

extern const char *const INSTRUCTION_SET_NAMES[3];

/* Whether AMD made the processor. */
bool cpu_is_amd(void);

/* Bytes of the last cache before main memory; 0 where the system does not tell. */
size_t cpu_last_level_cache_bytes(void);

/* The same where it is so small that one has it for oneself; else 0: in a virtual machine, others whom nobody sees have
 * most of a large one. */
size_t cpu_own_cache_bytes(void);

/* Bytes of a contraction's result, from which on it is written past the caches. */
size_t cpu_streamed_bytes(void);

/* Bytes of a copy, from which on it is written past the caches. */
size_t cpu_streamed_copy_bytes(void);

/* Bytes of a copy that repeats few elements, from which on it is written past the caches. */
size_t cpu_streamed_spread_bytes(void);

/* Bytes that an elementwise operation touches, operands and result, from which on they are taken to lie in main memory. */
size_t cpu_far_bytes(void);

/* Bytes of the result of an operation on such, from which on it is written past the caches. */
size_t cpu_streamed_elementwise_bytes(void);

/* Bytes of operands and results of many small matrices, from which on results are written past the caches. */
size_t cpu_streamed_matrices_bytes(void);

/* One number in place of the six above, for tests, for kernels made afterwards; the one that is usual for contractions
 * makes all of them usual again. */
void cpu_stream_from(size_t bytes);

#define SIMD_JOIN2(name, set) name##_##set
#define SIMD_JOIN(name, set) SIMD_JOIN2(name, set)

#ifdef SIMD_SET /* inside simd/ */
#define SIMD_NAME(name) SIMD_JOIN(name, SIMD_SET)
#endif

#if defined(__x86_64__) && defined(NATIVE_WITHOUT_AVX512)
#define SIMD_TABLE(type, name) extern const type name##_plain, name##_avx2
#define SIMD_CHOICE(name) (cpu_instruction_set() == AVX2 ? &name##_avx2 : &name##_plain)
#elif defined(__x86_64__) && !defined(NATIVE_PLAIN)
#define SIMD_TABLE(type, name) extern const type name##_plain, name##_avx2, name##_avx512
#define SIMD_CHOICE(name)                                                                                              \
    (cpu_instruction_set() == AVX512 ? &name##_avx512 : cpu_instruction_set() == AVX2 ? &name##_avx2 : &name##_plain)
#else
#define SIMD_TABLE(type, name) extern const type name##_plain
#define SIMD_CHOICE(name) (&name##_plain)
#endif

#endif
