//! Elementwise kernels: each thread loads a few vectors, computes lane by lane, and stores.
//!
//! There is no loop over the grid. Indices have 32 bits where possible. Contiguous work needs no division, other work
//! one multiplication per axis. Only the last block of the grid takes the guarded path.

use std::ops::Range;

use cuprous_core::ScatterOp;
use cuprous_plan::{Access, Inst, Level, Val};

use super::lower::{KernelDraft, Lower, Shape, Target, Unit, combination, kernel_name};
use super::text::Code;
use super::types::{Arg, Generated, ctype};
use super::vectorize::{self, LaneStep, lane_step};

/// Adds the stages of a kernel without reductions.
pub(crate) fn map(unit: &Unit, target: Target, out: &mut Generated) {
    let unit = &with_axis(unit);
    let set = unit.kernel.body.iter().find_map(|t| match t.inst {
        Inst::Scatter { len, op: ScatterOp::Set, .. } => Some(len),
        _ => None,
    });
    if let Some(len) = set.filter(|_| unit.kernel.outer_size() > 1) {
        // Of equal indices the highest iteration wins. In the first pass all iterations bid; in the second the winner
        // writes and clears its bid.
        let bids = out.state(4 * len as usize);
        out.stages.push(emit(unit, target, Pass::Bid, Some(bids), "bid").stage());
        out.stages.push(emit(unit, target, Pass::Win, Some(bids), "map").stage());
    } else if super::tile::applies(unit) {
        out.stages.push(super::tile::emit(unit, target));
    } else {
        let sixteen = unit.kernel.body.iter().any(|t| matches!(t.inst, Inst::Scatter { .. }) && t.dtype.size() == 16);
        let locks = sixteen.then(|| out.state(4096));
        out.stages.push(emit(unit, target, Pass::Single, locks, "map").stage());
    }
}

/// Returns the draft of a kernel that is a single plain launch; `None` if it scatters or is tiled.
pub(crate) fn plain(unit: &Unit, target: Target) -> Option<KernelDraft> {
    let unit = &with_axis(unit);
    let scatters = unit.kernel.body.iter().any(|t| matches!(t.inst, Inst::Scatter { .. }));
    (!scatters && !super::tile::applies(unit)).then(|| emit(unit, target, Pass::Single, None, "map"))
}

/// Adds an axis of extent 1 to a kernel over a single element.
fn with_axis(unit: &Unit) -> Unit {
    let mut unit = unit.clone();
    if unit.kernel.outer.is_empty() {
        unit.kernel.outer.push(1);
        for t in &mut unit.kernel.body {
            if let Inst::Load { access, .. } | Inst::Store { access, .. } | Inst::Iota { access } = &mut t.inst {
                access.strides.push(0);
            }
        }
    }
    unit
}

/// The pass of a kernel. Only [`ScatterOp::Set`] takes two.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    Single,
    Bid,
    Win,
}

/// How many elements a thread handles, and how its arrays are written.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    /// Lanes of a vector.
    pub(crate) v: u32,
    /// Vectors of a thread.
    pub(crate) u: u32,
}

impl Span {
    /// Returns the subscript of the current vector.
    pub(crate) fn sub(self) -> &'static str {
        if self.u == 1 { "" } else { "[u]" }
    }

    /// Returns the declaration of an array over vectors.
    pub(crate) fn array(self, ty: &str, name: &str) -> String {
        if self.u == 1 { format!("{ty} {name};") } else { format!("{ty} {name}[{}];", self.u) }
    }

    /// Returns the type of a vector.
    pub(crate) fn vector(self, ty: &str) -> String {
        if self.v == 1 { ty.into() } else { format!("vec<{ty}, {}>", self.v) }
    }

    /// Returns the current lane of a vector.
    pub(crate) fn lane(self, name: &str) -> String {
        if self.v == 1 { format!("{name}{}", self.sub()) } else { format!("{name}{}.v[l]", self.sub()) }
    }

    /// Writes a loop over vectors.
    pub(crate) fn each_vector(self, code: &mut Code, body: impl FnOnce(&mut Code)) {
        if self.u == 1 { body(code) } else { code.unrolled("u", self.u, body) }
    }

    /// Writes a loop over vectors; a single vector gets a scope as well.
    pub(crate) fn scoped(self, code: &mut Code, body: impl FnOnce(&mut Code)) {
        if self.u == 1 { code.block("", body) } else { code.unrolled("u", self.u, body) }
    }

    /// Writes a loop over lanes.
    pub(crate) fn each_lane(self, code: &mut Code, body: impl FnOnce(&mut Code)) {
        if self.v == 1 { body(code) } else { code.unrolled("l", self.v, body) }
    }
}

/// How a vector of elements is accessed: where it starts, and how its lanes step.
#[derive(Clone)]
pub(crate) struct VectorAccess {
    /// Index expression of lane 0.
    pub(crate) at: String,
    /// How lanes step.
    pub(crate) lane: LaneStep,
    /// The parameter for the step, where strided.
    pub(crate) step: String,
}

impl VectorAccess {
    /// Returns the index as a term of a sum, in brackets, so that it is summed in the index's own width.
    fn element(&self) -> String {
        if self.at.contains(' ') { format!("({})", self.at) } else { self.at.clone() }
    }

    /// Returns the expression that loads the current vector; `left` guards it.
    pub(crate) fn load(&self, p: &str, v: u32, left: Option<&str>) -> String {
        let VectorAccess { lane, step, .. } = self;
        let at = &self.element();
        match (v > 1 && *lane != LaneStep::Broadcast, lane, left) {
            (false, _, None) => format!("{p}[{}]", self.at),
            (false, _, Some(left)) => format!("load_guarded({p} + {at}, {left})"),
            (true, LaneStep::Contiguous, None) => format!("load<{v}>({p} + {at})"),
            (true, LaneStep::Contiguous, Some(left)) => format!("load_partial<{v}>({p} + {at}, {left})"),
            (true, _, None) => format!("load_strided<{v}>({p} + {at}, {step})"),
            (true, _, Some(left)) => format!("load_strided_partial<{v}>({p} + {at}, {step}, {left})"),
        }
    }

    /// Returns the statement that stores the current vector; `left` guards it.
    pub(crate) fn store(&self, p: &str, v: u32, y: &str, left: Option<&str>) -> String {
        let VectorAccess { lane, step, .. } = self;
        let at = &self.element();
        match (v > 1, lane, left) {
            (false, _, None) => format!("{p}[{}] = {y};", self.at),
            (false, _, Some(left)) => format!("if ({left} > 0) {p}[{}] = {y};", self.at),
            (true, LaneStep::Contiguous, None) => format!("store<{v}>({p} + {at}, {y});"),
            (true, LaneStep::Contiguous, Some(left)) => format!("store_partial<{v}>({p} + {at}, {y}, {left});"),
            (true, _, left) => {
                let left = left.map_or_else(|| v.to_string(), str::to_string);
                format!("store_strided_partial<{v}>({p} + {at}, {y}, {step}, {left});")
            }
        }
    }
}

/// Returns how an access moves along `axis`; `at` is the index of lane 0.
pub(crate) fn vector_access(
    lower: &mut Lower<'_>,
    access: &Access,
    axis: usize,
    v: u32,
    d: cuprous_core::DType,
    at: String,
) -> VectorAccess {
    let lane = lane_step(access, axis, v, d, lower.target.options.aligned);
    let step = match access.strides.get(axis).copied().unwrap_or(0) {
        1 => "1".into(),
        0 => "0".into(),
        s => {
            let tag = lower.tag(access);
            if v > 1 { lower.int(&format!("s{tag}_{axis}"), s) } else { String::new() }
        }
    };
    VectorAccess { at, lane, step }
}

/// Returns the lanes of a vector. Work of one wave has one lane where full vectors do not fit: neither a row's length
/// nor an offset then chooses the text.
fn lanes(unit: &Unit, target: Target) -> u32 {
    let kernel = &unit.kernel;
    let (axis, aligned) = (kernel.outer.len() - 1, target.options.aligned);
    let small = target.fits_one_wave(kernel.outer_size());
    if small && axis > 0 {
        return 1;
    }
    let v = vectorize::width(kernel, axis, kernel.outer[axis], axis == 0, aligned);
    if small && v < vectorize::full_width(kernel, axis) { 1 } else { v }
}

/// Returns the vectors per thread: about 64 bytes in flight, fewer for long bodies, and one for little work.
fn vectors(unit: &Unit, target: Target, v: u32, items: i64) -> u32 {
    let t = i64::from(target.options.tuning.map_threads);
    let loads = unit.kernel.body.iter().filter(|t| matches!(t.inst, Inst::Load { .. }));
    let bytes: u32 = loads.map(|t| t.dtype.size() as u32 * v).sum();
    let operations = unit.kernel.body.len() as u32 * v;
    let mut u = (64 / bytes.max(16)).clamp(1, 2 * target.options.tuning.map_vectors);
    if bytes == 0 || operations > 256 {
        u = 1;
    } else if operations > 128 {
        u = u.min(2);
    }
    let small = v == 1 && unit.kernel.outer.len() > 1 && target.fits_one_wave(items);
    if small || items < i64::from(u) * t * 2 * i64::from(target.arch.sms) { 1 } else { u }
}

fn emit(unit: &Unit, target: Target, pass: Pass, state: Option<Arg>, prefix: &str) -> KernelDraft {
    let mut lower = Lower::new(unit, target);
    let kernel = &unit.kernel;
    let rank = kernel.outer.len();
    let (axis, n) = (rank - 1, kernel.outer[rank - 1]);
    let v = lanes(unit, target);
    let items = if rank == 1 {
        n.div_euclid(i64::from(v)) + i64::from(n % i64::from(v) != 0)
    } else {
        kernel.outer_size() / i64::from(v)
    };
    let t = target.options.tuning.map_threads;
    let span = Span { v, u: vectors(unit, target, v, items) };
    let tile = span.u * t;
    let int = lower.index();
    let mut code = Code::at(1);
    if let Some(state) = state {
        lower.params.add("uint32*", if pass == Pass::Single { "locks" } else { "bids" }, state);
    }

    // The elements of this thread.
    let block = if lower.wide { "(int64)blockIdx.x" } else { "(int32)blockIdx.x" };
    code.line(format!("const {int} first = {block} * {tile} + (int32)threadIdx.x;"));
    let sub = span.sub();
    let item = if span.u == 1 { "first".into() } else { format!("(first + u * {t})") };
    let indexing;
    if rank == 1 {
        let count = lower.int("n", n);
        code.line(format!("const bool full = ({block} + 1) * {} <= {count};", tile * v));
        indexing = Indexing::OneAxis;
        code.line(span.array(int, "j"));
        code.line(span.array(int, "left"));
        span.each_vector(&mut code, |c| {
            c.line(format!("j{sub} = {item}{};", if v == 1 { String::new() } else { format!(" * {v}") }));
            c.line(format!("left{sub} = {count} - j{sub};"));
        });
    } else {
        let count = lower.int("items", items);
        code.line(format!("const bool full = ({block} + 1) * {tile} <= {count};"));
        indexing = Indexing::ManyAxes;
        many_axes(&mut lower, &mut code, span, &item, n);
    }

    body(&mut lower, &mut code, span, axis, &indexing, pass);
    let name = kernel_name(prefix, kernel);
    let blocks = (items + i64::from(tile) - 1) / i64::from(tile);
    lower.draft(&name, t, 1, code, Shape::linear(blocks, t))
}

/// Writes the indices along each axis and, for each access, the element at which each vector starts.
fn many_axes(lower: &mut Lower<'_>, code: &mut Code, span: Span, item: &str, n: i64) {
    let kernel = &lower.unit.kernel;
    let rank = kernel.outer.len();
    let (int, sub) = (lower.index(), span.sub());
    let chunks = lower.divisor("row", n / i64::from(span.v));
    let divisors: Vec<String> = (1..rank - 1).map(|k| lower.divisor(&format!("d{k}"), kernel.outer[k])).collect();
    let vars: Vec<(usize, String)> =
        (0..rank).map(|k| (k, if k + 1 == rank { "j".into() } else { format!("i{k}") })).collect();
    let mut tags: Vec<usize> = Vec::new();
    let mut starts = Code::at(2);
    for t in &kernel.body {
        if let Inst::Load { access, .. } | Inst::Store { access, .. } | Inst::Iota { access } = &t.inst {
            let tag = lower.tag(access);
            if !tags.contains(&tag) {
                tags.push(tag);
                let at = lower.address(access, &vars, true);
                starts.line(format!("a{tag}{sub} = {at};"));
            }
        }
    }
    for tag in &tags {
        code.line(span.array(int, &format!("a{tag}")));
    }
    let needs_iteration = kernel.body.iter().any(|t| matches!(t.inst, Inst::Scatter { .. }));
    code.line(span.array(int, "left"));
    if needs_iteration {
        code.line(span.array(int, "number"));
    }
    span.each_vector(code, |c| {
        c.line(format!("const {int} item = {};", item.trim_start_matches('(').trim_end_matches(')')));
        c.line(format!("left{sub} = item < items ? {} : 0;", span.v));
        if needs_iteration {
            c.line(format!("number{sub} = item * {};", span.v));
        }
        let mut rest = "item".to_string();
        let scale = if span.v == 1 { String::new() } else { format!(" * {}", span.v) };
        let row = format!("r{}", rank - 2);
        c.line(format!(
            "const {int} {row} = quotient({rest}, {chunks}), j = ({rest} - {row} * extent({chunks})){scale};"
        ));
        rest = row;
        for k in (1..rank - 1).rev() {
            let d = &divisors[k - 1];
            c.line(format!(
                "const {int} r{} = quotient({rest}, {d}), i{k} = {rest} - r{} * extent({d});",
                k - 1,
                k - 1
            ));
            rest = format!("r{}", k - 1);
        }
        c.line(format!("const {int} i0 = {rest};"));
        for line in starts.text.lines() {
            c.line(line.trim_start());
        }
    });
}

/// How the index of an element is computed.
enum Indexing {
    OneAxis,
    ManyAxes,
}

impl Indexing {
    fn at(&self, lower: &mut Lower<'_>, access: &Access, sub: &str) -> String {
        match self {
            Indexing::OneAxis => lower.address(access, &[(0, format!("j{sub}"))], true),
            Indexing::ManyAxes => format!("a{}{sub}", lower.tag(access)),
        }
    }

    /// Returns the row-major number of the vector's first element.
    fn iteration(&self, sub: &str) -> String {
        match self {
            Indexing::OneAxis => format!("j{sub}"),
            Indexing::ManyAxes => format!("number{sub}"),
        }
    }
}

/// Writes the loads, the computation of each lane, and the stores.
fn body(lower: &mut Lower<'_>, code: &mut Code, span: Span, axis: usize, indexing: &Indexing, pass: Pass) {
    let insts = lower.body();
    let (sub, v) = (span.sub(), span.v);
    let left = format!("left{sub}");
    let mut loads: Vec<(Val, String, VectorAccess)> = Vec::new();
    let mut stores: Vec<(Val, Val, String, VectorAccess)> = Vec::new();
    let live = live(insts, pass);
    for (i, t) in insts.iter().enumerate() {
        let i = i as Val;
        match &t.inst {
            Inst::Load { buf, access } if live[i as usize] => {
                let at = indexing.at(lower, access, sub);
                let s = vector_access(lower, access, axis, v, t.dtype, at);
                let scalar = s.lane == LaneStep::Broadcast;
                let ty = if scalar { ctype(t.dtype).to_string() } else { span.vector(ctype(t.dtype)) };
                code.line(span.array(&ty, &format!("x{i}")));
                lower.names.insert(i, if scalar { format!("x{i}{sub}") } else { span.lane(&format!("x{i}")) });
                loads.push((i, lower.pointer(*buf, t.dtype), s));
            }
            Inst::Store { buf, access, arg } => {
                let at = indexing.at(lower, access, sub);
                let s = vector_access(lower, access, axis, v, t.dtype, at);
                stores.push((i, *arg, lower.pointer(*buf, t.dtype), s));
            }
            Inst::Iota { access } => {
                let at = indexing.at(lower, access, sub);
                let s = vector_access(lower, access, axis, v.max(2), t.dtype, at.clone());
                let l = match (v, s.lane) {
                    (1, _) | (_, LaneStep::Broadcast) => format!("(int64)({at})"),
                    _ if s.step == "1" => format!("((int64)({at}) + l)"),
                    _ => format!("((int64)({at}) + l * (int64){})", s.step),
                };
                lower.names.insert(i, l);
            }
            _ => {}
        }
    }
    if !loads.is_empty() {
        for (guard, head) in [(None, "if (full)"), (Some(left.as_str()), "else")] {
            code.block(head, |c| {
                span.each_vector(c, |c| {
                    for (i, p, s) in &loads {
                        c.line(format!("x{i}{sub} = {};", s.load(p, v, guard)));
                    }
                });
            });
        }
    }
    for (i, _, _, _) in &stores {
        code.line(span.array(&span.vector(ctype(insts[*i as usize].dtype)), &format!("y{i}")));
    }
    span.each_vector(code, |c| {
        let parts = parts(lower, span, axis);
        let live_across = live_across(insts, &parts);
        for &i in &live_across {
            c.line(format!("{} w{i}[{v}];", ctype(insts[i as usize].dtype)));
        }
        for part in parts {
            random_words(lower, c, part.clone(), span, axis, indexing);
            span.each_lane(c, |c| {
                for (i, t) in insts.iter().enumerate().filter(|(i, _)| part.contains(i) && live[*i]) {
                    match &t.inst {
                        Inst::Map { .. } | Inst::Gather { .. } => {
                            lower.statement(c, i as Val);
                            if live_across.contains(&(i as Val)) {
                                c.line(format!("w{i}[l] = v{i};"));
                            }
                        }
                        Inst::Store { arg, .. } => {
                            c.line(format!("{} = {};", span.lane(&format!("y{i}")), lower.name(*arg)));
                        }
                        Inst::Scatter { .. } => {
                            scatter(lower, c, i as Val, span, &left, &indexing.iteration(sub), pass);
                        }
                        _ => {}
                    }
                }
            });
            for &i in live_across.iter().filter(|&&i| part.contains(&(i as usize))) {
                lower.names.insert(i, format!("w{i}[l]"));
            }
        }
    });
    if !stores.is_empty() {
        for (guard, head) in [(None, "if (full)"), (Some(left.as_str()), "else")] {
            code.block(head, |c| {
                span.each_vector(c, |c| {
                    for (i, _, p, s) in &stores {
                        c.line(s.store(p, v, &format!("y{i}{sub}"), guard));
                    }
                });
            });
        }
    }
}

/// Returns which instructions a pass needs. A bid needs only the operands of the index.
fn live(insts: &[cuprous_plan::Typed], pass: Pass) -> Vec<bool> {
    let mut live = vec![false; insts.len()];
    for (i, t) in insts.iter().enumerate().rev() {
        match &t.inst {
            Inst::Scatter { index, .. } if pass == Pass::Bid => {
                live[i] = true;
                live[*index as usize] = true;
            }
            inst => {
                live[i] |= super::lower::is_sink(inst);
                if live[i] {
                    super::lower::operands(inst).into_iter().for_each(|a| live[a as usize] = true);
                }
            }
        }
    }
    live
}

/// Returns the length of a random function's Philox block if one block serves several lanes.
fn shared_block(lower: &Lower<'_>, i: usize, span: Span, axis: usize) -> Option<u32> {
    let Inst::Map { fun, args } = &lower.body()[i].inst else { return None };
    let period = vectorize::random_period(*fun)?;
    let uniform = |a: Val| matches!(lower.body()[a as usize].inst, Inst::Scalar { .. });
    let Inst::Iota { access } = &lower.body()[args[0] as usize].inst else { return None };
    let shares = vectorize::shares_blocks(access, axis, span.v, period) && uniform(args[1]) && uniform(args[2]);
    shares.then_some(period)
}

/// Splits the body into parts with at most one shared Philox block each, so that only one block is live in registers at
/// a time.
fn parts(lower: &Lower<'_>, span: Span, axis: usize) -> Vec<Range<usize>> {
    let all = 0..lower.body().len();
    let mut ends: Vec<usize> = all.clone().filter(|&i| shared_block(lower, i, span, axis).is_some()).skip(1).collect();
    ends.push(all.end);
    let mut start = 0;
    ends.into_iter().map(|end| std::mem::replace(&mut start, end)..end).collect()
}

/// Returns the values that one part computes and a later one uses.
fn live_across(insts: &[cuprous_plan::Typed], parts: &[Range<usize>]) -> Vec<Val> {
    let mut live_across = Vec::new();
    for part in &parts[1..] {
        for t in &insts[part.clone()] {
            for a in super::lower::operands(&t.inst) {
                let computed = matches!(insts[a as usize].inst, Inst::Map { .. } | Inst::Gather { .. });
                if computed && (a as usize) < part.start && !live_across.contains(&a) {
                    live_across.push(a);
                }
            }
        }
    }
    live_across
}

/// Computes one Philox block for several lanes, where the index allows it.
fn random_words(
    lower: &mut Lower<'_>,
    code: &mut Code,
    part: Range<usize>,
    span: Span,
    axis: usize,
    indexing: &Indexing,
) {
    for i in part {
        let Some(period) = shared_block(lower, i, span, axis) else { continue };
        let Inst::Map { args, .. } = &lower.body()[i].inst else { continue };
        let Inst::Iota { access } = &lower.body()[args[0] as usize].inst else { continue };
        let (seed, offset) = (lower.name(args[1]), lower.name(args[2]));
        let at = indexing.at(lower, access, span.sub());
        let blocks = span.v / period;
        let bits = if period == 4 { 32 } else { 64 };
        let call = |k: u32| {
            let step = if k == 0 { String::new() } else { format!(" + {}", k * period) };
            format!("block{bits}((int64)({at}){step}, {seed}, {offset})")
        };
        if blocks == 1 {
            code.line(format!("const words4 block_{i} = {};", call(0)));
            lower.words.insert(i as Val, (format!("block_{i}"), "l".into()));
        } else {
            let list: Vec<String> = (0..blocks).map(call).collect();
            code.line(format!("const words4 block_{i}[{blocks}] = {{{}}};", list.join(", ")));
            lower.words.insert(i as Val, (format!("block_{i}[l / {period}]"), format!("l % {period}")));
        }
    }
}

fn scatter(lower: &mut Lower<'_>, code: &mut Code, i: Val, span: Span, left: &str, iteration: &str, pass: Pass) {
    let t = &lower.body()[i as usize];
    let Inst::Scatter { buf, len, index, arg, op } = &t.inst else { return };
    debug_assert_eq!(t.level, Level::Full);
    lower.params.add("int64", &format!("n{i}"), Arg::I64(*len));
    let (p, x) = (lower.pointer(*buf, t.dtype), lower.name(*arg));
    let at = format!("wrap({}, n{i})", lower.name(*index));
    let l = if span.v == 1 { "0" } else { "l" };
    let bid = format!("(uint32)({iteration} + {l} + 1)");
    code.block(format!("if ({l} < {left})"), |c| match (op, pass) {
        (ScatterOp::Set, Pass::Single) => c.line(format!("{p}[{at}] = {x};")),
        (ScatterOp::Set, Pass::Bid) => c.line(format!("atomicMax(bids + {at}, {bid});")),
        (ScatterOp::Set, Pass::Win) => {
            c.line(format!("const int64 at = {at};"));
            c.block(format!("if (bids[at] == {bid})"), |c| {
                c.line(format!("{p}[at] = {x};"));
                c.line("bids[at] = 0;");
            });
        }
        _ if t.dtype.size() == 16 && *op != ScatterOp::Add => {
            c.line(format!("combine_locked<{}>({p} + {at}, {x}, locks);", combination(*op)));
        }
        _ => c.line(format!("combine<{}>({p} + {at}, {x});", combination(*op))),
    });
}
