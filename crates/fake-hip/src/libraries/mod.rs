//! AMD's libraries on those of CUDA. Enumeration values are translated back from those of AMD's headers, and each function
//! has the type that the headers declare.

mod blas;
mod fft;
mod rocblas;
mod solver;
mod sparse;

/// Calls a function of one of CUDA's libraries; `missing` is the status if it is not there.
macro_rules! library {
    ($library:ident, $missing:expr, $name:ident($($arg:expr),* $(,)?)) => {
        match cuprous_cuda_sys::$library().map(|api| &api.$name) {
            Ok(Ok(function)) => {
                // A handle is created in the context of the thread's device.
                $crate::context::ensure(stringify!($name));
                function($($arg),*)
            }
            _ => $missing,
        }
    };
}
use library;

/// Asserts that functions have the types of AMD's headers: each is a field of the table.
macro_rules! declared {
    ($api:ty: $($name:ident)*) => {
        const _: fn(&mut $api) = |api| { $(api.$name = Ok($name);)* };
    };
}
use declared;
