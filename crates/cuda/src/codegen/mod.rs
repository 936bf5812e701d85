//! The CUDA code generator: from the kernels and routines of a plan to CUDA C++ and launches. It uses no driver and no
//! device.

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
mod vectorize;

use cuprous_plan::Kernel;

pub use pack::generate_pack;
pub use prelude::Part;
pub(crate) use routines::{Builder, Source, attend, fft, is_always_generated, linalg, lu, tf32};
pub use routines::{RadixTile, RoutineTuning, generate_routine, generate_routine_tuned};
pub use types::{Arch, Arg, Generated, Options, Stage, Tuning, Vendor};
pub(crate) use types::{ctype, short};

use lower::{Target, Unit};

/// Returns the launches of a fused kernel.
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

/// Returns the code of a fused kernel for people to read: without the prelude, with the launch shapes.
pub fn readable(kernel: &Kernel, arch: Arch, options: Options) -> String {
    generate(kernel, arch, options).to_string()
}
