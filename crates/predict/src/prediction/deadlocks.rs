//! What becomes of the cycles that the streaming analyses list. Since `goodlock` is complete, the engine is asked about
//! deadlocks only if it lists something; a deadlock bears the name of the cheapest analysis that listed its places.

use std::collections::{HashMap, HashSet};

use reweave_model::{AnalysisId, EventId, Finding, Kind, Pc, Strength};
use reweave_trace::Result;

use super::{Prediction, accessors};
use crate::analyses::maximal_deadlock::MaximalDeadlock;
use crate::analysis::{Analysis, Guarantee, Questions};
use crate::linear::{Candidates, Cycle};
use crate::search::deadlocks;

impl Prediction<'_> {
    /// Asks the engine about deadlocks, and adds what it leaves of the candidates of this analysis.
    pub(crate) fn deadlocks(&mut self, analysis: AnalysisId) -> Result<()> {
        let mut settled = match self.deadlocks.take() {
            Some(settled) => settled,
            None if self.options.candidates => HashSet::new(),
            None => self.ask_about_deadlocks()?,
        };
        if self.options.lists()
            && let Some(listed) = self.listed(analysis)
        {
            let left: Vec<&Cycle> = listed.cycles.iter().filter(|cycle| settled.insert(cycle.sorted_pcs())).collect();
            let events: HashSet<EventId> = left.iter().flat_map(|cycle| cycle.requests.iter().copied()).collect();
            let accessors = accessors(self.trace, events)?;
            let finding = |cycle: &&Cycle| {
                let accesses = cycle.requests.iter().filter_map(|event| accessors.get(event).cloned()).collect();
                Finding::new(Kind::Deadlock, Strength::Potential, analysis, accesses)
            };
            let findings: Vec<Finding> = left.iter().map(finding).collect();
            self.answer.findings.extend(findings);
        }
        self.deadlocks = Some(settled);
        Ok(())
    }

    /// Returns the sets of code positions that are settled.
    fn ask_about_deadlocks(&mut self) -> Result<HashSet<Vec<Pc>>> {
        let mut first_by: HashMap<Vec<Pc>, AnalysisId> = HashMap::new();
        for (analysis, found) in &self.listed {
            for cycle in &found.cycles {
                first_by.entry(cycle.sorted_pcs()).or_insert_with(|| analysis.id());
            }
        }
        let with = |guarantee: Guarantee| {
            let mut listed = self.listed.iter().filter(|(analysis, _)| analysis.about().finds == Kind::Deadlock);
            listed.find(|(analysis, _)| analysis.about().guarantee == guarantee).map(|(_, found)| found)
        };
        let nothing_dropped = |found: &Candidates| found.cycles.is_empty() && found.dropped == 0;
        let none = with(Guarantee::Complete).is_some_and(nothing_dropped);
        let all = self.chosen.iter().any(|analysis| analysis.asks(&self.options.limits) == Some(Questions::Deadlocks));
        let listed = with(Guarantee::Sound).map(|found| found.cycles.clone());
        let only = if all { None } else { listed };
        let mut settled: HashSet<Vec<Pc>> = HashSet::new();
        // Patterns alone are not asked about, and where there are none there is nothing to ask.
        let is_asked = all || only.as_ref().is_some_and(|only| !only.is_empty());
        if none || !is_asked {
            return Ok(settled);
        }
        let id = MaximalDeadlock.id();
        let limits = &self.options.limits;
        let found = deadlocks::deadlocks(self.trace, id, limits, only.as_deref(), &mut self.progress(id))?;
        self.count([
            ("deadlock_questions", found.stats.questions),
            ("unknown_deadlocks", found.stats.unknown),
            ("refused_witnesses", found.stats.refused),
            ("solving_ms", found.stats.solving.as_millis() as u64),
        ]);
        for mut finding in found.findings {
            let mut pcs: Vec<Pc> = finding.accesses().iter().map(|access| access.pc).collect();
            pcs.sort_unstable();
            finding.analysis = first_by.get(&pcs).copied().unwrap_or(id);
            settled.insert(pcs);
            self.answer.findings.push(finding);
        }
        Ok(settled)
    }
}
