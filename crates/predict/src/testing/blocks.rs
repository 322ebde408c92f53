//! Random atomic blocks in a history.

use super::Random;
use crate::history::History;
use crate::search::atomicity::Transactions;

/// Blocks of two to six events here and there. They hang on the numbers of events, so that a part of a history (see
/// [`shrink`](super::shrink())) has the parts of the same blocks.
pub fn blocks(seed: u64, history: &History) -> Transactions {
    let threads = history.threads.len();
    let mut bounds = vec![vec![false; 256]; threads];
    let mut random = Random::new(seed ^ 0xb10c);
    for bounds in &mut bounds {
        // Whether a new stretch begins at an event: it is a block if the stretch before it was none, or by chance.
        bounds.iter_mut().for_each(|bound| *bound = random.percent(12));
    }
    let first_is_block: Vec<bool> = (0..threads).map(|_| random.percent(60)).collect();
    Transactions::new(history, |pos| {
        let step = history.step(pos);
        let event = step.event?.0 as usize;
        let stretch = bounds[step.thread.index()].iter().take(event + 1).filter(|bound| **bound).count();
        (first_is_block[step.thread.index()] == stretch.is_multiple_of(2)).then_some(stretch as u64)
    })
}
