//! Findings of ranks as items of a report: who, what, where, on which bytes of whose memory.

use reweave_model::{Kind, OpName, Strength};
use reweave_report::memory::MemoryItem;
use reweave_report::{AccessItem, HeldLock, Item, Location, Operation, fingerprint};

use super::places::Places;
use crate::access::{Access, LockName, Role};
use crate::event::{Action, Event, Logged, Logs, Operator, Place};
use crate::ids::{Rank, Site, Window};
use crate::owner::{self, Found};
use crate::rules::{Verdict, Why};
use crate::{lower, witness};

/// The analysis, by its name in reports.
const ANALYSIS: &str = "one-sided";

/// The bytes that both accesses touch.
pub(super) struct Common {
    owner: Rank,
    window: Option<Window>,
    address: u64,
    len: u64,
    /// Where this rank's part of the window begins.
    base: u64,
    made: Option<Site>,
}

/// The part of a window, and the statement that made it.
fn made(logs: &Logs, owner: Rank, window: Window) -> Option<(lower::Part, Site)> {
    logs[owner.0 as usize].iter().find_map(|logged| match logged.event {
        Event::WindowMade { window: made, base, unit, .. } if made == window => {
            Some((lower::Part { base, unit }, logged.site))
        }
        _ => None,
    })
}

impl Common {
    pub(super) fn of(logs: &Logs, found: &Found) -> Common {
        let owner = found.a.owner;
        let window_of = |access: &Access| match access.place {
            Place::Window { window, .. } => Some(window),
            Place::Address(_) => None,
        };
        let window = window_of(&found.a).or_else(|| window_of(&found.b));
        let end = |access: &Access, block: u32| {
            let place = owner::address(|window| made(logs, owner, window).map(|(part, _)| part), access.place);
            place.map(|place| place + access.stride as u64 * u64::from(block) + access.len)
        };
        let ends = [end(&found.a, found.i), end(&found.b, found.j)];
        let end = ends.into_iter().flatten().min().unwrap_or(found.address + 1);
        let made = window.and_then(|window| made(logs, owner, window));
        Common {
            owner,
            window,
            address: found.address,
            len: end.saturating_sub(found.address).max(1),
            base: made.map_or(0, |(part, _)| part.base),
            made: made.map(|(_, site)| site),
        }
    }

    /// The statement that made the window, to be looked up.
    pub(super) fn site(&self) -> Option<Site> {
        self.made
    }

    /// `bytes 8–15`
    fn bytes(&self, first: u64) -> String {
        match self.len {
            1 => format!("byte {first}"),
            len => format!("bytes {first}–{}", first + len - 1),
        }
    }

    fn describe(&self, places: &Places) -> (String, MemoryItem) {
        let (object, part, text) = match (self.window, self.made) {
            (Some(window), Some(site)) if window != Window::SYMMETRIC => {
                let at = places.of(site).short();
                let at = at.split(' ').next().unwrap_or_default().to_owned();
                let first = self.address.wrapping_sub(self.base);
                let text = format!("rank {}'s part of the window made at {at}, {}", self.owner, self.bytes(first));
                (format!("window made at {at}"), format!("+{first}"), text)
            }
            (window, _) => match places.variable(self.address) {
                Some((name, first)) => {
                    let part = if first == 0 { String::new() } else { format!("+{first}") };
                    let text = format!("{name} of rank {}, {}", self.owner, self.bytes(first));
                    (name, part, text)
                }
                None => {
                    let what = if window.is_some() { "symmetric memory" } else { "a buffer" };
                    let bytes = if self.len == 1 { "1 byte".into() } else { format!("{} bytes", self.len) };
                    let text = format!("{what} of rank {}, {bytes} at {:#x}", self.owner, self.address);
                    (what.to_owned(), String::new(), text)
                }
            },
        };
        (text, MemoryItem { object, part, allocated: false, holds: None })
    }
}

/// What an access does, in a word or two.
fn operation(logs: &Logs, access: &Access, block: u32) -> Operation {
    let word = match access.role {
        Role::Load => return OpName::Read.into(),
        Role::Store => return OpName::Write.into(),
        Role::Free => return OpName::Free.into(),
        Role::Put => "put",
        Role::Get => "get",
        Role::Accumulate => "accumulate",
        Role::Fetch => fetch(logs, access, block),
        Role::Origin | Role::Result => return Operation::Other(near(logs, access, block)),
        Role::SendBuffer => "read of a message's buffer",
        Role::ReceiveBuffer => "write of a message's buffer",
        Role::Wait => "wait for a value",
    };
    Operation::Other(word.into())
}

fn action(logs: &Logs, access: &Access, block: u32) -> Option<Action> {
    let (rank, index) = witness::entry(logs, access, block)?;
    match &logs[rank][index].event {
        Event::Operation(operation) => Some(operation.action),
        _ => None,
    }
}

fn fetch(logs: &Logs, access: &Access, block: u32) -> &'static str {
    match action(logs, access, block) {
        Some(Action::Fetch(Operator::CompareAndSwap)) => "compare and swap",
        _ => "fetch and update",
    }
}

/// The local side of an operation: `put (reading its buffer)`.
fn near(logs: &Logs, access: &Access, block: u32) -> String {
    let name = match action(logs, access, block) {
        Some(Action::Put) => "put",
        Some(Action::Get) => "get",
        Some(Action::Accumulate(_)) => "accumulate",
        Some(Action::Fetch(_)) => fetch(logs, access, block),
        None => "operation",
    };
    let how = if access.writes { "filling its buffer" } else { "reading its buffer" };
    format!("{name} ({how})")
}

fn held(access: &Access) -> Vec<HeldLock> {
    let name = |held: &crate::access::Held| {
        let how = if held.exclusive { "exclusive" } else { "shared" };
        match held.lock {
            LockName::Window(_, target) => format!("the {how} lock of rank {target}'s part of the window"),
            LockName::Word(_) => "a lock of everybody's".to_owned(),
            LockName::Mutex(..) => "a mutex".to_owned(),
        }
    };
    access.locks.iter().map(|held| HeldLock { name: name(held), taken: None, shared: false }).collect()
}

/// Does the log keep nothing but the windows, because the rank judged while it ran?
fn is_summary(log: &[Logged]) -> bool {
    log.iter().all(|logged| matches!(logged.event, Event::WindowMade { .. }))
}

/// Why a pair is no more than potential.
fn why(logs: &Logs, found: &Found, has_witness: bool) -> Option<String> {
    let text = match found.verdict {
        Verdict::Potential(Why::OverByPractice) => {
            "over in practice when the other begins, though the standard asks for more (--strict makes it a finding)"
        }
        Verdict::Potential(Why::MixedOperations) => {
            "accumulates with operations that the standard does not let mix (--strict makes it a finding)"
        }
        Verdict::Potential(Why::FlagByPut) => {
            "a flag that is set by a put and waited for (--strict makes it a finding)"
        }
        Verdict::Potential(Why::SeveralWriters) => "values that were read probably keep them apart",
        Verdict::Race | Verdict::Apart if !has_witness && logs.iter().all(|log| is_summary(log)) => {
            "unordered by the rules; the run was not recorded, so that no order of events that shows it was checked"
        }
        Verdict::Race | Verdict::Apart if !has_witness => "no order of events was found that shows it",
        Verdict::Race | Verdict::Apart => return None,
    };
    Some(text.to_owned())
}

/// The item of a finding, without what trying it showed.
pub(super) fn item(logs: &Logs, found: &Found, has_witness: bool, places: &Places) -> Item {
    let common = Common::of(logs, found);
    let (text, memory) = common.describe(places);
    // What judged while it ran kept no log.
    let kept = !logs.iter().all(|log| is_summary(log));
    let entry = |access: &Access, block: u32| witness::entry(logs, access, block).filter(|_| kept);
    let access = |access: &Access, block: u32| AccessItem {
        event: entry(access, block).map(|(_, index)| index as u64),
        rank: Some(access.strand.rank.0),
        thread: access.strand.number,
        op: operation(logs, access, block),
        location: places.of(access.site),
        locks_held: held(access),
        memory: Some(memory.clone()),
        ..AccessItem::default()
    };
    let accesses = vec![access(&found.a, found.i), access(&found.b, found.j)];
    let did: Vec<String> =
        accesses.iter().map(|access| format!("{} by {}", access.op, access.thread_label())).collect();
    let strength = if has_witness { Strength::Predicted } else { Strength::Potential };
    Item {
        fingerprint: fingerprint::fingerprint(Kind::Race, &accesses),
        analysis: ANALYSIS.into(),
        summary: format!("data race on {text}: {} are not ordered", did.join(" and ")),
        accesses,
        why_unconfirmed: why(logs, found, has_witness),
        ..Item::new(Kind::Race, strength)
    }
}

/// The lines of an item, for telling it from others.
pub(super) fn key(item: &Item) -> Vec<(Location, String)> {
    let mut key: Vec<(Location, String)> =
        item.accesses.iter().map(|access| (access.location.clone(), access.op.to_string())).collect();
    key.sort_by(|a, b| (&a.0.file, a.0.line, &a.0.function, &a.1).cmp(&(&b.0.file, b.0.line, &b.0.function, &b.1)));
    key
}
