//! Ranks of one process: each has a stream of its own.

use std::ffi::c_void;
use std::ptr::null_mut;

use cuprous_cuda_sys::nccl::*;

use super::*;
use crate::driver::lock as driver;
use crate::driver::tests::ONE;

unsafe extern "C" {
    fn cuInit(flags: u32) -> CUresult;
    fn cuStreamCreateWithPriority(to: *mut CUstream, flags: u32, priority: i32) -> CUresult;
    fn cuStreamSynchronize(stream: CUstream) -> CUresult;
}

/// Returns the communicators of `n` ranks, and their streams.
fn connect(n: usize) -> Vec<(ncclComm_t, CUstream)> {
    let mut id = ncclUniqueId { internal: [0; NCCL_UNIQUE_ID_BYTES] };
    let mut config = ncclConfig_t::non_blocking();
    // SAFETY: the functions write to variables.
    unsafe {
        assert_eq!(cuInit(0).0, 0);
        assert_eq!(ncclGetUniqueId(&mut id), ncclResult_t::ncclSuccess);
        let begin = |rank| {
            let (mut comm, mut stream) = (null_mut(), null_mut());
            assert_eq!(cuStreamCreateWithPriority(&mut stream, 1, -5).0, 0);
            let status = ncclCommInitRankConfig(&mut comm, n as c_int, id, rank, &mut config);
            assert_eq!(status, ncclResult_t::ncclSuccess);
            (comm, stream)
        };
        (0..n as c_int).map(begin).collect()
    }
}

fn finish(ranks: &[(ncclComm_t, CUstream)]) {
    for (_, stream) in ranks {
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
    for (rank, (comm, stream)) in ranks.iter().enumerate() {
        let from = given[rank].as_mut_ptr().cast::<c_void>();
        let to = got[rank].as_mut_ptr().cast::<c_void>();
        // SAFETY: the memory lives until the streams are synchronized.
        unsafe {
            ncclAllReduce(from, from, 1000, ncclDataType_t::ncclFloat32, ncclRedOp_t::ncclSum, *comm, *stream);
            ncclAllGather(from, to, 1000, ncclDataType_t::ncclFloat32, *comm, *stream);
            ncclGroupStart();
            ncclSend(to, 4, ncclDataType_t::ncclUint8, (rank as c_int + 1) % 3, *comm, *stream);
            ncclRecv(from, 4, ncclDataType_t::ncclUint8, (rank as c_int + 2) % 3, *comm, *stream);
            ncclGroupEnd();
        }
    }
    finish(&ranks);
    assert!(given.iter().flatten().chain(got.iter().flatten()).all(|&x| x == 6.0));
    for (comm, _) in &ranks {
        // SAFETY: the communicators exist.
        unsafe {
            assert_eq!(ncclCommFinalize(*comm), ncclResult_t::ncclSuccess);
            assert_eq!(ncclCommDestroy(*comm), ncclResult_t::ncclSuccess);
            assert_eq!(ncclCommDestroy(*comm), ncclResult_t::ncclInvalidArgument);
        }
    }
}

#[test]
fn a_collective_without_a_rank_ends_when_it_is_aborted() {
    let _one = lock(&ONE);
    let ranks = connect(2);
    let mut data = [1f64; 8];
    let (comm, stream) = ranks[0];
    let at = data.as_mut_ptr().cast::<c_void>();
    // SAFETY: the memory lives until the stream is synchronized.
    unsafe { ncclAllReduce(at, at, 8, ncclDataType_t::ncclFloat64, ncclRedOp_t::ncclSum, comm, stream) };
    std::thread::sleep(Duration::from_millis(20));
    assert!(driver().drain(stream as usize).is_err(), "it waits for the other rank");
    // SAFETY: the communicators exist.
    unsafe {
        assert_eq!(ncclCommAbort(comm), ncclResult_t::ncclSuccess);
        finish(&ranks);
        assert_eq!(ncclCommAbort(ranks[1].0), ncclResult_t::ncclSuccess);
    }
}
