//! Parses and formats quantities, for the command line, Python and the web page.
//!
//! Ambiguous input is an error that says what to write: a number without a unit, `1,5`, `1 mb`, `16 Gb/s`.

use std::fmt::Write as _;

use cuprous_core::{Error, Result};

/// Decimal prefixes and their powers of ten.
const PREFIXES: [(char, i32); 8] =
    [('P', 15), ('T', 12), ('G', 9), ('M', 6), ('k', 3), ('m', -3), ('u', -6), ('n', -9)];

/// A kind of quantity. All are parsed into SI units.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A number without a unit, such as repeats.
    Count,
    /// Arithmetic operations.
    Operations,
    /// Bytes.
    Bytes,
    /// Seconds.
    Seconds,
    /// Operations per second.
    Rate,
    /// Bytes per second.
    Bandwidth,
}

impl Kind {
    /// Returns its units. A unit that ends in another one comes first. Errors show the first unit.
    fn units(self) -> &'static [&'static str] {
        match self {
            Kind::Count => &[],
            Kind::Operations => &["FLOP", "FLOPS", "operations", "ops", "op"],
            Kind::Bytes => &["B", "bytes", "byte"],
            Kind::Seconds => &["s", "seconds", "second", "sec"],
            Kind::Rate => &["FLOPS", "FLOP/s", "FLOPS/s", "operations/s", "ops/s", "op/s", "FLOP"],
            Kind::Bandwidth => &["B/s", "bytes/s", "byte/s", "bytes", "byte", "B"],
        }
    }

    /// Returns its usual prefix, for examples.
    fn usual(self) -> &'static str {
        if matches!(self, Kind::Count | Kind::Seconds) { "" } else { "G" }
    }

    /// Returns the factor of a prefix.
    fn prefix(self, text: &str) -> Option<f64> {
        if matches!(self, Kind::Bytes | Kind::Bandwidth) {
            let binary = ["Ki", "Mi", "Gi", "Ti", "Pi"].iter().position(|known| known.eq_ignore_ascii_case(text));
            if let Some(at) = binary {
                return Some(1024f64.powi(at as i32 + 1));
            }
        }
        let mut letters = text.chars();
        let (letter, None) = (letters.next()?, letters.next()) else { return None };
        // Only times have fractional prefixes, and a lower-case m always means milli.
        let known = |&&(known, power): &&(char, i32)| match self {
            Kind::Seconds => known == letter && power < 0,
            _ => power > 0 && letter != 'm' && known.eq_ignore_ascii_case(&letter),
        };
        PREFIXES.iter().find(known).map(|(_, power)| 10f64.powi(*power))
    }

    /// Returns the factor of a unit, with or without a prefix.
    fn unit(self, text: &str) -> Option<f64> {
        if self == Kind::Seconds {
            let long = [(["min", "minute", "minutes"], 60.0), (["h", "hour", "hours"], 3600.0)];
            if let Some((_, factor)) = long.iter().find(|(names, _)| names.contains(&text)) {
                return Some(*factor);
            }
        }
        self.units().iter().find_map(|unit| {
            let at = text.len().checked_sub(unit.len())?;
            let (prefix, own) = (text.get(..at)?, text.get(at..)?);
            // A lower-case b is a bit.
            let same = if unit.starts_with('B') { own == *unit } else { own.eq_ignore_ascii_case(unit) };
            let prefix = prefix.trim_end();
            if !same {
                None
            } else if prefix.is_empty() {
                Some(1.0)
            } else {
                self.prefix(prefix)
            }
        })
    }
}

/// Returns the length of the number at the start of `text`. The `e` of `1e9` belongs to the number, that of `1 exabyte`
/// does not.
fn number_length(text: &str) -> usize {
    let follows = |rest: &str| {
        let rest = rest.strip_prefix(['+', '-']).unwrap_or(rest);
        rest.starts_with(|c: char| c.is_ascii_digit())
    };
    let mut end = 0;
    let mut exponent = false;
    for (at, c) in text.char_indices() {
        let sign = matches!(c, '+' | '-') && (at == 0 || text[..at].ends_with(['e', 'E']));
        if matches!(c, 'e' | 'E') && !exponent && at > 0 && follows(&text[at + 1..]) {
            exponent = true;
        } else if c.is_ascii_digit() || sign {
            end = at + 1;
        } else if !(matches!(c, '.' | ',' | '_' | '\'') || c.is_whitespace()) {
            break;
        } else if c == '.' {
            end = at + 1;
        }
    }
    end
}

/// Parses a number. Commas, spaces, underscores and apostrophes may separate groups of three digits.
fn number(text: &str) -> Option<f64> {
    let separators: Vec<char> = text.chars().filter(|c| matches!(c, ',' | '_' | '\'') || c.is_whitespace()).collect();
    let Some(&separator) = separators.first() else { return text.parse().ok() };
    let (sign, unsigned) = text.strip_prefix(['+', '-']).map_or(("", text), |rest| (&text[..1], rest));
    let (whole, rest) = unsigned.split_at(unsigned.find(['.', 'e', 'E']).unwrap_or(unsigned.len()));
    let groups: Vec<&str> = whole.split(separator).collect();
    let [first, others @ ..] = &groups[..] else { return None };
    let digits = |group: &&str| group.bytes().all(|b| b.is_ascii_digit());
    let fits = (1..=3).contains(&first.len())
        && !first.starts_with('0')
        && !others.is_empty()
        && others.iter().all(|group| group.len() == 3)
        && groups.iter().all(digits);
    if fits { format!("{sign}{}{rest}", groups.concat()).parse().ok() } else { None }
}

/// Parses a quantity: a number, an optional prefix, and a unit: `10 TFLOP`, `1.5GB`, `20 ms`, `10,000 GFLOP`, `400G`,
/// `1 GiB`.
///
/// The unit may be omitted for zero, for numbers with an exponent (`3e9`), and if there is a prefix.
///
/// # Errors
/// `ValueError` that says what to write.
pub fn parse(text: &str, kind: Kind) -> Result<f64> {
    read(text, kind, None)
}

/// As [`parse`], but a number without a unit is in `unit`, such as `GFLOP`.
///
/// # Errors
/// `ValueError` that says what to write.
pub fn parse_in(text: &str, kind: Kind, unit: &str) -> Result<f64> {
    read(text, kind, Some(unit))
}

fn read(text: &str, kind: Kind, given: Option<&str>) -> Result<f64> {
    let plain = text.trim().replace(['µ', 'μ'], "u");
    let unit = kind.units().first().copied().unwrap_or_default();
    let shown = given.map_or_else(|| format!("{}{unit}", kind.usual()), str::to_owned);
    let wrong = |why: String| Err(Error::value(format!("{text:?} is not understood: {why}")));
    let (digits, rest) = plain.split_at(number_length(&plain));
    let (digits, rest) = (digits.trim(), rest.trim());
    let Some(value) = number(digits) else {
        return wrong(if digits.contains(',') {
            let [whole, fraction] = ["10,000", "1.5"].map(|number| example(number, &shown));
            format!("commas separate groups of three digits, as in {whole}; write a fraction as {fraction}")
        } else {
            format!("write it as {} or {}", example("2.5", &shown), example("10,000", &shown))
        });
    };
    if !value.is_finite() {
        return wrong("it is too large".into());
    }
    if rest.is_empty() {
        if kind == Kind::Count || value == 0.0 {
            return Ok(value);
        }
        if let Some(factor) = given.and_then(|unit| kind.unit(unit)) {
            return Ok(value * factor);
        }
        return if digits.contains(['e', 'E']) {
            Ok(value)
        } else {
            let other = if shown == unit { String::new() } else { format!(", or {digits} {unit}") };
            wrong(format!("it has no unit; write {digits} {shown}{other}"))
        };
    }
    if let Some(factor) = kind.unit(rest) {
        return Ok(value * factor);
    }
    match kind.prefix(rest) {
        Some(_) if given.is_some() => wrong(format!("write {digits} {rest}{unit}, or the number in {shown}")),
        Some(factor) => Ok(value * factor),
        None => {
            let mut why = String::new();
            if kind != Kind::Seconds && rest.starts_with('m') && kind.unit(&format!("M{}", &rest[1..])).is_some() {
                why.push_str("m is milli, and M mega; ");
            } else if matches!(kind, Kind::Bytes | Kind::Bandwidth) && rest.contains('b') {
                why.push_str("b is a bit, and B a byte; ");
            }
            let _ = write!(why, "write it as {}", example(digits, &shown));
            wrong(why)
        }
    }
}

fn example(number: &str, unit: &str) -> String {
    format!("{number} {unit}").trim_end().to_owned()
}

/// Formats seconds: `1.30 s`, `12.5 ms`, `3.00 µs`, `5 min 0 s`, `2 h 5 min`, `12.5 days`, `793 years`.
pub fn seconds(t: f64) -> String {
    const DAY: f64 = 86_400.0;
    const YEAR: f64 = 365.25 * DAY;
    match t {
        _ if !t.is_finite() => "forever".to_owned(),
        t if t >= 1e3 * YEAR => format!("{:.1e} years", t / YEAR),
        t if t >= 2.0 * YEAR => quantity(t / YEAR, "years"),
        t if t >= 2.0 * DAY => format!("{:.1} days", t / DAY),
        t if t >= 7200.0 => format!("{:.0} h {:.0} min", (t / 3600.0).floor(), ((t % 3600.0) / 60.0).floor()),
        t if t >= 120.0 => format!("{:.0} min {:.0} s", (t / 60.0).floor(), (t % 60.0).floor()),
        t => quantity(t, "s"),
    }
}

/// Formats a ratio of times: `560x`, `19.2x`, `0.052x`. A positive ratio is never shown as 0.0x.
pub fn times(factor: f64) -> String {
    match factor {
        f if f == f64::INFINITY => "∞x".to_owned(),
        f if f.is_nan() || f >= 1e15 || (f > 0.0 && f < 1e-6) => format!("{f:.1e}x"),
        f if f >= 99.95 => format!("{f:.0}x"),
        f if f >= 0.995 => format!("{f:.1}x"),
        f if f <= 0.0 => "0x".to_owned(),
        f => {
            // Two significant digits.
            let digits = (1 - f.log10().floor() as i32).max(2) as usize;
            format!("{f:.digits$}x")
        }
    }
}

/// Formats a quantity with three digits and a prefix.
pub fn quantity(value: f64, unit: &str) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value} {unit}");
    }
    if value.abs() >= 1e18 {
        return format!("{value:.2e} {unit}");
    }
    let power = (value.abs().log10().floor() as i32).div_euclid(3).clamp(-3, 5) * 3;
    let scaled = value / 10f64.powi(power);
    let prefix = PREFIXES.iter().find(|(_, p)| *p == power).map_or(String::new(), |(letter, _)| letter.to_string());
    let digits = if scaled.abs() < 10.0 { 2 } else { usize::from(scaled.abs() < 100.0) };
    format!("{scaled:.digits$} {}{unit}", prefix.replace('u', "µ"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_as(kind: Kind, cases: &[(&str, f64)]) {
        for (text, value) in cases {
            let got = parse(text, kind);
            assert!(got.as_ref().is_ok_and(|got| (got / value - 1.0).abs() < 1e-12 || got == value), "{text}: {got:?}");
        }
    }

    #[test]
    fn quantities_are_read() {
        use Kind::{Bandwidth, Bytes, Count, Operations, Rate, Seconds};
        read_as(
            Bytes,
            &[("1.5 GB", 1.5e9), ("1.5GB", 1.5e9), ("3e9", 3e9), ("12 bytes", 12.0), ("1GiB", 1073741824.0)],
        );
        read_as(Bytes, &[("0", 0.0), ("2 kB", 2e3), ("2 KB", 2e3), ("4g", 4e9)]);
        read_as(
            Seconds,
            &[("20 ms", 0.02), ("20 µs", 2e-5), ("20us", 2e-5), ("5 min", 300.0), ("1 hour", 3600.0), ("1s", 1.0)],
        );
        read_as(Operations, &[("10 TFLOP", 1e13), ("10T", 1e13), ("1e18", 1e18), ("10k", 1e4), ("5 tflop", 5e12)]);
        read_as(Operations, &[("10,000 GFLOPS", 1e13), ("10 000 GFLOP", 1e13), ("10_000G", 1e13), ("10'000 G", 1e13)]);
        read_as(Operations, &[("10\u{202f}000 G", 1e13), ("1,234,567.5 op", 1234567.5), ("-1,000 op", -1000.0)]);
        read_as(Rate, &[("400 GFLOPS", 4e11), ("12.5 TFLOP/s", 1.25e13), ("400G", 4e11), ("400g", 4e11)]);
        read_as(Bandwidth, &[("16 GB/s", 1.6e10), ("16GB", 1.6e10), ("1 GiB/s", 1073741824.0)]);
        read_as(Count, &[("1000", 1e3), ("1,000", 1e3), ("0.5", 0.5), ("10k", 1e4), ("1e3", 1e3)]);
    }

    #[test]
    fn what_could_be_misread_is_refused_with_what_to_write() {
        use Kind::{Bandwidth, Bytes, Count, Operations, Rate, Seconds};
        let mut cases = vec![
            ("400", Rate, "write 400 GFLOPS"),
            ("10,000", Operations, "write 10,000 GFLOP"),
            ("1", Bytes, "1 GB"),
            ("1,5 GB", Bytes, "1.5 GB"),
            ("0,125 GB", Bytes, "1.5 GB"),
            ("10,00", Count, "1.5"),
            ("1,0000", Count, "1.5"),
            ("1,000 000", Count, "three digits"),
            ("1 mB", Bytes, "M mega"),
            ("5 mFLOP", Operations, "M mega"),
            ("16 Gb/s", Bandwidth, "B a byte"),
            ("1 gb", Bytes, "B a byte"),
            ("1e999 B", Bytes, "too large"),
            ("3 GB", Seconds, "write it as 3 s"),
            ("3 ks", Seconds, "write it as 3 s"),
        ];
        let not_quantities =
            ["", "GB", "1 parsec", "1 XB", "1..2 GB", "1.000.000 B", "ten", "nan", "inf B", "1 exabyte", "--1 B"];
        cases.extend(not_quantities.map(|text| (text, Bytes, "write it as")));
        for (text, kind, cure) in cases {
            let error = parse(text, kind).expect_err(text).message;
            assert!(error.contains(text) && error.contains(cure), "{error}");
        }
    }

    #[test]
    fn a_number_alone_is_in_the_unit_of_its_field() {
        let field = |text| parse_in(text, Kind::Operations, "GFLOP").map_err(|e| e.message);
        assert_eq!(field("10,000"), Ok(1e13));
        assert_eq!(field("10 000"), Ok(1e13));
        assert_eq!(field("1e4"), Ok(1e13));
        assert_eq!(field("5 TFLOP"), Ok(5e12));
        assert_eq!(field("0"), Ok(0.0));
        assert!(field("10k").unwrap_err().contains("10 kFLOP, or the number in GFLOP"));
        assert!(field("1,5").unwrap_err().contains("1.5 GFLOP"));
        assert_eq!(parse_in("375", Kind::Seconds, "ms").unwrap(), 0.375);
        assert_eq!(parse_in("8", Kind::Bandwidth, "GB/s").unwrap(), 8e9);
    }

    #[test]
    fn quantities_are_written() {
        let cases = [
            (1.3, "1.30 s"),
            (0.0125, "12.5 ms"),
            (3e-6, "3.00 µs"),
            (300.0, "5 min 0 s"),
            (7500.0, "2 h 5 min"),
            (7199.0, "119 min 59 s"),
            (864_000.0, "10.0 days"),
            (2.5e10, "792 years"),
            (1e12, "3.2e4 years"),
        ];
        for (t, text) in cases {
            assert_eq!(seconds(t), text);
        }
        assert_eq!(quantity(4.8e12, "B/s"), "4.80 TB/s");
        assert_eq!(quantity(0.0, "B"), "0 B");
        assert_eq!(quantity(1e300, "FLOPS"), "1.00e300 FLOPS");
        assert_eq!(seconds(f64::INFINITY), "forever");
    }

    #[test]
    fn ratios_are_written() {
        let cases =
            [(559.6, "560x"), (19.23, "19.2x"), (66.66, "66.7x"), (1.0, "1.0x"), (0.5, "0.50x"), (0.0518, "0.052x")];
        for (factor, text) in cases {
            assert_eq!(times(factor), text);
        }
        assert_eq!(times(f64::INFINITY), "∞x");
        assert_eq!([times(0.00321), times(1e-9), times(0.0), times(99.96)], ["0.0032x", "1.0e-9x", "0x", "100x"]);
    }
}
