//! What things of one run are called in another. Addresses change from run to run; these names do not:
//! a heap object is its thread and the number of its allocation there, a stack address its thread and the distance from
//! that thread's first stack address, a global its module and offset, code likewise. The words of the command line lie
//! above the stack, and where depends on how long the environment is: they are named by themselves.

use std::collections::{BTreeMap, HashMap, HashSet};

use reweave_model::{Addr, AtomicKind, BlockedOn, Event, MappedModules, ObjectId, Op, OpKind, Pc, ThreadId, module_id};
use reweave_trace::{ARGUMENTS, Language, Meta, StackMemory};

/// A place in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Name {
    /// `module` is a hash of the module's file name.
    Global {
        module: u64,
        offset: u64,
    },
    Heap {
        thread: ThreadId,
        allocation: u32,
        offset: u64,
    },
    Stack {
        thread: ThreadId,
        offset: i64,
    },
    /// In the words of the command line.
    Argument {
        offset: u64,
    },
    /// Not an address but an id: a thread, a descriptor, a number.
    Id(u64),
    /// Memory of which no allocation was recorded.
    Unknown,
}

pub use reweave_model::CodePosition as Code;

/// By default it knows nothing of stacks: enough to name code.
#[derive(Default)]
pub struct Names {
    stack_memory: Option<StackMemory>,
    arguments: Option<[u64; 2]>,
    modules: MappedModules,
    heap: BTreeMap<u64, (u64, ThreadId, u32)>,
    allocations: HashMap<ThreadId, u32>,
    stacks: HashMap<ThreadId, u64>,
    /// Modules of the front end's runtime: what lies where in them differs from build to build.
    runtime: Vec<u64>,
    /// Threads that have begun and done nothing yet.
    beginning: HashSet<ThreadId>,
    /// Allocations with which threads say where their stacks lie, and the first offset into each that was used.
    stack_blocks: HashMap<(ThreadId, u32), Option<u64>>,
}

impl Names {
    /// For the events of a process, in the same environment.
    pub fn new(language: &Language) -> Self {
        let runtime = language.runtime_modules.iter().map(|name| module_id(name.as_bytes())).collect();
        Self { stack_memory: language.stacks, runtime, ..Self::default() }
    }

    /// For the events of a process, in an environment that may be another one.
    pub fn of_process(meta: &Meta) -> Self {
        let bounds =
            meta.other.get(ARGUMENTS).and_then(|bounds| Some([bounds.get(0)?.as_u64()?, bounds.get(1)?.as_u64()?]));
        Self { arguments: bounds.filter(|[begin, end]| begin < end), ..Self::new(meta.language()) }
    }

    /// Learns from an event. Call it before naming what the event is about.
    pub fn see(&mut self, event: &Event<'_>) {
        match event.op {
            Op::Module { .. } => self.modules.see(&event.op),
            Op::Begin => drop(self.beginning.insert(event.thread)),
            Op::Alloc { addr, size } => {
                let count = self.allocations.entry(event.thread).or_default();
                let is_stack = self.stack_memory.is_some_and(|stacks| addr.0 >= stacks.lowest);
                if self.beginning.remove(&event.thread) && is_stack {
                    self.stack_blocks.insert((event.thread, *count), None);
                }
                // Freed, whether or not anybody saw it.
                while let Some((&gone, _)) = self.heap.range(addr.0..addr.0.saturating_add(size)).next() {
                    self.heap.remove(&gone);
                }
                self.heap.insert(addr.0, (size, event.thread, *count));
                *count += 1;
            }
            Op::End => drop(self.stacks.remove(&event.thread)),
            _ => {}
        }
    }

    /// Forgets what an event ends. Call it after naming.
    pub fn passed(&mut self, event: &Event<'_>) {
        if let Op::Free { addr, .. } = event.op {
            self.heap.remove(&addr.0);
        }
    }

    pub fn code(&self, pc: Pc) -> Code {
        self.modules.code(pc)
    }

    /// The name of an address that `thread` uses.
    pub fn name(&mut self, thread: ThreadId, addr: u64) -> Name {
        if let Some((&start, &(size, thread, allocation))) = self.heap.range(..=addr).next_back()
            && addr - start < size.max(1)
        {
            return Name::Heap { thread, allocation, offset: addr - start };
        }
        if let Some(Code { module, offset }) = self.modules.position(addr) {
            return Name::Global { module, offset };
        }
        let Some(StackMemory { reach, .. }) = self.stack_memory.filter(|stacks| addr >= stacks.lowest) else {
            return Name::Unknown;
        };
        match self.arguments {
            Some([begin, end]) if (begin..end).contains(&addr) => return Name::Argument { offset: addr - begin },
            // The environment is above them, and nothing else.
            Some([_, end]) if addr >= end && addr - end < reach => return Name::Unknown,
            _ => {}
        }
        let near = self.stacks.iter().map(|(&owner, &base)| (base.abs_diff(addr), owner, base)).min();
        match near {
            Some((distance, owner, base)) if distance < reach => {
                Name::Stack { thread: owner, offset: addr.wrapping_sub(base) as i64 }
            }
            _ if !self.stacks.contains_key(&thread) => {
                self.stacks.insert(thread, addr);
                Name::Stack { thread, offset: 0 }
            }
            _ => Name::Unknown,
        }
    }

    /// What a value points to, if it is a pointer. Nothing is learnt by it.
    pub fn pointee(&self, value: u64) -> Name {
        if let Some((&start, &(size, thread, allocation))) = self.heap.range(..=value).next_back()
            && value - start <= size
        {
            // That of a stack that was built on goes by its distance from the first use.
            let first = self.stack_blocks.get(&(thread, allocation)).copied().flatten().unwrap_or(0);
            return Name::Heap { thread, allocation, offset: (value - start).wrapping_sub(first) };
        }
        match self.modules.position(value) {
            // Its own data and code lie where they lie.
            Some(Code { module, .. }) if self.runtime.contains(&module) => Name::Global { module, offset: 0 },
            Some(Code { module, offset }) => Name::Global { module, offset },
            None => self.on_a_stack(value),
        }
    }

    fn on_a_stack(&self, value: u64) -> Name {
        let Some(StackMemory { reach, .. }) = self.stack_memory.filter(|stacks| value >= stacks.lowest) else {
            return Name::Unknown;
        };
        if let Some([begin, end]) = self.arguments {
            if (begin..end).contains(&value) {
                return Name::Argument { offset: value - begin };
            }
            // The environment: it is not compared.
            if value >= end && value - end < reach {
                return Name::Argument { offset: u64::MAX };
            }
        }
        let near = self.stacks.iter().map(|(&owner, &base)| (base.abs_diff(value), owner, base)).min();
        match near.filter(|(distance, ..)| *distance < reach) {
            Some((_, thread, base)) => Name::Stack { thread, offset: value.wrapping_sub(base) as i64 },
            None => Name::Unknown,
        }
    }

    /// What makes two events the same across runs.
    pub fn key(&mut self, event: &Event<'_>) -> Key {
        let mut object = |id: ObjectId| self.name(event.thread, id.0);
        let (detail, name) = match event.op {
            Op::Read { addr, size, .. } | Op::Write { addr, size, .. } => (u64::from(size), object(ObjectId(addr.0))),
            Op::Atomic { kind, order, addr, size, .. } => {
                // Whether a compare-exchange succeeded is an outcome, but still the same operation's.
                let done = if kind == AtomicKind::CasFailed { AtomicKind::CasFailed } else { kind };
                (u64::from(size) << 16 | (done as u64) << 8 | order as u64, object(ObjectId(addr.0)))
            }
            Op::Fork { child, nth } => (nth.into(), Name::Id(child.0.into())),
            Op::Join { child } | Op::Detach { child } => (0, Name::Id(child.0.into())),
            Op::Acquire { object: id, mode, tried } => (mode as u64 | u64::from(tried) << 8, object(id)),
            Op::Release { object: id, mode } => (mode as u64, object(id)),
            Op::Blocked { on, object: id } => (on as u64, self.waited_for(event.thread, on, id)),
            Op::Refused { on, object: id, why } => {
                (on as u64 | (why as u64) << 8, self.waited_for(event.thread, on, id))
            }
            Op::Wait { condition, .. } => (0, object(condition)),
            Op::Woken { condition, reason, notify, .. } => (reason as u64 | u64::from(notify) << 8, object(condition)),
            Op::Notify { condition, all, woken, .. } => (u64::from(woken) << 1 | u64::from(all), object(condition)),
            Op::BarrierArrive { barrier, count } => (count.into(), object(barrier)),
            Op::BarrierLeave { barrier, serial } => (serial.into(), object(barrier)),
            Op::SemaphorePost { semaphore, value } | Op::SemaphoreTake { semaphore, value, .. } => {
                (value.into(), object(semaphore))
            }
            Op::OnceBegin { object: id } | Op::OnceEnd { object: id } | Op::OnceDone { object: id } => (0, object(id)),
            Op::Send { position, size, .. } | Op::Receive { position, size, .. } => (position, Name::Id(size)),
            Op::Alloc { addr, size } | Op::Free { addr, size } => (size, object(ObjectId(addr.0))),
            Op::Create { object: id, kind, .. } | Op::Destroy { object: id, kind } => (kind as u64, object(id)),
            Op::AtomicEnter { name } => (0, object(ObjectId(name.0))),
            Op::Put { remote, .. } | Op::Get { remote, .. } | Op::Accumulate { remote, .. } => {
                (u64::from(remote.size) << 32 | u64::from(remote.target), Name::Id(remote.displacement))
            }
            Op::EpochBegin { window, kind, target } | Op::EpochEnd { window, kind, target } => {
                (u64::from(target) << 8 | kind as u64, Name::Id(window.0))
            }
            Op::Input { source, .. } => (source as u64, Name::Unknown),
            Op::Signal { number } | Op::SignalReturn { number } => (number.into(), Name::Unknown),
            Op::Misused { what, object: id } => (what as u64, object(id)),
            Op::Leave { call } | Op::Return { call, .. } => (call.into(), Name::Unknown),
            _ => (0, Name::Unknown),
        };
        let is_block = matches!(event.op, Op::Alloc { .. } | Op::Free { .. });
        let (name, from_first) = if is_block { (name, None) } else { self.whatever_the_build(name) };
        let kind = event.op.kind();
        Key { thread: event.thread, code: self.code(event.pc), kind, detail, name, from_first }
    }

    /// The same name under a runtime that was built anew. Its own data lie elsewhere. So do the frames of threads, by
    /// what its own frames below them take: these go by their distance from the first one, too. (What else lies with a
    /// stack, thread-local data above all, stays where it is.)
    fn whatever_the_build(&mut self, name: Name) -> (Name, Option<i64>) {
        match name {
            Name::Global { module, .. } if self.runtime.contains(&module) => (Name::Unknown, None),
            Name::Heap { thread, allocation, offset } => {
                let block = self.stack_blocks.get_mut(&(thread, allocation));
                (name, block.map(|first| offset.wrapping_sub(*first.get_or_insert(offset)) as i64))
            }
            name => (name, None),
        }
    }

    fn waited_for(&mut self, thread: ThreadId, on: BlockedOn, object: ObjectId) -> Name {
        match on {
            BlockedOn::Join | BlockedOn::Descriptor | BlockedOn::Signal | BlockedOn::Sleep => Name::Id(object.0),
            _ => self.name(thread, Addr(object.0).0),
        }
    }
}

/// An event by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Key {
    pub thread: ThreadId,
    pub code: Code,
    pub kind: OpKind,
    pub detail: u64,
    pub name: Name,
    /// Of something on a thread's stack: how far it lies from what the thread used there first.
    pub from_first: Option<i64>,
}

impl Key {
    /// The same event as far as both runs can be named: what is unknown in either is not held against them.
    pub fn matches(&self, other: &Self) -> bool {
        let code = self.code == other.code || self.code.module == 0 || other.code.module == 0;
        let known = self.name != Name::Unknown && other.name != Name::Unknown;
        let same_frame = self.from_first.is_some() && self.from_first == other.from_first;
        let name = !known || self.name == other.name || same_frame;
        self.thread == other.thread && self.kind == other.kind && self.detail == other.detail && code && name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reweave_model::{AccessFlags, EventId, StackId, Value};

    #[test]
    fn words_of_the_command_line_are_found_wherever_they_lie() {
        let top = 0x7fff_ffff_0000;
        let named = |begin: u64, addr: u64| {
            let other = [(ARGUMENTS.to_owned(), vec![begin, begin + 20].into())];
            let mut names = Names::of_process(&Meta { other: other.into(), ..Meta::default() });
            // Read before anything on the stack is: it is not where the stack begins.
            let first = names.name(ThreadId(0), begin);
            assert_eq!(first, Name::Argument { offset: 0 });
            assert_eq!(names.name(ThreadId(0), top - 0x1000), Name::Stack { thread: ThreadId(0), offset: 0 });
            names.name(ThreadId(0), addr)
        };
        assert_eq!(named(top, top + 7), named(top - 3, top + 4));
        assert_eq!(named(top, top + 20), Name::Unknown, "the environment");
        assert_eq!(named(top, top - 8), Name::Stack { thread: ThreadId(0), offset: 0x1000 - 8 });
    }

    #[test]
    fn another_build_of_the_runtime_changes_no_names() {
        let key = |shift: u64| {
            let mut names = Names::of_process(&Meta::default());
            let event = |op| Event { id: EventId(0), thread: ThreadId(1), pc: Pc(0), stack: StackId(0), op };
            let block = 0x7fff_f61c_0000;
            let read = |addr| Op::Read { addr: Addr(addr), size: 8, value: Value::Word(0), flags: AccessFlags(0) };
            let runtime = Op::Module { base: Addr(0x1000), size: 0x1000, bias: 0, path: b"/x/libreweave_runtime.so" };
            let ops =
                [runtime, Op::Begin, Op::Alloc { addr: Addr(block), size: 0x4_0000 }, read(block + 0x3_0000 - shift)];
            ops.iter().for_each(|&op| names.see(&event(op)));
            let keys = [ops[2], ops[3], read(block + 0x2_0000 - shift), read(0x1100 + shift)];
            keys.map(|op| names.key(&event(op)))
        };
        for (one, other) in key(0).iter().zip(&key(0x30)) {
            assert!(one.matches(other), "{one:?} and {other:?}");
        }
        let [_, first, second, _] = key(0);
        assert!(!first.matches(&second) && second.from_first == Some(-0x1_0000));
    }
}
