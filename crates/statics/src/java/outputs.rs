//! What leaves a program: what it prints, and how its threads end.

use reweave_report::determinism::{AccessAt, OutputItem, Verdict};

use super::derived::choice_at;
use super::judge::Judge;
use super::models::Word;
use super::solve::{Birth, Point, ThreadId};

impl Judge<'_, '_, '_> {
    pub(super) fn outputs(&self) -> Vec<OutputItem> {
        let solver = self.facts.solver;
        let is_output = |at: &Point| {
            let prints = |one: &super::solve::Used| one.model.has(Word::Output) || one.model.has(Word::Exit);
            self.facts.threads.is_reached(*at) && solver.used[at].iter().any(prints)
        };
        let all: Vec<Point> = solver.used.keys().copied().filter(is_output).collect();
        let mut items: Vec<OutputItem> = Vec::new();
        for at in &all {
            let Some(call) = solver.call_at(*at) else { continue };
            let arguments = || call.arguments.iter().filter_map(|value| self.taint.value(at.frame, *value)).min();
            let mut ids = self.facts.accesses.by_point.get(at).into_iter().flatten();
            let mut held = || {
                ids.find_map(|id| {
                    let access = &self.facts.accesses.all[*id];
                    access.reads.then(|| self.kind(access.location, Some(*id)))?.because(*id, *at)
                })
            };
            let callees = solver.callees.get(at).into_iter().flatten();
            let shown = || callees.into_iter().find_map(|callee| self.taint.returned(*callee));
            let either = |other: &&Point| {
                self.facts.threads.parallel(solver, *at, **other)
                    && !self.facts.signals.order(*at, **other)
                    && !self.facts.barriers.order(solver, *at, **other)
            };
            let order = all.iter().find(either);
            let because = arguments().or_else(&mut held).or_else(shown).or_else(|| self.taint.decided(*at));
            let tainted = because.is_some();
            let outlived = self.ends.cuts_off(self.facts, *at);
            let differs = tainted || order.is_some() || outlived;
            let unknown = self.taint.incomplete || self.facts.accesses.unknown_statics && !differs;
            let verdict = match (differs, unknown) {
                (_, true) => Verdict::Unknown,
                (true, false) => Verdict::CanDiffer,
                (false, false) => Verdict::Proved,
            };
            let order = order.map(|other| self.naming.point(*other));
            let choice = because.map(|because| choice_at(self.facts, &self.naming, because.root));
            let item = OutputItem { at: self.naming.point(*at), verdict, tainted, choice, order, outlived };
            match items.iter_mut().find(|known| known.at == item.at) {
                Some(known) if known.verdict < item.verdict => *known = item,
                Some(_) => {}
                None => items.push(item),
            }
        }
        items.extend(self.endings());
        items
    }

    /// How threads end: the exit status, and what is printed about exceptions that nobody catches.
    fn endings(&self) -> Vec<OutputItem> {
        let solver = self.facts.solver;
        let unknown = self.taint.incomplete || self.facts.accesses.unknown_statics;
        let mut items = Vec::new();
        for (at, thread) in solver.threads.iter().enumerate() {
            let because = thread.entries.iter().find_map(|entry| self.taint.thrown_because(*entry));
            let differs = because.is_some();
            let is_main = thread.birth == Birth::Main;
            let is_printed = match thread.birth {
                Birth::Main | Birth::Started(_) => true,
                // Others keep it for those who ask for the result.
                Birth::Task(..) => thread.starts.iter().any(|start| self.prints_failures(*start)),
                Birth::Initialiser(_) | Birth::Anywhere => false,
            };
            let verdict = match (differs, unknown && is_main) {
                (true, _) => Verdict::CanDiffer,
                (false, true) => Verdict::Unknown,
                (false, false) => continue,
            };
            let by = self.naming.thread(ThreadId(at as u32));
            let what = if is_main { "exit status".to_owned() } else { format!("uncaught exception of {by}") };
            let at = AccessAt { file: what, by, ..AccessAt::default() };
            if is_printed && !items.iter().any(|known: &OutputItem| known.at == at) {
                let choice = because.map(|because| choice_at(self.facts, &self.naming, because.root));
                items.push(OutputItem { at, verdict, tainted: differs, choice, ..OutputItem::default() });
            }
        }
        items
    }

    /// Tasks whose exceptions end the thread that runs them.
    fn prints_failures(&self, start: Point) -> bool {
        let solver = self.facts.solver;
        solver.call_at(start).is_some_and(|call| {
            matches!(solver.classes.names.text(call.method.name), "execute" | "schedule" | "scheduleAtFixedRate")
        })
    }
}
