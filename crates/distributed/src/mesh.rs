//! Connections between all ranks of a group, found through a store.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use crate::auth;
use crate::failure::{Failure, Kind, Result};
use crate::stop;
use crate::store::Store;

/// After this time, ranks that are missing are named.
pub(crate) const NOTICE: Duration = Duration::from_secs(10);

/// How long the session may take to notice that a rank died, after its connection has ended.
const VERDICT: Duration = Duration::from_secs(2);

/// Connections of strangers whose handshake may be under way at a time.
const STRANGERS: usize = 64;

/// What ranks need to know to find each other.
pub(crate) struct Meeting<'a> {
    pub(crate) store: &'a dyn Store,
    /// The prefix of the keys.
    pub(crate) key: &'a str,
    /// World ranks of the group, for messages.
    pub(crate) ranks: &'a [u32],
    pub(crate) me: usize,
    pub(crate) timeout: Duration,
    /// Returns the failure of the job, which ends the wait.
    pub(crate) check: &'a dyn Fn() -> Result<()>,
}

impl Meeting<'_> {
    fn keys(&self, name: &str) -> Vec<String> {
        (0..self.ranks.len()).map(|rank| format!("{}/{name}/{rank}", self.key)).collect()
    }

    /// Publishes a value and returns those of all ranks, in their order.
    ///
    /// # Errors
    /// A rank did not come in time.
    pub(crate) fn all_gather(&self, name: &str, value: &str) -> Result<Vec<String>> {
        let keys = self.keys(name);
        self.store.set(&keys[self.me], value.as_bytes())?;
        let (start, mut next) = (Instant::now(), NOTICE);
        loop {
            let left = self.timeout.saturating_sub(start.elapsed());
            match self.store.wait(&keys, left.min(Duration::from_secs(1))) {
                Ok(()) => break,
                Err(failure) if failure.kind != crate::failure::Kind::Store => return Err(failure),
                Err(failure) if !failure.message.starts_with("wait timeout") => return Err(failure),
                Err(_) => {}
            }
            (self.check)()?;
            if start.elapsed() < next && !left.is_zero() {
                continue;
            }
            let mut missing = Vec::new();
            for (key, rank) in keys.iter().zip(self.ranks) {
                if !self.store.check(std::slice::from_ref(key))? {
                    missing.push(*rank);
                }
            }
            let text = format!(
                "rank {} has waited {} s for {} of {} to join",
                self.ranks[self.me],
                start.elapsed().as_secs(),
                names(&missing),
                self.ranks.len()
            );
            if left.is_zero() {
                return Err(Failure::backend(format!(
                    "[init_process_group] {text}; start all ranks with the same WORLD_SIZE, MASTER_ADDR and \
                     MASTER_PORT, each with its own RANK"
                )));
            }
            eprintln!("[cuprous] {text}; it gives up after {} s", self.timeout.as_secs());
            next += Duration::from_secs(60);
        }
        keys.iter()
            .map(|key| {
                let value = self.store.get(key, Duration::from_secs(10))?;
                String::from_utf8(value).map_err(|_| Failure::store(format!("the key {key:?} has no text")))
            })
            .collect()
    }

    /// Returns the failure of the job, which says more than the end of the connection to a rank, or else that the rank was
    /// lost.
    fn explained(&self, rank: usize, failure: Failure) -> Failure {
        let start = Instant::now();
        while start.elapsed() < VERDICT.min(self.timeout) {
            if let Err(verdict) = (self.check)() {
                return verdict;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Failure::backend(format!(
            "[init_process_group] rank {} waits in vain for rank {} of {} to join: {failure}; the output of that rank says why",
            self.ranks[self.me],
            self.ranks[rank],
            self.ranks.len()
        ))
    }

    /// Connects all ranks with each other. Returns the connections by rank, `None` for this one.
    ///
    /// # Errors
    /// A rank did not come in time, cannot be reached, or does not know the token.
    pub(crate) fn connect(&self, ip: IpAddr, token: &[u8], purpose: &str) -> Result<Vec<Option<TcpStream>>> {
        let me = self.ranks[self.me];
        let io = |what: &str, e: std::io::Error| Failure::network(format!("[rank {me}] cannot {what}: {e}"));
        let listener = TcpListener::bind((ip, 0)).map_err(|e| io(&format!("listen on {ip}"), e))?;
        let own = listener.local_addr().map_err(|e| io("listen", e))?;
        let addresses = self.all_gather(purpose, &own.to_string())?;
        let mut sockets: Vec<Option<TcpStream>> = self.ranks.iter().map(|_| None).collect();
        for rank in 0..self.me {
            let address: SocketAddr = addresses[rank]
                .parse()
                .map_err(|_| Failure::store(format!("rank {} published no address", self.ranks[rank])))?;
            let mut socket = TcpStream::connect_timeout(&address, Duration::from_secs(30)).map_err(|e| {
                self.explained(rank, io(&format!("connect to rank {} at {address}", self.ranks[rank]), e))
            })?;
            auth::prove(&mut socket, token, purpose, true, self.me as u32).map_err(|failure| {
                if failure.kind == Kind::Backend { self.explained(rank, failure) } else { failure }
            })?;
            sockets[rank] = Some(socket);
        }
        listener.set_nonblocking(true).map_err(|e| io("listen", e))?;
        let (found, proven) = mpsc::channel();
        let open = Arc::new(AtomicUsize::new(0));
        let start = Instant::now();
        while let Some(missing) = (self.me + 1..self.ranks.len()).find(|&rank| sockets[rank].is_none()) {
            if start.elapsed() > self.timeout.min(Duration::from_secs(60)) {
                return Err(Failure::backend(format!(
                    "[init_process_group] rank {me} has waited {} s for rank {} of {} to join: it published its address, \
                     but did not connect",
                    start.elapsed().as_secs(),
                    self.ranks[missing],
                    self.ranks.len()
                )));
            }
            stop::check()?;
            (self.check)()?;
            while let Ok((rank, socket)) = proven.try_recv() {
                if rank > self.me && rank < sockets.len() {
                    sockets[rank] = Some(socket);
                }
            }
            let room = open.load(Relaxed) < self.ranks.len() + STRANGERS;
            let Some((socket, _)) = room.then(|| listener.accept().ok()).flatten() else {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            };
            // A stranger is refused, and no rank waits for it meanwhile.
            let (token, purpose, me, open) = (token.to_vec(), purpose.to_owned(), self.me as u32, open.clone());
            let found = found.clone();
            open.fetch_add(1, Relaxed);
            let handshake = move || {
                let mut socket = socket;
                let proof = socket.set_nonblocking(false).ok();
                let rank = proof.and_then(|()| auth::prove(&mut socket, &token, &purpose, false, me).ok());
                open.fetch_sub(1, Relaxed);
                rank.map(|rank| found.send((rank as usize, socket)))
            };
            let thread = std::thread::Builder::new().name("cuprous-accept".into()).spawn(handshake);
            thread.map_err(|e| io("start a thread", e))?;
        }
        for socket in sockets.iter().flatten() {
            socket.set_nodelay(true).map_err(|e| io("configure a connection", e))?;
        }
        Ok(sockets)
    }
}

/// Returns `rank 3` or `ranks 3, 5 and 7`.
pub(crate) fn names(ranks: &[u32]) -> String {
    let texts: Vec<String> = ranks.iter().map(u32::to_string).collect();
    match &texts[..] {
        [] => "no rank".into(),
        [one] => format!("rank {one}"),
        [most @ .., last] => format!("ranks {} and {last}", most.join(", ")),
    }
}

/// Returns the address of this machine on which to listen: the one from which the master is reached.
///
/// # Errors
/// The master's name is unknown, or no address reaches it.
pub fn own_address(master: Option<(&str, u16)>) -> Result<IpAddr> {
    let Some((host, port)) = master else { return Ok(Ipv4Addr::LOCALHOST.into()) };
    let wrong = |e: std::io::Error| Failure::network(format!("MASTER_ADDR={host} cannot be reached: {e}"));
    let mut addresses = (host, port).to_socket_addrs().map_err(wrong)?;
    let address = addresses.next().ok_or_else(|| wrong(std::io::ErrorKind::NotFound.into()))?;
    if address.ip().is_unspecified() {
        return Err(Failure::value(format!(
            "MASTER_ADDR={host} means every interface; give the address of the machine of rank 0, or 127.0.0.1"
        )));
    }
    if address.ip().is_loopback() {
        return Ok(address.ip());
    }
    // Nothing is sent: the system only chooses the interface.
    let any: IpAddr =
        if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { std::net::Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0)).and_then(|s| s.connect(address).map(|()| s)).map_err(wrong)?;
    Ok(socket.local_addr().map_err(wrong)?.ip())
}
