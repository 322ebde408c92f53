//! Races by memory order: thread 0 writes data and sets a flag, thread 1 sees the flag and reads the data. `_bad` is a
//! race.

use reweave_model::MemoryOrder::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use reweave_predict::history::{AccessKind, Action, Barrier, Condition, Lock, Mode, Pos, Semaphore, Waking};
use reweave_predict::testing::{Draft, is_history};
use reweave_predict::witness::{Why, check_weak_order};

const DATA: u32 = 0;
const FLAG: u32 = 1;

/// Whether the first write of the data and the last read of it race in the observed order, whatever stands between
/// them.
fn races(between: impl FnOnce(&mut Draft)) -> bool {
    let mut draft = Draft::new();
    let write = draft.write(0, DATA, 1);
    between(&mut draft);
    let read = draft.read(1, DATA, 1);
    let history = draft.history();
    assert!(is_history(&history));
    let order: Vec<Pos> = history.positions().collect();
    let verdict = check_weak_order(&history, Mode::ControlFlow, &order, read, write);
    if let Err(rejection) = verdict {
        assert_eq!((rejection.at, rejection.why), (read, Why::HappensAfter(write)), "{rejection}");
    }
    verdict.is_ok()
}

fn flag(store: MemoryOrder, load: MemoryOrder) -> bool {
    races(|draft| {
        draft.store(0, store, FLAG, 1);
        draft.load(1, load, FLAG, 1);
    })
}

#[test]
fn too_weak_bad() {
    assert!(races(|_| {}));
    assert!(flag(Relaxed, Relaxed));
    assert!(flag(Relaxed, Acquire));
    assert!(flag(Release, Relaxed));
}

#[test]
fn release_acquire_ok() {
    assert!(!flag(Release, Acquire));
    assert!(!flag(SeqCst, SeqCst));
    assert!(!flag(Release, MemoryOrder::Consume));
}

#[test]
fn fences_ok() {
    assert!(!races(|draft| {
        draft.step(0, Action::Fence(Release));
        draft.store(0, Relaxed, FLAG, 1);
        draft.load(1, Relaxed, FLAG, 1);
        draft.step(1, Action::Fence(Acquire));
    }));
}

#[test]
fn fences_on_the_wrong_side_bad() {
    assert!(races(|draft| {
        draft.store(0, Relaxed, FLAG, 1);
        draft.step(0, Action::Fence(Release));
        draft.load(1, Relaxed, FLAG, 1);
        draft.step(1, Action::Fence(Acquire));
    }));
    assert!(races(|draft| {
        draft.step(0, Action::Fence(Release));
        draft.store(0, Relaxed, FLAG, 1);
        draft.step(1, Action::Fence(AcqRel));
        draft.load(1, Relaxed, FLAG, 1);
    }));
}

#[test]
fn release_sequence_ok() {
    assert!(!races(|draft| {
        draft.store(0, Release, FLAG, 1);
        draft.modify(2, AccessKind::Update, Relaxed, FLAG, (1, 2));
        draft.load(1, Acquire, FLAG, 2);
    }));
    // C11; C++20 took this away.
    assert!(!races(|draft| {
        draft.store(0, Release, FLAG, 1);
        draft.store(0, Relaxed, FLAG, 2);
        draft.load(1, Acquire, FLAG, 2);
    }));
}

#[test]
fn broken_release_sequence_bad() {
    assert!(races(|draft| {
        draft.store(0, Release, FLAG, 1);
        draft.store(2, Release, FLAG, 2);
        draft.load(1, Acquire, FLAG, 2);
    }));
    assert!(races(|draft| {
        draft.store(0, Release, FLAG, 1);
        draft.write(2, FLAG, 2);
        draft.load(1, Acquire, FLAG, 2);
    }));
}

#[test]
fn the_access_itself_acquires_ok() {
    let mut draft = Draft::new();
    let write = draft.write(0, DATA, 1);
    draft.store(0, Release, DATA, 2);
    let load = draft.load(1, Acquire, DATA, 2);
    let history = draft.history();
    let order: Vec<Pos> = history.positions().collect();
    let rejection = check_weak_order(&history, Mode::Prefix, &order, write, load).expect_err("it is ordered");
    assert_eq!(rejection.to_string(), "event 2 happens after event 0 by the rules of C11");
}

#[test]
fn synchronization_ok() {
    assert!(!races(|draft| {
        draft.acquire(0, 0);
        draft.release(0, 0);
        draft.acquire(1, 0);
    }));
    assert!(!races(|draft| {
        draft.step(0, Action::Post { semaphore: Semaphore(0) });
        draft.step(1, Action::Take { semaphore: Semaphore(0) });
    }));
    assert!(!races(|draft| {
        let (barrier, count) = (Barrier(0), 2);
        draft.step(0, Action::Arrive { barrier, count });
        draft.step(1, Action::Arrive { barrier, count });
        draft.step(1, Action::Leave { barrier, serial: true });
    }));
    assert!(!races(|draft| {
        let (condition, lock) = (Condition(0), Lock(0));
        draft.acquire(1, 0);
        draft.step(1, Action::Wait { condition, lock });
        draft.step(0, Action::Notify { condition, all: false });
        draft.step(1, Action::Woken { condition, lock, how: Waking::Notified });
    }));
    assert!(!races(|draft| {
        let fork = draft.nothing(0);
        let begin = draft.nothing(1);
        draft.order(fork, begin);
    }));
}

#[test]
fn other_locks_and_rounds_bad() {
    assert!(races(|draft| {
        draft.acquire(0, 0);
        draft.release(0, 0);
        draft.acquire(1, 1);
    }));
    assert!(races(|draft| {
        let (barrier, count) = (Barrier(0), 2);
        draft.step(2, Action::Arrive { barrier, count });
        draft.step(1, Action::Arrive { barrier, count });
        draft.step(0, Action::Arrive { barrier, count });
        draft.step(1, Action::Leave { barrier, serial: true });
    }));
}
