//! Quantities as people write them.

use cuprous_core::{Error, Result};

/// Prefixes of SI, by the power of ten they stand for.
const PREFIXES: [(char, i32); 8] =
    [('P', 15), ('T', 12), ('G', 9), ('M', 6), ('k', 3), ('m', -3), ('u', -6), ('n', -9)];

/// A number with an optional prefix and one of `units`: `10 TFLOP`, `1.5GB`, `20 ms`, `3e9`. The first unit is assumed
/// where none is written.
///
/// # Errors
/// `ValueError` that says what was expected.
pub fn parse(text: &str, units: &[&str]) -> Result<f64> {
    let wrong = || {
        Error::value(format!("[estimate] {text:?} is no quantity; write it as 2.5G{}", units.first().unwrap_or(&"")))
    };
    let text_ = text.trim().replace('µ', "u");
    // The longest start that is a number: `1e9` is one, the `e` of `1 exabyte` is not.
    let split =
        (1..=text_.len()).rev().find(|&at| text_.is_char_boundary(at) && text_[..at].trim_end().parse::<f64>().is_ok());
    let (number, rest) = text_.split_at(split.ok_or_else(wrong)?);
    let number: f64 = number.trim_end().parse().map_err(|_| wrong())?;
    let rest = rest.trim();
    let known = |unit: &str| unit.is_empty() || units.iter().any(|u| u.eq_ignore_ascii_case(unit));
    if known(rest) {
        return Ok(number);
    }
    let mut letters = rest.chars();
    let prefix = letters.next().ok_or_else(wrong)?;
    let (_, power) = PREFIXES.iter().find(|(letter, _)| *letter == prefix).ok_or_else(wrong)?;
    if known(letters.as_str()) { Ok(number * 10f64.powi(*power)) } else { Err(wrong()) }
}

/// Seconds for people: `1.30 s`, `12.5 ms`, `3.00 µs`, `5 min 0 s`, `2 h 5 min`.
pub fn seconds(t: f64) -> String {
    match t {
        _ if !t.is_finite() => "forever".to_owned(),
        t if t >= 7200.0 => format!("{:.0} h {:.0} min", (t / 3600.0).floor(), (t % 3600.0) / 60.0),
        t if t >= 120.0 => format!("{:.0} min {:.0} s", (t / 60.0).floor(), (t % 60.0).floor()),
        t => quantity(t, "s"),
    }
}

/// Three digits and a prefix.
pub fn quantity(value: f64, unit: &str) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value} {unit}");
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

    #[test]
    fn quantities_are_read() {
        let bytes = |text| parse(text, &["B", "byte", "bytes"]);
        assert_eq!(bytes("1.5 GB").unwrap(), 1.5e9);
        assert_eq!(bytes("1.5GB").unwrap(), 1.5e9);
        assert_eq!(bytes("3e9").unwrap(), 3e9);
        assert_eq!(bytes("12 bytes").unwrap(), 12.0);
        assert_eq!(parse("20 ms", &["s"]).unwrap(), 0.02);
        assert_eq!(parse("20 µs", &["s"]).unwrap(), 20.0 * 1e-6);
        assert_eq!(parse("10 TFLOP", &["flop", "flops"]).unwrap(), 1e13);
        assert_eq!(parse("10T", &["flop"]).unwrap(), 1e13);
        for wrong in ["", "GB", "1 parsec", "1 XB", "1..2 GB", "ten"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn quantities_are_written() {
        let cases =
            [(1.3, "1.30 s"), (0.0125, "12.5 ms"), (3e-6, "3.00 µs"), (300.0, "5 min 0 s"), (7500.0, "2 h 5 min")];
        for (t, text) in cases {
            assert_eq!(seconds(t), text);
        }
        assert_eq!(quantity(4.8e12, "B/s"), "4.80 TB/s");
        assert_eq!(quantity(0.0, "B"), "0 B");
        assert_eq!(seconds(f64::INFINITY), "forever");
    }
}
