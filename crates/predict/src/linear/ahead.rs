//! Parses STD text on a thread of its own, a few blocks of events ahead of the analysis.

use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread::{Builder, Scope, available_parallelism};

use reweave_model::Event;
use reweave_trace::{Result, StdEvents};

use super::Source;

/// Events in a block: some of them fit into a second-level cache.
const BLOCK: usize = 1024;
/// Blocks parsed and not yet taken.
const AHEAD: usize = 4;

#[derive(Default)]
struct Block {
    events: Vec<Event<'static>>,
    /// How much of the text has been parsed.
    progress: f64,
}

/// Events of a text, parsed ahead.
pub(super) struct StdAhead {
    parsed: Receiver<Result<Block>>,
    /// Memory goes back to be used again.
    spent: Sender<Block>,
    block: Block,
    at: usize,
}

impl StdAhead {
    /// Gives the text back where there is no second processor, or no thread to be had.
    pub fn start<'scope>(events: Box<StdEvents>, scope: &'scope Scope<'scope, '_>) -> Result<Self, Box<StdEvents>> {
        if available_parallelism().is_ok_and(|count| count.get() == 1) {
            return Err(events);
        }
        let (sender, parsed) = sync_channel(AHEAD);
        let (spent, free) = channel();
        // A thread that cannot be started takes what it was given with it: hand it over afterwards.
        let (hand_over, handed_over) = channel::<Box<StdEvents>>();
        let parse = move || {
            let Ok(mut events) = handed_over.recv() else { return };
            loop {
                let mut block: Block = free.try_recv().unwrap_or_default();
                let whole = fill(&mut events, &mut block);
                let last = block.events.len() < BLOCK;
                // The reader may stop early.
                if sender.send(Ok(block)).is_err() {
                    return;
                }
                if let Err(error) = whole {
                    sender.send(Err(error)).ok();
                    return;
                }
                if last {
                    return;
                }
            }
        };
        if Builder::new().name("parse".into()).spawn_scoped(scope, parse).is_err() {
            return Err(events);
        }
        hand_over.send(events).map_err(|unsent| unsent.0)?;
        Ok(Self { parsed, spent, block: Block::default(), at: 0 })
    }

    /// Whether there is another block.
    #[inline(never)]
    fn load(&mut self) -> Result<bool> {
        // Should the thread have panicked, the scope does after this.
        let Ok(next) = self.parsed.recv() else { return Ok(false) };
        let spent = std::mem::replace(&mut self.block, next?);
        self.spent.send(spent).ok();
        self.at = 0;
        Ok(true)
    }
}

fn fill(events: &mut StdEvents, block: &mut Block) -> Result<()> {
    block.events.clear();
    while block.events.len() < BLOCK
        && let Some(event) = events.next()?
    {
        block.events.push(event);
    }
    block.progress = events.progress();
    Ok(())
}

impl Source for StdAhead {
    #[inline(always)]
    fn next(&mut self) -> Result<Option<Event<'_>>> {
        while self.at == self.block.events.len() {
            if !self.load()? {
                return Ok(None);
            }
        }
        self.at += 1;
        Ok(Some(self.block.events[self.at - 1]))
    }
    fn progress(&self) -> f64 {
        self.block.progress
    }
}
