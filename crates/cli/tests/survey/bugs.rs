//! Bugs by name: whether a run looks like what the name says.

use reweave_trace::Trace;

use super::run::{Deed, Ran, Seen};

/// What a bug is called says something about its run, which is the first of these.
pub fn named(name: &str, runs: &[&Ran], trace: &Trace) -> Result<(), String> {
    let ran = runs[0];
    let steps = &ran.steps;
    let is_so = match name {
        "use after free" => ran.uses_freed(trace),
        "lost wake-up" | "notify for another" => {
            let waits = |seen: &&Seen| seen.deed == Deed::Sleeps;
            let early = steps.iter().any(|seen| seen.deed == Deed::Notifies && seen.number == Some(0));
            steps.iter().any(|seen| waits(&seen)) && (name != "lost wake-up" || early)
        }
        "lock-order inversion" => runs.iter().any(|run| inverts(run)),
        "ABA" => comes_back(steps),
        "lost update" => loses(steps),
        "unguarded container" | "early publication" | "double-checked locking" | "check-then-act" => true,
        _ => return Err("nobody knows this name".into()),
    };
    if is_so { Ok(()) } else { Err("its run does not look like that".into()) }
}

/// Whether two threads take two locks in different orders.
fn inverts(run: &Ran) -> bool {
    let wants = |seen: &&Seen| matches!(seen.deed, Deed::Takes | Deed::Waits);
    let pairs = run
        .steps
        .iter()
        .filter(wants)
        .flat_map(|seen| seen.held().map(|(held, _)| (seen.thread, held, seen.object)).collect::<Vec<_>>());
    let pairs: Vec<(u32, u64, u64)> = pairs.collect();
    // Among more than two it is a circle of more.
    pairs.iter().any(|(_, held, wanted)| pairs.iter().any(|(_, other, _)| other == wanted && other != held))
}

/// Whether a thread writes what another one wrote after it had read it.
fn loses(steps: &[Seen]) -> bool {
    let is_access = |seen: &&Seen| seen.address != u64::MAX;
    steps.iter().enumerate().filter(|(_, seen)| matches!(seen.deed, Deed::Writes | Deed::Updates)).any(|(at, write)| {
        let before = || {
            steps[..at].iter().enumerate().rev().filter(|(_, seen)| is_access(seen) && seen.address == write.address)
        };
        let read = before().find(|(_, seen)| seen.thread == write.thread && seen.deed == Deed::Reads).map(|(at, _)| at);
        let other =
            before().find(|(_, seen)| seen.thread != write.thread && matches!(seen.deed, Deed::Writes | Deed::Updates));
        read.zip(other.map(|(at, _)| at)).is_some_and(|(read, other)| read < other)
    })
}

/// Whether a thread exchanges what it read before, although others have changed it meanwhile, and changed it back.
fn comes_back(steps: &[Seen]) -> bool {
    let changes = |seen: &Seen| matches!(seen.deed, Deed::Writes | Deed::Updates);
    steps.iter().enumerate().filter(|(_, seen)| seen.deed == Deed::Updates).any(|(at, exchange)| {
        let same = |seen: &(usize, &Seen)| seen.1.address == exchange.address;
        let before = || steps[..at].iter().enumerate().rev().filter(same);
        let read = before().find(|(_, seen)| seen.thread == exchange.thread && seen.deed == Deed::Reads);
        let Some((read, seen)) = read else { return false };
        let others: Vec<&Seen> = before()
            .take_while(|(at, _)| *at > read)
            .map(|(_, seen)| seen)
            .filter(|seen| seen.thread != exchange.thread && changes(seen))
            .collect();
        others.len() > 1 && others[0].value == seen.value
    })
}
