//! What a run is told to do to make a race happen, and what it says about it: text that the launcher
//! writes and ranks read, and the other way round.
//!
//! A plan names two accesses, each by its statement, its rank and the number of the execution, and says
//! which comes first. The same pair is run twice, once in each order.

use std::str::FromStr;

use crate::access::{Access, Role};
use crate::event::{Buffer, Event, Logged, Logs, Piece, Place};
use crate::ids::{Rank, Site, Window};

/// What kind of thing a step is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum What {
    Operation,
    /// A load or store, which happens where it stands.
    Local,
    /// The buffer of a message or collective, read or written.
    BufferRead,
    BufferWrite,
}

/// What an address of a plan is measured from: memory that may lie elsewhere in the next run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Anchor {
    Fixed,
    /// The owner's part of the window, which began there.
    Window(Window, u64),
    /// The n-th buffer of the other access, which began there.
    Buffer(u32, u64),
}

/// The address of a load or store that its statement alone tells from others.
pub const ANYWHERE: u64 = u64::MAX;

/// One access of a plan.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Step {
    pub what: What,
    pub site: Site,
    pub rank: Rank,
    /// The n-th such thing that the statement does on that rank, counted from 1. Loads and stores count that touch the
    /// address, those between two calls once.
    pub execution: u64,
    /// Of a load or store: a byte that it touches, or [`ANYWHERE`]; of memory of another rank: where it lies in the
    /// window.
    pub address: u64,
    pub anchor: Anchor,
}

/// The bytes that both touch, in the owner's memory as the recorded run had it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Memory {
    pub rank: Rank,
    pub address: u64,
    pub len: u64,
    pub anchor: Anchor,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan {
    pub first: Step,
    pub second: Step,
    pub memory: Memory,
    /// The two are made by different threads of one rank.
    pub threads: bool,
    /// How long to wait for the other one, in milliseconds.
    pub patience: u64,
    /// This rank waits for a debugger before its access.
    pub stop: Option<Rank>,
}

impl std::fmt::Display for Anchor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Anchor::Fixed => write!(f, "-"),
            Anchor::Window(window, base) => write!(f, "w{:x}.{base:x}", window.0),
            Anchor::Buffer(number, base) => write!(f, "b{number:x}.{base:x}"),
        }
    }
}

impl FromStr for Anchor {
    type Err = ();

    fn from_str(text: &str) -> Result<Anchor, ()> {
        if text == "-" {
            return Ok(Anchor::Fixed);
        }
        let (kind, rest) = text.split_at_checked(1).ok_or(())?;
        let (number, base) = rest.split_once('.').ok_or(())?;
        let number = u32::from_str_radix(number, 16).map_err(drop)?;
        let base = u64::from_str_radix(base, 16).map_err(drop)?;
        match kind {
            "w" => Ok(Anchor::Window(Window(number), base)),
            "b" => Ok(Anchor::Buffer(number, base)),
            _ => Err(()),
        }
    }
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = match self.what {
            What::Operation => 'o',
            What::Local => 'l',
            What::BufferRead => 'r',
            What::BufferWrite => 'w',
        };
        let Step { site, rank, execution, address, anchor, .. } = self;
        write!(f, "{what},{:x},{rank},{execution},{address:x},{anchor}", site.0)
    }
}

impl FromStr for Step {
    type Err = ();

    fn from_str(text: &str) -> Result<Step, ()> {
        let parts: Vec<&str> = text.split(',').collect();
        let [what, site, rank, execution, address, anchor] = parts[..] else { return Err(()) };
        let what = match what {
            "o" => What::Operation,
            "l" => What::Local,
            "r" => What::BufferRead,
            "w" => What::BufferWrite,
            _ => return Err(()),
        };
        Ok(Step {
            what,
            site: Site(u64::from_str_radix(site, 16).map_err(drop)?),
            rank: Rank(rank.parse().map_err(drop)?),
            execution: execution.parse().map_err(drop)?,
            address: u64::from_str_radix(address, 16).map_err(drop)?,
            anchor: anchor.parse()?,
        })
    }
}

impl std::fmt::Display for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Memory { rank, address, len, anchor } = self.memory;
        let threads = u8::from(self.threads);
        write!(f, "{};{};{rank},{address:x},{len},{anchor};{threads};{}", self.first, self.second, self.patience)?;
        self.stop.map_or(Ok(()), |rank| write!(f, ",{rank}"))
    }
}

impl FromStr for Plan {
    type Err = ();

    fn from_str(text: &str) -> Result<Plan, ()> {
        let parts: Vec<&str> = text.split(';').collect();
        let [first, second, memory, threads, patience] = parts[..] else { return Err(()) };
        let memory: Vec<&str> = memory.split(',').collect();
        let [rank, address, len, anchor] = memory[..] else { return Err(()) };
        let memory = Memory {
            rank: Rank(rank.parse().map_err(drop)?),
            address: u64::from_str_radix(address, 16).map_err(drop)?,
            len: len.parse().map_err(drop)?,
            anchor: anchor.parse()?,
        };
        let (patience, stop) =
            patience.split_once(',').map_or((patience, None), |(patience, stop)| (patience, Some(stop)));
        let stop = stop.map(str::parse).transpose().map_err(drop)?.map(Rank);
        let (first, second, threads) = (first.parse()?, second.parse()?, threads == "1");
        Ok(Plan { first, second, memory, threads, patience: patience.parse().map_err(drop)?, stop })
    }
}

/// The step that an access of a log is; `address`: the byte that matters, as its owner has it. `None`: it is not made by
/// a statement that can be steered.
pub fn step(logs: &Logs, access: &Access, block: u32, address: u64, other: (&Access, u32)) -> Option<Step> {
    let moment = access.start_of(block);
    let (rank, site) = (moment.strand.rank, access.site);
    let (_, index) = crate::witness::entry(logs, access, block)?;
    let log = &logs[rank.0 as usize];
    let before = || log[..=index].iter().filter(|logged| logged.site == site);
    let step = |what, execution: usize, address, anchor| {
        Some(Step { what, site, rank, execution: execution as u64, address, anchor })
    };
    match access.role {
        Role::Load | Role::Store => {
            // Memory of others is named by where it lies in the window.
            let (address, anchor) = match access.place {
                Place::Window { window, .. } => (address.wrapping_sub(base(logs, access.owner, window)), Anchor::Fixed),
                Place::Address(_) => (address, anchor(logs, other)),
            };
            let there = |logged: &&Logged| match logged.event {
                Event::Local { place, len, write, .. } => {
                    let start = match place {
                        Place::Address(start) => start,
                        Place::Window { bytes, .. } => bytes as u64,
                    };
                    write == access.writes && address.wrapping_sub(start) < u64::from(len)
                }
                _ => false,
            };
            let alike = |logged: &&Logged| {
                logged.site == site && matches!(logged.event, Event::Local { write, .. } if write == access.writes)
            };
            // Memory may lie elsewhere in the next run, and nobody knows where before the other one is under way.
            let only = log.iter().filter(alike).all(|logged| there(&logged));
            let count = before().filter(there).count();
            step(What::Local, count, if only { ANYWHERE } else { address }, anchor)
        }
        Role::SendBuffer | Role::ReceiveBuffer => {
            let alike =
                |logged: &&Logged| matches!(logged.event, Event::Buffer { write, .. } if write == access.writes);
            let what = if access.writes { What::BufferWrite } else { What::BufferRead };
            step(what, before().filter(alike).count(), 0, Anchor::Fixed)
        }
        Role::Free | Role::Wait => None,
        _ => {
            let operations = before().filter(|logged| matches!(logged.event, Event::Operation(_)));
            step(What::Operation, operations.count(), 0, Anchor::Fixed)
        }
    }
}

/// What memory is measured from that this access touches.
pub fn anchor(logs: &Logs, (access, block): (&Access, u32)) -> Anchor {
    let start = match access.place {
        Place::Window { window: Window::SYMMETRIC, .. } => return Anchor::Fixed,
        Place::Window { window, .. } => return Anchor::Window(window, base(logs, access.owner, window)),
        Place::Address(start) => start,
    };
    let Some((rank, index)) = crate::witness::entry(logs, access, block) else { return Anchor::Fixed };
    let buffers: Vec<&Buffer> = match &logs[rank][index].event {
        Event::Operation(operation) => operation.reads.iter().chain(&operation.writes).collect(),
        Event::Buffer { buffer, .. } => vec![buffer],
        _ => return Anchor::Fixed,
    };
    let holds = |buffer: &&Buffer| {
        let begins = |piece: &Piece| {
            let last = piece.stride * i64::from(piece.count - 1);
            buffer.address.wrapping_add_signed(piece.offset + last.min(0))
        };
        buffer.pieces.iter().any(|piece| begins(piece) == start)
    };
    let found = buffers.iter().position(holds);
    found.map_or(Anchor::Fixed, |number| Anchor::Buffer(number as u32, buffers[number].address))
}

/// Where the owner's part of the window begins.
fn base(logs: &Logs, owner: Rank, window: Window) -> u64 {
    let made = |logged: &Logged| match logged.event {
        Event::WindowMade { window: made, base, .. } if made == window => Some(base),
        _ => None,
    };
    logs.get(owner.0 as usize).and_then(|log| log.iter().find_map(made)).unwrap_or(0)
}

/// What a rank says about a plan, one line each in its file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Said {
    /// Both were under way when the first happened.
    Met,
    First,
    /// The second happened, after it had heard of the first.
    Second,
    /// The second happened without having heard of the first: the order is not known.
    GaveUp,
    /// What an access read or found, as hexadecimal bytes.
    Value {
        first: bool,
        bytes: String,
    },
    /// What the owner's memory held afterwards.
    Left {
        bytes: String,
    },
}

impl std::fmt::Display for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Said::Met => write!(f, "met"),
            Said::First => write!(f, "first"),
            Said::Second => write!(f, "second"),
            Said::GaveUp => write!(f, "gave up"),
            Said::Left { bytes } => write!(f, "left {bytes}"),
            Said::Value { first, bytes } => write!(f, "value {} {bytes}", if *first { "first" } else { "second" }),
        }
    }
}

impl FromStr for Said {
    type Err = ();

    fn from_str(line: &str) -> Result<Said, ()> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["met"] => Ok(Said::Met),
            ["first"] => Ok(Said::First),
            ["second"] => Ok(Said::Second),
            ["gave", "up"] => Ok(Said::GaveUp),
            ["left", bytes] => Ok(Said::Left { bytes: bytes.into() }),
            ["value", which, bytes] => Ok(Said::Value { first: which == "first", bytes: bytes.into() }),
            _ => Err(()),
        }
    }
}
