//! What would have happened had a read seen another write? Prediction names the reads of a run that can see one with
//! another value, and the way there; a run along it goes on differently from that point, is looked at like any other,
//! and asked in turn.
//!
//! Source: maximal causality reduction (Huang, PLDI 2015). No model of the program is needed, so it works where
//! [`explore`](crate::explore) does not end: many threads, long runs, calls that nobody sees. Nothing is claimed to be
//! covered: a pair of code positions is tried a few times only, and the same question is not asked of every run.

use std::collections::{HashSet, VecDeque};
use std::time::Instant;

use reweave_model::{Finding, Pc, Schedule, ThreadId};
use reweave_predict::{SearchLimits, analyses::nondeterminism::NondeterministicReads};
use reweave_trace::Trace;

use super::hunt::{Hunt, RunScrutiny};
use super::{Stage, left};
use crate::known::KnownReads;
use crate::{budget, explore};
use reweave_launch::Result;
use reweave_launch::folder::PrivateFolder;
use reweave_launch::session::Run;
use reweave_launch::{interrupt, memory};

/// A place in the code by module and offset.
type CodePlace = (String, u64);

/// A read by a thread that sees what was written there, as it may stand in many runs.
type Question = (ThreadId, CodePlace, Option<CodePlace>, Option<u64>);

impl Hunt<'_> {
    /// From the recorded run on, as long as there is time and something new.
    pub(super) fn alternatives(&mut self, first: &Run, watch: &mut dyn FnMut(Stage<'_>)) -> Result<()> {
        let [process] = &first.processes[..] else { return Ok(()) };
        let began = Instant::now();
        let total = self.left() / budget::ALTERNATIVES_SHARE;
        let until = began + total;
        let mut asked = HashSet::new();
        let mut waiting: VecDeque<(Trace, Option<PrivateFolder>)> =
            VecDeque::from([(Trace::open(&process.path)?, None)]);
        let mut runs = 0;
        while let Some((trace, _folder)) =
            waiting.pop_front().filter(|_| !left(until).is_zero() && self.reason_to_stop().is_none())
        {
            for schedule in ask(
                &trace,
                Instant::now() + (left(until) / budget::ALTERNATIVES_PER_RUN).max(budget::LEAST_PREDICTION),
                &mut asked,
                &self.plan.known,
            )? {
                if Instant::now() + first.took >= until || interrupt::asked() || self.reason_to_stop().is_some() {
                    break;
                }
                watch(Stage::Trying { done: began.elapsed(), total });
                let folder = PrivateFolder::new()?;
                let limits = explore::ExploreLimits { until, ..self.limits_of_exploring(first) };
                let run = explore::follow(&trace, schedule, &limits, &folder)?;
                runs += 1;
                if self.look_at(&run, RunScrutiny::Close, watch)?
                    && !run.timed_out
                    && waiting.len() < budget::ALTERNATIVES_WAITING
                    && let [process] = &run.processes[..]
                {
                    waiting.push_back((Trace::open(&process.path)?, Some(folder)));
                }
            }
        }
        self.stats.insert("alternatives".into(), runs);
        Ok(())
    }
}

/// Ways to other values, as far as nobody has asked for them before; those of reads that are said to differ first, none
/// of reads that are proved not to.
fn ask(trace: &Trace, deadline: Instant, asked: &mut HashSet<Question>, known: &KnownReads) -> Result<Vec<Schedule>> {
    let options = reweave_predict::Options {
        analyses: vec![&NondeterministicReads],
        limits: SearchLimits {
            deadline: Some(deadline),
            interrupt: Some(interrupt::flag()),
            memory: Some(memory::flag()),
            ..SearchLimits::default()
        },
        ..reweave_predict::Options::default()
    };
    let mut findings = reweave_predict::predict(trace, &options, &mut |_, _| {})?.findings;
    if !known.is_empty() {
        let read = |finding: &Finding| finding.accesses().get(finding.view?.read?).map(|access| access.pc);
        findings.retain(|finding| read(finding).is_none_or(|pc| !known.is_fixed(trace, pc)));
        findings.sort_by_key(|finding| !read(finding).is_some_and(|pc| known.is_doubtful(trace, pc)));
    }
    let news = findings.into_iter().filter(|finding| question(trace, finding).is_some_and(|one| asked.insert(one)));
    Ok(news.filter_map(|finding| Some(finding.into_witness()?.schedule())).collect())
}

/// `None`: it makes no difference to any thread.
fn question(trace: &Trace, finding: &Finding) -> Option<Question> {
    let view = finding.view?;
    let place = |pc: Pc| match trace.symbols().module_of(pc.0) {
        Some(module) => (module.path.clone(), pc.0.wrapping_sub(module.bias)),
        None => (String::new(), pc.0),
    };
    let read = finding.accesses().get(view.read?)?;
    let same = view.seen_value.is_some() && view.seen_value == view.other_value;
    let other = view.other.and_then(|other| finding.accesses().get(other));
    (!same).then(|| (read.thread, place(read.pc), other.map(|other| place(other.pc)), view.other_value))
}
