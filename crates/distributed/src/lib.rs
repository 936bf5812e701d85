//! Several processes: stores in which they find each other, a control plane that knows what happened to each, and
//! collectives on memory of the host.
//!
//! - A [`Session`] connects all ranks for control. Its thread knows within moments if a rank dies, leaves or fails, and
//!   its verdict ends every wait of the process.
//! - A [`Group`] performs collectives in the order in which they are called: `collectives` says what each rank sends to
//!   whom, `exchange` moves it through a `link`, which is shared memory (`shm`), connections (`socket`) or `mpi`. On one
//!   host, `direct` moves large tensors from the memory of one rank to that of another.
//! - `messages` are between two ranks.
//! - `waits`: a rank whose wait takes too long asks the others what they wait for, to name the cause.
//! - A [`DeviceGroup`] has the same operations ([`Backend`]) for memory of devices, by a library such as NCCL
//!   (`network`). It compares the calls of the ranks over the control plane (`ledger`) and stops the library when the
//!   job fails.
//! - A [`store::Store`] has PyTorch's protocol, so that launchers and workers of both can be mixed.
//!
//! Every message begins with the [`call::Call`] of its rank, so that ranks that disagree fail at once, with both lines.
//! Connections prove that they know the job's token before anything they send is believed (`auth`). This crate knows no
//! engine: memory comes as addresses, with what keeps it alive.

#![cfg(unix)]

mod auth;
pub mod backend;
pub mod call;
pub mod collectives;
mod device;
mod device_work;
mod direct;
mod exchange;
pub mod failure;
pub mod group;
#[cfg(test)]
mod hostile;
mod ledger;
mod link;
mod mesh;
mod messages;
mod mpi;
pub mod network;
pub mod reduce;
pub mod session;
mod shm;
mod socket;
pub mod status;
mod stop;
pub mod store;
mod transfer;
mod waits;
mod work;

pub use backend::{Backend, Keep, Lend, Operation};
pub use device::DeviceGroup;
pub use failure::{Failure, Kind, Result};
pub use group::Group;
pub use mesh::own_address;
pub use mpi::Communicator;
pub use session::Session;
