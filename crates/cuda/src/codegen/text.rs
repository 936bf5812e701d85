//! Writes indented C++.

/// Lines of code with the current indentation.
#[derive(Default)]
pub(crate) struct Code {
    /// The text written so far.
    pub(crate) text: String,
    depth: usize,
}

impl Code {
    /// Starts at an indentation depth.
    pub(crate) fn at(depth: usize) -> Code {
        Code { text: String::new(), depth }
    }

    /// Writes one line.
    pub(crate) fn line(&mut self, line: impl AsRef<str>) {
        (0..self.depth).for_each(|_| self.text.push_str("    "));
        self.text.push_str(line.as_ref());
        self.text.push('\n');
    }

    /// Writes `head {`, what `body` writes, and `}`.
    pub(crate) fn block(&mut self, head: impl AsRef<str>, body: impl FnOnce(&mut Code)) {
        let head = head.as_ref();
        self.line(if head.is_empty() { "{".into() } else { format!("{head} {{") });
        self.depth += 1;
        body(self);
        self.depth -= 1;
        self.line("}");
    }

    /// Writes an unrolled loop of `var` below `n`.
    pub(crate) fn unrolled(&mut self, var: &str, n: u32, body: impl FnOnce(&mut Code)) {
        self.line("#pragma unroll");
        self.block(format!("for (int {var} = 0; {var} < {n}; {var}++)"), body);
    }
}
