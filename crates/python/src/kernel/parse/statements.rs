//! Statements and nested functions.

use super::*;

impl<'py> Translation<'py> {
    pub(super) fn stmt(&mut self, node: &Node<'py>, scope: &mut Scope<'py>) -> PyResult<Option<StmtKind>> {
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
            // An import inside a function binds names that Python would look up at run time.
            "Import" | "ImportFrom" => unsupported("import", Some("import at the top of the file")),
            "Try" | "TryStar" => unsupported("try", Some("test for the condition with `if`")),
            "With" => unsupported("with", None),
            "Delete" => unsupported("del", None),
            "Global" | "Nonlocal" => unsupported("global and nonlocal", Some("pass an array and write into it")),
            "ClassDef" => unsupported("class", None),
            "Match" => unsupported("match", Some("use if and elif")),
            other => unsupported(other, None),
        }))
    }

    /// Translates `raise Class` and `raise Class("…")`.
    fn raise(&mut self, exception: Option<Node<'py>>, scope: &mut Scope<'py>) -> PyResult<StmtKind> {
        let Some(exception) = exception else {
            return Ok(unsupported("raise without an exception", Some("name it: raise ValueError(\"…\")")));
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
            return Ok(unsupported("raise of an object that is not an exception class", None));
        };
        let number = self.classes.iter().position(|known| known.is(&class)).unwrap_or(self.classes.len());
        if number == self.classes.len() {
            self.classes.push(class);
        }
        Ok(StmtKind::Raise(Some(number), message))
    }

    /// Translates a nested function to a function of its own, to which calls pass its captured variables.
    pub(super) fn nested(&mut self, name: String, node: &Node<'py>, scope: &mut Scope<'py>) -> PyResult<()> {
        let number = self.source.functions.len();
        self.source.functions.push(Function::default());
        let mut outer = scope.outer.clone();
        outer.push(scope.locals.clone());
        let mut inner = Scope {
            function: scope.function.clone(),
            locals: HashSet::new(),
            inner: scope.inner.clone(),
            names: 0,
            shift: scope.shift,
            outer,
            captured: Vec::new(),
            root: false,
        };
        // The function may call itself.
        inner.inner.insert(name.clone(), (number, Vec::new()));
        let mut result = Function { name: name.clone(), ..Function::default() };
        if let Some(around) = self.translated.values().find(|(_, f)| f.is(&scope.function)).map(|(k, _)| *k) {
            let around = &self.source.functions[around];
            (result.file, result.lines, result.first_line) =
                (around.file.clone(), around.lines.clone(), around.first_line);
        }
        if result.lines.is_empty() {
            let helper = node.py().import("cuprous.cuda._source")?;
            let parsed = helper.getattr("parse")?.call1((&scope.function,))?;
            let (_, lines, first_line, file, _): (Node<'py>, Vec<String>, u32, String, i64) = parsed.extract()?;
            (result.file, result.lines, result.first_line) = (file, lines, first_line);
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
        self.body(node, &mut inner, &mut result, defaults)?;
        let own = params.len() + list(&args, "kwonlyargs")?.len() + usize::from(result.vararg.is_some());
        let captured = result.params[own..].iter().map(|p| p.name.text.clone()).collect();
        self.source.functions[number] = result;
        scope.inner.insert(name, (number, captured));
        Ok(())
    }
}
