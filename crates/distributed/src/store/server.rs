//! The server of a TCPStore: one thread that answers all clients.

use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::memory::Table;
use super::wire::{self, Incomplete, Request};
use crate::auth;
use crate::failure::{Failure, Result};

/// The most clients at a time.
const MAX_CLIENTS: usize = 4096;
/// Bytes of a request that may arrive before it is complete: a list of keys and values.
const MAX_REQUEST: usize = 64 << 20;
/// How long a value of a queue is kept for a client whose wait for it has ended. PyTorch's clients wait, then take it,
/// and do not wait again if another one was faster.
const KEEP: Duration = Duration::from_secs(1);

struct Client {
    socket: TcpStream,
    arrived: Vec<u8>,
    answers: Vec<u8>,
    /// Keys for which the client waits.
    awaited: Option<Vec<String>>,
    /// The queue of which a value is kept for the client, and since when.
    kept: Option<(String, Instant)>,
    since: Instant,
    is_valid: bool,
    is_closed: bool,
}

impl Client {
    fn receive(&mut self) {
        let mut room = [0; 16 << 10];
        loop {
            match self.socket.read(&mut room) {
                Ok(0) => self.is_closed = true,
                Ok(count) => {
                    self.arrived.extend(&room[..count]);
                    if self.arrived.len() > MAX_REQUEST {
                        self.is_closed = true;
                    } else if count == room.len() {
                        continue;
                    }
                }
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(_) => self.is_closed = true,
            }
            return;
        }
    }

    /// Answers the complete requests. Returns true if keys were set.
    fn answer(&mut self, table: &mut Table) -> bool {
        let (mut at, mut changed) = (0, false);
        while !self.is_closed {
            if !self.is_valid && self.arrived.get(at).is_some_and(|&command| command != wire::VALIDATE) {
                self.is_closed = true;
                break;
            }
            match wire::parse(&self.arrived[at..]) {
                Ok((request, length)) => {
                    at += length;
                    match request {
                        Request::Validate(wire::MAGIC) if !self.is_valid => self.is_valid = true,
                        _ if !self.is_valid => self.is_closed = true,
                        request => {
                            // Whatever it asks next, it takes the value now or not at all.
                            changed |= self.kept.take().is_some();
                            changed |= self.perform(request, table);
                        }
                    }
                }
                Err(Incomplete::More) => break,
                Err(Incomplete::Never) => self.is_closed = true,
            }
        }
        self.arrived.drain(..at);
        changed
    }

    fn perform(&mut self, request: Request, table: &mut Table) -> bool {
        let out = &mut self.answers;
        let mut changed = false;
        match request {
            Request::Set(key, value) => {
                table.keys.insert(key, value);
                changed = true;
            }
            Request::CompareSet(key, expected, desired) => {
                wire::put(out, &table.compare_set(&key, &expected, &desired));
                changed = true;
            }
            Request::Get(key) => match table.keys.get(&key) {
                Some(value) => wire::put(out, value),
                None => self.is_closed = true,
            },
            Request::Add(key, amount) => match table.add(&key, amount) {
                Some(sum) => {
                    out.extend(sum.to_le_bytes());
                    changed = true;
                }
                None => self.is_closed = true,
            },
            Request::Check(keys) => out.push(if table.has(&keys) { wire::READY } else { wire::NOT_READY }),
            Request::Wait(keys) if table.has(&keys) && !keys.iter().any(|key| table.is_queue(key)) => {
                out.push(wire::STOP_WAITING);
            }
            Request::Wait(keys) => {
                self.awaited = Some(keys);
                changed = true;
            }
            Request::GetNumKeys => out.extend((table.keys.len() as i64).to_le_bytes()),
            Request::DeleteKey(key) => out.extend(i64::from(table.keys.remove(&key).is_some()).to_le_bytes()),
            Request::Append(key, value) => {
                table.append(&key, &value);
                changed = true;
            }
            Request::MultiGet(keys) => {
                for key in keys {
                    match table.keys.get(&key) {
                        Some(value) => wire::put(out, value),
                        None => self.is_closed = true,
                    }
                }
            }
            Request::MultiSet(pairs) => {
                table.keys.extend(pairs);
                changed = true;
            }
            Request::CancelWait => {
                self.awaited = None;
                out.push(wire::WAIT_CANCELED);
            }
            Request::QueuePush(key, value) => {
                table.push(key, value);
                changed = true;
            }
            Request::QueuePop(key) => {
                out.extend(table.queue_len(&key).to_le_bytes());
                if let Some(value) = table.pop(&key) {
                    wire::put(out, &value);
                }
            }
            Request::QueueLen(key) => out.extend(table.queue_len(&key).to_le_bytes()),
            Request::ListKeys => {
                out.extend((table.keys.len() as u64).to_le_bytes());
                table.keys.keys().for_each(|key| wire::put(out, key.as_bytes()));
            }
            Request::Ping(nonce) => out.extend(nonce.to_le_bytes()),
            Request::Validate(_) => self.is_closed = true,
        }
        changed
    }

    /// Ends the wait if its keys are set. `kept` are the values of each queue that are kept for other clients.
    fn end_wait(&mut self, table: &Table, kept: &mut HashMap<String, i64>) {
        let is_free = |key: &String| !table.is_queue(key) || table.queue_len(key) > kept.get(key).copied().unwrap_or(0);
        if let Some(keys) = self.awaited.take_if(|keys| table.has(keys) && keys.iter().all(is_free)) {
            self.answers.push(wire::STOP_WAITING);
            if let [key] = &keys[..]
                && table.is_queue(key)
            {
                *kept.entry(key.clone()).or_default() += 1;
                self.kept = Some((key.clone(), Instant::now()));
            }
        }
    }

    fn send(&mut self) {
        while !self.answers.is_empty() {
            match self.socket.write(&self.answers) {
                Ok(count) => drop(self.answers.drain(..count)),
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => return,
                Err(_) => {
                    self.is_closed = true;
                    return;
                }
            }
        }
    }
}

/// The server of a TCPStore. It ends when it is dropped.
pub struct Server {
    address: SocketAddr,
    end: UnixStream,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Server {
    /// Starts a server on one address; port 0 is any free port.
    ///
    /// # Errors
    /// The port is taken, or the address is not this machine's.
    pub fn start(ip: IpAddr, port: u16) -> Result<Arc<Server>> {
        let listener = TcpListener::bind((ip, port)).map_err(|e| {
            let advice = match e.kind() {
                ErrorKind::AddrInUse => {
                    "another program uses the port, perhaps another job; use --standalone or port 0, or another \
                     MASTER_PORT"
                }
                ErrorKind::AddrNotAvailable => "the address is not this machine's; MASTER_ADDR must be rank 0's",
                _ => "the address cannot be bound",
            };
            Failure::network(format!("[TCPStore] cannot listen on {ip}:{port}: {advice} ({e})"))
        })?;
        let io = |e: std::io::Error| Failure::network(format!("[TCPStore] cannot start its server: {e}"));
        listener.set_nonblocking(true).map_err(io)?;
        let address = listener.local_addr().map_err(io)?;
        let (end, ended) = UnixStream::pair().map_err(io)?;
        let thread = std::thread::Builder::new().name("cuprous-store".into()).spawn(move || serve(&listener, &ended));
        Ok(Arc::new(Server { address, end, thread: Mutex::new(Some(thread.map_err(io)?)) }))
    }

    /// Returns the port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.end.shutdown(std::net::Shutdown::Both);
        if let Some(thread) = self.thread.lock().unwrap_or_else(|e| e.into_inner()).take() {
            let _ = thread.join();
        }
    }
}

fn serve(listener: &TcpListener, ended: &UnixStream) {
    let mut table = Table::default();
    let mut clients: Vec<Client> = Vec::new();
    loop {
        let entry = |fd, events| libc::pollfd { fd, events, revents: 0 };
        let mut polled = vec![entry(ended.as_raw_fd(), libc::POLLIN), entry(listener.as_raw_fd(), libc::POLLIN)];
        polled.extend(clients.iter().map(|client| {
            let out = if client.answers.is_empty() { 0 } else { libc::POLLOUT };
            entry(client.socket.as_raw_fd(), libc::POLLIN | out)
        }));
        // SAFETY: the array has that many entries.
        unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, 1000) };
        if polled[0].revents != 0 {
            return;
        }
        let mut changed = false;
        for (client, polled) in clients.iter_mut().zip(&polled[2..]) {
            if polled.revents != 0 {
                client.receive();
                changed |= client.answer(&mut table);
            }
        }
        for client in &mut clients {
            let is_over = |(_, since): &mut (String, Instant)| since.elapsed() > KEEP;
            changed |= client.kept.take_if(is_over).is_some() || (client.is_closed && client.kept.take().is_some());
        }
        let mut kept = HashMap::new();
        if changed {
            clients.iter().filter_map(|client| client.kept.as_ref()).for_each(|(key, _)| {
                *kept.entry(key.clone()).or_default() += 1;
            });
        }
        for client in &mut clients {
            if changed {
                client.end_wait(&table, &mut kept);
            }
            client.send();
            client.is_closed |= !client.is_valid && client.since.elapsed() > auth::TIME;
        }
        clients.retain(|client| !client.is_closed);
        while let Ok((socket, _)) = listener.accept() {
            let ready = socket.set_nonblocking(true).and_then(|()| socket.set_nodelay(true));
            if ready.is_ok() && clients.len() < MAX_CLIENTS {
                let (arrived, answers) = (Vec::new(), Vec::new());
                let (awaited, kept, since) = (None, None, Instant::now());
                let (is_valid, is_closed) = (false, false);
                clients.push(Client { socket, arrived, answers, awaited, kept, since, is_valid, is_closed });
            }
        }
        if clients.len() >= MAX_CLIENTS {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
