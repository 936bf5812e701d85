//! The control plane of a process: who the ranks are, and what happened to them.
//!
//! Each pair of ranks has a connection for control alone. A thread watches these connections and never waits for
//! anything else, so that a rank that dies, leaves or fails is known while others wait for its data. The first verdict
//! is final: from then on every operation of the process's groups fails with it.

use std::collections::HashMap;
use std::io::Write;
use std::net::{IpAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cuprous_core::presence;

use crate::call::{self, Call};
use crate::failure::{Failure, Kind, Result};
use crate::ledger::Ledger;
use crate::link::Waker;
use crate::mesh::Meeting;
use crate::status::zombie_status;
use crate::store::Store;
use crate::waits::{Waiting, Waits};

/// The longest message.
const MAX_TEXT: usize = 64 << 10;
/// Ranks on other hosts say this often that they live.
const BEAT: Duration = Duration::from_secs(1);
/// A silent host is taken for dead after this time.
const SILENCE: Duration = Duration::from_secs(15);
/// How long the exit status of a dead rank is looked for.
const STATUS: Duration = Duration::from_millis(1000);

const FAILED: u8 = 1;
const LEFT: u8 = 2;
const LIVES: u8 = 3;
const CALLS: u8 = 4;
const ENDED: u8 = 5;
const ASKS: u8 = 6;
const ANSWERS: u8 = 7;

/// What a process says about itself when it joins.
#[derive(Clone, Debug)]
pub struct Peer {
    /// The host's name.
    pub host: String,
    boot: String,
    /// The process.
    pub pid: u32,
}

impl Peer {
    fn own() -> Peer {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        Peer {
            host: read("/proc/sys/kernel/hostname"),
            boot: read("/proc/sys/kernel/random/boot_id"),
            pid: std::process::id(),
        }
    }

    fn text(&self) -> String {
        format!("{}\n{}\n{}", self.host, self.boot, self.pid)
    }

    fn parse(text: &str) -> Option<Peer> {
        let mut lines = text.lines();
        Some(Peer { host: lines.next()?.into(), boot: lines.next()?.into(), pid: lines.next()?.parse().ok()? })
    }
}

#[derive(Default)]
struct State {
    verdict: Option<Failure>,
    /// Why a rank is gone in good order.
    left: Vec<Option<String>>,
    /// The last call that is known of each rank.
    last: Vec<Option<Call>>,
}

/// The ranks of a job, as one of them sees the others.
pub struct Session {
    /// This process's rank.
    pub rank: u32,
    /// The job's token.
    pub(crate) token: Vec<u8>,
    /// The address on which this process listens.
    pub(crate) ip: IpAddr,
    peers: Vec<Peer>,
    sockets: Vec<Option<TcpStream>>,
    state: Mutex<State>,
    has_failed: AtomicBool,
    /// True if a rank has left.
    has_left: AtomicBool,
    is_ending: AtomicBool,
    wakers: Mutex<Vec<Waker>>,
    /// The calls of groups whose transport does not compare them, by the group's number.
    ledgers: Mutex<HashMap<u32, Weak<Ledger>>>,
    waits: Waits,
    /// Held while a frame is written, which no other may interrupt.
    writing: Mutex<()>,
    end: UnixStream,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Where the launcher writes how ranks ended.
    statuses: Option<Arc<dyn Store>>,
}

impl Session {
    /// Joins the ranks of a job and begins to watch them. `statuses` is a store in which the launcher writes how ranks
    /// ended.
    ///
    /// # Errors
    /// A rank did not come in time, or cannot be reached.
    pub fn start(
        store: &dyn Store,
        rank: u32,
        world: u32,
        ip: IpAddr,
        token: Option<Vec<u8>>,
        timeout: Duration,
        statuses: Option<Arc<dyn Store>>,
    ) -> Result<Arc<Session>> {
        let ranks: Vec<u32> = (0..world).collect();
        let check = || Ok(());
        let meeting = Meeting { store, key: "session", ranks: &ranks, me: rank as usize, timeout, check: &check };
        let own = Peer::own();
        // Without a launcher's token, rank 0's keeps strangers out who cannot read the store.
        let secret = match token {
            Some(_) => String::new(),
            None => crate::shm::random_name().map_err(|e| Failure::network(format!("no random numbers: {e}")))?,
        };
        let published = meeting.all_gather("peer", &format!("{}\n{secret}", own.text()))?;
        let token = token.unwrap_or_else(|| published[0].lines().nth(3).unwrap_or_default().as_bytes().to_vec());
        let peers: Option<Vec<Peer>> = published.iter().map(|text| Peer::parse(text)).collect();
        let peers = peers.ok_or_else(|| Failure::store("the store has keys of another program"))?;
        if let Some(other) = (0..peers.len()).find(|&k| ip.is_loopback() && peers[k].boot != own.boot) {
            return Err(Failure::value(format!(
                "[init_process_group] rank {other} is on host {} and rank {rank} on {}, but this rank listens on {ip}; \
                 set MASTER_ADDR to an address of rank 0's host that all hosts reach",
                peers[other].host, own.host
            )));
        }
        let sockets = meeting.connect(ip, &token, "control")?;
        let io = |e: std::io::Error| Failure::network(format!("cannot watch the other ranks: {e}"));
        for socket in sockets.iter().flatten() {
            socket.set_write_timeout(Some(Duration::from_secs(1))).map_err(io)?;
        }
        let (end, ended) = UnixStream::pair().map_err(io)?;
        let n = world as usize;
        let session = Arc::new(Session {
            rank,
            token,
            ip,
            peers,
            sockets,
            state: Mutex::new(State { verdict: None, left: vec![None; n], last: vec![None; n] }),
            has_failed: AtomicBool::new(false),
            has_left: AtomicBool::new(false),
            is_ending: AtomicBool::new(false),
            wakers: Mutex::default(),
            ledgers: Mutex::default(),
            waits: Waits::default(),
            writing: Mutex::default(),
            end,
            thread: Mutex::default(),
            statuses,
        });
        let watched = session.clone();
        let thread = std::thread::Builder::new()
            .name("cuprous-watch".into())
            .spawn(move || Watch::new(&watched).run(&ended))
            .map_err(io)?;
        *session.thread.lock().unwrap_or_else(|e| e.into_inner()) = Some(thread);
        presence::set_rank(Some([rank, world]));
        Ok(session)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Returns the number of ranks.
    pub fn world(&self) -> u32 {
        self.peers.len() as u32
    }

    /// Returns true if all of these ranks are on one host.
    pub(crate) fn on_one_host(&self, ranks: &[u32]) -> bool {
        let boot = |rank: u32| &self.peers[rank as usize].boot;
        ranks.iter().all(|&rank| !boot(rank).is_empty() && boot(rank) == boot(ranks[0]))
    }

    /// Returns the failure that ended the job, if any.
    pub fn verdict(&self) -> Option<Failure> {
        if self.has_failed.load(Acquire) { self.state().verdict.clone() } else { None }
    }

    /// Returns why a rank has left in good order, if it has.
    pub(crate) fn left(&self, rank: u32) -> Option<String> {
        if self.has_left.load(Acquire) { self.state().left[rank as usize].clone() } else { None }
    }

    /// Notes the call that a rank makes.
    pub(crate) fn note(&self, rank: u32, call: &Call) {
        self.state().last[rank as usize] = Some(call.clone());
    }

    /// Returns the last call that is known of a rank.
    pub(crate) fn last_call(&self, rank: u32) -> Option<Call> {
        self.state().last[rank as usize].clone()
    }

    /// Returns what is known of the last call of a rank.
    pub(crate) fn last(&self, rank: u32) -> String {
        match self.last_call(rank) {
            Some(call) => format!("its last call was #{} {}", call.seq, call.text()),
            None => "it has made no call".into(),
        }
    }

    /// Returns a rank with its host and process.
    pub fn name(&self, rank: u32) -> String {
        let peer = &self.peers[rank as usize];
        format!("rank {rank} (host {}, process {})", peer.host, peer.pid)
    }

    /// Registers a function that wakes a wait when the job fails.
    pub(crate) fn on_change(&self, waker: Waker) {
        self.wakers.lock().unwrap_or_else(|e| e.into_inner()).push(waker);
    }

    fn wake(&self) {
        self.wakers.lock().unwrap_or_else(|e| e.into_inner()).iter().for_each(|wake| wake());
    }

    /// Makes a failure the verdict unless there is one, and returns the verdict.
    fn decide(&self, failure: Failure) -> Failure {
        let verdict = self.state().verdict.get_or_insert(failure).clone();
        self.has_failed.store(true, Release);
        self.wake();
        verdict
    }

    /// Ends the job for all ranks, with this text. Returns the verdict, which is another one if the job has failed
    /// already.
    pub fn fail(&self, text: &str) -> Failure {
        if !self.has_failed.load(Acquire) {
            self.send(FAILED, text);
        }
        self.decide(Failure::backend(text))
    }

    fn send(&self, kind: u8, text: &str) {
        let mut cut = text.len().min(MAX_TEXT);
        while !text.is_char_boundary(cut) {
            cut -= 1;
        }
        (0..self.world()).for_each(|rank| self.send_to(rank, kind, &text.as_bytes()[..cut]));
    }

    fn send_to(&self, rank: u32, kind: u8, content: &[u8]) {
        let Some(mut socket) = self.sockets[rank as usize].as_ref() else { return };
        let mut frame = vec![kind];
        frame.extend((content.len() as u32).to_le_bytes());
        frame.extend(content);
        let _whole = self.writing.lock().unwrap_or_else(|e| e.into_inner());
        // A rank that cannot be reached is gone, and this rank's watch says so.
        let _ = socket.write_all(&frame);
    }

    /// Compares the calls of other ranks with those of a group from now on.
    pub(crate) fn open_ledger(&self, group: u32, ledger: &Arc<Ledger>) {
        self.ledgers.lock().unwrap_or_else(|e| e.into_inner()).insert(group, Arc::downgrade(ledger));
    }

    /// Says to a rank what this one calls.
    pub(crate) fn send_calls(&self, rank: u32, calls: &[Call]) {
        for some in calls.chunks(MAX_TEXT / call::BYTES) {
            let content: Vec<u8> = some.iter().flat_map(Call::encode).collect();
            self.send_to(rank, CALLS, &content);
        }
    }

    /// Says to a rank that this one has left a group after the call of that number.
    pub(crate) fn send_end(&self, rank: u32, group: u32, seq: u64) {
        let content = [&group.to_le_bytes()[..], &seq.to_le_bytes()].concat();
        self.send_to(rank, ENDED, &content);
    }

    /// Returns a place where a thread waits for other ranks, of which they hear when they ask.
    pub(crate) fn waiting(&self) -> Waiting<'_> {
        self.waits.place()
    }

    /// Returns why ranks for which this one waits do not come, to be appended to a text: what they wait for themselves, or
    /// that they do not answer. Takes a second or so.
    pub(crate) fn explain(&self, ranks: &[u32]) -> String {
        let ask = |rank| {
            let is_known = rank < self.world();
            if is_known {
                self.send_to(rank, ASKS, &[]);
            }
            is_known
        };
        self.waits.explain(self.rank, ranks, ask, || self.verdict().is_some())
    }

    fn ledger(&self, group: u32) -> Option<Arc<Ledger>> {
        self.ledgers.lock().unwrap_or_else(|e| e.into_inner()).get(&group).and_then(Weak::upgrade)
    }

    /// Notes that another rank has left a group. Returns false if it is not understood.
    fn hear_end(&self, rank: u32, content: &[u8]) -> bool {
        let Some((group, seq)) = content.split_first_chunk::<4>() else { return false };
        let Ok(seq) = seq.try_into() else { return false };
        if let Some(ledger) = self.ledger(u32::from_le_bytes(*group)) {
            ledger.end(rank, u64::from_le_bytes(seq));
            self.wake();
        }
        true
    }

    /// Notes what another rank calls. Returns false if it is not understood.
    fn hear(&self, rank: u32, content: &[u8]) -> bool {
        for bytes in content.chunks(call::BYTES) {
            let Some(call) = bytes.try_into().ok().and_then(|bytes| Call::decode(bytes).ok()) else { return false };
            self.note(rank, &call);
            if let Some(wrong) = self.ledger(call.group).and_then(|ledger| ledger.hear(rank, call)) {
                self.fail(&wrong);
            }
        }
        true
    }

    /// Tells the other ranks that this one leaves in good order, and stops watching them.
    pub fn leave(&self) {
        if self.is_ending.swap(true, AcqRel) {
            return;
        }
        // A rank must not hear of this end before its cause, which may still be on its way there from another rank.
        if let Some(cause) = self.verdict() {
            self.send(FAILED, &cause.message);
        }
        let last = self.last(self.rank);
        self.send(LEFT, &last);
        let _ = self.end.shutdown(std::net::Shutdown::Both);
        if let Some(thread) = self.thread.lock().unwrap_or_else(|e| e.into_inner()).take() {
            let _ = thread.join();
        }
        for socket in self.sockets.iter().flatten() {
            let _ = socket.shutdown(std::net::Shutdown::Both);
        }
        self.wakers.lock().unwrap_or_else(|e| e.into_inner()).clear();
        self.decide(Failure::backend("the process group was destroyed"));
        presence::set_rank(None);
        // What ranks that were killed have published is removed.
        let _running = presence::processes();
    }

    /// Closes this session's descriptors in a child process, so that other ranks notice when the parent ends.
    pub fn close_in_child(&self) {
        for socket in self.sockets.iter().flatten() {
            // SAFETY: the child never uses the session: its functions check the process first.
            unsafe { libc::close(socket.as_raw_fd()) };
        }
    }

    /// Returns how a dead rank ended, if the launcher or the system says so soon.
    fn exit_status(&self, rank: u32) -> Option<String> {
        let start = Instant::now();
        let here = self.on_one_host(&[rank, self.rank]);
        while start.elapsed() < STATUS && !self.is_ending.load(Relaxed) {
            if let Some(store) = &self.statuses
                && let Ok(Some(text)) = store.try_get(&format!("exit/{rank}"))
            {
                return Some(String::from_utf8_lossy(&text).into_owned());
            }
            if here && let Some(status) = zombie_status(self.peers[rank as usize].pid) {
                return Some(status);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }

    fn died(&self, rank: u32) {
        let how = self.exit_status(rank).unwrap_or_else(|| "its exit status is not known here".into());
        self.decide(Failure::backend(format!("{} died: {how}; {}", self.name(rank), self.last(rank))));
    }
}

/// The loop of the watch thread.
struct Watch<'a> {
    session: &'a Session,
    arrived: Vec<Vec<u8>>,
    is_open: Vec<bool>,
    heard: Vec<Instant>,
    is_remote: Vec<bool>,
}

impl<'a> Watch<'a> {
    fn new(session: &'a Session) -> Watch<'a> {
        let n = session.sockets.len();
        Watch {
            session,
            arrived: vec![Vec::new(); n],
            is_open: session.sockets.iter().map(Option::is_some).collect(),
            heard: vec![Instant::now(); n],
            is_remote: (0..n as u32).map(|rank| !session.on_one_host(&[rank, session.rank])).collect(),
        }
    }

    fn run(mut self, ended: &UnixStream) {
        let mut beat = Instant::now();
        loop {
            let entry = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
            let open: Vec<usize> = (0..self.is_open.len()).filter(|&rank| self.is_open[rank]).collect();
            let mut polled = vec![entry(ended.as_raw_fd())];
            let sockets = &self.session.sockets;
            polled.extend(open.iter().filter_map(|&rank| Some(entry(sockets[rank].as_ref()?.as_raw_fd()))));
            // SAFETY: the array has that many entries.
            unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, BEAT.as_millis() as i32) };
            if polled[0].revents != 0 {
                return;
            }
            for (&rank, polled) in open.iter().zip(&polled[1..]) {
                if polled.revents != 0 {
                    self.receive(rank);
                }
            }
            if beat.elapsed() >= BEAT && self.is_remote.contains(&true) {
                beat = Instant::now();
                self.session.send(LIVES, "");
            }
            for rank in open {
                if self.is_open[rank] && self.is_remote[rank] && self.heard[rank].elapsed() > SILENCE {
                    self.is_open[rank] = false;
                    let text = format!(
                        "{} has been silent for {} s: its host or the network failed; {}",
                        self.session.name(rank as u32),
                        SILENCE.as_secs(),
                        self.session.last(rank as u32)
                    );
                    self.session.decide(Failure::backend(text));
                }
            }
        }
    }

    fn receive(&mut self, rank: usize) {
        let mut room = [0u8; 4096];
        let fd = self.session.sockets[rank].as_ref().map_or(-1, |socket| socket.as_raw_fd());
        // SAFETY: the descriptor is open, and the room has that size. The socket itself stays blocking, for writes.
        let count = unsafe { libc::recv(fd, room.as_mut_ptr().cast(), room.len(), libc::MSG_DONTWAIT) };
        if count < 0 && std::io::Error::last_os_error().kind() == std::io::ErrorKind::WouldBlock {
            return;
        }
        self.heard[rank] = Instant::now();
        if count > 0 {
            self.arrived[rank].extend(&room[..count as usize]);
            while self.take_frame(rank) {}
            return;
        }
        self.is_open[rank] = false;
        if self.session.left(rank as u32).is_none() && self.session.verdict().is_none() {
            self.session.died(rank as u32);
        }
    }

    /// Handles the first complete frame. Returns false if there is none.
    fn take_frame(&mut self, rank: usize) -> bool {
        let session = self.session;
        let (understood, length) = match parse(&self.arrived[rank]) {
            Ok(Some((kind, content, length))) => match (kind, std::str::from_utf8(content)) {
                (CALLS, _) => (session.hear(rank as u32, content), length),
                (ENDED, _) => (session.hear_end(rank as u32, content), length),
                (FAILED, Ok(text)) => {
                    session.decide(Failure { kind: Kind::Backend, message: text.to_owned() });
                    (true, length)
                }
                (LEFT, Ok(text)) => {
                    session.state().left[rank] = Some(text.to_owned());
                    session.has_left.store(true, Release);
                    session.wake();
                    (true, length)
                }
                (ASKS, Ok(_)) => {
                    session.send_to(rank as u32, ANSWERS, session.waits.answer().as_bytes());
                    (true, length)
                }
                (ANSWERS, Ok(text)) => (session.waits.hear(rank as u32, text), length),
                (_, text) => (text.is_ok(), length),
            },
            Ok(None) => return false,
            Err(()) => (false, 0),
        };
        self.arrived[rank].drain(..length);
        if !understood {
            self.is_open[rank] = false;
            let text = format!("{} sent what is no message", session.name(rank as u32));
            session.decide(Failure::backend(text));
        }
        understood
    }
}

/// A frame: its kind, its content, and the length of all of it.
type Frame<'a> = (u8, &'a [u8], usize);

/// Returns the first frame, or `None` if it is not complete.
fn parse(bytes: &[u8]) -> std::result::Result<Option<Frame<'_>>, ()> {
    let Some(length) = bytes.get(1..5) else { return Ok(None) };
    let length = u32::from_le_bytes(length.try_into().expect("four bytes")) as usize;
    if length > MAX_TEXT || !matches!(bytes[0], FAILED | LEFT | LIVES | CALLS | ENDED | ASKS | ANSWERS) {
        return Err(());
    }
    Ok(bytes.get(5..5 + length).map(|content| (bytes[0], content, 5 + length)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::MemoryStore;

    #[test]
    fn frames_are_capped() {
        assert_eq!(parse(&[FAILED, 2, 0, 0, 0, b'h', b'i', LEFT]), Ok(Some((FAILED, &b"hi"[..], 7))));
        assert_eq!(parse(&[FAILED, 2, 0, 0, 0, b'h']), Ok(None));
        assert_eq!(parse(&[FAILED, 0, 0, 0, 255]), Err(()));
        assert_eq!(parse(&[9, 0, 0, 0, 0]), Err(()));
    }

    fn wait_for(what: &str, is_true: impl Fn() -> bool) {
        let start = Instant::now();
        while !is_true() {
            assert!(start.elapsed() < Duration::from_secs(30), "waited in vain until {what}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn three_ranks() -> Vec<Arc<Session>> {
        let store = MemoryStore::default();
        let start = |rank| {
            let (ip, limit) = (IpAddr::from([127, 0, 0, 1]), Duration::from_secs(30));
            Session::start(&store, rank, 3, ip, Some(b"token".to_vec()), limit, None).expect("all ranks join")
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..3).map(|rank| scope.spawn(move || start(rank))).collect();
            threads.into_iter().map(|thread| thread.join().expect("does not panic")).collect()
        })
    }

    #[test]
    fn a_wait_is_explained_by_those_it_waits_for() {
        let ranks = three_ranks();
        let mut waiting = ranks[1].waiting();
        waiting.note(vec![2], "recv float32[5] from rank 2".into());
        let text = "; rank 1 waits for rank 2 in recv float32[5] from rank 2; rank 2 waits for no rank";
        assert_eq!(ranks[0].explain(&[1]), text);
        // Rank 2 does not listen any more.
        ranks[2].end.shutdown(std::net::Shutdown::Both).expect("is open");
        let thread = ranks[2].thread.lock().expect("is whole").take().expect("runs");
        thread.join().expect("does not panic");
        assert!(ranks[0].explain(&[1]).contains("; rank 2 does not answer"));
        // Ranks that wait for each other are named once.
        waiting.note(vec![0], "#7 barrier".into());
        assert_eq!(ranks[0].explain(&[1]), "; rank 1 waits for rank 0 in #7 barrier");
        drop(waiting);
        ranks.iter().for_each(|rank| rank.leave());
    }

    #[test]
    fn a_rank_that_leaves_passes_on_why() {
        let ranks = three_ranks();
        // Rank 2 is interrupted between telling rank 0 and telling rank 1.
        ranks[2].send_to(0, FAILED, b"the cause");
        wait_for("rank 0 has failed", || ranks[0].verdict().is_some());
        ranks[0].leave();
        wait_for("rank 1 hears of it", || ranks[1].left(0).is_some());
        assert_eq!(ranks[1].fail("rank 0 left the job").message, "the cause");
        ranks.iter().for_each(|rank| rank.leave());
    }
}
