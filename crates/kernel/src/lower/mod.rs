//! Lowering of syntax to typed code, in passes that are repeated until no variable's type changes.
//!
//! A variable starts without a type, and each assignment unifies its type with that of the value. Expressions of
//! unknown operands are unknown. The code of all passes but the last, in which nothing changed, is discarded. A
//! function is compiled once for each list of argument types ([`Compiler::instance`]). A recursive function uses the
//! result type found so far. Mutually recursive functions that were compiled with incomplete types are compiled again.

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

/// The passes over a function. Types only grow, and each can grow a few times.
const MAX_PASSES: usize = 64;
/// The instances of functions in one kernel.
const MAX_INSTANCES: usize = 2000;
/// The depth of calls.
const MAX_DEPTH: usize = 100;

/// An argument of a function.
#[derive(Clone, PartialEq, Debug)]
pub enum Arg {
    /// A run-time value of that type.
    Ty(Ty),
    /// A compile-time object.
    Static(Value),
}

/// The binding of a live range.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Binding {
    /// Not assigned yet.
    Unset,
    /// A variable of that type.
    Ty(Ty),
    /// An alias of a compile-time object.
    Static(Value),
}

/// A function compiled for one list of arguments.
struct Instance {
    function: usize,
    args: Vec<Arg>,
    ret: Ty,
    /// Whether it returns a value whose type is not known yet.
    returns_unknown: bool,
    bindings: Vec<Binding>,
    code: Option<ir::Function>,
    /// The stack position of the outermost active instance that it calls, directly or not. `None` once its result type
    /// is final.
    lowlink: Option<usize>,
    /// Whether an instance that it calls was compiled again since.
    stale: bool,
}

/// Compiles a kernel and what it calls.
pub(crate) struct Compiler<'a> {
    source: &'a Source,
    instances: Vec<Instance>,
    constants: Vec<Arc<ConstArray>>,
    checks: Checks,
    raise_sites: Vec<RaiseSite>,
    /// The active instances, each called by the one before.
    stack: Vec<usize>,
    /// Whether the first instance is a kernel. It is not callable: a kernel that calls itself calls another instance.
    kernel: bool,
}

/// Compiles function 0 of a source as a kernel for arguments of these types.
///
/// # Errors
/// The first error in the source.
pub fn compile(source: &Source, args: &[Ty]) -> Result<ir::Module> {
    let args: Vec<Arg> = args.iter().cloned().map(Arg::Ty).collect();
    compile_function(source, &args, true, Checks::default())
}

/// Compiles function 0 of a source. A function that is not a kernel may return a value.
///
/// # Errors
/// The first error in the source.
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
    /// Returns the instance of a function for these arguments. Compiles it, unless it is active or already compiled.
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
            let message = "calls are nested too deeply for a kernel, or use ever new argument types";
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
                // Instances that call this one were compiled with less information.
                self.instances.iter_mut().for_each(|i| i.stale |= i.lowlink.is_some());
            }
            let before = (bindings.clone(), self.instances[this].ret.clone());
            let (code, unset) = LoweringContext::new(self, this, body, &live_ranges, &mut bindings).run()?;
            if before == (bindings.clone(), self.instances[this].ret.clone()) {
                let lowlink = self.instances[this].lowlink.filter(|outer| *outer < depth);
                let returns_unknown = self.instances[this].returns_unknown;
                let ret = &mut self.instances[this].ret;
                if *ret == Ty::Unknown && returns_unknown && unset.is_none() && lowlink.is_none() {
                    let message =
                        "cannot type infer runaway recursion: every returned value is the result of another call";
                    let start = Pos { line: body.first_line, column: 0, end: 0 };
                    return Err(Diagnostic::new(ErrorKind::Typing, message, body, start));
                }
                if *ret == Ty::Unknown && !returns_unknown {
                    // No `return` has a value.
                    *ret = Ty::None;
                    continue;
                }
                if let Some(error) = unset.filter(|_| lowlink.is_none()) {
                    return Err(error);
                }
                // Instances that depend on this one now depend on what this one depends on, mostly nothing.
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
        Err(Diagnostic::new(ErrorKind::Typing, "type inference of the variables does not converge", body, start))
    }

    /// Restores the stack to a depth. Instances that depend on dropped ones are compiled again.
    fn unwind(&mut self, depth: usize) {
        self.stack.truncate(depth);
        for dropped in self.instances.iter_mut().filter(|i| i.lowlink.is_some_and(|outer| outer >= depth)) {
            (dropped.lowlink, dropped.stale) = (None, true);
        }
    }

    /// Records that the active instances from `outer` on, a stack position, are recursive through it.
    fn link(&mut self, outer: Option<usize>) {
        let Some(outer) = outer else { return };
        for &active in self.stack.get(outer..).unwrap_or_default() {
            let lowlink = &mut self.instances[active].lowlink;
            *lowlink = Some(lowlink.map_or(outer, |known| known.min(outer)));
        }
    }

    /// Returns the index of a host array among the constants.
    fn constant(&mut self, array: &Arc<ConstArray>) -> usize {
        self.constants.iter().position(|known| known == array).unwrap_or_else(|| {
            self.constants.push(array.clone());
            self.constants.len() - 1
        })
    }

    /// Returns the index of a raise site.
    fn raise_site(&mut self, site: RaiseSite) -> usize {
        self.raise_sites.iter().position(|known| *known == site).unwrap_or_else(|| {
            self.raise_sites.push(site);
            self.raise_sites.len() - 1
        })
    }

    /// Collects the functions that the kernel reaches and gives them unique names.
    fn finish(self) -> ir::Module {
        // Drops instances that only earlier passes called.
        let mut functions = ir::reachable_functions(self.instances.into_iter().map(|i| i.code).collect());
        let mut names: Vec<String> = Vec::new();
        for function in &mut functions {
            let base = function.name.clone();
            let mut k = 0;
            while names.contains(&function.name) {
                k += 1;
                function.name = format!("{base}_{k}");
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
            is_checked: self.checks.accesses,
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
