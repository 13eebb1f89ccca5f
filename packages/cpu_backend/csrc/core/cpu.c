/* Asks the processor for its instruction sets, once; or uses the one that cpu_choose() was given instead. */
#include "core/cpu.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

const char *const INSTRUCTION_SET_NAMES[3] = {"plain", "avx2", "avx512"};

enum { UNKNOWN = -1 };
static atomic_int chosen = UNKNOWN;

static InstructionSet best(void) {
#if defined(__x86_64__) && !defined(NATIVE_PLAIN)
    /* The builtin also asks whether the operating system saves the wide registers. */
    __builtin_cpu_init();
#if !defined(NATIVE_WITHOUT_AVX512)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        return AVX512;
#endif
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return AVX2;
#endif
    return PLAIN;
}

InstructionSet cpu_instruction_set(void) {
    int set = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (set == UNKNOWN) {
        set = (int)best();
        atomic_store_explicit(&chosen, set, memory_order_relaxed);
    }
    return (InstructionSet)set;
}

int cpu_choose(InstructionSet set) {
    if (set > best()) return -1;
    atomic_store_explicit(&chosen, (int)set, memory_order_relaxed);
    return 0;
}

bool cpu_is_amd(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    return __builtin_cpu_is("amd") != 0;
#else
    return false;
#endif
}

size_t cpu_last_level_cache_bytes(void) {
    long bytes = 0;
#if defined(_SC_LEVEL3_CACHE_SIZE)
    bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    if (bytes <= 0) bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
    return bytes > 0 ? (size_t)bytes : 0;
}

enum { MEBIBYTE = 1 << 20, MOST_OWN = 48 * MEBIBYTE };

/* Of the third-level cache that one processor has, as the kernel tells; sysconf() may add up those of all. */
static size_t third_level_cache_bytes(void) {
    size_t kibibytes = 0;
    FILE *file = fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "re");
    if (file == NULL) return cpu_last_level_cache_bytes();
    if (fscanf(file, "%zuK", &kibibytes) != 1) kibibytes = 0;
    fclose(file);
    return kibibytes * 1024;
}

size_t cpu_own_cache_bytes(void) {
    static atomic_size_t known; /* plus one */
    size_t bytes = atomic_load_explicit(&known, memory_order_relaxed);
    if (bytes == 0) {
        bytes = third_level_cache_bytes() + 1;
        atomic_store_explicit(&known, bytes, memory_order_relaxed);
    }
    return bytes - 1 <= MOST_OWN ? bytes - 1 : 0;
}

static atomic_size_t streamed_bytes; /* plus one, where another number than the usual ones was set */

static size_t unless_set(size_t usual) {
    const size_t set = atomic_load_explicit(&streamed_bytes, memory_order_relaxed);
    return set == 0 ? usual : set - 1;
}

/* A result of which the last-level cache holds three has room there beside two operands; of a large cache, no more than
 * `most` is one's own. */
static size_t third_of_cache(size_t most) {
    const size_t third = cpu_last_level_cache_bytes() / 3;
    return third == 0 || third > most ? most : third;
}

/* What is read soon comes faster from a cache that holds it beside two operands of its size: with 260 MiB that are
 * shared with others, contractions in whose steps arrays of 16 MiB meet take 0.72 times as long as past the caches; an
 * elementwise product of 32 MiB took twice as long. */
static size_t usual_streamed_bytes(void) { return third_of_cache((size_t)32 * MEBIBYTE); }
size_t cpu_streamed_bytes(void) { return unless_set(usual_streamed_bytes()); }

/* With 32 MiB of one's own, copies of 8 MB through the cache take 0.65 to 0.8 times as long as past it, of 14 MB 0.75 to
 * 0.9, of 20 MB 1.03 to 1.15; what repeats few elements 0.4 times at 16 MB and 0.56 at 24 MB. */
size_t cpu_streamed_copy_bytes(void) {
    const size_t own = cpu_own_cache_bytes();
    return unless_set(own == 0 ? (size_t)4 * MEBIBYTE : own / 2);
}

size_t cpu_streamed_spread_bytes(void) {
    const size_t own = cpu_own_cache_bytes();
    return unless_set(own == 0 ? (size_t)4 * MEBIBYTE : own);
}

/* With 260 MiB that are shared, chains of single operations are faster through the cache at 8 MB (2.5 ms beside 3.3) and
 * past it at 16 MB (6.7 ms beside 8.4). */
size_t cpu_streamed_elementwise_bytes(void) {
    const size_t own = cpu_own_cache_bytes();
    return unless_set(own == 0 ? third_of_cache((size_t)12 * MEBIBYTE) : own / 3);
}

/* With 32 MiB of one's own, QR decompositions of matrices of 8 complex rows take as long either way where operands and
 * results are 15 MB together, Cholesky factors where they are 18; where they are 8 and 10 MB, 1.06 and 1.1 times as long
 * past the cache, and where they are 31 and 20 MB 0.6 and 0.45 times. */
size_t cpu_streamed_matrices_bytes(void) {
    const size_t own = cpu_own_cache_bytes();
    return unless_set(own == 0 ? 3 * third_of_cache((size_t)12 * MEBIBYTE) : own / 16 * 7);
}

/* With 32 MiB of one's own, a sum of two operands takes as long either way where all three arrays are 39 MiB together;
 * what is done about main memory costs a quarter where they are 23 MiB. */
size_t cpu_far_bytes(void) {
    const size_t own = cpu_own_cache_bytes();
    return unless_set(own == 0 ? (size_t)16 * MEBIBYTE : own + own / 3);
}

void cpu_stream_from(size_t bytes) {
    atomic_store_explicit(&streamed_bytes, bytes == usual_streamed_bytes() ? 0 : bytes + (bytes < SIZE_MAX),
                          memory_order_relaxed);
}
