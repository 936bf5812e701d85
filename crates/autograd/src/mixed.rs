//! Operands of two devices. A tensor without axes on the CPU goes with any device, as a number does, but keeps a tensor's
//! dtype and gradient; everything else is refused in PyTorch's words.
//!
//! Nothing here is asked before the engine has refused operands, so that usual operations pay nothing for it.

use cuprous_core::{DType, Error, Fun, Result, Scalar};
use smallvec::SmallVec;

use crate::Tensor;
use crate::ops::{self, Arg, engine, engine_of};

/// The number of the CPU's engine.
const CPU: u8 = 0;

fn is_lone(t: &Tensor) -> bool {
    t.array.storage.device == CPU && t.array.layout.ndim() == 0
}

/// The device on which tensors can be brought together: that of those which are no lone numbers of the CPU.
fn meeting(tensors: &[&Tensor]) -> Option<u8> {
    let mut devices = tensors.iter().filter(|t| !is_lone(t)).map(|t| t.array.storage.device);
    let device = devices.next()?;
    let waits = device != CPU && tensors.iter().any(|t| is_lone(t));
    (waits && devices.all(|d| d == device)).then_some(device)
}

/// The function of operands that the engine refused, on the device where they can meet; else the reason.
#[cold]
pub(crate) fn map(fun: Fun, args: &[Arg], dtype: Option<DType>, tensors: &[&Tensor], error: Error) -> Result<Tensor> {
    let Some(device) = meeting(tensors) else { return Err(apart(tensors).unwrap_or(error)) };
    let moved: SmallVec<[Option<Tensor>; 3]> = args
        .iter()
        .map(|arg| match arg {
            Arg::Tensor(t) if is_lone(t) => there(t, device).map(Some),
            _ => Ok(None),
        })
        .collect::<Result<_>>()?;
    let args: SmallVec<[Arg; 3]> =
        args.iter().zip(&moved).map(|(arg, moved)| moved.as_ref().map_or(*arg, Arg::Tensor)).collect();
    ops::map(fun, &args, dtype)
}

/// A tensor without axes on a device: a constant of what is recorded there, so nothing is copied and a new value is no
/// new program.
fn there(t: &Tensor, device: u8) -> Result<Tensor> {
    let mut value = Scalar::default();
    engine_of(&t.array).download(&t.array, &mut value.0[..t.dtype().size()])?;
    Ok(ops::moved(t, engine(device).full(&[], value, t.dtype())?))
}

/// A value of another device than the target's, where it can be written: a tensor without axes on the CPU.
#[cold]
pub(crate) fn beside(value: &Tensor, target: &Tensor) -> Result<Tensor> {
    match meeting(&[target, value]) {
        Some(device) if device == target.array.storage.device => there(value, device),
        _ => Err(apart(&[target, value]).expect("they are apart")),
    }
}

/// Why tensors do not go together, if it is their devices.
pub(crate) fn apart(tensors: &[&Tensor]) -> Option<Error> {
    let [first, rest @ ..] = tensors else { return None };
    let other = rest.iter().find(|t| t.array.storage.device != first.array.storage.device)?;
    let name = |t: &Tensor| match t.array.storage.device {
        CPU => "cpu".to_string(),
        k => format!("cuda:{}", k - 1),
    };
    let (a, b) = (name(first), name(other));
    Some(Error::device(format!(
        "Expected all tensors to be on the same device, but found at least two devices, {a} and {b}! Shapes are {:?} \
         and {:?}; move one of them, with x.to(\"{a}\")",
        first.shape(),
        other.shape()
    )))
}
