//! Names, and what is defined outside of a function: closures, globals, captured arrays, replacements for library
//! functions.

use super::*;

impl<'py> Translation<'py> {
    /// Returns our function that replaces a function of Python or NumPy in a call: see `cuprous.cuda._library`.
    pub(super) fn library(
        &mut self,
        func: &Node<'py>,
        arg_count: usize,
        scope: &Scope<'py>,
    ) -> PyResult<Option<usize>> {
        let Some(Ok(object)) = self.outside(func, scope)? else { return Ok(None) };
        if !object.is_callable() || object.hasattr("__code__")? || object.is_instance_of::<PyType>() {
            return Ok(None);
        }
        let known = object.py().import("cuprous.cuda._library")?.getattr("FUNCTIONS")?;
        // An unhashable object is not in the table.
        let Ok(found) = known.get_item(&object) else { return Ok(None) };
        let (count, function): (usize, Node<'py>) = found.extract()?;
        if arg_count < count {
            return Ok(None);
        }
        let function = self.function(&function)?;
        // With integer arguments the call has another meaning.
        if count > 1 {
            self.source.round_to = Some(function);
            return Ok(None);
        }
        Ok(Some(function))
    }

    /// Translates a nested function that is used as a value.
    pub(super) fn passed(
        &mut self,
        function: usize,
        captured: Vec<String>,
        scope: &mut Scope<'py>,
    ) -> PyResult<ExprKind> {
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

    /// Translates a name: local, captured from an enclosing function, or a constant.
    pub(super) fn name(&mut self, text: &str, scope: &mut Scope<'py>) -> PyResult<ExprKind> {
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
            // A function that calls itself has no global name yet while its decorator compiles it.
            None if scope.function.getattr("__name__")?.extract::<String>()? == text => {
                let function = scope.function.clone();
                ExprKind::Value(Value::Function(self.function(&function)?))
            }
            None => ExprKind::Undefined(text.to_owned()),
        })
    }

    /// Captures a device array: the function receives it as an additional argument, so that it is read and written in
    /// place.
    pub(super) fn captured_array(
        &mut self,
        name: &str,
        object: &Node<'py>,
        scope: &mut Scope<'py>,
    ) -> PyResult<Option<ExprKind>> {
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

    /// Resolves a chain of attributes of a name that is not local to a Python object, or to an error text.
    pub(super) fn outside(
        &mut self,
        node: &Node<'py>,
        scope: &Scope<'py>,
    ) -> PyResult<Option<Result<Node<'py>, String>>> {
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
        // Attributes of arrays and numbers belong to the kernel language. A module is not queried for other attributes,
        // because NumPy's `__getattr__` runs Python code for unknown names.
        let is_array = base.cast::<PyModule>().is_err()
            && (base.cast::<crate::array::PyArray>().is_ok()
                || base.hasattr("__array_interface__")?
                || base.hasattr("__cuda_array_interface__")?);
        if is_array {
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
