//! Compares routines on rows of tables with plain loops.

mod common;
use common::*;
use cuprous_core::routine::GroupFunction;
use cuprous_core::{DType::*, Layout, LayoutRef, RoutineOp};

/// Numbers without a pattern.
fn numbers(n: usize, below: i64, seed: u64) -> Vec<i64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as i64 % below
    };
    (0..n).map(|_| next()).collect()
}

fn column(values: &[i64]) -> (Vec<u8>, LayoutRef) {
    (i64::bytes(values), Layout::contiguous(I64, &[values.len() as i64]))
}

fn mask(values: &[i64]) -> (Vec<u8>, LayoutRef) {
    (values.iter().map(|&v| u8::from(v != 0)).collect(), Layout::contiguous(Bool, &[values.len() as i64]))
}

/// Returns the numbers of the rows and the first rows.
fn group(keys: &[i64], mask: Option<&[i64]>) -> (Vec<i64>, Vec<i64>) {
    let mut known = std::collections::HashMap::new();
    let mut firsts = Vec::new();
    let mut ids = Vec::new();
    for (row, key) in keys.iter().enumerate() {
        if mask.is_some_and(|mask| mask[row] == 0) {
            ids.push(-1);
            continue;
        }
        let next = firsts.len() as i64;
        let id = *known.entry(*key).or_insert(next);
        if id == next {
            firsts.push(row as i64);
        }
        ids.push(id);
    }
    (ids, firsts)
}

#[test]
fn rows_are_numbered_by_their_first_rows() {
    for (n, below) in [(1, 1), (7, 3), (1_000, 400), (300_000, 9), (300_000, 50_000), (300_000, 1 << 40)] {
        let keys = numbers(n, below, n as u64);
        let chosen = numbers(n, 4, 5);
        for masked in [false, true] {
            let (ids, firsts) = group(&keys, masked.then_some(&chosen));
            let ins: Vec<_> = [column(&keys)].into_iter().chain(masked.then(|| mask(&chosen))).collect();
            for domain in [0, below] {
                if domain > 1 << 20 {
                    continue;
                }
                let out = Layout::contiguous(I32, &[2 * n as i64 + 1]);
                let got: Vec<i64> = i32::read(&run_routine(RoutineOp::GroupIds { domain }, &ins, out))
                    .into_iter()
                    .map(i64::from)
                    .collect();
                let what = format!("{n} rows, keys below {below}, domain {domain}, masked {masked}");
                assert!(got[..n] == ids, "{what}");
                assert!(got[n..n + firsts.len()] == firsts, "{what}");
                assert_eq!(got[2 * n], firsts.len() as i64, "{what}");
            }
        }
    }
}

#[test]
fn aggregates_of_groups() {
    use GroupFunction::*;
    let functions = [Sum, Count, Min, Max, First, Last];
    for (n, groups) in [(1, 1), (100, 7), (5_000, 5_000), (200_000, 3), (200_000, 5_000)] {
        let ids: Vec<i64> = numbers(n, groups as i64 + 1, 3).iter().map(|id| id - 1).collect();
        let values = numbers(n, 1_000, 4);
        let chosen = numbers(n, 3, 5);
        let mut want = [0, 0, i64::MAX, i64::MIN, -1, -1].map(|start| vec![start; groups]);
        for (row, (&id, &v)) in ids.iter().zip(&values).enumerate() {
            if id >= 0 && chosen[row] != 0 {
                let [sum, count, min, max, first, last] = &mut want;
                let (id, row) = (id as usize, row as i64);
                (sum[id], count[id]) = (sum[id] + v, count[id] + 1);
                (min[id], max[id]) = (min[id].min(v), max[id].max(v));
                (first[id], last[id]) = (if first[id] < 0 { row } else { first[id] }, row);
            }
        }
        let op = RoutineOp::GroupAggregate { functions: functions.as_slice().into() };
        let out = Layout::contiguous(I64, &[functions.len() as i64, groups as i64]);
        let got = i64::read(&run_routine(op, &[column(&ids), column(&values), mask(&chosen)], out));
        for (k, function) in functions.iter().enumerate() {
            assert!(got[k * groups..][..groups] == want[k], "{function:?} of {n} rows in {groups} groups");
        }
    }
}

#[test]
fn extremes_leave_out_nan() {
    let functions = [GroupFunction::Sum, GroupFunction::Min, GroupFunction::Max];
    let ids = column(&[0, 1, 0, 2, 0, -1]);
    let values = (f64::bytes(&[f64::NAN, f64::NAN, 2.0, f64::INFINITY, -3.0, 9.0]), Layout::contiguous(F64, &[6]));
    let op = RoutineOp::GroupAggregate { functions: functions.as_slice().into() };
    let got = f64::read(&run_routine(op, &[ids, values], Layout::contiguous(I64, &[3, 4])));
    let infinity = f64::INFINITY;
    let nan = f64::NAN;
    let want = [nan, nan, infinity, 0.0, -3.0, nan, infinity, nan, 2.0, nan, infinity, nan];
    for (k, (got, want)) in got.iter().zip(want).enumerate() {
        assert!(*got == want || got.is_nan() && want.is_nan(), "{k}: {got} {want}");
    }
}

#[test]
fn pairs_of_equal_keys() {
    for (right, left, domain) in [(0, 5, 3), (4, 0, 3), (40, 30, 60), (500, 900, 20), (100_000, 90_000, 70_000)] {
        let of_side = |n, seed| numbers(n, domain + 1, seed).into_iter().map(|key| key - 1).collect::<Vec<_>>();
        let (right, left) = (of_side(right, 7), of_side(left, 8));
        let mut rows = vec![Vec::new(); domain as usize];
        right
            .iter()
            .enumerate()
            .filter(|(_, key)| **key >= 0)
            .for_each(|(row, &key)| rows[key as usize].push(row as i64));
        let rows_of = |key: i64| if key < 0 { &[][..] } else { &rows[key as usize] };
        let ins = [column(&right), column(&left)];
        let out = Layout::contiguous(I64, &[left.len() as i64 + 3]);
        let got = i64::read(&run_routine(RoutineOp::JoinMatch { domain }, &ins, out));
        let counts: Vec<i64> = left.iter().map(|&key| rows_of(key).len() as i64).collect();
        let mut want: Vec<i64> = left.iter().map(|&key| rows_of(key).first().copied().unwrap_or(-1)).collect();
        want.push(counts.iter().sum());
        want.push(counts.iter().filter(|&&n| n > 0).count() as i64);
        want.push(counts.iter().copied().max().unwrap_or(0));
        assert!(got == want, "{} and {} rows", right.len(), left.len());
        for keep_left in [false, true] {
            let mut pairs = Vec::new();
            for (row, &key) in left.iter().enumerate() {
                pairs.extend(rows_of(key).iter().map(|&right| (row as i64, right)));
                if keep_left && rows_of(key).is_empty() {
                    pairs.push((row as i64, -1));
                }
            }
            if pairs.is_empty() {
                continue;
            }
            let out = Layout::contiguous(I64, &[2, pairs.len() as i64]);
            let got = i64::read(&run_routine(RoutineOp::JoinPairs { domain, keep_left }, &ins, out));
            let want: Vec<i64> = pairs.iter().map(|p| p.0).chain(pairs.iter().map(|p| p.1)).collect();
            assert!(got == want, "{} and {} rows, keep_left {keep_left}", right.len(), left.len());
        }
    }
}
