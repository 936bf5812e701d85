//! The expanded operation table: each row becomes a type that implements [`UnaryFn`] or [`BinaryFn`] for every element
//! type of its class, and a match arm of the look-up.

use cuprous_core::{DType, Fun, for_each_fun};

use super::group::{GroupMap1, GroupMap2};
use super::{BinaryFn, MapFn, UnaryFn, binary as binary_entry, is_scalar_for, unary as unary_entry};
use crate::isa::Isa;
use crate::math::{
    self, B, BF16, F16, F32, F64,
    complex::{C64, C128, Part},
};

macro_rules! result {
    (Bool, $E:ident) => {
        B
    };
    (Same, $E:ident) => {
        $E
    };
    (Component, $E:ident) => {
        $E::Component
    };
    (@of Bool, $e:expr) => {
        B::from($e)
    };
    (@of $other:ident, $e:expr) => {
        $e
    };
}

/// Expands one row. The names of the classes are those of the traits in `math`.
macro_rules! row {
    ($v:ident $class:ident $returns:ident special) => {};
    ($v:ident Complex $returns:ident cpu |$a:ident| $e:expr, cuda $c:literal) => {
        pub(super) struct $v;
        impl<F: Part> UnaryFn<math::Cx<F>> for $v {
            type Out = F;
            const FUN: Fun = Fun::$v;
            #[inline(always)]
            fn call($a: math::Cx<F>) -> F { $e }
        }
    };
    ($v:ident $class:ident $returns:ident cpu |$a:ident| $e:expr, cuda $c:literal) => {
        pub(super) struct $v;
        impl<E: math::$class> UnaryFn<E> for $v {
            type Out = result!($returns, E);
            const FUN: Fun = Fun::$v;
            const SCALAR: bool = is_scalar_for::<E>(Fun::$v);
            #[inline(always)]
            fn call($a: E) -> Self::Out { result!(@of $returns, $e) }
            row!(@slow $returns);
        }
    };
    ($v:ident $class:ident $returns:ident cpu |$a:ident, $b:ident| $e:expr, cuda $c:literal) => {
        pub(super) struct $v;
        impl<E: math::$class> BinaryFn<E> for $v {
            type Out = result!($returns, E);
            const FUN: Fun = Fun::$v;
            const SCALAR: bool = is_scalar_for::<E>(Fun::$v);
            #[inline(always)]
            fn call($a: E, $b: E) -> Self::Out { result!(@of $returns, $e) }
            row!(@slow2 $returns);
        }
    };
    (@slow Same) => {
        #[inline(always)]
        fn fast(a: E) -> bool { a.fast(<Self as UnaryFn<E>>::FUN) }
        #[inline(always)]
        fn slow(a: E) -> Self::Out { a.slow(<Self as UnaryFn<E>>::FUN) }
    };
    (@slow $other:ident) => {};
    (@slow2 Same) => {
        #[inline(always)]
        fn fast(a: E, b: E) -> bool { a.fast2(b, <Self as BinaryFn<E>>::FUN) }
        #[inline(always)]
        fn slow(a: E, b: E) -> Self::Out { a.slow2(b, <Self as BinaryFn<E>>::FUN) }
    };
    (@slow2 $other:ident) => {};
}

/// Expands to `Some(entry)` for the element types of a class.
macro_rules! class {
    (All $make_entry:ident $R:ident $S:ident $d:ident) => { class!(@ $make_entry $R $S $d Bool B; I8 i8; I16 i16; I32 i32; I64 i64;
        U8 u8; U16 u16; U32 u32; U64 u64; F16 F16<$S>; BF16 BF16<$S>; F32 F32<$S>; F64 F64<$S>; C64 C64<$S>; C128 C128<$S>;) };
    (Num $make_entry:ident $R:ident $S:ident $d:ident) => { class!(@ $make_entry $R $S $d I8 i8; I16 i16; I32 i32; I64 i64;
        U8 u8; U16 u16; U32 u32; U64 u64; F16 F16<$S>; BF16 BF16<$S>; F32 F32<$S>; F64 F64<$S>; C64 C64<$S>; C128 C128<$S>;) };
    (Real $make_entry:ident $R:ident $S:ident $d:ident) => { class!(@ $make_entry $R $S $d I8 i8; I16 i16; I32 i32; I64 i64;
        U8 u8; U16 u16; U32 u32; U64 u64; F16 F16<$S>; BF16 BF16<$S>; F32 F32<$S>; F64 F64<$S>;) };
    (RealBool $make_entry:ident $R:ident $S:ident $d:ident) => { class!(@ $make_entry $R $S $d Bool B; I8 i8; I16 i16; I32 i32; I64 i64;
        U8 u8; U16 u16; U32 u32; U64 u64; F16 F16<$S>; BF16 BF16<$S>; F32 F32<$S>; F64 F64<$S>;) };
    (Int $make_entry:ident $R:ident $S:ident $d:ident) => { class!(@ $make_entry $R $S $d I8 i8; I16 i16; I32 i32; I64 i64;
        U8 u8; U16 u16; U32 u32; U64 u64;) };
    (IntBool $make_entry:ident $R:ident $S:ident $d:ident) => { class!(@ $make_entry $R $S $d Bool B; I8 i8; I16 i16; I32 i32; I64 i64;
        U8 u8; U16 u16; U32 u32; U64 u64;) };
    (Bool $make_entry:ident $R:ident $S:ident $d:ident) => { class!(@ $make_entry $R $S $d Bool B;) };
    (Float $make_entry:ident $R:ident $S:ident $d:ident) => {
        class!(@ $make_entry $R $S $d F16 F16<$S>; BF16 BF16<$S>; F32 F32<$S>; F64 F64<$S>;) };
    (Inexact $make_entry:ident $R:ident $S:ident $d:ident) => {
        class!(@ $make_entry $R $S $d F16 F16<$S>; BF16 BF16<$S>; F32 F32<$S>; F64 F64<$S>; C64 C64<$S>; C128 C128<$S>;) };
    (Divide $make_entry:ident $R:ident $S:ident $d:ident) => { class!(Inexact $make_entry $R $S $d) };
    (Double $make_entry:ident $R:ident $S:ident $d:ident) => { class!(@ $make_entry $R $S $d F64 F64<$S>; C128 C128<$S>;) };
    (Complex $make_entry:ident $R:ident $S:ident $d:ident) => { class!(@ $make_entry $R $S $d C64 C64<$S>; C128 C128<$S>;) };
    (@ $make_entry:ident $R:ident $S:ident $d:ident $($dtype:ident $t:ty;)*) => {
        match $d { $(DType::$dtype => Some($make_entry::<$S, table::$R, $t>()),)* #[allow(unreachable_patterns)] _ => None }
    };
}

/// Expands to a row's match arm in the look-up of its arity.
macro_rules! arm {
    ($kind:ident $v:ident $class:ident $S:ident $d:ident special) => { None };
    (unary $v:ident $class:ident $S:ident $d:ident cpu |$a:ident| $($rest:tt)*) => { class!($class unary_entry $v $S $d) };
    (binary $v:ident $class:ident $S:ident $d:ident cpu |$a:ident, $b:ident| $($rest:tt)*) => {
        class!($class binary_entry $v $S $d)
    };
    ($kind:ident $v:ident $class:ident $S:ident $d:ident $($rest:tt)*) => { None };
}

macro_rules! expand {
    ($(($v:ident, $name:literal, $arity:literal, $class:ident => $returns:ident, $doc:literal,
        cost $cost:literal, vector $vector:ident, prelude $prelude:ident, $($code:tt)*))*) => {
        mod table {
            use super::*;
            $(row!($v $class $returns $($code)*);)*
        }

        /// Returns the entry of a row with one operand.
        pub(super) fn unary<S: Isa>(fun: Fun, d: DType) -> Option<MapFn> {
            match fun { $(Fun::$v => arm!(unary $v $class S d $($code)*),)* }
        }

        /// Returns the entry of a row with two operands.
        pub(super) fn binary<S: Isa>(fun: Fun, d: DType) -> Option<MapFn> {
            match fun { $(Fun::$v => arm!(binary $v $class S d $($code)*),)* }
        }
    };
}
for_each_fun!(expand);

macro_rules! group {
    ($($one:ident)*; $($two:ident)*) => {
        /// Returns the entry for one element or a group of them.
        pub(super) fn group<S: Isa>(fun: Fun, d: DType) -> Option<MapFn> {
            Some(match (fun, d) {
                $((Fun::$one, DType::F32) => S::entry::<GroupMap1<table::$one, F32<S>>>(),
                  (Fun::$one, DType::F64) => S::entry::<GroupMap1<table::$one, F64<S>>>(),)*
                $((Fun::$two, DType::F32) => S::entry::<GroupMap2<table::$two, F32<S>>>(),
                  (Fun::$two, DType::F64) => S::entry::<GroupMap2<table::$two, F64<S>>>(),)*
                _ => return None,
            })
        }
    };
}
group!(Sin Cos Tan Exp Exp2 Expm1 Log Log2 Log10 Log1p Arcsin Arccos Arctan Sinh Cosh Tanh Arcsinh Arccosh Arctanh;
    Arctan2 Power);
