//! Translates instructions to C++: parameters, addresses, expressions. The templates decide what runs where.

use std::collections::{HashMap, HashSet};

use cuprous_core::{DType, Fun, ReduceOp, ScatterOp};
use cuprous_plan::{Access, Inst, Kernel, Typed, Val};
use foldhash::fast::RandomState;

use super::prelude::{Part, Parts};
use super::text::Code;
use super::types::{Arch, Arg, Options, Stage, ctype};

/// A kernel under construction. Its body uses buffers of the program and buffers that the generator added.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    /// The kernel. Its buffer `i` is `buffers[i]`.
    pub(crate) kernel: Kernel,
    /// The address of each of the kernel's buffers.
    pub(crate) buffers: Vec<Arg>,
}

impl Unit {
    /// Wraps a planned kernel without changes.
    pub(crate) fn new(kernel: &Kernel) -> Unit {
        let buffers = kernel.buffers.iter().map(|&b| Arg::Buffer(b)).collect();
        Unit { kernel: kernel.clone(), buffers }
    }
}

/// The device and the options that every template gets.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    pub(crate) arch: Arch,
    pub(crate) options: Options,
}

impl Target {
    /// Returns true if so many threads run on the device at the same time. Then one element a thread is as fast as any
    /// vectors, and kernels take a template whose text is the same for all extents.
    pub(crate) fn fits_one_wave(self, threads: i64) -> bool {
        threads <= i64::from(self.arch.sms * self.options.tuning.general_threads)
    }
}

/// Parameters in the order of declaration, without duplicates.
#[derive(Default)]
pub(crate) struct Params {
    declared: Vec<String>,
    args: Vec<Arg>,
    names: HashSet<String, RandomState>,
    prologue: Vec<String>,
}

impl Params {
    /// Adds a parameter `ctype name`, unless one of that name exists.
    pub(crate) fn add(&mut self, ctype: &str, name: &str, arg: Arg) {
        if self.names.insert(name.into()) {
            self.declared.push(format!("{ctype} {name}"));
            self.args.push(arg);
        }
    }
}

/// The text of a kernel under construction.
pub(crate) struct Lower<'a> {
    /// The kernel to generate code for.
    pub(crate) unit: &'a Unit,
    /// The target device and options.
    pub(crate) target: Target,
    /// Parameters declared so far.
    pub(crate) params: Params,
    /// Parts of the prelude needed so far.
    pub(crate) parts: Parts,
    /// True if indices need 64 bits.
    pub(crate) wide: bool,
    /// The C++ expression of each value that is not named `v{number}`.
    pub(crate) names: HashMap<Val, String>,
    /// Random functions whose Philox block is computed once for several lanes: the expressions of the block and of the
    /// word's number in it.
    pub(crate) words: HashMap<Val, (String, String)>,
    tags: HashMap<Access, usize, RandomState>,
    mixed: Vec<bool>,
}

impl<'a> Lower<'a> {
    /// Starts with the parameters for buffers and scalars.
    pub(crate) fn new(unit: &'a Unit, target: Target) -> Lower<'a> {
        let mut lower = Lower {
            unit,
            target,
            params: Params::default(),
            parts: Parts::new(),
            wide: needs_wide(&unit.kernel),
            names: HashMap::new(),
            words: HashMap::new(),
            tags: HashMap::default(),
            mixed: vec![false; unit.buffers.len()],
        };
        let mut types: Vec<Option<DType>> = vec![None; unit.buffers.len()];
        for t in lower.body() {
            if let Inst::Load { buf, .. }
            | Inst::Gather { buf, .. }
            | Inst::Store { buf, .. }
            | Inst::Scatter { buf, .. } = t.inst
            {
                let slot = &mut types[buf as usize];
                lower.mixed[buf as usize] |= slot.is_some_and(|d| d != t.dtype);
                *slot = Some(slot.unwrap_or(t.dtype));
            }
            lower.parts.dtype(t.dtype);
        }
        for (i, t) in types.iter().enumerate() {
            if let Some(d) = t {
                let c = if lower.mixed[i] { "uint8" } else { ctype(*d) };
                lower.params.add(&format!("{c}*"), &format!("b{i}"), unit.buffers[i]);
            }
        }
        for (v, t) in unit.kernel.body.iter().enumerate() {
            match &t.inst {
                Inst::Scalar { slot } => {
                    // Not named after its slot: the same kernel elsewhere on a tape has another slot.
                    let name = format!("c{v}_{}", super::types::short(t.dtype));
                    lower.params.add(ctype(t.dtype), &name, Arg::Scalar { slot: *slot, dtype: t.dtype });
                    lower.names.insert(v as Val, name);
                }
                Inst::Map { fun, args } => {
                    let d = args.first().map_or(t.dtype, |&a| unit.kernel.body[a as usize].dtype);
                    lower.parts.fun(*fun, d);
                    if matches!(fun, Fun::MakeComplex) {
                        lower.parts.dtype(t.dtype);
                    }
                }
                Inst::Scatter { .. } => lower.parts.add(Part::Atomics),
                Inst::Reduce { .. } => lower.parts.add(Part::Block),
                _ => {}
            }
        }
        lower
    }

    /// The instructions.
    pub(crate) fn body(&self) -> &'a [Typed] {
        &self.unit.kernel.body
    }

    /// The C++ type of indices.
    pub(crate) fn index(&self) -> &'static str {
        if self.wide { "int64" } else { "int32" }
    }

    /// Returns the expression of a buffer as an array of `d`.
    pub(crate) fn pointer(&self, buf: u16, d: DType) -> String {
        if self.mixed[buf as usize] { format!("(({}*)b{buf})", ctype(d)) } else { format!("b{buf}") }
    }

    /// Adds an integer parameter of the index type.
    pub(crate) fn int(&mut self, name: &str, value: i64) -> String {
        let arg = if self.wide { Arg::I64(value) } else { Arg::I32(value as i32) };
        let ty = self.index();
        self.params.add(ty, name, arg);
        name.into()
    }

    /// Adds a parameter that indices are divided by.
    pub(crate) fn divisor(&mut self, name: &str, value: i64) -> String {
        if self.wide {
            self.params.add("int64", name, Arg::I64(value));
        } else if !self.params.names.contains(&format!("{name}_n")) {
            let (magic, shift) = magic(value as u32);
            for (part, bits) in [("n", value as u32), ("magic", magic), ("shift", shift)] {
                self.params.add("uint32", &format!("{name}_{part}"), Arg::I32(bits as i32));
            }
            self.params.prologue.push(format!("const divisor {name} = {{{name}_n, {name}_magic, {name}_shift}};"));
        }
        name.into()
    }

    /// Returns the number in the names of an access's parameters. Equal accesses share it.
    pub(crate) fn tag(&mut self, access: &Access) -> usize {
        let next = self.tags.len();
        *self.tags.entry(access.clone()).or_insert(next)
    }

    /// Returns `offset + Σ stride · index` over the given axes. Without `with_offset` the offset is left out.
    pub(crate) fn address(&mut self, access: &Access, axes: &[(usize, String)], with_offset: bool) -> String {
        let tag = self.tag(access);
        let mut terms = Vec::new();
        if with_offset && access.offset != 0 {
            terms.push(self.int(&format!("o{tag}"), access.offset));
        }
        for (axis, var) in axes {
            match access.strides.get(*axis).copied().unwrap_or(0) {
                0 => {}
                1 => terms.push(var.clone()),
                s => {
                    let stride = self.int(&format!("s{tag}_{axis}"), s);
                    terms.push(format!("{var} * {stride}"));
                }
            }
        }
        if terms.is_empty() { "0".into() } else { terms.join(" + ") }
    }

    /// Returns the C++ expression of a value.
    pub(crate) fn name(&self, v: Val) -> String {
        self.names.get(&v).cloned().unwrap_or_else(|| format!("v{v}"))
    }

    /// Returns the expression of a `Map` or `Gather`.
    pub(crate) fn expression(&mut self, v: Val) -> String {
        let t = &self.body()[v as usize];
        match &t.inst {
            Inst::Map { fun, args } => {
                let names: Vec<String> = args.iter().map(|&a| self.name(a)).collect();
                let first = args.first().map_or(t.dtype, |&a| self.body()[a as usize].dtype);
                if let Some((words, k)) = self.words.get(&v) {
                    return format!("{}({words}, {k})", fun.op().name);
                }
                map_expression(*fun, t.dtype, first, &names)
            }
            Inst::Gather { buf, len, index } => {
                let (p, i) = (self.pointer(*buf, t.dtype), self.name(*index));
                self.params.add("int64", &format!("n{v}"), Arg::I64(*len));
                format!("{p}[wrap({i}, n{v})]")
            }
            other => unreachable!("{other:?} has no expression"),
        }
    }

    /// Writes the statement that declares a value, unless a template has given it an expression of its own.
    pub(crate) fn statement(&mut self, code: &mut Code, v: Val) {
        if self.names.contains_key(&v) {
            return;
        }
        let e = self.expression(v);
        code.line(format!("const {} v{v} = {e};", ctype(self.body()[v as usize].dtype)));
    }

    /// Returns the finished stage.
    pub(crate) fn finish(self, name: &str, threads: u32, bounds: u32, code: Code, shape: Shape) -> Stage {
        self.draft(name, threads, bounds, code, shape).stage()
    }

    /// Returns the parts of a stage.
    pub(crate) fn draft(self, name: &str, threads: u32, bounds: u32, code: Code, shape: Shape) -> KernelDraft {
        let bounds = match bounds {
            0 => String::new(),
            1 => format!(" __launch_bounds__({threads})"),
            blocks => format!(" __launch_bounds__({threads}, {blocks})"),
        };
        let mut body = String::new();
        for line in &self.params.prologue {
            body += &format!("    {line}\n");
        }
        body += &code.text;
        KernelDraft {
            name: name.into(),
            doc: describe(&self.unit.kernel, name),
            bounds,
            declared: self.params.declared,
            body,
            parts: self.parts,
            args: self.params.args,
            shape,
        }
    }
}

/// A kernel before it becomes a function: either a stage of its own, or one function of several in a stage.
pub(crate) struct KernelDraft {
    pub(crate) name: String,
    /// A comment that lists its operations.
    pub(crate) doc: String,
    bounds: String,
    /// Its parameters, each `type name`.
    pub(crate) declared: Vec<String>,
    /// The statements.
    pub(crate) body: String,
    pub(crate) parts: Parts,
    pub(crate) args: Vec<Arg>,
    pub(crate) shape: Shape,
}

impl KernelDraft {
    /// Returns it as a stage of its own.
    pub(crate) fn stage(self) -> Stage {
        let KernelDraft { name, doc, bounds, declared, body, parts, args, shape } = self;
        let head = signature(&format!("extern \"C\" __global__ void{bounds} {name}"), &declared);
        Stage {
            code: format!("{doc}{head}{body}}}\n").into(),
            name: name.into(),
            prelude: parts.texts().into(),
            args,
            grid: shape.grid,
            block: shape.block,
            shared: shape.shared,
            own_instructions: false,
        }
    }
}

/// The launch shape of a stage.
pub(crate) struct Shape {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
}

impl Shape {
    /// Returns a one-dimensional shape.
    pub(crate) fn linear(blocks: i64, threads: u32) -> Shape {
        Shape { grid: [blocks.max(1) as u32, 1, 1], block: [threads, 1, 1], shared: 0 }
    }
}

/// Returns `head(params) {`, broken into lines of at most 118 columns.
pub(crate) fn signature(head: &str, params: &[String]) -> String {
    let one = format!("{head}({}) {{\n", params.join(", "));
    if one.len() <= 119 {
        return one;
    }
    let mut text = format!("{head}(\n   ");
    let mut column = 3;
    for (i, p) in params.iter().enumerate() {
        let draft = format!(" {p}{}", if i + 1 < params.len() { "," } else { ") {\n" });
        if column + draft.trim_end().len() > 118 {
            text += "\n   ";
            column = 3;
        }
        column += draft.len();
        text += &draft;
    }
    text
}

/// Returns the magic number and the shift for dividing 0 <= n < 2^31 by d >= 1.
pub(crate) fn magic(d: u32) -> (u32, u32) {
    let d = d.max(1);
    let shift = 31 + (32 - (d - 1).leading_zeros());
    let magic = (1u64 << shift).div_ceil(u64::from(d));
    (magic as u32, shift)
}

/// Returns the expression of a scalar function; `first` is the type of the first operand, `to` that of the result.
pub(crate) fn map_expression(fun: Fun, to: DType, first: DType, args: &[String]) -> String {
    let a = |i: usize| args[i].as_str();
    let c = ctype(to);
    match fun {
        Fun::Where => format!("({} ? {} : {})", a(0), a(1), a(2)),
        Fun::Cast if to == first => a(0).into(),
        Fun::Cast => format!("cast<{c}>({})", a(0)),
        Fun::Bitcast => format!("bitcast<{c}>({})", a(0)),
        Fun::Ldexp => format!("ldexp_({}, cast<int64>({}))", a(0), a(1)),
        Fun::FrexpExponent => format!("frexp_exponent({})", a(0)),
        Fun::BitwiseCount => format!("bitwise_count({})", a(0)),
        Fun::CompareIntegers => format!("compare_integers({}, {})", a(0), a(1)),
        Fun::MakeComplex => {
            let part = ctype(to.component());
            format!("{c}{{cast<{part}>({}), cast<{part}>({})}}", a(0), a(1))
        }
        Fun::RandomBits32 | Fun::RandomUnit32 | Fun::RandomNormal32 => {
            format!("{}(block32({1}, {2}, {3}), (int)({1} & 3))", fun.op().name, a(0), a(1), a(2))
        }
        Fun::RandomBits64 | Fun::RandomUnit64 | Fun::RandomNormal64 => {
            format!("{}(block64({1}, {2}, {3}), (int)({1} & 1))", fun.op().name, a(0), a(1), a(2))
        }
        Fun::RandomGamma | Fun::RandomPoisson | Fun::RandomBinomial => {
            format!("{}({}, {}, {})", fun.op().name, a(0), a(1), a(2))
        }
        _ => {
            let mut e = fun.op().cuda.to_string();
            for (i, arg) in args.iter().enumerate() {
                e = e.replace(&format!("{{{i}}}"), arg);
            }
            e
        }
    }
}

/// Returns the prelude's name of a reduction, with its accumulator type.
pub(crate) fn reduction_name(op: ReduceOp, d: DType) -> String {
    format!("reduce_{}<{}>", op.name(), ctype(d.accumulator()))
}

/// Returns the bytes of a reduction's state.
pub(crate) fn state_bytes(op: ReduceOp, d: DType) -> usize {
    let t = d.accumulator();
    match op {
        ReduceOp::ArgMax | ReduceOp::ArgMin => (8 + t.size()).next_multiple_of(8).max(16).next_multiple_of(t.size()),
        ReduceOp::M2 => 3 * t.size(),
        _ => t.size(),
    }
}

/// Returns the prelude's name of a scatter's operation.
pub(crate) fn combination(op: ScatterOp) -> String {
    format!("combine_{}", op.name())
}

/// Returns true if 32-bit indices could overflow. The limit leaves room for indices past the end, which the last blocks
/// compute.
fn needs_wide(kernel: &Kernel) -> bool {
    const LIMIT: i64 = (1 << 31) - (1 << 26);
    let extents: Vec<i64> = kernel.outer.iter().chain(&kernel.inner).copied().collect();
    let span = |access: &Access| {
        let reach = access.strides.iter().zip(&extents).map(|(s, n)| s.abs().saturating_mul(*n));
        access.offset.abs().saturating_add(reach.fold(0, i64::saturating_add))
    };
    let too_far = |t: &Typed| match &t.inst {
        Inst::Load { access, .. } | Inst::Iota { access } | Inst::Store { access, .. } => span(access) >= LIMIT,
        _ => false,
    };
    extents.iter().fold(1i64, |a, n| a.saturating_mul(*n)) >= LIMIT || kernel.body.iter().any(too_far)
}

/// Returns the operands of an instruction.
pub(crate) fn operands(inst: &Inst) -> Vec<Val> {
    match inst {
        Inst::Map { args, .. } => args.to_vec(),
        Inst::Gather { index, .. } => vec![*index],
        Inst::Reduce { arg, .. } | Inst::Store { arg, .. } => vec![*arg],
        Inst::Scatter { index, arg, .. } => vec![*index, *arg],
        Inst::Load { .. } | Inst::Scalar { .. } | Inst::Iota { .. } => vec![],
    }
}

/// Returns true if an instruction writes to memory.
pub(crate) fn is_sink(inst: &Inst) -> bool {
    matches!(inst, Inst::Store { .. } | Inst::Scatter { .. })
}

/// Returns `prefix_op_op_dtype`: the first few operations that are not casts, and the type of the first result written.
pub(crate) fn kernel_name(prefix: &str, kernel: &Kernel) -> String {
    let mut words: Vec<String> = vec![prefix.into()];
    let mut more = 0;
    for t in &kernel.body {
        let word = match &t.inst {
            Inst::Map { fun: Fun::Cast | Fun::Positive, .. } => continue,
            Inst::Map { fun, .. } => fun.op().name.to_string(),
            Inst::Reduce { op, .. } => format!("{op:?}").to_lowercase(),
            Inst::Gather { .. } => "gather".into(),
            Inst::Scatter { op, .. } => format!("scatter_{op:?}").to_lowercase(),
            _ => continue,
        };
        if words.last() == Some(&word) {
            continue;
        }
        if words.len() <= 5 { words.push(word) } else { more += 1 }
    }
    if more > 0 {
        words.push(format!("and_{more}_more"));
    }
    if words.len() == 1 {
        words.push("copy".into());
    }
    let written = kernel.body.iter().find(|t| is_sink(&t.inst)).map_or(DType::F32, |t| t.dtype);
    words.push(super::types::short(written).into());
    words.join("_")
}

/// Returns a comment that lists the kernel's operations.
pub(crate) fn describe(kernel: &Kernel, name: &str) -> String {
    let mut text = format!("// {name}\n");
    let reduces = kernel.reduces();
    for (v, t) in kernel.body.iter().enumerate() {
        let row = if reduces && matches!(t.level, cuprous_plan::Level::Row) { "   once a row" } else { "" };
        let d = t.dtype.name();
        let what = match &t.inst {
            Inst::Load { buf, .. } => format!("v{v} = {d} from b{buf}"),
            Inst::Scalar { .. } => format!("v{v} = {d} constant"),
            Inst::Iota { .. } => format!("v{v} = index"),
            Inst::Map { fun, args } => {
                let args: Vec<String> = args.iter().map(|a| format!("v{a}")).collect();
                format!("v{v} = {}({}): {d}", fun.op().name, args.join(", "))
            }
            Inst::Gather { buf, index, .. } => format!("v{v} = {d} from b{buf} at [v{index}]"),
            Inst::Reduce { op, arg } => format!("v{v} = {} of v{arg}: {d}", format!("{op:?}").to_lowercase()),
            Inst::Store { buf, arg, .. } => format!("b{buf} = v{arg}"),
            Inst::Scatter { buf, index, arg, op, .. } => {
                format!("b{buf} at [v{index}] {} v{arg}", format!("{op:?}").to_lowercase())
            }
        };
        text += &format!("//   {what}{row}\n");
    }
    text
}
