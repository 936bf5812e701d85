//! Fourier transforms by cuFFT: plans, shared by the programs that want the same one. They own tables on the device,
//! but no workspace.

use std::ffi::{c_int, c_void};
use std::fmt;
use std::sync::{Arc, Mutex};

use cuprous_core::routine::{FFT_RANK, FftKind};
use cuprous_cuda_sys as sys;
use sys::cufft::{cudaDataType_t as DataType, cudaStream_t, cufftHandle, cufftResult};
use sys::driver::CUresult;

use crate::driver::{Context, DevPtr, Stream, is_started, missing_symbol};
use crate::error::{CudaError, Result};

/// Plans kept for others to come, and bytes of their tables; programs keep their own.
const MOST_PLANS: usize = 128;
const MOST_BYTES: u64 = 256 << 20;

/// Transforms of one kind whose lines are equally far apart; numbers are elements, of what is read and what is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Batch {
    pub(crate) kind: FftKind,
    /// In float64, not float32.
    pub(crate) double: bool,
    /// Points along each axis; of fewer axes than there is room for, the last ones.
    pub(crate) points: [i64; FFT_RANK],
    pub(crate) rank: usize,
    /// From one value to the next along the last axis; the axes are dense among themselves.
    pub(crate) step: i64,
    /// From one transform to the next.
    pub(crate) distance: [i64; 2],
    /// How many.
    pub(crate) count: i64,
}

impl Batch {
    /// A plan is for both directions.
    fn same_plan(&self, other: &Batch) -> bool {
        let direction = |b: &Batch| Batch { kind: if b.complex() { FftKind::Forward } else { b.kind }, ..*b };
        direction(self) == direction(other)
    }

    fn complex(&self) -> bool {
        matches!(self.kind, FftKind::Forward | FftKind::Backward)
    }

    /// Of what is read, of what is written, and of what is computed.
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

    /// Bytes of tables, about: prime lengths have the most.
    fn weight(&self) -> u64 {
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

/// Extents of what such a transform reads, and of what it writes.
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

/// Names of the statuses: the library has no function for them.
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
        // As the driver's own, so that caches are dropped and the call is made again.
        let code = CUresult::CUDA_ERROR_OUT_OF_MEMORY.0;
        return Err(CudaError::Driver { call, code, name: name.into(), text: what.to_string() });
    }
    Err(CudaError::Library { call, status: format!("{name} ({})", status.0), what: what.to_string() })
}

/// What the library chose for a batch.
pub(crate) struct Plan {
    /// Locked while a call is put together: its stream and workspace belong to the handle.
    handle: Mutex<cufftHandle>,
    context: &'static Context,
    batch: Batch,
    /// Bytes of scratch that a call wants.
    pub(crate) workspace: usize,
}

impl Plan {
    /// Loads the library on the first call.
    ///
    /// # Errors
    /// The library is not installed or refuses the batch, or there is no memory for its tables.
    pub(crate) fn new(context: &'static Context, batch: &Batch) -> Result<Plan> {
        let api = sys::cufft()?;
        context.make_current()?;
        let mut handle: cufftHandle = 0;
        // SAFETY: the call writes one handle; the context is current.
        unsafe { call!(api, batch, cufftCreate(&raw mut handle)) }?;
        // From here on the handle is destroyed where something fails.
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

    /// Submits transforms of the plan's form, each from and to an address, one after the other.
    ///
    /// # Errors
    /// The library fails.
    ///
    /// # Safety
    /// The addresses and the workspace must be live allocations of the sizes that the plan wants. What is read and
    /// written must be the same or apart; half a spectrum that is read is spoiled.
    pub(crate) unsafe fn run(
        &self,
        kind: FftKind,
        pairs: impl Iterator<Item = (DevPtr, DevPtr)>,
        workspace: DevPtr,
        stream: &Stream,
    ) -> Result<()> {
        /// What cufft.h defines as CUFFT_FORWARD and CUFFT_INVERSE.
        const FORWARD: c_int = -1;
        const INVERSE: c_int = 1;
        let api = sys::cufft()?;
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
            && let Ok(api) = sys::cufft()
            && self.context.make_current().is_ok()
        {
            let handle = *self.handle.get_mut().unwrap_or_else(|e| e.into_inner());
            // SAFETY: the handle is ours; who runs a graph with the plan's kernels keeps the plan.
            let _at_worst_leaked = unsafe { call!(api, &self.batch, cufftDestroy(handle)) };
        }
    }
}

/// Plans of one device, the most recently used last.
#[derive(Default)]
pub(crate) struct Plans(Vec<Arc<Plan>>);

impl Plans {
    /// The plan of a batch, from the recent ones where it is there.
    ///
    /// # Errors
    /// As for [`Plan::new`], which `make` calls.
    pub(crate) fn get(&mut self, batch: &Batch, make: impl FnOnce() -> Result<Plan>) -> Result<Arc<Plan>> {
        let plan = match self.0.iter().position(|plan| plan.batch.same_plan(batch)) {
            Some(at) => self.0.remove(at),
            None => Arc::new(make()?),
        };
        self.0.push(plan.clone());
        let weight = |plans: &[Arc<Plan>]| plans.iter().map(|p| p.batch.weight()).sum::<u64>();
        while self.0.len() > MOST_PLANS || self.0.len() > 1 && weight(&self.0) > MOST_BYTES {
            self.0.remove(0);
        }
        Ok(plan)
    }

    /// Lets go of all plans that no program holds.
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
    fn halves_are_of_the_last_axis() {
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
    fn statuses_have_words_and_no_memory_is_told_apart() {
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
