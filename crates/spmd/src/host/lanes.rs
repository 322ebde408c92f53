//! The recorded run of many ranks as lanes: ranks, then their threads; epochs and locks are bars, and an operation is a
//! link from where it was issued to where it must be over at the latest.
//!
//! Ranks have no common clock: rows are in one of the orders that synchronization allows, by how much comes before each.

use std::collections::{BTreeMap, HashMap};

use reweave_launch::FrontEnds;
use reweave_model::OpKind;
use reweave_report::Item;
use reweave_report::view::{Bar, Class, Lane, Link, LinkKind, Row, Run, Step, ViewLimits};

use super::Recording;
use super::places::Places;
use crate::access::{Access, End};
use crate::event::{Action, Event, Logged, Logs, Place};
use crate::ids::{Moment, Rank, Strand};
use crate::lower::{Lowered, Lowering};
use crate::order::Order;

/// An entry of a log.
type At = (usize, usize);

/// The run around a finding. `None`: the ranks kept no logs.
pub fn lanes(front_ends: FrontEnds, recording: &Recording, item: &Item, limits: ViewLimits) -> Option<Run> {
    let logs = &recording.logs;
    let marks: HashMap<At, usize> = (1..)
        .zip(&item.accesses)
        .filter_map(|(number, access)| Some(((access.rank? as usize, access.event? as usize), number)))
        .collect();
    let parts: Vec<Lowered> = logs.iter().enumerate().map(|(rank, log)| lowered(rank, log)).collect();
    let order = Order::new(parts.iter().flat_map(|part| &part.syncs));
    let moments: Vec<Vec<Moment>> = logs.iter().enumerate().map(|(rank, log)| moments(rank, log)).collect();
    let sorted = sorted(&order, &moments);
    let shown = shown(&sorted, &marks, limits.rows);
    if shown.is_empty() {
        return None;
    }
    let lane_of = lane_numbers(&moments);
    let places = Places::new(front_ends, &recording.notes, shown.iter().flatten().map(|at| logs[at.0][at.1].site));
    let mut run = Run { steps: sorted.len() as u64, outcome: "is over".into(), ..Run::default() };
    run.lanes = lane_of.iter().map(|(strand, number)| lane(*strand, *number)).collect();
    run.lanes.sort_by_key(|lane| lane.thread);
    let mut row_of: HashMap<At, usize> = HashMap::new();
    let mut number = 0;
    for group in &shown {
        let Some(at) = group else {
            let hidden = sorted.len() - row_of.len();
            run.rows.push(Row::Fold { steps: hidden as u64, threads: lane_of.len() as u32 });
            continue;
        };
        number += 1;
        row_of.insert(*at, run.rows.len());
        let lane = lane_of[&moments[at.0][at.1].strand];
        run.rows.push(Row::Step(Box::new(step(logs, *at, (number, lane), marks.get(at).copied(), &places))));
    }
    run.bars = bars(logs, &lane_of, &row_of);
    run.links = links(&parts, &moments, &row_of);
    Some(run)
}

fn lowered(rank: usize, log: &[Logged]) -> Lowered {
    let mut lowering = Lowering::new(Rank(rank as u32));
    log.iter().for_each(|logged| lowering.take(logged));
    lowering.cut()
}

/// The moment of each entry, as [`Moment`] has it.
fn moments(rank: usize, log: &[Logged]) -> Vec<Moment> {
    let mut events: HashMap<u32, u32> = HashMap::new();
    let moment = |logged: &Logged| {
        let count = events.entry(logged.strand).or_default();
        let is_local = matches!(logged.event, Event::Local { .. });
        *count += u32::from(!is_local);
        let strand = Strand { rank: Rank(rank as u32), number: logged.strand };
        Moment { strand, at: 2 * *count + u32::from(is_local) }
    };
    log.iter().map(moment).collect()
}

/// All entries, so that what comes before another one stands above it.
fn sorted(order: &Order, moments: &[Vec<Moment>]) -> Vec<At> {
    let numbers: HashMap<Strand, usize> = order.strands().collect();
    let before = |moment: Moment| {
        let clock = order.clock_at(moment);
        let own = numbers.get(&moment.strand).and_then(|number| clock.get(*number)).copied().unwrap_or(0);
        clock.iter().map(|at| u64::from(*at)).sum::<u64>() - u64::from(own) + u64::from(moment.at)
    };
    let mut all: Vec<(u64, At)> = Vec::new();
    for (rank, moments) in moments.iter().enumerate() {
        all.extend(moments.iter().enumerate().map(|(index, moment)| (before(*moment), (rank, index))));
    }
    all.sort_unstable();
    all.into_iter().map(|(_, at)| at).collect()
}

/// What there is room for, around the marks; `None`: something is left out.
fn shown(sorted: &[At], marks: &HashMap<At, usize>, rows: usize) -> Vec<Option<At>> {
    if sorted.len() <= rows {
        return sorted.iter().copied().map(Some).collect();
    }
    let marked: Vec<usize> = (0..sorted.len()).filter(|row| marks.contains_key(&sorted[*row])).collect();
    let around = rows / (2 * marked.len().max(1));
    let wanted = |row: usize| marked.iter().any(|mark| mark.abs_diff(row) < around);
    let mut shown = Vec::new();
    for (row, at) in sorted.iter().enumerate() {
        match wanted(row) {
            true => shown.push(Some(*at)),
            false if shown.last().is_none_or(Option::is_some) => shown.push(None),
            false => {}
        }
    }
    shown
}

fn lane_numbers(moments: &[Vec<Moment>]) -> BTreeMap<Strand, u32> {
    let strands: BTreeMap<Strand, u32> = moments.iter().flatten().map(|moment| (moment.strand, 0)).collect();
    strands.into_keys().zip(0..).collect()
}

fn lane(strand: Strand, number: u32) -> Lane {
    let label = match strand.number {
        0 => format!("rank {}", strand.rank),
        thread => format!("rank {}, thread {thread}", strand.rank),
    };
    Lane { label, name: String::new(), thread: number }
}

fn step(logs: &Logs, at: At, (number, thread): (u64, u32), mark: Option<usize>, places: &Places) -> Step {
    let logged = &logs[at.0][at.1];
    let (class, kind) = class(&logged.event);
    Step {
        event: at.1 as u64,
        number,
        thread,
        class,
        kind,
        is_normal_exit: false,
        what: what(&logged.event),
        object: String::new(),
        has_name: false,
        value: None,
        address: None,
        place: places.of(logged.site),
        through: String::new(),
        stack: Vec::new(),
        mark,
        locks: Vec::new(),
    }
}

fn class(event: &Event) -> (Class, OpKind) {
    match event {
        Event::Local { write: true, .. } | Event::Buffer { write: true, .. } => (Class::Write, OpKind::Write),
        Event::Local { .. } | Event::Buffer { .. } => (Class::Read, OpKind::Read),
        Event::Operation(operation) => match operation.action {
            Action::Put => (Class::Write, OpKind::Put),
            Action::Get => (Class::Read, OpKind::Get),
            Action::Accumulate(_) | Action::Fetch(_) => (Class::Update, OpKind::Accumulate),
        },
        Event::WindowMade { .. } => (Class::Other, OpKind::Create),
        Event::Gone { .. } => (Class::Other, OpKind::Free),
        Event::FenceDone { .. } | Event::Start { .. } | Event::Post { .. } => (Class::Sync, OpKind::EpochBegin),
        Event::Fence { .. } | Event::Complete { .. } | Event::Waited { .. } => (Class::Sync, OpKind::EpochEnd),
        Event::Lock { .. } | Event::LockAll { .. } | Event::SetLock { .. } | Event::MutexLock { .. } => {
            (Class::Sync, OpKind::Acquire)
        }
        Event::Unlock { .. } | Event::UnlockAll { .. } | Event::ClearLock { .. } | Event::MutexUnlock { .. } => {
            (Class::Sync, OpKind::Release)
        }
        Event::Send { .. } => (Class::Sync, OpKind::Send),
        Event::Received { .. } => (Class::Sync, OpKind::Receive),
        Event::Enter { .. } => (Class::Sync, OpKind::BarrierArrive),
        Event::Exit { .. } => (Class::Sync, OpKind::BarrierLeave),
        _ => (Class::Sync, OpKind::Fence),
    }
}

fn bytes(pieces: &[crate::event::Piece]) -> u64 {
    pieces.iter().map(|piece| piece.len * u64::from(piece.count)).sum()
}

/// What an entry says, in a few words.
fn what(event: &Event) -> String {
    let there = |place: &Place| match place {
        Place::Address(address) => format!("at {address:#x}"),
        Place::Window { units, bytes, .. } => format!("at {}", units + bytes),
    };
    match event {
        Event::Local { len, write, place, .. } => {
            format!("{} {len} bytes {}", if *write { "writes" } else { "reads" }, there(place))
        }
        Event::Operation(operation) => {
            let name = match operation.action {
                Action::Put => "puts",
                Action::Get => "gets",
                Action::Accumulate(_) => "accumulates",
                Action::Fetch(_) => "fetches and updates",
            };
            let (len, at) = (bytes(&operation.pieces), there(&operation.place));
            format!("{name} {len} bytes, rank {}, {at}", operation.target)
        }
        Event::Buffer { buffer, write, .. } => {
            let how = if *write { "receives into" } else { "sends from" };
            format!("{how} {} bytes at {:#x}", bytes(&buffer.pieces), buffer.address)
        }
        Event::WindowMade { .. } => "has made a window".into(),
        Event::Gone { len, .. } => format!("gives {len} bytes back"),
        Event::Fence { .. } => "enters a fence".into(),
        Event::FenceDone { .. } => "leaves the fence".into(),
        Event::Post { origins, .. } => format!("posts to {} ranks", origins.len()),
        Event::Start { targets, .. } => format!("starts towards {} ranks", targets.len()),
        Event::Complete { .. } => "completes its epoch".into(),
        Event::Waited { .. } => "has waited for its origins".into(),
        Event::Lock { target, exclusive, .. } => {
            format!("locks rank {target} ({})", if *exclusive { "exclusive" } else { "shared" })
        }
        Event::Unlock { target, .. } => format!("unlocks rank {target}"),
        Event::LockAll { .. } => "locks all".into(),
        Event::UnlockAll { .. } => "unlocks all".into(),
        Event::Flush { target, local, .. } => {
            let how = if *local { "flushes locally" } else { "flushes" };
            target.map_or(format!("{how}, all"), |target| format!("{how}, rank {target}"))
        }
        Event::RequestDone { .. } => "a request is done".into(),
        Event::Quiet { .. } => "is quiet".into(),
        Event::ContextFence { .. } => "fences its context".into(),
        Event::Send { to, tag, .. } => format!("sends to rank {to}, tag {tag}"),
        Event::Taken { .. } => "its message was taken".into(),
        Event::Posted { from: Some(from), .. } => format!("posts a receive from rank {from}"),
        Event::Posted { .. } => "posts a receive from anybody".into(),
        Event::Received { from, tag, .. } => format!("has received from rank {from}, tag {tag}"),
        Event::Enter { .. } => "enters a collective".into(),
        Event::Exit { .. } => "leaves the collective".into(),
        Event::Waiting { .. } => "has waited for a value".into(),
        Event::Returned { value, .. } => format!("got {value}"),
        Event::SetLock { .. } => "takes a lock of everybody's".into(),
        Event::ClearLock { .. } => "gives the lock back".into(),
        Event::MutexLock { .. } => "takes a mutex".into(),
        Event::MutexUnlock { .. } => "gives a mutex back".into(),
        Event::Release { .. } => "lets others go on".into(),
        Event::Acquire { .. } => "goes on behind others".into(),
    }
}

/// What an entry opens, and what it closes: the name of a bar, and whether others may have one of it too.
fn opens(event: &Event) -> Option<(String, bool)> {
    Some(match event {
        Event::FenceDone { window } => (format!("epoch {}", window.0), true),
        Event::Start { window, .. } => (format!("access {}", window.0), true),
        Event::Post { window, .. } => (format!("exposure {}", window.0), true),
        Event::Lock { window, target, exclusive } => (format!("lock {} {target}", window.0), !*exclusive),
        Event::LockAll { window } => (format!("lock {} all", window.0), true),
        Event::SetLock { word } => (format!("lock {word:#x}"), false),
        Event::MutexLock { mutex } => (format!("mutex {:#x}", mutex.0), false),
        _ => return None,
    })
}

fn closes(event: &Event) -> Option<String> {
    Some(match event {
        Event::Fence { window, .. } => format!("epoch {}", window.0),
        Event::Complete { window } => format!("access {}", window.0),
        Event::Waited { window } => format!("exposure {}", window.0),
        Event::Unlock { window, target } => format!("lock {} {target}", window.0),
        Event::UnlockAll { window } => format!("lock {} all", window.0),
        Event::ClearLock { word } => format!("lock {word:#x}"),
        Event::MutexUnlock { mutex } => format!("mutex {:#x}", mutex.0),
        _ => return None,
    })
}

fn bars(logs: &Logs, lanes: &BTreeMap<Strand, u32>, rows: &HashMap<At, usize>) -> Vec<Bar> {
    let mut bars = Vec::new();
    for (rank, log) in logs.iter().enumerate() {
        let mut open: HashMap<String, (usize, u32, bool)> = HashMap::new();
        let mut last = 0;
        for (index, logged) in log.iter().enumerate() {
            let Some(&row) = rows.get(&(rank, index)) else { continue };
            last = row;
            let closed = closes(&logged.event).and_then(|name| open.remove_entry(&name));
            bars.extend(closed.map(|(lock, (from, thread, shared))| Bar { thread, lock, shared, from, to: row }));
            let strand = Strand { rank: Rank(rank as u32), number: logged.strand };
            if let Some((name, shared)) = opens(&logged.event) {
                open.insert(name, (row, lanes[&strand], shared));
            }
        }
        let open = open.into_iter();
        bars.extend(open.map(|(lock, (from, thread, shared))| Bar { thread, lock, shared, from, to: last }));
    }
    bars.sort_by(|a, b| (a.from, &a.lock).cmp(&(b.from, &b.lock)));
    bars
}

/// From where an operation was issued to where it must be over at the latest.
fn links(parts: &[Lowered], moments: &[Vec<Moment>], rows: &HashMap<At, usize>) -> Vec<Link> {
    let mut at: HashMap<Moment, usize> = HashMap::new();
    for (place, row) in rows {
        let moment = moments[place.0][place.1];
        // Loads and stores of one moment: the first of them.
        let known = at.entry(moment).or_insert(*row);
        *known = (*known).min(*row);
    }
    let end = |access: &Access| match access.end_by_the_letter {
        End::At(moment) => Some(moment),
        End::Owners(event) => parts.get(access.owner.0 as usize)?.owned.get(&event).copied(),
        End::Open | End::AtStart | End::Past => None,
    };
    let link = |access: &Access| {
        let (from, to) = (*at.get(&access.start_of(0))?, *at.get(&end(access)?)?);
        (!access.is_near() && from < to).then_some(Link { kind: LinkKind::Message, from, to })
    };
    let mut links: Vec<Link> = parts.iter().flat_map(|part| &part.accesses).filter_map(link).collect();
    links.sort_by_key(|link| (link.from, link.to));
    links.dedup();
    links
}
