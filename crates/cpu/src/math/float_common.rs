//! Operations that float32 and float64 share: arithmetic, comparisons, division with remainder.

/// Implements the operations that float32 and float64 share.
macro_rules! float_common {
    ($t:ident $dtype:ident) => {
        impl<S: Isa> All for X<$t, S> {
            const DTYPE: DType = DType::$dtype;
            type Component = Self;
            const ZERO: Self = X(0.0, std::marker::PhantomData);
            const LOWEST: Self = X($t::NEG_INFINITY, std::marker::PhantomData);
            const HIGHEST: Self = X($t::INFINITY, std::marker::PhantomData);

            #[inline(always)]
            fn maximum(self, o: Self) -> Self {
                // NaN is the result if there is one. Of equal zeros, the first is.
                x(if (self.0 >= o.0) | (self.0 != self.0) { self.0 } else { o.0 })
            }
            #[inline(always)]
            fn minimum(self, o: Self) -> Self {
                x(if (self.0 <= o.0) | (self.0 != self.0) { self.0 } else { o.0 })
            }
            #[inline(always)]
            fn fmax(self, o: Self) -> Self {
                x(if (self.0 >= o.0) | (o.0 != o.0) { self.0 } else { o.0 })
            }
            #[inline(always)]
            fn fmin(self, o: Self) -> Self {
                x(if (self.0 <= o.0) | (o.0 != o.0) { self.0 } else { o.0 })
            }
            #[inline(always)]
            fn absolute(self) -> Self {
                x(self.0.abs())
            }
            #[inline(always)]
            fn eq(self, o: Self) -> bool {
                self.0 == o.0
            }
            #[inline(always)]
            fn ne(self, o: Self) -> bool {
                self.0 != o.0
            }
            #[inline(always)]
            fn lt(self, o: Self) -> bool {
                self.0 < o.0
            }
            #[inline(always)]
            fn le(self, o: Self) -> bool {
                self.0 <= o.0
            }
            #[inline(always)]
            fn fast(self, fun: Fun) -> bool {
                fast::<S>(f64::from(self.0), fun)
            }
            #[inline(always)]
            fn slow(self, fun: Fun) -> Self {
                x(slow(f64::from(self.0), fun) as $t)
            }
            #[inline(always)]
            fn fast2(self, o: Self, fun: Fun) -> bool {
                fast2::<S>(f64::from(self.0), f64::from(o.0), fun)
            }
            #[inline(always)]
            fn slow2(self, o: Self, fun: Fun) -> Self {
                match fun {
                    Fun::Fmod => x(self.0 % o.0),
                    Fun::Remainder | Fun::FloorDivide => x(divide_slowly(self.0, o.0, fun == Fun::Remainder)),
                    _ => x(slow2(f64::from(self.0), f64::from(o.0), fun) as $t),
                }
            }
        }

        /// Returns the remainder or the quotient of NumPy's divmod, for any operands.
        #[inline(never)]
        fn divide_slowly(a: $t, b: $t, remainder: bool) -> $t {
            let mut r = a % b;
            if b == 0.0 {
                return if remainder { r } else { a / b };
            }
            let mut q = (a - r) / b;
            if r == 0.0 {
                r = (0.0 as $t).copysign(b);
            } else if (b < 0.0) != (r < 0.0) {
                r += b;
                q -= 1.0;
            }
            if remainder {
                return r;
            }
            if q == 0.0 {
                return (0.0 as $t).copysign(a / b);
            }
            let f = q.floor();
            if q - f > 0.5 { f + 1.0 } else { f }
        }

        impl<S: Isa> Num for X<$t, S> {
            const ONE: Self = X(1.0, std::marker::PhantomData);
            #[inline(always)]
            fn add(self, o: Self) -> Self {
                x(self.0 + o.0)
            }
            #[inline(always)]
            fn sub(self, o: Self) -> Self {
                x(self.0 - o.0)
            }
            #[inline(always)]
            fn mul(self, o: Self) -> Self {
                x(self.0 * o.0)
            }
            #[inline(always)]
            fn neg(self) -> Self {
                x(-self.0)
            }
            #[inline(always)]
            fn sign(self) -> Self {
                let s = pick(self.0 > 0.0, 1.0, pick(self.0 < 0.0, -1.0, 0.0));
                x(if self.0 != self.0 { self.0 } else { s })
            }
            #[inline(always)]
            fn reciprocal(self) -> Self {
                x(1.0 / self.0)
            }
            #[inline(always)]
            fn power(self, o: Self) -> Self {
                x(pow::<S>(f64::from(self.0), f64::from(o.0)) as $t)
            }
            #[inline(always)]
            fn conj(self) -> Self {
                self
            }
        }

        // divmod of CPython and NumPy: the remainder is exact and has the divisor's sign.
        impl<S: Isa> Real for X<$t, S> {
            #[inline(always)]
            fn floor_divide(self, o: Self) -> Self {
                let (a, b) = (self.0, o.0);
                let r = self.fmod(o).0;
                let mut q = (a - r) / b;
                q = if (r != 0.0) & ((b < 0.0) != (r < 0.0)) { q - 1.0 } else { q };
                let f = q.floor();
                let f = if q - f > 0.5 { f + 1.0 } else { f };
                let f = if q == 0.0 { (0.0 as $t).copysign(a / b) } else { f };
                x(if b == 0.0 { a / b } else { f })
            }
            #[inline(always)]
            fn remainder(self, o: Self) -> Self {
                let b = o.0;
                let r = self.fmod(o).0;
                let moved = if (r != 0.0) & ((b < 0.0) != (r < 0.0)) { r + b } else { r };
                x(if r == 0.0 { (0.0 as $t).copysign(b) } else { moved })
            }
            #[inline(always)]
            fn fmod(self, o: Self) -> Self {
                // Correct where `fast2` holds: the quotient is off by at most one, and the remainder is exact.
                let (a, b) = (f64::from(self.0), f64::from(o.0));
                let r = fma::<S>(-(a / b).trunc(), b, a);
                let r = if (r != 0.0) & ((r < 0.0) != (a < 0.0)) { r + b.abs().copysign(a) } else { r };
                x(r.abs().copysign(a) as $t)
            }
        }

        impl<S: Isa> RealBool for X<$t, S> {
            #[inline(always)]
            fn floor(self) -> Self {
                x(self.0.floor())
            }
            #[inline(always)]
            fn ceil(self) -> Self {
                x(self.0.ceil())
            }
            #[inline(always)]
            fn trunc(self) -> Self {
                x(self.0.trunc())
            }
        }

        impl<S: Isa> X<$t, S> {
            #[inline(always)]
            pub(super) fn next_after(self, o: Self) -> Self {
                let (a, b) = (self.0, o.0);
                if a != a || b != b {
                    return x(a + b);
                }
                if a == b {
                    return o;
                }
                if a == 0.0 {
                    return x($t::from_bits(1).copysign(b));
                }
                let away = (b > a) == (a > 0.0);
                x($t::from_bits(if away { a.to_bits() + 1 } else { a.to_bits() - 1 }))
            }
            #[inline(always)]
            pub(super) fn spacing_of(self) -> Self {
                let a = self.0;
                if !a.is_finite() {
                    return x($t::NAN);
                }
                if a == 0.0 {
                    return x($t::from_bits(1));
                }
                x(self.next_after(x($t::INFINITY.copysign(a))).0 - a)
            }
            #[inline(always)]
            pub(super) fn heaviside_of(self, o: Self) -> Self {
                let a = self.0;
                let y = pick(a > 0.0, 1.0, pick(a < 0.0, 0.0, o.0));
                x(if a != a { a } else { y })
            }
            #[inline(always)]
            pub(super) fn modf_of(self) -> Self {
                let a = self.0;
                let f = if a.abs() == $t::INFINITY { 0.0 } else { a - a.trunc() };
                x(if a != a { a } else { f.copysign(a) })
            }
        }
    };
}
pub(super) use float_common;
