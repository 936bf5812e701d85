//! Collectives of several GPUs (`nccl.h`), for the functions that Cuprous calls.
//!
//! Written by hand, because the header needs the toolkit's headers for half precision, of which it uses nothing. The C
//! interface of NCCL 2 is stable: structs grow at their end, by their `size` and `version`.
#![allow(non_camel_case_types, non_snake_case, non_upper_case_globals, missing_docs, reason = "the names are NCCL's")]

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::driver::CUstream;

/// Bytes of an [`ncclUniqueId`].
pub const NCCL_UNIQUE_ID_BYTES: usize = 128;
/// The value of a setting that NCCL chooses.
pub const NCCL_CONFIG_UNDEF_INT: c_int = c_int::MIN;
const NCCL_API_MAGIC: c_uint = 0xcafe_beef;

/// A communicator.
pub type ncclComm_t = *mut c_void;

/// By which the ranks of a communicator find each other.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ncclUniqueId {
    pub internal: [c_char; NCCL_UNIQUE_ID_BYTES],
}

/// Settings of a communicator, as far as NCCL 2.17 has them. Later versions give later settings their defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ncclConfig_t {
    pub size: usize,
    pub magic: c_uint,
    pub version: c_uint,
    pub blocking: c_int,
    pub cgaClusterSize: c_int,
    pub minCTAs: c_int,
    pub maxCTAs: c_int,
    pub netName: *const c_char,
}

impl ncclConfig_t {
    /// Returns the settings of a communicator whose functions return before they are done.
    pub const fn non_blocking() -> ncclConfig_t {
        ncclConfig_t {
            size: size_of::<ncclConfig_t>(),
            magic: NCCL_API_MAGIC,
            version: 21_700,
            blocking: 0,
            cgaClusterSize: NCCL_CONFIG_UNDEF_INT,
            minCTAs: NCCL_CONFIG_UNDEF_INT,
            maxCTAs: NCCL_CONFIG_UNDEF_INT,
            netName: std::ptr::null(),
        }
    }
}

macro_rules! numbers {
    ($($(#[$doc:meta])* $type:ident: $($name:ident = $value:literal),* ;)*) => {$(
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct $type(pub c_int);
        impl $type { $(pub const $name: $type = $type($value);)* }
    )*};
}
numbers! {
    /// A status.
    ncclResult_t: ncclSuccess = 0, ncclUnhandledCudaError = 1, ncclSystemError = 2, ncclInternalError = 3,
        ncclInvalidArgument = 4, ncclInvalidUsage = 5, ncclRemoteError = 6, ncclInProgress = 7;
    /// A reduction.
    ncclRedOp_t: ncclSum = 0, ncclProd = 1, ncclMax = 2, ncclMin = 3, ncclAvg = 4;
    /// An element type.
    ncclDataType_t: ncclInt8 = 0, ncclUint8 = 1, ncclInt32 = 2, ncclUint32 = 3, ncclInt64 = 4, ncclUint64 = 5,
        ncclFloat16 = 6, ncclFloat32 = 7, ncclFloat64 = 8, ncclBfloat16 = 9;
}

macro_rules! library {
    ($($name:ident($($arg:ident: $type:ty),* $(,)?) -> $result:ty;)*) => {
        /// The library. Each function is an error if the library lacks it.
        pub struct NcclApi {
            $(pub $name: Result<unsafe extern "C" fn($($arg: $type),*) -> $result, libloading::Error>,)*
            _library: libloading::Library,
        }

        impl NcclApi {
            /// Looks the functions up.
            ///
            /// # Safety
            /// The library is NCCL 2.
            pub unsafe fn from_library(library: libloading::Library) -> NcclApi {
                // SAFETY: the symbols of NCCL have these types, and the library lives as long as the addresses.
                unsafe {
                    $(let $name = library.get(concat!(stringify!($name), "\0").as_bytes()).map(|symbol| *symbol);)*
                    NcclApi { $($name,)* _library: library }
                }
            }
        }
    };
}
library! {
    ncclGetVersion(version: *mut c_int) -> ncclResult_t;
    ncclGetErrorString(status: ncclResult_t) -> *const c_char;
    ncclGetLastError(comm: ncclComm_t) -> *const c_char;
    ncclGetUniqueId(id: *mut ncclUniqueId) -> ncclResult_t;
    ncclCommInitRankConfig(comm: *mut ncclComm_t, nranks: c_int, id: ncclUniqueId, rank: c_int, config: *mut ncclConfig_t)
        -> ncclResult_t;
    ncclCommGetAsyncError(comm: ncclComm_t, status: *mut ncclResult_t) -> ncclResult_t;
    ncclCommFinalize(comm: ncclComm_t) -> ncclResult_t;
    ncclCommDestroy(comm: ncclComm_t) -> ncclResult_t;
    ncclCommAbort(comm: ncclComm_t) -> ncclResult_t;
    ncclGroupStart() -> ncclResult_t;
    ncclGroupEnd() -> ncclResult_t;
    ncclAllReduce(from: *const c_void, to: *mut c_void, count: usize, dtype: ncclDataType_t, op: ncclRedOp_t,
        comm: ncclComm_t, stream: CUstream) -> ncclResult_t;
    ncclReduce(from: *const c_void, to: *mut c_void, count: usize, dtype: ncclDataType_t, op: ncclRedOp_t, root: c_int,
        comm: ncclComm_t, stream: CUstream) -> ncclResult_t;
    ncclBroadcast(from: *const c_void, to: *mut c_void, count: usize, dtype: ncclDataType_t, root: c_int,
        comm: ncclComm_t, stream: CUstream) -> ncclResult_t;
    ncclAllGather(from: *const c_void, to: *mut c_void, count: usize, dtype: ncclDataType_t, comm: ncclComm_t,
        stream: CUstream) -> ncclResult_t;
    ncclReduceScatter(from: *const c_void, to: *mut c_void, count: usize, dtype: ncclDataType_t, op: ncclRedOp_t,
        comm: ncclComm_t, stream: CUstream) -> ncclResult_t;
    ncclSend(from: *const c_void, count: usize, dtype: ncclDataType_t, peer: c_int, comm: ncclComm_t,
        stream: CUstream) -> ncclResult_t;
    ncclRecv(to: *mut c_void, count: usize, dtype: ncclDataType_t, peer: c_int, comm: ncclComm_t,
        stream: CUstream) -> ncclResult_t;
}
