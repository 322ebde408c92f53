//! Random histories against the oracle, in the mode without data.
//!
//! `REWEAVE_LOCK_HISTORY=N` takes N histories for each test instead of the few of a normal run; `cargo xtask oracle
//! lock-history` does that and adds up what they say.

use std::collections::{BTreeMap, VecDeque};

use reweave_model::{EventId, LockMode, ThreadId};
use reweave_predict::history::{Action, History, Lock, Mode, Pos};
use reweave_predict::linear::{Access, Candidates, Linear, Meeting, Sync, Thread, Touch, Word, run};
use reweave_predict::lock_history::{Before, LockHistories, Point, Reach, Strategy, Witness};
use reweave_predict::oracle::Oracle;
use reweave_predict::testing::{Draft, FIRST_PC, Random, generate, trace_of};
use reweave_predict::witness;
use reweave_trace::Trace;

const STRATEGIES: [Strategy; 2] = [Strategy::One, Strategy::Two];

fn histories(normally: u64) -> u64 {
    std::env::var("REWEAVE_LOCK_HISTORY").ok().and_then(|count| count.parse().ok()).unwrap_or(normally)
}

/// Records, and asks about every access and all earlier ones as soon as it comes, if it shall.
#[derive(Default)]
struct Asker {
    histories: LockHistories,
    points: BTreeMap<Pos, Point>,
    /// Who did what. A number of a thread may stand for several, one after the other.
    seen: BTreeMap<EventId, Thread>,
    at_once: bool,
    answers: BTreeMap<(Pos, Pos, Strategy), Reach>,
}

impl Linear for Asker {
    fn access(&mut self, access: &Access, _: &[Touch]) {
        let Some(pos) = access.pc.0.checked_sub(FIRST_PC) else { return };
        let (pos, point) = (Pos(pos as u32), Point { thread: access.thread, event: access.event });
        self.seen.insert(access.event, access.thread);
        if self.at_once {
            for (&other, &earlier) in self.points.iter().filter(|(_, earlier)| earlier.thread != access.thread) {
                for strategy in STRATEGIES {
                    let answer = self.histories.reachable(earlier, point, strategy);
                    self.answers.insert((other, pos, strategy), answer);
                }
            }
        }
        self.points.insert(pos, point);
    }
    fn left_out(&mut self, _: u64) {}
    fn sync(&mut self, event: EventId, thread: Thread, sync: Sync) {
        self.seen.insert(event, thread);
        self.histories.sync(event, thread, sync);
    }
    fn meet(&mut self, event: EventId, thread: Thread, meeting: Meeting) {
        self.seen.insert(event, thread);
        self.histories.meet(event, thread, meeting);
    }
    fn forget(&mut self, _: Word) {}
    fn finish(&mut self) -> Candidates {
        Candidates::default()
    }
}

fn record(trace: &Trace, at_once: bool) -> Asker {
    let mut asker = Asker { at_once, ..Asker::default() };
    run(trace, &mut asker, &mut |_| true).expect("a sound trace");
    asker
}

/// One line for each event.
fn show(history: &History) -> String {
    let line = |pos: Pos| {
        let step = history.step(pos);
        format!("{} thread {}: {:?} after {:?}\n", pos.0, step.thread.0, step.action, step.after)
    };
    history.positions().map(line).collect()
}

fn conflicts(history: &History) -> Vec<(Pos, Pos)> {
    let all = || history.positions();
    let pairs = all().flat_map(|one| all().filter(move |two| one < *two).map(move |two| (one, two)));
    pairs.filter(|&(one, two)| history.conflict(one, two)).collect()
}

/// What the strategies say of each conflicting pair, asked in the given order.
fn ask(asker: &mut Asker, pairs: &[(Pos, Pos)]) -> BTreeMap<(Pos, Pos), [Reach; 2]> {
    let answer = |&pair: &(Pos, Pos)| {
        let (one, two) = (asker.points[&pair.0], asker.points[&pair.1]);
        (pair, STRATEGIES.map(|strategy| asker.histories.reachable(one, two, strategy)))
    };
    pairs.iter().map(answer).collect()
}

/// The events of the trace that stand for events of the history, with their threads.
fn events(trace: &Trace) -> Vec<(EventId, ThreadId, Option<Pos>)> {
    let mut all = Vec::new();
    let mut events = trace.events();
    while let Some(event) = events.next().expect("a sound trace") {
        all.push((event.id, event.thread, event.pc.0.checked_sub(FIRST_PC).map(|pos| Pos(pos as u32))));
    }
    all
}

/// What the two threads of a pair still have to do, and what was done.
struct Speller<'h> {
    history: &'h History,
    left: BTreeMap<Thread, VecDeque<(EventId, Pos)>>,
    order: Vec<Pos>,
}

impl Speller<'_> {
    fn is_lock(&self, pos: Pos) -> bool {
        use Action::{Acquire, Release, Wait, Woken};
        matches!(self.history.step(pos).action, Acquire { .. } | Release { .. } | Wait { .. } | Woken { .. })
    }

    /// Does all that comes before an event in the trace and before the next lock event of its thread.
    fn between_locks(&mut self, until: EventId) {
        loop {
            let nexts = self.left.iter().filter_map(|(by, left)| Some((*left.front()?, *by)));
            let free = nexts.filter(|&((event, pos), _)| event < until && !self.is_lock(pos));
            let Some(((_, pos), by)) = free.min() else { return };
            self.order.push(pos);
            self.left.get_mut(&by).expect("it is there").pop_front();
        }
    }
}

/// A witness over lock events as one over all events.
fn spell_out(history: &History, trace: &Trace, asker: &Asker, witness: &Witness, pair: (Pos, Pos)) -> Vec<Pos> {
    let all = events(trace);
    let threads: BTreeMap<ThreadId, Thread> =
        all.iter().filter_map(|(event, by, _)| Some((*by, *asker.seen.get(event)?))).collect();
    let is_before = |event: EventId, by: Option<&Thread>| match &witness.before {
        Before::Everything(last) => event <= *last,
        Before::Of(each) => by.is_some_and(|by| each.iter().any(|(one, last)| one == by && event <= *last)),
    };
    let mut speller = Speller { history, left: BTreeMap::new(), order: Vec::new() };
    let ends = [pair.0, pair.1].map(|pos| asker.points[&pos]);
    for &(event, by, pos) in &all {
        let (Some(pos), by) = (pos, threads.get(&by)) else { continue };
        if is_before(event, by) {
            speller.order.push(pos);
        } else if let Some(end) = ends.iter().find(|end| Some(&end.thread) == by && event < end.event) {
            speller.left.entry(end.thread).or_default().push_back((event, pos));
        }
    }
    for (by, event) in &witness.steps {
        speller.between_locks(*event);
        let next = speller.left.get_mut(by).and_then(VecDeque::pop_front);
        let (next, pos) = next.expect("the thread has more to do");
        assert_eq!(next, *event, "what the thread does next");
        speller.order.push(pos);
    }
    speller.between_locks(EventId(u64::MAX));
    assert!(speller.left.values().all(VecDeque::is_empty), "both threads are at their points");
    speller.order
}

#[derive(Default)]
struct Totals {
    histories: u64,
    pairs: u64,
    races: u64,
    one: u64,
    two: u64,
    witnesses: u64,
}

impl Totals {
    fn tell(&self, what: &str) {
        println!(
            "lock_history {what}: {} histories, {} pairs asked, {} reachable by the oracle, {} by strategy I, {} by strategy II, \
             {} witnesses checked",
            self.histories, self.pairs, self.races, self.one, self.two, self.witnesses
        );
    }

    /// Compares the strategies with the oracle; `exact`: there must be no difference.
    fn compare(&mut self, history: &History, what: &str, exact: bool) {
        let Some(trace) = trace_of(history) else { return };
        let pairs = conflicts(history);
        let races = Oracle::new(history, Mode::DataAbstract).races();
        let mut asker = record(&trace, false);
        let answers = ask(&mut asker, &pairs);
        self.histories += 1;
        for (pair, [one, two]) in answers {
            let race = races.contains(&pair);
            let (one, two) = (one == Reach::Reachable, two == Reach::Reachable);
            assert!(one || !race, "{what}: strategy I misses {pair:?} of\n{}", show(history));
            assert!(!two || race, "{what}: strategy II invents {pair:?} of\n{}", show(history));
            assert!(!exact || one == race && two == race, "{what}: {pair:?} {race} {one} {two} of\n{}", show(history));
            if two {
                let (a, b) = (asker.points[&pair.0], asker.points[&pair.1]);
                let shown = asker.histories.witness(a, b).expect("what II reaches has a witness");
                let order = spell_out(history, &trace, &asker, &shown, pair);
                let verdict = witness::check(history, Mode::DataAbstract, &order, pair);
                assert_eq!(verdict, Ok(()), "{what}: {pair:?} by {shown:?} = {order:?} of\n{}", show(history));
                self.witnesses += 1;
            }
            self.pairs += 1;
            self.races += u64::from(race);
            self.one += u64::from(one);
            self.two += u64::from(two);
        }
    }
}

/// Threads that lock, unlock (in any order), write the same cell and send each other messages.
pub fn locking(seed: u64, threads: u32, size: usize) -> History {
    let mut random = Random::new(seed ^ 0x10c4);
    let (mut draft, locks) = (Draft::new(), 2 + random.below(3) as u32);
    let mut held: Vec<Vec<(Lock, LockMode)>> = vec![Vec::new(); threads as usize];
    let (shared, messages) = (random.percent(30), [0, 5, 20][random.below(3)]);
    for _ in 0..size {
        let thread = random.below(threads as usize) as u32;
        let lock = Lock(random.below(locks as usize) as u32);
        let mode = if shared && random.percent(40) { LockMode::Shared } else { LockMode::Exclusive };
        let mine = held[thread as usize].iter().position(|(one, _)| *one == lock);
        let taken = held
            .iter()
            .flatten()
            .any(|&(one, how)| one == lock && (how == LockMode::Exclusive || mode == LockMode::Exclusive));
        let pos = match mine {
            Some(at) if random.percent(60) => {
                let (lock, mode) = held[thread as usize].remove(at);
                draft.step(thread, Action::Release { lock, mode })
            }
            None if !taken && random.percent(75) => {
                held[thread as usize].push((lock, mode));
                draft.step(thread, Action::Acquire { lock, mode })
            }
            _ => draft.write(thread, 0, 0),
        };
        let others = draft.positions_except(reweave_predict::history::Thread(thread));
        if random.percent(messages)
            && let Some(&before) = random.pick(&others)
        {
            draft.order(before, pos);
        }
    }
    draft.history()
}

#[test]
fn both_are_exact_for_two_threads() {
    let mut totals = Totals::default();
    for seed in 0..histories(1500) {
        totals.compare(&locking(seed, 2, 8 + seed as usize % 40), &format!("two threads, seed {seed}"), true);
    }
    totals.tell("two threads");
    assert!(totals.races > totals.histories && totals.races < totals.pairs, "both verdicts are common");
}

#[test]
fn more_threads_that_only_lock() {
    let mut totals = Totals::default();
    for seed in 0..histories(1000) {
        let history = locking(seed, 3 + seed as u32 % 2, 8 + seed as usize % 16);
        totals.compare(&history, &format!("locks, seed {seed}"), false);
    }
    totals.tell("locks");
    // Neither is exact any more, and neither is useless.
    assert!(totals.two < totals.races && totals.races < totals.one && totals.one < totals.pairs);
    assert!(totals.two * 10 > totals.races * 5, "{} of {}", totals.two, totals.races);
}

#[test]
fn one_is_complete_and_two_is_sound() {
    let mut totals = Totals::default();
    for seed in 0..histories(1500) {
        totals.compare(&generate(seed, 8 + seed as usize % 9), &format!("everything, seed {seed}"), false);
    }
    totals.tell("everything");
    assert!(0 < totals.two && totals.two < totals.races && totals.races < totals.one && totals.one < totals.pairs);
}

/// What is known from earlier questions, in whatever order they come and however far the history is, changes no answer.
#[test]
fn going_on_is_starting_anew() {
    let (mut asked, mut sequences) = (0, 0);
    for seed in 0..histories(700) {
        let mut random = Random::new(seed);
        let history = match seed % 3 {
            0 => locking(seed, 2, 16 + seed as usize % 24),
            1 => locking(seed, 3, 12 + seed as usize % 16),
            _ => generate(seed, 8 + seed as usize % 16),
        };
        let Some(trace) = trace_of(&history) else { continue };
        let mut pairs = conflicts(&history);
        for at in (1..pairs.len()).rev() {
            pairs.swap(at, random.below(at + 1));
        }
        pairs.truncate(60);
        let going_on = ask(&mut record(&trace, false), &pairs);
        let live = record(&trace, true);
        for (&pair, answers) in &going_on {
            let anew = ask(&mut record(&trace, false), &[pair]);
            assert_eq!(anew[&pair], *answers, "seed {seed}, {pair:?} of {pairs:?} of\n{}", show(&history));
            let at_once = STRATEGIES.map(|strategy| live.answers[&(pair.0, pair.1, strategy)]);
            assert_eq!(at_once, *answers, "seed {seed}, {pair:?} while recording\n{}", show(&history));
            asked += 1;
        }
        sequences += 1;
    }
    println!("lock_history sequences: {sequences} histories, {asked} pairs asked");
    assert!(asked > 5 * sequences);
}
