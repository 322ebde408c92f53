//! Atomicity: which blocks are looked at, and what is said of them.
//!
//! By default only declared blocks, by the engine. An analysis asked for by name (and somebody who will try what it finds) looks
//! at inferred ones as well; asked for by name it also shows what the pass over the trace lists and no witness settles: all of
//! that as `potential`.

use std::collections::HashSet;

use reweave_model::{AtomicBlock, EventId, Finding, Kind, OpName, Pc, Strength};
use reweave_trace::{Result, Trace};

use super::{Answer, Options, accessors};
use crate::atomicity::blocks::{Blocks, Wanted};
use crate::atomicity::serializability::{Pattern, violations};
use crate::linear::{Candidate, Candidates};

/// Analyses in the common pass that list blocks instead of races.
pub(super) const STREAMING: [&str; 3] = ["serializability", "lock-reacquire", "reduction"];

/// Those that ask the engine: by the narrower pattern first, so that its findings bear its name.
const ASKING: [(&str, Pattern); 2] = [("access-triple", Pattern::Triple), ("serializability", Pattern::Any)];

pub(super) fn atomicity(
    trace: &Trace,
    names: &[&'static str],
    listed: &[(&'static str, Candidates)],
    options: &Options<'_>,
    answer: &mut Answer,
    progress: &mut dyn FnMut(&'static str, f64),
) -> Result<()> {
    let by_name = !options.analyses.is_empty();
    let asking: Vec<_> = ASKING.iter().filter(|(name, _)| names.contains(name)).collect();
    let declares = trace.footer().is_none_or(|footer| footer.kinds.get("atomic_enter").is_some_and(|&n| n > 0));
    let inferred = by_name || options.for_trial;
    if asking.is_empty() && listed.is_empty() || !(inferred || declares || !options.atomic.is_empty()) {
        return Ok(());
    }
    let blocks = Blocks::of(trace, Wanted { functions: &options.atomic, inferred, updates: false }, &options.limits)?;
    answer.stats.insert("atomic_blocks".to_owned(), blocks.len() as u64);
    answer.unseen_functions = blocks.unseen.clone();
    let mut settled: HashSet<(Pc, Vec<Pc>)> = HashSet::new();
    let mut violated: HashSet<Pc> = HashSet::new();
    let updates =
        Blocks::of(trace, Wanted { functions: &[], inferred: false, updates: options.for_trial }, &options.limits)?;
    let sets = asking.iter().map(|&asking| (asking, &blocks));
    // An update by hand is broken by an access to what it updates.
    let triples = ASKING.iter().filter(|(_, pattern)| options.for_trial && *pattern == Pattern::Triple);
    let sets = sets.chain(triples.map(|asking| (asking, &updates)));
    for (&(name, pattern), blocks) in sets.filter(|(_, blocks)| !blocks.is_empty()) {
        let found = violations(trace, name, pattern, blocks, &options.limits, &mut |done| progress(name, done))?;
        for (key, value) in [
            ("atomicity_questions", found.stats.questions),
            ("atomicity_unknown", found.stats.unknown),
            ("refused_witnesses", found.stats.refused),
            ("solving_ms", found.stats.solving.as_millis() as u64),
        ] {
            *answer.stats.entry(key.to_owned()).or_default() += value;
        }
        for finding in found.findings {
            let enter = finding.block.as_ref().map_or(Pc(0), |block| block.enter);
            violated.insert(enter);
            if settled.insert((enter, finding.accesses().iter().map(|access| access.pc).collect())) {
                answer.findings.push(finding);
            }
        }
    }
    if by_name {
        for (name, Candidates { pairs: candidates, .. }) in listed {
            let mut left = potential(trace, name, candidates, &blocks)?;
            if *name == "serializability" {
                left.retain(|finding| finding.block.as_ref().is_none_or(|block| !violated.contains(&block.enter)));
            }
            answer.findings.extend(left);
        }
    }
    Ok(())
}

/// Warnings about blocks: where one begins, and what is wrong there.
fn potential(trace: &Trace, name: &'static str, left: &[Candidate], blocks: &Blocks) -> Result<Vec<Finding>> {
    let events: HashSet<EventId> = left.iter().flat_map(|one| [one.first, one.second]).collect();
    let found = accessors(trace, events)?;
    let finding = |one: &Candidate| {
        let enter = found.get(&one.first)?;
        let span = blocks.at(enter.thread, one.first).filter(|span| span.first == one.first);
        let declared = enter.op.is(OpName::Enter);
        let unknown = AtomicBlock { declared, enter: enter.pc, exit: enter.pc, label: None };
        let accesses = [Some(enter), found.get(&one.second)].into_iter().flatten().cloned().collect();
        let block = Some(span.map_or(unknown, |span| span.block.clone()));
        Some(Finding { block, ..Finding::new(Kind::Atomicity, Strength::Potential, name, accesses) })
    };
    Ok(left.iter().filter_map(finding).collect())
}
