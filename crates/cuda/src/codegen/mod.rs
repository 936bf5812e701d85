//! The CUDA code generator: from the kernels and calls of a plan to CUDA C++ and launches. Data only; it touches no
//! driver and no device.

mod lanes;
mod lower;
mod map;
mod pack;
mod prelude;
mod reduce;
mod routines;
mod text;
mod tile;
mod types;
pub mod user;

use cuprous_plan::Kernel;

pub use pack::generate_pack;
pub use prelude::Part;
pub use routines::{CallTuning, RadixTile, generate_call, generate_call_tuned};
pub(crate) use routines::{Made, Source, fft, linalg, lu};
pub use types::{Arch, Arg, Generated, Options, Stage, Tuning};

use lower::{Target, Unit};

/// The launches of a fused kernel.
///
/// Distinct buffers of a kernel must not overlap in memory.
pub fn generate(kernel: &Kernel, arch: Arch, options: Options) -> Generated {
    let mut out = Generated::default();
    let (unit, target) = (Unit::new(kernel), Target { arch, options });
    if kernel.reduces() {
        reduce::reduce(&unit, target, &mut out);
    } else {
        map::map(&unit, target, &mut out);
    }
    out
}

/// The code of a fused kernel as people read it: without the prelude, with the launch shapes.
pub fn readable(kernel: &Kernel, arch: Arch, options: Options) -> String {
    generate(kernel, arch, options).to_string()
}
