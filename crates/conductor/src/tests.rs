//! The core without a target: one system thread plays all of its threads, one after the other.

use crate::policy::wish::{Meeting, Position, Target, Wish};
use crate::policy::{Active, Candidate, Choice, Dice, Next, Pct, Policy, Runner, View};
use crate::recorder;
use crate::shared::{Region, SLOTS};
use crate::{Conductor, Deadline, NO_THREAD, Status, Thread, Timer, Timers, World};
use reweave_model::{LockMode, ObjectKind};
use std::alloc::{Layout, alloc_zeroed};
use std::sync::atomic::Ordering;

/// Nothing happens outside.
struct Quiet;

impl World for Quiet {
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
        true
    }
    fn signal(&self, thread: &mut Thread, number: u32, _: Option<&Timer>) {
        thread.signals.insert(number);
    }
    fn hand_over(&self, _: &mut Timers, _: u64) {}
}

/// A conductor whose events go nowhere, and its main thread, which holds the token.
fn start() -> (Conductor, &'static mut Thread) {
    let layout = Layout::from_size_align(Region::size(0), 4096).expect("a valid layout");
    // SAFETY: memory of that size, which is never freed.
    let region = unsafe { Region::new(alloc_zeroed(layout)) };
    let header = region.header();
    header.holder.store(NO_THREAD, Ordering::Relaxed);
    header.revoke.store(NO_THREAD, Ordering::Relaxed);
    header.discard.store(1, Ordering::Relaxed);
    // SAFETY: nobody else has it.
    unsafe { region.header_mut().quantum = 1000 };
    let mut conductor = Conductor::new(region, Box::new(Quiet));
    let main = conductor.register(None);
    conductor.start(main);
    (conductor, main)
}

fn holder(conductor: &Conductor) -> u32 {
    conductor.region().header().holder.load(Ordering::Relaxed)
}

fn no_signals(_: &mut Thread) {}

#[test]
fn a_row_goes_with_its_thread_and_its_number_stays() {
    let (mut conductor, main) = start();
    for number in 1..=3 * SLOTS as u32 {
        let child = conductor.register(Some(main)).id;
        assert_eq!(child, number);
        conductor.leave(main);
        assert_eq!(holder(&conductor), child, "the only one that is ready");
        conductor.retire(child);
        assert_eq!(holder(&conductor), NO_THREAD);
        assert!(!conductor.is_alive(child) && conductor.threads.get(child).is_none());
        conductor.arrive(main);
    }
    assert_eq!(conductor.threads.len(), 1);
    assert_eq!(conductor.region().header().slots.load(Ordering::Relaxed), 2, "slots are used again");
}

#[test]
fn a_thread_that_could_not_be_made_leaves_nothing() {
    let (mut conductor, main) = start();
    let child = conductor.register(Some(main)).id;
    conductor.unregister(child);
    assert!(conductor.threads.len() == 1 && !conductor.is_alive(child));
    assert_eq!(conductor.register(Some(main)).id, child + 1, "its number is not used again");
}

#[test]
fn timeouts_and_the_world_outside_come_before_a_paused_thread_is_let_go() {
    let (conductor, _) = start();
    let target = |place| Target::anyone(Position { module: 0, offset: 100 + u64::from(place) }, place);
    let wish = Wish { meeting: Meeting::Race, targets: vec![target(0), target(1)] };
    let mut policy = Active::new(conductor.region(), &wish.encode());
    let waits = |id| Candidate { id, enabled: false, timed: true, outside: true, exiting: false, scheduled_as: id };
    let ready = |id| Candidate { enabled: true, timed: false, outside: false, ..waits(id) };
    let pick = |policy: &mut Active, candidates: [Candidate; 2]| {
        policy.pick(&View { candidates: &candidates, current: 1, yielded: false, steps: 0 })
    };
    // As long as nobody is paused, whoever waits for the world outside does so, and no timeout is used up.
    for _ in 0..1000 {
        assert_eq!(pick(&mut policy, [waits(0), waits(1)]), Choice::Nobody);
    }
    assert!(!policy.passes(Runner { id: 1, scheduled_as: 1 }, &Next::access(100, 8, 8, true)), "it is paused");
    let (timeout, let_go) = (Choice::Run { thread: 0, steps: 1 }, Choice::Run { thread: 1, steps: 1 });
    let sleeps = Candidate { outside: false, ..waits(0) };
    let timeouts = (0..1000).take_while(|_| pick(&mut policy, [sleeps, ready(1)]) == timeout).count();
    assert!(timeouts > 10 && timeouts < 100, "{timeouts} before it is let go");
    // Who is paused later has as many again.
    while policy.passes(Runner { id: 1, scheduled_as: 1 }, &Next::access(100, 8, 8, true)) {}
    assert_eq!(pick(&mut policy, [sleeps, ready(1)]), timeout);
    // Without a timeout it is looked for what the world does, some time.
    let outside = Candidate { timed: false, ..waits(0) };
    assert_eq!(pick(&mut policy, [outside, ready(1)]), Choice::Nobody);
    assert!((0..1000).any(|_| pick(&mut policy, [outside, ready(1)]) == let_go), "not for ever");
}

#[test]
fn few_idle_objects_are_kept_and_all_that_are_in_use() {
    let (mut conductor, main) = start();
    let held: Vec<u64> = (0..1000).map(|i| 8 * (1 + i)).collect();
    for &lock in &held {
        assert_eq!(conductor.acquire(main, 1, lock, LockMode::Exclusive, Deadline::Never, no_signals), Ok(()));
    }
    for at in (0x10_0000..).step_by(8).take(50_000) {
        for mode in [LockMode::Exclusive, LockMode::Shared] {
            assert_eq!(conductor.acquire(main, 1, at, mode, Deadline::Never, no_signals), Ok(()));
            assert_eq!(conductor.release(main, 1, at), Ok(()));
            assert!(conductor.release(main, 1, at).is_err());
        }
        assert_eq!(conductor.acquire(main, 1, at, LockMode::Exclusive, Deadline::Never, no_signals), Ok(()));
        conductor.reenter(at);
        assert_eq!(conductor.release(main, 1, at), Ok(()));
        assert_eq!(conductor.owner(at), main.id, "taken twice, released once");
        assert_eq!(conductor.release(main, 1, at), Ok(()));
        conductor.notify(main, 1, at, false);
        conductor.futex_wake(main, 1, at, 1);
    }
    assert!(conductor.objects.locks.len() <= 2 * held.len() + 1 && conductor.objects.conditions.is_empty());
    assert!(held.iter().all(|&lock| conductor.owner(lock) == main.id), "what is held is not forgotten");
}

#[test]
fn few_idle_conditions_are_kept() {
    let (mut conductor, main) = start();
    let mutex = 0x1000;
    assert_eq!(conductor.acquire(main, 1, mutex, LockMode::Exclusive, Deadline::Never, no_signals), Ok(()));
    for at in (0x10_0000..).step_by(8).take(10_000) {
        // Nobody notifies: the clock goes to the deadline.
        let soon = Deadline::At(conductor.now(main) + 1000);
        conductor.wait(main, 1, at, mutex, soon, no_signals);
        conductor.futex_wait(main, 1, at, 0, soon);
    }
    assert!(conductor.objects.conditions.len() <= 257 && conductor.objects.futexes.len() <= 257);
    assert_eq!(conductor.owner(mutex), main.id);
}

#[test]
fn a_notify_passes_over_waiters_that_are_gone() {
    let (mut conductor, main) = start();
    let gone = conductor.register(Some(main)).id;
    let waiter = conductor.register(Some(main));
    conductor.objects.conditions.at(0x2000).waiters.extend([gone, waiter.id]);
    conductor.unregister(gone);
    conductor.notify(main, 1, 0x2000, false);
    assert!(waiter.woken, "it is the first one left");
    assert!(conductor.objects.conditions.at(0x2000).waiters.is_empty());
}

#[test]
fn objects_go_with_their_memory() {
    let (mut conductor, main) = start();
    for at in [0xfff, 0x1000, 0x1fff, 0x2000] {
        conductor.create(main, 1, at, ObjectKind::Semaphore, 1);
        conductor.create(main, 1, at, ObjectKind::Barrier, 1);
        conductor.objects.onces.entry(at).or_default();
        conductor.send(main, 1, at, 1);
        assert_eq!(conductor.acquire(main, 1, at, LockMode::Exclusive, Deadline::Never, no_signals), Ok(()));
    }
    conductor.objects.forget_within(0x1000, 0x1000);
    let objects = &conductor.objects;
    let left = [0xfff, 0x2000];
    assert!(objects.semaphores.keys().eq(&left) && objects.barriers.keys().eq(&left));
    assert!(objects.onces.keys().eq(&left) && objects.channels.keys().eq(&left));
    assert!([0xfff, 0x1000, 0x1fff, 0x2000].iter().all(|&at| conductor.owner(at) == main.id), "held locks stay held");
}

/// As the watchdog does when the trace does not move.
fn ask_for_token_of(conductor: &Conductor, id: u32) {
    let header = conductor.region().header();
    header.revoke_at.store(recorder::position(&conductor.region()), Ordering::Relaxed);
    header.revoke.store(id, Ordering::Relaxed);
}

#[test]
fn the_token_is_given_away_once() {
    let (mut conductor, main) = start();
    let other = conductor.register(Some(main));
    ask_for_token_of(&conductor, main.id);
    conductor.await_token(other);
    assert_eq!((holder(&conductor), main.status), (other.id, Status::Outside));
    // Main has come to the scheduler meanwhile, and thinks that it still has the token.
    let third = conductor.register(Some(main)).id;
    conductor.leave(main);
    assert_eq!(holder(&conductor), other.id, "it was not main's to give");
    conductor.retire(third);
    assert_eq!(holder(&conductor), other.id);
}

#[test]
fn who_waits_in_the_scheduler_keeps_the_token() {
    for status in [Status::Blocked, Status::Ended] {
        let (mut conductor, main) = start();
        conductor.register(Some(main));
        main.status = status;
        ask_for_token_of(&conductor, main.id);
        conductor.revoke();
        assert_eq!((holder(&conductor), main.status), (main.id, status));
    }
}

/// Random priorities as in the paper, kept for ever.
struct Plain {
    dice: Dice,
    priorities: Vec<u64>,
}

#[test]
fn priorities_of_threads_that_are_gone_are_forgotten_and_the_others_stay() {
    let seed = 7;
    let mut pct = Pct::new(seed, 1, 1);
    let mut plain = Plain { dice: Dice::new(seed), priorities: Vec::new() };
    let mut choices = Dice::new(seed + 1);
    let (mut first, mut end) = (1, 1);
    for _ in 0..20_000 {
        // Thread 0 stays, others come and go.
        end += choices.below(4) as u32;
        first = end.min(first + choices.below(4) as u32);
        let ids = std::iter::once(0).chain(first..end);
        let candidates: Vec<Candidate> = ids
            .map(|id| Candidate {
                id,
                enabled: true,
                timed: false,
                outside: false,
                exiting: false,
                scheduled_as: NO_THREAD,
            })
            .collect();
        let last = candidates[candidates.len() - 1].id;
        while plain.priorities.len() <= last as usize {
            plain.priorities.push(plain.dice.below(1 << 48));
        }
        let best = candidates.iter().max_by_key(|c| plain.priorities[c.id as usize]).expect("somebody").id;
        let view = View { candidates: &candidates, current: NO_THREAD - 1, yielded: false, steps: 0 };
        assert!(matches!(pct.pick(&view), Choice::Run { thread, .. } if thread == best));
        assert!(pct.remembered() <= 2 * candidates.len());
    }
}
