//! Writes expressions as C++.

use cuprous_core::scalar::Number;
use cuprous_core::{DType, Fun};
use cuprous_kernel::ir::{Expr, Index, Kind};
use cuprous_kernel::types::{Order, Ty};
use cuprous_kernel::{libdevice, table};

use super::Writer;
use crate::codegen::prelude::Part;
use crate::codegen::types::ctype;

/// Operator precedence, from the loosest to the tightest. Operands that bind less tightly are put in brackets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Precedence {
    Ternary,
    Or,
    And,
    Bitwise,
    Compare,
    Shift,
    Sum,
    Product,
    Prefix,
    Primary,
}

/// C++ text and its precedence.
type Text = (String, Precedence);

fn primary(text: impl Into<String>) -> Text {
    (text.into(), Precedence::Primary)
}

impl Writer<'_> {
    /// Returns an expression for a position where any expression is allowed.
    pub(super) fn expr(&mut self, e: &Expr) -> String {
        self.text(e).0
    }

    /// Returns an expression for a position where C++ converts it to the required type, so that integers need no
    /// suffix.
    pub(super) fn value(&mut self, e: &Expr) -> String {
        match (&e.kind, e.dtype()) {
            (Kind::Const(Number::Int(n)), Some(d)) if d.is_int() && i128::from(n.unsigned_abs() as i64) < 1 << 31 => {
                n.to_string()
            }
            _ => self.expr(e),
        }
    }

    /// Returns an expression as an operand that binds at least as tightly as `precedence`.
    fn operand(&mut self, e: &Expr, precedence: Precedence) -> String {
        let (text, own) = self.text(e);
        if own < precedence { format!("({text})") } else { text }
    }

    /// Returns an argument of a function. Constants have their exact type, on which overloads depend.
    pub(super) fn argument(&mut self, e: &Expr) -> String {
        match (&e.kind, e.dtype()) {
            (Kind::Const(n), Some(d)) => {
                self.parts.dtype(d);
                exact(*n, d)
            }
            _ => self.expr(e),
        }
    }

    fn arguments(&mut self, all: &[Expr]) -> Vec<String> {
        all.iter().map(|e| self.argument(e)).collect()
    }

    fn text(&mut self, e: &Expr) -> Text {
        if let Some(d) = e.dtype() {
            self.parts.dtype(d);
        }
        match &e.kind {
            Kind::Const(n) => {
                let d = e.dtype().unwrap_or(DType::I64);
                let text = exact(*n, d);
                let precedence = if text.starts_with('-') { Precedence::Prefix } else { Precedence::Primary };
                (text, precedence)
            }
            Kind::Nothing => primary("none{}"),
            Kind::Var(v) => primary(self.names[*v].clone()),
            Kind::Declared(k) => primary(self.array_name(*k)),
            Kind::Constant(k) => primary(format!("constant_{k}()")),
            Kind::Cast(from) => self.cast(from, &e.ty),
            Kind::Fun(fun, d, args) => self.fun(*fun, *d, args, e),
            Kind::Builtin(row, args) => {
                if row.name == "cuda.match_all_sync" {
                    self.match_all = true;
                }
                if row.name == table::GRID_SYNC {
                    self.parts.add(Part::GridSync);
                }
                if row.name.contains("frexp") || row.name.contains("ldexp") {
                    self.parts.add(Part::Math);
                }
                if let Some(signature) = libdevice::signature(row.name) {
                    self.libdevice(&row.name["libdevice.".len()..], signature, &e.ty);
                }
                let args = self.arguments(args);
                let text = fill(row.cuda, &args);
                let precedence = if text.starts_with("(int)") || text.starts_with("(bool)") {
                    Precedence::Prefix
                } else {
                    Precedence::Primary
                };
                (text, precedence)
            }
            Kind::And(a, b) => (
                format!("{} && {}", self.operand(a, Precedence::And), self.operand(b, Precedence::Compare)),
                Precedence::And,
            ),
            Kind::Or(a, b) => (
                format!("{} || {}", self.operand(a, Precedence::Or), self.operand(b, Precedence::Compare)),
                Precedence::Or,
            ),
            Kind::Not(a) => (format!("!{}", self.operand(a, Precedence::Prefix)), Precedence::Prefix),
            Kind::Select(c, a, b) => {
                let text = format!(
                    "{} ? {} : {}",
                    self.operand(c, Precedence::Or),
                    self.operand(a, Precedence::Or),
                    self.operand(b, Precedence::Or)
                );
                (text, Precedence::Ternary)
            }
            Kind::Tuple(items) => {
                let name = self.ctype(&e.ty);
                primary(format!("{name}{{{}}}", self.arguments(items).join(", ")))
            }
            Kind::Item(of, k) => primary(format!("{}.v{k}", self.operand(of, Precedence::Primary))),
            Kind::Load(array, indices) => {
                let element = self.element(array, indices);
                primary(if may_be_unaligned(array) { format!("load_parts({element})") } else { element })
            }
            Kind::View(array, indices) => primary(self.view(array, indices, &e.ty)),
            Kind::Field(array, k) => {
                let (Ty::Array(from), Ty::Array(to)) = (&array.ty, &e.ty) else { return primary(String::new()) };
                let Some(field) = from.field(*k) else { return primary(String::new()) };
                let elem = self.ctype(&to.elem);
                let base = self.expr(array);
                let extents: String = field.shape.iter().map(|n| format!(", {n}")).collect();
                primary(format!("field_of<{elem}, {}>({base}, {}{extents})", to.ndim, field.offset))
            }
            Kind::Transpose(array) => {
                let array = self.expr(array);
                primary(format!("transposed({array})"))
            }
            Kind::Reshape(array, extents) => {
                let Ty::Array(to) = &e.ty else { return primary(String::new()) };
                let elem = self.ctype(&to.elem);
                let base = self.operand(array, Precedence::Primary);
                let extents = self.arguments(extents).join(", ");
                primary(format!("array<{elem}, {}>{{({elem}*){base}.data, {{{extents}}}}}", to.ndim))
            }
            Kind::Extent(array, axis) => primary(format!("{}.shape[{axis}]", self.operand(array, Precedence::Primary))),
            Kind::Stride(array, axis) => {
                primary(format!("{}.stride({axis})", self.operand(array, Precedence::Primary)))
            }
            Kind::Call(callee, args) => {
                let name = self.function_names[*callee].clone();
                let passed: Vec<&Expr> = args.iter().filter(|a| a.ty != Ty::None).collect();
                let passed: Vec<String> = passed.into_iter().map(|e| self.argument(e)).collect();
                primary(format!("{name}({})", passed.join(", ")))
            }
            Kind::Atomic { op, array, indices, operands } => {
                self.atomics = true;
                self.parts.add(Part::Arith);
                let element = self.element(array, indices);
                let name = op.name().trim_end_matches('_');
                let passed = self.arguments(operands);
                let args: String = passed.iter().map(|a| format!(", {a}")).collect();
                primary(format!("atomic_{name}(&{element}{args})"))
            }
            Kind::Cached { op, array, indices, operands } => {
                self.atomics = true;
                self.parts.add(Part::Arith);
                let element = self.element(array, indices);
                let name = op.name();
                let passed = self.arguments(operands);
                // The intrinsics take 16-bit floats as their bits.
                let half = matches!(&array.ty, Ty::Array(a) if matches!(a.dtype(), Some(DType::F16 | DType::BF16)));
                match &passed[..] {
                    [value] if half => primary(format!("__{name}((uint16*)&{element}, bitcast<uint16>({value}))")),
                    [value] => primary(format!("__{name}(&{element}, {value})")),
                    _ if half => {
                        let c = self.ctype(&e.ty);
                        primary(format!("bitcast<{c}>(__{name}((const uint16*)&{element}))"))
                    }
                    _ => primary(format!("__{name}(&{element})")),
                }
            }
        }
    }

    /// Declares a function of libdevice, which the compiler links, and a wrapper that returns its several results as a
    /// tuple.
    fn libdevice(&mut self, name: &str, [ret, takes, writes]: [&str; 3], ty: &Ty) {
        if self.tuples.iter().any(|(known, _)| known == name) {
            return;
        }
        let c = |letter: char| if letter == 'v' { "void" } else { ctype(libdevice::letter(letter)) };
        let takes: Vec<&str> = takes.chars().map(c).collect();
        let pointers = writes.chars().map(|letter| format!("{}*", c(letter)));
        let all: Vec<String> = takes.iter().map(|&t| t.to_owned()).chain(pointers).collect();
        let ret = ret.chars().next().unwrap_or('v');
        let mut text = format!("extern \"C\" __device__ {} __nv_{name}({});", c(ret), all.join(", "));
        if !writes.is_empty() {
            let tuple = self.ctype(ty);
            let params: Vec<String> = takes.iter().enumerate().map(|(k, t)| format!("{t} x{k}")).collect();
            let first = usize::from(ret != 'v');
            let passed = (0..takes.len()).map(|k| format!("x{k}"));
            let passed: Vec<String> = passed.chain((0..writes.len()).map(|k| format!("&r.v{}", first + k))).collect();
            let result = if first == 1 { "r.v0 = " } else { "" };
            let (params, passed) = (params.join(", "), passed.join(", "));
            text +=
                &format!("\nDEV {tuple} nv_{name}({params}) {{ {tuple} r; {result}__nv_{name}({passed}); return r; }}");
        }
        self.tuples.push((name.into(), text));
    }

    /// Returns `a(i, j)`, or `a.at(i, j)` if an index may be negative.
    pub(super) fn element(&mut self, array: &Expr, indices: &[Expr]) -> String {
        let natural = indices.iter().all(|i| self.sizes.is_non_negative(i));
        let base = self.operand(array, Precedence::Primary);
        let at: Vec<String> = indices.iter().map(|i| self.value(i)).collect();
        format!("{base}{}({})", if natural { "" } else { ".at" }, at.join(", "))
    }

    fn view(&mut self, array: &Expr, indices: &[Index], ty: &Ty) -> String {
        let Ty::Array(to) = ty else { return String::new() };
        let mut entries = vec![self.expr(array)];
        for index in indices {
            entries.push(match index {
                Index::At(e) => format!("index_entry{{{}}}", self.value(e)),
                Index::New => "new_axis{}".into(),
                Index::Slice(None, None, None) => "whole_axis".into(),
                Index::Slice(start, stop, step) => {
                    let mut bound = |e: &Option<Expr>, missing: &str| match e {
                        Some(e) => self.value(e),
                        None => missing.into(),
                    };
                    let (start, stop, step) = (bound(start, "MISSING"), bound(stop, "MISSING"), bound(step, "1"));
                    format!("slice_entry{{{start}, {stop}, {step}}}")
                }
            });
        }
        let view = format!("view<{}>({})", to.ndim, entries.join(", "));
        if to.order == Order::C { format!("as_contiguous({view})") } else { view }
    }

    fn cast(&mut self, from: &Expr, to: &Ty) -> Text {
        match (&from.ty, to) {
            (Ty::Scalar(a), Ty::Scalar(b)) => {
                if is_plain(*a) && is_plain(*b) && *b != DType::Bool {
                    let inner = self.operand(from, Precedence::Prefix);
                    // The coordinates are unsigned, so one cast is enough.
                    let inner = match &from.kind {
                        Kind::Builtin(..) if *b == DType::I64 => inner.trim_start_matches("(int)").to_owned(),
                        _ => inner,
                    };
                    return (format!("({}){inner}", ctype(*b)), Precedence::Prefix);
                }
                self.parts.dtype(*a);
                self.parts.dtype(*b);
                let inner = self.argument(from);
                primary(format!("cast<{}>({inner})", ctype(*b)))
            }
            (Ty::Array(_), Ty::Array(_)) => {
                let inner = self.expr(from);
                primary(format!("as_strided({inner})"))
            }
            (Ty::Tuple(types, _), Ty::Tuple(targets, _)) => {
                // Converts item by item. The operand is evaluated once per item; it is a simple expression or a
                // function call.
                let inner = self.operand(from, Precedence::Primary);
                let name = self.ctype(to);
                let items: Vec<String> = types
                    .iter()
                    .zip(targets)
                    .enumerate()
                    .map(|(k, (a, b))| match (a.scalar(), b.scalar()) {
                        (Some(a), Some(b)) if a != b => format!("cast<{}>({inner}.v{k})", ctype(b)),
                        _ => format!("{inner}.v{k}"),
                    })
                    .collect();
                primary(format!("{name}{{{}}}", items.join(", ")))
            }
            _ => self.text(from),
        }
    }

    /// Writes a row of the operation table: a C++ operator where it means the same, else the row's own text.
    fn fun(&mut self, fun: Fun, d: DType, args: &[Expr], e: &Expr) -> Text {
        let float = matches!(d, DType::F32 | DType::F64);
        let int = d.is_int();
        let unsigned = matches!(d, DType::U32 | DType::U64);
        let small = int
            && (unsigned || args.iter().map(|a| self.sizes.bits(a)).max().unwrap_or(64) < 62 && self.fits(fun, args));
        let natural = || args.iter().all(|a| self.sizes.is_non_negative(a));
        let divisor = args.get(1).and_then(|b| b.as_int()).is_some_and(|n| n > 0);
        let operator = match fun {
            Fun::Add if float || small => Some(("+", Precedence::Sum, Precedence::Product)),
            Fun::Subtract if float || small => Some(("-", Precedence::Sum, Precedence::Product)),
            Fun::Multiply if float || small => Some(("*", Precedence::Product, Precedence::Prefix)),
            Fun::Divide if float => Some(("/", Precedence::Product, Precedence::Prefix)),
            Fun::FloorDivide if int && divisor && natural() => Some(("/", Precedence::Product, Precedence::Prefix)),
            Fun::Remainder if int && divisor && natural() => Some(("%", Precedence::Product, Precedence::Prefix)),
            Fun::Equal if is_plain(d) => Some(("==", Precedence::Compare, Precedence::Shift)),
            Fun::NotEqual if is_plain(d) => Some(("!=", Precedence::Compare, Precedence::Shift)),
            Fun::Less if is_plain(d) => Some(("<", Precedence::Compare, Precedence::Shift)),
            Fun::LessEqual if is_plain(d) => Some(("<=", Precedence::Compare, Precedence::Shift)),
            Fun::Greater if is_plain(d) => Some((">", Precedence::Compare, Precedence::Shift)),
            Fun::GreaterEqual if is_plain(d) => Some((">=", Precedence::Compare, Precedence::Shift)),
            Fun::BitwiseAnd if int => Some(("&", Precedence::Bitwise, Precedence::Primary)),
            Fun::BitwiseOr if int => Some(("|", Precedence::Bitwise, Precedence::Primary)),
            Fun::BitwiseXor if int => Some(("^", Precedence::Bitwise, Precedence::Primary)),
            Fun::RightShift if int && args[1].as_int().is_some_and(|n| (0..8 * d.size() as i64).contains(&n)) => {
                Some((">>", Precedence::Shift, Precedence::Primary))
            }
            _ => None,
        };
        if let (Some((sign, own, right)), [a, b]) = (operator, args) {
            let left = if own == Precedence::Bitwise || own == Precedence::Shift { Precedence::Primary } else { own };
            let left = if own == Precedence::Compare { Precedence::Shift } else { left };
            // C++ converts a constant to the type of the other operand, so only one needs its exact type in the text.
            let a_text = self.short_operand(a, left, !matches!(b.kind, Kind::Const(_)));
            let b_text = self.short_operand(b, right, !matches!(a.kind, Kind::Const(_)));
            return (format!("{a_text} {sign} {b_text}"), own);
        }
        if fun == Fun::Negative && float {
            return (format!("-{}", self.operand(&args[0], Precedence::Primary)), Precedence::Prefix);
        }
        let texts = self.arguments(args);
        match fun {
            Fun::MakeComplex => {
                self.parts.add(Part::Complex);
                let name = ctype(e.dtype().unwrap_or(DType::C128));
                return primary(format!("{name}{{{}, {}}}", texts[0], texts[1]));
            }
            Fun::Real | Fun::Imag => {
                let inner = self.operand(&args[0], Precedence::Primary);
                return primary(fill(fun.op().cuda, &[inner]));
            }
            Fun::LogicalNot | Fun::LogicalAnd | Fun::LogicalOr | Fun::LogicalXor => {
                return primary(fill(fun.op().cuda, &texts));
            }
            _ => {}
        }
        self.parts.fun(fun, d);
        primary(fill(fun.op().cuda, &texts))
    }

    /// Returns true if the result is within 62 bits.
    fn fits(&self, fun: Fun, args: &[Expr]) -> bool {
        let bits: Vec<u32> = args.iter().map(|a| self.sizes.bits(a)).collect();
        match (fun, &bits[..]) {
            (Fun::Multiply, [a, b]) => a + b <= 62,
            (_, [a, b]) => a.max(b) < &62,
            _ => true,
        }
    }

    /// Returns an operand of an operator. Integers that fit into an int need no suffix beside an operand of the exact
    /// type.
    fn short_operand(&mut self, e: &Expr, precedence: Precedence, other_is_exact: bool) -> String {
        if let (Kind::Const(Number::Int(n)), Some(d), true) = (&e.kind, e.dtype(), other_is_exact)
            && d.is_int()
            && d.size() >= 4
            && (0..1 << 31).contains(n)
        {
            return n.to_string();
        }
        self.operand(e, precedence)
    }
}

/// Returns true if complex elements may be aligned only as their parts are, as in fields of records.
pub(super) fn may_be_unaligned(array: &Expr) -> bool {
    let complex = matches!(&array.ty, Ty::Array(a) if a.dtype().is_some_and(DType::is_complex));
    complex && !matches!(&array.ty, Ty::Array(a) if a.order == Order::C)
}

/// Returns true for types that are built into C++.
fn is_plain(d: DType) -> bool {
    !matches!(d, DType::F16 | DType::BF16 | DType::C64 | DType::C128)
}

/// Replaces `{0}`, `{1}`, … by the arguments.
fn fill(pattern: &str, args: &[String]) -> String {
    let mut text = String::with_capacity(pattern.len() + 16);
    let mut rest = pattern;
    while let Some(at) = rest.find('{') {
        let (before, after) = rest.split_at(at);
        text.push_str(before);
        let close = after.find('}').unwrap_or(after.len() - 1);
        let arg = after[1..close].parse::<usize>().ok().and_then(|k| args.get(k));
        match arg {
            Some(arg) => text.push_str(arg),
            None => text.push_str(&after[..=close]),
        }
        rest = &after[close + 1..];
    }
    text + rest
}

fn float(x: f64, single: bool) -> String {
    let name = if single { "__int_as_float" } else { "__longlong_as_double" };
    if x.is_nan() || x.is_infinite() {
        let bits = if single { format!("{:#x}", (x as f32).to_bits()) } else { format!("{:#x}ull", x.to_bits()) };
        return format!("{name}({bits})");
    }
    if single { format!("{:?}f", x as f32) } else { format!("{x:?}") }
}

/// Returns a number as an expression of exactly that type.
pub(super) fn exact(n: Number, d: DType) -> String {
    let (re, im, int) = match n {
        Number::Bool(b) => (f64::from(u8::from(b)), 0.0, i128::from(b)),
        Number::Int(i) => (i as f64, 0.0, i),
        Number::Float(x) => (x, 0.0, x as i128),
        Number::Complex(re, im) => (re, im, re as i128),
    };
    match d {
        DType::Bool => if re != 0.0 || im != 0.0 { "true" } else { "false" }.into(),
        DType::I64 if int == i128::from(i64::MIN) => "(int64)0x8000000000000000ull".into(),
        DType::I64 => format!("{int}ll"),
        DType::U64 => format!("{int}ull"),
        DType::U32 => format!("{int}u"),
        DType::I32 if int == i128::from(i32::MIN) => "(int32)0x80000000u".into(),
        DType::I32 => int.to_string(),
        DType::I8 | DType::I16 | DType::U8 | DType::U16 => format!("({})({int})", ctype(d)),
        DType::F32 => float(re, true),
        DType::F64 => float(re, false),
        DType::F16 | DType::BF16 => format!("narrow<{}>({})", ctype(d), float(re, true)),
        DType::C64 => format!("complex64{{{}, {}}}", float(re, true), float(im, true)),
        DType::C128 => format!("complex128{{{}, {}}}", float(re, false), float(im, false)),
    }
}
