//! Expressions, except calls and subscripts.

use cuprous_core::scalar::Number;
use cuprous_core::{DType, Fun};

use super::context::{LoweringContext, Operand, tuple};
use crate::ast::{BinOp, Expr as Ast, ExprKind, UnaryOp, Value};
use crate::diagnostic::Result;
use crate::ir::{Expr, Kind, StmtKind};
use crate::rules::{self, Rule};
use crate::types::{BOOL, FLOAT, INT, Ty};

/// The nesting depth of expressions.
const MAX_DEPTH: usize = 400;

/// Returns the function of the operation table for an operator.
fn row_of(op: BinOp) -> Option<(Fun, Rule)> {
    Some(match op {
        BinOp::Add => (Fun::Add, Rule::Arith),
        BinOp::Sub => (Fun::Subtract, Rule::Arith),
        BinOp::Mult => (Fun::Multiply, Rule::Arith),
        BinOp::Div => (Fun::Divide, Rule::Divide),
        BinOp::FloorDiv => (Fun::FloorDivide, Rule::Arith),
        BinOp::Mod => (Fun::Remainder, Rule::Arith),
        BinOp::Pow => (Fun::Power, Rule::Power),
        BinOp::LShift => (Fun::LeftShift, Rule::Shift),
        BinOp::RShift => (Fun::RightShift, Rule::Shift),
        BinOp::BitOr => (Fun::BitwiseOr, Rule::Bits),
        BinOp::BitXor => (Fun::BitwiseXor, Rule::Bits),
        BinOp::BitAnd => (Fun::BitwiseAnd, Rule::Bits),
        BinOp::MatMult => return None,
    })
}

impl LoweringContext<'_, '_> {
    /// Evaluates an expression to an operand.
    pub(super) fn eval(&mut self, e: &Ast) -> Result<Operand> {
        let outer = std::mem::replace(&mut self.pos, e.pos);
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.unsupported("this expression is nested too deeply").hint("assign its parts to variables"));
        }
        let result = self.eval_kind(e);
        self.depth -= 1;
        if result.is_ok() {
            self.pos = outer;
        }
        result
    }

    /// Evaluates an expression to a run-time value.
    pub(super) fn eval_value(&mut self, e: &Ast) -> Result<Expr> {
        let operand = self.eval(e)?;
        let outer = std::mem::replace(&mut self.pos, e.pos);
        let value = self.value(operand)?;
        self.pos = outer;
        Ok(value)
    }

    /// Evaluates expressions in order.
    pub(super) fn eval_all<'e>(&mut self, all: impl IntoIterator<Item = &'e Ast>) -> Result<Vec<Expr>> {
        let operands = self.in_order(all, |cx, e| cx.eval(e))?;
        operands.into_iter().map(|operand| self.value(operand)).collect()
    }

    fn eval_kind(&mut self, e: &Ast) -> Result<Operand> {
        Ok(Operand::Expr(match &e.kind {
            ExprKind::Value(value) => return self.resolve(value.clone()),
            ExprKind::Name(name) => return self.read(name),
            ExprKind::Bin { op, left, right } => {
                let both = self.eval_all([&**left, &**right])?;
                self.pos = e.pos;
                let [left, right] = <[Expr; 2]>::try_from(both).map_err(|_| self.typing("expected two operands"))?;
                self.binary(*op, left, right)?
            }
            ExprKind::Unary { op, operand } => {
                let value = self.eval_value(operand)?;
                self.unary(*op, value)?
            }
            ExprKind::Bool { and, values } => self.logic(*and, values)?,
            ExprKind::Compare { left, rest } => self.comparison(left, rest)?,
            ExprKind::IfExp { test, body, orelse } => return self.conditional(test, body, orelse),
            ExprKind::Call { func, args, keywords } => return self.call(func, args, keywords),
            ExprKind::Attribute { value, name } => {
                let value = self.eval(value)?;
                return self.attribute(value, name);
            }
            ExprKind::Subscript { value, index } => return self.subscript(value, index),
            ExprKind::Slice { .. } => return Err(self.unsupported("slices are supported only in subscripts")),
            ExprKind::Tuple(items) => tuple(self.eval_all(items)?, None),
            ExprKind::Closure { function, captured } => return self.closure(*function, captured),
            ExprKind::Starred(_) => {
                return Err(
                    self.unsupported_syntax("* outside of a call's arguments", Some("write the items one by one"))
                );
            }
            ExprKind::Unsupported { what, instead } => return Err(self.unsupported_syntax(what, instead.as_deref())),
            ExprKind::Undefined(name) => return Err(self.undefined_name(name)),
        }))
    }

    /// A function used as a value takes the compile-time values of the variables that it captures with it.
    fn closure(&mut self, function: usize, captured: &[(String, Ast)]) -> Result<Operand> {
        let mut values = Vec::new();
        for (name, e) in captured {
            let value = match self.eval(e)? {
                Operand::Value(value) => Some(value),
                Operand::Expr(e) if e.ty.is_unknown() => return Ok(Operand::Expr(Expr::unknown())),
                Operand::Expr(e) => self.constant_value(&e),
                _ => None,
            };
            let Some(value) = value else {
                return Err(self
                    .typing(format!(
                        "a function used as a value cannot capture {name:?}, which is known only at run time"
                    ))
                    .hint("pass it as a parameter"));
            };
            values.push((name.clone(), value));
        }
        Ok(Operand::Value(Value::Closure(function, values)))
    }

    /// Resolves a compile-time object. Some names, such as `cuda.threadIdx.x`, are run-time values.
    pub(super) fn resolve(&mut self, value: Value) -> Result<Operand> {
        if let Value::Builtin(name) = &value
            && let Some(row) = crate::table::row(name).filter(|row| row.is_attribute)
        {
            return self.device_builtin(row, Vec::new()).map(Operand::Expr);
        }
        if let Value::Builtin(name) = &value
            && let Some(first) = crate::table::row(&format!("{name}.x")).filter(|row| row.is_attribute)
        {
            // A three-dimensional index: `cuda.threadIdx`.
            let mut items = vec![self.device_builtin(first, Vec::new())?];
            for row in ["y", "z"].iter().filter_map(|axis| crate::table::row(&format!("{name}.{axis}"))) {
                items.push(self.device_builtin(row, Vec::new())?);
            }
            return Ok(Operand::Expr(tuple(items, Some(["x", "y", "z"].map(str::to_owned).into()))));
        }
        Ok(Operand::Value(value))
    }

    /// Applies a function of the operation table.
    pub(super) fn function(&mut self, name: &str, fun: Fun, rule: Rule, args: Vec<Expr>) -> Result<Expr> {
        if args.iter().any(|a| a.ty == Ty::Unknown) {
            return Ok(Expr::unknown());
        }
        let types: Option<Vec<DType>> = args.iter().map(Expr::dtype).collect();
        let wanted = fun.op().arity as usize;
        if args.len() != wanted {
            return Err(self.arity_error(name, &wanted.to_string(), args.len()));
        }
        let Some(compute) = types.and_then(|types| rules::compute(rule, fun, &types)) else {
            let list: Vec<String> = args.iter().map(|a| a.ty.to_string()).collect();
            let error = self.typing(format!("{name} is not defined for {}", list.join(" and ")));
            return Err(match args.iter().any(|a| matches!(a.ty, Ty::Array(_))) {
                true => error.hint("kernels work on elements: index the array, for example a[i]"),
                false => error,
            });
        };
        let args = args
            .into_iter()
            .map(|a| match a.dtype() {
                Some(d) if d.is_complex() && compute == DType::Bool => self.truth_value(a),
                _ => self.cast_dtype(a, compute),
            })
            .collect::<Result<Vec<_>>>()?;
        // These functions return their operand unchanged.
        if fun == Fun::Positive || (matches!(fun, Fun::Floor | Fun::Ceil | Fun::Trunc) && !compute.is_float()) {
            return args.into_iter().next().ok_or_else(|| self.typing("expected an operand"));
        }
        Ok(Expr::new(Ty::Scalar(fun.result(compute)), Kind::Fun(fun, compute, args)))
    }

    /// Applies a binary operator.
    pub(super) fn binary(&mut self, op: BinOp, left: Expr, right: Expr) -> Result<Expr> {
        let Some((fun, rule)) = row_of(op) else {
            return Err(self.unsupported_syntax("@", Some("write the loop over the products")));
        };
        if let (BinOp::Add, Ty::Tuple(..), Ty::Tuple(..)) = (op, &left.ty, &right.ty) {
            let mut items = self.items(left);
            items.extend(self.items(right));
            return Ok(tuple(items, None));
        }
        if op == BinOp::Pow
            && let Some(short) = self.short_power(&left, &right)?
        {
            return Ok(short);
        }
        let right = match op {
            BinOp::Div | BinOp::FloorDiv | BinOp::Mod if self.checks_divisor(op) => {
                let left = self.stabilize("t", left);
                let right = self.check_divisor(right)?;
                return self.function(op.text(), fun, rule, vec![left, right]);
            }
            _ => right,
        };
        self.function(op.text(), fun, rule, vec![left, right])
    }

    /// Powers with small constant exponents become multiplications.
    fn short_power(&mut self, base: &Expr, exponent: &Expr) -> Result<Option<Expr>> {
        let (Some(d), Some(n)) = (base.dtype(), self.constant_int(exponent)) else { return Ok(None) };
        if !(2..=4).contains(&n) || !exponent.dtype().is_some_and(|d| d.is_int()) {
            return Ok(None);
        }
        let Some(compute) = rules::compute(Rule::Power, Fun::Power, &[d, DType::I64]) else { return Ok(None) };
        let base = self.cast_dtype(base.clone(), compute)?;
        let x = self.duplicable("x", base);
        let mut product = x.clone();
        if n == 4 {
            product = self.function("*", Fun::Multiply, Rule::Arith, vec![x.clone(), x])?;
            product = self.materialize("x", product);
            let copy = product.clone();
            return Ok(Some(self.function("*", Fun::Multiply, Rule::Arith, vec![product, copy])?));
        }
        for _ in 1..n {
            product = self.function("*", Fun::Multiply, Rule::Arith, vec![product, x.clone()])?;
        }
        Ok(Some(product))
    }

    /// Returns the items of a tuple.
    pub(super) fn items(&mut self, e: Expr) -> Vec<Expr> {
        match (&e.ty, e.kind) {
            (_, Kind::Tuple(items)) => items,
            (Ty::Tuple(types, _), kind) => {
                let types = types.clone();
                let held = Expr::new(e.ty.clone(), kind);
                let held = self.duplicable("t", held);
                let item = |(k, ty)| Expr::new(ty, Kind::Item(Box::new(held.clone()), k));
                types.into_iter().enumerate().map(item).collect()
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn unary(&mut self, op: UnaryOp, value: Expr) -> Result<Expr> {
        match op {
            UnaryOp::Not => {
                let value = self.truth_value(value)?;
                Ok(match value.as_int() {
                    Some(n) => Expr::bool(n == 0),
                    None => Expr::new(BOOL, Kind::Not(Box::new(value))),
                })
            }
            UnaryOp::USub => {
                // A negated literal is a literal.
                match value.kind {
                    Kind::Const(Number::Int(n)) if value.ty == INT => {
                        return Ok(Expr::number(Number::Int(-n), DType::I64));
                    }
                    Kind::Const(Number::Float(x)) if value.ty == FLOAT => {
                        return Ok(Expr::number(Number::Float(-x), DType::F64));
                    }
                    _ => {}
                }
                self.function("unary -", Fun::Negative, Rule::Arith, vec![value])
            }
            UnaryOp::UAdd => self.function("unary +", Fun::Positive, Rule::Arith, vec![value]),
            UnaryOp::Invert => self.function("~", Fun::Invert, Rule::Bits, vec![value]),
        }
    }

    /// `and` and `or`: a bool for bools, else the operand that decides.
    fn logic(&mut self, and: bool, values: &[Ast]) -> Result<Expr> {
        let Some((first, rest)) = values.split_first() else { return Ok(Expr::bool(and)) };
        let left = self.eval_value(first)?;
        if rest.is_empty() {
            return Ok(left);
        }
        self.short_circuit(and, left, |cx| cx.logic(and, rest))
    }

    /// `left and right`, `left or right`: `right` is evaluated only if `left` does not decide.
    pub(super) fn short_circuit(
        &mut self,
        and: bool,
        left: Expr,
        right: impl FnOnce(&mut Self) -> Result<Expr>,
    ) -> Result<Expr> {
        let test = self.truth_value(left.clone())?;
        if let Some(known) = test.as_int() {
            // The constant decides the result, or is its identity.
            return if (known != 0) == and { right(self) } else { Ok(left) };
        }
        let (right, block) = self.block(right)?;
        if left.ty == Ty::Unknown || right.ty == Ty::Unknown {
            return Ok(Expr::unknown());
        }
        let Some(ty) = left.ty.unify(&right.ty) else {
            let word = if and { "and" } else { "or" };
            return Err(self.typing(format!("`{word}` of incompatible types {} and {}", left.ty, right.ty)));
        };
        if block.is_empty() && ty == BOOL {
            let both = (Box::new(left), Box::new(right));
            return Ok(Expr::new(BOOL, if and { Kind::And(both.0, both.1) } else { Kind::Or(both.0, both.1) }));
        }
        let left = self.cast(left, &ty)?;
        let result = self.materialize("t", left);
        let Kind::Var(var) = result.kind else { return Ok(result) };
        let test = self.truth_value(result.clone())?;
        let test = if and { test } else { Expr::new(BOOL, Kind::Not(Box::new(test))) };
        let ((), then) = self.block(|cx| {
            cx.append(block);
            let right = cx.cast(right, &ty)?;
            cx.emit(StmtKind::Assign(var, right));
            Ok(())
        })?;
        self.emit(StmtKind::If { test, then, orelse: Vec::new() });
        Ok(self.materialize("t", result))
    }

    fn conditional(&mut self, test: &Ast, body: &Ast, orelse: &Ast) -> Result<Operand> {
        let test = self.test(test)?;
        if let Some(known) = test.as_int() {
            return self.eval(if known != 0 { body } else { orelse });
        }
        let (yes, then) = self.block(|cx| cx.eval_value(body))?;
        let (no, other) = self.block(|cx| cx.eval_value(orelse))?;
        if yes.ty == Ty::Unknown || no.ty == Ty::Unknown {
            // The type of one of them helps inference.
            return Ok(Operand::Expr(if yes.ty == Ty::Unknown { no } else { yes }));
        }
        let Some(ty) = yes.ty.unify(&no.ty) else {
            return Err(self.typing(format!("`if … else` of incompatible types {} and {}", yes.ty, no.ty)));
        };
        let (yes, no) = (self.cast(yes, &ty)?, self.cast(no, &ty)?);
        if then.is_empty() && other.is_empty() && ty.scalar().is_some() {
            let parts = (Box::new(test), Box::new(yes), Box::new(no));
            return Ok(Operand::Expr(Expr::new(ty, Kind::Select(parts.0, parts.1, parts.2))));
        }
        let var = self.variable("t", ty.clone());
        let fill = |cx: &mut Self, block, value| {
            cx.block(|cx| {
                cx.append(block);
                cx.emit(StmtKind::Assign(var, value));
                Ok(())
            })
        };
        let ((), then) = fill(self, then, yes)?;
        let ((), orelse) = fill(self, other, no)?;
        self.emit(StmtKind::If { test, then, orelse });
        Ok(Operand::Expr(Expr::new(ty, Kind::Var(var))))
    }
}
