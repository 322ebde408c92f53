//! Programs that run for long: nothing that is gone may cost them memory.

use super::{Day, library};
use crate::common::{REWEAVE, run};

/// KiB by which the program grew, by its own account.
#[track_caller]
fn growth(stdout: &str) -> i64 {
    let said = stdout.lines().find_map(|line| line.split_once(": ")?.1.strip_suffix(" KiB more"));
    said.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("it does not say how much it grew: {stdout}"))
}

/// Each round has about ten of what comes and goes: 16 bytes kept of one of them would make 48 KiB and more.
#[test]
fn nothing_is_kept_of_what_is_gone() {
    const ROUNDS: &str = "3000";
    const SLACK: i64 = 40;
    let day = Day::new("comes_and_goes.c");
    let lib = library(&day.scratch, &[REWEAVE, "cc"], "plugin_lib.c");
    let lib = lib.to_str().expect("ASCII");
    for what in ["threads", "descriptors", "objects", "library"] {
        // Without the table of repeated accesses: it is of fixed size, but gets its pages one after the other.
        let mut watch = day.scratch.reweave(["watch", "--every-access", "--analysis", "hb", "--"]);
        watch.arg(&day.program).args([what, ROUNDS, lib]);
        let done = run(&mut watch).expect(0);
        let grew = growth(&done.stdout);
        assert!(grew <= SLACK, "{what}: {grew} KiB more after {ROUNDS} rounds\n{}", done.stderr);
    }
}

/// What is forgotten is not missed: the trace hangs together, reads are explained, and the run can be repeated.
#[test]
fn what_comes_and_goes_replays() {
    let day = Day::new("comes_and_goes.c");
    let lib = library(&day.scratch, &[REWEAVE, "cc"], "plugin_lib.c");
    let lib = lib.to_str().expect("ASCII");
    for what in ["threads", "descriptors", "objects", "library"] {
        for seed in ["0", "1"] {
            day.record_with(&["--policy", "random", "--seed", seed], &[what, "100", lib]);
            day.checked();
            day.replays(false);
        }
    }
}
