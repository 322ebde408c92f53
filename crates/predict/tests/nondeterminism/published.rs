//! The published rule: its errors against the oracle, and its incremental graphs against graphs made anew.

use std::collections::BTreeSet;

use reweave_predict::history::{History, Mode, Pos};
use reweave_predict::oracle::Oracle;
use reweave_predict::search::nondeterminism::published::{self, Order, Stats, Witness};
use reweave_predict::search::nondeterminism::views::Views;
use reweave_predict::testing::generate;

use super::counts;

/// Counted over all pairs of a read and another write of its cell.
#[derive(Default)]
struct Errors {
    pairs: usize,
    feasible: usize,
    /// Said to be seen, and not.
    wrong: usize,
    /// Seen, and said not to be.
    missed: usize,
}

fn compare(history: &History, errors: &mut Errors) {
    let views = Views::new(history);
    let truth = Oracle::new(history, Mode::ControlFlow).reads_from();
    for &(read, cell, writer) in &truth {
        assert!(
            views.may_see(read, cell, writer),
            "the quick check refuses {read:?} {cell:?} {writer:?}: {history:#?}"
        );
    }
    let mut asked = BTreeSet::new();
    let mut said = BTreeSet::new();
    published::witnesses(history, &mut Stats::default(), &mut |Witness { couple, challenger, .. }, verdict| {
        if let Some(read) = couple.reader {
            asked.insert((read, couple.cell, challenger));
            if verdict.is_feasible() {
                said.insert((read, couple.cell, challenger));
            }
        }
        true
    });
    errors.pairs += asked.len();
    errors.feasible += said.len();
    errors.wrong += said.difference(&truth).count();
    errors.missed += asked.intersection(&truth).filter(|pair| !said.contains(*pair)).count();
}

fn count(name: &str, seeds: std::ops::Range<u64>, size: usize) {
    let mut errors = Errors::default();
    let histories = seeds.clone().count();
    for seed in seeds {
        compare(&generate(seed, size), &mut errors);
    }
    let Errors { pairs, feasible, wrong, missed } = errors;
    println!(
        "nondeterminism {name}: {histories} histories, {pairs} pairs, {feasible} published views, {wrong} wrongly published, \
         {missed} not published"
    );
    // It is the paper's rule: wrong in both directions, as the module's doc says, and right far more often.
    assert!(wrong > 0 && missed > 0, "the published rule has errors");
    assert!((wrong + missed) * 3 < pairs, "{wrong} wrong and {missed} missed of {pairs}");
}

#[test]
fn errors_on_small_histories() {
    count("published small", 0..counts(400, 20).0, 16);
}

#[test]
fn errors_on_larger_histories() {
    count("published larger", 0..counts(400, 20).1, 24);
}

/// A graph of the history's events as a matrix, without clocks, chains or anything kept from another witness.
struct Naive<'h> {
    history: &'h History,
    reaches: Vec<Vec<bool>>,
}

impl<'h> Naive<'h> {
    /// `edges`: all of them but those that locks induce.
    fn new(history: &'h History, edges: &[(Pos, Pos)]) -> Self {
        let steps = history.steps.len();
        let mut naive = Self { history, reaches: vec![vec![false; steps]; steps] };
        for events in &history.threads {
            events.windows(2).for_each(|two| naive.edge(two[0], two[1]));
        }
        edges.iter().for_each(|&(from, to)| naive.edge(from, to));
        naive.close();
        naive
    }

    fn edge(&mut self, from: Pos, to: Pos) {
        self.reaches[from.index()][to.index()] = true;
    }

    fn close(&mut self) {
        for via in 0..self.reaches.len() {
            let row = self.reaches[via].clone();
            for from in &mut self.reaches {
                if from[via] {
                    from.iter_mut().zip(&row).for_each(|(mine, more)| *mine |= more);
                }
            }
        }
    }

    /// Adds induced edges until there are none.
    fn saturate(&mut self, scopes: &[(Pos, Option<Pos>, Pos, usize, bool)]) {
        loop {
            let mut new = Vec::new();
            for &(enter, leave, _, lock, shared) in scopes {
                for &(other_enter, _, other_last, other_lock, other_shared) in scopes {
                    let same = self.history.step(enter).thread == self.history.step(other_enter).thread;
                    if lock != other_lock || same || shared && other_shared {
                        continue;
                    }
                    if self.reaches[enter.index()][other_last.index()] {
                        match leave {
                            Some(leave) if self.reaches[leave.index()][other_enter.index()] => {}
                            Some(leave) => new.push((leave, other_enter)),
                            // Never left: nothing can follow.
                            None => new.push((other_enter, other_enter)),
                        }
                    }
                }
            }
            if new.iter().all(|(from, to)| self.reaches[from.index()][to.index()]) {
                return;
            }
            new.iter().for_each(|&(from, to)| self.edge(from, to));
            self.close();
        }
    }

    fn is_cyclic(&self) -> bool {
        (0..self.reaches.len()).any(|at| self.reaches[at][at])
    }
}

/// Phase I of every witness, by the incremental graphs and by graphs made anew: the same witnesses have a cycle in G'.
#[test]
fn incremental_graphs_are_the_graphs() {
    use reweave_predict::search::nondeterminism::published::Verdict;
    let mut seen = [0; 2];
    for seed in 0..150 {
        let history = generate(seed, 22);
        let (sync, scopes) = published::edges_and_scopes(&history);
        let couples = published::couples(&history);
        published::witnesses(&history, &mut Stats::default(), &mut |Witness { couple, challenger, order }, verdict| {
            let (Some(writer), Some(reader), Some(challenger)) = (couple.writer, couple.reader, challenger) else {
                return true;
            };
            let mut edges = sync.clone();
            for other in &couples {
                if let (Some(w), Some(r)) = (other.writer, other.reader)
                    && (w, r) != (writer, reader)
                    && history.step(w).thread != history.step(r).thread
                {
                    edges.push((w, r));
                }
            }
            edges.extend(match order {
                Order::ReaderFirst => vec![(challenger, reader), (reader, writer)],
                Order::WriterFirst => vec![(writer, challenger), (challenger, reader)],
                Order::NoWriter => vec![(challenger, reader)],
            });
            let mut naive = Naive::new(&history, &edges);
            naive.saturate(&scopes);
            let cyclic = naive.is_cyclic() || order == Order::NoWriter && naive.reaches[writer.index()][reader.index()];
            assert_eq!(
                verdict == Verdict::Cyclic,
                cyclic,
                "seed {seed}: {couple:?} {challenger:?} {order:?}: {history:#?}"
            );
            seen[usize::from(cyclic)] += 1;
            true
        });
    }
    assert!(seen.iter().all(|&seen| seen > 100), "too few of one kind: {seen:?}");
}
