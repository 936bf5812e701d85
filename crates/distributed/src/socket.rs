//! Streams through TCP connections.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::link::{ALIGN, Closed, Interest, Link, Waker};

/// Bytes that are read ahead for each peer.
const AHEAD: usize = 256 << 10;
/// Writes of fewer bytes are sent together.
const SMALL: usize = 16 << 10;
/// Bytes that are kept until they can be sent.
const PENDING: usize = 64 << 10;

struct Stream {
    socket: TcpStream,
    /// Aligned for any element.
    arrived: Vec<u128>,
    start: usize,
    end: usize,
    pending: Vec<u8>,
    closed: bool,
}

impl Stream {
    fn receive(&mut self) {
        if self.start > 0 && (self.start == self.end || self.end == AHEAD) {
            let (from, to) = (self.start, self.end);
            self.bytes_mut().copy_within(from..to, 0);
            (self.start, self.end) = (0, to - from);
        }
        let end = self.end;
        let base = self.arrived.as_mut_ptr().cast::<u8>();
        // SAFETY: the buffer has `AHEAD` bytes, and any bytes are valid.
        let room = unsafe { std::slice::from_raw_parts_mut(base.wrapping_add(end), AHEAD - end) };
        if room.is_empty() || self.closed {
            return;
        }
        match self.socket.read(room) {
            Ok(0) => self.closed = true,
            Ok(count) => self.end += count,
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => self.closed = true,
        }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the buffer has that many bytes, and any bytes are valid.
        unsafe { std::slice::from_raw_parts_mut(self.arrived.as_mut_ptr().cast(), AHEAD) }
    }

    fn send(&mut self, bytes: &[u8]) -> Result<usize, Closed> {
        match self.socket.write(bytes) {
            Ok(count) => Ok(count),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(0),
            Err(_) => Err(Closed),
        }
    }

    fn send_pending(&mut self) -> Result<(), Closed> {
        if !self.pending.is_empty() {
            let pending = std::mem::take(&mut self.pending);
            let sent = self.send(&pending);
            self.pending = pending;
            self.pending.drain(..sent?);
        }
        Ok(())
    }
}

/// Connections to all other ranks of a group.
pub(crate) struct SocketLink {
    streams: Vec<Option<Stream>>,
    wake: (UnixStream, UnixStream),
}

impl SocketLink {
    /// Takes the connections, by rank.
    pub(crate) fn new(sockets: Vec<Option<TcpStream>>) -> std::io::Result<SocketLink> {
        let wake = UnixStream::pair()?;
        wake.0.set_nonblocking(true)?;
        wake.1.set_nonblocking(true)?;
        let stream = |socket: TcpStream| {
            socket.set_nonblocking(true)?;
            let arrived = vec![0; AHEAD / ALIGN];
            Ok(Stream { socket, arrived, start: 0, end: 0, pending: Vec::new(), closed: false })
        };
        let streams = sockets.into_iter().map(|s| s.map(stream).transpose()).collect::<std::io::Result<_>>()?;
        Ok(SocketLink { streams, wake })
    }

    fn stream(&mut self, peer: usize) -> &mut Stream {
        self.streams[peer].as_mut().expect("a rank has no stream to itself")
    }
}

impl Link for SocketLink {
    fn begin(&mut self) {
        let mut bytes = [0; 64];
        while matches!(self.wake.0.read(&mut bytes), Ok(count) if count > 0) {}
    }

    fn write(&mut self, to: usize, bytes: &[u8]) -> Result<usize, Closed> {
        let stream = self.stream(to);
        if bytes.len() >= SMALL {
            stream.send_pending()?;
            if stream.pending.is_empty() {
                return stream.send(bytes);
            }
        }
        let count = bytes.len().min(PENDING.saturating_sub(stream.pending.len()));
        stream.pending.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn readable(&mut self, from: usize, want: usize) -> Result<(*const u8, usize), Closed> {
        let stream = self.stream(from);
        if stream.end - stream.start < want.min(AHEAD / 2) {
            stream.receive();
        }
        let count = (stream.end - stream.start) / ALIGN * ALIGN;
        if count == 0 && stream.closed {
            return Err(Closed);
        }
        let start = stream.start;
        Ok((stream.bytes_mut()[start..].as_ptr(), count))
    }

    fn consume(&mut self, from: usize, count: usize) {
        self.stream(from).start += count;
    }

    fn flush(&mut self) -> bool {
        let mut done = true;
        for stream in self.streams.iter_mut().flatten() {
            // A closed stream is noticed where its answer is read.
            if stream.send_pending().is_err() {
                stream.pending.clear();
            }
            done &= stream.pending.is_empty();
        }
        done
    }

    fn is_sent(&self, to: usize) -> bool {
        self.streams[to].as_ref().is_none_or(|stream| stream.pending.is_empty())
    }

    fn wait(&mut self, interest: &[Interest], time: Duration) {
        let mut polled: Vec<libc::pollfd> =
            vec![libc::pollfd { fd: self.wake.0.as_raw_fd(), events: libc::POLLIN, revents: 0 }];
        for (stream, wants) in self.streams.iter().zip(interest) {
            let Some(stream) = stream else { continue };
            let write = wants.write || !stream.pending.is_empty();
            let events = if wants.read { libc::POLLIN } else { 0 } | if write { libc::POLLOUT } else { 0 };
            if events != 0 && !stream.closed {
                polled.push(libc::pollfd { fd: stream.socket.as_raw_fd(), events, revents: 0 });
            }
        }
        // SAFETY: the array has that many entries.
        unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, time.as_millis().max(1) as i32) };
    }

    fn waker(&self) -> Waker {
        let end = self.wake.1.try_clone();
        Box::new(move || {
            if let Ok(end) = &end {
                // A full pipe wakes as well.
                let _ = (&*end).write(&[1]);
            }
        })
    }

    fn name(&self) -> &'static str {
        "sockets"
    }
}
