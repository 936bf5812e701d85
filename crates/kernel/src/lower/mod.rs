//! From syntax to typed code, in one walk that is repeated until no variable's type grows any more.
//!
//! A variable starts without a type; each assignment unifies into it. Expressions of unknown operands are unknown, and
//! code made meanwhile is thrown away; the last walk, in which nothing changed, is the result. A function is compiled
//! once for each list of argument types ([`Compiler::instance`]); one that calls itself sees what it returns so far. So do
//! functions that call one another: what was compiled with less than is known in the end is compiled again.

mod array_methods;
mod builtins;
mod call;
mod check;
mod compare;
mod context;
mod expr;
mod index;
mod loops;
mod record;
mod stmt;
mod ufunc_out;
mod writes;

use std::sync::Arc;

use crate::ast::{ConstArray, Pos, Source, Value};
use crate::diagnostic::{Diagnostic, ErrorKind, Result};
use crate::exception::{Checks, RaiseSite};
use crate::ir;
use crate::live_ranges::live_ranges;
use crate::table;
use crate::types::Ty;
use crate::verify;

pub use builtins::builtin_names;
use context::LoweringContext;

/// Walks of one function before inference is given up; types only grow, and each can grow a few times.
const MAX_PASSES: usize = 64;
/// Instances of functions in one kernel.
const MAX_INSTANCES: usize = 2000;
/// Calls inside one another.
const MAX_DEPTH: usize = 100;

/// What a function is called with.
#[derive(Clone, PartialEq, Debug)]
pub enum Arg {
    /// A value of that type.
    Ty(Ty),
    /// Something known when the kernel is compiled.
    Static(Value),
}

/// What is known of a web.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Binding {
    /// Nothing yet.
    Unset,
    /// It holds values of that type.
    Ty(Ty),
    /// It is another name for something known when the kernel is compiled.
    Static(Value),
}

/// A function for one list of arguments.
struct Instance {
    function: usize,
    args: Vec<Arg>,
    ret: Ty,
    /// Whether a way out gives a value of a type that is not known yet.
    returns_unknown: bool,
    bindings: Vec<Binding>,
    code: Option<ir::Function>,
    /// The place among those being walked of the outermost one that it calls in turn; none once what that returns is known.
    lowlink: Option<usize>,
    /// One that it calls was walked again since.
    stale: bool,
}

/// Compiles a kernel and what it calls.
pub(crate) struct Compiler<'a> {
    source: &'a Source,
    instances: Vec<Instance>,
    constants: Vec<Arc<ConstArray>>,
    checks: Checks,
    raise_sites: Vec<RaiseSite>,
    /// The instances being walked, each called by the one before.
    stack: Vec<usize>,
    /// Whether the first instance is a kernel, which nobody calls: one that calls itself is a function besides.
    kernel: bool,
}

/// Compiles function 0 of a source as a kernel for arguments of these types.
///
/// # Errors
/// What is wrong, and where.
pub fn compile(source: &Source, args: &[Ty]) -> Result<ir::Module> {
    let args: Vec<Arg> = args.iter().cloned().map(Arg::Ty).collect();
    compile_function(source, &args, true, Checks::default())
}

/// As [`compile`]; a function that is no kernel may return a value.
///
/// # Errors
/// What is wrong, and where.
pub fn compile_function(source: &Source, args: &[Arg], kernel: bool, checks: Checks) -> Result<ir::Module> {
    let (instances, constants, raise_sites) = (Vec::new(), Vec::new(), Vec::new());
    let mut compiler = Compiler { source, instances, constants, checks, raise_sites, stack: Vec::new(), kernel };
    let function = &source.functions[0];
    let start = Pos { line: function.first_line, column: 0, end: 0 };
    let root = compiler.instance(0, args, start, 0)?;
    debug_assert_eq!(root, 0);
    let ret = &compiler.instances[0].ret;
    if kernel && *ret != Ty::None {
        let message = format!("CUDA kernel must have void return type; {} returns {ret}", function.name);
        let error = Diagnostic::new(ErrorKind::Typing, message, function, start);
        return Err(error.hint("write the result into an array, or declare it with @cuda.jit(device=True)"));
    }
    let module = compiler.finish();
    if let Err(broken) = verify::verify(&module) {
        let message = format!("an internal error of the kernel compiler, please report it: {broken}");
        return Err(Diagnostic::new(ErrorKind::Unsupported, message, function, start));
    }
    Ok(module)
}

impl<'a> Compiler<'a> {
    /// The instance of a function for these arguments, compiled unless it is being compiled further out.
    fn instance(&mut self, function: usize, args: &[Arg], pos: Pos, caller: usize) -> Result<usize> {
        let known = |i: &Instance| i.function == function && i.args == args;
        let first = usize::from(self.kernel);
        let found = self.instances.iter().skip(first).position(known).map(|found| first + found);
        if let Some(found) = found {
            let within = self.stack.iter().position(|active| *active == found);
            let Instance { lowlink, stale, code, .. } = &self.instances[found];
            if within.is_some() || (code.is_some() && !stale) {
                let lowlink = within.or(*lowlink);
                self.link(lowlink);
                return Ok(found);
            }
        }
        let source = self.source;
        let body = &source.functions[function];
        if self.instances.len() >= MAX_INSTANCES || self.stack.len() >= MAX_DEPTH {
            let message = "functions call one another too deeply for a kernel, or with ever new argument types";
            return Err(Diagnostic::new(ErrorKind::Unsupported, message, &source.functions[caller], pos));
        }
        let live_ranges = live_ranges(body);
        let this = found.unwrap_or_else(|| {
            let (args, bindings) = (args.to_vec(), vec![Binding::Unset; live_ranges.names.len()]);
            let (ret, returns_unknown, code, lowlink, stale) = (Ty::Unknown, false, None, None, false);
            self.instances.push(Instance { function, args, ret, returns_unknown, bindings, code, lowlink, stale });
            self.instances.len() - 1
        });
        let depth = self.stack.len();
        self.stack.push(this);
        self.instances[this].lowlink = None;
        let mut bindings = std::mem::take(&mut self.instances[this].bindings);
        for pass in 0..MAX_PASSES {
            if pass > 0 {
                // What was compiled meanwhile and calls this one in turn knows less of it.
                self.instances.iter_mut().for_each(|i| i.stale |= i.lowlink.is_some());
            }
            let before = (bindings.clone(), self.instances[this].ret.clone());
            let (code, unset) = LoweringContext::new(self, this, body, &live_ranges, &mut bindings).run()?;
            if before == (bindings.clone(), self.instances[this].ret.clone()) {
                let lowlink = self.instances[this].lowlink.filter(|outer| *outer < depth);
                let returns_unknown = self.instances[this].returns_unknown;
                let ret = &mut self.instances[this].ret;
                if *ret == Ty::Unknown && returns_unknown && unset.is_none() && lowlink.is_none() {
                    let message = "cannot type infer runaway recursion: every value returned is that of a further call";
                    let start = Pos { line: body.first_line, column: 0, end: 0 };
                    return Err(Diagnostic::new(ErrorKind::Typing, message, body, start));
                }
                if *ret == Ty::Unknown && !returns_unknown {
                    // No way out gives a value.
                    *ret = Ty::None;
                    continue;
                }
                if let Some(error) = unset.filter(|_| lowlink.is_none()) {
                    return Err(error);
                }
                // Those that wait for this one wait for what it waits for, which is nothing most times.
                for inner in self.instances.iter_mut().filter(|i| i.lowlink.is_some_and(|outer| outer >= depth)) {
                    inner.lowlink = lowlink;
                }
                let finished = &mut self.instances[this];
                finished.code = Some(ir::Function { ret: finished.ret.clone(), ..code });
                (finished.bindings, finished.lowlink, finished.stale) = (bindings, lowlink, false);
                self.stack.pop();
                return Ok(this);
            }
        }
        let start = Pos { line: body.first_line, column: 0, end: 0 };
        Err(Diagnostic::new(ErrorKind::Typing, "the types of the variables do not settle", body, start))
    }

    /// Goes back to where so many were being walked, without what was compiled since.
    fn unwind(&mut self, depth: usize) {
        self.stack.truncate(depth);
        for dropped in self.instances.iter_mut().filter(|i| i.lowlink.is_some_and(|outer| outer >= depth)) {
            (dropped.lowlink, dropped.stale) = (None, true);
        }
    }

    /// What is being walked and was called by `outer`, a place among those, calls it in turn.
    fn link(&mut self, outer: Option<usize>) {
        let Some(outer) = outer else { return };
        for &active in self.stack.get(outer..).unwrap_or_default() {
            let lowlink = &mut self.instances[active].lowlink;
            *lowlink = Some(lowlink.map_or(outer, |known| known.min(outer)));
        }
    }

    /// The number of a host array among the constants.
    fn constant(&mut self, array: &Arc<ConstArray>) -> usize {
        self.constants.iter().position(|known| known == array).unwrap_or_else(|| {
            self.constants.push(array.clone());
            self.constants.len() - 1
        })
    }

    /// The number of a place that may raise.
    fn raise_site(&mut self, site: RaiseSite) -> usize {
        self.raise_sites.iter().position(|known| *known == site).unwrap_or_else(|| {
            self.raise_sites.push(site);
            self.raise_sites.len() - 1
        })
    }

    /// The functions that the kernel reaches, with numbers and names of their own.
    fn finish(self) -> ir::Module {
        // Instances that only earlier walks called are left out.
        let mut functions = ir::reachable_functions(self.instances.into_iter().map(|i| i.code).collect());
        let mut names: Vec<String> = Vec::new();
        for function in &mut functions {
            let plain = function.name.clone();
            let mut k = 0;
            while names.contains(&function.name) {
                k += 1;
                function.name = format!("{plain}_{k}");
            }
            names.push(function.name.clone());
        }
        writes::find(&mut functions);
        let mut module = ir::Module {
            functions,
            constants: self.constants,
            barriers: false,
            cooperative: false,
            raise_sites: self.raise_sites,
            reports: false,
            dynamic_shared: false,
        };
        module.reports = module.functions.iter().any(|f| f.raises(true));
        module.dynamic_shared = module.functions.iter().any(|f| f.arrays.iter().any(|a| a.space == ir::Space::Dynamic));
        let calls = |test: &dyn Fn(&crate::builtin::Builtin) -> bool| {
            let found = |e: &ir::Expr| matches!(&e.kind, ir::Kind::Builtin(row, _) if test(row));
            module.functions.iter().any(|f| ir::any_expr(&f.body, &mut |e| found(e)))
        };
        (module.barriers, module.cooperative) =
            (calls(&|row| row.synchronizes), calls(&|row| row.name == table::GRID_SYNC));
        module
    }
}
