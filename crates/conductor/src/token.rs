//! The token: who has it may touch the state, decides when it is handed over, and gets it back.

use crate::clock::Clock;
use crate::conductor::{Conductor, State};
use crate::election::Election;
use crate::foreseen::NOT_SHOWN;
use crate::objects::Objects;
use crate::policy::{Next, Runner};
use crate::recorder::{Range, Recorder};
use crate::thread::{NEVER, Thread};
use crate::timers::Timers;
use crate::world::World;
use reweave_model::wire::Record;
use reweave_model::{Addr, Op};
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

/// Why the thread comes to the scheduler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pause {
    /// Its slice is used up.
    Slice,
    /// It lets others go first.
    Yield,
    /// It cannot go on, or has ended, or leaves.
    Stop,
}

/// Steps of others before a time limit passes that was not expected to.
const PATIENT_STEPS: u64 = 50_000;

/// The capability of the thread that holds the token: through it, and only through it, the rows of threads, objects,
/// clock, timers, policy and recorder are reached, by ordinary borrowing. Operations that may hand the token over take
/// `&mut Token`, so that no reference into the state survives the hand-over; when they return, the thread holds the
/// token again.
///
/// It stays with its thread: it is neither `Send` nor `Clone`. It keeps no reference into the state itself, so one that
/// lies further down the stack, while user code runs in between, is in nobody's way.
pub struct Token<'a, W: World> {
    conductor: &'a Conductor<W>,
    // invariant: the row of the calling thread, which is in the table. A pointer, because the row goes with its thread.
    row: NonNull<Thread<W::Row>>,
}

/// Getting it.
impl<'a, W: World> Token<'a, W> {
    /// # Safety
    /// `row` is the calling thread's own, the thread holds the token ([`Conductor::holder`]), and no reference that was
    /// reached through another token of this thread is in use.
    #[inline(always)]
    pub const unsafe fn assume(conductor: &'a Conductor<W>, row: NonNull<Thread<W::Row>>) -> Self {
        Self { conductor, row }
    }

    /// A thread that ran outside wants back in.
    ///
    /// # Safety
    /// `row` is the calling thread's own, and no reference that was reached through another token of this thread is in
    /// use.
    pub unsafe fn arrive(conductor: &'a Conductor<W>, row: NonNull<Thread<W::Row>>) -> Self {
        // SAFETY: by the contract; a row stays until its thread ends.
        let thread = unsafe { row.as_ref() };
        if conductor.barges_in(thread) {
            // SAFETY: by the contract, and it has just got the token.
            let mut token = unsafe { Self::assume(conductor, row) };
            token.begin_slice();
            return token;
        }
        conductor.announce_arrival(thread);
        // SAFETY: by the contract.
        unsafe { Self::await_turn(conductor, row) }
    }

    /// Waits until the thread holds the token.
    ///
    /// # Safety
    /// As for [`Self::arrive`]; the thread has said that it wants the token.
    pub(crate) unsafe fn await_turn(conductor: &'a Conductor<W>, row: NonNull<Thread<W::Row>>) -> Self {
        // SAFETY: by the contract; a row stays until its thread ends.
        conductor.await_turn(unsafe { row.as_ref() });
        // SAFETY: by the contract, and it has just got the token.
        let mut token = unsafe { Self::assume(conductor, row) };
        token.begin_slice();
        token
    }

    /// Right after the token was received.
    pub(crate) fn begin_slice(&mut self) {
        let (conductor, state, me) = self.parts();
        if me.own.budget.get() == 0 {
            // Passed on without a slice of its own (after a kick).
            state.grant(conductor, me, 1, Some(me));
        }
        // A new thread had no id yet when the token was passed to it.
        conductor.header().holder_os.store(me.scheduling.os.get(), Ordering::Relaxed);
        if !conductor.is_free() {
            // Its next record is preceded by who it is. (Where threads run free, every record is looked at for that.)
            me.own.stack_said.set(NOT_SHOWN);
        }
        state.recorder.foreseeing.pause();
    }

    /// Of the main thread, which has nobody to get the token from.
    pub(crate) fn take_first_slice(&mut self) {
        let conductor = self.conductor;
        // SAFETY: this thread holds the token, and `parts` are not in use.
        let mut election = unsafe { Election::new(conductor, conductor.threads.lock()) };
        let steps = State::<W>::steps_of(election.choose(self.id(), false));
        drop(election);
        let (conductor, state, me) = self.parts();
        state.grant(conductor, me, steps, Some(me));
    }
}

/// What it gives access to. The watchdog may take the token from a thread that has recorded nothing for a while and is
/// in a real call or in code without hooks. Therefore, after a real call, [`Token::keep`] or [`Token::step`] comes
/// before anything here, and what is borrowed here is not kept across a real call.
impl<'a, W: World> Token<'a, W> {
    #[inline(always)]
    pub(crate) fn parts(&mut self) -> (&'a Conductor<W>, &mut State<W>, &Thread<W::Row>) {
        // SAFETY: the thread holds the token, and what is given out is bound to this borrow of it; its own row stays.
        unsafe { (self.conductor, &mut *self.conductor.state.get(), self.row.as_ref()) }
    }

    #[inline(always)]
    pub(crate) fn state(&self) -> &State<W> {
        // SAFETY: the thread holds the token, and nobody can hand it over while it is borrowed.
        unsafe { &*self.conductor.state.get() }
    }

    pub const fn conductor(&self) -> &'a Conductor<W> {
        self.conductor
    }

    /// This thread's row.
    #[inline(always)]
    pub fn me(&self) -> &Thread<W::Row> {
        // SAFETY: a row stays until its thread ends, which takes the token.
        unsafe { self.row.as_ref() }
    }

    pub const fn pointer(&self) -> NonNull<Thread<W::Row>> {
        self.row
    }

    #[inline(always)]
    pub fn id(&self) -> u32 {
        self.me().id
    }

    /// Another thread's row, if it has not ended.
    pub fn thread(&self, id: u32) -> Option<&Thread<W::Row>> {
        let row = self.conductor.threads.lock().pointer(id)?;
        // SAFETY: rows go by the hand of the token's holder alone, and the token is borrowed.
        Some(unsafe { row.as_ref() })
    }

    /// To look at only.
    pub fn peek_objects(&self) -> &Objects {
        &self.state().objects
    }

    pub fn objects(&mut self) -> &mut Objects {
        &mut self.parts().1.objects
    }

    pub fn clock(&mut self) -> &mut Clock {
        &mut self.parts().1.clock
    }

    pub fn timers(&mut self) -> &mut Timers {
        &mut self.parts().1.timers
    }

    /// The recorder, and the row whose records it writes.
    #[inline(always)]
    pub fn recorder(&mut self) -> (&mut Recorder<W>, &Thread<W::Row>) {
        let (_, state, me) = self.parts();
        (&mut state.recorder, me)
    }

    /// Steps of the whole run.
    pub fn steps(&self) -> u64 {
        self.state().steps(self.me())
    }

    /// Virtual time.
    pub fn now(&self) -> u64 {
        self.state().clock.now(self.steps())
    }

    /// Virtual time at the last decision of the scheduler.
    pub fn decision_time(&self) -> u64 {
        self.state().decision_time()
    }

    /// Whether what came to the recorded run from the world outside is played back, too.
    pub fn plays_back(&mut self) -> bool {
        self.parts().1.policy.replay().is_some_and(|replay| replay.plays_back())
    }
}

/// Records, and steps of the thread.
impl<W: World> Token<'_, W> {
    /// Fills in the value of the write that this thread announced last.
    #[inline(always)]
    pub fn fill_pending_write(&mut self) {
        let (recorder, me) = self.recorder();
        recorder.fill_pending_write(me);
    }

    /// Records what is no step.
    pub fn event(&mut self, pc: u64, op: Op<'_>) {
        let (recorder, me) = self.recorder();
        recorder.event(me, pc, op);
    }

    pub fn record(&mut self, record: &Record<'_>) {
        let (recorder, me) = self.recorder();
        recorder.record(me, record);
    }

    pub fn range(&mut self, pc: u64, range: Range, keep: bool) {
        let (recorder, me) = self.recorder();
        recorder.range(me, pc, range, keep);
    }

    /// From here on the thread's records show this stack.
    #[inline(always)]
    pub fn set_stack(&mut self, stack: u32) {
        let (recorder, me) = self.recorder();
        recorder.set_stack(me, stack);
    }

    /// Code was loaded.
    pub fn module(&mut self, base: u64, size: u64, bias: u64, path: &[u8]) {
        self.event(0, Op::Module { base: Addr(base), size, bias, path });
        self.parts().1.policy.module(base, size, bias, path);
    }

    /// One step of the thread is about to be recorded; see [`Op::is_step`].
    pub fn step(&mut self, pc: u64, op: Op<'_>) {
        debug_assert!(op.is_step());
        self.keep();
        self.count();
        let waits = &self.me().slice.waits;
        waits.set(waits.get() + u64::from(matches!(op, Op::Blocked { .. })));
        self.event(pc, op);
    }

    /// Counts a step. One that nobody was asked about may go beyond the slice; a schedule that is followed makes up for
    /// it.
    pub fn count(&mut self) {
        self.go_on();
        let budget = &self.me().own.budget;
        budget.set(budget.get() - 1);
    }

    /// The watchdog may have taken the token while the thread was in a real call: nothing is recorded without it.
    #[inline(always)]
    pub fn keep(&mut self) {
        if self.conductor.holder() != self.id() {
            self.rejoin();
        }
    }

    /// Says what the thread is about to do.
    #[inline(always)]
    pub fn announce(&mut self, next: Next) {
        self.me().scheduling.next.set(next);
    }

    /// The moment before a synchronisation step: the scheduler may put another thread first.
    pub fn sync_point(&mut self) {
        // invariant: `next` says what comes, or that it is not known
        let (_, state, me) = self.parts();
        if me.slice.after_stop.get() == 0 && state.policy.preempt_at_sync() && me.scheduling.no_preempt.get() == 0 {
            self.end_slice();
            self.pause(Pause::Slice);
        } else {
            self.point();
        }
    }

    /// The moment before any step.
    pub fn point(&mut self) {
        let (_, state, me) = self.parts();
        if me.own.budget.get() == 0 {
            let next = me.scheduling.next.get();
            if me.slice.after_stop.get() == 0 && state.policy.passes(Runner::from(me), &next) {
                me.slice.size.set(me.slice.size.get() + 1);
                me.own.budget.set(1);
            } else {
                self.pause(Pause::Slice);
            }
        }
        self.announce(Next::UNKNOWN);
    }

    /// The moment right after a step, before whatever the thread does up to its next one. `sync`: a synchronization step.
    /// Where a schedule is followed, the thread makes way here only if it did so in the recorded run.
    pub fn after_step(&mut self, sync: bool) {
        let (_, state, me) = self.parts();
        let ends = me.own.budget.get() == 0;
        if state.policy.replay().is_some_and(|replay| !(ends && replay.is_at_once())) {
            return;
        }
        self.me().slice.at_once.set(true);
        self.announce(Next::UNKNOWN);
        if sync {
            self.sync_point();
        } else {
            self.point();
        }
        self.me().slice.at_once.set(false);
    }

    /// The slice must not end here: it takes one step more if need be.
    pub fn go_on(&mut self) {
        let (_, state, me) = self.parts();
        if me.own.budget.get() == 0 {
            me.slice.size.set(me.slice.size.get() + 1);
            me.own.budget.set(1);
            let after_stop = me.slice.after_stop.get();
            if after_stop > 0 {
                me.slice.after_stop.set(after_stop - 1);
            } else if let Some(replay) = state.policy.replay() {
                replay.ran_ahead(me.replay.scheduled_as.get());
            }
        }
    }

    /// The time limit of the thread's next wait is one that nobody expects to pass: as long as others have something to
    /// do it does not, unless they go on for very long.
    pub fn be_patient(&mut self) {
        let until = self.steps() + PATIENT_STEPS;
        self.me().wait.patient.set(until);
    }

    /// The slice does not end until [`Self::allow_preemption`].
    pub fn forbid_preemption(&mut self) {
        let count = &self.me().scheduling.no_preempt;
        count.set(count.get() + 1);
    }

    pub fn allow_preemption(&mut self) {
        let count = &self.me().scheduling.no_preempt;
        count.set(count.get().saturating_sub(1));
    }

    /// Ends the slice early by decision of the policy: what is left does not count.
    pub(crate) fn end_slice(&mut self) {
        let me = self.me();
        me.slice.size.set(me.slice.size.get() - me.own.budget.get());
        me.own.budget.set(0);
    }
}

/// Interruptions and timers.
impl<W: World> Token<'_, W> {
    /// The thread has come to where the schedule may bring it an interruption; others may come first.
    pub fn meet_interrupt(&mut self) {
        if self.is_interrupt_place() {
            self.point();
            self.bring_interrupts(false);
        }
    }

    /// The same in an operation that could have to wait: one that waited in the recorded run need not in another, and
    /// takes its interruption all the same.
    pub fn is_interrupted(&mut self) -> bool {
        if self.is_interrupt_place() {
            self.bring_interrupts(true);
        }
        self.me().has_ordered_interrupt()
    }

    /// Whether [`Self::is_interrupted`] could say so.
    #[inline]
    pub(crate) fn may_be_interrupted(&self) -> bool {
        self.is_interrupt_place() || self.me().has_ordered_interrupt()
    }

    #[inline]
    fn is_interrupt_place(&self) -> bool {
        let at = self.me().replay.interrupt_at.get();
        at != NEVER && at <= self.me().position()
    }

    fn bring_interrupts(&mut self, waiting: bool) {
        let (conductor, state, me) = self.parts();
        state.bring(conductor, me, waiting, Some(me));
    }

    /// Delivers pending interruptions, if there are any.
    pub fn deliver(&mut self) {
        if !self.me().interrupts.is_empty() {
            W::deliver(self);
        }
    }

    /// Timers that are due by `now`: their interruptions go to threads that take them.
    pub fn fire_timers(&mut self, now: u64) {
        let (conductor, state, _) = self.parts();
        state.fire_timers(conductor, &conductor.threads.lock(), now);
    }
}
