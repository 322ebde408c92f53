//! Memory by name: a variable, a part of a block by where it was allocated, a place on a thread's stack. Addresses
//! mean nothing to people, nor in another run.

use reweave_model::{Addr, EventId};
use reweave_trace::{ARGUMENTS, Block, Trace};
use serde::{Deserialize, Serialize};

use crate::data::Location;
use crate::describe::{Describer, file_name};
use crate::place::Placed;

/// What an access touched.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct MemoryItem {
    /// A variable, or where the block was allocated: `accounts`, `pool.cpp:41 make_pool`.
    pub object: String,
    /// Where in it, the elements of an array not told apart: `.head`, `+8`; empty: at its beginning.
    pub part: String,
    /// It is no variable: it was allocated during the run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allocated: bool,
    /// The block that what was read or written points into, as `object` has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<String>,
}

/// Where an address lies that no variable has.
enum MemoryArea<'a> {
    Block(&'a Block),
    Stack(u32),
}

impl<'a> Describer<'a> {
    /// For names of memory that was allocated, too: those of a trace in which something happened at `when`.
    pub fn naming(trace: &'a Trace) -> Self {
        Self { trace: Some(trace), ..Self::of(trace) }
    }

    /// What prediction had to invent is no event.
    #[must_use]
    pub fn at(self, when: EventId) -> Self {
        if when == EventId::default() { self } else { Self { when, ..self } }
    }

    fn spot(&self, addr: Addr) -> Option<MemoryArea<'a>> {
        let trace = self.trace?;
        if let Some(block) = trace.blocks().at(addr, self.when) {
            return Some(if block.is_stack { MemoryArea::Stack(block.thread.0) } else { MemoryArea::Block(block) });
        }
        // The words of the command line lie right above main's stack.
        let begin = trace.meta().other.get(ARGUMENTS)?.get(0)?.as_u64()?;
        let reach = trace.language().stacks?.reach * 2;
        (addr.0 < begin && begin - addr.0 < reach).then_some(MemoryArea::Stack(0))
    }

    /// `pool.cpp:41`, in the program's own code.
    fn allocated_at(&self, block: &Block) -> Option<String> {
        let at = self.made(block).1;
        (at.line != 0).then(|| format!("{}:{}", file_name(&at.file), at.line))
    }

    fn object_of(&self, block: &Block) -> String {
        self.made(block).1.short()
    }

    /// Where a block was allocated; where that is in a constructor, its class, and who called that.
    fn made(&self, block: &Block) -> (Option<String>, Location) {
        let callers = self.trace.map(|trace| trace.stacks().walk(block.stack)).into_iter().flatten();
        let placed = Placed::new(block.pc, callers, *self);
        let constructor = &self.language.constructor;
        let innermost = placed.through.first().unwrap_or(&placed.at);
        let class = innermost.function.strip_suffix(constructor.as_str()).filter(|_| !constructor.is_empty());
        let class = class.map(|class| class.rsplit('.').next().unwrap_or(class).to_owned());
        let is_own = class.is_some() && placed.through.is_empty();
        let caller = placed.stack.first().filter(|caller| is_own && caller.line != 0).cloned();
        (class, caller.unwrap_or(placed.at))
    }

    /// `Job.state of `, `byte 8 of `, or nothing for the whole block.
    fn part_of(&self, block: &Block, addr: Addr, of: &str) -> String {
        let offset = addr.0 - block.start.0;
        match self.symbols.part_of_block(block.pc, block.size, offset) {
            Some((name, path)) => format!("{name}{path}{of}"),
            None if offset == 0 => String::new(),
            None => format!("byte {offset} of "),
        }
    }

    /// A variable on a stack, by its function: `main::count`.
    fn local(&self, addr: Addr) -> Option<String> {
        let blocks = self.trace?.blocks();
        let by_code = blocks.local(addr).and_then(|pc| self.symbols.accessed(pc)).map(str::to_owned);
        by_code.or_else(|| self.symbols.in_frame(blocks.in_lasting_frame(addr)?))
    }

    /// Whether it is a variable.
    pub(crate) fn is_variable(&self, addr: Addr) -> bool {
        self.symbols.variable(addr).is_some() || self.local(addr).is_some()
    }

    /// A part of a block, short: `byte 8 of the block from pool.cpp:41`.
    pub(crate) fn in_block(&self, addr: Addr) -> Option<String> {
        if let Some(local) = self.local(addr) {
            return Some(local);
        }
        match self.spot(addr)? {
            MemoryArea::Stack(thread) => Some(format!("{:#x} on the stack of T{thread}", addr.0)),
            MemoryArea::Block(block) => {
                let place = self.allocated_at(block)?;
                let alike = self.trace.map_or(1, |trace| trace.blocks().alike(block));
                let class = self.made(block).0;
                let word = class.as_deref().unwrap_or("block");
                let which = match alike {
                    0 | 1 => format!("the {word}"),
                    _ => format!("{word} {}", block.earlier + 1),
                };
                Some(format!("{}{which} from {place}", self.part_of(block, addr, " of ")))
            }
        }
    }

    /// All of the block that begins there: `the Job from pool.cpp:41`.
    pub(crate) fn whole(&self, addr: Addr) -> String {
        let Some(MemoryArea::Block(block)) = self.spot(addr) else { return self.address(addr) };
        let Some(place) = self.allocated_at(block) else { return self.address(addr) };
        let class = self.symbols.part_of_block(block.pc, block.size, 0).map_or("block", |(name, _)| name);
        let alike = self.trace.map_or(1, |trace| trace.blocks().alike(block));
        match alike {
            0 | 1 => format!("the {class} from {place}"),
            _ => format!("{class} {} from {place}", block.earlier + 1),
        }
    }

    /// The same for who reads it first: `byte 8 of the block of 64 bytes allocated at pool.cpp:41 by T0`.
    pub fn in_full(&self, addr: Addr) -> String {
        let Some(MemoryArea::Block(block)) = self.spot(addr).filter(|_| self.symbols.variable(addr).is_none()) else {
            return self.address(addr);
        };
        let (size, thread) = (block.size, block.thread);
        let bytes = if size == 1 { "byte" } else { "bytes" };
        let of = self.part_of(block, addr, " in ");
        match self.allocated_at(block) {
            Some(place) => format!("{of}the block of {size} {bytes} allocated at {place} by T{thread}"),
            None => format!("{of}the block of {size} {bytes} at {:#x} allocated by T{thread}", block.start.0),
        }
    }

    /// What an access touched, and what the value there points to, as they are called in every run.
    pub fn memory(&self, addr: Addr, value: Option<u64>) -> Option<MemoryItem> {
        let holds = value.and_then(|value| match self.spot(Addr(value))? {
            MemoryArea::Block(block) => Some(self.object_of(block)),
            MemoryArea::Stack(_) => None,
        });
        if let Some(variable) = self.symbols.variable(addr) {
            let part = any_element(&self.part(&variable));
            return Some(MemoryItem { object: variable.name.to_owned(), part, allocated: false, holds });
        }
        if let Some(local) = self.local(addr) {
            return Some(MemoryItem { object: local, part: String::new(), allocated: false, holds });
        }
        match self.spot(addr)? {
            // Without randomised addresses it is the same in every run of the same build.
            MemoryArea::Stack(thread) => {
                let (object, part) = (format!("stack of T{thread}"), format!("{:#x}", addr.0));
                Some(MemoryItem { object, part, allocated: false, holds })
            }
            MemoryArea::Block(block) => {
                let offset = addr.0 - block.start.0;
                let part = match self.symbols.part_of_block(block.pc, block.size, offset) {
                    Some((_, path)) => any_element(&path),
                    None if offset == 0 => String::new(),
                    None => format!("+{offset}"),
                };
                Some(MemoryItem { object: self.object_of(block), part, allocated: true, holds })
            }
        }
    }
}

/// A path with its elements not told apart: `[].id` for `[3].id`.
fn any_element(path: &str) -> String {
    let (mut out, mut inside) = (String::new(), false);
    for c in path.chars() {
        inside &= c != ']';
        if !inside {
            out.push(c);
        }
        inside |= c == '[';
    }
    out
}
