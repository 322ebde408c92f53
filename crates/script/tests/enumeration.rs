//! The interpreter of all schedules, on programs whose behaviours are known.
#![cfg(feature = "testing")]

use std::fs;
use std::path::Path;

use reweave_script::language::parse;
use reweave_script::testing::enumerate::{Behaviours, enumerate};
use reweave_script::testing::random::{ProgramSize, sketch};
use reweave_script::testing::shrink::shrink;
use reweave_script::testing::write;

fn behaviours(text: &str) -> Behaviours {
    let program = parse("test.rwi", text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    enumerate(&program, 1_000_000)
}

fn golden(name: &str) -> Behaviours {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/script").join(name);
    behaviours(&fs::read_to_string(path).unwrap())
}

#[test]
fn golden_programs_do_what_they_say() {
    let bank = golden("bank_bad.rwi");
    assert_eq!(bank.failures, [23].into());
    assert_eq!(bank.races, [(9, 11), (11, 11)].into());
    // Both read 1000, or one reads what the other wrote; then main reads 1100, 900 or 1000.
    assert_eq!(bank.classes.len(), 4);
    let deadlock = golden("deadlock_bad.rwi");
    let [waiting] = &deadlock.deadlocks.iter().collect::<Vec<_>>()[..] else { panic!("{deadlock:?}") };
    assert_eq!(waiting.iter().map(|wait| wait.line).collect::<Vec<_>>(), [31, 12, 21]);
    assert_eq!(golden("philosophers_bad.rwi").deadlocks.len(), 1);
    let wakeup = golden("lost_wakeup_bad.rwi");
    assert_eq!(wakeup.races, [(10, 23)].into());
    assert!(wakeup.deadlocks.iter().all(|stuck| stuck.iter().any(|wait| wait.line == 14)), "{wakeup:?}");
    assert_eq!(golden("message_bad.rwi").failures, [30].into());
    assert_eq!(golden("buffer_bad.rwi").failures.first(), Some(&38));
    for name in ["bank", "deadlock", "lost_wakeup", "philosophers", "message", "buffer"] {
        let good = golden(&format!("{name}_ok.rwi"));
        assert!(good.complete && good.failures.is_empty() && good.deadlocks.is_empty(), "{name}: {good:?}");
        assert_eq!(good.races, [].into(), "{name}");
    }
}

#[test]
fn random_programs_are_programs_and_small_enough() {
    let (mut complete, mut failing, mut stuck, mut racy) = (0, 0, 0, 0);
    let count = 300;
    for seed in 0..count {
        let text = write(&sketch(seed, ProgramSize::default()));
        let program = parse("random.rwi", &text).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
        let all = enumerate(&program, 50_000);
        complete += u32::from(all.complete);
        failing += u32::from(!all.failures.is_empty());
        stuck += u32::from(!all.deadlocks.is_empty());
        racy += u32::from(!all.races.is_empty());
    }
    assert!(complete > 200, "{complete} of {count} could be enumerated");
    assert!(failing > 20 && stuck > 20 && racy > 50, "{failing} can fail, {stuck} get stuck, {racy} race");
}

#[test]
fn programs_get_smaller_and_stay_interesting() {
    let can_fail = |text: &str| !behaviours(text).failures.is_empty();
    let seed = (0..).find(|seed| can_fail(&write(&sketch(*seed, ProgramSize::default())))).unwrap();
    let before = sketch(seed, ProgramSize::default());
    let after = shrink(&before, |smaller| can_fail(&write(smaller)));
    assert!(can_fail(&write(&after)));
    assert!(write(&after).lines().count() < write(&before).lines().count());
}
