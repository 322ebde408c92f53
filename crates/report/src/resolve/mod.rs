//! From findings (ids and addresses of one run) to items of a report (names and lines). One function makes them all,
//! whether a trace, a program that is being watched or an analysis of the program's text shows the finding: a
//! [`Source`] says what is known beside it.

mod block;
pub mod live;
mod source;
mod summary;

use reweave_model::{
    AccessOp, Accessor, Addr, Awaited, BlockedOn, Evidence, Finding, Kind, LockMode, ObjectId, StaticAccess,
};

use crate::data::{AccessItem, BlockItem, Facts, HeldLock, Item, Location, Operation, StaticItem, ViewItem};
use crate::describe::{Describer, signal_name};
use crate::fingerprint::fingerprint;
use crate::place::Placed;
use crate::reads;

use source::LockHeld;
pub use source::{ProgramText, Source, have_at_hand};

/// A finding in names and lines.
#[derive(Clone, PartialEq, Debug)]
pub struct Description {
    pub fingerprint: String,
    pub summary: String,
    pub accesses: Vec<AccessItem>,
    pub block_at: Option<BlockItem>,
    pub view: Option<ViewItem>,
    pub facts: Facts,
}

/// Makes an item; what only the pipeline knows (files, outcome) is left empty.
pub fn item(id: u32, finding: &Finding, source: &dyn Source) -> Item {
    describe(finding, source).item(id, finding)
}

impl Description {
    pub fn item(self, id: u32, finding: &Finding) -> Item {
        let Self { fingerprint, summary, accesses, block_at, view, facts } = self;
        let block = finding.block.as_ref().map(|block| block.source());
        let of_text = match &finding.evidence {
            Evidence::Static { why, .. } => Some(StaticItem { why: why.clone() }),
            Evidence::Dynamic { .. } => None,
        };
        let analysis = finding.analysis.name().into();
        let item = Item::new(finding.kind, finding.strength);
        Item { id, fingerprint, analysis, summary, block, block_at, accesses, view, of_text, facts, ..item }
    }
}

pub fn describe(finding: &Finding, source: &dyn Source) -> Description {
    let mut accesses = accesses(finding, source);
    // Before objects are named: an address says nothing in another run.
    let fingerprint = fingerprint(finding.kind, &accesses);
    if finding.kind == Kind::Deadlock {
        // One that says what it waits for knows more than its event.
        let unnamed = |access: &&mut AccessItem| matches!(access.op, Operation::Named(_));
        for (item, access) in accesses.iter_mut().zip(finding.accesses()).filter(|(item, _)| unnamed(item)) {
            if let Some((on, object)) = source.awaited(access) {
                item.op = wait(on, object, "", source.describer());
            }
        }
    }
    let view = reads::view_item(finding, source);
    // Once: a trace unpacks a chunk for it.
    let raced = if finding.kind == Kind::Race { source.address(finding) } else { None };
    let summary = match &view {
        Some(view) => reads::summary(view, &accesses),
        None => summary::summary(finding, raced, &accesses, source),
    };
    let block_at = finding.block.as_ref().map(|block| block::block_item(block, finding.accesses(), source));
    Description { fingerprint, summary, accesses, block_at, view, facts: facts(finding, raced, source) }
}

/// The identity of a finding.
pub fn identity(finding: &Finding, source: &dyn Source) -> String {
    fingerprint(finding.kind, &accesses(finding, source))
}

fn accesses(finding: &Finding, source: &dyn Source) -> Vec<AccessItem> {
    match &finding.evidence {
        Evidence::Dynamic { accesses, .. } => accesses.iter().map(|access| access_item(access, source)).collect(),
        Evidence::Static { places, .. } => places.iter().map(text_item).collect(),
    }
}

fn facts(finding: &Finding, raced: Option<Addr>, source: &dyn Source) -> Facts {
    Facts {
        memory_order: finding.weak_order,
        variable: raced.map(|addr| {
            let describer = source.describer();
            let by_code = summary::first_pc(finding).and_then(|pc| describer.symbols.accessed(pc));
            by_code.map_or_else(|| describer.variable(addr), ToOwned::to_owned)
        }),
        unjoined: finding.kind == Kind::Misuse && summary::is_unjoined(finding, source),
        ..Facts::default()
    }
}

fn access_item(access: &Accessor, source: &dyn Source) -> AccessItem {
    let describer = source.describer().at(access.event);
    let Placed { at, through, stack } = Placed::new(access.pc, source.callers(access).into_iter(), describer);
    let held = |lock: LockHeld| HeldLock {
        name: describer.object(lock.object),
        taken: Some(lock.taken.short()),
        shared: lock.mode == LockMode::Shared,
    };
    AccessItem {
        process: access.process.map(|process| process.0),
        rank: None,
        thread: access.thread.0,
        thread_name: source.thread_name(access),
        op: operation(access.op, describer),
        location: at,
        through,
        stack,
        locks_held: source.locks_held(access).into_iter().map(held).collect(),
        memory: source.touched(access).and_then(|(addr, value)| describer.memory(addr, value)),
        event: source.event(access),
    }
}

/// An access that an analysis of the program's text names.
fn text_item(access: &StaticAccess) -> AccessItem {
    let held = |name: &String| HeldLock { name: name.clone(), taken: None, shared: false };
    AccessItem {
        process: access.process.map(|process| process.0),
        rank: None,
        thread: access.thread.0,
        thread_name: None,
        op: access.op.into(),
        location: Location::from(&access.place),
        through: Vec::new(),
        stack: access.callers.iter().map(Location::from).collect(),
        locks_held: access.locks_held.iter().map(held).collect(),
        memory: None,
        event: None,
    }
}

/// An operation in names of the program.
pub fn operation(op: AccessOp, describer: Describer<'_>) -> Operation {
    match op {
        AccessOp::Does(name) => name.into(),
        AccessOp::Signal(number) => Operation::Other(signal_name(number)),
        AccessOp::Exception => Operation::Other("uncaught exception".into()),
        AccessOp::WaitsFor(Awaited::Change(addr)) => {
            Operation::WaitFor(format!("a change of {}", describer.address(addr)))
        }
        AccessOp::WaitsFor(Awaited::Object { on, object, orphaned }) => {
            let note = if orphaned { " (held by a thread of the parent, which is not in the child)" } else { "" };
            wait(on, object, note, describer)
        }
    }
}

fn wait(on: BlockedOn, object: ObjectId, note: &str, describer: Describer<'_>) -> Operation {
    match on {
        BlockedOn::LockExclusive => Operation::WaitForLock(describer.object(object) + note),
        BlockedOn::LockShared => Operation::WaitForLock(format!("{} (shared){note}", describer.object(object))),
        _ => Operation::WaitFor(describer.blocked_on(on, object) + note),
    }
}
