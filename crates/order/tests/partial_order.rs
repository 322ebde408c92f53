//! The partial order against a transitive closure computed anew: insertions, levels taken back, keys made late.

mod common;

use common::Random;
use reweave_order::partial::{Inserted, PartialOrder, Place, Tag};
use reweave_order::{Chain, Node};

/// Whether a path of one edge or more leads from each node to each other.
fn closure(places: &[Place], edges: &[(Node, Node)]) -> Vec<Vec<bool>> {
    let count = places.len();
    let mut reach = vec![vec![false; count]; count];
    for a in 0..count {
        for b in 0..count {
            reach[a][b] = places[a].chain == places[b].chain && places[a].index < places[b].index;
        }
    }
    edges.iter().for_each(|(a, b)| reach[a.index()][b.index()] = true);
    for middle in 0..count {
        for from in 0..count {
            if reach[from][middle] {
                let onward = reach[middle].clone();
                reach[from].iter_mut().zip(onward).for_each(|(known, more)| *known |= more);
            }
        }
    }
    reach
}

fn check(order: &PartialOrder, places: &[Place], edges: &[(Node, Node)], seed: u64) {
    let reach = closure(places, edges);
    for (a, row) in reach.iter().enumerate() {
        for (b, &expected) in row.iter().enumerate() {
            let (a, b) = (Node(a as u32), Node(b as u32));
            assert_eq!(order.reaches(a, b), expected, "seed {seed}: {a:?} to {b:?} after {edges:?}");
        }
    }
}

#[test]
fn agrees_with_the_closure() {
    let mut seen = [0; 3];
    for seed in 0..1_500 {
        let mut random = Random::new(seed + 77);
        let (count, chains) = (2 + random.below(20), 1 + random.below(5));
        let mut lengths = vec![0; chains];
        let places: Vec<Place> = (0..count)
            .map(|_| {
                let chain = random.below(chains);
                lengths[chain] += 1;
                Place { chain: Chain(chain as u32), index: lengths[chain] - 1 }
            })
            .collect();
        let pair = |random: &mut Random| (Node(random.below(count) as u32), Node(random.below(count) as u32));
        let mut edges: Vec<(Node, Node)> = (0..random.below(4)).map(|_| pair(&mut random)).collect();
        let cyclic = closure(&places, &edges).iter().enumerate().any(|(node, row)| row[node]);
        let order = PartialOrder::new(places.clone(), chains, &edges, [].into_iter());
        assert_eq!(order.is_none(), cyclic, "seed {seed}: {edges:?}");
        let Some(mut order) = order else { continue };
        check(&order, &places, &edges, seed);

        let mut levels: Vec<usize> = Vec::new();
        for _ in 0..30 {
            match random.below(10) {
                0..2 => {
                    levels.push(edges.len());
                    order.begin_level();
                }
                2..4 if !levels.is_empty() => {
                    let back = 1 + random.below(levels.len());
                    edges.truncate(levels[levels.len() - back]);
                    levels.truncate(levels.len() - back);
                    order.undo_levels(back);
                }
                _ => {
                    let (a, b) = pair(&mut random);
                    // Keys are made at the root; with open levels only what is a key already can be ordered.
                    if levels.is_empty() {
                        order.make_keys([a, b].into_iter());
                    } else if !(order.is_key(a) && order.is_key(b)) {
                        continue;
                    }
                    let reach = closure(&places, &edges);
                    let expected = if a == b || reach[b.index()][a.index()] {
                        Inserted::Cycle
                    } else if reach[a.index()][b.index()] {
                        Inserted::Known
                    } else {
                        edges.push((a, b));
                        Inserted::Added
                    };
                    assert_eq!(order.insert(a, b, Tag::FIXED), expected, "seed {seed}: {a:?} to {b:?}, {edges:?}");
                    seen[expected as usize] += 1;
                }
            }
            assert_eq!(order.open_levels(), levels.len());
            check(&order, &places, &edges, seed);
        }
    }
    assert!(seen.iter().all(|&count| count > 1_000), "known, added, cycle: {seen:?}");
}
