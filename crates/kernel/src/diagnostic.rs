//! Errors in a kernel: the cause in one line, the source location, and what to do instead.

use std::fmt;

use crate::ast::{Function, Pos};

/// `Result` with [`Diagnostic`].
pub type Result<T> = std::result::Result<T, Box<Diagnostic>>;

/// The Python exception that a diagnostic becomes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorKind {
    /// The types do not fit: Numba's `TypingError`.
    Typing,
    /// The kernel language does not support it: `UnsupportedError`.
    Unsupported,
    /// A value known at compile time is not allowed: `InvalidValueError`.
    Value,
}

/// An error in a kernel.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// The exception.
    pub kind: ErrorKind,
    /// The cause.
    pub message: String,
    /// What to do, or the nearest thing that is supported.
    pub hint: Option<String>,
    /// The function.
    pub function: String,
    /// Its file.
    pub file: String,
    /// The source location.
    pub pos: Pos,
    /// The text of the line.
    pub line: String,
    /// Whether the code is correct if integer arguments are compile-time constants.
    pub literal: bool,
    /// The calls that led to the function, innermost first: (function, file, line, text).
    pub call_chain: Vec<(String, String, u32, String)>,
}

impl Diagnostic {
    /// Creates an error at a source location in a function.
    pub fn new(kind: ErrorKind, message: impl Into<String>, function: &Function, pos: Pos) -> Box<Diagnostic> {
        Box::new(Diagnostic {
            kind,
            message: message.into(),
            hint: None,
            function: function.name.clone(),
            file: function.file.clone(),
            pos,
            line: function.line(pos.line).to_owned(),
            literal: false,
            call_chain: Vec::new(),
        })
    }

    /// Adds what to do.
    pub fn hint(mut self: Box<Self>, hint: impl Into<String>) -> Box<Self> {
        self.hint = Some(hint.into());
        self
    }

    /// Marks the error as one that compile-time integer arguments may resolve.
    pub fn literal(mut self: Box<Self>) -> Box<Self> {
        self.literal = true;
        self
    }

    /// Adds the call because of which the function was compiled.
    pub fn called_from(mut self: Box<Self>, function: &Function, pos: Pos) -> Box<Self> {
        let text = function.line(pos.line).trim().to_owned();
        self.call_chain.push((function.name.clone(), function.file.clone(), pos.line, text));
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.message)?;
        writeln!(f, "  File \"{}\", line {}, in {}", self.file, self.pos.line, self.function)?;
        let text = self.line.trim_start();
        writeln!(f, "    {text}")?;
        // Columns count the UTF-8 bytes of the line.
        let indent = self.line.len() - text.len();
        let start = (self.pos.column as usize).clamp(indent, self.line.len().max(indent));
        let end = (self.pos.end as usize).min(self.line.len());
        let before = self.line.get(indent..start).map_or(0, |s| s.chars().count());
        let width = self.line.get(start..end).map_or(1, |s| s.chars().count().max(1));
        write!(f, "    {}{}", " ".repeat(before), "^".repeat(width))?;
        for (function, file, line, text) in &self.call_chain {
            write!(f, "\n  called from File \"{file}\", line {line}, in {function}\n    {text}")?;
        }
        match &self.hint {
            Some(hint) => write!(f, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Diagnostic {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_shows_the_source_location() {
        let function = Function {
            name: "add".into(),
            file: "a.py".into(),
            lines: vec!["def add(a):".into(), "    c[i] = a + 'é'".into()],
            first_line: 7,
            ..Function::default()
        };
        let pos = Pos { line: 8, column: 11, end: 19 };
        let text = Diagnostic::new(ErrorKind::Typing, "no", &function, pos).hint("yes").to_string();
        let expected = "no\n  File \"a.py\", line 8, in add\n    c[i] = a + 'é'\n           ^^^^^^^\n  hint: yes";
        assert_eq!(text, expected);
    }
}
