//! Reflection: what programs see of their classes, which is not the field that we have added, and their accesses by
//! `Field.get` and `Field.set`.

use super::hooks::{after_step, record_atomic};
use super::jni::{Class, Env, FieldId, Object};
use super::stops::stop;
use super::{agent, resolve, threads};
use crate::rewrite::hook_names::ADDRESS_FIELD;
use reweave_guest::model::{AccessFlags, Addr, MemoryOrder, Op, Value};
use std::sync::OnceLock;

/// The machine's own function.
pub type DeclaredFields = unsafe extern "system" fn(Env, Class, u8) -> Object;

/// The class `java.lang.reflect.Field` as a global reference, and where it has its name.
struct Reflected {
    class: Class,
    name: FieldId,
}

// SAFETY: a global reference, and an id that is valid on every thread.
unsafe impl Send for Reflected {}
// SAFETY: as above.
unsafe impl Sync for Reflected {}

static REFLECTED: OnceLock<Option<Reflected>> = OnceLock::new();

fn reflected(env: Env) -> Option<&'static Reflected> {
    let find = || {
        let class = env.class(c"java/lang/reflect/Field")?;
        let name = env.field(class, c"name", c"Ljava/lang/String;")?;
        // SAFETY: a valid reference.
        Some(Reflected { class: unsafe { env.new_global_ref(class) }, name })
    };
    REFLECTED.get_or_init(find).as_ref()
}

/// `Class.getDeclaredFields0`.
pub unsafe extern "system" fn declared_fields(env: Env, class: Class, public_only: u8) -> Object {
    // SAFETY: the machine's own function.
    let all = unsafe { (super::replaced::real().declared_fields)(env, class, public_only) };
    // SAFETY: may be called at any time.
    if all.is_null() || unsafe { env.exception_check() } != 0 {
        return all;
    }
    let Some(reflected) = reflected(env) else { return all };
    // SAFETY: an array of fields, and places in it.
    unsafe {
        let length = env.get_array_length(all);
        let Some(own) = (0..length).rev().find(|i| is_own(env, reflected, all, *i)) else { return all };
        let others = env.new_object_array(length - 1, reflected.class, std::ptr::null_mut());
        if others.is_null() {
            return others;
        }
        for (place, i) in (0..length).filter(|i| *i != own).enumerate() {
            let field = env.get_object_array_element(all, i);
            env.set_object_array_element(others, place as i32, field);
            env.delete_local_ref(field);
        }
        others
    }
}

/// Whether the field at that place is ours.
///
/// # Safety
/// An array of fields, and a place in it.
unsafe fn is_own(env: Env, reflected: &Reflected, fields: Object, place: i32) -> bool {
    let mut text = [0_u8; ADDRESS_FIELD.len() + 1];
    // SAFETY: by the contract; the text is as long as there is room, with a zero behind it.
    unsafe {
        let field = env.get_object_array_element(fields, place);
        let name = env.get_object_field(field, reflected.name);
        let length = env.get_string_utf_length(name);
        if length as usize == ADDRESS_FIELD.len() {
            env.get_string_utf_region(name, 0, length, text.as_mut_ptr().cast());
        }
        env.delete_local_ref(name);
        env.delete_local_ref(field);
    }
    &text[..ADDRESS_FIELD.len()] == ADDRESS_FIELD.as_bytes()
}

/// Where a static field lies.
pub unsafe extern "system" fn static_address(env: Env, _: Class, declaring: Class, name: Object) -> u64 {
    let name = env.text(name);
    threads::aside(|| resolve::static_place(env, declaring, &name))
}

/// An access by reflection: 0 and 1 are a read and a write that come next, 2 and 3 those done.
pub unsafe extern "system" fn accessed(
    env: Env,
    _: Class,
    address: u64,
    value: u64,
    size: i32,
    site: i32,
    phase: i32,
    volatile: u8,
) {
    let pc = agent().classes().pc(site as u32);
    let (size, write) = (size as u32, phase & 1 != 0);
    let value = if size < 8 { value & ((1 << (8 * size)) - 1) } else { value };
    threads::enter(env, |inside| {
        if phase < 2 {
            return stop(inside, pc, address, size, write);
        }
        if volatile != 0 {
            let values = if write { (0, value) } else { (value, 0) };
            return record_atomic(inside, pc, (address, size), values, write.into(), MemoryOrder::SeqCst);
        }
        let (addr, value, flags) = (Addr(address), Value::Word(value), AccessFlags(0));
        inside.step(
            pc,
            if write { Op::Write { addr, size, value, flags } } else { Op::Read { addr, size, value, flags } },
        );
        after_step(inside);
    });
}
