//! The conductor of one process: what is shared between its threads, and the state that belongs to the token.

use crate::clock::Clock;
use crate::objects::Objects;
use crate::policy::{self, Candidate, Choice, Policy};
use crate::recorder::Recorder;
use crate::shared::{Header, Region};
use crate::spin::Spin;
use crate::sys;
use crate::table::Threads;
use crate::thread::{NEVER, NO_THREAD, Status, Thread};
use crate::timers::Timers;
use crate::token::Token;
use crate::words::Flag;
use crate::world::World;
use reweave_model::Op;
use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub struct Conductor<W: World> {
    region: Region,
    pub world: W,
    pub(crate) threads: Spin<Threads<W::Row>>,
    /// Reached through a [`Token`], or an election while nobody has it.
    pub(crate) state: UnsafeCell<State<W>>,
    /// Whether timers are armed: then somebody must look after the clock.
    pub(crate) ticking: Arc<AtomicBool>,
    /// Whether a recorded run is repeated step by step, for threads without the token.
    repeats: Flag,
    /// The holder waits for somebody outside to follow a replay: the watchdog must not take it for one that is stuck.
    pub awaits_outside: Flag,
    /// See [`free`](crate::free).
    free: bool,
}

// SAFETY: `state` is reached through tokens and elections, of which there is one at a time (see `Token` and
// `Election`); the table is behind its lock, and its rows follow the rules of `thread`. The region is shared memory by
// design.
unsafe impl<W: World + Sync> Sync for Conductor<W> {}
// SAFETY: nothing in it belongs to the thread that made it.
unsafe impl<W: World + Send> Send for Conductor<W> {}

/// What only the holder of the token touches, or whoever has found the token free.
pub struct State<W: World> {
    pub(crate) recorder: Recorder<W>,
    pub(crate) objects: Objects,
    pub(crate) clock: Clock,
    pub(crate) timers: Timers,
    pub(crate) policy: Box<dyn Policy>,
    /// Steps of the run up to the start of the holder's slice.
    pub(crate) steps_before: u64,
    pub(crate) notifies: u32,
    pub(crate) candidates: Vec<Candidate>,
    /// Steps after which the debugger wants the run to stop; 0: never.
    stop_at: u64,
}

/// A thread that is registered and has not begun. Whoever has it is the only one to begin it.
pub struct NewThread<W: World> {
    row: NonNull<Thread<W::Row>>,
}

// SAFETY: it is made to be given to the new thread.
unsafe impl<W: World> Send for NewThread<W> {}

impl<W: World> NewThread<W> {
    pub(crate) const fn of(row: NonNull<Thread<W::Row>>) -> Self {
        Self { row }
    }

    pub(crate) fn row(&self) -> &Thread<W::Row> {
        // SAFETY: a row stays until its thread ends, and this one has not begun.
        unsafe { self.row.as_ref() }
    }

    /// Its number in the trace.
    pub fn id(&self) -> u32 {
        self.row().id
    }

    /// Which child of its parent it is.
    pub fn nth(&self) -> u32 {
        self.row().nth
    }

    /// On the new thread itself: it begins inside the runtime.
    pub fn enter(&self) {
        self.row().own.inside.set(1);
    }

    pub const fn pointer(&self) -> NonNull<Thread<W::Row>> {
        self.row
    }

    /// On the new thread itself: waits for the token.
    pub fn begin(self, conductor: &Conductor<W>) -> Token<'_, W> {
        self.row().scheduling.os.set(sys::thread_id());
        // SAFETY: this thread's own row, which nobody else has taken up.
        unsafe { Token::await_turn(conductor, self.row) }
    }

    /// On the new thread itself: it begins outside, in code that is not under control, and will
    /// [arrive](Token::arrive) when it comes back from there.
    pub fn begin_outside(self, conductor: &Conductor<W>) {
        self.row().scheduling.os.set(sys::thread_id());
        let threads = conductor.threads.lock();
        self.row().scheduling.status.set(Status::Outside);
        drop(threads);
        conductor.kick();
    }
}

impl<W: World> Conductor<W> {
    /// The only one of its region, by the contract of [`Region::new`].
    pub fn new(region: Region, world: W) -> Self {
        let timers = Timers::default();
        Self {
            region,
            world,
            threads: Spin::new(Threads::default()),
            ticking: Arc::clone(&timers.ticking),
            state: UnsafeCell::new(State {
                recorder: Recorder::new(region),
                objects: Objects::default(),
                clock: if region.header().free != 0 { Clock::real() } else { Clock::default() },
                timers,
                policy: policy::configured(region),
                steps_before: 0,
                notifies: 0,
                candidates: Vec::new(),
                stop_at: region.header().stop_at,
            }),
            repeats: Flag::new(false),
            awaits_outside: Flag::new(false),
            free: region.header().free != 0,
        }
    }

    #[inline(always)]
    pub const fn region(&self) -> Region {
        self.region
    }

    #[inline(always)]
    pub(crate) fn header(&self) -> &'static Header {
        self.region.header()
    }

    /// The thread that holds the token, or `NO_THREAD`.
    #[inline(always)]
    pub fn holder(&self) -> u32 {
        self.header().holder.load(Ordering::Relaxed)
    }

    /// The calling thread becomes the main thread, and gets the token.
    ///
    /// # Panics
    /// If there has been a thread before.
    pub fn start(&self) -> Token<'_, W> {
        let mut threads = self.threads.lock();
        assert!(threads.is_new(), "the main thread comes first");
        let row = threads.add(self.header(), (NO_THREAD, 0), W::Row::default());
        drop(threads);
        self.header().waiting.fetch_add(1, Ordering::Relaxed);
        // SAFETY: just made; rows stay until their threads end.
        let main = unsafe { row.as_ref() };
        main.replay.scheduled_as.set(0);
        main.scheduling.os.set(sys::thread_id());
        self.header().holder.store(main.id, Ordering::Release);
        self.header().holder_os.store(main.scheduling.os.get(), Ordering::Release);
        // SAFETY: this thread's own row; it holds the token since the line above, and there is no other thread.
        let mut token = unsafe { Token::assume(self, row) };
        token.take_first_slice();
        token
    }

    /// A row for the calling thread, which nobody announced. It begins outside, and [arrives](Token::arrive) next.
    pub fn adopt(&self) -> NewThread<W> {
        let mut threads = self.threads.lock();
        let row = NewThread::of(threads.add_unannounced(self.header(), W::Row::default()));
        row.row().scheduling.status.set(Status::Outside);
        drop(threads);
        // The watchdog must know at once that somebody waits, not only after the next decision.
        self.header().waiting.fetch_add(1, Ordering::Relaxed);
        row
    }

    /// Whether a recorded run is repeated step by step, and with it the interruptions that come.
    pub fn repeats(&self) -> bool {
        self.repeats.get()
    }

    /// Whether threads run on in parallel between their synchronizations (see [`free`](crate::free)).
    #[inline(always)]
    pub const fn is_free(&self) -> bool {
        self.free
    }

    /// Threads that have not ended.
    pub fn threads_there(&self) -> usize {
        self.threads.lock().len()
    }

    pub fn is_alive(&self, id: u32) -> bool {
        self.threads.lock().contains(id)
    }

    /// A thread is to look at what has changed for it.
    pub fn nudge(&self, thread: &Thread<W::Row>) {
        self.header().wake[thread.slot as usize].fetch_add(1, Ordering::Release);
    }

    /// Outside the spin lock: a woken thread would run into it at once.
    pub(crate) fn wake(&self, slot: Option<u32>) {
        if let Some(slot) = slot {
            let word = &self.header().wake[slot as usize];
            word.fetch_add(1, Ordering::Release);
            sys::futex_wake(word);
        }
    }

    /// A short while of real time: until the watchdog gives up on somebody, or this many nanoseconds.
    pub fn nap(&self, nanoseconds: u64) {
        let word = &self.header().give_up;
        sys::futex_wait(word, word.load(Ordering::Relaxed), Some(nanoseconds));
    }
}

impl<W: World> State<W> {
    /// Gives a thread a slice. `current`: who holds the token.
    pub(crate) fn grant(
        &mut self,
        conductor: &Conductor<W>,
        thread: &Thread<W::Row>,
        steps: u32,
        current: Option<&Thread<W::Row>>,
    ) {
        let mut slice = steps;
        if self.stop_at != 0 {
            let left = self.stop_at.saturating_sub(self.steps_before);
            slice = slice.min(u32::try_from(left.max(1)).unwrap_or(u32::MAX));
        }
        self.look_ahead(thread);
        if thread.replay.interrupt_at.get() != NEVER {
            self.bring(conductor, thread, thread.is_blocked(), current);
            // The slice is interrupted where the next one comes.
            let left = thread.replay.interrupt_at.get().saturating_sub(thread.position());
            slice = slice.min(u32::try_from(left).ok().filter(|left| *left > 0).unwrap_or(u32::MAX));
        }
        thread.slice.size.set(slice);
        thread.slice.quiet.set(true);
        thread.own.budget.set(slice);
        thread.slice.after_stop.set(steps - slice);
        thread.scheduling.status.set(Status::Ready);
    }

    /// A slice is over: its steps count.
    pub(crate) fn account(&mut self, thread: &Thread<W::Row>) {
        let steps = u64::from(thread.steps_of_slice());
        self.steps_before += steps;
        thread.slice.done.set(thread.slice.done.get() + steps);
        thread.slice.size.set(0);
        thread.own.budget.set(0);
    }

    /// Steps of the whole run, as seen by the holder.
    pub(crate) fn steps(&self, holder: &Thread<W::Row>) -> u64 {
        self.steps_before + u64::from(holder.steps_of_slice())
    }

    /// Virtual time at the last decision.
    pub(crate) fn decision_time(&self) -> u64 {
        self.clock.now(self.steps_before)
    }

    /// Whether the run has come to where the debugger wants it to stop; once.
    pub(crate) fn stops_here(&mut self, holder: &Thread<W::Row>) -> bool {
        let stop = self.stop_at != 0 && self.steps(holder) >= self.stop_at;
        if stop {
            self.stop_at = 0;
        }
        stop
    }

    /// Moves the clock; returns how far. `current`: who holds the token, and has it in its trace.
    pub(crate) fn jump(&mut self, deadline: u64, current: Option<&Thread<W::Row>>) -> u64 {
        let nanoseconds = self.clock.jump_to(deadline, self.steps_before);
        if nanoseconds > 0
            && let Some(current) = current
        {
            self.recorder.event(current, 0, Op::ClockJump { nanoseconds });
        }
        nanoseconds
    }

    /// After anything that may end or begin a replay.
    pub(crate) fn note_replay(&mut self, conductor: &Conductor<W>) {
        conductor.repeats.set(self.policy.replay().is_some_and(|replay| replay.repeats()));
    }

    pub(crate) fn steps_of(choice: Choice) -> u32 {
        if let Choice::Run { steps, .. } = choice { steps } else { u32::MAX }
    }
}
