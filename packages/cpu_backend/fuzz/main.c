/* Repeats the drivers: fuzz [SECONDS [SEED [DRIVER]]]. Examples of SEED, SEED + 1, ... are tried until so many seconds
 * have passed, shared among drivers and versions of the kernels; with 0 seconds, the one example of the seed. */
#include "fuzz.h"
#include "main.h"

#include "core/cpu.h"
#include "core/threads.h"

#include <stdio.h>
#include <time.h>

static const struct {
    const char *name;
    void (*example)(void);
} DRIVERS[] = {
    {"copies", fuzz_copies},         {"blocks", fuzz_blocks},     {"elementwise", fuzz_elementwise},
    {"reductions", fuzz_reductions}, {"products", fuzz_products}, {"pairs", fuzz_pairs},
    {"semirings", fuzz_semirings},   {"batches", fuzz_batches},   {"factorizations", fuzz_factorizations},
    {"lines", fuzz_lines},
};
enum { COUNT = sizeof DRIVERS / sizeof *DRIVERS };

static const char *driver = "none", *version = "none";
static uint64_t seed;

/* The sanitizers call what they are given here before they end the process. */
__attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)(void));

static void name_example(void) {
    fprintf(stderr, "%s failed with %s kernels: seed %llu, to be repeated by tools/fuzz_kernels.py --seed %llu %s\n",
            driver, version, (unsigned long long)seed, (unsigned long long)seed, driver);
}

void fail(const char *file, int line, const char *what) {
    fprintf(stderr, "%s:%d: %s does not hold\n", file, line, what);
    name_example();
    exit(1);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int main(int count, char **arguments) {
    const double seconds = count > 1 ? strtod(arguments[1], NULL) : 10;
    const uint64_t first = count > 2 ? strtoull(arguments[2], NULL, 0) : (uint64_t)time(NULL);
    if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(name_example);
    bool known = false;
    int versions = 0, drivers = 0;
    for (int set = PLAIN; set <= AVX512; set++) versions += cpu_choose((InstructionSet)set) == 0;
    for (int i = 0; i < COUNT; i++) drivers += count < 4 || strcmp(arguments[3], DRIVERS[i].name) == 0;
    threads_set(2, true);
    for (int i = 0; i < COUNT; i++) {
        if (count >= 4 && strcmp(arguments[3], DRIVERS[i].name) != 0) continue;
        known = true;
        driver = DRIVERS[i].name;
        for (int set = PLAIN; set <= AVX512; set++) {
            if (cpu_choose((InstructionSet)set) != 0) continue;
            version = INSTRUCTION_SET_NAMES[set];
            const double end = now() + seconds / (versions * drivers);
            Index examples = 0;
            for (seed = first; examples == 0 || now() < end; seed++, examples++) {
                example_begin(seed);
                DRIVERS[i].example();
                example_end();
            }
            printf("%-12s %-7s %9lld examples from seed %llu\n", driver, version, (long long)examples,
                   (unsigned long long)first);
            fflush(stdout);
        }
    }
    if (!known) fprintf(stderr, "no driver %s\n", arguments[3]);
    return known ? 0 : 2;
}
