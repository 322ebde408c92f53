//! Objects that a class initializer has made: nothing is recorded there, and which thread runs it depends on the
//! schedule. Those that static fields lead to get their addresses at its end, and are named by the field in every run.

use super::agent;
use super::jni::{Env, Object};
use super::resolve;
use super::threads::Jvm;
use crate::classfile::access;
use reweave_guest::Inside;
use std::ffi::CString;

/// What the path of such a block starts with.
const OBJECT: &str = "object ";
/// Elements of an array of references that get names.
const ELEMENTS: i32 = 256;

/// The initializer of the class of this site ends.
pub fn name(env: Env, inside: &mut Inside<'_, Jvm>, site: u32) {
    let (class, fields) = {
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
        (loaded.class, fields.collect::<Vec<_>>())
    };
    for (name, descriptor, path) in fields {
        let text = |text: String| CString::new(text).unwrap_or_default();
        let Some(field) = env.static_field(class, &text(name), &text(descriptor.clone())) else { continue };
        // SAFETY: a static field of references.
        let object = unsafe { env.get_static_object_field(class, field) };
        if object.is_null() {
            continue;
        }
        give(env, inside, object, &path);
        if descriptor.starts_with("[L") || descriptor.starts_with("[[") {
            // SAFETY: an array of references, and places in it.
            unsafe {
                for i in 0..env.get_array_length(object).min(ELEMENTS) {
                    let element = env.get_object_array_element(object, i);
                    if !element.is_null() {
                        give(env, inside, element, &format!("{path}[{i}]"));
                        env.delete_local_ref(element);
                    }
                }
            }
        }
        // SAFETY: made above.
        unsafe { env.delete_local_ref(object) };
    }
}

fn give(env: Env, inside: &mut Inside<'_, Jvm>, object: Object, path: &str) {
    if let Some((address, size)) = resolve::give_address(env, object) {
        inside.module(address, size, address, format!("{OBJECT}{path}").as_bytes());
    }
}
