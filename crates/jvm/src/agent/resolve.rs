//! What a site is about, found out when it is first used: fields, addresses of objects, arrays as a whole.

use super::classes::{Classes, size_of_letter};
use super::hooks::{after_step, record_atomic};
use super::jni::{Class, Env, Object, Value as Argument};
use super::space::{COLLECTION, FIRST_BY_NAME, NOTHING_RECORDED, OBJECT_SIZE, VOLATILE_READ, VOLATILE_WRITE};
use super::{agent, scope, stacks, threads};
use crate::classfile::access;
use crate::rewrite::facts::{MemberName, SiteKind};
use crate::rewrite::hook_names::ADDRESS_FIELD;
use crate::rewrite::unsafe_calls::{Order, UnsafeCall};
use crate::rewrite::{collections, queues};
use reweave_guest::model::wire::{self, kind};
use reweave_guest::model::{AccessFlags, Addr, AtomicKind, MemoryOrder, Op, Value};
use std::ffi::CString;

/// Bytes of the value at a site.
pub fn size_at(classes: &Classes, site: u32) -> u32 {
    let letter = match classes.site(site).map(|(_, site)| site.kind) {
        Some(
            SiteKind::ReadField(letter)
            | SiteKind::WriteField(letter)
            | SiteKind::ReadStatic(letter)
            | SiteKind::WriteStatic(letter)
            | SiteKind::ReadElement(letter)
            | SiteKind::WriteElement(letter),
        ) => letter,
        Some(SiteKind::Unsafe(call)) => call.letter,
        _ => b'J',
    };
    size_of_letter(letter).into()
}

/// A field, as far as an access to it needs to know.
struct Resolved {
    /// Where it lies in its block, or its address.
    place: u64,
    modifiers: u16,
}

/// Fills in the entry of a site that accesses a field.
pub unsafe extern "system" fn resolve(env: Env, _: Class, object: Object, site: i32) {
    threads::aside(|| resolve_site(env, object, site));
}

fn resolve_site(env: Env, object: Object, site: i32) {
    let agent = agent();
    let number = site as u32;
    let (kind, member, own, pc, synchronization, collection) = {
        let classes = agent.classes();
        let Some((loaded, site)) = classes.site(number) else { return };
        let Some(member) = loaded.facts.members.get(site.member as usize) else { return };
        (site.kind, member.clone(), loaded.class, loaded.pc(site), loaded.synchronization, loaded.collection)
    };
    let (is_static, write, letter) = match kind {
        SiteKind::ReadField(letter) => (false, false, letter),
        SiteKind::WriteField(letter) => (false, true, letter),
        SiteKind::ReadStatic(letter) => (true, false, letter),
        SiteKind::WriteStatic(letter) => (true, true, letter),
        _ => return,
    };
    let resolved = if is_static { static_field(env, own, &member) } else { field(env, object, &member) };
    let entry = agent.hot.site(number);
    let Some(resolved) = resolved else {
        entry.head = NOTHING_RECORDED;
        return eprintln!("reweave: {}.{} is not found: accesses to it are not seen", member.class, member.name);
    };
    if is_static {
        (entry.a, entry.b) = (resolved.place as u32, (resolved.place >> 32) as u32);
    } else {
        entry.b = resolved.place as u32;
    }
    let is_view = collection && collections::is_view(&member.name);
    let is_final =
        resolved.modifiers & access::FINAL != 0 && (is_static || !agent.classes().is_handed_out_early(&member.class));
    entry.head = if is_final || is_view {
        NOTHING_RECORDED
    } else if resolved.modifiers & access::VOLATILE != 0 || scope::is_fenced(member.class.as_bytes()) {
        if write { VOLATILE_WRITE } else { VOLATILE_READ }
    } else if synchronization {
        NOTHING_RECORDED
    } else {
        let kind = if write { kind::WRITE } else { kind::READ };
        wire::access_word(kind, size_of_letter(letter), 0, pc) | if collection { COLLECTION } else { 0 }
    };
}

fn text(text: &str) -> CString {
    CString::new(text).unwrap_or_default()
}

/// A field of an object, seen from the class that the code names.
fn field(env: Env, object: Object, member: &MemberName) -> Option<Resolved> {
    let (jvmti, known) = (agent().jvmti, agent().known());
    let wanted = format!("L{};", member.class);
    // SAFETY: valid references; those made on the way up are left to the machine, which gives them back with the call.
    unsafe {
        let mut class = env.get_object_class(object);
        while !class.is_null() && jvmti.signature(class).is_some_and(|own| own != wanted.as_bytes()) {
            class = env.get_superclass(class);
        }
        if class.is_null() {
            return None;
        }
        let id = env.field(class, &text(&member.name), &text(&member.descriptor))?;
        let mut modifiers = 0;
        jvmti.get_field_modifiers(class, id, &raw mut modifiers);
        let offset = u64::try_from(known.offset(env, class, id, false)).ok()?;
        let place = 2 * offset;
        (place < OBJECT_SIZE).then_some(Resolved { place, modifiers: modifiers as u16 })
    }
}

/// The class of that name which the loader of the class `own` finds; it is not initialized.
pub fn class_named(env: Env, own: Class, name: &str) -> Option<Class> {
    let (jvmti, known) = (agent().jvmti, agent().known());
    if jvmti.signature(own).unwrap_or_default() == format!("L{name};").as_bytes() {
        return Some(own);
    }
    // SAFETY: valid references.
    unsafe {
        let mut loader = std::ptr::null_mut();
        jvmti.get_class_loader(own, &raw mut loader);
        let name = env.new_string_utf(text(&name.replace('/', ".")).as_ptr());
        let arguments = [Argument { object: name }, Argument { boolean: 0 }, Argument { object: loader }];
        let class = env.call_static_object_method(known.class, known.for_name, arguments.as_ptr());
        (!env.clear() && !class.is_null()).then_some(class)
    }
}

/// A static field, seen from the class `own`, whose loader finds the class that the code names.
fn static_field(env: Env, own: Class, member: &MemberName) -> Option<Resolved> {
    let jvmti = agent().jvmti;
    let class = class_named(env, own, &member.class)?;
    // SAFETY: valid references.
    unsafe {
        let id = env.static_field(class, &text(&member.name), &text(&member.descriptor))?;
        let (mut declaring, mut modifiers) = (std::ptr::null_mut(), 0);
        jvmti.get_field_declaring_class(class, id, &raw mut declaring);
        jvmti.get_field_modifiers(declaring, id, &raw mut modifiers);
        Some(Resolved { place: static_place(env, declaring, &member.name), modifiers: modifiers as u16 })
    }
}

/// Where a static field lies, given the class that declares it.
pub fn static_place(env: Env, declaring: Class, name: &str) -> u64 {
    let signature = agent().jvmti.signature(declaring).unwrap_or_default();
    let own = agent().classes().static_address(env, declaring, &signature, name);
    own.unwrap_or_else(|| place_by_name(&[&signature, name.as_bytes()].concat()))
}

/// The address of an object that has no field for it.
fn address_by_hash(env: Env, object: Object, size: u64, pc: u64) -> u64 {
    let agent = agent();
    let entry = agent.hot.by_hash(agent.jvmti.hash(object));
    if *entry == 0 {
        *entry = agent.hot.block(size);
        made(env, *entry, size, pc);
    }
    *entry
}

/// A class as an object lies where its code is; one that has no hooks is like any other object.
fn class_address(env: Env, class: Class) -> u64 {
    let agent = agent();
    let name = agent.jvmti.signature(class).unwrap_or_default();
    let address = agent.classes().class_address(env, class, &name);
    match address {
        Some(address) => {
            *agent.hot.by_hash(agent.jvmti.hash(class)) = address;
            address
        }
        None => {
            let address = place_by_name(&name);
            *agent.hot.by_hash(agent.jvmti.hash(class)) = address;
            address
        }
    }
}

/// A class without hooks, or a static field of it: by its name, so that it is the same in every run.
fn place_by_name(name: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in name {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    FIRST_BY_NAME + (hash >> 30) * 8
}

/// Nobody comes in between: what made the object known may have happened already, and be recorded next.
fn made(env: Env, address: u64, size: u64, pc: u64) {
    threads::enter(env, |inside| inside.step(pc, Op::Alloc { addr: Addr(address), size }));
}

/// Gives an object an address, and learns what objects of its class do with theirs.
pub unsafe extern "system" fn name(env: Env, _: Class, object: Object, class_word: u32, site: i32, first: u8) -> u64 {
    let agent = agent();
    let pc = agent.classes().pc(site as u32);
    if first != 0 && agent.hot.announces() {
        threads::enter(env, |inside| inside.point());
    }
    // SAFETY: valid references.
    unsafe {
        let class = env.get_object_class(object);
        let signature = agent.jvmti.signature(class).unwrap_or_default();
        if let [b'[', element, ..] = signature[..] {
            let size = u64::from(size_of_letter(element)) * env.get_array_length(object) as u64;
            *agent.hot.by_class(class_word) = -1;
            return address_by_hash(env, object, size.max(1), pc);
        }
        let field = env.field(class, &text(ADDRESS_FIELD), c"J");
        let offset = match field {
            Some(field) => agent.known().offset(env, class, field, false),
            None => -1,
        };
        *agent.hot.by_class(class_word) = offset as i32;
        let Some(field) = field.filter(|_| offset > 0) else {
            if signature == b"Ljava/lang/Class;" {
                return class_address(env, object);
            }
            return address_by_hash(env, object, OBJECT_SIZE, pc);
        };
        let known = env.get_long_field(object, field) as u64;
        if known != 0 {
            return known;
        }
        let address = agent.hot.block(OBJECT_SIZE);
        env.set_long_field(object, field, address as i64);
        made(env, address, OBJECT_SIZE, pc);
        address
    }
}

/// Gives an object an address without saying so in the trace. `None`: it has one, or is one that goes by its name or
/// content. Otherwise the address, and the size of the block.
pub fn give_address(env: Env, object: Object) -> Option<(u64, u64)> {
    let agent = agent();
    if agent.known().known_address(env, object) != 0 {
        return None;
    }
    // SAFETY: valid references.
    unsafe {
        let class = env.get_object_class(object);
        let signature = agent.jvmti.signature(class).unwrap_or_default();
        if matches!(&signature[..], b"Ljava/lang/Class;" | b"Ljava/lang/String;") {
            return None;
        }
        let size = match signature[..] {
            [b'[', element, ..] => u64::from(size_of_letter(element)) * env.get_array_length(object) as u64,
            _ => OBJECT_SIZE,
        };
        if let Some(field) = env.field(class, &text(ADDRESS_FIELD), c"J") {
            if env.get_long_field(object, field) != 0 {
                return None;
            }
            let address = agent.hot.block(size);
            env.set_long_field(object, field, address as i64);
            return Some((address, size));
        }
        let entry = agent.hot.by_hash(agent.jvmti.hash(object));
        if *entry != 0 {
            return None;
        }
        *entry = agent.hot.block(size.max(1));
        Some((*entry, size.max(1)))
    }
}

/// So many references that are read or written together are recorded as what they are: each takes a call.
const MAX_REFERENCES: i32 = 512;

/// Elements of an array were read or written together; all of them for a negative length.
pub unsafe extern "system" fn range(
    env: Env,
    _: Class,
    array: Object,
    from: i32,
    length: i32,
    site: i32,
    write: u8,
    last: u8,
) {
    let agent = agent();
    let (pc, within) = {
        let classes = agent.classes();
        (classes.pc(site as u32), classes.site(site as u32).is_some_and(|(loaded, _)| loaded.collection))
    };
    // SAFETY: an array; its elements are copied while the machine keeps them in place.
    let (bytes, size, from, whole) = unsafe {
        let class = env.get_object_class(array);
        let signature = agent.jvmti.signature(class).unwrap_or_default();
        let element = u64::from(size_of_letter(signature.get(1).copied().unwrap_or(b'J')));
        let all = env.get_array_length(array);
        let length = if length < 0 { all } else { length };
        let first = from;
        let (from, size, whole) = (from as u64 * element, length as u64 * element, all as u64 * element);
        let is_primitive = signature.get(1).is_some_and(|letter| !matches!(letter, b'L' | b'['));
        let mut bytes = Vec::new();
        if !is_primitive && length <= MAX_REFERENCES {
            let known = agent.known();
            let values = (first..first + length).map(|index| known.element(env, array, index, site));
            bytes.extend(values.flat_map(u64::to_le_bytes));
        } else if is_primitive && size as usize <= wire::MAX_PAYLOAD {
            let elements: *const u8 = env.get_primitive_array_critical(array, std::ptr::null_mut()).cast();
            if !elements.is_null() {
                bytes.extend_from_slice(std::slice::from_raw_parts(elements.add(from as usize), size as usize));
                env.release_primitive_array_critical(array, elements.cast_mut().cast(), 2);
            }
        }
        (bytes, size as u32, from, whole)
    };
    let block = address_by_hash(env, array, whole.max(1), pc);
    let (addr, flags) = (Addr(block + from), AccessFlags(0));
    if size == 0 {
        return;
    }
    let value = if bytes.len() == size as usize { Value::Bytes(&bytes) } else { Value::Unknown };
    let op = if write != 0 { Op::Write { addr, size, value, flags } } else { Op::Read { addr, size, value, flags } };
    threads::enter(env, |inside| {
        if within {
            stacks::at_call(inside, |token, pc| token.step(pc, op));
        } else {
            inside.step(pc, op);
        }
        if last != 0 {
            after_step(inside);
        }
    });
}

pub unsafe extern "system" fn class_at(_: Env, _: Class, site: i32) -> Class {
    agent().classes().site(site as u32).map_or(std::ptr::null_mut(), |(loaded, _)| loaded.class)
}

/// An atomic access to what lies at a real offset of an object.
pub unsafe extern "system" fn atomic_at(
    env: Env,
    _: Class,
    base: Object,
    offset: i64,
    site: i32,
    read: u64,
    written: u64,
    kind: i32,
) {
    let agent = agent();
    let (pc, size, order, of_queue) = {
        let classes = agent.classes();
        let of_queue = classes.site(site as u32).is_some_and(|(loaded, _)| queues::is_node(&loaded.facts.name));
        let order = match classes.site(site as u32).map(|(_, site)| site.kind) {
            Some(SiteKind::Unsafe(call)) => order_of(call),
            _ => MemoryOrder::SeqCst,
        };
        (classes.pc(site as u32), size_at(&classes, site as u32), order, of_queue)
    };
    let (read, written, kind) = match of_queue {
        false => (read, written, kind),
        true if !is_condition_node(env, base) => return,
        // Its status is cleared when the wait is over, which it is because the status says so.
        true if kind == AtomicKind::Store as i32 => (0, 0, AtomicKind::Load as i32),
        true => (read & queues::WAITS_FOR_CONDITION, written & queues::WAITS_FOR_CONDITION, kind),
    };
    let block = agent.known().address_of(env, base);
    let place = place_of_offset(env, base, offset);
    threads::enter(env, |inside| record_atomic(inside, pc, (block + place, size), (read, written), kind, order));
}

/// Whether an object is what stands for a thread that waits for a condition.
fn is_condition_node(env: Env, object: Object) -> bool {
    // SAFETY: a valid reference.
    let signature = agent().jvmti.signature(unsafe { env.get_object_class(object) }).unwrap_or_default();
    signature.ends_with(b"Synchronizer$ConditionNode;")
}

/// What the program asked for. Plain accesses of that kind are the JDK's own, which knows what it does: they order
/// nothing, and are no races.
const fn order_of(call: UnsafeCall) -> MemoryOrder {
    match call.order {
        Order::Plain | Order::Opaque => MemoryOrder::Relaxed,
        Order::Acquire => MemoryOrder::Acquire,
        Order::Release => MemoryOrder::Release,
        Order::Volatile => MemoryOrder::SeqCst,
    }
}

/// Where what lies at a real offset of an object lies in its block.
pub fn place_of_offset(env: Env, base: Object, offset: i64) -> u64 {
    // SAFETY: a valid reference.
    let signature = agent().jvmti.signature(unsafe { env.get_object_class(base) }).unwrap_or_default();
    match signature[..] {
        // Elements start behind the header, and references take four bytes there.
        [b'[', element, ..] => {
            let real = if matches!(element, b'L' | b'[') { 4 } else { i64::from(size_of_letter(element)) };
            (offset - 16).max(0) as u64 / real as u64 * u64::from(size_of_letter(element))
        }
        _ => 2 * offset as u64,
    }
}
