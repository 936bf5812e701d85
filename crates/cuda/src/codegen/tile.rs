//! Elementwise kernels over mixed layouts. Operands that are dense along another axis than the output pass through
//! shared memory in tiles of 32 × 32, so that both sides are accessed in contiguous runs.

use cuprous_plan::{Access, Inst, Val};

use super::lower::{Lower, Shape, Target, Unit, kernel_name};
use super::text::Code;
use super::types::{Stage, ctype};

/// Returns the axis other than the last along which an operand is dense, if a tiled kernel pays off.
fn other_axis(unit: &Unit) -> Option<usize> {
    let kernel = &unit.kernel;
    let last = kernel.outer.len().checked_sub(1)?;
    let sinks_fit = kernel.body.iter().all(|t| match &t.inst {
        Inst::Store { access, .. } => access.strides[last] == 1,
        Inst::Scatter { .. } => false,
        _ => true,
    });
    if !sinks_fit || kernel.outer_size() < 1 << 14 || kernel.outer[last] < 32 {
        return None;
    }
    kernel.body.iter().find_map(|t| match &t.inst {
        Inst::Load { access, .. } if t.dtype.size() <= 8 => transposed(access, last).filter(|&a| kernel.outer[a] >= 32),
        _ => None,
    })
}

/// Returns the axis along which an access is dense, unless it is dense or constant along the last one.
fn transposed(access: &Access, last: usize) -> Option<usize> {
    if matches!(access.strides[last], 0 | 1) {
        return None;
    }
    (0..last).find(|&k| access.strides[k] == 1)
}

/// Returns true if [`emit`] is the right template.
pub(crate) fn applies(unit: &Unit) -> bool {
    other_axis(unit).is_some()
}

/// Returns the kernel.
pub(crate) fn emit(unit: &Unit, target: Target) -> Stage {
    let mut lower = Lower::new(unit, target);
    let kernel = &unit.kernel;
    let last = kernel.outer.len() - 1;
    let across = other_axis(unit).unwrap_or(0);
    let int = lower.index();
    let mut code = Code::at(1);
    let (width, height) = (kernel.outer[last], kernel.outer[across]);
    let (tiles_x, tiles_y) = ((width + 31) / 32, (height + 31) / 32);
    let rest: Vec<usize> = (0..last).filter(|&k| k != across).collect();

    let (w, h) = (lower.int("width", width), lower.int("height", height));
    let (dx, dy) = (lower.divisor("tiles_x", tiles_x), lower.divisor("tiles_y", tiles_y));
    let block = if lower.wide { "(int64)blockIdx.x" } else { "(int32)blockIdx.x" };
    code.line("const int tx = threadIdx.x, ty = threadIdx.y;");
    code.line(format!("const {int} block = {block}, r0 = quotient(block, {dx}), r1 = quotient(r0, {dy});"));
    code.line(format!("const {int} x0 = (block - r0 * extent({dx})) * 32, y0 = (r0 - r1 * extent({dy})) * 32;"));
    let mut from = "r1".to_string();
    for (n, &k) in rest.iter().enumerate().rev() {
        if n == 0 {
            code.line(format!("const {int} i{k} = {from};"));
        } else {
            let d = lower.divisor(&format!("d{k}"), kernel.outer[k]);
            let next = format!("r{}", rest.len() - n + 1);
            code.line(format!("const {int} {next} = quotient({from}, {d}), i{k} = {from} - {next} * extent({d});"));
            from = next;
        }
    }
    let vars = |x: &str, y: &str| -> Vec<(usize, String)> {
        let mut vars: Vec<(usize, String)> = rest.iter().map(|&k| (k, format!("i{k}"))).collect();
        vars.extend([(last, x.to_string()), (across, y.to_string())]);
        vars
    };

    // Tiles of the operands that are dense along the other axis.
    let mut direct: Vec<(Val, String)> = Vec::new();
    let mut tiled: Vec<(Val, String)> = Vec::new();
    for (i, t) in kernel.body.iter().enumerate() {
        if let Inst::Load { buf, access } = &t.inst {
            let (i, p) = (i as Val, lower.pointer(*buf, t.dtype));
            if transposed(access, last) == Some(across) && t.dtype.size() <= 8 && tiled.len() < 4 {
                let at = lower.address(access, &vars("(x0 + ty + k)", "(y0 + tx)"), true);
                code.line(format!("__shared__ {} tile{i}[32][33];", ctype(t.dtype)));
                tiled.push((i, format!("tile{i}[ty + k][tx] = {p}[{at}];")));
                lower.names.insert(i, format!("tile{i}[tx][ty + 8 * k]"));
            } else {
                let at = lower.address(access, &vars("x", "y"), true);
                direct.push((i, format!("const {} v{i} = {p}[{at}];", ctype(t.dtype))));
            }
        }
    }
    code.line("#pragma unroll");
    code.block("for (int k = 0; k < 32; k += 8)", |c| {
        c.block(format!("if (y0 + tx < {h} && x0 + ty + k < {w})"), |c| tiled.iter().for_each(|(_, s)| c.line(s)));
    });
    code.line("__syncthreads();");
    code.line(format!("const {int} x = x0 + tx;"));
    code.unrolled("k", 4, |c| {
        c.line(format!("const {int} y = y0 + ty + 8 * k;"));
        c.block(format!("if (x < {w} && y < {h})"), |c| {
            direct.iter().for_each(|(_, s)| c.line(s));
            for (i, t) in kernel.body.iter().enumerate() {
                match &t.inst {
                    Inst::Map { .. } | Inst::Gather { .. } => lower.statement(c, i as Val),
                    Inst::Iota { access } => {
                        let at = lower.address(access, &vars("x", "y"), true);
                        c.line(format!("const int64 v{i} = {at};"));
                    }
                    Inst::Store { buf, access, arg } => {
                        let at = lower.address(access, &vars("x", "y"), true);
                        c.line(format!("{}[{at}] = {};", lower.pointer(*buf, t.dtype), lower.name(*arg)));
                    }
                    _ => {}
                }
            }
        });
    });
    let others: i64 = rest.iter().map(|&k| kernel.outer[k]).product();
    let mut shape = Shape::linear(tiles_x * tiles_y * others, 256);
    shape.block = [32, 8, 1];
    let name = kernel_name("tiles", kernel);
    lower.finish(&name, 256, 1, code, shape)
}
