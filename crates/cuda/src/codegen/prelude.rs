//! The prelude's parts, and which of them a kernel needs.

use cuprous_core::ops::Prelude;
use cuprous_core::{DType, Fun};

macro_rules! parts {
    ($($(#[$doc:meta])* $variant:ident $file:literal,)*) => {
        /// A file of the prelude, in the order of inclusion.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum Part { $($(#[$doc])* $variant),* }

        impl Part {
            /// Every part, in the order of inclusion.
            pub const ALL: &'static [Part] = &[$(Part::$variant),*];

            /// The file's text.
            pub const fn text(self) -> &'static str {
                match self { $(Part::$variant => include_str!(concat!("../prelude/", $file))),* }
            }
        }
    };
}
parts! {
    /// Types, casts, vectors, index arithmetic.
    Base "base.cuh",
    /// 16-bit floats in inline PTX.
    Convert "convert.cuh",
    /// 16-bit floats.
    Half "half.cuh",
    /// Arithmetic, comparison, bits.
    Arith "arith.cuh",
    /// Complex numbers.
    Complex "complex.cuh",
    /// Functions of complex numbers.
    ComplexMath "complex_math.cuh",
    /// Real functions.
    Math "math.cuh",
    /// Special functions.
    Special "special.cuh",
    /// The Philox random generator.
    Random "random.cuh",
    /// Normal deviates.
    Normal "normal.cuh",
    /// Deviates by rejection.
    Reject "reject.cuh",
    /// Smallest and largest values, reductions of arrays as trees.
    Limits "limits.cuh",
    /// Reductions.
    Reduce "reduce.cuh",
    /// Reductions over threads.
    Block "block.cuh",
    /// Atomic scatter operations.
    Atomics "atomics.cuh",
    /// Arrays of user kernels.
    Kernel "kernel.cuh",
    /// Atomic operations of user kernels.
    UserAtomics "user_atomics.cuh",
    /// Exceptions of user kernels.
    Fault "fault.cuh",
    /// A warp's vote on a value.
    MatchAll "match_all.cuh",
    /// A barrier of the grid.
    GridSync "grid_sync.cuh",
}

/// The set of parts that a kernel needs.
#[derive(Clone, Default, Debug)]
pub(crate) struct Parts(u32);

impl Parts {
    /// Starts with the base alone.
    pub(crate) fn new() -> Parts {
        Parts(1 << Part::Base as u32)
    }

    /// Adds the parts that another kernel needs.
    pub(crate) fn join(&mut self, other: &Parts) {
        self.0 |= other.0;
    }

    /// Adds a part and the parts it depends on.
    pub(crate) fn add(&mut self, part: Part) {
        self.0 |= 1 << part as u32;
        let below: &[Part] = match part {
            Part::Half => &[Part::Convert],
            Part::Complex | Part::Random | Part::Limits => &[Part::Arith],
            Part::ComplexMath => &[Part::Complex],
            Part::Math => &[Part::Arith],
            Part::Special => &[Part::Math],
            Part::Normal => &[Part::Random],
            Part::Reject => &[Part::Random, Part::Math, Part::Normal],
            Part::Reduce => &[Part::Limits],
            Part::Block => &[Part::Reduce],
            Part::Atomics | Part::UserAtomics => &[Part::Arith],
            Part::MatchAll => &[Part::Kernel],
            _ => &[],
        };
        for &p in below {
            self.add(p);
        }
    }

    /// Adds the parts that values of a dtype need.
    pub(crate) fn dtype(&mut self, d: DType) {
        match d {
            DType::F16 | DType::BF16 => self.add(Part::Half),
            DType::C64 | DType::C128 => self.add(Part::Complex),
            _ => {}
        }
    }

    /// Adds the parts that a function computing in a dtype needs.
    pub(crate) fn fun(&mut self, fun: Fun, d: DType) {
        let prelude = fun.op().prelude;
        self.add(match prelude {
            Prelude::Inline => return,
            Prelude::Basic | Prelude::Arithmetic => Part::Arith,
            Prelude::Math => Part::Math,
            Prelude::Special => Part::Special,
            Prelude::RandomBits => Part::Random,
            Prelude::RandomNormal => Part::Normal,
            Prelude::RandomRejection => Part::Reject,
        });
        if d.is_complex() && prelude != Prelude::Basic {
            self.add(Part::ComplexMath);
        }
    }

    /// Returns the texts in the order of inclusion.
    pub(crate) fn texts(&self) -> Vec<&'static str> {
        Part::ALL.iter().filter(|&&p| self.0 >> p as u32 & 1 == 1).map(|p| p.text()).collect()
    }
}
