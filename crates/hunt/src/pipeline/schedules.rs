//! Runs under other schedules: first those without chance, then at random.

use std::time::{Duration, Instant};

use super::hunt::{Hunt, RunScrutiny};
use super::{RECORDING, Stage};
use crate::budget::{self, Bounds};
use crate::confirm;
use reweave_launch::Result;
use reweave_launch::folder::{PrivateFolder, beside};
use reweave_launch::interrupt;
use reweave_launch::region::Policy;
use reweave_launch::session::{self, QUANTUM, Run};
use reweave_launch::target::{Input, Output};

/// Seeds of further schedules, for each seed of the user's.
const SEEDS: u64 = 1 << 20;

impl Hunt<'_> {
    /// A few very different schedules.
    pub(super) fn first_schedules(&mut self, first: &Run, watch: &mut dyn FnMut(Stage<'_>)) -> Result<()> {
        let time = self.left() / budget::FIRST_SCHEDULES_SHARE;
        self.least_prediction = budget::LEAST_PREDICTION.max(time / budget::FIRST_SCHEDULES);
        let done = self.try_schedules(first, budget::FIRST_SCHEDULES.into(), time, watch);
        self.least_prediction = budget::LEAST_PREDICTION;
        done
    }

    /// Runs the program under other schedules: code that the first run did not reach is not looked at otherwise.
    pub(super) fn other_schedules(&mut self, first: &Run, watch: &mut dyn FnMut(Stage<'_>)) -> Result<()> {
        self.try_schedules(first, u64::MAX, self.left() - self.left() / budget::SCHEDULES_RESERVE, watch)
    }

    /// Goes on with the list of schedules, to that number at most.
    fn try_schedules(
        &mut self,
        first: &Run,
        last: u64,
        time: Duration,
        watch: &mut dyn FnMut(Stage<'_>),
    ) -> Result<()> {
        let began = Instant::now();
        let length = first.processes.iter().map(|process| process.events).max().unwrap_or(0).max(10);
        let regular = regular(first.processes.iter().map(|process| process.threads).max().unwrap_or(0));
        let (mut idle, mut news) = (0, began);
        while self.schedules < last {
            let number = self.schedules + 1;
            if idle >= budget::IDLE_SCHEDULES && news.elapsed() > self.plan.budget / budget::IDLE_SHARE {
                self.in_vain = Some(idle);
                break;
            }
            if began.elapsed() + first.took >= time || interrupt::asked() || self.reason_to_stop().is_some() {
                break;
            }
            self.schedules = number;
            watch(Stage::Trying { done: began.elapsed(), total: time });
            let folder = PrivateFolder::new()?;
            let mut options = self.plan.options.clone();
            options.trace = folder.path().join(RECORDING);
            options.seed = self.plan.options.seed.wrapping_mul(SEEDS).wrapping_add(number);
            (options.policy, options.quantum) = match regular.get(number as usize - 1) {
                Some((turns, length)) => (turns.clone(), *length),
                None if number.is_multiple_of(4) => {
                    (Policy::Pct { depth: 2 + (number / 4 % 4) as u32, length }, QUANTUM)
                }
                None => (Policy::Random, QUANTUM),
            };
            let stdin = beside(&self.plan.options.trace, "stdin");
            options.input = if stdin.exists() { Input::File(stdin) } else { Input::Nothing };
            options.output = Output::File(folder.path().join(confirm::OUTPUT));
            Bounds::of(first).set(&mut options, self.left());
            let run = session::run(&options)?;
            if self.look_at(&run, RunScrutiny::Close, watch)? {
                (idle, news) = (0, Instant::now());
            } else {
                idle += 1;
            }
        }
        self.stats.insert("schedules".into(), self.schedules);
        self.stats.insert("classes".into(), self.classes.len() as u64);
        Ok(())
    }
}

/// Schedules without chance, with the lengths of their turns: before those with. Those of different sorts take turns.
fn regular(threads: u64) -> Vec<(Policy, u32)> {
    let all = threads as u32;
    // Main first: without it, the others come as far as they can.
    let others = threads.min(budget::STARVED_THREADS) as u32;
    let victims = || [0].into_iter().chain((1..others).rev()).map(Some);
    let turns = |by_writes, victim, crowd, length| (Policy::Turns { by_writes, victim, crowd }, length);
    let by_writes = victims().chain([None]).flat_map(|victim| [1, 2].map(|length| turns(true, victim, all, length)));
    let by_steps = (1..=6).flat_map(|length| [0, all].map(|crowd| turns(false, None, crowd, length)));
    let starving = victims().map(|victim| turns(false, victim, 0, 50));
    let mut sorts: [Box<dyn Iterator<Item = (Policy, u32)>>; 3] =
        [Box::new(starving), Box::new(by_steps), Box::new(by_writes)];
    let mut schedules = Vec::new();
    loop {
        let before = schedules.len();
        schedules.extend(sorts.iter_mut().filter_map(Iterator::next));
        if schedules.len() == before {
            return schedules;
        }
    }
}
