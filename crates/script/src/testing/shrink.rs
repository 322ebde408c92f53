//! Makes a program smaller as long as it stays interesting: threads, statements and what is around them go, one at a
//! time.

use super::random::{Item, Sketch};

/// The smallest one that can be come to by leaving something out.
pub fn shrink(sketch: &Sketch, mut interesting: impl FnMut(&Sketch) -> bool) -> Sketch {
    let mut best = sketch.clone();
    'again: loop {
        for smaller in smaller(&best) {
            if interesting(&smaller) {
                best = smaller;
                continue 'again;
            }
        }
        return best;
    }
}

/// With one thing less, the largest first.
fn smaller(sketch: &Sketch) -> Vec<Sketch> {
    let mut all = Vec::new();
    for at in (0..sketch.threads.len()).filter(|_| sketch.threads.len() > 1) {
        let mut less = sketch.clone();
        less.threads.remove(at);
        if let Some((_, nested)) = less.threads.first_mut() {
            *nested = false;
        }
        all.push(less);
    }
    for at in 0..sketch.threads.len() {
        for items in less(&sketch.threads[at].0) {
            let mut smaller = sketch.clone();
            smaller.threads[at].0 = items;
            all.push(smaller);
        }
        if sketch.threads[at].1 {
            let mut flat = sketch.clone();
            flat.threads[at].1 = false;
            all.push(flat);
        }
    }
    all.extend(less(&sketch.meanwhile).into_iter().map(|meanwhile| Sketch { meanwhile, ..sketch.clone() }));
    all.extend(less(&sketch.after).into_iter().map(|after| Sketch { after, ..sketch.clone() }));
    all
}

/// Lists with one item less, or with one item in place of what is around it.
fn less(items: &[Item]) -> Vec<Vec<Item>> {
    let mut all = Vec::new();
    for at in 0..items.len() {
        let with = |new: Vec<Item>| [&items[..at], &new, &items[at + 1..]].concat();
        all.push(with(Vec::new()));
        all.extend(items[at].parts().into_iter().map(|inner| with(inner.clone())));
        for part in 0..items[at].parts().len() {
            for inner in less(items[at].parts()[part]) {
                let mut item = items[at].clone();
                *item.parts_mut()[part] = inner;
                all.push(with(vec![item]));
            }
        }
    }
    all
}
