/* The words of CUDA's C++ that programs use, with a meaning on the host. Blocks have one axis. */

#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <math.h>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
/* One copy will do, as blocks run one after the other; whatever stood there is wiped before each of them. */
#define __shared__ static __attribute__((section("hosted_shared")))

struct hosted_dim3 {
    unsigned int x = 1, y = 1, z = 1;
};
inline hosted_dim3 threadIdx, blockIdx, blockDim, gridDim;
inline constexpr int warpSize = 32;

namespace hosted {
void at_barrier();
void give_way();
/* Brings a number of eight bytes to the warp; gives back those of its 32 lanes, when all of `mask` have brought theirs. */
const std::uint64_t *exchanged(unsigned int mask, std::uint64_t brought);

template <class To, class From> To with_the_bits_of(From x) {
    static_assert(sizeof(To) >= sizeof(From) || sizeof(From) == 8, "eight bytes hold either");
    To found{};
    std::memcpy(&found, &x, sizeof(To) < sizeof(From) ? sizeof(To) : sizeof(From));
    return found;
}
template <class T> T from_lane(unsigned int mask, T x, int lane) {
    const auto *brought = exchanged(mask, with_the_bits_of<std::uint64_t>(x));
    return lane < 0 || lane >= warpSize ? x : with_the_bits_of<T>(brought[lane]);
}
inline int lane() { return static_cast<int>(threadIdx.x % warpSize); }
} // namespace hosted

inline void __syncthreads() { hosted::at_barrier(); }
inline void __syncwarp(unsigned int mask = 0xffffffffu) { hosted::exchanged(mask, 0); }
inline void __threadfence() {}
template <class T> T __shfl_sync(unsigned int mask, T x, int from) { return hosted::from_lane(mask, x, from & 31); }
template <class T> T __shfl_xor_sync(unsigned int mask, T x, int bits) {
    return hosted::from_lane(mask, x, hosted::lane() ^ bits);
}
template <class T> T __shfl_down_sync(unsigned int mask, T x, unsigned int on) {
    return hosted::from_lane(mask, x, hosted::lane() + static_cast<int>(on));
}
template <class T> T __shfl_up_sync(unsigned int mask, T x, unsigned int back) {
    return hosted::from_lane(mask, x, hosted::lane() - static_cast<int>(back));
}
inline unsigned int __ballot_sync(unsigned int mask, int holds) {
    const auto *brought = hosted::exchanged(mask, holds != 0);
    unsigned int found = 0;
    for (int lane = 0; lane < warpSize; lane++)
        if (mask >> lane & 1 && brought[lane]) found |= 1u << lane;
    return found;
}
inline int __any_sync(unsigned int mask, int holds) { return __ballot_sync(mask, holds) != 0; }
inline int __all_sync(unsigned int mask, int holds) { return __ballot_sync(mask, holds) == mask; }

/* Atomic operations are whole here anyway, as threads give way only where they say so: before each of these. */
#define HOSTED_ATOMIC(NAME, VALUE)                                                                                     \
    template <class T> T NAME(T *place, T x) {                                                                         \
        hosted::give_way();                                                                                            \
        const T old = *place;                                                                                          \
        *place = static_cast<T>(VALUE);                                                                                \
        return old;                                                                                                    \
    }
HOSTED_ATOMIC(atomicAdd, old + x)
HOSTED_ATOMIC(atomicMin, x < old ? x : old)
HOSTED_ATOMIC(atomicMax, old < x ? x : old)
HOSTED_ATOMIC(atomicAnd, old &x)
HOSTED_ATOMIC(atomicOr, old | x)
HOSTED_ATOMIC(atomicXor, old ^ x)
HOSTED_ATOMIC(atomicExch, x)
template <class T> T atomicCAS(T *place, T compared, T x) {
    hosted::give_way();
    const T old = *place;
    if (old == compared) *place = x;
    return old;
}

inline int __float_as_int(float x) { return hosted::with_the_bits_of<int>(x); }
inline float __int_as_float(int x) { return hosted::with_the_bits_of<float>(x); }
inline unsigned int __float_as_uint(float x) { return hosted::with_the_bits_of<unsigned int>(x); }
inline float __uint_as_float(unsigned int x) { return hosted::with_the_bits_of<float>(x); }
inline long long __double_as_longlong(double x) { return hosted::with_the_bits_of<long long>(x); }
inline double __longlong_as_double(long long x) { return hosted::with_the_bits_of<double>(x); }
inline unsigned int __umulhi(unsigned int a, unsigned int b) { return static_cast<unsigned int>(1ull * a * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
template <class T> T __ldg(const T *place) { return *place; }
#define HOSTED_EXTREMES(T)                                                                                             \
    inline T min(T a, T b) { return b < a ? b : a; }                                                                   \
    inline T max(T a, T b) { return a < b ? b : a; }
HOSTED_EXTREMES(int)
HOSTED_EXTREMES(unsigned int)
HOSTED_EXTREMES(long long)
HOSTED_EXTREMES(unsigned long long)
