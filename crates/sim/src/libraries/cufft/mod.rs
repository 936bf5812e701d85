//! cuFFT: batched transforms of up to three axes, computed in complex128 by `rustfft`.

#[cfg(test)]
mod tests;

use std::ffi::{c_int, c_longlong, c_void};
use std::sync::Arc;

use cuprous_cuda_sys::cufft::{cudaDataType_t, cudaStream_t, cufftHandle, cufftResult};
use cuprous_numerics::FftReal as _;
use num_complex::Complex;
use rustfft::{Fft, FftDirection};

use super::number::{Element, Field, Type, read, with_element, write as store};
use super::{Status, address, ensure, extent, objects, scribble, status, submit, write};

type Result<T = ()> = std::result::Result<T, cufftResult>;

const INVALID: cufftResult = cufftResult::INVALID;
const UNSUPPORTED: cufftResult = cufftResult::UNSUPPORTED;
const FORWARD: c_int = -1;
const INVERSE: c_int = 1;

/// A plan as the caller set it up so far.
#[derive(Clone)]
struct Plan {
    allocates: bool,
    stream: usize,
    work_area: usize,
    transform: Option<Arc<Transform>>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Complex,
    /// Real input, half spectrum as output.
    Real,
    /// Half spectrum as input, real output.
    Half,
}

/// Where the elements of a batch are in memory; steps in elements.
struct Side {
    element: Type,
    extents: Vec<usize>,
    /// The distance between elements along each axis.
    steps: Vec<usize>,
    /// The distance between transforms.
    distance: usize,
    batch: usize,
}

/// The library's functions for an axis, forward and backward.
type Axis = [Arc<dyn Fft<f64>>; 2];

struct Transform {
    kind: Kind,
    input: Side,
    output: Side,
    axes: Vec<Axis>,
    work_bytes: usize,
}

impl Side {
    fn new(
        element: Type,
        extents: Vec<usize>,
        embed: &[usize],
        step: i64,
        distance: i64,
        batch: usize,
    ) -> Result<Side> {
        // The first extent of the embedding array is not used.
        let fits = extents.iter().zip(embed).skip(1).all(|(n, embed)| n <= embed);
        ensure(fits && step > 0 && distance >= 0, INVALID)?;
        let steps = (0..extents.len()).map(|axis| embed[axis + 1..].iter().product::<usize>() * step as usize);
        Ok(Side { element, steps: steps.collect(), extents, distance: distance as usize, batch })
    }

    /// Returns the index in memory of each element, in row-major order with the transforms as the first axis.
    fn indices(&self) -> Vec<usize> {
        let mut indices: Vec<usize> = (0..self.batch).map(|k| k * self.distance).collect();
        for (&n, &step) in self.extents.iter().zip(&self.steps) {
            indices = indices.iter().flat_map(|&start| (0..n).map(move |k| start + k * step)).collect();
        }
        indices
    }

    /// # Safety
    /// The batch at `at` is in live memory.
    unsafe fn gather(&self, at: usize) -> Vec<Complex<f64>> {
        unsafe fn gather<T: Element>(indices: &[usize], at: usize) -> Vec<Complex<f64>> {
            let value = |&index: &usize| {
                // SAFETY: by the caller's contract.
                let (re, im) = unsafe { read::<T>(at, index) }.parts();
                Complex::new(re, im)
            };
            indices.iter().map(value).collect()
        }
        // SAFETY: by the caller's contract.
        with_element!(self.element, T => unsafe { gather::<T>(&self.indices(), at) }).unwrap_or_default()
    }

    /// Writes the values, of which real elements take the real parts.
    ///
    /// # Safety
    /// The batch at `at` is in live memory.
    unsafe fn scatter(&self, at: usize, values: &[Complex<f64>]) {
        unsafe fn scatter<T: Element>(indices: &[usize], at: usize, values: &[Complex<f64>]) {
            for (&index, value) in indices.iter().zip(values) {
                // SAFETY: by the caller's contract.
                unsafe { store::<T>(at, index, T::Wide::from_parts(value.re, value.im)) };
            }
        }
        // SAFETY: by the caller's contract.
        with_element!(self.element, T => unsafe { scatter::<T>(&self.indices(), at, values) });
    }
}

/// Transforms the lines of a row-major array along one axis.
fn along(values: &mut [Complex<f64>], extents: &[usize], axis: usize, fft: &dyn Fft<f64>) {
    let (n, below) = (extents[axis], extents[axis + 1..].iter().product::<usize>());
    let mut line = vec![Complex::default(); n];
    for block in values.chunks_mut(n * below) {
        for start in 0..below {
            (0..n).for_each(|k| line[k] = block[start + k * below]);
            fft.process(&mut line);
            (0..n).for_each(|k| block[start + k * below] = line[k]);
        }
    }
}

impl Transform {
    /// Computes the batch.
    ///
    /// # Safety
    /// Input and output are in live memory, and are the same or do not overlap.
    unsafe fn run(&self, input: usize, output: usize, direction: c_int) {
        // SAFETY: by the caller's contract.
        let mut values = unsafe { self.input.gather(input) };
        let last = self.axes.len() - 1;
        let (reads, writes) = (self.input.extents[last], self.output.extents[last]);
        let which =
            usize::from(if self.kind == Kind::Complex { direction == INVERSE } else { self.kind == Kind::Half });
        for axis in 0..last {
            along(&mut values, &self.input.extents, axis, &*self.axes[axis][which]);
        }
        if self.kind == Kind::Half {
            // The rest of the spectrum of a real line.
            let whole = |line: &[Complex<f64>]| -> Vec<Complex<f64>> {
                (0..writes).map(|k| if k < reads { line[k] } else { line[writes - k].conj() }).collect()
            };
            values = values.chunks(reads).flat_map(whole).collect();
        }
        let whole = reads.max(writes);
        along(&mut values, &[whole], 0, &*self.axes[last][which]);
        if self.kind == Kind::Real {
            values = values.chunks(whole).flat_map(|line| line[..writes].to_vec()).collect();
        }
        // SAFETY: by the caller's contract.
        unsafe {
            if self.kind == Kind::Half && last > 0 && input != output {
                // The library uses such an input as scratch memory.
                let nan = vec![Complex::new(f64::NAN, f64::NAN); self.input.indices().len()];
                self.input.scatter(input, &nan);
            }
            self.output.scatter(output, &values);
        }
    }
}

/// Returns a plan by its handle.
fn plan(handle: cufftHandle) -> Result<Plan> {
    objects::get(handle as usize).ok_or(cufftResult::CUFFT_INVALID_PLAN)
}

/// Changes a plan.
fn update(handle: cufftHandle, change: impl FnOnce(&mut Plan)) -> Result {
    objects::update(handle as usize, change).ok_or(cufftResult::CUFFT_INVALID_PLAN)
}

/// Creates an empty plan.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cufftCreate(handle: *mut cufftHandle) -> cufftResult {
    status(|| {
        let id = objects::create(Plan { allocates: true, stream: 0, work_area: 0, transform: None });
        let id = cufftHandle::try_from(id).map_err(|_| cufftResult::CUFFT_ALLOC_FAILED)?;
        // SAFETY: by the caller's contract.
        unsafe { write(handle, id) }
    })
}

/// Destroys a plan. Submitted work keeps what it needs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cufftDestroy(handle: cufftHandle) -> cufftResult {
    status(|| objects::destroy::<Plan>(handle as usize).ok_or(cufftResult::CUFFT_INVALID_PLAN))
}

/// Returns the version of CUDA 13.1's library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cufftGetVersion(version: *mut c_int) -> cufftResult {
    // SAFETY: by the caller's contract.
    status(|| unsafe { write(version, 12_100) })
}

/// Sets the stream of later calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cufftSetStream(handle: cufftHandle, stream: cudaStream_t) -> cufftResult {
    status(|| update(handle, |plan| plan.stream = stream.addr()))
}

/// Sets the workspace of later calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cufftSetWorkArea(handle: cufftHandle, work_area: *mut c_void) -> cufftResult {
    status(|| update(handle, |plan| plan.work_area = work_area.addr()))
}

/// Sets whether the plan owns its workspace.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cufftSetAutoAllocation(handle: cufftHandle, allocates: c_int) -> cufftResult {
    status(|| update(handle, |plan| plan.allocates = allocates != 0))
}

/// Makes a plan of transforms at equal distances. The embedding arrays must be given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cufftXtMakePlanMany(
    handle: cufftHandle,
    rank: c_int,
    points: *mut c_longlong,
    input_embed: *mut c_longlong,
    input_step: c_longlong,
    input_distance: c_longlong,
    input_type: cudaDataType_t,
    output_embed: *mut c_longlong,
    output_step: c_longlong,
    output_distance: c_longlong,
    output_type: cudaDataType_t,
    batch: c_longlong,
    work_bytes: *mut usize,
    execution_type: cudaDataType_t,
) -> cufftResult {
    status(|| {
        plan(handle)?;
        ensure((1..=3).contains(&rank) && !points.is_null() && batch > 0, INVALID)?;
        ensure(!input_embed.is_null() && !output_embed.is_null(), UNSUPPORTED)?;
        // SAFETY: the list is not null and has `rank` numbers.
        let list = |from: *mut c_longlong| unsafe { std::slice::from_raw_parts(from, rank as usize) };
        let list = |from| list(from).iter().map(|&n| extent(n)).collect::<Result<Vec<usize>>>();
        let (points, reads, writes) = (list(points)?, list(input_embed)?, list(output_embed)?);
        ensure(points.iter().all(|&n| n > 0), cufftResult::CUFFT_INVALID_SIZE)?;

        let [input, output, computed] = [input_type, output_type, execution_type].map(|t| Type::of(t.0));
        let (input, output) = (input.ok_or(UNSUPPORTED)?, output.ok_or(UNSUPPORTED)?);
        ensure(computed == Some(input.complex()) && input.complex() == output.complex(), UNSUPPORTED)?;
        let is_real = |element: Type| matches!(element, Type::F32 | Type::F64);
        let is_complex = |element: Type| matches!(element, Type::C64 | Type::C128);
        let kind = if is_complex(input) && is_complex(output) {
            Kind::Complex
        } else if is_real(input) && is_complex(output) {
            Kind::Real
        } else if is_complex(input) && is_real(output) {
            Kind::Half
        } else {
            return Err(UNSUPPORTED);
        };
        let last = points.len() - 1;
        let mut half = points.clone();
        half[last] = points[last] / 2 + 1;
        let extents = |side: Kind| if kind == side { half.clone() } else { points.clone() };
        let batch = extent(batch)?;
        let input = Side::new(input, extents(Kind::Half), &reads, input_step, input_distance, batch)?;
        let output = Side::new(output, extents(Kind::Real), &writes, output_step, output_distance, batch)?;
        let both = [FftDirection::Forward, FftDirection::Inverse];
        let axes = points.iter().map(|&n| both.map(|direction| f64::plan(n, direction))).collect();
        let elements = batch * half.iter().product::<usize>();
        let transform = Transform { kind, work_bytes: elements * output.element.complex().size(), input, output, axes };
        // SAFETY: by the caller's contract.
        unsafe { write(work_bytes, transform.work_bytes) }?;
        update(handle, |plan| plan.transform = Some(Arc::new(transform)))
    })
}

/// Submits the transforms of a plan. Plans with real input or output have one direction.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cufftXtExec(
    handle: cufftHandle,
    input: *mut c_void,
    output: *mut c_void,
    direction: c_int,
) -> cufftResult {
    status(|| {
        let Plan { allocates, stream, work_area, transform } = plan(handle)?;
        let transform = transform.ok_or(cufftResult::CUFFT_INVALID_PLAN)?;
        ensure(direction == FORWARD || direction == INVERSE, INVALID)?;
        // Real numbers are read and written in pairs.
        let alignment = transform.input.element.complex().size();
        let (input, output) = (address(input, alignment)?, address(output, alignment)?);
        let work_bytes = if allocates { 0 } else { transform.work_bytes };
        ensure(work_bytes == 0 || work_area != 0, cufftResult::CUFFT_NO_WORKSPACE)?;
        // SAFETY: the caller vouches for the memory when the work runs.
        submit(stream, move || unsafe {
            scribble(work_area, work_bytes);
            transform.run(input, output, direction);
        })
    })
}
