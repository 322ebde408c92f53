//! Questions about the very events that were listed: most of what happens-before lists is shown by these, and what is
//! shown is not looked for elsewhere.

use std::sync::mpsc::{TrySendError, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use reweave_model::{EventId, Pc};
use reweave_trace::Result;

use super::{Asker, FoundRace, MOST, Search, Stats};
use crate::feasible::Index;
use crate::lower::{Lowered, Stretch, Windows};
use crate::search::{Context, Stage};

/// Two events to be asked about.
struct Nearby<'t> {
    number: usize,
    pcs: (Pc, Pc),
    events: (EventId, EventId),
    stretch: Stretch<'t>,
}

struct Answer {
    number: usize,
    pcs: (Pc, Pc),
    found: Option<FoundRace>,
    stats: Stats,
}

impl Search<'_> {
    /// What to ask about, in order of the first event.
    fn nearby(&self) -> Vec<((EventId, EventId), (Pc, Pc))> {
        let listed = self.only.into_iter().flatten();
        let mut all: Vec<_> = listed.map(|(pcs, events)| (*events, *pcs)).collect();
        all.sort_unstable();
        all
    }

    /// Each pair in a window that begins with the first of its events.
    pub(super) fn near_listed(&mut self, windows: &mut Windows<'_>) -> Result<()> {
        let (asker, jobs) = (self.asker, self.asker.limits.jobs.max(1));
        let mut answers: Vec<Answer> = Vec::new();
        thread::scope(|scope| {
            let (give, take) = sync_channel::<Nearby<'_>>(2 * jobs);
            let take = Arc::new(Mutex::new(take));
            let (tell, told) = channel::<Answer>();
            for _ in 1..jobs {
                let (take, tell) = (Arc::clone(&take), tell.clone());
                scope.spawn(move || {
                    loop {
                        let next = take.lock().unwrap_or_else(PoisonError::into_inner).recv();
                        let Ok(next) = next else { break };
                        if tell.send(asker.answer(&next)).is_err() {
                            break;
                        }
                    }
                });
            }
            drop((take, tell));
            let mut shown = 0;
            for (number, (events, pcs)) in self.nearby().into_iter().enumerate() {
                let so_far = answers.len();
                answers.extend(told.try_iter());
                shown += answers[so_far..].iter().filter(|answer| answer.found.is_some()).count();
                if asker.must_describe(shown) || jobs == 1 && shown >= MOST {
                    break;
                }
                let stretch = asker.limits.timed(Stage::Lower, || windows.stretch(events.0, events.1))?;
                let Some(stretch) = stretch else { continue };
                let next = Nearby { number, pcs, events, stretch };
                let own = if jobs == 1 { Some(next) } else { give.try_send(next).err().map(refused) };
                if let Some(next) = own {
                    let answer = asker.answer(&next);
                    shown += usize::from(answer.found.is_some());
                    answers.push(answer);
                }
            }
            drop(give);
            answers.extend(told.iter());
            Ok(())
        })?;
        // As if they had come one after the other.
        answers.sort_unstable_by_key(|answer| answer.number);
        for Answer { pcs, found, stats, .. } in answers {
            self.stats.add(&stats);
            if let Some(found) = found.filter(|_| self.found.len() < MOST) {
                self.found.insert(pcs, found);
            }
        }
        Ok(())
    }
}

/// What nobody has taken: the others have enough to do.
fn refused<T>(why: TrySendError<T>) -> T {
    let (TrySendError::Full(what) | TrySendError::Disconnected(what)) = why;
    what
}

impl Asker<'_> {
    fn answer(self, nearby: &Nearby<'_>) -> Answer {
        let &Nearby { number, pcs, events, ref stretch } = nearby;
        let mut stats = Stats { candidates: 1, ..Stats::default() };
        let window = self.limits.timed(Stage::Lower, || stretch.lower(events.0));
        let found = self.near(&window, events, &mut stats);
        Answer { number, pcs, found, stats }
    }

    fn near(self, window: &Lowered, (first, second): (EventId, EventId), stats: &mut Stats) -> Option<FoundRace> {
        let history = &window.history;
        let at = |event| history.positions().find(|pos| history.step(*pos).event == Some(event));
        let (one, two) = (at(first)?, at(second)?);
        let (index, is_apart) = self.limits.timed(Stage::Ask, || {
            let index = Index::new(history);
            let context = Context::new(history, &index);
            let excluded = context.excluded(context.locks(one), context.locks(two));
            (index, excluded || context.ordered(one, two))
        });
        if is_apart {
            return None;
        }
        self.ask(window, &index, (one, two), stats)?.ok()
    }
}
