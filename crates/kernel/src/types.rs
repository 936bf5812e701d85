//! Types of values in kernels, with Numba's names and rules of unification.

use std::fmt;
use std::sync::Arc;

use cuprous_core::DType;
use cuprous_core::promote::promote;

/// A type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Ty {
    /// Not known yet: inference has not come to an assignment.
    Unknown,
    /// `None`, and what a function without a value returns.
    None,
    /// A number or a truth value.
    Scalar(DType),
    /// An array.
    Array(ArrayTy),
    /// Fields in memory: the element of an array. A record by itself is an array of records without axes.
    Record(Arc<RecordTy>),
    /// A tuple; a named one has its names.
    Tuple(Vec<Ty>, Option<Arc<[String]>>),
}

/// The field of a record that is text: its characters.
pub const TEXT: &str = "@text";

/// The type of a record.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RecordTy {
    /// Bytes.
    pub size: usize,
    /// Its fields.
    pub fields: Vec<Field>,
}

/// A field of a record.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Where it begins, in bytes.
    pub offset: usize,
    /// What it holds: a number, or another record.
    pub elem: Ty,
    /// How many of them.
    pub shape: Vec<i64>,
}

/// How the elements of an array lie.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Order {
    /// Row after row, without gaps.
    C,
    /// Column after column, without gaps.
    F,
    /// By strides.
    A,
}

/// The type of an array.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ArrayTy {
    /// Type of an element.
    pub elem: Box<Ty>,
    /// Number of axes.
    pub ndim: u8,
    /// How the elements lie.
    pub order: Order,
    /// Whether it may be written.
    pub mutable: bool,
}

impl ArrayTy {
    /// A writable array of numbers.
    pub fn new(dtype: DType, ndim: usize, order: Order) -> ArrayTy {
        ArrayTy { elem: Box::new(Ty::Scalar(dtype)), ndim: ndim as u8, order, mutable: true }
    }

    /// Bytes of an element.
    pub fn item_size(&self) -> usize {
        self.elem.item_size()
    }

    /// What the elements are, where they are records.
    pub fn record(&self) -> Option<&Arc<RecordTy>> {
        match &*self.elem {
            Ty::Record(record) => Some(record),
            _ => None,
        }
    }

    /// Type of an element, where it is a number.
    pub fn dtype(&self) -> Option<DType> {
        self.elem.scalar()
    }

    /// A field of its records, or the real or imaginary parts of its complex numbers.
    pub fn field(&self, k: usize) -> Option<Field> {
        match &*self.elem {
            Ty::Record(record) => record.fields.get(k).cloned(),
            Ty::Scalar(d) if d.is_complex() && k < 2 => {
                let (name, part) = (["real", "imag"][k].to_owned(), d.component());
                Some(Field { name, offset: k * part.size(), elem: Ty::Scalar(part), shape: Vec::new() })
            }
            _ => None,
        }
    }
}

/// Python's `int` and NumPy's default.
pub const INT: Ty = Ty::Scalar(DType::I64);
/// Truth values.
pub const BOOL: Ty = Ty::Scalar(DType::Bool);
/// Python's `float`.
pub const FLOAT: Ty = Ty::Scalar(DType::F64);

impl Ty {
    /// The type of a number, if it is one.
    pub fn scalar(&self) -> Option<DType> {
        match self {
            Ty::Scalar(d) => Some(*d),
            _ => None,
        }
    }

    /// Bytes as an element of an array.
    pub fn item_size(&self) -> usize {
        match self {
            Ty::Scalar(d) => d.size(),
            Ty::Record(record) => record.size,
            _ => 1,
        }
    }

    /// Bytes to which it is aligned in memory, as C has it.
    pub fn item_align(&self) -> usize {
        match self {
            Ty::Scalar(d) => d.component().size(),
            Ty::Record(record) => record.fields.iter().map(|f| f.elem.item_align()).max().unwrap_or(1),
            _ => 1,
        }
    }

    /// Whether any part is not known yet.
    pub fn is_unknown(&self) -> bool {
        match self {
            Ty::Unknown => true,
            Ty::Tuple(items, _) => items.iter().any(Ty::is_unknown),
            _ => false,
        }
    }

    /// The type that holds values of both, as Numba unifies a variable's assignments; `None` where there is none.
    pub fn unify(&self, other: &Ty) -> Option<Ty> {
        match (self, other) {
            _ if self == other => Some(self.clone()),
            (Ty::Unknown, t) | (t, Ty::Unknown) => Some(t.clone()),
            (Ty::Scalar(a), Ty::Scalar(b)) => Some(Ty::Scalar(promote(*a, *b))),
            (Ty::Tuple(a, names), Ty::Tuple(b, other_names)) if a.len() == b.len() && names == other_names => {
                let items = a.iter().zip(b).map(|(x, y)| x.unify(y)).collect::<Option<_>>()?;
                Some(Ty::Tuple(items, names.clone()))
            }
            (Ty::Array(a), Ty::Array(b)) if a.elem == b.elem && a.ndim == b.ndim => {
                let order = if a.order == b.order { a.order } else { Order::A };
                Some(Ty::Array(ArrayTy { order, mutable: a.mutable && b.mutable, ..a.clone() }))
            }
            _ => None,
        }
    }

    /// Whether a value of this type may be assigned where `to` is wanted.
    pub fn converts_to(&self, to: &Ty) -> bool {
        match (self, to) {
            _ if self == to => true,
            (Ty::Scalar(a), Ty::Scalar(b)) => !a.is_complex() || b.is_complex(),
            (Ty::Tuple(a, _), Ty::Tuple(b, _)) => a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.converts_to(y)),
            (Ty::Array(a), Ty::Array(b)) => {
                a.elem == b.elem
                    && a.ndim == b.ndim
                    && (a.order == b.order || b.order == Order::A)
                    && (a.mutable || !b.mutable)
            }
            _ => false,
        }
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ty::Unknown => f.write_str("an unknown type"),
            Ty::None => f.write_str("none"),
            Ty::Scalar(d) => f.write_str(d.name()),
            Ty::Record(record) => {
                f.write_str("Record(")?;
                for (k, field) in record.fields.iter().enumerate() {
                    write!(f, "{}{}[type={}", if k == 0 { "" } else { ", " }, field.name, field.elem)?;
                    if !field.shape.is_empty() {
                        write!(f, ";shape={:?}", field.shape)?;
                    }
                    write!(f, ";offset={}]", field.offset)?;
                }
                write!(f, ";{})", record.size)
            }
            Ty::Array(a) if a.ndim == 0 && a.record().is_some() => write!(f, "{}", a.elem),
            Ty::Array(a) => {
                let order = match a.order {
                    Order::C => "C",
                    Order::F => "F",
                    Order::A => "A",
                };
                let constant = if a.mutable { "" } else { "readonly " };
                write!(f, "{constant}array({}, {}d, {order})", a.elem, a.ndim)
            }
            Ty::Tuple(items, _) => {
                f.write_str("Tuple(")?;
                for (k, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if k == 0 { "" } else { ", " })?;
                }
                f.write_str(")")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_unify_as_numba_says() {
        let unify = |a: DType, b: DType| Ty::Scalar(a).unify(&Ty::Scalar(b)).and_then(|t| t.scalar());
        assert_eq!(unify(DType::I64, DType::F64), Some(DType::F64));
        assert_eq!(unify(DType::I64, DType::F32), Some(DType::F64));
        assert_eq!(unify(DType::I64, DType::U64), Some(DType::F64));
        assert_eq!(unify(DType::Bool, DType::I64), Some(DType::I64));
        assert_eq!(unify(DType::F32, DType::C64), Some(DType::C64));
        assert!(Ty::None.unify(&INT).is_none());
    }
}
