//! Exceptions of a kernel: the record that a kernel writes, and the message that follows from it.

use std::fmt::Write as _;

/// The 8-byte words of a record: the number of the raise site + 1 (0 if no exception was raised), thread (x, y, z),
/// block (x, y, z), the number of values, the values.
pub const WORDS: usize = 32;
/// The index of the first value.
pub const VALUES: usize = 8;
/// A record of an exception.
pub type Record = [i64; WORDS];

/// A source location where a kernel may raise.
#[derive(Clone, PartialEq, Debug)]
pub struct RaiseSite {
    /// The exception.
    pub kind: ExceptionKind,
    /// The function.
    pub function: String,
    /// Its file.
    pub file: String,
    /// The line.
    pub line: u32,
    /// The text of the line.
    pub text: String,
}

/// The exceptions of kernels.
#[derive(Clone, PartialEq, Debug)]
pub enum ExceptionKind {
    /// `raise`: the index of the class among those that the translation collected, and the message.
    Raise(Option<usize>, String),
    /// `assert`, with the message.
    Assert(String),
    /// Arguments that contradict each other, with the message.
    Value(String),
    /// A division by zero.
    Zero,
    /// An index that is out of range for a tuple.
    Item,
    /// A variable that is read before it is assigned.
    Unassigned(String),
    /// An array index that is out of bounds, with a description of the array. The record's values are the indices, then
    /// the extents.
    Index(String),
}

/// The run-time checks of a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Checks {
    /// Whether exceptions are reported to the host. Otherwise they only end the thread.
    pub report: bool,
    /// Whether array indices are compared with the extents.
    pub bounds: bool,
    /// Whether divisors, tuple indices and variables that may be unassigned are checked. `accesses` checks the latter two.
    pub values: bool,
    /// Whether a division by zero with `/` raises.
    pub quotients: bool,
    /// Whether races, reads of uninitialized memory and divergent barriers are reported, by the CPU.
    pub accesses: bool,
}

impl RaiseSite {
    /// Returns the name of Python's exception class.
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

    /// Returns the cause.
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

    /// Returns the whole message: the thread, the cause and the source location.
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
    fn an_index_error_names_the_axis() {
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
