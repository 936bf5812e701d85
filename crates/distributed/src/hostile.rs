//! What processes that are no ranks, or ranks that send anything, can do: nothing but end their connection, or the job
//! with a message.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::call::{self, Call, Op};
use crate::failure::{Failure, Result};
use crate::mesh::Meeting;
use crate::session::Session;
use crate::store::{MemoryStore, Server, Store, TcpStore};

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const LIMIT: Duration = Duration::from_secs(30);

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.below(256) as u8).collect()
    }
}

fn frame(kind: u8, content: &[u8]) -> Vec<u8> {
    [&[kind][..], &(content.len() as u32).to_le_bytes(), content].concat()
}

/// Returns frames of the control plane of which some bytes are wrong.
fn frames(random: &mut Random) -> Vec<u8> {
    let call = Call {
        op: Op::AllReduce,
        dtype: cuprous_core::DType::F32,
        reduce: None,
        group: 0,
        seq: 3,
        tag: 0,
        history: 0,
        root: -1,
        count: 4,
        bytes: 16,
        line: "a.py:1".into(),
    };
    let mut bytes = Vec::new();
    for _ in 0..1 + random.below(20) {
        // The kinds of frames are 1 to 7, and others.
        let kind = random.below(9) as u8;
        let content = match random.below(4) {
            0 => call.encode().to_vec(),
            1 => [call.encode(), call.encode()].concat(),
            2 => b"some text".to_vec(),
            _ => {
                let length = random.below(2 * call::BYTES);
                random.bytes(length)
            }
        };
        bytes.extend(frame(if random.below(3) > 0 { 3 + random.below(5) as u8 } else { kind }, &content));
    }
    for _ in 0..random.below(4) {
        let at = random.below(bytes.len());
        bytes[at] = random.below(256) as u8;
    }
    bytes
}

/// Joins a job as rank 1 does, and returns its control connection to rank 0.
fn join(store: &dyn Store, token: &[u8]) -> TcpStream {
    let meeting = Meeting { store, key: "session", ranks: &[0, 1], me: 1, timeout: LIMIT, check: &|| Ok(()) };
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("this system has one");
    meeting.all_gather("peer", &format!("host\n{}\n{}\n", boot.trim(), std::process::id())).expect("rank 0 joins");
    let sockets = meeting.connect(HERE, token, "control").expect("rank 0 connects");
    sockets.into_iter().flatten().next().expect("rank 0 has a connection")
}

#[test]
fn a_rank_that_ends_while_it_connects_is_named() {
    let lost = |check: &dyn Fn() -> Result<()>| {
        let store = MemoryStore::default();
        let listener = TcpListener::bind((HERE, 0)).unwrap();
        store.set("k/control/0", listener.local_addr().unwrap().to_string().as_bytes()).unwrap();
        std::thread::spawn(move || drop(listener.accept()));
        let meeting = Meeting { store: &store, key: "k", ranks: &[0, 1], me: 1, timeout: LIMIT, check };
        meeting.connect(HERE, b"token", "control").expect_err("rank 0 is gone").message
    };
    let message = lost(&|| Ok(()));
    assert!(message.contains("rank 1 waits in vain for rank 0 of 2 to join"), "{message}");
    // The session notices the death a moment later.
    let start = Instant::now();
    let verdict = || {
        if start.elapsed() < Duration::from_millis(100) { Ok(()) } else { Err(Failure::backend("rank 0 died")) }
    };
    assert_eq!(lost(&verdict), "rank 0 died");
}

#[test]
fn any_frames_of_a_rank_end_in_a_verdict() {
    let round = |seed: u64| {
        let store = MemoryStore::default();
        let mut random = Random(seed);
        std::thread::scope(|scope| {
            let rank = scope.spawn(|| Session::start(&store, 0, 2, HERE, Some(b"t".to_vec()), LIMIT, None));
            let mut socket = join(&store, b"t");
            let session = rank.join().expect("does not panic").expect("joins");
            let _ = socket.write_all(&frames(&mut random));
            drop(socket);
            let start = Instant::now();
            while session.verdict().is_none() && session.left(1).is_none() {
                assert!(start.elapsed() < LIMIT, "rank 0 does not notice what seed {seed} sends");
                std::thread::sleep(Duration::from_millis(2));
            }
            session.leave();
        });
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..48).map(|seed| scope.spawn(move || round(seed))).collect();
        threads.into_iter().for_each(|thread| thread.join().expect("does not panic"));
    });
}

#[test]
fn strangers_do_not_keep_ranks_from_each_other() {
    let store = Arc::new(MemoryStore::default());
    let meet = |me: usize| {
        let store = store.clone();
        move || {
            let ranks = [0, 1];
            let meeting = Meeting { store: &*store, key: "k", ranks: &ranks, me, timeout: LIMIT, check: &|| Ok(()) };
            meeting.connect(HERE, b"token", "control").map(|sockets| sockets.iter().flatten().count())
        }
    };
    let first = std::thread::spawn(meet(0));
    let address = String::from_utf8(store.get("k/control/0", LIMIT).unwrap()).unwrap();
    let mut random = Random(7);
    // Silent ones, which stay, and ones that send anything.
    let strangers: Vec<TcpStream> = (0..40)
        .map(|k| {
            let mut socket = TcpStream::connect(&address).unwrap();
            let length = random.below(200);
            let _ = socket.write_all(&if k % 2 == 0 { random.bytes(length) } else { b"CuprAuth".to_vec() });
            socket
        })
        .collect();
    let start = Instant::now();
    let second = std::thread::spawn(meet(1));
    assert_eq!((first.join().unwrap().unwrap(), second.join().unwrap().unwrap()), (1, 1));
    assert!(start.elapsed() < Duration::from_secs(4), "strangers delayed the ranks by {:?}", start.elapsed());
    drop(strangers);
}

#[test]
fn a_store_answers_while_strangers_send_anything() {
    let server = Server::start(HERE, 0).unwrap();
    let port = server.port();
    let store = TcpStore::connect("127.0.0.1", port, LIMIT, Some(server)).unwrap();
    store.set("key", b"value").unwrap();
    let mut random = Random(11);
    let validated = [&[0][..], &0x3C85_F7CE_u32.to_le_bytes()].concat();
    let mut open = Vec::new();
    for round in 0..400 {
        let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let length = random.below(100);
        let mut bytes = random.bytes(length);
        if round % 2 == 0 {
            bytes.insert(0, random.below(20) as u8);
            bytes = [&validated[..], &bytes].concat();
        }
        let _ = socket.write_all(&bytes);
        if round % 3 == 0 {
            open.push(socket);
        }
        if round % 50 == 0 {
            assert_eq!(store.get("key", LIMIT).unwrap(), b"value");
        }
    }
    assert_eq!(store.add("count", 2).unwrap(), 2);
}
