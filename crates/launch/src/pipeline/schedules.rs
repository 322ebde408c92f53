//! Runs under other schedules: first those without chance, then at random.

use std::time::Instant;

use super::{Hunt, Look, RECORDING, Stage};
use crate::Result;
use crate::confirm;
use crate::folder::{PrivateFolder, beside};
use crate::interrupt;
use crate::region::Policy;
use crate::session::{self, Bounds, QUANTUM, Run};
use crate::target::{Input, Output};

/// Seeds of further schedules, for each seed of the user's.
const SEEDS: u64 = 1 << 20;
/// Threads that are kept from running, each in its turn.
const VICTIMS: u64 = 8;
/// So many in a row, over this part of the budget, may show nothing new.
const IDLE: u32 = 15;
const PATIENCE: u32 = 6;
/// The part of the time for other schedules that is kept back for what they show.
const RESERVE: u32 = 8;

impl Hunt<'_> {
    /// Runs the program under other schedules: code that the first run did not reach is not looked at otherwise.
    pub(super) fn other_schedules(&mut self, first: &Run, watch: &mut dyn FnMut(Stage<'_>)) -> Result<()> {
        let began = Instant::now();
        let time = self.left() - self.left() / RESERVE;
        let length = first.processes.iter().map(|process| process.events).max().unwrap_or(0).max(10);
        let regular = regular(first.processes.iter().map(|process| process.threads).max().unwrap_or(0));
        let (mut idle, mut news) = (0, began);
        for number in 1.. {
            let bored = idle >= IDLE && news.elapsed() > self.plan.budget / PATIENCE;
            if bored || began.elapsed() + first.took >= time || interrupt::asked() {
                break;
            }
            watch(Stage::Trying { done: began.elapsed(), total: time });
            let folder = PrivateFolder::new()?;
            let mut options = self.plan.options.clone();
            options.trace = folder.path().join(RECORDING);
            options.seed = self.plan.options.seed.wrapping_mul(SEEDS).wrapping_add(number);
            (options.policy, options.quantum) = match regular.get(number as usize - 1) {
                Some((turns, length)) => (turns.clone(), *length),
                None if number % 4 == 0 => (Policy::Pct { depth: 2 + (number / 4 % 4) as u32, length }, QUANTUM),
                None => (Policy::Random, QUANTUM),
            };
            let stdin = beside(&self.plan.options.trace, "stdin");
            options.input = if stdin.exists() { Input::File(stdin) } else { Input::Nothing };
            options.output = Output::File(folder.path().join(confirm::OUTPUT));
            Bounds::of(first).set(&mut options, self.left());
            let run = session::run(&options)?;
            if self.look_at(&run, Look::Closely, watch)? {
                (idle, news) = (0, Instant::now());
            } else {
                idle += 1;
            }
            *self.stats.entry("schedules".into()).or_default() += 1;
        }
        self.stats.insert("classes".into(), self.classes.len() as u64);
        Ok(())
    }
}

/// Schedules without chance, with the lengths of their turns: before those with.
fn regular(threads: u64) -> Vec<(Policy, u32)> {
    let all = threads as u32;
    let victims = || (0..threads.min(VICTIMS) as u32).rev().map(Some);
    let turns = |by_writes, victim, crowd, length| (Policy::Turns { by_writes, victim, crowd }, length);
    let by_writes = victims().chain([None]).flat_map(|victim| [1, 2].map(|length| turns(true, victim, all, length)));
    let by_steps = (1..=6).flat_map(|length| [0, all].map(|crowd| turns(false, None, crowd, length)));
    let starving = victims().map(|victim| turns(false, victim, 0, 50));
    by_steps.chain(starving).chain(by_writes).collect()
}
