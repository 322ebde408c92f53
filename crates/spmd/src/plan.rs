//! What a run is told to do to make a race happen, and what it says about it: text that the launcher
//! writes and ranks read, and the other way round.
//!
//! A plan names two accesses, each by its statement, its rank and the number of the execution, and says
//! which comes first. The same pair is run twice, once in each order.

use std::str::FromStr;

use crate::access::{Access, Role};
use crate::event::{Event, Logs, Through};
use crate::ids::{Rank, Site};

/// One access of a plan.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Step {
    pub site: Site,
    pub rank: Rank,
    /// Of an operation: the n-th execution of the statement on that rank, counted from 1. Of a load or store: how many
    /// calls its strand has logged before.
    pub execution: u64,
    /// Of a load or store, which happens where it stands: a byte that it touches.
    pub address: Option<u64>,
}

/// The bytes that both touch, in the owner's memory as the recorded run had it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Memory {
    pub rank: Rank,
    pub address: u64,
    pub len: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan {
    pub first: Step,
    pub second: Step,
    pub memory: Memory,
    /// How long to wait for the other one, in milliseconds.
    pub patience: u64,
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:x},{},{},{:x}", self.site.0, self.rank, self.execution, self.address.unwrap_or(0))
    }
}

impl FromStr for Step {
    type Err = ();

    fn from_str(text: &str) -> Result<Step, ()> {
        let parts: Vec<&str> = text.split(',').collect();
        let [site, rank, execution, address] = parts[..] else { return Err(()) };
        Ok(Step {
            site: Site(u64::from_str_radix(site, 16).map_err(drop)?),
            rank: Rank(rank.parse().map_err(drop)?),
            execution: execution.parse().map_err(drop)?,
            address: Some(u64::from_str_radix(address, 16).map_err(drop)?).filter(|address| *address != 0),
        })
    }
}

impl std::fmt::Display for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Memory { rank, address, len } = self.memory;
        write!(f, "{};{};{rank},{address:x},{len};{}", self.first, self.second, self.patience)
    }
}

impl FromStr for Plan {
    type Err = ();

    fn from_str(text: &str) -> Result<Plan, ()> {
        let parts: Vec<&str> = text.split(';').collect();
        let [first, second, memory, patience] = parts[..] else { return Err(()) };
        let memory: Vec<&str> = memory.split(',').collect();
        let [rank, address, len] = memory[..] else { return Err(()) };
        let memory = Memory {
            rank: Rank(rank.parse().map_err(drop)?),
            address: u64::from_str_radix(address, 16).map_err(drop)?,
            len: len.parse().map_err(drop)?,
        };
        let patience = patience.parse().map_err(drop)?;
        Ok(Plan { first: first.parse()?, second: second.parse()?, memory, patience })
    }
}

/// The step that an access of a log is; `address`: the byte that matters. `None`: it is not made by a statement that can
/// be steered.
pub fn step(logs: &Logs, access: &Access, block: u32, address: u64) -> Option<Step> {
    if matches!(access.role, Role::SendBuffer | Role::ReceiveBuffer | Role::Free | Role::Wait) {
        return None;
    }
    let moment = access.start_of(block);
    let (rank, site) = (moment.strand.rank, access.site);
    if matches!(access.role, Role::Load | Role::Store) {
        // Another rank's memory has another address here.
        let own = access.owner == rank;
        return own.then_some(Step { site, rank, execution: u64::from(moment.at / 2), address: Some(address) });
    }
    let (_, index) = crate::witness::entry(logs, access, block)?;
    // Only operations that calls on a window complete are kept or completed at once.
    let Event::Operation(operation) = &logs[rank.0 as usize][index].event else { return None };
    if !matches!(operation.through, Through::Window { request: None, .. }) {
        return None;
    }
    let before = logs[rank.0 as usize][..=index].iter();
    let executions = before.filter(|logged| logged.site == site && matches!(logged.event, Event::Operation(_))).count();
    Some(Step { site, rank, execution: executions as u64, address: None })
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
