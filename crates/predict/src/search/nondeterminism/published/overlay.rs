//! What one witness adds to the graph: its edges, what they induce, and the choices tried. A handful, so that paths
//! through them are looked for edge by edge on top of the [clocks](super::graph).

use super::graph::{Clocks, Graph, Scope, ScopeId};
use crate::history::Pos;

struct Edge {
    from: Pos,
    to: Pos,
    /// The first event of each thread that `to` reaches in the graph below.
    reached: Vec<u32>,
}

pub struct Overlay<'g, 'h> {
    pub graph: &'g Graph<'h>,
    pub clocks: &'g Clocks,
    edges: Vec<Edge>,
}

/// The graph has a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cycle;

impl<'g, 'h> Overlay<'g, 'h> {
    pub fn new(graph: &'g Graph<'h>, clocks: &'g Clocks) -> Self {
        Self { graph, clocks, edges: Vec::new() }
    }

    /// How many edges there are, to come back to.
    pub fn mark(&self) -> usize {
        self.edges.len()
    }

    pub fn undo(&mut self, mark: usize) {
        self.edges.truncate(mark);
    }

    /// How many events of each thread reach this one.
    pub fn back(&self, pos: Pos) -> Vec<u32> {
        let mut back = self.clocks.at(pos).to_vec();
        let mut used = vec![false; self.edges.len()];
        let mut again = !self.edges.is_empty();
        while std::mem::take(&mut again) {
            for (edge, used) in self.edges.iter().zip(&mut used) {
                if !*used && self.graph.place[edge.to.index()] < back[self.graph.thread(edge.to)] {
                    let more = self.clocks.at(edge.from);
                    back.iter_mut().zip(more).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
                    (*used, again) = (true, true);
                }
            }
        }
        back
    }

    /// For each thread the place of its first event that this one reaches; its length if there is none.
    pub fn forward(&self, pos: Pos) -> Vec<u32> {
        let mut forward = self.clocks.reached_from(self.graph, pos);
        self.close(&mut forward);
        forward
    }

    /// Follows the edges from a set of events given by its first event of each thread.
    pub fn close(&self, forward: &mut [u32]) {
        let mut used = vec![false; self.edges.len()];
        let mut again = !self.edges.is_empty();
        while std::mem::take(&mut again) {
            for (edge, used) in self.edges.iter().zip(&mut used) {
                if !*used && self.graph.place[edge.from.index()] >= forward[self.graph.thread(edge.from)] {
                    forward.iter_mut().zip(&edge.reached).for_each(|(mine, theirs)| *mine = (*mine).min(*theirs));
                    (*used, again) = (true, true);
                }
            }
        }
    }

    /// Whether the first reaches the second; every event reaches itself.
    pub fn reaches(&self, first: Pos, second: Pos) -> bool {
        if self.clocks.reaches(self.graph, first, second) {
            return true;
        }
        !self.edges.is_empty() && self.back(second)[self.graph.thread(first)] > self.graph.place[first.index()]
    }

    /// Adds an edge and nothing else. No cycle is made: it is told instead.
    pub fn add(&mut self, from: Pos, to: Pos) -> Result<(), Cycle> {
        if self.reaches(to, from) {
            return Err(Cycle);
        }
        if !self.reaches(from, to) {
            let reached = self.clocks.reached_from(self.graph, to);
            self.edges.push(Edge { from, to, reached });
        }
        Ok(())
    }

    /// Adds an edge and all that it induces.
    pub fn insert(&mut self, from: Pos, to: Pos) -> Result<(), Cycle> {
        let mut waiting = vec![(from, to)];
        while let Some((from, to)) = waiting.pop() {
            let before = self.edges.len();
            self.add(from, to)?;
            if self.edges.len() > before {
                self.induce(from, to, &mut waiting)?;
            }
        }
        Ok(())
    }

    /// Scopes that a new edge orders: entered before it, left after it. Only those that it cuts in two are new.
    fn induce(&self, from: Pos, to: Pos, waiting: &mut Vec<(Pos, Pos)>) -> Result<(), Cycle> {
        let (back, forward) = (self.back(from), self.forward(to));
        let scope = |id: ScopeId| &self.graph.scopes[id as usize];
        let mut order = |first: &Scope, second: &Scope| match first.release {
            Some(release) => {
                waiting.push((release, second.acquire));
                Ok(())
            }
            // Never left, and another one follows.
            None => Err(Cycle),
        };
        for thread in 0..self.graph.threads {
            for &first in &self.graph.around[thread][back[thread] as usize] {
                let first = scope(first);
                for other in (0..self.graph.threads).filter(|&other| other != thread) {
                    let scopes = self.graph.scopes_of(first.lock, other).against(first.mode);
                    let at = scopes.partition_point(|&second| scope(second).to < forward[other]);
                    if let Some(&second) = scopes.get(at) {
                        order(first, scope(second))?;
                    }
                }
            }
            if forward[thread] as usize == self.graph.history.threads[thread].len() {
                continue;
            }
            for &second in &self.graph.around[thread][forward[thread] as usize] {
                let second = scope(second);
                for other in (0..self.graph.threads).filter(|&other| other != thread) {
                    let scopes = self.graph.scopes_of(second.lock, other).against(second.mode);
                    let at = scopes.partition_point(|&first| scope(first).from < back[other]);
                    if let Some(at) = at.checked_sub(1) {
                        order(scope(scopes[at]), second)?;
                    }
                }
            }
        }
        Ok(())
    }
}
