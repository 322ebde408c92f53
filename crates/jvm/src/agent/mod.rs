//! The agent inside the machine: a JVMTI agent that rewrites classes as they are loaded, and stands between the hook
//! class and the conductor.
//!
//! The order of the start: the library is loaded before the machine is there (`Agent_OnLoad`); the hook classes are
//! defined as soon as classes can be (`VMStart`); the main thread comes under control, and the natives that block are
//! replaced, when the machine is ready (`VMInit`). What the machine does before belongs to nobody's program.

mod chance;
mod classes;
mod failures;
mod hooks;
mod initializers;
mod interrupts;
mod jni;
mod joins;
mod jvmti;
mod known;
mod locks;
mod monitors;
mod reflection;
mod replaced;
mod resolve;
mod scope;
mod space;
mod stacks;
mod statics;
mod status;
mod stops;
mod threads;
mod unseen;

use crate::hooks::{ATOMICS_BYTES, HOOKS_BYTES};
use crate::rewrite::hook_names::{ATOMICS_CLASS, HOOK_CLASS};
use crate::rewrite::report_uncaught;
use classes::Classes;
use jni::{Class, Env, Object};
use jvmti::{Callbacks, Capabilities, Jvmti, Machine, capability, event};
use known::Known;
use reweave_guest::connection::{self, Introduction};
use reweave_guest::{Conductor, Guarded, POLICY_REPLAY};
use space::Hot;
use stacks::Stacks;
use std::cell::Cell;
use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use threads::Jvm;

/// Milliseconds for which a thread may hold the token without recording anything: the machine stops all threads now and
/// then (to collect garbage, say), and links code where it is first used.
const PATIENCE: u32 = 250;

/// The oldest JDK that is known.
const OLDEST: i32 = 17;

/// What there is once in a machine.
pub struct Agent {
    jvmti: Jvmti,
    hot: Box<Hot>,
    classes: Mutex<Classes>,
    conductor: Conductor<Jvm>,
    stacks: Guarded<Stacks>,
    known: OnceLock<Known>,
}

/// The hook classes, as global references.
static DEFINED: Mutex<Vec<usize>> = Mutex::new(Vec::new());

static AGENT: OnceLock<Agent> = OnceLock::new();

fn agent() -> &'static Agent {
    match AGENT.get() {
        Some(agent) => agent,
        None => unreachable!("callbacks come after the agent has been made"),
    }
}

impl Agent {
    fn classes(&self) -> MutexGuard<'_, Classes> {
        self.classes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self) -> &Known {
        match self.known.get() {
            Some(known) => known,
            None => unreachable!("hooks run after the machine is ready"),
        }
    }
}

/// Ends the program: nothing may be missed in silence.
fn give_up(why: &str) -> ! {
    eprintln!("reweave: {why}");
    std::process::exit(2)
}

thread_local! {
    /// Set while this thread is in a callback that must not be entered again.
    static LOADING: Cell<bool> = const { Cell::new(false) };
}

/// The machine loads the library.
///
/// # Safety
/// Called by the machine.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnLoad(machine: Machine, options: *const c_char, _: *mut c_void) -> i32 {
    let options = if options.is_null() {
        String::new()
    } else {
        // SAFETY: the machine gives a string.
        unsafe { CStr::from_ptr(options) }.to_string_lossy().into_owned()
    };
    let Some(region) = connection::connect(Introduction { instrumented: true, forked: false }) else {
        // Nobody listens: the program runs as it does otherwise.
        return 0;
    };
    let Some(jvmti) = machine.jvmti() else { give_up("this Java machine has no tool interface of version 9") };
    if jvmti.version() < OLDEST {
        give_up(&format!("a Java machine of version {}: JDK {OLDEST} to 25 can be recorded", jvmti.version()));
    }
    let symbols = options.split(',').find_map(|option| option.strip_prefix("symbols="));
    let Some(hot) = Hot::new() else {
        give_up("the agent needs 33 GB of address space (not memory): raise `ulimit -v`")
    };
    if let Err(what) = scope::wish() {
        give_up(&what);
    }
    region.header().patience.store(PATIENCE, Ordering::Relaxed);
    // A schedule is followed, or threads are made to meet: then it matters what each is about to do.
    let announces = region.header().policy == POLICY_REPLAY;
    hot.announces.store(announces.into(), Ordering::Relaxed);
    let made = Agent {
        jvmti,
        hot,
        classes: Mutex::new(Classes::new(symbols)),
        conductor: Conductor::new(region, Jvm),
        // SAFETY: reached with the token of this conductor.
        stacks: unsafe { Guarded::new(Stacks::new()) },
        known: OnceLock::new(),
    };
    if AGENT.set(made).is_err() {
        give_up("the agent was loaded twice");
    }
    let wanted = [
        capability::TAG_OBJECTS,
        capability::MONITOR_INFO,
        capability::ALL_CLASS_HOOKS,
        capability::MONITOR_EVENTS,
        capability::RETRANSFORM,
    ];
    let mut callbacks = Callbacks::none();
    callbacks.set(event::VM_START, vm_start as *const c_void);
    callbacks.set(event::VM_INIT, vm_init as *const c_void);
    callbacks.set(event::VM_DEATH, threads::vm_death as *const c_void);
    callbacks.set(event::CLASS_FILE_LOAD_HOOK, class_file_load as *const c_void);
    callbacks.set(event::CLASS_PREPARE, class_prepare as *const c_void);
    callbacks.set(event::THREAD_START, threads::thread_start as *const c_void);
    callbacks.set(event::THREAD_END, threads::thread_end as *const c_void);
    callbacks.set(event::VIRTUAL_THREAD_START, threads::thread_start as *const c_void);
    callbacks.set(event::VIRTUAL_THREAD_END, threads::thread_end as *const c_void);
    callbacks.set(event::MONITOR_CONTENDED_ENTER, monitors::contended_enter as *const c_void);
    callbacks.set(event::MONITOR_CONTENDED_ENTERED, monitors::contended_entered as *const c_void);
    // SAFETY: structures that live for the calls. An older machine has no virtual threads, and refuses.
    let error = unsafe {
        jvmti.add_capabilities(&raw const *Box::leak(Box::new(Capabilities::with(&[capability::VIRTUAL_THREADS]))));
        jvmti.add_capabilities(&raw const *Box::leak(Box::new(Capabilities::with(&wanted))))
            | jvmti.set_event_callbacks(&raw const callbacks, size_of::<Callbacks>() as i32)
    };
    if error != 0 || !jvmti.enable(event::VM_START) || !jvmti.enable(event::VM_INIT) {
        give_up("this Java machine does not let the agent see its classes and monitors");
    }
    0
}

unsafe extern "system" fn vm_start(_: Jvmti, env: Env) {
    for (name, bytes) in [(HOOK_CLASS, HOOKS_BYTES), (ATOMICS_CLASS, ATOMICS_BYTES)] {
        let name = CString::new(name).unwrap_or_default();
        // SAFETY: a class file, for the machine's own loader.
        let class =
            unsafe { env.define_class(name.as_ptr(), std::ptr::null_mut(), bytes.as_ptr(), bytes.len() as i32) };
        if env.clear() || class.is_null() {
            give_up("the hook class cannot be defined in this Java machine");
        }
        // SAFETY: a valid reference.
        DEFINED.lock().unwrap_or_else(PoisonError::into_inner).push(unsafe { env.new_global_ref(class) } as usize);
    }
}

unsafe extern "system" fn vm_init(jvmti: Jvmti, env: Env, thread: Object) {
    let agent = agent();
    // Asking for its fields initialises the hook class, which wants its natives and words.
    let defined = DEFINED.lock().unwrap_or_else(PoisonError::into_inner).first().copied();
    let Some(hooks) = defined.map(|class| class as Class) else { give_up("the hook class was not defined") };
    threads::start_main(env, thread);
    let missing =
        |what: String| -> ! { give_up(&format!("{what} is not there in this Java machine: JDK 17 to 25 are known")) };
    hooks::register(env, hooks).unwrap_or_else(|what| missing(what));
    let Some(known) = Known::find(env, hooks) else {
        give_up("this Java machine is not one that reweave knows (HotSpot, JDK 17 to 25)")
    };
    if agent.known.set(known).is_err() {
        give_up("the Java machine was initialised twice");
    }
    // Last: the machine's own threads call them at once.
    replaced::register(env).unwrap_or_else(|what| missing(what));
    for wanted in [
        event::CLASS_FILE_LOAD_HOOK,
        event::CLASS_PREPARE,
        event::THREAD_START,
        event::THREAD_END,
        event::MONITOR_CONTENDED_ENTER,
        event::MONITOR_CONTENDED_ENTERED,
        event::VM_DEATH,
    ] {
        if !jvmti.enable(wanted) {
            give_up("this Java machine does not report its classes, threads and monitors");
        }
    }
    for virtual_threads in [event::VIRTUAL_THREAD_START, event::VIRTUAL_THREAD_END] {
        jvmti.enable(virtual_threads);
    }
    rewrite_preloaded(jvmti);
    chance::settle(env, thread);
    threads::show(env);
}

/// Classes that were there before the agent.
fn rewrite_preloaded(jvmti: Jvmti) {
    let mut preloaded = vec![agent().known().thread];
    for class in jvmti.loaded_classes() {
        let signature = jvmti.signature(class).unwrap_or_default();
        let [b'L', name @ .., b';'] = &signature[..] else { continue };
        let mut modifiable = 0;
        // SAFETY: a valid reference.
        unsafe { jvmti.is_modifiable_class(class, &raw mut modifiable) };
        if modifiable != 0 && !classes::is_hook_class(name) && scope::is_rewritten_late(name) {
            preloaded.push(class);
        }
    }
    // SAFETY: classes that were loaded before us.
    if unsafe { jvmti.retransform_classes(preloaded.len() as i32, preloaded.as_ptr()) } != 0 {
        give_up("this Java machine does not let the agent rewrite classes that were loaded before it");
    }
}

unsafe extern "system" fn class_file_load(
    jvmti: Jvmti,
    env: Env,
    redefined: Class,
    _: Object,
    name: *const c_char,
    _: Object,
    length: i32,
    bytes: *const u8,
    new_length: *mut i32,
    new_bytes: *mut *mut u8,
) {
    if name.is_null() {
        return;
    }
    // SAFETY: the machine's own strings and bytes.
    let (name, bytes) =
        unsafe { (CStr::from_ptr(name).to_bytes(), std::slice::from_raw_parts(bytes, length as usize)) };
    let rewritten = if !redefined.is_null() && name == b"java/lang/Thread" {
        match report_uncaught(bytes) {
            Ok(rewritten) => rewritten,
            Err(error) => give_up(&format!("java.lang.Thread is not as we know it: {error}")),
        }
    } else {
        if classes::is_hook_class(name) || LOADING.replace(true) {
            return;
        }
        let agent = agent();
        let preloaded = !redefined.is_null() && !agent.classes().is_shaped(env, name, redefined);
        let loaded = agent.classes().load(name, bytes, &agent.hot, preloaded);
        if let Some((_, number)) = &loaded {
            if !redefined.is_null() {
                agent.classes().prepared(env, name, redefined);
            }
            threads::class_loaded(env, *number);
        }
        LOADING.set(false);
        let Some((rewritten, _)) = loaded else { return };
        rewritten
    };
    let copy = jvmti.copy(&rewritten);
    if copy.is_null() {
        give_up("the Java machine has no memory for a rewritten class");
    }
    // SAFETY: where the machine wants the answer.
    unsafe {
        *new_bytes = copy;
        *new_length = rewritten.len() as i32;
    }
}

unsafe extern "system" fn class_prepare(jvmti: Jvmti, env: Env, _: Object, class: Class) {
    let Some(signature) = jvmti.signature(class) else { return };
    let [b'L', name @ .., b';'] = &signature[..] else { return };
    if name == status::MANAGEMENT {
        status::replace_search(env, class);
    }
    if scope::scope(name).is_none() {
        return;
    }
    agent().classes().prepared(env, name, class);
    if scope::is_of_program(name) {
        threads::program_begins(env);
    }
}
