//! Random programs. `REWEAVE_SCRIPTS=COUNT[,FROM]` says how many, and the first seed.

use std::env;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use reweave_script::testing::random::{ProgramSize, sketch};
use reweave_script::testing::shrink::shrink;
use reweave_script::testing::write;

use crate::common::Scratch;
use crate::compare::{Compared, compare};

/// A sample for every day.
const SAMPLE: u64 = 30;
/// Programs at a time.
const JOBS: usize = 2;

#[test]
fn exploration_finds_what_all_schedules_do() {
    let asked = env::var("REWEAVE_SCRIPTS").unwrap_or_default();
    let mut numbers = asked.split(',').map(|word| word.parse().unwrap_or(0));
    let count = numbers.next().filter(|count| *count > 0).unwrap_or(SAMPLE);
    let first = numbers.next().unwrap_or(0);
    let next = AtomicU64::new(first);
    let sum = Mutex::new((0u64, 0u64, Compared::default(), Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..JOBS {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if sum.lock().unwrap().0 >= count {
                        return;
                    }
                    let scratch = Scratch::new("script");
                    let text = write(&sketch(seed, ProgramSize::default()));
                    let compared = compare(&text, scratch.path());
                    let mut sum = sum.lock().unwrap();
                    let Some(one) = compared else {
                        sum.1 += 1;
                        continue;
                    };
                    sum.0 += 1;
                    add(&mut sum.2, &one);
                    if !one.differences.is_empty() {
                        println!("seed {seed}:\n  {}\n{text}", one.differences.join("\n  "));
                        sum.3.push(seed);
                    }
                }
            });
        }
    });
    let (programs, skipped, all, different) = sum.into_inner().unwrap();
    println!(
        "scripts random: {programs} programs, {} failures, {} deadlocks, {} racy pairs, {} classes, {} states, \
         {} replays, {} differences ({skipped} had too many states; {} were tested again with more \
         time; {} findings stayed predicted for lack of time; {:.1} s in the command)",
        all.failures,
        all.deadlocks,
        all.races,
        all.classes,
        all.states,
        all.replays,
        different.len(),
        all.again,
        all.late,
        all.took.as_secs_f64()
    );
    if let (Some(seed), true) = (different.first(), env::var_os("REWEAVE_SHRINK").is_some()) {
        let differs = |text: &str| {
            let scratch = Scratch::new("shrink");
            compare(text, scratch.path()).filter(|compared| !compared.differences.is_empty())
        };
        let small = shrink(&sketch(*seed, ProgramSize::default()), |smaller| differs(&write(smaller)).is_some());
        let text = write(&small);
        println!("seed {seed}, made smaller:\n{text}\n{:?}", differs(&text));
    }
    assert_eq!(different, [] as [u64; 0], "seeds with differences");
}

fn add(sum: &mut Compared, one: &Compared) {
    sum.failures += one.failures;
    sum.deadlocks += one.deadlocks;
    sum.races += one.races;
    sum.classes += one.classes;
    sum.states += one.states;
    sum.replays += one.replays;
    sum.again += one.again;
    sum.late += one.late;
    sum.took += one.took;
}
