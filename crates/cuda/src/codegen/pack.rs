//! Several small maps in one launch. Each map is a function over its own blocks, and the kernel dispatches every block
//! to its map.

use cuprous_plan::Kernel;

use super::lower::{KernelDraft, Shape, Target, Unit, signature};
use super::types::{Arg, Generated, Options, Stage};
use super::{Arch, map};

/// Bytes of parameters that every driver allows, less what the ends of the maps take.
const MAX_PARAMETERS: usize = 4096 - 256;

/// Returns the launches of kernels that may run at the same time: one for all plain maps, and one for each other
/// kernel.
pub fn generate_pack(kernels: &[Kernel], arch: Arch, options: Options) -> Generated {
    let target = Target { arch, options };
    let mut out = Generated::default();
    let mut drafts: Vec<KernelDraft> = Vec::new();
    let mut bytes = 0;
    for kernel in kernels {
        let unit = Unit::new(kernel);
        match map::plain(&unit, target) {
            Some(draft) => {
                let size: usize = draft.args.iter().map(|arg| arg.size().next_multiple_of(8)).sum();
                if bytes + size > MAX_PARAMETERS {
                    out.stages.push(one_launch(std::mem::take(&mut drafts), target));
                    bytes = 0;
                }
                bytes += size;
                drafts.push(draft);
            }
            None => map::map(&unit, target, &mut out),
        }
    }
    if !drafts.is_empty() {
        out.stages.push(one_launch(drafts, target));
    }
    out
}

fn one_launch(mut drafts: Vec<KernelDraft>, target: Target) -> Stage {
    if drafts.len() == 1 {
        return drafts.remove(0).stage();
    }
    let threads = target.options.tuning.map_threads;
    // The functions, and the parameters and the text of each.
    let (mut functions, mut known): (Vec<String>, Vec<(Vec<String>, String)>) = (Vec::new(), Vec::new());
    let (mut declared, mut args, mut calls): (Vec<String>, Vec<Arg>, Vec<String>) = Default::default();
    let mut parts = super::prelude::Parts::new();
    let mut blocks = 0;
    let name = format!("pack_of_{}_{}", drafts.len(), drafts[0].name);
    for (k, draft) in drafts.into_iter().enumerate() {
        // Maps that differ in extents only share a function.
        let text = draft.body.replace("blockIdx.x", "block");
        let mut own = vec!["uint32 block".to_owned()];
        own.extend(draft.declared.iter().cloned());
        let shared = known.iter().position(|(parameters, body)| *parameters == own && *body == text);
        if let Some(f) = shared {
            // A function that several maps share is compiled once and called.
            functions[f] = functions[f].replacen("__forceinline__", "__noinline__", 1);
        }
        let f = shared.unwrap_or_else(|| {
            let head = signature(&format!("__device__ __forceinline__ void part{}", known.len()), &own);
            functions.push(format!("{}{head}{text}}}\n", draft.doc));
            known.push((own, text));
            known.len() - 1
        });
        let mut passed = vec![if k == 0 { "blockIdx.x".to_owned() } else { format!("blockIdx.x - end{}", k - 1) }];
        for parameter in &draft.declared {
            let (ctype, name) = parameter.rsplit_once(' ').expect("a type and a name");
            declared.push(format!("{ctype} p{k}_{name}"));
            passed.push(format!("p{k}_{name}"));
        }
        args.extend(draft.args);
        blocks += i64::from(draft.shape.grid[0]);
        declared.push(format!("uint32 end{k}"));
        args.push(Arg::I32(blocks as i32));
        calls.push(format!("    if (blockIdx.x < end{k}) return part{f}({});\n", passed.join(", ")));
        parts.join(&draft.parts);
    }
    let head = signature(&format!("extern \"C\" __global__ void __launch_bounds__({threads}) {name}"), &declared);
    Stage {
        code: format!("{}\n{head}{}}}\n", functions.join("\n"), calls.concat()).into(),
        prelude: parts.texts().into(),
        name: name.into(),
        args,
        grid: Shape::linear(blocks, threads).grid,
        block: [threads, 1, 1],
        shared: 0,
        own_instructions: false,
    }
}
