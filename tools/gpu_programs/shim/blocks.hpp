/* Runs the blocks of a launch one after the other. The threads of a block take turns on stacks of their own: which goes
 * on is drawn from a seed, and a thread goes on until it meets a barrier, an exchange between lanes or an atomic
 * operation. So what one thread needs of another, without a barrier between, it finds in some orders and not in others. */

#pragma once
#include "language.hpp"
#include <cstdio>
#include <cstdlib>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <ucontext.h>

extern char hosted_first_shared[] __asm__("__start_hosted_shared") __attribute__((weak));
extern char hosted_last_shared[] __asm__("__stop_hosted_shared") __attribute__((weak));

namespace hosted {

[[noreturn]] inline void fail(const char *what) {
    std::fprintf(stderr, "hosted: %s (block %u, thread %u)\n", what, blockIdx.x, threadIdx.x);
    __sanitizer_print_stack_trace();
    std::abort();
}

constexpr std::size_t stack_bytes = 1 << 16;
constexpr unsigned int most_threads = 1024; // of a block

union Value {
    long long whole;
    double real;
};
using Entry = void (*)(const Value *);

struct Thread {
    enum State { ready, at_barrier, exchanging, ended };
    State state = ready;
    ucontext_t context;
    char *stack = nullptr; // kept from block to block
    void *fake_stack = nullptr;
};

struct Warp {
    std::uint64_t coming[32], brought[32];
    unsigned int arrived = 0;
};

struct Block {
    Thread threads[most_threads];
    Warp warps[most_threads / 32];
    unsigned int ready[most_threads], waiting = 0; // threads that may go on, and how many
    Entry entry;
    const Value *arguments;
    ucontext_t scheduler;
    void *fake_stack = nullptr;
    const void *bottom = nullptr;
    std::size_t size = 0;
    unsigned int running = 0, count = 0;
};
inline Block block;

/* Numbers by which everything is ordered: splitmix64, from a seed. */
inline std::uint64_t drawn_state;
inline std::uint64_t drawn(std::uint64_t below) {
    std::uint64_t x = drawn_state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (x ^ x >> 31) % below;
}

inline void let_go_on(unsigned int number) {
    block.threads[number].state = Thread::ready;
    block.ready[block.waiting++] = number;
}

/* From a thread to the scheduler; comes back when it is the thread's turn again. */
inline void leave(Thread::State state) {
    Thread &thread = block.threads[block.running];
    thread.state = state;
    if (state == Thread::ready) let_go_on(block.running);
    __sanitizer_start_switch_fiber(state == Thread::ended ? nullptr : &thread.fake_stack, block.bottom, block.size);
    swapcontext(&thread.context, &block.scheduler);
    __sanitizer_finish_switch_fiber(thread.fake_stack, nullptr, nullptr);
}

inline void begin() {
    __sanitizer_finish_switch_fiber(nullptr, &block.bottom, &block.size);
    block.entry(block.arguments);
    leave(Thread::ended);
}

inline void at_barrier() { leave(Thread::at_barrier); }
inline void give_way() { leave(Thread::ready); }

inline const std::uint64_t *exchanged(unsigned int mask, std::uint64_t brought) {
    const unsigned int first = threadIdx.x / 32 * 32, lane = threadIdx.x % 32;
    Warp &warp = block.warps[first / 32];
    if (!(mask >> lane & 1)) fail("an exchange between lanes that the mask leaves this thread out of");
    warp.coming[lane] = brought;
    warp.arrived |= 1u << lane;
    if (warp.arrived != mask) {
        leave(Thread::exchanging);
        return warp.brought;
    }
    std::memcpy(warp.brought, warp.coming, sizeof warp.brought);
    warp.arrived = 0;
    for (unsigned int other = 0; other < 32; other++)
        if (other != lane && mask >> other & 1) let_go_on(first + other);
    give_way();
    return warp.brought;
}

__attribute__((no_sanitize("address", "undefined"))) inline void wipe_shared() {
    for (volatile char *place = hosted_first_shared; place != hosted_last_shared; place++) *place = '\xCD';
}

inline void resume(unsigned int number) {
    Thread &thread = block.threads[number];
    block.running = number;
    threadIdx.x = number;
    __sanitizer_start_switch_fiber(&block.fake_stack, thread.stack, stack_bytes);
    swapcontext(&block.scheduler, &thread.context);
    __sanitizer_finish_switch_fiber(block.fake_stack, nullptr, nullptr);
}

inline void make_ready(unsigned int number) {
    Thread &thread = block.threads[number];
    if (thread.stack == nullptr) thread.stack = static_cast<char *>(std::malloc(stack_bytes));
    thread.fake_stack = nullptr;
    getcontext(&thread.context);
    thread.context.uc_stack.ss_sp = thread.stack;
    thread.context.uc_stack.ss_size = stack_bytes;
    thread.context.uc_link = nullptr;
    makecontext(&thread.context, begin, 0);
    let_go_on(number);
}

/* All threads wait: at a barrier, or one of them for what never comes. */
inline void open_barrier() {
    for (threadIdx.x = 0; threadIdx.x < block.count; threadIdx.x++)
        if (block.threads[threadIdx.x].state == Thread::exchanging)
            fail("an exchange between lanes that not all of the mask reach");
    for (threadIdx.x = 0; threadIdx.x < block.count; threadIdx.x++)
        if (block.threads[threadIdx.x].state == Thread::ended) fail("a barrier that this thread does not reach");
    for (unsigned int number = 0; number < block.count; number++) let_go_on(number);
}

inline void run_block() {
    wipe_shared();
    std::memset(block.warps, 0, sizeof block.warps);
    block.waiting = 0;
    for (unsigned int number = 0; number < block.count; number++) make_ready(number);
    for (unsigned int ended = 0; ended < block.count;) {
        if (block.waiting == 0) open_barrier();
        const std::uint64_t place = drawn(block.waiting);
        const unsigned int next = block.ready[place];
        block.ready[place] = block.ready[--block.waiting];
        resume(next);
        ended += block.threads[next].state == Thread::ended;
    }
}

/* One launch; blocks come in a drawn order, too. */
inline void run(unsigned int blocks, unsigned int threads, std::uint64_t seed, Entry entry, const Value *arguments) {
    if (threads == 0 || threads > most_threads) fail("a block of no threads, or of too many");
    drawn_state = seed;
    gridDim.x = blocks;
    blockDim.x = block.count = threads;
    threadIdx.y = threadIdx.z = blockIdx.y = blockIdx.z = 0;
    block.entry = entry;
    block.arguments = arguments;
    unsigned int *order = static_cast<unsigned int *>(std::malloc(blocks * sizeof(unsigned int)));
    for (unsigned int number = 0; number < blocks; number++) {
        const std::uint64_t place = drawn(number + 1);
        order[number] = order[place];
        order[place] = number;
    }
    for (unsigned int turn = 0; turn < blocks; turn++) {
        blockIdx.x = order[turn];
        run_block();
    }
    std::free(order);
}

} // namespace hosted
