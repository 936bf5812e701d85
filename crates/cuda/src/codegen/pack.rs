//! Several small maps in one launch: each is a function over its own blocks, and the kernel sends every block to its map.

use cuprous_plan::Kernel;

use super::lower::{Piece, Shape, Target, Unit, signature};
use super::types::{Arg, Generated, Options, Stage};
use super::{Arch, map};

/// Bytes of parameters that a kernel may have on every driver, less what the ends of the maps take.
const MAX_PARAMETERS: usize = 4096 - 256;

/// The launches of kernels that may run at once: one for all that are plain maps, one for each other.
pub fn generate_pack(kernels: &[Kernel], arch: Arch, options: Options) -> Generated {
    let target = Target { arch, options };
    let mut out = Generated::default();
    let mut pieces: Vec<Piece> = Vec::new();
    let mut bytes = 0;
    for kernel in kernels {
        let unit = Unit::new(kernel);
        match map::plain(&unit, target) {
            Some(piece) => {
                let size: usize = piece.args.iter().map(|arg| arg.size().next_multiple_of(8)).sum();
                if bytes + size > MAX_PARAMETERS {
                    out.stages.push(one_launch(std::mem::take(&mut pieces), target));
                    bytes = 0;
                }
                bytes += size;
                pieces.push(piece);
            }
            None => map::map(&unit, target, &mut out),
        }
    }
    if !pieces.is_empty() {
        out.stages.push(one_launch(pieces, target));
    }
    out
}

fn one_launch(mut pieces: Vec<Piece>, target: Target) -> Stage {
    if pieces.len() == 1 {
        return pieces.remove(0).stage();
    }
    let threads = target.options.tuning.map_threads;
    let (mut functions, mut texts): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let (mut declared, mut args, mut calls): (Vec<String>, Vec<Arg>, Vec<String>) = Default::default();
    let mut parts = super::prelude::Parts::new();
    let mut blocks = 0;
    let name = format!("pack_of_{}_{}", pieces.len(), pieces[0].name);
    for (k, piece) in pieces.into_iter().enumerate() {
        // Maps that differ in extents alone share a function.
        let text = piece.body.replace("blockIdx.x", "block");
        let mut own = vec!["uint32 block".to_owned()];
        own.extend(piece.declared.iter().cloned());
        let key = format!("{own:?}{text}");
        let known = texts.iter().position(|t| *t == key);
        if let Some(f) = known {
            // A function that many maps share is compiled once, and called.
            functions[f] = functions[f].replacen("__forceinline__", "__noinline__", 1);
        }
        let f = known.unwrap_or_else(|| {
            let head = signature(&format!("__device__ __forceinline__ void part{}", texts.len()), &own);
            functions.push(format!("{}{head}{text}}}\n", piece.doc));
            texts.push(key);
            texts.len() - 1
        });
        let mut passed = vec![if k == 0 { "blockIdx.x".to_owned() } else { format!("blockIdx.x - end{}", k - 1) }];
        for parameter in &piece.declared {
            let (ctype, name) = parameter.rsplit_once(' ').expect("a type and a name");
            declared.push(format!("{ctype} p{k}_{name}"));
            passed.push(format!("p{k}_{name}"));
        }
        args.extend(piece.args);
        blocks += i64::from(piece.shape.grid[0]);
        declared.push(format!("uint32 end{k}"));
        args.push(Arg::I32(blocks as i32));
        calls.push(format!("    if (blockIdx.x < end{k}) return part{f}({});\n", passed.join(", ")));
        parts.join(&piece.parts);
    }
    let head = signature(&format!("extern \"C\" __global__ void __launch_bounds__({threads}) {name}"), &declared);
    Stage {
        code: format!("{}\n{head}{}}}\n", functions.join("\n"), calls.concat()),
        prelude: parts.texts(),
        name,
        args,
        grid: Shape::linear(blocks, threads).grid,
        block: [threads, 1, 1],
        shared: 0,
    }
}
