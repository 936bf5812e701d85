//! Comparisons.

use cuprous_core::{DType, Fun};

use super::context::{LoweringContext, Operand, describe};
use crate::ast::{CmpOp, Expr as Ast, UnaryOp, Value};
use crate::diagnostic::Result;
use crate::ir::{Expr, Kind};
use crate::rules::Rule;
use crate::types::{BOOL, Ty};

impl LoweringContext<'_, '_> {
    pub(super) fn comparison(&mut self, left: &Ast, rest: &[(CmpOp, Ast)]) -> Result<Expr> {
        if let [(op, right)] = rest {
            let pos = self.pos;
            let both = self.in_order([left, right], |cx, e| cx.eval(e))?;
            self.pos = pos;
            let [left, right] = <[Operand; 2]>::try_from(both).map_err(|_| self.typing("expected two operands"))?;
            return self.compare(*op, left, right);
        }
        let left = self.eval_value(left)?;
        self.chain(left, rest)
    }

    /// `left < b < c`: each operand is evaluated at most once, and only if the comparisons before it hold.
    fn chain(&mut self, left: Expr, rest: &[(CmpOp, Ast)]) -> Result<Expr> {
        let Some(((op, right), rest)) = rest.split_first() else { return Ok(Expr::bool(true)) };
        let (right, block) = self.block(|cx| cx.eval_value(right))?;
        let left = if block.is_empty() { left } else { self.stabilize("t", left) };
        self.append(block);
        let once = rest.is_empty() || right.is_simple();
        let right = if once { right } else { self.materialize("t", right) };
        let test = self.compare(*op, Operand::Expr(left), Operand::Expr(right.clone()))?;
        if rest.is_empty() { Ok(test) } else { self.short_circuit(true, test, |cx| cx.chain(right, rest)) }
    }

    pub(super) fn compare(&mut self, op: CmpOp, left: Operand, right: Operand) -> Result<Expr> {
        // Compile-time objects are compared here.
        if let (Operand::Value(a), Operand::Value(b)) = (&left, &right)
            && !matches!((a, b), (Value::Number(_) | Value::Typed(..), Value::Number(_) | Value::Typed(..)))
        {
            match op {
                CmpOp::Eq | CmpOp::Is => return Ok(Expr::bool(a == b)),
                CmpOp::NotEq | CmpOp::IsNot => return Ok(Expr::bool(a != b)),
                _ => {}
            }
        }
        if let (CmpOp::In | CmpOp::NotIn, operand) = (op, &right) {
            let many = self.value(operand.clone())?;
            let one = self.value(left)?;
            return self.membership(op == CmpOp::In, one, many);
        }
        let (left, right) = (self.comparable(left)?, self.comparable(right)?);
        if left.ty == Ty::Unknown || right.ty == Ty::Unknown {
            return Ok(Expr::unknown());
        }
        if matches!(op, CmpOp::Is | CmpOp::IsNot) {
            let same = match (&left.ty, &right.ty) {
                (Ty::None, Ty::None) => true,
                (Ty::None, _) | (_, Ty::None) => false,
                (Ty::Scalar(a), Ty::Scalar(b)) if a == b => {
                    let fun = if op == CmpOp::Is { Fun::Equal } else { Fun::NotEqual };
                    return self.function("is", fun, Rule::Compare, vec![left, right]);
                }
                (Ty::Scalar(_), Ty::Scalar(_)) => false,
                _ => {
                    return Err(self.unsupported("`is` compares with None and numbers only in kernels").hint("use =="));
                }
            };
            return Ok(Expr::bool(same == (op == CmpOp::Is)));
        }
        if left.ty == Ty::None || right.ty == Ty::None {
            return match op {
                CmpOp::Eq => Ok(Expr::bool(left.ty == right.ty)),
                CmpOp::NotEq => Ok(Expr::bool(left.ty != right.ty)),
                _ => Err(self.typing("None supports only == and !=")),
            };
        }
        if let (Ty::Tuple(..), Ty::Tuple(..)) = (&left.ty, &right.ty) {
            return self.compare_tuples(op, left, right);
        }
        let (fun, text) = match op {
            CmpOp::Eq => (Fun::Equal, "=="),
            CmpOp::NotEq => (Fun::NotEqual, "!="),
            CmpOp::Lt => (Fun::Less, "<"),
            CmpOp::LtE => (Fun::LessEqual, "<="),
            CmpOp::Gt => (Fun::Greater, ">"),
            _ => (Fun::GreaterEqual, ">="),
        };
        if let (Some(a), Some(b)) = (left.as_int(), right.as_int()) {
            return Ok(Expr::bool(match fun {
                Fun::Equal => a == b,
                Fun::NotEqual => a != b,
                Fun::Less => a < b,
                Fun::LessEqual => a <= b,
                Fun::Greater => a > b,
                _ => a >= b,
            }));
        }
        match (left.dtype(), right.dtype()) {
            (Some(a), Some(DType::U64)) if is_signed(a) => self.compare_mixed(fun, left, right),
            (Some(DType::U64), Some(b)) if is_signed(b) => {
                let swapped = match fun {
                    Fun::Less => Fun::Greater,
                    Fun::LessEqual => Fun::GreaterEqual,
                    Fun::Greater => Fun::Less,
                    Fun::GreaterEqual => Fun::LessEqual,
                    same => same,
                };
                self.compare_mixed(swapped, right, left)
            }
            _ => self.function(text, fun, Rule::Compare, vec![left, right]),
        }
    }

    fn comparable(&mut self, operand: Operand) -> Result<Expr> {
        match operand {
            Operand::Value(v) if v.is_static() => {
                Err(self.typing(format!("{} cannot be compared with a run-time value", describe(&v))))
            }
            other => self.value(other),
        }
    }

    /// Compares a signed integer with a uint64. No integer type holds the values of both.
    fn compare_mixed(&mut self, fun: Fun, signed: Expr, unsigned: Expr) -> Result<Expr> {
        if let Some(n) = signed.as_int()
            && n >= 0
        {
            let signed = self.cast_dtype(signed, DType::U64)?;
            return Ok(Expr::new(BOOL, Kind::Fun(fun, DType::U64, vec![signed, unsigned])));
        }
        let signed = self.cast_dtype(signed, DType::I64)?;
        let signed = self.duplicable("t", signed);
        let below = |f| Expr::new(BOOL, Kind::Fun(f, DType::I64, vec![signed.clone(), Expr::int(0)]));
        let as_unsigned = self.cast_dtype(signed.clone(), DType::U64)?;
        let as_unsigned_compare = Expr::new(BOOL, Kind::Fun(fun, DType::U64, vec![as_unsigned, unsigned]));
        Ok(Expr::new(
            BOOL,
            match fun {
                Fun::Less | Fun::LessEqual | Fun::NotEqual => {
                    Kind::Or(Box::new(below(Fun::Less)), Box::new(as_unsigned_compare))
                }
                _ => Kind::And(Box::new(below(Fun::GreaterEqual)), Box::new(as_unsigned_compare)),
            },
        ))
    }

    fn compare_tuples(&mut self, op: CmpOp, left: Expr, right: Expr) -> Result<Expr> {
        let (left, right) = (self.items(left), self.items(right));
        if !matches!(op, CmpOp::Eq | CmpOp::NotEq) {
            return Err(self.unsupported("tuples support only == and != in kernels").hint("compare their items"));
        }
        let mut all = Expr::bool(left.len() == right.len());
        if left.len() == right.len() {
            for (a, b) in left.into_iter().zip(right) {
                let same = self.compare(CmpOp::Eq, Operand::Expr(a), Operand::Expr(b))?;
                all = match all.as_int() {
                    Some(1) => same,
                    _ => Expr::new(BOOL, Kind::And(Box::new(all), Box::new(same))),
                };
            }
        }
        if op == CmpOp::Eq { Ok(all) } else { self.unary(UnaryOp::Not, all) }
    }

    fn membership(&mut self, positive: bool, one: Expr, many: Expr) -> Result<Expr> {
        if one.ty == Ty::Unknown || many.ty == Ty::Unknown {
            return Ok(Expr::unknown());
        }
        if !matches!(many.ty, Ty::Tuple(..)) {
            return Err(self.unsupported(format!("`in` is not supported for {}", many.ty)).hint("loop over it"));
        }
        let one = self.duplicable("t", one);
        let mut any = Expr::bool(false);
        for item in self.items(many) {
            let same = self.compare(CmpOp::Eq, Operand::Expr(one.clone()), Operand::Expr(item))?;
            any = match any.as_int() {
                Some(0) => same,
                _ => Expr::new(BOOL, Kind::Or(Box::new(any), Box::new(same))),
            };
        }
        if positive { Ok(any) } else { self.unary(UnaryOp::Not, any) }
    }
}

fn is_signed(d: DType) -> bool {
    d.kind() == cuprous_core::Kind::Int
}
