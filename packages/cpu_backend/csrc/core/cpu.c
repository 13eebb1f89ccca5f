/* Asks the processor for its instruction sets, once; or uses the one that cpu_choose() was given instead. */
#include "core/cpu.h"

#include <stdatomic.h>
#include <unistd.h>

const char *const INSTRUCTION_SET_NAMES[3] = {"plain", "avx2", "avx512"};

enum { UNKNOWN = -1 };
static atomic_int chosen = UNKNOWN;

static InstructionSet best(void) {
#if defined(__x86_64__) && !defined(NATIVE_PLAIN)
    /* The builtin also asks whether the operating system saves the wide registers. */
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        return AVX512;
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

/* What is read soon comes faster from a cache that holds it beside two operands of its size: with 260 MiB that are
 * shared with others, contractions in whose steps arrays of 16 MiB meet take 0.72 times as long as past the caches; an
 * elementwise product of 32 MiB took twice as long. */
static const size_t MOST_THROUGH_CACHE = (size_t)32 << 20;
static atomic_size_t streamed_bytes;

size_t cpu_streamed_bytes(void) {
    size_t bytes = atomic_load_explicit(&streamed_bytes, memory_order_relaxed);
    if (bytes == 0) {
        const size_t third = cpu_last_level_cache_bytes() / 3;
        bytes = third == 0 || third > MOST_THROUGH_CACHE ? MOST_THROUGH_CACHE : third;
        cpu_stream_from(bytes);
    }
    return bytes;
}

void cpu_stream_from(size_t bytes) { atomic_store_explicit(&streamed_bytes, bytes, memory_order_relaxed); }
