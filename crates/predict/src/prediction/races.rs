//! What becomes of the pairs of accesses that analyses list: the engine is asked about all of them at once, and each
//! analysis shows what is left of its own.

use reweave_model::{Accessor, AnalysisId, Finding, Kind, Pc};
use reweave_trace::Result;

use super::{Prediction, unproven};
use crate::analyses::maximal;
use crate::analysis::Questions;
use crate::history::Mode;
use crate::linear::{Candidate, FastMap, FastSet};
use crate::search::{SearchLimits, races};
use crate::share::{self, Numbers, Share};

/// A pair of code positions, the smaller first.
pub(super) type Pcs = (Pc, Pc);

fn pcs(candidate: &Candidate) -> Pcs {
    let Candidate { first_pc, second_pc, .. } = *candidate;
    (first_pc.min(second_pc), first_pc.max(second_pc))
}

pub(super) fn pair_of(finding: &Finding) -> Pcs {
    let pc = |i: usize| finding.accesses().get(i).map_or(Pc(0), |access: &Accessor| access.pc);
    (pc(0).min(pc(1)), pc(0).max(pc(1)))
}

/// Pairs without a witness that are given to who tries them, for each analysis.
const TRIED: usize = 1000;

/// Who hears of what has no witness.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shows {
    /// Whoever asks for the analysis by name.
    ByName,
    /// Also whoever will try what is found: it is what the trace itself leaves unordered, and the engine may not come
    /// to it.
    ForTrial,
}

impl Prediction<'_> {
    /// Asks the engine about races, and adds what it leaves of the candidates of this analysis.
    pub(crate) fn races(&mut self, analysis: AnalysisId, shows: Shows) -> Result<()> {
        let mut settled = match self.races.take() {
            Some(settled) => settled,
            None if self.options.candidates => FastSet::default(),
            None => self.ask_about_races()?,
        };
        let told = self.options.lists() || self.options.for_trial && shows == Shows::ForTrial;
        if told && let Some(listed) = self.listed(analysis) {
            let left = listed.pairs.iter().filter(|candidate| settled.insert(pcs(candidate)));
            // Whoever tries them tries some of them.
            let most = if self.options.lists() { usize::MAX } else { TRIED };
            let (left, more): (Vec<_>, Vec<_>) =
                left.map(|pair| (pair.first, pair.second)).enumerate().partition(|(at, _)| *at < most);
            let left: Vec<_> = left.into_iter().map(|(_, pair)| pair).collect();
            self.answer.unknown_pairs += more.len() as u64;
            self.answer.findings.extend(unproven(self.trace, analysis, Kind::Race, &left)?);
        }
        self.races = Some(settled);
        Ok(())
    }

    /// Returns the pairs of code positions that are settled.
    fn ask_about_races(&mut self) -> Result<FastSet<Pcs>> {
        let mut first_by: FastMap<Pcs, AnalysisId> = FastMap::default();
        let mut only = races::Listed::default();
        for (analysis, found) in self.listed.iter().filter(|(analysis, _)| analysis.about().finds == Kind::Race) {
            for candidate in &found.pairs {
                let pcs = pcs(candidate);
                first_by.entry(pcs).or_insert_with(|| analysis.id());
                only.entry(pcs).or_insert((candidate.first, candidate.second));
            }
        }
        let modes = self.chosen.iter().filter_map(|analysis| match analysis.asks(&self.options.limits) {
            Some(Questions::Races(mode)) => Some(mode),
            _ => None,
        });
        let mut questions: Vec<(AnalysisId, Mode, Option<&races::Listed>)> =
            modes.map(|mode| (maximal::id(mode), mode, None)).collect();
        if questions.is_empty() && !only.is_empty() && self.chosen.iter().any(|analysis| !analysis.about().lists_only) {
            // Only witnesses for what the streaming analyses list.
            questions.push((maximal::id(Mode::ControlFlow), self.options.limits.mode, Some(&only)));
        }
        let mut settled: FastSet<Pcs> = FastSet::default();
        let mut refuted: FastSet<Pcs> = FastSet::default();
        for (id, mode, only) in questions {
            let limits = SearchLimits { mode, ..self.options.limits };
            let found = match (self.options.share, only) {
                (Some(share), Some(only)) => self.ask_together(share, id, &limits, only)?,
                // Nobody has listed anything that could be dealt out.
                (Some(share), None) if share.me() != 0 => continue,
                _ => races::races(self.trace, id, &limits, only, &mut self.progress(id))?,
            };
            self.answer.unknown_pairs += found.stats.unknown;
            refuted.extend(found.refuted);
            self.count([
                ("windows", found.stats.windows),
                ("kept_events", found.stats.kept),
                ("candidate_pairs", found.stats.candidates),
                ("questions", found.stats.questions),
                ("solving_ms", found.stats.solving.as_millis() as u64),
                ("refused_witnesses", found.stats.refused),
            ]);
            for mut finding in found.findings {
                let pair = pair_of(&finding);
                if settled.insert(pair) {
                    finding.analysis = first_by.get(&pair).copied().unwrap_or(id);
                    self.answer.findings.push(finding);
                }
            }
        }
        settled.extend(if self.options.by_name() { FastSet::default() } else { refuted });
        Ok(settled)
    }

    /// Each process asks about a part of the pairs; what the others found, the first one asks about again.
    fn ask_together(
        &mut self,
        share: &dyn Share,
        id: AnalysisId,
        limits: &SearchLimits<'_>,
        only: &races::Listed,
    ) -> Result<races::Races> {
        let is_mine = |pcs: &Pcs| share::is_mine(share, *pcs);
        let mine = only.iter().filter(|(pcs, _)| is_mine(pcs)).map(|(pcs, events)| (*pcs, *events)).collect();
        let mut found = races::races(self.trace, id, limits, Some(&mine), &mut self.progress(id))?;
        let mut own = vec![found.stats.questions, found.stats.candidates, found.stats.refused, found.stats.unknown];
        share::put_pcs(&mut own, &found.refuted);
        own.push(found.findings.len() as u64);
        for finding in &found.findings {
            let event = |number: usize| finding.accesses().get(number).map_or(0, |access| access.event.0);
            let (first, second) = pair_of(finding);
            own.extend([first.0, second.0, event(0).min(event(1)), event(0).max(event(1))]);
        }
        let gathered = share.gather(own);
        if share.me() != 0 {
            return Ok(found);
        }
        let mut theirs = races::Listed::default();
        for numbers in &gathered[1..] {
            let mut numbers = Numbers::new(numbers);
            found.stats.questions += numbers.next();
            found.stats.candidates += numbers.next();
            found.stats.refused += numbers.next();
            found.stats.unknown += numbers.next();
            found.refuted.extend(numbers.list(Numbers::pcs));
            theirs.extend(numbers.list(|numbers| (numbers.pcs(), numbers.events())));
        }
        if !theirs.is_empty() {
            let again = races::races(self.trace, id, limits, Some(&theirs), &mut self.progress(id))?;
            found.stats.unknown += again.stats.unknown;
            found.findings.extend(again.findings);
        }
        Ok(found)
    }
}
