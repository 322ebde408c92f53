//! What depends on the order of threads in calls: of the program's own methods, of the library, of tasks.

use super::{Because, Flow, Root};
use crate::java::code::{Call, How};
use crate::java::conflicts::AccessId;
use crate::java::exceptions::Thrown;
use crate::java::models::{Model, Word};
use crate::java::solve::{Birth, OPAQUE, Point, ThreadId, known};
use crate::java::threads::threads_of;

impl Flow<'_, '_> {
    /// `decided`: whether it is done depends on a choice.
    pub(super) fn call(&mut self, at: Point, call: &Call, decided: Option<Because>, ids: &[AccessId]) {
        let frame = at.frame;
        let has_receiver = matches!(call.how, How::Special | How::Virtual);
        let moves = call.arguments.first().filter(|_| has_receiver).and_then(|one| self.moves(frame, *one));
        let arguments = call.arguments.iter().enumerate().filter_map(|(index, argument)| match index {
            0 if has_receiver => moves,
            _ => self.is(frame, *argument),
        });
        let given = arguments.min();
        let held = ids.iter().filter(|id| self.choices.accesses.all[**id].reads).find_map(|id| self.reads(*id));
        let held = held.or_else(|| self.holds_tainted_result(at, call));
        let given_or_held = given.or(held);
        self.stages(at, given_or_held);
        let callees = self.solver.callees.get(&at).cloned().unwrap_or_default();
        let back = self.solver.callbacks.contains(&at);
        let which = moves.filter(|_| callees.len() > 1);
        let mut returned = None;
        for callee in &callees {
            if let Some(because) = decided.or(which) {
                self.changed |= self.taint.frames.insert(callee.index(), because);
            }
            let count = self.solver.frames[callee.index()].body.code.parameters.len();
            for index in 0..count {
                let because = match call.arguments.get(index) {
                    Some(argument) if !back => self.is(frame, *argument),
                    _ => given_or_held,
                };
                if let Some(because) = because {
                    self.changed |= self.taint.parameters[callee.index()].insert(index, because);
                }
            }
            returned = returned.or(self.taint.returned(*callee));
        }
        if let Some(because) = decided.or_else(|| self.follows_failure(at, call)) {
            for thread in self.solver.started.get(&at).cloned().into_iter().flatten() {
                self.begins_or_not(thread, because);
            }
        }
        let used = self.solver.used.get(&at).cloned().unwrap_or_default();
        let mut outcome = returned.filter(|_| !used.is_empty() || !callees.is_empty());
        for one in &used {
            outcome = outcome.or_else(|| self.outcome(at, call, &one.model));
        }
        let unknown = || ids.iter().any(|id| self.choices.accesses.is_unknown(self.choices.accesses.all[*id].location));
        let touched = || unknown().then_some(Because::new(Root::Touched(at)));
        let functional = !used.is_empty() || matches!(call.how, How::Concat | How::Unknown);
        let of_given = || if functional { given_or_held.or_else(touched) } else { None };
        if let Some((to, because)) = call.to.zip(outcome.or(which).or_else(of_given)) {
            self.set(frame, to, because);
        }
        for id in ids.iter().filter(|id| self.choices.accesses.all[**id].writes) {
            let value = match self.choices.accesses.all[*id].value {
                Some(value) => self.is(frame, value),
                None => given_or_held.or(outcome).or(returned.filter(|_| back)),
            };
            self.writes(*id, value, decided, moves);
        }
    }

    /// Whether what a library method returns differs, whatever it is given.
    fn outcome(&self, at: Point, call: &Call, model: &Model) -> Option<Because> {
        let new = |root: Root| Some(Because::new(root));
        if model.has(Word::Choice) && !self.is_alone {
            return new(Root::Library(at));
        }
        if model.has(Word::Opaque) {
            return new(Root::Opaque(at));
        }
        // What is not understood may have changed what it asks for.
        if let Some(opaque) = self.opaque_classes.get(&call.method.class).filter(|_| model.has(Word::Input)) {
            return new(Root::Opaque(*opaque));
        }
        if model.has(Word::ThreadName) && !self.threads_of_main {
            return new(Root::ThreadName(at));
        }
        let returned = |thread: ThreadId| {
            let entries = &self.solver.threads[thread.index()].entries;
            entries.iter().find_map(|entry| self.taint.returned(*entry))
        };
        let started = self.solver.started.get(&at).filter(|_| model.has(Word::Joins));
        let joined = started.into_iter().flatten().find_map(|thread| returned(*thread));
        if joined.is_some() || !model.has(Word::Join) || !model.has(Word::Gives) {
            return joined;
        }
        let objects = self.solver.objects_of(at.frame, call.arguments[0]);
        objects.into_iter().flat_map(|object| threads_of(self.solver, object)).find_map(returned)
    }

    /// A thread that is run, or not, because of a choice.
    pub(super) fn begins_or_not(&mut self, thread: ThreadId, because: Because) {
        for entry in &self.solver.threads[thread.index()].entries {
            self.changed |= self.taint.frames.insert(entry.index(), because);
        }
    }

    /// The stage of a future whose task fails, or does not, because of a choice: then so does the stage.
    fn follows_failure(&mut self, at: Point, call: &Call) -> Option<Because> {
        let started = self.solver.started.get(&at)?;
        let mut used = self.solver.used.get(&at).into_iter().flatten();
        let has_receiver = call.how == How::Virtual && used.any(|one| one.model.has(Word::Submit));
        let receiver = call.arguments.first().copied().filter(|_| has_receiver);
        let mut upstream = receiver
            .into_iter()
            .flat_map(|receiver| self.solver.objects_of(at.frame, receiver))
            .flat_map(|object| threads_of(self.solver, object))
            .flat_map(|thread| self.solver.threads[thread.index()].entries.clone());
        let because = upstream.find_map(|entry| self.taint.thrown_because(entry))?;
        for thread in started.clone() {
            self.fails(thread, because);
        }
        Some(because)
    }

    /// A task fails, or does not, because of a choice.
    fn fails(&mut self, thread: ThreadId, because: Because) {
        for entry in self.solver.threads[thread.index()].entries.clone() {
            self.throws(entry, &Thrown::any(), because);
        }
    }

    /// Tasks that may be cancelled may never be run, and fail for those who wait.
    pub(super) fn cancelled(&mut self) {
        let mut tasks: Vec<(ThreadId, Because)> = Vec::new();
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
                let because = Because::new(Root::Cancels(*at));
                let meant = all.filter(|_| self.choices.threads.is_reached(*at)).filter(is_meant);
                tasks.extend(meant.map(|thread| (thread, because)));
            }
        }
        for (task, because) in tasks {
            self.begins_or_not(task, because);
            self.fails(task, because);
        }
    }

    /// Threads that do not begin, or end early, because of a choice, and what that does to others.
    pub(super) fn beginnings(&mut self) {
        for at in 0..self.solver.threads.len() {
            let thread = ThreadId(at as u32);
            let entries = &self.solver.threads[at].entries;
            let Some(because) = entries.iter().find_map(|entry| self.taint.thrown_because(*entry)) else { continue };
            // A timer does not run a task again that failed, nor any other.
            if self.solver.often.contains(&thread) {
                self.solver.often.clone().into_iter().for_each(|other| self.begins_or_not(other, because));
            }
            // Whoever uses a class whose initialiser failed fails.
            if matches!(self.solver.threads[at].birth, Birth::Initialiser(_)) {
                for frame in 0..self.solver.frames.len() {
                    self.changed |= self.taint.frames.insert(frame, because);
                }
            }
        }
    }

    /// Whether what a task returned, whose future is given, differs.
    fn holds_tainted_result(&self, at: Point, call: &Call) -> Option<Because> {
        if !self.solver.used.contains_key(&at) {
            return None;
        }
        call.arguments.iter().flat_map(|argument| self.solver.objects_of(at.frame, *argument)).find_map(|object| {
            let mut entries =
                threads_of(self.solver, object).into_iter().flat_map(|one| &self.solver.threads[one.index()].entries);
            entries.find_map(|entry| self.taint.returned(*entry))
        })
    }

    /// Tasks that get what the call is given: stages of futures, parts of streams.
    fn stages(&mut self, at: Point, given: Option<Because>) {
        let Some(because) = given else { return };
        for thread in self.solver.started.get(&at).into_iter().flatten() {
            for entry in &self.solver.threads[thread.index()].entries {
                let count = self.solver.frames[entry.index()].body.code.parameters.len();
                for index in 1..count {
                    self.changed |= self.taint.parameters[entry.index()].insert(index, because);
                }
            }
        }
    }
}
