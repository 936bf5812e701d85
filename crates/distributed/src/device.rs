//! Groups whose memory is a device's, and whose collectives a library of the device performs in the order of a stream.
//!
//! A call returns when the library has the collective. A thread for each group watches what was submitted: it exchanges
//! the calls of the ranks over the control plane, names ranks that are late, and stops the library once the job has
//! failed, because a collective of which a rank is missing would occupy the device forever.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::backend::{Backend, Keep, Lend, Operation};
use crate::call::{Call, Op};
use crate::collectives::{Message, Request};
use crate::device_work::DeviceWork;
use crate::failure::{Failure, Kind, Result};
use crate::ledger::{Entry, Ledger};
use crate::mesh::{Meeting, NOTICE, names};
use crate::network::{Communicator, Network, Ticket};
use crate::session::Session;
use crate::store::Store;

/// How often the thread looks at what was submitted, and without that.
const LOOK: Duration = Duration::from_millis(20);
const IDLE: Duration = Duration::from_millis(200);
/// How often calls are sent to the other ranks.
const TELL: Duration = Duration::from_millis(200);
/// How long the calls of a rank that has left may still be on their way.
const LAST_CALLS: Duration = Duration::from_millis(500);
/// How long stopping the library may take.
const STOP: Duration = Duration::from_secs(10);
/// The exit status of a process whose device does not stop: EX_SOFTWARE.
const STUCK: i32 = 70;

#[derive(Default)]
struct State {
    pending: VecDeque<Arc<DeviceWork>>,
    /// When everything must have ended.
    end: Option<Instant>,
}

/// A group of ranks with one device each.
pub struct DeviceGroup {
    session: Arc<Session>,
    ranks: Vec<u32>,
    me: usize,
    number: u32,
    timeout: Duration,
    name: &'static str,
    communicator: Arc<dyn Communicator>,
    poison: Box<dyn Fn(&Failure) + Send + Sync>,
    ledger: Arc<Ledger>,
    /// The number of the last collective. Held while one is submitted, so that all threads submit in one order.
    seq: Mutex<u64>,
    state: Mutex<State>,
    changed: Condvar,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl DeviceGroup {
    /// Makes a group of these ranks, as [`crate::Group::new`] does, and connects their devices.
    ///
    /// # Errors
    /// The library is missing on a rank, a rank did not come in time, or the library fails.
    pub fn new(
        session: &Arc<Session>,
        store: &dyn Store,
        number: u32,
        ranks: Vec<u32>,
        timeout: Duration,
        network: &dyn Network,
    ) -> Result<Arc<DeviceGroup>> {
        let me = ranks.iter().position(|&rank| rank == session.rank);
        let me = me.ok_or_else(|| Failure::value("this rank is not in the group"))?;
        let ledger = Arc::new(Ledger::new(ranks.clone(), me));
        session.open_ledger(number, &ledger);
        let key = format!("device/{number}");
        let check = || session.verdict().map_or(Ok(()), Err);
        let meeting = Meeting { store, key: &key, ranks: &ranks, me, timeout, check: &check };
        // Every rank says whether it can take part, so that none waits for one that cannot.
        let own = if me == 0 { network.identify() } else { network.check().map(|()| Vec::new()) };
        let said = match &own {
            Ok(id) => id.iter().map(|byte| format!("{byte:02x}")).collect(),
            Err(failure) => format!("!{failure}"),
        };
        let all = meeting.all_gather("id", &said)?;
        own?;
        if let Some(rank) = all.iter().position(|said| said.starts_with('!')) {
            return Err(Failure::backend(format!("rank {} cannot take part: {}", ranks[rank], &all[rank][1..])));
        }
        let byte = |at: usize| u8::from_str_radix(all[0].get(at..at + 2)?, 16).ok();
        let id: Option<Vec<u8>> = (0..all[0].len()).step_by(2).map(byte).collect();
        let id = id.ok_or_else(|| Failure::store("the store has keys of another program"))?;
        let group = Arc::new(DeviceGroup {
            session: session.clone(),
            me,
            number,
            timeout,
            name: network.name(),
            communicator: network.begin(&id, me, ranks.len())?,
            poison: network.poison(),
            ranks,
            ledger,
            seq: Mutex::default(),
            state: Mutex::default(),
            changed: Condvar::new(),
            thread: Mutex::default(),
        });
        let watched = group.clone();
        let thread = std::thread::Builder::new().name("cuprous-device".into()).spawn(move || watched.watch());
        let thread = thread.map_err(|e| Failure::backend(format!("cannot start a thread: {e}")))?;
        *group.thread.lock().unwrap_or_else(|e| e.into_inner()) = Some(thread);
        let woken = Arc::downgrade(&group);
        session.on_change(Box::new(move || {
            if let Some(group) = woken.upgrade() {
                group.changed.notify_all();
            }
        }));
        group.communicator.connect().map_err(|failure| group.explain(failure))?;
        Ok(group)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Returns the failure of the job in place of one that it caused in the library.
    fn explain(&self, failure: Failure) -> Failure {
        match failure.kind {
            Kind::Backend => self.session.verdict().unwrap_or_else(|| self.session.fail(&failure.message)),
            Kind::Interrupted => {
                // What was begun cannot be taken back.
                self.session.fail(&format!("rank {} was interrupted by its user", self.ranks[self.me]));
                failure
            }
            _ => failure,
        }
    }

    /// Notes a collective and gives it to the library.
    fn begin(&self, request: &Request) -> Result<Arc<DeviceWork>> {
        self.session.verdict().map_or(Ok(()), Err)?;
        let mut seq = self.seq.lock().unwrap_or_else(|e| e.into_inner());
        let call = request.call(self.me, self.ranks.len(), self.number, *seq + 1)?;
        self.communicator.check(request)?;
        *seq += 1;
        let world = self.ranks[self.me];
        self.session.note(world, &call);
        let bytes = match call.op {
            Op::AllToAll => [&request.inputs, &request.outputs].map(|all| all.iter().map(|m| m.bytes as u64).collect()),
            _ => [Vec::new(), Vec::new()],
        };
        let text = format!("rank {world} has waited {{}} s in #{} {}", call.seq, call.text());
        if let Some(wrong) = self.ledger.record(Entry { call, bytes }) {
            return Err(self.session.fail(&wrong));
        }
        let ticket = self.communicator.submit(request).map_err(|failure| self.explain(failure))?;
        Ok(self.work(ticket, text, Some(*seq), None, request.timeout))
    }

    fn work(
        &self,
        ticket: Arc<dyn Ticket>,
        text: String,
        seq: Option<u64>,
        peer: Option<usize>,
        timeout: Option<Duration>,
    ) -> Arc<DeviceWork> {
        Arc::new(DeviceWork {
            ticket,
            text,
            seq,
            peer,
            since: Instant::now(),
            timeout: timeout.unwrap_or(self.timeout),
            keep: Mutex::default(),
            failure: OnceLock::new(),
        })
    }

    fn watch_over(&self, work: &Arc<DeviceWork>, keep: Keep) {
        work.keep().1 = Some(keep);
        self.state().pending.push_back(work.clone());
        self.changed.notify_all();
    }

    /// The loop of the thread.
    fn watch(&self) {
        let (mut said, mut notice) = (Instant::now(), (Instant::now(), NOTICE));
        loop {
            let state = self.state();
            let pause = if state.pending.is_empty() { IDLE } else { LOOK };
            let state = match state.end {
                Some(_) if state.pending.is_empty() => state,
                _ => self.changed.wait_timeout(state, pause).unwrap_or_else(|e| e.into_inner()).0,
            };
            let end = state.end;
            drop(state);
            if let Some(verdict) = self.session.verdict() {
                return self.stop(&verdict);
            }
            if said.elapsed() >= TELL || end.is_some() {
                said = Instant::now();
                self.ledger.unsent().iter().for_each(|(rank, calls)| self.session.send_calls(*rank, calls));
            }
            if let Some(text) = self.communicator.failure() {
                let rank = self.session.name(self.ranks[self.me]);
                self.session.fail(&format!("{rank}: {text}"));
                continue;
            }
            match self.oldest() {
                Ok(Some(work)) => self.check_time(&work, &mut notice),
                Ok(None) => {}
                Err(failure) => drop(self.session.fail(&failure.message)),
            }
            let Some(end) = end else { continue };
            let left = end.saturating_duration_since(Instant::now());
            if self.state().pending.is_empty() {
                if !self.communicator.close(left) {
                    self.communicator.abort();
                }
                return;
            }
            if left.is_zero() {
                return self.stop(&Failure::backend("the process group was destroyed"));
            }
        }
    }

    /// Ends the operations that the device has done, and returns the oldest one that it has not.
    fn oldest(&self) -> Result<Option<Arc<DeviceWork>>> {
        loop {
            let Some(work) = self.state().pending.front().cloned() else { return Ok(None) };
            if !work.ticket.is_done()? {
                return Ok(Some(work));
            }
            work.end(None);
            self.state().pending.pop_front();
        }
    }

    /// Finds out why an operation does not end. `notice` is when the operation that was looked at last began, and after
    /// which time it is spoken of.
    fn check_time(&self, work: &DeviceWork, notice: &mut (Instant, Duration)) {
        let waited = work.since.elapsed();
        if notice.0 != work.since {
            *notice = (work.since, NOTICE);
        }
        let behind = match (work.seq, work.peer) {
            (Some(seq), _) => self.ledger.behind(seq),
            (None, peer) => peer.map(|peer| self.ranks[peer]).into_iter().collect(),
        };
        if waited > LAST_CALLS
            && let Some((rank, last)) = behind.iter().find_map(|&rank| Some((rank, self.session.left(rank)?)))
        {
            self.session.fail(&format!(
                "rank {rank} left the job ({last}), while {}. If ranks have different numbers of batches, use \
                 DistributedDataParallel's join(), or a DistributedSampler",
                work.text.replacen("has waited {} s", "waits for it", 1)
            ));
            return;
        }
        if waited < notice.1 && waited < work.timeout {
            return;
        }
        let mut text = work.text.replacen("{}", &waited.as_secs().to_string(), 1);
        text += &match &behind[..] {
            [] => " for its device: all ranks have called it".into(),
            some => format!(" for {}", names(some)),
        };
        for rank in behind {
            text += &format!("; rank {rank}: {}", self.session.last(rank));
        }
        if waited >= work.timeout {
            self.session.fail(&format!("{text}; the timeout is {} s", work.timeout.as_secs_f32()));
        } else {
            eprintln!("[cuprous] {text}");
            notice.1 += Duration::from_secs(60);
        }
    }

    /// Stops the library. Operations that have not ended fail.
    fn stop(&self, verdict: &Failure) {
        let pending = std::mem::take(&mut self.state().pending);
        let lost: Vec<_> = pending.iter().filter(|work| !work.ticket.is_done().unwrap_or(false)).cloned().collect();
        // Before the device goes on with what the operations left behind.
        if !lost.is_empty() {
            (self.poison)(verdict);
        }
        lost.iter().for_each(|work| drop(work.failure.set(verdict.clone())));
        let communicator = self.communicator.clone();
        let (done, ended) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new().name("cuprous-abort".into()).spawn(move || {
            communicator.abort();
            let _ = done.send(());
        });
        if thread.is_err() || ended.recv_timeout(STOP).is_err() {
            eprintln!("[cuprous] {verdict}\n[cuprous] {} does not stop; the process ends", self.name);
            // SAFETY: the function only ends the process; destructors could wait for the device forever.
            unsafe { libc::_exit(STUCK) };
        }
        pending.iter().for_each(|work| work.end(None));
    }
}

impl Backend for Arc<DeviceGroup> {
    fn transport(&self) -> &'static str {
        self.name
    }

    fn ranks(&self) -> &[u32] {
        &self.ranks
    }

    fn rank(&self) -> usize {
        self.me
    }

    fn run(&self, request: &Request, keep: Keep) -> Result<()> {
        let work = self.begin(request)?;
        self.watch_over(&work, keep);
        if request.op != Op::Barrier {
            return work.order();
        }
        let outcome = DeviceWork::wait(&work, Duration::MAX).unwrap_or(Ok(()));
        outcome.inspect_err(|failure| {
            if failure.kind == Kind::Interrupted {
                let rank = self.ranks[self.me];
                self.session.fail(&format!("rank {rank} was interrupted by its user in barrier at {}", request.line));
            }
        })
    }

    fn submit(&self, request: &Request, lend: Lend) -> Result<Arc<dyn Operation>> {
        let work = self.begin(request)?;
        self.watch_over(&work, lend(work.clone()));
        Ok(work)
    }

    fn exchange(&self, messages: Vec<(Message, Lend)>) -> Result<Vec<Arc<dyn Operation>>> {
        self.session.verdict().map_or(Ok(()), Err)?;
        let (messages, lends): (Vec<Message>, Vec<Lend>) = messages.into_iter().unzip();
        let world = self.ranks[self.me];
        let _in_one_order = self.seq.lock().unwrap_or_else(|e| e.into_inner());
        let mut texts = Vec::new();
        for message in &messages {
            let peer = message.check_peer(self.me)?;
            let Some(peer) = peer else {
                return Err(Failure::value("[recv] messages of GPUs come from a given rank; pass src="));
            };
            let count = (message.memory.bytes / message.dtype.size()) as u64;
            let call = Call {
                op: Op::Send,
                dtype: message.dtype,
                reduce: None,
                group: self.number,
                seq: message.tag,
                tag: message.tag,
                root: -1,
                count,
                bytes: message.memory.bytes as u64,
                line: message.line.clone(),
            };
            let (verb, word) = if message.is_send { ("send", "to") } else { ("recv", "from") };
            let what = call.text().replacen("send", verb, 1);
            texts.push((format!("rank {world} has waited {{}} s in {what} {word} rank {}", self.ranks[peer]), peer));
            if let Some(wrong) = self.ledger.record_message(message.is_send, peer, call) {
                return Err(self.session.fail(&wrong));
            }
        }
        let ticket = self.communicator.exchange(&messages).map_err(|failure| self.explain(failure))?;
        let begin = |((text, peer), lend): ((String, usize), Lend)| {
            let work = self.work(ticket.clone(), text, None, Some(peer), None);
            self.watch_over(&work, lend(work.clone()));
            work as Arc<dyn Operation>
        };
        Ok(texts.into_iter().zip(lends).map(begin).collect())
    }

    fn end(&self, time: Duration) {
        self.state().end.get_or_insert(Instant::now() + time);
        self.changed.notify_all();
        if let Some(thread) = self.thread.lock().unwrap_or_else(|e| e.into_inner()).take() {
            let _ = thread.join();
        }
    }
}
