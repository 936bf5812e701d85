//! Translation of Python's `ast` objects to the kernel crate's, node by node. Names that are not local are looked up
//! here, in closures, globals and builtins.

mod expressions;
mod literals;
mod outside;
mod statements;
mod syntax;
mod values;

use std::collections::{HashMap, HashSet};

use cuprous_kernel::Ty;
use cuprous_kernel::ast::{Expr, ExprKind, Function, Name, Param, Pos, Source, Stmt, StmtKind, UnaryOp, Value};
use pyo3::exceptions::PyRecursionError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple, PyType};

use syntax::{Node, binary, comparison, kind, list, lookup, optional, text_of, unparse};

/// The deepest nesting of Python's nodes.
pub(super) const MAX_DEPTH: usize = 500;

/// A kernel and the functions it reaches, during translation.
pub(super) struct Translation<'py> {
    pub(super) source: Source,
    /// By the identity of Python's function and its types. The functions are kept alive, so that identities stay
    /// unique.
    #[allow(clippy::type_complexity, reason = "a function and its types")]
    translated: HashMap<(usize, Vec<Vec<Ty>>), (usize, Node<'py>)>,
    pub(super) enum_class: Node<'py>,
    /// Classes of the exceptions that are raised.
    classes: Vec<Node<'py>>,
    /// Captured arrays, with their names as parameters: see [`is_captured_name`].
    arrays: Vec<(String, Node<'py>)>,
    pub(super) depth: usize,
}

/// A function being translated.
struct Scope<'py> {
    function: Node<'py>,
    /// Names of local variables.
    locals: HashSet<String>,
    /// Functions defined inside, with the variables that they capture.
    inner: HashMap<String, (usize, Vec<String>)>,
    /// Occurrences of names so far.
    names: u32,
    /// Offset from line numbers of nodes to those of the file.
    shift: i64,
    /// Names of the enclosing functions, which are captured where they are used.
    outer: Vec<HashSet<String>>,
    captured: Vec<String>,
    /// True for the kernel itself.
    root: bool,
}

/// A translated function.
pub(super) struct Translated {
    pub(super) source: Source,
    /// Classes of the exceptions that it raises.
    pub(super) classes: Vec<Py<PyAny>>,
    /// Captured arrays, which are its last arguments.
    pub(super) arrays: Vec<Py<PyAny>>,
}

/// Returns true for the parameter of a captured array. No variable has such a name.
fn is_captured_name(text: &str) -> bool {
    text.starts_with('@')
}

/// Translates a function and the functions it calls.
pub(super) fn translate(function: &Node<'_>) -> PyResult<Translated> {
    let py = function.py();
    let mut translation = Translation {
        source: Source::default(),
        translated: HashMap::new(),
        enum_class: py.import("enum")?.getattr("Enum")?,
        classes: Vec::new(),
        arrays: Vec::new(),
        depth: 0,
    };
    let root = translation.function(function)?;
    let classes = translation.classes.into_iter().map(Bound::unbind).collect();
    let params = &translation.source.functions[root].params;
    let named = |text: &str| translation.arrays.iter().find(|(name, _)| name == text).map(|(_, a)| a.clone().unbind());
    let arrays = params.iter().filter_map(|p| named(&p.name.text)).collect();
    Ok(Translated { source: translation.source, classes, arrays })
}

fn unsupported(what: impl Into<String>, instead: Option<&str>) -> StmtKind {
    StmtKind::Unsupported { what: what.into(), instead: instead.map(str::to_owned) }
}

fn unsupported_expr(what: impl Into<String>, instead: Option<&str>) -> ExprKind {
    ExprKind::Unsupported { what: what.into(), instead: instead.map(str::to_owned) }
}

/// Collects the names that statements bind, except those of nested functions. (Expressions that bind names are not
/// supported.)
fn assigned(body: &[Node<'_>], into: &mut HashSet<String>) -> PyResult<()> {
    for node in body {
        let name = kind(node)?;
        let (targets, blocks): (&[&str], &[&str]) = match name.as_str() {
            "FunctionDef" | "ClassDef" => {
                into.insert(node.getattr("name")?.extract()?);
                continue;
            }
            "Assign" => (&["targets"], &[]),
            "AugAssign" | "AnnAssign" => (&["target"], &[]),
            "For" => (&["target"], &["body", "orelse"]),
            "While" | "If" => (&[], &["body", "orelse"]),
            _ => continue,
        };
        for field in targets {
            bound(&node.getattr(*field)?, into)?;
        }
        for field in blocks {
            assigned(&list(node, field)?, into)?;
        }
    }
    Ok(())
}

/// Collects the names in a target of an assignment, or in a list of targets.
fn bound(target: &Node<'_>, into: &mut HashSet<String>) -> PyResult<()> {
    if let Ok(list) = target.cast::<PyList>() {
        return list.iter().try_for_each(|target| bound(&target, into));
    }
    match kind(target)?.as_str() {
        "Name" => {
            into.insert(target.getattr("id")?.extract()?);
            Ok(())
        }
        "Tuple" | "List" => bound(&target.getattr("elts")?, into),
        "Starred" => bound(&target.getattr("value")?, into),
        _ => Ok(()),
    }
}

impl<'py> Translation<'py> {
    /// Returns the number of a Python function and translates it if necessary.
    pub(super) fn function(&mut self, function: &Node<'py>) -> PyResult<usize> {
        self.signed_function(function, Vec::new())
    }

    /// Like [`Translation::function`], with the types of its decorator.
    pub(super) fn signed_function(&mut self, function: &Node<'py>, signatures: Vec<Vec<Ty>>) -> PyResult<usize> {
        let id = (function.as_ptr() as usize, signatures.clone());
        if let Some((translated, _)) = self.translated.get(&id) {
            return Ok(*translated);
        }
        let number = self.source.functions.len();
        self.source.functions.push(Function::default());
        self.translated.insert(id, (number, function.clone()));
        let helper = function.py().import("cuprous.cuda._source")?;
        let parsed = helper.getattr("parse")?.call1((function,))?;
        let (node, lines, first_line, file, shift): (Node<'py>, Vec<String>, u32, String, i64) = parsed.extract()?;
        let mut scope = Scope {
            function: function.clone(),
            locals: HashSet::new(),
            inner: HashMap::new(),
            names: 0,
            shift,
            outer: Vec::new(),
            captured: Vec::new(),
            root: number == 0,
        };
        let defaults = self.defaults(function)?;
        let mut result = Function { file, lines, first_line, ..Function::default() };
        result.name = function.getattr("__name__")?.extract()?;
        self.body(&node, &mut scope, &mut result, defaults)?;
        result.signatures = signatures;
        self.source.functions[number] = result;
        Ok(number)
    }

    /// Returns the default values of a function's parameters, by name.
    fn defaults(&mut self, function: &Node<'py>) -> PyResult<HashMap<String, Value>> {
        let mut result = HashMap::new();
        let module = function.py().import("cuprous.cuda._jit")?;
        let params: Vec<(String, Vec<Node<'py>>)> = module.getattr("parameters")?.call1((function,))?.extract()?;
        for (name, default) in params {
            if let Some(default) = default.first() {
                result.insert(name, self.value(default)?);
            }
        }
        Ok(result)
    }

    /// Translates the parameters and statements of a function or lambda.
    fn body(
        &mut self,
        node: &Node<'py>,
        scope: &mut Scope<'py>,
        result: &mut Function,
        mut defaults: HashMap<String, Value>,
    ) -> PyResult<()> {
        let args = node.getattr("args")?;
        let mut params = list(&args, "posonlyargs")?;
        params.extend(list(&args, "args")?);
        // Launches pass arguments to named parameters; only functions that kernels call may take *args.
        let rest = optional(&args, "vararg")?.filter(|_| !scope.root);
        result.vararg = rest.as_ref().map(|_| params.len());
        params.extend(rest);
        params.extend(list(&args, "kwonlyargs")?);
        for param in &params {
            let text: String = param.getattr("arg")?.extract()?;
            scope.locals.insert(text.clone());
            let default = defaults.remove(&text);
            result.params.push(Param { name: scope.name(text), default });
        }
        let starred = ["vararg", "kwarg"].iter().any(|field| args.getattr(*field).is_ok_and(|a| !a.is_none()));
        let starred = starred && (result.vararg.is_none() || optional(&args, "kwarg")?.is_some());
        let lambda = kind(node)? == "Lambda";
        let statements = if lambda { Vec::new() } else { list(node, "body")? };
        assigned(&statements, &mut scope.locals)?;
        if starred {
            let kind = unsupported("*args and **kwargs", Some("name the parameters"));
            result.body.push(Stmt { pos: scope.pos(node)?, kind });
        }
        if lambda {
            let value = node.getattr("body")?;
            let kind = StmtKind::Return(Some(self.expr(&value, scope)?));
            result.body.push(Stmt { pos: scope.pos(&value)?, kind });
        } else {
            result.body.extend(self.block(&statements, scope)?);
        }
        for text in std::mem::take(&mut scope.captured) {
            result.params.push(Param { name: scope.name(text), default: None });
        }
        result.names = scope.names;
        Ok(())
    }

    fn block(&mut self, nodes: &[Node<'py>], scope: &mut Scope<'py>) -> PyResult<Vec<Stmt>> {
        let mut result = Vec::new();
        for node in nodes {
            if let Some(kind) = self.stmt(node, scope)? {
                result.push(Stmt { pos: scope.pos(node)?, kind });
            }
        }
        Ok(result)
    }

    fn field(&mut self, node: &Node<'py>, field: &str, scope: &mut Scope<'py>) -> PyResult<Expr> {
        self.expr(&node.getattr(field)?, scope)
    }
}

impl<'py> Scope<'py> {
    /// Captures a variable, which becomes an additional parameter.
    fn capture(&mut self, text: &str) -> ExprKind {
        if !self.captured.iter().any(|c| c == text) {
            self.captured.push(text.into());
        }
        ExprKind::Name(self.name(text.into()))
    }

    fn name(&mut self, text: String) -> Name {
        self.names += 1;
        Name { text, id: self.names - 1 }
    }

    fn pos(&self, node: &Node<'_>) -> PyResult<Pos> {
        let py = node.py();
        let get = |field: &Bound<'_, PyString>| -> u32 { node.getattr(field).and_then(|v| v.extract()).unwrap_or(0) };
        let line = get(intern!(py, "lineno"));
        let one_line = get(intern!(py, "end_lineno")) == line;
        Ok(Pos {
            line: u32::try_from(i64::from(line) + self.shift).unwrap_or(0),
            column: get(intern!(py, "col_offset")),
            end: if one_line { get(intern!(py, "end_col_offset")) } else { 0 },
        })
    }
}
