//! A thread of the program under the conductor: what a statement does, as steps that the scheduler is asked about.
//! Everything here goes through `guest`; a front end of another language would look the same.

use std::io;

use reweave_guest::model::{AccessFlags, Addr, InputSource, LockMode, Misuse, ObjectKind, Op, Value, WakeReason};
use reweave_guest::{Deadline, Guest, NewGuest, Next, Performed, Process, Wakeup};

/// A place in memory: its address and its size.
pub type Cell = (u64, u32);

pub struct Control {
    guest: Guest,
}

impl Control {
    /// Asks for control of this process, whose code is the program at `path`. `None`: nobody wants to control it.
    pub fn start(path: &[u8], base: u64, size: u64) -> Option<Self> {
        let mut guest = Process::connect()?.start(0);
        guest.enter().module(base, size, base, path);
        Some(Self { guest })
    }

    /// Starts a thread: `start` makes one that begins with what it is given.
    pub fn fork(&mut self, pc: u64, start: impl FnOnce(NewGuest) -> io::Result<()>) -> io::Result<()> {
        self.guest.fork(pc, start)
    }

    /// On the new thread itself.
    pub fn take_over(new: NewGuest, pc: u64) -> Self {
        Self { guest: new.begin(pc) }
    }

    pub fn end(self, pc: u64) {
        self.guest.end(pc);
    }

    pub fn exit(&mut self, pc: u64, status: i32) {
        self.guest.exit(pc, status);
    }

    pub fn fatal(&mut self, pc: u64, number: u32) {
        self.guest.fatal(pc, number);
    }

    pub fn call(&mut self, pc: u64) {
        self.guest.call(pc);
    }

    pub fn returns(&mut self) {
        self.guest.returns();
    }

    /// `load` is called once the scheduler has decided.
    pub fn read(&mut self, pc: u64, (addr, size): Cell, flags: AccessFlags, load: impl FnOnce() -> u64) -> u64 {
        let mut token = self.guest.enter();
        token.announce(Next::access(pc, addr, size.into(), false));
        token.point();
        let value = load();
        token.step(pc, Op::Read { addr: Addr(addr), size, value: Value::Word(value), flags });
        value
    }

    /// `store` is called once the scheduler has decided.
    pub fn write(&mut self, pc: u64, (addr, size): Cell, flags: AccessFlags, value: u64, store: impl FnOnce()) {
        let mut token = self.guest.enter();
        token.announce(Next::access(pc, addr, size.into(), true));
        token.point();
        store();
        token.step(pc, Op::Write { addr: Addr(addr), size, value: Value::Word(value), flags });
    }

    pub fn atomic(&mut self, pc: u64, at: Cell, writes: bool, perform: impl FnOnce() -> Performed) -> Performed {
        self.guest.enter().atomic(pc, at, writes, perform)
    }

    /// `make` says where the new block is, once the scheduler has decided.
    pub fn alloc(&mut self, pc: u64, make: impl FnOnce() -> (u64, u64)) -> u64 {
        let mut token = self.guest.enter();
        token.announce(Next::access(pc, 0, 0, false));
        token.point();
        let (address, size) = make();
        token.step(pc, Op::Alloc { addr: Addr(address), size });
        address
    }

    /// A step of a kind that only needs to be recorded.
    pub fn sync_step(&mut self, pc: u64, op: Op<'_>) {
        let mut token = self.guest.enter();
        token.sync_point();
        token.step(pc, op);
    }

    /// A number from outside: what the recorded run got, if one is repeated, or what `read` gets.
    pub fn input<E>(&mut self, pc: u64, read: impl FnOnce() -> Result<i64, E>) -> Result<i64, E> {
        let mut token = self.guest.enter();
        token.sync_point();
        let value = match token.recorded_input(InputSource::Other) {
            Some((value, _)) => value,
            None => token.outside(|_| read())?,
        };
        token.step(pc, Op::Input { source: InputSource::Other, value, bytes: &[] });
        Ok(value)
    }

    pub fn acquire(&mut self, pc: u64, lock: u64, mode: LockMode, deadline: Deadline) -> bool {
        self.guest.enter().acquire(pc, lock, mode, deadline).is_ok()
    }

    pub fn owns(&mut self, lock: u64) -> bool {
        let token = self.guest.enter();
        token.owner(lock) == token.id()
    }

    pub fn reenter(&mut self, lock: u64) {
        self.guest.enter().reenter(lock);
    }

    pub fn release(&mut self, pc: u64, lock: u64) -> Result<(), Misuse> {
        self.guest.enter().release(pc, lock)
    }

    pub fn misused(&mut self, pc: u64, what: Misuse, object: u64) {
        self.guest.enter().misused(pc, what, object);
    }

    /// Whether it was notified.
    pub fn wait(&mut self, pc: u64, condition: u64, lock: u64, deadline: Deadline) -> bool {
        self.guest.enter().wait(pc, condition, lock, deadline) == WakeReason::Notified
    }

    pub fn now(&mut self) -> u64 {
        self.guest.enter().now()
    }

    pub fn notify(&mut self, pc: u64, condition: u64, all: bool) {
        self.guest.enter().notify(pc, condition, all);
    }

    /// Whether this thread came last.
    pub fn barrier(&mut self, pc: u64, barrier: u64) -> bool {
        self.guest.enter().barrier(pc, barrier)
    }

    pub fn post(&mut self, pc: u64, semaphore: u64) {
        self.guest.enter().semaphore_post(pc, semaphore);
    }

    pub fn take(&mut self, pc: u64, semaphore: u64, deadline: Deadline) -> bool {
        self.guest.enter().semaphore_take(pc, semaphore, deadline) == Wakeup::Granted
    }

    pub fn create(&mut self, pc: u64, object: u64, kind: ObjectKind, value: u32) {
        self.guest.enter().create(pc, object, kind, value);
    }

    pub fn join(&mut self, pc: u64, child: u32) {
        self.guest.join_id(pc, child);
    }
}
