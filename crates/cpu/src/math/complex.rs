//! Complex numbers over a float type. Arithmetic is generic and vectorizes. The functions are in `complex_fn`, in
//! complex128.

use cuprous_core::DType;

use super::complex_fn as f;
use super::*;
use crate::isa::Isa;

/// A complex number in NumPy's layout.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Cx<F> {
    /// Real part.
    pub re: F,
    /// Imaginary part.
    pub im: F,
}

/// complex64.
pub(crate) type C64<S> = Cx<F32<S>>;
/// complex128.
pub(crate) type C128<S> = Cx<F64<S>>;

/// A float type of which complex numbers consist.
pub(crate) trait Part: Float {
    /// dtype of the complex number.
    const COMPLEX: DType;
}
impl<S: Isa> Part for F32<S> {
    const COMPLEX: DType = DType::C64;
}
impl<S: Isa> Part for F64<S> {
    const COMPLEX: DType = DType::C128;
}

impl<F: Part> Cx<F> {
    /// Creates a number from its parts.
    #[inline(always)]
    pub(crate) fn new(re: F, im: F) -> Self {
        Cx { re, im }
    }
    #[inline(always)]
    fn pair(self) -> (f64, f64) {
        (self.re.to_f64(), self.im.to_f64())
    }
    #[inline(always)]
    fn of((re, im): (f64, f64)) -> Self {
        Cx { re: F::from_f64(re), im: F::from_f64(im) }
    }
    #[inline(always)]
    fn nan(self) -> bool {
        self.re.is_nan() | self.im.is_nan()
    }
}

impl<F: Part> All for Cx<F> {
    const DTYPE: DType = F::COMPLEX;
    type Component = F;
    const ZERO: Self = Cx { re: F::ZERO, im: F::ZERO };
    const LOWEST: Self = Cx { re: F::LOWEST, im: F::LOWEST };
    const HIGHEST: Self = Cx { re: F::HIGHEST, im: F::HIGHEST };

    // The order is lexicographic. A number with a NaN is the result of a maximum, but not of an fmax.
    #[inline(always)]
    fn maximum(self, o: Self) -> Self {
        if self.nan() | o.le(self) & !o.nan() { self } else { o }
    }
    #[inline(always)]
    fn minimum(self, o: Self) -> Self {
        if self.nan() | self.le(o) & !o.nan() { self } else { o }
    }
    #[inline(always)]
    fn fmax(self, o: Self) -> Self {
        if o.nan() | o.le(self) { self } else { o }
    }
    #[inline(always)]
    fn fmin(self, o: Self) -> Self {
        if o.nan() | self.le(o) { self } else { o }
    }
    #[inline(always)]
    fn absolute(self) -> F {
        self.re.hypot(self.im)
    }
    #[inline(always)]
    fn eq(self, o: Self) -> bool {
        self.re.eq(o.re) & self.im.eq(o.im)
    }
    #[inline(always)]
    fn ne(self, o: Self) -> bool {
        self.re.ne(o.re) | self.im.ne(o.im)
    }
    #[inline(always)]
    fn lt(self, o: Self) -> bool {
        self.re.lt(o.re) & !self.im.is_nan() & !o.im.is_nan() | self.re.eq(o.re) & self.im.lt(o.im)
    }
    #[inline(always)]
    fn le(self, o: Self) -> bool {
        self.re.lt(o.re) & !self.im.is_nan() & !o.im.is_nan() | self.re.eq(o.re) & self.im.le(o.im)
    }
}

impl<F: Part> Num for Cx<F> {
    const ONE: Self = Cx { re: F::ONE, im: F::ZERO };
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        Cx { re: self.re.add(o.re), im: self.im.add(o.im) }
    }
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        Cx { re: self.re.sub(o.re), im: self.im.sub(o.im) }
    }
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        Cx { re: self.re.mul(o.re).sub(self.im.mul(o.im)), im: self.re.mul(o.im).add(self.im.mul(o.re)) }
    }
    #[inline(always)]
    fn neg(self) -> Self {
        Cx { re: self.re.neg(), im: self.im.neg() }
    }
    /// z/|z|, and 0 at 0 (NumPy 2).
    #[inline(always)]
    fn sign(self) -> Self {
        Cx::of(f::sign(self.pair()))
    }
    #[inline(always)]
    fn reciprocal(self) -> Self {
        let (c, d) = (self.re, self.im);
        if d.absolute().le(c.absolute()) {
            let r = d.div(c);
            let t = c.add(d.mul(r));
            Cx { re: F::ONE.div(t), im: r.neg().div(t) }
        } else {
            let r = c.div(d);
            let t = c.mul(r).add(d);
            Cx { re: r.div(t), im: F::ONE.neg().div(t) }
        }
    }
    #[inline(always)]
    fn power(self, o: Self) -> Self {
        Cx::of(f::power(self.pair(), o.pair()))
    }
    #[inline(always)]
    fn conj(self) -> Self {
        Cx { re: self.re, im: self.im.neg() }
    }
}

impl<S: Isa> Double for C128<S> {}

/// Defines methods by functions of `complex_fn`.
macro_rules! via {
    ($($name:ident)*) => {$(
        #[inline(always)]
        fn $name(self) -> Self { Cx::of(f::$name(self.pair())) }
    )*};
}

impl<F: Part> Inexact for Cx<F> {
    /// Smith's method (1962), as in NumPy.
    #[inline(always)]
    fn div(self, o: Self) -> Self {
        let (a, b, c, d) = (self.re, self.im, o.re, o.im);
        if d.absolute().le(c.absolute()) {
            if c.eq(F::ZERO) & d.eq(F::ZERO) {
                return Cx { re: a.div(c.absolute()), im: b.div(c.absolute()) };
            }
            let r = d.div(c);
            let s = F::ONE.div(c.add(d.mul(r)));
            Cx { re: a.add(b.mul(r)).mul(s), im: b.sub(a.mul(r)).mul(s) }
        } else {
            let r = c.div(d);
            let s = F::ONE.div(d.add(c.mul(r)));
            Cx { re: a.mul(r).add(b).mul(s), im: b.mul(r).sub(a).mul(s) }
        }
    }
    #[inline(always)]
    fn rint(self) -> Self {
        Cx { re: self.re.rint(), im: self.im.rint() }
    }
    via!(sqrt exp exp2 expm1 ln log2 log10 ln_1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh);
    #[inline(always)]
    fn is_nan(self) -> bool {
        self.nan()
    }
    #[inline(always)]
    fn is_inf(self) -> bool {
        self.re.is_inf() | self.im.is_inf()
    }
    #[inline(always)]
    fn is_finite(self) -> bool {
        self.re.is_finite() & self.im.is_finite()
    }
}
