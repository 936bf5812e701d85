//! Byte streams between the ranks of a communicator.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::time::Duration;

const PAUSE: Duration = Duration::from_micros(100);

/// Returns a name that no other communicator has.
pub(super) fn new_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |t| t.as_nanos());
    format!("cuprous-sim-{}-{}-{now}", std::process::id(), COUNT.fetch_add(1, Relaxed))
}

fn address(name: &str, rank: usize) -> std::io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("{name}-{rank}"))
}

/// The connections of one rank, by rank.
pub(super) struct Connections {
    pub(super) me: usize,
    pub(super) streams: Vec<Option<UnixStream>>,
}

impl Connections {
    /// Connects with all ranks of that name. `None` if it was aborted, or the name is taken.
    pub(super) fn open(name: &str, me: usize, n: usize, is_aborted: &AtomicBool) -> Option<Connections> {
        let listener = UnixListener::bind_addr(&address(name, me).ok()?).ok()?;
        listener.set_nonblocking(true).ok()?;
        let mut streams: Vec<Option<UnixStream>> = (0..n).map(|_| None).collect();
        while (0..n).any(|rank| rank != me && streams[rank].is_none()) {
            if is_aborted.load(Acquire) {
                return None;
            }
            for (rank, slot) in streams.iter_mut().enumerate().take(me).filter(|(_, slot)| slot.is_none()) {
                if let Ok(mut stream) = UnixStream::connect_addr(&address(name, rank).ok()?) {
                    stream.write_all(&(me as u32).to_le_bytes()).ok()?;
                    *slot = Some(stream);
                }
            }
            while let Ok((mut stream, _)) = listener.accept() {
                stream.set_nonblocking(false).ok()?;
                let mut rank = [0; 4];
                stream.read_exact(&mut rank).ok()?;
                *streams.get_mut(u32::from_le_bytes(rank) as usize)? = Some(stream);
            }
            std::thread::sleep(PAUSE);
        }
        for stream in streams.iter().flatten() {
            stream.set_nonblocking(true).ok()?;
        }
        Some(Connections { me, streams })
    }

    /// Waits until all ranks do the same. Returns false if `is_over` before.
    pub(super) fn meet(&mut self, is_over: &dyn Fn() -> bool) -> bool {
        let n = self.streams.len();
        let mut into = vec![vec![0]; n];
        into[self.me].clear();
        let out = into.clone();
        self.exchange(&out, &mut into, is_over)
    }

    /// Ends the connections when all ranks do the same, or are gone, or `is_over`.
    pub(super) fn part(mut self, is_over: &dyn Fn() -> bool) {
        self.streams.iter().flatten().for_each(|stream| drop(stream.shutdown(Shutdown::Write)));
        for stream in self.streams.iter_mut().flatten() {
            while !is_over() && stream.read(&mut [0]).is_err_and(|e| e.kind() == ErrorKind::WouldBlock) {
                std::thread::sleep(PAUSE);
            }
        }
    }

    /// Sends `out` and fills `into`, by rank. Returns false if `is_over` before all is done. A rank that died is waited
    /// for, because a GPU does not notice.
    pub(super) fn exchange(&mut self, out: &[Vec<u8>], into: &mut [Vec<u8>], is_over: &dyn Fn() -> bool) -> bool {
        let n = self.streams.len();
        let (mut sent, mut received) = (vec![0; n], vec![0; n]);
        loop {
            let (mut moved, mut done) = (false, true);
            for (rank, stream) in self.streams.iter_mut().enumerate() {
                let Some(stream) = stream else { continue };
                moved |= step(stream.write(&out[rank][sent[rank]..]), &mut sent[rank]);
                moved |= step(stream.read(&mut into[rank][received[rank]..]), &mut received[rank]);
                done &= sent[rank] == out[rank].len() && received[rank] == into[rank].len();
            }
            if done {
                return true;
            }
            if is_over() {
                return false;
            }
            if !moved {
                std::thread::sleep(PAUSE);
            }
        }
    }
}

/// Counts what was moved. Returns true if it was something.
fn step(result: std::io::Result<usize>, count: &mut usize) -> bool {
    match result {
        Ok(moved) => {
            *count += moved;
            moved > 0
        }
        Err(e) => matches!(e.kind(), ErrorKind::Interrupted),
    }
}
