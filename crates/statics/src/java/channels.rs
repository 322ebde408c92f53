//! Orders that the library keeps: queues with one end for each of two threads, and pools that run one task at a time.
//!
//! A first-in-first-out queue is a **channel** if one thread alone puts and one alone takes, and nobody does anything
//! else with it: the n-th that is taken is the n-th that was put, whatever the order of threads (Kahn 1974). Tasks that
//! one thread gives to a pool of one thread run in the order in which they were given.

use std::collections::BTreeSet;

use super::accesses::{Access, Accesses, Location};
use super::models::Word;
use super::solve::{Birth, ObjectId, Origin, Point, Solver, ThreadId};
use super::threads::{Interrupts, Threads};

pub struct Channels {
    queues: BTreeSet<ObjectId>,
    /// By thread: the pool that runs it among others, one after the other.
    serial: Vec<Option<ObjectId>>,
}

impl Channels {
    pub fn new(solver: &Solver<'_>, threads: &Threads, accesses: &Accesses, interrupted: &Interrupts) -> Self {
        let mut queues = BTreeSet::new();
        for location in accesses.by_location.keys() {
            let Location::Field(object, field) = *location else { continue };
            let class = solver.classes.names.text(solver.objects[object.index()].class);
            let fifo = field == solver.content && solver.models.is_fifo(class) && !interrupted.any();
            let known = threads.is_single(solver, object) && !accesses.unknown_objects.contains(object.index());
            if fifo && known && has_two_ends(solver, threads, accesses, object) {
                queues.insert(object);
            }
        }
        let all = (0..solver.threads.len()).map(|at| ThreadId(at as u32));
        let serial = all.map(|thread| serial_pool(solver, threads, accesses, thread)).collect();
        Self { queues, serial }
    }

    /// Whether the library orders two accesses, the same way in every execution.
    pub fn order(&self, solver: &Solver<'_>, one: &Access, other: &Access) -> bool {
        let in_queue = matches!(one.location, Location::Field(object, field)
            if field == solver.content && self.queues.contains(&object));
        let pool = |access: &Access| self.serial[solver.frames[access.at.frame.index()].thread.index()];
        in_queue || pool(one).is_some() && pool(one) == pool(other)
    }
}

/// Only the constructor, `put` by one thread and `take` by one thread touch what a queue holds.
fn has_two_ends(solver: &Solver<'_>, threads: &Threads, accesses: &Accesses, queue: ObjectId) -> bool {
    let (mut puts, mut takes) = (BTreeSet::new(), BTreeSet::new());
    for id in &accesses.by_location[&Location::Field(queue, solver.content)] {
        let access = &accesses.all[*id];
        let Some(call) = solver.call_at(access.at).filter(|_| access.library) else { return false };
        let on_it = call.arguments.first().is_some_and(|on| solver.objects_of(access.at.frame, *on) == [queue]);
        let thread = solver.frames[access.at.frame.index()].thread;
        let descriptor = solver.classes.names.text(call.method.descriptor);
        match solver.classes.names.text(call.method.name) {
            _ if !on_it => return false,
            "<init>" if matches!(descriptor, "()V" | "(I)V" | "(Z)V" | "(IZ)V") => {}
            "put" => {
                puts.insert(thread);
            }
            "take" => {
                takes.insert(thread);
            }
            _ => return false,
        }
    }
    let is_one = |ends: &BTreeSet<ThreadId>| match ends.iter().next() {
        Some(only) => ends.len() == 1 && !threads.many[only.index()],
        None => true,
    };
    is_one(&puts) && is_one(&takes)
}

/// The pool of one thread that runs all instances of a task, given by one thread.
fn serial_pool(solver: &Solver<'_>, threads: &Threads, accesses: &Accesses, thread: ThreadId) -> Option<ObjectId> {
    let own = &solver.threads[thread.index()];
    let (Birth::Task(..), Some(creator)) = (own.birth, own.creator) else { return None };
    let pool_of = |at: &Point| {
        let given = solver.used.get(at)?.iter().any(|one| one.model.has(Word::Submit));
        let receiver = solver.call_at(*at)?.arguments.first()?;
        match solver.objects_of(at.frame, *receiver)[..] {
            [pool] if given => Some(pool),
            _ => None,
        }
    };
    let pool = own.starts.first().and_then(pool_of)?;
    let Origin::Site(method, pc, _) = solver.objects[pool.index()].origin else { return None };
    let is_maker = |at: &&Point| solver.frames[at.frame.index()].method == method && solver.statement_at(**at).pc == pc;
    let mut makers = solver.used.keys().filter(is_maker);
    let named = |at: &Point| {
        let call = solver.call_at(*at);
        call.is_some_and(|call| solver.classes.names.text(call.method.name) == "newSingleThreadExecutor")
    };
    let one_by_one = makers.next().is_some_and(named) && makers.all(named);
    let plain = |at: &Point| {
        let call = solver.call_at(*at);
        call.is_some_and(|call| matches!(solver.classes.names.text(call.method.name), "submit" | "execute"))
    };
    // Nobody else gives it tasks.
    let by_one = solver.started.keys().all(|at| {
        let receiver = solver.call_at(*at).and_then(|call| call.arguments.first());
        let may = receiver.is_some_and(|one| solver.objects_of(at.frame, *one).contains(&pool));
        !may || plain(at) && pool_of(at) == Some(pool) && solver.frames[at.frame.index()].thread == creator
    });
    let known = threads.is_single(solver, pool) && !accesses.unknown_objects.contains(pool.index());
    (one_by_one && by_one && known && !threads.many[creator.index()]).then_some(pool)
}
