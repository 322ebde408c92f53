//! Updates whose order does not matter: `x = x ⊕ e` under one lock, or atomic, with one operator family throughout.
//!
//! A location is order-free if all that is written there in parallel are such updates, none of which (whether it
//! happens, what `e` is) depends on a choice. Then a read that no update is in parallel with returns the same value in
//! all executions, although its source differs. Whole numbers wrap around, so order never matters; of floats it does
//! (`order of additions`). The guard of `if (x - m > 0) x = x - m` reads `x`: whether the update happens depends on a
//! choice, so it is none.

use std::collections::{BTreeMap, HashMap};

use reweave_script::language::{BinaryOp, Operand, Register, Statement, StatementKind, UpdateOp};

use crate::choices::{OrderFree, Taint};
use crate::faults::{Fault, is_seeded};
use crate::frames::{FrameId, Point};
use crate::locks::Lock;
use crate::points_to::Object;
use crate::program::Program;
use crate::reads::used;
use crate::values::locations::LocationId;

/// How an update goes on: operator, where its result is, and what was added at which point.
type Computed = (Family, Register, Option<(Point, Register)>);

/// Operators that can be mixed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    Sum,
    Product,
    And,
    Or,
    Xor,
}

/// One update.
#[derive(Clone, Debug)]
struct Update {
    family: Family,
    /// Where it reads and where it writes; the same of an atomic one.
    load: Point,
    store: Point,
    /// Where `e` is used, and which register it is.
    operand: Option<(Point, Register)>,
}

/// Taint and what is order-free, found together: each location that turns out to be makes fewer values tainted.
pub fn find(program: &Program<'_>) -> (Taint, OrderFree) {
    let updates = updates(program);
    let mut order_free = OrderFree::default();
    loop {
        let taint = Taint::new(program, &order_free);
        let mut more = order_free.clone();
        for (location, updates) in &updates {
            if !order_free.locations.contains(location) && holds(program, *location, updates, &taint) {
                more.locations.insert(*location);
                more.updates.extend(updates.iter().flat_map(|update| [update.load, update.store]));
            }
        }
        if more == order_free {
            return (taint, order_free);
        }
        order_free = more;
    }
}

/// Updates by location.
fn updates(program: &Program<'_>) -> BTreeMap<LocationId, Vec<Update>> {
    let mut all: BTreeMap<LocationId, Vec<Update>> = BTreeMap::new();
    for frame in program.skeleton.frame_ids() {
        let function = program.skeleton.program.function(program.skeleton.frames[frame.index()].function);
        let mut uses: HashMap<Register, u32> = HashMap::new();
        for statement in function.blocks.iter().flat_map(|block| &block.statements) {
            used(&statement.kind).into_iter().for_each(|register| *uses.entry(register).or_default() += 1);
        }
        for block in &function.blocks {
            for at in 0..block.statements.len() {
                let found = atomic(frame, &block.statements[at], &uses)
                    .or_else(|| locked(program, frame, &block.statements[at..], &uses));
                let Some(update) = found else { continue };
                let Some(write) = program.accesses.writes.get(&update.store) else { continue };
                let Some(read) = program.accesses.reads.get(&update.load) else { continue };
                if let ([location], [seen], false) =
                    (&write.locations[..], &read.seen[..], write.unknown || read.unknown)
                    && *location == seen.location
                    && program.locations.get(*location).is_single
                {
                    all.entry(*location).or_default().push(update);
                }
            }
        }
    }
    all
}

fn atomic(frame: FrameId, statement: &Statement, uses: &HashMap<Register, u32>) -> Option<Update> {
    let StatementKind::Update { to, op, value, .. } = statement.kind else { return None };
    let family = match op {
        UpdateOp::Add | UpdateOp::Sub => Family::Sum,
        UpdateOp::And => Family::And,
        UpdateOp::Or => Family::Or,
        UpdateOp::Xor => Family::Xor,
        UpdateOp::Exchange => return None,
    };
    let point = Point { frame, statement: statement.id };
    let operand = match value {
        Operand::Register(register) if register == to => return None,
        Operand::Register(register) => Some((point, register)),
        Operand::Literal(_) => None,
    };
    (!uses.contains_key(&to)).then_some(Update { family, load: point, store: point, operand })
}

/// A load, one operation and a store in one block, with nothing between them that lets others come in; neither what
/// was read nor the result is used for anything else.
fn locked(
    program: &Program<'_>,
    frame: FrameId,
    statements: &[Statement],
    uses: &HashMap<Register, u32>,
) -> Option<Update> {
    let (first, rest) = statements.split_first()?;
    let StatementKind::Load { to: old, .. } = first.kind else { return None };
    let function = program.skeleton.program.function(program.skeleton.frames[frame.index()].function);
    let kind = function.kind_of(old);
    if uses.get(&old) != Some(&1) || kind.is_float() {
        return None;
    }
    let at = |statement: &Statement| Point { frame, statement: statement.id };
    let mut computed: Option<Computed> = None;
    for statement in rest {
        match statement.kind {
            StatementKind::Binary { to, op, left, right } if used(&statement.kind).contains(&old) => {
                let on_left = left == Operand::Register(old);
                let family = match op {
                    BinaryOp::Add => Family::Sum,
                    BinaryOp::Sub if on_left => Family::Sum,
                    BinaryOp::Mul => Family::Product,
                    BinaryOp::And => Family::And,
                    BinaryOp::Or => Family::Or,
                    BinaryOp::Xor => Family::Xor,
                    _ => return None,
                };
                let operand = match if on_left { right } else { left } {
                    Operand::Register(register) if register == old => return None,
                    Operand::Register(register) => Some((at(statement), register)),
                    Operand::Literal(_) => None,
                };
                if to == old || uses.get(&to) != Some(&1) {
                    return None;
                }
                computed = Some((family, to, operand));
            }
            StatementKind::Store { value: Operand::Register(value), .. }
                if computed.is_some_and(|(_, new, _)| new == value) =>
            {
                let (family, _, operand) = computed?;
                return Some(Update { family, load: at(first), store: at(statement), operand });
            }
            // Registers that matter stay as they are; other places do not matter.
            StatementKind::Const { .. }
            | StatementKind::Move { .. }
            | StatementKind::Unary { .. }
            | StatementKind::Binary { .. }
            | StatementKind::Compare { .. }
            | StatementKind::Convert { .. }
            | StatementKind::Load { .. } => {
                let to = statement.kind.target();
                if to == Some(old) || to == computed.map(|(_, new, _)| new) {
                    return None;
                }
            }
            _ => return None,
        }
    }
    None
}

fn holds(program: &Program<'_>, location: LocationId, updates: &[Update], taint: &Taint) -> bool {
    let same_family = updates.iter().all(|update| update.family == updates[0].family);
    let independent = updates.iter().all(|update| {
        let value_differs = update.operand.is_some_and(|(at, register)| {
            taint.registers.get(&at).is_none_or(|tainted| tainted.contains(register.index()))
        });
        let decided = taint.control.contains(&update.load) || taint.control.contains(&update.store);
        (!decided || is_seeded(Fault::UpdatesMayBeMissing)) && !value_differs
    });
    (same_family || is_seeded(Fault::FamiliesMix))
        && independent
        && updates.iter().all(|one| updates.iter().all(|other| are_atomic(program, one, other)))
        && others_are_ordered(program, location, updates)
}

/// Neither of two updates comes between the load and the store of the other.
fn are_atomic(program: &Program<'_>, one: &Update, other: &Update) -> bool {
    let points = |update: &Update| [update.load, update.store];
    let parallel = points(one).iter().any(|a| points(other).iter().any(|b| program.parallel.may(*a, *b)));
    if is_seeded(Fault::UpdatesNeedNoLock) || !parallel || (one.load == one.store && other.load == other.store) {
        return true;
    }
    let held = |point: Point| -> Vec<Lock> {
        program.locks.at(point).iter().filter(|held| !held.shared).map(|held| held.lock).collect()
    };
    let others: Vec<Vec<Lock>> = [one.store, other.load, other.store].into_iter().map(held).collect();
    held(one.load).iter().any(|lock| others.iter().all(|locks| locks.contains(lock)))
}

/// Everything else that writes there comes before or after every update.
fn others_are_ordered(program: &Program<'_>, location: LocationId, updates: &[Update]) -> bool {
    let is_update = |point: Point| updates.iter().any(|update| update.store == point);
    let object = program.locations.get(location).object;
    let made = match program.points_to.objects[object.index()] {
        Object::Site(point) => Some(point),
        Object::Global(_) => None,
    };
    let writes = program
        .accesses
        .writes
        .iter()
        .filter(|(at, write)| !is_update(**at) && (write.unknown || write.locations.contains(&location)));
    let mut others = writes.map(|(at, _)| *at).chain(made);
    others.all(|write| {
        updates
            .iter()
            .all(|update| !program.parallel.may(write, update.load) && !program.parallel.may(write, update.store))
    })
}
