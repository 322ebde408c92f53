//! Exceptions that nobody catches: the program has failed, and where is part of the trace.

use super::jni::{Env, Object, Value};
use super::threads::{self, aside, enter};
use super::{agent, stacks};
use reweave_guest::model::{Addr, Op};
use std::sync::atomic::{AtomicBool, Ordering};

/// An exception that nobody caught was seen.
static FAILED: AtomicBool = AtomicBool::new(false);

pub fn has_failed() -> bool {
    FAILED.load(Ordering::Relaxed)
}

/// Frames of an exception that are looked at, from the innermost on.
const DEPTH: i32 = 64;

/// The program fails with this exception.
pub unsafe extern "system" fn fails(env: Env, _: Object, exception: Object) {
    if !threads::is_managed() {
        return;
    }
    FAILED.store(true, Ordering::Relaxed);
    let places = aside(|| places(env, exception).unwrap_or_default());
    env.clear();
    enter(env, |inside| {
        let before = inside.me().own.stack();
        let mut stack = 0;
        for pc in places.iter().skip(1).rev() {
            stack = stacks::call(inside, stack, *pc);
        }
        inside.set_stack(stack);
        let pc = places.first().copied().unwrap_or(0);
        inside.event(pc, Op::Fatal { number: 0, addr: Addr(0) });
        inside.set_stack(before);
    });
}

/// Code addresses of the frames that are the program's own, the innermost first.
fn places(env: Env, exception: Object) -> Option<Vec<u64>> {
    let mut places = Vec::new();
    // SAFETY: an exception and its frames; methods have no arguments; references are given back.
    unsafe {
        let class = env.get_object_class(exception);
        let get = env.method(class, c"getStackTrace", c"()[Ljava/lang/StackTraceElement;")?;
        let frames = env.call_object_method(exception, get, std::ptr::null());
        if env.clear() || frames.is_null() {
            return None;
        }
        let element = env.class(c"java/lang/StackTraceElement")?;
        let class_name = env.method(element, c"getClassName", c"()Ljava/lang/String;")?;
        let method_name = env.method(element, c"getMethodName", c"()Ljava/lang/String;")?;
        let line_number = env.method(element, c"getLineNumber", c"()I")?;
        for i in 0..env.get_array_length(frames).min(DEPTH) {
            let frame = env.get_object_array_element(frames, i);
            let [class, method] = [class_name, method_name].map(|own| {
                let text = env.call_object_method(frame, own, std::ptr::null::<Value>());
                let copied = env.text(text);
                env.delete_local_ref(text);
                copied
            });
            let line = env.call_int_method(frame, line_number, std::ptr::null());
            env.delete_local_ref(frame);
            places.extend(agent().classes().place(&class.replace('.', "/"), &method, line));
        }
    }
    Some(places)
}
