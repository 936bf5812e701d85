//! The types of values in kernels, with Numba's names and unification rules.

use std::fmt;
use std::sync::Arc;

use cuprous_core::DType;
use cuprous_core::promote::promote;

/// A type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Ty {
    /// Not known yet: inference has not reached an assignment.
    Unknown,
    /// `None`, also the result of a function without a value.
    None,
    /// A number or a bool.
    Scalar(DType),
    /// An array.
    Array(ArrayTy),
    /// A record in memory: the element type of an array. A single record is an array of records without axes.
    Record(Arc<RecordTy>),
    /// A tuple; a named tuple has names.
    Tuple(Vec<Ty>, Option<Arc<[String]>>),
}

/// The field that holds the characters of a string element.
pub const TEXT: &str = "@text";

/// A record type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RecordTy {
    /// The size in bytes.
    pub size: usize,
    /// The fields.
    pub fields: Vec<Field>,
}

/// A field of a record.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Field {
    /// The name.
    pub name: String,
    /// The offset in bytes.
    pub offset: usize,
    /// The element type: a number or another record.
    pub elem: Ty,
    /// The extents, for a field that is an array.
    pub shape: Vec<i64>,
}

/// The memory layout of an array.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Order {
    /// C order, contiguous.
    C,
    /// Fortran order, contiguous.
    F,
    /// Any strides.
    A,
}

/// An array type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ArrayTy {
    /// The element type.
    pub elem: Box<Ty>,
    /// The number of axes.
    pub ndim: u8,
    /// The memory layout.
    pub order: Order,
    /// Whether it may be written to.
    pub mutable: bool,
}

impl ArrayTy {
    /// Creates the type of a writable array of numbers.
    pub fn new(dtype: DType, ndim: usize, order: Order) -> ArrayTy {
        ArrayTy { elem: Box::new(Ty::Scalar(dtype)), ndim: ndim as u8, order, mutable: true }
    }

    /// Returns the size of an element in bytes.
    pub fn item_size(&self) -> usize {
        self.elem.item_size()
    }

    /// Returns the record type of the elements.
    pub fn record(&self) -> Option<&Arc<RecordTy>> {
        match &*self.elem {
            Ty::Record(record) => Some(record),
            _ => None,
        }
    }

    /// Returns the dtype of the elements if they are numbers.
    pub fn dtype(&self) -> Option<DType> {
        self.elem.scalar()
    }

    /// Returns a field of the records, or the real (0) or imaginary (1) parts of complex elements.
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

/// The type of Python's `int`.
pub const INT: Ty = Ty::Scalar(DType::I64);
/// The type of Python's `bool`.
pub const BOOL: Ty = Ty::Scalar(DType::Bool);
/// The type of Python's `float`.
pub const FLOAT: Ty = Ty::Scalar(DType::F64);

impl Ty {
    /// Returns the dtype of a number.
    pub fn scalar(&self) -> Option<DType> {
        match self {
            Ty::Scalar(d) => Some(*d),
            _ => None,
        }
    }

    /// Returns the size in bytes of an element of this type.
    pub fn item_size(&self) -> usize {
        match self {
            Ty::Scalar(d) => d.size(),
            Ty::Record(record) => record.size,
            _ => 1,
        }
    }

    /// Returns the alignment in bytes of an element of this type, as in C.
    pub fn item_align(&self) -> usize {
        match self {
            Ty::Scalar(d) => d.component().size(),
            Ty::Record(record) => record.fields.iter().map(|f| f.elem.item_align()).max().unwrap_or(1),
            _ => 1,
        }
    }

    /// Returns true if any part is not known yet.
    pub fn is_unknown(&self) -> bool {
        match self {
            Ty::Unknown => true,
            Ty::Tuple(items, _) => items.iter().any(Ty::is_unknown),
            _ => false,
        }
    }

    /// Returns the type that holds values of both, by Numba's rules for a variable with several assignments.
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

    /// Returns true if a value of this type may be assigned to a variable of type `to`.
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
