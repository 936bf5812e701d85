//! Recording elementwise operations: broadcasting, promotion and dtype rules. The result of the rules is remembered, so
//! that a repeated operation costs a table lookup.

use cuprous_core::layout::{broadcast_shapes, contiguous_strides, show};
use cuprous_core::ops::{Class, Returns};
use cuprous_core::promote::{default_dtype, promote, promote_weak};
use cuprous_core::scalar::Number;
use cuprous_core::{Array, DType, Dims, Error, Fun, In, Kind, Layout, LayoutRef, NodeKind, Result, Scalar, Src, Tape};
use smallvec::SmallVec;

/// An operand of an elementwise operation.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a> {
    /// An array.
    Array(&'a Array),
    /// A Python scalar: its dtype adapts to the others'.
    Weak(Number),
    /// A NumPy scalar: a number with a dtype of its own.
    Typed(Number, DType),
}

impl Operand<'_> {
    /// Returns what the dtype and shape rules depend on, as a number.
    fn tag(&self) -> u32 {
        match self {
            Operand::Array(a) => a.layout.id,
            Operand::Weak(n) => u32::MAX - n.kind() as u32,
            Operand::Typed(_, d) => u32::MAX - 16 - *d as u32,
        }
    }
}

/// How an operand reaches the operation.
#[derive(Clone, Debug)]
enum OperandSource {
    /// It is read through this layout.
    Read(LayoutRef),
    /// It is cast first, from a layout to a new array with another, which is then read through the third.
    Cast { from: LayoutRef, fresh: LayoutRef, read: LayoutRef },
    /// A constant of this dtype (a layout without axes).
    Const(LayoutRef),
}

/// All that depends only on the function and the operands' layouts.
#[derive(Clone, Debug)]
struct Rule {
    fun: Fun,
    /// A comparison with zero that follows the function.
    then: Option<Fun>,
    /// The node's own, C-contiguous layout.
    out: LayoutRef,
    /// The layout through which the result is seen, if it differs from `out`: the result has the memory order of the
    /// operands.
    view: Option<LayoutRef>,
    sources: [Option<OperandSource>; 3],
}

struct Entry {
    key: (u8, u8, [u32; 3]),
    rule: Rule,
    /// The layouts whose ids stand in the key, kept so that the ids are not reused.
    _held: [Option<LayoutRef>; 3],
}

/// Remembered rules, a direct-mapped cache.
pub struct Memo {
    entries: Vec<Option<Entry>>,
}

const SLOTS: usize = 1 << 10;

impl Default for Memo {
    fn default() -> Self {
        Memo { entries: (0..SLOTS).map(|_| None).collect() }
    }
}

impl Memo {
    /// Records `fun` of the operands on a tape. `forced` is the dtype in which it must compute.
    ///
    /// # Errors
    /// The operands do not fit together, or the function has no loop for their dtypes.
    ///
    /// # Safety
    /// The engine's lock is held. No operand is pending on another tape or lives on another device.
    pub unsafe fn map(
        &mut self,
        tape: &mut Tape,
        device: u8,
        fun: Fun,
        operands: &[Operand],
        forced: Option<DType>,
    ) -> Result<Array> {
        let (fun, operands) = simplify(fun, operands);
        let mut tags = [0; 3];
        for (tag, operand) in tags.iter_mut().zip(operands) {
            *tag = operand.tag();
        }
        let key = (fun as u8, forced.map_or(u8::MAX, |d| d as u8), tags);
        let slot = hash(&key) & (SLOTS - 1);
        // The dtype of a comparison with a Python integer depends on the integer's value. So does, for other functions,
        // the error for an integer beyond 64 bits.
        let compares = fun.op().returns == Returns::Bool && operands.len() == 2;
        let large = |i: &i128| !(0..128).contains(i) && (compares || i64::try_from(*i).is_err());
        let by_value = operands.iter().any(|o| matches!(o, Operand::Weak(Number::Int(i)) if large(i)));
        let uncached;
        let entry = match &mut self.entries[slot] {
            _ if by_value => {
                uncached = Rule::derive(fun, operands, forced)?;
                &uncached
            }
            Some(entry) if entry.key == key => &self.entries[slot].as_ref().expect("just seen").rule,
            entry => {
                let rule = Rule::derive(fun, operands, forced)?;
                let held = std::array::from_fn(|i| match operands.get(i) {
                    Some(Operand::Array(a)) => Some(a.layout.clone()),
                    _ => None,
                });
                &entry.insert(Entry { key, rule, _held: held }).rule
            }
        };
        let mut ins = [In::default(); 3];
        for (i, operand) in operands.iter().enumerate() {
            let source = entry.sources[i].as_ref().expect("one source for each operand");
            ins[i] = match (source, operand) {
                (OperandSource::Read(layout), Operand::Array(a)) => {
                    // SAFETY: the caller holds the lock and has settled foreign tapes.
                    let src = unsafe { tape.source(&a.storage) };
                    In { src, layout: tape.keep_layout(layout) }
                }
                (OperandSource::Cast { from, fresh, read }, Operand::Array(a)) => {
                    // SAFETY: the caller holds the lock and has settled foreign tapes.
                    let cast = unsafe { record_cast(tape, device, &a.view(from.clone()), fresh) };
                    // SAFETY: the caller holds the lock, and the new storage is pending on this tape.
                    let src = unsafe { tape.source(&cast.storage) };
                    In { src, layout: tape.keep_layout(read) }
                }
                (OperandSource::Const(layout), Operand::Weak(n) | Operand::Typed(n, _))
                    if entry.fun == Fun::Power && i == 1 && layout.dtype.is_int() && matches!(n, Number::Int(..0)) =>
                {
                    return Err(Error::value("Integers to negative integer powers are not allowed."));
                }
                (OperandSource::Const(layout), Operand::Weak(n)) => {
                    let n = if by_value && compares { beyond_integers(i, *n, layout.dtype, operands) } else { *n };
                    tape.constant(checked_scalar(entry.fun, n, layout.dtype)?, layout)
                }
                (OperandSource::Const(layout), Operand::Typed(n, _)) => {
                    tape.constant(Scalar::new(*n, layout.dtype), layout)
                }
                _ => unreachable!("the tag distinguishes arrays from scalars"),
            };
        }
        let out = tape.push(NodeKind::Map, entry.fun as u8, operands.len() as u8, &entry.out, ins, device);
        let out = match &entry.view {
            None => out,
            Some(layout) => out.view(layout.clone()),
        };
        match entry.then {
            None => Ok(out),
            Some(then) => {
                // SAFETY: the caller holds the lock, and the operand is pending on this tape.
                unsafe { self.map(tape, device, then, &[Operand::Array(&out), Operand::Weak(Number::Int(0))], None) }
            }
        }
    }
}

/// Returns the dtype of the result of `fun`.
///
/// # Errors
/// As for [`Memo::map`].
pub fn result_dtype(fun: Fun, operands: &[Operand]) -> Result<DType> {
    let (fun, operands) = simplify(fun, operands);
    let rule = Rule::derive(fun, operands, None)?;
    Ok(if rule.then.is_some() { DType::Bool } else { rule.out.dtype })
}

/// Records a cast to the dtype of `fresh`, a contiguous layout of the array's shape.
///
/// # Safety
/// As for [`Memo::map`].
pub unsafe fn record_cast(tape: &mut Tape, device: u8, a: &Array, fresh: &LayoutRef) -> Array {
    // SAFETY: the caller holds the lock and has settled foreign tapes.
    let src = unsafe { tape.source(&a.storage) };
    let read = In { src, layout: tape.keep_layout(&a.layout) };
    let fun = if a.dtype() == fresh.dtype { Fun::Positive } else { Fun::Cast };
    tape.push(NodeKind::Map, fun as u8, 1, fresh, [read, In::default(), In::default()], device)
}

/// Returns index values through `layout` (int64) as an operand.
pub fn iota(tape: &mut Tape, layout: &LayoutRef) -> In {
    In { src: Src::IOTA, layout: tape.keep_layout(layout) }
}

fn hash(key: &(u8, u8, [u32; 3])) -> usize {
    let mut h = u64::from(key.0) << 8 | u64::from(key.1);
    for &k in &key.2 {
        h = (h ^ u64::from(k)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        h ^= h >> 29;
    }
    (h >> 20) as usize
}

/// Replaces powers with some constant exponents as NumPy does.
fn simplify<'a, 'b>(fun: Fun, operands: &'a [Operand<'b>]) -> (Fun, &'a [Operand<'b>]) {
    if fun == Fun::Power
        && let [Operand::Array(a), Operand::Weak(n)] = operands
        && (a.dtype().is_float() || a.dtype().is_complex() || matches!(n, Number::Int(_)))
        && matches!(n, Number::Int(2) | Number::Float(2.0))
        && a.dtype() != DType::Bool
    {
        return (Fun::Square, &operands[..1]);
    }
    (fun, operands)
}

/// Returns a Python scalar in `dtype`.
///
/// # Errors
/// The scalar does not fit, and the function is not `where`.
fn checked_scalar(fun: Fun, number: Number, dtype: DType) -> Result<Scalar> {
    if let Number::Int(i) = number {
        let bits = dtype.size() as u32 * 8;
        let fits = match dtype.kind() {
            Kind::Int => i >= -(1i128 << (bits - 1)) && i < 1i128 << (bits - 1),
            Kind::UInt => i >= 0 && i < 1i128 << bits,
            Kind::Bool => i64::try_from(i).is_ok(),
            _ => true,
        };
        // NumPy's where() wraps integers that do not fit; operators raise.
        if !fits && fun != Fun::Where {
            return Err(Error::overflow(match dtype {
                DType::Bool => String::from("Python int too large to convert to C long"),
                _ => format!("Python integer {i} out of bounds for {}", dtype.name()),
            }));
        }
    }
    Ok(Scalar::new(number, dtype))
}

impl Rule {
    fn derive(fun: Fun, operands: &[Operand], forced: Option<DType>) -> Result<Rule> {
        let op = fun.op();
        if operands.len() != op.arity as usize {
            return Err(Error::type_(format!(
                "{}() takes from {n} to {n} positional arguments but {} were given",
                op.name,
                operands.len(),
                n = op.arity
            )));
        }
        let mut shape = Dims::new();
        for operand in operands {
            if let Operand::Array(a) = operand {
                shape = broadcast_shapes(&shape, a.shape()).ok_or_else(|| mismatch(operands))?;
            }
        }
        let mut then = None;
        let (fun, wants, result) = match mixed_integers(fun, operands) {
            Some(wants) if forced.is_none() => {
                then = Some(fun);
                (Fun::CompareIntegers, wants, DType::I8)
            }
            _ => types(fun, operands, forced)?,
        };
        // The order of the axes in memory, outermost first. The result keeps that of the operands, as in NumPy.
        let order = memory_order(operands, &shape);
        let ordered: Dims = order.iter().map(|&k| shape[k]).collect();
        let in_order = order.iter().enumerate().all(|(at, &k)| at == k);
        let mut sources = [const { None }; 3];
        for ((source, operand), &want) in sources.iter_mut().zip(operands).zip(&wants) {
            *source = Some(match operand {
                Operand::Array(a) if a.dtype() == want => {
                    // Most operands are read as they are, which needs no look-up in the table of layouts.
                    let whole =
                        if a.layout.shape == shape { a.layout.clone() } else { a.layout.broadcast_to(&shape)? };
                    OperandSource::Read(if in_order { whole } else { whole.permute(&order) })
                }
                Operand::Array(a) => {
                    // The new array has the memory order of its operand.
                    let own = memory_order(&[Operand::Array(a)], a.shape());
                    let shape_in_memory: Dims = own.iter().map(|&k| a.shape()[k]).collect();
                    let fresh = Layout::try_contiguous(want, &shape_in_memory)?;
                    let in_axis_order = fresh.permute(&inverse_permutation(&own));
                    let read = in_axis_order.broadcast_to(&shape)?.permute(&order);
                    OperandSource::Cast { from: a.layout.permute(&own), fresh, read }
                }
                _ => OperandSource::Const(Layout::contiguous(want, &[])),
            });
        }
        let row_major = contiguous_strides(&ordered);
        let like_out = |source: &&OperandSource| match source {
            OperandSource::Read(l) => {
                l.dtype == result && l.offset == 0 && l.shape == ordered && l.strides == row_major
            }
            _ => false,
        };
        let out = match sources.iter().flatten().find(like_out) {
            Some(OperandSource::Read(layout)) => layout.clone(),
            _ => Layout::try_contiguous(result, &ordered)?,
        };
        let chosen = |operand: &Operand| matches!(operand, Operand::Array(a) if a.layout.engine_order);
        let view = (!in_order).then(|| {
            let view = out.permute(&inverse_permutation(&order));
            if operands.iter().any(chosen) { view.in_engine_order() } else { view }
        });
        Ok(Rule { fun, then, out, view, sources })
    }
}

/// Returns the order of the axes, outermost first, in which an elementwise result lies in memory: that of the operands,
/// or row-major where they do not determine it (order 'K' of NumPy's iterator).
fn memory_order(operands: &[Operand], shape: &[i64]) -> SmallVec<[usize; 6]> {
    let n = shape.len();
    // Innermost first for the insertion sort.
    let mut order: SmallVec<[usize; 6]> = (0..n).rev().collect();
    let arrays: SmallVec<[&Array; 3]> =
        operands.iter().filter_map(|o| if let Operand::Array(a) = o { Some(*a) } else { None }).collect();
    if arrays.iter().all(|a| a.layout.is_c_contiguous()) {
        order.reverse();
        return order;
    }
    let stride = |a: &Array, axis: usize| -> i64 {
        let lead = n - a.layout.ndim();
        if axis < lead || a.shape()[axis - lead] == 1 { 0 } else { a.layout.strides[axis - lead].saturating_abs() }
    };
    for at in 1..n {
        let axis = order[at];
        let mut to = at;
        for earlier in (0..at).rev() {
            let other = order[earlier];
            let pairs = arrays.iter().map(|a| (stride(a, other), stride(a, axis))).filter(|(x, y)| *x != 0 && *y != 0);
            let mut says = None;
            for (inner, outer) in pairs {
                says = Some(inner > outer && says != Some(false));
            }
            match says {
                Some(true) => to = earlier,
                Some(false) => break,
                None => {}
            }
        }
        order.remove(at);
        order.insert(to, axis);
    }
    order.reverse();
    order
}

/// Returns the order of an array's axes in memory, outermost first, or `None` if it is the axes' own order.
pub fn axis_order(a: &Array) -> Option<SmallVec<[usize; 6]>> {
    if a.layout.is_c_contiguous() {
        return None;
    }
    let order = memory_order(&[Operand::Array(a)], a.shape());
    (!order.is_sorted()).then_some(order)
}

/// Returns the inverse of a permutation.
pub fn inverse_permutation(order: &[usize]) -> SmallVec<[usize; 6]> {
    let mut at: SmallVec<[usize; 6]> = SmallVec::from_elem(0, order.len());
    for (k, &axis) in order.iter().enumerate() {
        at[axis] = k;
    }
    at
}

fn mismatch(operands: &[Operand]) -> Error {
    let shapes: Vec<String> =
        operands.iter().filter_map(|o| if let Operand::Array(a) = o { Some(show(a.shape())) } else { None }).collect();
    Error::value(format!("operands could not be broadcast together with shapes {} ", shapes.join(" ")))
}

/// Returns the common dtype of operands by NEP 50.
pub fn common_dtype(operands: &[Operand]) -> DType {
    let strong = operands
        .iter()
        .filter_map(|o| match o {
            Operand::Array(a) => Some(a.dtype()),
            Operand::Typed(_, d) => Some(*d),
            Operand::Weak(_) => None,
        })
        .reduce(promote);
    let weak = operands.iter().filter_map(|o| if let Operand::Weak(n) = o { Some(n.kind()) } else { None }).max();
    match (strong, weak) {
        (Some(d), Some(kind)) => promote_weak(d, kind),
        (Some(d), None) => d,
        (None, Some(Kind::Int)) if is_lone_unsigned(operands) => DType::U64,
        (None, kind) => default_dtype(kind.unwrap_or(Kind::Float)),
    }
}

/// Returns true for a single Python integer that needs uint64, of which NumPy makes a uint64 array. Several integers
/// are int64.
fn is_lone_unsigned(operands: &[Operand]) -> bool {
    matches!(operands, [Operand::Weak(Number::Int(i))] if i64::try_from(*i).is_err() && u64::try_from(*i).is_ok())
}

/// Returns the dtype in which a floating-point function takes its operands. Each goes to the smallest float that holds
/// it, so int16 with uint16 is float32 although their common integer type is wider.
fn common_inexact(operands: &[Operand]) -> DType {
    let strong = operands.iter().filter_map(|o| match o {
        Operand::Array(a) => Some(a.dtype().to_inexact()),
        Operand::Typed(_, d) => Some(d.to_inexact()),
        Operand::Weak(_) => None,
    });
    let weak = operands.iter().filter_map(|o| if let Operand::Weak(n) = o { Some(n.kind()) } else { None }).max();
    let lifted = |d: DType| {
        // A weak float with integers only is a float64, as for any operator.
        let integers = operands.iter().all(|o| match o {
            Operand::Array(a) => !a.dtype().is_float() && !a.dtype().is_complex(),
            Operand::Typed(_, d) => !d.is_float() && !d.is_complex(),
            Operand::Weak(_) => true,
        });
        match weak {
            Some(Kind::Float | Kind::Complex) if integers => common_dtype(operands),
            // A Python integer with booleans only is an int64, as for any operator.
            Some(Kind::Int) if common_dtype(operands) == DType::I64 => DType::F64,
            Some(kind) => promote_weak(d, kind),
            None => d,
        }
    };
    strong.reduce(promote).map_or_else(|| common_dtype(operands), lifted)
}

/// Returns true if the operands are Python numbers and one is an integer beyond 64 bits. NumPy makes an object of it,
/// for which it has no loop.
fn is_object(operands: &[Operand]) -> bool {
    let beyond = |i: i128| i64::try_from(i).is_err() && u64::try_from(i).is_err();
    operands.iter().all(|o| matches!(o, Operand::Weak(_)))
        && operands.iter().any(|o| matches!(o, Operand::Weak(Number::Int(i)) if beyond(*i)))
}

/// Returns the function to record, the dtype in which it takes each operand, and the result's dtype.
fn types(fun: Fun, operands: &[Operand], forced: Option<DType>) -> Result<(Fun, [DType; 3], DType)> {
    let no_loop = |d: DType| {
        Error::type_(format!(
            "ufunc '{name}' not supported for the input types ({}), and the inputs could not be safely coerced to any \
             supported types according to the casting rule ''safe''. Cast them first, for example with astype().",
            d.name(),
            name = fun.op().name
        ))
    };
    if let Some((dtype, parameter)) = fun.random_dtypes() {
        return Ok((fun, [DType::I64, DType::U64, parameter.unwrap_or(DType::U64)], dtype));
    }
    Ok(match fun {
        Fun::Where => {
            let d = forced.unwrap_or_else(|| common_dtype(&operands[1..]));
            (fun, [DType::Bool, d, d], d)
        }
        Fun::Ldexp => {
            let d = forced.unwrap_or_else(|| common_dtype(&operands[..1]));
            let d = fun.op().class.compute(d).ok_or_else(|| no_loop(d))?;
            let by = common_dtype(&operands[1..]);
            if !matches!(by.kind(), Kind::Int | Kind::UInt | Kind::Bool) || by == DType::U64 {
                return Err(no_loop(by));
            }
            (fun, [d, DType::I64, d], d)
        }
        Fun::Cast | Fun::Bitcast => {
            let from = common_dtype(operands);
            (fun, [from; 3], forced.unwrap_or(from))
        }
        _ => {
            let class = fun.op().class;
            let by_float = matches!(class, Class::Float | Class::Inexact);
            if by_float && is_object(operands) {
                return Err(Error::type_(format!(
                    "ufunc '{}' not supported for the input types: a Python integer beyond 64 bits is an object; use a \
                     float",
                    fun.op().name
                )));
            }
            let d = forced.unwrap_or_else(|| if by_float { common_inexact(operands) } else { common_dtype(operands) });
            if d == DType::Bool {
                if matches!(fun, Fun::Positive | Fun::Sign | Fun::Gcd | Fun::Lcm) {
                    return Err(no_loop(d));
                }
                if matches!(fun, Fun::Subtract | Fun::Negative) {
                    let (sign, name, instead) = match fun {
                        Fun::Subtract => {
                            ("-", "subtract", "bitwise_xor, the `^` operator, or the logical_xor function")
                        }
                        _ => ("-", "negative", "`~` operator or the logical_not function"),
                    };
                    return Err(Error::type_(format!(
                        "numpy boolean {name}, the `{sign}` operator, is not supported, use the {instead} instead."
                    )));
                }
                if let Some(other) = fun.for_bool() {
                    return Ok((other, [d; 3], d));
                }
            }
            let compute = class.compute(d).ok_or_else(|| no_loop(d))?;
            // Weak integers that are too large for a comparison's dtype compare in a wider one, as in NumPy 2.
            let compares = fun.op().returns == Returns::Bool && operands.len() == 2;
            let compute = if compares { wide_enough(compute, operands) } else { compute };
            (fun, [compute; 3], fun.result(compute))
        }
    })
}

/// Returns the operands' dtypes if signed integers are compared with uint64. No integer dtype holds both, and float64
/// rounds.
fn mixed_integers(fun: Fun, operands: &[Operand]) -> Option<[DType; 3]> {
    use Fun::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
    if !matches!(fun, Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual) {
        return None;
    }
    let dtype = |o: &Operand| match o {
        Operand::Array(a) => Some(a.dtype()),
        Operand::Typed(_, d) => Some(*d),
        Operand::Weak(_) => None,
    };
    match (dtype(&operands[0])?, dtype(&operands[1])?) {
        (a, DType::U64) if a.kind() == Kind::Int => Some([DType::I64, DType::U64, DType::Bool]),
        (DType::U64, b) if b.kind() == Kind::Int => Some([DType::U64, DType::I64, DType::Bool]),
        _ => None,
    }
}

/// Replaces an integer that no integer operand can reach by infinity for a comparison in float64: rounding must not
/// make it equal to a value in reach.
fn beyond_integers(at: usize, n: Number, dtype: DType, operands: &[Operand]) -> Number {
    if let [Operand::Weak(Number::Int(a)), Operand::Weak(Number::Int(b))] = operands {
        // Two Python integers are replaced by their order.
        return Number::Int(if at == 0 { a.cmp(b) as i128 } else { 0 });
    }
    let integers = operands.iter().all(|o| match o {
        Operand::Array(a) => a.dtype().is_int(),
        Operand::Typed(_, d) => d.is_int(),
        Operand::Weak(_) => true,
    });
    match n {
        Number::Int(i) if dtype == DType::F64 && integers => {
            Number::Float(if i > 0 { f64::INFINITY } else { f64::NEG_INFINITY })
        }
        _ => n,
    }
}

fn wide_enough(compute: DType, operands: &[Operand]) -> DType {
    let truth = |o: &Operand| match o {
        Operand::Array(a) => a.dtype() == DType::Bool,
        Operand::Typed(_, d) => *d == DType::Bool,
        Operand::Weak(_) => true,
    };
    if operands.iter().all(truth) && !operands.iter().all(|o| matches!(o, Operand::Weak(_))) {
        return compute; // a Python integer with booleans only must be an int64
    }
    operands.iter().fold(compute, |d, o| match o {
        Operand::Weak(n @ Number::Int(_)) if checked_scalar(Fun::Equal, *n, d).is_err() => {
            if checked_scalar(Fun::Equal, *n, DType::I64).is_ok() && d != DType::U64 { DType::I64 } else { DType::F64 }
        }
        _ => d,
    })
}
