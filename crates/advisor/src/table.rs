//! The tables in `profiles`: lines of cells between bars, the first of them a name; `#` starts a remark.

/// Where figures come from.
#[derive(Debug)]
pub struct Source {
    /// Short name, as the tables use it.
    pub key: &'static str,
    /// What it is.
    pub title: &'static str,
    /// Where it is.
    pub address: &'static str,
}

/// One number and who says so.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// In SI units.
    pub value: f64,
    /// Who says so.
    pub source: &'static Source,
}

/// The rows of a table, with the name first.
pub(crate) fn rows(text: &'static str) -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()).map(|line| {
        let mut cells = line.split('|').map(str::trim);
        (cells.next().unwrap_or_default(), cells.collect())
    })
}

/// Reads the cells of one row, each a figure and the key of its source, or `-`.
///
/// The tables are part of this crate and a test reads them all, so a slip in one is a panic here.
pub(crate) struct Cells<'a> {
    pub(crate) row: &'static str,
    pub(crate) cells: std::vec::IntoIter<&'static str>,
    pub(crate) sources: &'a [Source],
}

impl Cells<'static> {
    /// The next figure, in units of `unit`, where there is one.
    pub(crate) fn maybe(&mut self, unit: f64) -> Option<Figure> {
        let cell = self.cells.next().unwrap_or_else(|| panic!("{}: a cell is missing", self.row));
        if cell == "-" {
            return None;
        }
        let (value, key) = cell.split_once(' ').unwrap_or_else(|| panic!("{}: no source in {cell:?}", self.row));
        let source = self.sources.iter().find(|source| source.key == key.trim());
        let source = source.unwrap_or_else(|| panic!("{}: unknown source {key:?}", self.row));
        let value: f64 = value.parse().unwrap_or_else(|_| panic!("{}: no number in {cell:?}", self.row));
        Some(Figure { value: value * unit, source })
    }

    /// The next figure, which must be there.
    pub(crate) fn figure(&mut self, unit: f64) -> Figure {
        self.maybe(unit).unwrap_or_else(|| panic!("{}: a figure is missing", self.row))
    }
}
