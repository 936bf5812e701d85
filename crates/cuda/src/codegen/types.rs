//! The generator's results, as plain data.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use cuprous_core::DType;

/// Who made a GPU, and so whose compiler and driver serve it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Vendor {
    /// NVIDIA: targets such as `sm_90`.
    Nvidia,
    /// AMD: targets such as `gfx1100`.
    Amd,
}

impl Vendor {
    /// Returns the maker of the GPUs of a target.
    #[must_use]
    pub fn of_target(target: &str) -> Vendor {
        if target.starts_with("gfx") { Vendor::Amd } else { Vendor::Nvidia }
    }

    /// Returns the name for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Vendor::Nvidia => "NVIDIA",
            Vendor::Amd => "AMD",
        }
    }
}

/// The device that code is generated for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arch {
    /// The maker.
    pub vendor: Vendor,
    /// Compute capability, before the dot. At least 8. A GPU of AMD has 8.0, which stands for what all GPUs can do.
    pub major: u32,
    /// Compute capability, after the dot.
    pub minor: u32,
    /// Streaming multiprocessors.
    pub sms: u32,
    /// Size of the L2 cache.
    pub l2_bytes: usize,
    /// Most shared memory of a block, with opt-in.
    pub max_shared: usize,
}

impl Arch {
    /// An H200, for tests and examples.
    pub const H200: Arch =
        Arch { vendor: Vendor::Nvidia, major: 9, minor: 0, sms: 132, l2_bytes: 50 << 20, max_shared: 227 << 10 };

    /// Returns this device with the compute capability of a target such as `sm_80` or `compute_80`, or with what a GPU of
    /// AMD has for a target such as `gfx1100`. The capability stays if the target has no number.
    #[must_use]
    pub fn of_target(self, target: &str) -> Arch {
        if Vendor::of_target(target) == Vendor::Amd {
            // Every GPU of AMD has 64 KiB of memory that a block shares.
            return Arch { vendor: Vendor::Amd, major: 8, minor: 0, max_shared: self.max_shared.min(64 << 10), ..self };
        }
        let number = target.split_once('_').map_or(target, |(_, number)| number);
        match number.parse::<u32>() {
            Ok(capability) => Arch { major: capability / 10, minor: capability % 10, ..self },
            Err(_) => self,
        }
    }
}

/// Parameters of launch shapes, for experiments. The defaults were reasoned or measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tuning {
    /// Threads of a multiprocessor up to which work takes the general template, the same for all extents; 0 for never.
    pub general_threads: u32,
    /// Threads of a map's block.
    pub map_threads: u32,
    /// Vectors that a thread of a map loads before it computes.
    pub map_vectors: u32,
    /// Threads of a block that streams a row.
    pub row_threads: u32,
    /// Vectors in flight per thread of such a block.
    pub row_vectors: u32,
    /// Blocks per multiprocessor when few rows are split among many blocks.
    pub split_blocks: u32,
    /// Most bytes of a row that one thread holds in registers.
    pub resident_bytes: u32,
    /// Rows in flight per thread of a column reduction.
    pub column_rows: u32,
    /// Threads of a column reduction's block along the reduced axis.
    pub column_height: u32,
    /// Blocks per multiprocessor of a column reduction.
    pub column_blocks: u32,
}

impl Default for Tuning {
    fn default() -> Tuning {
        Tuning {
            general_threads: 2048,
            map_threads: 256,
            map_vectors: 2,
            row_threads: 512,
            row_vectors: 4,
            // Whole waves of blocks, whether two or three blocks fit at a time.
            split_blocks: 6,
            resident_bytes: 160,
            column_rows: 8,
            column_height: 8,
            column_blocks: 4,
        }
    }
}

/// Options of code generation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Approximate functions and divisions (`--use_fast_math`). Without it, fused and unfused execution give equal
    /// results.
    pub fast_math: bool,
    /// True if every buffer starts at a multiple of 16 bytes. Vector accesses need it.
    pub aligned: bool,
    /// Numbers of threads, blocks and elements per thread that measurements chose.
    pub tuning: Tuning,
}

impl Default for Options {
    fn default() -> Options {
        Options { fast_math: false, aligned: true, tuning: Tuning::default() }
    }
}

impl Options {
    /// Returns the NVRTC options that the sources need, besides architecture and language.
    pub fn compiler_flags(&self) -> &'static [&'static str] {
        // Without contraction: a fused kernel must round as its operations would one by one.
        if self.fast_math { &["--use_fast_math"] } else { &["--fmad=false"] }
    }
}

/// One argument of a kernel. Arguments and parameters of the `__global__` function are in the same order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arg {
    /// Address of a buffer of the program, by its index.
    Buffer(u32),
    /// A scalar of the program, of its dtype's size.
    Scalar {
        /// Index into the program's scalars.
        slot: u32,
        /// Its type.
        dtype: DType,
    },
    /// Four bytes.
    I32(i32),
    /// Eight bytes.
    I64(i64),
    /// Address of a byte of the scratch. Its contents need not survive the run.
    Scratch(usize),
    /// Address of a byte of the state. State is private to this [`Generated`], zero before the first run, and kept
    /// between runs. Kernels leave it ready for the next run, so that graphs can be replayed.
    State(usize),
}

impl Arg {
    /// Returns the bytes of the parameter, which is aligned to its size (16-byte scalars too).
    pub fn size(&self) -> usize {
        match self {
            Arg::Scalar { dtype, .. } => dtype.size(),
            Arg::I32(_) => 4,
            Arg::Buffer(_) | Arg::I64(_) | Arg::Scratch(_) | Arg::State(_) => 8,
        }
    }
}

/// One launch. The stages of a [`Generated`] run in order on one stream. Its texts are shared by all launches of one code.
#[derive(Clone, PartialEq, Debug)]
pub struct Stage {
    /// Name of the `extern "C"` kernel.
    pub name: Arc<str>,
    /// The prelude's parts that the kernel uses, in order.
    pub prelude: Arc<[&'static str]>,
    /// The kernel itself. With the prelude and the compiler's flags it is the key of the compile cache, so it contains
    /// no extents, strides, offsets or addresses.
    pub code: Arc<str>,
    /// The arguments.
    pub args: Vec<Arg>,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory. Above 48 KiB the function's limit must be raised first.
    pub shared: u32,
    /// True for instructions that only one architecture has, such as those of `sm_90a`.
    pub own_instructions: bool,
}

impl Stage {
    /// Returns the compiler's target for a device of target `device`, such as `sm_90`.
    pub(crate) fn target<'a>(&self, device: &'a str) -> Cow<'a, str> {
        if self.own_instructions { format!("{device}a").into() } else { device.into() }
    }

    /// Returns the translation unit.
    pub fn source(&self) -> String {
        translation_unit(&self.prelude, &self.code)
    }
}

/// Returns code after the parts of the prelude that it needs.
pub(crate) fn translation_unit(prelude: &[&str], code: &str) -> String {
    let mut text = String::with_capacity(code.len() + 16 * 1024);
    for part in prelude {
        text.push_str(part);
        text.push('\n');
    }
    text.push_str(code);
    text
}

/// The launches of a kernel or routine.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Generated {
    /// The launches, in order.
    pub stages: Vec<Stage>,
    /// Bytes of scratch for one run, aligned to 256. Runs on one stream may share it.
    pub scratch_bytes: usize,
    /// Bytes of state, aligned to 256: see [`Arg::State`].
    pub state_bytes: usize,
}

impl Generated {
    /// Reserves `bytes` of scratch.
    pub(crate) fn scratch(&mut self, bytes: usize) -> Arg {
        let at = self.scratch_bytes;
        self.scratch_bytes += bytes.next_multiple_of(256);
        Arg::Scratch(at)
    }

    /// Reserves `bytes` of state.
    pub(crate) fn state(&mut self, bytes: usize) -> Arg {
        let at = self.state_bytes;
        self.state_bytes += bytes.next_multiple_of(256);
        Arg::State(at)
    }
}

impl fmt::Display for Generated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, stage) in self.stages.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            let ([x, y, z], [bx, by, bz]) = (stage.grid, stage.block);
            writeln!(f, "// launched as <<<({x}, {y}, {z}), ({bx}, {by}, {bz}), {}>>>", stage.shared)?;
            f.write_str(&stage.code)?;
        }
        Ok(())
    }
}

/// Returns the prelude's C++ type of a dtype.
pub(crate) fn ctype(d: DType) -> &'static str {
    match d {
        DType::Bool => "bool",
        DType::I8 => "int8",
        DType::I16 => "int16",
        DType::I32 => "int32",
        DType::I64 => "int64",
        DType::U8 => "uint8",
        DType::U16 => "uint16",
        DType::U32 => "uint32",
        DType::U64 => "uint64",
        DType::F16 => "half",
        DType::BF16 => "bf16",
        DType::F32 => "float",
        DType::F64 => "double",
        DType::C64 => "complex64",
        DType::C128 => "complex128",
    }
}

/// Returns a short name of a dtype, for names of kernels.
pub(crate) fn short(d: DType) -> &'static str {
    match d {
        DType::Bool => "bool",
        DType::I8 => "i8",
        DType::I16 => "i16",
        DType::I32 => "i32",
        DType::I64 => "i64",
        DType::U8 => "u8",
        DType::U16 => "u16",
        DType::U32 => "u32",
        DType::U64 => "u64",
        DType::F16 => "f16",
        DType::BF16 => "bf16",
        DType::F32 => "f32",
        DType::F64 => "f64",
        DType::C64 => "c64",
        DType::C128 => "c128",
    }
}
