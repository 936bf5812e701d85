//! Calls of user functions, of types as conversions, and of methods.

use std::sync::Arc;

use cuprous_core::scalar::Number;
use cuprous_core::{DType, Fun};

use super::Arg;
use super::context::{LoweringContext, Operand, tuple};
use crate::ast::{Expr as Ast, ExprKind, Value};
use crate::diagnostic::Result;
use crate::ir::{Expr, Kind};
use crate::rules::Rule;
use crate::table;
use crate::types::Ty;

impl LoweringContext<'_, '_> {
    pub(super) fn call(&mut self, func: &Ast, args: &[Ast], keywords: &[(String, Ast)]) -> Result<Operand> {
        let pos = self.pos;
        let callee = self.eval(func)?;
        if let Some(star) = args.iter().find(|a| matches!(a.kind, ExprKind::Unsupported { .. })) {
            self.eval(star)?;
        }
        let all = args.iter().chain(keywords.iter().map(|(_, e)| e));
        let operands = self.in_order(all, |cx, e| match &e.kind {
            ExprKind::Starred(tuple) => cx.eval(tuple),
            _ => cx.eval(e),
        })?;
        self.pos = pos;
        let mut operands = operands.into_iter();
        let mut given = Vec::new();
        for (arg, operand) in args.iter().zip(operands.by_ref()) {
            if !matches!(arg.kind, ExprKind::Starred(_)) {
                given.push(operand);
                continue;
            }
            let value = self.value(operand)?;
            match &value.ty {
                Ty::Tuple(..) => given.extend(self.items(value).into_iter().map(Operand::Expr)),
                Ty::Unknown => return Ok(Operand::Expr(value)),
                ty => return Err(self.typing(format!("* takes a tuple, not {ty}"))),
            }
        }
        let named: Vec<(&str, Operand)> = keywords.iter().map(|(name, _)| name.as_str()).zip(operands).collect();
        match callee {
            Operand::Value(Value::Builtin(name)) => self.builtin(&name, given, named),
            Operand::Value(Value::Function(function)) => self.call_function(function, given, named),
            Operand::Value(Value::Closure(function, captured)) => {
                let mut named = named;
                named.extend(captured.iter().map(|(name, value)| (name.as_str(), Operand::Value(value.clone()))));
                self.call_function(function, given, named)
            }
            Operand::Value(Value::NamedTuple(names)) => self.named_tuple(names, given, named),
            Operand::Value(Value::Type(ty)) => {
                self.no_keywords(&ty.to_string(), &named)?;
                self.convert(&ty, given)
            }
            Operand::Method(value, name) => {
                self.no_keywords(&name, &named)?;
                self.method(*value, &name, given)
            }
            other => {
                let what = self.describe_operand(&other);
                Err(self
                    .typing(format!("{what} cannot be called in a kernel"))
                    .hint("user functions need @cuda.jit(device=True) or no decorator, and their source code"))
            }
        }
    }

    fn named_tuple(
        &mut self,
        names: Arc<[String]>,
        given: Vec<Operand>,
        named: Vec<(&str, Operand)>,
    ) -> Result<Operand> {
        let count = given.len() + named.len();
        let mut items = self.values(given)?;
        for name in names.iter().skip(items.len()) {
            let Some((_, operand)) = named.iter().find(|(n, _)| n == name) else {
                return Err(self.typing(format!("the named tuple is missing {name:?}")));
            };
            items.push(self.value(operand.clone())?);
        }
        if count != names.len() {
            return Err(self.typing(format!("the named tuple has {} items, {count} given", names.len())));
        }
        Ok(Operand::Expr(tuple(items, Some(names))))
    }

    /// Checks that all keyword arguments are among the known ones.
    pub(super) fn check_keywords(&self, name: &str, named: &[(&str, Operand)], known: &[&str]) -> Result<()> {
        match named.iter().find(|(keyword, _)| !known.contains(keyword)) {
            Some((keyword, _)) => Err(self.typing(format!("{name} takes no keyword argument {keyword:?}"))),
            None => Ok(()),
        }
    }

    pub(super) fn no_keywords(&self, name: &str, named: &[(&str, Operand)]) -> Result<()> {
        self.check_keywords(name, named, &[])
    }

    pub(super) fn values(&mut self, operands: Vec<Operand>) -> Result<Vec<Expr>> {
        operands.into_iter().map(|t| self.value(t)).collect()
    }

    /// `float32(x)`, `int(x)`.
    fn convert(&mut self, ty: &Ty, args: Vec<Operand>) -> Result<Operand> {
        // `float("nan")`, `float("inf")`.
        if let ([Operand::Value(Value::Str(text))], Ty::Scalar(d)) = (&args[..], ty)
            && d.is_float()
            && let Ok(number) = text.trim().parse::<f64>()
        {
            return Ok(Operand::Expr(Expr::number(super::context::convert(Number::Float(number), DType::F64, *d), *d)));
        }
        let mut args = self.values(args)?;
        if args.iter().any(|a| a.ty == Ty::Unknown) {
            return Ok(Operand::Expr(Expr::unknown()));
        }
        let Ty::Scalar(d) = *ty else {
            return Err(self.typing(format!("the type {ty} cannot be called")));
        };
        Ok(Operand::Expr(match (args.len(), args.pop()) {
            (0, _) => Expr::number(super::context::convert(Number::Int(0), DType::I64, d), d),
            (1, Some(arg)) => match arg.dtype() {
                _ if d == DType::Bool => self.truth_value(arg)?,
                Some(from) if from.is_complex() && !d.is_complex() => {
                    return Err(self
                        .typing(format!("cannot convert {} to {}", from.name(), d.name()))
                        .hint("take its .real"));
                }
                Some(_) => self.cast_dtype(arg, d)?,
                None => return Err(self.typing(format!("cannot convert {} to {}", arg.ty, d.name()))),
            },
            (2, Some(imag)) if d.is_complex() => {
                let Some(real) = args.pop() else { return Ok(Operand::Expr(Expr::unknown())) };
                let part = d.component();
                let parts = vec![self.cast_dtype(real, part)?, self.cast_dtype(imag, part)?];
                Expr::new(Ty::Scalar(d), Kind::Fun(Fun::MakeComplex, part, parts))
            }
            (n, _) => return Err(self.typing(format!("{} takes one argument, {n} given", d.name()))),
        }))
    }

    fn method(&mut self, value: Expr, name: &str, args: Vec<Operand>) -> Result<Operand> {
        let row = match (name, &value.ty) {
            ("conjugate" | "conj", Ty::Scalar(_)) if args.is_empty() => Some(Fun::Conjugate),
            _ => None,
        };
        if let ("bit_count", Some(d), true, Some(row)) = (name, value.dtype(), args.is_empty(), table::row("cuda.popc"))
            && d.is_int()
        {
            let count = self.device_builtin(row, vec![value])?;
            return Ok(Operand::Expr(self.cast(count, &crate::types::INT)?));
        }
        if let Ty::Array(ty) = &value.ty
            && let Some(made) = self.array_method(&value, ty, name, &args)?
        {
            return Ok(made);
        }
        if let ("view", [dtype]) = (name, &args[..])
            && let Some(bits) = self.reinterpret(value.clone(), dtype)?
        {
            return Ok(Operand::Expr(bits));
        }
        match row {
            Some(fun) => self.function(name, fun, Rule::Arith, vec![value]).map(Operand::Expr),
            None => {
                let error = self.unsupported(format!("{} has no method {name:?} in kernels", value.ty));
                Err(match &value.ty {
                    Ty::Array(_) => error.hint("write a loop over its elements"),
                    _ => error,
                })
            }
        }
    }

    /// Converts the arguments to the signature that they fit best.
    fn match_signature(
        &mut self,
        name: &str,
        all: &[Vec<Ty>],
        slots: Vec<Option<Operand>>,
    ) -> Result<Vec<Option<Operand>>> {
        if slots.iter().flatten().any(|operand| matches!(operand, Operand::Value(v) if v.is_static())) {
            return Ok(slots);
        }
        let values = self.values(slots.into_iter().flatten().collect())?;
        if values.iter().any(|v| v.ty.is_unknown()) {
            return Ok(values.into_iter().map(|v| Some(Operand::Expr(v))).collect());
        }
        let total = |wanted: &Vec<Ty>| -> Option<usize> {
            let each = values.iter().zip(wanted).map(|(v, want)| conversion_cost(&v.ty, want));
            (wanted.len() == values.len()).then(|| each.sum::<Option<usize>>())?
        };
        let best = all.iter().filter_map(|s| Some((total(s)?, s))).min_by_key(|(loss, _)| *loss);
        let Some((_, wanted)) = best else {
            let list: Vec<String> = values.iter().map(|v| v.ty.to_string()).collect();
            let have: Vec<String> = all
                .iter()
                .map(|s| format!("({})", s.iter().map(Ty::to_string).collect::<Vec<_>>().join(", ")))
                .collect();
            let error = self.typing(format!(
                "Invalid use of type(CUDADispatcher({name})) with parameters ({}): its decorator has {}",
                list.join(", "),
                have.join(" and ")
            ));
            return Err(error.hint("add the signature, or remove all signatures to have the types inferred"));
        };
        let mut given = Vec::new();
        for (value, want) in values.into_iter().zip(wanted) {
            // Arrays keep their order, because the function is compiled for it.
            let number = matches!(want, Ty::Scalar(_));
            given.push(Some(Operand::Expr(if number { self.cast(value, want)? } else { value })));
        }
        Ok(given)
    }

    /// Calls a user function with positional arguments, keyword arguments and defaults.
    pub(super) fn call_function(
        &mut self,
        index: usize,
        given: Vec<Operand>,
        named: Vec<(&str, Operand)>,
    ) -> Result<Operand> {
        let source = self.compiler.source;
        let function = &source.functions[index];
        let own = function.params.len();
        let mut given = given;
        if let Some(vararg) = function.vararg {
            // `*args` collects the remaining arguments in a tuple.
            let items = given.split_off(vararg.min(given.len()));
            let items = self.values(items)?;
            if items.iter().any(|e| e.ty.is_unknown()) {
                return Ok(Operand::Expr(Expr::unknown()));
            }
            if given.len() == vararg {
                given.push(Operand::Expr(tuple(items, None)));
            }
        } else if given.len() > own {
            return Err(self.arity_error(&function.name, &own.to_string(), given.len()));
        }
        let mut slots: Vec<Option<Operand>> = given.into_iter().map(Some).collect();
        slots.resize_with(own, || None);
        for (name, operand) in named {
            let Some(k) = function.params.iter().position(|p| p.name.text == name) else {
                return Err(self.typing(format!("{} has no parameter {name:?}", function.name)));
            };
            if slots[k].replace(operand).is_some() {
                return Err(self.typing(format!("{} got two values for {name:?}", function.name)));
            }
        }
        for (slot, param) in slots.iter_mut().zip(&function.params) {
            if slot.is_none() {
                *slot = param.default.clone().map(Operand::Value);
            }
            if slot.is_none() {
                return Err(self.typing(format!("{} is missing the argument {:?}", function.name, param.name.text)));
            }
        }
        let slots = match &function.signatures[..] {
            [] => slots,
            all => self.match_signature(&function.name, all, slots)?,
        };
        let (mut types, mut values) = (Vec::new(), Vec::new());
        for operand in slots.into_iter().flatten() {
            let (arg, value) = match operand {
                Operand::Value(v) if v.is_static() => (Arg::Static(v), Expr::new(Ty::None, Kind::Nothing)),
                other => {
                    let value = self.value(other)?;
                    if value.ty.is_unknown() {
                        return Ok(Operand::Expr(Expr::unknown()));
                    }
                    (Arg::Ty(value.ty.clone()), value)
                }
            };
            types.push(arg);
            values.push(value);
        }
        let (pos, caller) = (self.pos, self.compiler.instances[self.instance].function);
        let (made, depth) = (self.compiler.instances.len(), self.compiler.stack.len());
        let mut callee = self.compiler.instance(index, &types, pos, caller);
        if callee.as_ref().is_err_and(|error| error.literal) {
            // Try again with integer arguments and tuples of integers as compile-time constants.
            self.compiler.instances.truncate(made);
            self.compiler.unwind(depth);
            for (arg, value) in types.iter_mut().zip(&mut values) {
                if let (Arg::Ty(_), Some(known)) = (&*arg, self.constant_value(value)) {
                    *arg = Arg::Static(known);
                    *value = Expr::new(Ty::None, Kind::Nothing);
                }
            }
            callee = self.compiler.instance(index, &types, pos, caller);
        }
        let callee = callee.map_err(|error| error.called_from(self.function, pos))?;
        let ret = self.compiler.instances[callee].ret.clone();
        if ret == Ty::Unknown {
            return Ok(Operand::Expr(Expr::unknown()));
        }
        let value = Expr::new(ret, Kind::Call(callee, values));
        Ok(Operand::Expr(self.emit_effect(value)))
    }
}

/// Returns the cost of converting one type to another: the more a number loses, the higher. `None` if it is not
/// possible.
fn conversion_cost(have: &Ty, want: &Ty) -> Option<usize> {
    match (have, want) {
        _ if have == want => Some(0),
        (Ty::Scalar(a), Ty::Scalar(b)) if cuprous_core::promote::promote(*a, *b) == *b => Some(1),
        (Ty::Scalar(a), Ty::Scalar(b)) if a.is_complex() && !b.is_complex() => None,
        (Ty::Scalar(a), Ty::Scalar(b)) if a.kind() == b.kind() => Some(2),
        (Ty::Scalar(_), Ty::Scalar(_)) => Some(4),
        (Ty::Array(a), Ty::Array(b)) => (a.elem == b.elem && a.ndim == b.ndim).then_some(1),
        _ => have.converts_to(want).then_some(1),
    }
}
