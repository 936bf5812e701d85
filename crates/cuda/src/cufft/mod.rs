//! Fourier transforms by cuFFT. Programs that need the same plan share it. Plans own tables on the device, but no
//! workspace.

use std::ffi::{c_int, c_void};
use std::fmt;
use std::sync::{Arc, Mutex};

use cuprous_core::routine::{FFT_RANK, FftKind};
use cuprous_cuda_sys as sys;
use sys::cufft::{cudaDataType_t as DataType, cudaStream_t, cufftHandle, cufftResult};
use sys::driver::CUresult;

use crate::driver::{self, Context, DevPtr, Stream, is_started, missing_symbol};
use crate::error::{CudaError, Result};

/// Bounds on the cached plans: their number and the bytes of their tables. Programs keep their own plans alive.
const MAX_PLANS: usize = 128;
const MAX_TABLE_BYTES: u64 = 256 << 20;

/// Transforms of one kind at equal distances in memory. Steps and distances are in elements; those of pairs are of the
/// input and the output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Batch {
    pub(crate) kind: FftKind,
    /// float64 instead of float32.
    pub(crate) double: bool,
    /// Points along each axis. Only the last `rank` axes are used.
    pub(crate) points: [i64; FFT_RANK],
    pub(crate) rank: usize,
    /// The distance between values along the last axis. The axes are contiguous among themselves.
    pub(crate) step: i64,
    /// The distance between transforms.
    pub(crate) distance: [i64; 2],
    /// The number of transforms.
    pub(crate) count: i64,
}

impl Batch {
    /// Returns true if one plan serves both batches. A complex plan serves both directions.
    fn same_plan(&self, other: &Batch) -> bool {
        let direction = |b: &Batch| Batch { kind: if b.is_complex() { FftKind::Forward } else { b.kind }, ..*b };
        direction(self) == direction(other)
    }

    fn is_complex(&self) -> bool {
        matches!(self.kind, FftKind::Forward | FftKind::Backward)
    }

    /// Returns the types of input, output and computation.
    fn types(&self) -> [DataType; 3] {
        let (real, complex) = match self.double {
            false => (DataType::CUDA_R_32F, DataType::CUDA_C_32F),
            true => (DataType::CUDA_R_64F, DataType::CUDA_C_64F),
        };
        match self.kind {
            FftKind::Real => [real, complex, complex],
            FftKind::Half => [complex, real, complex],
            FftKind::Forward | FftKind::Backward | FftKind::Whole => [complex; 3],
        }
    }

    /// Returns an estimate of the bytes of the tables. Prime lengths have the largest.
    fn table_bytes(&self) -> u64 {
        self.points.iter().sum::<i64>() as u64 * if self.double { 64 } else { 32 }
    }
}

impl fmt::Display for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let points = &self.points[FFT_RANK - self.rank..];
        let (step, [read, written]) = (self.step, self.distance);
        write!(
            f,
            "{:?} transform of {}",
            self.kind,
            points.iter().map(i64::to_string).collect::<Vec<_>>().join(" × ")
        )?;
        write!(f, " points in float{}, batch {}", if self.double { 64 } else { 32 }, self.count)?;
        write!(f, ", step {step}, distance {read} → {written}")
    }
}

/// Returns the extents of the input and of the output of a transform.
pub(crate) fn extents(kind: FftKind, points: [i64; FFT_RANK]) -> [[i64; FFT_RANK]; 2] {
    let mut extents = [points; 2];
    let half = points[FFT_RANK - 1] / 2 + 1;
    match kind {
        FftKind::Real => extents[1][FFT_RANK - 1] = half,
        FftKind::Half => extents[0][FFT_RANK - 1] = half,
        FftKind::Forward | FftKind::Backward | FftKind::Whole => {}
    }
    extents
}

macro_rules! call {
    ($api:expr, $what:expr, $name:ident($($arg:expr),* $(,)?)) => {
        match &$api.$name {
            Ok(function) => check(stringify!($name), $what, function($($arg),*)),
            Err(e) => Err(missing_symbol(stringify!($name), e)),
        }
    };
}

/// Names of the statuses, because the library has no function that returns them.
const STATUSES: [(cufftResult, &str); 12] = [
    (cufftResult::CUFFT_INVALID_PLAN, "invalid plan"),
    (cufftResult::CUFFT_ALLOC_FAILED, "no memory"),
    (cufftResult::CUFFT_INVALID_TYPE, "invalid type"),
    (cufftResult::CUFFT_INVALID_VALUE, "invalid value"),
    (cufftResult::CUFFT_INTERNAL_ERROR, "internal error"),
    (cufftResult::CUFFT_EXEC_FAILED, "a kernel failed"),
    (cufftResult::CUFFT_SETUP_FAILED, "the library did not start"),
    (cufftResult::CUFFT_INVALID_SIZE, "size not supported"),
    (cufftResult::CUFFT_INVALID_DEVICE, "invalid device"),
    (cufftResult::CUFFT_NO_WORKSPACE, "no workspace"),
    (cufftResult::CUFFT_NOT_IMPLEMENTED, "not implemented"),
    (cufftResult::CUFFT_NOT_SUPPORTED, "not supported"),
];

fn check(call: &'static str, what: &dyn fmt::Display, status: cufftResult) -> Result<()> {
    if status == cufftResult::CUFFT_SUCCESS {
        return Ok(());
    }
    let name = STATUSES.iter().find(|(known, _)| *known == status).map_or("unknown status", |(_, name)| name);
    if status == cufftResult::CUFFT_ALLOC_FAILED {
        // Reported as the driver's own error, so that caches are dropped and the call is repeated.
        let code = CUresult::CUDA_ERROR_OUT_OF_MEMORY.0;
        return Err(CudaError::Driver { call, code, name: name.into(), text: what.to_string() });
    }
    Err(CudaError::Library { call, status: format!("{name} ({})", status.0), what: what.to_string() })
}

/// The library's plan for a batch.
pub(crate) struct Plan {
    /// Locked while a call is set up, because stream and workspace are set on the handle.
    handle: Mutex<cufftHandle>,
    context: &'static Context,
    batch: Batch,
    /// The bytes of workspace that a call needs.
    pub(crate) workspace: usize,
}

impl Plan {
    /// Loads the library on the first call.
    ///
    /// # Errors
    /// The library is not installed or refuses the batch, or there is no memory for its tables.
    pub(crate) fn new(context: &'static Context, batch: &Batch) -> Result<Plan> {
        let api = driver::cufft()?;
        context.make_current()?;
        let mut handle: cufftHandle = 0;
        // SAFETY: the call writes one handle; the context is current.
        unsafe { call!(api, batch, cufftCreate(&raw mut handle)) }?;
        // If a call below fails, dropping `plan` destroys the handle.
        let mut plan = Plan { handle: Mutex::new(handle), context, batch: *batch, workspace: 0 };
        let skipped = FFT_RANK - batch.rank;
        let (mut points, [mut reads, mut writes]) = (batch.points, extents(batch.kind, batch.points));
        let [points, reads, writes] = [&mut points, &mut reads, &mut writes].map(|n| n[skipped..].as_mut_ptr());
        let ([from, to], [input, output, computed]) = (batch.distance, batch.types());
        // SAFETY: the library reads `rank` numbers of each list and writes the size.
        unsafe {
            call!(api, batch, cufftSetAutoAllocation(handle, 0))?;
            call!(
                api,
                batch,
                cufftXtMakePlanMany(
                    handle,
                    batch.rank as c_int,
                    points,
                    reads,
                    batch.step,
                    from,
                    input,
                    writes,
                    batch.step,
                    to,
                    output,
                    batch.count,
                    &raw mut plan.workspace,
                    computed,
                )
            )?;
        }
        Ok(plan)
    }

    /// Submits transforms of the plan's form, one for each pair of input and output.
    ///
    /// # Errors
    /// The library fails.
    ///
    /// # Safety
    /// The addresses and the workspace must be live allocations of the plan's sizes. Input and output must be the same
    /// or not overlap. A half spectrum that is read is overwritten.
    pub(crate) unsafe fn run(
        &self,
        kind: FftKind,
        pairs: impl Iterator<Item = (DevPtr, DevPtr)>,
        workspace: DevPtr,
        stream: &Stream,
    ) -> Result<()> {
        /// CUFFT_FORWARD and CUFFT_INVERSE of cufft.h.
        const FORWARD: c_int = -1;
        const INVERSE: c_int = 1;
        let api = driver::cufft()?;
        self.context.make_current()?;
        let handle = self.handle.lock().unwrap_or_else(|e| e.into_inner());
        let direction = if matches!(kind, FftKind::Forward | FftKind::Real) { FORWARD } else { INVERSE };
        let pointer = |address: DevPtr| address.0 as *mut c_void;
        let what = &self.batch;
        // SAFETY: the caller vouches for the memory; the driver's and the runtime's stream handles are the same.
        unsafe {
            call!(api, what, cufftSetStream(*handle, stream.raw() as cudaStream_t))?;
            call!(api, what, cufftSetWorkArea(*handle, pointer(workspace)))?;
            for (from, to) in pairs {
                call!(api, what, cufftXtExec(*handle, pointer(from), pointer(to), direction))?;
            }
        }
        Ok(())
    }
}

impl Drop for Plan {
    fn drop(&mut self) {
        if is_started()
            && let Ok(api) = driver::cufft()
            && self.context.make_current().is_ok()
        {
            let handle = *self.handle.get_mut().unwrap_or_else(|e| e.into_inner());
            // SAFETY: the handle is owned by this value. Programs whose graphs run the plan's kernels keep the plan
            // alive.
            let _at_worst_leaked = unsafe { call!(api, &self.batch, cufftDestroy(handle)) };
        }
    }
}

/// Plans of one device, the most recently used last.
#[derive(Default)]
pub(crate) struct Plans(Vec<Arc<Plan>>);

impl Plans {
    /// Returns the plan of a batch, from the cache if it is there, else created by `create`.
    ///
    /// # Errors
    /// `create` fails.
    pub(crate) fn get(&mut self, batch: &Batch, create: impl FnOnce() -> Result<Plan>) -> Result<Arc<Plan>> {
        let plan = match self.0.iter().position(|plan| plan.batch.same_plan(batch)) {
            Some(at) => self.0.remove(at),
            None => Arc::new(create()?),
        };
        self.0.push(plan.clone());
        let table_bytes = |plans: &[Arc<Plan>]| plans.iter().map(|p| p.batch.table_bytes()).sum::<u64>();
        while self.0.len() > MAX_PLANS || self.0.len() > 1 && table_bytes(&self.0) > MAX_TABLE_BYTES {
            self.0.remove(0);
        }
        Ok(plan)
    }

    /// Drops the cached plans. Programs keep theirs.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(kind: FftKind, points: [i64; FFT_RANK], rank: usize) -> Batch {
        Batch { kind, double: false, points, rank, step: 1, distance: [1, 1], count: 1 }
    }

    #[test]
    fn half_spectra_are_along_the_last_axis() {
        assert_eq!(extents(FftKind::Real, [1, 4, 6]), [[1, 4, 6], [1, 4, 4]]);
        assert_eq!(extents(FftKind::Half, [1, 1, 7]), [[1, 1, 4], [1, 1, 7]]);
        assert_eq!(extents(FftKind::Backward, [2, 3, 4]), [[2, 3, 4]; 2]);
    }

    #[test]
    fn one_plan_serves_both_directions_of_complex_transforms() {
        let [forward, backward] = [FftKind::Forward, FftKind::Backward].map(|kind| batch(kind, [1, 1, 8], 1));
        assert!(forward.same_plan(&backward));
        assert!(!forward.same_plan(&batch(FftKind::Real, [1, 1, 8], 1)));
        assert!(!forward.same_plan(&Batch { double: true, ..forward }));
    }

    #[test]
    fn statuses_have_names_and_out_of_memory_is_recognized() {
        let what = batch(FftKind::Real, [1, 4, 6], 2);
        let error = check("cufftXtMakePlanMany", &what, cufftResult::CUFFT_INVALID_SIZE).unwrap_err();
        assert_eq!(
            error.to_string(),
            "[cuda] cufftXtMakePlanMany failed for Real transform of 4 × 6 points in float32, batch 1, step 1, \
             distance 1 → 1: size not supported (8)"
        );
        assert!(check("cufftXtMakePlanMany", &what, cufftResult::CUFFT_ALLOC_FAILED).unwrap_err().is_out_of_memory());
    }
}
