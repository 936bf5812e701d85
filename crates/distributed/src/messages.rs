//! Messages between two ranks, matched by tag in the order in which they were sent.
//!
//! One thread moves all of them, so that ranks may send and receive in any order without waiting for each other.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::backend::Keep;
use crate::call::{self, Call, Op};
use crate::collectives::Message;
use crate::exchange::LAST_DATA;
use crate::failure::{Failure, Result};
use crate::link::{ALIGN, Interest, Link, Waker, padded};
use crate::session::Session;
use crate::waits::{NOTED, Waiting};
use crate::work::Work;

const SLICE: Duration = Duration::from_millis(50);
/// How long the thread sleeps without work; a new message wakes it.
const IDLE: Duration = Duration::from_secs(5);
/// How long messages may still move when the group is destroyed.
const LAST_MESSAGES: Duration = Duration::from_secs(2);
/// Bytes that are allocated for a message that nobody expects yet, before they arrive.
const EARLY: usize = 1 << 20;
static ZEROS: [u8; ALIGN] = [0; ALIGN];

struct Pending {
    message: Message,
    keep: Keep,
    work: Arc<Work>,
    header: [u8; call::BYTES],
    header_at: usize,
    at: usize,
}

impl Pending {
    fn end(self, result: Result<()>, source: Option<usize>) {
        self.work.end(result, source, Some(self.keep));
    }
}

fn destroyed() -> Failure {
    Failure::backend("the process group was destroyed while this message was under way; wait for it before")
}

/// What arrives from a rank.
enum Arriving {
    Nothing,
    /// A message with a receiver, and how far it is.
    For(Box<Pending>, Call),
    /// A message that nobody receives yet.
    Early(Call, Vec<u8>),
}

#[derive(Default)]
struct Inbox {
    new: Vec<Pending>,
    has_thread: bool,
    has_ended: bool,
    link: Option<Box<dyn Link>>,
}

/// The messages of a group.
pub(crate) struct Messages {
    shared: Arc<Shared>,
    wake: Waker,
}

struct Shared {
    session: Arc<Session>,
    ranks: Vec<u32>,
    me: usize,
    number: u32,
    timeout: Duration,
    inbox: Mutex<Inbox>,
}

impl Shared {
    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn text(&self, message: &Message) -> String {
        format!("rank {} in {}", self.ranks[self.me], self.call(message))
    }

    fn call(&self, message: &Message) -> String {
        let count = message.memory.bytes / message.dtype.size();
        let peer = message.peer.map_or("any rank".into(), |peer| format!("rank {}", self.ranks[peer]));
        let (verb, word) = if message.is_send { ("send", "to") } else { ("recv", "from") };
        let dtype = message.dtype.name();
        format!("{verb} {dtype}[{count}] {word} {peer}, tag {}, at {}", message.tag, message.line)
    }
}

impl Messages {
    pub(crate) fn new(
        session: Arc<Session>,
        ranks: Vec<u32>,
        me: usize,
        number: u32,
        timeout: Duration,
        link: Box<dyn Link>,
    ) -> Messages {
        session.on_change(link.waker());
        let wake = link.waker();
        let inbox = Mutex::new(Inbox { link: Some(link), ..Inbox::default() });
        Messages { shared: Arc::new(Shared { session, ranks, me, number, timeout, inbox }), wake }
    }

    /// Returns work with a description, for [`Messages::submit`].
    pub(crate) fn work(&self, message: &Message) -> Arc<Work> {
        let name = if message.is_send { "send" } else { "recv" };
        Arc::new(Work::of_message(name, message.memory.bytes, self.shared.text(message)))
    }

    /// Returns an error for a message that cannot be sent.
    ///
    /// # Errors
    /// It goes to this rank, or the job failed.
    pub(crate) fn check(&self, message: &Message) -> Result<()> {
        self.shared.session.verdict().map_or(Ok(()), Err)?;
        message.check_peer(self.shared.me).map(drop)
    }

    /// Starts to send or receive a message.
    ///
    /// # Errors
    /// As for [`Messages::check`].
    pub(crate) fn submit(&self, message: Message, keep: Keep, work: Arc<Work>) -> Result<()> {
        let shared = &self.shared;
        self.check(&message)?;
        let call = Call {
            op: Op::Send,
            dtype: message.dtype,
            reduce: None,
            group: shared.number,
            seq: message.tag,
            tag: message.tag,
            history: 0,
            root: shared.me as i32,
            count: (message.memory.bytes / message.dtype.size()) as u64,
            bytes: message.memory.bytes as u64,
            line: message.line.clone(),
        };
        let header = call.encode();
        let mut inbox = shared.inbox();
        if inbox.has_ended {
            return Err(destroyed());
        }
        inbox.new.push(Pending { message, keep, work, header, header_at: 0, at: 0 });
        if let Some(link) = inbox.link.take() {
            let shared = shared.clone();
            std::thread::Builder::new()
                .name("cuprous-messages".into())
                .spawn(move || Mover::new(&shared, link).run())
                .map_err(|e| Failure::backend(format!("cannot start a thread: {e}")))?;
            inbox.has_thread = true;
        }
        drop(inbox);
        (self.wake)();
        Ok(())
    }

    pub(crate) fn end(&self) {
        self.shared.inbox().has_ended = true;
        (self.wake)();
    }
}

struct Mover<'a> {
    shared: &'a Shared,
    link: Box<dyn Link>,
    sends: Vec<VecDeque<Pending>>,
    /// Messages that are written whole, of which a part is not sent yet, by rank.
    written: Vec<Vec<Pending>>,
    receives: Vec<Pending>,
    arriving: Vec<Arriving>,
    early: VecDeque<(usize, Call, Vec<u8>)>,
    /// When it became known that a rank has left whose data is waited for and does not arrive.
    left_since: Option<Instant>,
}

impl<'a> Mover<'a> {
    fn new(shared: &'a Shared, link: Box<dyn Link>) -> Mover<'a> {
        let n = shared.ranks.len();
        Mover {
            shared,
            link,
            sends: (0..n).map(|_| VecDeque::new()).collect(),
            written: (0..n).map(|_| Vec::new()).collect(),
            receives: Vec::new(),
            arriving: (0..n).map(|_| Arriving::Nothing).collect(),
            early: VecDeque::new(),
            left_since: None,
        }
    }

    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let me = self.shared.me;
        (0..self.shared.ranks.len()).filter(move |&peer| peer != me)
    }

    fn run(mut self) {
        let mut since = Instant::now();
        let mut waiting = self.shared.session.waiting();
        loop {
            self.link.begin();
            let mut inbox = self.shared.inbox();
            let new = std::mem::take(&mut inbox.new);
            let has_ended = inbox.has_ended;
            drop(inbox);
            if let Some(verdict) = self.shared.session.verdict() {
                self.fail_all(new, &verdict);
                if has_ended {
                    return;
                }
                self.link.wait(&[], SLICE);
                continue;
            }
            let mut moved = !new.is_empty();
            for pending in new {
                self.accept(pending);
            }
            let mut interest = vec![Interest::default(); self.shared.ranks.len()];
            for peer in self.others() {
                moved |= self.send(peer);
                moved |= self.receive(peer);
                interest[peer] = Interest { read: self.expects(peer), write: !self.sends[peer].is_empty() };
            }
            let flushed = self.link.flush();
            for peer in self.others() {
                if self.link.is_sent(peer) {
                    self.written[peer].drain(..).for_each(|sent| sent.end(Ok(()), None));
                }
            }
            let idle = interest.iter().all(|i| !i.read && !i.write) && flushed;
            if moved || idle {
                waiting.clear();
            }
            if moved {
                (self.left_since, since) = (None, if idle { Instant::now() } else { since });
                continue;
            }
            if idle {
                since = Instant::now();
                if has_ended {
                    return;
                }
            } else if has_ended && since.elapsed() > LAST_MESSAGES {
                return self.fail_all(Vec::new(), &destroyed());
            }
            self.link.wait(&interest, if idle { IDLE } else { SLICE });
            if !idle {
                self.check_left();
                self.check_time(since.elapsed(), &mut waiting);
            }
        }
    }

    fn fail_all(&mut self, new: Vec<Pending>, verdict: &Failure) {
        let arriving = self.arriving.iter_mut().filter_map(|a| match std::mem::replace(a, Arriving::Nothing) {
            Arriving::For(pending, _) => Some(*pending),
            _ => None,
        });
        let sends = self.sends.iter_mut().flat_map(|queue| queue.drain(..));
        let written = self.written.iter_mut().flat_map(|sent| sent.drain(..));
        for pending in new.into_iter().chain(self.receives.drain(..)).chain(arriving).chain(sends).chain(written) {
            pending.end(Err(verdict.clone()), None);
        }
    }

    fn accept(&mut self, pending: Pending) {
        let message = &pending.message;
        if let (true, Some(peer)) = (message.is_send, message.peer) {
            self.sends[peer].push_back(pending);
            return;
        }
        let fits = |(from, call, _): &(usize, Call, Vec<u8>)| {
            message.peer.is_none_or(|peer| peer == *from) && message.tag == call.seq
        };
        match self.early.iter().position(fits).and_then(|at| self.early.remove(at)) {
            None => self.receives.push(pending),
            Some((from, call, bytes)) => {
                if self.agrees(from, &pending, &call) {
                    let memory = pending.message.memory;
                    // SAFETY: the memory is this message's and has that many bytes.
                    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), memory.address as *mut u8, memory.bytes) };
                    pending.end(Ok(()), Some(from));
                } else {
                    self.receives.push(pending);
                }
            }
        }
    }

    /// Returns true if the message fits its receiver. Otherwise the job has failed.
    fn agrees(&self, from: usize, pending: &Pending, call: &Call) -> bool {
        let (m, shared) = (&pending.message, self.shared);
        if call.op == Op::Send && call.dtype == m.dtype && call.bytes == m.memory.bytes as u64 {
            return true;
        }
        shared.session.fail(&format!(
            "the ranks disagree about a message with tag {}: rank {} calls {}, but {}",
            m.tag,
            shared.ranks[from],
            Call { root: -1, ..call.clone() }.text(),
            shared.text(m)
        ));
        false
    }

    fn unsent(&self) -> impl Iterator<Item = &Pending> {
        self.sends.iter().flatten().chain(self.written.iter().flatten())
    }

    fn expects(&self, peer: usize) -> bool {
        !matches!(self.arriving[peer], Arriving::Nothing)
            || self.receives.iter().any(|pending| pending.message.peer.is_none_or(|from| from == peer))
    }

    fn send(&mut self, peer: usize) -> bool {
        let mut moved = false;
        while let Some(pending) = self.sends[peer].front_mut() {
            let memory = pending.message.memory;
            let bytes = if pending.header_at < call::BYTES {
                &pending.header[pending.header_at..]
            } else if pending.at < memory.bytes {
                // SAFETY: the memory is this message's and has that many bytes.
                unsafe {
                    std::slice::from_raw_parts((memory.address as *const u8).add(pending.at), memory.bytes - pending.at)
                }
            } else {
                &ZEROS[..padded(memory.bytes) - pending.at]
            };
            // A closed stream is the control plane's to explain.
            let count = if bytes.is_empty() { 0 } else { self.link.write(peer, bytes).unwrap_or(0) };
            moved |= count > 0;
            if pending.header_at < call::BYTES {
                pending.header_at += count;
            } else {
                pending.at += count;
            }
            if pending.header_at == call::BYTES && pending.at == padded(memory.bytes) {
                // Whoever waits for it may end the process, which would take with it what is not sent.
                self.written[peer].extend(self.sends[peer].pop_front());
                moved = true;
            } else if count == 0 {
                break;
            }
        }
        moved
    }

    fn receive(&mut self, peer: usize) -> bool {
        let mut moved = false;
        while self.expects(peer) {
            match std::mem::replace(&mut self.arriving[peer], Arriving::Nothing) {
                Arriving::Nothing => {
                    let Ok((address, count)) = self.link.readable(peer, call::BYTES) else { return moved };
                    if count < call::BYTES {
                        return moved;
                    }
                    // SAFETY: that many bytes have arrived.
                    let bytes = unsafe { address.cast::<[u8; call::BYTES]>().read() };
                    self.link.consume(peer, call::BYTES);
                    moved = true;
                    let call = match Call::decode(&bytes) {
                        Ok(call) if call.is_message() => call,
                        _ => {
                            let rank = self.shared.ranks[peer];
                            self.shared.session.fail(&format!("rank {rank} sent what is no message"));
                            return true;
                        }
                    };
                    let fits = |pending: &Pending| {
                        let m = &pending.message;
                        m.peer.is_none_or(|from| from == peer) && m.tag == call.seq
                    };
                    self.arriving[peer] = match self.receives.iter().position(fits) {
                        Some(at) => {
                            let pending = self.receives.remove(at);
                            if !self.agrees(peer, &pending, &call) {
                                self.receives.push(pending);
                                return true;
                            }
                            Arriving::For(Box::new(pending), call)
                        }
                        None => {
                            // The rest is allocated as it arrives.
                            let room = Vec::with_capacity(padded(call.bytes as usize).min(EARLY));
                            Arriving::Early(call, room)
                        }
                    };
                }
                Arriving::For(mut pending, call) => {
                    let memory = pending.message.memory;
                    let Some((address, count)) = self.arrived(peer, padded(memory.bytes) - pending.at) else {
                        let done = pending.at == padded(memory.bytes);
                        if done {
                            pending.end(Ok(()), Some(peer));
                            moved = true;
                            continue;
                        }
                        self.arriving[peer] = Arriving::For(pending, call);
                        return moved;
                    };
                    let real = count.min(memory.bytes.saturating_sub(pending.at));
                    // SAFETY: so many bytes have arrived, and the memory has room for them.
                    unsafe {
                        let to = (memory.address as *mut u8).add(pending.at);
                        std::ptr::copy_nonoverlapping(address, to, real);
                    }
                    self.link.consume(peer, count);
                    pending.at += count;
                    moved = true;
                    self.arriving[peer] = Arriving::For(pending, call);
                }
                Arriving::Early(call, mut bytes) => {
                    let whole = padded(call.bytes as usize);
                    let Some((address, count)) = self.arrived(peer, whole - bytes.len()) else {
                        if bytes.len() == whole {
                            self.early.push_back((peer, call, bytes));
                            moved = true;
                            continue;
                        }
                        self.arriving[peer] = Arriving::Early(call, bytes);
                        return moved;
                    };
                    // SAFETY: so many bytes have arrived.
                    bytes.extend_from_slice(unsafe { std::slice::from_raw_parts(address, count) });
                    self.link.consume(peer, count);
                    moved = true;
                    self.arriving[peer] = Arriving::Early(call, bytes);
                }
            }
        }
        moved
    }

    /// Returns up to `most` bytes that have arrived, if any.
    fn arrived(&mut self, peer: usize, most: usize) -> Option<(*const u8, usize)> {
        let (address, count) = if most > 0 { self.link.readable(peer, most).ok()? } else { return None };
        Some((address, count.min(most))).filter(|(_, count)| *count > 0)
    }

    /// Returns all messages that are not done.
    fn unfinished(&self) -> impl Iterator<Item = &Pending> {
        let arriving = self.arriving.iter().filter_map(|arriving| match arriving {
            Arriving::For(pending, _) => Some(&**pending),
            _ => None,
        });
        self.receives.iter().chain(self.unsent()).chain(arriving)
    }

    /// Fails if a rank that a message waits for has left, and nothing has arrived since that was known.
    fn check_left(&mut self) {
        let session = &self.shared.session;
        let left = |pending: &Pending| {
            let rank = self.shared.ranks[pending.message.peer?];
            Some((rank, session.left(rank)?, self.shared.text(&pending.message)))
        };
        let Some((rank, last, text)) = self.unfinished().find_map(left) else { return };
        if self.left_since.get_or_insert_with(Instant::now).elapsed() > LAST_DATA {
            session.fail(&format!("rank {rank} left the job ({last}), while {text} waits for it"));
        }
    }

    /// Fails if messages have not moved for the group's timeout.
    fn check_time(&self, waited: Duration, waiting: &mut Waiting<'_>) {
        let shared = self.shared;
        let Some(first) = self.unfinished().next().filter(|_| waited >= NOTED) else { return };
        let mut peers = BTreeSet::new();
        for pending in self.unfinished() {
            match pending.message.peer {
                Some(peer) => drop(peers.insert(peer)),
                None => peers.extend(self.others()),
            }
        }
        let ranks: Vec<u32> = peers.into_iter().map(|peer| shared.ranks[peer]).collect();
        if waited < shared.timeout {
            return waiting.note(ranks, shared.call(&first.message));
        }
        let (text, limit) = (shared.text(&first.message), shared.timeout.as_secs_f32());
        let causes = shared.session.explain(&ranks);
        shared.session.fail(&format!("{text} has waited {} s{causes}; the timeout is {limit} s", waited.as_secs()));
    }
}
