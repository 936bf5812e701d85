//! Layouts: the shapes and views through which storages are read and written.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, LazyLock, Mutex};

use smallvec::SmallVec;

use crate::{DType, Error, Result};

/// Extents or strides, one for each axis.
pub type Dims = SmallVec<[i64; 5]>;

/// The largest number of axes: NumPy's limit.
pub const MAX_NDIM: usize = 64;

/// The largest number of bytes of the elements of a layout. NumPy's limit is `i64::MAX`; this one leaves room for
/// devices that round sizes up to whole tiles.
pub const MAX_BYTES: i64 = 1 << 62;

/// Element type, shape, strides and offset of an array in its storage, all **in elements of `dtype`**, not bytes.
///
/// Invariants, which every constructor checks:
/// - Layouts are interned, so two live layouts are equal exactly when their `id`s are.
/// - There are at most [`MAX_NDIM`] axes and extents are not negative.
/// - The bytes of all elements are at most [`MAX_BYTES`], where extents of 0 count as 1 (as in NumPy). The product of
///   any of the extents, and contiguous strides of the shape, therefore fit into `i64`.
/// - The positions of all elements and the distance between any two of them fit into `i64`, with extents of 0 counted
///   as 1.
///
/// An axis of extent 1 keeps the stride that it was given, because NumPy shows it. [`Layout::is_within`] checks that a
/// view lies inside its storage.
#[derive(Debug)]
pub struct Layout {
    /// Unique among the live layouts.
    pub id: u32,
    /// Element type read through this layout.
    pub dtype: DType,
    /// C-contiguous from offset 0: position in the storage equals flat index.
    pub identity: bool,
    /// Extent of each axis.
    pub shape: Dims,
    /// Elements from one index to the next, for each axis; negative and zero are allowed.
    pub strides: Dims,
    /// Element of the storage at index (0, 0, …).
    pub offset: i64,
    /// Number of elements.
    pub size: i64,
    /// The order of the axes in memory was chosen for speed: see [`Layout::in_engine_order`].
    pub engine_order: bool,
    /// Serial number of the tape that kept this layout last, so that a tape keeps it only once.
    pub(crate) tape_serial: AtomicU64,
}

/// A shared, interned layout.
pub type LayoutRef = Arc<Layout>;

/// The key of a layout in the table: two layouts with equal keys are the same layout.
#[derive(Clone, Debug)]
struct Key {
    dtype: DType,
    shape: Dims,
    strides: Dims,
    offset: i64,
    engine_order: bool,
}

impl PartialEq for Key {
    fn eq(&self, o: &Key) -> bool {
        self.dtype == o.dtype
            && self.offset == o.offset
            && self.engine_order == o.engine_order
            && self.shape == o.shape
            && self.strides == o.strides
    }
}
impl Eq for Key {}
impl Hash for Key {
    fn hash<H: Hasher>(&self, h: &mut H) {
        let kind = (self.dtype as u64) << 56 ^ (self.shape.len() as u64) << 48 ^ u64::from(self.engine_order) << 63;
        h.write_u64(self.offset as u64 ^ kind);
        self.shape.iter().chain(&self.strides).for_each(|&n| h.write_u64(n as u64));
    }
}

/// A fast hash for [`Key`]: each word is multiplied, and both halves of the product are combined. Layouts are looked up
/// for every recorded operation. The keys do not come from an attacker, so collisions are not a concern.
#[derive(Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&b| self.write_u64(b.into()));
    }

    fn write_u64(&mut self, n: u64) {
        let product = u128::from(self.0 ^ n) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (product as u64) ^ (product >> 64) as u64 ^ n.rotate_left(32);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The table of live layouts. When its size has doubled since the last sweep, layouts that only the table holds are
/// dropped, so that a process with ever new shapes uses bounded memory.
struct Interner {
    table: HashMap<Key, LayoutRef, BuildHasherDefault<KeyHasher>>,
    free_ids: Vec<u32>,
    next_id: u32,
    sweep_at: usize,
}

static INTERNER: LazyLock<Mutex<Interner>> = LazyLock::new(|| {
    Mutex::new(Interner { table: HashMap::default(), free_ids: Vec::new(), next_id: 0, sweep_at: 1 << 14 })
});

/// Returns the number of elements of an array of `dtype` and `shape`, or the error that NumPy raises for such an array.
/// Extents that come from outside are multiplied only here.
pub fn checked_size(dtype: DType, shape: &[i64]) -> Result<i64> {
    if shape.len() > MAX_NDIM {
        return Err(Error::value(format!(
            "maximum supported dimension for an ndarray is currently {MAX_NDIM}, found {}",
            shape.len()
        )));
    }
    let (mut bytes, mut empty) = (dtype.size() as i64, false);
    for &n in shape {
        if n < 0 {
            return Err(Error::value("negative dimensions are not allowed"));
        }
        empty |= n == 0;
        bytes = bytes.checked_mul(n.max(1)).filter(|&b| b <= MAX_BYTES).ok_or_else(|| too_big(dtype, shape))?;
    }
    Ok(if empty { 0 } else { bytes / dtype.size() as i64 })
}

#[cold]
fn too_big(dtype: DType, shape: &[i64]) -> Error {
    Error::value(format!(
        "array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size: shape {} of {}",
        show(shape),
        dtype.name()
    ))
}

/// Returns the lowest and highest position of a view, with extents of 0 counted as 1. `None` if a position or their
/// distance does not fit into 64 bits.
fn checked_span(shape: &[i64], strides: &[i64], offset: i64) -> Option<(i64, i64)> {
    let (mut lo, mut hi) = (offset, offset);
    for (&n, &s) in shape.iter().zip(strides) {
        let reach = (n - 1).max(0).checked_mul(s)?;
        let end = if reach < 0 { &mut lo } else { &mut hi };
        *end = end.checked_add(reach)?;
    }
    hi.checked_sub(lo)?.checked_add(1)?;
    Some((lo, hi))
}

/// Locks the table of layouts until the result is dropped. Held over a fork, so that the child finds the table
/// unlocked.
pub fn hold() -> impl Sized + 'static {
    INTERNER.lock().unwrap_or_else(|e| e.into_inner())
}

/// Returns the number of layouts in the table.
pub fn count() -> usize {
    INTERNER.lock().unwrap_or_else(|e| e.into_inner()).table.len()
}

/// Returns the row-major strides of `shape`. They are right for a shape that [`checked_size`] accepts, and wrap for
/// others.
pub fn contiguous_strides(shape: &[i64]) -> Dims {
    let mut strides: Dims = SmallVec::from_elem(1, shape.len());
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis].wrapping_mul(shape[axis].max(1));
    }
    strides
}

impl Layout {
    /// Returns the interned layout, or the error that NumPy raises for it. Everything that comes from outside
    /// (arguments, files, capsules), and every shape that can be larger than those of the operands, goes through here.
    ///
    /// A layout in the table was checked when it was created, so a known layout is not checked again.
    pub fn try_new(dtype: DType, shape: &[i64], strides: &[i64], offset: i64) -> Result<LayoutRef> {
        if shape.len() != strides.len() {
            return Err(Error::value("shape and strides must have the same length"));
        }
        Layout::interned(Key { dtype, shape: shape.into(), strides: strides.into(), offset, engine_order: false })
    }

    /// Returns the layout of a key, whose shape and strides have the same length.
    fn interned(key: Key) -> Result<LayoutRef> {
        let Key { dtype, ref shape, ref strides, offset, engine_order } = key;
        let mut guard = INTERNER.lock().unwrap_or_else(|e| e.into_inner());
        let interner = &mut *guard;
        if let Some(found) = interner.table.get(&key) {
            return Ok(found.clone());
        }
        let size = checked_size(dtype, shape)?;
        if checked_span(shape, strides, offset).is_none() {
            return Err(Error::value(format!(
                "strides {} and offset {offset} are too large for an array of shape {}: element positions leave 64 bits",
                show(strides),
                show(shape)
            )));
        }
        if interner.table.len() >= interner.sweep_at {
            let free = &mut interner.free_ids;
            interner.table.retain(|_, layout| {
                let used = Arc::strong_count(layout) > 1;
                if !used {
                    free.push(layout.id);
                }
                used
            });
            interner.sweep_at = (2 * interner.table.len()).max(1 << 14);
        }
        let id = interner.free_ids.pop().unwrap_or_else(|| {
            interner.next_id += 1;
            interner.next_id - 1
        });
        let identity = offset == 0 && is_row_major(shape, strides);
        let layout = Arc::new(Layout {
            id,
            dtype,
            identity,
            shape: key.shape.clone(),
            strides: key.strides.clone(),
            offset,
            size,
            engine_order,
            tape_serial: AtomicU64::new(0),
        });
        interner.table.insert(key, layout.clone());
        Ok(layout)
    }

    /// As [`Layout::try_new`], for a view of an existing layout: some of its elements, in any order, perhaps with
    /// additional axes of extent 1.
    ///
    /// # Panics
    /// If such a layout cannot exist, which is the caller's mistake.
    pub fn new(dtype: DType, shape: &[i64], strides: &[i64], offset: i64) -> LayoutRef {
        match Layout::try_new(dtype, shape, strides, offset) {
            Ok(layout) => layout,
            Err(error) => panic!("invalid view of shape {}: {error}", show(shape)),
        }
    }

    /// Returns the C-contiguous layout with offset 0, or the error that NumPy raises for such a shape.
    pub fn try_contiguous(dtype: DType, shape: &[i64]) -> Result<LayoutRef> {
        Layout::try_new(dtype, shape, &contiguous_strides(shape), 0)
    }

    /// As [`Layout::try_contiguous`], for the shape of an existing layout whose elements are at least as large.
    ///
    /// # Panics
    /// As [`Layout::new`].
    pub fn contiguous(dtype: DType, shape: &[i64]) -> LayoutRef {
        match Layout::try_contiguous(dtype, shape) {
            Ok(layout) => layout,
            Err(error) => panic!("invalid shape {}: {error}", show(shape)),
        }
    }

    /// Returns true if every element lies inside a storage of `bytes` bytes. An empty view must start inside it or at
    /// its end.
    pub fn is_within(&self, bytes: usize) -> bool {
        let elements = i64::try_from(bytes / self.dtype.size()).unwrap_or(i64::MAX);
        match self.span() {
            Some((lo, hi)) => lo >= 0 && hi < elements,
            None => (0..=elements).contains(&self.offset),
        }
    }

    /// Returns the number of axes.
    pub fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// Returns true if the layout is row-major without gaps, at any offset.
    pub fn is_c_contiguous(&self) -> bool {
        is_row_major(&self.shape, &self.strides)
    }

    /// Returns true if the layout is column-major without gaps, at any offset.
    pub fn is_f_contiguous(&self) -> bool {
        let reverse = |d: &Dims| d.iter().rev().copied().collect::<Dims>();
        is_row_major(&reverse(&self.shape), &reverse(&self.strides))
    }

    /// Returns a layout of the same dtype with another shape and strides; see [`Layout::new`].
    pub fn with(&self, shape: &[i64], strides: &[i64], offset: i64) -> LayoutRef {
        Layout::new(self.dtype, shape, strides, offset)
    }

    /// Returns this view broadcast to `shape` by NumPy's rules.
    pub fn broadcast_to(&self, shape: &[i64]) -> Result<LayoutRef> {
        let fail = || {
            Error::value(format!(
                "operands could not be broadcast together with remapped shapes [original->remapped]: {} and requested shape {}",
                show(&self.shape),
                show(shape)
            ))
        };
        let lead = shape.len().checked_sub(self.ndim()).ok_or_else(fail)?;
        let mut strides: Dims = SmallVec::from_elem(0, shape.len());
        if shape.iter().any(|&n| n < 0) {
            return Err(Error::value("all elements of broadcast shape must be non-negative"));
        }
        for (axis, (&have, &stride)) in self.shape.iter().zip(&self.strides).enumerate() {
            let want = shape[lead + axis];
            if have == want {
                strides[lead + axis] = stride;
            } else if have != 1 {
                return Err(fail());
            }
        }
        Layout::try_new(self.dtype, shape, &strides, self.offset)
    }

    /// Returns this layout marked as one whose order in memory an engine chose, such as channels last for a convolution.
    /// A program sees its arrays row-major, so it gets a copy before it looks at their strides or makes a view of them,
    /// and no view of a marked layout is marked. A row-major layout is returned with row-major strides, unmarked.
    pub fn in_engine_order(&self) -> LayoutRef {
        if self.is_c_contiguous() {
            return self.with(&self.shape, &contiguous_strides(&self.shape), self.offset);
        }
        let (shape, strides) = (self.shape.clone(), self.strides.clone());
        let key = Key { dtype: self.dtype, shape, strides, offset: self.offset, engine_order: true };
        Layout::interned(key).expect("the same layout exists unmarked")
    }

    /// Returns the view with its axes in the order of the permutation `axes`.
    pub fn permute(&self, axes: &[usize]) -> LayoutRef {
        let pick = |d: &Dims| axes.iter().map(|&a| d[a]).collect::<Dims>();
        self.with(&pick(&self.shape), &pick(&self.strides), self.offset)
    }

    /// Returns the view with the same elements, in row-major order, in another shape. `None` if strides cannot express
    /// it, so that a copy is needed.
    pub fn reshape(&self, shape: &[i64]) -> Option<LayoutRef> {
        debug_assert_eq!(self.size, shape.iter().product::<i64>());
        if self.size == 0 || self.is_c_contiguous() {
            return Some(self.with(shape, &contiguous_strides(shape), self.offset));
        }
        // Walk both shapes from the front, matching runs of axes with equal products (NumPy's _attempt_nocopy_reshape).
        let old: Vec<(i64, i64)> =
            self.shape.iter().copied().zip(self.strides.iter().copied()).filter(|(n, _)| *n != 1).collect();
        // Products are at most the size. Strides of extents 1 may be anything, so arithmetic on them wraps.
        let mut strides: Dims = SmallVec::from_elem(0, shape.len());
        let (mut i, mut j) = (0, 0);
        while i < old.len() && j < shape.len() {
            let (start_i, start_j) = (i, j);
            let (mut a, mut b) = (old[i].0, shape[j]);
            while a != b {
                if a < b {
                    i += 1;
                    a *= old[i].0;
                } else {
                    j += 1;
                    b *= shape[j];
                }
            }
            if (start_i..i).any(|k| old[k].1 != old[k + 1].0.wrapping_mul(old[k + 1].1)) {
                return None;
            }
            let mut stride = old[i].1;
            for k in (start_j..=j).rev() {
                strides[k] = stride;
                stride = stride.wrapping_mul(shape[k]);
            }
            i += 1;
            j += 1;
        }
        // The remaining axes have extent 1. They get the strides that NumPy shows.
        for k in j..shape.len() {
            strides[k] = if k == 0 { 1 } else { strides[k - 1] };
        }
        Some(self.with(shape, &strides, self.offset))
    }

    /// Returns the lowest and highest element of the storage that the view touches, or `None` if it is empty.
    pub fn span(&self) -> Option<(i64, i64)> {
        if self.size == 0 {
            return None;
        }
        let (mut lo, mut hi) = (self.offset, self.offset);
        for (&n, &s) in self.shape.iter().zip(&self.strides) {
            let reach = (n - 1) * s;
            if reach < 0 { lo += reach } else { hi += reach }
        }
        Some((lo, hi))
    }

    /// Returns true if different indices are known to be different elements of memory: the stride of every axis is
    /// larger than all that the axes with smaller strides reach.
    pub fn is_injective(&self) -> bool {
        if self.size <= 1 || self.is_c_contiguous() {
            return true;
        }
        let axes = self.shape.iter().zip(&self.strides).filter(|&(&n, _)| n != 1);
        let mut axes: SmallVec<[(i64, i64); 6]> = axes.map(|(&n, &s)| (s.saturating_abs(), n)).collect();
        axes.sort_unstable();
        let mut reach = 0_i64;
        axes.into_iter().all(|(stride, n)| {
            let separate = stride > reach;
            reach = reach.saturating_add((n - 1).saturating_mul(stride));
            separate
        })
    }
}

fn is_row_major(shape: &[i64], strides: &[i64]) -> bool {
    if shape.contains(&0) {
        return true;
    }
    let mut expect = 1;
    for (&n, &s) in shape.iter().zip(strides).rev() {
        if n != 1 {
            if s != expect {
                return false;
            }
            expect *= n;
        }
    }
    true
}

/// Returns the shape to which both shapes broadcast, or `None` if there is none.
pub fn broadcast_shapes(a: &[i64], b: &[i64]) -> Option<Dims> {
    let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    let mut out: Dims = long.into();
    let lead = long.len() - short.len();
    for (axis, &n) in short.iter().enumerate() {
        let m = &mut out[lead + axis];
        if *m == 1 {
            *m = n;
        } else if n != 1 && n != *m {
            return None;
        }
    }
    Some(out)
}

/// Formats a shape as Python prints a tuple.
pub fn show(shape: &[i64]) -> String {
    match shape {
        [] => "()".into(),
        [n] => format!("({n},)"),
        _ => format!("({})", shape.iter().map(i64::to_string).collect::<Vec<_>>().join(",")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_are_interned() {
        let a = Layout::contiguous(DType::F32, &[2, 3]);
        let b = Layout::new(DType::F32, &[2, 3], &[3, 1], 0);
        assert!(Arc::ptr_eq(&a, &b) && a.identity);
        assert_ne!(a.id, Layout::contiguous(DType::F64, &[2, 3]).id);
    }

    #[test]
    fn reshape_keeps_views_where_strides_can_say_it() {
        let a = Layout::contiguous(DType::F32, &[4, 6]);
        let t = a.permute(&[1, 0]);
        assert!(t.reshape(&[24]).is_none());
        assert_eq!(t.reshape(&[2, 3, 4]).unwrap().strides.as_slice(), &[3, 1, 6]);
        let every_second = a.with(&[4, 3], &[6, 2], 0);
        assert_eq!(every_second.reshape(&[12]).unwrap().strides.as_slice(), &[2]);
        assert_eq!(every_second.reshape(&[2, 2, 3, 1]).unwrap().strides.as_slice(), &[12, 6, 2, 2]);
        assert!(a.with(&[4, 2], &[6, 2], 0).reshape(&[8]).is_none());
    }

    #[test]
    fn injective_layouts_have_memory_for_each_element() {
        let injective = |shape: &[i64], strides: &[i64]| Layout::new(DType::F32, shape, strides, 8).is_injective();
        assert!(injective(&[2, 3], &[1, 2]) && injective(&[2, 3], &[-3, 1]) && injective(&[2, 1], &[5, 0]));
        assert!(injective(&[1], &[0]) && injective(&[0, 4], &[0, 0]));
        assert!(!injective(&[2, 3], &[0, 1]), "an expanded axis");
        assert!(!injective(&[3, 2], &[1, 1]), "overlapping windows");
    }

    #[test]
    fn extents_and_positions_are_checked() {
        let make = |shape: &[i64], strides: &[i64], offset| Layout::try_new(DType::F64, shape, strides, offset);
        let bad: [(&[i64], &[i64], i64); 10] = [
            (&[1 << 32, 1 << 32], &[0, 0], 0),
            (&[0, i64::MAX], &[1, 1], 0),
            (&[-1], &[1], 0),
            (&[i64::MIN], &[0], 0),
            (&[3], &[1 << 62], 0),
            (&[2], &[1], i64::MAX),
            (&[2, 2], &[i64::MAX, i64::MIN], 0),
            (&[2], &[i64::MIN], i64::MIN),
            (&[1; MAX_NDIM + 1], &[1; MAX_NDIM + 1], 0),
            (&[2, 2], &[1], 0),
        ];
        for (shape, strides, offset) in bad {
            assert!(make(shape, strides, offset).is_err(), "{shape:?} {strides:?} {offset}");
        }
        let edge = make(&[2, 1], &[-5, i64::MAX], 5).unwrap();
        assert_eq!(edge.span(), Some((0, 5)));
        assert!(edge.is_within(48) && !edge.is_within(47));
        assert!(!make(&[2], &[-1], 0).unwrap().is_within(1 << 20));
        assert!(!make(&[2], &[1 << 61], 0).unwrap().is_within(1 << 20));
        assert!(make(&[0], &[1], 2).unwrap().is_within(16) && !make(&[0], &[1], 3).unwrap().is_within(16));
        assert_eq!(Layout::try_contiguous(DType::U8, &[MAX_BYTES]).unwrap().size, MAX_BYTES);
        assert!(Layout::try_contiguous(DType::U8, &[MAX_BYTES + 1]).is_err());
        assert!(Layout::contiguous(DType::F32, &[1]).broadcast_to(&[1 << 32, 1 << 32]).is_err());
    }

    #[test]
    fn broadcasting_follows_numpy() {
        assert_eq!(broadcast_shapes(&[3, 1], &[4]).unwrap().as_slice(), &[3, 4]);
        assert!(broadcast_shapes(&[3], &[4]).is_none());
        assert_eq!(broadcast_shapes(&[0], &[1]).unwrap().as_slice(), &[0]);
        let v = Layout::contiguous(DType::F32, &[3, 1]).broadcast_to(&[2, 3, 4]).unwrap();
        assert_eq!(v.strides.as_slice(), &[0, 1, 0]);
    }
}
