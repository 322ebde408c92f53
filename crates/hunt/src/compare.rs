//! Compares two traces event by event, by name: the proof that a replay did the same again, or where it did not.

use reweave_model::EventId;
use reweave_report::Describer;
use reweave_trace::{Result, Trace};

use crate::names::Names;

/// Where two runs part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Number of the step, from 0.
    pub step: u64,
    /// As lines of text; `None`: the run had ended.
    pub expected: Option<String>,
    pub got: Option<String>,
    pub event: EventId,
}

#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Comparison {
    /// Steps that are the same.
    pub same: u64,
    pub difference: Option<Difference>,
}

/// Compares the steps of `again` with those of `original`. Where the original's recording was cut short (`partial`),
/// what comes after it is not compared.
pub fn compare(original: &Trace, again: &Trace, partial: bool) -> Result<Comparison> {
    let (mut first, mut second) = (original.events(), again.events());
    let (mut names, mut new_names) = (Names::of_process(original.meta()), Names::of_process(again.meta()));
    let mut comparison = Comparison::default();
    loop {
        // Lines are only made when they are needed: the events are gone by then, so keep ids.
        let expected = next_step(&mut first, &mut names)?;
        let got = next_step(&mut second, &mut new_names)?;
        match (expected, got) {
            (None, None) => return Ok(comparison),
            (None, Some(_)) if partial => return Ok(comparison),
            (Some((_, one)), Some((_, two))) if one.matches(&two) => comparison.same += 1,
            (expected, got) => {
                let event = expected.map_or(EventId(u64::MAX), |(id, _)| id);
                comparison.difference = Some(Difference {
                    step: comparison.same,
                    expected: expected.and_then(|(id, _)| line(original, id)),
                    got: got.and_then(|(id, _)| line(again, id)),
                    event,
                });
                return Ok(comparison);
            }
        }
    }
}

fn next_step(
    events: &mut reweave_trace::Events<'_>,
    names: &mut Names,
) -> Result<Option<(EventId, crate::names::Key)>> {
    while let Some(event) = events.next()? {
        names.see(&event);
        if event.op.is_step() {
            let key = names.key(&event);
            names.passed(&event);
            return Ok(Some((event.id, key)));
        }
    }
    Ok(None)
}

fn line(trace: &Trace, id: EventId) -> Option<String> {
    let describer = Describer::of(trace);
    let mut events = trace.events_from(id).ok()?;
    let event = events.next().ok()??;
    Some(describer.line(&event).trim_start().to_owned())
}
