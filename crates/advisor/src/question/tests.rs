use super::*;

fn machine(gpu: bool) -> ThisMachine {
    let listed = profile::find(profile::gpus(), |g| g.name, "L4").unwrap();
    let mut host = Rates::of_cores("own CPU", &profile::cpus()[0], 2.0);
    host.work.insert("add".into(), [1e9; 5]);
    let gpu = gpu.then(|| Rates { name: "own GPU".into(), ..Rates::of_gpu(listed, false, Level::Typical) });
    let source = ["measured".to_owned(), "measured too".to_owned()];
    ThisMachine { host, gpu, measured: [true, false], source, hint: None }
}

#[test]
fn this_machine_is_a_side_like_any_other() {
    let question = Question { flops: 1e12, repeats: 10.0, ..Question::default() };
    let both = ask(&question, || machine(true)).unwrap();
    assert_eq!((both.cpu.as_str(), both.gpu.as_str()), ("own CPU", "own GPU"));
    assert!((both.cpu_seconds / 1e4 - 1.0).abs() < 0.01, "{both:?}");
    assert!(both.joules.is_none() && both.roofline.unwrap().cpu[0] == 1e9, "{both:?}");
    let here = |gpu: &str| Question { gpu: Some(gpu.into()), ..question.clone() };
    assert_eq!(ask(&here("h200"), || machine(false)).unwrap().gpu, "H200 SXM");
    assert!(ask(&here(THIS_MACHINE), || machine(false)).unwrap_err().message.contains("no usable GPU"));
    let listed = Question { cpu: Some("5600X".into()), ..here("h200") };
    assert!(ask(&listed, || unreachable!()).unwrap().joules.is_some());
}

#[test]
fn the_simple_formula_takes_this_machines_peak() {
    let question = Question { flops: 1e12, simple: true, startup: Some(0.0), ..Question::default() };
    let answer = ask(&question, || machine(true)).unwrap();
    let peak = machine(true).host.rate("dot", Group::F32);
    assert_eq!((answer.cpu_seconds, answer.bound.is_none()), (1e12 / peak, true));
    assert!(answer.figures[0].contains("own CPU, measured, by its matrix products"), "{:?}", answer.figures);
    let given = Question { given: [Some(2e9), None, None], ..question };
    let answer = ask(&given, || machine(true)).unwrap();
    assert_eq!((answer.cpu_seconds, answer.figures[0].as_str()), (500.0, "2.00 GFLOPS as given"));
}

/// Both examples of the calculator's article: a small network, and a million paths.
#[test]
fn the_simple_formula_needs_no_hardware_whose_figures_are_given() {
    let asked = |flops: f64, data: f64, startup: f64, given: [Option<f64>; 3]| {
        let question = Question { flops, data, startup: Some(startup), given, simple: true, ..Question::default() };
        assert!(!uses_this_machine(&question));
        ask(&question, || unreachable!()).unwrap()
    };
    let network = asked(1e13, 1e9, 0.375, [Some(4e11), Some(1.25e13), Some(8e9)]);
    assert_eq!((network.cpu_seconds, network.gpu_seconds, network.factor.as_str()), (25.0, 1.3, "19.2x"));
    let paths = asked(1.2e14, 0.0, 0.5, [Some(4e11), Some(3e13), None]);
    assert_eq!((paths.cpu_seconds, paths.gpu_seconds, paths.factor.as_str()), (300.0, 4.5, "66.7x"));
    assert_eq!((paths.cpu.as_str(), paths.gpu.as_str(), paths.roofline.is_none()), ("CPU", "GPU", true));
    let copied =
        Question { flops: 1.0, data: 1.0, simple: true, given: [Some(1.0), Some(1.0), None], ..Question::default() };
    let why = ask(&copied, || machine(false)).unwrap_err().message;
    assert!(uses_this_machine(&copied) && why.contains("give the GPU's rate and the bandwidth"), "{why}");
}

#[test]
fn this_machine_is_compared_with_listed_ones_at_the_same_share_of_its_peak() {
    let here = || {
        let mut here = machine(false);
        here.host.work.insert("dot".into(), [8e10; 5]);
        here
    };
    let question = Question { flops: 1e12, gpu: Some("h200".into()), ..Question::default() };
    let answer = ask(&question, here).unwrap();
    assert!((answer.cpu_seconds / (1e12 / 2.5e10) - 1.0).abs() < 1e-3, "{answer:?}");
    assert!(answer.figures[0].contains("same share of its peak"), "{:?}", answer.figures);
    assert!(answer.figures[1].contains("25 % of the peak (element by element)"), "{:?}", answer.figures);
    let products = ask(&Question { matrix: true, ..question }, here).unwrap();
    assert!((products.cpu_seconds / (1e12 / 8e10) - 1.0).abs() < 1e-3, "{products:?}");
}

#[test]
fn only_what_has_a_price_is_reported() {
    let question = Question { flops: 1e15, cpu: Some("9654".into()), gpu: Some("h200".into()), ..Question::default() };
    let priced = |prices| ask(&Question { prices, ..question.clone() }, || unreachable!()).unwrap().price;
    assert_eq!(priced([None; 3]), None);
    let [cpu, gpu] = priced([None, None, Some(4.0)]).unwrap();
    assert!(cpu.is_none() && gpu.unwrap() > 0.0);
    assert!(priced([Some(0.3), None, None]).unwrap().iter().all(Option::is_some));
}

#[test]
fn old_gpus_and_ambiguous_names_are_reported() {
    let named = |name: &str| {
        let question =
            Question { flops: 1e12, cpu: Some("9654".into()), gpu: Some(name.into()), ..Question::default() };
        ask(&question, || unreachable!()).map_err(|e| e.message)
    };
    assert!(named("gtx 1080").unwrap().figures[1].contains("too old"));
    assert!(!named("T4").unwrap().figures[1].contains("too old"));
    let why = named("h100").unwrap_err();
    assert!(why.contains("H100 PCIe, H100 SXM"), "{why}");
}

#[test]
fn gpus_without_float64_are_refused_for_it() {
    let question = Question { flops: 1e12, data: 1e9, gpu: Some("m1 max".into()), ..Question::default() };
    let wide = Question { dtype: DType::F64, ..question.clone() };
    for cpu in [None, Some("9654".to_owned())] {
        let why = ask(&Question { cpu: cpu.clone(), ..wide.clone() }, || machine(false)).unwrap_err().message;
        assert!(why.contains("Apple M1 Max cannot compute in float64; use float32"), "{why}");
        let single = ask(&Question { cpu, ..question.clone() }, || machine(false)).unwrap();
        // It shares the CPU's memory.
        assert!(single.latency_seconds < 1e-4 && single.gpu_seconds.is_finite(), "{single:?}");
    }
    assert!(ask(&Question { simple: true, ..wide.clone() }, || machine(false)).is_err());
    let given = Question { simple: true, given: [None, Some(1e12), None], ..wide };
    assert!(ask(&given, || machine(false)).unwrap().gpu_seconds.is_finite());
}

#[test]
fn what_was_not_measured_is_refused_by_name() {
    let refused = |change: fn(&mut Question)| {
        let mut question = Question { flops: 1.0, ..Question::default() };
        change(&mut question);
        ask(&question, || machine(true)).unwrap_err().message
    };
    assert!(refused(|q| q.parallel = 0.5).contains("parallel"));
    assert!(refused(|q| q.gpus = 2.0).contains("number of GPUs cannot be combined"));
    assert!(refused(|q| q.gpus = 0.0).contains("number of GPUs is 0, and must be a whole number"));
    assert!(refused(|q| q.prices[1] = Some(1.0)).contains("price"));
    assert!(refused(|q| q.flops = f64::NAN).contains("operations"));
    assert!(refused(|q| q.repeats = 0.0).contains("repeats"));
    assert!(refused(|q| q.gpu = Some("voodoo".into())).contains("voodoo"));
}
