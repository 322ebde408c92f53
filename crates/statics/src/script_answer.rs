//! What is said about a `.rwi` program, as data for reports.

use std::collections::BTreeSet;

use reweave_report::determinism::{
    AccessAt, Determinism, LocationItem, NotUnderstood, OutputItem, ReadItem, Same, ThreadItem, Verdict as Said, Why,
};
use reweave_script::language::{self, StatementKind};

use crate::domain::views::Partition;
use crate::frames::Point;
use crate::only::{Only, State};
use crate::paper::{Projection, Reading, Step};
use crate::question::{Question, Rule, judge};
use crate::values::locations::LocationId;
use crate::values::state::Source;
use crate::verdict::{Kind, OutputDiffers, ReadVerdict, SameBecause, Verdict, Verdicts, races};
use crate::{Program, Settings};

impl From<Verdict> for Said {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Proved => Self::Proved,
            Verdict::CanDiffer => Self::CanDiffer,
            Verdict::Unknown => Self::Unknown,
        }
    }
}

/// Analyses a checked program. An error: what was required is not there.
pub fn answer(program: &language::Program, question: &Question) -> Result<Determinism, String> {
    let settings = Settings { context: question.context.unwrap_or(2), memories: true, ..Settings::default() };
    let analysed = Program::new(program, settings);
    if !analysed.lacking.is_empty() {
        return Err(format!("the solution does not hold at {} places: this is our bug", analysed.lacking.len()));
    }
    let verdicts = Verdicts::new(&analysed);
    let answer = Answer { program: &analysed, verdicts: &verdicts, rule: question.rule, only: &question.only };
    let mut determinism = answer.everything(question);
    let weak = |at: usize, by: Partition| answer.is_weak(LocationId(at as u32), by);
    question.only.apply(&mut determinism, question.rule == Rule::Sources);
    judge(&mut determinism, &question.required, &weak)?;
    question.only.leave_out(&mut determinism);
    Ok(determinism)
}

struct Answer<'a, 'p> {
    program: &'a Program<'p>,
    verdicts: &'a Verdicts,
    rule: Rule,
    only: &'a Only,
}

impl Answer<'_, '_> {
    fn everything(&self, question: &Question) -> Determinism {
        let skeleton = &self.program.skeleton;
        let threads = skeleton.thread_ids().map(|id| {
            let thread = &skeleton.threads[id.index()];
            let started = thread.site.map(|site| {
                let position = skeleton.statement(site).position;
                format!("{}:{}", self.file(), position.line)
            });
            ThreadItem { name: skeleton.name(id), started, many: thread.is_many }
        });
        let races = races(self.program);
        let locations = self.program.locations.ids().map(|location| {
            let race = races.iter().find(|(racy, _)| *racy == location);
            let race = race.map(|(_, (one, other))| [self.access(*one), self.access(*other)]);
            let weak = question.weak.map(|by| self.is_weak(location, by));
            self.location(location, race, weak)
        });
        let mut determinism = Determinism {
            threads: threads.collect(),
            locations: locations.collect(),
            outputs: self.outputs(),
            assumptions: vec![
                "executions are sequentially consistent".to_owned(),
                "executions that end normally are compared".to_owned(),
                "inputs do not depend on the order in which threads ask for them".to_owned(),
            ],
            ..Determinism::default()
        };
        let opaque: BTreeSet<NotUnderstood> = self
            .program
            .accesses
            .registers
            .keys()
            .filter_map(|at| match &skeleton.statement(at.statement).kind {
                StatementKind::Opaque { .. } => {
                    Some(NotUnderstood { what: "opaque statement".to_owned(), at: self.access(*at).short() })
                }
                _ => None,
            })
            .collect();
        determinism.not_understood = opaque.into_iter().collect();
        determinism
    }

    fn file(&self) -> &str {
        &self.program.skeleton.program.file
    }

    fn access(&self, at: Point) -> AccessAt {
        let skeleton = &self.program.skeleton;
        let statement = skeleton.statement(at.statement);
        let function = skeleton.frames[at.frame.index()].function;
        AccessAt {
            file: self.file().to_owned(),
            line: statement.position.line,
            function: skeleton.program.function(function).name.clone(),
            by: skeleton.name(skeleton.thread_of(at)),
            writes: self.program.accesses.writes.contains_key(&at),
        }
    }

    /// By the rule that was asked for.
    fn verdict(&self, location: LocationId) -> Said {
        match self.rule {
            Rule::Sources => self.verdicts.location(location).into(),
            Rule::Paper => {
                let Some(memories) = &self.program.memories else { return Said::Unknown };
                let projection = self.projection(location);
                match memories.is_deterministic(Reading::Corrected, &projection) {
                    true => Said::Proved,
                    false => Said::CanDiffer,
                }
            }
        }
    }

    /// What of the published rule's states was asked for.
    fn projection(&self, location: LocationId) -> Projection {
        let skeleton = &self.program.skeleton;
        let mut projection = Projection { locations: Some([location].into()), ..Projection::default() };
        if !self.only.threads.is_empty() {
            let meant = skeleton.thread_ids().filter(|id| self.only.has_thread(&skeleton.name(*id)));
            projection.threads = Some(meant.collect());
        }
        let steps = self.only.states.iter().filter_map(|state| match state {
            State::Reads => Some(Step::Reads),
            State::Writes => Some(Step::Writes),
            State::At(_) => None,
        });
        let steps: BTreeSet<Step> = steps.collect();
        let places = self.only.states.iter().filter_map(|state| match state {
            State::At(place) => Some(place),
            _ => None,
        });
        let places: Vec<&String> = places.collect();
        if !places.is_empty() {
            let states = self.program.memories.iter().flat_map(|memories| &memories.states);
            let meant = |at: &Point| {
                let access = self.access(*at);
                places.iter().any(|place| Only::is_place(&access, place))
            };
            projection.points = Some(states.map(|state| state.at).filter(meant).collect());
        }
        projection.steps = (!steps.is_empty()).then_some(steps);
        projection
    }

    fn is_weak(&self, location: LocationId, by: Partition) -> bool {
        match (self.rule, &self.program.memories) {
            (Rule::Paper, Some(memories)) => {
                let projection = self.projection(location);
                memories.is_weakly_deterministic(Reading::Corrected, &projection, by)
            }
            _ => self.verdicts.is_weakly_deterministic(self.program, location, by),
        }
    }

    fn location(&self, location: LocationId, race: Option<[AccessAt; 2]>, weak: Option<bool>) -> LocationItem {
        let reads = self.verdicts.reads.get(&location).into_iter().flatten().map(|read| (read, false));
        let last = self.verdicts.last.get(&location).into_iter().flatten().map(|read| (read, true));
        let all: Vec<(&ReadVerdict, bool)> = reads.chain(last).collect();
        let verdict = self.verdict(location);
        let same = all.iter().find_map(|(read, _)| match read.kind {
            Kind::SameValue(SameBecause::Constant) => Some(Same::Constant),
            Kind::SameValue(SameBecause::OrderFree) => Some(Same::OrderFree),
            _ => None,
        });
        let differing = all.iter().filter(|(read, _)| read.kind.verdict() != Verdict::Proved);
        LocationItem {
            name: self.program.locations.name(&self.program.skeleton, &self.program.points_to, location),
            object: None,
            verdict,
            same: same.filter(|_| verdict == Said::Proved && self.rule == Rule::Sources),
            reads: differing.map(|(read, is_end)| self.read(read, *is_end)).collect(),
            race,
            weak,
        }
    }

    fn read(&self, read: &ReadVerdict, is_end: bool) -> ReadItem {
        let kind = self.program.locations.get(read.seen.location).kind;
        let before = read.seen.before.iter().filter_map(|source| match source {
            Source::System => None,
            Source::Write(point) => Some(*point),
        });
        let mut sources: Vec<AccessAt> =
            before.chain(read.seen.beside.iter().copied()).map(|at| self.access(at)).collect();
        sources.dedup();
        let (why, pair) = match &read.kind {
            Kind::Choice(pairs) => (Why::Choice, pairs.first().copied()),
            Kind::Unknown => (Why::Unknown, None),
            _ => (Why::Derived, None),
        };
        ReadItem {
            at: self.access(read.at),
            is_end,
            sees: Some(read.seen.value.shown(kind)),
            sources,
            why,
            pair: pair.map(|(one, other)| [self.access(one), self.access(other)]),
            locked: pair.is_some_and(|(one, other)| self.program.locks.excludes(one, other).is_some()),
            derived: None,
        }
    }

    fn outputs(&self) -> Vec<OutputItem> {
        let all = self.verdicts.outputs.iter().map(|(at, why)| {
            let mut output = OutputItem { at: self.access(*at), ..OutputItem::default() };
            for why in why {
                output.verdict = Said::CanDiffer;
                match why {
                    OutputDiffers::Tainted => output.tainted = true,
                    OutputDiffers::Order(other) => output.order = Some(self.access(*other)),
                    OutputDiffers::Outlived => output.outlived = true,
                }
            }
            output
        });
        let mut all: Vec<OutputItem> = all.collect();
        if self.verdicts.status != Verdict::Proved {
            let at = AccessAt { file: "exit status".to_owned(), ..AccessAt::default() };
            all.push(OutputItem { at, verdict: self.verdicts.status.into(), tainted: true, ..OutputItem::default() });
        }
        all
    }
}
