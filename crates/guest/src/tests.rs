//! A process of std threads in a region of its own: the events that a launcher would take are read from its chunk.

use crate::{Guest, Process};
use reweave_conductor::shared::{CHUNKS_OFFSET, Region};
use reweave_conductor::{Deadline, NO_THREAD};
use reweave_model::{LockMode, ObjectKind};
use std::alloc::{Layout, alloc_zeroed};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn process() -> (Process, Region) {
    process_with(false)
}

fn process_with(free: bool) -> (Process, Region) {
    let layout = Layout::from_size_align(Region::size(0), 4096).expect("a valid layout");
    // SAFETY: memory of that size, which is never freed.
    let region = unsafe { Region::new(alloc_zeroed(layout)) };
    region.header().holder.store(NO_THREAD, Ordering::Relaxed);
    region.header().revoke.store(NO_THREAD, Ordering::Relaxed);
    // SAFETY: nobody else has it.
    let header = unsafe { region.header_mut() };
    (header.quantum, header.free) = (3, free.into());
    (Process::with_region(region), region)
}

const LOCK: u64 = 0x1000;
const SEMAPHORE: u64 = 0x1008;
const COUNTER: (u64, u32) = (0x2000, 8);

fn increment(guest: &mut Guest, counter: &AtomicU64) {
    guest.call(0x50);
    let mut token = guest.enter();
    token.acquire(1, LOCK, LockMode::Exclusive, Deadline::Never).expect("no deadline");
    let value = token.read(2, COUNTER, || counter.load(Ordering::Relaxed));
    token.write(3, COUNTER, || {
        counter.store(value + 1, Ordering::Relaxed);
        value + 1
    });
    token.release(4, LOCK).expect("it is held");
    token.semaphore_post(5, SEMAPHORE);
    drop(token);
    guest.returns();
}

#[test]
fn threads_of_std_run_one_at_a_time_and_everything_is_recorded() {
    const THREADS: u64 = 4;
    const ROUNDS: u64 = 50;
    let (process, region) = process();
    let counter = Arc::new(AtomicU64::new(0));
    let mut main = process.start(0);
    main.set_name("main");
    main.enter().create(1, SEMAPHORE, ObjectKind::Semaphore, 0);
    let children: Vec<_> = (0..THREADS)
        .map(|_| {
            let counter = Arc::clone(&counter);
            main.spawn(10, 20, move |guest| (0..ROUNDS).for_each(|_| increment(guest, &counter))).expect("a thread")
        })
        .collect();
    for _ in 0..THREADS * ROUNDS {
        main.enter().semaphore_take(30, SEMAPHORE, Deadline::Never);
    }
    for child in children {
        main.join(40, child);
    }
    assert_eq!(counter.load(Ordering::Relaxed), THREADS * ROUNDS, "mutual exclusion");
    main.exit(50, 0);
    assert_eq!(region.header().hang.load(Ordering::Relaxed), 0);
    let used = region.header().cursor.load(Ordering::Relaxed) as usize;
    assert!(used > 8 * 3 * (THREADS * ROUNDS * 5) as usize && CHUNKS_OFFSET > 0, "{used} bytes");
}

/// A thread that comes to no operation would keep everybody else waiting if it had the token meanwhile.
#[test]
fn where_threads_run_free_nobody_waits_for_one_that_computes() {
    let (process, region) = process_with(true);
    let (computing, go_on) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let mut main = process.start(0);
    let flags = (Arc::clone(&computing), Arc::clone(&go_on));
    let child = main
        .spawn(10, 20, move |guest| {
            drop(guest.enter());
            flags.0.store(1, Ordering::Release);
            while flags.1.load(Ordering::Acquire) == 0 {
                std::thread::yield_now();
            }
            increment(guest, &AtomicU64::new(0));
        })
        .expect("a thread");
    while computing.load(Ordering::Acquire) == 0 {
        std::thread::yield_now();
    }
    for _ in 0..100 {
        increment(&mut main, &AtomicU64::new(0));
    }
    go_on.store(1, Ordering::Release);
    main.join(40, child);
    main.exit(50, 0);
    assert_eq!(region.header().hang.load(Ordering::Relaxed), 0);
}

#[test]
fn locks_exclude_each_other_where_threads_run_free() {
    const THREADS: u64 = 4;
    const ROUNDS: u64 = 200;
    let (process, region) = process_with(true);
    let counter = Arc::new(AtomicU64::new(0));
    let mut main = process.start(0);
    let children: Vec<_> = (0..THREADS)
        .map(|_| {
            let counter = Arc::clone(&counter);
            let work = move |guest: &mut Guest| {
                for _ in 0..ROUNDS {
                    guest.enter().acquire(1, LOCK, LockMode::Exclusive, Deadline::Never).expect("no deadline");
                    // Outside of the runtime, where others run at the same time.
                    let value = counter.load(Ordering::Relaxed);
                    std::thread::yield_now();
                    counter.store(value + 1, Ordering::Relaxed);
                    guest.enter().release(4, LOCK).expect("it is held");
                }
            };
            main.spawn(10, 20, work).expect("a thread")
        })
        .collect();
    for child in children {
        main.join(40, child);
    }
    assert_eq!(counter.load(Ordering::Relaxed), THREADS * ROUNDS);
    main.exit(50, 0);
    assert_eq!(region.header().hang.load(Ordering::Relaxed), 0);
}
