//! Calls of builtins: where a name is looked up, and what its arguments must be.
//!
//! Most builtins are rows of [`crate::table`]. The others, which take types, declare arrays or are built from several
//! operations, are rows of [`SPECIAL`]: name, arity, keyword arguments and the function that lowers the call. A new
//! builtin is one row.

mod arrays;
mod device;
mod elements;
mod math;
mod python;
mod threads;

use cuprous_core::scalar::Number;
use cuprous_core::{DType, Fun};

use super::context::{LoweringContext, Operand};
use crate::ast::{BinOp, Value};
use crate::builtin::Builtin;
use crate::diagnostic::Result;
use crate::ir::{AtomicOp, CacheOp, Expr, Space};
use crate::rules::Rule;
use crate::table;
use crate::types::Ty;

use elements::ElementOp;

/// A call of a builtin of [`SPECIAL`].
struct Call<'n> {
    name: &'n str,
    args: &'n [Operand],
    keywords: &'n [(&'n str, Operand)],
}

impl Call<'_> {
    /// Returns the argument that stands at a position or has the keyword.
    fn argument(&self, position: usize, keyword: &str) -> Option<&Operand> {
        let by_keyword = || self.keywords.iter().find(|(name, _)| *name == keyword).map(|(_, operand)| operand);
        self.args.get(position).or_else(by_keyword)
    }

    /// Returns the value of an argument by position.
    fn value(&self, cx: &mut LoweringContext<'_, '_>, position: usize) -> Result<Expr> {
        cx.value(self.args[position].clone())
    }

    /// Returns the values of all arguments.
    fn values(&self, cx: &mut LoweringContext<'_, '_>) -> Result<Vec<Expr>> {
        cx.values(self.args.to_vec())
    }
}

type Lower = fn(&mut LoweringContext<'_, '_>, &Call<'_>) -> Result<Operand>;

/// A builtin with a lowering function of its own. That function is called with arguments that fit `arity` and `keywords`.
struct Special {
    name: &'static str,
    /// The least and the greatest number of arguments.
    arity: (usize, usize),
    /// The names of the last parameters, which may be passed by keyword too.
    keywords: &'static [&'static str],
    lower: Lower,
}

/// The arity of a function of any number of arguments.
const VARIADIC: (usize, usize) = (0, usize::MAX);

const fn special(
    name: &'static str,
    arity: (usize, usize),
    keywords: &'static [&'static str],
    lower: Lower,
) -> Special {
    Special { name, arity, keywords, lower }
}

/// The builtins with a lowering function of their own.
static SPECIAL: &[Special] = &[
    // --- Python
    special("len", (1, 1), &[], python::len),
    special("range", (1, 3), &[], python::range),
    special("enumerate", (1, 2), &["start"], python::enumerate),
    special("zip", VARIADIC, &["strict"], python::zip),
    special("min", VARIADIC, &[], |cx, call| python::extremum(cx, call, Fun::Less)),
    special("max", VARIADIC, &[], |cx, call| python::extremum(cx, call, Fun::Greater)),
    special("round", (1, 2), &["ndigits"], python::round),
    special("pow", (2, 2), &[], python::pow),
    special("divmod", (2, 2), &[], python::divmod),
    special("print", VARIADIC, &[], python::print),
    special("tuple", (1, 1), &[], python::tuple_of),
    special("isinstance", (2, 2), &[], python::isinstance),
    // --- selections and numbers
    special("np.where", (3, 3), &[], math::select),
    special("cuda.selp", (3, 3), &[], math::select),
    special("math.frexp", (1, 1), &[], math::frexp),
    special("math.modf", (1, 1), &[], math::modf),
    special("cuda.fp16.hfma", (3, 3), &[], math::half_fma),
    special("cuda.fp16.hexp10", (1, 1), &[], math::half_exp10),
    special("cmath.polar", (1, 1), &[], math::polar),
    special("cmath.rect", (2, 2), &[], math::rect),
    // --- threads
    special("cuda.grid", (1, 1), &[], threads::grid),
    special("cuda.gridsize", (1, 1), &[], threads::gridsize),
    special("cuda.warpsize", VARIADIC, &[], |_, _| Ok(Operand::Value(Value::Typed(Number::Int(32), DType::I32)))),
    // --- cooperative groups, with the names of CUDA and of CuPy
    special("cuda.cg.this_grid", (0, 0), &[], |_, _| Ok(Operand::Value(Value::Builtin("cuda.cg.grid".into())))),
    special("cuda.cg.this_thread_block", (0, 0), &[], |_, _| {
        Ok(Operand::Value(Value::Builtin("cuda.cg.block".into())))
    }),
    special("cuda.cg.sync", (1, 1), &[], threads::sync),
    special("cuda.cg.block.thread_index", (0, 0), &[], |cx, _| threads::index(cx, "threadIdx")),
    special("cuda.cg.block.thread_rank", (0, 0), &[], |cx, _| threads::rank_of_thread(cx).map(Operand::Expr)),
    special("cuda.cg.block.group_index", (0, 0), &[], |cx, _| threads::index(cx, "blockIdx")),
    special("cuda.cg.block.group_dim", (0, 0), &[], |cx, _| threads::index(cx, "blockDim")),
    special("cuda.cg.block.dim_threads", (0, 0), &[], |cx, _| threads::index(cx, "blockDim")),
    special("cuda.cg.block.num_threads", (0, 0), &[], |cx, _| threads::count(cx, "blockDim").map(Operand::Expr)),
    special("cuda.cg.block.size", (0, 0), &[], |cx, _| threads::count(cx, "blockDim").map(Operand::Expr)),
    special("cuda.cg.grid.thread_rank", (0, 0), &[], threads::rank_in_grid),
    special("cuda.cg.grid.num_threads", (0, 0), &[], threads::threads_of_grid),
    special("cuda.cg.grid.size", (0, 0), &[], threads::threads_of_grid),
    special("cuda.cg.grid.block_index", (0, 0), &[], |cx, _| threads::index(cx, "blockIdx")),
    special("cuda.cg.grid.block_rank", (0, 0), &[], |cx, _| threads::rank_of_block(cx).map(Operand::Expr)),
    special("cuda.cg.grid.num_blocks", (0, 0), &[], |cx, _| threads::count(cx, "gridDim").map(Operand::Expr)),
    special("cuda.cg.grid.group_dim", (0, 0), &[], |cx, _| threads::index(cx, "gridDim")),
    special("cuda.cg.grid.dim_blocks", (0, 0), &[], |cx, _| threads::index(cx, "gridDim")),
    // --- arrays and elements
    special("cuda.shared.array", (2, 3), arrays::PARAMETERS, |cx, call| arrays::declare(cx, call, Space::Shared)),
    special("cuda.local.array", (2, 3), arrays::PARAMETERS, |cx, call| arrays::declare(cx, call, Space::Local)),
    special("cupyx.jit.shared_memory", (2, 3), &["alignment"], arrays::cupy_shared_memory),
    special("cuda.const.array_like", (1, 1), &[], arrays::const_array_like),
    special("cuda.atomic.compare_and_swap", (3, 3), &[], elements::compare_and_swap),
];

impl Special {
    /// Checks the keywords and the number of arguments of a call. Parameters that may be passed by keyword do not count
    /// as missing here: their function knows whether it needs them.
    fn check(&self, cx: &LoweringContext<'_, '_>, call: &Call<'_>) -> Result<()> {
        let ((least, most), given) = (self.arity, call.args.len());
        let by_position_only = most - self.keywords.len();
        let by_position = given.saturating_sub(by_position_only).min(self.keywords.len());
        cx.check_keywords(self.name, call.keywords, &self.keywords[by_position..])?;
        if given < least.min(by_position_only) || given > most {
            let wanted = if least == most { least.to_string() } else { format!("{least} to {most}") };
            return Err(cx.arity_error(self.name, &wanted, given));
        }
        Ok(())
    }
}

/// What the name of a builtin stands for.
enum Definition {
    /// A vector type: `cuda.float32x3`.
    Vector(DType, usize),
    /// A row of [`SPECIAL`].
    Special(&'static Special),
    /// An atomic operation, or a load or store with a cache hint.
    Element(ElementOp),
    /// A builtin that devices implement.
    Device(&'static Builtin),
    /// A row of the operation table.
    Function(Fun, Rule),
}

impl Definition {
    fn of(name: &str) -> Option<Definition> {
        if let Some((d, count)) = table::vector(name) {
            return Some(Definition::Vector(d, count));
        }
        if let Some(special) = SPECIAL.iter().find(|special| special.name == name) {
            return Some(Definition::Special(special));
        }
        if let Some(op) = ElementOp::of(name) {
            return Some(Definition::Element(op));
        }
        if let Some(row) = table::row(name) {
            return Some(Definition::Device(row));
        }
        table::function(name).map(|(fun, rule)| Definition::Function(fun, rule))
    }
}

impl LoweringContext<'_, '_> {
    /// Lowers a call of a builtin.
    pub(super) fn builtin(
        &mut self,
        name: &str,
        args: Vec<Operand>,
        keywords: Vec<(&str, Operand)>,
    ) -> Result<Operand> {
        let Some(definition) = Definition::of(name) else { return Err(self.unknown_builtin(name)) };
        if !matches!(definition, Definition::Special(_)) {
            self.no_keywords(name, &keywords)?;
        }
        match definition {
            Definition::Special(special) => {
                let call = Call { name, args: &args, keywords: &keywords };
                special.check(self, &call)?;
                (special.lower)(self, &call)
            }
            Definition::Vector(d, count) => arrays::vector(self, d, count, args),
            Definition::Element(op) => self.element_op(name, op, args),
            Definition::Device(row) => {
                let args = self.values(args)?;
                self.device_builtin(row, args).map(Operand::Expr)
            }
            Definition::Function(fun, rule) => self.table_function(name, fun, rule, args).map(Operand::Expr),
        }
    }

    /// A row of the operation table, called by a name.
    fn table_function(&mut self, name: &str, fun: Fun, rule: Rule, args: Vec<Operand>) -> Result<Expr> {
        let mut args = self.values(args)?;
        if rule == Rule::Ufunc && args.len() == fun.op().arity as usize + 1 {
            return self.ufunc_with_out(name, fun, args);
        }
        // log(x, base).
        if fun == Fun::Log && args.len() == 2 && rule != Rule::Ufunc {
            let base = args.pop().into_iter().collect();
            let base = self.function(name, fun, rule, base)?;
            let log = self.function(name, fun, rule, args)?;
            return self.binary(BinOp::Div, log, base);
        }
        self.function(name, fun, rule, args)
    }

    fn unknown_builtin(&self, name: &str) -> Box<crate::Diagnostic> {
        let error = self.unsupported(format!("{name} is not supported in kernels"));
        match (alternative(name), nearest(name)) {
            (Some(hint), _) => error.hint(hint),
            (None, Some(near)) => error.hint(format!("did you mean {near}?")),
            (None, None) => error,
        }
    }
}

/// Returns an unknown value if any of the values has no type yet.
fn unknown_among(values: &[Expr]) -> Option<Operand> {
    values.iter().any(|v| v.ty == Ty::Unknown).then(|| Operand::Expr(Expr::unknown()))
}

/// Returns every name that kernels may call, for messages and for tests.
pub fn builtin_names() -> Vec<String> {
    let rows = table::names().chain(SPECIAL.iter().map(|special| special.name.to_owned()));
    let atomics = AtomicOp::ALL.iter().map(|(name, _)| format!("cuda.atomic.{name}"));
    let cached = CacheOp::ALL.iter().map(|(name, _)| format!("cuda.{name}"));
    rows.chain(atomics).chain(cached).collect()
}

/// Returns the known name that is at most two edits away from an unknown one.
fn nearest(name: &str) -> Option<String> {
    let distance = |other: &str| {
        let (a, b): (Vec<char>, Vec<char>) = (name.chars().collect(), other.chars().collect());
        let mut row: Vec<usize> = (0..=b.len()).collect();
        for (i, x) in a.iter().enumerate() {
            let mut diagonal = row[0];
            row[0] = i + 1;
            for (j, y) in b.iter().enumerate() {
                let next = (diagonal + usize::from(x != y)).min(row[j] + 1).min(row[j + 1] + 1);
                diagonal = row[j + 1];
                row[j + 1] = next;
            }
        }
        row[b.len()]
    };
    let best = builtin_names().into_iter().map(|n| (distance(&n), n)).min()?;
    (best.0 <= 2).then_some(best.1)
}

/// Returns what to do instead of calling a function that kernels do not have.
fn alternative(name: &str) -> Option<&'static str> {
    Some(match name {
        "np.zeros" | "np.empty" | "np.ones" | "np.full" | "np.array" | "np.zeros_like" | "np.empty_like"
        | "np.arange" | "np.linspace" | "list" | "dict" | "set" | "bytearray" => {
            "kernels cannot allocate memory: use cuda.local.array(shape, dtype) for a thread's own memory or \
             cuda.shared.array for a block's, or pass an array in"
        }
        "np.dot" => "write the loop over the products",
        "sum" | "np.sum" | "np.mean" | "np.prod" | "any" | "all" | "sorted" | "map" | "filter" => "write a loop",
        "open" | "input" => "kernels cannot access files: read the data before the launch and pass an array",
        "np.random.rand" | "np.random.random" | "random.random" => {
            "use cuda.random: create_xoroshiro128p_states and xoroshiro128p_uniform_float32"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let all = builtin_names();
        let mut sorted = all.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted.len(), all.len());
        assert_eq!(nearest("math.sinn").as_deref(), Some("math.sin"));
        assert_eq!(nearest("os.getcwd"), None);
    }

    #[test]
    fn keywords_are_parameters() {
        for special in SPECIAL {
            assert!(special.arity.0 <= special.arity.1, "{}", special.name);
            assert!(special.keywords.len() <= special.arity.1, "{}", special.name);
        }
    }
}
