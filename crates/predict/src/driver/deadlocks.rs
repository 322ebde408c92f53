//! What becomes of the cycles that the streaming analyses list. Since `goodlock` is complete, the engine is asked about
//! deadlocks only if it lists something; a deadlock bears the name of the cheapest analysis that listed its places.

use std::collections::{HashMap, HashSet};

use reweave_model::{EventId, Finding, Kind, Pc, Strength};
use reweave_trace::{Result, Trace};

use super::{Answer, Options, accessors};
use crate::linear::{Candidates, Cycle};

pub(super) fn deadlocks(
    trace: &Trace,
    names: &[&'static str],
    listed: &[(&'static str, Candidates)],
    options: &Options<'_>,
    answer: &mut Answer,
    progress: &mut dyn FnMut(&'static str, f64),
) -> Result<()> {
    let mut first_by: HashMap<Vec<Pc>, &'static str> = HashMap::new();
    for (name, found) in listed {
        for cycle in &found.cycles {
            first_by.entry(cycle.sorted_pcs()).or_insert(name);
        }
    }
    let by = |wanted: &str| listed.iter().find(|(name, _)| *name == wanted).map(|(_, found)| found);
    let none = by("goodlock").is_some_and(|found| found.cycles.is_empty() && found.dropped == 0);
    let sync_preserving = by("sync-preserving-deadlock").map(|found| found.cycles.as_slice());
    let only = if names.contains(&"maximal-deadlock") { Some(None) } else { sync_preserving.map(Some) };
    let mut settled: HashSet<Vec<Pc>> = HashSet::new();
    // Patterns alone are not asked about, and where there are none there is nothing to ask.
    if let Some(only) = only.filter(|only| !none && only.is_none_or(|only| !only.is_empty())) {
        let name = "maximal-deadlock";
        let found = crate::deadlocks::deadlocks(trace, name, &options.limits, only, &mut |done| progress(name, done))?;
        for (key, value) in [
            ("deadlock_questions", found.stats.questions),
            ("unknown_deadlocks", found.stats.unknown),
            ("refused_witnesses", found.stats.refused),
            ("solving_ms", found.stats.solving.as_millis() as u64),
        ] {
            *answer.stats.entry(key.to_owned()).or_default() += value;
        }
        for mut finding in found.findings {
            let mut pcs: Vec<Pc> = finding.accesses().iter().map(|access| access.pc).collect();
            pcs.sort_unstable();
            finding.analysis = first_by.get(&pcs).copied().unwrap_or(name);
            settled.insert(pcs);
            answer.findings.push(finding);
        }
    }
    if options.analyses.is_empty() {
        return Ok(());
    }
    for (name, found) in listed {
        let left: Vec<&Cycle> = found.cycles.iter().filter(|cycle| settled.insert(cycle.sorted_pcs())).collect();
        let events: HashSet<EventId> = left.iter().flat_map(|cycle| cycle.requests.iter().copied()).collect();
        let accessors = accessors(trace, events)?;
        answer.findings.extend(left.iter().map(|cycle| {
            let accesses = cycle.requests.iter().filter_map(|event| accessors.get(event).cloned()).collect();
            Finding::new(Kind::Deadlock, Strength::Potential, name, accesses)
        }));
    }
    Ok(())
}

/// Asks about stalls, if the trace has anything but locks to wait for, or a lock that is never given back.
pub(super) fn stalls(
    trace: &Trace,
    names: &[&'static str],
    options: &Options<'_>,
    answer: &mut Answer,
    progress: &mut dyn FnMut(&'static str, f64),
) -> Result<()> {
    let name = "stall";
    let has = |kind: &&str| trace.footer().is_none_or(|footer| footer.kinds.get(*kind).is_some_and(|&count| count > 0));
    let waits = ["wait", "semaphore_take", "barrier_arrive", "join", "blocked"];
    let count = |kind: &str| trace.footer().and_then(|footer| footer.kinds.get(kind).copied()).unwrap_or(0);
    let kept = count("acquire") + count("woken") > count("release") + count("wait");
    if !names.contains(&name) || !kept && !waits.iter().any(has) {
        return Ok(());
    }
    let found = crate::stalls::stalls(trace, name, &options.limits, &mut |done| progress(name, done))?;
    for (key, value) in [
        ("stall_questions", found.stats.questions),
        ("stalls_not_looked_for", found.stats.not_looked_for.into()),
        ("unknown_deadlocks", found.stats.unknown),
        ("refused_witnesses", found.stats.refused),
    ] {
        *answer.stats.entry(key.to_owned()).or_default() += value;
    }
    let told = options.for_trial || !options.analyses.is_empty();
    let shown = |finding: &Finding| finding.strength != Strength::Potential || told;
    answer.findings.extend(found.findings.into_iter().filter(shown));
    Ok(())
}
