//! Threads by descent. A thread's number depends on who was created first; whose child it is, and the how-manieth, is
//! the same in every run.

use std::collections::HashMap;

use crate::event::{Event, Op};
use crate::ids::ThreadId;
use crate::schedule::ThreadName;

/// Names the threads of a trace while its events go by. The names refer to each other by index, as in a
/// [`Schedule`](crate::schedule::Schedule).
#[derive(Clone, Debug)]
pub struct Descent {
    // invariant: a thread's parent stands before it; the main thread comes first
    names: Vec<ThreadName>,
    indices: HashMap<ThreadId, ThreadId>,
    foreign: u32,
}

impl Default for Descent {
    fn default() -> Self {
        Self { names: vec![ThreadName::MAIN], indices: HashMap::from([(ThreadId(0), ThreadId(0))]), foreign: 0 }
    }
}

impl Descent {
    /// Learns from an event, and returns the index of the thread that performs it. One that nobody was seen to create
    /// is a foreign one.
    pub fn see(&mut self, event: &Event<'_>) -> ThreadId {
        let index = match self.indices.get(&event.thread) {
            Some(&index) => index,
            None => {
                self.foreign += 1;
                self.add(event.thread, ThreadName { parent: 0, nth: ThreadName::FOREIGN | (self.foreign - 1) })
            }
        };
        if let Op::Fork { child, nth } = event.op {
            self.add(child, ThreadName { parent: index.0, nth });
        }
        index
    }

    fn add(&mut self, thread: ThreadId, name: ThreadName) -> ThreadId {
        let index = ThreadId(self.names.len() as u32);
        self.names.push(name);
        self.indices.insert(thread, index);
        index
    }

    /// Where the name of a thread stands.
    pub fn index(&self, thread: ThreadId) -> Option<ThreadId> {
        self.indices.get(&thread).copied()
    }

    /// The threads seen so far, in no order.
    pub fn threads(&self) -> impl Iterator<Item = ThreadId> {
        self.indices.keys().copied()
    }

    pub fn names(&self) -> &[ThreadName] {
        &self.names
    }

    /// The thread that a path from the main thread leads to, see [`ThreadName::paths`].
    pub fn by_path(&self) -> HashMap<Vec<u32>, ThreadId> {
        let paths = ThreadName::paths(&self.names).unwrap_or_default();
        self.indices.iter().map(|(thread, index)| (paths[index.index()].clone(), *thread)).collect()
    }
}

impl ThreadName {
    /// Each thread as the numbers of the children on the way from the main thread; `None` if a parent is missing.
    pub fn paths(names: &[Self]) -> Option<Vec<Vec<u32>>> {
        let mut paths: Vec<Vec<u32>> = Vec::new();
        for name in names {
            let path = match *name {
                Self::MAIN => Vec::new(),
                Self { nth, .. } if nth & Self::FOREIGN != 0 => vec![nth],
                Self { parent, nth } => paths.get(parent as usize)?.iter().copied().chain([nth]).collect(),
            };
            paths.push(path);
        }
        Some(paths)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{EventId, Pc, StackId};

    #[test]
    fn who_is_whose_child() {
        let mut descent = Descent::default();
        let mut see = |thread, op| {
            let event = Event { id: EventId(0), thread: ThreadId(thread), pc: Pc(0), stack: StackId(0), op };
            descent.see(&event)
        };
        assert_eq!(see(0, Op::Fork { child: ThreadId(5), nth: 0 }), ThreadId(0));
        assert_eq!(see(5, Op::Fork { child: ThreadId(3), nth: 1 }), ThreadId(1));
        assert_eq!(see(9, Op::Begin), ThreadId(3), "nobody created it");
        assert_eq!(see(3, Op::Begin), ThreadId(2));
        let child = |parent, nth| ThreadName { parent, nth };
        assert_eq!(descent.names(), [ThreadName::MAIN, child(0, 0), child(1, 1), child(0, ThreadName::FOREIGN)]);
        let paths = ThreadName::paths(descent.names()).expect("parents come first");
        assert_eq!(paths, [vec![], vec![0], vec![0, 1], vec![ThreadName::FOREIGN]]);
        assert_eq!(descent.by_path()[&vec![0, 1]], ThreadId(3));
        assert_eq!(ThreadName::paths(&[child(4, 0)]), None);
    }
}
