//! Atomicity: which blocks are looked at, and what is said of them.
//!
//! By default only declared blocks, by the engine. An analysis asked for by name (and somebody who will try what it
//! finds) looks at inferred ones as well; asked for by name it also shows what the pass over the trace lists and no
//! witness settles: all of that as `potential`.

use reweave_model::wire::kind;
use reweave_model::{AnalysisId, AtomicBlock, Finding, Kind, OpName, Pc, Strength};
use reweave_trace::{Result, Trace};

use super::{Prediction, accessors};
use crate::analyses::access_triple::AccessTriple;
use crate::analysis::{Analysis, Questions};
use crate::linear::{Candidate, FastSet};
use crate::search::atomicity::blocks::{Blocks, Wanted};
use crate::search::atomicity::serializability::{Pattern, violations};

/// What is known once the engine was asked.
pub(super) struct Asked {
    /// `None`: no blocks were to be looked at.
    blocks: Option<Blocks>,
    /// Where blocks begin that are violated, by a witness.
    violated: FastSet<Pc>,
}

/// Which of the blocks that an analysis lists it shows without a witness.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Leaves {
    Everything,
    /// Those that no witness shows to be violated.
    Unviolated,
}

impl Prediction<'_> {
    /// Asks the engine about blocks, and adds what it leaves of the candidates of this analysis.
    pub(crate) fn blocks(&mut self, analysis: AnalysisId, leaves: Leaves) -> Result<()> {
        let asked = match self.atomicity.take() {
            Some(asked) => asked,
            None if self.options.candidates => Asked { blocks: Some(Blocks::default()), violated: FastSet::default() },
            None => self.ask_about_blocks()?,
        };
        if self.options.lists()
            && let (Some(blocks), Some(listed)) = (&asked.blocks, self.listed(analysis))
        {
            let mut left = potential(self.trace, analysis, &listed.pairs, blocks)?;
            let is_violated = |block: &AtomicBlock| asked.violated.contains(&block.enter);
            if leaves == Leaves::Unviolated {
                left.retain(|finding| !finding.block.as_ref().is_some_and(is_violated));
            }
            self.answer.findings.extend(left);
        }
        self.atomicity = Some(asked);
        Ok(())
    }

    fn ask_about_blocks(&mut self) -> Result<Asked> {
        let (trace, options) = (self.trace, self.options);
        let mut asked = Asked { blocks: None, violated: FastSet::default() };
        let inferred = options.by_name() || options.for_trial;
        if !(inferred || self.trace.may_have(kind::ATOMIC_ENTER) || !options.atomic.is_empty()) {
            return Ok(asked);
        }
        let wanted = Wanted { functions: &options.atomic, inferred, updates: false };
        let blocks = Blocks::of(trace, wanted, &options.limits)?;
        self.answer.stats.insert("atomic_blocks".to_owned(), blocks.len() as u64);
        self.answer.unseen_functions = blocks.unseen.clone();
        let updates =
            Blocks::of(trace, Wanted { functions: &[], inferred: false, updates: options.for_trial }, &options.limits)?;
        let mut asking: Vec<(AnalysisId, Pattern, &Blocks)> = Vec::new();
        for analysis in &self.chosen {
            if let Some(Questions::Blocks(pattern)) = analysis.asks(&self.options.limits) {
                asking.push((analysis.id(), pattern, &blocks));
            }
        }
        // By the narrower pattern first, so that its findings bear its name.
        asking.sort_by_key(|(_, pattern, _)| *pattern != Pattern::Triple);
        // An update by hand is broken by an access to what it updates.
        asking.extend(options.for_trial.then_some((AccessTriple.id(), Pattern::Triple, &updates)));
        let mut settled: FastSet<(Pc, Vec<Pc>)> = FastSet::default();
        for (id, pattern, blocks) in asking.into_iter().filter(|(.., blocks)| !blocks.is_empty()) {
            let found = violations(trace, id, pattern, blocks, &options.limits, &mut self.progress(id))?;
            self.count([
                ("atomicity_questions", found.stats.questions),
                ("atomicity_unknown", found.stats.unknown),
                ("refused_witnesses", found.stats.refused),
                ("solving_ms", found.stats.solving.as_millis() as u64),
            ]);
            for finding in found.findings {
                let enter = finding.block.as_ref().map_or(Pc(0), |block| block.enter);
                asked.violated.insert(enter);
                if settled.insert((enter, finding.accesses().iter().map(|access| access.pc).collect())) {
                    self.answer.findings.push(finding);
                }
            }
        }
        asked.blocks = Some(blocks);
        Ok(asked)
    }
}

/// Warnings about blocks: where one begins, and what is wrong there.
fn potential(trace: &Trace, analysis: AnalysisId, left: &[Candidate], blocks: &Blocks) -> Result<Vec<Finding>> {
    let events = left.iter().flat_map(|one| [one.first, one.second]).collect();
    let found = accessors(trace, events)?;
    let finding = |one: &Candidate| {
        let enter = found.get(&one.first)?;
        let span = blocks.at(enter.thread, one.first).filter(|span| span.first == one.first);
        let declared = enter.op.is(OpName::Enter);
        let unknown = AtomicBlock { declared, enter: enter.pc, exit: enter.pc, label: None };
        let accesses = [Some(enter), found.get(&one.second)].into_iter().flatten().cloned().collect();
        let block = Some(span.map_or(unknown, |span| span.block.clone()));
        Some(Finding { block, ..Finding::new(Kind::Atomicity, Strength::Potential, analysis, accesses) })
    };
    Ok(left.iter().filter_map(finding).collect())
}
