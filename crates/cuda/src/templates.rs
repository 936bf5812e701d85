//! Generated code by kernel, without the numbers that a kernel has in its program: the same kernels in the layers of a
//! network, and those that a new shape does not change, are generated once. And loaded kernels by their source.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use cuprous_plan::{Inst, Kernel, Step};
use foldhash::fast::RandomState;

use crate::codegen::{Arg, Generated, Stage};
use crate::driver::{Function, Module};

/// Loaded kernels by their source.
pub(crate) type Kernels = HashMap<Source, (Function, Module), RandomState>;

/// The source of a generated kernel. A program of a new shape looks up all of its kernels, so neither the prelude's text,
/// which is far longer than a kernel, is hashed, nor is it compared where it is the same memory.
#[derive(Clone)]
pub(crate) struct Source {
    prelude: Vec<&'static str>,
    code: String,
}

impl Hash for Source {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(self.code.as_bytes());
    }
}

impl PartialEq for Source {
    fn eq(&self, other: &Source) -> bool {
        let mut parts = self.prelude.iter().zip(&other.prelude);
        self.prelude.len() == other.prelude.len()
            && self.code == other.code
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

/// Steps that were generated, by their kernels and by whether all buffers are aligned.
#[derive(Default)]
pub(crate) struct Templates(HashMap<(bool, Vec<Kernel>), Generated, RandomState>);

impl Templates {
    /// Returns the launches of a step of kernels: those of an equal step with this one's buffers and scalars, or else
    /// those that `generate` returns.
    pub(crate) fn get(&mut self, aligned: bool, step: &Step, generate: impl FnOnce() -> Generated) -> Generated {
        let mut numbers = Numbers::default();
        let kernels: Vec<Kernel> = step.kernels().iter().map(|kernel| numbers.replaced(kernel)).collect();
        let key = (aligned, kernels);
        if let Some(template) = self.0.get(&key) {
            let mut generated = template.clone();
            args(&mut generated).for_each(|arg| numbers.restore(arg));
            return generated;
        }
        let generated = generate();
        let mut template = generated.clone();
        args(&mut template).for_each(|arg| numbers.replace(arg));
        if self.0.len() >= MAX_TEMPLATES {
            self.0.clear();
        }
        self.0.insert(key, template);
        generated
    }
}

fn args(generated: &mut Generated) -> impl Iterator<Item = &mut Arg> {
    generated.stages.iter_mut().flat_map(|stage| &mut stage.args)
}

/// The buffers and scalars of a step in the order of their first use.
#[derive(Default)]
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
    use cuprous_core::{DType, Fun};
    use cuprous_plan::{Access, Level, Typed};

    use super::*;
    use crate::codegen::{Arch, Options, generate};

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
        let mut templates = Templates::default();
        let mut count = 0;
        let mut get = |step: &Step| {
            let own = generate(&step.kernels()[0], Arch::H200, Options::default());
            let got = templates.get(true, step, || {
                count += 1;
                own.clone()
            });
            assert_eq!(got, own);
        };
        get(&step(100, [3, 5], 1));
        get(&step(100, [8, 2], 0));
        get(&step(100, [8, 8], 0));
        get(&step(101, [8, 2], 0));
        // A kernel that writes its operand and one of another length are different kernels.
        assert_eq!(count, 3);
    }
}
