//! The calculator: parses the parameters of a question and answers it.

use std::collections::HashMap;

use cuprous_advisor::lists::lists;
use cuprous_advisor::question::{Question, ThisMachine, ask};
use cuprous_advisor::rates::Rates;
use cuprous_advisor::units::{Kind, parse, parse_in};
use cuprous_core::DType;

/// Returns the listed hardware with its figures, and this machine, as JSON.
pub(super) fn hardware(here: &ThisMachine) -> String {
    let [gpus, cpus] = lists();
    let own = |rates: &Rates, measured: bool| serde_json::json!({ "name": rates.name, "measured": measured });
    let here = serde_json::json!({
        "cpu": own(&here.host, here.measured[0]),
        "gpu": here.gpu.as_ref().map(|gpu| own(gpu, here.measured[1])),
        "hint": here.hint,
    });
    serde_json::json!({ "version": env!("CARGO_PKG_VERSION"), "here": here, "gpus": gpus, "cpus": cpus }).to_string()
}

/// The parameters of a question that were not read yet. Repeated and unknown parameters are errors.
struct Parameters<'a>(HashMap<&'a str, &'a str>);

impl<'a> Parameters<'a> {
    fn new(pairs: &'a [(String, String)]) -> Result<Parameters<'a>, String> {
        let mut parameters = HashMap::new();
        for (name, value) in pairs.iter().filter(|(name, _)| name != "token") {
            if parameters.insert(name.as_str(), value.trim()).is_some() {
                return Err(format!("{name:?} is given twice"));
            }
        }
        Ok(Parameters(parameters))
    }

    fn text(&mut self, name: &str) -> Option<&'a str> {
        self.0.remove(name).filter(|value| !value.is_empty())
    }

    /// Returns a quantity. A number without a unit has the unit `NAME_unit`, with which the page labels the field.
    /// Errors begin with the name, by which the page finds the field.
    fn number(&mut self, name: &str, kind: Kind) -> Result<Option<f64>, String> {
        let unit = self.0.remove(format!("{name}_unit").as_str()).filter(|unit| !unit.is_empty());
        let Some(text) = self.text(name) else { return Ok(None) };
        let value = match unit {
            Some(unit) => parse_in(text, kind, unit),
            None => parse(text, kind),
        };
        let value = value.map_err(|e| format!("{name}: {}", e.message))?;
        if value >= 0.0 { Ok(Some(value)) } else { Err(format!("{name}: {text} is below zero")) }
    }

    fn or(&mut self, name: &str, otherwise: f64) -> Result<f64, String> {
        self.number(name, Kind::Count).map(|value| value.unwrap_or(otherwise))
    }

    fn flag(&mut self, name: &str) -> Result<bool, String> {
        match self.text(name) {
            None | Some("0" | "false") => Ok(false),
            Some("1" | "true") => Ok(true),
            Some(other) => Err(format!("{name} is 0 or 1, and not {other:?}")),
        }
    }
}

/// Returns the answer as JSON, or what is wrong with the question.
pub(super) fn answer(pairs: &[(String, String)], here: impl Fn() -> ThisMachine) -> Result<String, String> {
    let mut parameters = Parameters::new(pairs)?;
    let question = question(&mut parameters)?;
    if let Some(unknown) = parameters.0.keys().next() {
        return Err(format!("unknown parameter {unknown:?}"));
    }
    // The advisor's errors begin with the name of its function.
    let answer = ask(&question, here).map_err(|e| e.to_string().replace("[estimate] ", ""))?;
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

fn question(parameters: &mut Parameters<'_>) -> Result<Question, String> {
    let name = |text: Option<&str>| text.map(str::to_owned);
    let (gpu, cpu) = (name(parameters.text("gpu")), name(parameters.text("cpu")));
    let simple = parameters.flag("simple")?;
    Ok(Question {
        cpu,
        gpu,
        flops: parameters.number("flops", Kind::Operations)?.ok_or("flops: the operations are missing")?,
        data: parameters.number("data", Kind::Bytes)?.unwrap_or(0.0),
        result: parameters.number("result", Kind::Bytes)?.unwrap_or(0.0),
        traffic: parameters.number("traffic", Kind::Bytes)?,
        footprint: parameters.number("footprint", Kind::Bytes)?,
        launches: parameters.or("launches", 1.0)?,
        parallel: parameters.or("parallel", 1.0)?,
        repeats: parameters.or("repeats", 1.0)?,
        copied: parameters.flag("copied")?,
        dtype: dtype(parameters.text("dtype"))?,
        matrix: parameters.flag("matrix")?,
        tf32: parameters.flag("tf32")?,
        gpus: parameters.or("gpus", 1.0)?,
        pinned: parameters.flag("pinned")?,
        overlapped: parameters.flag("overlapped")?,
        startup: parameters.number("startup", Kind::Seconds)?,
        launch: parameters.number("launch", Kind::Seconds)?,
        throttle: parameters.or("throttle", 1.0)?,
        prices: [
            parameters.number("energy_price", Kind::Count)?,
            parameters.number("cpu_price", Kind::Count)?,
            parameters.number("gpu_price", Kind::Count)?,
        ],
        simple,
        given: if simple {
            [
                parameters.number("cpu_rate", Kind::Rate)?,
                parameters.number("gpu_rate", Kind::Rate)?,
                parameters.number("bandwidth", Kind::Bandwidth)?,
            ]
        } else {
            [None; 3]
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here() -> ThisMachine {
        let host = Rates::of_cores("own CPU", &cuprous_advisor::profile::cpus()[0], 2.0);
        let source = ["measured".to_owned(), String::new()];
        ThisMachine { host, gpu: None, measured: [true, false], source, hint: Some("stale".into()) }
    }

    fn answer_to(query: &str) -> Result<serde_json::Value, String> {
        let pairs: Vec<(String, String)> =
            query.split('&').filter_map(|pair| pair.split_once('=')).map(|(a, b)| (a.into(), b.into())).collect();
        answer(&pairs, here).map(|text| serde_json::from_str(&text).unwrap())
    }

    #[test]
    fn both_worked_examples() {
        let first = answer_to(
            "simple=1&gpu=RTX 3080&cpu=10700K&flops=10 TFLOP&data=1 GB&cpu_rate=400G&gpu_rate=12.5T&bandwidth=8G&startup=375 ms",
        );
        let first = first.unwrap();
        assert_eq!((first["cpu_seconds"].as_f64(), first["gpu_seconds"].as_f64()), (Some(25.0), Some(1.3)));
        assert!((first["speedup"].as_f64().unwrap() - 19.23).abs() < 0.01);
        // 300 s on the CPU, less than 5 s on the GPU.
        let second = answer_to(
            "simple=1&gpu=RTX 3080&cpu=10700K&flops=120T&data=8 MB&cpu_rate=400G&gpu_rate=30T&startup=500 ms",
        );
        let second = second.unwrap();
        assert_eq!(second["cpu_seconds"].as_f64(), Some(300.0));
        assert!(
            second["gpu_seconds"].as_f64().unwrap() < 5.0 && second["speedup"].as_f64().unwrap() >= 60.0,
            "{second}"
        );
    }

    /// The page sends the typed text and the unit of the field.
    #[test]
    fn what_is_typed_is_read_in_the_unit_of_its_field() {
        let typed = |flops: &str| {
            answer_to(&format!(
                "simple=1&flops={flops}&flops_unit=GFLOP&data=1&data_unit=GB&startup=375&startup_unit=ms&cpu_rate=400&\
                 cpu_rate_unit=GFLOPS&gpu_rate=12.5&gpu_rate_unit=TFLOPS&bandwidth=8&bandwidth_unit=GB/s"
            ))
        };
        for text in ["10000", "10,000", "10 000", "10_000", "10 TFLOP", "1e4"] {
            let answer = typed(text).unwrap();
            assert_eq!((answer["cpu_seconds"].as_f64(), &answer["factor"]), (Some(25.0), &"19.2x".into()), "{text}");
        }
        for text in ["10k", "1,5", "10,00", "ten", "-10"] {
            let why = typed(text).unwrap_err();
            assert!(why.starts_with("flops: ") && why.contains(text), "{why}");
        }
        let paths =
            answer_to("simple=1&flops=120,000&flops_unit=GFLOP&startup=500&startup_unit=ms&cpu_rate=400G&gpu_rate=30T");
        assert_eq!(paths.unwrap()["factor"], "66.7x");
    }

    #[test]
    fn prices_are_answered_where_they_are_given() {
        let priced = answer_to("gpu=A100 40 GB&cpu=10700K&flops=1e15&gpu_price=3").unwrap();
        assert!(
            priced["price"][0].is_null() && priced["price"][1].is_f64() && priced["bound"] == "compute",
            "{priced}"
        );
    }

    #[test]
    fn this_machine_is_in_the_list_and_answers() {
        let listed: serde_json::Value = serde_json::from_str(&hardware(&here())).unwrap();
        assert_eq!(
            (&listed["here"]["cpu"]["name"], &listed["here"]["cpu"]["measured"]),
            (&"own CPU".into(), &true.into())
        );
        assert!(listed["here"]["gpu"].is_null() && listed["here"]["hint"] == "stale", "{listed}");
        assert_eq!(answer_to("cpu=this&gpu=L4&flops=1e12").unwrap()["cpu"], "own CPU");
    }

    #[test]
    fn wrong_questions_are_named() {
        let good = "gpu=L4&cpu=5600X";
        for (query, named) in [
            ("flops=1e0", "no usable GPU"),
            ("gpu=L4&cpu=5600X", "flops: "),
            ("gpu=voodoo&cpu=5600X&flops=1e0", "voodoo"),
            (&format!("{good}&flops=nan"), "flops"),
            (&format!("{good}&flops=1e999"), "flops"),
            (&format!("{good}&flops=-1"), "flops"),
            (&format!("{good}&flops=ten"), "ten"),
            (&format!("{good}&flops=1e0&flops=2"), "twice"),
            (&format!("{good}&flops=1e0&colour=red"), "colour"),
            (&format!("{good}&flops=1e0&parallel=2"), "parallel"),
            (&format!("{good}&flops=1e0&dtype=int8"), "int8"),
            (&format!("{good}&flops=1e0&pinned=maybe"), "maybe"),
            (&format!("{good}&flops=1e308&repeats=1e308"), "too large"),
            (&format!("{good}&flops=1e0&bandwidth=3"), "bandwidth"),
        ] {
            let why = answer_to(query).unwrap_err();
            assert!(why.contains(named), "{query}: {why}");
        }
    }
}
