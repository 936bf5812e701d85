//! Lowered kernels with their buffers and constants, and the kernels that were lowered before: those in the layers of a
//! network, and those that a new shape does not change, are lowered once.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, LazyLock, Mutex};

use cuprous_core::Result;
use cuprous_plan::{Inst, Kernel};
use foldhash::fast::RandomState;

use crate::blocked::blocked;
use crate::compile::{Bytecode, lower};

/// A lowered kernel of a program.
#[derive(Clone)]
pub(crate) struct BoundKernel {
    pub(crate) code: Arc<Bytecode>,
    /// Index into the program's buffers for each buffer of the kernel.
    pub(crate) buffers: Vec<u32>,
    /// Index into the program's scalars for each constant of the kernel, in the order of their instructions.
    pub(crate) scalars: Vec<u32>,
}

/// Returns a kernel ready to run: in parts if it is cut into cache blocks.
pub(crate) fn bind(kernel: &Kernel) -> Result<impl Iterator<Item = BoundKernel>> {
    let codes = codes(kernel)?;
    let parts = 0..codes.len();
    let constant = |inst: &Inst| if let Inst::Scalar { slot } = inst { Some(*slot) } else { None };
    let scalars: Vec<u32> = kernel.body.iter().filter_map(|t| constant(&t.inst)).collect();
    Ok(parts.map(move |part| BoundKernel {
        code: codes[part].clone(),
        buffers: kernel.buffers.clone(),
        scalars: scalars.clone(),
    }))
}

/// The codes of a kernel, one for each of its parts.
type Codes = Arc<[Arc<Bytecode>]>;

/// Kernels and their codes, by hash. Their buffers and slots of constants have no meaning. Of two kernels with one hash
/// the later one is kept.
#[derive(Default)]
struct Generation {
    table: HashMap<u64, (Kernel, Codes), RandomState>,
    /// The number of all instructions.
    instructions: usize,
}

/// Number of instructions of a generation.
const MAX_INSTRUCTIONS: usize = 1 << 15;

/// The kernels that were used since a moment, and those that were used before. When there are many, the ones that were
/// not used again are dropped.
#[derive(Default)]
struct Kept {
    young: Generation,
    old: Generation,
}

static KEPT: LazyLock<Mutex<Kept>> = LazyLock::new(Default::default);
static HASH: LazyLock<RandomState> = LazyLock::new(Default::default);
static LOWERED: AtomicU64 = AtomicU64::new(0);

/// Returns the number of kernels that were lowered, without those that were known.
pub(crate) fn count() -> u64 {
    LOWERED.load(Relaxed)
}

/// Drops all kernels.
pub(crate) fn clear() {
    if let Ok(mut kept) = KEPT.try_lock() {
        *kept = Kept::default();
    }
}

fn codes(kernel: &Kernel) -> Result<Codes> {
    let lower = || -> Result<Codes> {
        LOWERED.fetch_add(1, Relaxed);
        match blocked(kernel) {
            Some(parts) => parts.iter().map(|part| Ok(Arc::new(lower(part)?))).collect(),
            None => Ok(Arc::new([Arc::new(lower(kernel)?)])),
        }
    };
    // Another thread may have been using them when this process was forked. Lowering gives the same code.
    let Ok(mut kept) = KEPT.try_lock() else { return lower() };
    let hash = hash(kernel);
    if let Some((known, codes)) = kept.young.table.get(&hash)
        && same(known, kernel)
    {
        return Ok(codes.clone());
    }
    let Kept { young, old } = &mut *kept;
    let known = match old.table.remove(&hash).filter(|(known, _)| same(known, kernel)) {
        Some(known) => known,
        None => (kernel.clone(), lower()?),
    };
    let codes = known.1.clone();
    if young.instructions >= MAX_INSTRUCTIONS {
        *old = std::mem::take(young);
    }
    young.instructions += kernel.body.len();
    young.table.insert(hash, known);
    Ok(codes)
}

fn hash(kernel: &Kernel) -> u64 {
    let mut state = HASH.build_hasher();
    kernel.outer.hash(&mut state);
    kernel.inner.hash(&mut state);
    for t in &kernel.body {
        (t.dtype, t.level).hash(&mut state);
        if !matches!(t.inst, Inst::Scalar { .. }) {
            t.inst.hash(&mut state);
        }
    }
    state.finish()
}

/// Returns true if two kernels differ in nothing but their buffers and the slots of constants.
fn same(one: &Kernel, other: &Kernel) -> bool {
    let constants = |a: &Inst, b: &Inst| matches!((a, b), (Inst::Scalar { .. }, Inst::Scalar { .. }));
    one.outer == other.outer
        && one.inner == other.inner
        && one.buffers.len() == other.buffers.len()
        && one.body.len() == other.body.len()
        && (one.body.iter().zip(&other.body))
            .all(|(a, b)| a.dtype == b.dtype && a.level == b.level && (constants(&a.inst, &b.inst) || a.inst == b.inst))
}
