//! Stand-in for `guest` and the conductor's token.

use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicPtr, Ordering};

use reweave_conductor::policy::Next;
use reweave_conductor::shared::{ENV_SOCKET, Hello, MAGIC, VERSION, Welcome};
use reweave_conductor::{Conductor, Deadline, Pause, Region, Status, Thread, Timer, Timers, Wakeup, World};
use reweave_model::wire::Record;
use reweave_model::{
    Addr, AtomicKind, LockMode, MemoryOrder, Misuse, ObjectKind, Op, Pc, StackId, ThreadId, Value, WakeReason,
};

static CONDUCTOR: AtomicPtr<Conductor> = AtomicPtr::new(std::ptr::null_mut());

fn conductor() -> &'static mut Conductor {
    // SAFETY: set before any thread runs; the token makes access exclusive.
    unsafe { &mut *CONDUCTOR.load(Ordering::Relaxed) }
}

struct Nothing;

impl World for Nothing {
    fn poll(&self, _: &mut [&mut Thread], _: u64) {}
    fn may_be_woken(&self) -> bool {
        false
    }
    fn others_work(&self) -> bool {
        false
    }
    fn had_strangers(&self) -> bool {
        false
    }
    fn has_strangers(&self) -> bool {
        false
    }
    fn takes(&self, _: &Thread, _: u32) -> bool {
        false
    }
    fn signal(&self, _: &mut Thread, _: u32, _: Option<&Timer>) {}
    fn hand_over(&self, _: &mut Timers, _: u64) {}
}

fn connect() -> Option<Region> {
    let mut stream = UnixStream::connect(std::env::var_os(ENV_SOCKET)?).ok()?;
    let hello = Hello {
        magic: MAGIC,
        version: VERSION,
        pid: std::process::id(),
        parent: std::os::unix::process::parent_id(),
        instrumented: 1,
        forked: 0,
    };
    // SAFETY: six integers without padding.
    let bytes: [u8; 24] = unsafe { std::mem::transmute(hello) };
    stream.write_all(&bytes).ok()?;
    // SAFETY: plain socket calls.
    unsafe {
        let mut welcome: Welcome = std::mem::zeroed();
        let mut part = libc::iovec { iov_base: (&raw mut welcome).cast(), iov_len: size_of::<Welcome>() };
        let mut control = [0u64; 8];
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control);
        let got = libc::recvmsg(stream.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC);
        if got != size_of::<Welcome>() as isize || welcome.magic != MAGIC || welcome.refused != 0 {
            return None;
        }
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        if header.is_null() {
            return None;
        }
        let descriptor = OwnedFd::from_raw_fd(libc::CMSG_DATA(header).cast::<i32>().read_unaligned());
        let at = libc::mmap(
            std::ptr::null_mut(),
            welcome.region_bytes as usize,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            descriptor.as_raw_fd(),
            0,
        );
        let _ = stream.read(&mut []);
        (at != libc::MAP_FAILED).then(|| Region::new(at.cast()))
    }
}

pub struct Control {
    thread: &'static mut Thread,
}

pub struct Child(*mut Thread);

// SAFETY: handed to the thread it is about.
unsafe impl Send for Child {}

/// Stacks by (parent, pc). Touched by the holder of the token only.
static STACKS: std::sync::Mutex<(std::collections::BTreeMap<(u32, u64), u32>, u32)> =
    std::sync::Mutex::new((std::collections::BTreeMap::new(), 0));

fn no_signals(_: &mut Thread) {}

impl Control {
    pub fn start(path: &[u8], base: u64, size: u64) -> Option<Self> {
        let region = connect()?;
        let mut conductor = Box::new(Conductor::new(region, Box::new(Nothing)));
        let main = conductor.register(None);
        main.scheduled_as = 0;
        conductor.start(main);
        CONDUCTOR.store(Box::into_raw(conductor), Ordering::Release);
        let mut control = Self { thread: main };
        control.begin(0);
        let op = Op::Module { base: Addr(base), size, bias: base, path };
        self::conductor().recorder.event(control.thread, 0, op);
        self::conductor().policy.module(base, size, base, path);
        Some(control)
    }

    fn begin(&mut self, pc: u64) {
        self.thread.os = reweave_conductor::sys::thread_id();
        conductor().step(self.thread, pc, Op::Begin);
    }

    /// Starts a thread.
    pub fn fork(&mut self, pc: u64, start: impl FnOnce(Child)) {
        let conductor = conductor();
        conductor.sync_point(self.thread);
        conductor.spin.lock();
        let child = conductor.register(Some(self.thread));
        child.status = Status::Outside;
        conductor.spin.unlock();
        let (id, nth) = (child.id, child.nth);
        start(Child(child));
        conductor.step(self.thread, pc, Op::Fork { child: ThreadId(id), nth });
        conductor.spin.lock();
        conductor.thread(id).status = Status::Ready;
        conductor.spin.unlock();
    }

    pub fn id_of(child: &Child) -> u32 {
        // SAFETY: its row, before it runs.
        unsafe { (*child.0).id }
    }

    pub fn take_over(child: Child, pc: u64) -> Self {
        // SAFETY: the row made for this thread.
        let thread = unsafe { &mut *child.0 };
        thread.os = reweave_conductor::sys::thread_id();
        conductor().await_token(thread);
        let mut control = Self { thread };
        control.begin(pc);
        control
    }

    pub fn end(self, pc: u64) {
        conductor().point(self.thread);
        conductor().step(self.thread, pc, Op::End);
        conductor().retire(self.thread.id);
    }

    pub fn exit(&mut self, pc: u64, status: i32) {
        self.thread.exiting = true;
        conductor().pause(self.thread, Pause::Yield);
        conductor().step(self.thread, pc, Op::Exit { status });
    }

    pub fn fatal(&mut self, pc: u64, number: u32) {
        conductor().recorder.event(self.thread, pc, Op::Fatal { number, addr: Addr(0) });
    }

    /// The stack of a call made from `stack` at `pc`.
    pub fn enter_call(&mut self, stack: u32, pc: u64) -> u32 {
        let mut stacks = STACKS.lock().unwrap();
        let next = stacks.1 + 1;
        let id = *stacks.0.entry((stack, pc)).or_insert(next);
        if id == next {
            stacks.1 = next;
            let record = Record::StackDef { stack: StackId(id), parent: StackId(stack), pc: Pc(pc) };
            conductor().recorder.record(self.thread, &record);
        }
        drop(stacks);
        self.set_stack(id);
        id
    }

    pub fn set_stack(&mut self, stack: u32) {
        conductor().recorder.set_stack(self.thread, stack);
    }

    pub fn point(&mut self, pc: u64, address: u64, size: u32, writes: bool) {
        conductor().keep(self.thread);
        self.thread.next = Next::access(pc, address, size.into(), writes);
        conductor().point(self.thread);
    }

    pub fn step(&mut self, pc: u64, op: Op<'_>) {
        conductor().step(self.thread, pc, op);
    }

    pub fn sync_point(&mut self) {
        conductor().keep(self.thread);
        conductor().sync_point(self.thread);
    }

    pub fn announce(&mut self, pc: u64, address: u64, size: u32, writes: bool) {
        self.thread.next = Next::access(pc, address, size.into(), writes);
    }

    pub fn atomic(&mut self, pc: u64, kind: AtomicKind, order: MemoryOrder, address: u64, size: u32, values: [u64; 2]) {
        let [read, written] = values.map(Value::Word);
        self.step(pc, Op::Atomic { kind, order, addr: Addr(address), size, read, written });
    }

    pub fn acquire(&mut self, pc: u64, lock: u64, mode: LockMode, deadline: Deadline) -> bool {
        conductor().keep(self.thread);
        conductor().acquire(self.thread, pc, lock, mode, deadline, no_signals).is_ok()
    }

    pub fn owns(&self, lock: u64) -> bool {
        conductor().owner(lock) == self.thread.id
    }

    pub fn reenter(&mut self, lock: u64) {
        conductor().reenter(lock);
    }

    pub fn release(&mut self, pc: u64, lock: u64) -> Result<(), Misuse> {
        conductor().keep(self.thread);
        conductor().release(self.thread, pc, lock)
    }

    pub fn misused(&mut self, pc: u64, what: Misuse, object: u64) {
        conductor().misused(self.thread, pc, what, object);
    }

    pub fn wait(&mut self, pc: u64, condition: u64, lock: u64, deadline: Deadline) -> bool {
        conductor().keep(self.thread);
        conductor().wait(self.thread, pc, condition, lock, deadline, no_signals) == WakeReason::Notified
    }

    pub fn now(&self) -> u64 {
        conductor().now(self.thread)
    }

    pub fn notify(&mut self, pc: u64, condition: u64, all: bool) {
        conductor().keep(self.thread);
        conductor().notify(self.thread, pc, condition, all);
    }

    pub fn barrier(&mut self, pc: u64, barrier: u64) -> bool {
        conductor().keep(self.thread);
        conductor().barrier(self.thread, pc, barrier, no_signals)
    }

    pub fn post(&mut self, pc: u64, semaphore: u64) {
        conductor().keep(self.thread);
        conductor().semaphore_post(self.thread, pc, semaphore);
    }

    pub fn take(&mut self, pc: u64, semaphore: u64, deadline: Deadline) -> bool {
        conductor().keep(self.thread);
        conductor().semaphore_take(self.thread, pc, semaphore, deadline) == Wakeup::Granted
    }

    pub fn create(&mut self, pc: u64, object: u64, kind: ObjectKind, value: u32) {
        conductor().create(self.thread, pc, object, kind, value);
    }

    pub fn join(&mut self, pc: u64, child: u32) {
        conductor().keep(self.thread);
        conductor().join(self.thread, pc, child, Deadline::Never);
    }
}
