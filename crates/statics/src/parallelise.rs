//! Could two calls, one after the other, run at the same time? (Chapter 7 of the paper.)
//!
//! The two calls are made threads that are joined right after the second, and the program is analysed as if it were
//! so. If no read sees one call beside the other, and no other thread touches what the calls do, then the steps of one
//! can be moved behind those of the other: every execution does what a sequential one does. Updates whose order does
//! not matter are a *reduction*; a location that each call writes before it reads it, and nobody else reads, can be
//! *private*.
//!
//! Guarantee: the same outcomes are possible in parallel as one after the other. Calls that wait for other threads, or
//! hold two locks at once, are refused: they could block each other; so are calls of which one may fail while the other
//! prints.

use std::collections::{BTreeMap, BTreeSet};

use reweave_script::language::{
    Block, Function, FunctionId, Global, GlobalId, Mode, Operand, Place, Position, Program as Code, Register,
    RegisterInfo, Slot, Statement, StatementId, StatementKind, Type,
};

use crate::frames::{FrameId, Point, ThreadId};
use crate::points_to::Object;
use crate::program::{Program, Settings};
use crate::reads::used;
use crate::values::locations::LocationId;
use crate::values::state::Source;
use crate::verdict::{Kind, SameBecause, Verdict, Verdicts};

/// What came of the question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    Parallelisable {
        /// Locations that each call needs for itself.
        private: Vec<String>,
        /// Locations that both update, in any order.
        reductions: Vec<String>,
    },
    Not(Vec<Obstacle>),
}

/// Why calls cannot run at the same time.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Obstacle {
    /// There are no two calls in one block at these statements.
    NotTwoCalls,
    /// The second needs what the first returns, or what is computed between them touches memory.
    NeedsResult,
    /// Waits for other threads, or holds a lock while it takes another, at this line.
    Blocks(u32),
    /// The caller holds a lock.
    HoldsLock,
    /// A read, at this line, of this location, would differ.
    Read { line: u32, location: String },
    /// What is left at the end would differ.
    AtEnd { location: String },
    /// What is printed at this line would differ, or when.
    Output { line: u32 },
    /// The exit status would differ.
    ExitStatus,
    /// What one call does at a line, and the other at another one, to this location has no order.
    Meet { lines: (u32, u32), location: String },
    /// Both print, at these lines.
    BothPrint { lines: (u32, u32) },
    /// One may fail at this line, and the other prints.
    Fails { line: u32 },
    /// Another thread may touch this location at the same time, at this line.
    OtherThread { line: u32, location: String },
    /// Several threads may make these calls.
    ManyCallers,
    /// Code that is not understood.
    Unknown,
}

/// How much two calls do: statements, those in loops counted ten times.
pub fn cost(program: &Program<'_>, call: Point) -> u64 {
    let frames = frames_below(program, call);
    let each = frames.iter().flat_map(|frame| program.skeleton.points(*frame));
    each.map(|(point, _)| if program.skeleton.may_repeat(point) { 10 } else { 1 }).sum()
}

/// Of two calls in one block of a function.
pub fn parallelise(code: &Code, first: StatementId, second: StatementId) -> Answer {
    if find(code, first, second).is_none() {
        return Answer::Not(vec![Obstacle::NotTwoCalls]);
    }
    let sequential = Program::new(code, Settings::default());
    let mut obstacles = obstacles(&sequential, [first, second]);
    let Some(changed) = (if obstacles.is_empty() { threaded(code, first, second) } else { None }) else {
        if obstacles.is_empty() {
            obstacles.push(Obstacle::NeedsResult);
        }
        return Answer::Not(obstacles);
    };
    let parallel = Program::new(&changed, Settings::default());
    let before = differences(&sequential, &Verdicts::new(&sequential));
    let verdicts = Verdicts::new(&parallel);
    let mut after = differences(&parallel, &verdicts);
    let private = private(&sequential, [first, second]);
    after.retain(|difference| match difference {
        Obstacle::Read { location, .. } | Obstacle::AtEnd { location } => !private.contains(location),
        _ => true,
    });
    let mut more: BTreeSet<Obstacle> = after.difference(&before).cloned().collect();
    more.extend(meetings(&parallel, &verdicts, &private));
    if !more.is_empty() {
        return Answer::Not(more.into_iter().collect());
    }
    let needed = |name: &String| is_shared(&parallel, name);
    Answer::Parallelisable {
        private: private.into_iter().filter(needed).collect(),
        reductions: reductions(&parallel, &verdicts)
            .difference(&reductions(&sequential, &Verdicts::new(&sequential)))
            .cloned()
            .collect(),
    }
}

/// Function, block, and where in the block the calls are.
type Places = (usize, usize, usize, usize);

fn find(code: &Code, first: StatementId, second: StatementId) -> Option<Places> {
    for (function, body) in code.functions.iter().enumerate() {
        for (block, inside) in body.blocks.iter().enumerate() {
            let call = |id: StatementId| {
                let is_call = |one: &Statement| one.id == id && matches!(one.kind, StatementKind::Call { .. });
                inside.statements.iter().position(is_call)
            };
            if let (Some(one), Some(other)) = (call(first), call(second)) {
                return (one < other).then_some((function, block, one, other));
            }
        }
    }
    None
}

fn frames_below(program: &Program<'_>, call: Point) -> BTreeSet<FrameId> {
    let mut frames: BTreeSet<FrameId> = BTreeSet::new();
    let mut rest: Vec<FrameId> = program.skeleton.callees.get(&call).copied().into_iter().collect();
    while let Some(frame) = rest.pop() {
        if !frames.insert(frame) {
            continue;
        }
        for (point, _) in program.skeleton.points(frame) {
            rest.extend(program.skeleton.callees.get(&point));
            let started = program.skeleton.started.get(&point);
            rest.extend(started.map(|thread| program.skeleton.threads[thread.index()].entry));
        }
    }
    frames
}

/// Where in all frames a statement is.
fn points(program: &Program<'_>, statement: StatementId) -> Vec<Point> {
    let all = program.skeleton.frame_ids().map(|frame| Point { frame, statement });
    all.filter(|point| program.skeleton.callees.contains_key(point)).collect()
}

fn obstacles(program: &Program<'_>, calls: [StatementId; 2]) -> Vec<Obstacle> {
    let mut obstacles = BTreeSet::new();
    for call in calls.into_iter().flat_map(|call| points(program, call)) {
        if !program.locks.at(call).is_empty() {
            obstacles.insert(Obstacle::HoldsLock);
        }
        for (point, statement) in
            frames_below(program, call).into_iter().flat_map(|frame| program.skeleton.points(frame))
        {
            let blocks = match statement.kind {
                StatementKind::Wait { .. }
                | StatementKind::TimedWait { .. }
                | StatementKind::Notify { .. }
                | StatementKind::Take { .. }
                | StatementKind::TryTake { .. }
                | StatementKind::Post { .. }
                | StatementKind::Barrier { .. }
                | StatementKind::TryEnter { .. }
                | StatementKind::Start { .. }
                | StatementKind::Join { .. } => true,
                StatementKind::Enter { .. } => !program.locks.at(point).is_empty(),
                StatementKind::Opaque { .. } => {
                    obstacles.insert(Obstacle::Unknown);
                    false
                }
                _ => false,
            };
            if blocks {
                obstacles.insert(Obstacle::Blocks(statement.position.line));
            }
        }
    }
    obstacles.into_iter().collect()
}

/// The program in which the two calls are threads. None: what is between them, or the second, needs the first.
pub fn threaded(code: &Code, first: StatementId, second: StatementId) -> Option<Code> {
    let (function, block, first, second) = find(code, first, second)?;
    let mut code = code.clone();
    let statements = code.functions[function].blocks[block].statements.clone();
    let result = statements[first].kind.target();
    for statement in &statements[first + 1..=second] {
        let is_local = matches!(
            statement.kind,
            StatementKind::Const { .. }
                | StatementKind::Move { .. }
                | StatementKind::Unary { .. }
                | StatementKind::Binary { .. }
                | StatementKind::Compare { .. }
                | StatementKind::Convert { .. }
                | StatementKind::Call { .. }
        );
        let needs = result
            .is_some_and(|result| used(&statement.kind).contains(&result) || statement.kind.target() == Some(result));
        if !is_local || needs {
            return None;
        }
    }
    // Only the two calls themselves.
    if statements[first + 1..second].iter().any(|one| matches!(one.kind, StatementKind::Call { .. })) {
        return None;
    }
    let mut changed: Vec<Statement> = statements[..first].to_vec();
    let (mut joins, mut loads) = (Vec::new(), Vec::new());
    for (at, statement) in statements[first..=second].iter().enumerate() {
        let StatementKind::Call { to, function: callee, arguments } = &statement.kind else {
            changed.push(statement.clone());
            continue;
        };
        let position = statement.position;
        let (callee, kept) = keeping(&mut code, *callee, position, at);
        let handle = fresh(&mut code.functions[function], Type::Thread, at);
        changed
            .push(made(position, StatementKind::Start { to: handle, function: callee, arguments: arguments.clone() }));
        joins.push(made(position, StatementKind::Join { thread: handle }));
        if let (Some(to), Some(kept)) = (*to, kept) {
            let from = Place::Global(kept);
            loads.push(made(position, StatementKind::Load { to, from, mode: Mode::Plain }));
        }
    }
    changed.extend(joins);
    changed.extend(loads);
    changed.extend_from_slice(&statements[second + 1..]);
    code.functions[function].blocks[block].statements = changed;
    code.renumber();
    Some(code)
}

/// The threads that stand for the two calls.
fn sides(program: &Program<'_>) -> Option<[ThreadId; 2]> {
    let skeleton = &program.skeleton;
    let is_side = |id: &ThreadId| {
        let Some(start) = skeleton.threads[id.index()].starts.first() else { return false };
        let function = skeleton.program.function(skeleton.frames[start.frame.index()].function);
        let target = skeleton.statement(start.statement).kind.target();
        target.is_some_and(|target| function.registers[target.index()].name.starts_with(SIDE))
    };
    let sides: Vec<ThreadId> = skeleton.thread_ids().filter(is_side).collect();
    sides.try_into().ok()
}

/// Where the calls meet each other, or somebody else.
fn meetings(program: &Program<'_>, verdicts: &Verdicts, private: &BTreeSet<String>) -> BTreeSet<Obstacle> {
    let skeleton = &program.skeleton;
    let Some(sides) = sides(program) else { return [Obstacle::ManyCallers].into() };
    if sides.iter().any(|side| skeleton.threads[side.index()].starts.len() > 1) {
        return [Obstacle::ManyCallers].into();
    }
    let creator = skeleton.threads[sides[0].index()].creator;
    let mut all = BTreeSet::new();
    if creator.is_none_or(|creator| skeleton.threads[creator.index()].is_many) {
        all.insert(Obstacle::ManyCallers);
    }
    let line = |at: Point| skeleton.statement(at.statement).position.line;
    let side_of = |at: Point| sides.iter().position(|side| *side == skeleton.thread_of(at));
    let reads = program.accesses.reads.iter().flat_map(|(at, read)| read.seen.iter().map(|seen| (*at, seen)));
    let last = program.accesses.last.iter().flat_map(|(at, all)| all.iter().map(|seen| (*at, seen)));
    for (at, seen) in reads.chain(last) {
        let location = name(program, seen.location);
        // What is the same constant whoever is first is so, too, if somebody chose earlier that it is read.
        if private.contains(&location) || seen.value.is_constant() {
            continue;
        }
        for (one, other) in verdicts.order_free.without(program, at, seen) {
            if let (Some(a), Some(b)) = (side_of(one), side_of(other))
                && a != b
            {
                let lines = (line(one).min(line(other)), line(one).max(line(other)));
                all.insert(Obstacle::Meet { lines, location: location.clone() });
            }
        }
    }
    let prints = |side: usize| verdicts.outputs.keys().find(|at| side_of(**at) == Some(side)).map(|at| line(*at));
    if let (Some(one), Some(other)) = (prints(0), prints(1)) {
        all.insert(Obstacle::BothPrint { lines: (one, other) });
    }
    for at in &program.accesses.may_fail {
        if side_of(*at).is_some_and(|side| prints(1 - side).is_some()) {
            all.insert(Obstacle::Fails { line: line(*at) });
        }
    }
    all.extend(others(program, &side_of));
    all
}

/// Accesses of other threads that conflict with one of the calls.
fn others(program: &Program<'_>, side_of: &dyn Fn(Point) -> Option<usize>) -> Vec<Obstacle> {
    let mut by_location: BTreeMap<LocationId, Vec<(Point, bool)>> = BTreeMap::new();
    for (at, read) in &program.accesses.reads {
        read.seen.iter().for_each(|seen| by_location.entry(seen.location).or_default().push((*at, false)));
    }
    for (at, write) in &program.accesses.writes {
        write.locations.iter().for_each(|location| by_location.entry(*location).or_default().push((*at, true)));
    }
    let mut found = Vec::new();
    for (location, all) in by_location {
        for (one, writes) in all.iter().filter(|(at, _)| side_of(*at).is_some()) {
            for (other, other_writes) in all.iter().filter(|(at, _)| side_of(*at).is_none()) {
                if (*writes || *other_writes) && program.parallel.may(*one, *other) {
                    let line = program.skeleton.statement(other.statement).position.line;
                    found.push(Obstacle::OtherThread { line, location: name(program, location) });
                }
            }
        }
    }
    found
}

/// How registers that hold the handles of the made-up threads are called.
const SIDE: &str = "thread of call ";

const fn made(position: Position, kind: StatementKind) -> Statement {
    Statement { id: StatementId(0), position, kind }
}

fn fresh(function: &mut Function, kind: Type, at: usize) -> Register {
    function.registers.push(RegisterInfo { name: format!("{SIDE}{at}"), kind });
    Register(function.registers.len() as u32 - 1)
}

/// A function that keeps what another one returns in a global of its own, as threads return nothing.
fn keeping(code: &mut Code, callee: FunctionId, position: Position, at: usize) -> (FunctionId, Option<GlobalId>) {
    let called = code.function(callee);
    let Some(kind) = called.result else { return (callee, None) };
    let name = format!("result of call {at}");
    let mut registers: Vec<RegisterInfo> = called.registers[..called.parameters as usize].to_vec();
    let parameters = called.parameters;
    let result = Register(parameters);
    registers.push(RegisterInfo { name: "result".into(), kind });
    let global = GlobalId(code.globals.len() as u32);
    let line = position.line;
    code.globals.push(Global { name: name.clone(), slot: Slot::Value(kind), length: None, initial: Vec::new(), line });
    let arguments = (0..parameters).map(|at| Operand::Register(Register(at))).collect();
    let statements = vec![
        made(position, StatementKind::Call { to: Some(result), function: callee, arguments }),
        made(
            position,
            StatementKind::Store { to: Place::Global(global), value: Operand::Register(result), mode: Mode::Plain },
        ),
        made(position, StatementKind::Return { value: None }),
    ];
    let blocks = vec![Block { label: "entry".into(), statements, line }];
    code.functions.push(Function { name, parameters, result: None, registers, blocks, line });
    (FunctionId(code.functions.len() as u32 - 1), Some(global))
}

fn name(program: &Program<'_>, location: LocationId) -> String {
    program.locations.name(&program.skeleton, &program.points_to, location)
}

/// All that can differ.
fn differences(program: &Program<'_>, verdicts: &Verdicts) -> BTreeSet<Obstacle> {
    let line = |at: Point| program.skeleton.statement(at.statement).position.line;
    let mut all = BTreeSet::new();
    for read in verdicts.reads.values().flatten().filter(|read| read.kind.verdict() != Verdict::Proved) {
        all.insert(Obstacle::Read { line: line(read.at), location: name(program, read.seen.location) });
    }
    for read in verdicts.last.values().flatten().filter(|read| read.kind.verdict() != Verdict::Proved) {
        all.insert(Obstacle::AtEnd { location: name(program, read.seen.location) });
    }
    for (at, why) in &verdicts.outputs {
        if !why.is_empty() {
            all.insert(Obstacle::Output { line: line(*at) });
        }
    }
    if verdicts.status != Verdict::Proved {
        all.insert(Obstacle::ExitStatus);
    }
    if program.accesses.reads.values().any(|read| read.unknown) {
        all.insert(Obstacle::Unknown);
    }
    all
}

/// Locations that updates in any order make the same.
fn reductions(program: &Program<'_>, verdicts: &Verdicts) -> BTreeSet<String> {
    let all = verdicts.reads.values().chain(verdicts.last.values()).flatten();
    let same = all.filter(|read| matches!(read.kind, Kind::SameValue(SameBecause::OrderFree) | Kind::PartOfUpdate));
    same.map(|read| name(program, read.seen.location)).collect()
}

/// Globals that both calls write before they read them, and nobody else reads.
fn private(program: &Program<'_>, calls: [StatementId; 2]) -> BTreeSet<String> {
    let sides: Vec<BTreeSet<FrameId>> = calls
        .iter()
        .map(|call| points(program, *call).into_iter().flat_map(|point| frames_below(program, point)).collect())
        .collect();
    let mut is_private: BTreeMap<LocationId, bool> = BTreeMap::new();
    for (at, read) in &program.accesses.reads {
        for seen in &read.seen {
            let own = |source: &Source| match source {
                Source::Write(write) => {
                    sides.iter().any(|side| side.contains(&at.frame) && side.contains(&write.frame))
                }
                Source::System => false,
            };
            let fits = !read.unknown && seen.beside.is_empty() && seen.before.iter().all(own);
            let global = program.points_to.objects[program.locations.get(seen.location).object.index()];
            let fits = fits && matches!(global, Object::Global(_));
            *is_private.entry(seen.location).or_insert(true) &= fits;
        }
    }
    is_private.into_iter().filter(|(_, fits)| *fits).map(|(location, _)| name(program, location)).collect()
}

/// Whether more than one thread accesses it.
fn is_shared(program: &Program<'_>, wanted: &str) -> bool {
    let reads = program.accesses.reads.iter();
    let reads = reads.flat_map(|(at, read)| read.seen.iter().map(|seen| (*at, seen.location)));
    let writes = program.accesses.writes.iter();
    let writes = writes.flat_map(|(at, write)| write.locations.iter().map(|location| (*at, *location)));
    let threads: BTreeSet<_> = reads
        .chain(writes)
        .filter(|(_, location)| name(program, *location) == wanted)
        .map(|(at, _)| program.skeleton.thread_of(at))
        .collect();
    threads.len() > 1
}
