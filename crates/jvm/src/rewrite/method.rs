//! One method: which hooks it gets, and where.
//!
//! An access is recorded after it was made, with the value it had: what throws is then not recorded. The operands it
//! needs are copied in front of it; where the stack cannot be shuffled that way they rest in a local variable behind
//! the method's own, which no frame mentions.

use super::brackets::is_recorded_call;
use super::emit::{Emitter, Number};
use super::facts::{Facts, Field, MemberName, NO_MEMBER, Site, SiteKind};
use super::flow::{Flow, Note};
use super::hook_names::{Hook, HookConstants};
use super::splice::{Edit, Edits, Spliced, splice};
use super::{LockCall, Options, Scope, Stop};
use super::{probes, queues};
use crate::classfile::descriptor::{MethodDescriptor, slots};
use crate::classfile::frames::{Frames, Type, entry_locals};
use crate::classfile::opcode::*;
use crate::classfile::pool::Reference;
use crate::classfile::{Code, FIRST_WITH_FRAMES, Instruction, Member, Pool, Result, access, decode_text, find};
use std::collections::{HashMap, HashSet};

/// Slots that hooks need on top of what the method itself has on its stack: the most is an array, an index, a long
/// value and the site.
const MORE_STACK: u16 = 6;

const STAMPED_LOCK: &[u8] = b"java/util/concurrent/locks/StampedLock";

/// The class around the method.
pub struct Class<'c, 'a> {
    pub pool: &'c mut Pool<'a>,
    pub hooks: &'c mut HookConstants,
    pub facts: &'c mut Facts,
    pub members: &'c mut HashMap<u16, u32>,
    pub options: &'c Options<'c>,
    pub major: u16,
    pub this_class: u16,
    pub adds_address_field: bool,
}

/// What kind of method it is, by name and flags.
#[derive(Clone, Copy)]
pub(super) struct Form {
    number: u16,
    constructor: bool,
    initializer: bool,
    pub(super) is_static: bool,
    pub(super) synchronized: bool,
    /// It is a method of a lock that is seen as a whole; whether it returns something.
    lock: Option<(LockCall, bool)>,
    /// Collections call it while they are at work.
    pub(super) called_back: bool,
}

/// Puts hooks into a method; `None` if it needs none.
pub fn rewrite<'a>(
    class: &mut Class<'_, 'a>,
    number: u16,
    member: &Member<'_>,
    code: &Code<'a>,
    with_calls: bool,
) -> Result<Option<Spliced<'a>>> {
    let name = class.pool.utf8(member.name)?;
    let form = Form {
        number,
        constructor: name == b"<init>",
        initializer: name == b"<clinit>",
        is_static: member.is(access::STATIC),
        synchronized: member.is(access::SYNCHRONIZED),
        lock: lock_call(class, member)?,
        called_back: matches!(name, b"hashCode" | b"equals" | b"compareTo" | b"compare")
            || name.starts_with(b"lambda$"),
    };
    if let Scope::Quiet(names) = class.options.scope
        && !names.contains(&name)
    {
        return Ok(None);
    }
    if queues::only_links(class.pool.class_name(class.this_class)?, name) || name == probes::GETS_NOTES.as_bytes() {
        return Ok(None);
    }
    let instructions = code.instructions().collect::<Result<Vec<_>>>()?;
    let mut index_of = vec![u32::MAX; code.bytes.len() + 1];
    for (i, instruction) in instructions.iter().enumerate() {
        index_of[instruction.pc as usize] = i as u32;
    }
    index_of[code.bytes.len()] = instructions.len() as u32;

    let descriptor = class.pool.utf8(member.descriptor)?.to_vec();
    let descriptor = MethodDescriptor::parse(&descriptor)?;
    let receiver = (!form.is_static).then_some(if form.constructor {
        Type::UninitializedThis
    } else {
        Type::Object(class.this_class)
    });
    let table = find(class.pool, &code.attributes, b"StackMapTable");
    let mut entry = entry_locals(&descriptor, receiver);
    let mut frames = match table {
        _ if class.major < FIRST_WITH_FRAMES => None,
        Some(table) => Some(Frames::parse(&table.bytes, &entry)?),
        None => Some(Frames::default()),
    };
    let mut pass = Pass::new(class, form, code, &instructions, with_calls);
    pass.run(&index_of, frames.as_ref())?;
    let changed = pass.changed;
    let edits = pass.edits;
    if !changed {
        return Ok(None);
    }
    if !edits.locals.is_empty() && frames.is_some() {
        // Frames that name the new locals are written in full, with the classes of the parameters.
        name_parameters(&mut entry, &descriptor, class.pool)?;
        frames = table.map_or(Ok(frames), |table| Frames::parse(&table.bytes, &entry).map(Some))?;
    }
    let frames = frames.as_ref().map(|frames| (frames, &entry[..]));
    splice(code, &instructions, &index_of, &edits, frames, class.pool).map(Some)
}

fn name_parameters(entry: &mut [Type], descriptor: &MethodDescriptor<'_>, pool: &mut Pool<'_>) -> Result<()> {
    let first = entry.len() - descriptor.parameters().count();
    for (local, parameter) in entry[first..].iter_mut().zip(descriptor.parameters()) {
        let class = match parameter {
            [b'L', name @ .., b';'] => name,
            [b'[', ..] => parameter,
            _ => continue,
        };
        *local = Type::Object(pool.add_class(class)?);
    }
    Ok(())
}

/// The way through one method.
pub(super) struct Pass<'p, 'c, 'a> {
    pub(super) class: &'p mut Class<'c, 'a>,
    pub(super) form: Form,
    code: &'p Code<'a>,
    pub(super) instructions: &'p [Instruction<'a>],
    pub(super) edits: Edits,
    changed: bool,
    /// Local variables of ours: the stack of calls (if calls are recorded), the lock, a resting place.
    pub(super) stack: Option<u16>,
    pub(super) lock: u16,
    pub(super) rest: u16,
    /// For each instruction, whether a call that is recorded stands there.
    pub(super) calls: Vec<bool>,
    /// Objects that are being made, innermost last: their class, and whether they stay on the stack.
    pub(super) making: Vec<(u16, bool)>,
    /// Places from where on what is read is only used if a look at the lock says that nobody wrote, and of that look.
    optimistic: Vec<(u32, u32)>,
}

impl<'p, 'c, 'a> Pass<'p, 'c, 'a> {
    fn new(
        class: &'p mut Class<'c, 'a>,
        form: Form,
        code: &'p Code<'a>,
        instructions: &'p [Instruction<'a>],
        with_calls: bool,
    ) -> Self {
        let with_calls = with_calls && class.options.calls && !form.initializer && form.lock.is_none();
        let calls: Vec<bool> =
            instructions.iter().map(|instruction| with_calls && is_recorded_call(class, instruction)).collect();
        let own = code.max_locals;
        let stack = calls.contains(&true).then_some(own);
        let lock = own.saturating_add(u16::from(stack.is_some()));
        let rest = lock.saturating_add(u16::from(form.synchronized || form.lock.is_some()));
        let edits = Edits {
            edits: vec![Edit::default(); instructions.len()],
            more_stack: MORE_STACK,
            more_locals: rest - own + 2,
            ..Edits::default()
        };
        Self {
            class,
            form,
            code,
            instructions,
            edits,
            changed: false,
            stack,
            lock,
            rest,
            calls,
            making: Vec::new(),
            optimistic: Vec::new(),
        }
    }

    fn run(&mut self, index_of: &[u32], frames: Option<&Frames>) -> Result<()> {
        if matches!(self.class.options.scope, Scope::Quiet(_)) {
            return self.quiet();
        }
        if let Some((call, returns_value)) = self.form.lock {
            return self.lock_method(call, returns_value);
        }
        if self.form.initializer {
            // One that has run already needs nothing.
            return if self.class.options.preloaded { Ok(()) } else { self.class_uses().and_then(|()| self.quiet()) };
        }
        self.optimistic = self.optimistic_reads()?;
        let constants = self.constants()?;
        let mut flow = Flow::new(self.code, self.instructions, index_of, frames, self.form.constructor, constants)?;
        for i in 0..self.instructions.len() {
            let note = flow.step(i, &self.instructions[i], self.class.pool)?;
            let fills_last = note.leaves_fresh
                && self.instructions.get(i + 1).is_none_or(|next| next.op != DUP || flow.is_target(i + 1));
            self.instruction(i, &note, fills_last)?;
        }
        if let Some(stack) = self.stack {
            let targets: Vec<u16> = self.code.handlers.iter().map(|handler| handler.target).collect();
            self.restore_stack(stack, &targets, index_of, &flow)?;
            let mut entry = std::mem::take(&mut self.edits.entry);
            self.emitter(&mut entry).hook(Hook::Stack)?.local(ISTORE, stack);
            self.edits.entry = entry;
            self.edits.locals.push(Type::Integer);
            self.changed = true;
        }
        if self.form.synchronized {
            self.synchronized()?;
        }
        Ok(())
    }

    /// Static fields of the class that are read here and never change, as the code names them.
    fn constants(&self) -> Result<HashSet<u16>> {
        let this = self.class.pool.class_name(self.class.this_class)?;
        let mut constants = HashSet::new();
        for instruction in self.instructions.iter().filter(|instruction| instruction.op == GETSTATIC) {
            let field = self.class.pool.reference(instruction.index())?;
            let name = decode_text(field.name);
            let is_final = |own: &&Field| own.access & access::FINAL != 0 && own.name == name;
            if field.class == this && self.class.facts.fields.iter().any(|own| is_final(&own)) {
                constants.insert(instruction.index());
            }
        }
        Ok(constants)
    }

    pub(super) fn emitter<'e>(&'e mut self, out: &'e mut Vec<u8>) -> Emitter<'e, 'a> {
        Emitter { out, pool: self.class.pool, hooks: self.class.hooks }
    }

    /// Enters a new site and returns its number as code.
    pub(super) fn site(&mut self, pc: u32, kind: SiteKind, member: Option<u16>, note: &Note) -> Result<Number> {
        let member = match member {
            Some(index) => self.member(index)?,
            None => NO_MEMBER,
        };
        let (method, pc) = (self.form.number, pc as u16);
        let sites = &mut self.class.facts.sites;
        let number = self.class.options.first_site + sites.len() as u32;
        sites.push(Site { kind, method, pc, member, block: note.block, depends: note.depends });
        self.changed = true;
        Number::new(number, self.class.pool)
    }

    fn member(&mut self, index: u16) -> Result<u32> {
        if let Some(known) = self.class.members.get(&index) {
            return Ok(*known);
        }
        // Or a class, without more.
        let member = self.class.pool.class_name(index).map(|class| Reference { class, name: b"", descriptor: b"" });
        let Reference { class, name, descriptor } = member.or_else(|_| self.class.pool.reference(index))?;
        let name =
            MemberName { class: decode_text(class), name: decode_text(name), descriptor: decode_text(descriptor) };
        let number = self.class.facts.members.len() as u32;
        self.class.facts.members.push(name);
        self.class.members.insert(index, number);
        Ok(number)
    }

    fn instruction(&mut self, i: usize, note: &Note, fills_last: bool) -> Result<()> {
        let instruction = self.instructions[i];
        let (mut before, mut instead, mut after) = (self.class_use(&instruction)?, Vec::new(), Vec::new());
        let scope = self.class.options.scope;
        let (everything, plain) = (scope.is_everything(), scope.has_plain());
        match instruction.op {
            GETSTATIC | PUTSTATIC if !everything => return Ok(()),
            GETSTATIC | GETFIELD | IALOAD..=SALOAD if self.is_optimistic(instruction.pc) => return Ok(()),
            IALOAD..=SALOAD | IASTORE..=SASTORE if !plain => return Ok(()),
            NEWARRAY | ANEWARRAY | MULTIANEWARRAY if !plain && !self.is_of_jdk() => return Ok(()),
            GETFIELD | PUTFIELD if queues::is_link(&self.class.pool.reference(instruction.index())?) => return Ok(()),
            GETSTATIC | PUTSTATIC => self.static_field(&instruction, note, &mut before, &mut after)?,
            GETFIELD | PUTFIELD if !note.uninitialized_this => {
                self.field(&instruction, note, &mut before, &mut after)?;
            }
            IALOAD..=SALOAD => self.read_element(&instruction, note, &mut before, &mut after)?,
            BASTORE if probes::writes_note(self.class.facts, self.instructions, i) => return Ok(()),
            IASTORE..=SASTORE if !note.fills_fresh => {
                self.write_element(&instruction, note, &mut before, &mut after)?;
            }
            IASTORE..=SASTORE if fills_last && !scope.is_collections() => {
                self.made(&instruction, note, SiteKind::FilledArray, Hook::FilledArray, &mut after)?;
            }
            NEWARRAY | ANEWARRAY | MULTIANEWARRAY if self.class.options.array_births && !scope.is_collections() => {
                self.made(&instruction, note, SiteKind::MadeArray, Hook::MadeArray, &mut after)?;
            }
            NEW if everything => {
                let stays = self.instructions.get(i + 1).is_some_and(|next| next.op == DUP);
                self.making.push((instruction.index(), stays));
            }
            MONITORENTER => {
                let site = self.site(instruction.pc, SiteKind::EnterMonitor, None, note)?;
                self.emitter(&mut before).op(DUP).number(site).hook(Hook::EnteringMonitor)?;
            }
            MONITOREXIT => {
                let site = self.site(instruction.pc, SiteKind::ExitMonitor, None, note)?;
                before.push(DUP);
                self.emitter(&mut after).number(site).hook(Hook::LeftMonitor)?;
            }
            INVOKEVIRTUAL..=INVOKEDYNAMIC => {
                self.call(i, &instruction, note, &mut before, &mut instead, &mut after)?;
            }
            _ => return Ok(()),
        }
        let inserted = &mut self.edits.inserted;
        let edit = &mut self.edits.edits[i];
        for (bytes, range) in [(before, &mut edit.before), (instead, &mut edit.instead), (after, &mut edit.after)] {
            let start = inserted.len() as u32;
            inserted.extend_from_slice(&bytes);
            *range = (start, inserted.len() as u32);
        }
        Ok(())
    }

    /// Reads between `StampedLock.tryOptimisticRead` and `validate`, in the order of the code, are no races.
    fn optimistic_reads(&self) -> Result<Vec<(u32, u32)>> {
        let (mut found, mut first) = (Vec::new(), None);
        for instruction in self.instructions.iter().filter(|instruction| instruction.op == INVOKEVIRTUAL) {
            let method = self.class.pool.reference(instruction.index())?;
            match (method.class, method.name) {
                (STAMPED_LOCK, b"tryOptimisticRead") => first = Some(instruction.pc),
                (STAMPED_LOCK, b"validate") => found.extend(first.take().map(|first| (first, instruction.pc))),
                _ => {}
            }
        }
        Ok(found)
    }

    fn is_optimistic(&self, pc: u32) -> bool {
        self.optimistic.iter().any(|(first, last)| (*first..*last).contains(&pc))
    }

    /// Whether a run wants to stop in front of the access there.
    fn stops(&self, pc: u32) -> bool {
        match self.class.options.stop {
            Stop::Nowhere => false,
            Stop::Everywhere => true,
            Stop::At(places) => places.contains(&(self.form.number, pc as u16)),
        }
    }

    fn static_field(
        &mut self,
        instruction: &Instruction<'_>,
        note: &Note,
        before: &mut Vec<u8>,
        after: &mut Vec<u8>,
    ) -> Result<()> {
        let letter = field_letter(self.class.pool, instruction.index())?;
        let write = instruction.op == PUTSTATIC;
        let kind = if write { SiteKind::WriteStatic(letter) } else { SiteKind::ReadStatic(letter) };
        let site = self.site(instruction.pc, kind, Some(instruction.index()), note)?;
        if self.stops(instruction.pc) {
            self.emitter(before).number(site).hook(Hook::BeforeStatic)?;
        }
        let copy = if slots(letter) == 2 { DUP2 } else { DUP };
        if write {
            before.push(copy);
            self.emitter(after).number(site).hook(Hook::WroteStatic(letter))?;
        } else {
            self.emitter(after).op(copy).number(site).hook(Hook::ReadStatic(letter))?;
        }
        Ok(())
    }

    fn field(
        &mut self,
        instruction: &Instruction<'_>,
        note: &Note,
        before: &mut Vec<u8>,
        after: &mut Vec<u8>,
    ) -> Result<()> {
        let letter = field_letter(self.class.pool, instruction.index())?;
        let (stops, rest, wide) = (self.stops(instruction.pc), self.rest, slots(letter) == 2);
        let member = Some(instruction.index());
        if instruction.op == GETFIELD {
            let site = self.site(instruction.pc, SiteKind::ReadField(letter), member, note)?;
            if stops {
                self.emitter(before).op(DUP).number(site).hook(Hook::BeforeField)?;
            }
            before.push(DUP);
            let copy = if wide { DUP2_X1 } else { DUP_X1 };
            self.emitter(after).op(copy).number(site).hook(Hook::ReadField(letter))?;
            return Ok(());
        }
        let site = self.site(instruction.pc, SiteKind::WriteField(letter), member, note)?;
        if wide {
            // Three slots cannot be copied in place.
            let (load, store) = moves(letter);
            self.emitter(before).local(store, rest);
            if stops {
                self.emitter(before).op(DUP).number(site).hook(Hook::BeforeField)?;
            }
            self.emitter(before).op(DUP).local(load, rest);
            self.emitter(after).local(load, rest);
        } else {
            if stops {
                self.emitter(before).op(DUP2).op(POP).number(site).hook(Hook::BeforeField)?;
            }
            before.push(DUP2);
        }
        self.emitter(after).number(site).hook(Hook::WroteField(letter))?;
        Ok(())
    }

    fn read_element(
        &mut self,
        instruction: &Instruction<'_>,
        note: &Note,
        before: &mut Vec<u8>,
        after: &mut Vec<u8>,
    ) -> Result<()> {
        let letter = element_letter(instruction.op - IALOAD);
        let site = self.site(instruction.pc, SiteKind::ReadElement(letter), None, note)?;
        if self.stops(instruction.pc) {
            self.emitter(before).op(DUP2).number(site).hook(Hook::BeforeElement)?;
        }
        before.push(DUP2);
        let copy = if slots(letter) == 2 { DUP2_X2 } else { DUP_X2 };
        self.emitter(after).op(copy).number(site).hook(Hook::ReadElement(letter))?;
        Ok(())
    }

    fn write_element(
        &mut self,
        instruction: &Instruction<'_>,
        note: &Note,
        before: &mut Vec<u8>,
        after: &mut Vec<u8>,
    ) -> Result<()> {
        let letter = element_letter(instruction.op - IASTORE);
        let (rest, stops) = (self.rest, self.stops(instruction.pc));
        let site = self.site(instruction.pc, SiteKind::WriteElement(letter), None, note)?;
        let (load, store) = moves(letter);
        self.emitter(before).local(store, rest);
        if stops {
            self.emitter(before).op(DUP2).number(site).hook(Hook::BeforeElement)?;
        }
        self.emitter(before).op(DUP2).local(load, rest);
        self.emitter(after).local(load, rest).number(site).hook(Hook::WroteElement(letter))?;
        Ok(())
    }

    /// The object on top of the stack is shown to a hook.
    fn made(
        &mut self,
        instruction: &Instruction<'_>,
        note: &Note,
        kind: SiteKind,
        hook: Hook,
        after: &mut Vec<u8>,
    ) -> Result<()> {
        let site = self.site(instruction.pc, kind, None, note)?;
        self.emitter(after).op(DUP).number(site).hook(hook)?;
        Ok(())
    }
}

fn lock_call(class: &Class<'_, '_>, member: &Member<'_>) -> Result<Option<(LockCall, bool)>> {
    let this = class.pool.class_name(class.this_class)?;
    let (name, descriptor) = (class.pool.utf8(member.name)?, class.pool.utf8(member.descriptor)?);
    Ok(LockCall::of(this, name, descriptor).map(|call| (call, !descriptor.ends_with(b"V"))))
}

/// Letter of a field's type; `L` for references of every kind.
fn field_letter(pool: &Pool<'_>, index: u16) -> Result<u8> {
    let reference = pool.reference(index)?;
    Ok(match reference.descriptor.first() {
        Some(b'[' | b'L') | None => b'L',
        Some(letter @ (b'Z' | b'B' | b'C' | b'S' | b'J' | b'F' | b'D')) => *letter,
        Some(_) => b'I',
    })
}

/// The same for array instructions, which come in one order. Arrays of booleans are accessed as bytes.
const fn element_letter(nth: u8) -> u8 {
    b"IJFDLBCS"[nth as usize % 8]
}

/// How a value of that type is loaded from and stored into a local variable.
pub(super) const fn moves(letter: u8) -> (u8, u8) {
    match letter {
        b'J' => (LLOAD, LSTORE),
        b'F' => (FLOAD, FSTORE),
        b'D' => (DLOAD, DSTORE),
        b'L' => (ALOAD, ASTORE),
        _ => (ILOAD, ISTORE),
    }
}
