//! From bytecode to [`Code`]: the operand stack and the locals are simulated, block by block.
//!
//! Where blocks meet every slot becomes a phi; those that join nothing go away again. What cannot be simulated (`jsr`,
//! malformed code) is an error of that method, which is then opaque.

use std::collections::BTreeMap;

use reweave_jvm::classfile::descriptor::MethodDescriptor;
use reweave_jvm::classfile::opcode::*;
use reweave_jvm::classfile::{ClassFile, Code as RawCode, Instruction, access};

use super::code::*;
use super::instructions::{Simulation, Slot};

/// Slots of locals times blocks: beyond this a method is not looked at.
const MOST_SLOTS: usize = 4_000_000;

/// What the values of slots are.
#[derive(Clone, Default)]
pub(super) struct State {
    pub locals: Vec<Value>,
    pub stack: Vec<Slot>,
}

/// A call site of a class that is linked at run time.
#[derive(Clone, Copy, Debug)]
pub enum Bootstrap {
    Lambda { implementation: Member, kind: u8 },
    Pure,
    Unknown,
}

pub(super) struct Lowering<'c, 'a> {
    pub class: &'c ClassFile<'a>,
    pub bootstraps: &'c [Bootstrap],
    pub names: &'c mut Names,
    pub code: Code,
}

/// Blocks as they stand in the bytecode.
struct Layout {
    /// First pc of each block, ascending, and its instructions.
    starts: Vec<u32>,
    next: Vec<Vec<Block>>,
    /// With the index of the class that is caught, 0 for all.
    handlers: Vec<Vec<(Block, u16)>>,
}

/// Lowers one method.
pub fn lower(
    class: &ClassFile<'_>,
    bootstraps: &[Bootstrap],
    names: &mut Names,
    raw: &RawCode<'_>,
    flags: u16,
    descriptor: &[u8],
) -> Result<Code, String> {
    let instructions: Vec<Instruction<'_>> =
        raw.instructions().collect::<Result<_, _>>().map_err(|error| format!("{error}"))?;
    if instructions.iter().any(|one| matches!(one.op, JSR | JSR_W | RET)) {
        return Err("it has subroutines (jsr), as compilers before Java 6 made them".to_owned());
    }
    let layout = Layout::new(raw, &instructions)?;
    if layout.starts.len().saturating_mul(usize::from(raw.max_locals) + 1) > MOST_SLOTS {
        return Err("it is too large".to_owned());
    }
    let count = instructions.len() as u32;
    let code = Code { instructions: count, ..Code::default() };
    let mut lowering = Lowering { class, bootstraps, names, code };
    let first = lowering.parameters(raw, flags, descriptor)?;
    lowering.blocks(&layout, &instructions, first)?;
    lowering.simplify();
    lowering.code.for_interrupts = layout.for_interrupts(class, raw);
    Ok(lowering.code)
}

impl Layout {
    fn new(raw: &RawCode<'_>, instructions: &[Instruction<'_>]) -> Result<Self, String> {
        let end = raw.bytes.len() as i64;
        let mut leaders: std::collections::BTreeSet<u32> = [0].into();
        let mut wild = false;
        for one in instructions {
            let mut jumps = ends_flow(one.op);
            one.each_target(|to| {
                jumps = true;
                wild |= !(0..end).contains(&to);
                leaders.insert(to.max(0) as u32);
            });
            if jumps {
                leaders.insert(one.next_pc());
            }
        }
        for handler in &raw.handlers {
            leaders.extend([handler.start, handler.end, handler.target].map(u32::from));
            wild |= i64::from(handler.target) >= end;
        }
        let known: std::collections::HashSet<u32> = instructions.iter().map(|one| one.pc).collect();
        leaders.retain(|pc| i64::from(*pc) < end);
        if wild || leaders.iter().any(|pc| !known.contains(pc)) {
            return Err("a jump leads into the middle of an instruction".to_owned());
        }
        let starts: Vec<u32> = leaders.into_iter().collect();
        let block_of = |pc: u32| (starts.partition_point(|start| *start <= pc) - 1) as Block;
        let mut next = vec![Vec::new(); starts.len()];
        let mut handlers = vec![Vec::new(); starts.len()];
        for (at, one) in instructions.iter().enumerate() {
            let block = block_of(one.pc);
            let is_last = instructions.get(at + 1).is_none_or(|next| block_of(next.pc) != block);
            if !is_last {
                continue;
            }
            let mut to: Vec<Block> = Vec::new();
            one.each_target(|target| to.push(block_of(target as u32)));
            if !ends_flow(one.op) {
                if i64::from(one.next_pc()) >= end {
                    return Err("it runs off its end".to_owned());
                }
                to.push(block_of(one.next_pc()));
            }
            next[block as usize] = to;
        }
        for (at, start) in starts.iter().enumerate() {
            let covering = raw.handlers.iter().filter(|one| (one.start..one.end).contains(&(*start as u16)));
            for handler in covering {
                let own = (block_of(handler.target.into()), handler.caught);
                if !handlers[at].contains(&own) {
                    handlers[at].push(own);
                }
            }
        }
        Ok(Self { starts, next, handlers })
    }

    fn for_interrupts(&self, class: &ClassFile<'_>, raw: &RawCode<'_>) -> Vec<Block> {
        let is_interrupt = |caught: u16| {
            let name = if caught == 0 { None } else { class.pool.class_name(caught).ok() };
            let all: [&[u8]; 2] = [b"java/lang/InterruptedException", b"java/util/concurrent/BrokenBarrierException"];
            name.is_some_and(|name| all.contains(&name))
        };
        let only = |pc: u32| {
            let mut there = raw.handlers.iter().filter(|one| u32::from(one.target) == pc).peekable();
            there.peek().is_some() && there.all(|one| is_interrupt(one.caught))
        };
        (0..self.starts.len()).filter(|at| only(self.starts[*at])).map(|at| at as Block).collect()
    }

    /// Blocks that something leads to, each after one of those that lead to it.
    fn order(&self) -> Vec<Block> {
        let mut order = Vec::new();
        let mut seen = vec![false; self.starts.len()];
        let mut stack: Vec<(Block, usize)> = vec![(0, 0)];
        seen[0] = true;
        while let Some((at, next)) = stack.pop() {
            let thrown = self.handlers[at as usize].iter().map(|(to, _)| *to);
            let Some(to) = self.next[at as usize].iter().copied().chain(thrown).nth(next) else {
                order.push(at);
                continue;
            };
            stack.push((at, next + 1));
            if !std::mem::replace(&mut seen[to as usize], true) {
                stack.push((to, 0));
            }
        }
        order.reverse();
        order
    }
}

impl Lowering<'_, '_> {
    pub fn value(&mut self, def: Def, block: Block, pc: u32) -> Value {
        self.code.values.push(Info { def, block, pc });
        Value(self.code.values.len() as u32 - 1)
    }

    fn parameters(&mut self, raw: &RawCode<'_>, flags: u16, descriptor: &[u8]) -> Result<State, String> {
        let method = MethodDescriptor::parse(descriptor).map_err(|error| format!("{error}"))?;
        let undefined = self.value(Def::Undefined, 0, 0);
        let mut locals = vec![undefined; usize::from(raw.max_locals)];
        let receiver: Option<&[u8]> = (flags & access::STATIC == 0).then_some(b"L");
        let mut at = 0;
        for parameter in receiver.into_iter().chain(method.parameters()) {
            let value = self.value(Def::Parameter(self.code.parameters.len() as u32), 0, 0);
            *locals.get_mut(at).ok_or("it has fewer locals than parameters")? = value;
            self.code.parameters.push(value);
            at += reweave_jvm::classfile::descriptor::slots(parameter[0]);
        }
        Ok(State { locals, stack: Vec::new() })
    }

    fn blocks(&mut self, layout: &Layout, instructions: &[Instruction<'_>], first: State) -> Result<(), String> {
        let count = layout.starts.len();
        let order = layout.order();
        let mut preds: Vec<Vec<Block>> = vec![Vec::new(); count];
        let mut raised: Vec<Vec<Block>> = vec![Vec::new(); count];
        for at in &order {
            layout.next[*at as usize].iter().for_each(|to| preds[*to as usize].push(*at));
            for (to, _) in &layout.handlers[*at as usize] {
                if raised[*to as usize].last() != Some(at) {
                    raised[*to as usize].push(*at);
                }
            }
        }
        let mut out: BTreeMap<Block, Simulation> = BTreeMap::new();
        let mut entries: BTreeMap<Block, State> = BTreeMap::new();
        self.code.blocks = vec![BlockCode::default(); count];
        for at in &order {
            let here = *at as usize;
            let state = match (&preds[here][..], &raised[here][..]) {
                ([], []) => first.clone(),
                (&[only], []) if *at != 0 => out[&only].state.clone(),
                (_, []) => {
                    let known = preds[here].iter().find_map(|from| out.get(from)).map(|known| &known.state);
                    let stack = if *at == 0 { Vec::new() } else { known.ok_or("no way in")?.stack.clone() };
                    self.phis(*at, layout.starts[here], first.locals.len(), Some(stack))
                }
                _ => self.phis(*at, layout.starts[here], first.locals.len(), None),
            };
            entries.insert(*at, state.clone());
            let end = layout.starts.get(here + 1).copied().unwrap_or(u32::MAX);
            let from = instructions.partition_point(|one| one.pc < layout.starts[here]);
            let to = instructions.partition_point(|one| one.pc < end);
            let mut simulation = Simulation::new(state, *at);
            simulation.run(self, &instructions[from..to])?;
            self.code.blocks[here] = BlockCode {
                statements: std::mem::take(&mut simulation.statements),
                next: layout.next[here].clone(),
                handlers: self.handlers(&layout.handlers[here])?,
            };
            out.insert(*at, simulation);
        }
        for at in &order {
            let here = *at as usize;
            let is_copy = raised[here].is_empty() && preds[here].len() == 1 && *at != 0;
            if is_copy || (*at == 0 && preds[here].is_empty()) {
                continue;
            }
            self.fill(*at, &entries, &out, (&preds[here], &raised[here]), &first)?;
        }
        Ok(())
    }

    fn handlers(&mut self, all: &[(Block, u16)]) -> Result<Vec<Handler>, String> {
        let mut handlers = Vec::new();
        for (to, caught) in all {
            let class = if *caught == 0 { None } else { Some(self.class_name(*caught)?) };
            handlers.push(Handler { to: *to, class });
        }
        Ok(handlers)
    }

    /// A phi for every slot; of a handler the stack is what was caught.
    fn phis(&mut self, at: Block, pc: u32, locals: usize, stack: Option<Vec<Slot>>) -> State {
        let locals = (0..locals).map(|_| self.value(Def::Phi(Vec::new()), at, pc)).collect();
        let stack = match stack {
            Some(shape) => {
                let phi = |slot: &Slot| Slot { value: self.value(Def::Phi(Vec::new()), at, pc), wide: slot.wide };
                shape.iter().map(phi).collect()
            }
            None => vec![Slot { value: self.value(Def::Caught, at, pc), wide: false }],
        };
        State { locals, stack }
    }

    fn fill(
        &mut self,
        at: Block,
        entries: &BTreeMap<Block, State>,
        out: &BTreeMap<Block, Simulation>,
        (preds, raised): (&[Block], &[Block]),
        first: &State,
    ) -> Result<(), String> {
        let entry = entries[&at].clone();
        for (index, value) in entry.locals.iter().enumerate() {
            let mut all: Vec<(Block, Value)> = Vec::new();
            if at == 0 {
                all.push((0, first.locals[index]));
            }
            for from in preds {
                all.push((*from, out[from].state.locals[index]));
            }
            for from in raised {
                all.push((*from, entries[from].locals[index]));
                let stored = out[from].stored.iter().filter(|(local, _)| *local == index);
                all.extend(stored.map(|(_, value)| (*from, *value)));
            }
            self.code.values[value.index()].def = Def::Phi(all);
        }
        if raised.is_empty() {
            for (index, slot) in entry.stack.iter().enumerate() {
                let mut all = Vec::new();
                for from in preds {
                    let there = out[from].state.stack.get(index).ok_or("stacks of different depth meet")?;
                    all.push((*from, there.value));
                }
                self.code.values[slot.value.index()].def = Def::Phi(all);
            }
        }
        Ok(())
    }

    /// Removes phis that join one value, and those that nobody uses.
    fn simplify(&mut self) {
        let count = self.code.values.len();
        let mut instead: Vec<Value> = (0..count as u32).map(Value).collect();
        let mut changed = true;
        while changed {
            changed = false;
            for at in 0..count {
                let own = Value(at as u32);
                let Def::Phi(all) = &self.code.values[at].def else { continue };
                if instead[at] != own {
                    continue;
                }
                let mut only = None;
                let mut several = false;
                for (_, value) in all {
                    let value = find(&mut instead, *value);
                    let is_undefined = matches!(self.code.values[value.index()].def, Def::Undefined);
                    if value != own && !is_undefined && only != Some(value) {
                        several |= only.is_some();
                        only = Some(value);
                    }
                }
                if let (Some(only), false) = (only, several) {
                    instead[at] = only;
                    changed = true;
                }
            }
        }
        let mut rename = |value: &mut Value| *value = find(&mut instead, *value);
        for info in &mut self.code.values {
            each_operand(&mut info.def, &mut rename);
        }
        for statement in self.code.blocks.iter_mut().flat_map(|block| &mut block.statements) {
            each_use(&mut statement.kind, &mut rename);
        }
        self.drop_unused();
    }

    fn drop_unused(&mut self) {
        let mut used = vec![false; self.code.values.len()];
        let mut rest: Vec<Value> = Vec::new();
        for statement in self.code.blocks.iter().flat_map(|block| &block.statements) {
            rest.extend(statement.uses(&self.code));
        }
        while let Some(value) = rest.pop() {
            if !std::mem::replace(&mut used[value.index()], true) {
                rest.extend(self.code.mentioned(value));
            }
        }
        for (info, used) in self.code.values.iter_mut().zip(used) {
            if !used && matches!(info.def, Def::Phi(_)) {
                info.def = Def::Undefined;
            }
        }
    }
}

fn find(instead: &mut [Value], mut value: Value) -> Value {
    while instead[value.index()] != value {
        let next = instead[value.index()];
        instead[value.index()] = instead[next.index()];
        value = next;
    }
    value
}

fn each_place(place: &mut Place, change: &mut impl FnMut(&mut Value)) {
    match place {
        Place::Static(_) => {}
        Place::Field(base, _) => change(base),
        Place::Element(base, index) => {
            change(base);
            change(index);
        }
    }
}

fn each_operand(def: &mut Def, change: &mut impl FnMut(&mut Value)) {
    match def {
        Def::Array(_, lengths) => lengths.iter_mut().for_each(change),
        Def::Binary { left, right, .. } | Def::Compare { left, right, .. } => {
            change(left);
            change(right);
        }
        Def::Narrow(_, value) | Def::Negate(_, value) | Def::Convert { value, .. } => change(value),
        Def::Length(value) | Def::InstanceOf(value, _) | Def::Cast(value, _) => change(value),
        Def::Load(place) => each_place(place, change),
        Def::Phi(all) => all.iter_mut().for_each(|(_, value)| change(value)),
        _ => {}
    }
}

fn each_use(kind: &mut Kind, change: &mut impl FnMut(&mut Value)) {
    match kind {
        Kind::Define(_) | Kind::Jump | Kind::Return(None) => {}
        Kind::Store(place, value) => {
            each_place(place, change);
            change(value);
        }
        Kind::Call(call) => call.arguments.iter_mut().for_each(change),
        Kind::Enter(value) | Kind::Exit(value) | Kind::Switch(value) | Kind::Throw(value) => change(value),
        Kind::Return(Some(value)) => change(value),
        Kind::Branch(_, left, right) => {
            change(left);
            right.iter_mut().for_each(change);
        }
    }
}
