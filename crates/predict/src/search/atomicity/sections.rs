//! Critical sections, and which cycles they rule out without a question.
//!
//! Of two sections of a lock, not both shared, one comes before the other as a whole. So if an event of one comes before
//! an event of the other, the end of the first comes before the beginning of the second, and a section without an end
//! comes before none.

use reweave_model::LockMode;

use crate::history::*;
use crate::linear::FastMap;

/// From where a lock is got to where it is given up, by places in the thread.
#[derive(Clone, Copy)]
struct Section {
    lock: Lock,
    mode: LockMode,
    from: u32,
    /// `None`: to the end of the history.
    to: Option<u32>,
}

/// The sections that each event is in, the one that it begins or ends included.
pub(super) struct Sections {
    all: Vec<Section>,
    /// For each event, a list in `lists`.
    of: Vec<u32>,
    lists: Vec<Vec<u32>>,
    place: Vec<u32>,
}

/// An event that comes before another one, by their places in their threads.
type Edge = (u32, u32);

impl Sections {
    pub fn new(history: &History) -> Self {
        let mut sections = Self {
            all: Vec::new(),
            of: vec![0; history.steps.len()],
            lists: vec![Vec::new()],
            place: vec![0; history.steps.len()],
        };
        let mut odd = vec![false; history.locks as usize];
        for events in &history.threads {
            let mut open: FastMap<Lock, u32> = FastMap::default();
            // The list of those that are open.
            let mut now = 0;
            for (place, &pos) in events.iter().enumerate() {
                let place = place as u32;
                sections.place[pos.index()] = place;
                let step = history.step(pos);
                let got = match step.action {
                    Action::Acquire { lock, mode } => Some((lock, mode)),
                    Action::Woken { lock, .. } => Some((lock, LockMode::Exclusive)),
                    _ => None,
                };
                if let Some((lock, mode)) = got {
                    let number = sections.all.len() as u32;
                    sections.all.push(Section { lock, mode, from: place, to: None });
                    // Who gets it a second time, or gives it up for another one: nothing is said of that lock.
                    odd[lock.index()] |= open.insert(lock, number).is_some();
                    now = sections.list(&open);
                }
                sections.of[pos.index()] = now;
                if let Action::Release { lock, .. } | Action::Wait { lock, .. } = step.action {
                    match open.remove(&lock) {
                        Some(number) => sections.all[number as usize].to = Some(place),
                        None => odd[lock.index()] = true,
                    }
                    now = sections.list(&open);
                }
            }
        }
        let Self { all, lists, .. } = &mut sections;
        lists.iter_mut().for_each(|list| list.retain(|&number| !odd[all[number as usize].lock.index()]));
        sections
    }

    fn list(&mut self, open: &FastMap<Lock, u32>) -> u32 {
        if open.is_empty() {
            return 0;
        }
        self.lists.push(open.values().copied().collect());
        self.lists.len() as u32 - 1
    }

    fn at(&self, pos: Pos) -> impl Iterator<Item = &Section> {
        self.lists[self.of[pos.index()] as usize].iter().map(|&number| &self.all[number as usize])
    }

    /// Whether no reordering has these events, the first of each pair before the second. Pairs follow one another: the
    /// second of each and the first of the next (of the last: of the first) are of one thread.
    pub fn forbid(&self, edges: &[(Pos, Pos)]) -> bool {
        let mut all: Vec<Vec<Edge>> = Vec::with_capacity(edges.len());
        for &(first, second) in edges {
            let mut these = vec![(self.place[first.index()], self.place[second.index()])];
            for one in self.at(first) {
                for other in self.at(second) {
                    let excluded = one.mode == LockMode::Exclusive || other.mode == LockMode::Exclusive;
                    if one.lock == other.lock && excluded {
                        let Some(to) = one.to else { return true };
                        these.push((to, other.from));
                    }
                }
            }
            all.push(these);
        }
        // A circle along the threads: what comes before comes after.
        all[0].iter().any(|&start| {
            let mut reached = vec![start.1];
            for these in &all[1..] {
                let next = |&at: &u32| these.iter().filter(move |edge| at <= edge.0).map(|edge| edge.1);
                reached = reached.iter().flat_map(next).collect();
            }
            reached.iter().any(|&at| at <= start.0)
        })
    }
}
