//! What programs see of threads that wait in the model: for the machine such a thread runs, in a native method. So its
//! status is set by hand, and the search for deadlocks among threads is done in the model.

use super::agent;
use super::jni::{Class, Env, FieldId, NativeMethod, Object};
use super::threads::{self, Jvm};
use reweave_guest::Token;
use std::cell::Cell;
use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

/// What a thread does, as the machine's own status has it (JVMTI's thread states).
#[derive(Clone, Copy)]
#[repr(i32)]
pub enum Status {
    Runnable = 0x5,
    Blocked = 0x401,
    Waiting = 0x191,
    TimedWaiting = 0x1a1,
    Parked = 0x291,
    TimedParked = 0x2a1,
    Sleeping = 0xe1,
}

/// Where a thread has its status.
pub struct StatusField {
    /// The object that holds it, where that is not the thread itself (since JDK 19).
    holder: Option<FieldId>,
    status: FieldId,
}

impl StatusField {
    pub fn find(env: Env, thread: Class) -> Option<Self> {
        if let Some(status) = env.field(thread, c"threadStatus", c"I") {
            return Some(Self { holder: None, status });
        }
        let holder = env.field(thread, c"holder", c"Ljava/lang/Thread$FieldHolder;")?;
        let status = env.field(env.class(c"java/lang/Thread$FieldHolder")?, c"threadStatus", c"I")?;
        Some(Self { holder: Some(holder), status })
    }

    fn set(&self, env: Env, thread: Object, status: Status) {
        // SAFETY: fields of threads and of what they hold; the local reference is given back.
        unsafe {
            let Some(holder) = self.holder else { return env.set_int_field(thread, self.status, status as i32) };
            let object = env.get_object_field(thread, holder);
            env.set_int_field(object, self.status, status as i32);
            env.delete_local_ref(object);
        }
    }
}

thread_local! {
    static OWN: Cell<Option<Env>> = const { Cell::new(None) };
}

/// The highest number of a thread so far.
static HIGHEST: AtomicU32 = AtomicU32::new(0);

/// The highest number of a thread so far.
pub fn newest() -> u32 {
    HIGHEST.load(Ordering::Relaxed)
}

/// A thread of that number is about to be started.
pub fn forked(id: u32) {
    HIGHEST.fetch_max(id, Ordering::Relaxed);
}

/// The calling thread has begun.
pub fn begins(env: Env) {
    OWN.set(Some(env));
}

/// Runs an operation that may wait; others see that meanwhile.
pub fn shown_as<R>(token: &mut Token<'_, Jvm>, status: Status, operation: impl FnOnce(&mut Token<'_, Jvm>) -> R) -> R {
    let thread = token.me().row.thread.get() as Object;
    let own = OWN.get().filter(|_| !thread.is_null());
    let show = |status| {
        if let Some(env) = own {
            agent().known().status.set(env, thread, status);
        }
    };
    show(status);
    let result = operation(token);
    show(Status::Runnable);
    result
}

/// The class that looks for deadlocks, once it is there.
pub const MANAGEMENT: &[u8] = b"sun/management/ThreadImpl";

pub fn replace_search(env: Env, class: Class) {
    let natives: [(&CStr, *const c_void); 2] = [
        (c"findDeadlockedThreads0", deadlocked as *const c_void),
        (c"findMonitorDeadlockedThreads0", deadlocked as *const c_void),
    ];
    for (name, function) in natives {
        let signature = c"()[Ljava/lang/Thread;".as_ptr();
        let method = NativeMethod { name: name.as_ptr(), signature, function };
        // SAFETY: a function of that signature. Without the method nobody can call it.
        unsafe { env.register_natives(class, &raw const method, 1) };
        env.clear();
    }
}

/// Threads that wait for locks of each other, as an array; null if there are none.
unsafe extern "system" fn deadlocked(env: Env, _: Class) -> Object {
    let found = threads::enter(env, |inside| circle(inside)).unwrap_or_default();
    if found.is_empty() {
        return std::ptr::null_mut();
    }
    // SAFETY: an array of threads, and references to threads, which stay where they are while they wait.
    unsafe {
        let array = env.new_object_array(found.len() as i32, agent().known().thread, std::ptr::null_mut());
        for (i, thread) in found.into_iter().enumerate() {
            env.set_object_array_element(array, i as i32, thread as Object);
        }
        array
    }
}

/// References to the threads of a circle.
fn circle(token: &mut Token<'_, Jvm>) -> Vec<u64> {
    token.sync_point();
    // Who holds what that thread waits for.
    let next = |token: &Token<'_, Jvm>, thread: u32| {
        let awaited = token.thread(thread)?.row.awaited.get();
        let owner = token.owner(awaited);
        (awaited != 0 && token.thread(owner).is_some()).then_some(owner)
    };
    for first in 0..=HIGHEST.load(Ordering::Relaxed) {
        let mut circle = vec![first];
        while let Some(owner) = next(token, circle[circle.len() - 1]) {
            if owner == first {
                let reference = |id: &u32| Some(token.thread(*id)?.row.thread.get());
                return circle.iter().filter_map(reference).collect();
            }
            if circle.contains(&owner) {
                break;
            }
            circle.push(owner);
        }
    }
    Vec::new()
}
