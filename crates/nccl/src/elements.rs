//! NCCL's element types and reductions.

use cuprous_core::DType;
use cuprous_cuda_sys::nccl::{ncclDataType_t, ncclRedOp_t};
use cuprous_distributed::call::ReduceKind;
use cuprous_distributed::{Failure, Result};

/// How elements are given to NCCL: the type, how many of it an element has, and the reduction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Elements {
    pub(crate) dtype: ncclDataType_t,
    pub(crate) bytes: usize,
    pub(crate) op: ncclRedOp_t,
}

/// Returns how elements are moved: as bytes, whatever they are.
pub(crate) const BYTES: Elements = Elements { dtype: ncclDataType_t::ncclUint8, bytes: 1, op: ncclRedOp_t::ncclSum };

/// Returns how elements are reduced. A boolean is a byte, 0 or 1; a complex number is two real ones.
///
/// # Errors
/// NCCL lacks the type or the reduction.
pub(crate) fn reduced(dtype: DType, kind: ReduceKind) -> Result<Elements> {
    use ReduceKind::*;
    let (number, bytes) = match dtype {
        DType::Bool | DType::U8 => (ncclDataType_t::ncclUint8, 1),
        DType::I8 => (ncclDataType_t::ncclInt8, 1),
        DType::I32 => (ncclDataType_t::ncclInt32, 4),
        DType::U32 => (ncclDataType_t::ncclUint32, 4),
        DType::I64 => (ncclDataType_t::ncclInt64, 8),
        DType::U64 => (ncclDataType_t::ncclUint64, 8),
        DType::F16 => (ncclDataType_t::ncclFloat16, 2),
        DType::BF16 => (ncclDataType_t::ncclBfloat16, 2),
        DType::F32 | DType::C64 => (ncclDataType_t::ncclFloat32, 4),
        DType::F64 | DType::C128 => (ncclDataType_t::ncclFloat64, 8),
        DType::I16 | DType::U16 => {
            return Err(Failure::type_(format!(
                "Input tensor data type is not supported for NCCL process group: {}; convert it to int32",
                dtype.name()
            )));
        }
    };
    let op = match (kind, dtype == DType::Bool) {
        (Sum | Max | Bor, true) => ncclRedOp_t::ncclMax,
        (Product | Min | Band, true) => ncclRedOp_t::ncclMin,
        (Avg, true) => return Err(Failure::type_("Cannot use ReduceOp.AVG with boolean inputs")),
        (Sum, _) => ncclRedOp_t::ncclSum,
        (Avg, _) => ncclRedOp_t::ncclAvg,
        (Product, _) => ncclRedOp_t::ncclProd,
        (Min, _) => ncclRedOp_t::ncclMin,
        (Max, _) => ncclRedOp_t::ncclMax,
        (Band | Bor | Bxor, _) => {
            return Err(Failure::value(format!("Cannot use ReduceOp.{} with NCCL", kind.name().to_uppercase())));
        }
    };
    Ok(Elements { dtype: number, bytes, op })
}

#[cfg(test)]
mod tests {
    use cuprous_distributed::failure::Kind;

    use super::*;

    #[test]
    fn booleans_are_bytes_and_complex_numbers_are_pairs() {
        let any = reduced(DType::Bool, ReduceKind::Sum).unwrap();
        assert_eq!((any.dtype, any.op), (ncclDataType_t::ncclUint8, ncclRedOp_t::ncclMax));
        assert_eq!(reduced(DType::C128, ReduceKind::Avg).unwrap().bytes, 8);
        assert!(reduced(DType::Bool, ReduceKind::Bxor).is_err() && reduced(DType::I32, ReduceKind::Band).is_err());
        let short = reduced(DType::I16, ReduceKind::Sum).unwrap_err();
        assert!(short.kind == Kind::Type && short.message.contains("int16"));
        assert!(reduced(DType::Bool, ReduceKind::Avg).unwrap_err().kind == Kind::Type);
    }
}
