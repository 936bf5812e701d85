//! The client of a TCPStore, ours or PyTorch's.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::wire::{self, Request};
use super::{Server, Store, late};
use crate::failure::{Failure, Kind, Result};
use crate::stop;

/// How long an answer that needs no other rank may take.
const ANSWER: Duration = Duration::from_secs(60);
/// A wait polls for Ctrl-C this often.
const SLICE: Duration = Duration::from_millis(50);

/// A client of a TCPStore, with the server if it runs in this process.
pub struct TcpStore {
    host: String,
    port: u16,
    socket: Mutex<TcpStream>,
    timeout: Duration,
    server: Option<Arc<Server>>,
}

fn io(e: std::io::Error) -> Failure {
    Failure::store(format!("[TCPStore] the connection to the store broke: {e}; rank 0 or the launcher may have ended"))
}

impl TcpStore {
    /// Connects to a server. It may start later, within `timeout`.
    ///
    /// # Errors
    /// The server cannot be reached in time.
    pub fn connect(host: &str, port: u16, timeout: Duration, server: Option<Arc<Server>>) -> Result<TcpStore> {
        let start = Instant::now();
        let mut wait = Duration::from_millis(5);
        let socket = loop {
            match connect_once(host, port) {
                Ok(socket) => break socket,
                Err(e) if start.elapsed() + wait >= timeout => {
                    return Err(Failure::network(format!(
                        "[TCPStore] cannot connect to {host}:{port} within {} s: {e}. Is rank 0 running, and are \
                         MASTER_ADDR and MASTER_PORT the same on all ranks?",
                        timeout.as_secs_f32()
                    )));
                }
                Err(_) => {
                    stop::check()?;
                    std::thread::sleep(wait);
                    wait = (wait * 2).min(Duration::from_millis(200));
                }
            }
        };
        let store = TcpStore { host: host.to_owned(), port, socket: Mutex::new(socket), timeout, server };
        store.tell(&Request::Validate(wire::MAGIC))?;
        let nonce = std::process::id();
        let left = timeout.saturating_sub(start.elapsed()).clamp(SLICE, ANSWER);
        match store.ask(&Request::Ping(nonce), number::<4>, left) {
            Ok(answer) if u32::from_le_bytes(answer) == nonce => Ok(store),
            Err(failure) if failure.kind == Kind::Interrupted => Err(failure),
            _ => Err(Failure::network(format!(
                "[TCPStore] {host}:{port} accepts connections but is not a store: another program may use the port, \
                 perhaps another job. Use another MASTER_PORT, or --standalone"
            ))),
        }
    }

    /// Returns the host.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the port.
    pub fn port(&self) -> u16 {
        self.port
    }

    fn socket(&self) -> MutexGuard<'_, TcpStream> {
        self.socket.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Sends a request that has no answer.
    fn tell(&self, request: &Request) -> Result<()> {
        self.socket().write_all(&request.encode()).map_err(io)
    }

    /// Sends a request and reads the answer, which begins to arrive within `limit`.
    fn ask<T>(&self, request: &Request, read: impl Fn(&mut TcpStream) -> Result<T>, limit: Duration) -> Result<T> {
        let mut socket = self.socket();
        socket.write_all(&request.encode()).map_err(io)?;
        let came = arrives(&socket, limit);
        if !matches!(came, Ok(true)) {
            // The answer would be taken for that of the next request.
            let _ = socket.shutdown(Shutdown::Both);
            came?;
            let (host, port, limit) = (&self.host, self.port, limit.as_secs_f32());
            return Err(Failure::store(format!("[TCPStore] {host}:{port} has not answered within {limit} s")));
        }
        read(&mut socket)
    }

    fn exchange<T>(&self, request: &Request, read: impl Fn(&mut TcpStream) -> Result<T>) -> Result<T> {
        self.ask(request, read, ANSWER)
    }
}

fn connect_once(host: &str, port: u16) -> std::io::Result<TcpStream> {
    let mut last = std::io::Error::from(std::io::ErrorKind::NotFound);
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, Duration::from_secs(5)) {
            Ok(socket) => {
                socket.set_nodelay(true)?;
                socket.set_read_timeout(Some(ANSWER))?;
                return Ok(socket);
            }
            Err(e) => last = e,
        }
    }
    Err(last)
}

fn number<const N: usize>(socket: &mut TcpStream) -> Result<[u8; N]> {
    let mut bytes = [0; N];
    socket.read_exact(&mut bytes).map_err(io)?;
    Ok(bytes)
}

fn value(socket: &mut TcpStream) -> Result<Vec<u8>> {
    let length = u64::from_le_bytes(number(socket)?);
    if length > wire::MAX_VALUE as u64 {
        return Err(Failure::store(format!("[TCPStore] a value of {length} bytes is too long")));
    }
    let mut bytes = vec![0; length as usize];
    socket.read_exact(&mut bytes).map_err(io)?;
    Ok(bytes)
}

/// Returns true if an answer arrives in time.
fn arrives(socket: &TcpStream, timeout: Duration) -> Result<bool> {
    let start = Instant::now();
    loop {
        let left = timeout.saturating_sub(start.elapsed());
        let mut polled = libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one entry.
        let ready = unsafe { libc::poll(&mut polled, 1, left.min(SLICE).as_millis() as i32) };
        if ready > 0 {
            return Ok(true);
        }
        if left.is_zero() {
            return Ok(false);
        }
        stop::check()?;
    }
}

fn full(key: &str) -> Result<String> {
    if key.len() >= wire::MAX_KEY {
        return Err(Failure::value(format!("[TCPStore] a key has at most {} bytes", wire::MAX_KEY - 1)));
    }
    Ok(format!("/{key}"))
}

fn fits(value: &[u8]) -> Result<()> {
    match value.len() <= wire::MAX_VALUE {
        true => Ok(()),
        false => Err(Failure::value(format!("[TCPStore] a value has at most {} bytes", wire::MAX_VALUE))),
    }
}

fn full_all(keys: &[String]) -> Result<Vec<String>> {
    keys.iter().map(|key| full(key)).collect()
}

impl Store for TcpStore {
    fn set(&self, key: &str, value: &[u8]) -> Result<()> {
        fits(value)?;
        self.tell(&Request::Set(full(key)?, value.to_vec()))
    }

    fn try_get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        if !self.check(&[key.to_owned()])? {
            return Ok(None);
        }
        self.exchange(&Request::Get(full(key)?), value).map(Some)
    }

    fn add(&self, key: &str, amount: i64) -> Result<i64> {
        self.exchange(&Request::Add(full(key)?, amount), number).map(i64::from_le_bytes)
    }

    fn check(&self, keys: &[String]) -> Result<bool> {
        Ok(self.exchange(&Request::Check(full_all(keys)?), number::<1>)? == [wire::READY])
    }

    fn compare_set(&self, key: &str, expected: &[u8], desired: &[u8]) -> Result<Vec<u8>> {
        fits(expected).and_then(|()| fits(desired))?;
        self.exchange(&Request::CompareSet(full(key)?, expected.to_vec(), desired.to_vec()), value)
    }

    fn delete(&self, key: &str) -> Result<bool> {
        Ok(self.exchange(&Request::DeleteKey(full(key)?), number).map(i64::from_le_bytes)? == 1)
    }

    fn num_keys(&self) -> Result<i64> {
        self.exchange(&Request::GetNumKeys, number).map(i64::from_le_bytes)
    }

    fn list_keys(&self) -> Result<Vec<String>> {
        self.exchange(&Request::ListKeys, |socket| {
            let count = u64::from_le_bytes(number(socket)?);
            let keys: Result<Vec<Vec<u8>>> = (0..count).map(|_| value(socket)).collect();
            let name = |key: Vec<u8>| String::from_utf8_lossy(key.strip_prefix(b"/").unwrap_or(&key)).into_owned();
            Ok(keys?.into_iter().map(name).collect())
        })
    }

    fn queue_push(&self, key: &str, value: &[u8]) -> Result<()> {
        fits(value)?;
        self.tell(&Request::QueuePush(full(key)?, value.to_vec()))
    }

    fn try_queue_pop(&self, key: &str) -> Result<Option<Vec<u8>>> {
        self.exchange(&Request::QueuePop(full(key)?), |socket| match i64::from_le_bytes(number(socket)?) {
            ..=0 => Ok(None),
            _ => value(socket).map(Some),
        })
    }

    fn queue_len(&self, key: &str) -> Result<i64> {
        self.exchange(&Request::QueueLen(full(key)?), number).map(i64::from_le_bytes)
    }

    fn append(&self, key: &str, value: &[u8]) -> Result<()> {
        fits(value)?;
        self.tell(&Request::Append(full(key)?, value.to_vec()))
    }

    fn wait(&self, keys: &[String], timeout: Duration) -> Result<()> {
        let mut socket = self.socket();
        socket.write_all(&Request::Wait(full_all(keys)?).encode()).map_err(io)?;
        let came = arrives(&socket, timeout);
        if matches!(came, Ok(true)) {
            return match number(&mut socket)? {
                [wire::STOP_WAITING] => Ok(()),
                _ => Err(Failure::store("[TCPStore] the store gave an answer that is not one to a wait")),
            };
        }
        // The server may have answered before it read the cancellation.
        socket.write_all(&Request::CancelWait.encode()).map_err(io)?;
        while number(&mut socket)? != [wire::WAIT_CANCELED] {}
        came?;
        Err(late(keys, timeout))
    }

    fn another(self: Arc<Self>) -> Result<Arc<dyn Store>> {
        Ok(Arc::new(TcpStore::connect(&self.host, self.port, self.timeout, self.server.clone())?))
    }
}
