//! The life of the process: exit, fork, exec, children.

use super::{
    CONDUCTOR, active, conductor, connect, enter, hold, mappings, modules, register, signals, stacks, system as kernel,
    threads, timers, tls,
};
use libc::{c_char, c_int, c_void, pid_t};
use reweave_conductor::{NO_THREAD, Pause, Thread, Timer, Timers, World};
use reweave_model::{InputSource, LockMode, ObjectId, Op};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// Children started and not yet waited for.
static CHILDREN: AtomicI32 = AtomicI32::new(0);

fn started(child: pid_t) {
    if child > 0 {
        CHILDREN.fetch_add(1, Ordering::Relaxed);
    }
}

fn ended(child: pid_t) {
    if child > 0 && CHILDREN.load(Ordering::Relaxed) > 0 {
        CHILDREN.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Set once the program has made a thread by `clone` itself.
static STRANGERS: AtomicBool = AtomicBool::new(false);

/// The program's `clone`, which makes threads that the C library does not know.
///
/// # Safety
/// As for the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clone(
    function: *const c_void,
    stack: *mut c_void,
    flags: c_int,
    argument: *mut c_void,
    parent_id: *mut c_void,
    tls: *mut c_void,
    child_id: *mut c_void,
) -> c_int {
    if flags & libc::CLONE_THREAD != 0 {
        STRANGERS.store(true, Ordering::Relaxed);
    }
    type Clone = unsafe extern "C" fn(
        *const c_void,
        *mut c_void,
        c_int,
        *mut c_void,
        *mut c_void,
        *mut c_void,
        *mut c_void,
    ) -> c_int;
    // SAFETY: passed on as it came. The arguments that the call came without are not looked at there either.
    unsafe { real!(clone: Clone)(function, stack, flags, argument, parent_id, tls, child_id) }
}

/// What the conductor needs of the system.
pub struct Native;

impl World for Native {
    fn poll(&self, waiters: &mut [&mut Thread], timeout: u64) {
        super::descriptors::poll_waiters(waiters, timeout);
    }

    fn may_be_woken(&self) -> bool {
        timers::any_real() || signals::any_handler() || unknown_threads()
    }

    fn others_work(&self) -> bool {
        CHILDREN.load(Ordering::Relaxed) > 0
    }

    fn had_strangers(&self) -> bool {
        STRANGERS.load(Ordering::Relaxed)
    }

    fn has_strangers(&self) -> bool {
        unknown_threads()
    }

    fn takes(&self, thread: &Thread, number: u32) -> bool {
        signals::takes(thread, number as c_int)
    }

    fn signal(&self, thread: &mut Thread, number: u32, timer: Option<&Timer>) {
        signals::bring(thread, number as c_int, timer);
    }

    fn hand_over(&self, timers: &mut Timers, now: u64) {
        timers::hand_over(timers, now, u64::MAX);
    }
}

/// Whether the kernel knows more threads of this process than we do: one that was made by clone, say, and has not yet
/// come by a hook.
fn unknown_threads() -> bool {
    let mut count = 0;
    kernel::each_entry(c"/proc/self/task", |_| count += 1);
    // A main thread that has ended stays with the kernel until the process ends.
    let gone = usize::from(!conductor().is_alive(0));
    count > conductor().threads.len() + gone
}

pub fn start() {
    unsafe extern "C" {
        fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
        fn __register_atfork(
            before: Option<extern "C" fn()>,
            parent: Option<extern "C" fn()>,
            child: Option<extern "C" fn()>,
            module: *mut c_void,
        ) -> c_int;
    }
    static ONCE: AtomicBool = AtomicBool::new(false);
    if ONCE.swap(true, Ordering::Relaxed) {
        // The child of a fork inherits both.
        return;
    }
    // SAFETY: registered first: `exiting` runs after the program's own exit handlers, `in_child` before its fork handlers.
    unsafe {
        on_exit(exiting, std::ptr::null_mut());
        __register_atfork(None, None, Some(in_child), std::ptr::null_mut());
    }
}

extern "C" fn exiting(status: c_int, _: *mut c_void) {
    ends(0, status);
}

/// The process ends. Others may come first: threads that nobody waits for would hardly ever be seen otherwise.
fn ends(pc: u64, status: c_int) {
    if let Some(inside) = enter() {
        inside.thread.exiting = true;
        conductor().pause(inside.thread, Pause::Yield);
        conductor().step(inside.thread, pc, Op::Exit { status });
    }
}

/// The child of a fork is a process of its own: it has one thread and gets its own trace. Runs before the program's own
/// child handlers, which may already use locks.
extern "C" fn in_child() {
    if !active() {
        return;
    }
    // SAFETY: the row of the thread that forked; the parent's table was copied with it.
    let Some(thread) = (unsafe { tls::thread().as_mut() }) else { return };
    let owner = thread.id;
    let objects = std::mem::take(&mut conductor().objects);
    CHILDREN.store(0, Ordering::Relaxed);
    CONDUCTOR.store(std::ptr::null_mut(), Ordering::Release);
    tls::set_thread(std::ptr::null_mut());
    let Some(region) = connect::connect(register::instrumented(), true) else { return };
    stacks::forget();
    modules::forget();
    mappings::forget();
    threads::forget();
    register::start(region);
    let conductor = conductor();
    conductor.objects = objects;
    let mut held = Vec::new();
    for (object, lock) in conductor.objects.locks.iter_mut() {
        if lock.owner == owner {
            lock.owner = 0;
            held.push((object, LockMode::Exclusive));
        } else if lock.owner != NO_THREAD {
            // Held by a thread that does not exist here: nobody will ever release it.
            lock.owner = NO_THREAD - 1;
        }
        for (reader, _) in &mut lock.readers {
            if *reader == owner {
                *reader = 0;
                held.push((object, LockMode::Shared));
            } else {
                *reader = NO_THREAD - 1;
            }
        }
    }
    // Those who waited are not here.
    conductor.objects.conditions.clear();
    conductor.objects.futexes.clear();
    conductor.objects.barriers.values_mut().for_each(|barrier| barrier.arrived.clear());
    conductor
        .objects
        .onces
        .values_mut()
        .for_each(|once| once.runner = once.runner.filter(|&id| id == owner).map(|_| 0));
    timers::forget();
    modules::changed();
    // The trace of the child begins with the locks it was born with; in an order that does not depend on the table's.
    held.sort_unstable_by_key(|&(object, _)| object);
    let Some(inside) = enter() else { return };
    for (object, mode) in held {
        conductor.step(inside.thread, 0, Op::Acquire { object: ObjectId(object), mode, tried: false });
    }
}

/// The program is replaced: the launcher closes this trace when the new one says hello. Comes back only if it is not.
fn replace(exec: impl FnOnce() -> c_int) -> c_int {
    leaving();
    let status = exec();
    if active() {
        let errno = kernel::errno();
        timers::stay();
        kernel::set_errno(errno);
    }
    status
}

fn leaving() {
    if let Some(inside) = enter() {
        conductor().recorder.settle(inside.thread);
        timers::survive();
    }
}

type Exec = unsafe extern "C-unwind" fn(*const c_char, *const *const c_char, *const *const c_char) -> c_int;
type ExecPath = unsafe extern "C-unwind" fn(*const c_char, *const *const c_char) -> c_int;
type Wait = unsafe extern "C-unwind" fn(pid_t, *mut c_int, c_int) -> pid_t;

interpose! {
    fn fork(; pc) -> pid_t {
        let fork = real!(fork: unsafe extern "C-unwind" fn() -> pid_t);
        let Some(inside) = enter() else { return fork() };
        conductor().sync_point(inside.thread);
        conductor().recorder.settle(inside.thread);
        // The program's fork handlers are its own code.
        inside.thread.inside = 0;
        let child = fork();
        if child == 0 {
            // This thread's row is another one now.
            std::mem::forget(inside);
        } else {
            started(child);
            hold(inside.thread);
            inside.thread.inside = 1;
            conductor().recorded_input(inside.thread, InputSource::Other);
            let op = Op::Input { source: InputSource::Other, value: i64::from(child > 0), bytes: &[] };
            conductor().step(inside.thread, pc, op);
        }
        child
    }

    /// A vfork child shares our memory, and with it the state of the runtime; a fork is always allowed instead.
    fn vfork(; pc) -> pid_t {
        fork::body(pc)
    }

    fn _exit(status: c_int; pc) {
        ends(pc, status);
        real!(_exit: unsafe extern "C-unwind" fn(c_int))(status)
    }

    fn quick_exit(status: c_int; pc) {
        ends(pc, status);
        real!(quick_exit: unsafe extern "C-unwind" fn(c_int))(status)
    }

    fn execve(path: *const c_char, arguments: *const *const c_char, environment: *const *const c_char; pc) -> c_int {
        replace(|| real!(execve: Exec)(path, arguments, environment))
    }

    fn execv(path: *const c_char, arguments: *const *const c_char; pc) -> c_int {
        replace(|| real!(execv: ExecPath)(path, arguments))
    }

    fn execvp(path: *const c_char, arguments: *const *const c_char; pc) -> c_int {
        replace(|| real!(execvp: ExecPath)(path, arguments))
    }

    fn waitpid(process: pid_t, status: *mut c_int, options: c_int; pc) -> pid_t {
        let wait = real!(waitpid: Wait);
        match enter() {
            Some(mut inside) => {
                let child = kernel::blocking(&mut inside, pc, libc::SYS_wait4 as u32, || wait(process, status, options));
                ended(child);
                if child > 0 {
                    let errno = kernel::errno();
                    super::super::ranges::wrote(inside.thread, status.cast(), 4, pc);
                    kernel::set_errno(errno);
                }
                child
            }
            None => wait(process, status, options),
        }
    }

    fn wait(status: *mut c_int; pc) -> pid_t {
        waitpid::body(-1, status, 0, pc)
    }

    fn wait4(process: pid_t, status: *mut c_int, options: c_int, usage: *mut c_void; pc) -> pid_t {
        let wait = real!(wait4: unsafe extern "C-unwind" fn(pid_t, *mut c_int, c_int, *mut c_void) -> pid_t);
        match enter() {
            Some(mut inside) => kernel::blocking(&mut inside, pc, libc::SYS_wait4 as u32, || {
                let child = wait(process, status, options, usage);
                ended(child);
                child
            }),
            None => wait(process, status, options, usage),
        }
    }

    fn waitid(kind: c_int, id: libc::id_t, info: *mut libc::siginfo_t, options: c_int; pc) -> c_int {
        let wait = real!(waitid: unsafe extern "C-unwind" fn(c_int, libc::id_t, *mut libc::siginfo_t, c_int) -> c_int);
        match enter() {
            Some(mut inside) => kernel::blocking(&mut inside, pc, libc::SYS_waitid as u32, || wait(kind, id, info, options)),
            None => wait(kind, id, info, options),
        }
    }

    fn system(command: *const c_char; pc) -> c_int {
        let run = real!(system: unsafe extern "C-unwind" fn(*const c_char) -> c_int);
        match enter() {
            Some(mut inside) => kernel::blocking(&mut inside, pc, libc::SYS_wait4 as u32, || run(command)),
            None => run(command),
        }
    }

    fn pclose(file: *mut libc::FILE; pc) -> c_int {
        let close = real!(pclose: unsafe extern "C-unwind" fn(*mut libc::FILE) -> c_int);
        match enter() {
            Some(mut inside) => kernel::blocking(&mut inside, pc, libc::SYS_wait4 as u32, || close(file)),
            None => close(file),
        }
    }

    fn flock(descriptor: c_int, operation: c_int; pc) -> c_int {
        let lock = real!(flock: unsafe extern "C-unwind" fn(c_int, c_int) -> c_int);
        match enter() {
            Some(mut inside) if operation & libc::LOCK_NB == 0 => kernel::blocking(&mut inside, pc, libc::SYS_flock as u32, || lock(descriptor, operation)),
            _ => lock(descriptor, operation),
        }
    }
}

/// `_Exit` is `_exit` under its C99 name.
///
/// # Safety
/// Ends the process.
#[unsafe(naked)]
#[unsafe(export_name = "_Exit")]
pub unsafe extern "C" fn c99_exit() {
    std::arch::naked_asm!("jmp {exit}", exit = sym _exit::_exit)
}

type Spawn = unsafe extern "C-unwind" fn(
    *mut pid_t,
    *const c_char,
    *const c_void,
    *const c_void,
    *const *const c_char,
    *const *const c_char,
) -> c_int;

/// # Safety
/// As for libc's posix_spawn.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn posix_spawn(
    child: *mut pid_t,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: *const *const c_char,
    environment: *const *const c_char,
) -> c_int {
    // SAFETY: the program's own call.
    let status = unsafe { real!(posix_spawn: Spawn)(child, path, actions, attributes, arguments, environment) };
    started((status == 0).into());
    status
}

/// # Safety
/// As for libc's posix_spawnp.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn posix_spawnp(
    child: *mut pid_t,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: *const *const c_char,
    environment: *const *const c_char,
) -> c_int {
    // SAFETY: the program's own call.
    let status = unsafe { real!(posix_spawnp: Spawn)(child, path, actions, attributes, arguments, environment) };
    started((status == 0).into());
    status
}
