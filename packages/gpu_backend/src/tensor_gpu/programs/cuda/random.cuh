/* Random words: Philox4x64-10, of which block b of a stream of a seed gives four words. */

typedef unsigned long long word;

/* The upper half of a product of two words. */
__device__ inline word upper_product(word a, word b) {
    const word half = 0xFFFFFFFFULL;
    const word low = (a & half) * (b & half), middle = (a >> 32) * (b & half) + (low >> 32);
    const word other = (a & half) * (b >> 32) + (middle & half);
    return (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32);
}

struct block_of_words {
    word at[4];
};

__device__ inline block_of_words philox(word block, word domain, word seed, word stream) {
    const word first = 0xD2E7470EE14C6C93ULL, second = 0xCA5A826395121157ULL;
    word a = block, b = 0, c = domain, d = 0;
    for (int turn = 0; turn < 10; turn++) {
        const word x = upper_product(second, c) ^ b ^ seed, y = second * c;
        const word z = upper_product(first, a) ^ d ^ stream, w = first * a;
        a = x, b = y, c = z, d = w;
        seed += 0x9E3779B97F4A7C15ULL, stream += 0xBB67AE8584CAA73BULL;
    }
    block_of_words words = {{a, b, c, d}};
    return words;
}

/* (digits + 1/2) / 2^52 for digits below 2^52; exact. */
__device__ inline double unit(word digits) { return ((double)digits + 0.5) * 2.220446049250313e-16; }
