//! What waits: for all tasks of a pool (`close()`, and `awaitTermination` or `isTerminated` where they answer yes), and
//! whether a limit may run out.

use super::code::{Block, Constant, Def, Kind, Place, Test, Value};
use super::join_loops::Joined;
use super::models::Word;
use super::solve::{Birth, ObjectId, Point, Solver, ThreadId};

/// Limits from here on may be assumed not to run out.
const LONG_MILLISECONDS: i64 = 1_000;

/// Tasks that are given to a pool, which is one object of a run, by the thread that waits, and to no other pool.
pub fn tasks(solver: &Solver<'_>, at: Point, is_single: &dyn Fn(ObjectId) -> bool) -> Vec<ThreadId> {
    let receivers = |at: Point| {
        let receiver = solver.call_at(at).and_then(|call| call.arguments.first());
        receiver.map(|receiver| solver.objects_of(at.frame, *receiver))
    };
    let Some(&[pool]) = receivers(at).as_deref() else { return Vec::new() };
    let own = Some(solver.frames[at.frame.index()].thread);
    let is_meant = |thread: &ThreadId| {
        let thread = &solver.threads[thread.index()];
        // A task that somebody else submits may not have been submitted yet.
        let given = |start: &Point| receivers(*start).as_deref() == Some(&[pool]);
        matches!(thread.birth, Birth::Task(..)) && thread.creator == own && thread.starts.iter().all(given)
    };
    let all = (0..solver.threads.len()).map(|thread| ThreadId(thread as u32));
    if is_single(pool) { all.filter(is_meant).collect() } else { Vec::new() }
}

/// Edges that are taken only when a pool said that all of its tasks are over.
pub fn find(solver: &Solver<'_>, is_single: &dyn Fn(ObjectId) -> bool, joined: &mut Joined) {
    for (at, used) in &solver.used {
        let is_question = !used.is_empty() && used.iter().all(|one| one.model.has(Word::Ended));
        let Some(answer) = solver.call_at(*at).and_then(|call| call.to).filter(|_| is_question) else { continue };
        let tasks = tasks(solver, *at, is_single);
        for (block, code) in solver.code(*at).blocks.iter().enumerate() {
            let yes = match code.statements.last().map(|last| &last.kind) {
                Some(Kind::Branch(Test::Eq, value, None)) if *value == answer => code.next.get(1),
                Some(Kind::Branch(Test::Ne, value, None)) if *value == answer => code.next.first(),
                _ => None,
            };
            if let Some(yes) = yes.filter(|_| code.next.len() == 2 && code.next[0] != code.next[1]) {
                joined.entry((at.frame, block as Block, *yes)).or_default().extend(&tasks);
            }
        }
    }
}

impl Solver<'_> {
    /// Whether a call that waits has no limit, or a long one that is assumed not to run out.
    pub(super) fn waits_for_good(&self, at: Point) -> bool {
        let Some(call) = self.call_at(at) else { return false };
        let code = self.code(at);
        let whole = |value: &Value| match code.constant(code.plain(*value)) {
            Some(Constant::Whole(number)) => Some(number),
            _ => None,
        };
        let descriptor = self.classes.names.text(call.method.descriptor);
        let parameters = descriptor.split(')').next().unwrap_or_default();
        match (parameters, &call.arguments[..]) {
            ("(", _) => true,
            _ if !self.limits_hold => false,
            ("(J", [_, limit]) => whole(limit).is_some_and(|limit| limit >= LONG_MILLISECONDS || limit == 0),
            ("(JLjava/util/concurrent/TimeUnit;", [_, limit, unit]) => {
                let Def::Load(Place::Static(unit)) = code.def(code.plain(*unit)) else { return false };
                let one = match self.classes.names.text(unit.name) {
                    "DAYS" | "HOURS" | "MINUTES" | "SECONDS" => 1_000,
                    "MILLISECONDS" => 1,
                    _ => return false,
                };
                whole(limit).is_some_and(|limit| limit.saturating_mul(one) >= LONG_MILLISECONDS)
            }
            _ => false,
        }
    }
}
