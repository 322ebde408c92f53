//! What the recorded run used after it was destroyed.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use reweave_model::wire::kind;
use reweave_model::{Event, EventId, ObjectId, ObjectKind, Op, Pc, StackId, ThreadId};
use reweave_trace::{Result, Stacks, Trace};

use super::{Class, LARGEST, bytes, uses};

/// Blocks from this size on are mappings of their own, in most allocators: the system gives them to whom it likes.
pub(crate) const MAPPED: u64 = 64 << 10;
pub(crate) const PAGE: u64 = 4096;
/// Longer traces are passed over once more only if something in them is destroyed.
const LONG: u64 = 5_000_000;

/// Something that is gone, and is used all the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LateUse {
    /// The destruction, or the `free` of its memory.
    pub end: EventId,
    pub end_pc: Pc,
    pub used: EventId,
    pub used_pc: Pc,
    /// Its memory is gone, too.
    pub freed: bool,
}

/// All that a run did, one for each pair of places.
pub fn late_uses(trace: &Trace) -> Result<Vec<LateUse>> {
    if !trace.may_have(kind::DESTROY) && (!trace.may_have(kind::FREE) || trace.event_count() > LONG) {
        return Ok(Vec::new());
    }
    let mut pass = Pass::default();
    let mut events = trace.events();
    while let Some(event) = events.next()? {
        if matches!(event.op, Op::Exit { .. }) {
            break;
        }
        pass.event(&event, trace.stacks());
    }
    Ok(pass.found)
}

/// The frame in which an object may lie: of this thread, in these calls, the outermost first.
#[derive(Clone, Debug)]
struct Frame {
    thread: ThreadId,
    calls: Vec<Pc>,
}

#[derive(Clone, Debug)]
struct Object {
    class: Class,
    /// By a call: then a new one at the same place is made by a call, too.
    created: bool,
    /// `None`: it lies in memory that no function returns from.
    frame: Option<Frame>,
    gone: Option<End>,
}

#[derive(Clone, Copy, Debug)]
struct End {
    event: EventId,
    pc: Pc,
    /// With its memory: a write there makes it no new one.
    freed: bool,
    /// What it takes in memory.
    bytes: u64,
}

#[derive(Default)]
struct Pass {
    modules: Vec<Range<u64>>,
    blocks: BTreeMap<u64, u64>,
    objects: BTreeMap<u64, Object>,
    /// Objects that were destroyed so far, and those that a function may return from.
    destroyed: usize,
    framed: usize,
    /// The last call stack of a thread that was looked at.
    last: Option<(ThreadId, StackId)>,
    seen: HashSet<(Pc, Pc)>,
    found: Vec<LateUse>,
}

impl Pass {
    fn event(&mut self, event: &Event<'_>, stacks: &Stacks) {
        self.returns(event, stacks);
        match event.op {
            Op::Module { base, size, .. } => self.modules.push(base.0..base.0.saturating_add(size)),
            Op::Alloc { addr, size } => {
                let range = addr.0..addr.0.saturating_add(size.max(1));
                self.forget(range.clone());
                while let Some((&inside, _)) = self.blocks.range(range.clone()).next() {
                    self.blocks.remove(&inside);
                }
                self.blocks.insert(addr.0, size);
            }
            Op::Free { addr, size } => {
                self.blocks.remove(&addr.0);
                let range = addr.0..addr.0.saturating_add(size);
                if addr.0 % PAGE == 0 || size >= MAPPED {
                    return self.forget(range);
                }
                for (_, object) in self.objects.range_mut(range).filter(|(_, object)| object.gone.is_none()) {
                    object.gone = Some(End { event: event.id, pc: event.pc, freed: true, bytes: 0 });
                }
            }
            Op::Write { addr, size, .. } => self.written(addr.0, size.into()),
            Op::Atomic { kind, addr, size, .. } if kind.writes() => self.written(addr.0, size.into()),
            Op::Create { object, kind, .. } => {
                if let Some(class) = Class::of(kind) {
                    let frame = self.frame(object.0, event, stacks);
                    self.put(object.0, Object { class, created: true, frame, gone: None });
                }
            }
            Op::Destroy { object, kind } => self.destroy(event, object, kind, stacks),
            Op::End => {
                let here = |frame: &Frame| frame.thread == event.thread;
                self.objects.retain(|_, object| !object.frame.as_ref().is_some_and(here));
            }
            ref op => {
                for (object, class) in uses(op).into_iter().flatten() {
                    self.used(event, object, class, stacks);
                }
            }
        }
    }

    fn used(&mut self, event: &Event<'_>, object: ObjectId, class: Class, stacks: &Stacks) {
        match self.objects.get(&object.0) {
            Some(known) if known.class == class => {
                if let Some(end) = known.gone {
                    self.tell(event, end);
                }
            }
            // A futex has no mutex, and whoever wakes one says no more.
            None if matches!(event.op, Op::Notify { .. }) => {}
            Some(known) if matches!(event.op, Op::Notify { .. }) && known.gone.is_none() => {}
            _ => {
                let frame = self.frame(object.0, event, stacks);
                self.put(object.0, Object { class, created: false, frame, gone: None });
            }
        }
    }

    fn destroy(&mut self, event: &Event<'_>, object: ObjectId, kind: ObjectKind, stacks: &Stacks) {
        let Some(class) = Class::of(kind) else { return };
        let known = self.objects.get(&object.0).filter(|known| known.class == class).cloned();
        if let Some(end) = known.as_ref().and_then(|known| known.gone) {
            return self.tell(event, end);
        }
        let mut frame = self.frame(object.0, event, stacks);
        let created = known.as_ref().is_some_and(|known| known.created);
        if let (Some(frame), Some(before)) = (&mut frame, known.and_then(|known| known.frame)) {
            if before.thread == frame.thread {
                let common = before.calls.iter().zip(&frame.calls).take_while(|(one, two)| one == two).count();
                frame.calls.truncate(common);
            } else {
                *frame = before;
            }
        }
        if frame.is_some() && !created {
            // What begins its next life might be seen by nobody.
            return self.forget(object.0..object.0.saturating_add(1));
        }
        self.destroyed += 1;
        self.framed += usize::from(frame.is_some());
        let end = End { event: event.id, pc: event.pc, freed: false, bytes: bytes(kind) };
        self.put(object.0, Object { class, created, frame, gone: Some(end) });
    }

    fn tell(&mut self, event: &Event<'_>, end: End) {
        if self.seen.insert((end.pc, event.pc)) {
            let End { event: gone, pc, freed, .. } = end;
            self.found.push(LateUse { end: gone, end_pc: pc, used: event.id, used_pc: event.pc, freed });
        }
    }

    fn put(&mut self, at: u64, object: Object) {
        self.objects.insert(at, object);
        // The next event of its thread is looked at.
        self.last = None;
    }

    /// Whatever lay there is another thing from now on.
    fn forget(&mut self, range: Range<u64>) {
        let gone: Vec<u64> = self.objects.range(range).map(|(at, _)| *at).collect();
        gone.iter().for_each(|at| drop(self.objects.remove(at)));
    }

    /// A static initialiser looks like this.
    fn written(&mut self, addr: u64, size: u64) {
        if self.destroyed == 0 {
            return;
        }
        let near = addr.saturating_sub(LARGEST)..addr.saturating_add(size);
        let renewed =
            |(at, object): &(&u64, &Object)| object.gone.is_some_and(|end| !end.freed && **at + end.bytes > addr);
        let renewed: Vec<u64> = self.objects.range(near).filter(renewed).map(|(at, _)| *at).collect();
        renewed.iter().for_each(|at| drop(self.objects.remove(at)));
    }

    /// Where an object lies, if a function can return from it.
    fn frame(&self, at: u64, event: &Event<'_>, stacks: &Stacks) -> Option<Frame> {
        let block = self.blocks.range(..=at).next_back();
        let lasting = self.modules.iter().any(|module| module.contains(&at))
            || block.is_some_and(|(start, size)| at - start < *size);
        (!lasting).then(|| Frame { thread: event.thread, calls: calls(event.stack, stacks) })
    }

    /// A thread that has left the calls in which an object was made and destroyed has left it behind.
    fn returns(&mut self, event: &Event<'_>, stacks: &Stacks) {
        if self.framed == 0 || self.last == Some((event.thread, event.stack)) || !event.op.is_step() {
            return;
        }
        self.last = Some((event.thread, event.stack));
        let now = calls(event.stack, stacks);
        let left = |frame: &Frame| frame.thread == event.thread && !now.starts_with(&frame.calls);
        self.objects.retain(|_, object| object.gone.is_none() || !object.frame.as_ref().is_some_and(left));
        self.framed = self.objects.values().filter(|object| object.gone.is_some() && object.frame.is_some()).count();
    }
}

/// The outermost first.
fn calls(stack: StackId, stacks: &Stacks) -> Vec<Pc> {
    let mut calls: Vec<Pc> = stacks.walk(stack).collect();
    calls.reverse();
    calls
}
