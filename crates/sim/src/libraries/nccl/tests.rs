//! Ranks of one process: each has a stream of its own.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::time::Instant;

use cuprous_cuda_sys::nccl::*;

use super::*;
use crate::driver::tests::ONE;

unsafe extern "C" {
    fn cuInit(flags: u32) -> CUresult;
    fn cuStreamCreateWithPriority(to: *mut CUstream, flags: u32, priority: i32) -> CUresult;
    fn cuStreamSynchronize(stream: CUstream) -> CUresult;
}

/// A communicator with its stream, which threads hand to each other.
#[derive(Clone, Copy)]
struct Rank(ncclComm_t, CUstream);

// SAFETY: the simulated driver and NCCL allow any thread to use both.
unsafe impl Send for Rank {}

/// Lets each of `n` ranks do something in a thread of its own, because calls wait for other ranks.
fn on_each<T: Send, R: Send>(given: Vec<T>, act: impl Fn(usize, T) -> R + Sync) -> Vec<R> {
    let act = &act;
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            given.into_iter().enumerate().map(|(rank, one)| scope.spawn(move || act(rank, one))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// Returns the communicators of `n` ranks, and their streams.
fn connect(n: usize) -> Vec<Rank> {
    let mut id = ncclUniqueId { internal: [0; NCCL_UNIQUE_ID_BYTES] };
    // SAFETY: the functions write to variables.
    unsafe {
        assert_eq!(cuInit(0).0, 0);
        assert_eq!(ncclGetUniqueId(&mut id), ncclResult_t::ncclSuccess);
        on_each(vec![(); n], |rank, ()| {
            let (mut comm, mut stream, mut config) =
                (null_mut(), null_mut(), ncclConfig_t { blocking: 1, ..ncclConfig_t::non_blocking() });
            assert_eq!(cuStreamCreateWithPriority(&mut stream, 1, -5).0, 0);
            let status = ncclCommInitRankConfig(&mut comm, n as c_int, id, rank as c_int, &mut config);
            assert_eq!(status, ncclResult_t::ncclSuccess);
            Rank(comm, stream)
        })
    }
}

fn finish(ranks: &[Rank]) {
    for Rank(_, stream) in ranks {
        // SAFETY: the stream exists.
        assert_eq!(unsafe { cuStreamSynchronize(*stream) }.0, 0);
    }
}

#[test]
fn collectives_and_groups_of_messages_agree() {
    let _one = lock(&ONE);
    let ranks = connect(3);
    let mut given: Vec<Vec<f32>> = (0..3).map(|rank| vec![rank as f32 + 1.0; 1000]).collect();
    let mut got = vec![vec![0f32; 3000]; 3];
    let memory = given.iter_mut().zip(&mut got).zip(&ranks).map(|((given, got), &rank)| (given, got, rank)).collect();
    on_each(memory, |rank, (given, got, Rank(comm, stream)): (&mut Vec<f32>, &mut Vec<f32>, Rank)| {
        let (from, to) = (given.as_mut_ptr().cast::<c_void>(), got.as_mut_ptr().cast::<c_void>());
        // SAFETY: the memory lives until the streams are synchronized.
        unsafe {
            ncclAllReduce(from, from, 1000, ncclDataType_t::ncclFloat32, ncclRedOp_t::ncclSum, comm, stream);
            ncclAllGather(from, to, 1000, ncclDataType_t::ncclFloat32, comm, stream);
            ncclGroupStart();
            ncclSend(to, 4, ncclDataType_t::ncclUint8, (rank as c_int + 1) % 3, comm, stream);
            ncclRecv(from, 4, ncclDataType_t::ncclUint8, (rank as c_int + 2) % 3, comm, stream);
            ncclGroupEnd();
        }
    });
    finish(&ranks);
    assert!(given.iter().flatten().chain(got.iter().flatten()).all(|&x| x == 6.0));
    let start = Instant::now();
    on_each(ranks, |rank, Rank(comm, _)| {
        std::thread::sleep(Duration::from_millis(if rank == 1 { 100 } else { 0 }));
        // SAFETY: the communicators exist.
        unsafe {
            assert_eq!(ncclCommDestroy(comm), ncclResult_t::ncclSuccess);
            assert_eq!(ncclCommDestroy(comm), ncclResult_t::ncclInvalidArgument);
        }
        assert!(start.elapsed() >= Duration::from_millis(100), "it waits for all ranks");
    });
}

#[test]
fn the_first_collective_without_a_rank_ends_when_it_is_aborted() {
    let _one = lock(&ONE);
    let ranks = connect(2);
    let first = ranks[0];
    let caller = std::thread::spawn(move || {
        let whole = first;
        let Rank(comm, stream) = whole;
        let mut data = [1f64; 8];
        let at = data.as_mut_ptr().cast::<c_void>();
        // SAFETY: the memory lives until the stream is synchronized.
        unsafe {
            let status = ncclAllReduce(at, at, 8, ncclDataType_t::ncclFloat64, ncclRedOp_t::ncclSum, comm, stream);
            assert_eq!(cuStreamSynchronize(stream).0, 0);
            status
        }
    });
    std::thread::sleep(Duration::from_millis(20));
    assert!(!caller.is_finished(), "it waits for the other rank");
    // SAFETY: the communicators exist.
    unsafe {
        assert_eq!(ncclCommAbort(first.0), ncclResult_t::ncclSuccess);
        assert_eq!(caller.join().unwrap(), ncclResult_t::ncclInternalError);
        assert_eq!(ncclCommAbort(ranks[1].0), ncclResult_t::ncclSuccess);
    }
}
