//! The calculator's questions and answers.

use std::collections::HashMap;
use std::fmt::Display;

use cuprous_advisor::profile::{self, Cpu, Figure, Gpu, Level};
use cuprous_advisor::simple::simple;
use cuprous_advisor::units::{parse, seconds};
use cuprous_advisor::{Prices, Setting, Unit, Work, advice, estimate};
use cuprous_core::DType;
use serde::Serialize;

/// Hardware with its figures, for the lists.
pub(super) fn hardware() -> String {
    #[derive(Serialize)]
    struct Row {
        name: &'static str,
        figures: Vec<(&'static str, f64, &'static str, &'static str)>,
    }
    let row = |name, figures: Vec<(&'static str, Figure)>| Row {
        name,
        figures: figures.into_iter().map(|(what, f)| (what, f.value, f.source.title, f.source.address)).collect(),
    };
    let gpus: Vec<Row> = profile::gpus().iter().map(|gpu| row(gpu.name, gpu.figures())).collect();
    let cpus: Vec<Row> = profile::cpus().iter().map(|cpu| row(cpu.name, cpu.figures())).collect();
    serde_json::json!({ "version": env!("CARGO_PKG_VERSION"), "gpus": gpus, "cpus": cpus }).to_string()
}

/// The parameters of one question; what is asked twice, unknown or left over is refused.
struct Asked<'a>(HashMap<&'a str, &'a str>);

impl<'a> Asked<'a> {
    fn new(pairs: &'a [(String, String)]) -> Result<Asked<'a>, String> {
        let mut asked = HashMap::new();
        for (name, value) in pairs.iter().filter(|(name, _)| name != "token") {
            if asked.insert(name.as_str(), value.trim()).is_some() {
                return Err(format!("{name:?} is given twice"));
            }
        }
        Ok(Asked(asked))
    }

    fn text(&mut self, name: &str) -> Option<&'a str> {
        self.0.remove(name).filter(|value| !value.is_empty())
    }

    fn number(&mut self, name: &str, units: &[&str]) -> Result<Option<f64>, String> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let value = parse(text, units).map_err(|_| format!("{name}: {text:?} is no number"))?;
        if value.is_finite() && value >= 0.0 {
            Ok(Some(value))
        } else {
            Err(format!("{name} must be a number from 0 on, and is {text}"))
        }
    }

    fn or(&mut self, name: &str, units: &[&str], otherwise: f64) -> Result<f64, String> {
        self.number(name, units).map(|value| value.unwrap_or(otherwise))
    }

    fn flag(&mut self, name: &str) -> Result<bool, String> {
        match self.text(name) {
            None | Some("0" | "false") => Ok(false),
            Some("1" | "true") => Ok(true),
            Some(other) => Err(format!("{name} is 0 or 1, and not {other:?}")),
        }
    }

    fn profile<T>(
        &mut self,
        what: &str,
        list: &'static [T],
        name: fn(&T) -> &'static str,
    ) -> Result<&'static T, String> {
        let asked = self.text(what).ok_or_else(|| format!("{what} is missing"))?;
        let exact = list.iter().find(|row| name(row) == asked);
        exact
            .or_else(|| profile::find(list, name, asked))
            .ok_or_else(|| format!("there is no {what} {asked:?} in the list"))
    }
}

#[derive(Serialize)]
struct Answer {
    cpu: &'static str,
    gpu: &'static str,
    cpu_seconds: f64,
    gpu_seconds: f64,
    /// Copies both ways: the "data latency" of other calculators.
    latency_seconds: f64,
    parts: Vec<(&'static str, f64)>,
    speedup: f64,
    range: Option<[f64; 2]>,
    bound: Option<String>,
    sentence: String,
    /// As people write them: CPU, GPU, latency.
    words: [String; 3],
    break_even_size: Option<f64>,
    break_even_repeats: Option<f64>,
    joules: Option<[f64; 2]>,
    price: Option<[f64; 2]>,
    roofline: Roofline,
}

/// Operations a second over operations a byte.
#[derive(Serialize)]
struct Roofline {
    /// Of this work; none where it moves nothing.
    intensity: Option<f64>,
    /// Operations and bytes a second on the CPU and on the GPU, as programs reach them.
    cpu: [f64; 2],
    gpu: [f64; 2],
}

const FLOPS: &[&str] = &["FLOP", "FLOPS", "op", "ops"];
const BYTES: &[&str] = &["B", "byte", "bytes"];

/// The answer as JSON, or what is wrong with the question.
pub(super) fn answer(pairs: &[(String, String)]) -> Result<String, String> {
    let mut asked = Asked::new(pairs)?;
    let answer = compute(&mut asked)?;
    if let Some(unknown) = asked.0.keys().next() {
        return Err(format!("there is no parameter {unknown:?}"));
    }
    let finite = [answer.cpu_seconds, answer.gpu_seconds, answer.speedup].iter().all(|value| value.is_finite());
    if !finite {
        return Err("these figures are too large to compute with".into());
    }
    serde_json::to_string(&answer).map_err(|e| e.to_string())
}

fn dtype(name: Option<&str>) -> Result<DType, String> {
    match name.unwrap_or("float32") {
        "float64" => Ok(DType::F64),
        "float32" => Ok(DType::F32),
        "float16" => Ok(DType::F16),
        "bfloat16" => Ok(DType::BF16),
        other => Err(format!("dtype is float64, float32, float16 or bfloat16, and not {other:?}")),
    }
}

fn compute(asked: &mut Asked<'_>) -> Result<Answer, String> {
    let gpu: &Gpu = asked.profile("gpu", profile::gpus(), |g| g.name)?;
    let cpu: &Cpu = asked.profile("cpu", profile::cpus(), |c| c.name)?;
    let flops = asked.number("flops", FLOPS)?.ok_or("flops is missing")?;
    let (upload, download) = (asked.or("data", BYTES, 0.0)?, asked.or("result", BYTES, 0.0)?);
    let moved = upload + download;
    let work = Work {
        flops,
        upload,
        download,
        traffic: asked.or("traffic", BYTES, moved)?,
        footprint: asked.or("footprint", BYTES, moved)?,
        launches: asked.or("launches", &[""], 1.0)?,
        parallel: asked.or("parallel", &[""], 1.0)?,
        repeats: asked.or("repeats", &[""], 1.0)?,
        resident: !asked.flag("copied")?,
        dtype: dtype(asked.text("dtype"))?,
        unit: if asked.flag("matrix")? { Unit::Matrix } else { Unit::Vector },
        tf32: asked.flag("tf32")?,
    };
    let default = Setting::new(cpu, gpu);
    let setting = Setting {
        gpus: asked.or("gpus", &[""], 1.0)?,
        pinned: asked.flag("pinned")?,
        overlapped: asked.flag("overlapped")?,
        startup: asked.or("startup", &["s"], default.startup)?,
        launch: asked.or("launch", &["s"], default.launch)?,
        throttle: asked.or("throttle", &[""], 1.0)?,
        prices: prices(asked)?,
        ..default
    };
    let rates = [
        cpu.rates(work.dtype, work.unit, Level::Typical),
        gpu.rates(work.dtype, work.unit, work.tf32, setting.pinned, Level::Typical),
    ];
    let rates = rates.map(|rates| [rates.flops, rates.bandwidth]);
    let intensity = (work.traffic > 0.0 && work.flops > 0.0).then(|| work.flops / work.traffic);
    let roofline = Roofline { intensity, cpu: rates[0], gpu: rates[1] };
    let given = ["cpu_rate", "gpu_rate", "bandwidth"];
    let units: [&[&str]; 3] = [&["FLOPS", "FLOP/s", "FLOP"], &["FLOPS", "FLOP/s", "FLOP"], &["B/s", "B"]];
    if asked.flag("simple")? {
        let peaks = [cpu.peak(work.dtype), gpu.peak(work.dtype, work.unit, work.tf32), gpu.slot()];
        let mut rate = |at: usize| asked.or(given[at], units[at], peaks[at]);
        return by_formula(&work, &setting, [rate(0)?, rate(1)?, rate(2)?], roofline);
    }
    let e = estimate(&work, &setting).map_err(words)?;
    let t = &e.gpu;
    let parts = [
        ("start-up", t.startup),
        ("copies", t.copies),
        ("compute", t.compute),
        ("memory", t.memory),
        ("launches", t.launches),
        ("exchange", t.exchange),
        ("on the CPU", t.serial),
    ];
    Ok(Answer {
        cpu: cpu.name,
        gpu: gpu.name,
        cpu_seconds: e.cpu,
        gpu_seconds: t.total,
        latency_seconds: t.copies,
        parts: parts.into_iter().filter(|part| part.1 > 0.0).collect(),
        speedup: e.speedup,
        range: Some(e.range),
        bound: Some(format!("{:?}", e.bound).to_lowercase()),
        sentence: advice::sentence(&e),
        words: [e.cpu, t.total, t.copies].map(seconds),
        break_even_size: e.break_even_size,
        break_even_repeats: e.break_even_repeats,
        joules: Some([e.cpu_cost.energy, e.gpu_cost.energy]),
        price: e.cpu_cost.price.zip(e.gpu_cost.price).map(Into::into),
        roofline,
    })
}

fn by_formula(work: &Work, setting: &Setting, rates: [f64; 3], roofline: Roofline) -> Result<Answer, String> {
    let [cpu_rate, gpu_rate, slot] = rates;
    let moved = work.upload + work.download;
    let s = simple(work.flops, cpu_rate, gpu_rate, moved, slot, setting.startup).map_err(words)?;
    let sentence = if s.speedup >= 1.0 {
        format!("The GPU is {:.1}x faster by the simple formula.", s.speedup)
    } else {
        "The CPU is faster for this task by the simple formula.".to_owned()
    };
    Ok(Answer {
        cpu: setting.cpu.name,
        gpu: setting.gpu.name,
        cpu_seconds: s.cpu,
        gpu_seconds: s.gpu,
        latency_seconds: s.transfer,
        parts: vec![("compute", s.compute), ("copies", s.transfer), ("start-up", s.overhead)],
        speedup: s.speedup,
        range: None,
        bound: None,
        sentence,
        words: [s.cpu, s.gpu, s.transfer].map(seconds),
        break_even_size: None,
        break_even_repeats: None,
        joules: None,
        price: None,
        roofline,
    })
}

fn prices(asked: &mut Asked<'_>) -> Result<Option<Prices>, String> {
    let given =
        [asked.number("energy_price", &[""])?, asked.number("cpu_price", &[""])?, asked.number("gpu_price", &[""])?];
    let [energy, cpu_hour, gpu_hour] = given.map(Option::unwrap_or_default);
    Ok(given.iter().any(Option::is_some).then_some(Prices { energy, cpu_hour, gpu_hour }))
}

/// The advisor's errors begin with the name of its function.
fn words(error: impl Display) -> String {
    error.to_string().replace("[estimate] ", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(query: &str) -> Result<serde_json::Value, String> {
        let pairs: Vec<(String, String)> =
            query.split('&').filter_map(|pair| pair.split_once('=')).map(|(a, b)| (a.into(), b.into())).collect();
        answer(&pairs).map(|text| serde_json::from_str(&text).unwrap())
    }

    #[test]
    fn both_worked_examples() {
        let first = ask(
            "simple=1&gpu=RTX 3080&cpu=10700K&flops=10 TFLOP&data=1 GB&cpu_rate=400G&gpu_rate=12.5T&bandwidth=8G&startup=375 ms",
        );
        let first = first.unwrap();
        assert_eq!((first["cpu_seconds"].as_f64(), first["gpu_seconds"].as_f64()), (Some(25.0), Some(1.3)));
        assert!((first["speedup"].as_f64().unwrap() - 19.23).abs() < 0.01);
        // 300 s on the CPU, less than 5 s on the GPU.
        let second =
            ask("simple=1&gpu=RTX 3080&cpu=10700K&flops=120T&data=8 MB&cpu_rate=400G&gpu_rate=30T&startup=500 ms");
        let second = second.unwrap();
        assert_eq!(second["cpu_seconds"].as_f64(), Some(300.0));
        assert!(
            second["gpu_seconds"].as_f64().unwrap() < 5.0 && second["speedup"].as_f64().unwrap() >= 60.0,
            "{second}"
        );
    }

    #[test]
    fn prices_are_answered_where_they_are_given() {
        let priced = ask("gpu=A100 40 GB&cpu=10700K&flops=1e15&cpu_price=1&gpu_price=3").unwrap();
        assert!(priced["price"].is_array() && priced["bound"] == "compute", "{priced}");
    }

    #[test]
    fn wrong_questions_are_named() {
        let good = "gpu=L4&cpu=5600X";
        for (query, named) in [
            ("", "gpu is missing"),
            ("gpu=L4&cpu=5600X", "flops is missing"),
            ("gpu=voodoo&cpu=5600X&flops=1", "voodoo"),
            (&format!("{good}&flops=nan"), "flops"),
            (&format!("{good}&flops=1e999"), "flops"),
            (&format!("{good}&flops=-1"), "flops"),
            (&format!("{good}&flops=ten"), "ten"),
            (&format!("{good}&flops=1&flops=2"), "twice"),
            (&format!("{good}&flops=1&colour=red"), "colour"),
            (&format!("{good}&flops=1&parallel=2"), "parallel"),
            (&format!("{good}&flops=1&dtype=int8"), "int8"),
            (&format!("{good}&flops=1&pinned=maybe"), "maybe"),
            (&format!("{good}&flops=1e308&repeats=1e308"), "too large"),
            (&format!("{good}&flops=1&bandwidth=3"), "bandwidth"),
        ] {
            let why = ask(query).unwrap_err();
            assert!(why.contains(named), "{query}: {why}");
        }
    }
}
