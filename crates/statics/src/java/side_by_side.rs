//! Code changed so that two of its calls, or the turns of one of its loops, run at the same time.
//!
//! Two calls `a = f(x); b = g(y)` become tasks that start where the calls stand and are waited for where the second
//! stands. A turn of a loop becomes a thread of its own, started by what is left of the loop; whoever leaves the loop
//! waits for all of them. Line numbers stay.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::classes::{Body, Classes, MethodId};
use super::code::{
    BinaryOp, Block, BlockCode, Call, Code, Constant, Def, How, Info, Kind, Member, Place, Statement, Type, Value,
};
use super::flow_graph::Loop;

/// Kinds of method handles (JVMS 5.4.3.5).
const INVOKE_VIRTUAL: u8 = 5;
const INVOKE_STATIC: u8 = 6;
const INVOKE_SPECIAL: u8 = 7;

/// A number or a sum that each turn of a loop adds to, in any order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reduction {
    pub phi: Value,
    pub op: BinaryOp,
}

/// Why a loop's turns cannot be taken apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Shape {
    /// It ends in more than one way, or not where it begins.
    Exits,
    /// It handles exceptions.
    Handlers,
    /// Nothing counts the turns.
    NotCounted,
    /// A local variable carries a value from one turn to the next.
    Carried(u32),
}

/// What a loop looks like.
pub struct Counted {
    pub number: Value,
    pub step: i64,
    /// The way out.
    pub exit: (Block, Block),
    pub first: Block,
    pub reductions: Vec<Reduction>,
    /// Turns, where that is known.
    pub turns: Option<u64>,
}

/// Takes a loop apart, as far as that can be done.
pub fn counted(body: &Body, around: &Loop) -> Result<Counted, Shape> {
    let code = &body.code;
    let inside = |block: &Block| around.blocks.contains(block);
    let head = &code.blocks[around.head as usize];
    let mut ways = around
        .blocks
        .iter()
        .flat_map(|from| code.blocks[*from as usize].next.iter().filter(|to| !inside(to)).map(move |to| (*from, *to)));
    let exit = ways.next().ok_or(Shape::Exits)?;
    let first = head.next.iter().copied().find(|to| inside(to)).ok_or(Shape::Exits)?;
    if ways.next().is_some() || exit.0 != around.head || first == around.head {
        return Err(Shape::Exits);
    }
    let ends = |block: &Block| {
        let last = code.blocks[*block as usize].statements.last().map(|last| &last.kind);
        matches!(last, Some(Kind::Return(_) | Kind::Throw(_)))
    };
    if around.blocks.iter().any(ends) || body.graph.predecessors[first as usize] != [around.head as usize] {
        return Err(Shape::Exits);
    }
    if around.blocks.iter().any(|block| !code.blocks[*block as usize].handlers.is_empty()) {
        return Err(Shape::Handlers);
    }
    let uses = uses(code);
    let (mut number, mut reductions) = (None, Vec::new());
    for at in 0..code.values.len() as u32 {
        let (value, info) = (Value(at), &code.values[at as usize]);
        let Def::Phi(all) = &info.def else { continue };
        if info.block != around.head || !uses.contains_key(&value) {
            continue;
        }
        if let Some((first, step)) = super::join_loops::induction(code, around, value)
            && step != 0
        {
            if number.is_none() {
                number = Some((value, first, step));
                continue;
            }
            return Err(Shape::Carried(info.pc));
        }
        let reduction = reduction(code, around, &uses, value, all).ok_or(Shape::Carried(info.pc))?;
        reductions.push(reduction);
    }
    let (number, from, step) = number.ok_or(Shape::NotCounted)?;
    let turns = turns(code, around, number, from, step);
    Ok(Counted { number, step, exit, first, reductions, turns })
}

/// `s = s + e` and nothing else in the loop uses it.
fn reduction(
    code: &Code,
    around: &Loop,
    uses: &BTreeMap<Value, Vec<Block>>,
    phi: Value,
    all: &[(Block, Value)],
) -> Option<Reduction> {
    let mut found = None;
    for (_, next) in all.iter().filter(|(from, _)| around.blocks.contains(from)) {
        let Def::Binary { op, kind: Type::I32 | Type::I64, left, right } = code.def(*next) else { return None };
        let fits = matches!(op, BinaryOp::Add | BinaryOp::Mul | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor)
            || *op == BinaryOp::Sub && *left == phi;
        let once = (*left == phi) != (*right == phi);
        let alone = uses.get(next).is_some_and(|all| all.len() == 1);
        (fits && once && alone && found.is_none()).then_some(())?;
        found = Some(if *op == BinaryOp::Sub { BinaryOp::Add } else { *op });
    }
    let inside = uses.get(&phi)?.iter().filter(|at| around.blocks.contains(at)).count();
    Some(Reduction { phi, op: found.filter(|_| inside == 1)? })
}

/// Blocks in which values are used; of phis, those they come from.
fn uses(code: &Code) -> BTreeMap<Value, Vec<Block>> {
    let mut uses: BTreeMap<Value, Vec<Block>> = BTreeMap::new();
    let mut add = |value: Value, block: Block| uses.entry(value).or_default().push(block);
    for (at, info) in code.values.iter().enumerate() {
        match &info.def {
            Def::Phi(all) => all.iter().for_each(|(from, one)| add(*one, *from)),
            _ => code.mentioned(Value(at as u32)).into_iter().for_each(|one| add(one, info.block)),
        }
    }
    for (block, inside) in code.blocks.iter().enumerate() {
        for statement in inside.statements.iter().filter(|one| !matches!(one.kind, Kind::Define(_))) {
            statement.uses(code).into_iter().for_each(|one| add(one, block as Block));
        }
    }
    uses
}

fn turns(code: &Code, around: &Loop, number: Value, first: i64, step: i64) -> Option<u64> {
    let test = super::join_loops::head_test(code, around)?;
    let bound = super::join_loops::bound_of(code, test, number)?;
    let Some(Constant::Whole(bound)) = code.constant(bound) else { return None };
    (step > 0).then(|| ((bound - first).max(0) as u64).div_ceil(step as u64))
}

/// Two calls of one block as tasks. `None`: what stands between them needs what the first returns.
pub fn two_calls(classes: &mut Classes<'_>, method: MethodId, block: Block, calls: [u32; 2]) -> Option<()> {
    let body = classes.body(method)?.ok()?;
    let mut code = copy(&body.code);
    let statements = code.blocks[block as usize].statements.clone();
    let call = |at: u32| match &statements[at as usize].kind {
        Kind::Call(call) => Some((**call).clone()),
        _ => None,
    };
    let (one, other) = (call(calls[0])?, call(calls[1])?);
    let needs = |value: Value| depends(&body.code, value, one.to);
    let between = &statements[calls[0] as usize + 1..=calls[1] as usize];
    if between.iter().any(|statement| statement.uses(&body.code).into_iter().any(needs)) {
        return None;
    }
    let pcs = [statements[calls[0] as usize].pc, statements[calls[1] as usize].pc];
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for (call, pc) in [(one, pcs[0]), (other, pcs[1])] {
        let (start, wait) = task(classes, &mut code, block, call, pc);
        match before.is_empty() {
            true => before = start,
            false => after.extend(start),
        }
        after.push(wait);
    }
    // The second start, then both waits.
    let waits: Vec<Statement> = after.iter().filter(|one| is_wait(classes, one)).cloned().collect();
    after.retain(|one| !is_wait(classes, one));
    let mut changed = statements[..calls[0] as usize].to_vec();
    changed.extend(before);
    changed.extend_from_slice(&statements[calls[0] as usize + 1..calls[1] as usize]);
    changed.extend(after);
    changed.extend(waits);
    changed.extend_from_slice(&statements[calls[1] as usize + 1..]);
    code.blocks[block as usize].statements = changed;
    classes.replace(method, Rc::new(body.with(code)));
    Some(())
}

fn is_wait(classes: &Classes<'_>, one: &Statement) -> bool {
    matches!(&one.kind, Kind::Call(call) if classes.names.text(call.method.name) == "join")
}

/// Whether a value is computed from another one without any statement in between.
fn depends(code: &Code, value: Value, on: Option<Value>) -> bool {
    let Some(on) = on else { return false };
    let (mut seen, mut rest) = (BTreeSet::new(), vec![value]);
    while let Some(at) = rest.pop() {
        if at == on {
            return true;
        }
        if seen.insert(at) {
            rest.extend(code.mentioned(at));
        }
    }
    false
}

/// Statements that start a call as a task, and the one that waits for it.
fn task(classes: &mut Classes<'_>, code: &mut Code, block: Block, call: Call, pc: u32) -> (Vec<Statement>, Statement) {
    let kind = match call.how {
        How::Static => INVOKE_STATIC,
        How::Special => INVOKE_SPECIAL,
        _ => INVOKE_VIRTUAL,
    };
    let (run, maker, taker, start) = match call.to {
        Some(_) => ("get", "()Ljava/util/function/Supplier;", "(Ljava/util/function/Supplier;)", "supplyAsync"),
        None => ("run", "()Ljava/lang/Runnable;", "(Ljava/lang/Runnable;)", "runAsync"),
    };
    let future = "java/util/concurrent/CompletableFuture";
    let mut member = |class: &str, name: &str, descriptor: &str| Member {
        class: classes.names.add(class),
        name: classes.names.add(name),
        descriptor: classes.names.add(descriptor),
    };
    let mut value = |def: Def| {
        code.values.push(Info { def, block, pc });
        Value(code.values.len() as u32 - 1)
    };
    let (function, handle) = (value(Def::Result), value(Def::Result));
    let made = member("", run, maker);
    let method = member(future, start, &format!("{taker}L{future};"));
    let join = member(future, "join", "()Ljava/lang/Object;");
    let how = How::Lambda { method: made.name, implementation: call.method, kind };
    let lambda = Call { to: Some(function), how, method: made, arguments: call.arguments };
    let submit = Call { to: Some(handle), how: How::Static, method, arguments: vec![function] };
    let wait = Call { to: call.to, how: How::Virtual, method: join, arguments: vec![handle] };
    // Places inside the instruction: no other statement has them.
    let at = |pc: u32, call: Call| Statement { pc, kind: Kind::Call(Box::new(call)) };
    (vec![at(pc, lambda), at(pc + 1, submit)], at(pc + 2, wait))
}

fn copy(code: &Code) -> Code {
    Code {
        blocks: code.blocks.clone(),
        values: code.values.clone(),
        parameters: code.parameters.clone(),
        for_interrupts: code.for_interrupts.clone(),
        instructions: code.instructions,
    }
}

/// The turns of a loop as threads. Returns the place where they are made.
pub fn turns_as_threads(classes: &mut Classes<'_>, method: MethodId, around: &Loop, counted: &Counted) -> Option<u32> {
    let body = classes.body(method)?.ok()?;
    let code = &body.code;
    let inner: BTreeSet<Block> = around.blocks.iter().copied().filter(|block| *block != around.head).collect();
    let mut turn = Turn { code, inner: &inner, out: Code::default(), known: BTreeMap::new(), captured: Vec::new() };
    turn.take_over(counted)?;
    let (out, captured) = (turn.out, turn.captured);
    let pc = code.blocks[counted.first as usize].statements.first().map_or(0, |one| one.pc);
    let name = classes.names.add(&format!("turn of the loop at {pc}"));
    let types: String = captured.iter().map(|value| letter(code, *value)).collect();
    let descriptor = classes.names.add(&format!("({types})V"));
    let class = classes.method(method).class_name;
    classes.add_static(method, name, descriptor, Rc::new(body.with(out)));
    let mut code = copy(code);
    // The last one inside the first instruction of the body.
    let statements = start_thread(classes, &mut code, counted.first, Member { class, name, descriptor }, captured, pc);
    for block in &inner {
        let (handlers, next) = (Vec::new(), Vec::new());
        code.blocks[*block as usize] = BlockCode { statements: Vec::new(), next, handlers };
    }
    code.blocks[counted.first as usize] = BlockCode { statements, next: vec![around.head], handlers: Vec::new() };
    let add = |code: &mut Code, def: Def| {
        code.values.push(Info { def, block: counted.first, pc });
        Value(code.values.len() as u32 - 1)
    };
    let step = add(&mut code, Def::Constant(Constant::Whole(counted.step)));
    let sum = Def::Binary { op: BinaryOp::Add, kind: Type::I32, left: counted.number, right: step };
    let next = add(&mut code, sum);
    for at in 0..code.values.len() as u32 {
        let is_number = Value(at) == counted.number;
        let info = &mut code.values[at as usize];
        if info.block == around.head
            && let Def::Phi(all) = &mut info.def
        {
            let outside = all.iter().filter(|(from, _)| !around.blocks.contains(from)).copied();
            let last = if is_number { next } else { step };
            *all = outside.chain([(counted.first, last)]).collect();
        }
    }
    classes.replace(method, Rc::new(body.with(code)));
    Some(pc)
}

/// A call that takes anything takes objects: what is captured is one to the analysis, but for numbers.
fn letter(code: &Code, value: Value) -> &'static str {
    match code.def(value) {
        Def::Binary { kind: Type::I64, .. } => "J",
        Def::Phi(_) | Def::Binary { .. } | Def::Length(_) | Def::Narrow(..) | Def::Compare { .. } => "I",
        _ => "Ljava/lang/Object;",
    }
}

fn start_thread(
    classes: &mut Classes<'_>,
    code: &mut Code,
    block: Block,
    implementation: Member,
    captured: Vec<Value>,
    pc: u32,
) -> Vec<Statement> {
    let mut member = |class: &str, name: &str, descriptor: &str| Member {
        class: classes.names.add(class),
        name: classes.names.add(name),
        descriptor: classes.names.add(descriptor),
    };
    let run = member("", "run", "()Ljava/lang/Runnable;");
    let thread = member("java/lang/Thread", "<init>", "(Ljava/lang/Runnable;)V");
    let start = member("java/lang/Thread", "start", "()V");
    let mut value = |def: Def| {
        code.values.push(Info { def, block, pc });
        Value(code.values.len() as u32 - 1)
    };
    let (function, made) = (value(Def::Result), value(Def::New(thread.class)));
    let how = How::Lambda { method: run.name, implementation, kind: INVOKE_STATIC };
    let call = |pc: u32, to: Option<Value>, how: How, method: Member, arguments: Vec<Value>| Statement {
        pc,
        kind: Kind::Call(Box::new(Call { to, how, method, arguments })),
    };
    // What is made at different places is different; the loop has left these.
    vec![
        call(pc, Some(function), how, run, captured),
        Statement { pc: pc + 1, kind: Kind::Define(made) },
        call(pc + 1, None, How::Special, thread, vec![made, function]),
        call(pc + 2, None, How::Virtual, start, vec![made]),
        Statement { pc: pc + 2, kind: Kind::Jump },
    ]
}

/// The code of one turn, under way.
struct Turn<'c> {
    code: &'c Code,
    inner: &'c BTreeSet<Block>,
    out: Code,
    known: BTreeMap<Value, Value>,
    /// Values of the loop's method that a turn is given.
    captured: Vec<Value>,
}

impl Turn<'_> {
    fn take_over(&mut self, counted: &Counted) -> Option<()> {
        let order: Vec<Block> =
            [counted.first].into_iter().chain(self.inner.iter().copied().filter(|at| *at != counted.first)).collect();
        let place: BTreeMap<Block, Block> = order.iter().enumerate().map(|(to, from)| (*from, to as Block)).collect();
        let end = order.len() as Block;
        // Parameters stand in the first block; values that are defined inside keep their order.
        let used: Vec<Value> = order
            .iter()
            .flat_map(|block| self.statements(*block))
            .flat_map(|one| match one.kind {
                Kind::Define(value) => [vec![value], one.uses(self.code)].concat(),
                _ => one.uses(self.code),
            })
            .collect();
        let (mut seen, mut rest) = (BTreeSet::new(), used);
        let mut own = Vec::new();
        while let Some(value) = rest.pop() {
            if !seen.insert(value) {
                continue;
            }
            let info = &self.code.values[value.index()];
            match info.def {
                Def::Constant(_) | Def::Undefined => own.push(value),
                _ if self.inner.contains(&info.block) => {
                    own.push(value);
                    rest.extend(self.code.mentioned(value));
                }
                _ => self.captured.push(value),
            }
        }
        // What the turn adds to a sum is computed in it, too.
        for (index, value) in self.captured.clone().into_iter().enumerate() {
            let parameter = self.add(Def::Parameter(index as u32), 0, 0);
            self.out.parameters.push(parameter);
            self.known.insert(value, parameter);
        }
        own.sort_unstable();
        for value in &own {
            let info = &self.code.values[value.index()];
            let block = place.get(&info.block).copied().unwrap_or(0);
            let made = self.add(Def::Undefined, block, info.pc);
            self.known.insert(*value, made);
        }
        for value in &own {
            let def = self.moved(&self.code.values[value.index()].def, &place)?;
            let made = self.known[value];
            self.out.values[made.index()].def = def;
        }
        for block in &order {
            let from = &self.code.blocks[*block as usize];
            let statements: Option<Vec<Statement>> = from.statements.iter().map(|one| self.statement(one)).collect();
            let next = from.next.iter().map(|to| place.get(to).copied().unwrap_or(end)).collect();
            self.out.blocks.push(BlockCode { statements: statements?, next, handlers: Vec::new() });
        }
        let last = vec![Statement { pc: 0, kind: Kind::Return(None) }];
        self.out.blocks.push(BlockCode { statements: last, next: Vec::new(), handlers: Vec::new() });
        Some(())
    }

    fn statements(&self, block: Block) -> impl Iterator<Item = &Statement> {
        self.code.blocks[block as usize].statements.iter()
    }

    fn add(&mut self, def: Def, block: Block, pc: u32) -> Value {
        self.out.values.push(Info { def, block, pc });
        Value(self.out.values.len() as u32 - 1)
    }

    fn to(&self, value: Value) -> Option<Value> {
        self.known.get(&value).copied()
    }

    fn place(&self, place: &Place) -> Option<Place> {
        Some(match place {
            Place::Static(member) => Place::Static(*member),
            Place::Field(base, member) => Place::Field(self.to(*base)?, *member),
            Place::Element(base, index) => Place::Element(self.to(*base)?, self.to(*index)?),
        })
    }

    fn moved(&self, def: &Def, blocks: &BTreeMap<Block, Block>) -> Option<Def> {
        Some(match def {
            Def::Parameter(_) => return None,
            Def::Constant(_) | Def::New(_) | Def::Result | Def::Caught | Def::Undefined => def.clone(),
            Def::Array(class, lengths) => {
                Def::Array(*class, lengths.iter().map(|one| self.to(*one)).collect::<Option<_>>()?)
            }
            Def::Binary { op, kind, left, right } => {
                Def::Binary { op: *op, kind: *kind, left: self.to(*left)?, right: self.to(*right)? }
            }
            Def::Compare { kind, left, right, unordered } => {
                Def::Compare { kind: *kind, left: self.to(*left)?, right: self.to(*right)?, unordered: *unordered }
            }
            Def::Negate(kind, value) => Def::Negate(*kind, self.to(*value)?),
            Def::Narrow(narrowing, value) => Def::Narrow(*narrowing, self.to(*value)?),
            Def::Convert { from, to, value } => Def::Convert { from: *from, to: *to, value: self.to(*value)? },
            Def::Length(value) => Def::Length(self.to(*value)?),
            Def::InstanceOf(value, class) => Def::InstanceOf(self.to(*value)?, *class),
            Def::Cast(value, class) => Def::Cast(self.to(*value)?, *class),
            Def::Load(place) => Def::Load(self.place(place)?),
            Def::Phi(all) => {
                let ways = all.iter().map(|(from, one)| Some((*blocks.get(from)?, self.to(*one)?)));
                Def::Phi(ways.collect::<Option<_>>()?)
            }
        })
    }

    fn statement(&self, one: &Statement) -> Option<Statement> {
        let kind = match &one.kind {
            Kind::Define(value) => Kind::Define(self.to(*value)?),
            Kind::Store(place, value) => Kind::Store(self.place(place)?, self.to(*value)?),
            Kind::Call(call) => {
                let to = match call.to {
                    // What nobody uses need not be known.
                    Some(to) => self.to(to),
                    None => None,
                };
                let arguments = call.arguments.iter().map(|value| self.to(*value)).collect::<Option<_>>()?;
                Kind::Call(Box::new(Call { to, how: call.how, method: call.method, arguments }))
            }
            Kind::Enter(value) => Kind::Enter(self.to(*value)?),
            Kind::Exit(value) => Kind::Exit(self.to(*value)?),
            Kind::Jump => Kind::Jump,
            Kind::Branch(test, left, right) => {
                let right = match right {
                    Some(right) => Some(self.to(*right)?),
                    None => None,
                };
                Kind::Branch(*test, self.to(*left)?, right)
            }
            Kind::Switch(value) => Kind::Switch(self.to(*value)?),
            Kind::Return(_) | Kind::Throw(_) => return None,
        };
        Some(Statement { pc: one.pc, kind })
    }
}
