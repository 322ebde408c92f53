//! Makes what was predicted from a run happen, several findings at a time.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use reweave_model::{Finding, Kind, Strength};
use reweave_report::{Item, resolve};
use reweave_trace::Trace;

use super::items::{replays, settle};
use super::{Hunt, Stage, left, rank};
use crate::confirm::Plain;
use crate::jobs::side_by_side;
use crate::replay::{Again, Recording};
use reweave_launch::Result;

/// Findings of one kind in one trace.
const MOST: usize = 60;
/// Findings with the same identity that are tried, until one happens.
const ALIKE: usize = 3;
/// Runs that show a finding and make us try it, as long as it does not happen.
const RUNS: u32 = 3;
/// What one finding may take of the time that is left, in shares that are equal for all: most take less.
const SHARES: u32 = 4;
/// For trying what a run shows that is not the first, whatever it has cost to run the program so far.
const TRY: Duration = Duration::from_secs(1);

impl Hunt<'_> {
    /// Tries to confirm what is not confirmed yet, several at a time.
    pub(super) fn confirm(
        &mut self,
        trace: &Trace,
        findings: &[Finding],
        watch: &mut dyn FnMut(Stage<'_>),
    ) -> Result<()> {
        // What is one finding to people (many accesses inside one call of a library, say) may be several to the analyses: one of
        // them that happens is enough.
        let mut todo: Vec<(u32, Vec<&Finding>, Option<usize>)> = Vec::new();
        let mut met: HashMap<String, usize> = HashMap::new();
        let mut next = self.next_id();
        for finding in findings {
            // The same bug in another process or run is no other bug.
            let fingerprint = resolve::item(0, finding, trace).fingerprint;
            let known = self.items.iter().position(|item| item.fingerprint == fingerprint);
            if known.is_some_and(|known| self.items[known].schedule.is_some()) {
                continue;
            }
            // What did not happen in some runs will hardly in others, and they would take all the time.
            if self.tried.get(&fingerprint).is_some_and(|&tried| tried >= RUNS) {
                continue;
            }
            if let Some(&at) = met.get(&fingerprint) {
                let (_, same, _): &mut (_, Vec<&Finding>, _) = &mut todo[at];
                if same.len() < ALIKE {
                    same.push(finding);
                }
                continue;
            }
            *self.tried.entry(fingerprint.clone()).or_default() += 1;
            met.insert(fingerprint, todo.len());
            let id = known.map_or(next, |known| self.items[known].id);
            next += u32::from(known.is_none());
            todo.push((id, vec![finding], known));
        }
        let usual = self.usual.as_ref().and_then(Option::as_ref);
        let plain = Plain {
            front_ends: self.plan.options.front_ends,
            command: None,
            bounds: self.bounds,
            usual,
            isolate: self.plan.options.isolate,
            share: None,
        };
        // Runs that go round loops can take any time, and other schedules may show more: what is not tried now is tried again when
        // it is seen in another run.
        let deadline = Instant::now() + self.time_to_look(TRY);
        let (folder, total) = (&self.plan.folder, todo.len());
        // What the run did itself stands and falls with the run.
        let did = findings.iter().any(|finding| finding.strength == Strength::Confirmed);
        let own_run = match did {
            true => replays(
                &Recording::of_trace(plain.front_ends, trace.path())?,
                &plain,
                Instant::now() + left(deadline) / 4,
            )?,
            false => Again::Untried,
        };
        let run = (trace, own_run);
        // Others are still at work when one is confirmed: it is told at once.
        let (tell, told) = mpsc::channel::<Item>();
        let begun = AtomicU32::new(0);
        let settled = side_by_side(
            self.jobs,
            &todo,
            |(id, alike, _)| {
                let waiting = (total as u32).saturating_sub(begun.fetch_add(1, Ordering::Relaxed)).max(1);
                let share = left(deadline) * self.jobs as u32 / waiting * SHARES;
                let plain = Plain { share: Some(share), ..plain };
                let mut settled = settle(*id, run, alike[0], folder, &plain, left(deadline));
                for finding in &alike[1..] {
                    if left(deadline).is_zero() || !settled.as_ref().is_ok_and(|item| item.schedule.is_none()) {
                        break;
                    }
                    let other = settle(*id, run, finding, folder, &plain, left(deadline));
                    if other.as_ref().is_ok_and(|item| item.schedule.is_some()) {
                        settled = other;
                    }
                }
                if let Ok(item) = &settled
                    && item.schedule.is_some()
                {
                    let _ = tell.send(item.clone());
                }
                settled
            },
            &mut |done| {
                told.try_iter().for_each(|item| watch(Stage::Found(&item)));
                watch(Stage::Confirming { done, total });
            },
        );
        told.try_iter().for_each(|item| watch(Stage::Found(&item)));
        for ((_, _, known), item) in todo.into_iter().zip(settled) {
            let item = item?;
            match known {
                None => self.items.push(item),
                Some(known) if rank(&item) < rank(&self.items[known]) => self.items[known] = item,
                Some(_) => {}
            }
        }
        Ok(())
    }
}

/// Where hundreds of places use the same variable, any two of them are a finding, and nobody reads them all: so many of each kind
/// stay, the strongest. Returns how many go.
pub fn thin_out(findings: &mut Vec<Finding>) -> u64 {
    let before = findings.len();
    let mut kept: HashMap<Kind, usize> = HashMap::new();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.strength));
    findings.retain(|finding| {
        let kept = kept.entry(finding.kind).or_default();
        *kept += 1;
        *kept <= MOST
    });
    (before - findings.len()) as u64
}
