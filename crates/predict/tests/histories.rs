//! Oracle, checker and generator against each other, on random histories.

use std::collections::BTreeMap;

use reweave_predict::history::{AccessKind, Action, Condition, History, Lock, Mode, Pos, Waking};
use reweave_predict::oracle::Oracle;
use reweave_predict::testing::{Construct, Draft, Random, generate, is_history, shrink};
use reweave_predict::witness;

const MODES: [Mode; 4] = [Mode::Said, Mode::Prefix, Mode::ControlFlow, Mode::DataAbstract];

#[test]
fn generated_histories_are_histories() {
    for seed in 0..1500 {
        let history = generate(seed, 8 + seed as usize % 40);
        assert!(is_history(&history), "seed {seed}: {history:#?}");
        assert_eq!(history, generate(seed, 8 + seed as usize % 40), "seed {seed}: not deterministic");
    }
}

#[test]
fn every_construct_is_common() {
    for size in [16, 24] {
        let mut counts: BTreeMap<Construct, usize> =
            Construct::ALL.into_iter().map(|construct| (construct, 0)).collect();
        let histories = 1000;
        for seed in 0..histories {
            for construct in Construct::found_in(&generate(seed, size)) {
                *counts.entry(construct).or_default() += 1;
            }
        }
        let rare: Vec<_> = counts.iter().filter(|(_, count)| **count * 5 < histories as usize).collect();
        assert!(rare.is_empty(), "of {histories} of up to {size} events: {rare:?}; all: {counts:?}");
    }
}

#[test]
fn oracle_witnesses_pass_the_checker_and_modes_grow() {
    let mut found = [0; 4];
    for seed in 0..300 {
        let history = generate(seed, 14);
        let mut smaller = Default::default();
        for (at, mode) in MODES.into_iter().enumerate() {
            let oracle = Oracle::new(&history, mode);
            let races = oracle.races();
            for &pair in &races {
                let order = oracle.witness(pair).expect("a race has a witness");
                assert_eq!(
                    witness::check(&history, mode, &order, pair),
                    Ok(()),
                    "seed {seed} {mode:?} {pair:?} {order:?}"
                );
            }
            assert!(races.is_superset(&smaller), "seed {seed} {mode:?}: {races:?} lacks some of {smaller:?}");
            found[at] += races.len();
            smaller = races;
        }
    }
    assert!(found[0] > 100 && found.is_sorted_by(|one, two| one < two), "each mode finds more: {found:?}");
}

/// Any order near a feasible one, or near the observed one.
fn random_order(random: &mut Random, history: &History) -> Vec<Pos> {
    let mut left: Vec<&[Pos]> = history.threads.iter().map(Vec::as_slice).collect();
    let mut order = Vec::new();
    // A shuffle that sometimes stays close to what was observed.
    let loyalty = [0, 60, 90, 97][random.below(4)];
    while left.iter().any(|events| !events.is_empty()) {
        let earliest = (0..left.len()).filter(|&at| !left[at].is_empty()).min_by_key(|&at| left[at][0]);
        let at = if random.percent(loyalty) { earliest.unwrap_or(0) } else { random.below(left.len()) };
        if let Some((&pos, rest)) = left[at].split_first() {
            order.push(pos);
            left[at] = rest;
        }
    }
    if random.percent(70) {
        order.truncate(1 + random.below(order.len()));
    }
    if order.len() > 1 && random.percent(30) {
        let at = random.below(order.len() - 1);
        order.swap(at, at + 1);
    }
    if random.percent(15) {
        order.remove(random.below(order.len()));
    }
    order
}

/// Compares the checker with the oracle on random orders. Says how many were accepted and rejected.
fn compare(history: &History, random: &mut Random, modes: &[Mode], orders: usize) -> (usize, usize) {
    let mut verdicts = (0, 0);
    for &mode in modes {
        let oracle = Oracle::new(history, mode);
        let races: Vec<_> = oracle.races().into_iter().collect();
        for _ in 0..orders {
            let mut order = random_order(random, history);
            let pair = if random.percent(50) { random.pick(&races).copied() } else { None };
            if let Some(race) = pair
                && random.percent(60)
            {
                order = oracle.witness(race).expect("a race has a witness");
                if order.len() > 1 && random.percent(70) {
                    let at = random.below(order.len() - 1);
                    order.swap(at, at + 1);
                }
                if !order.is_empty() && random.percent(20) {
                    order.remove(random.below(order.len()));
                }
            }
            let checked = match pair {
                Some(pair) => witness::check(history, mode, &order, pair),
                None => witness::check_order(history, mode, &order),
            };
            let admitted = oracle.admits(&order, pair);
            assert_eq!(checked.is_ok(), admitted, "{mode:?} {order:?} {pair:?}: {checked:?}\n{history:#?}");
            *(if admitted { &mut verdicts.0 } else { &mut verdicts.1 }) += 1;
        }
    }
    verdicts
}

#[test]
fn checker_agrees_with_the_oracle() {
    let (mut accepted, mut rejected) = (0, 0);
    for seed in 0..200 {
        let history = generate(seed, 14);
        let verdicts = compare(&history, &mut Random::new(seed), &MODES, 60);
        accepted += verdicts.0;
        rejected += verdicts.1;
    }
    assert!(accepted > 4_000 && rejected > 4_000, "{accepted} {rejected}");
}

/// Outcomes that nobody observed are as good a test: checker and oracle only follow the rules.
#[test]
fn checker_agrees_with_the_oracle_on_scrambled_outcomes() {
    for seed in 0..120 {
        let mut history = generate(seed, 14);
        let mut random = Random::new(!seed);
        for step in &mut history.steps {
            match &mut step.action {
                Action::Woken { how, .. } => {
                    *how = [Waking::Notified, Waking::TimedOut, Waking::Spurious][random.below(3)];
                }
                Action::Leave { serial, .. } => *serial = random.percent(50),
                Action::Notify { all, .. } => *all = random.percent(30),
                Action::Access(access) if access.kind != AccessKind::Plain && !access.reads.is_empty() => {
                    access.reads[0].1.0 = random.below(3) as u32;
                }
                _ => {}
            }
        }
        compare(&history, &mut random, &MODES, 60);
    }
}

/// Several waits with every mix of endings, and a thread that notifies: the checker's shortcuts must be exact.
#[test]
fn checker_finds_every_choice_of_a_notify() {
    let (mut accepted, mut rejected) = (0, 0);
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let mut draft = Draft::new();
        let condition = Condition(0);
        let waiters = 2 + random.below(3) as u32;
        for waiter in 0..waiters {
            // One lock each, never given back: locks forbid nothing.
            let lock = Lock(waiter);
            draft.acquire(waiter, waiter);
            for _ in 0..1 + usize::from(random.percent(30)) {
                draft.step(waiter, Action::Wait { condition, lock });
                let how = [Waking::Notified, Waking::TimedOut, Waking::Spurious][random.below(3)];
                draft.step(waiter, Action::Woken { condition, lock, how });
            }
        }
        for _ in 0..1 + random.below(4) {
            draft.step(waiters, Action::Notify { condition, all: random.percent(10) });
        }
        let verdicts = compare(&draft.history(), &mut random, &[Mode::Prefix, Mode::Said], 200);
        accepted += verdicts.0;
        rejected += verdicts.1;
    }
    assert!(accepted > 1_500 && rejected > 1_500, "{accepted} {rejected}");
}

/// Three notifies while a wait that times out goes on: only if the first one chooses the wait that ends first is there
/// somebody for each.
#[test]
fn notify_chooses_what_ends_first() {
    let (condition, mut draft) = (Condition(0), Draft::new());
    let (soon, needy, late, wary, notifier) = (0, 1, 2, 3, 4);
    for thread in [soon, needy, late, wary] {
        draft.acquire(thread, thread);
        draft.step(thread, Action::Wait { condition, lock: Lock(thread) });
    }
    draft.step(notifier, Action::Notify { condition, all: false });
    draft.step(soon, Action::Woken { condition, lock: Lock(soon), how: Waking::Spurious });
    draft.step(notifier, Action::Notify { condition, all: false });
    draft.step(notifier, Action::Notify { condition, all: false });
    draft.step(needy, Action::Woken { condition, lock: Lock(needy), how: Waking::Notified });
    draft.step(wary, Action::Woken { condition, lock: Lock(wary), how: Waking::TimedOut });
    draft.step(late, Action::Woken { condition, lock: Lock(late), how: Waking::Spurious });
    let history = draft.history();
    let mut order: Vec<Pos> = history.positions().collect();
    assert_eq!(witness::check_order(&history, Mode::Said, &order), Ok(()));
    // Had the first notify come after that wait, it would take the one that times out.
    order.swap(8, 9);
    let rejection = witness::check_order(&history, Mode::Said, &order).expect_err("nobody is left to notify");
    assert_eq!(rejection.to_string(), "event 11 can only notify a wait that then timed out");
}

#[test]
fn shrinking_keeps_the_failure_and_little_else() {
    for seed in 0..40 {
        let history = generate(seed, 20);
        let fails = |history: &History| !Oracle::new(history, Mode::ControlFlow).races().is_empty();
        if !fails(&history) {
            continue;
        }
        let small = shrink(history, fails);
        assert!(is_history(&small) && fails(&small), "seed {seed}");
        assert_eq!(small.steps.len(), 2, "seed {seed}: a race needs two accesses: {small:#?}");
    }
}

/// Two accesses that are next together are ordered by nothing, C11 included.
#[test]
fn races_are_races_by_memory_order_too() {
    let mut checked = 0;
    for seed in 0..250 {
        let history = generate(seed, 14);
        let oracle = Oracle::new(&history, Mode::ControlFlow);
        for (one, two) in oracle.races() {
            for (first, second) in [(one, two), (two, one)] {
                let mut order = oracle.witness((one, two)).expect("a race has a witness");
                order.extend([first, second]);
                if witness::check_order(&history, Mode::ControlFlow, &order).is_ok() {
                    let verdict = witness::check_weak_order(&history, Mode::ControlFlow, &order, one, two);
                    assert_eq!(verdict, Ok(()), "seed {seed} {order:?}");
                    checked += 1;
                }
            }
        }
    }
    assert!(checked > 300, "{checked}");
}

#[test]
fn reads_from_contains_what_was_observed() {
    for seed in 0..150 {
        let history = generate(seed, 14);
        for mode in MODES {
            let found = Oracle::new(&history, mode).reads_from();
            let mut writers = vec![None; history.initial.len()];
            for pos in history.positions() {
                let Some(access) = history.step(pos).action.access() else { continue };
                for &(cell, _) in &access.reads {
                    assert!(found.contains(&(pos, cell, writers[cell.index()])), "seed {seed} {mode:?} {pos:?}");
                }
                access.writes.iter().for_each(|(cell, _)| writers[cell.index()] = Some(pos));
            }
        }
    }
}

/// One pass: ten times the events take about ten times as long. A clone of the state per event would take hours.
#[test]
fn checker_takes_long_orders() {
    let mut draft = Draft::new();
    let condition = Condition(0);
    for round in 0..10_000 {
        let (waiter, notifier) = (round % 40, 40);
        draft.acquire(waiter, waiter);
        draft.step(waiter, Action::Wait { condition, lock: Lock(waiter) });
        draft.write(notifier, waiter, round);
        let all = round % 5 == 0;
        draft.step(notifier, Action::Notify { condition, all });
        let how = if round % 7 == 0 { Waking::Spurious } else { Waking::Notified };
        draft.step(waiter, Action::Woken { condition, lock: Lock(waiter), how });
        draft.read(waiter, waiter, round);
        draft.release(waiter, waiter);
        draft.acquire(waiter, 40);
        draft.release(waiter, 40);
        draft.read(notifier, waiter, round);
    }
    let history = draft.history();
    assert_eq!(history.steps.len(), 100_000);
    let order: Vec<Pos> = history.positions().collect();
    let start = std::time::Instant::now();
    assert_eq!(witness::check_order(&history, Mode::Said, &order), Ok(()));
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
    println!("100,000 events in {:?}", start.elapsed());
}
