//! Accesses to memory whose values a front end knows when it makes them. (One whose hooks come before the access
//! announces its writes instead: see the recorder.)

use crate::policy::Next;
use crate::token::Token;
use crate::world::World;
use reweave_model::{AccessFlags, Addr, AtomicKind, MemoryOrder, Op, Value};

/// An atomic operation that was performed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Performed {
    pub kind: AtomicKind,
    pub order: MemoryOrder,
    pub read: u64,
    pub written: u64,
}

impl<W: World> Token<'_, W> {
    /// A plain read of up to eight bytes. `load` is called after the scheduler has decided.
    pub fn read(&mut self, pc: u64, (addr, size): (u64, u32), load: impl FnOnce() -> u64) -> u64 {
        self.announce(Next::access(pc, addr, size.into(), false));
        self.point();
        let value = load();
        self.step(pc, Op::Read { addr: Addr(addr), size, value: Value::Word(value), flags: AccessFlags(0) });
        value
    }

    /// A plain write of up to eight bytes. `store` is called after the scheduler has decided, and returns what it
    /// wrote.
    pub fn write(&mut self, pc: u64, (addr, size): (u64, u32), store: impl FnOnce() -> u64) {
        self.announce(Next::access(pc, addr, size.into(), true));
        self.point();
        let value = Value::Word(store());
        self.step(pc, Op::Write { addr: Addr(addr), size, value, flags: AccessFlags(0) });
    }

    /// An atomic operation on up to eight bytes. `writes`: it may write. `perform` is called after the scheduler has
    /// decided.
    pub fn atomic(
        &mut self,
        pc: u64,
        (addr, size): (u64, u32),
        writes: bool,
        perform: impl FnOnce() -> Performed,
    ) -> Performed {
        self.announce(Next::access(pc, addr, size.into(), writes));
        self.sync_point();
        let performed = perform();
        let Performed { kind, order, read, written } = performed;
        let (read, written) = (Value::Word(read), Value::Word(written));
        self.step(pc, Op::Atomic { kind, order, addr: Addr(addr), size, read, written });
        performed
    }
}
