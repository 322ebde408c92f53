//! Accesses that were foreseen: no record is written for each, only one for a run of them, with the values that cannot
//! be known. See [`foresight`](reweave_model::wire::foresight) for the model.
//!
//! The run that is being written is open: its record stands in the chunk, and its number of accesses grows there with
//! each, so that nothing is lost with a killed target. A write's value is taken at the next hook, as always; its place
//! in the record becomes visible only then.

mod trials;

use crate::recorder::Recorder;
use crate::shared::Region;
use crate::thread::Thread;
use crate::world::World;
use reweave_model::wire::foresight::{self, Foreseeable, Foresight, Slot};
use reweave_model::wire::{self, kind};
use std::sync::atomic::{AtomicU64, Ordering};
use trials::Trials;

/// Accesses of a chunk beyond which it is handed over. Readers hold one chunk as records.
const ENOUGH: u64 = 1 << 18;

/// One access in the first word of a run's record; and one read that is spelled out in its second.
const ONE: u64 = 1 << 16;
const ONE_SPELLED: u64 = 1 << 32;

/// The model is judged after so many accesses that it has not foreseen. If it has not foreseen three times as many
/// meanwhile, it rests until the chunk is full: one that is not foreseen costs about as much as three records.
const WINDOW: u32 = 256;
const WORTH_IT: u64 = 3 * WINDOW as u64;

/// Words of the record before its values.
const FIXED: usize = kind::Shape::of(kind::FORESEEN as u64).fixed();

/// The recorder's part.
pub(crate) struct Foreseeing {
    /// Whether foreseen accesses are left out now, and in the next chunk.
    on: bool,
    trials: Trials,
    /// Records of accesses since the model was last judged, and foreseen accesses of this chunk until then.
    misses: u32,
    judged_at: u64,
    /// `expected` and `last` are only right after [`Foreseeing::look`].
    model: Foresight,
    /// The expected slot, if the open run may go on with it as it is: no write is late, and no value is spelled out.
    /// Else nobody's.
    current: *mut Slot,
    /// That of the last access that the open run went on with; null: the model knows.
    last: *mut Slot,
    slots: *mut Slot,
    mirror: *mut u8,
    /// The open run's record.
    run: *mut u64,
    /// Where the late write's value stands, or will.
    late: *mut u64,
    /// The same if the run has just gone on with that write; else null.
    just_written: *mut u64,
    /// Accesses in the runs of this chunk that are closed.
    closed: u64,
}

/// Of a thread that has just got the token: what it shows is not known.
pub(crate) const NOT_SHOWN: u64 = u64::MAX;

impl Foreseeing {
    pub fn new(region: Region) -> Self {
        // The real one is made when it is first used: most runs are short.
        let mut model = Foresight::blind();
        let (slots, mirror) = (model.slots.as_mut_ptr(), model.mirror.as_mut_ptr());
        let null = std::ptr::null_mut();
        let last = std::ptr::null_mut();
        let (run, late, just_written) = (null, null, null);
        Self {
            on: false,
            trials: Trials::new(region.header().foresee),
            misses: 0,
            judged_at: 0,
            model,
            current: slots,
            last,
            slots,
            mirror,
            run,
            late,
            just_written,
            closed: 0,
        }
    }

    /// Nothing is taken for granted at the next access.
    pub fn pause(&mut self) {
        self.look();
        self.current = self.slots;
    }

    /// Tells the model where the open run has come to.
    #[inline(always)]
    fn look(&mut self) {
        if !self.last.is_null() {
            // SAFETY: both are slots of the model.
            unsafe {
                self.model.last = self.last.offset_from(self.slots) as u32;
                self.model.expected = (*self.last).next;
            }
            self.last = std::ptr::null_mut();
        }
        if !self.just_written.is_null() {
            self.late = std::mem::replace(&mut self.just_written, std::ptr::null_mut());
        }
    }
}

impl<W: World> Recorder<W> {
    /// Whether so many accesses were foreseen that the chunk is long enough.
    pub fn has_foreseen_enough(&self) -> bool {
        self.foreseeing.closed + open_run(self.foreseeing.run) > ENOUGH
    }

    /// The quick way: whether the access is the expected one, and the open run goes on with it. If not, all that
    /// happens is what has to before any access.
    #[inline(always)]
    pub fn goes_on<const WRITE: bool>(&mut self, me: &Thread<W::Row>, head: u64, addr: u64, size: u32) -> bool {
        let context = me.own.stack_wanted.get();
        let mut expected = self.foreseeing.current;
        // SAFETY: `current` is a slot of the model; that of nobody is like nothing.
        if unsafe { (*expected).head } != head {
            match self.after_write(me, head) {
                Some(next) => expected = next,
                None => return false,
            }
        }
        // SAFETY: as above.
        if unsafe { (*expected).addr != addr || (*expected).context != context } {
            return false;
        }
        if WRITE {
            if self.is_full() {
                return false;
            }
            self.spell_out_late(me, addr, size);
            self.foreseeing.model.write_is_late(head, addr);
        } else if W::load(addr, size) != self.mirrored(addr, size) {
            return false;
        }
        me.own.stack_said.set(context);
        let Foreseeing { run, slots, current, last, .. } = &mut self.foreseeing;
        // SAFETY: a run is open wherever `current` matches; links lead to slots of the model.
        unsafe {
            (*expected).addr = addr.wrapping_add((*expected).stride);
            **run += ONE;
            *last = expected;
            *current = if WRITE { *slots } else { slots.add((*expected).next as usize) };
        }
        true
    }

    /// The run has just gone on with a write: settles it, unless it may be half of a copy. Returns the slot that is
    /// expected next, if it begins with `head`.
    #[inline(always)]
    fn after_write(&mut self, me: &Thread<W::Row>, head: u64) -> Option<*mut Slot> {
        let late = self.foreseeing.just_written;
        let (pending, addr, size) = me.own.announced();
        // It may have been filled in at the end of a function.
        if late.is_null() || pending != late && !pending.is_null() || self.foreseeing.model.is_near(head) {
            return None;
        }
        if !pending.is_null() {
            let value = match size {
                8 => W::load(addr, 8),
                4 => W::load(addr, 4),
                2 => W::load(addr, 2),
                _ => W::load(addr, 1),
            };
            // SAFETY: its place in the run.
            unsafe { *late = value };
            me.own.pending.set(std::ptr::null_mut());
            self.show_cursor();
        }
        // SAFETY: the value stands there; the mirror is longer than its last address by a word; links lead to slots of
        // the model.
        unsafe {
            let (value, at) = (*late, self.foreseeing.mirror.add(Foresight::place(addr)));
            match size {
                8 => at.cast::<u64>().write_unaligned(value),
                4 => at.cast::<u32>().write_unaligned(value as u32),
                2 => at.cast::<u16>().write_unaligned(value as u16),
                _ => *at = value as u8,
            }
            let Foreseeing { model, slots, current, last, just_written, .. } = &mut self.foreseeing;
            model.is_settled();
            *just_written = std::ptr::null_mut();
            *current = slots.add((**last).next as usize);
            ((**current).head == head).then_some(*current)
        }
    }

    /// Whether the model rests.
    #[inline(always)]
    pub const fn rests(&self) -> bool {
        !self.foreseeing.on
    }

    /// Judges the model.
    #[cold]
    fn is_worth_it(&mut self) -> bool {
        let foreseeing = &mut self.foreseeing;
        let foreseen = foreseeing.closed + open_run(foreseeing.run);
        let since = foreseen.saturating_sub(foreseeing.judged_at);
        (foreseeing.misses, foreseeing.judged_at) = (0, foreseen);
        since >= WORTH_IT
    }

    #[cold]
    fn rest(&mut self, me: &Thread<W::Row>) {
        self.switch_foreseen();
        self.end_run(me);
        if self.is_full() {
            return;
        }
        // A run of no accesses says so.
        self.open_run();
        // SAFETY: just opened.
        unsafe { *self.foreseeing.run.add(1) = foresight::RESTS << 32 };
        self.end_run(me);
        self.foreseeing.on = false;
        W::foresee(false);
    }

    /// What the mirror shows at an address.
    #[inline(always)]
    fn mirrored(&self, addr: u64, size: u32) -> u64 {
        // SAFETY: the mirror is longer than its last address by a word.
        unsafe {
            let at = self.foreseeing.mirror.add(Foresight::place(addr));
            match size {
                8 => at.cast::<u64>().read_unaligned(),
                4 => at.cast::<u32>().read_unaligned().into(),
                2 => at.cast::<u16>().read_unaligned().into(),
                _ => (*at).into(),
            }
        }
    }

    /// Makes room for the value of a write in the open run; it holds what was there before.
    #[inline(always)]
    fn spell_out_late(&mut self, me: &Thread<W::Row>, addr: u64, size: u32) {
        let at = self.cursor;
        // SAFETY: the chunk is not full.
        unsafe { *at = W::load(addr, size) };
        me.own.pending.set(at);
        me.own.pending_addr.set(addr);
        me.own.pending_size.set(size);
        self.foreseeing.just_written = at;
        // Not visible yet.
        self.cursor = at.wrapping_add(1);
    }

    /// The whole way: settles what is late, opens a run, spells values out. Whether the access is in the run; if not,
    /// a record is due.
    #[inline(always)]
    pub fn goes_on_somehow<const WRITE: bool>(&mut self, me: &Thread<W::Row>, head: u64, addr: u64, size: u32) -> bool {
        let context = me.own.stack_wanted.get();
        let access = Foreseeable { head, context, addr };
        self.settle_late(me, &access);
        if self.foreseeing.misses >= WINDOW && me.own.pending.get().is_null() && !self.is_worth_it() {
            self.rest(me);
            return false;
        }
        let Foreseeing { model, late, .. } = &mut self.foreseeing;
        let pending = me.own.pending.get();
        let copying = model.has_late() && pending == *late;
        if !pending.is_null() && !copying || me.own.stack_said.get() == NOT_SHOWN || !model.expects(&access) {
            return false;
        }
        let value = if WRITE { 0 } else { W::load(addr, size) };
        let spelled = !WRITE && model.spells_out();
        if !WRITE && !spelled && self.mirrored(addr, size) != value {
            return false;
        }
        // SAFETY: both ends lie in the chunk.
        if self.cursor.wrapping_add(FIXED + 1) >= self.limit {
            return false;
        }
        if self.foreseeing.run.is_null() {
            // A write before it whose value is late stands in a record of its own.
            if copying {
                return false;
            }
            self.open_run();
        }
        if WRITE {
            self.spell_out_late(me, addr, size);
        } else if spelled {
            // SAFETY: there is room.
            unsafe {
                *self.cursor = value;
                *self.foreseeing.run.add(1) += ONE_SPELLED;
            }
            self.cursor = self.cursor.wrapping_add(1);
            if !copying {
                self.show_cursor();
            }
        }
        me.own.stack_said.set(context);
        let Foreseeing { model, run, slots, current, last, .. } = &mut self.foreseeing;
        model.pass(&access, spelled.then_some(value));
        // SAFETY: the run is open; links lead to slots of the model.
        unsafe {
            **run += ONE;
            *last = slots.add(model.last as usize);
            *current = if model.has_late() { *slots } else { slots.add(model.expected as usize) };
        }
        true
    }

    /// Whether an access has come since the last write that the model knows.
    pub fn write_is_past(&self) -> bool {
        self.foreseeing.model.write_is_past()
    }

    /// Before an access: the late write reaches the mirror, unless it may be half of a copy.
    #[inline(always)]
    fn settle_late(&mut self, me: &Thread<W::Row>, access: &Foreseeable) {
        self.foreseeing.look();
        if self.foreseeing.model.is_due(access) {
            let late = self.foreseeing.late;
            if me.own.pending.get() == late {
                self.fill_pending_word(me);
            }
            // SAFETY: in the chunk that is being filled: the model forgets with it.
            self.foreseeing.model.settle(unsafe { *late });
        }
    }

    /// Before the record of an access that is in no run.
    #[inline(always)]
    pub(crate) fn before_access(&mut self, me: &Thread<W::Row>, head: u64, addr: u64, size: u32) {
        if self.foreseeing.on && Foresight::knows_size(size) {
            self.settle_late(me, &Foreseeable { head, context: me.own.stack_wanted.get(), addr });
        }
        self.end_run(me);
    }

    /// After it: `at` is where its value stands.
    #[inline(always)]
    pub(crate) fn after_access(&mut self, me: &Thread<W::Row>, head: u64, addr: u64, at: *mut u64) {
        let access = Foreseeable { head, context: me.own.stack_wanted.get(), addr };
        if self.foreseeing.on && Foresight::knows_size(access.size()) {
            // SAFETY: just written.
            self.foreseeing.model.note(&access, unsafe { *at });
            self.foreseeing.misses += 1;
            if access.is_write() {
                self.foreseeing.late = at;
            }
        }
    }

    /// Another thread's records come: whatever was late has its value by now.
    pub(crate) fn switch_foreseen(&mut self) {
        self.foreseeing.pause();
        let Foreseeing { model, late, .. } = &mut self.foreseeing;
        if model.has_late() {
            // SAFETY: as in `settle_late`.
            model.settle(unsafe { **late });
        }
        model.switch();
    }

    fn open_run(&mut self) {
        let at = self.cursor;
        let offset = at as u64 - self.chunk as u64;
        // SAFETY: callers have made room.
        unsafe {
            *at = kind::FORESEEN.into();
            *at.add(1) = 0;
        }
        self.foreseeing.run = at;
        self.region().header().run.store(offset + 1, Ordering::Release);
        self.cursor = at.wrapping_add(FIXED);
        self.show_cursor();
    }

    /// Whatever comes next has a record of its own.
    #[inline(always)]
    pub(crate) fn end_run(&mut self, me: &Thread<W::Row>) {
        if !self.foreseeing.run.is_null() {
            self.close_run(me);
        }
    }

    fn close_run(&mut self, me: &Thread<W::Row>) {
        let header = self.region().header();
        self.foreseeing.pause();
        let run = std::mem::replace(&mut self.foreseeing.run, std::ptr::null_mut());
        let late = self.cursor.wrapping_sub(1);
        // What comes next shows all that stands before it.
        let unknown = me.own.pending.get() == late;
        if unknown {
            self.cursor = late;
            // SAFETY: the write is the run's last access.
            unsafe { *run -= ONE };
        }
        let values = (self.cursor as usize - run as usize) / 8 - FIXED;
        let count = open_run(run);
        self.foreseeing.closed += count;
        // SAFETY: the record is ours.
        unsafe { *run.add(1) |= values as u64 * 8 };
        header.foreseen.fetch_add(count, Ordering::Relaxed);
        header.run.store(0, Ordering::Release);
        if unknown {
            self.put_late(me);
        }
    }

    /// Gives a write whose value is not known yet a record of its own: to the model that is the same. Its stack comes
    /// before it, because the run may have said another.
    fn put_late(&mut self, me: &Thread<W::Row>) {
        let (before, header) = (self.cursor, self.region().header());
        let at = before.wrapping_add(1);
        let [head, addr] = self.foreseeing.model.late_write();
        let value = at.wrapping_add(2);
        // SAFETY: a chunk that is not full has room for two accesses with their context.
        unsafe {
            // What was there before stands where the value was to be.
            *value = *before;
            *before = u64::from(kind::STACK) | (me.own.stack_said.get() as u32 as u64) << 16;
            *at = head;
            *at.add(1) = addr;
        }
        me.own.pending.set(value);
        self.foreseeing.late = value;
        header.pending.store(at as u64 - self.chunk as u64 + 1, Ordering::Relaxed);
        self.cursor = at.wrapping_add(wire::ACCESS_WORDS);
        self.show_cursor();
    }

    /// The chunk has so many words.
    pub(crate) fn judge_chunk(&mut self, words: u64) {
        self.foreseeing.trials.judge(self.foreseeing.closed, words);
    }

    /// At the start of a chunk.
    pub(crate) fn foresee_anew(&mut self) {
        let foreseeing = &mut self.foreseeing;
        let was_on = foreseeing.on;
        foreseeing.on = foreseeing.trials.next(was_on);
        (foreseeing.misses, foreseeing.closed, foreseeing.judged_at) = (0, 0, 0);
        foreseeing.pause();
        if foreseeing.on {
            foreseeing.make_model();
            foreseeing.model.start();
        }
        if foreseeing.on != was_on {
            W::foresee(foreseeing.on);
        }
    }
}

impl Foreseeing {
    fn make_model(&mut self) {
        if self.model.mirror.is_empty() {
            self.model = Foresight::default();
            (self.slots, self.mirror) = (self.model.slots.as_mut_ptr(), self.model.mirror.as_mut_ptr());
            self.current = self.slots;
        }
    }
}

/// Accesses in the open run; null: there is none.
fn open_run(run: *const u64) -> u64 {
    // SAFETY: a record in the chunk that is being filled.
    if run.is_null() { 0 } else { unsafe { *run >> 16 } }
}

/// Accesses that have no record of their own, ever: to see whether anything happens.
pub(crate) fn foreseen_so_far(region: &Region) -> u64 {
    let header = region.header();
    let run = header.run.load(Ordering::Acquire) as usize;
    let sequence = header.filled.load(Ordering::Relaxed);
    let open = if run == 0 {
        0
    } else {
        // SAFETY: inside the chunk; whoever writes there meanwhile writes whole words.
        unsafe { (*region.chunk(sequence).add(run - 1).cast::<AtomicU64>()).load(Ordering::Relaxed) >> 16 }
    };
    header.foreseen.load(Ordering::Relaxed) + open
}
