//! Leaving out accesses that tell little (Park et al., active testing, chapter 7): weaker-than pruning (Definition 7.1)
//! and sampling with exponential back-off by region and access (hierarchical sampling, section 7.3), in front of the
//! analyses.
//!
//! **Pruning loses nothing.** An access is left out if the same thread has made the same access (code position, bytes,
//! kind) since it last did anything that another thread could learn of. It then held no more locks than now, and
//! whatever is unordered with this access is unordered with that one, so that the same pair of code positions is found.
//! Deviations: the paper's relation also prunes across statements (a write stands for a read of another line), which
//! keeps racy memory but not every racy pair of lines; ours only prunes the same code position. Only single words are
//! looked at.
//!
//! **Sampling may lose.** A label is the thread, code position, address and locks held. Its first [`BURST`] accesses
//! are always looked at; then each one that is multiplies the probability of the next by [`BACK_OFF`], down to a floor.
//! A region is a run of accesses in one calling context; the first [`BURST`] runs of a context are looked at, then the
//! same back-off applies, and in a run that is passed over only labels in their burst are looked at. Deviations: the
//! paper's label is file, line and variable, and its probabilities go to 0; it also stops looking at a statement once
//! that raced, which would lose the statement's other pairs.
//!
//! Memory: two tables of fixed size. A label or context pushed out by another starts anew, so that more is looked at.

use reweave_model::{AccessFlags, Event, LockMode, ObjectId, Op, StackId, ThreadId};
use reweave_trace::WordAccess;

use crate::linear::FastMap;

pub const BACK_OFF: f64 = 0.9;
/// Looked at before the probability falls.
pub const BURST: u16 = 64;
/// The probability does not fall below `BACK_OFF` to this power (1 in 57).
const STEPS: u16 = 38;

const LABELS: usize = 1 << 17;
const REGIONS: usize = 1 << 12;

/// Accesses left out.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Skipped {
    /// Because a weaker one had been looked at.
    pub weaker: u64,
    /// By chance.
    pub sampled: u64,
}

#[derive(Clone, Copy, Default)]
struct Label {
    /// Of everything that makes the label; 0 for none.
    tag: u64,
    /// When it was last looked at: see [`Acting::moment`].
    moment: u32,
    odds: Odds,
}

const _: () = assert!(size_of::<Label>() == 16);

/// How often something was looked at, and how often it will be passed over before the next time.
#[derive(Clone, Copy, Default)]
struct Odds {
    looked_at: u16,
    pass_over: u16,
}

impl Odds {
    /// Whether it is looked at this time.
    #[inline]
    fn take(&mut self, random: &mut Random) -> bool {
        if self.pass_over > 0 {
            self.pass_over -= 1;
            return false;
        }
        self.looked_at += u16::from(self.looked_at < BURST + STEPS);
        if self.looked_at > BURST {
            self.pass_over = random.failures(self.looked_at - BURST);
        }
        true
    }
}

struct Random(u64);

impl Random {
    /// How many times in a row a thing of probability `BACK_OFF ^ steps` does not happen: one roll for all of them.
    fn failures(&mut self, steps: u16) -> u16 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let unit = ((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        let probability = BACK_OFF.powi(i32::from(steps));
        (unit.ln() / (1.0 - probability).ln()).min(f64::from(u16::MAX)) as u16
    }
}

#[derive(Clone, Copy, Default)]
struct Region {
    stack: StackId,
    odds: Odds,
}

/// What a thread is about.
#[derive(Clone, Copy, Default)]
struct Acting {
    /// Changes with all that others could learn of.
    moment: u32,
    locks: u64,
    stack: Option<StackId>,
    /// This run of accesses in one context is looked at.
    looked_at: bool,
}

pub struct Sampler {
    labels: Vec<Label>,
    regions: Vec<Region>,
    threads: FastMap<ThreadId, Acting>,
    /// The one of the last event; its place in `threads` is out of date.
    current: (ThreadId, Acting),
    /// Moments of all threads come from here, so that none comes twice.
    moments: u32,
    /// Moments up to this one are over for everybody.
    memory_since: u32,
    random: Random,
    skipped: Skipped,
}

impl Default for Sampler {
    fn default() -> Self {
        Self {
            labels: vec![Label::default(); LABELS],
            regions: vec![Region::default(); REGIONS],
            threads: FastMap::default(),
            current: (ThreadId(0), Acting::default()),
            moments: 0,
            memory_since: 0,
            random: Random(0x9e37_79b9_7f4a_7c15),
            skipped: Skipped::default(),
        }
    }
}

const fn mix(value: u64) -> u64 {
    let value = (value ^ value >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    value ^ value >> 32
}

const fn lock_bits(object: ObjectId, mode: LockMode) -> u64 {
    mix(object.0 << 1 | matches!(mode, LockMode::Shared) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Sampler {
    pub const fn skipped(&self) -> Skipped {
        self.skipped
    }

    #[inline]
    fn act(&mut self, thread: ThreadId) -> &mut Acting {
        if self.current.0 != thread {
            let (before, acting) = self.current;
            self.threads.insert(before, acting);
            self.current = (thread, self.threads.get(&thread).copied().unwrap_or_default());
        }
        &mut self.current.1
    }

    /// Whether the access is left out.
    #[inline]
    pub fn skips(&mut self, access: &WordAccess) -> bool {
        let (flags, size) = (access.flags(), access.size());
        if flags.has(AccessFlags::FREE) || (access.addr.0 & 7) + u64::from(size) > 8 {
            return false;
        }
        self.act(access.thread);
        if self.current.1.stack != Some(access.stack) {
            self.enter(access.stack);
        }
        if self.current.1.moment <= self.memory_since {
            self.next_moment();
        }
        let acting = self.current.1;
        let what = access.pc().0 << 5 | u64::from(size) << 1 | u64::from(access.is_write());
        let who = acting.locks ^ u64::from(access.thread.0).wrapping_mul(0x2545_f491_4f6c_dd1d);
        let tag = mix(mix(access.addr.0 ^ who).wrapping_add(mix(what))) | 1;
        let label = &mut self.labels[(tag >> 40) as usize % LABELS];
        if label.tag != tag {
            *label = Label { tag, moment: acting.moment, odds: Odds { looked_at: 1, pass_over: 0 } };
            return false;
        }
        if label.moment == acting.moment {
            self.skipped.weaker += 1;
            return true;
        }
        if (acting.looked_at || label.odds.looked_at < BURST) && label.odds.take(&mut self.random) {
            label.moment = acting.moment;
            return false;
        }
        self.skipped.sampled += 1;
        true
    }

    /// The current thread goes on in another context.
    #[inline(never)]
    fn enter(&mut self, stack: StackId) {
        let region = &mut self.regions[mix(stack.0.into()) as usize % REGIONS];
        if region.stack != stack {
            *region = Region { stack, odds: Odds::default() };
        }
        let looked_at = region.odds.take(&mut self.random);
        let acting = &mut self.current.1;
        (acting.stack, acting.looked_at) = (Some(stack), looked_at);
    }

    /// What the current thread did so far may be known to others from here on.
    fn next_moment(&mut self) {
        self.moments = self.moments.checked_add(1).unwrap_or_else(|| {
            // All labels are new, so that moments may come again.
            self.labels.fill(Label::default());
            self.threads.values_mut().for_each(|acting| acting.moment = 0);
            self.memory_since = 0;
            1
        });
        self.current.1.moment = self.moments;
    }

    /// Everything that is not given to [`Sampler::skips`].
    pub fn event(&mut self, event: &Event<'_>) {
        let acting = self.act(event.thread);
        match event.op {
            // Others learn nothing of these.
            Op::Read { .. } | Op::Write { .. } | Op::Blocked { .. } | Op::Branch | Op::Begin => return,
            // Whoever is refused learns of it.
            Op::Acquire { .. } | Op::Release { .. } | Op::Wait { .. } | Op::Woken { .. } => {
                acting.locks ^= event.op.lock_change().map_or(0, |change| lock_bits(change.lock(), change.mode()));
            }
            Op::End => {
                self.threads.remove(&event.thread);
                self.current.1 = Acting::default();
                return;
            }
            // Another life of the same memory, or an event that changes what other threads hold: everybody's past is
            // over.
            Op::Alloc { .. } | Op::Free { .. } | Op::Misused { .. } => self.memory_since = self.moments,
            _ => {}
        }
        self.next_moment();
    }
}
