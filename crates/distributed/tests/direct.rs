//! Large collectives of one host. The ranks are threads: each reaches the memory of this process as that of another one.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use cuprous_core::DType;
use cuprous_distributed::call::{Op, ReduceKind};
use cuprous_distributed::collectives::{Memory, Request};
use cuprous_distributed::store::MemoryStore;
use cuprous_distributed::{Backend, Failure, Group, Result, Session};

const TIMEOUT: Duration = Duration::from_secs(20);

/// Runs a function as each rank of a job, and returns what the ranks return.
fn job<T: Send>(n: u32, act: impl Fn(usize, &Arc<Group>) -> T + Sync) -> Vec<T> {
    let store = MemoryStore::default();
    std::thread::scope(|scope| {
        let rank = |rank: u32| {
            let (store, act) = (&store, &act);
            scope.spawn(move || {
                let ip = Ipv4Addr::LOCALHOST.into();
                let session = Session::start(store, rank, n, ip, None, TIMEOUT, None).unwrap();
                let group = Group::new(&session, store, 0, (0..n).collect(), TIMEOUT, None).unwrap();
                let result = act(rank as usize, &group);
                group.end(TIMEOUT);
                session.leave();
                result
            })
        };
        let threads: Vec<_> = (0..n).map(rank).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn memory(values: &mut [f32]) -> Memory {
    Memory { address: values.as_mut_ptr() as u64, bytes: size_of_val(values) }
}

fn request(op: Op, inputs: &mut [Vec<f32>], outputs: &mut [Vec<f32>]) -> Request {
    Request {
        op,
        dtype: DType::F32,
        reduce: (op == Op::AllReduce).then_some(ReduceKind::Sum),
        root: None,
        inputs: inputs.iter_mut().map(|values| memory(values)).collect(),
        outputs: outputs.iter_mut().map(|values| memory(values)).collect(),
        line: "test.rs:1".into(),
        timeout: None,
    }
}

/// What one rank gives another one.
fn given(from: usize, to: usize, count: usize) -> Vec<f32> {
    (0..count).map(|k| (k % 1000 + 10_000 * from + 1_000 * to) as f32).collect()
}

fn exchange(group: &Arc<Group>, me: usize, n: usize, sizes: impl Fn(usize, usize) -> usize) -> Result<Vec<Vec<f32>>> {
    let mut inputs: Vec<_> = (0..n).map(|to| given(me, to, sizes(me, to))).collect();
    let mut outputs: Vec<_> = (0..n).map(|from| vec![-1.0; sizes(from, me)]).collect();
    group.run(&request(Op::AllToAll, &mut inputs, &mut outputs), Box::new(()))?;
    Ok(outputs)
}

#[test]
fn sizes_of_each_pair_decide_together() {
    // Small ones, a large one among small ones and nothing, and large ones.
    let tables: [fn(usize, usize) -> usize; 3] = [
        |from, to| 100 * from + to,
        |from, to| if (from, to) == (2, 0) { 300_001 } else { 7 * from * to },
        |from, to| 100_000 + 1001 * from + to,
    ];
    job(3, |me, group| {
        assert_eq!(group.transport(), "shared memory, large tensors directly");
        for sizes in tables {
            for (from, got) in exchange(group, me, 3, sizes).unwrap().into_iter().enumerate() {
                assert_eq!(got, given(from, me, sizes(from, me)));
            }
            let mut inputs = [vec![me as f32 + 1.0; 200_000]];
            let mut outputs = [vec![0.0; 200_000]];
            group.run(&request(Op::AllReduce, &mut inputs, &mut outputs), Box::new(())).unwrap();
            assert!(outputs[0].iter().all(|&value| value == 6.0));
        }
    });
}

#[test]
fn sizes_that_disagree_are_an_error_on_all_ranks_before_anything_moves() {
    for large in [1000, 400_000] {
        let failures: Vec<Failure> = job(3, |me, group| {
            // Rank 1 expects more from rank 2 than that one sends.
            let sizes = |from: usize, to: usize| if (from, to, me) == (2, 1, 1) { large + 1 } else { large };
            exchange(group, me, 3, sizes).unwrap_err()
        });
        let text = format!("rank 2 sends {} bytes to rank 1, which expects {}", 4 * large, 4 * large + 4);
        for failure in failures {
            assert!(failure.message.contains(&text), "{}", failure.message);
            assert!(failure.message.contains("rank 1 calls all_to_all float32[0] at test.rs:1"), "{}", failure.message);
        }
    }
}
