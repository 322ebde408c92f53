//! The analysis against the definition by brute force.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};

use crate::event::{Collective, Event, Flow, Logged, Logs};
use crate::ids::Rank;
use crate::look::Owners;
use crate::offline::analyse;
use crate::owner::{Findings, Statement};
use crate::phases::{Analyst, Post, Transport};
use crate::rules::Verdict;
use crate::testing::generate::{Style, program};
use crate::testing::oracle::{Level, describe, races};

/// Programs of each kind; `REWEAVE_SPMD_PROGRAMS` for more.
fn programs() -> u64 {
    std::env::var("REWEAVE_SPMD_PROGRAMS").ok().and_then(|count| count.parse().ok()).unwrap_or(700)
}

fn found(logs: &Logs) -> BTreeMap<(Statement, Statement), Level> {
    let level = |verdict| if verdict == Verdict::Race { Level::Race } else { Level::Potential };
    analyse(logs, false, &Owners::default())
        .found
        .iter()
        .map(|found| (found.statements(), level(found.verdict)))
        .collect()
}

fn agrees(style: Style, ranks: usize, events: usize) {
    let (mut pairs, mut impossible) = (0, 0);
    for seed in 0..programs() {
        let logs = program(seed, style, ranks, events);
        let Some(expected) = races(&logs) else {
            impossible += 1;
            continue;
        };
        let found = found(&logs);
        pairs += expected.len();
        let keys: BTreeSet<_> = found.keys().chain(expected.keys()).collect();
        let differences: Vec<_> = (keys.into_iter())
            .map(|key| (key, found.get(key), expected.get(key)))
            .filter(|(_, found, expected)| found != expected)
            .collect();
        assert!(
            differences.is_empty(),
            "seed {seed}, {style:?}, {ranks} ranks, {events} events\n{}\n(pair, found, expected): {differences:?}",
            describe(&logs)
        );
    }
    assert!(impossible * 20 < programs(), "{impossible} programs have no run");
    assert!(pairs > programs() as usize / 4, "only {pairs} races in all: the programs test nothing");
}

#[test]
fn mpi_programs_of_two_ranks() {
    agrees(Style::Mpi, 2, 16);
}

#[test]
fn mpi_programs_of_three_ranks() {
    agrees(Style::Mpi, 3, 18);
}

#[test]
fn shmem_programs_of_two_ranks() {
    agrees(Style::Shmem, 2, 16);
}

#[test]
fn shmem_programs_of_three_ranks() {
    agrees(Style::Shmem, 3, 18);
}

/// Boundaries: collectives that everybody enters before anybody leaves, and does nothing in between.
fn boundaries(logs: &Logs) -> Vec<Collective> {
    let blocking = |log: &Vec<Logged>, wanted: Collective| {
        log.windows(2).any(|pair| {
            matches!(pair[0].event, Event::Enter { collective, .. } if collective == wanted)
                && pair[1].event == Event::Exit { collective: wanted }
        })
    };
    let entered = |logged: &Logged| match &logged.event {
        Event::Enter { collective, flow: Flow::All { .. }, .. } => Some(*collective),
        _ => None,
    };
    let all = logs[0].iter().filter_map(entered);
    all.filter(|collective| logs.iter().all(|log| blocking(log, *collective))).collect()
}

/// Runs the analysis phase by phase, as the ranks would.
fn by_phases(logs: &Logs) -> BTreeMap<(Statement, Statement), Level> {
    let mut analysts: Vec<Analyst> = (0..logs.len()).map(|rank| Analyst::new(Rank(rank as u32), usize::MAX)).collect();
    let mut next = vec![0; logs.len()];
    let mut post = Post::default();
    let mut all: BTreeMap<(Statement, Statement), Level> = BTreeMap::new();
    let ends = boundaries(logs).into_iter().map(Some).chain([None]);
    for end in ends {
        for (rank, log) in logs.iter().enumerate() {
            while next[rank] < log.len() {
                let logged = &log[next[rank]];
                analysts[rank].take(logged);
                next[rank] += 1;
                if matches!(logged.event, Event::Enter { collective, .. } if Some(collective) == end) {
                    break;
                }
            }
        }
        for findings in post.boundary(&mut analysts) {
            for (statements, found) in findings.pairs {
                let level = if found.verdict == Verdict::Race { Level::Race } else { Level::Potential };
                let entry = all.entry(statements).or_insert(level);
                *entry = level.max(*entry);
            }
        }
    }
    all
}

#[test]
fn phases_find_what_the_whole_log_shows() {
    let (mut cut, mut compared) = (0, 0);
    for seed in 0..programs() {
        let style = if seed % 2 == 0 { Style::Mpi } else { Style::Shmem };
        let logs = program(seed, style, 3, 40);
        cut += boundaries(&logs).len();
        // Values reach across phases: a read in a later one may have another writer besides.
        let values = |logged: &Logged| matches!(logged.event, Event::Returned { .. } | Event::Waiting { .. });
        // Strands that take no part in a boundary are not cut by it.
        let strands = |logged: &Logged| logged.strand > 0;
        if logs.iter().flatten().any(|logged| values(logged) || strands(logged)) {
            continue;
        }
        compared += 1;
        let (whole, phases) = (found(&logs), by_phases(&logs));
        assert_eq!(phases, whole, "seed {seed}\n{}", describe(&logs));
    }
    assert!(compared > programs() / 4, "only {compared} programs were compared");
    assert!(cut > programs() as usize / 10, "only {cut} boundaries: the programs test nothing");
}

/// Where ranks that are threads meet.
struct Hall {
    together: Barrier,
    boxes: Mutex<Vec<Vec<Vec<u8>>>>,
    shared: Mutex<Vec<Vec<u8>>>,
    yes: AtomicUsize,
}

struct Visitor<'a> {
    hall: &'a Hall,
    me: usize,
    here: Vec<Vec<u8>>,
}

impl Transport for Visitor<'_> {
    fn distribute(&mut self, packets: Vec<(Rank, Vec<u8>)>, yes: bool) -> bool {
        for (to, packet) in packets {
            self.hall.boxes.lock().expect("no panic")[to.0 as usize].push(packet);
        }
        let any = self.any(yes);
        self.here = std::mem::take(&mut self.hall.boxes.lock().expect("no panic")[self.me]);
        self.hall.together.wait();
        any
    }

    fn arrived(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.here)
    }

    fn any(&mut self, yes: bool) -> bool {
        self.hall.yes.fetch_add(usize::from(yes), Ordering::SeqCst);
        self.hall.together.wait();
        let any = self.hall.yes.load(Ordering::SeqCst) > 0;
        if self.hall.together.wait().is_leader() {
            self.hall.yes.store(0, Ordering::SeqCst);
        }
        self.hall.together.wait();
        any
    }

    fn share(&mut self, bytes: Vec<u8>) -> Vec<Vec<u8>> {
        self.hall.shared.lock().expect("no panic")[self.me] = bytes;
        self.hall.together.wait();
        let all = self.hall.shared.lock().expect("no panic").clone();
        self.hall.together.wait();
        all
    }
}

/// The same as [`by_phases`], each rank by itself, judging a phase when the next one ends.
fn side_by_side(logs: &Logs) -> BTreeMap<(Statement, Statement), Level> {
    let hall = Hall {
        together: Barrier::new(logs.len()),
        boxes: Mutex::new(vec![Vec::new(); logs.len()]),
        shared: Mutex::new(vec![Vec::new(); logs.len()]),
        yes: AtomicUsize::new(0),
    };
    let ends = boundaries(logs);
    let rank = |me: usize| -> Vec<Findings> {
        let mut analyst = Analyst::new(Rank(me as u32), usize::MAX);
        let mut visitor = Visitor { hall: &hall, me, here: Vec::new() };
        let mut all = Vec::new();
        for logged in &logs[me] {
            analyst.take(logged);
            if matches!(logged.event, Event::Enter { collective, .. } if ends.contains(&collective)) {
                all.push(analyst.boundary(&mut visitor));
            }
        }
        all.push(analyst.boundary(&mut visitor));
        all.push(analyst.settle(&mut visitor));
        all
    };
    let mut all: BTreeMap<(Statement, Statement), Level> = BTreeMap::new();
    std::thread::scope(|scope| {
        let rank = &rank;
        let ranks: Vec<_> = (0..logs.len()).map(|me| scope.spawn(move || rank(me))).collect();
        for (statements, found) in
            ranks.into_iter().flat_map(|rank| rank.join().expect("no panic")).flat_map(|f| f.pairs)
        {
            let level = if found.verdict == Verdict::Race { Level::Race } else { Level::Potential };
            let entry = all.entry(statements).or_insert(level);
            *entry = level.max(*entry);
        }
    });
    all
}

#[test]
fn ranks_that_exchange_packets_find_what_one_process_finds() {
    let mut found = 0;
    for seed in 0..programs().min(300) {
        let style = if seed % 2 == 0 { Style::Mpi } else { Style::Shmem };
        let logs = program(seed, style, 3, 40);
        let expected = by_phases(&logs);
        assert_eq!(side_by_side(&logs), expected, "seed {seed}\n{}", describe(&logs));
        found += expected.len();
    }
    assert!(found > 50, "only {found} pairs: the programs test nothing");
}

#[test]
fn every_race_of_small_programs_has_a_witness_that_the_checker_accepts() {
    let (mut races, mut accepted) = (0, 0);
    for seed in 0..programs() {
        let style = if seed % 2 == 0 { Style::Mpi } else { Style::Shmem };
        let logs = program(seed, style, 3, 18);
        if super::testing::oracle::races(&logs).is_none() {
            continue;
        }
        let analysed = analyse(&logs, false, &Owners::default());
        for (found, witness) in analysed.found.iter().zip(&analysed.witnesses) {
            assert!(witness.is_none() || found.verdict == Verdict::Race, "seed {seed}: {found:?}");
            races += usize::from(found.verdict == Verdict::Race);
            accepted += usize::from(witness.is_some());
        }
    }
    // Locks that would have to be held by two at once, and waits that several updates satisfy, are left out.
    assert!(accepted * 10 >= races * 9, "{accepted} of {races} races have a witness");
}
