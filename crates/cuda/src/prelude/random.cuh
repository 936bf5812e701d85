// Philox4x32-10 (Salmon et al. 2011): a block of four words from a counter and a key.
struct words4 { uint32 w[4]; };

DEV words4 philox(uint64 low, uint32 c2, uint32 c3, uint64 seed) {
    uint32 c0 = (uint32)low, c1 = (uint32)(low >> 32);
    uint32 k0 = (uint32)seed, k1 = (uint32)(seed >> 32);
#pragma unroll
    for (int round = 0; round < 10; round++) {
        uint32 hi0 = __umulhi(0xD2511F53u, c0), lo0 = 0xD2511F53u * c0;
        uint32 hi1 = __umulhi(0xCD9E8D57u, c2), lo1 = 0xCD9E8D57u * c2;
        c0 = hi1 ^ c1 ^ k0;
        c1 = lo1;
        c2 = hi0 ^ c3 ^ k1;
        c3 = lo0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return words4{{c0, c1, c2, c3}};
}
// The block that holds element `index` of the 32-bit or 64-bit stream.
DEV words4 block32(int64 index, uint64 seed, uint64 offset) { return philox(offset + (uint64)index / 4, 0, 0, seed); }
DEV words4 block64(int64 index, uint64 seed, uint64 offset) { return philox(offset + (uint64)index / 2, 0, 0, seed); }
DEV uint32 pick32(const words4& b, int k) { return k == 0 ? b.w[0] : k == 1 ? b.w[1] : k == 2 ? b.w[2] : b.w[3]; }
DEV uint64 pick64(const words4& b, int k) {
    return k == 0 ? (uint64)b.w[0] | (uint64)b.w[1] << 32 : (uint64)b.w[2] | (uint64)b.w[3] << 32;
}
DEV uint32 random_bits32(const words4& b, int k) { return pick32(b, k); }
DEV uint64 random_bits64(const words4& b, int k) { return pick64(b, k); }
DEV float random_unit32(const words4& b, int k) { return (float)(pick32(b, k) >> 8) * 5.9604644775390625e-8f; }
DEV double random_unit64(const words4& b, int k) { return (double)(pick64(b, k) >> 11) * 1.1102230246251565e-16; }
