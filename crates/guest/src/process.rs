//! A process of ordinary threads that makes its own calls at each operation: an interpreter, say.

use crate::connection::{self, Introduction};
use crate::guarded::Guarded;
use crate::inside::Inside;
use crate::stacks::{self, StackTree};
use reweave_conductor::{Conductor, Deadline, NewThread, Pause, Region, Thread, Wakeup, World};
use reweave_model::{Addr, Op, ThreadId};
use std::io;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// The world of such a process: nothing outside of its threads matters to it.
pub struct ThreadsOnlyWorld;

impl World for ThreadsOnlyWorld {
    type Row = ();
}

struct Shared {
    conductor: Conductor<ThreadsOnlyWorld>,
    stacks: Guarded<StackTree>,
}

/// This process, under control. Clones are the same process.
#[derive(Clone)]
pub struct Process {
    shared: Arc<Shared>,
}

/// One thread of the process, on that thread.
pub struct Guest {
    process: Process,
    // invariant: this thread's own row, in the table of `process`. A pointer also keeps it from being sent elsewhere.
    row: NonNull<Thread<()>>,
    /// Stacks of the callers.
    frames: Vec<u32>,
}

/// What [`Guest::enter`] gives: the token, until it is dropped.
pub type Entered<'a> = Inside<'a, ThreadsOnlyWorld>;

/// A thread that was made by [`Guest::spawn`].
#[derive(Debug)]
pub struct Child {
    id: u32,
    handle: JoinHandle<()>,
}

impl Child {
    /// Its number in the trace.
    pub const fn id(&self) -> u32 {
        self.id
    }
}

impl Process {
    /// Asks the launcher for control, as the environment says. `None`: nobody listens, or this process is not wanted;
    /// it runs as it does otherwise.
    pub fn connect() -> Option<Self> {
        connection::connect(Introduction { instrumented: true, forked: false }).map(Self::with_region)
    }

    /// With a region of one's own making.
    pub fn with_region(region: Region) -> Self {
        // SAFETY: reached through `Guest`s of this process, which have the token of its one conductor.
        let stacks = unsafe { Guarded::new(StackTree::new()) };
        Self { shared: Arc::new(Shared { conductor: Conductor::new(region, ThreadsOnlyWorld), stacks }) }
    }

    pub fn conductor(&self) -> &Conductor<ThreadsOnlyWorld> {
        &self.shared.conductor
    }

    /// The calling thread becomes the main thread; its first event is at `pc`.
    ///
    /// # Panics
    /// If there is one already.
    pub fn start(&self, pc: u64) -> Guest {
        let row = self.shared.conductor.start().pointer();
        Guest::begin(self.clone(), row, pc)
    }
}

impl Guest {
    fn begin(process: Process, row: NonNull<Thread<()>>, pc: u64) -> Self {
        let mut guest = Self { process, row, frames: Vec::new() };
        guest.enter().step(pc, Op::Begin);
        guest
    }

    /// Holds the token until what is returned is dropped. Do not compute for long, or wait for anything, meanwhile:
    /// that is what [`Token::outside`] is for. Between operations the thread runs on, and nobody else does.
    pub fn enter(&mut self) -> Entered<'_> {
        // SAFETY: this thread's own row; it is borrowed exclusively, so no other token of this thread is in use.
        match unsafe { Inside::enter(&self.process.shared.conductor, self.row) } {
            Some(inside) => inside,
            None => unreachable!("a thread that is inside is borrowed"),
        }
    }

    /// This thread's number in the trace.
    pub fn id(&self) -> u32 {
        // SAFETY: a row stays until its thread ends.
        unsafe { self.row.as_ref() }.id
    }

    /// Makes a thread. `pc`: where, `begins`: the position of its first event. It ends when `code` returns.
    pub fn spawn(&mut self, pc: u64, begins: u64, code: impl FnOnce(&mut Guest) + Send + 'static) -> io::Result<Child> {
        let start = |new: NewGuest| {
            let id = new.id();
            let run = move || {
                let mut ends = EndOnDrop(Some(new.begin(begins)));
                if let Some(guest) = &mut ends.0 {
                    code(guest);
                }
            };
            std::thread::Builder::new().spawn(run).map(|handle| Child { id, handle })
        };
        self.fork(pc, start)
    }

    /// Makes a thread by other means: `start` gives it what it [begins](NewGuest::begin) with.
    pub fn fork<T>(&mut self, pc: u64, start: impl FnOnce(NewGuest) -> io::Result<T>) -> io::Result<T> {
        let process = self.process.clone();
        let mut token = self.enter();
        token.sync_point();
        let new = token.register_child();
        let (id, nth) = (new.id(), new.nth());
        let new = Arc::new(Mutex::new(Some(new)));
        let started = start(NewGuest { process, id, new: Arc::clone(&new) });
        // One that is about to begin is there, whatever `start` says.
        match if started.is_ok() { None } else { take(&new) } {
            Some(new) => token.unregister_child(new),
            None => {
                token.step(pc, Op::Fork { child: ThreadId(id), nth });
                token.make_ready(id);
            }
        }
        started
    }

    /// The thread ends.
    pub fn end(mut self, pc: u64) {
        let mut token = self.enter();
        token.point();
        token.step(pc, Op::End);
        token.into_token().retire();
    }

    /// Waits for the end of a thread. One that panicked has ended, too.
    pub fn join(&mut self, pc: u64, child: Child) {
        self.join_id(pc, child.id);
        let _ = child.handle.join();
    }

    /// The same for one whose [`Child`] another thread has.
    pub fn join_id(&mut self, pc: u64, child: u32) {
        let mut token = self.enter();
        while token.join(pc, child, Deadline::Never) == Wakeup::Interrupted {
            token.deliver();
        }
    }

    /// A function is called at `pc`: from here on events show it in their stack.
    pub fn call(&mut self, pc: u64) {
        let shared = Arc::clone(&self.process.shared);
        let mut token = self.enter();
        let before = token.me().own.stack();
        let (stack, new) = shared.stacks.get(&mut token).child(before, pc);
        if new {
            stacks::define(&mut token, stack, before, pc);
        }
        token.set_stack(stack);
        drop(token);
        self.frames.push(before);
    }

    /// It returns.
    pub fn returns(&mut self) {
        if let Some(before) = self.frames.pop() {
            self.enter().set_stack(before);
        }
    }

    pub fn set_name(&mut self, name: &str) {
        let mut token = self.enter();
        let thread = ThreadId(token.id());
        token.event(0, Op::ThreadName { thread, name: name.as_bytes() });
    }

    /// The process ends with this status: others may come first, threads that nobody waits for would hardly ever be
    /// seen otherwise. The caller ends the process next.
    pub fn exit(&mut self, pc: u64, status: i32) {
        let mut token = self.enter();
        token.me().scheduling.exiting.set(true);
        token.pause(Pause::Yield);
        token.step(pc, Op::Exit { status });
    }

    /// The process fails here (an assertion, say) with a signal of this number. The caller ends the process next.
    pub fn fatal(&mut self, pc: u64, number: u32) {
        self.enter().event(pc, Op::Fatal { number, addr: Addr(0) });
    }
}

/// The thread ends with this, also if its code panics.
struct EndOnDrop(Option<Guest>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        if let Some(guest) = self.0.take() {
            guest.end(0);
        }
    }
}

/// A thread of the process that has not begun.
pub struct NewGuest {
    process: Process,
    id: u32,
    /// Taken by the new thread when it begins, or by its maker if it could not be made.
    new: Arc<Mutex<Option<NewThread<ThreadsOnlyWorld>>>>,
}

fn take(new: &Mutex<Option<NewThread<ThreadsOnlyWorld>>>) -> Option<NewThread<ThreadsOnlyWorld>> {
    new.lock().unwrap_or_else(PoisonError::into_inner).take()
}

impl NewGuest {
    /// Its number in the trace.
    pub const fn id(&self) -> u32 {
        self.id
    }

    /// On the new thread itself: waits for its first turn.
    ///
    /// # Panics
    /// If its maker was told that it could not be made.
    pub fn begin(self, pc: u64) -> Guest {
        let Some(new) = take(&self.new) else { panic!("thread {} was dropped by the thread that made it", self.id) };
        let row = new.begin(&self.process.shared.conductor).pointer();
        Guest::begin(self.process, row, pc)
    }
}
