//! Loops that wait for all threads of an array or a list: `for (i = 0; i < n; i++) t[i].join()`.
//!
//! Such a loop is over for all threads only if every thread that was started is in the array, none was overwritten
//! there, and the loop visits every place. Each condition is checked on the code; where one cannot be shown the loop
//! joins nothing ([`super::join_order`] checks that each thread is started before, and waited for whatever happens).

use std::collections::BTreeMap;

use super::classes::FieldId;
use super::code::{BinaryOp, Block, Call, Code, Constant, Def, Kind, Place, Test, Type, Value};
use super::flow_graph::{FlowGraph, Loop};
use super::models::Word;
use super::pools;
use super::solve::{Birth, FrameId, ObjectId, Origin, Point, Solver, ThreadId};

/// Threads that have ended when an edge is taken.
pub type Joined = BTreeMap<(FrameId, Block, Block), Vec<ThreadId>>;

pub fn find(
    solver: &Solver<'_>,
    is_single: &dyn Fn(ObjectId) -> bool,
    is_repeated: &dyn Fn(FrameId) -> bool,
) -> Joined {
    let finder = Finder { solver, is_single, is_repeated };
    let mut joined = Joined::new();
    for (at, used) in &solver.used {
        let Some(call) = solver.call_at(*at) else { continue };
        if !solver.waits_for_good(*at) || !used.iter().any(|one| one.model.has(Word::Join)) {
            continue;
        }
        if let Some((edge, mut threads)) = finder.all(*at, call) {
            // A thread that somebody else starts may not have been started yet.
            let own = Some(solver.frames[at.frame.index()].thread);
            threads.retain(|thread| solver.threads[thread.index()].creator == own);
            threads.retain(|thread| finder.is_started_before(*thread, *at));
            joined.entry((at.frame, edge.0, edge.1)).or_default().extend(threads);
        }
    }
    pools::find(solver, is_single, &mut joined);
    made_up(solver, &mut joined);
    joined
}

/// Loops whose turns were made threads are left when all of these are over.
fn made_up(solver: &Solver<'_>, joined: &mut Joined) {
    for (method, (from, to), pc) in &solver.turns {
        for (at, thread) in solver.threads.iter().enumerate() {
            let Birth::Started(object) = thread.birth else { continue };
            let is_turn = matches!(solver.objects[object.index()].origin, Origin::Site(own, made, _) if own == *method && made == *pc);
            for start in thread.starts.iter().filter(|_| is_turn) {
                joined.entry((start.frame, *from, *to)).or_default().push(ThreadId(at as u32));
            }
        }
    }
}

pub(super) struct Finder<'s, 'a> {
    pub solver: &'s Solver<'a>,
    pub is_single: &'s dyn Fn(ObjectId) -> bool,
    pub is_repeated: &'s dyn Fn(FrameId) -> bool,
}

/// Where something is put: the statement, the place's index if it has one, and what.
pub(super) struct Put {
    pub at: Point,
    pub index: Option<Value>,
    pub value: Value,
}

impl Finder<'_, '_> {
    pub fn code(&self, frame: FrameId) -> &Code {
        &self.solver.frames[frame.index()].body.code
    }

    pub fn graph(&self, frame: FrameId) -> &FlowGraph {
        &self.solver.frames[frame.index()].body.graph
    }

    /// The only object that a value refers to, if that is one object of a run.
    pub(super) fn only(&self, frame: FrameId, value: Value) -> Option<ObjectId> {
        match self.solver.objects_of(frame, value)[..] {
            [object] if (self.is_single)(object) => Some(object),
            _ => None,
        }
    }

    /// The call that makes a value.
    fn maker(&self, frame: FrameId, value: Value) -> Option<(Point, &Call)> {
        let info = &self.code(frame).values[value.index()];
        let statements = &self.code(frame).blocks[info.block as usize].statements;
        statements.iter().enumerate().find_map(|(index, statement)| match &statement.kind {
            Kind::Call(call) if call.to == Some(value) => {
                Some((Point { frame, block: info.block, index: index as u32 }, &**call))
            }
            _ => None,
        })
    }

    fn name(&self, call: &Call) -> &str {
        self.solver.classes.names.text(call.method.name)
    }

    fn all(&self, at: Point, call: &Call) -> Option<((Block, Block), Vec<ThreadId>)> {
        let (code, graph) = (self.code(at.frame), self.graph(at.frame));
        let around = &graph.loops[graph.innermost[at.block as usize]?];
        let receiver = code.plain(*call.arguments.first()?);
        let block_of = |value: Value| code.values[value.index()].block;
        let every_time = |block: Block| latches(graph, around).all(|latch| graph.dominates(block, latch));
        if !every_time(at.block) || !around.blocks.contains(&block_of(receiver)) {
            return None;
        }
        if self.may_be_skipped(at, around, receiver) {
            return None;
        }
        let (from, to, test) = exit(code, around)?;
        match code.def(receiver) {
            Def::Load(Place::Element(array, index)) => {
                let object = self.only(at.frame, *array)?;
                let bound = bound_of(code, (from, to, test), *index)?;
                let (first, step) = induction(code, around, code.plain(*index))?;
                (first >= 0 && step == 1).then_some(())?;
                let puts = self.stores(object);
                let whole = self.covers(object, at.frame, bound);
                let is_there = |put: &Put| {
                    let covered = whole || self.same_bound(put, at.frame, bound);
                    covered && self.begins(put) >= Some(first) && self.stays(put, &puts, (at.frame, around))
                };
                Some(((from, to), self.threads(object, self.solver.element, &puts, &is_there)?))
            }
            Def::Result => {
                let (_, maker) = self.maker(at.frame, receiver)?;
                let name = self.name(maker);
                let list = match (name, maker.arguments.len()) {
                    ("next", 1) => {
                        let iterator = code.plain(*maker.arguments.first()?);
                        let Kind::Branch(Test::Eq, tested, None) = test else { return None };
                        let (asked, has_next) = self.maker(at.frame, *tested)?;
                        let asks =
                            self.name(has_next) == "hasNext" && code.plain(*has_next.arguments.first()?) == iterator;
                        let leaves = code.blocks[from as usize].next.first() == Some(&to);
                        (asks && leaves && asked.block == from).then_some(())?;
                        let (made, iterate) = self.maker(at.frame, iterator)?;
                        let outside = !around.blocks.contains(&made.block);
                        (self.name(iterate) == "iterator" && outside).then_some(*iterate.arguments.first()?)?
                    }
                    ("get", 2) => {
                        let bound = bound_of(code, (from, to, test), maker.arguments[1])?;
                        let (_, size) = self.maker(at.frame, bound)?;
                        (induction(code, around, code.plain(maker.arguments[1]))? == (0, 1)).then_some(())?;
                        let same = self.only(at.frame, *size.arguments.first()?)
                            == self.only(at.frame, *maker.arguments.first()?);
                        (self.name(size) == "size" && same).then_some(*maker.arguments.first()?)?
                    }
                    _ => return None,
                };
                let object = self.only(at.frame, list)?;
                let puts = self.additions(object)?;
                Some(((from, to), self.threads(object, self.solver.content, &puts, &|_| true)?))
            }
            _ => None,
        }
    }

    /// All stores into an array.
    fn stores(&self, array: ObjectId) -> Vec<Put> {
        let mut puts = Vec::new();
        for at in self.solver.points() {
            if let Kind::Store(Place::Element(base, index), value) = &self.solver.statement_at(at).kind
                && self.solver.refers(at.frame, *base).contains(array.index())
            {
                puts.push(Put { at, index: Some(*index), value: *value });
            }
        }
        puts
    }

    /// All that is added to a list, if nothing is ever taken out.
    fn additions(&self, list: ObjectId) -> Option<Vec<Put>> {
        let mut puts = Vec::new();
        for (at, used) in &self.solver.used {
            for one in used {
                let call = self.solver.call_at(*at)?;
                let Some(receiver) = one.receiver else { continue };
                let shows = self
                    .solver
                    .field_nodes
                    .get(&(receiver, self.solver.of))
                    .is_some_and(|node| self.solver.points_to[*node as usize].contains(list.index()));
                let name = self.name(call);
                if shows && one.model.has(Word::Writes) && name != "next" {
                    return None;
                }
                let changes = one.model.has(Word::Writes) || one.model.has(Word::Keeps) || one.model.has(Word::Fills);
                if receiver != list || !changes {
                    continue;
                }
                let descriptor = self.solver.classes.names.text(call.method.descriptor);
                match (name, call.arguments.len()) {
                    ("<init>", _) if matches!(descriptor, "()V" | "(I)V") => {}
                    ("add" | "addElement" | "addLast", 2) => {
                        puts.push(Put { at: *at, index: None, value: call.arguments[1] });
                    }
                    _ => return None,
                }
            }
        }
        Some(puts)
    }

    /// The threads in a container that, once started, are there until all of them are waited for.
    fn threads(
        &self,
        object: ObjectId,
        field: FieldId,
        puts: &[Put],
        is_there: &dyn Fn(&Put) -> bool,
    ) -> Option<Vec<ThreadId>> {
        let node = self.solver.field_nodes.get(&(object, field))?;
        let mut threads = Vec::new();
        for member in self.solver.points_to[*node as usize].iter().map(|at| ObjectId(at as u32)) {
            for thread in super::threads::threads_of(self.solver, member) {
                let own = &self.solver.threads[thread.index()];
                let is_task = matches!(own.birth, Birth::Task(..));
                let holds = |put: &&Put| self.solver.refers(put.at.frame, put.value).contains(member.index());
                let Some(put) = puts.iter().find(holds) else { continue };
                let alone = self.solver.refers(put.at.frame, put.value).iter().count() == 1;
                let fits = alone && self.is_fresh(put, member, is_task) && is_there(put);
                let every = own.starts.iter().all(|start| self.is_put(*start, put, object, is_task));
                if fits && every && !own.is_folded {
                    threads.push(thread);
                }
            }
        }
        (!threads.is_empty()).then_some(threads)
    }

    /// What is put is made in the same turn of the same loop.
    fn is_fresh(&self, put: &Put, member: ObjectId, is_task: bool) -> bool {
        let code = self.code(put.at.frame);
        let value = code.plain(put.value);
        let block = code.values[value.index()].block;
        let made =
            self.solver.objects[member.index()].made.iter().all(|(frame, at)| (*frame, *at) == (put.at.frame, block));
        let is_new = match code.def(value) {
            Def::New(_) => true,
            Def::Result => is_task,
            _ => false,
        };
        is_new && made && self.graph(put.at.frame).same_loop(block, put.at.block)
    }

    /// The first place that is put to.
    fn begins(&self, put: &Put) -> Option<i64> {
        let index = put.index?;
        let code = self.code(put.at.frame);
        if let Some(Constant::Whole(own)) = code.constant(index) {
            return Some(own);
        }
        let graph = self.graph(put.at.frame);
        induction(code, &graph.loops[graph.innermost[put.at.block as usize]?], code.plain(index))
            .map(|(first, _)| first)
    }

    /// Another put is over before this one begins, or begins after a loop that waits.
    fn is_apart(&self, other: &Put, put: &Put, (frame, waits): (FrameId, &Loop)) -> bool {
        if other.at.frame != frame || put.at.frame != frame {
            return false;
        }
        let graph = self.graph(frame);
        let around = |block: Block| graph.loops.iter().filter(move |one| one.blocks.contains(&block));
        let (Some(own), None) = (around(put.at.block).next(), around(put.at.block).nth(1)) else { return false };
        let mut others = around(other.at.block);
        let (theirs, alone) = (others.next(), others.next().is_none());
        let head = theirs.map_or(other.at.block, |one| one.head);
        let outside = |one: &Loop, block: Block| !one.blocks.contains(&block);
        let known = theirs.is_some() || !graph.in_loop[other.at.block as usize];
        let before =
            outside(own, head) && theirs.is_none_or(|one| outside(one, own.head)) && graph.dominates(head, own.head);
        let after = outside(waits, head) && graph.dominates(waits.head, head);
        alone && known && around(waits.head).count() == 1 && (before || after)
    }

    /// No other put takes its place before a loop has waited for it.
    fn stays(&self, put: &Put, puts: &[Put], waits: (FrameId, &Loop)) -> bool {
        let Some(index) = put.index else { return true };
        let code = self.code(put.at.frame);
        let graph = self.graph(put.at.frame);
        if (self.is_repeated)(put.at.frame) {
            return false;
        }
        if let Some(Constant::Whole(own)) = code.constant(index) {
            let other = |other: &Put| {
                let constant = other.index.and_then(|index| self.code(other.at.frame).constant(index));
                other.at == put.at || matches!(constant, Some(Constant::Whole(other)) if other != own)
            };
            return !graph.in_loop[put.at.block as usize] && puts.iter().all(other);
        }
        let around: Vec<&Loop> = graph.loops.iter().filter(|one| one.blocks.contains(&put.at.block)).collect();
        let &[around] = &around[..] else { return false };
        puts.iter().all(|other| other.at == put.at || self.is_apart(other, put, waits))
            && induction(code, around, code.plain(index)).is_some_and(|(first, step)| first >= 0 && step == 1)
    }

    /// What is started was put there before, or comes from there.
    fn is_put(&self, start: Point, put: &Put, container: ObjectId, is_task: bool) -> bool {
        let Some(call) = self.solver.call_at(start) else { return false };
        let code = self.code(start.frame);
        let graph = self.graph(start.frame);
        if is_task {
            // The future is put there after it was returned.
            let same = start.frame == put.at.frame && call.to == Some(code.plain(put.value));
            return same && start.block == put.at.block;
        }
        let Some(receiver) = call.arguments.first().map(|one| code.plain(*one)) else { return false };
        if start.frame == put.at.frame && receiver == code.plain(put.value) {
            let before = start.block == put.at.block || graph.dominates(put.at.block, start.block);
            return before && graph.same_loop(start.block, put.at.block);
        }
        let from = match code.def(receiver) {
            Def::Load(Place::Element(array, _)) => Some(*array),
            Def::Result => self.maker(start.frame, receiver).and_then(|(_, maker)| {
                let holder = match self.name(maker) {
                    "get" => *maker.arguments.first()?,
                    "next" => {
                        let (_, iterate) = self.maker(start.frame, code.plain(*maker.arguments.first()?))?;
                        *iterate.arguments.first()?
                    }
                    _ => return None,
                };
                Some(holder)
            }),
            _ => None,
        };
        from.is_some_and(|from| self.solver.objects_of(start.frame, from) == [container])
    }
}

fn latches<'g>(graph: &'g FlowGraph, around: &'g Loop) -> impl Iterator<Item = Block> + 'g {
    let inside = |from: &&usize| around.blocks.contains(&(**from as Block));
    graph.predecessors[around.head as usize].iter().filter(inside).map(|from| *from as Block)
}

/// The one way out of a loop, at its head, without exceptions.
fn exit<'c>(code: &'c Code, around: &Loop) -> Option<(Block, Block, &'c Kind)> {
    let mut ways = around.blocks.iter().flat_map(|from| {
        let next = code.blocks[*from as usize].next.iter();
        next.filter(|to| !around.blocks.contains(to)).map(move |to| (*from, *to))
    });
    let (from, to) = ways.next()?;
    (ways.next().is_none() && from == around.head).then_some(())?;
    Some((from, to, &code.blocks[from as usize].statements.last()?.kind))
}

pub(super) fn head_test<'c>(code: &'c Code, around: &Loop) -> Option<(Block, Block, &'c Kind)> {
    let from = around.head;
    let to = code.blocks[from as usize].next.iter().find(|to| !around.blocks.contains(to))?;
    Some((from, *to, &code.blocks[from as usize].statements.last()?.kind))
}

/// The bound of `index < bound`, which is tested to stay in the loop.
pub(super) fn bound_of(code: &Code, (from, to, test): (Block, Block, &Kind), index: Value) -> Option<Value> {
    let leaves_if_it_holds = code.blocks[from as usize].next.first() == Some(&to);
    let index = code.plain(index);
    match test {
        Kind::Branch(Test::Le, bound, Some(tested)) if leaves_if_it_holds && code.plain(*tested) == index => {
            Some(*bound)
        }
        Kind::Branch(Test::Lt, tested, Some(bound)) if !leaves_if_it_holds && code.plain(*tested) == index => {
            Some(*bound)
        }
        _ => None,
    }
}

/// First value and step of a number that a loop counts.
pub fn induction(code: &Code, around: &Loop, value: Value) -> Option<(i64, i64)> {
    let info = &code.values[value.index()];
    let Def::Phi(all) = &info.def else { return None };
    (info.block == around.head).then_some(())?;
    let (mut first, mut step) = (None, None);
    for (from, other) in all {
        if around.blocks.contains(from) {
            let Def::Binary { op: BinaryOp::Add, kind: Type::I32 | Type::I64, left, right } = code.def(*other) else {
                return None;
            };
            let Some(Constant::Whole(by)) = code.constant(*right) else { return None };
            (*left == value && step.is_none_or(|step| step == by)).then_some(())?;
            step = Some(by);
        } else {
            let Some(Constant::Whole(from)) = code.constant(*other) else { return None };
            first.is_none_or(|first| first == from).then_some(())?;
            first = Some(from);
        }
    }
    Some((first?, step?))
}
