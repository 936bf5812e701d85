//! Generated code by kernel or routine, without the numbers that it has in its program: the same kernels in the layers of a
//! network, and those that a new shape does not change, are generated once. And loaded kernels by their source.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cuprous_core::{LayoutRef, RoutineOp};
use cuprous_plan::{Epilogue, Factor, Inst, Kernel, RoutineCall, Step};
use foldhash::fast::RandomState;
use rayon::prelude::*;

use crate::codegen::{Arg, Generated, Stage};
use crate::driver::{Function, Module};
use crate::error::Result;

/// Loaded kernels by their source.
pub(crate) type Kernels = HashMap<Source, (Function, Module), RandomState>;

/// The source of a generated kernel. A program of a new shape looks up all of its kernels, so neither the prelude's text,
/// which is far longer than a kernel, is hashed, nor is it compared where it is the same memory.
#[derive(Clone)]
pub(crate) struct Source {
    prelude: Arc<[&'static str]>,
    code: Arc<str>,
}

impl Hash for Source {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(self.code.as_bytes());
    }
}

impl PartialEq for Source {
    fn eq(&self, other: &Source) -> bool {
        let mut parts = self.prelude.iter().zip(&*other.prelude);
        self.prelude.len() == other.prelude.len()
            && (Arc::ptr_eq(&self.code, &other.code) || self.code == other.code)
            && parts.all(|(a, b)| std::ptr::eq(*a, *b) || a == b)
    }
}

impl Eq for Source {}

impl Source {
    pub(crate) fn of(stage: &Stage) -> Source {
        Source { prelude: stage.prelude.clone(), code: stage.code.clone() }
    }
}

/// The largest number of steps whose code is kept. At the limit all of it is dropped.
const MAX_TEMPLATES: usize = 1024;

/// From how many new steps on they are generated in parallel: a step takes about 30 µs, waking a thread about as long.
const PARALLEL: usize = 4;

/// A step's kernels or routine without numbers, and whether all buffers are aligned.
type Key = (bool, Vec<Kernel>, Option<Routine>);

/// A routine with positions in place of buffers and scalars.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Routine {
    op: RoutineOp,
    /// The position and the layout's `id` of each array.
    arrays: Vec<(u32, u32)>,
    /// The factors of the epilogue, of the product and of an addend.
    factors: [Option<Factor>; 2],
    biased: bool,
}

/// The code of a step, and the layouts in its key, which keep their `id`s as long as they live.
struct Template {
    generated: Generated,
    _layouts: Vec<LayoutRef>,
}

/// Steps that were generated.
#[derive(Default)]
pub(crate) struct Templates(HashMap<Key, Template, RandomState>);

/// Returns the launches of steps that are generated code alone: those of an equal step with their own buffers and
/// scalars, or else those that `generate` returns, which is called once for equal steps, on several threads.
///
/// # Errors
/// An error of `generate`.
pub(crate) fn generated(
    templates: &Mutex<Templates>,
    aligned: bool,
    steps: &[&Step],
    generate: impl Fn(&Step) -> Result<Generated> + Sync,
) -> Result<Vec<Generated>> {
    let keyed: Vec<(Key, Numbers)> = steps.iter().map(|step| keyed(aligned, step)).collect();
    let mut first: HashMap<&Key, usize, RandomState> = HashMap::default();
    let (mut known, mut new) = (Vec::with_capacity(steps.len()), Vec::new());
    {
        let templates = lock(templates);
        for (k, (key, _)) in keyed.iter().enumerate() {
            let template = templates.0.get(key).map(|template| template.generated.clone());
            if template.is_none() {
                first.entry(key).or_insert_with(|| {
                    new.push(k);
                    new.len() - 1
                });
            }
            known.push(template);
        }
    }
    let make = |&k: &usize| {
        let (mut template, mut numbers) = (generate(steps[k])?, keyed[k].1.clone());
        args(&mut template).for_each(|arg| numbers.replace(arg));
        Ok(template)
    };
    let made: Vec<Generated> = if new.len() < PARALLEL {
        new.iter().map(make).collect::<Result<_>>()?
    } else {
        new.par_iter().map(make).collect::<Result<_>>()?
    };
    let instance = |((key, numbers), template): (&(Key, Numbers), Option<Generated>)| {
        let mut generated = template.unwrap_or_else(|| made[first[key]].clone());
        args(&mut generated).for_each(|arg| numbers.restore(arg));
        generated
    };
    let all = keyed.iter().zip(known).map(instance).collect();
    let mut templates = lock(templates);
    if templates.0.len() + new.len() > MAX_TEMPLATES {
        templates.0.clear();
    }
    for (&k, generated) in new.iter().zip(made) {
        templates.0.insert(keyed[k].0.clone(), Template { generated, _layouts: layouts(steps[k]) });
    }
    Ok(all)
}

fn lock(templates: &Mutex<Templates>) -> MutexGuard<'_, Templates> {
    templates.lock().unwrap_or_else(PoisonError::into_inner)
}

fn keyed(aligned: bool, step: &Step) -> (Key, Numbers) {
    let mut numbers = Numbers::default();
    let kernels = step.kernels().iter().map(|kernel| numbers.replaced(kernel)).collect();
    let routine = if let Step::Routine(call) = step { Some(numbers.replaced_in_routine(call)) } else { None };
    ((aligned, kernels, routine), numbers)
}

/// Returns the layouts of a routine; none for kernels.
fn layouts(step: &Step) -> Vec<LayoutRef> {
    let Step::Routine(call) = step else { return Vec::new() };
    call.reads().chain([&call.out]).map(|(_, layout)| layout.clone()).collect()
}

fn args(generated: &mut Generated) -> impl Iterator<Item = &mut Arg> {
    generated.stages.iter_mut().flat_map(|stage| &mut stage.args)
}

/// The buffers and scalars of a step in the order of their first use.
#[derive(Clone, Default)]
struct Numbers {
    buffers: Vec<u32>,
    scalars: Vec<u32>,
}

/// Returns the position of a number, which is added if it is new.
fn position(of: &mut Vec<u32>, number: u32) -> u32 {
    let known = of.iter().position(|&n| n == number);
    known.unwrap_or_else(|| {
        of.push(number);
        of.len() - 1
    }) as u32
}

impl Numbers {
    /// Returns a kernel with positions in place of buffers and scalars.
    fn replaced(&mut self, kernel: &Kernel) -> Kernel {
        let mut kernel = kernel.clone();
        kernel.buffers.iter_mut().for_each(|buffer| *buffer = position(&mut self.buffers, *buffer));
        for t in &mut kernel.body {
            if let Inst::Scalar { slot } = &mut t.inst {
                *slot = position(&mut self.scalars, *slot);
            }
        }
        kernel
    }

    /// Returns a routine with positions in place of buffers and scalars.
    fn replaced_in_routine(&mut self, call: &RoutineCall) -> Routine {
        let replaced = |(buffer, layout): &(u32, LayoutRef)| (position(&mut self.buffers, *buffer), layout.id);
        let arrays = call.reads().chain([&call.out]).map(replaced).collect();
        let Epilogue { scale, addend, bias } = &call.epilogue;
        let factors = [Some(*scale), addend.as_ref().map(|addend| addend.factor)].map(|factor| {
            let Factor { constant, negative } = factor?;
            Some(Factor { constant: constant.map(|slot| position(&mut self.scalars, slot)), negative })
        });
        Routine { op: call.op.clone(), arrays, factors, biased: bias.is_some() }
    }

    fn replace(&mut self, arg: &mut Arg) {
        match arg {
            Arg::Buffer(buffer) => *buffer = position(&mut self.buffers, *buffer),
            Arg::Scalar { slot, .. } => *slot = position(&mut self.scalars, *slot),
            _ => {}
        }
    }

    fn restore(&self, arg: &mut Arg) {
        match arg {
            Arg::Buffer(buffer) => *buffer = self.buffers[*buffer as usize],
            Arg::Scalar { slot, .. } => *slot = self.scalars[*slot as usize],
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use cuprous_core::{DType, Fun, Layout};
    use cuprous_plan::{Access, Addend, Level, Typed};

    use super::*;
    use crate::codegen::{Arch, Options, generate, generate_routine};

    /// A product with a scalar, over `n` elements.
    fn step(n: i64, buffers: [u32; 2], slot: u32) -> Step {
        let typed = |inst| Typed { inst, dtype: DType::F32, level: Level::Full };
        let access = || Access { offset: 0, strides: [1][..].into() };
        let body = vec![
            typed(Inst::Load { buf: 0, access: access() }),
            typed(Inst::Scalar { slot }),
            typed(Inst::Map { fun: Fun::Multiply, args: [0, 1][..].into() }),
            typed(Inst::Store { buf: 1, access: access(), arg: 2 }),
        ];
        Step::Kernel(Kernel { outer: [n][..].into(), inner: [][..].into(), body, buffers: buffers.to_vec() })
    }

    #[test]
    fn equal_kernels_are_generated_once_and_keep_their_buffers() {
        let templates = Mutex::default();
        let count = AtomicUsize::new(0);
        let own = |step: &Step| generate(&step.kernels()[0], Arch::H200, Options::default());
        let get = |steps: &[Step]| {
            let got = generated(&templates, true, &steps.iter().collect::<Vec<_>>(), |step| {
                count.fetch_add(1, Relaxed);
                Ok(own(step))
            });
            assert_eq!(got.unwrap(), steps.iter().map(own).collect::<Vec<_>>());
        };
        // A kernel that writes its operand and one of another length are different kernels.
        get(&[step(100, [3, 5], 1), step(100, [8, 2], 0), step(100, [8, 8], 0), step(101, [8, 2], 0)]);
        assert_eq!(count.swap(0, Relaxed), 3);
        get(&[step(101, [7, 4], 1), step(100, [4, 4], 1)]);
        assert_eq!(count.swap(0, Relaxed), 0);
        // More than are kept, and enough for several threads.
        let many: Vec<Step> = (1..=MAX_TEMPLATES as i64 + 5).map(|n| step(n, [n as u32, 0], 2)).collect();
        get(&many);
        assert_eq!(count.load(Relaxed), many.len() - 2);
    }

    /// The product of a row and the transpose of a matrix, with what is added to it.
    fn product(buffers: [u32; 4], bias: bool, addend: bool) -> Step {
        let layout = |shape: &[i64], strides: &[i64]| Layout::new(DType::F32, shape, strides, 0);
        let factor = Factor { constant: Some(buffers[0]), negative: false };
        let addend = addend.then(|| Addend { array: (buffers[2], layout(&[1, 300], &[300, 1])), factor });
        let bias = bias.then(|| (buffers[2], layout(&[300], &[1])));
        Step::Routine(RoutineCall {
            op: RoutineOp::Dot,
            ins: vec![(buffers[0], layout(&[1, 400], &[400, 1])), (buffers[1], layout(&[400, 300], &[1, 400]))],
            out: (buffers[3], layout(&[1, 300], &[300, 1])),
            epilogue: Epilogue { scale: Factor::default(), addend, bias },
        })
    }

    #[test]
    fn equal_routines_are_generated_once_and_keep_their_buffers_and_scalars() {
        let templates = Mutex::default();
        let count = AtomicUsize::new(0);
        let own = |step: &Step| {
            let Step::Routine(call) = step else { unreachable!() };
            generate_routine(call, Arch::H200, Options::default()).unwrap()
        };
        let steps = [
            product([0, 1, 2, 3], true, false),
            product([7, 5, 4, 6], true, false),
            product([7, 5, 4, 6], false, true),
            product([7, 5, 4, 6], false, false),
            // The sum is stored over the addend.
            product([7, 5, 6, 6], false, true),
            product([1, 2, 3, 3], false, true),
        ];
        let got = generated(&templates, true, &steps.iter().collect::<Vec<_>>(), |step| {
            count.fetch_add(1, Relaxed);
            Ok(own(step))
        });
        assert_eq!(got.unwrap(), steps.iter().map(own).collect::<Vec<_>>());
        assert_eq!(count.load(Relaxed), 4);
    }
}
