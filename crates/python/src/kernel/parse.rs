//! Python's `ast` objects as the kernel crate's: a translation, node by node. Names that are not local are looked up
//! here, in closures, globals and builtins.

use std::collections::{HashMap, HashSet};

use cuprous_kernel::Ty;
use cuprous_kernel::ast::{Expr, ExprKind, Function, Name, Param, Pos, Source, Stmt, StmtKind, UnaryOp, Value};
use pyo3::exceptions::PyRecursionError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple, PyType};

use super::names::{binary, comparison, lookup, text_of, unparse};

/// A node of Python's syntax tree, or any object.
pub(super) type Node<'py> = Bound<'py, PyAny>;

/// Nesting of Python's nodes.
const MAX_DEPTH: usize = 500;

/// A kernel and the functions it reaches, as they are translated.
pub(super) struct Translation<'py> {
    pub(super) source: Source,
    /// By the identity of Python's function and its types; these are kept alive meanwhile.
    #[allow(clippy::type_complexity, reason = "a function and its types")]
    known: HashMap<(usize, Vec<Vec<Ty>>), (usize, Node<'py>)>,
    pub(super) enum_class: Node<'py>,
    /// Classes of exceptions that are raised.
    classes: Vec<Node<'py>>,
    /// Arrays of devices that functions use from outside, with their names as parameters: see [`captured_name`].
    arrays: Vec<(String, Node<'py>)>,
    depth: usize,
}

/// A function being translated.
struct Scope<'py> {
    function: Node<'py>,
    /// Names of its variables.
    locals: HashSet<String>,
    /// Functions defined inside, with the variables that they capture.
    inner: HashMap<String, (usize, Vec<String>)>,
    /// Occurrences of names so far.
    names: u32,
    /// Columns that were taken off the source.
    indent: u32,
    /// Names of the functions around, which are captured where they are used.
    outer: Vec<HashSet<String>>,
    captured: Vec<String>,
    /// Whether it is the kernel itself.
    root: bool,
}

/// What a function is made of.
pub(super) struct Translated {
    pub(super) source: Source,
    /// Classes of the exceptions that it raises.
    pub(super) classes: Vec<Py<PyAny>>,
    /// Arrays of devices that are its last arguments: those that it uses without being given them.
    pub(super) arrays: Vec<Py<PyAny>>,
}

/// The parameter that stands for an array of a device which a function uses from outside; no variable has such a name.
fn is_captured_name(text: &str) -> bool {
    text.starts_with('@')
}

/// Translates a function and what it calls.
pub(super) fn translate(function: &Node<'_>) -> PyResult<Translated> {
    let py = function.py();
    let mut translation = Translation {
        source: Source::default(),
        known: HashMap::new(),
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

/// The class of a node.
pub(super) fn kind(node: &Node<'_>) -> PyResult<String> {
    node.get_type().name()?.extract()
}

fn list<'py>(node: &Node<'py>, field: &str) -> PyResult<Vec<Node<'py>>> {
    Ok(node.getattr(field)?.cast::<PyList>()?.iter().collect())
}

fn optional<'py>(node: &Node<'py>, field: &str) -> PyResult<Option<Node<'py>>> {
    let value = node.getattr(field)?;
    Ok((!value.is_none()).then_some(value))
}

fn lacks(what: impl Into<String>, instead: Option<&str>) -> StmtKind {
    StmtKind::Unsupported { what: what.into(), instead: instead.map(str::to_owned) }
}

fn lacks_value(what: impl Into<String>, instead: Option<&str>) -> ExprKind {
    ExprKind::Unsupported { what: what.into(), instead: instead.map(str::to_owned) }
}

/// Names that are assigned to in some statements, not in functions inside.
fn assigned(body: &[Node<'_>], into: &mut HashSet<String>) -> PyResult<()> {
    for node in body {
        let name = kind(node)?;
        match name.as_str() {
            "FunctionDef" | "ClassDef" => {
                into.insert(node.getattr("name")?.extract()?);
                continue;
            }
            "Lambda" | "AsyncFunctionDef" => continue,
            "Name" => {
                if kind(&node.getattr("ctx")?)? == "Store" {
                    into.insert(node.getattr("id")?.extract()?);
                }
                continue;
            }
            _ => {}
        }
        assigned(&children(node)?, into)?;
    }
    Ok(())
}

fn children<'py>(node: &Node<'py>) -> PyResult<Vec<Node<'py>>> {
    let module = node.py().import("ast")?;
    module.getattr("iter_child_nodes")?.call1((node,))?.try_iter()?.collect()
}

impl<'py> Translation<'py> {
    /// The number of a Python function, translated unless it is known.
    pub(super) fn function(&mut self, function: &Node<'py>) -> PyResult<usize> {
        self.signed_function(function, Vec::new())
    }

    /// The same, with the types that its decorator has.
    pub(super) fn signed_function(&mut self, function: &Node<'py>, signatures: Vec<Vec<Ty>>) -> PyResult<usize> {
        let id = (function.as_ptr() as usize, signatures.clone());
        if let Some((known, _)) = self.known.get(&id) {
            return Ok(*known);
        }
        let number = self.source.functions.len();
        self.source.functions.push(Function::default());
        self.known.insert(id, (number, function.clone()));
        let helper = function.py().import("cuprous.cuda._source")?;
        let parsed = helper.getattr("parse")?.call1((function,))?;
        let (node, lines, first_line, file, indent): (Node<'py>, Vec<String>, u32, String, u32) = parsed.extract()?;
        let mut scope = Scope {
            function: function.clone(),
            locals: HashSet::new(),
            inner: HashMap::new(),
            names: 0,
            indent,
            outer: Vec::new(),
            captured: Vec::new(),
            root: number == 0,
        };
        let defaults = self.defaults(function)?;
        let mut made = Function { file, lines, first_line, ..Function::default() };
        made.name = function.getattr("__name__")?.extract()?;
        self.body(&node, &mut scope, &mut made, defaults)?;
        made.signatures = signatures;
        self.source.functions[number] = made;
        Ok(number)
    }

    /// Default values of a function's parameters, by name.
    fn defaults(&mut self, function: &Node<'py>) -> PyResult<HashMap<String, Value>> {
        let mut result = HashMap::new();
        let inspect = function.py().import("inspect")?;
        let parameters = inspect.getattr("signature")?.call1((function,))?.getattr("parameters")?;
        for item in parameters.call_method0("values")?.try_iter()? {
            let item = item?;
            let default = item.getattr("default")?;
            if !default.is(&item.getattr("empty")?) {
                result.insert(item.getattr("name")?.extract()?, self.value(&default)?);
            }
        }
        Ok(result)
    }

    /// Parameters and statements of a function or lambda.
    fn body(
        &mut self,
        node: &Node<'py>,
        scope: &mut Scope<'py>,
        made: &mut Function,
        mut defaults: HashMap<String, Value>,
    ) -> PyResult<()> {
        let args = node.getattr("args")?;
        let mut params = list(&args, "posonlyargs")?;
        params.extend(list(&args, "args")?);
        // What a launch passes has names: only functions that kernels call take further arguments.
        let rest = optional(&args, "vararg")?.filter(|_| !scope.root);
        made.rest = rest.as_ref().map(|_| params.len());
        params.extend(rest);
        params.extend(list(&args, "kwonlyargs")?);
        for param in &params {
            let text: String = param.getattr("arg")?.extract()?;
            scope.locals.insert(text.clone());
            let default = defaults.remove(&text);
            made.params.push(Param { name: scope.name(text), default });
        }
        let starred = ["vararg", "kwarg"].iter().any(|field| args.getattr(*field).is_ok_and(|a| !a.is_none()));
        let starred = starred && (made.rest.is_none() || optional(&args, "kwarg")?.is_some());
        let lambda = kind(node)? == "Lambda";
        let statements = if lambda { Vec::new() } else { list(node, "body")? };
        assigned(&statements, &mut scope.locals)?;
        if starred {
            let kind = lacks("*args and **kwargs", Some("name the parameters"));
            made.body.push(Stmt { pos: scope.pos(node)?, kind });
        }
        if lambda {
            let value = node.getattr("body")?;
            let kind = StmtKind::Return(Some(self.expr(&value, scope)?));
            made.body.push(Stmt { pos: scope.pos(&value)?, kind });
        } else {
            made.body.extend(self.block(&statements, scope)?);
        }
        for text in std::mem::take(&mut scope.captured) {
            made.params.push(Param { name: scope.name(text), default: None });
        }
        made.names = scope.names;
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

    fn stmt(&mut self, node: &Node<'py>, scope: &mut Scope<'py>) -> PyResult<Option<StmtKind>> {
        let name = kind(node)?;
        Ok(Some(match name.as_str() {
            "Assign" => {
                let (targets, value) = (list(node, "targets")?, node.getattr("value")?);
                if let [target] = &targets[..]
                    && kind(target)? == "Name"
                    && kind(&value)? == "Lambda"
                {
                    self.nested(target.getattr("id")?.extract()?, &value, scope)?;
                    return Ok(None);
                }
                let value = self.expr(&value, scope)?;
                let targets = targets.iter().map(|t| self.expr(t, scope)).collect::<PyResult<_>>()?;
                StmtKind::Assign { targets, value }
            }
            "AnnAssign" => match optional(node, "value")? {
                Some(value) => {
                    let value = self.expr(&value, scope)?;
                    StmtKind::Assign { targets: vec![self.field(node, "target", scope)?], value }
                }
                None => StmtKind::Pass,
            },
            "AugAssign" => {
                let value = self.field(node, "value", scope)?;
                let target = self.field(node, "target", scope)?;
                StmtKind::AugAssign { target, op: binary(&node.getattr("op")?)?, value }
            }
            "If" | "While" => {
                let test = self.field(node, "test", scope)?;
                let body = self.block(&list(node, "body")?, scope)?;
                let orelse = self.block(&list(node, "orelse")?, scope)?;
                if name == "If" { StmtKind::If { test, body, orelse } } else { StmtKind::While { test, body, orelse } }
            }
            "For" => {
                let iter = self.field(node, "iter", scope)?;
                let target = self.field(node, "target", scope)?;
                let body = self.block(&list(node, "body")?, scope)?;
                let orelse = self.block(&list(node, "orelse")?, scope)?;
                StmtKind::For { target, iter, body, orelse }
            }
            "Return" => StmtKind::Return(match optional(node, "value")? {
                Some(value) => Some(self.expr(&value, scope)?),
                None => None,
            }),
            "Expr" => StmtKind::Expr(self.field(node, "value", scope)?),
            "Assert" => {
                let test = self.field(node, "test", scope)?;
                let message = optional(node, "msg")?.map(|m| text_of(&m)).transpose()?.flatten();
                StmtKind::Assert { test, message }
            }
            "Raise" => self.raise(optional(node, "exc")?, scope)?,
            "Break" => StmtKind::Break,
            "Continue" => StmtKind::Continue,
            "Pass" => StmtKind::Pass,
            "FunctionDef" => {
                self.nested(node.getattr("name")?.extract()?, node, scope)?;
                return Ok(None);
            }
            // Importing inside a function binds names that Python would look up at run time.
            "Import" | "ImportFrom" => lacks("import", Some("import at the top of the file")),
            "Try" | "TryStar" => lacks("try", Some("test for the condition with `if`")),
            "With" => lacks("with", None),
            "Delete" => lacks("del", None),
            "Global" | "Nonlocal" => lacks("global and nonlocal", Some("pass an array and write into it")),
            "ClassDef" => lacks("class", None),
            "Match" => lacks("match", Some("use if and elif")),
            other => lacks(other, None),
        }))
    }

    /// `raise Class` and `raise Class("…")`.
    fn raise(&mut self, exception: Option<Node<'py>>, scope: &mut Scope<'py>) -> PyResult<StmtKind> {
        let Some(exception) = exception else {
            return Ok(lacks("raise without an exception", Some("name it: raise ValueError(\"…\")")));
        };
        let called = kind(&exception)? == "Call";
        let class = if called { exception.getattr("func")? } else { exception.clone() };
        let message = match called.then(|| list(&exception, "args")).transpose()?.as_deref() {
            Some([text]) => match self.expr(text, scope)?.kind {
                ExprKind::Value(Value::Str(text)) => text,
                _ => unparse(text)?,
            },
            Some([]) | None => String::new(),
            _ => unparse(&exception)?,
        };
        let Some(Ok(class)) = self.outside(&class, scope)? else {
            return Ok(lacks("raise of what is no class of exceptions", None));
        };
        let number = self.classes.iter().position(|known| known.is(&class)).unwrap_or(self.classes.len());
        if number == self.classes.len() {
            self.classes.push(class);
        }
        Ok(StmtKind::Raise(Some(number), message))
    }

    /// A function inside another: a function of its own, to which calls pass what it captures.
    fn nested(&mut self, name: String, node: &Node<'py>, scope: &mut Scope<'py>) -> PyResult<()> {
        let number = self.source.functions.len();
        self.source.functions.push(Function::default());
        let mut outer = scope.outer.clone();
        outer.push(scope.locals.clone());
        let mut inner = Scope {
            function: scope.function.clone(),
            locals: HashSet::new(),
            inner: scope.inner.clone(),
            names: 0,
            indent: scope.indent,
            outer,
            captured: Vec::new(),
            root: false,
        };
        // It may call itself.
        inner.inner.insert(name.clone(), (number, Vec::new()));
        let mut made = Function { name: name.clone(), ..Function::default() };
        if let Some(around) = self.known.values().find(|(_, f)| f.is(&scope.function)).map(|(k, _)| *k) {
            let around = &self.source.functions[around];
            (made.file, made.lines, made.first_line) = (around.file.clone(), around.lines.clone(), around.first_line);
        }
        if made.lines.is_empty() {
            let helper = node.py().import("cuprous.cuda._source")?;
            let parsed = helper.getattr("parse")?.call1((&scope.function,))?;
            let (_, lines, first_line, file, _): (Node<'py>, Vec<String>, u32, String, u32) = parsed.extract()?;
            (made.file, made.lines, made.first_line) = (file, lines, first_line);
        }
        let args = node.getattr("args")?;
        let mut defaults = HashMap::new();
        let values = list(&args, "defaults")?;
        let mut params = list(&args, "posonlyargs")?;
        params.extend(list(&args, "args")?);
        for (param, value) in params.iter().rev().zip(values.iter().rev()) {
            if let ExprKind::Value(value) = self.expr(value, scope)?.kind {
                defaults.insert(param.getattr("arg")?.extract::<String>()?, value);
            }
        }
        self.body(node, &mut inner, &mut made, defaults)?;
        let own = params.len() + list(&args, "kwonlyargs")?.len() + usize::from(made.rest.is_some());
        let captured = made.params[own..].iter().map(|p| p.name.text.clone()).collect();
        self.source.functions[number] = made;
        scope.inner.insert(name, (number, captured));
        Ok(())
    }

    fn exprs(&mut self, nodes: &[Node<'py>], scope: &mut Scope<'py>) -> PyResult<Vec<Expr>> {
        nodes.iter().map(|node| self.expr(node, scope)).collect()
    }

    fn expr(&mut self, node: &Node<'py>, scope: &mut Scope<'py>) -> PyResult<Expr> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(PyRecursionError::new_err("an expression of the kernel is nested too deeply"));
        }
        let kind = self.expr_kind(node, scope)?;
        self.depth -= 1;
        Ok(Expr { pos: scope.pos(node)?, kind })
    }

    fn expr_kind(&mut self, node: &Node<'py>, scope: &mut Scope<'py>) -> PyResult<ExprKind> {
        let name = kind(node)?;
        let boxed = |this: &mut Self, field: &str, scope: &mut Scope<'py>| this.field(node, field, scope).map(Box::new);
        Ok(match name.as_str() {
            "Constant" => {
                let value = self.value(&node.getattr("value")?)?;
                ExprKind::Value(value)
            }
            "Name" => self.name(&node.getattr("id")?.extract::<String>()?, scope)?,
            "Attribute" => {
                if let Some(object) = self.outside(node, scope)? {
                    let name: String = node.getattr("attr")?.extract()?;
                    if let Ok(object) = &object
                        && let Some(param) = self.captured_array(&name, object, scope)?
                    {
                        return Ok(param);
                    }
                    return Ok(match object {
                        Ok(object) => ExprKind::Value(self.value(&object)?),
                        Err(what) => lacks_value(what, None),
                    });
                }
                ExprKind::Attribute { value: boxed(self, "value", scope)?, name: node.getattr("attr")?.extract()? }
            }
            "BinOp" => ExprKind::Bin {
                op: binary(&node.getattr("op")?)?,
                left: boxed(self, "left", scope)?,
                right: boxed(self, "right", scope)?,
            },
            "UnaryOp" => ExprKind::Unary {
                op: match kind(&node.getattr("op")?)?.as_str() {
                    "Invert" => UnaryOp::Invert,
                    "Not" => UnaryOp::Not,
                    "USub" => UnaryOp::USub,
                    _ => UnaryOp::UAdd,
                },
                operand: boxed(self, "operand", scope)?,
            },
            "BoolOp" => ExprKind::Bool {
                and: kind(&node.getattr("op")?)? == "And",
                values: self.exprs(&list(node, "values")?, scope)?,
            },
            "Compare" => {
                let left = boxed(self, "left", scope)?;
                let ops = list(node, "ops")?.iter().map(comparison).collect::<PyResult<Vec<_>>>()?;
                let right = self.exprs(&list(node, "comparators")?, scope)?;
                ExprKind::Compare { left, rest: ops.into_iter().zip(right).collect() }
            }
            "IfExp" => ExprKind::IfExp {
                test: boxed(self, "test", scope)?,
                body: boxed(self, "body", scope)?,
                orelse: boxed(self, "orelse", scope)?,
            },
            "Call" => self.call(node, scope)?,
            "Subscript" => {
                // A member of an enum by its name: Color["red"].
                if let Some(Ok(class)) = self.outside(&node.getattr("value")?, scope)?
                    && let Ok(class) = class.cast::<PyType>()
                    && class.is_subclass(&self.enum_class)?
                    && let Some(name) = text_of(&node.getattr("slice")?)?
                {
                    return Ok(ExprKind::Value(self.value(&class.as_any().get_item(name)?)?));
                }
                ExprKind::Subscript { value: boxed(self, "value", scope)?, index: boxed(self, "slice", scope)? }
            }
            "Slice" => {
                let mut part = |field: &str| -> PyResult<Option<Box<Expr>>> {
                    let found = optional(node, field)?;
                    found.map(|e| self.expr(&e, scope).map(Box::new)).transpose()
                };
                ExprKind::Slice { start: part("lower")?, stop: part("upper")?, step: part("step")? }
            }
            "Tuple" => ExprKind::Tuple(self.exprs(&list(node, "elts")?, scope)?),
            "List" => {
                if kind(&node.getattr("ctx")?)? == "Store" {
                    return Ok(ExprKind::Tuple(self.exprs(&list(node, "elts")?, scope)?));
                }
                lacks_value("a list", Some("use a tuple, or cuda.local.array(shape, dtype)"))
            }
            "Lambda" => {
                let hidden = format!("lambda_{}", self.source.functions.len());
                self.nested(hidden.clone(), node, scope)?;
                match scope.inner.get(&hidden).cloned() {
                    Some((function, captured)) => self.passed(function, captured, scope)?,
                    None => lacks_value("a lambda here", Some("give it a name: f = lambda …")),
                }
            }
            "ListComp" | "SetComp" | "DictComp" | "GeneratorExp" => {
                lacks_value("a comprehension", Some("write a loop; for memory use cuda.local.array(shape, dtype)"))
            }
            "Dict" | "Set" => lacks_value("a dict or set", Some("use arrays")),
            "JoinedStr" => lacks_value("an f-string", Some("print takes several arguments: print(\"i\", i)")),
            "Starred" => ExprKind::Starred(boxed(self, "value", scope)?),
            "NamedExpr" => lacks_value(":=", Some("assign in a statement of its own")),
            "Yield" | "YieldFrom" | "Await" => lacks_value("yield and await", None),
            other => lacks_value(other, None),
        })
    }

    fn call(&mut self, node: &Node<'py>, scope: &mut Scope<'py>) -> PyResult<ExprKind> {
        let func = node.getattr("func")?;
        let mut keywords = Vec::new();
        for keyword in list(node, "keywords")? {
            let value = self.field(&keyword, "value", scope)?;
            match optional(&keyword, "arg")? {
                Some(name) => keywords.push((name.extract()?, value)),
                None => return Ok(lacks_value("**", Some("write the arguments one by one"))),
            }
        }
        if let Some(test) = self.instance_test(&func, &list(node, "args")?, scope)? {
            return Ok(test);
        }
        let args = self.exprs(&list(node, "args")?, scope)?;
        // A function defined inside gets what it captured.
        if kind(&func)? == "Name" {
            let name: String = func.getattr("id")?.extract()?;
            if let Some((number, captured)) = scope.inner.get(&name).cloned() {
                let pos = scope.pos(&func)?;
                for text in captured {
                    let kind = self.name(&text, scope)?;
                    keywords.push((text, Expr { pos, kind }));
                }
                let func = Box::new(Expr { pos, kind: ExprKind::Value(Value::Function(number)) });
                return Ok(ExprKind::Call { func, args, keywords });
            }
        }
        if let Some(library) = self.library(&func, args.len() + keywords.len(), scope)? {
            let pos = scope.pos(&func)?;
            let func = Box::new(Expr { pos, kind: ExprKind::Value(Value::Function(library)) });
            return Ok(ExprKind::Call { func, args, keywords });
        }
        let func = self.expr(&func, scope)?;
        // One that uses arrays of devices from outside gets them from here.
        if let ExprKind::Value(Value::Function(number)) = &func.kind {
            let texts = self.source.functions[*number].params.iter().map(|p| p.name.text.clone());
            for text in texts.filter(|text| is_captured_name(text)).collect::<Vec<_>>() {
                keywords.push((text.clone(), Expr { pos: func.pos, kind: scope.capture(&text) }));
            }
        }
        Ok(ExprKind::Call { func: Box::new(func), args, keywords })
    }

    /// `isinstance(x, classes)`: of the classes, only Python knows which they are.
    fn instance_test(
        &mut self,
        func: &Node<'py>,
        args: &[Node<'py>],
        scope: &mut Scope<'py>,
    ) -> PyResult<Option<ExprKind>> {
        let builtin = func.py().import("builtins")?.getattr("isinstance")?;
        let [value, classes] = args else { return Ok(None) };
        if !matches!(self.outside(func, scope)?, Some(Ok(found)) if found.is(&builtin)) {
            return Ok(None);
        }
        let mut left = if kind(classes)? == "Tuple" { list(classes, "elts")? } else { vec![classes.clone()] };
        let mut names = Vec::new();
        while let Some(node) = left.pop() {
            if kind(&node)? == "Tuple" {
                left.extend(list(&node, "elts")?);
                continue;
            }
            let mut found = match self.outside(&node, scope)? {
                Some(Ok(object)) => vec![object],
                _ => return Ok(Some(lacks_value("isinstance of a class that is not known", None))),
            };
            while let Some(object) = found.pop() {
                if let Ok(items) = object.cast::<PyTuple>() {
                    found.extend(items.iter());
                    continue;
                }
                let Ok(name) = object.getattr("__name__").or_else(|_| object.getattr("name")) else {
                    return Ok(Some(lacks_value("isinstance of what is no class", None)));
                };
                let name: String = name.extract()?;
                let module: String = object.getattr("__module__").and_then(|m| m.extract()).unwrap_or_default();
                // Types of `cuda.types` are exact, as NumPy's.
                let plain = module == "builtins";
                names.push(Value::Str(if plain { name } else { format!("np.{}", name.trim_end_matches('_')) }));
            }
        }
        let pos = scope.pos(func)?;
        let func = Box::new(Expr { pos, kind: ExprKind::Value(Value::Builtin("isinstance".into())) });
        let classes = Expr { pos, kind: ExprKind::Value(Value::Tuple(names, None)) };
        let args = vec![self.expr(value, scope)?, classes];
        Ok(Some(ExprKind::Call { func, args, keywords: Vec::new() }))
    }

    /// The function of our own that stands for one of Python or NumPy which is called: see `cuprous.cuda._library`.
    fn library(&mut self, func: &Node<'py>, given: usize, scope: &Scope<'py>) -> PyResult<Option<usize>> {
        let Some(Ok(object)) = self.outside(func, scope)? else { return Ok(None) };
        if !object.is_callable() || object.hasattr("__code__")? || object.is_instance_of::<PyType>() {
            return Ok(None);
        }
        let known = object.py().import("cuprous.cuda._library")?.getattr("FUNCTIONS")?;
        // What has no hash is none of them.
        let Ok(found) = known.get_item(&object) else { return Ok(None) };
        let (count, function): (usize, Node<'py>) = found.extract()?;
        if given < count {
            return Ok(None);
        }
        let function = self.function(&function)?;
        // Of integers it is something else.
        if count > 1 {
            self.source.round_to = Some(function);
            return Ok(None);
        }
        Ok(Some(function))
    }

    /// A function defined inside, where it is not called.
    fn passed(&mut self, function: usize, captured: Vec<String>, scope: &mut Scope<'py>) -> PyResult<ExprKind> {
        if captured.is_empty() {
            return Ok(ExprKind::Value(Value::Function(function)));
        }
        let mut all = Vec::new();
        for text in captured {
            let kind = self.name(&text, scope)?;
            all.push((text, Expr { pos: Pos::default(), kind }));
        }
        Ok(ExprKind::Closure { function, captured: all })
    }

    /// A name: local, captured from a function around, or known now.
    fn name(&mut self, text: &str, scope: &mut Scope<'py>) -> PyResult<ExprKind> {
        if is_captured_name(text) {
            return Ok(scope.capture(text));
        }
        if let Some((function, captured)) = scope.inner.get(text).cloned() {
            return self.passed(function, captured, scope);
        }
        if scope.locals.contains(text) {
            return Ok(ExprKind::Name(scope.name(text.into())));
        }
        if scope.outer.iter().any(|names| names.contains(text)) {
            return Ok(scope.capture(text));
        }
        Ok(match lookup(&scope.function, text)? {
            Some(object) => match self.captured_array(text, &object, scope)? {
                Some(param) => param,
                None => ExprKind::Value(self.value(&object)?),
            },
            // Compiled by its decorator, a function that calls itself has no name yet.
            None if scope.function.getattr("__name__")?.extract::<String>()? == text => {
                let function = scope.function.clone();
                ExprKind::Value(Value::Function(self.function(&function)?))
            }
            None => lacks_value(format!("the name {text:?}, which is not defined,"), None),
        })
    }

    /// An array of a device, which a function is given as a further argument, so that it is read and written in place.
    fn captured_array(&mut self, name: &str, object: &Node<'py>, scope: &mut Scope<'py>) -> PyResult<Option<ExprKind>> {
        let is_ours =
            object.cast::<crate::array::PyArray>().is_ok() || object.cast::<crate::tensor::PyTensor>().is_ok();
        let is_class = object.is_instance_of::<PyType>();
        if !is_ours && (is_class || !object.hasattr("__cuda_array_interface__")?) {
            return Ok(None);
        }
        let known = self.arrays.iter().find(|(_, array)| array.is(object)).map(|(text, _)| text.clone());
        let text = known.unwrap_or_else(|| {
            let mut text = format!("@{name}");
            while self.arrays.iter().any(|(other, _)| *other == text) {
                text.push('\'');
            }
            self.arrays.push((text.clone(), object.clone()));
            text
        });
        Ok(Some(scope.capture(&text)))
    }

    /// The object that a chain of attributes leads to from a name that is not local; what is wrong where it leads nowhere.
    fn outside(&mut self, node: &Node<'py>, scope: &Scope<'py>) -> PyResult<Option<Result<Node<'py>, String>>> {
        let name = kind(node)?;
        if name == "Name" {
            let text: String = node.getattr("id")?.extract()?;
            let local = scope.locals.contains(&text)
                || scope.inner.contains_key(&text)
                || scope.outer.iter().any(|names| names.contains(&text));
            return Ok(if local { None } else { lookup(&scope.function, &text)?.map(Ok) });
        }
        if name != "Attribute" {
            return Ok(None);
        }
        let base = match self.outside(&node.getattr("value")?, scope)? {
            Some(Ok(base)) => base,
            other => return Ok(other),
        };
        // Attributes of arrays and numbers are the language's own.
        if base.cast::<crate::array::PyArray>().is_ok()
            || base.hasattr("__array_interface__")?
            || base.hasattr("__cuda_array_interface__")?
        {
            return Ok(None);
        }
        if base.is_instance_of::<pyo3::types::PyComplex>() || base.is_instance_of::<pyo3::types::PyFloat>() {
            return Ok(None);
        }
        let attribute: String = node.getattr("attr")?.extract()?;
        Ok(Some(match base.getattr(attribute.as_str()) {
            Ok(object) => Ok(object),
            Err(_) => Err(format!("the attribute {attribute:?}, which {} has not,", base.repr()?)),
        }))
    }
}

impl<'py> Scope<'py> {
    /// A variable that is a parameter more.
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
        let get = |field: &str| -> u32 { node.getattr(field).and_then(|v| v.extract()).unwrap_or(0) };
        let line = get("lineno");
        let end = if get("end_lineno") == line { get("end_col_offset") + self.indent } else { 0 };
        Ok(Pos { line, column: get("col_offset") + self.indent, end })
    }
}
