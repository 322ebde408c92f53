//! Memory that was allocated during a run, and where: what an address belongs to that no variable has.

use std::collections::HashMap;

use reweave_model::wire::kind;
use reweave_model::{Addr, EventId, Op, Pc, StackId, ThreadId};

use crate::{FrameAccess, Result, Trace, text};

/// Allocations beyond this are not kept: the run has too many for names to help.
const MOST: usize = 1 << 20;
/// Blocks that are looked at for one address: older ones of other sizes may reach there, too.
const NEAR: usize = 64;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    pub start: Addr,
    pub size: u64,
    /// Where it was allocated.
    pub event: EventId,
    pub thread: ThreadId,
    pub pc: Pc,
    pub stack: StackId,
    /// How many were allocated there before.
    pub earlier: u32,
    /// It is the memory that its thread's stack lies in.
    pub is_stack: bool,
}

/// All blocks of a run.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Blocks {
    // invariant: sorted by start, then by event
    all: Vec<Block>,
    /// How many were allocated at each place.
    at: HashMap<Pc, u32>,
    /// What the program calls its threads.
    names: HashMap<ThreadId, String>,
    /// Places on stacks, by the code that says what it accesses there; `None`: it says different things.
    locals: HashMap<Addr, Option<Pc>>,
    /// The frame that is there as long as the program runs, and where it ends.
    lasting: LastingFrame,
}

/// Of the one function of which [`Symbols`](crate::Symbols) knows such a frame.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum LastingFrame {
    #[default]
    Unseen,
    At {
        frame: u32,
        end: u64,
    },
    /// The function ran more than once.
    Several,
}

impl LastingFrame {
    fn see(&mut self, access: FrameAccess, addr: Addr) {
        let now = Self::At { frame: access.frame, end: addr.0.wrapping_add_signed(-access.offset) };
        *self = if *self == Self::Unseen || *self == now { now } else { Self::Several };
    }
}

impl Blocks {
    /// Reads the whole trace once.
    pub(crate) fn of(trace: &Trace) -> Result<Self> {
        let mut blocks = Self { names: text::thread_names(trace), ..Self::default() };
        let lowest_stack = trace.language().stacks.map(|stacks| stacks.lowest);
        // Threads that have done nothing but begin, and where they did.
        let mut beginning: HashMap<ThreadId, Pc> = HashMap::new();
        // Where addresses are made up, nothing lies on a stack.
        if trace.meta().abstract_values && !trace.may_have(kind::ALLOC) && !trace.may_have(kind::THREAD_NAME) {
            return Ok(blocks);
        }
        let symbols = trace.symbols();
        let mut events = trace.events();
        while let Some(event) = events.next()? {
            match event.op {
                Op::Read { addr, .. } | Op::Write { addr, .. } | Op::Atomic { addr, .. }
                    if lowest_stack.is_some_and(|lowest| addr.0 >= lowest) =>
                {
                    if let Some(access) = symbols.frame_access(event.pc) {
                        blocks.lasting.see(access, addr);
                    }
                    let Some(name) = symbols.accessed(event.pc) else { continue };
                    if blocks.locals.len() < MOST {
                        let known = blocks.locals.entry(addr).or_insert(Some(event.pc));
                        *known = known.filter(|known| symbols.accessed(*known) == Some(name));
                    }
                }
                Op::Begin => drop(beginning.insert(event.thread, event.pc)),
                Op::Alloc { addr, size } => {
                    if blocks.all.len() == MOST {
                        continue;
                    }
                    // A thread's own stack comes with its beginning; anything else is the program's.
                    let first = beginning.remove(&event.thread) == Some(event.pc);
                    let count = blocks.at.entry(event.pc).or_default();
                    blocks.all.push(Block {
                        start: addr,
                        size,
                        event: event.id,
                        thread: event.thread,
                        pc: event.pc,
                        stack: event.stack,
                        earlier: *count,
                        is_stack: first && lowest_stack.is_some_and(|lowest| addr.0 >= lowest),
                    });
                    *count += 1;
                }
                Op::ThreadName { thread, name } => {
                    blocks.names.insert(thread, String::from_utf8_lossy(name).into_owned());
                }
                _ => {}
            }
        }
        blocks.all.sort_by_key(|block| (block.start, block.event));
        Ok(blocks)
    }

    /// What the program calls a thread, if it does.
    pub fn thread_name(&self, thread: ThreadId) -> Option<&str> {
        self.names.get(&thread).map(String::as_str)
    }

    /// Code that says what lies at an address on a stack, if all that do agree.
    pub fn local(&self, addr: Addr) -> Option<Pc> {
        *self.locals.get(&addr)?
    }

    /// Where in the frame of the program's main function an address on a stack lies, if that is known.
    pub fn in_lasting_frame(&self, addr: Addr) -> Option<FrameAccess> {
        match self.lasting {
            LastingFrame::At { frame, end } => {
                Some(FrameAccess { frame, offset: addr.0.wrapping_sub(end).cast_signed() })
            }
            LastingFrame::Unseen | LastingFrame::Several => None,
        }
    }

    /// The block that an address belonged to, or had belonged to last, when something happened.
    pub fn at(&self, addr: Addr, when: EventId) -> Option<&Block> {
        let end = self.all.partition_point(|block| block.start <= addr);
        let near = self.all[..end].iter().rev().take(NEAR);
        let there = |block: &&Block| addr.0 - block.start.0 < block.size.max(1) && block.event <= when;
        near.filter(there).max_by_key(|block| block.event)
    }

    /// How many blocks were allocated where this one was.
    pub fn alike(&self, block: &Block) -> u32 {
        self.at.get(&block.pc).copied().unwrap_or(1)
    }
}
