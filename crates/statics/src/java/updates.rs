//! Updates whose order does not matter: `x = x ⊕ e` under one lock, or atomic, with one operator family throughout.
//!
//! A location is order-free if everything that is written there in parallel is such an update and none of them (whether
//! it happens, what `e` is) depends on a choice. The least and the greatest count, too (`Math.min`, `if (e < x) x = e`).
//! Whole numbers wrap around, so order never matters; of floats it does.

use std::collections::{BTreeMap, HashMap};

use super::accesses::Location;
use super::again::{Again, is_loaded};
use super::code::{BinaryOp, Block, Code, Def, How, Kind, Narrowing, Place, Statement, Test, Type, Value};
use super::conflicts::{AccessId, Choices, OrderFree};
use super::solve::{Birth, FrameId, Origin, Point};
use super::taint::Taint;
use crate::domain::number::opposite;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Family {
    Sum,
    Product,
    And,
    Or,
    Xor,
    Least,
    Greatest,
}

#[derive(Clone, Debug)]
struct Update {
    family: Family,
    /// What becomes of the result before it is stored. Sums of numbers that are made smaller each time are the same in
    /// any order, but only with others that are made smaller in the same way.
    narrowing: Option<Narrowing>,
    load: AccessId,
    store: AccessId,
    operands: Vec<Value>,
    /// `if (e > x) x = e`: whether it is stored depends on what is there, and nothing else does.
    guarded: bool,
}

/// Taint and what is order-free, found together: each location that turns out to be makes less tainted.
pub fn find(choices: &Choices<'_, '_>) -> (Taint, OrderFree) {
    let updates = updates(choices);
    let mut free = OrderFree::default();
    loop {
        let taint = Taint::new(choices, &free);
        let mut more = free.clone();
        for (location, updates) in updates.iter().filter(|(location, _)| !free.locations.contains(location)) {
            let mut with = free.clone();
            with.locations.insert(*location);
            with.accesses.extend(updates.iter().flat_map(|update| [update.load, update.store]));
            // What a guard reads decides about its own update only: it is looked at as if that were free.
            let guarded = || holds(choices, *location, updates, &Taint::new(choices, &with));
            if holds(choices, *location, updates, &taint) || updates.iter().any(|one| one.guarded) && guarded() {
                more.locations.extend(with.locations);
                more.accesses.extend(with.accesses);
            }
        }
        if more == free || taint.incomplete {
            return (taint, free);
        }
        free = more;
    }
}

/// How often values are used.
fn uses(code: &Code) -> HashMap<Value, u32> {
    let mut uses: HashMap<Value, u32> = HashMap::new();
    for at in 0..code.values.len() {
        code.mentioned(Value(at as u32)).into_iter().for_each(|value| *uses.entry(value).or_default() += 1);
    }
    for statement in code.blocks.iter().flat_map(|block| &block.statements) {
        if !matches!(statement.kind, Kind::Define(_)) {
            statement.uses(code).into_iter().for_each(|value| *uses.entry(value).or_default() += 1);
        }
    }
    uses
}

fn updates(choices: &Choices<'_, '_>) -> BTreeMap<Location, Vec<Update>> {
    let mut all: BTreeMap<Location, Vec<Update>> = BTreeMap::new();
    for (at, frame) in choices.solver.frames.iter().enumerate() {
        let code = &frame.body.code;
        let uses = uses(code);
        for (block, inside) in code.blocks.iter().enumerate() {
            for (index, statement) in inside.statements.iter().enumerate() {
                let point = Point { frame: FrameId(at as u32), block: block as u32, index: index as u32 };
                match &statement.kind {
                    Kind::Store(place, value) => {
                        plain(choices, point, place, *value, &uses, &mut all);
                        guarded(choices, point, place, *value, &uses, &mut all);
                    }
                    Kind::Call(call) => {
                        let unused = call.to.is_none_or(|to| !uses.contains_key(&to));
                        let operands = call.arguments.get(1..).unwrap_or_default().to_vec();
                        for id in choices.accesses.by_point.get(&point).into_iter().flatten() {
                            let access = &choices.accesses.all[*id];
                            if access.sum && unused && !matches!(call.how, How::Static) {
                                let update = Update {
                                    family: Family::Sum,
                                    narrowing: None,
                                    load: *id,
                                    store: *id,
                                    operands: operands.clone(),
                                    guarded: false,
                                };
                                all.entry(access.location).or_default().push(update);
                            }
                        }
                    }
                    _ => {}
                }
            }
        }
    }
    all
}

/// A store of what was loaded from the same place before, with nothing between them that lets others come in.
fn plain(
    choices: &Choices<'_, '_>,
    at: Point,
    place: &Place,
    value: Value,
    uses: &HashMap<Value, u32>,
    all: &mut BTreeMap<Location, Vec<Update>>,
) {
    let code = choices.solver.code(at);
    let once = |value: Value| uses.get(&value) == Some(&1);
    let (narrowing, computed) = match code.def(value) {
        Def::Narrow(narrowing, inner) if once(value) => (Some(*narrowing), *inner),
        _ => (None, value),
    };
    let before = &code.blocks[at.block as usize].statements[..at.index as usize];
    let Some((family, left, right, swaps)) = operation(choices, code, computed, before) else { return };
    let is_load = |value: Value| matches!(code.def(value), Def::Load(loaded) if same_place(loaded, place));
    let (old, operand) = match (is_load(left), is_load(right)) {
        (true, false) => (left, right),
        (false, true) if swaps => (right, left),
        _ => return,
    };
    let Some(load) = before.iter().rposition(|one| matches!(one.kind, Kind::Define(value) if value == old)) else {
        return;
    };
    let quiet = before[load + 1..].iter().all(|one| match &one.kind {
        // Nobody makes anything there, which may run code.
        Kind::Define(value) => !matches!(code.def(*value), Def::New(_) | Def::Array(..)),
        Kind::Call(call) => call.to == Some(computed),
        _ => false,
    });
    if !quiet || !once(old) || !once(computed) || !once(value) {
        return;
    }
    let loaded = Point { index: load as u32, ..at };
    let by_point = |at: Point| choices.accesses.by_point.get(&at).cloned().unwrap_or_default();
    for store in by_point(at) {
        let location = choices.accesses.all[store].location;
        let load = by_point(loaded).into_iter().find(|load| choices.accesses.all[*load].location == location);
        // The least of numbers is another one once they are cut off.
        let fits = !matches!(family, Family::Least | Family::Greatest)
            || narrowing.is_none() && keeps_all(choices, place, location);
        if let Some(load) = load.filter(|_| fits) {
            let operands = vec![operand];
            all.entry(location).or_default().push(Update { family, narrowing, load, store, operands, guarded: false });
        }
    }
}

/// `if (e > x) x = e;`: the branch that compares decides about this store and about nothing else.
fn guarded(
    choices: &Choices<'_, '_>,
    at: Point,
    place: &Place,
    value: Value,
    uses: &HashMap<Value, u32>,
    all: &mut BTreeMap<Location, Vec<Update>>,
) {
    let body = &choices.solver.frames[at.frame.index()].body;
    let code = &body.code;
    let own = &code.blocks[at.block as usize];
    let alone = own
        .statements
        .iter()
        .enumerate()
        .all(|(index, one)| index == at.index as usize || matches!(one.kind, Kind::Jump) || is_loaded(code, one));
    let (&[before], &[after]) = (&body.graph.predecessors[at.block as usize][..], &own.next[..]) else { return };
    let from = &code.blocks[before];
    let &[holds, fails] = &from.next[..] else { return };
    if !alone || (holds, fails) != (at.block, after) && (fails, holds) != (at.block, after) {
        return;
    }
    let Some(Kind::Branch(test, left, right)) = from.statements.last().map(|last| &last.kind) else { return };
    let once = |value: Value| uses.get(&value) == Some(&1);
    let (left, right) = match (code.def(*left), right) {
        (Def::Compare { kind: Type::I64, left: a, right: b, .. }, None) if once(*left) => (*a, *b),
        (_, Some(right)) => (*left, *right),
        _ => return,
    };
    let test = if holds == at.block { *test } else { opposite(*test) };
    let is_load = |value: Value| matches!(code.def(value), Def::Load(loaded) if same_place(loaded, place));
    let again = Again { choices, code, frame: at.frame, blocks: [before as Block, at.block] };
    // An `int` that is compared and stored as a `long` is made one twice.
    let alike = |one: Value| match (code.def(one), code.def(value)) {
        (Def::Convert { from, to, value: a }, Def::Convert { from: own, to: into, value: b }) => {
            (from, to, a) == (own, into, b)
        }
        _ => again.is_same(one, value),
    };
    let (old, new_is_more) = match (is_load(left) && alike(right), is_load(right) && alike(left)) {
        (true, false) => (left, matches!(test, Test::Lt | Test::Le)),
        (false, true) => (right, matches!(test, Test::Gt | Test::Ge)),
        _ => return,
    };
    let family = if new_is_more { Family::Greatest } else { Family::Least };
    let load = from.statements.iter().position(|one| matches!(one.kind, Kind::Define(own) if own == old));
    let Some(load) = load.filter(|_| once(old) && !matches!(test, Test::Eq | Test::Ne)) else { return };
    let new = if old == left { right } else { left };
    let first = again.loads(new).into_iter().chain([load]).min().unwrap_or(load);
    let quiet = from.statements[first + 1..].iter().all(|one| match &one.kind {
        Kind::Define(value) => !matches!(code.def(*value), Def::New(_) | Def::Array(..)),
        Kind::Branch(..) => true,
        _ => false,
    });
    let loaded = Point { block: before as u32, index: load as u32, ..at };
    let by_point = |at: Point| choices.accesses.by_point.get(&at).cloned().unwrap_or_default();
    for store in by_point(at).into_iter().filter(|_| quiet) {
        let location = choices.accesses.all[store].location;
        let load = by_point(loaded).into_iter().find(|load| choices.accesses.all[*load].location == location);
        if let Some(load) = load.filter(|_| keeps_all(choices, place, location)) {
            let (narrowing, operands) = (None, vec![value]);
            all.entry(location).or_default().push(Update { family, narrowing, load, store, operands, guarded: true });
        }
    }
}

/// What is computed of two whole numbers, and whether they may stand in either order.
fn operation(
    choices: &Choices<'_, '_>,
    code: &Code,
    computed: Value,
    before: &[Statement],
) -> Option<(Family, Value, Value, bool)> {
    if let Def::Binary { op, kind: Type::I32 | Type::I64, left, right } = code.def(computed) {
        let family = match op {
            BinaryOp::Add | BinaryOp::Sub => Family::Sum,
            BinaryOp::Mul => Family::Product,
            BinaryOp::And => Family::And,
            BinaryOp::Or => Family::Or,
            BinaryOp::Xor => Family::Xor,
            _ => return None,
        };
        return Some((family, *left, *right, *op != BinaryOp::Sub));
    }
    let call = before.iter().find_map(|one| match &one.kind {
        Kind::Call(call) if call.to == Some(computed) && call.how == How::Static => Some(call),
        _ => None,
    })?;
    let name = |name| choices.solver.classes.names.text(name);
    let is_whole = ["(II)I", "(JJ)J"].contains(&name(call.method.descriptor));
    let family = match (name(call.method.class), name(call.method.name)) {
        ("java/lang/Math", "min") if is_whole => Family::Least,
        ("java/lang/Math", "max") if is_whole => Family::Greatest,
        _ => return None,
    };
    let &[left, right] = &call.arguments[..] else { return None };
    Some((family, left, right, true))
}

/// Whether all of an `int` or a `long` is kept at a place.
fn keeps_all(choices: &Choices<'_, '_>, place: &Place, location: Location) -> bool {
    let names = &choices.solver.classes.names;
    match (place, location) {
        (Place::Static(member) | Place::Field(_, member), _) => matches!(names.text(member.descriptor), "I" | "J"),
        (Place::Element(..), Location::Field(array, _)) => {
            matches!(names.text(choices.solver.objects[array.index()].class), "[I" | "[J")
        }
        (Place::Element(..), Location::Static(_)) => false,
    }
}

fn same_place(one: &Place, other: &Place) -> bool {
    match (one, other) {
        (Place::Static(a), Place::Static(b)) => a == b,
        (Place::Field(a, x), Place::Field(b, y)) => a == b && x == y,
        (Place::Element(a, i), Place::Element(b, j)) => a == b && i == j,
        _ => false,
    }
}

fn holds(choices: &Choices<'_, '_>, location: Location, updates: &[Update], taint: &Taint) -> bool {
    let access = |id: AccessId| &choices.accesses.all[id];
    let by_id = |id: AccessId| updates.iter().find(|update| update.load == id || update.store == id);
    let independent = updates.iter().all(|update| {
        let at = access(update.store).at;
        let tainted = |value: Value| taint.is_tainted(at.frame, value);
        let places = access(update.store).base.into_iter().chain(access(update.store).index);
        !taint.is_decided(at) && !update.operands.iter().copied().any(tainted) && !places.into_iter().any(tainted)
    });
    let Some(pairs) = choices.conflicts.pairs.get(&location) else { return false };
    let writes = pairs.iter().filter(|(one, other)| access(*one).writes && access(*other).writes);
    let mut writes = writes.into_iter();
    independent
        && writes.all(|(one, other)| {
            let (Some(one), Some(other)) = (by_id(*one), by_id(*other)) else { return false };
            (one.family, one.narrowing) == (other.family, other.narrowing) && are_atomic(choices, one, other)
        })
        && pairs.iter().all(|(one, other)| match (by_id(*one), by_id(*other)) {
            (Some(one), Some(other)) => {
                (one.family, one.narrowing) == (other.family, other.narrowing) && are_atomic(choices, one, other)
            }
            _ => true,
        })
}

/// Neither of two updates comes between the load and the store of the other.
fn are_atomic(choices: &Choices<'_, '_>, one: &Update, other: &Update) -> bool {
    let access = |id: AccessId| &choices.accesses.all[id];
    if access(one.store).sum && access(other.store).sum {
        return true;
    }
    let held = |id: AccessId| (access(id).at, access(id).base);
    let apart = |one: &Update, other: &Update| is_reduced(choices, one) && is_reduced(choices, other);
    apart(one, other)
        || [one.load, one.store]
            .into_iter()
            .all(|a| [other.load, other.store].into_iter().all(|b| choices.monitors.common(held(a), held(b))))
}

/// Done by a made-up thread, which would have a sum of its own to update.
fn is_reduced(choices: &Choices<'_, '_>, update: &Update) -> bool {
    let solver = choices.solver;
    let Some((method, places)) = &solver.reduces else { return false };
    let mut thread = Some(solver.frames[choices.accesses.all[update.store].at.frame.index()].thread);
    while let Some(at) = thread {
        let own = &solver.threads[at.index()];
        if let Birth::Started(object) | Birth::Task(object, ..) = own.birth
            && matches!(solver.objects[object.index()].origin, Origin::Site(made, pc, _) if made == *method && places.contains(&pc))
        {
            return true;
        }
        thread = own.creator;
    }
    false
}
