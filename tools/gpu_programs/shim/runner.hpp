/* The program that runs launches: it reads them from its input and writes the memory that they leave to its output.
 *
 * Memory of the device lies at the device's own addresses. All of it is poisoned for the sanitizer but the allocations
 * of a launch, so that an element beside them ends the program, with a message that says which launch it was. */

#pragma once
#include "blocks.hpp"
#include <sys/mman.h>
#include <type_traits>
#include <utility>
#include <vector>

namespace hosted {

template <class T> T argument(Value value) {
    if constexpr (std::is_pointer_v<T>) return reinterpret_cast<T>(static_cast<std::uintptr_t>(value.whole));
    else if constexpr (std::is_floating_point_v<T>) return static_cast<T>(value.real);
    else return static_cast<T>(value.whole);
}

/* An entry, called with arguments of the types that it has. */
template <auto entry> struct Called;
template <class... T, void (*entry)(T...)> struct Called<entry> {
    static constexpr unsigned int arguments = sizeof...(T);
    template <std::size_t... K> static void with(const Value *values, std::index_sequence<K...>) {
        entry(argument<T>(values[K])...);
    }
    static void call(const Value *values) { with(values, std::index_sequence_for<T...>()); }
};

struct Program {
    const char *name;
    unsigned int arguments;
    Entry entry;
};

/* A row of the table of programs. */
#define HOSTED_PROGRAM(ENTRY) {#ENTRY, hosted::Called<ENTRY>::arguments, hosted::Called<ENTRY>::call}

struct Range {
    std::uint64_t address, bytes;
};
struct Header {
    std::uint64_t program, blocks, threads, arguments, ranges, seed;
};

inline unsigned long long launches = 0;
inline const char *running = "none";

inline bool take(void *target, std::size_t bytes) {
    const std::size_t got = std::fread(target, 1, bytes, stdin);
    if (got != 0 && got != bytes) fail("the input ends within a launch");
    return got == bytes;
}

inline void say_which() { std::fprintf(stderr, "hosted: launch %llu, of %s\n", launches, running); }

inline int run_all(const Program *programs, std::size_t count) {
    Range memory;
    Header header;
    if (!take(&memory, sizeof memory)) return 0;
    char *base =
        static_cast<char *>(mmap(reinterpret_cast<void *>(memory.address), memory.bytes, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0));
    if (base != reinterpret_cast<char *>(memory.address)) fail("no memory at the addresses of the device");
    __asan_poison_memory_region(base, memory.bytes);
    __sanitizer_set_death_callback(say_which);
    for (; take(&header, sizeof header); launches++) {
        if (header.program >= count || header.arguments != programs[header.program].arguments)
            fail("no such program, or not its number of arguments");
        running = programs[header.program].name;
        std::vector<Value> values(header.arguments);
        std::vector<Range> ranges(header.ranges);
        if (!values.empty()) take(values.data(), values.size() * sizeof(Value));
        if (!ranges.empty()) take(ranges.data(), ranges.size() * sizeof(Range));
        for (Range range : ranges) {
            char *place = reinterpret_cast<char *>(range.address);
            __asan_unpoison_memory_region(place, range.bytes);
            take(place, range.bytes);
        }
        run(static_cast<unsigned int>(header.blocks), static_cast<unsigned int>(header.threads), header.seed,
            programs[header.program].entry, values.data());
        for (Range range : ranges) {
            char *place = reinterpret_cast<char *>(range.address);
            std::fwrite(place, 1, range.bytes, stdout);
            __asan_poison_memory_region(place, range.bytes);
        }
    }
    return 0;
}

} // namespace hosted
