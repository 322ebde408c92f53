//! The core without a target: one system thread plays all of its threads, one after the other.

use crate::policy::meeting::{Meeting, MeetingPlan, Position, Target};
use crate::policy::{Active, Candidate, Choice, Dice, Next, Pct, Policy, Runner, View};
use crate::recorder;
use crate::shared::{Region, SLOTS};
use crate::{Conductor, Deadline, NO_THREAD, NewThread, Status, World};
use reweave_model::{LockMode, ObjectKind};
use std::alloc::{Layout, alloc_zeroed};
use std::sync::atomic::Ordering;

/// Nothing happens outside.
struct Quiet;

impl World for Quiet {
    type Row = ();
}

type Token<'a> = crate::Token<'a, Quiet>;

/// A conductor whose events go nowhere.
fn conductor() -> Conductor<Quiet> {
    let layout = Layout::from_size_align(Region::size(0), 4096).expect("a valid layout");
    // SAFETY: memory of that size, which is never freed.
    let region = unsafe { Region::new(alloc_zeroed(layout)) };
    let header = region.header();
    header.holder.store(NO_THREAD, Ordering::Relaxed);
    header.revoke.store(NO_THREAD, Ordering::Relaxed);
    header.discard.store(1, Ordering::Relaxed);
    // SAFETY: nobody else has it.
    unsafe { region.header_mut().quantum = 1000 };
    Conductor::new(region, Quiet)
}

/// A child that could run.
fn child(main: &mut Token<'_>) -> NewThread<Quiet> {
    let child = main.register_child();
    main.make_ready(child.row().id);
    child
}

/// The token of a thread that has got it, as that thread would have it.
fn token_of<'a>(conductor: &'a Conductor<Quiet>, thread: &NewThread<Quiet>) -> Token<'a> {
    assert_eq!(conductor.holder(), thread.row().id);
    // SAFETY: it holds the token; the one system thread plays all of them, one after the other.
    unsafe { Token::assume(conductor, thread.pointer()) }
}

#[test]
fn a_row_goes_with_its_thread_and_its_number_stays() {
    let conductor = conductor();
    let mut main = conductor.start();
    for number in 1..=3 * SLOTS as u32 {
        let child = child(&mut main);
        assert_eq!(child.row().id, number);
        main.outside(|()| {
            // The only one that is ready.
            token_of(&conductor, &child).retire();
            assert_eq!(conductor.holder(), NO_THREAD);
            assert!(!conductor.is_alive(number));
        });
        assert!(main.thread(number).is_none());
    }
    assert_eq!(conductor.threads.lock().len(), 1);
    assert_eq!(conductor.region().header().slots.load(Ordering::Relaxed), 2, "slots are used again");
}

#[test]
fn a_thread_that_could_not_be_made_leaves_nothing() {
    let conductor = conductor();
    let mut main = conductor.start();
    let child = main.register_child();
    let id = child.id();
    main.unregister_child(child);
    assert!(conductor.threads.lock().len() == 1 && !conductor.is_alive(id));
    assert_eq!(main.register_child().id(), id + 1, "its number is not used again");
}

#[test]
fn a_thread_that_nobody_announced_is_named_when_it_is_chosen() {
    let conductor = conductor();
    let main = conductor.start();
    let own = conductor.adopt();
    assert_eq!((own.row().status(), conductor.threads.lock().newcomers.len()), (Status::Outside, 1));
    main.leave();
    assert_eq!(conductor.holder(), NO_THREAD, "nobody is ready");
    // SAFETY: as `token_of`.
    let token = unsafe { Token::arrive(&conductor, own.pointer()) };
    assert_eq!((token.id(), conductor.threads.lock().newcomers.len()), (1, 0));
}

#[test]
fn timeouts_and_the_world_outside_come_before_a_paused_thread_is_let_go() {
    let conductor = conductor();
    let target = |place| Target::anyone(Position { module: 0, offset: 100 + u64::from(place) }, place);
    let plan = MeetingPlan { meeting: Meeting::Race, targets: vec![target(0), target(1)] };
    let mut policy = Active::new(conductor.region(), &plan.encode());
    let waits = |id| Candidate { id, enabled: false, timed: true, outside: true, exiting: false, scheduled_as: id };
    let ready = |id| Candidate { enabled: true, timed: false, outside: false, ..waits(id) };
    let pick = |policy: &mut Active, candidates: [Candidate; 2]| {
        policy.pick(&View { candidates: &candidates, current: 1, yielded: false, quiet: false, steps: 0 })
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
    let conductor = conductor();
    let mut main = conductor.start();
    let held: Vec<u64> = (0..1000).map(|i| 8 * (1 + i)).collect();
    for &lock in &held {
        assert_eq!(main.acquire(1, lock, LockMode::Exclusive, Deadline::Never), Ok(()));
    }
    for at in (0x10_0000..).step_by(8).take(50_000) {
        for mode in [LockMode::Exclusive, LockMode::Shared] {
            assert_eq!(main.acquire(1, at, mode, Deadline::Never), Ok(()));
            assert_eq!(main.release(1, at), Ok(()));
            assert!(main.release(1, at).is_err());
        }
        assert_eq!(main.acquire(1, at, LockMode::Exclusive, Deadline::Never), Ok(()));
        main.reenter(at);
        assert_eq!(main.release(1, at), Ok(()));
        assert_eq!(main.owner(at), main.id(), "taken twice, released once");
        assert_eq!(main.release(1, at), Ok(()));
        main.notify(1, at, false);
    }
    assert!(main.objects().locks.len() <= 2 * held.len() + 1 && main.objects().conditions.is_empty());
    assert!(held.iter().all(|&lock| main.owner(lock) == main.id()), "what is held is not forgotten");
}

#[test]
fn few_idle_conditions_are_kept() {
    let conductor = conductor();
    let mut main = conductor.start();
    let mutex = 0x1000;
    assert_eq!(main.acquire(1, mutex, LockMode::Exclusive, Deadline::Never), Ok(()));
    for at in (0x10_0000..).step_by(8).take(10_000) {
        // Nobody notifies: the clock goes to the deadline.
        let soon = Deadline::At(main.now() + 1000);
        main.wait(1, at, mutex, soon);
    }
    assert!(main.objects().conditions.len() <= 257);
    assert_eq!(main.owner(mutex), main.id());
}

#[test]
fn a_notify_passes_over_waiters_that_are_gone() {
    let conductor = conductor();
    let mut main = conductor.start();
    let gone = child(&mut main);
    let waiter = child(&mut main);
    main.objects().conditions.at(0x2000).waiters.extend([gone.id(), waiter.row().id]);
    main.unregister_child(gone);
    main.notify(1, 0x2000, false);
    assert!(waiter.row().wait.woken.get(), "it is the first one left");
    assert!(main.objects().conditions.at(0x2000).waiters.is_empty());
}

#[test]
fn objects_go_with_their_memory() {
    let conductor = conductor();
    let mut main = conductor.start();
    for at in [0xfff, 0x1000, 0x1fff, 0x2000] {
        main.create(1, at, ObjectKind::Semaphore, 1);
        main.create(1, at, ObjectKind::Barrier, 1);
        main.objects().onces.entry(at).or_default();
        main.send(1, at, 1);
        assert_eq!(main.acquire(1, at, LockMode::Exclusive, Deadline::Never), Ok(()));
    }
    main.objects().forget_within(0x1000, 0x1000);
    let objects = main.objects();
    let left = [0xfff, 0x2000];
    assert!(objects.semaphores.keys().eq(&left) && objects.barriers.keys().eq(&left));
    assert!(objects.onces.keys().eq(&left) && objects.channels.keys().eq(&left));
    assert!([0xfff, 0x1000, 0x1fff, 0x2000].iter().all(|&at| main.owner(at) == main.id()), "held locks stay held");
}

/// As the watchdog does when the trace does not move.
fn ask_for_token_of(conductor: &Conductor<Quiet>, id: u32) {
    let header = conductor.region().header();
    header.revoke_at.store(recorder::position(&conductor.region()), Ordering::Relaxed);
    header.revoke.store(id, Ordering::Relaxed);
}

#[test]
fn the_token_is_given_away_once() {
    let conductor = conductor();
    let mut main = conductor.start();
    let (id, row) = (main.id(), main.pointer());
    let third = child(&mut main);
    let other = child(&mut main);
    let other_id = other.row().id;
    ask_for_token_of(&conductor, id);
    third.row().scheduling.status.set(Status::Outside);
    let _other = other.begin(&conductor);
    assert_eq!((conductor.holder(), main.me().status()), (other_id, Status::Outside));
    // Main has come to the scheduler meanwhile, and thinks that it still has the token.
    main.leave();
    assert_eq!(conductor.holder(), other_id, "it was not main's to give");
    // SAFETY: as a thread whose token was taken away has it; the one system thread plays all of them.
    unsafe { Token::assume(&conductor, third.pointer()) }.retire();
    assert_eq!(conductor.holder(), other_id);
    // SAFETY: main's row is still there.
    assert_eq!(unsafe { row.as_ref() }.status(), Status::Outside);
}

#[test]
fn who_waits_in_the_scheduler_keeps_the_token() {
    for status in [Status::Blocked, Status::Ended] {
        let conductor = conductor();
        let mut main = conductor.start();
        child(&mut main);
        main.me().scheduling.status.set(status);
        ask_for_token_of(&conductor, main.id());
        conductor.revoke();
        assert_eq!((conductor.holder(), main.me().status()), (main.id(), status));
    }
}

/// Random priorities as in the paper, kept for ever.
struct PaperPriorities {
    dice: Dice,
    priorities: Vec<u64>,
}

#[test]
fn priorities_of_threads_that_are_gone_are_forgotten_and_the_others_stay() {
    let seed = 7;
    let mut pct = Pct::new(seed, 1, 1);
    let mut plain = PaperPriorities { dice: Dice::new(seed), priorities: Vec::new() };
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
        let view = View { candidates: &candidates, current: NO_THREAD - 1, yielded: false, quiet: false, steps: 0 };
        assert!(matches!(pct.pick(&view), Choice::Run { thread, .. } if thread == best));
        assert!(pct.remembered() <= 2 * candidates.len());
    }
}
