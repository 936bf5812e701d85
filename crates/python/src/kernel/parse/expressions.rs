//! Expressions and calls.

use cuprous_core::scalar::Number;

use super::*;

impl<'py> Translation<'py> {
    fn exprs(&mut self, nodes: &[Node<'py>], scope: &mut Scope<'py>) -> PyResult<Vec<Expr>> {
        nodes.iter().map(|node| self.expr(node, scope)).collect()
    }

    pub(super) fn expr(&mut self, node: &Node<'py>, scope: &mut Scope<'py>) -> PyResult<Expr> {
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
        if matches!(name.as_str(), "BinOp" | "UnaryOp")
            && let Some(n) = literals::integer(node)?
        {
            return Ok(ExprKind::Value(match n {
                Ok(n) => Value::Number(Number::Int(n)),
                Err(_) => Value::Other(format!("{}, an integer of more than 64 bits,", unparse(node)?)),
            }));
        }
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
                        Err(what) => unsupported_expr(what, None),
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
                unsupported_expr("a list", Some("use a tuple, or cuda.local.array(shape, dtype)"))
            }
            "Lambda" => {
                let hidden = format!("lambda_{}", self.source.functions.len());
                self.nested(hidden.clone(), node, scope)?;
                match scope.inner.get(&hidden).cloned() {
                    Some((function, captured)) => self.passed(function, captured, scope)?,
                    None => unsupported_expr("a lambda here", Some("give it a name: f = lambda …")),
                }
            }
            "ListComp" | "SetComp" | "DictComp" | "GeneratorExp" => {
                unsupported_expr("a comprehension", Some("write a loop; for memory use cuda.local.array(shape, dtype)"))
            }
            "Dict" | "Set" => unsupported_expr("a dict or set", Some("use arrays")),
            "JoinedStr" => unsupported_expr("an f-string", Some("print takes several arguments: print(\"i\", i)")),
            "Starred" => ExprKind::Starred(boxed(self, "value", scope)?),
            "NamedExpr" => unsupported_expr(":=", Some("assign in a statement of its own")),
            "Yield" | "YieldFrom" | "Await" => unsupported_expr("yield and await", None),
            other => unsupported_expr(other, None),
        })
    }

    fn call(&mut self, node: &Node<'py>, scope: &mut Scope<'py>) -> PyResult<ExprKind> {
        let func = node.getattr("func")?;
        let mut keywords = Vec::new();
        for keyword in list(node, "keywords")? {
            let value = self.field(&keyword, "value", scope)?;
            match optional(&keyword, "arg")? {
                Some(name) => keywords.push((name.extract()?, value)),
                None => return Ok(unsupported_expr("**", Some("write the arguments one by one"))),
            }
        }
        if let Some(test) = self.instance_test(&func, &list(node, "args")?, scope)? {
            return Ok(test);
        }
        let args = self.exprs(&list(node, "args")?, scope)?;
        // A nested function receives its captured variables as keywords.
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
        // A function that uses captured arrays receives them as keywords.
        if let ExprKind::Value(Value::Function(number)) = &func.kind {
            let texts = self.source.functions[*number].params.iter().map(|p| p.name.text.clone());
            for text in texts.filter(|text| is_captured_name(text)).collect::<Vec<_>>() {
                keywords.push((text.clone(), Expr { pos: func.pos, kind: scope.capture(&text) }));
            }
        }
        Ok(ExprKind::Call { func: Box::new(func), args, keywords })
    }

    /// Translates `isinstance(x, classes)`. The classes are resolved here, because only Python knows them.
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
                _ => return Ok(Some(unsupported_expr("isinstance with an unknown class", None))),
            };
            while let Some(object) = found.pop() {
                if let Ok(items) = object.cast::<PyTuple>() {
                    found.extend(items.iter());
                    continue;
                }
                let Ok(name) = object.getattr("__name__").or_else(|_| object.getattr("name")) else {
                    return Ok(Some(unsupported_expr("isinstance with an object that is not a class", None)));
                };
                let name: String = name.extract()?;
                let module: String = object.getattr("__module__").and_then(|m| m.extract()).unwrap_or_default();
                // Types of `cuda.types` match exactly, like NumPy's.
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
}
