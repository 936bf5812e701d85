//! Groups of ranks: collectives in order, on the thread that calls them or on the group's own.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use cuprous_core::profile::{self, Begun, Kind};

use crate::backend::{Backend, Keep, Lend, Operation};
use crate::collectives::{Message, Request};
use crate::direct::{Direct, Offer, Process};
use crate::exchange::{self, Place};
use crate::failure::{Failure, Result};
use crate::link::Link;
use crate::mesh::Meeting;
use crate::messages::Messages;
use crate::mpi::{Communicator, MpiLink};
use crate::session::Session;
use crate::shm::{Segment, ShmLink};
use crate::socket::SocketLink;
use crate::store::Store;
use crate::transfer::Exchange;
use crate::work::Work;

struct Job {
    exchange: Exchange,
    keep: Keep,
    work: Arc<Work>,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    /// The number of the last call.
    seq: u64,
    is_busy: bool,
    has_thread: bool,
    has_ended: bool,
}

/// A group of ranks.
pub struct Group {
    session: Arc<Session>,
    /// World ranks, in the order of the group.
    ranks: Vec<u32>,
    me: usize,
    number: u32,
    timeout: Duration,
    transport: &'static str,
    link: Mutex<Box<dyn Link>>,
    /// The memory of the other ranks, if they may be reached.
    direct: Option<Direct>,
    queue: Mutex<Queue>,
    changed: Condvar,
    messages: Messages,
    communicator: Option<Arc<Communicator>>,
}

impl Group {
    /// Makes a group of these ranks, of which this process is one. All of them call it, with the same number and ranks.
    /// With a communicator of the same ranks in the same order, bytes move through MPI.
    ///
    /// # Errors
    /// A rank did not come in time, or cannot be reached.
    pub fn new(
        session: &Arc<Session>,
        store: &dyn Store,
        number: u32,
        ranks: Vec<u32>,
        timeout: Duration,
        communicator: Option<Communicator>,
    ) -> Result<Arc<Group>> {
        let me = ranks.iter().position(|&rank| rank == session.rank);
        let me = me.ok_or_else(|| Failure::value("this rank is not in the group"))?;
        let key = format!("group/{number}");
        let check = || session.verdict().map_or(Ok(()), Err);
        let meeting = Meeting { store, key: &key, ranks: &ranks, me, timeout, check: &check };
        let communicator = communicator.map(Arc::new);
        let ([link, lane], direct) = match &communicator {
            Some(on) => ([0, 1].map(|tag| Box::new(MpiLink::new(on.clone(), tag, ranks.len())) as Box<dyn Link>), None),
            None => connect(session, &meeting)?,
        };
        session.on_change(link.waker());
        let transport = if direct.is_some() { "shared memory, large tensors directly" } else { link.name() };
        let messages = Messages::new(session.clone(), ranks.clone(), me, number, timeout, lane);
        Ok(Arc::new(Group {
            session: session.clone(),
            ranks,
            me,
            number,
            timeout,
            transport,
            link: Mutex::new(link),
            direct,
            queue: Mutex::default(),
            changed: Condvar::new(),
            messages,
            communicator,
        }))
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn check(&self) -> Result<()> {
        self.session.verdict().map_or(Ok(()), Err)
    }

    fn run_now(self: &Arc<Group>, request: &Request, keep: Keep) -> Result<()> {
        let mut queue = self.queue();
        if queue.is_busy || !queue.jobs.is_empty() {
            drop(queue);
            let work = Arc::new(Work::new(request.op.name(), request.bytes()));
            self.queue_up(request, keep, work.clone())?;
            return work.wait(Duration::MAX).unwrap_or(Ok(()));
        }
        self.check()?;
        let exchange = request.exchange(self.me, self.ranks.len(), self.number, queue.seq + 1)?;
        queue.seq += 1;
        queue.is_busy = true;
        drop(queue);
        let begun = Begun::collective(request.op.name(), request.bytes() as u64);
        let result = profile::timed(Kind::RankWait, 0, 0, || self.perform(&exchange));
        if let Some(begun) = begun {
            begun.end(None);
        }
        drop(self.free(keep, &result));
        self.queue().is_busy = false;
        self.changed.notify_all();
        result
    }

    /// Queues a collective, which runs after those that were called before.
    fn queue_up(self: &Arc<Group>, request: &Request, keep: Keep, work: Arc<Work>) -> Result<()> {
        self.check()?;
        let mut queue = self.queue();
        let exchange = request.exchange(self.me, self.ranks.len(), self.number, queue.seq + 1)?;
        queue.seq += 1;
        queue.jobs.push_back(Job { exchange, keep, work });
        if !queue.has_thread {
            let group = self.clone();
            let thread = std::thread::Builder::new().name("cuprous-group".into()).spawn(move || group.work());
            thread.map_err(|e| Failure::backend(format!("cannot start a thread: {e}")))?;
            queue.has_thread = true;
        }
        drop(queue);
        self.changed.notify_all();
        Ok(())
    }

    fn perform(&self, exchange: &Exchange) -> Result<()> {
        self.check()?;
        let place = Place { session: &self.session, ranks: &self.ranks, me: self.me, timeout: self.timeout };
        let mut link = self.link.lock().unwrap_or_else(|e| e.into_inner());
        let Some(direct) = self.direct.as_ref().filter(|direct| direct.suits(&exchange.call)) else {
            return exchange::run(exchange, &place, &mut **link);
        };
        direct.run(exchange, &place, &mut **link)
    }

    /// Returns what keeps the memory of a collective that has ended, or `None` and keeps it forever if another rank of a
    /// failed one touches it: that rank may go on at any time.
    fn free(&self, keep: Keep, result: &Result<()>) -> Option<Keep> {
        if result.is_err() && self.direct.as_ref().is_some_and(Direct::is_touched) {
            std::mem::forget(keep);
            return None;
        }
        Some(keep)
    }

    fn work(&self) {
        loop {
            let mut queue = self.queue();
            let job = loop {
                if !queue.is_busy
                    && let Some(job) = queue.jobs.pop_front()
                {
                    break job;
                }
                if queue.has_ended && queue.jobs.is_empty() {
                    return;
                }
                queue = self.changed.wait(queue).unwrap_or_else(|e| e.into_inner());
            };
            queue.is_busy = true;
            drop(queue);
            let result = self.perform(&job.exchange);
            let keep = self.free(job.keep, &result);
            job.work.end(result, None, keep);
            self.queue().is_busy = false;
            self.changed.notify_all();
        }
    }
}

impl Backend for Arc<Group> {
    fn transport(&self) -> &'static str {
        self.transport
    }

    fn ranks(&self) -> &[u32] {
        &self.ranks
    }

    fn rank(&self) -> usize {
        self.me
    }

    fn run(&self, request: &Request, keep: Keep) -> Result<()> {
        // SAFETY: the caller keeps the memory of the request.
        match unsafe { request.staged(self.me) } {
            None => self.run_now(request, keep),
            Some((request, copies)) => self.run_now(&request, Box::new((keep, copies))),
        }
    }

    fn submit(&self, request: &Request, lend: Lend) -> Result<Arc<dyn Operation>> {
        let work = Arc::new(Work::new(request.op.name(), request.bytes()));
        let keep = lend(work.clone());
        // SAFETY: as above.
        match unsafe { request.staged(self.me) } {
            None => self.queue_up(request, keep, work.clone())?,
            Some((request, copies)) => self.queue_up(&request, Box::new((keep, copies)), work.clone())?,
        }
        Ok(work)
    }

    fn exchange(&self, messages: Vec<(Message, Lend)>) -> Result<Vec<Arc<dyn Operation>>> {
        // Nothing is sent of a batch of which one message is wrong.
        messages.iter().try_for_each(|(message, _)| self.messages.check(message))?;
        let begin = |(message, lend): (Message, Lend)| -> Result<Arc<dyn Operation>> {
            let work = self.messages.work(&message);
            self.messages.submit(message, lend(work.clone()), work.clone())?;
            Ok(work)
        };
        messages.into_iter().map(begin).collect()
    }

    fn end(&self, time: Duration) {
        let mut queue = self.queue();
        queue.has_ended = true;
        self.changed.notify_all();
        let is_idle = |q: &mut Queue| q.is_busy || !q.jobs.is_empty();
        drop(self.changed.wait_timeout_while(queue, time, is_idle).unwrap_or_else(|e| e.into_inner()));
        self.messages.end();
        if let Some(communicator) = &self.communicator {
            communicator.close();
        }
    }
}

/// The streams of collectives and of messages.
type Lanes = [Box<dyn Link>; 2];
/// The processes of the ranks.
type Processes = Vec<Arc<Process>>;

/// Connects the ranks of a group, for collectives and for messages.
fn connect(session: &Session, meeting: &Meeting) -> Result<(Lanes, Option<Direct>)> {
    let (n, me) = (meeting.ranks.len(), meeting.me);
    let wants = std::env::var("CUPROUS_DISTRIBUTED_TRANSPORT").unwrap_or_default();
    if !["", "shm", "socket"].contains(&&*wants) {
        return Err(Failure::value(format!("CUPROUS_DISTRIBUTED_TRANSPORT={wants} is unknown; use shm or socket")));
    }
    if n > 1 && wants != "socket" && session.on_one_host(meeting.ranks) {
        let mut made = None;
        if me == 0 {
            match Segment::create(n) {
                Ok(segment) => made = Some(segment),
                Err(e) => eprintln!(
                    "[cuprous] ranks of this host use sockets, because shared memory in /dev/shm failed: {e}; in a \
                     container, give it more room"
                ),
            }
        }
        let offer = if wants.is_empty() { Offer::new() } else { None };
        let shared = share(meeting, made.as_ref().map_or("", |(_, name)| name), offer.as_ref());
        if let Some((_, name)) = &made {
            Segment::unlink(name);
        }
        if let Some((opened, processes)) = shared? {
            let segment = Arc::new(made.map_or(opened, |(segment, _)| segment));
            let direct = processes.zip(offer).map(|(all, offer)| Direct::new(segment.clone(), me, all, offer));
            let lane = |lane| Box::new(ShmLink::new(segment.clone(), lane, me)) as Box<dyn Link>;
            return Ok(([0, 1].map(lane), direct));
        }
    }
    let lane = |purpose: &str| -> Result<Box<dyn Link>> {
        let sockets = if n == 1 { vec![None] } else { meeting.connect(session.ip, &session.token, purpose)? };
        let link = SocketLink::new(sockets);
        Ok(Box::new(link.map_err(|e| Failure::network(format!("cannot use the connections: {e}")))?))
    };
    Ok(([lane("collectives")?, lane("messages")?], None))
}

/// Opens the memory that the first rank made, if all ranks can. Returns it with the processes of the ranks, if all can
/// reach each other's own memory.
fn share(meeting: &Meeting, name: &str, offer: Option<&Offer>) -> Result<Option<(Segment, Option<Processes>)>> {
    let offer = offer.map_or_else(String::new, Offer::text);
    let texts = meeting.all_gather("memory", &format!("{name}\n{offer}"))?;
    let said = |text: &String| text.split_once('\n').map(|(name, offer)| (name.to_owned(), offer.to_owned()));
    let said: Option<Vec<(String, String)>> = texts.iter().map(said).collect();
    let said = said.ok_or_else(|| Failure::store("the store has keys of another program"))?;
    let name = &said[0].0;
    let opened = Segment::open(name, meeting.ranks.len()).ok().filter(|_| !name.is_empty());
    let processes: Option<Processes> = said.iter().map(|(_, offer)| Offer::accept(offer)).collect();
    let answer = match (&opened, &processes) {
        (None, _) => "no",
        (Some(_), None) => "yes",
        (Some(_), Some(_)) => "directly",
    };
    let answers = meeting.all_gather("opened", answer)?;
    let opened = opened.filter(|_| answers.iter().all(|answer| answer != "no"));
    let processes = processes.filter(|_| answers.iter().all(|answer| answer == "directly"));
    Ok(opened.map(|segment| (segment, processes)))
}
