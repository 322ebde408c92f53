//! What statements do to memory and to synchronization objects: one step each.

use reweave_guest::{Deadline, Performed};
use reweave_model::{AccessFlags, AtomicKind, LockMode, MemoryOrder, Misuse, Op};

use super::executor::{Executor, StepResult};
use super::memory::Shape;
use super::{lock, make_object};
use crate::language::{
    Allocation, Base, Function, Mode, Operand, Order, Place, Register, Slot, StatementKind, Type, UpdateOp, arithmetic,
};
use crate::layout::{CONDITION, Layout, MONITOR, slot_size};

/// How long a timed wait lasts, in virtual time.
const PATIENCE: u64 = 1_000_000_000;

impl Executor {
    /// Address of a place, and what is there.
    fn place(&self, function: &Function, place: &Place) -> StepResult<(u64, Option<Slot>)> {
        let (program, layout) = (&self.shared.program, &self.shared.layout);
        let shape = |register: Register| {
            let address = self.get(register);
            let shape = lock(&self.shared.memory).shape(address);
            shape.map(|shape| (address, shape)).ok_or_else(|| "null has no fields, elements or monitor".to_owned())
        };
        match *place {
            Place::Global(global) => Ok((layout.globals[global.index()], Some(program.global(global).slot))),
            Place::Object(register) => shape(register).map(|(address, _)| (address, None)),
            Place::Field { base, kind, field } => {
                let slot = program.types[kind.index()].fields[field as usize].1;
                let base = match base {
                    Base::Global(global) => layout.globals[global.index()],
                    Base::Register(register) => match shape(register)? {
                        (address, Shape::Object(known)) if known == kind => address,
                        _ => return Err(format!("the object is no {}", program.types[kind.index()].name)),
                    },
                };
                Ok((base + layout.field(kind, field), Some(slot)))
            }
            Place::Element { base, index } => {
                let index = self.integer(function, index);
                let within = |length: u64| match u64::try_from(index) {
                    Ok(index) if index < length => Ok(index),
                    _ => Err(format!("index {index} is out of range: there are {length} elements")),
                };
                match base {
                    Base::Global(global) => {
                        let (at, global) = (layout.globals[global.index()], program.global(global));
                        let index = within(global.length.unwrap_or(1).into())?;
                        Ok((at + index * slot_size(global.slot), Some(global.slot)))
                    }
                    Base::Register(register) => match shape(register)? {
                        (address, Shape::Array { element, length }) => {
                            let at = address + Layout::element(element, within(length)?);
                            Ok((at, Some(Slot::Value(element))))
                        }
                        _ => Err("the object is no array".into()),
                    },
                }
            }
        }
    }

    /// Address of a place that holds values of this type.
    fn value_place(&self, function: &Function, place: &Place, kind: Type) -> StepResult<u64> {
        match self.place(function, place)? {
            (address, Some(Slot::Value(known))) if known == kind => Ok(address),
            (_, Some(Slot::Value(known))) => Err(format!("the place holds {known}, not {kind}")),
            _ => Err("the place holds no value".into()),
        }
    }

    fn object(&self, function: &Function, place: &Place) -> StepResult<u64> {
        self.place(function, place).map(|(address, _)| address + MONITOR)
    }

    fn condition(&self, function: &Function, place: &Place) -> StepResult<u64> {
        let (address, slot) = self.place(function, place)?;
        Ok(if slot.is_none() { address + CONDITION } else { address })
    }

    pub(super) fn access(&mut self, function: &Function, pc: u64, kind: &StatementKind) -> StepResult {
        match *kind {
            StatementKind::Load { to, ref from, mode } => {
                let kind = function.kind_of(to);
                let address = self.value_place(function, from, kind)?;
                let value = match mode {
                    Mode::Atomic(order) => {
                        self.atomic(pc, (AtomicKind::Load, order), address, kind, |there| (there, false)).0
                    }
                    mode => {
                        let load = || lock(&self.shared.memory).read(address);
                        self.control.read(pc, (address, kind.size()), flags(mode), load)
                    }
                };
                self.set(to, value);
            }
            StatementKind::Store { ref to, value, mode } => {
                let (address, kind) = match (self.place(function, to)?, value) {
                    ((_, Some(Slot::Value(kind))), Operand::Register(register))
                        if function.kind_of(register) != kind =>
                    {
                        return Err(format!("the place holds {kind}, not {}", function.kind_of(register)));
                    }
                    ((address, Some(Slot::Value(kind))), _) => (address, kind),
                    _ => return Err("the place holds no value".into()),
                };
                let value = self.operand(value, kind);
                match mode {
                    Mode::Atomic(order) => {
                        self.atomic(pc, (AtomicKind::Store, order), address, kind, |_| (value, true));
                    }
                    mode => {
                        let store = || lock(&self.shared.memory).write(address, value);
                        self.control.write(pc, (address, kind.size()), flags(mode), value, store);
                    }
                }
            }
            StatementKind::Update { to, op, ref at, value, order } => {
                let kind = function.kind_of(to);
                let address = self.value_place(function, at, kind)?;
                let operand = self.operand(value, kind);
                let what = if op == UpdateOp::Exchange { AtomicKind::Exchange } else { AtomicKind::Update };
                let update = |there| (arithmetic::updated(op, kind, there, operand), true);
                let (there, _) = self.atomic(pc, (what, order), address, kind, update);
                self.set(to, there);
            }
            StatementKind::CompareExchange { to, ref at, expected, new, order } => {
                let kind = function.kind_of(to);
                let address = self.value_place(function, at, kind)?;
                let (expected, new) = (self.operand(expected, kind), self.operand(new, kind));
                let update = |there| if there == expected { (new, true) } else { (there, false) };
                let (there, _) = self.atomic(pc, (AtomicKind::CasDone, order), address, kind, update);
                self.set(to, there);
            }
            StatementKind::Alloc { to, what } => {
                let address = self.alloc(function, pc, what)?;
                self.set(to, address);
            }
            StatementKind::Fence { order } => {
                self.control.sync_step(pc, Op::Fence { order: memory_order(order) });
            }
            _ => {}
        }
        Ok(())
    }

    /// `update`: what is there afterwards, and whether that was written. Returns what was there, and what is.
    fn atomic(
        &mut self,
        pc: u64,
        (kind, order): (AtomicKind, Order),
        address: u64,
        value: Type,
        update: impl FnOnce(u64) -> (u64, bool),
    ) -> (u64, u64) {
        let memory = &self.shared.memory;
        let perform = || {
            let mut memory = lock(memory);
            let there = memory.read(address);
            let (now, written) = update(there);
            if written {
                memory.write(address, now);
            }
            let kind = if kind == AtomicKind::CasDone && !written { AtomicKind::CasFailed } else { kind };
            Performed { kind, order: memory_order(order), read: there, written: now }
        };
        let Performed { read, written, .. } = self.control.atomic(pc, (address, value.size()), kind.writes(), perform);
        (read, written)
    }

    fn alloc(&mut self, function: &Function, pc: u64, what: Allocation) -> StepResult<u64> {
        let shape = match what {
            Allocation::Object(kind) => Shape::Object(kind),
            Allocation::Array { element, length } => {
                let length = self.integer(function, length);
                let count = u64::try_from(length).ok().filter(|length| *length < 1 << 32);
                let length = count.ok_or_else(|| format!("an array of {length} elements"))?;
                Shape::Array { element, length }
            }
        };
        let make = || lock(&self.shared.memory).alloc(shape, &self.shared.layout);
        let address = self.control.alloc(pc, make);
        if let Shape::Object(kind) = shape {
            let shared = self.shared.clone();
            for (at, (_, slot)) in shared.program.types[kind.index()].fields.iter().enumerate() {
                make_object(*slot, address + shared.layout.field(kind, at as u32), &mut self.control);
            }
        }
        Ok(address)
    }

    pub(super) fn sync(&mut self, function: &Function, pc: u64, kind: &StatementKind) -> StepResult {
        let mode = |shared: bool| if shared { LockMode::Shared } else { LockMode::Exclusive };
        match kind {
            StatementKind::Enter { lock, shared } => {
                let id = self.object(function, lock)?;
                if matches!(lock, Place::Object(_)) && self.control.owns(id) {
                    self.control.reenter(id);
                } else {
                    self.control.acquire(pc, id, mode(*shared), Deadline::Never);
                }
            }
            StatementKind::TryEnter { to, lock, shared } => {
                let id = self.object(function, lock)?;
                let got = if matches!(lock, Place::Object(_)) && self.control.owns(id) {
                    self.control.reenter(id);
                    true
                } else {
                    self.control.acquire(pc, id, mode(*shared), Deadline::Now)
                };
                self.set(*to, got.into());
            }
            StatementKind::Exit { lock } => {
                let id = self.object(function, lock)?;
                let left = self.control.release(pc, id);
                left.map_err(|_| "exit of a lock that this thread is not in".to_owned())?;
            }
            StatementKind::Wait { condition, lock } => {
                self.wait(function, pc, condition, lock, Deadline::Never)?;
            }
            StatementKind::TimedWait { to, condition, lock } => {
                let deadline = Deadline::At(self.control.now() + PATIENCE);
                let woken = self.wait(function, pc, condition, lock, deadline)?;
                self.set(*to, woken.into());
            }
            StatementKind::Notify { condition, all } => {
                let condition = self.condition(function, condition)?;
                self.control.notify(pc, condition, *all);
            }
            StatementKind::Barrier { to, barrier } => {
                let barrier = self.object(function, barrier)?;
                let last = self.control.barrier(pc, barrier);
                if let Some(to) = to {
                    self.set(*to, last.into());
                }
            }
            StatementKind::Post { semaphore } => {
                let semaphore = self.object(function, semaphore)?;
                self.control.post(pc, semaphore);
            }
            StatementKind::Take { semaphore } => {
                let semaphore = self.object(function, semaphore)?;
                self.control.take(pc, semaphore, Deadline::Never);
            }
            StatementKind::TryTake { to, semaphore } => {
                let semaphore = self.object(function, semaphore)?;
                let got = self.control.take(pc, semaphore, Deadline::Now);
                self.set(*to, got.into());
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether it was notified.
    fn wait(
        &mut self,
        function: &Function,
        pc: u64,
        condition: &Place,
        lock: &Place,
        deadline: Deadline,
    ) -> StepResult<bool> {
        let (condition, lock) = (self.condition(function, condition)?, self.object(function, lock)?);
        if !self.control.owns(lock) {
            self.control.misused(pc, Misuse::UnlockByNonOwner, lock);
            return Err("wait with a lock that this thread is not in".into());
        }
        Ok(self.control.wait(pc, condition, lock, deadline))
    }
}

fn flags(mode: Mode) -> AccessFlags {
    AccessFlags(if mode == Mode::Volatile { AccessFlags::VOLATILE } else { 0 })
}

const fn memory_order(order: Order) -> MemoryOrder {
    match order {
        Order::Relaxed => MemoryOrder::Relaxed,
        Order::Consume => MemoryOrder::Consume,
        Order::Acquire => MemoryOrder::Acquire,
        Order::Release => MemoryOrder::Release,
        Order::AcqRel => MemoryOrder::AcqRel,
        Order::SeqCst => MemoryOrder::SeqCst,
    }
}
