//! Could two calls, or the turns of a loop, of a Java program run at the same time? (Chapter 7 of the paper.)
//!
//! The program is analysed as it is, and once more with the calls or turns as threads that are waited for at once
//! ([`super::side_by_side`]). If nothing differs that did not before, every order of their steps does what one after the
//! other does. Sums that both only add to are *reductions*: each thread needs one of its own.
//!
//! Guarantee: the same outcomes are possible in parallel as one after the other, for executions that end normally.
//! Calls that wait for other threads, start some, take locks or depend on who runs them are refused; so are those that may
//! throw what somebody catches.

use std::collections::BTreeSet;
use std::path::PathBuf;

use reweave_report::determinism::{Determinism, Same, Verdict};

use super::answer::{NoAnswer, analyse_changed};
use super::classes::{Classes, MethodId};
use super::code::{Block, How, Kind};
use super::judge::Facts;
use super::models::Word;
use super::side_by_side::{Shape, counted, turns_as_threads, two_calls};
use super::solve::{FrameId, Point, Solver};
use crate::question::Question;

/// Two calls that stand in one block, or a loop.
#[derive(Clone, Debug)]
pub struct Candidate {
    method: MethodId,
    what: What,
    /// `Bank.java:14 Bank.load and Bank.java:15 Bank.sort`, `the loop at Bank.java:20`.
    pub name: String,
    /// First and last line of both parts.
    pub lines: [(u32, u32); 2],
    pub file: String,
    /// `Bank.run`: the method in which it stands.
    pub within: String,
    pub is_loop: bool,
    /// Statements of the smaller part, those in loops counted ten times.
    pub cost: u64,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Calls(Block, [u32; 2]),
    /// By its first block.
    Loop(Block),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    Parallelisable {
        reductions: Vec<String>,
    },
    /// Why not, in words.
    Not(Vec<String>),
}

/// All pairs of neighbouring calls and all loops that the program reaches, those that do most first.
pub fn candidates(paths: &[PathBuf], question: &Question) -> Result<Vec<Candidate>, NoAnswer> {
    let find = |solver: &Solver<'_>| {
        let mut all: Vec<Candidate> = Vec::new();
        let mut seen = BTreeSet::new();
        for (at, frame) in solver.frames.iter().enumerate() {
            let id = frame.method;
            let is_own = !solver.stubs.values().any(|stub| *stub == id) && solver.made_up != Some(id);
            if is_own && seen.insert(id) {
                all.extend(of_method(solver, FrameId(at as u32)));
            }
        }
        all.sort_by_key(|one| std::cmp::Reverse(one.cost));
        all
    };
    analyse_changed(paths, question, &mut |_| None, find).map(|(all, _)| all)
}

fn of_method(solver: &Solver<'_>, frame: FrameId) -> Vec<Candidate> {
    let own = &solver.frames[frame.index()];
    let (code, graph) = (&own.body.code, &own.body.graph);
    let method = solver.classes.method(own.method);
    let class = &solver.classes.all[method.class];
    let file = class.source.clone().unwrap_or_default();
    let names = &solver.classes.names;
    let short = |class: super::code::Name| {
        let text = names.text(class).replace(['/', '$'], ".");
        text.rsplit('.').next().unwrap_or_default().to_owned()
    };
    let within = format!("{}.{}", short(method.class_name), names.text(method.name));
    let mut all = Vec::new();
    for (block, inside) in code.blocks.iter().enumerate().filter(|(block, _)| graph.reached[*block]) {
        let point = |index: usize| Point { frame, block: block as Block, index: index as u32 };
        let calls: Vec<usize> = (0..inside.statements.len())
            .filter(|index| match &inside.statements[*index].kind {
                Kind::Call(call) => {
                    let direct = matches!(call.how, How::Static | How::Special | How::Virtual);
                    let plain = names.text(call.method.name) != "<init>";
                    direct
                        && plain
                        && solver.callees.contains_key(&point(*index))
                        && !solver.used.contains_key(&point(*index))
                }
                _ => false,
            })
            .collect();
        for pair in calls.windows(2) {
            let line = |at: usize| own.body.line(inside.statements[at].pc);
            let told = |at: usize| match &inside.statements[at].kind {
                Kind::Call(call) => {
                    format!("{file}:{} {}.{}", line(at), short(call.method.class), names.text(call.method.name))
                }
                _ => String::new(),
            };
            let cost = |at: usize| -> u64 {
                let below =
                    solver.callees.get(&point(at)).into_iter().flatten().flat_map(|callee| solver.below(*callee));
                below.collect::<BTreeSet<_>>().into_iter().map(|frame| work(solver, frame, None)).sum()
            };
            all.push(Candidate {
                method: own.method,
                what: What::Calls(block as Block, [pair[0] as u32, pair[1] as u32]),
                name: format!("{} and {}", told(pair[0]), told(pair[1])),
                lines: [(line(pair[0]), line(pair[0])), (line(pair[1]), line(pair[1]))],
                file: file.clone(),
                within: within.clone(),
                is_loop: false,
                cost: cost(pair[0]).min(cost(pair[1])),
            });
        }
    }
    for around in &graph.loops {
        let pcs = around.blocks.iter().flat_map(|block| &code.blocks[*block as usize].statements).map(|one| one.pc);
        let lines: Vec<u32> = pcs.map(|pc| own.body.line(pc)).filter(|line| *line > 0).collect();
        let (first, last) = (lines.iter().min().copied().unwrap_or(0), lines.iter().max().copied().unwrap_or(0));
        let turns = counted(&own.body, around).ok().and_then(|counted| counted.turns).unwrap_or(10);
        let inner: BTreeSet<Block> = around.blocks.iter().copied().collect();
        all.push(Candidate {
            method: own.method,
            what: What::Loop(around.head),
            name: format!("the loop at {file}:{first}"),
            lines: [(first, last); 2],
            file: file.clone(),
            within: within.clone(),
            is_loop: true,
            cost: work(solver, frame, Some(&inner)).saturating_mul(turns) / 10,
        });
    }
    all
}

/// Statements, those in loops counted ten times; of a loop, with what it calls.
fn work(solver: &Solver<'_>, frame: FrameId, only: Option<&BTreeSet<Block>>) -> u64 {
    let body = &solver.frames[frame.index()].body;
    let blocks =
        body.code.blocks.iter().enumerate().filter(|(at, _)| only.is_none_or(|only| only.contains(&(*at as Block))));
    let own: u64 = blocks
        .clone()
        .map(|(at, inside)| inside.statements.len() as u64 * if body.graph.in_loop[at] { 10 } else { 1 })
        .sum();
    let called = only.map_or(0, |only| {
        let below: BTreeSet<FrameId> = called_in(solver, frame, only).into_iter().collect();
        below.into_iter().map(|frame| 10 * work(solver, frame, None)).sum()
    });
    own + called
}

/// Frames below the calls in some blocks.
fn called_in(solver: &Solver<'_>, frame: FrameId, only: &BTreeSet<Block>) -> BTreeSet<FrameId> {
    let from = Point { frame, block: 0, index: 0 };
    let calls = solver.callees.range(from..Point { frame: FrameId(frame.0 + 1), ..from });
    let inside = calls.filter(|(at, _)| only.contains(&at.block)).flat_map(|(_, callees)| callees);
    inside.flat_map(|callee| solver.below(*callee)).collect()
}

/// What is said of one.
pub fn parallelise(paths: &[PathBuf], question: &Question, one: &Candidate) -> Result<Answer, NoAnswer> {
    let sequential = |solver: &Solver<'_>| {
        let facts = (!solver.gave_up).then(|| Facts::new(solver));
        facts.map(|facts| (obstacles(&facts, one), facts.judge(question).0))
    };
    let (before, _) = analyse_changed(paths, question, &mut |_| None, sequential)?;
    let Some((mut obstacles, before)) = before else {
        return Ok(Answer::Not(vec!["the program is too large".to_owned()]));
    };
    let mut refused = None;
    let mut change = |classes: &mut Classes<'_>| match one.what {
        What::Calls(block, calls) => {
            let pcs = pcs(classes, one.method, block, calls);
            match two_calls(classes, one.method, block, calls) {
                Some(()) => Some(Changed { method: one.method, places: pcs, exit: None }),
                None => {
                    refused = Some("the second needs what the first returns".to_owned());
                    None
                }
            }
        }
        What::Loop(head) => match change_loop(classes, one.method, head) {
            Ok(changed) => Some(changed),
            Err(why) => {
                refused = Some(why);
                None
            }
        },
    };
    let parallel = |solver: &Solver<'_>| (!solver.gave_up).then(|| Facts::new(solver).judge(question).0);
    let (after, changed) = analyse_changed(paths, question, &mut change, parallel)?;
    obstacles.extend(refused);
    let Some(after) = after.filter(|_| changed) else {
        if obstacles.is_empty() {
            obstacles.insert("it cannot be taken apart".to_owned());
        }
        return Ok(Answer::Not(obstacles.into_iter().collect()));
    };
    obstacles.extend(differences(&before, &after));
    if !obstacles.is_empty() {
        return Ok(Answer::Not(obstacles.into_iter().collect()));
    }
    let mut reductions = summed(&after);
    summed(&before).iter().for_each(|known| reductions.retain(|one| one != known));
    if let What::Loop(_) = one.what {
        reductions.extend(local_sums(paths, question, one)?);
    }
    Ok(Answer::Parallelisable { reductions })
}

/// What was made threads.
pub(super) struct Changed {
    pub method: MethodId,
    /// Where the threads are made.
    pub places: Vec<u32>,
    /// The way out of a loop.
    pub exit: Option<(Block, Block)>,
}

fn pcs(classes: &mut Classes<'_>, method: MethodId, block: Block, calls: [u32; 2]) -> Vec<u32> {
    let Some(Ok(body)) = classes.body(method) else { return Vec::new() };
    calls.iter().map(|at| body.code.blocks[block as usize].statements[*at as usize].pc).collect()
}

fn change_loop(classes: &mut Classes<'_>, method: MethodId, head: Block) -> Result<Changed, String> {
    let nothing = || "it cannot be taken apart".to_owned();
    let body = classes.body(method).and_then(Result::ok).ok_or_else(nothing)?;
    let around = body.graph.loops.iter().find(|one| one.head == head).ok_or_else(nothing)?;
    let counted = counted(&body, around).map_err(|shape| match shape {
        Shape::Exits => "it may end in the middle of a turn".to_owned(),
        Shape::Handlers => "it handles exceptions".to_owned(),
        Shape::NotCounted => "nothing counts its turns".to_owned(),
        Shape::Carried(pc) => {
            format!("a local variable carries a value from one turn to the next (line {})", body.line(pc))
        }
    })?;
    let place = turns_as_threads(classes, method, around, &counted).ok_or_else(nothing)?;
    // The function, and the thread.
    Ok(Changed { method, places: vec![place, place + 1], exit: Some(counted.exit) })
}

/// Local variables that turns only add to.
fn local_sums(paths: &[PathBuf], question: &Question, one: &Candidate) -> Result<Vec<String>, NoAnswer> {
    let What::Loop(head) = one.what else { return Ok(Vec::new()) };
    let find = |solver: &Solver<'_>| {
        let frame = solver.frames.iter().find(|frame| frame.method == one.method)?;
        let around = frame.body.graph.loops.iter().find(|around| around.head == head)?;
        let sums = counted(&frame.body, around).ok()?.reductions;
        Some(sums.into_iter().map(|_| "a local variable".to_owned()).collect())
    };
    analyse_changed(paths, question, &mut |_| None, find).map(|(sums, _)| sums.unwrap_or_default())
}

/// Locations that are the same because order does not matter.
fn summed(determinism: &Determinism) -> Vec<String> {
    let free = determinism.locations.iter().filter(|item| item.same == Some(Same::OrderFree));
    free.map(|item| item.name.clone()).collect()
}

/// What can differ now and could not before.
fn differences(before: &Determinism, after: &Determinism) -> BTreeSet<String> {
    let (mut roots, mut all) = (BTreeSet::new(), BTreeSet::new());
    if after.gave_up.is_some() || before.gave_up.is_some() {
        all.insert("the analysis did not end".to_owned());
    }
    for item in after.locations.iter().filter(|item| item.verdict != Verdict::Proved) {
        let known = before.locations.iter().filter(|one| one.name == item.name).map(|one| one.verdict).max();
        let is_new = known.is_none_or(|known| known < item.verdict);
        let raced =
            item.race.is_some() && !before.locations.iter().any(|one| one.name == item.name && one.race.is_some());
        if is_new || raced {
            let pair = item.race.clone().or_else(|| item.reads.iter().find_map(|read| read.pair.clone()));
            match pair {
                Some([one, other]) => {
                    roots.insert(format!("{} and {} touch {}, in no order", one.short(), other.short(), item.name))
                }
                None => all.insert(format!("what is in {} would differ", item.name)),
            };
        }
    }
    for output in after.outputs.iter().filter(|output| output.verdict != Verdict::Proved) {
        let known = before.outputs.iter().find(|one| one.at.short() == output.at.short()).map(|one| one.verdict);
        if known.is_none_or(|known| known < output.verdict) {
            let at = output.at.short();
            all.insert(match &output.order {
                Some(other) => format!("{at} and {} both print", other.short()),
                None => format!("what {at} prints would differ"),
            });
        }
    }
    let new = after.not_understood.iter().filter(|item| !before.not_understood.contains(item));
    all.extend(new.map(|item| format!("{} ({}) is not understood", item.what, item.at)));
    // What follows from accesses that meet goes without saying.
    if roots.is_empty() { all } else { roots }
}

/// What stands in the way whatever memory they touch.
fn obstacles(facts: &Facts<'_, '_>, one: &Candidate) -> BTreeSet<String> {
    let solver = facts.solver;
    let mut all = BTreeSet::new();
    let frames = (0..solver.frames.len() as u32).map(FrameId);
    for frame in frames.filter(|frame| solver.frames[frame.index()].method == one.method) {
        let own = &solver.frames[frame.index()];
        let points: Vec<Point> = match one.what {
            What::Calls(block, calls) => calls.into_iter().map(|index| Point { frame, block, index }).collect(),
            What::Loop(head) => {
                let around = own.body.graph.loops.iter().find(|around| around.head == head);
                let inside = around.map(|around| around.blocks.clone()).unwrap_or_default();
                let of = |block: Block| {
                    let count = own.body.code.blocks[block as usize].statements.len() as u32;
                    (0..count).map(move |index| Point { frame, block, index })
                };
                inside.into_iter().flat_map(of).collect()
            }
        };
        let callees = points.iter().flat_map(|at| solver.callees.get(at).into_iter().flatten());
        let below: BTreeSet<FrameId> = callees.flat_map(|callee| solver.below(*callee)).collect();
        let inner = solver.points().filter(|at| below.contains(&at.frame));
        let every: Vec<Point> = points.iter().copied().chain(inner).collect();
        all.extend(every.iter().filter_map(|at| obstacle(facts, *at)));
        if points.iter().any(|at| !facts.monitors.at(*at).is_empty()) {
            all.insert("whoever does it holds a lock".to_owned());
        }
        if facts.threads.with_itself[own.thread.index()] {
            all.insert("several threads may do it".to_owned());
        }
        let throws = points.iter().any(|at| !facts.exceptions.possible(*at).is_nothing());
        if throws && is_caught(solver, &points) {
            all.insert(format!("it may fail ({}), and somebody goes on then", solver.place(points[0])));
        }
        let others = facts.accesses.all.iter().filter(|access| every.contains(&access.at)).any(|access| {
            let location = facts.accesses.by_location.get(&access.location).into_iter().flatten();
            location.map(|id| &facts.accesses.all[*id]).any(|other| {
                let beside = facts.threads.parallel(solver, access.at, other.at);
                beside && (access.writes || other.writes) && !other.initialises && !access.initialises
            })
        });
        if others {
            all.insert("another thread may touch what it touches at the same time".to_owned());
        }
    }
    all
}

fn obstacle(facts: &Facts<'_, '_>, at: Point) -> Option<String> {
    let solver = facts.solver;
    let place = solver.place(at);
    let calls = solver.used.get(&at).into_iter().flatten();
    let has = |words: &[Word]| calls.clone().any(|one| words.iter().any(|word| one.model.has(*word)));
    let waits =
        [Word::Join, Word::Wait, Word::Lock, Word::Unlock, Word::Await, Word::Awaits, Word::Meets, Word::Sleeps];
    let starts = [Word::Start, Word::Submit, Word::Starts, Word::Exit, Word::Interrupt, Word::Counts, Word::Closes];
    let whose = [Word::Current, Word::Local, Word::ThreadName, Word::Choice, Word::Ended];
    if has(&waits) || matches!(solver.statement_at(at).kind, Kind::Enter(_)) {
        return Some(format!("{place} may wait for another thread"));
    }
    if has(&starts) {
        return Some(format!("{place} starts or ends something"));
    }
    if has(&whose) {
        return Some(format!("{place} depends on who does it"));
    }
    if has(&[Word::Input]) {
        return Some(format!("{place} reads input"));
    }
    has(&[Word::Opaque]).then(|| format!("{place} is not understood"))
}

/// Whether there is a handler around some points, in their method or in those that call it.
fn is_caught(solver: &Solver<'_>, points: &[Point]) -> bool {
    let (mut seen, mut rest) = (BTreeSet::new(), points.to_vec());
    while let Some(at) = rest.pop() {
        let own = &solver.frames[at.frame.index()];
        if !own.body.code.blocks[at.block as usize].handlers.is_empty() {
            return true;
        }
        if seen.insert(at.frame) {
            rest.extend(&own.callers);
        }
    }
    false
}
