//! Bool and integers.

use std::ops::{BitAnd, BitOr, BitXor, Not};

use cuprous_core::DType;

use super::{All, B, Bool, Int, IntBool, Num, Real, RealBool};

/// Defines comparisons and maxima for types with a total order.
macro_rules! ordered {
    ($($v:tt)*) => {
        #[inline(always)]
        fn maximum(self, o: Self) -> Self { if self $($v)* >= o $($v)* { self } else { o } }
        #[inline(always)]
        fn minimum(self, o: Self) -> Self { if self $($v)* <= o $($v)* { self } else { o } }
        #[inline(always)]
        fn fmax(self, o: Self) -> Self { self.maximum(o) }
        #[inline(always)]
        fn fmin(self, o: Self) -> Self { self.minimum(o) }
        #[inline(always)]
        fn eq(self, o: Self) -> bool { self $($v)* == o $($v)* }
        #[inline(always)]
        fn ne(self, o: Self) -> bool { self $($v)* != o $($v)* }
        #[inline(always)]
        fn lt(self, o: Self) -> bool { (self $($v)*) < o $($v)* }
        #[inline(always)]
        fn le(self, o: Self) -> bool { self $($v)* <= o $($v)* }
    };
}

impl All for B {
    const DTYPE: DType = DType::Bool;
    type Component = B;
    const ZERO: B = B(0);
    const LOWEST: B = B(0);
    const HIGHEST: B = B(1);
    ordered!(.0);
    #[inline(always)]
    fn absolute(self) -> B {
        self
    }
}

macro_rules! bits {
    ($($trait:ident $method:ident $op:tt),*) => {$(
        impl $trait for B {
            type Output = B;
            #[inline(always)]
            fn $method(self, o: B) -> B { B(self.0 $op o.0) }
        }
    )*};
}
bits!(BitAnd bitand &, BitOr bitor |, BitXor bitxor ^);

impl Not for B {
    type Output = B;
    #[inline(always)]
    fn not(self) -> B {
        B(u8::from(self.0 == 0))
    }
}
impl IntBool for B {}
impl Bool for B {}

impl RealBool for B {
    #[inline(always)]
    fn floor(self) -> B {
        self
    }
    #[inline(always)]
    fn ceil(self) -> B {
        self
    }
    #[inline(always)]
    fn trunc(self) -> B {
        self
    }
}

macro_rules! int {
    ($($t:ident $dtype:ident $unsigned:ident $signed:tt),*) => {$(
        impl All for $t {
            const DTYPE: DType = DType::$dtype;
            type Component = $t;
            const ZERO: $t = 0;
            const LOWEST: $t = $t::MIN;
            const HIGHEST: $t = $t::MAX;
            ordered!();
            #[inline(always)]
            fn absolute(self) -> $t { int!(@$signed self.wrapping_abs(), self) }
        }

        impl Num for $t {
            const ONE: $t = 1;
            #[inline(always)]
            fn add(self, o: $t) -> $t { self.wrapping_add(o) }
            #[inline(always)]
            fn sub(self, o: $t) -> $t { self.wrapping_sub(o) }
            #[inline(always)]
            fn mul(self, o: $t) -> $t { self.wrapping_mul(o) }
            #[inline(always)]
            fn neg(self) -> $t { self.wrapping_neg() }
            #[inline(always)]
            fn sign(self) -> $t { int!(@$signed self.signum(), $t::from(self > 0)) }
            #[inline(always)]
            fn reciprocal(self) -> $t { if self == 0 { 0 } else { (1 as $t).wrapping_div(self) } }
            #[inline(always)]
            fn power(self, o: $t) -> $t {
                // Powers by squaring wrap as in NumPy. Negative exponents raise an error when the operation is
                // recorded. Here they give 1, -1 or 0.
                int!(@$signed if o < 0 {
                    return match self { 1 => 1, _ if self.wrapping_add(1) == 0 => if o & 1 == 0 { 1 } else { self }, _ => 0 };
                }, ());
                let (mut base, mut e, mut y) = (self, o, 1 as $t);
                while e > 0 {
                    if e & 1 == 1 { y = y.wrapping_mul(base); }
                    base = base.wrapping_mul(base);
                    e >>= 1;
                }
                y
            }
            #[inline(always)]
            fn conj(self) -> $t { self }
        }

        // Division by zero gives 0, as in NumPy (which warns). MIN / -1 wraps.
        impl Real for $t {
            #[inline(always)]
            fn floor_divide(self, o: $t) -> $t {
                if o == 0 { return 0; }
                let q = self.wrapping_div(o);
                int!(@$signed if (self.wrapping_rem(o) != 0) & ((self < 0) != (o < 0)) { q - 1 } else { q }, q)
            }
            #[inline(always)]
            fn remainder(self, o: $t) -> $t {
                if o == 0 { return 0; }
                let r = self.wrapping_rem(o);
                int!(@$signed if (r != 0) & ((r < 0) != (o < 0)) { r + o } else { r }, r)
            }
            #[inline(always)]
            fn fmod(self, o: $t) -> $t { if o == 0 { 0 } else { self.wrapping_rem(o) } }
        }

        impl RealBool for $t {
            #[inline(always)]
            fn floor(self) -> $t { self }
            #[inline(always)]
            fn ceil(self) -> $t { self }
            #[inline(always)]
            fn trunc(self) -> $t { self }
        }

        impl IntBool for $t {}

        impl Int for $t {
            // A shift by the width or more (or by a negative number) moves every bit out.
            #[inline(always)]
            fn left_shift(self, o: $t) -> $t {
                if (o as $unsigned) < $t::BITS as $unsigned { self << (o as u32 & ($t::BITS - 1)) } else { 0 }
            }
            #[inline(always)]
            fn right_shift(self, o: $t) -> $t {
                if (o as $unsigned) < $t::BITS as $unsigned {
                    self >> (o as u32 & ($t::BITS - 1))
                } else {
                    int!(@$signed self >> ($t::BITS - 1), 0)
                }
            }
            #[inline(always)]
            fn gcd(self, o: $t) -> $t {
                let (mut a, mut b) = (int!(@$signed self.unsigned_abs(), self), int!(@$signed o.unsigned_abs(), o));
                while b != 0 {
                    (a, b) = (b, a % b);
                }
                a as $t
            }
            #[inline(always)]
            fn lcm(self, o: $t) -> $t {
                let (a, b) = (int!(@$signed self.unsigned_abs(), self), int!(@$signed o.unsigned_abs(), o));
                let g = self.gcd(o) as $unsigned;
                if g == 0 { 0 } else { (a / g).wrapping_mul(b) as $t }
            }
        }
    )*};
    (@signed $a:expr, $b:expr) => { $a };
    (@unsigned $a:expr, $b:expr) => { $b };
}
int!(
    i8 I8 u8 signed, i16 I16 u16 signed, i32 I32 u32 signed, i64 I64 u64 signed,
    u8 U8 u8 unsigned, u16 U16 u16 unsigned, u32 U32 u32 unsigned, u64 U64 u64 unsigned
);
