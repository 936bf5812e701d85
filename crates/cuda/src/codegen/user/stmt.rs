//! Writes statements and functions as C++.

use std::collections::{HashMap, HashSet};

use cuprous_core::DType;
use cuprous_core::scalar::Number;
use cuprous_kernel::ir::{Expr, Function, Kind, LocalArray, Printed, Space, Stmt, StmtKind};
use cuprous_kernel::types::Ty;

use super::Writer;
use super::expr::{exact, may_be_unaligned};
use crate::codegen::text::Code;

/// Where variables are declared: at the assignment that precedes every use, else at the top of the function.
#[derive(Default)]
pub(super) struct Declarations {
    /// Variables to declare at an assignment, by the address of the statement.
    at: HashMap<usize, HashSet<usize>>,
    /// Loops that declare their counter.
    counters: HashSet<usize>,
    top: Vec<usize>,
}

fn address(stmt: &Stmt) -> usize {
    std::ptr::from_ref(stmt) as usize
}

/// Collects the variables that occur in a statement: in itself, and in its blocks.
fn occurring(stmt: &Stmt, own: &mut HashSet<usize>, inside: &mut HashSet<usize>) {
    fn inner(e: &Expr, into: &mut HashSet<usize>) {
        if let Kind::Var(v) = e.kind {
            into.insert(v);
        }
        e.each_operand(&mut |part| inner(part, into));
    }
    stmt.kind.exprs(&mut |e| inner(e, own));
    if let StmtKind::Assign(v, _) | StmtKind::For { var: v, .. } = &stmt.kind {
        own.insert(*v);
    }
    for block in stmt.kind.blocks() {
        for stmt in block {
            let (mut a, mut b) = (HashSet::new(), HashSet::new());
            occurring(stmt, &mut a, &mut b);
            inside.extend(a);
            inside.extend(b);
        }
    }
}

impl Declarations {
    pub(super) fn of(function: &Function) -> Declarations {
        let mut declarations = Declarations::default();
        let vars = (function.params..function.vars.len()).collect();
        declarations.block(&function.body, &vars);
        declarations.top.sort_unstable();
        declarations
    }

    /// Finds the declarations of variables that occur in this block only.
    fn block(&mut self, block: &[Stmt], vars: &HashSet<usize>) {
        let occurrences: Vec<(HashSet<usize>, HashSet<usize>)> = block
            .iter()
            .map(|stmt| {
                let mut both = (HashSet::new(), HashSet::new());
                occurring(stmt, &mut both.0, &mut both.1);
                both
            })
            .collect();
        for &var in vars {
            let users: Vec<usize> = (0..block.len())
                .filter(|&k| occurrences[k].0.contains(&var) || occurrences[k].1.contains(&var))
                .collect();
            let Some(&first) = users.first() else { continue };
            let stmt = &block[first];
            match &stmt.kind {
                StmtKind::Assign(v, value) if *v == var && !mentions(value, var) => {
                    self.at.entry(address(stmt)).or_default().insert(var);
                }
                StmtKind::For { var: v, .. } if *v == var && users.len() == 1 => {
                    self.counters.insert(address(stmt));
                }
                kind if users.len() == 1 && !occurrences[first].0.contains(&var) => {
                    let inside: Vec<&[Stmt]> = kind.blocks().into_iter().filter(|b| occurs(b, var)).collect();
                    match inside[..] {
                        [one] => self.block(one, &HashSet::from([var])),
                        _ => self.top.push(var),
                    }
                }
                _ => self.top.push(var),
            }
        }
    }
}

fn mentions(e: &Expr, var: usize) -> bool {
    if matches!(e.kind, Kind::Var(v) if v == var) {
        return true;
    }
    let mut found = false;
    e.each_operand(&mut |part| found |= mentions(part, var));
    found
}

fn occurs(block: &[Stmt], var: usize) -> bool {
    block.iter().any(|stmt| {
        let (mut own, mut inside) = (HashSet::new(), HashSet::new());
        occurring(stmt, &mut own, &mut inside);
        own.contains(&var) || inside.contains(&var)
    })
}

impl Writer<'_> {
    /// Returns the head of a function, without `{` or `;`.
    pub(super) fn signature(&mut self, function: &Function, k: usize) -> String {
        let params: Vec<String> = (0..function.params)
            .filter(|&p| function.vars[p].ty != Ty::None)
            .map(|p| format!("{} {}", self.ctype(&function.vars[p].ty), self.names[p]))
            .collect();
        let name = &self.function_names[k];
        if k == 0 && !self.device {
            let bounds = match self.options.launch_bounds {
                Some([threads, 0, 0]) => format!(" __launch_bounds__({threads})"),
                Some([threads, blocks, 0]) => format!(" __launch_bounds__({threads}, {blocks})"),
                Some([threads, blocks, cluster]) => format!(" __launch_bounds__({threads}, {blocks}, {cluster})"),
                None => String::new(),
            };
            return format!("extern \"C\" __global__ void{bounds} {name}({})", params.join(", "));
        }
        let name = name.clone();
        let ret = if function.ret == Ty::None { "void".into() } else { self.ctype(&function.ret) };
        format!("static __device__ {ret} {name}({})", params.join(", "))
    }

    pub(super) fn function(&mut self, function: &Function, k: usize, code: &mut Code) {
        let signature = self.signature(function, k);
        self.last_line = 0;
        code.block(signature, |code| {
            for (k, array) in function.arrays.iter().enumerate() {
                self.declare_array(k, array, code);
            }
            let top = std::mem::take(&mut self.declarations.top);
            for var in top {
                let ty = &function.vars[var].ty;
                if !matches!(ty, Ty::None | Ty::Unknown) {
                    let line = format!("{} {} = {{}};", self.ctype(ty), self.names[var]);
                    code.line(line);
                }
            }
            self.block(&function.body, function, code);
            let falls_off = !matches!(function.body.last().map(|s| &s.kind), Some(StmtKind::Return(_)));
            if function.ret != Ty::None && falls_off {
                code.line("return {};");
            }
        });
    }

    pub(super) fn array_name(&self, k: usize) -> String {
        match self.function.arrays.get(k).map(|a| a.space) {
            Some(Space::Local) => format!("local_{k}"),
            _ => format!("shared_{k}"),
        }
    }

    fn declare_array(&mut self, k: usize, array: &LocalArray, code: &mut Code) {
        let (c, name) = (self.ctype(&array.elem), self.array_name(k));
        if array.space == Space::Dynamic {
            code.line("extern __shared__ __align__(16) unsigned char dynamic_shared[];");
            let count = format!("dynamic_shared_bytes() / {}", array.elem.item_size().max(1));
            code.line(format!("const array<{c}, 1> {name} = {{({c}*)dynamic_shared, {{{count}}}}};"));
            return;
        }
        let count: i64 = array.shape.iter().product::<i64>().max(1);
        let word = if array.space == Space::Shared { "__shared__ " } else { "" };
        let align = if array.align > 0 { format!("__align__({}) ", array.align) } else { String::new() };
        code.line(format!("{word}{align}{c} {name}_data[{count}];"));
        let shape: Vec<String> = array.shape.iter().map(i64::to_string).collect();
        let n = array.shape.len();
        code.line(format!("const array<{c}, {n}> {name} = {{{name}_data, {{{}}}}};", shape.join(", ")));
    }

    fn block(&mut self, block: &[Stmt], function: &Function, code: &mut Code) {
        for stmt in block {
            if stmt.line != self.last_line {
                self.last_line = stmt.line;
                let at = stmt.line.wrapping_sub(function.first_line) as usize;
                if let Some(text) = function.lines.get(at) {
                    // A backslash at the end would make the next line part of the comment.
                    code.line(format!("// {}: {}", stmt.line, text.trim().trim_end_matches('\\')));
                }
            }
            self.stmt(stmt, function, code);
        }
    }

    fn stmt(&mut self, stmt: &Stmt, function: &Function, code: &mut Code) {
        match &stmt.kind {
            StmtKind::Assign(var, value) => {
                if value.ty == Ty::None {
                    if value.has_effect() {
                        let text = self.expr(value);
                        code.line(format!("{text};"));
                    }
                    return;
                }
                let text = self.value(value);
                let name = self.names[*var].clone();
                let declares = self.declarations.at.get(&address(stmt)).is_some_and(|v| v.contains(var));
                let ty = if declares { format!("{} ", self.ctype(&function.vars[*var].ty)) } else { String::new() };
                code.line(format!("{ty}{name} = {text};"));
            }
            StmtKind::Store { array, indices, value } => {
                let element = self.element(array, indices);
                let text = self.value(value);
                code.line(if may_be_unaligned(array) {
                    format!("store_parts({element}, {text});")
                } else {
                    format!("{element} = {text};")
                });
            }
            StmtKind::Copy { to, from } => {
                let (to, from) = (self.expr(to), self.expr(from));
                code.line(format!("{to}() = {from}();"));
            }
            StmtKind::Eval(value) => {
                let text = self.expr(value);
                code.line(format!("{text};"));
            }
            StmtKind::If { test, then, orelse } => self.if_else(test, then, orelse, function, code),
            StmtKind::While { test, body } => {
                let test = self.expr(test);
                code.block(format!("while ({test})"), |code| self.block(body, function, code));
            }
            StmtKind::For { var, start, stop, step, body } => {
                let name = self.names[*var].clone();
                let (from, end) = (self.value(start), self.value(stop));
                let ty = if self.declarations.counters.contains(&address(stmt)) {
                    format!("{} ", self.ctype(&function.vars[*var].ty))
                } else {
                    String::new()
                };
                let (test, next) = match step.as_int() {
                    Some(1) => (format!("{name} < {end}"), format!("{name}++")),
                    Some(-1) => (format!("{name} > {end}"), format!("{name}--")),
                    Some(n) if n > 0 => (format!("{name} < {end}"), format!("{name} += {n}")),
                    Some(n) => (format!("{name} > {end}"), format!("{name} -= {}", n.unsigned_abs())),
                    None if self.sizes.is_non_negative(step) => {
                        (format!("{name} < {end}"), format!("{name} += {}", self.expr(step)))
                    }
                    None => {
                        let step = self.expr(step);
                        (
                            format!("{step} > 0 ? {name} < {end} : {step} < 0 && {name} > {end}"),
                            format!("{name} += {step}"),
                        )
                    }
                };
                code.block(format!("for ({ty}{name} = {from}; {test}; {next})"), |code| {
                    self.block(body, function, code)
                });
            }
            StmtKind::Break => code.line("break;"),
            StmtKind::Continue => code.line("continue;"),
            StmtKind::Return(None) => code.line("return;"),
            StmtKind::Return(Some(value)) => {
                let text = self.expr(value);
                code.line(format!("return {text};"));
            }
            StmtKind::Print(parts) => self.print(parts, code),
            StmtKind::Raise(None, _) => code.line("end_thread();"),
            StmtKind::Raise(Some(fault), values) => {
                let values: String = values.iter().map(|e| format!(", {}", self.argument(e))).collect();
                code.line(format!("raise({fault}{values});"));
            }
        }
    }

    fn if_else(&mut self, test: &Expr, then: &[Stmt], orelse: &[Stmt], function: &Function, code: &mut Code) {
        let test = self.expr(test);
        code.block(format!("if ({test})"), |code| self.block(then, function, code));
        if !orelse.is_empty() {
            code.block("else", |code| self.block(orelse, function, code));
        }
    }

    fn print(&mut self, parts: &[Printed], code: &mut Code) {
        let (mut format, mut args) = (String::new(), Vec::<String>::new());
        for part in parts {
            match part {
                Printed::Text(text) => {
                    for c in text.chars() {
                        match c {
                            '%' => format.push_str("%%"),
                            '"' | '\\' => format.extend(['\\', c]),
                            '\n' => format.push_str("\\n"),
                            '\t' => format.push_str("\\t"),
                            c if c.is_control() => {}
                            c => format.push(c),
                        }
                    }
                }
                Printed::Value(value) => {
                    let text = self.argument(value);
                    let d = value.dtype().unwrap_or(DType::I64);
                    let (spec, all) = match d {
                        DType::Bool => ("%s", vec![format!("({text}) ? \"True\" : \"False\"")]),
                        DType::U64 => ("%llu", vec![format!("(uint64)({text})")]),
                        d if d.is_int() => ("%lld", vec![format!("(int64)({text})")]),
                        d if d.is_complex() => {
                            ("(%f%+fj)", vec![format!("(double)({text}).re"), format!("(double)({text}).im")])
                        }
                        _ => ("%f", vec![format!("cast<double>({text})")]),
                    };
                    // CUDA's printf takes at most 32 values, so a longer line is printed in parts.
                    if args.len() + all.len() > 32 {
                        let values: String = args.drain(..).map(|a| format!(", {a}")).collect();
                        code.line(format!("printf(\"{format}\"{values});"));
                        format.clear();
                    }
                    format.push_str(spec);
                    args.extend(all);
                }
            }
        }
        let args: String = args.iter().map(|a| format!(", {a}")).collect();
        code.line(format!("printf(\"{format}\\n\"{args});"));
    }

    /// Writes a host array as data of the module.
    pub(super) fn constant(&mut self, k: usize, code: &mut Code) {
        let array = self.module.constants[k].clone();
        let c = self.ctype(&array.elem);
        let item = |bytes: &[u8]| {
            let mut all = [0; 16];
            match array.elem.scalar() {
                None => format!("{{{{{}}}}}", bytes.iter().map(u8::to_string).collect::<Vec<_>>().join(", ")),
                Some(d) => {
                    all[..bytes.len()].copy_from_slice(bytes);
                    match d {
                        // 16-bit floats are written as their bits, because a constant initializer cannot call a
                        // function.
                        DType::F16 | DType::BF16 => format!("{{{}}}", u16::from_le_bytes([all[0], all[1]])),
                        d => exact(cuprous_core::Scalar(all).number(d), d),
                    }
                }
            }
        };
        let size = array.elem.item_size().max(1);
        let finite = |bytes: &[u8]| match array.elem.scalar() {
            Some(d) if d.is_float() || d.is_complex() => {
                let mut all = [0; 16];
                all[..bytes.len()].copy_from_slice(bytes);
                match cuprous_core::Scalar(all).number(d) {
                    Number::Float(x) => x.is_finite(),
                    Number::Complex(re, im) => re.is_finite() && im.is_finite(),
                    _ => true,
                }
            }
            _ => true,
        };
        // Infinities and NaN would need function calls, which an initializer cannot make. Arrays with such values are
        // written as bits.
        let small = matches!(array.elem.scalar(), Some(DType::F16 | DType::BF16));
        let (stored, items): (&str, Vec<String>) = if small || array.bytes.chunks(size).all(finite) {
            (&c, array.bytes.chunks(size).map(item).collect())
        } else if size == 4 {
            let word = |b: &[u8]| format!("0x{:08x}u", u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
            ("unsigned int", array.bytes.chunks(4).map(word).collect())
        } else {
            let word = |b: &[u8]| format!("0x{:016x}ull", b.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b)));
            ("unsigned long long", array.bytes.chunks(8).map(word).collect())
        };
        let count = items.len().max(1);
        // All constant memory together has 64 KiB.
        let space = if array.bytes.len() <= 16 << 10 { "__constant__" } else { "__device__" };
        let items = if items.is_empty() { "{}".to_owned() } else { items.join(", ") };
        let align = if stored == c { "" } else { "__align__(16) " };
        code.line(format!("{align}{space} const {stored} constant_{k}_data[{count}] = {{{items}}};"));
        let shape: Vec<String> = array.shape.iter().map(i64::to_string).collect();
        let (n, shape) = (array.shape.len(), shape.join(", "));
        // The address is hidden from NVRTC 13, which would otherwise take it for one of global memory, and ptxas
        // rejects that.
        code.line(format!("DEV array<{c}, {n}> constant_{k}() {{"));
        code.line(format!("    const void* at = constant_{k}_data;"));
        code.line("    asm(\"\" : IN_REGISTER(at));");
        code.line(format!("    return {{({c}*)at, {{{shape}}}}};"));
        code.line("}");
    }
}
