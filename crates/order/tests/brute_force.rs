//! Every answer against all permutations and all values.

mod common;

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use common::{Hidden, Pieces, Random, Size, random_problem};
use reweave_order::{Budget, Complete, Literal, Node, Order, Solution, Stage, Why, solve, solve_by_search};

/// Whether some order of all orders satisfies everything.
fn satisfiable(pieces: &Pieces) -> bool {
    let problem = pieces.problem(pieces.clauses.len());
    let values = 1u32 << pieces.phases.len();
    permutations(pieces.chains.len()).iter().any(|sequence| {
        (0..values).any(|bits| {
            let values = (0..pieces.phases.len()).map(|x| bits >> x & 1 == 1).collect();
            problem.satisfied_by(&Order::new(sequence.clone(), values))
        })
    })
}

fn permutations(count: usize) -> Vec<Vec<Node>> {
    let mut all = vec![vec![]];
    for node in 0..count {
        all = all
            .into_iter()
            .flat_map(|shorter| {
                (0..=shorter.len()).map(move |at| {
                    let mut longer = shorter.clone();
                    longer.insert(at, Node(node as u32));
                    longer
                })
            })
            .collect();
    }
    all
}

fn random_pieces(seed: u64) -> Pieces {
    let mut random = Random::new(seed);
    let nodes = 2 + random.below(5);
    let bools = random.below(4);
    let chains = 1 + random.below(nodes + 1);
    let clauses = random.below(5 * nodes);
    random_problem(&mut random, &Size { nodes, chains, bools, clauses })
}

#[test]
fn agrees_with_all_permutations() {
    let (mut sat, mut unsat) = (0, 0);
    let mut stages = [[0; 2]; 3];
    for seed in 0..8_000 {
        let pieces = random_pieces(seed);
        let expected = satisfiable(&pieces);
        let count = pieces.clauses.len();
        for (visible, at_once) in [(count, 1), (count / 2, usize::MAX), (count / 2, 1), (0, 2)] {
            for by in [solve, solve_by_search] {
                let mut problem = pieces.problem(visible);
                let mut lazy = Hidden { clauses: &pieces.clauses[visible..], at_once };
                let (answer, stats) = by(&mut problem, &mut lazy, Budget::default());
                match &answer {
                    Solution::Sat(order) => {
                        assert!(expected, "seed {seed}, {visible} visible: there is no order, got {order:?}");
                        assert!(pieces.problem(count).satisfied_by(order), "seed {seed}: {order:?} violates a clause");
                        sat += 1;
                    }
                    Solution::Unsat => {
                        assert!(!expected, "seed {seed}, {visible} visible: there is an order");
                        unsat += 1;
                    }
                    Solution::Unknown(why) => panic!("seed {seed}: {why:?} without a budget"),
                }
                stages[stats.stage as usize][usize::from(expected)] += 1;
            }
        }
    }
    // Both answers, and each stage that can give them, occur often.
    println!("sat {sat}, unsat {unsat}; [unsat, sat] by stage {stages:?}");
    assert!(sat > 10_000 && unsat > 10_000, "sat {sat}, unsat {unsat}");
    let [[unsat_saturation, _], [_, sat_repair], [unsat_search, sat_search]] = stages;
    assert!(unsat_saturation > 5_000 && sat_repair > 5_000, "{stages:?}");
    assert!(unsat_search > 5_000 && sat_search > 5_000, "{stages:?}");
}

/// `count` pigeons in one hole less, as orders: nodes with a boolean per hole, unsatisfiable and hard.
fn pigeons(count: usize) -> reweave_order::Problem {
    let mut problem = reweave_order::Problem::new();
    let holes: Vec<Vec<_>> =
        (0..count).map(|_| (1..count).map(|_| problem.bool_var(false)).collect::<Vec<_>>()).collect();
    for pigeon in &holes {
        problem.clause(pigeon.iter().map(|&hole| Literal::Is(hole)));
    }
    for (number, pigeon) in holes.iter().enumerate() {
        for other in &holes[number + 1..] {
            for (&one, &two) in pigeon.iter().zip(other) {
                problem.clause([Literal::Not(one), Literal::Not(two)]);
            }
        }
    }
    problem
}

#[test]
fn budgets_end_the_search() {
    let answer = |budget| solve(&mut pigeons(12), &mut Complete, budget).0;
    let conflicts = Budget { conflicts: Some(200), ..Budget::default() };
    assert_eq!(answer(conflicts), Solution::Unknown(Why::Conflicts));

    let start = Instant::now();
    let deadline = Budget { deadline: Some(start + Duration::from_millis(200)), ..Budget::default() };
    assert_eq!(answer(deadline), Solution::Unknown(Why::Deadline));
    assert!(start.elapsed() < Duration::from_millis(600), "took {:?}", start.elapsed());

    let interrupt = AtomicBool::new(true);
    let interrupted = Budget { interrupt: Some(&interrupt), ..Budget::default() };
    assert_eq!(answer(interrupted), Solution::Unknown(Why::Interrupted));
    assert_eq!(solve(&mut pigeons(5), &mut Complete, Budget::default()).0, Solution::Unsat);
}

#[test]
fn the_observed_order_is_kept_where_nothing_forbids_it() {
    let mut problem = reweave_order::Problem::new();
    let nodes: Vec<Node> = (0..8).map(|number| problem.add_node(reweave_order::Chain(number % 3))).collect();
    let (answer, stats) = solve(&mut problem, &mut Complete, Budget::default());
    let Solution::Sat(order) = answer else { panic!("{answer:?}") };
    assert_eq!(order.sequence(), nodes);
    assert_eq!((stats.stage, stats.candidates), (Stage::Repair, 1));

    // A node that has to wait stops its chain (1, 4, 7) and nothing else.
    problem.clause([Literal::Before(nodes[5], nodes[1])]);
    let (answer, _) = solve(&mut problem, &mut Complete, Budget::default());
    let Solution::Sat(order) = answer else { panic!("{answer:?}") };
    assert_eq!(order.sequence(), [0, 2, 3, 5, 1, 4, 6, 7].map(|number| nodes[number]));
}

#[test]
fn booleans_made_lazily_count() {
    let mut problem = reweave_order::Problem::new();
    let (a, b) = (problem.add_node(reweave_order::Chain(0)), problem.add_node(reweave_order::Chain(1)));
    let mut made = None;
    let mut lazy = |candidate: &Order, add: &mut reweave_order::Clauses| {
        if made.is_none() {
            assert!(candidate.before(a, b));
            let fresh = add.bool_var(false);
            made = Some(fresh);
            add.clause([Literal::Is(fresh)]);
            add.clause([Literal::Not(fresh), Literal::Before(b, a)]);
        }
    };
    let (answer, _) = solve(&mut problem, &mut lazy, Budget::default());
    let Solution::Sat(order) = answer else { panic!("{answer:?}") };
    assert!(order.before(b, a) && made.is_some_and(|fresh| order.value(fresh)));
}

#[test]
fn empty_problems_have_an_order() {
    let mut problem = reweave_order::Problem::new();
    assert!(matches!(solve(&mut problem, &mut Complete, Budget::default()).0, Solution::Sat(_)));
    problem.clause([]);
    assert_eq!(solve(&mut problem, &mut Complete, Budget::default()).0, Solution::Unsat);
}
