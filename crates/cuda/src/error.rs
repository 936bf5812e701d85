//! The error type of the crate.

use std::fmt;

use cuprous_cuda_sys::MissingLibrary;
use cuprous_cuda_sys::driver::CUresult;

/// The result of the functions of this crate.
pub type Result<T> = std::result::Result<T, CudaError>;

/// Converts an error to the engine's error type.
pub fn translate(error: CudaError) -> cuprous_core::Error {
    let message = error.to_string();
    match error {
        CudaError::OutOfMemory { .. } => cuprous_core::Error::memory(message),
        CudaError::MissingLibrary(_) => cuprous_core::Error::missing_library(message),
        e if e.is_out_of_memory() => cuprous_core::Error::memory(message),
        _ => cuprous_core::Error::runtime(message),
    }
}

/// An error, with the information that the user needs to act on it.
#[derive(Debug, Clone)]
pub enum CudaError {
    /// A driver call failed.
    Driver {
        /// The call, such as `cuLaunchKernel`.
        call: &'static str,
        /// The status.
        code: u32,
        /// The status's name, such as `CUDA_ERROR_ILLEGAL_ADDRESS`.
        name: String,
        /// The driver's explanation.
        text: String,
    },
    /// NVRTC refused a source.
    Compile {
        /// The name given to the source.
        name: String,
        /// The name of NVRTC's status.
        status: String,
        /// NVRTC's messages.
        log: String,
        /// The numbered source lines around the first error; empty if NVRTC gives no line.
        excerpt: String,
    },
    /// A call of one of NVIDIA's libraries failed.
    Library {
        /// The call, such as `cublasLtMatmul`.
        call: &'static str,
        /// The name of the library's status.
        status: String,
        /// The problem, with its shapes.
        what: String,
    },
    /// A library is not installed.
    MissingLibrary(Box<MissingLibrary>),
    /// A library is too old: it lacks a function.
    MissingSymbol {
        /// The function.
        symbol: &'static str,
        /// The loader's message.
        text: String,
    },
    /// The driver is too old; versions are (major, minor) of CUDA.
    DriverTooOld {
        /// The driver's version.
        found: (u32, u32),
        /// The oldest supported version.
        needed: (u32, u32),
    },
    /// Out of memory; sizes in bytes.
    OutOfMemory {
        /// The requested size.
        requested: u64,
        /// Bytes in use.
        live: u64,
        /// The pool's limit, if one is set.
        limit: Option<u64>,
        /// Bytes that the pool has reserved from the device.
        total: u64,
        /// The largest free block of the pool.
        largest_free: u64,
        /// The largest blocks in use, largest first.
        largest_live: Vec<u64>,
    },
    /// This process was forked from one that had started CUDA.
    Forked {
        /// The process that started CUDA.
        parent: u32,
    },
    /// The device does not exist.
    NoDevice {
        /// The requested number.
        ordinal: usize,
        /// The number of devices.
        count: usize,
    },
    /// The request is not supported here. The caller may have an alternative.
    Unsupported(String),
}

impl CudaError {
    /// Returns true if the context is lost: every later call of this process fails with the same error.
    #[must_use]
    pub fn is_sticky(&self) -> bool {
        let CudaError::Driver { code, .. } = self else { return false };
        [
            CUresult::CUDA_ERROR_ECC_UNCORRECTABLE,
            CUresult::CUDA_ERROR_NVLINK_UNCORRECTABLE,
            CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR,
            CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION,
            CUresult::CUDA_ERROR_MISALIGNED_ADDRESS,
            CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE,
            CUresult::CUDA_ERROR_INVALID_PC,
            CUresult::CUDA_ERROR_ILLEGAL_ADDRESS,
            CUresult::CUDA_ERROR_LAUNCH_TIMEOUT,
            CUresult::CUDA_ERROR_LAUNCH_FAILED,
            CUresult::CUDA_ERROR_ASSERT,
        ]
        .iter()
        .any(|sticky| sticky.0 == *code)
    }

    /// Returns true for the pool's and the driver's out-of-memory errors.
    #[must_use]
    pub fn is_out_of_memory(&self) -> bool {
        match self {
            CudaError::OutOfMemory { .. } => true,
            CudaError::Driver { code, .. } => *code == CUresult::CUDA_ERROR_OUT_OF_MEMORY.0,
            _ => false,
        }
    }
}

impl fmt::Display for CudaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CudaError::Driver { call, code, name, text } => {
                write!(f, "[cuda] {call} failed: {name} ({code}): {text}")?;
                if self.is_sticky() {
                    f.write_str("; the CUDA context is lost, so this process must be restarted to use the GPU again")?;
                }
                Ok(())
            }
            CudaError::Compile { name, status, log, excerpt } => {
                write!(f, "[compile] {name}: {status}\n{}", log.trim_end())?;
                if excerpt.is_empty() { Ok(()) } else { write!(f, "\n{excerpt}") }
            }
            CudaError::Library { call, status, what } => write!(f, "[cuda] {call} failed for {what}: {status}"),
            CudaError::MissingLibrary(missing) => write!(f, "[cuda] {missing}"),
            CudaError::MissingSymbol { symbol, text } => {
                write!(f, "[cuda] the installed library has no {symbol} ({text}); install a newer one")
            }
            CudaError::DriverTooOld { found, needed } => write!(
                f,
                "[cuda] the NVIDIA driver supports CUDA {}.{}, and CUDA {}.{} is needed; install a newer driver",
                found.0, found.1, needed.0, needed.1
            ),
            CudaError::OutOfMemory { requested, live, limit, total, largest_free, largest_live } => {
                write!(f, "[cuda] out of memory: {} requested, {} in use, ", bytes(*requested), bytes(*live))?;
                write!(f, "{} held, largest free block {}", bytes(*total), bytes(*largest_free))?;
                limit.map_or(Ok(()), |limit| write!(f, ", limit {}", bytes(limit)))?;
                let sizes: Vec<String> = largest_live.iter().map(|&n| bytes(n)).collect();
                if sizes.is_empty() { Ok(()) } else { write!(f, "; largest arrays in use: {}", sizes.join(", ")) }
            }
            CudaError::Forked { parent } => write!(
                f,
                "[cuda] CUDA cannot be used in a process forked after process {parent} started CUDA; \
                 use multiprocessing's start method 'spawn'"
            ),
            CudaError::NoDevice { ordinal, count } => {
                write!(f, "[cuda] there is no CUDA device {ordinal}: this process sees {count}")
            }
            CudaError::Unsupported(why) => write!(f, "[cuda] {why}"),
        }
    }
}

impl std::error::Error for CudaError {}

impl From<MissingLibrary> for CudaError {
    fn from(missing: MissingLibrary) -> Self {
        CudaError::MissingLibrary(Box::new(missing))
    }
}

/// Formats a size for people, with two decimals.
fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = count as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{count} B") } else { format!("{value:.2} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn driver_error(code: CUresult) -> CudaError {
        CudaError::Driver { call: "cuLaunchKernel", code: code.0, name: "NAME".into(), text: "text".into() }
    }

    #[test]
    fn only_errors_that_lose_the_context_are_sticky() {
        assert!(driver_error(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS).is_sticky());
        assert!(driver_error(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS).to_string().contains("restarted"));
        assert!(!driver_error(CUresult::CUDA_ERROR_OUT_OF_MEMORY).is_sticky());
        assert!(driver_error(CUresult::CUDA_ERROR_OUT_OF_MEMORY).is_out_of_memory());
    }

    #[test]
    fn sizes_are_readable() {
        let text = CudaError::OutOfMemory {
            requested: 3 << 30,
            live: 512,
            limit: Some(1 << 30),
            total: 1 << 20,
            largest_free: 0,
            largest_live: vec![300, 200],
        }
        .to_string();
        assert_eq!(
            text,
            "[cuda] out of memory: 3.00 GiB requested, 512 B in use, 1.00 MiB held, largest free block 0 B, limit 1.00 GiB; \
             largest arrays in use: 300 B, 200 B"
        );
    }
}
