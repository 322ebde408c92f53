//! Objects that a class initializer has made: nothing is recorded there, and which thread runs it depends on the
//! schedule. Those that static fields lead to get their addresses at its end, and are named by the field in every run.

use super::agent;
use super::jni::{Env, Object};
use super::resolve;
use super::scope;
use super::threads::Jvm;
use crate::classfile::access;
use reweave_guest::Inside;
use std::ffi::CString;

/// What the path of such a block starts with.
pub const OBJECT: &str = "object ";
/// Elements of an array of references that get names, how far objects are followed, and how many get names because one
/// static field leads to them.
const ELEMENTS: i32 = 256;
const DEPTH: u32 = 3;
const MOST: u32 = 200;
/// Beginnings of signatures of objects that are not followed.
const CLOSED: [&[u8]; 6] =
    [b"Ljava/lang/", b"Ljava/security/", b"Ljdk/", b"Lsun/", b"Ljava/util/logging/", b"Ljava/net/"];

/// The initializer of the class of this site ends.
pub fn name(env: Env, inside: &mut Inside<'_, Jvm>, site: u32) {
    let (class, fields, depth) = {
        let classes = agent().classes();
        let Some((loaded, site)) = classes.site(site) else { return };
        // What other classes of the JDK make for themselves is named where it is used.
        if loaded.class.is_null() || loaded.only_quiet && loaded.is_of_initializer(site) {
            return;
        }
        let is_wanted = |field: &&crate::rewrite::facts::Field| {
            field.access & access::STATIC != 0 && field.descriptor.starts_with(['L', '['])
        };
        let short = super::classes::short_name(&loaded.facts.name);
        let fields = loaded.facts.fields.iter().filter(is_wanted);
        let fields =
            fields.map(|field| (field.name.clone(), field.descriptor.clone(), format!("{short}.{}", field.name)));
        let depth = if scope::is_of_program(loaded.facts.name.as_bytes()) { DEPTH } else { 0 };
        (loaded.class, fields.collect::<Vec<_>>(), depth)
    };
    for (name, descriptor, path) in fields {
        let text = |text: String| CString::new(text).unwrap_or_default();
        let Some(field) = env.static_field(class, &text(name), &text(descriptor)) else { continue };
        // SAFETY: a static field of references.
        let object = unsafe { env.get_static_object_field(class, field) };
        if object.is_null() {
            continue;
        }
        let mut left = MOST;
        give(env, inside, object, &path, (depth, &mut left));
        // SAFETY: made above.
        unsafe { env.delete_local_ref(object) };
    }
}

/// Names an object, and those that it leads to: which thread uses them first depends on the schedule, too.
fn give(env: Env, inside: &mut Inside<'_, Jvm>, object: Object, path: &str, (depth, left): (u32, &mut u32)) {
    let Some((address, size)) = resolve::give_address(env, object) else { return };
    inside.module(address, size, address, format!("{OBJECT}{path}").as_bytes());
    *left = left.saturating_sub(1);
    if *left == 0 {
        return;
    }
    let jvmti = agent().jvmti;
    let mut next = |part: Object, path: String| {
        if !part.is_null() {
            give(env, inside, part, &path, (depth.saturating_sub(1), left));
            // SAFETY: a reference that was made for this.
            unsafe { env.delete_local_ref(part) };
        }
    };
    // SAFETY: valid references: an array of references and places in it, or an object and fields of its classes.
    unsafe {
        let mut class = env.get_object_class(object);
        let signature = jvmti.signature(class).unwrap_or_default();
        if matches!(signature[..], [b'[', b'L' | b'[', ..]) {
            for i in 0..env.get_array_length(object).min(ELEMENTS) {
                next(env.get_object_array_element(object, i), format!("{path}[{i}]"));
            }
            return;
        }
        // What machinery of the JDK is made of is its own.
        if depth == 0 || CLOSED.iter().any(|prefix| signature.starts_with(prefix)) {
            return;
        }
        while !class.is_null() {
            for (field, name) in jvmti.references(class) {
                next(env.get_object_field(object, field), format!("{path}.{name}"));
            }
            class = env.get_superclass(class);
        }
    }
}
