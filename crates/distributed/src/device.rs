//! Groups whose memory is a device's, and whose collectives a library of the device performs in the order of a stream.
//!
//! A call returns when the library has the collective. A thread for each group watches what was submitted: it exchanges
//! the calls of the ranks over the control plane, names ranks that are late, and stops the library once the job has
//! failed, because a collective of which a rank is missing would occupy the device forever.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cuprous_core::interrupt::Token;
use cuprous_core::profile;

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
use crate::waits::{NOTED, Waiting};

/// How often the thread looks at what was submitted, and without that.
const LOOK: Duration = Duration::from_millis(20);
const IDLE: Duration = Duration::from_millis(200);
/// How often calls are sent to the other ranks, unless there are many.
const TELL: Duration = Duration::from_millis(200);
/// How long the calls and messages of a rank that has left may still be on their way.
const LAST_CALLS: Duration = Duration::from_millis(500);
/// How long stopping the library may take.
const STOP: Duration = Duration::from_secs(10);
/// How long freeing the library's connections may take. Then they are left to the end of the process.
const CLOSE: Duration = Duration::from_secs(2);
/// Operations that the device has not done, at most. A device takes about a thousand before it makes the host wait, and
/// a library that waits for the device cannot be stopped.
const AHEAD: usize = 128;
/// The exit status of a process whose device does not stop: EX_SOFTWARE.
const STUCK: i32 = 70;

#[derive(Default)]
struct State {
    pending: VecDeque<Arc<DeviceWork>>,
    /// When everything must have ended, once this rank leaves.
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
        let profiled = Arc::downgrade(&group);
        profile::before_end(move || profiled.upgrade().is_some_and(|group| group.oldest().is_ok()));
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
        self.make_room()?;
        let mut seq = self.seq.lock().unwrap_or_else(|e| e.into_inner());
        // First what the library lacks, whose errors have PyTorch's classes for it.
        self.communicator.check(request)?;
        if request.overlaps(self.me) {
            let text = format!("[{}] an output shares memory with an input; pass x.clone()", request.op.name());
            return Err(Failure::value(text));
        }
        let call = request.call(self.me, self.ranks.len(), self.number, *seq + 1)?;
        *seq += 1;
        self.session.note(self.ranks[self.me], &call);
        let bytes = match call.op {
            Op::AllToAll => [&request.inputs, &request.outputs].map(|all| all.iter().map(|m| m.bytes as u64).collect()),
            _ => [Vec::new(), Vec::new()],
        };
        let work = DeviceWork::new(call.clone(), request.bytes(), None, request.timeout.unwrap_or(self.timeout));
        if let Some(wrong) = self.ledger.record(Entry { call, bytes }) {
            return Err(self.session.fail(&wrong));
        }
        if let Some(rank) = self.ledger.gone_before(*seq) {
            return Err(self.session.fail(&self.left(rank, &work)));
        }
        self.give(std::slice::from_ref(&work), || self.communicator.submit(request))?;
        Ok(work)
    }

    /// Waits while the device has many operations to do.
    fn make_room(&self) -> Result<()> {
        while self.state().pending.len() >= AHEAD {
            let Some(work) = self.oldest()? else { return Ok(()) };
            if self.state().pending.len() >= AHEAD {
                work.wait(Duration::MAX).unwrap_or(Ok(()))?;
            }
        }
        Ok(())
    }

    /// Gives operations to the library. They are watched from now on, because the library may wait for other ranks.
    fn give(&self, all: &[Arc<DeviceWork>], submit: impl FnOnce() -> Result<Arc<dyn Ticket>>) -> Result<()> {
        let mut state = self.state();
        let was_idle = state.pending.is_empty();
        state.pending.extend(all.iter().cloned());
        drop(state);
        // A busy thread looks by itself; waking it for each operation costs more than the operation.
        if was_idle {
            self.changed.notify_all();
        }
        match submit() {
            Ok(ticket) => {
                all.iter().for_each(|work| drop(work.ticket.set(ticket.clone())));
                Ok(())
            }
            Err(failure) => {
                self.state().pending.retain(|other| !all.iter().any(|work| Arc::ptr_eq(work, other)));
                let interrupted = Token::current().requested();
                Err(self.explain(if interrupted { Failure::interrupted("interrupted") } else { failure }))
            }
        }
    }

    /// The loop of the thread.
    fn watch(&self) {
        let (mut said, mut notice) = (Instant::now(), (Instant::now(), NOTICE));
        let (mut has_ended, mut waiting) = (false, self.session.waiting());
        loop {
            let state = self.state();
            let pause = if state.pending.is_empty() && state.end.is_none() { IDLE } else { LOOK };
            let state = match state.end {
                Some(_) if !has_ended => state,
                _ => self.changed.wait_timeout(state, pause).unwrap_or_else(|e| e.into_inner()).0,
            };
            let end = state.end;
            let gives_up = state
                .pending
                .iter()
                .any(|work| work.token.requested() && work.ticket.get().is_none() && work.since.elapsed() > LOOK);
            drop(state);
            if let Some(verdict) = self.session.verdict() {
                return self.stop(&verdict);
            }
            if said.elapsed() >= TELL || end.is_some() || self.ledger.is_late() {
                said = Instant::now();
                self.ledger.unsent().iter().for_each(|(rank, calls)| self.session.send_calls(*rank, calls));
            }
            if gives_up {
                self.session.fail(&format!("rank {} was interrupted by its user", self.ranks[self.me]));
                continue;
            }
            if let Some(text) = self.communicator.failure() {
                let rank = self.session.name(self.ranks[self.me]);
                self.session.fail(&format!("{rank}: {text}"));
                continue;
            }
            match self.oldest() {
                Ok(Some(work)) => self.check_time(&work, &mut notice, &mut waiting),
                Ok(None) => waiting.clear(),
                Err(failure) => drop(self.session.fail(&failure.message)),
            }
            let Some(end) = end else { continue };
            let is_late = end <= Instant::now();
            if !self.state().pending.is_empty() {
                if is_late {
                    return self.stop(&Failure::backend("the process group was destroyed"));
                }
                has_ended = false;
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
            if !std::mem::replace(&mut has_ended, true) {
                // The others learn at once that this rank calls nothing more.
                self.ledger.unsent().iter().for_each(|(rank, calls)| self.session.send_calls(*rank, calls));
                let seq = *self.seq.lock().unwrap_or_else(|e| e.into_inner());
                self.ranks.iter().for_each(|&rank| self.session.send_end(rank, self.number, seq));
            }
            // The library's close() waits for all ranks. If some ranks have not ended in time, it is aborted instead.
            let all_end = self.ledger.have_ended();
            if all_end || is_late {
                self.apart(CLOSE, if all_end { |library| library.close() } else { |library| library.abort() });
                return;
            }
        }
    }

    /// Ends the operations that the device has done, and returns the oldest one that it has not.
    fn oldest(&self) -> Result<Option<Arc<DeviceWork>>> {
        loop {
            let Some(work) = self.state().pending.front().cloned() else { return Ok(None) };
            if !work.is_done()? {
                return Ok(Some(work));
            }
            work.end(None);
            let mut state = self.state();
            if state.pending.front().is_some_and(|front| Arc::ptr_eq(front, &work)) {
                state.pending.pop_front();
            }
        }
    }

    /// Says that a rank ended before an operation.
    fn left(&self, rank: u32, work: &DeviceWork) -> String {
        let (place, last) = (if self.number == 0 { "job" } else { "group" }, self.session.last(rank));
        format!(
            "rank {rank} left the {place} ({last}), while rank {} waits for it in {}. If ranks have different numbers of \
             batches, use DistributedDataParallel's join(), or a DistributedSampler",
            self.ranks[self.me],
            work.text(&self.ranks)
        )
    }

    /// Finds out why an operation does not end. `notice` is when the operation that was looked at last began, and after
    /// which time it is spoken of; `waiting` is where other ranks hear of it.
    fn check_time(&self, work: &DeviceWork, notice: &mut (Instant, Duration), waiting: &mut Waiting<'_>) {
        let waited = work.since.elapsed();
        if notice.0 != work.since {
            *notice = (work.since, NOTICE);
        }
        let gone = match work.message {
            None => self.ledger.gone_before(work.call.seq),
            Some((_, peer)) => {
                let is_sure = |gone: Duration| (gone.min(waited) > LAST_CALLS).then_some(self.ranks[peer]);
                self.ledger.gone_for(peer).and_then(is_sure)
            }
        };
        let behind = match work.message {
            None => self.ledger.behind(work.call.seq),
            Some((_, peer)) => vec![self.ranks[peer]],
        };
        let has_left = |&&rank: &&u32| waited > LAST_CALLS && self.session.left(rank).is_some();
        if let Some(rank) = gone.or_else(|| behind.iter().find(has_left).copied()) {
            self.session.fail(&self.left(rank, work));
            return;
        }
        match waited >= NOTED && !behind.is_empty() {
            true => waiting.note(behind.clone(), work.text(&self.ranks)),
            false => waiting.clear(),
        }
        if waited < notice.1 && waited < work.timeout {
            return;
        }
        let (me, what) = (self.ranks[self.me], work.text(&self.ranks));
        let mut text = format!("rank {me} has waited {} s in {what}", waited.as_secs());
        text += &match &behind[..] {
            [] => " for its device: all ranks have called it".into(),
            some => format!(" for {}", names(some)),
        };
        for &rank in &behind {
            text += &format!("; rank {rank}: {}", self.session.last(rank));
        }
        if waited >= work.timeout {
            text += &self.session.explain(&behind);
            if let Some(error) = self.communicator.last_error() {
                text += &format!("; {}'s last error: {error}", self.name);
            }
            if let Some(report) = self.communicator.report() {
                eprintln!("[cuprous] what {} says of the ranks:\n{report}", self.name);
            }
            self.session.fail(&format!("{text}; the timeout is {} s", work.timeout.as_secs_f32()));
        } else {
            eprintln!("[cuprous] {text}");
            notice.1 += Duration::from_secs(60);
        }
    }

    /// Lets a thread of its own do what may never return. Returns false if it has not in time.
    fn apart(&self, time: Duration, act: fn(&Arc<dyn Communicator>)) -> bool {
        let communicator = self.communicator.clone();
        let (done, ended) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new().name("cuprous-abort".into()).spawn(move || {
            act(&communicator);
            let _ = done.send(());
        });
        thread.is_ok() && ended.recv_timeout(time).is_ok()
    }

    /// Stops the library. Operations that have not ended fail.
    fn stop(&self, verdict: &Failure) {
        let pending = std::mem::take(&mut self.state().pending);
        let lost: Vec<_> = pending.iter().filter(|work| !work.is_done().unwrap_or(false)).cloned().collect();
        // Before the device goes on with what the operations left behind.
        if !lost.is_empty() {
            (self.poison)(verdict);
        }
        lost.iter().for_each(|work| drop(work.failure.set(verdict.clone())));
        // Without operations the device is free, whether the library ends or not.
        let limit = if lost.is_empty() { CLOSE } else { STOP };
        if !self.apart(limit, |library| library.abort()) && !lost.is_empty() {
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
        if request.op != Op::Barrier {
            return work.order().inspect_err(|_| work.hold(keep));
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
        work.hold(lend(work.clone()));
        Ok(work)
    }

    fn exchange(&self, messages: Vec<(Message, Lend)>) -> Result<Vec<Arc<dyn Operation>>> {
        self.session.verdict().map_or(Ok(()), Err)?;
        self.make_room()?;
        let (messages, lends): (Vec<Message>, Vec<Lend>) = messages.into_iter().unzip();
        let _in_one_order = self.seq.lock().unwrap_or_else(|e| e.into_inner());
        let peer = |message: &Message| {
            let unknown = || Failure::value("[recv] messages of GPUs come from a given rank; pass src=");
            message.check_peer(self.me)?.ok_or_else(unknown)
        };
        // Nothing is noted of a batch of which one message is wrong.
        let peers = messages.iter().map(peer).collect::<Result<Vec<usize>>>()?;
        let mut all = Vec::new();
        for (message, peer) in messages.iter().zip(peers) {
            let count = (message.memory.bytes / message.dtype.size()) as u64;
            let call = Call {
                op: Op::Send,
                dtype: message.dtype,
                reduce: None,
                group: self.number,
                seq: message.tag,
                tag: message.tag,
                history: 0,
                root: -1,
                count,
                bytes: message.memory.bytes as u64,
                line: message.line.clone(),
            };
            all.push(DeviceWork::new(call.clone(), message.memory.bytes, Some((message.is_send, peer)), self.timeout));
            if let Some(wrong) = self.ledger.record_message(message.is_send, peer, call) {
                return Err(self.session.fail(&wrong));
            }
        }
        self.give(&all, || self.communicator.exchange(&messages))?;
        let lent = |(work, lend): (Arc<DeviceWork>, Lend)| {
            work.hold(lend(work.clone()));
            work as Arc<dyn Operation>
        };
        Ok(all.into_iter().zip(lends).map(lent).collect())
    }

    fn end(&self, time: Duration) {
        self.state().end.get_or_insert(Instant::now() + time);
        self.changed.notify_all();
        if let Some(thread) = self.thread.lock().unwrap_or_else(|e| e.into_inner()).take() {
            let _ = thread.join();
        }
    }
}
