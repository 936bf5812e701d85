//! Several threads at a time, as lanes of vectors: expressions.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{ConstantData, InstBuilder, MemFlagsData, Type, Value, types};
use cuprous_core::{DType, Error, Fun, Kind as Sort, Result};
use cuprous_kernel::ir::{Expr, Kind, Stmt};
use cuprous_kernel::lanes::Class;
use cuprous_kernel::types::Ty;

use super::address::without_constant;
use super::code::Body;
use super::regions::Plan;
use super::values::{Values, register};
use super::wide::{Chunks, Verdict, WIDTH, Wide};

/// Where the lanes of an element access lie.
enum Place {
    /// All at one address.
    Same(Value, i32),
    /// The first lane's address and what is added to it, and bytes from lane to lane.
    Step(Value, i32, Value, Option<i64>),
    /// Each its own.
    Each(Vec<Value>),
}

/// What a value in memory is read with: it need not lie at a multiple of a vector's size.
fn loose() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

fn float_compare(fun: Fun) -> Option<FloatCC> {
    Some(match fun {
        Fun::Equal => FloatCC::Equal,
        Fun::NotEqual => FloatCC::NotEqual,
        Fun::Less => FloatCC::LessThan,
        Fun::LessEqual => FloatCC::LessThanOrEqual,
        Fun::Greater => FloatCC::GreaterThan,
        Fun::GreaterEqual => FloatCC::GreaterThanOrEqual,
        _ => return None,
    })
}

fn int_compare(fun: Fun, signed: bool) -> Option<IntCC> {
    let cc = match fun {
        Fun::Equal => IntCC::Equal,
        Fun::NotEqual => IntCC::NotEqual,
        Fun::Less => IntCC::SignedLessThan,
        Fun::LessEqual => IntCC::SignedLessThanOrEqual,
        Fun::Greater => IntCC::SignedGreaterThan,
        Fun::GreaterEqual => IntCC::SignedGreaterThanOrEqual,
        _ => return None,
    };
    Some(if signed { cc } else { cc.unsigned() })
}

/// Whether an expression may be computed where nobody asked for it: nothing that reads memory.
fn is_safe(e: &Expr) -> bool {
    let mut safe = !matches!(e.kind, Kind::Load(..)) && !e.has_effect();
    e.parts(&mut |part| safe &= is_safe(part));
    safe
}

impl Body<'_, '_, '_> {
    /// The vector of numbers of a type; truth values are bytes.
    pub(super) fn vector(d: DType) -> Type {
        let t = register(d);
        t.by(16 / t.bytes()).unwrap_or(types::I8X16)
    }

    pub(super) fn load_chunks(&mut self, d: DType, at: Value, far: i32) -> Chunks {
        let t = Self::vector(d);
        let count = WIDTH as i32 / t.lane_count() as i32;
        let chunks: Chunks = (0..count).map(|k| self.b.ins().load(t, loose(), at, far + 16 * k)).collect();
        if d == DType::Bool { chunks.into_iter().map(|c| self.b.ins().ineg(c)).collect() } else { chunks }
    }

    pub(super) fn store_chunks(&mut self, d: DType, chunks: &[Value], at: Value, far: i32) {
        let chunks: Chunks = if d == DType::Bool {
            let bytes = self.mask_of(chunks.into(), 1);
            bytes.into_iter().map(|c| self.b.ins().ineg(c)).collect()
        } else {
            chunks.into()
        };
        for (k, &chunk) in chunks.iter().enumerate() {
            self.b.ins().store(loose(), chunk, at, far + 16 * k as i32);
        }
    }

    /// A number in all lanes.
    pub(super) fn splat(&mut self, value: Value, d: DType) -> Chunks {
        let t = Self::vector(d);
        let value = if d == DType::Bool { self.b.ins().ineg(value) } else { value };
        let chunk = self.b.ins().splat(t, value);
        (0..WIDTH / i64::from(t.lane_count())).map(|_| chunk).collect()
    }

    /// As vectors of numbers of that type.
    pub(super) fn chunks(&mut self, value: Wide, d: DType) -> Chunks {
        match value {
            Wide::Each(chunks) if d == DType::I64 && self.is_half(&chunks) => {
                let halves = chunks.iter().flat_map(|&c| [self.b.ins().swiden_low(c), self.b.ins().swiden_high(c)]);
                halves.collect()
            }
            Wide::Same(value) => self.splat(value, d),
            Wide::Step(first, k) => {
                let t = Self::vector(d);
                let (lanes, size) = (t.lane_count() as usize, t.lane_type().bytes() as usize);
                let base = self.b.ins().splat(t, first);
                (0..WIDTH as usize / lanes)
                    .map(|c| {
                        let far = (0..lanes).flat_map(|l| {
                            let far = (c * lanes + l) as i64;
                            far.wrapping_mul(k).to_le_bytes()[..size].to_vec()
                        });
                        let data: Vec<u8> = far.collect();
                        let constant = self.b.func.dfg.constants.insert(ConstantData::from(&data[..]));
                        let steps = self.b.ins().vconst(t, constant);
                        self.b.ins().iadd(base, steps)
                    })
                    .collect()
            }
            Wide::Each(chunks) => chunks,
        }
    }

    /// Whether 64-bit integers are held in 32 bits.
    fn is_half(&self, chunks: &Chunks) -> bool {
        self.b.func.dfg.value_type(chunks[0]).lane_type() == types::I32
    }

    /// Small 64-bit integers in 32 bits.
    pub(super) fn small_chunks(&mut self, value: Wide) -> Chunks {
        match value {
            Wide::Each(chunks) if self.is_half(&chunks) => chunks,
            Wide::Each(chunks) => self.halved(&chunks),
            Wide::Same(value) => {
                let value = self.b.ins().ireduce(types::I32, value);
                self.chunks(Wide::Same(value), DType::I32)
            }
            Wide::Step(first, k) => {
                let first = self.b.ins().ireduce(types::I32, first);
                self.chunks(Wide::Step(first, k), DType::I32)
            }
        }
    }

    /// Whether a 64-bit integer fits into 32 bits.
    pub(super) fn is_small(&self, e: &Expr) -> bool {
        e.dtype() == Some(DType::I64) && self.sizes.bits(e) <= 30
    }

    /// A mask whose lanes have that many bytes.
    pub(super) fn mask_of(&mut self, mut chunks: Chunks, bytes: u32) -> Chunks {
        let size = |body: &Self, chunks: &Chunks| body.b.func.dfg.value_type(chunks[0]).lane_type().bytes();
        while size(self, &chunks) < bytes {
            let halves = chunks.iter().flat_map(|&c| [self.b.ins().swiden_low(c), self.b.ins().swiden_high(c)]);
            chunks = halves.collect();
        }
        while size(self, &chunks) > bytes {
            chunks = self.halved(&chunks);
        }
        chunks
    }

    /// Integers of half the size: the low halves of each.
    fn halved(&mut self, chunks: &Chunks) -> Chunks {
        let from = self.b.func.dfg.value_type(chunks[0]);
        let size = from.lane_type().bytes() as u8;
        let to = Type::int_with_byte_size(u16::from(size) / 2).and_then(|t| t.by(32 / u32::from(size)));
        let to = to.unwrap_or(types::I8X16);
        let kept: Vec<u8> = (0..32u8).filter(|b| b % size < size / 2).collect();
        let kept = self.b.func.dfg.immediates.push(ConstantData::from(&kept[..]));
        let little = MemFlagsData::new().with_endianness(cranelift_codegen::ir::Endianness::Little);
        let mut halves = Chunks::new();
        for pair in chunks.chunks(2) {
            let (a, b) = (pair[0], pair[pair.len() - 1]);
            let a = self.b.ins().bitcast(types::I8X16, little, a);
            let b = self.b.ins().bitcast(types::I8X16, little, b);
            let both = self.b.ins().shuffle(a, b, kept);
            halves.push(if to == types::I8X16 { both } else { self.b.ins().bitcast(to, little, both) });
        }
        halves
    }

    /// The number of a lane.
    fn lane_of(&mut self, value: &Wide, d: DType, lane: i64) -> Value {
        match value {
            Wide::Same(value) => *value,
            Wide::Step(first, k) => self.b.ins().iadd_imm_s(*first, lane.wrapping_mul(*k)),
            Wide::Each(chunks) => {
                let t = self.b.func.dfg.value_type(chunks[0]);
                let lanes = i64::from(t.lane_count());
                let value = self.b.ins().extractlane(chunks[(lane / lanes) as usize], (lane % lanes) as u8);
                if d == DType::I64 {
                    return self.resize(value, types::I64, true);
                }
                if d != DType::Bool {
                    return value;
                }
                let value = self.resize(value, types::I8, true);
                self.b.ins().band_imm_s(value, 1)
            }
        }
    }

    /// Vectors of the numbers of all lanes.
    fn gathered(&mut self, values: &[Value], d: DType) -> Chunks {
        let t = Self::vector(d);
        let mut chunks = Chunks::new();
        for part in values.chunks(t.lane_count() as usize) {
            let mut chunk = self.b.ins().splat(t, part[0]);
            for (lane, &value) in part.iter().enumerate().skip(1) {
                chunk = self.b.ins().insertlane(chunk, value, lane as u8);
            }
            chunks.push(if d == DType::Bool { self.b.ins().ineg(chunk) } else { chunk });
        }
        chunks
    }

    /// The value in all lanes.
    pub(super) fn wide(&mut self, plan: &Plan, e: &Expr) -> Result<Wide> {
        let d = e.dtype().unwrap_or(DType::I64);
        match plan.lanes.class(e) {
            Class::Block | Class::Row => return Ok(Wide::Same(self.one(e)?)),
            Class::Step(k) => return Ok(Wide::Step(self.one(e)?, k)),
            Class::Each => {}
        }
        Ok(match &e.kind {
            Kind::Var(v) => Wide::Each(self.get_wide(*v)),
            Kind::Cast(from) => {
                let value = self.wide(plan, from)?;
                self.wide_cast(value, from.dtype().unwrap_or(DType::I64), d, self.is_small(e))?
            }
            Kind::Fun(fun, d, args) => {
                let mut values = Vec::new();
                for arg in args {
                    values.push(self.wide(plan, arg)?);
                }
                let compares = int_compare(*fun, true).is_some();
                if *d == DType::I64 && args.iter().all(|a| self.is_small(a)) && (compares || self.is_small(e)) {
                    let small: Vec<Wide> = values.iter().map(|v| Wide::Each(self.small_chunks(v.clone()))).collect();
                    if let Some(chunks) = self.vector_fun(*fun, DType::I32, &small, args) {
                        return Ok(Wide::Each(chunks));
                    }
                }
                self.wide_fun(*fun, *d, &values, args)?
            }
            Kind::Not(a) => {
                let a = self.wide(plan, a)?;
                let a = self.chunks(a, DType::Bool);
                Wide::Each(a.into_iter().map(|c| self.b.ins().bnot(c)).collect())
            }
            Kind::And(a, b) | Kind::Or(a, b) if is_safe(b) => {
                let fun = if matches!(e.kind, Kind::And(..)) { Fun::LogicalAnd } else { Fun::LogicalOr };
                let values = [self.wide(plan, a)?, self.wide(plan, b)?];
                self.wide_fun(fun, DType::Bool, &values, &[])?
            }
            Kind::Select(c, a, b) if is_safe(a) && is_safe(b) => {
                let c = self.wide(plan, c)?;
                let small = self.is_small(a) && self.is_small(b);
                let (a, b) = (self.wide(plan, a)?, self.wide(plan, b)?);
                if small {
                    let (a, b) = (Wide::Each(self.small_chunks(a)), Wide::Each(self.small_chunks(b)));
                    return Ok(self.wide_select(c, a, b, DType::I32));
                }
                self.wide_select(c, a, b, d)
            }
            Kind::And(..) | Kind::Or(..) | Kind::Select(..) => self.wide_choice(plan, e)?,
            Kind::Item(of, k) => match &of.kind {
                Kind::Tuple(items) => self.wide(plan, &items[*k])?,
                _ => return Err(Error::runtime("[kernel] lanes of a tuple")),
            },
            Kind::Load(array, indices) => match self.wide_place(plan, array, indices)? {
                Some((Place::Same(at, far), _)) => Wide::Same(self.b.ins().load(register(d), Self::trusted(), at, far)),
                Some((Place::Step(at, far, step, known), mixed)) => {
                    let Some(mixed) = mixed else {
                        return Ok(Wide::Each(self.load_step(d, (at, far), step, known)));
                    };
                    // Where only some of the indices count from the end.
                    let (fast, slow, end) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
                    let t = Self::vector(d);
                    for _ in 0..WIDTH / i64::from(t.lane_count()) {
                        self.b.append_block_param(end, t);
                    }
                    self.b.ins().brif(mixed, slow, &[], fast, &[]);
                    self.b.set_cold_block(slow);
                    self.b.switch_to_block(slow);
                    let chunks = self.expr_by_lane(plan, e)?;
                    let args: Vec<_> = chunks.iter().map(|&c| c.into()).collect();
                    self.b.ins().jump(end, &args);
                    self.b.switch_to_block(fast);
                    let chunks = self.load_step(d, (at, far), step, known);
                    let args: Vec<_> = chunks.iter().map(|&c| c.into()).collect();
                    self.b.ins().jump(end, &args);
                    self.b.switch_to_block(end);
                    Wide::Each(self.b.block_params(end).into())
                }
                Some((Place::Each(places), _)) => {
                    let t = register(d);
                    let values: Vec<Value> =
                        places.iter().map(|&at| self.b.ins().load(t, Self::trusted(), at, 0)).collect();
                    Wide::Each(self.gathered(&values, d))
                }
                None => Wide::Each(self.expr_by_lane(plan, e)?),
            },
            _ => Wide::Each(self.expr_by_lane(plan, e)?),
        })
    }

    fn load_step(&mut self, d: DType, (at, far): (Value, i32), step: Value, known: Option<i64>) -> Chunks {
        if known == Some(d.size() as i64) {
            return self.load_chunks(d, at, far);
        }
        let t = register(d);
        let mut values = Vec::new();
        let mut place = at;
        for lane in 0..WIDTH {
            values.push(match known.and_then(|k| i32::try_from(i64::from(far) + k * lane).ok()) {
                Some(far) => self.b.ins().load(t, Self::trusted(), at, far),
                None => {
                    let value = self.b.ins().load(t, Self::trusted(), place, far);
                    place = self.b.ins().iadd(place, step);
                    value
                }
            });
        }
        self.gathered(&values, d)
    }

    /// Where the lanes' elements lie, and whether only some of the indices are negative.
    fn wide_place(&mut self, plan: &Plan, array: &Expr, indices: &[Expr]) -> Result<Option<(Place, Option<Value>)>> {
        let values = self.expr(array)?;
        let Ty::Array(ty) = &array.ty else { return Ok(None) };
        let mut at = Vec::new();
        let mut mixed: Option<Value> = None;
        let mut any = false;
        let mut apart = Vec::new();
        for (axis, index) in indices.iter().enumerate() {
            let d = index.dtype().unwrap_or(DType::I64);
            let natural = self.natural(index);
            let (rest, more) = if natural { without_constant(index) } else { (Some(index), 0) };
            apart.push(more);
            let Some(index) = rest else {
                at.push(None);
                continue;
            };
            let extent = values[1 + axis];
            at.push(Some(match self.wide(plan, index)? {
                Wide::Same(value) => Wide::Same(if natural { value } else { self.wrapped(value, extent) }),
                Wide::Step(value, k) if natural => Wide::Step(value, k),
                Wide::Step(value, k) => {
                    let last = self.b.ins().iadd_imm_s(value, k.wrapping_mul(WIDTH - 1));
                    let differ = self.b.ins().bxor(value, last);
                    let part = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, differ, 0);
                    mixed = Some(mixed.map_or(part, |m| self.b.ins().bor(m, part)));
                    Wide::Step(self.wrapped(value, extent), k)
                }
                value => {
                    any = true;
                    if natural {
                        value
                    } else {
                        let chunks = self.chunks(value, d);
                        let extent = self.b.ins().splat(Self::vector(d), extent);
                        let wrapped = chunks.into_iter().map(|c| {
                            // The sign as a mask.
                            let sign = self.b.ins().sshr_imm_s(c, 8 * d.size() as i64 - 1);
                            let back = self.b.ins().band(extent, sign);
                            self.b.ins().iadd(c, back)
                        });
                        Wide::Each(wrapped.collect())
                    }
                }
            }));
        }
        let strides = self.known_strides(array, ty, &values);
        let (mut place, far) = self.moved(values[0], &apart, &strides);
        let mut step: Option<(Value, Option<i64>)> = None;
        for (index, &stride) in at.iter().zip(&strides) {
            let Some(Wide::Same(value) | Wide::Step(value, _)) = *index else { continue };
            let far = self.distance(value, stride);
            place = self.b.ins().iadd(place, far);
            if let Some(Wide::Step(_, k)) = *index {
                let own = (self.b.ins().imul_imm_s(stride.0, k), stride.1.map(|s| s * k));
                step = Some(match step {
                    None => own,
                    Some(before) => {
                        let both = before.1.zip(own.1).map(|(a, b)| a + b);
                        (self.b.ins().iadd(before.0, own.0), both)
                    }
                });
            }
        }
        if !any {
            return Ok(Some(match step {
                None => (Place::Same(place, far), None),
                Some((bytes, known)) => (Place::Step(place, far, bytes, known), mixed),
            }));
        }
        if mixed.is_some() {
            return Ok(None);
        }
        place = self.b.ins().iadd_imm_s(place, i64::from(far));
        let mut places = Vec::new();
        for lane in 0..WIDTH {
            let mut at_lane = place;
            for (index, &stride) in at.iter().zip(&strides) {
                let Some(index @ Wide::Each(_)) = index else { continue };
                let value = self.lane_of(index, DType::I64, lane);
                let far = self.distance(value, stride);
                at_lane = self.b.ins().iadd(at_lane, far);
            }
            if let Some((bytes, _)) = step {
                let far = self.b.ins().imul_imm_s(bytes, lane);
                at_lane = self.b.ins().iadd(at_lane, far);
            }
            places.push(at_lane);
        }
        Ok(Some((Place::Each(places), None)))
    }

    pub(super) fn wide_store(
        &mut self,
        plan: &Plan,
        stmt: &Stmt,
        array: &Expr,
        indices: &[Expr],
        value: &Expr,
    ) -> Result<()> {
        let d = value.dtype().unwrap_or(DType::I64);
        let part = std::slice::from_ref(stmt);
        let Some((place, mixed)) = self.wide_place(plan, array, indices)? else {
            return self.by_lane(plan, part, |body| body.stmt(&stmt.kind));
        };
        let (fast, slow, end) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        if let Some(mixed) = mixed {
            self.b.ins().brif(mixed, slow, &[], fast, &[]);
            self.b.set_cold_block(slow);
            self.b.switch_to_block(slow);
            self.by_lane(plan, part, |body| body.stmt(&stmt.kind))?;
        } else {
            self.b.ins().jump(fast, &[]);
            self.b.switch_to_block(slow);
        }
        self.b.ins().jump(end, &[]);
        self.b.switch_to_block(fast);
        let value = self.wide(plan, value)?;
        match place {
            Place::Same(at, far) => {
                // The last lane's stays.
                let last = self.lane_of(&value, d, WIDTH - 1);
                self.b.ins().store(Self::trusted(), last, at, far);
            }
            Place::Step(at, far, _, Some(known)) if known == d.size() as i64 => {
                let chunks = self.chunks(value, d);
                self.store_chunks(d, &chunks, at, far);
            }
            Place::Step(at, far, step, _) => {
                let mut place = at;
                for lane in 0..WIDTH {
                    let value = self.lane_of(&value, d, lane);
                    self.b.ins().store(Self::trusted(), value, place, far);
                    place = self.b.ins().iadd(place, step);
                }
            }
            Place::Each(places) => {
                for (lane, at) in (0..).zip(places) {
                    let value = self.lane_of(&value, d, lane);
                    self.b.ins().store(Self::trusted(), value, at, 0);
                }
            }
        }
        self.b.ins().jump(end, &[]);
        self.b.switch_to_block(end);
        Ok(())
    }

    /// `a and b`, `a or b`, `x if c else y`, where what is not asked for may not be looked at.
    fn wide_choice(&mut self, plan: &Plan, e: &Expr) -> Result<Wide> {
        let d = e.dtype().unwrap_or(DType::I64);
        let (test, yes, no) = match &e.kind {
            Kind::Select(c, a, b) => (c, Some(a), Some(b)),
            Kind::And(a, b) => (a, Some(b), None),
            Kind::Or(a, b) => (a, None, Some(b)),
            _ => return Err(Error::runtime("[kernel] no choice")),
        };
        let end = self.b.create_block();
        let t = Self::vector(d);
        for _ in 0..WIDTH / i64::from(t.lane_count()) {
            self.b.append_block_param(end, t);
        }
        let blocks = [(); 4].map(|()| self.b.create_block());
        let verdict = self.test(plan, test)?;
        self.b.ins().brif(verdict.all, blocks[0], &[], blocks[3], &[]);
        self.b.switch_to_block(blocks[3]);
        self.b.ins().brif(verdict.none, blocks[1], &[], blocks[2], &[]);
        for (k, arm) in [yes, no].into_iter().enumerate() {
            self.b.switch_to_block(blocks[k]);
            let value = match arm {
                Some(arm) => self.wide(plan, arm)?,
                // What decided.
                None => Wide::Same(self.b.ins().iconst(types::I8, i64::from(k == 0))),
            };
            let mut chunks = self.chunks(value, d);
            if d == DType::Bool {
                chunks = self.mask_of(chunks, 1);
            }
            let args: Vec<_> = chunks.iter().map(|&c| c.into()).collect();
            self.b.ins().jump(end, &args);
        }
        self.b.switch_to_block(blocks[2]);
        let chunks = self.expr_by_lane(plan, e)?;
        let args: Vec<_> = chunks.iter().map(|&c| c.into()).collect();
        self.b.ins().jump(end, &args);
        self.b.switch_to_block(end);
        Ok(Wide::Each(self.b.block_params(end).into()))
    }

    /// Whether all lanes find something true, or none.
    pub(super) fn test(&mut self, plan: &Plan, e: &Expr) -> Result<Verdict> {
        if plan.lanes.class(e).is_same() {
            let all = self.one(e)?;
            let none = self.b.ins().icmp_imm_s(IntCC::Equal, all, 0);
            return Ok(Verdict { all, none });
        }
        match &e.kind {
            Kind::Not(a) => {
                let Verdict { all, none } = self.test(plan, a)?;
                return Ok(Verdict { all: none, none: all });
            }
            Kind::And(a, b) | Kind::Or(a, b) => {
                let and = matches!(e.kind, Kind::And(..));
                let first = self.test(plan, a)?;
                if is_safe(b) {
                    let second = self.test(plan, b)?;
                    let both = self.b.ins().band(first.all, second.all);
                    let neither = self.b.ins().band(first.none, second.none);
                    let one = self.b.ins().bor(first.all, second.all);
                    let not_one = self.b.ins().bor(first.none, second.none);
                    return Ok(match and {
                        true => Verdict { all: both, none: not_one },
                        false => Verdict { all: one, none: neither },
                    });
                }
                // The second is looked at where all lanes do; where only some would, nothing is known.
                let (more, less, end) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
                self.b.append_block_param(end, types::I8);
                self.b.append_block_param(end, types::I8);
                let goes_on = if and { first.all } else { first.none };
                self.b.ins().brif(goes_on, more, &[], less, &[]);
                self.b.switch_to_block(less);
                let no = self.b.ins().iconst(types::I8, 0);
                let (all, none) = if and { (no, first.none) } else { (first.all, no) };
                self.b.ins().jump(end, &[all.into(), none.into()]);
                self.b.switch_to_block(more);
                let second = self.test(plan, b)?;
                self.b.ins().jump(end, &[second.all.into(), second.none.into()]);
                self.b.switch_to_block(end);
                let params = self.b.block_params(end);
                return Ok(Verdict { all: params[0], none: params[1] });
            }
            Kind::Fun(fun, d, args) if args.len() == 2 && d.kind() == Sort::Int => {
                let classes = [plan.lanes.class(&args[0]), plan.lanes.class(&args[1])];
                if int_compare(*fun, true).is_some() && !classes.contains(&Class::Each) {
                    let (a, b) = (self.wide(plan, &args[0])?, self.wide(plan, &args[1])?);
                    if let Some(verdict) = self.compare_ends(*fun, *d, &a, &b) {
                        return Ok(verdict);
                    }
                }
            }
            _ => {}
        }
        let mask = self.wide(plan, e)?;
        let chunks = self.chunks(mask, DType::Bool);
        let (mut every, mut any) = (chunks[0], chunks[0]);
        for &chunk in &chunks[1..] {
            every = self.b.ins().band(every, chunk);
            any = self.b.ins().bor(any, chunk);
        }
        let all = self.b.ins().vall_true(every);
        let any = self.b.ins().vany_true(any);
        let none = self.b.ins().icmp_imm_s(IntCC::Equal, any, 0);
        Ok(Verdict { all, none })
    }

    /// Comparisons of numbers that grow evenly: what the first and the last lane say tells what all do.
    pub(super) fn compare_ends(&mut self, fun: Fun, d: DType, a: &Wide, b: &Wide) -> Option<Verdict> {
        let (Wide::Same(x) | Wide::Step(x, _), Wide::Same(y) | Wide::Step(y, _)) = (a, b) else { return None };
        let step = |w: &Wide| if let Wide::Step(_, k) = w { *k } else { 0 };
        let cc = int_compare(fun, d.kind() == Sort::Int)?;
        if matches!(fun, Fun::Equal | Fun::NotEqual) {
            let k = step(a).wrapping_sub(step(b));
            if k == 0 {
                return None;
            }
            // Equal in at most one lane, and in none unless the distance is within that of the lanes.
            let far = if k > 0 { self.b.ins().isub(*y, *x) } else { self.b.ins().isub(*x, *y) };
            let most = k.unsigned_abs().checked_mul(WIDTH as u64 - 1).and_then(|n| i64::try_from(n).ok())?;
            let most = self.b.ins().iconst(register(d), most);
            let never = self.b.ins().icmp(IntCC::UnsignedGreaterThan, far, most);
            let no = self.b.ins().iconst(types::I8, 0);
            return Some(if fun == Fun::Equal {
                Verdict { all: no, none: never }
            } else {
                Verdict { all: never, none: no }
            });
        }
        let ends = |body: &mut Self, w: &Wide, value: Value| match step(w) {
            0 => value,
            k => body.b.ins().iadd_imm_s(value, k.wrapping_mul(WIDTH - 1)),
        };
        let first = self.b.ins().icmp(cc, *x, *y);
        let (x, y) = (ends(self, a, *x), ends(self, b, *y));
        let last = self.b.ins().icmp(cc, x, y);
        let all = self.b.ins().band(first, last);
        let some = self.b.ins().bor(first, last);
        let none = self.b.ins().icmp_imm_s(IntCC::Equal, some, 0);
        Some(Verdict { all, none })
    }

    fn wide_select(&mut self, c: Wide, a: Wide, b: Wide, d: DType) -> Wide {
        if let Wide::Same(test) = c {
            let (a, b) = (self.chunks(a, d), self.chunks(b, d));
            let (a, b) = if d == DType::Bool { (self.mask_of(a, 1), self.mask_of(b, 1)) } else { (a, b) };
            return Wide::Each(a.iter().zip(&b).map(|(&x, &y)| self.b.ins().select(test, x, y)).collect());
        }
        let mask = self.chunks(c, DType::Bool);
        let size = if d == DType::Bool { 1 } else { d.size() as u32 };
        let mask = self.mask_of(mask, size);
        let (a, b) = (self.chunks(a, d), self.chunks(b, d));
        let (a, b) = if d == DType::Bool { (self.mask_of(a, 1), self.mask_of(b, 1)) } else { (a, b) };
        let plain = MemFlagsData::new().with_endianness(cranelift_codegen::ir::Endianness::Little);
        let mut all = Chunks::new();
        for ((&m, &x), &y) in mask.iter().zip(&a).zip(&b) {
            let t = self.b.func.dfg.value_type(x);
            let m = if self.b.func.dfg.value_type(m) == t { m } else { self.b.ins().bitcast(t, plain, m) };
            all.push(self.b.ins().bitselect(m, x, y));
        }
        Wide::Each(all)
    }

    fn wide_cast(&mut self, value: Wide, mut from: DType, to: DType, small: bool) -> Result<Wide> {
        if from == to {
            return Ok(value);
        }
        if let Wide::Each(chunks) = &value
            && from == DType::I64
            && self.is_half(chunks)
        {
            from = DType::I32;
            if from == to {
                return Ok(value);
            }
        }
        // Held in 32 bits.
        let small = small && from.is_int() && from.size() <= 4;
        let to = if small { DType::I32 } else { to };
        if small && from.size() == 4 {
            return Ok(Wide::Each(self.chunks(value, from)));
        }
        let mut chunks = self.chunks(value.clone(), from);
        let whole = |d: DType| d.is_int();
        if to == DType::Bool && from != DType::Bool {
            let t = Self::vector(from);
            let zero = self.zero(t.lane_type());
            let zero = self.b.ins().splat(t, zero);
            let float = from.is_float();
            let mask = chunks.into_iter().map(|c| {
                if float {
                    self.b.ins().fcmp(FloatCC::NotEqual, c, zero)
                } else {
                    self.b.ins().icmp(IntCC::NotEqual, c, zero)
                }
            });
            return Ok(Wide::Each(mask.collect()));
        }
        if from == DType::Bool && whole(to) {
            let mask = self.mask_of(chunks, to.size() as u32);
            return Ok(Wide::Each(mask.into_iter().map(|c| self.b.ins().ineg(c)).collect()));
        }
        if whole(from) && whole(to) {
            let signed = from.kind() == Sort::Int;
            let size = |body: &Self, chunks: &Chunks| body.b.func.dfg.value_type(chunks[0]).lane_type().bytes();
            while size(self, &chunks) < to.size() as u32 {
                let mut wider = Chunks::new();
                for &c in &chunks {
                    wider.push(if signed { self.b.ins().swiden_low(c) } else { self.b.ins().uwiden_low(c) });
                    wider.push(if signed { self.b.ins().swiden_high(c) } else { self.b.ins().uwiden_high(c) });
                }
                chunks = wider;
            }
            while size(self, &chunks) > to.size() as u32 {
                chunks = self.halved(&chunks);
            }
            return Ok(Wide::Each(chunks));
        }
        if from == DType::I32 && to == DType::F32 {
            let t = Self::vector(to);
            return Ok(Wide::Each(chunks.into_iter().map(|c| self.b.ins().fcvt_from_sint(t, c)).collect()));
        }
        self.lane_by_lane(from, to, &[value], |body, v| Ok(body.convert(v, from, to)?[0]))
    }

    /// An operation for which there is no vector instruction.
    fn lane_by_lane(
        &mut self,
        from: DType,
        to: DType,
        values: &[Wide],
        mut f: impl FnMut(&mut Self, &[Value]) -> Result<Value>,
    ) -> Result<Wide> {
        let mut results = Vec::new();
        for lane in 0..WIDTH {
            let operands: Vec<Value> = values.iter().map(|v| self.lane_of(v, from, lane)).collect();
            results.push(f(self, &operands)?);
        }
        Ok(Wide::Each(self.gathered(&results, to)))
    }

    fn wide_fun(&mut self, fun: Fun, d: DType, values: &[Wide], args: &[Expr]) -> Result<Wide> {
        if let Some(chunks) = self.vector_fun(fun, d, values, args) {
            return Ok(Wide::Each(chunks));
        }
        let to = fun.result(d);
        let known = args.get(1).and_then(Expr::as_int);
        self.lane_by_lane(d, to, values, |body, v| {
            let operands: Vec<Values> = v.iter().map(|&v| Values::from_slice(&[v])).collect();
            Ok(body.fun_of(fun, d, &operands, known)?[0])
        })
    }

    /// What vectors have instructions for.
    fn vector_fun(&mut self, fun: Fun, d: DType, values: &[Wide], args: &[Expr]) -> Option<Chunks> {
        let each = |body: &mut Self, k: usize| body.chunks(values[k].clone(), d);
        let two = |body: &mut Self, f: &mut dyn FnMut(&mut Self, Value, Value) -> Value| {
            let (a, b) = (each(body, 0), each(body, 1));
            Some(a.iter().zip(&b).map(|(&a, &b)| f(body, a, b)).collect())
        };
        let one = |body: &mut Self, f: &mut dyn FnMut(&mut Self, Value) -> Value| {
            let a = each(body, 0);
            Some(a.iter().map(|&a| f(body, a)).collect())
        };
        if d == DType::Bool {
            let a = each(self, 0);
            if matches!(fun, Fun::Invert | Fun::LogicalNot) {
                return Some(a.iter().map(|&a| self.b.ins().bnot(a)).collect());
            }
            if !matches!(
                fun,
                Fun::BitwiseAnd | Fun::LogicalAnd | Fun::BitwiseOr | Fun::LogicalOr | Fun::BitwiseXor | Fun::LogicalXor
            ) {
                return None;
            }
            let b = each(self, 1);
            let size = |c: &Chunks| self.b.func.dfg.value_type(c[0]).lane_type().bytes();
            let size = size(&a).max(size(&b));
            let (a, b) = (self.mask_of(a, size), self.mask_of(b, size));
            let pairs = a.iter().zip(&b);
            return Some(
                pairs
                    .map(|(&a, &b)| match fun {
                        Fun::BitwiseAnd | Fun::LogicalAnd => self.b.ins().band(a, b),
                        Fun::BitwiseOr | Fun::LogicalOr => self.b.ins().bor(a, b),
                        _ => self.b.ins().bxor(a, b),
                    })
                    .collect(),
            );
        }
        if d.is_float() {
            if let Some(cc) = float_compare(fun) {
                return two(self, &mut |s, a, b| s.b.ins().fcmp(cc, a, b));
            }
            return match fun {
                Fun::Add => two(self, &mut |s, a, b| s.b.ins().fadd(a, b)),
                Fun::Subtract => two(self, &mut |s, a, b| s.b.ins().fsub(a, b)),
                Fun::Multiply => two(self, &mut |s, a, b| s.b.ins().fmul(a, b)),
                Fun::Divide => two(self, &mut |s, a, b| s.b.ins().fdiv(a, b)),
                Fun::Square => one(self, &mut |s, a| s.b.ins().fmul(a, a)),
                Fun::Sqrt => one(self, &mut |s, a| s.b.ins().sqrt(a)),
                Fun::Negative => one(self, &mut |s, a| s.b.ins().fneg(a)),
                Fun::Absolute | Fun::Fabs => one(self, &mut |s, a| s.b.ins().fabs(a)),
                Fun::Floor => one(self, &mut |s, a| s.b.ins().floor(a)),
                Fun::Ceil => one(self, &mut |s, a| s.b.ins().ceil(a)),
                Fun::Trunc => one(self, &mut |s, a| s.b.ins().trunc(a)),
                Fun::Positive => one(self, &mut |_, a| a),
                _ => None,
            };
        }
        if d.size() < 4 {
            return None;
        }
        let signed = d.kind() == Sort::Int;
        if let Some(cc) = int_compare(fun, signed) {
            return two(self, &mut |s, a, b| s.b.ins().icmp(cc, a, b));
        }
        let known = args.get(1).and_then(Expr::as_int);
        match fun {
            Fun::Add => two(self, &mut |s, a, b| s.b.ins().iadd(a, b)),
            Fun::Subtract => two(self, &mut |s, a, b| s.b.ins().isub(a, b)),
            Fun::Multiply => two(self, &mut |s, a, b| s.b.ins().imul(a, b)),
            Fun::Square => one(self, &mut |s, a| s.b.ins().imul(a, a)),
            Fun::Negative => one(self, &mut |s, a| s.b.ins().ineg(a)),
            Fun::Positive => one(self, &mut |_, a| a),
            Fun::BitwiseAnd => two(self, &mut |s, a, b| s.b.ins().band(a, b)),
            Fun::BitwiseOr => two(self, &mut |s, a, b| s.b.ins().bor(a, b)),
            Fun::BitwiseXor => two(self, &mut |s, a, b| s.b.ins().bxor(a, b)),
            Fun::Invert => one(self, &mut |s, a| s.b.ins().bnot(a)),
            Fun::Maximum | Fun::Minimum => {
                let cc = match (fun, signed) {
                    (Fun::Maximum, true) => IntCC::SignedGreaterThan,
                    (Fun::Maximum, false) => IntCC::UnsignedGreaterThan,
                    (_, true) => IntCC::SignedLessThan,
                    (_, false) => IntCC::UnsignedLessThan,
                };
                two(self, &mut |s, a, b| {
                    let first = s.b.ins().icmp(cc, a, b);
                    s.b.ins().bitselect(first, a, b)
                })
            }
            Fun::LeftShift | Fun::RightShift => {
                let by = known.filter(|n| (0..8 * d.size() as i64).contains(n))?;
                one(self, &mut |s, a| match (fun, signed) {
                    (Fun::LeftShift, _) => s.b.ins().ishl_imm_s(a, by),
                    (_, true) => s.b.ins().sshr_imm_s(a, by),
                    _ => s.b.ins().ushr_imm_s(a, by),
                })
            }
            Fun::FloorDivide | Fun::Remainder => {
                let by = known.filter(|n| *n > 0 && (*n as u64).is_power_of_two())?;
                let t = Self::vector(d);
                one(self, &mut |s, a| match fun {
                    Fun::Remainder => {
                        let least = s.b.ins().iconst(t.lane_type(), by - 1);
                        let least = s.b.ins().splat(t, least);
                        s.b.ins().band(a, least)
                    }
                    _ if signed => s.b.ins().sshr_imm_s(a, i64::from(by.trailing_zeros())),
                    _ => s.b.ins().ushr_imm_s(a, i64::from(by.trailing_zeros())),
                })
            }
            _ => None,
        }
    }
}
