//! `orgqr` and `ungqr`: the first columns of Q. These functions have an element type each.

use std::ffi::c_int;

use cuprous_cuda_sys::cusolver::{cuComplex, cuDoubleComplex, cusolverDnHandle_t, cusolverStatus_t as SolverStatus};

use super::{Buffers, Call, INVALID, Result, Type, UNSUPPORTED, elements};
use super::{address, ensure, extent, factor, status, stream, with_element, write};

/// Checks the arguments of `orgqr`.
fn basis_call(handle: cusolverDnHandle_t, element: Type, m: c_int, n: c_int, k: c_int) -> Result<Call> {
    ensure(0 <= k && k <= n && n <= m, INVALID)?;
    let elements = elements(m.into(), n.into())?;
    Ok(Call { stream: stream(handle)?, element, workspace: [elements * element.size(), 0] })
}

/// Defines `orgqr` for an element type, and the function that returns its workspace in elements.
macro_rules! basis {
    ($($element:ident, $t:ty: $query:ident, $run:ident;)*) => {$(
        /// Returns the workspace for the first columns of Q.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $query(
            handle: cusolverDnHandle_t,
            m: c_int,
            n: c_int,
            k: c_int,
            _a: *const $t,
            _lda: c_int,
            _tau: *const $t,
            elements: *mut c_int,
        ) -> SolverStatus {
            status(|| {
                let [bytes, _] = basis_call(handle, Type::$element, m, n, k)?.workspace;
                let size = c_int::try_from(bytes / size_of::<$t>()).map_err(|_| INVALID)?;
                // SAFETY: by the caller's contract.
                unsafe { write(elements, size) }
            })
        }

        /// Submits the computation of the first columns of Q.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $run(
            handle: cusolverDnHandle_t,
            m: c_int,
            n: c_int,
            k: c_int,
            a: *mut $t,
            lda: c_int,
            tau: *const $t,
            work: *mut $t,
            elements: c_int,
            info: *mut c_int,
        ) -> SolverStatus {
            status(|| {
                let call = basis_call(handle, Type::$element, m, n, k)?;
                let a = call.matrix(a.cast(), [m.into(), n.into(), lda.into()])?;
                let (tau, reflectors) = (address(tau, size_of::<$t>())?, extent(k.into())?);
                let device_bytes = extent::<SolverStatus>(elements.into())? * size_of::<$t>();
                let (device, host) = (work.cast(), std::ptr::null_mut());
                let buffers = Buffers { device, device_bytes, host, host_bytes: 0 };
                // SAFETY: the caller vouches for the memory when the work runs.
                let done = with_element!(Type::$element, T => unsafe {
                    call.submit(&buffers, info, 1, move |_| factor::basis::<T>(a, reflectors, tau))
                });
                done.ok_or(UNSUPPORTED)?
            })
        }
    )*};
}
basis! {
    F32, f32: cusolverDnSorgqr_bufferSize, cusolverDnSorgqr;
    F64, f64: cusolverDnDorgqr_bufferSize, cusolverDnDorgqr;
    C64, cuComplex: cusolverDnCungqr_bufferSize, cusolverDnCungqr;
    C128, cuDoubleComplex: cusolverDnZungqr_bufferSize, cusolverDnZungqr;
}
