//! The threads of a run: how far each one is in its life, and which dense number stands for it.
//!
//! Memory follows the threads that are alive: pages of the table in which every thread is over are given back. A number
//! is used again for a child forked by the thread that joined its last user. In a *bounded* pass, and where very many
//! numbers are in use, it is also used again once many others have ended since its user did, joined or not: then the
//! new thread passes for a continuation of the old one, so that races with what that one did are missed (never
//! invented), which is counted.

use std::collections::VecDeque;

use reweave_model::{LockMode, ThreadId};

use super::order::at;
use super::{Lock, Thread};

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Life {
    #[default]
    Unseen,
    Forked,
    Running,
    Ended,
    /// Its number stands for somebody else: joining it means nothing any more.
    Recycled,
    Joined,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Known {
    pub life: Life,
    pub thread: Thread,
}

/// What a dense thread holds and can give away.
#[derive(Default)]
pub(super) struct Row {
    pub held: Vec<(Lock, LockMode)>,
    /// Threads it joined, with their numbers: for its next children.
    joined: Vec<(ThreadId, Thread)>,
    /// Whom the number stands for.
    user: ThreadId,
}

const PAGE: usize = 256;

struct Page {
    known: [Known; PAGE],
    over: u32,
}

/// Threads that may have ended since one whose number is used again without a join.
const LINGER: usize = 64;

/// Numbers in use beyond which a pass that is not bounded uses them again without a join, too: clocks have an entry for
/// each, and there are clocks for everything.
const CROWD: usize = 1024;

#[derive(Default)]
pub(super) struct Threads {
    /// By the number of the thread. `None` where all are joined.
    pages: Vec<Option<Box<Page>>>,
    pub rows: Vec<Row>,
    /// Whether numbers are used again without a join.
    pub bounded: bool,
    /// Threads that ended, the first ones first.
    ended: VecDeque<(ThreadId, Thread)>,
    /// Numbers used again without a join.
    pub recycled: u64,
}

impl Threads {
    #[inline]
    pub fn get(&self, id: ThreadId) -> Known {
        match self.pages.get(id.index() / PAGE) {
            None => Known::default(),
            Some(Some(page)) => page.known[id.index() % PAGE],
            Some(None) => Known { life: Life::Joined, thread: Thread(0) },
        }
    }

    pub fn set(&mut self, id: ThreadId, known: Known) {
        let index = id.index() / PAGE;
        if self.pages.len() <= index {
            self.pages.resize_with(index + 1, || Some(Box::new(Page { known: [Known::default(); PAGE], over: 0 })));
        }
        let Some(page) = &mut self.pages[index] else { return };
        let is_over = |life| matches!(life, Life::Joined | Life::Recycled);
        let before = std::mem::replace(&mut page.known[id.index() % PAGE], known).life;
        page.over = page.over + u32::from(is_over(known.life)) - u32::from(is_over(before));
        if page.over as usize == PAGE {
            self.pages[index] = None;
        }
        if known.life == Life::Ended {
            self.ended.push_back((id, known.thread));
            if !self.bounded && self.ended.len() > 2 * self.rows.len() + LINGER {
                // Most of them are joined, and their numbers somebody else's.
                let rows = &self.rows;
                self.ended.retain(|(id, number)| rows.get(number.index()).is_some_and(|row| row.user == *id));
            }
        }
    }

    /// Every lock that is held.
    pub fn held(&self) -> impl Iterator<Item = Lock> {
        self.rows.iter().flat_map(|row| row.held.iter().map(|(lock, _)| *lock))
    }

    /// A number for a thread that nobody forked.
    pub fn adopt(&mut self, id: ThreadId) -> Thread {
        let number = self.recycle().unwrap_or_else(|| self.new_number());
        self.rows[number.index()].user = id;
        number
    }

    /// A number for a child.
    pub fn number_for(&mut self, child: ThreadId, parent: Thread) -> Thread {
        let joined = loop {
            match at(&mut self.rows, parent.index()).joined.pop() {
                None => break None,
                Some((id, number)) if self.rows[number.index()].user == id => break Some(number),
                // Somebody else's since.
                Some(_) => {}
            }
        };
        let number = joined.or_else(|| self.recycle()).unwrap_or_else(|| self.new_number());
        self.rows[number.index()].user = child;
        number
    }

    fn new_number(&mut self) -> Thread {
        self.rows.push(Row::default());
        Thread(self.rows.len() as u32 - 1)
    }

    /// The number of a thread that ended long ago.
    fn recycle(&mut self) -> Option<Thread> {
        if !self.bounded && self.rows.len() < CROWD {
            return None;
        }
        while self.ended.len() > LINGER {
            let (id, number) = self.ended.pop_front()?;
            let row = &self.rows[number.index()];
            if row.user != id || !row.held.is_empty() {
                continue;
            }
            let known = self.get(id);
            if known.life == Life::Ended {
                self.set(id, Known { life: Life::Recycled, ..known });
            }
            self.recycled += 1;
            return Some(number);
        }
        None
    }

    /// `thread` has joined the one that is known so: its number is for children of `thread`.
    pub fn joined(&mut self, thread: Thread, id: ThreadId, number: Thread) {
        if at(&mut self.rows, number.index()).held.is_empty() {
            let bounded = self.bounded;
            let joined = &mut self.rows[thread.index()].joined;
            joined.push((id, number));
            if bounded && joined.len() > LINGER {
                // Whoever joins and never forks; `ended` has it too.
                joined.remove(0);
            }
        }
    }
}
