//! Products that go on: recorded operations after a matrix product that a library does before it writes the result.

use cuprous_core::node::SrcKind;
use cuprous_core::{DType, Fun, In, Node, NodeKind, RoutineOp, Src};

use super::input::Input;
use crate::program::Factor;

/// A product with the operations that its call takes over.
///
/// Invariants: nobody but the next of them reads a member's value, except the last's; nothing recorded between a
/// member and the last writes what the member reads, so all of them may run where the last one stands; the last
/// value's readers are calls or read memory, so that without the fold a kernel would run for nothing else; the memory
/// that is written is none that the call reads, but the addend's at the same place.
#[derive(Debug)]
pub(crate) struct Fold {
    /// In tape order.
    pub(crate) members: Vec<u32>,
    pub(crate) product: u32,
    /// The member whose storage takes the result.
    pub(crate) last: u32,
    pub(crate) scale: Factor,
    pub(crate) addend: Option<(In, Factor)>,
    pub(crate) bias: Option<In>,
}

/// Who reads each node's value.
struct Readers {
    /// (reader, it reads the value from memory in any case).
    of: Vec<Vec<(u32, bool)>>,
}

/// What follows a value, and what it becomes of the fold; the first row that fits wins. All rows want the product's
/// dtype and its elements in flat order.
///
/// Activations are left out: cuBLASLt 13.1 loses NaN in the maximum with 0 in some of its kernels (float32
/// 2048×64×2048, float16 33×100×65 on an H200), so a kernel has to run for them anyway. So are biases of other dtypes
/// than the library is quick with: a float64 product with a bias took twice the time of one without.
type Row = fn(&Search, &mut Fold, u32, u32) -> Option<()>;
const ROWS: [Row; 4] = [scaled, added, biased, assigned];

/// The folds of a tape, no node in two of them.
pub(crate) fn folds(input: &Input, needed: &[bool]) -> Vec<Fold> {
    let is_product = |n: &Node| n.kind == NodeKind::Routine && *RoutineOp::interned(n.routine_id()) == RoutineOp::Dot;
    let products: Vec<u32> =
        (0..input.nodes.len() as u32).filter(|&n| needed[n as usize] && is_product(&input.nodes[n as usize])).collect();
    if products.is_empty() {
        return Vec::new();
    }
    let mut search = Search { input, readers: readers(input, needed), taken: vec![false; input.nodes.len()] };
    let mut found = Vec::new();
    for product in products {
        if let Some(fold) = search.from(product) {
            fold.members.iter().for_each(|&m| search.taken[m as usize] = true);
            found.push(fold);
        }
    }
    found
}

fn readers(input: &Input, needed: &[bool]) -> Readers {
    let mut of = vec![Vec::new(); input.nodes.len()];
    for (i, node) in input.nodes.iter().enumerate().filter(|(i, _)| needed[*i]) {
        for (k, operand) in node.operands().iter().enumerate() {
            let base = k == 0 && node.is_write();
            if let SrcKind::Node(p) = operand.src.kind()
                && !(base && input.overwrites(i))
            {
                let memory = base || node.kind == NodeKind::Routine || (k == 0 && node.kind == NodeKind::Gather);
                of[p as usize].push((i as u32, memory));
            }
        }
    }
    Readers { of }
}

struct Search<'a> {
    input: &'a Input<'a>,
    readers: Readers,
    taken: Vec<bool>,
}

impl Search<'_> {
    /// The longest fold that starts at a product.
    fn from(&self, product: u32) -> Option<Fold> {
        if self.input.layout(self.node(product).out).size == 0 {
            return None;
        }
        let mut fold =
            Fold { members: vec![product], product, last: product, scale: Factor::default(), addend: None, bias: None };
        while let Some(next) = self.only_reader(fold.last) {
            let at = fold.last;
            if self.taken[next as usize] || ROWS.iter().find_map(|row| row(self, &mut fold, at, next)).is_none() {
                break;
            }
            fold.members.push(next);
            fold.last = next;
        }
        fold.members.sort_unstable();
        let ends = self.readers.of[fold.last as usize].iter().all(|&(_, memory)| memory);
        (fold.members.len() > 1 && ends && self.may_wait(&fold)).then_some(fold)
    }

    fn node(&self, n: u32) -> &Node {
        &self.input.nodes[n as usize]
    }

    /// Who alone sees a value.
    fn only_reader(&self, n: u32) -> Option<u32> {
        match self.readers.of[n as usize][..] {
            [(reader, false)] if !self.input.live[n as usize] => Some(reader),
            _ => None,
        }
    }

    fn storage(&self, operand: &In) -> Option<u32> {
        match operand.src.kind() {
            SrcKind::Node(p) => Some(self.input.storage_of[p as usize]),
            SrcKind::Leaf(slot) => Some(slot),
            _ => None,
        }
    }

    /// Does all that the members read from outside stay as it is up to the last one, and when that one writes?
    fn may_wait(&self, fold: &Fold) -> bool {
        let written = self.input.storage_of[fold.last as usize];
        fold.members.iter().all(|&m| {
            let node = self.node(m);
            let values = if node.is_write() { &node.operands()[1..] } else { node.operands() };
            values.iter().all(|operand| {
                let inside = matches!(operand.src.kind(), SrcKind::Node(p) if fold.members.contains(&p));
                let Some(storage) = self.storage(operand).filter(|_| !inside) else { return true };
                let in_place = fold.addend.is_some_and(|(addend, _)| {
                    addend.src == operand.src
                        && self.input.layout(addend.layout).offset == 0
                        && self.input.layout(operand.layout).is_c_contiguous()
                        && m != fold.product
                        && fold.bias.is_none_or(|bias| bias.src != addend.src)
                });
                let changes = |w: u32| {
                    self.node(w).is_write()
                        && self.input.storage_of[w as usize] == storage
                        && !fold.members.contains(&w)
                };
                (storage != written || in_place) && !(m + 1..fold.last).any(changes)
            })
        })
    }

    /// The elements of `operand` in flat order are one for each element of the product.
    fn flat(&self, fold: &Fold, operand: &In) -> bool {
        let (read, out) = (self.input.layout(operand.layout), self.input.layout(self.node(fold.product).out));
        matches!(operand.src.kind(), SrcKind::Node(_) | SrcKind::Leaf(_))
            && read.dtype == out.dtype
            && read.size == out.size
            && read.is_c_contiguous()
    }

    /// The function of `n` and its operand beside the value of `at`, where that comes in flat order and the result is
    /// of the same dtype; and whether that operand comes first.
    fn beside(&self, fold: &Fold, at: u32, n: u32) -> Option<(Fun, In, bool)> {
        let node = self.node(n);
        let [a, b] = *node.operands() else { return None };
        let second = a.src == Src::node(at);
        let (value, other) = if second { (a, b) } else { (b, a) };
        let out = self.input.layout(self.node(fold.product).out);
        let fits = node.kind == NodeKind::Map
            && self.input.layout(node.out).dtype == out.dtype
            && (out.dtype.is_float() || out.dtype.is_complex())
            && self.flat(fold, &value)
            && self.input.layout(value.layout).identity;
        fits.then(|| (node.map_fun(), other, !second))
    }

    /// The constant that an operand is, if it is none that makes a library skip what it multiplies.
    fn constant(&self, operand: &In) -> Option<u32> {
        let SrcKind::Const(slot) = operand.src.kind() else { return None };
        let zero = self.input.consts[slot as usize].is_zero(self.input.layout(operand.layout).dtype);
        (!zero).then_some(slot)
    }

    /// Is the value in memory anyway? Else the kernel that makes it may as well do the sum.
    fn in_memory(&self, operand: &In) -> bool {
        match operand.src.kind() {
            SrcKind::Node(p) => {
                self.input.live[p as usize]
                    || self.node(p).is_write()
                    || self.node(p).kind == NodeKind::Routine
                    || self.readers.of[p as usize].iter().any(|&(_, memory)| memory)
            }
            SrcKind::Leaf(_) => true,
            _ => false,
        }
    }
}

/// `product * constant`.
fn scaled(search: &Search, fold: &mut Fold, at: u32, n: u32) -> Option<()> {
    let (fun, other, _) = search.beside(fold, at, n)?;
    let first = fold.scale == Factor::default() && fold.addend.is_none() && fold.bias.is_none();
    (fun == Fun::Multiply && first).then_some(())?;
    fold.scale.constant = Some(search.constant(&other)?);
    Some(())
}

/// `product ± array` and `array - product`, where the array may be multiplied by a constant.
fn added(search: &Search, fold: &mut Fold, at: u32, n: u32) -> Option<()> {
    let (fun, other, first) = search.beside(fold, at, n)?;
    if !sums(fun, first, fold) || fold.addend.is_some() || !search.flat(fold, &other) {
        return None;
    }
    let mut factor = Factor { constant: None, negative: fun == Fun::Subtract && !first };
    let (mut addend, mut times) = (other, None);
    if let SrcKind::Node(p) = other.src.kind()
        && !search.taken[p as usize]
        && search.only_reader(p) == Some(n)
        && let [a, b] = *search.node(p).operands()
        && search.node(p).kind == NodeKind::Map
        && search.node(p).map_fun() == Fun::Multiply
        && search.input.layout(other.layout).identity
    {
        let (array, constant) = if search.constant(&b).is_some() { (a, b) } else { (b, a) };
        factor.constant = Some(search.constant(&constant)?);
        (addend, times) = (array, Some(p));
    }
    if !search.flat(fold, &addend) || !search.in_memory(&addend) {
        return None;
    }
    fold.members.extend(times);
    fold.scale.negative ^= fun == Fun::Subtract && first;
    fold.addend = Some((addend, factor));
    Some(())
}

/// `product + vector` and `vector - product`, with a value for each column.
fn biased(search: &Search, fold: &mut Fold, at: u32, n: u32) -> Option<()> {
    let (fun, other, first) = search.beside(fold, at, n)?;
    let (read, out) = (search.input.layout(other.layout), search.input.layout(search.node(fold.product).out));
    let columns = *out.shape.last()?;
    let (last, rows) = (read.shape.len().checked_sub(1)?, &read.strides[..]);
    let fits = matches!(other.src.kind(), SrcKind::Node(_) | SrcKind::Leaf(_))
        && matches!(out.dtype, DType::F32 | DType::F16 | DType::BF16)
        && read.dtype == out.dtype
        && read.shape[last] == columns
        && (rows[last] == 1 || columns == 1)
        && (0..last).all(|k| rows[k] == 0 || read.shape[k] == 1);
    if !fits || !sums(fun, first, fold) || (fun == Fun::Subtract && !first) || fold.bias.is_some() {
        return None;
    }
    fold.scale.negative ^= fun == Fun::Subtract;
    fold.bias = Some(other);
    Some(())
}

/// `target[...] = product`, the whole of its memory.
fn assigned(search: &Search, fold: &mut Fold, at: u32, n: u32) -> Option<()> {
    let node = search.node(n);
    let value = node.ins[1];
    let fits = node.kind == NodeKind::Update
        && value.src == Src::node(at)
        && search.flat(fold, &value)
        && search.input.layout(value.layout).identity
        && search.input.overwrites(n as usize);
    fits.then_some(())
}

/// Is it a sum that the fold's can be extended by? What is subtracted from must be the product alone.
fn sums(fun: Fun, first: bool, fold: &Fold) -> bool {
    match fun {
        Fun::Add => true,
        Fun::Subtract => !first || (fold.addend.is_none() && fold.bias.is_none()),
        _ => false,
    }
}
