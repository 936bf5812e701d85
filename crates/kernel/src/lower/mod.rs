//! From syntax to typed code, in one walk that is repeated until no variable's type grows any more.
//!
//! A variable starts without a type; each assignment unifies into it. Expressions of unknown operands are unknown, and
//! code made meanwhile is thrown away; the last walk, in which nothing changed, is the result. A function is compiled
//! once for each list of argument types ([`Compiler::instance`]); one that calls itself sees what it returns so far. So do
//! functions that call one another: what was compiled with less than is known in the end is compiled again.

mod array_methods;
mod call;
mod check;
mod compare;
mod context;
mod expr;
mod index;
mod loops;
mod record;
mod special;
mod stmt;
mod ufunc_out;
mod writes;

use std::sync::Arc;

use crate::ast::{ConstArray, Pos, Source, Value};
use crate::diagnostic::{Class, Diagnostic, Result};
use crate::exception::{Checks, Fault};
use crate::ir;
use crate::live_ranges::webs;
use crate::table;
use crate::types::Ty;
use crate::verify;

use context::Walk;

/// Walks of one function before inference is given up; types only grow, and each can grow a few times.
const MAX_WALKS: usize = 64;
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
pub(crate) enum Bound {
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
    gives: bool,
    bounds: Vec<Bound>,
    code: Option<ir::Function>,
    /// The place among those being walked of the outermost one that it calls in turn; none once what that returns is known.
    waits: Option<usize>,
    /// One that it calls was walked again since.
    stale: bool,
}

/// Compiles a kernel and what it calls.
pub(crate) struct Compiler<'a> {
    source: &'a Source,
    instances: Vec<Instance>,
    constants: Vec<Arc<ConstArray>>,
    checks: Checks,
    faults: Vec<Fault>,
    /// The instances being walked, each called by the one before.
    walking: Vec<usize>,
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
    let (instances, constants, faults) = (Vec::new(), Vec::new(), Vec::new());
    let mut compiler = Compiler { source, instances, constants, checks, faults, walking: Vec::new(), kernel };
    let function = &source.functions[0];
    let start = Pos { line: function.first_line, column: 0, end: 0 };
    let root = compiler.instance(0, args, start, 0)?;
    debug_assert_eq!(root, 0);
    let ret = &compiler.instances[0].ret;
    if kernel && *ret != Ty::None {
        let message = format!("CUDA kernel must have void return type; {} returns {ret}", function.name);
        let error = Diagnostic::new(Class::Typing, message, function, start);
        return Err(error.hint("write the result into an array, or declare it with @cuda.jit(device=True)"));
    }
    let module = compiler.finish();
    if let Err(broken) = verify::verify(&module) {
        let message = format!("an internal error of the kernel compiler, please report it: {broken}");
        return Err(Diagnostic::new(Class::Unsupported, message, function, start));
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
            let within = self.walking.iter().position(|walked| *walked == found);
            let Instance { waits, stale, code, .. } = &self.instances[found];
            if within.is_some() || (code.is_some() && !stale) {
                let waits = within.or(*waits);
                self.wait(waits);
                return Ok(found);
            }
        }
        let source = self.source;
        let body = &source.functions[function];
        if self.instances.len() >= MAX_INSTANCES || self.walking.len() >= MAX_DEPTH {
            let message = "functions call one another too deeply for a kernel, or with ever new argument types";
            return Err(Diagnostic::new(Class::Unsupported, message, &source.functions[caller], pos));
        }
        let webs = webs(body);
        let this = found.unwrap_or_else(|| {
            let (args, bounds) = (args.to_vec(), vec![Bound::Unset; webs.names.len()]);
            let (ret, gives, code, waits, stale) = (Ty::Unknown, false, None, None, false);
            self.instances.push(Instance { function, args, ret, gives, bounds, code, waits, stale });
            self.instances.len() - 1
        });
        let depth = self.walking.len();
        self.walking.push(this);
        self.instances[this].waits = None;
        let mut bounds = std::mem::take(&mut self.instances[this].bounds);
        for walk in 0..MAX_WALKS {
            if walk > 0 {
                // What was compiled meanwhile and calls this one in turn knows less of it.
                self.instances.iter_mut().for_each(|i| i.stale |= i.waits.is_some());
            }
            let before = (bounds.clone(), self.instances[this].ret.clone());
            let (code, unset) = Walk::new(self, this, body, &webs, &mut bounds).run()?;
            if before == (bounds.clone(), self.instances[this].ret.clone()) {
                let waits = self.instances[this].waits.filter(|outer| *outer < depth);
                let gives = self.instances[this].gives;
                let ret = &mut self.instances[this].ret;
                if *ret == Ty::Unknown && gives && unset.is_none() && waits.is_none() {
                    let message = "cannot type infer runaway recursion: every value returned is that of a further call";
                    let start = Pos { line: body.first_line, column: 0, end: 0 };
                    return Err(Diagnostic::new(Class::Typing, message, body, start));
                }
                if *ret == Ty::Unknown && !gives {
                    // No way out gives a value.
                    *ret = Ty::None;
                    continue;
                }
                if let Some(error) = unset.filter(|_| waits.is_none()) {
                    return Err(error);
                }
                // Those that wait for this one wait for what it waits for, which is nothing most times.
                for inner in self.instances.iter_mut().filter(|i| i.waits.is_some_and(|outer| outer >= depth)) {
                    inner.waits = waits;
                }
                let made = &mut self.instances[this];
                made.code = Some(ir::Function { ret: made.ret.clone(), ..code });
                (made.bounds, made.waits, made.stale) = (bounds, waits, false);
                self.walking.pop();
                return Ok(this);
            }
        }
        let start = Pos { line: body.first_line, column: 0, end: 0 };
        Err(Diagnostic::new(Class::Typing, "the types of the variables do not settle", body, start))
    }

    /// Goes back to where so many were being walked, without what was compiled since.
    fn forget(&mut self, depth: usize) {
        self.walking.truncate(depth);
        for dropped in self.instances.iter_mut().filter(|i| i.waits.is_some_and(|outer| outer >= depth)) {
            (dropped.waits, dropped.stale) = (None, true);
        }
    }

    /// What is being walked and was called by `outer`, a place among those, calls it in turn.
    fn wait(&mut self, outer: Option<usize>) {
        let Some(outer) = outer else { return };
        for &walked in self.walking.get(outer..).unwrap_or_default() {
            let waits = &mut self.instances[walked].waits;
            *waits = Some(waits.map_or(outer, |known| known.min(outer)));
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
    fn fault(&mut self, fault: Fault) -> usize {
        self.faults.iter().position(|known| *known == fault).unwrap_or_else(|| {
            self.faults.push(fault);
            self.faults.len() - 1
        })
    }

    /// The functions that the kernel reaches, with numbers and names of their own.
    fn finish(self) -> ir::Module {
        // Instances that only earlier walks called are left out.
        let mut functions = ir::called(self.instances.into_iter().map(|i| i.code).collect());
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
            faults: self.faults,
            reports: false,
            dynamic_shared: false,
        };
        module.reports = module.functions.iter().any(|f| f.raises(true));
        module.dynamic_shared = module.functions.iter().any(|f| f.arrays.iter().any(|a| a.space == ir::Space::Dynamic));
        let calls = |test: &dyn Fn(&crate::builtin::Row) -> bool| {
            let found = |e: &ir::Expr| matches!(&e.kind, ir::Kind::Builtin(row, _) if test(row));
            module.functions.iter().any(|f| ir::any_expr(&f.body, &mut |e| found(e)))
        };
        (module.barriers, module.cooperative) = (calls(&|row| row.waits), calls(&|row| row.name == table::GRID_SYNC));
        module
    }
}
