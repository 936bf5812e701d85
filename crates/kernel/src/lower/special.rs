//! Builtins that are no rows of a table: they take types, make arrays, or are made of others.

use cuprous_core::scalar::Number;
use cuprous_core::{DType, Fun};

use super::context::{LoweringContext, Operand, tuple};
use crate::ast::{BinOp, Value};
use crate::diagnostic::{ErrorKind, Result};
use crate::ir::{self, AtomicOp, Expr, Kind, Printed, Space, StmtKind};
use crate::rules::{self, Rule};
use crate::table;
use crate::types::{ArrayTy, BOOL, INT, Order, Ty};

type Named<'n> = [(&'n str, Operand)];

fn integers(fun: Fun, a: Expr, b: Expr) -> Expr {
    Expr::new(INT, Kind::Fun(fun, DType::I64, vec![a, b]))
}

impl LoweringContext<'_, '_> {
    /// Calls a special builtin; `None` where the name is none.
    pub(super) fn special(&mut self, name: &str, args: &[Operand], named: &Named) -> Result<Option<Operand>> {
        if let Some((d, count)) = table::vector(name) {
            self.no_keywords(name, named)?;
            return self.vector(d, count, args).map(Some);
        }
        if !table::SPECIAL.contains(&name) {
            return Ok(None);
        }
        let takes = |counts: std::ops::RangeInclusive<usize>| {
            if counts.contains(&args.len()) {
                return Ok(());
            }
            let (least, most) = (counts.start(), counts.end());
            let wanted = if least == most { least.to_string() } else { format!("{least} to {most}") };
            Err(self.arity_error(name, &wanted, args.len()))
        };
        if !matches!(
            name,
            "enumerate"
                | "cuda.shared.array"
                | "cuda.local.array"
                | "cupyx.jit.shared_memory"
                | "print"
                | "round"
                | "zip"
        ) {
            self.no_keywords(name, named)?;
        }
        Ok(Some(match name {
            "len" => {
                takes(1..=1)?;
                self.length(args[0].clone())?
            }
            "range" => {
                takes(1..=3)?;
                self.range(args)?
            }
            "enumerate" => {
                takes(1..=2)?;
                self.keywords(name, named, &["start"][args.len() - 1..])?;
                let start = match (args.get(1), named.iter().find(|(n, _)| *n == "start")) {
                    (Some(start), _) | (None, Some((_, start))) => self.value(start.clone())?,
                    (None, None) => Expr::int(0),
                };
                Operand::Enumerate(Box::new(args[0].clone()), Box::new(start))
            }
            "zip" => {
                if named.iter().any(|(n, t)| *n != "strict" || !is_false(t)) {
                    return Err(self.unsupported("zip takes no keyword arguments in kernels"));
                }
                Operand::Zip(args.to_vec())
            }
            "min" | "max" => self.extreme(name, args)?,
            "round" => {
                takes(1..=2)?;
                self.keywords(name, named, &["ndigits"][args.len() - 1..])?;
                self.round(&args[0], args.get(1).or(named.first().map(|(_, operand)| operand)))?
            }
            "pow" => {
                takes(2..=2)?;
                let (a, b) = (self.value(args[0].clone())?, self.value(args[1].clone())?);
                Operand::Expr(self.binary(BinOp::Pow, a, b)?)
            }
            "divmod" => {
                takes(2..=2)?;
                let (a, b) = (self.value(args[0].clone())?, self.value(args[1].clone())?);
                let (a, b) = (self.stabilize("a", a), self.stabilize("b", b));
                let quotient = self.binary(BinOp::FloorDiv, a.clone(), b.clone())?;
                let rest = self.binary(BinOp::Mod, a, b)?;
                Operand::Expr(tuple(vec![quotient, rest], None))
            }
            "print" => self.print(args, named)?,
            "tuple" => {
                takes(1..=1)?;
                let value = self.value(args[0].clone())?;
                match &value.ty {
                    Ty::Tuple(..) | Ty::Unknown => Operand::Expr(value),
                    ty => return Err(self.unsupported(format!("a tuple cannot be made of {ty} in kernels"))),
                }
            }
            "isinstance" => {
                takes(2..=2)?;
                let value = match &args[0] {
                    Operand::Value(Value::Str(_)) => None,
                    operand => Some(self.value(operand.clone())?),
                };
                let names = match &args[1] {
                    Operand::Value(Value::Tuple(names, _)) => names.clone(),
                    _ => return Err(self.typing("isinstance takes a class or a tuple of classes")),
                };
                if value.as_ref().is_some_and(|v| v.ty == Ty::Unknown) {
                    return Ok(Some(Operand::Expr(Expr::unknown())));
                }
                let ty = value.map(|v| v.ty);
                let is = |v: &Value| matches!(v, Value::Str(name) if is_instance(ty.as_ref(), name));
                Operand::Expr(Expr::bool(names.iter().any(is)))
            }
            "np.where" | "cuda.selp" => {
                takes(3..=3)?;
                let test = self.value(args[0].clone())?;
                let test = self.to_bool(test)?;
                let (a, b) = (self.value(args[1].clone())?, self.value(args[2].clone())?);
                if a.ty == Ty::Unknown || b.ty == Ty::Unknown {
                    return Ok(Some(Operand::Expr(Expr::unknown())));
                }
                let Some(ty) = a.ty.unify(&b.ty).filter(|ty| ty.scalar().is_some()) else {
                    return Err(self.typing(format!("{name} of {} and {} has no type", a.ty, b.ty)));
                };
                let (a, b) = (self.cast(a, &ty)?, self.cast(b, &ty)?);
                Operand::Expr(Expr::new(ty, Kind::Select(Box::new(test), Box::new(a), Box::new(b))))
            }
            "cuda.grid" | "cuda.gridsize" => {
                takes(1..=1)?;
                self.grid(name, args)?
            }
            "cuda.cg.this_grid" => {
                takes(0..=0)?;
                Operand::Value(Value::Builtin("cuda.cg.grid".into()))
            }
            "cuda.cg.this_thread_block" => {
                takes(0..=0)?;
                Operand::Value(Value::Builtin("cuda.cg.block".into()))
            }
            "cuda.cg.sync" => {
                takes(1..=1)?;
                let row = match &args[0] {
                    Operand::Value(Value::Builtin(group)) => table::row(&format!("{group}.sync")),
                    _ => None,
                };
                let row =
                    row.ok_or_else(|| self.typing("cg.sync takes a group: cg.this_thread_block(), cg.this_grid()"))?;
                Operand::Expr(self.row(row, Vec::new())?)
            }
            group if group.starts_with("cuda.cg.") => {
                takes(0..=0)?;
                self.group(group)?
            }
            "cuda.warpsize" => Operand::Value(Value::Typed(Number::Int(32), DType::I32)),
            "cuda.shared.array" => self.array(Space::Shared, args, named)?,
            "cuda.local.array" => self.array(Space::Local, args, named)?,
            "cupyx.jit.shared_memory" => {
                takes(2..=3)?;
                // CuPy's order, and its word for as much as the launch says.
                let size = match &args[1] {
                    Operand::Value(Value::None) => Operand::Expr(Expr::int(0)),
                    size => size.clone(),
                };
                let mut given = vec![size, args[0].clone()];
                given.extend_from_slice(&args[2..]);
                self.array(Space::Shared, &given, named)?
            }
            "cuda.const.array_like" => {
                takes(1..=1)?;
                let value = self.value(args[0].clone())?;
                match value.kind {
                    Kind::Constant(_) | Kind::Nothing => Operand::Expr(value),
                    // An array of a device that the kernel uses from outside.
                    Kind::Var(v) if self.vars[v].name.starts_with('@') => Operand::Expr(value),
                    _ => {
                        return Err(self
                            .typing("cuda.const.array_like takes an array that is known when the kernel is compiled")
                            .hint("give it a global array"));
                    }
                }
            }
            "cuda.atomic.compare_and_swap" => {
                takes(3..=3)?;
                let array = self.value(args[0].clone())?;
                let operands = vec![self.value(args[1].clone())?, self.value(args[2].clone())?];
                Operand::Expr(self.atomic_at(AtomicOp::Cas, name, array, Expr::int(0), operands)?)
            }
            "math.frexp" | "math.modf" => {
                takes(1..=1)?;
                let x = self.value(args[0].clone())?;
                let x = self.stabilize("x", x);
                let parts = if name == "math.modf" {
                    let fraction = self.function(name, Fun::ModfFraction, Rule::Math, vec![x.clone()])?;
                    let whole = self.function(name, Fun::Trunc, Rule::Math, vec![x])?;
                    vec![fraction, whole]
                } else {
                    let rows = ["math.frexp_mantissa", "math.frexp_exponent"].map(table::row);
                    rows.into_iter().flatten().map(|row| self.row(row, vec![x.clone()])).collect::<Result<_>>()?
                };
                Operand::Expr(tuple(parts, None))
            }
            "cuda.fp16.hfma" => {
                takes(3..=3)?;
                self.half_fma(args)?
            }
            "cuda.fp16.hexp10" => {
                takes(1..=1)?;
                let x = self.value(args[0].clone())?;
                let x = self.cast_dtype(x, DType::F32)?;
                let ten = Expr::number(Number::Float(10.0), DType::F32);
                let power = self.function(name, Fun::Power, Rule::Power, vec![ten, x])?;
                Operand::Expr(self.cast_dtype(power, DType::F16)?)
            }
            "cmath.polar" => {
                takes(1..=1)?;
                let z = self.value(args[0].clone())?;
                let z = self.stabilize("z", z);
                let r = self.function(name, Fun::Absolute, Rule::Complex, vec![z.clone()])?;
                let phi = self.function(name, Fun::Angle, Rule::Complex, vec![z])?;
                Operand::Expr(tuple(vec![r, phi], None))
            }
            "cmath.rect" => {
                takes(2..=2)?;
                let (r, phi) = (self.value(args[0].clone())?, self.value(args[1].clone())?);
                let (r, phi) = (self.stabilize("r", r), self.stabilize("phi", phi));
                let phi = self.angle(&r, phi)?;
                let mut parts = Vec::new();
                for fun in [Fun::Cos, Fun::Sin] {
                    let turn = self.function(name, fun, Rule::Math, vec![phi.clone()])?;
                    let part = self.binary(BinOp::Mult, r.clone(), turn)?;
                    parts.push(if fun == Fun::Sin { self.without_turn(&r, &phi, part)? } else { part });
                }
                let Some(d) = parts[0].dtype().and_then(|a| Some(cuprous_core::promote::promote(a, parts[1].dtype()?)))
                else {
                    return Ok(Some(Operand::Expr(Expr::unknown())));
                };
                let parts = parts.into_iter().map(|e| self.cast_dtype(e, d)).collect::<Result<Vec<_>>>()?;
                let whole = if d == DType::F64 { DType::C128 } else { DType::C64 };
                Operand::Expr(Expr::new(Ty::Scalar(whole), Kind::Fun(Fun::MakeComplex, d, parts)))
            }
            _ => return Ok(None),
        }))
    }

    /// Python's rule of `rect(0, inf)`: an angle that is none counts as zero where the radius is.
    fn angle(&mut self, r: &Expr, phi: Expr) -> Result<Expr> {
        let (Some(d), Some(of)) = (phi.dtype(), r.dtype()) else { return Ok(phi) };
        if !d.is_float() || of.is_complex() {
            return Ok(phi);
        }
        let zero = |d: DType| Expr::number(super::context::convert(Number::Int(0), DType::I64, d), d);
        let none = Expr::new(BOOL, Kind::Fun(Fun::Equal, of, vec![r.clone(), zero(of)]));
        let finite = self.function("isfinite", Fun::Isfinite, Rule::Math, vec![phi.clone()])?;
        let test = Expr::new(BOOL, Kind::And(Box::new(none), Box::new(Expr::new(BOOL, Kind::Not(Box::new(finite))))));
        let ty = phi.ty.clone();
        let kind = Kind::Select(Box::new(test), Box::new(zero(d)), Box::new(phi));
        Ok(self.stabilize("phi", Expr::new(ty, kind)))
    }

    /// The imaginary part of `rect(r, 0)`: zero, also where the radius is infinite.
    fn without_turn(&mut self, r: &Expr, phi: &Expr, part: Expr) -> Result<Expr> {
        let (Some(d), Some(of)) = (phi.dtype(), part.dtype()) else { return Ok(part) };
        if !d.is_float() || !of.is_float() {
            return Ok(part);
        }
        let zero = Expr::number(super::context::convert(Number::Int(0), DType::I64, d), d);
        let test = Expr::new(BOOL, Kind::Fun(Fun::Equal, d, vec![phi.clone(), zero]));
        let one = Expr::number(Number::Float(1.0), of);
        let radius = self.cast_dtype(r.clone(), of)?;
        let sign = self.function("copysign", Fun::Copysign, Rule::Math, vec![one, radius])?;
        let none = self.binary(BinOp::Mult, phi.clone(), sign)?;
        let none = self.cast_dtype(none, of)?;
        let ty = part.ty.clone();
        Ok(Expr::new(ty, Kind::Select(Box::new(test), Box::new(none), Box::new(part))))
    }

    fn length(&mut self, of: Operand) -> Result<Operand> {
        let value = self.value(of)?;
        Ok(Operand::Expr(match &value.ty {
            Ty::Unknown => Expr::unknown(),
            Ty::Array(a) if a.ndim > 0 => Expr::new(INT, Kind::Extent(Box::new(value), 0)),
            Ty::Tuple(items, _) => Expr::int(items.len() as i64),
            ty => return Err(self.typing(format!("{ty} has no len()"))),
        }))
    }

    fn range(&mut self, args: &[Operand]) -> Result<Operand> {
        let mut values = Vec::new();
        for arg in args {
            values.push(self.value(arg.clone())?);
        }
        if values.iter().any(|v| v.ty == Ty::Unknown) {
            let unknown = || Expr::unknown();
            return Ok(Operand::Range(Box::new([unknown(), unknown(), unknown()])));
        }
        let types: Option<Vec<DType>> = values.iter().map(|v| v.dtype().filter(|d| d.is_int())).collect();
        let Some(types) = types else {
            let bad = values.iter().find(|v| !v.dtype().is_some_and(|d| d.is_int()));
            let what = bad.map_or("something else".into(), |v| v.ty.to_string());
            return Err(self.typing(format!("range takes integers, not {what}")).hint("convert it with int(…)"));
        };
        // Numba's: small integers count as int32, unsigned 64-bit ones as uint64, the rest as int64. A literal fits any.
        let small =
            |(d, v): (&DType, &Expr)| d.size() < 4 || *d == DType::I32 || (types.len() > 1 && v.as_int().is_some());
        let is_small = types.iter().zip(&values).all(small) && types.iter().any(|d| d.size() <= 4);
        let d = if is_small {
            DType::I32
        } else if types.contains(&DType::U64) {
            DType::U64
        } else {
            DType::I64
        };
        let mut values = values.into_iter().map(|v| self.cast_dtype(v, d)).collect::<Result<Vec<_>>>()?.into_iter();
        let number = |n: i128| Expr::number(Number::Int(n), d);
        let mut next = || values.next();
        let (start, stop, step) = match args.len() {
            1 => (Some(number(0)), next(), Some(number(1))),
            2 => (next(), next(), Some(number(1))),
            _ => (next(), next(), next()),
        };
        match (start, stop, step) {
            (Some(start), Some(stop), Some(step)) => {
                if self.constant_int(&step) == Some(0) {
                    return Err(self.typing("range() arg 3 must not be zero"));
                }
                Ok(Operand::Range(Box::new([start, stop, step])))
            }
            _ => Err(self.typing("range takes one to three integers")),
        }
    }

    /// Python's `min` and `max`: the first of equals, and what comparisons with NaN make of it.
    fn extreme(&mut self, name: &str, args: &[Operand]) -> Result<Operand> {
        let mut values = Vec::new();
        for arg in args {
            values.push(self.value(arg.clone())?);
        }
        if let [one] = &values[..] {
            values = match one.ty {
                Ty::Tuple(..) => self.items(one.clone()),
                Ty::Unknown => return Ok(Operand::Expr(Expr::unknown())),
                _ => Vec::new(),
            };
        }
        if values.iter().any(|v| v.ty == Ty::Unknown) {
            return Ok(Operand::Expr(Expr::unknown()));
        }
        let types: Option<Vec<DType>> = values.iter().map(Expr::dtype).collect();
        let common = types.and_then(|t| rules::compute(Rule::Plain, Fun::Maximum, &t)).filter(|d| !d.is_complex());
        let Some(d) = common else {
            return Err(self.typing(format!("{name} takes two or more numbers")).hint("write a loop over an array"));
        };
        let fun = if name == "min" { Fun::Less } else { Fun::Greater };
        let mut values = values.into_iter();
        let Some(first) = values.next() else { return Err(self.typing(format!("{name} takes two or more numbers"))) };
        let mut best = self.cast_dtype(first, d)?;
        for value in values {
            let value = self.cast_dtype(value, d)?;
            let (a, b) = (self.duplicable("a", best), self.duplicable("b", value));
            let test = Expr::new(BOOL, Kind::Fun(fun, d, vec![b.clone(), a.clone()]));
            best = Expr::new(Ty::Scalar(d), Kind::Select(Box::new(test), Box::new(b), Box::new(a)));
        }
        Ok(Operand::Expr(best))
    }

    fn duplicable(&mut self, name: &str, e: Expr) -> Expr {
        if e.is_simple() { e } else { self.materialize(name, e) }
    }

    /// `round(x)` gives an integer; halves go to the even neighbour. To digits is `cuprous.cuda._library.round_to`.
    fn round(&mut self, x: &Operand, digits: Option<&Operand>) -> Result<Operand> {
        let x = self.value(x.clone())?;
        if x.ty == Ty::Unknown {
            return Ok(Operand::Expr(x));
        }
        let is_int = x.dtype().is_some_and(|d| d.is_int());
        if let Some(digits) = digits {
            let digits = self.value(digits.clone())?;
            return match (is_int, self.constant_int(&digits), self.compiler.source.round_to) {
                (true, Some(0..), _) => Ok(Operand::Expr(x)),
                (true, ..) => Err(self.unsupported("round of an integer to tens is not supported in kernels")),
                _ if digits.ty == Ty::Unknown => Ok(Operand::Expr(digits)),
                _ if !digits.dtype().is_some_and(DType::is_int) => {
                    Err(self.typing(format!("the number of digits of round must be an integer, not {}", digits.ty)))
                }
                (false, _, Some(function)) => {
                    self.call_function(function, vec![Operand::Expr(x), Operand::Expr(digits)], Vec::new())
                }
                _ => Err(self.unsupported("round to digits is not supported here")),
            };
        }
        if is_int {
            return Ok(Operand::Expr(x));
        }
        let whole = self.function("round", Fun::Rint, Rule::Math, vec![x])?;
        Ok(Operand::Expr(self.cast(whole, &INT)?))
    }

    /// `cuda.float32x3(…)`: numbers and other vectors, one after the other.
    pub(super) fn vector(&mut self, d: DType, count: usize, args: &[Operand]) -> Result<Operand> {
        let mut items = Vec::new();
        for arg in args {
            let value = self.value(arg.clone())?;
            match &value.ty {
                Ty::Unknown => return Ok(Operand::Expr(value)),
                Ty::Tuple(..) => items.extend(self.items(value)),
                _ => items.push(value),
            }
        }
        if items.len() != count {
            return Err(self.typing(format!("a vector of {count} {} is made of {} numbers", d.name(), items.len())));
        }
        let items = items.into_iter().map(|e| self.cast_dtype(e, d)).collect::<Result<Vec<_>>>()?;
        let names: Vec<String> = ["x", "y", "z", "w"].iter().take(count).map(|&n| n.to_owned()).collect();
        Ok(Operand::Expr(tuple(items, Some(names.into()))))
    }

    /// `cuda.fp16.hfma`: once rounded from float32, in which the product is exact.
    fn half_fma(&mut self, args: &[Operand]) -> Result<Operand> {
        let mut values = Vec::new();
        for arg in args {
            let value = self.value(arg.clone())?;
            let half = self.cast_dtype(value, DType::F16)?;
            values.push(self.cast_dtype(half, DType::F32)?);
        }
        let Some(row) = table::row("cuda.fma") else { return Err(self.unsupported("fma is not supported")) };
        let sum = self.row(row, values)?;
        Ok(Operand::Expr(self.cast_dtype(sum, DType::F16)?))
    }

    /// The thread's place in the grid, or the grid's size: one number, or a tuple.
    fn grid(&mut self, name: &str, args: &[Operand]) -> Result<Operand> {
        let n = self.value(args[0].clone())?;
        let Some(n @ 1..=3) = self.constant_int(&n) else {
            let what = format!("{name} takes 1, 2 or 3, known when the kernel is compiled (RequireLiteralValue)");
            return Err(self.typing(what));
        };
        let mut items = Vec::new();
        for axis in ["x", "y", "z"].into_iter().take(n as usize) {
            let mut part = |what: &str| -> Result<Expr> {
                let row = table::row(&format!("cuda.{what}.{axis}"));
                match row {
                    Some(row) => {
                        let value = self.row(row, Vec::new())?;
                        self.cast(value, &INT)
                    }
                    None => Err(self.unsupported(format!("{name} is not supported"))),
                }
            };
            items.push(if name == "cuda.grid" {
                let (thread, block, width) = (part("threadIdx")?, part("blockIdx")?, part("blockDim")?);
                integers(Fun::Add, integers(Fun::Multiply, block, width), thread)
            } else {
                integers(Fun::Multiply, part("blockDim")?, part("gridDim")?)
            });
        }
        if n == 1 {
            return Ok(Operand::Expr(items.remove(0)));
        }
        Ok(Operand::Expr(tuple(items, None)))
    }

    /// What the threads of a block, or of the grid, are as a group: CUDA's and CuPy's words.
    fn group(&mut self, name: &str) -> Result<Operand> {
        let place = |what: &str| Value::Builtin(format!("cuda.{what}"));
        Ok(Operand::Expr(match name.trim_start_matches("cuda.cg.") {
            "block.thread_index" => return self.resolve(place("threadIdx")),
            "block.group_index" | "grid.block_index" => return self.resolve(place("blockIdx")),
            "block.group_dim" | "block.dim_threads" => return self.resolve(place("blockDim")),
            "grid.group_dim" | "grid.dim_blocks" => return self.resolve(place("gridDim")),
            "block.num_threads" | "block.size" => self.extent_of("blockDim")?,
            "block.thread_rank" => self.rank_in("threadIdx", "blockDim")?,
            "grid.num_blocks" => self.extent_of("gridDim")?,
            "grid.block_rank" => self.rank_in("blockIdx", "gridDim")?,
            "grid.num_threads" | "grid.size" => {
                integers(Fun::Multiply, self.extent_of("gridDim")?, self.extent_of("blockDim")?)
            }
            "grid.thread_rank" => {
                let before = integers(Fun::Multiply, self.rank_in("blockIdx", "gridDim")?, self.extent_of("blockDim")?);
                integers(Fun::Add, before, self.rank_in("threadIdx", "blockDim")?)
            }
            _ => return Err(self.unsupported(format!("{name} is not supported"))),
        }))
    }

    /// x, y and z of a place.
    fn axes(&mut self, what: &str) -> Result<[Expr; 3]> {
        let mut axis = |axis: &str| -> Result<Expr> {
            let row = table::row(&format!("cuda.{what}.{axis}"));
            let row = row.ok_or_else(|| self.unsupported(format!("cuda.{what} is not supported")))?;
            let value = self.row(row, Vec::new())?;
            self.cast(value, &INT)
        };
        Ok([axis("x")?, axis("y")?, axis("z")?])
    }

    fn extent_of(&mut self, what: &str) -> Result<Expr> {
        let [x, y, z] = self.axes(what)?;
        Ok(integers(Fun::Multiply, integers(Fun::Multiply, x, y), z))
    }

    /// x counts fastest.
    fn rank_in(&mut self, place: &str, extents: &str) -> Result<Expr> {
        let ([x, y, z], [width, height, _]) = (self.axes(place)?, self.axes(extents)?);
        let row = integers(Fun::Add, y, integers(Fun::Multiply, height, z));
        Ok(integers(Fun::Add, x, integers(Fun::Multiply, width, row)))
    }

    /// `cuda.shared.array(shape, dtype)`, `cuda.local.array(shape, dtype)`.
    fn array(&mut self, space: Space, args: &[Operand], named: &Named) -> Result<Operand> {
        let word = if space == Space::Shared { "cuda.shared.array" } else { "cuda.local.array" };
        let pick = |k: usize, name: &str| {
            args.get(k).cloned().or_else(|| named.iter().find(|(n, _)| *n == name).map(|(_, t)| t.clone()))
        };
        if args.len() > 3 {
            return Err(self.typing(format!("{word} takes 2 to 3 arguments, {} given", args.len())));
        }
        self.keywords(word, named, &["shape", "dtype", "alignment"][args.len()..])?;
        let (Some(shape), Some(dtype)) = (pick(0, "shape"), pick(1, "dtype")) else {
            return Err(self.typing(format!("{word} takes a shape and a dtype")));
        };
        let dtype_given = dtype.clone();
        let dtype = match &dtype {
            Operand::Value(Value::Type(ty @ (Ty::Scalar(_) | Ty::Record(_)))) => Some(ty.clone()),
            Operand::Value(Value::Str(name)) => DType::from_name(name).map(Ty::Scalar),
            Operand::Expr(e) if e.ty == Ty::Unknown => return Ok(dtype),
            _ => None,
        };
        let Some(elem) = dtype else {
            if let Operand::Value(Value::Str(name)) = &dtype_given {
                return Err(self.typing(format!("{word}: Invalid NumPy dtype specified: '{name}'")));
            }
            return Err(self.typing(format!("{word}: the dtype must be a type, such as float32")));
        };
        let shape = self.value(shape)?;
        if shape.ty.is_unknown() {
            return Ok(Operand::Expr(Expr::unknown()));
        }
        let axes = match &shape.ty {
            Ty::Tuple(..) => self.items(shape),
            _ => vec![shape],
        };
        let extents: Option<Vec<i64>> = axes.iter().map(|e| self.constant_int(e).filter(|&n| n >= 0)).collect();
        let Some(extents) = extents else {
            let error = self.typing(format!("{word}: the shape must be known when the kernel is compiled")).literal();
            return Err(match space {
                Space::Local => error.hint("use a literal or a global constant"),
                _ => error.hint(
                    "use a literal or a global constant, or give the size at the launch: \
                     cuda.shared.array(0, dtype) and kernel[grid, block, stream, bytes](…)",
                ),
            });
        };
        if extents.is_empty() {
            return Err(self
                .typing(format!("{word}: the shape is empty"))
                .hint("one value is an array of (1,), or a variable"));
        }
        let align = match pick(2, "alignment") {
            None | Some(Operand::Value(Value::None)) => 0,
            Some(operand) => {
                let known = match &operand {
                    Operand::Value(Value::Str(_)) => None,
                    _ => self.value(operand).map(|value| self.constant_int(&value))?,
                };
                match known.map(u32::try_from) {
                    Some(Ok(n)) if n.is_power_of_two() => n,
                    Some(_) => {
                        let message = format!("{word}: Alignment must be a power of two");
                        return Err(self.error(ErrorKind::Value, message));
                    }
                    None => {
                        let message = format!("RequireLiteralValue: {word}: alignment must be a constant integer");
                        return Err(self.typing(message).literal());
                    }
                }
            }
        };
        let dynamic = space == Space::Shared && extents == [0];
        let (space, shape) = if dynamic { (Space::Dynamic, Vec::new()) } else { (space, extents) };
        let bytes = shape.iter().try_fold(elem.item_size() as i64, |n, &d| n.checked_mul(d));
        if bytes.is_none_or(|b| b > 1 << 24) {
            return Err(self.typing(format!("{word}: the array is too large")));
        }
        let ndim = shape.len().max(1);
        let ty = ArrayTy { elem: Box::new(elem.clone()), ndim: ndim as u8, order: Order::C, mutable: true };
        self.arrays.push(ir::LocalArray { space, elem, shape, align });
        let ty = Ty::Array(ty);
        Ok(Operand::Expr(Expr::new(ty, Kind::Declared(self.arrays.len() - 1))))
    }

    fn print(&mut self, args: &[Operand], named: &Named) -> Result<Operand> {
        self.no_keywords("print", named)?;
        let mut parts = Vec::new();
        for (k, arg) in args.iter().enumerate() {
            if k > 0 {
                parts.push(Printed::Text(" ".into()));
            }
            if let Operand::Value(Value::Str(text)) = arg {
                parts.push(Printed::Text(text.clone()));
                continue;
            }
            let value = self.value(arg.clone())?;
            self.printed(value, &mut parts)?;
        }
        self.emit(StmtKind::Print(parts));
        Ok(Operand::Value(Value::None))
    }

    /// A number, or a tuple as Python writes it.
    fn printed(&mut self, value: Expr, parts: &mut Vec<Printed>) -> Result<()> {
        match &value.ty {
            Ty::Unknown => {}
            Ty::Scalar(_) => {
                let value = self.stabilize("t", value);
                parts.push(Printed::Value(value));
            }
            Ty::None => parts.push(Printed::Text("None".into())),
            Ty::Tuple(..) => {
                let items = self.items(value);
                let single = items.len() == 1;
                parts.push(Printed::Text("(".into()));
                for (k, item) in items.into_iter().enumerate() {
                    if k > 0 {
                        parts.push(Printed::Text(", ".into()));
                    }
                    self.printed(item, parts)?;
                }
                parts.push(Printed::Text(if single { ",)" } else { ")" }.into()));
            }
            ty => {
                return Err(self.typing(format!("{ty} cannot be printed from a kernel")).hint("print its elements"));
            }
        }
        Ok(())
    }
}

/// Whether values of a type (`None`: text) are of a class, which is named as Python or NumPy names it.
fn is_instance(ty: Option<&Ty>, class: &str) -> bool {
    match ty {
        None => class == "str",
        Some(Ty::None) => class == "NoneType",
        Some(Ty::Tuple(..)) => class == "tuple",
        Some(Ty::Array(a)) => class == if a.ndim == 0 && a.record().is_some() { "np.void" } else { "np.ndarray" },
        Some(Ty::Scalar(d)) => match class {
            "bool" => *d == DType::Bool,
            "int" => d.is_int() || *d == DType::Bool,
            "float" => d.is_float(),
            "complex" => d.is_complex(),
            "np.integer" => d.is_int(),
            "np.signedinteger" => d.kind() == cuprous_core::Kind::Int,
            "np.unsignedinteger" => d.kind() == cuprous_core::Kind::UInt,
            "np.floating" => d.is_float(),
            "np.complexfloating" => d.is_complex(),
            "np.inexact" => d.is_float() || d.is_complex(),
            "np.number" => *d != DType::Bool,
            exact => exact.strip_prefix("np.") == Some(d.name()) || exact == "np.bool" && *d == DType::Bool,
        },
        _ => false,
    }
}

fn is_false(operand: &Operand) -> bool {
    matches!(operand, Operand::Value(Value::Number(Number::Bool(false))))
}
