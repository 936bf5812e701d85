// Bulk copies between global and shared memory, and the barriers that signal their completion (sm_90 and later).
DEV uint32 to_shared(const void* p) {
    uint32 at;
    asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(at) : "l"(p));
    return at;
}
struct barrier {
    uint64 word;
    DEV void init(int arrivals) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(to_shared(&word)), "r"(arrivals) : "memory");
    }
    DEV void arrive() {
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(to_shared(&word)) : "memory");
    }
    // Arrives. The phase also waits until the copies on this barrier have transferred `bytes`.
    DEV void arrive_and_expect(uint32 bytes) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(to_shared(&word)), "r"(bytes)
                     : "memory");
    }
    // Returns when the phase of that parity is over.
    DEV void wait(uint32 parity) {
        asm volatile(
            "{\n .reg .pred done;\n"
            "again:\n mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
            " @!done bra again;\n}" ::"r"(to_shared(&word)), "r"(parity) : "memory");
    }
};
// Addresses and sizes must be multiples of 16.
DEV void bulk_load(void* to, const void* from, uint32 bytes, barrier& done) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     to_shared(to)), "l"(from), "r"(bytes), "r"(to_shared(&done.word)) : "memory");
}
DEV void bulk_store(void* to, const void* from, uint32 bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(to_shared(from)),
                 "r"(bytes) : "memory");
}
// Closes a group of stores, which may be empty.
DEV void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
// Returns when all but the last N groups of this thread have been read from shared memory.
template <int N> DEV void bulk_wait_read() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory"); }
// Makes this thread's writes to shared memory visible to bulk copies that start after the next barrier.
DEV void fence_for_bulk() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
// A barrier of `threads` threads of the block. Number 0 is the barrier of the whole block.
DEV void named_barrier(int number, int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory");
}
