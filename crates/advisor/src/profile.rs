//! Data sheets of GPUs and CPUs, each figure with its source, and the share of it that programs reach.

use std::sync::LazyLock;

use cuprous_core::{DType, Error, Result};

use crate::table::{Cells, Figure, Source, rows};

/// The data sheet of a GPU: dense peaks (without sparsity) at boost clock.
#[derive(Debug)]
pub struct Gpu {
    /// Its usual name.
    pub name: &'static str,
    /// Operations per second in float64, unless the GPU does not have it.
    pub fp64: Option<Figure>,
    /// Matrix products of float64, if the GPU has units for them.
    pub fp64_matrix: Option<Figure>,
    /// Operations per second in float32.
    pub fp32: Figure,
    /// Matrix products of float32 rounded to TF32. GPUs of NVIDIA with TF32 also have bfloat16, and those of others do.
    pub tf32: Option<Figure>,
    /// Matrix products in half precision with sums in float32.
    pub half: Option<Figure>,
    /// Bytes of memory.
    pub memory: Figure,
    /// Memory bandwidth in bytes per second.
    pub bandwidth: Figure,
    /// PCI Express generation; 16 lanes. A GPU that shares the CPU's memory has no slot, and nothing is copied to it.
    pub pcie: Option<Figure>,
    /// Bytes per second to another GPU, one way, if there is a direct link.
    pub link: Option<Figure>,
    /// Board power in watts.
    pub power: Figure,
    /// Compute capability, such as 8.6. GPUs of other vendors do not have one.
    pub capability: Option<Figure>,
    /// The name of the target for which code of a GPU of AMD is compiled, such as gfx942.
    pub amd_target: Option<&'static str>,
}

/// The targets for which `make test-amd` compiles the kernels of the tests.
const COMPILED_TARGETS: [&str; 5] = ["gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"];

/// The oldest compute capability that the libraries of CUDA 13 support, which the extra `[cuda]` installs.
pub const OLDEST_CAPABILITY: f64 = 7.5;

/// The data sheet of a CPU: one socket with all memory channels in use.
#[derive(Debug)]
pub struct Cpu {
    /// Its usual name.
    pub name: &'static str,
    /// Number of cores.
    pub cores: Figure,
    /// Base clock in Hz.
    pub clock: Figure,
    /// float64 operations of one core per cycle. It is twice as many in float32.
    pub per_cycle: Figure,
    /// Memory bandwidth in bytes per second.
    pub bandwidth: Figure,
    /// Power in watts.
    pub power: Figure,
}

/// The kind of arithmetic, which decides the units that do it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ComputeUnit {
    /// Elementwise.
    Vector,
    /// Matrix products, and operations built on them.
    Matrix,
}

/// How well a program uses the hardware.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// Straightforward code that nobody has optimized.
    Low,
    /// Code with the usual optimizations.
    Typical,
    /// The best code known, such as that of the vendor's libraries.
    High,
}

/// The shares of the peaks that programs reach: low, typical, high.
///
/// Matrix products: 73–87 % of the dense peak on A100 to B200 (the ML engineering book, "maximum achievable matmul
/// FLOPS"). Elementwise: additions and multiplications are seldom paired, and functions take many instructions. Memory:
/// copies reach 88 % on an H200 (see bench/RESULTS.md). PCI Express: pinned memory reaches 80–90 % of the line rate;
/// pageable memory is copied by the driver first.
mod share {
    pub(super) const MATRIX: [f64; 3] = [0.6, 0.8, 0.9];
    pub(super) const VECTOR: [f64; 3] = [0.1, 0.25, 0.5];
    pub(super) const MEMORY: [f64; 3] = [0.6, 0.85, 0.92];
    pub(super) const PINNED: [f64; 3] = [0.7, 0.82, 0.9];
    pub(super) const PAGEABLE: [f64; 3] = [0.15, 0.4, 0.7];
}

/// Returns the typical share of a peak.
pub(crate) fn typical(unit: ComputeUnit) -> f64 {
    (if unit == ComputeUnit::Matrix { share::MATRIX } else { share::VECTOR })[Level::Typical as usize]
}

/// What a device achieves per second for one kind of work.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    /// Operations.
    pub flops: f64,
    /// Bytes of memory traffic.
    pub bandwidth: f64,
    /// Bytes from and to the host, each way. Infinite for the host itself.
    pub copies: f64,
}

impl Gpu {
    /// Returns the peak in operations per second. A complex operation counts as the real operations of which it
    /// consists, integers count as float32. `tf32` says whether float32 products may be rounded to TF32. It is 0 for
    /// what the GPU does not compute: see [`Gpu::require`].
    pub fn peak(&self, dtype: DType, unit: ComputeUnit, tf32: bool) -> f64 {
        let figure = match (dtype, unit) {
            (DType::F64 | DType::C128, ComputeUnit::Matrix) => self.fp64_matrix.or(self.fp64),
            (DType::F64 | DType::C128, ComputeUnit::Vector) => self.fp64,
            (DType::F16, ComputeUnit::Matrix) => self.half.or(Some(self.fp32)),
            (DType::BF16, ComputeUnit::Matrix) => self.half.filter(|_| self.has_bfloat16()).or(Some(self.fp32)),
            (DType::F32 | DType::C64, ComputeUnit::Matrix) if tf32 => self.tf32.or(Some(self.fp32)),
            _ => Some(self.fp32),
        };
        figure.map_or(0.0, |figure| figure.value)
    }

    /// Checks that the GPU computes in `dtype`.
    ///
    /// # Errors
    /// `ValueError` if it does not: GPUs of Apple and Intel's Arc A series do not have float64.
    pub fn require(&self, dtype: DType) -> Result<()> {
        if self.fp64.is_some() || dtype.component() != DType::F64 {
            return Ok(());
        }
        let name = self.name;
        Err(Error::value(format!("[estimate] the {name} cannot compute in float64; use float32, or name another GPU")))
    }

    /// Returns all known figures with their names.
    pub fn figures(&self) -> Vec<(&'static str, Figure)> {
        let maybe = [
            ("fp64", self.fp64),
            ("fp64 in products", self.fp64_matrix),
            ("fp32", Some(self.fp32)),
            ("tf32", self.tf32),
            ("16 bits", self.half),
            ("memory", Some(self.memory)),
            ("bandwidth", Some(self.bandwidth)),
            ("PCIe generation", self.pcie),
            ("link", self.link),
            ("power", Some(self.power)),
            ("compute capability", self.capability),
        ];
        maybe.into_iter().filter_map(|(name, figure)| Some((name, figure?))).collect()
    }

    /// Returns true if products of bfloat16 run on its matrix units.
    fn has_bfloat16(&self) -> bool {
        self.tf32.is_some() || self.capability.is_none()
    }

    /// Returns what limits the use of the GPU by Cuprous, or `None` if nothing does.
    pub fn remark(&self) -> Option<&'static str> {
        match (self.capability, self.amd_target) {
            (Some(figure), _) if figure.value < OLDEST_CAPABILITY => Some("too old for CUDA 13, and so for Cuprous"),
            (Some(_), _) => None,
            (None, Some(target)) if COMPILED_TARGETS.contains(&target) => {
                Some("compiled for and simulated; not yet run on AMD hardware")
            }
            (None, Some(_)) => Some("simulated; not yet compiled for, nor run on AMD hardware"),
            (None, None) => Some("not supported by Cuprous"),
        }
    }

    /// Returns true if Cuprous has code for GPUs of its vendor and age. Those of AMD have never run it.
    pub fn is_supported(&self) -> bool {
        self.amd_target.is_some() || self.capability.is_some_and(|figure| figure.value >= OLDEST_CAPABILITY)
    }

    /// Returns the line rate of its PCI Express slot in bytes per second each way: 16 lanes, 128 of 130 bits used. It is
    /// infinite for a GPU that shares the CPU's memory.
    pub fn slot(&self) -> f64 {
        let rate = |pcie: Figure| 8e9 * 2f64.powf(pcie.value - 3.0) * 16.0 * (128.0 / 130.0) / 8.0;
        self.pcie.map_or(f64::INFINITY, rate)
    }

    /// Returns the rates that a program reaches.
    pub fn rates(&self, dtype: DType, unit: ComputeUnit, tf32: bool, pinned: bool, level: Level) -> Rates {
        let at = level as usize;
        let (arithmetic, copies) = (
            if unit == ComputeUnit::Matrix { share::MATRIX } else { share::VECTOR },
            if pinned { share::PINNED } else { share::PAGEABLE },
        );
        Rates {
            flops: self.peak(dtype, unit, tf32) * arithmetic[at],
            bandwidth: self.bandwidth.value * share::MEMORY[at],
            copies: self.slot() * copies[at],
        }
    }
}

impl Cpu {
    /// Returns all figures with their names.
    pub fn figures(&self) -> Vec<(&'static str, Figure)> {
        vec![
            ("cores", self.cores),
            ("clock", self.clock),
            ("fp64 a cycle", self.per_cycle),
            ("bandwidth", self.bandwidth),
            ("power", self.power),
        ]
    }

    /// Returns the peak in operations per second. Half precision is computed in float32.
    pub fn peak(&self, dtype: DType) -> f64 {
        let wide = self.cores.value * self.clock.value * self.per_cycle.value;
        if matches!(dtype, DType::F64 | DType::C128 | DType::I64 | DType::U64) { wide } else { 2.0 * wide }
    }

    /// Returns the rates that a program reaches.
    pub fn rates(&self, dtype: DType, unit: ComputeUnit, level: Level) -> Rates {
        let arithmetic = if unit == ComputeUnit::Matrix { share::MATRIX } else { share::VECTOR };
        let at = level as usize;
        Rates {
            flops: self.peak(dtype) * arithmetic[at],
            bandwidth: self.bandwidth.value * share::MEMORY[at],
            copies: f64::INFINITY,
        }
    }
}

static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(|| {
    let source = |(key, cells): (&'static str, Vec<&'static str>)| Source { key, title: cells[0], address: cells[1] };
    rows(include_str!("../profiles/sources.txt")).map(source).collect()
});

static GPUS: LazyLock<Vec<Gpu>> = LazyLock::new(|| {
    let (tera, giga) = (1e12, 1e9);
    let gpu = |(name, cells): (&'static str, Vec<&'static str>)| {
        let mut cells = Cells { row: name, cells: cells.into_iter(), sources: &SOURCES };
        Gpu {
            name,
            fp64: cells.maybe(tera),
            fp64_matrix: cells.maybe(tera),
            fp32: cells.figure(tera),
            tf32: cells.maybe(tera),
            half: cells.maybe(tera),
            memory: cells.figure(giga),
            bandwidth: cells.figure(giga),
            pcie: cells.maybe(1.0),
            link: cells.maybe(giga),
            power: cells.figure(1.0),
            capability: cells.maybe(1.0),
            amd_target: cells.word(),
        }
    };
    rows(include_str!("../profiles/gpus.txt")).map(gpu).collect()
});

static CPUS: LazyLock<Vec<Cpu>> = LazyLock::new(|| {
    let cpu = |(name, cells): (&'static str, Vec<&'static str>)| {
        let mut cells = Cells { row: name, cells: cells.into_iter(), sources: &SOURCES };
        Cpu {
            name,
            cores: cells.figure(1.0),
            clock: cells.figure(1e9),
            per_cycle: cells.figure(1.0),
            bandwidth: cells.figure(1e9),
            power: cells.figure(1.0),
        }
    };
    rows(include_str!("../profiles/cpus.txt")).map(cpu).collect()
});

/// Returns the listed GPUs.
pub fn gpus() -> &'static [Gpu] {
    &GPUS
}

/// Returns the listed CPUs.
pub fn cpus() -> &'static [Cpu] {
    &CPUS
}

/// Returns the sources of all figures.
pub fn sources() -> &'static [Source] {
    &SOURCES
}

/// Splits a name into words. Letters and digits are separate words, and words that every name has are dropped:
/// `NVIDIA A100-SXM4-80GB` becomes a, 100, sxm, 4, 80.
fn words(text: &str) -> Vec<String> {
    let mut spaced = String::new();
    let mut before = ' ';
    for c in text.to_lowercase().chars() {
        if before.is_ascii_digit() != c.is_ascii_digit() {
            spaced.push(' ');
        }
        spaced.push(c);
        before = c;
    }
    let known = ["gb", "nvidia", "geforce", "tesla"];
    let parts = spaced.split(|c: char| !(c.is_alphanumeric() || c == '+'));
    parts.filter(|word| !word.is_empty() && !known.contains(word)).map(str::to_owned).collect()
}

/// Returns the profiles whose names contain all words of `query`, in any case and order. If a name has no other words,
/// only that profile is returned.
pub fn candidates<T>(profiles: &'static [T], name: impl Fn(&T) -> &'static str, query: &str) -> Vec<&'static T> {
    let query = words(query);
    let all: Vec<(&T, Vec<String>)> = profiles
        .iter()
        .map(|row| (row, words(name(row))))
        .filter(|(_, own)| !query.is_empty() && query.iter().all(|word| own.contains(word)))
        .collect();
    match all.iter().find(|(_, own)| own.len() == query.len()) {
        Some((row, _)) => vec![row],
        None => all.into_iter().map(|(row, _)| row).collect(),
    }
}

/// Returns the profile that a name such as `h200`, `rtx3080` or `NVIDIA A100 80GB PCIe` identifies. `None` if there is
/// none or several.
pub fn find<T>(profiles: &'static [T], name: impl Fn(&T) -> &'static str, query: &str) -> Option<&'static T> {
    match candidates(profiles, name, query)[..] {
        [one] => Some(one),
        _ => None,
    }
}

/// Returns the listed GPU that is most similar to a board: of the same model, with as many common words as possible.
pub fn like(board: &str) -> Option<&'static Gpu> {
    let board = words(board);
    let is_number = |word: &String| word.bytes().all(|b| b.is_ascii_digit());
    let score = |gpu: &&Gpu| -> Option<usize> {
        let own = words(gpu.name);
        let model = own.windows(2).find(|pair| is_number(&pair[1]))?;
        board.windows(2).any(|pair| pair == model).then(|| own.iter().filter(|word| board.contains(word)).count())
    };
    gpus().iter().filter(|gpu| score(gpu).is_some()).max_by_key(score)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_whole() {
        assert_eq!((gpus().len(), cpus().len()), (74, 8));
        for gpu in gpus() {
            // A dense peak above the sum of its parts would be one with sparsity.
            let half = gpu.half.map_or(0.0, |f| f.value);
            let wide = gpu.fp64.map_or(0.0, |f| f.value);
            assert!(wide <= gpu.fp32.value && (half == 0.0 || half > gpu.fp32.value), "{}", gpu.name);
            assert!(gpu.tf32.is_none_or(|f| f.value <= half / 1.9 && f.value >= gpu.fp32.value), "{}", gpu.name);
            assert!((1e11..1e13).contains(&gpu.bandwidth.value) && (50.0..1500.0).contains(&gpu.power.value));
        }
        for source in sources() {
            assert!(source.address.starts_with("https://") && !source.title.is_empty(), "{}", source.key);
        }
    }

    #[test]
    fn peaks_by_dtype() {
        let gpu = |name| find(gpus(), |g| g.name, name).unwrap();
        let h200 = gpu("h200");
        let tera = |gpu: &Gpu, dtype, unit, tf32| gpu.peak(dtype, unit, tf32) / 1e12;
        assert_eq!(tera(h200, DType::F64, ComputeUnit::Vector, false), 34.0);
        assert_eq!(tera(h200, DType::F64, ComputeUnit::Matrix, false), 67.0);
        assert_eq!(tera(h200, DType::F32, ComputeUnit::Matrix, false), 67.0);
        assert_eq!(tera(h200, DType::F32, ComputeUnit::Matrix, true), 494.5);
        assert_eq!(tera(h200, DType::BF16, ComputeUnit::Matrix, false), 989.0);
        // No tensor cores, no bfloat16 on them, no TF32.
        assert_eq!(tera(gpu("gtx 1080"), DType::F16, ComputeUnit::Matrix, true), 8.87);
        assert_eq!(tera(gpu("t4"), DType::F16, ComputeUnit::Matrix, true), 65.0);
        assert_eq!(tera(gpu("t4"), DType::BF16, ComputeUnit::Matrix, true), 8.1);
        assert_eq!(tera(gpu("t4"), DType::F32, ComputeUnit::Matrix, true), 8.1);
        // Other vendors' matrix units have bfloat16 even without TF32.
        assert_eq!(tera(gpu("mi355x"), DType::BF16, ComputeUnit::Matrix, true), 2516.6);
        assert_eq!(tera(gpu("mi300x"), DType::F32, ComputeUnit::Matrix, true), 653.7);
        assert_eq!((h200.slot() / 1e9).round(), 63.0);
    }

    #[test]
    fn some_gpus_have_no_float64_or_no_slot() {
        let names = |lacks: fn(&Gpu) -> bool| gpus().iter().filter(move |gpu| lacks(gpu)).map(|gpu| gpu.name);
        let apple =
            ["M1 Max", "M1 Ultra 48-core", "M2 Ultra 76-core", "M3 Max 40-core", "M3 Ultra 80-core", "M4 Max 40-core"];
        let apple = apple.map(|chip| format!("Apple {chip}"));
        assert_eq!(names(|gpu| gpu.pcie.is_none()).collect::<Vec<_>>(), apple);
        let arc = ["Intel Arc A380", "Intel Arc A750", "Intel Arc A770"].map(str::to_owned);
        assert_eq!(names(|gpu| gpu.fp64.is_none()).collect::<Vec<_>>(), [&arc[..], &apple].concat());
        for gpu in gpus().iter().filter(|gpu| gpu.fp64.is_none()) {
            assert_eq!(gpu.peak(DType::F64, ComputeUnit::Matrix, true), 0.0);
            assert!(gpu.peak(DType::I64, ComputeUnit::Vector, false) > 1e12 && gpu.require(DType::C64).is_ok());
            for dtype in [DType::F64, DType::C128] {
                let why = gpu.require(dtype).unwrap_err().message;
                assert!(why.contains(gpu.name) && why.contains("cannot compute in float64; use float32"), "{why}");
            }
        }
        let apple = find(gpus(), |g| g.name, "m1 max").unwrap();
        assert_eq!(apple.rates(DType::F32, ComputeUnit::Vector, false, false, Level::Low).copies, f64::INFINITY);
    }

    #[test]
    fn boards_are_like_listed_gpus() {
        let name = |board| like(board).map(|gpu| gpu.name);
        assert_eq!(name("NVIDIA H100 80GB HBM3").map(|name| &name[..4]), Some("H100"));
        assert_eq!(name("NVIDIA A100-SXM4-80GB"), Some("A100 SXM 80 GB"));
        assert_eq!(name("Tesla T4"), Some("T4"));
        assert_eq!(name("Tesla V100-SXM2-16GB"), Some("V100 SXM2"));
        assert_eq!(name("NVIDIA GeForce RTX 3080 Ti"), Some("RTX 3080"));
        assert_eq!(name("NVIDIA RTX 6000 Ada Generation"), Some("RTX 6000 Ada"));
        assert_eq!(name("NVIDIA L4"), Some("L4"));
        assert_eq!(name("NVIDIA GeForce RTX 4080"), Some("RTX 4080"));
        assert_eq!(name("NVIDIA GeForce RTX 4080 SUPER"), Some("RTX 4080 SUPER"));
        assert_eq!(name("NVIDIA GeForce RTX 4070 Ti SUPER"), Some("RTX 4070 Ti SUPER"));
        assert_eq!(name("NVIDIA GeForce RTX 4070 Ti"), Some("RTX 4070 Ti"));
        assert_eq!(name("NVIDIA GeForce RTX 5060"), Some("RTX 5060"));
        assert_eq!(name("NVIDIA GeForce RTX 5070 Ti Laptop GPU"), Some("RTX 5070 Ti"));
        assert_eq!(name("NVIDIA RTX PRO 6000 Blackwell Workstation Edition"), Some("RTX PRO 6000 Blackwell"));
        assert_eq!(name("AMD Instinct MI300X OAM"), Some("MI300X"));
        assert_eq!(name("AMD Radeon RX 7900 XT"), Some("RX 7900 XT"));
        assert_eq!((name("NVIDIA GeForce RTX 2060"), name("NVIDIA GPU")), (None, None));
    }

    #[test]
    fn remarks_say_what_is_not_supported_and_what_has_not_run() {
        let with = |part: &str| -> Vec<&str> {
            gpus()
                .iter()
                .filter(|gpu| gpu.remark().is_some_and(|text| text.contains(part)))
                .map(|gpu| gpu.name)
                .collect()
        };
        assert_eq!(with("too old"), ["GTX 1080", "V100 SXM2", "V100 PCIe"]);
        assert_eq!(with("not supported").len(), 12);
        assert_eq!(
            with("compiled for and simulated"),
            ["MI250X", "MI300X", "MI325X", "RX 7900 XTX", "RX 7900 XT", "RX 7900 GRE", "RX 9070 XT", "RX 9070"]
        );
        assert_eq!(
            with("not yet compiled for"),
            ["MI355X", "RX 7600 XT", "RX 7600", "RX 7700 XT", "RX 7800 XT", "RX 9060 XT"]
        );
        for gpu in gpus() {
            assert_eq!(gpu.is_supported(), gpu.remark().is_none_or(|text| text.contains("AMD")), "{}", gpu.name);
        }
    }

    #[test]
    fn gpus_of_amd_have_the_shares_of_all_listed_gpus() {
        let share = |name: &str, unit, dtype| {
            let gpu = find(gpus(), |g| g.name, name).unwrap();
            let rates = gpu.rates(dtype, unit, false, true, Level::Typical);
            [
                rates.flops / gpu.peak(dtype, unit, false),
                rates.bandwidth / gpu.bandwidth.value,
                rates.copies / gpu.slot(),
            ]
        };
        for unit in [ComputeUnit::Vector, ComputeUnit::Matrix] {
            for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
                let one = share("H200 SXM", unit, dtype);
                for amd in gpus().iter().filter(|gpu| gpu.amd_target.is_some()) {
                    let other = share(amd.name, unit, dtype);
                    assert!(one.iter().zip(other).all(|(a, b)| (a - b).abs() < 1e-9), "{}: {other:?}", amd.name);
                }
            }
        }
    }

    #[test]
    fn names_are_found() {
        let name = |asked| find(gpus(), |g| g.name, asked).map(|g| g.name);
        assert_eq!(name("NVIDIA H200"), Some("H200 SXM"));
        assert_eq!(name("geforce rtx 3080"), Some("RTX 3080"));
        assert_eq!(name("NVIDIA A100 80GB PCIe"), Some("A100 PCIe 80 GB"));
        assert_eq!(name("l4"), Some("L4"));
        assert_eq!(name("quadro"), Some("Quadro RTX 6000"));
        assert_eq!(name("rtx3080"), Some("RTX 3080"));
        assert_eq!(name("L40S"), Some("L40S"));
        assert_eq!(name("voodoo"), None);
        // Several, or none.
        assert_eq!((name("rtx"), name("a100"), name("h100"), name("3080 ti")), (None, None, None, None));
        assert_eq!(candidates(gpus(), |g| g.name, "h100").len(), 2);
        assert_eq!(candidates(gpus(), |g| g.name, "rtx").len(), 34);
        assert_eq!(name(""), None);
        assert_eq!(find(cpus(), |c| c.name, "9654").map(|c| c.name), Some("EPYC 9654"));
    }
}
