//! The lock abstraction graph, the choices that lie on the way against a witness edge (the paper's *S_choice*), and the
//! choice graphs.
//!
//! A set of vertices of the abstraction graph that is closed under its edges has, of each thread, everything from some
//! place on (or up to some place): a scope is entered as a whole, because it is one vertex. So the slice between two
//! events is two such lists of places, grown until nothing changes.
//!
//! Deviation from the paper: choice graphs are built edge by edge, the observed order of two scopes first, and one that
//! already has a cycle is not completed. Each cycle met counts as a graph explored, and so does the graph without one.

use super::graph::{Clocks, Graph, Scope, ScopeId};
use super::overlay::{Cycle, Overlay};
use crate::history::{Lock, Pos};

/// Choice graphs explored per witness, at most; then it counts as infeasible (and is told).
pub const MOST: u64 = 4096;

/// Two scopes that the graph leaves unordered, the one entered first in the trace first.
pub type Choice = (ScopeId, ScopeId);

/// Where a graph leaves choices at all: for each thread the locks of which it has scopes that some other scope is not
/// ordered with.
pub struct Open {
    locks: Vec<Vec<Lock>>,
}

impl Open {
    pub fn new(graph: &Graph<'_>, clocks: &Clocks) -> Self {
        let mut locks = vec![Vec::new(); graph.threads];
        for scope in &graph.scopes {
            let own = &mut locks[scope.thread.index()];
            if own.last() != Some(&scope.lock) && !own.contains(&scope.lock) {
                let entered = clocks.at(scope.acquire);
                let unordered = (0..graph.threads).filter(|&other| other != scope.thread.index()).any(|other| {
                    let others = graph.scopes_of(scope.lock, other).against(scope.mode);
                    let at = others.partition_point(|&one| graph.scopes[one as usize].to < entered[other]);
                    others.get(at).is_some_and(|&one| !follows(graph, clocks, scope, &graph.scopes[one as usize]))
                });
                if unordered {
                    own.push(scope.lock);
                }
            }
        }
        Self { locks }
    }

    pub fn is_empty(&self) -> bool {
        self.locks.iter().all(Vec::is_empty)
    }
}

/// Whether the second scope is entered after the first one was left.
fn follows(graph: &Graph<'_>, clocks: &Clocks, first: &Scope, second: &Scope) -> bool {
    first.release.is_some_and(|release| clocks.reaches(graph, release, second.acquire))
}

/// The slice of one witness.
pub struct Slice<'o, 'g, 'h> {
    overlay: &'o Overlay<'g, 'h>,
    open: &'o Open,
}

impl<'o, 'g, 'h> Slice<'o, 'g, 'h> {
    pub fn new(overlay: &'o Overlay<'g, 'h>, open: &'o Open) -> Self {
        Self { overlay, open }
    }

    fn scope(&self, id: ScopeId) -> &'g Scope {
        &self.overlay.graph.scopes[id as usize]
    }

    fn event(&self, thread: usize, place: u32) -> Pos {
        self.overlay.graph.history.threads[thread][place as usize]
    }

    /// The choices on paths from `from` to `to`.
    pub fn between(&self, from: Pos, to: Pos, choices: &mut Vec<Choice>) {
        if self.open.is_empty() {
            return;
        }
        let graph = self.overlay.graph;
        let reached = self.reached(from);
        let reaching = self.reaching(to);
        for (thread, locks) in self.open.locks.iter().enumerate() {
            for &lock in locks {
                let own = graph.scopes_of(lock, thread).against(reweave_model::LockMode::Exclusive);
                let first = own.partition_point(|&one| self.scope(one).to < reached[thread]);
                for &one in &own[first..] {
                    self.choices_of(one, &reaching, choices);
                }
            }
        }
        choices.sort_unstable();
        choices.dedup();
    }

    /// The scopes that this one is not ordered with and that lie before the end of the slice.
    fn choices_of(&self, one: ScopeId, reaching: &[u32], choices: &mut Vec<Choice>) {
        let graph = self.overlay.graph;
        let scope = self.scope(one);
        let entered = self.overlay.back(scope.acquire);
        for other in (0..graph.threads).filter(|&other| other != scope.thread.index()) {
            let others = graph.scopes_of(scope.lock, other).against(scope.mode);
            let first = others.partition_point(|&two| self.scope(two).to < entered[other]);
            for &two in &others[first..] {
                let second = self.scope(two);
                let follows = scope.release.is_some_and(|release| self.overlay.reaches(release, second.acquire));
                if second.from >= reaching[other] || follows {
                    break;
                }
                let observed = scope.acquire < second.acquire;
                choices.push(if observed { (one, two) } else { (two, one) });
            }
        }
    }

    /// The first vertex of each thread on a path from `from`, choices in either direction.
    fn reached(&self, from: Pos) -> Vec<u32> {
        let graph = self.overlay.graph;
        let mut reached = self.overlay.forward(from);
        loop {
            let before = reached.clone();
            for thread in 0..graph.threads {
                if reached[thread] as usize == graph.history.threads[thread].len() {
                    continue;
                }
                // A scope is entered as a whole.
                let around = &graph.around[thread][reached[thread] as usize];
                if let Some(first) = around.iter().map(|&scope| self.scope(scope).from).min() {
                    self.reach(thread, first, &mut reached);
                }
                for &lock in &self.open.locks[thread] {
                    let own = graph.scopes_of(lock, thread).against(reweave_model::LockMode::Exclusive);
                    let Some(&one) = own.get(own.partition_point(|&one| self.scope(one).to < reached[thread])) else {
                        continue;
                    };
                    // Later scopes lead to no earlier ones: what the first cannot choose lies behind it anyway.
                    let one = self.scope(one);
                    let entered = self.overlay.back(one.acquire);
                    for other in (0..graph.threads).filter(|&other| other != thread) {
                        let others = graph.scopes_of(lock, other).against(one.mode);
                        let at = others.partition_point(|&two| self.scope(two).to < entered[other]);
                        if let Some(two) = others.get(at).map(|&two| self.scope(two))
                            && two.from < reached[other]
                        {
                            self.reach(other, two.from, &mut reached);
                        }
                    }
                }
            }
            if reached == before {
                return reached;
            }
        }
    }

    fn reach(&self, thread: usize, place: u32, reached: &mut [u32]) {
        if place < reached[thread] {
            let more = self.overlay.forward(self.event(thread, place));
            reached.iter_mut().zip(&more).for_each(|(mine, theirs)| *mine = (*mine).min(*theirs));
        }
    }

    /// How many vertices of each thread are on a path to `to`, choices in either direction.
    fn reaching(&self, to: Pos) -> Vec<u32> {
        let graph = self.overlay.graph;
        let mut reaching = self.overlay.back(to);
        loop {
            let before = reaching.clone();
            for thread in 0..graph.threads {
                let around = &graph.around[thread][reaching[thread] as usize];
                if let Some(last) = around.iter().map(|&scope| self.scope(scope).to).max() {
                    self.come_from(thread, last + 1, &mut reaching);
                }
                for &lock in &self.open.locks[thread] {
                    let own = graph.scopes_of(lock, thread).against(reweave_model::LockMode::Exclusive);
                    let at = own.partition_point(|&one| self.scope(one).from < reaching[thread]);
                    let Some(one) = at.checked_sub(1).map(|at| self.scope(own[at])) else { continue };
                    let Some(release) = one.release else { continue };
                    let left = self.overlay.forward(release);
                    for other in (0..graph.threads).filter(|&other| other != thread) {
                        let others = graph.scopes_of(lock, other).against(one.mode);
                        let at = others.partition_point(|&two| self.scope(two).from < left[other]);
                        if let Some(two) = at.checked_sub(1).map(|at| self.scope(others[at]))
                            && two.to >= reaching[other]
                        {
                            self.come_from(other, two.to + 1, &mut reaching);
                        }
                    }
                }
            }
            if reaching == before {
                return reaching;
            }
        }
    }

    fn come_from(&self, thread: usize, count: u32, reaching: &mut [u32]) {
        if count > reaching[thread] {
            let more = self.overlay.back(self.event(thread, count - 1));
            reaching.iter_mut().zip(&more).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
        }
    }
}

/// How the exploration of the choice graphs of a witness went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Explored {
    pub feasible: bool,
    pub graphs: u64,
    /// There were more than [`MOST`].
    pub gave_up: bool,
}

/// Looks for a choice graph without a cycle, and without a path between the two events of `barred`.
pub fn explore(overlay: &mut Overlay<'_, '_>, choices: &[Choice], barred: Option<(Pos, Pos)>) -> Explored {
    let mut explored = Explored { feasible: false, graphs: 0, gave_up: false };
    let mark = overlay.mark();
    explored.feasible = choose(overlay, choices, barred, &mut explored);
    overlay.undo(mark);
    explored
}

fn choose(
    overlay: &mut Overlay<'_, '_>,
    choices: &[Choice],
    barred: Option<(Pos, Pos)>,
    explored: &mut Explored,
) -> bool {
    // Not by recursion: there can be thousands. For each choice made: the way taken, and where the overlay was before.
    let mut made: Vec<(bool, usize)> = Vec::new();
    let mut observed = true;
    loop {
        let Some(&(first, second)) = choices.get(made.len()) else {
            explored.graphs += 1;
            return true;
        };
        let mark = overlay.mark();
        let (before, after) = if observed { (first, second) } else { (second, first) };
        let leave = overlay.graph.scopes[before as usize].release;
        let enter = overlay.graph.scopes[after as usize].acquire;
        let possible = leave.ok_or(Cycle).and_then(|leave| overlay.add(leave, enter)).is_ok()
            && barred.is_none_or(|(from, to)| !overlay.reaches(from, to));
        if possible {
            made.push((observed, mark));
            observed = true;
            continue;
        }
        overlay.undo(mark);
        explored.graphs += 1;
        if explored.graphs >= MOST {
            explored.gave_up = true;
            return false;
        }
        // The other way; where both were tried, the last choice that has another way.
        while !observed {
            let Some((way, mark)) = made.pop() else { return false };
            overlay.undo(mark);
            observed = way;
        }
        observed = false;
    }
}
