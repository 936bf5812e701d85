//! Operands on two devices. A 0-d tensor on the CPU may be combined with tensors of any device, as a number may, but
//! keeps its dtype and gradient. Every other combination raises PyTorch's error.
//!
//! These functions are called only after the engine has refused the operands, so that usual operations pay nothing.

use cuprous_core::{Error, Result, Scalar};
use smallvec::SmallVec;

use crate::arg::Arg;
use crate::engine::{engine, engine_of};
use crate::graph::Tensor;
use crate::record::record_to_device;

/// The device number of the CPU's engine.
const CPU: u8 = 0;

fn is_cpu_scalar(t: &Tensor) -> bool {
    t.array.storage.device == CPU && t.array.layout.ndim() == 0
}

/// Returns the device to which 0-d CPU tensors among `tensors` can be copied: that of all others. `None` if there are
/// no 0-d CPU tensors, or if the others are on several devices.
fn common_device(tensors: &[&Tensor]) -> Option<u8> {
    let mut devices = tensors.iter().filter(|t| !is_cpu_scalar(t)).map(|t| t.array.storage.device);
    let device = devices.next()?;
    let has_scalar = device != CPU && tensors.iter().any(|t| is_cpu_scalar(t));
    (has_scalar && devices.all(|d| d == device)).then_some(device)
}

/// Returns copies of the 0-d CPU tensors among `args` on the device of the other operands, and `None` for the rest.
///
/// # Errors
/// PyTorch's error if operands are on different devices, otherwise `error`, with which the engine refused them.
#[cold]
pub(crate) fn to_common_device(
    args: &[Arg],
    tensors: &[&Tensor],
    error: Error,
) -> Result<SmallVec<[Option<Tensor>; 3]>> {
    let Some(device) = common_device(tensors) else { return Err(different_devices(tensors).unwrap_or(error)) };
    args.iter()
        .map(|arg| match arg {
            Arg::Tensor(t) if is_cpu_scalar(t) => scalar_to_device(t, device).map(Some),
            _ => Ok(None),
        })
        .collect()
}

/// Returns a 0-d tensor on another device. It is recorded there as a constant: nothing is copied, and another value
/// does not make another program.
fn scalar_to_device(t: &Tensor, device: u8) -> Result<Tensor> {
    let mut value = Scalar::default();
    engine_of(&t.array).download(&t.array, &mut value.0[..t.dtype().size()])?;
    Ok(record_to_device(t, engine(device).full(&[], value, t.dtype())?))
}

/// Returns `value` on the device of `target`, to which it is written.
///
/// # Errors
/// PyTorch's error unless `value` is a 0-d tensor on the CPU.
#[cold]
pub(crate) fn value_for(target: &Tensor, value: &Tensor) -> Result<Tensor> {
    match common_device(&[target, value]) {
        Some(device) if device == target.array.storage.device => scalar_to_device(value, device),
        _ => Err(different_devices(&[target, value]).expect("the devices differ")),
    }
}

/// Returns PyTorch's error for tensors on different devices, or `None` if all are on one.
fn different_devices(tensors: &[&Tensor]) -> Option<Error> {
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
