//! How much of everything a test may take: time, runs, events. All of these numbers are guesses that proved themselves;
//! each stands here with its reason. What a share is of is the time that is left, unless it says otherwise.

use std::time::Duration;

use reweave_launch::session::{Options, Run};

// The recorded run.

/// Events that are recorded at first, for every millisecond of the budget: each pass over so many takes some hundredths
/// of it.
pub const RECORDED_EVENTS_PER_MS: u64 = 500;
/// Events of a program that does not end that are looked at, for every millisecond there is.
pub const ENDLESS_EVENTS_PER_MS: u64 = 100;
/// Runs of threads one after the other, to know what the program prints when nothing goes wrong …
pub const NORMAL_RUNS: u64 = 6;
/// … and the share of one of them.
pub const NORMAL_RUN_SHARE: u32 = 20;

// Predicting and confirming.

/// For predicting from a run that is not the first, whatever it has cost to run the program so far.
pub const LEAST_PREDICTION: Duration = Duration::from_millis(30);
/// Findings of one kind in one trace: nobody reads more.
pub const FINDINGS_PER_KIND: usize = 60;
/// Findings with the same identity that are tried, until one happens.
pub const ALIKE: usize = 3;
/// Runs that show a finding and make us try it, as long as it does not happen.
pub const RUNS_TRIED_FROM: u32 = 3;
/// What one finding may take of the time that is left, in shares that are equal for all: most take less.
pub const SHARES: u32 = 4;
/// For trying what a run shows that is not the first, whatever it has cost to run the program so far.
pub const LEAST_TRY: Duration = Duration::from_secs(1);
/// Attempts that did not end: so many are enough, they cost more than all others.
pub const ENDLESS_ATTEMPTS: u32 = 3;
/// Runs of active testing for one finding: half of them precisely, half of them coarsely.
pub const ACTIVE_RUNS: u64 = 10;
/// The same for a breakpoint, which has no witness to begin with.
pub const BREAKPOINT_RUNS: u64 = 3 * ACTIVE_RUNS;
/// Runs with findings that there was no time for, which are gone back to: their traces lie on disk.
pub const UNFINISHED_RUNS: usize = 32;
/// For one run that is only measured.
pub const MEASURED_RUN: Duration = Duration::from_secs(10);

// What a run did.

/// For shrinking the schedule of one finding: people read it …
pub const SHRINKING: Duration = Duration::from_secs(5);
/// … or only count it.
pub const SHRINKING_INFORMATION: Duration = Duration::from_millis(300);
/// Runs for shrinking one schedule.
pub const SHRINKING_RUNS: u32 = 100;
/// Replays before something is called confirmed: of runs that depend on nothing but their schedule …
pub const REPLAYS: u32 = 1;
/// … and of those into which others come, at a time of their own.
pub const REPLAYS_WITH_OTHERS: u32 = 5;
/// The share of shrinking, and of replaying, what a run did by itself.
pub const OWN_RUN_SHARE: u32 = 8;
/// For the first replay of something, however late it is: nothing is called confirmed without one.
pub const FIRST_REPLAY: Duration = Duration::from_millis(500);
/// How long a run that does not end by itself is replayed.
pub const ENDLESS_REPLAY: Duration = Duration::from_secs(4);

// Other schedules.

/// Schedules that are tried before anything else: each goes through the program in another way, so that what one run is
/// looked at for closely is not what chance made of the first …
pub const FIRST_SCHEDULES: u32 = 9;
/// … and their share.
pub const FIRST_SCHEDULES_SHARE: u32 = 5;
/// Threads that are kept from running, each in its turn.
pub const STARVED_THREADS: u64 = 8;
/// So many schedules in a row, over this share of the whole budget, may show nothing new.
pub const IDLE_SCHEDULES: u32 = 15;
pub const IDLE_SHARE: u32 = 6;
/// The share of the time for other schedules that is kept back for what they show.
pub const SCHEDULES_RESERVE: u32 = 8;
/// The share of looking for other values of reads.
pub const ALTERNATIVES_SHARE: u32 = 3;
/// The share of that for asking one run.
pub const ALTERNATIVES_PER_RUN: u32 = 4;
/// Runs that nobody has asked yet: their traces lie on disk.
pub const ALTERNATIVES_WAITING: usize = 200;

// Enough.

/// With a bug in hand, so long may nothing else turn up …
pub const QUIET: Duration = Duration::from_secs(6);
/// … or this share of the time it took to the last one, if that is longer.
pub const QUIET_SHARE: u32 = 2;

// Exploring.

/// The share of the time that is left for exploration, unless it is asked for.
pub const EXPLORING_SHARE: u32 = 2;
/// Classes of executions that are all predicted from; of others only those that come to something new.
pub const CLASSES_PREDICTED_FROM: usize = 64;
/// States of one search …
pub const SEARCH_STATES: usize = 300_000;
/// … and what they may take: a state of a program with many shared words is some kilobytes large.
pub const SEARCH_BYTES: usize = 256 << 20;
/// … and the model that it searches.
pub const MODEL_BYTES: usize = 256 << 20;
/// Runs after one search, at first.
pub const SEARCH_TARGETS: usize = 8;
/// States of a search for guesses: fewer than there would be without guessing, so they are worth more.
pub const GUESSED_STATES: usize = 1_500_000;
/// Steps at a stretch in runs of programs whose threads spin, or else most of what they show is spinning.
pub const DEEP_QUANTUM: u32 = 60;
/// Runs along guesses between two searches.
pub const GUESSES: usize = 100;
/// Attempts to come to something by a way that threads are only guessed to take.
pub const GUESS_ATTEMPTS: u8 = 3;
/// Runs that are made, for each that is made at a time, before anybody looks at them: what they show may be enough.
pub const RUNS_BEFORE_LOOKING: usize = 4;
/// Longer runs are not explored: their model would take minutes to search.
pub const EXPLORED_EVENTS: u64 = 100_000;
/// An explored run is given at least so long.
pub const LEAST_EXPLORED_RUN: Duration = Duration::from_millis(700);
/// Steps of one walk through the model.
pub const WALK_STEPS: usize = 20_000;
/// Walks in a row that may show nothing new.
pub const IDLE_WALKS: u32 = 2_000;
/// The same through what threads are only guessed to do, which has no end.
pub const GUESSED_STEPS: usize = 2_000;
pub const IDLE_GUESSES: u32 = 3_000;

// Reads that depend on the schedule: information, no defects.

/// Shares of the whole budget: what they get at most, and what is kept for them.
pub const READS_SHARE: u32 = 10;
pub const READS_KEPT: u32 = 30;
/// Runs of threads one after the other, to see whether reads take their values from elsewhere.
pub const SERIAL_RUNS: u64 = 4;
/// Lines that read, in one trace.
pub const READ_LINES: usize = 40;

// Confirming again what an earlier test found.

/// For one run at least; more if there is much time.
pub const AGAIN_RUN: Duration = Duration::from_secs(10);
/// The share of the whole budget that one run may take.
pub const AGAIN_RUN_SHARE: u32 = 8;
/// The first attempts follow the witness of a race, the accesses in either order.
pub const WITNESS_ORDERS: u32 = 2;

/// When a run is ended by us: one that was steered may go round a loop for ever, and what it records has to be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    pub time: Duration,
    pub events: u64,
}

impl Bounds {
    /// Less than a second of a loop, but more than it takes to recognise one ([`spinning`](crate::confirm::spinning)).
    const FEWEST_EVENTS: u64 = 500_000;
    /// How much more than the recorded run an ordinary one does not come near to.
    const BEYOND: u32 = 20;
    /// A machine can be busy.
    const SHORTEST: Duration = Duration::from_secs(5);
    /// Of a program that does not end, the share of the recorded run: what is of interest comes soon or not at all.
    const ENDLESS_SHARE: u32 = 8;
    const SHORTEST_ENDLESS: Duration = Duration::from_millis(200);

    /// What an ordinary run of a program does not come near to, by its recorded one.
    pub fn of(recorded: &Run) -> Self {
        let events = recorded.processes.iter().map(|process| process.events).max().unwrap_or(0);
        if recorded.timed_out {
            let time = (recorded.took / Self::ENDLESS_SHARE).max(Self::SHORTEST_ENDLESS);
            return Self { time, events: events.max(Self::FEWEST_EVENTS) };
        }
        Self::beyond(events, (recorded.took * Self::BEYOND).max(Self::SHORTEST))
    }

    /// Far more than so many events, and no longer than that.
    pub fn beyond(events: u64, time: Duration) -> Self {
        Self { time, events: events.saturating_mul(Self::BEYOND.into()).max(Self::FEWEST_EVENTS) }
    }

    /// For a run for which so much time is left.
    pub fn set(self, options: &mut Options, left: Duration) {
        options.timeout = Some(self.time.min(left).max(Duration::from_millis(1)));
        options.max_events = self.events;
    }
}
