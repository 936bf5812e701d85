use super::*;

fn machine(gpu: bool) -> Here {
    let listed = profile::find(profile::gpus(), |g| g.name, "L4").unwrap();
    let mut host = Rates::of_cores("own CPU", &profile::cpus()[0], 2.0);
    host.work.insert("add".into(), [1e9; 5]);
    let gpu = gpu.then(|| Rates { name: "own GPU".into(), ..Rates::of_gpu(listed, false, Level::Typical) });
    Here { host, gpu, measured: [true, false], hint: None }
}

#[test]
fn this_machine_is_a_side_like_any_other() {
    let question = Question { flops: 1e12, repeats: 10.0, ..Question::default() };
    let both = ask(&question, || machine(true)).unwrap();
    assert_eq!((both.cpu.as_str(), both.gpu.as_str()), ("own CPU", "own GPU"));
    assert!((both.cpu_seconds / 1e4 - 1.0).abs() < 0.01, "{both:?}");
    assert!(both.joules.is_none() && both.roofline.cpu[0] == 1e9, "{both:?}");
    let here = |gpu: &str| Question { gpu: Some(gpu.into()), ..question.clone() };
    assert_eq!(ask(&here("h200"), || machine(false)).unwrap().gpu, "H200 SXM");
    assert!(ask(&here(HERE), || machine(false)).unwrap_err().message.contains("no usable GPU"));
    let listed = Question { cpu: Some("5600X".into()), ..here("h200") };
    assert!(ask(&listed, || unreachable!()).unwrap().joules.is_some());
}

#[test]
fn the_simple_formula_takes_what_was_measured() {
    let question = Question { flops: 1e12, simple: true, startup: Some(0.0), ..Question::default() };
    let answer = ask(&question, || machine(true)).unwrap();
    assert_eq!((answer.cpu_seconds, answer.bound.is_none()), (1000.0, true));
    let given = Question { given: [Some(2e9), None, None], ..question };
    assert_eq!(ask(&given, || machine(true)).unwrap().cpu_seconds, 500.0);
}

#[test]
fn what_was_not_measured_is_refused_by_name() {
    let refused = |change: fn(&mut Question)| {
        let mut question = Question { flops: 1.0, ..Question::default() };
        change(&mut question);
        ask(&question, || machine(true)).unwrap_err().message
    };
    assert!(refused(|q| q.parallel = 0.5).contains("parallel"));
    assert!(refused(|q| q.gpus = 2.0).contains("number of GPUs"));
    assert!(refused(|q| q.prices[1] = Some(1.0)).contains("price"));
    assert!(refused(|q| q.flops = f64::NAN).contains("operations"));
    assert!(refused(|q| q.repeats = 0.0).contains("repeats"));
    assert!(refused(|q| q.gpu = Some("voodoo".into())).contains("voodoo"));
}
