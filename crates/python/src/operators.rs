//! The operators that `ndarray` and `Tensor` have in common.

use cuprous_core::Fun;
use pyo3::pyclass::CompareOp;

/// Defines `a + b`, `b + a`, `a += b` and the other arithmetic operators of a class. The calling module must define
/// `binary`, `in_place` and the type `Target<'_, '_>`, the receiver of in-place operators.
macro_rules! arithmetic_operators {
    ($class:ident) => {
        $crate::operators::arithmetic_operators! {
            $class:
            __add__ __radd__ __iadd__ Add;
            __sub__ __rsub__ __isub__ Subtract;
            __mul__ __rmul__ __imul__ Multiply;
            __truediv__ __rtruediv__ __itruediv__ Divide;
            __floordiv__ __rfloordiv__ __ifloordiv__ FloorDivide;
            __mod__ __rmod__ __imod__ Remainder;
            __and__ __rand__ __iand__ BitwiseAnd;
            __or__ __ror__ __ior__ BitwiseOr;
            __xor__ __rxor__ __ixor__ BitwiseXor;
            __lshift__ __rlshift__ __ilshift__ LeftShift;
            __rshift__ __rrshift__ __irshift__ RightShift;
        }
    };
    ($class:ident: $($method:ident $reflected:ident $in_place:ident $fun:ident;)*) => {
        #[pymethods]
        impl $class {
            $(
                fn $method<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
                    binary(slf.py(), Fun::$fun, slf.as_any(), o)
                }
                fn $reflected<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
                    binary(slf.py(), Fun::$fun, o, slf.as_any())
                }
                fn $in_place(slf: Target<'_, '_>, o: &Bound<'_, PyAny>) -> PyResult<()> {
                    in_place(slf, Fun::$fun, o)
                }
            )*
        }
    };
}
pub(crate) use arithmetic_operators;

/// Returns the function that a comparison operator computes.
pub(crate) fn comparison(op: CompareOp) -> Fun {
    match op {
        CompareOp::Lt => Fun::Less,
        CompareOp::Le => Fun::LessEqual,
        CompareOp::Eq => Fun::Equal,
        CompareOp::Ne => Fun::NotEqual,
        CompareOp::Gt => Fun::Greater,
        CompareOp::Ge => Fun::GreaterEqual,
    }
}
