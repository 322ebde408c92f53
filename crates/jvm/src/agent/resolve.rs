//! What a site is about, found out when it is first used: fields, addresses of objects, arrays as a whole.

use super::classes::{Classes, size_of_letter};
use super::hooks::{after_step, record_atomic};
use super::jni::{Class, Env, Object, Value as Argument};
use super::space::{CLASS_SIZE, NOTHING_RECORDED, OBJECT_SIZE, VOLATILE_READ, VOLATILE_WRITE};
use super::{agent, threads};
use crate::classfile::access;
use crate::rewrite::facts::{MemberName, SiteKind};
use crate::rewrite::hook_names::ADDRESS_FIELD;
use reweave_guest::Next;
use reweave_guest::model::wire::{self, kind};
use reweave_guest::model::{AccessFlags, Addr, Op, Value};
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
    let agent = agent();
    let number = site as u32;
    let (kind, member, own, pc) = {
        let classes = agent.classes();
        let Some((loaded, site)) = classes.site(number) else { return };
        let Some(member) = loaded.facts.members.get(site.member as usize) else { return };
        (site.kind, member.clone(), loaded.class, loaded.pc(site))
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
        agent.classes().problems.push(format!("{}.{}: not found", member.class, member.name));
        return;
    };
    if is_static {
        (entry.a, entry.b) = (resolved.place as u32, (resolved.place >> 32) as u32);
    } else {
        entry.b = resolved.place as u32;
    }
    entry.head = if resolved.modifiers & access::FINAL != 0 {
        NOTHING_RECORDED
    } else if resolved.modifiers & access::VOLATILE != 0 {
        if write { VOLATILE_WRITE } else { VOLATILE_READ }
    } else {
        let kind = if write { kind::WRITE } else { kind::READ };
        wire::access_word(kind, size_of_letter(letter), 0, pc)
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

/// A static field, seen from the class `own`, whose loader finds the class that the code names.
fn static_field(env: Env, own: Class, member: &MemberName) -> Option<Resolved> {
    let (jvmti, known) = (agent().jvmti, agent().known());
    // SAFETY: valid references.
    unsafe {
        let own_name = jvmti.signature(own).unwrap_or_default();
        let class = if own_name == format!("L{};", member.class).as_bytes() {
            own
        } else {
            let mut loader = std::ptr::null_mut();
            jvmti.get_class_loader(own, &raw mut loader);
            let name = env.new_string_utf(text(&member.class.replace('/', ".")).as_ptr());
            let arguments = [Argument { object: name }, Argument { boolean: 0 }, Argument { object: loader }];
            env.call_static_object_method(known.class, known.for_name, arguments.as_ptr())
        };
        if env.clear() || class.is_null() {
            return None;
        }
        let id = env.static_field(class, &text(&member.name), &text(&member.descriptor))?;
        let (mut declaring, mut modifiers) = (std::ptr::null_mut(), 0);
        jvmti.get_field_declaring_class(class, id, &raw mut declaring);
        jvmti.get_field_modifiers(declaring, id, &raw mut modifiers);
        let offset = u64::try_from(known.offset(env, declaring, id, true)).ok()?;
        let block = address_by_hash(env, declaring, CLASS_SIZE, 0);
        Some(Resolved { place: block + 2 * offset, modifiers: modifiers as u16 })
    }
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

fn made(env: Env, address: u64, size: u64, pc: u64) {
    threads::enter(env, |inside| {
        inside.step(pc, Op::Alloc { addr: Addr(address), size });
        after_step(inside);
    });
}

/// Gives an object an address, and learns what objects of its class do with theirs.
pub unsafe extern "system" fn name(env: Env, _: Class, object: Object, class_word: u32, site: i32) -> u64 {
    let agent = agent();
    let pc = agent.classes().pc(site as u32);
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
            let size = if signature == b"Ljava/lang/Class;" { CLASS_SIZE } else { OBJECT_SIZE };
            return address_by_hash(env, object, size, pc);
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

/// Elements of an array were read or written together; all of them for a negative length.
pub unsafe extern "system" fn range(env: Env, _: Class, array: Object, from: i32, length: i32, site: i32, write: u8) {
    let agent = agent();
    let pc = agent.classes().pc(site as u32);
    // SAFETY: an array; its elements are copied while the machine keeps them in place.
    let (bytes, size, from) = unsafe {
        let class = env.get_object_class(array);
        let signature = agent.jvmti.signature(class).unwrap_or_default();
        let element = u64::from(size_of_letter(signature.get(1).copied().unwrap_or(b'J')));
        let length = if length < 0 { env.get_array_length(array) } else { length };
        let (from, size) = (from as u64 * element, length as u64 * element);
        let is_primitive = signature.get(1).is_some_and(|letter| !matches!(letter, b'L' | b'['));
        let mut bytes = Vec::new();
        if is_primitive && size as usize <= wire::MAX_PAYLOAD {
            let elements: *const u8 = env.get_primitive_array_critical(array, std::ptr::null_mut()).cast();
            if !elements.is_null() {
                bytes.extend_from_slice(std::slice::from_raw_parts(elements.add(from as usize), size as usize));
                env.release_primitive_array_critical(array, elements.cast_mut().cast(), 2);
            }
        }
        (bytes, size as u32, from)
    };
    let block = address_by_hash(env, array, u64::from(size).max(1), pc);
    let (addr, flags) = (Addr(block + from), AccessFlags(0));
    if size == 0 {
        return;
    }
    let value = if bytes.len() == size as usize { Value::Bytes(&bytes) } else { Value::Unknown };
    let op = if write != 0 { Op::Write { addr, size, value, flags } } else { Op::Read { addr, size, value, flags } };
    threads::enter(env, |inside| {
        inside.step(pc, op);
        after_step(inside);
    });
}

/// The thread is about to access something, and a run may stop it there.
pub unsafe extern "system" fn stop_before(env: Env, class: Class, object: Object, index: i32, site: i32) {
    let agent = agent();
    let number = site as u32;
    if agent.hot.site(number).head == 0 {
        // SAFETY: as the hook class calls it.
        unsafe { resolve(env, class, object, site) };
    }
    let entry = *agent.hot.site(number);
    let (pc, size, write) = {
        let classes = agent.classes();
        let write = classes.site(number).is_some_and(|(_, site)| {
            matches!(site.kind, SiteKind::WriteField(_) | SiteKind::WriteStatic(_) | SiteKind::WriteElement(_))
        });
        (classes.pc(number), size_at(&classes, number), write)
    };
    let address = if object.is_null() {
        u64::from(entry.a) | u64::from(entry.b) << 32
    } else {
        let block = agent.known().address_of(env, object);
        if index >= 0 { block + index as u64 * u64::from(size) } else { block + u64::from(entry.b) }
    };
    threads::enter(env, |inside| {
        inside.announce(Next::access(pc, address, size.into(), write));
        inside.point();
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
    let (pc, size) = {
        let classes = agent.classes();
        (classes.pc(site as u32), size_at(&classes, site as u32))
    };
    let block = agent.known().address_of(env, base);
    // SAFETY: a valid reference.
    let signature = agent.jvmti.signature(unsafe { env.get_object_class(base) }).unwrap_or_default();
    let place = match signature[..] {
        // Elements start behind the header, and references take four bytes there.
        [b'[', element, ..] => {
            let real = if matches!(element, b'L' | b'[') { 4 } else { i64::from(size_of_letter(element)) };
            (offset - 16).max(0) as u64 / real as u64 * u64::from(size_of_letter(element))
        }
        _ => 2 * offset as u64,
    };
    threads::enter(env, |inside| record_atomic(inside, pc, (block + place, size), (read, written), kind));
}
