//! What depends on the order of threads in calls: of the program's own methods, of the library, of tasks.

use super::Flow;
use crate::java::code::{Call, How};
use crate::java::conflicts::AccessId;
use crate::java::exceptions::Thrown;
use crate::java::models::Word;
use crate::java::solve::{Birth, FrameId, OPAQUE, Point, ThreadId, known};
use crate::java::threads::threads_of;

impl Flow<'_, '_> {
    /// `raised`: whether it is done depends on an exception.
    pub(super) fn call(&mut self, at: Point, call: &Call, decided: bool, raised: bool, ids: &[AccessId]) {
        let frame = at.frame;
        let has_receiver = matches!(call.how, How::Special | How::Virtual);
        let moves = has_receiver && self.moves(frame, call.arguments[0]);
        let given = call.arguments.iter().enumerate().any(|(index, argument)| match index {
            0 if has_receiver => moves,
            _ => self.is(frame, *argument),
        });
        let held = ids.iter().any(|id| self.choices.accesses.all[*id].reads && self.reads(*id));
        let held = held || self.holds_tainted_result(at, call);
        self.stages(at, given || held);
        let callees = self.solver.callees.get(&at).cloned().unwrap_or_default();
        let back = self.solver.callbacks.contains(&at);
        let mut returned = false;
        for callee in &callees {
            if decided || raised || moves && callees.len() > 1 {
                self.changed |= self.taint.frames.insert(callee.index());
            }
            let count = self.solver.frames[callee.index()].body.code.parameters.len();
            for index in 0..count {
                let tainted = match call.arguments.get(index) {
                    Some(argument) if !back => self.is(frame, *argument),
                    _ => given || held,
                };
                if tainted {
                    self.changed |= self.taint.parameters[callee.index()].insert(index);
                }
            }
            returned |= self.taint.returns.contains(callee.index());
        }
        if decided || raised || self.follows_failure(at, call) {
            for thread in self.solver.started.get(&at).cloned().into_iter().flatten() {
                self.begins_or_not(thread);
            }
        }
        let used = self.solver.used.get(&at).cloned().unwrap_or_default();
        let mut outcome = returned && (!used.is_empty() || !callees.is_empty());
        for one in &used {
            let word = |word: Word| one.model.has(word);
            outcome |= word(Word::Choice) && !self.is_alone || word(Word::Opaque);
            // What is not understood may have changed what it asks for.
            outcome |= word(Word::Input) && self.opaque_classes.contains(&call.method.class);
            outcome |= word(Word::ThreadName) && !self.threads_of_main;
            if word(Word::Joins) {
                let started = self.solver.started.get(&at).into_iter().flatten();
                let mut entries = started.flat_map(|thread| &self.solver.threads[thread.index()].entries);
                outcome |= entries.any(|entry| self.taint.returns.contains(entry.index()));
            }
            if word(Word::Join) && word(Word::Gives) {
                for object in self.solver.objects_of(frame, call.arguments[0]) {
                    let entries = threads_of(self.solver, object)
                        .into_iter()
                        .flat_map(|thread| self.solver.threads[thread.index()].entries.clone());
                    outcome |= entries.into_iter().any(|entry| self.taint.returns.contains(entry.index()));
                }
            }
        }
        let unknown = ids.iter().any(|id| self.choices.accesses.is_unknown(self.choices.accesses.all[*id].location));
        let functional = !used.is_empty() || matches!(call.how, How::Concat | How::Unknown);
        let tainted = outcome || moves && callees.len() > 1 || functional && (given || held || unknown);
        if let Some(to) = call.to.filter(|_| tainted) {
            self.set(frame, to);
        }
        for id in ids {
            let access = &self.choices.accesses.all[*id];
            let value = match access.value {
                Some(value) => self.is(frame, value),
                None => given || held || outcome || returned && back,
            };
            if access.writes && (decided || raised || value || moves) {
                self.changed |= self.taint.writes.insert(*id);
            }
        }
    }

    /// A thread that is run, or not, because of a choice.
    pub(super) fn begins_or_not(&mut self, thread: ThreadId) {
        for entry in &self.solver.threads[thread.index()].entries {
            self.changed |= self.taint.frames.insert(entry.index());
        }
    }

    /// The stage of a future whose task fails, or does not, because of a choice: then so does the stage.
    fn follows_failure(&mut self, at: Point, call: &Call) -> bool {
        let Some(started) = self.solver.started.get(&at) else { return false };
        let mut used = self.solver.used.get(&at).into_iter().flatten();
        let has_receiver = call.how == How::Virtual && used.any(|one| one.model.has(Word::Submit));
        let receiver = call.arguments.first().copied().filter(|_| has_receiver);
        let upstream: Vec<FrameId> = receiver
            .into_iter()
            .flat_map(|receiver| self.solver.objects_of(at.frame, receiver))
            .flat_map(|object| threads_of(self.solver, object))
            .flat_map(|thread| self.solver.threads[thread.index()].entries.clone())
            .collect();
        if upstream.iter().all(|entry| self.taint.thrown[entry.index()].is_nothing()) {
            return false;
        }
        for thread in started.clone() {
            self.fails(thread);
        }
        true
    }

    /// A task fails, or does not, because of a choice.
    fn fails(&mut self, thread: ThreadId) {
        for entry in &self.solver.threads[thread.index()].entries {
            self.changed |= self.taint.thrown[entry.index()].add(&Thrown::any());
        }
    }

    /// Tasks that may be cancelled may never be run, and fail for those who wait.
    pub(super) fn cancelled(&mut self) {
        let mut tasks: Vec<ThreadId> = Vec::new();
        for (at, used) in &self.solver.used {
            for one in known(used).filter(|one| one.model.has(Word::Cancels)) {
                let is_meant = |thread: &ThreadId| {
                    let own = &self.solver.threads[thread.index()];
                    let Birth::Task(task, ..) = own.birth else { return false };
                    let Some(object) = one.receiver.filter(|object| *object != OPAQUE) else { return true };
                    let given = |start: &Point| {
                        let receiver = self.solver.call_at(*start).and_then(|call| call.arguments.first().copied());
                        receiver.is_some_and(|value| self.solver.refers(start.frame, value).contains(object.index()))
                    };
                    task == object || threads_of(self.solver, object).contains(thread) || own.starts.iter().any(given)
                };
                let all = (0..self.solver.threads.len() as u32).map(ThreadId);
                tasks.extend(all.filter(|_| self.choices.threads.is_reached(*at)).filter(is_meant));
            }
        }
        for task in tasks {
            self.begins_or_not(task);
            self.fails(task);
        }
    }

    /// Threads that do not begin, or end early, because of a choice, and what that does to others.
    pub(super) fn beginnings(&mut self) {
        for at in 0..self.solver.threads.len() {
            let thread = ThreadId(at as u32);
            let entries = &self.solver.threads[at].entries;
            if entries.iter().all(|entry| self.taint.thrown[entry.index()].is_nothing()) {
                continue;
            }
            // A timer does not run a task again that failed, nor any other.
            if self.solver.often.contains(&thread) {
                self.solver.often.clone().into_iter().for_each(|other| self.begins_or_not(other));
            }
            // Whoever uses a class whose initialiser failed fails.
            if matches!(self.solver.threads[at].birth, Birth::Initialiser(_)) {
                for frame in 0..self.solver.frames.len() {
                    self.changed |= self.taint.frames.insert(frame);
                }
            }
        }
    }

    /// Whether what a task returned, whose future is given, differs.
    fn holds_tainted_result(&self, at: Point, call: &Call) -> bool {
        if !self.solver.used.contains_key(&at) {
            return false;
        }
        call.arguments.iter().flat_map(|argument| self.solver.objects_of(at.frame, *argument)).any(|object| {
            let mut entries =
                threads_of(self.solver, object).into_iter().flat_map(|one| &self.solver.threads[one.index()].entries);
            entries.any(|entry| self.taint.returns.contains(entry.index()))
        })
    }

    /// Tasks that get what the call is given: stages of futures, parts of streams.
    fn stages(&mut self, at: Point, tainted: bool) {
        if !tainted {
            return;
        }
        for thread in self.solver.started.get(&at).into_iter().flatten() {
            for entry in &self.solver.threads[thread.index()].entries {
                let count = self.solver.frames[entry.index()].body.code.parameters.len();
                for index in 1..count {
                    self.changed |= self.taint.parameters[entry.index()].insert(index);
                }
            }
        }
    }
}
