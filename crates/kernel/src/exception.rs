//! What a kernel says of an exception: a record of a few words in memory, and what it means.

use std::fmt::Write as _;

/// Words of 8 bytes of a record: the fault's number + 1 (0: none happened), thread (x, y, z), block (x, y, z), the number
/// of values, values.
pub const WORDS: usize = 32;
/// Where the values begin.
pub const VALUES: usize = 8;
/// A record.
pub type Record = [i64; WORDS];

/// A place of a kernel where it may raise.
#[derive(Clone, PartialEq, Debug)]
pub struct RaiseSite {
    /// What is raised.
    pub kind: ExceptionKind,
    /// The function, its file, and the line.
    pub function: String,
    /// See above.
    pub file: String,
    /// See above.
    pub line: u32,
    /// The line's text.
    pub text: String,
}

/// What is raised.
#[derive(Clone, PartialEq, Debug)]
pub enum ExceptionKind {
    /// `raise`: which class of those that translation met, and the message.
    Raise(Option<usize>, String),
    /// `assert`, with its message.
    Assert(String),
    /// Arguments that do not fit together.
    Value(String),
    /// A division by zero.
    Zero,
    /// An index beyond the items of a tuple.
    Item,
    /// A variable that was read before any assignment.
    Unassigned(String),
    /// An index beyond an axis; the values are the indices, then the extents.
    Index(String),
}

/// What is looked for besides what a program raises itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Checks {
    /// Exceptions are reported; else they end the thread and nobody is told.
    pub report: bool,
    /// Indices of arrays are compared with the extents.
    pub bounds: bool,
    /// Divisors, indices of tuples, and variables that may be read before any assignment.
    pub values: bool,
    /// A division by zero with `/`.
    pub quotients: bool,
}

impl RaiseSite {
    /// Python's class, where it is one of its own.
    pub fn class(&self) -> &'static str {
        match self.kind {
            ExceptionKind::Raise(..) => "RuntimeError",
            ExceptionKind::Assert(_) => "AssertionError",
            ExceptionKind::Value(_) => "ValueError",
            ExceptionKind::Zero => "ZeroDivisionError",
            ExceptionKind::Unassigned(_) => "UnboundLocalError",
            ExceptionKind::Item | ExceptionKind::Index(_) => "IndexError",
        }
    }

    /// The cause.
    fn cause(&self, record: &Record) -> String {
        match &self.kind {
            ExceptionKind::Raise(_, message) | ExceptionKind::Assert(message) | ExceptionKind::Value(message) => {
                message.clone()
            }
            ExceptionKind::Zero => "division by zero".into(),
            ExceptionKind::Item => "tuple index out of range".into(),
            ExceptionKind::Unassigned(name) => {
                format!("cannot access local variable '{name}' where it is not associated with a value")
            }
            ExceptionKind::Index(array) => {
                let n = record[VALUES - 1].clamp(0, (WORDS - VALUES) as i64) as usize / 2;
                let (at, shape) = record[VALUES..VALUES + 2 * n].split_at(n);
                let outside = |k: &usize| !(-shape[*k]..shape[*k]).contains(&at[*k]);
                let axis = (0..n).find(outside).unwrap_or(0);
                let extents: Vec<String> = shape.iter().map(i64::to_string).collect();
                let comma = if n == 1 { "," } else { "" };
                format!(
                    "index {} is out of bounds for axis {axis} of {array} with shape ({}{comma})",
                    at.get(axis).copied().unwrap_or(0),
                    extents.join(", ")
                )
            }
        }
    }

    /// The whole message: the thread and the cause, then the place.
    pub fn message(&self, record: &Record) -> String {
        let mut text = format!("tid={:?} ctaid={:?}: {}", &record[1..4], &record[4..7], self.cause(record));
        let _infallible = write!(
            text,
            "\n  In function '{}', file {}, line {}\n    {}",
            self.function,
            self.file,
            self.line,
            self.text.trim()
        );
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_names_the_axis_that_is_too_short() {
        let site = RaiseSite {
            kind: ExceptionKind::Index("array 'a'".into()),
            function: "f".into(),
            file: "f.py".into(),
            line: 3,
            text: "    a[i, j] = 0".into(),
        };
        let mut record = [0; WORDS];
        record[..12].copy_from_slice(&[1, 5, 0, 0, 1, 0, 0, 4, 2, 7, 4, 7]);
        let expected = "tid=[5, 0, 0] ctaid=[1, 0, 0]: index 7 is out of bounds for axis 1 of array 'a' with shape (4, 7)\n  \
                        In function 'f', file f.py, line 3\n    a[i, j] = 0";
        assert_eq!(site.message(&record), expected);
    }
}
