//! What ranks wait for, and whose fault it is that a wait does not end.
//!
//! In a chain of waits the time of any rank may be over first, and the rank for which it waits need not be the cause. So
//! a rank whose time is over asks the ranks for which it waits what they wait for themselves, then those ranks, and its
//! verdict says what each of them answered. The watch thread answers, so a rank answers while it waits or computes; one
//! whose process is stopped does not.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::mesh::names;

/// A wait is one that others may hear of after this time.
pub(crate) const NOTED: Duration = Duration::from_millis(100);
/// How long an answer is awaited.
const ANSWER: Duration = Duration::from_millis(500);
/// Ranks that are asked at most, and waits of a rank that are in its answer.
const ASKED: usize = 16;
const WAITS: usize = 4;
/// Bytes of the description of a wait in an answer.
const TEXT: usize = 1024;

/// Ranks, and in what another rank waits for them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wait {
    ranks: Vec<u32>,
    text: String,
}

/// The waits of this rank, and what other ranks answered.
#[derive(Default)]
pub(crate) struct Waits {
    own: Mutex<BTreeMap<u64, Wait>>,
    next: AtomicU64,
    answers: Mutex<BTreeMap<u32, Vec<Wait>>>,
    /// Held while this rank asks.
    asking: Mutex<()>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

/// A place where a thread waits for ranks, time and again.
pub(crate) struct Waiting<'a> {
    waits: &'a Waits,
    id: u64,
    is_noted: bool,
}

impl Waiting<'_> {
    /// Notes for whom this thread waits now. `text` says in what.
    pub(crate) fn note(&mut self, ranks: Vec<u32>, text: String) {
        locked(&self.waits.own).insert(self.id, Wait { ranks, text });
        self.is_noted = true;
    }

    /// Notes that this thread does not wait.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.is_noted) {
            locked(&self.waits.own).remove(&self.id);
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Waits {
    pub(crate) fn place(&self) -> Waiting<'_> {
        Waiting { waits: self, id: self.next.fetch_add(1, Relaxed), is_noted: false }
    }

    /// Returns what this rank answers another one: a line for each wait, with the ranks before a tab.
    pub(crate) fn answer(&self) -> String {
        let line = |wait: &Wait| {
            let ranks: Vec<String> = wait.ranks.iter().take(ASKED).map(u32::to_string).collect();
            let text: String = wait.text.chars().filter(|c| !c.is_control()).take(TEXT / 4).collect();
            format!("{}\t{text}\n", ranks.join(","))
        };
        locked(&self.own).values().take(WAITS).map(line).collect()
    }

    /// Notes what another rank answered. Returns false if it is not understood.
    pub(crate) fn hear(&self, rank: u32, answer: &str) -> bool {
        let parse = |line: &str| {
            let (ranks, text) = line.split_once('\t')?;
            let ranks: Option<Vec<u32>> = ranks.split(',').map(|rank| rank.parse().ok()).collect();
            Some(Wait { ranks: ranks?, text: text.to_owned() })
        };
        let waits: Option<Vec<Wait>> = answer.lines().take(WAITS).map(parse).collect();
        let is_understood = waits.is_some();
        locked(&self.answers).extend(waits.map(|waits| (rank, waits)));
        is_understood
    }

    /// Asks the ranks for which the rank `own` waits, and those for which they wait. Returns what they answered, to be
    /// appended to a text: "; rank 3 waits for rank 2 in …; rank 2 does not answer". `send` asks a rank of the job and
    /// returns false for any other; nothing is awaited any more once `is_over`.
    pub(crate) fn explain(
        &self,
        own: u32,
        ranks: &[u32],
        send: impl Fn(u32) -> bool,
        is_over: impl Fn() -> bool,
    ) -> String {
        let _alone = locked(&self.asking);
        locked(&self.answers).clear();
        let (mut asked, mut known) = (Vec::new(), BTreeSet::from([own]));
        let mut ask = |rank: u32, asked: &mut Vec<u32>| {
            let is_new = asked.len() < ASKED && known.insert(rank) && send(rank);
            asked.extend(is_new.then_some(rank));
            is_new
        };
        for &rank in ranks {
            ask(rank, &mut asked);
        }
        let mut since = Instant::now();
        let answers = loop {
            let answers = locked(&self.answers).clone();
            let further = answers.values().flatten().flat_map(|wait| &wait.ranks);
            if further.fold(false, |new, &rank| ask(rank, &mut asked) | new) {
                since = Instant::now();
            }
            let is_complete = asked.iter().all(|rank| answers.contains_key(rank));
            if is_complete || since.elapsed() > ANSWER || is_over() {
                break answers;
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let says = |&rank: &u32| match answers.get(&rank).map(Vec::as_slice) {
            None => format!("; rank {rank} does not answer, as if its process was stopped"),
            Some([]) => format!("; rank {rank} waits for no rank"),
            Some(waits) => {
                let text = |wait: &Wait| format!("; rank {rank} waits for {} in {}", names(&wait.ranks), wait.text);
                waits.iter().map(text).collect()
            }
        };
        asked.iter().map(says).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_the_waits_of_the_moment() {
        let (own, other) = (Waits::default(), Waits::default());
        let mut place = own.place();
        place.note(vec![2, 3], "recv float32[5] at a\nb.py:3".into());
        own.place().note(vec![1], "a wait that has ended".into());
        assert!(other.hear(4, &own.answer()));
        let expected = Wait { ranks: vec![2, 3], text: "recv float32[5] at ab.py:3".into() };
        assert_eq!(locked(&other.answers)[&4], [expected]);
        place.clear();
        assert!(own.answer().is_empty() && other.hear(4, ""));
        assert_eq!(locked(&other.answers)[&4], []);
        assert!(!other.hear(5, "1,x\tnothing") && !other.hear(5, "no tab"));
        assert!(!locked(&other.answers).contains_key(&5));
    }
}
