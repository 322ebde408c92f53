//! The life of the process: exit, fork, exec, children.

use super::{
    CONDUCTOR, Threads, active, conductor_of_thread, enter, free, futexes, handed_on, mappings, modules, register,
    stacks, system as kernel, threads, timers, tls,
};
use libc::{c_char, c_int, c_void, pid_t};
use reweave_conductor::objects::Objects;
use reweave_conductor::{NO_THREAD, Pause};
use reweave_guest::connection::{Introduction, connect};
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

pub fn has_children() -> bool {
    CHILDREN.load(Ordering::Relaxed) > 0
}

/// Set once the program has made a thread by `clone` itself.
static UNMANAGED: AtomicBool = AtomicBool::new(false);

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
        UNMANAGED.store(true, Ordering::Relaxed);
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

pub fn had_unmanaged_threads() -> bool {
    UNMANAGED.load(Ordering::Relaxed)
}

/// Whether the kernel knows more threads of this process than we do: one that was made by clone, say, and has not yet
/// come by a hook.
pub fn unknown_threads(known: &Threads) -> bool {
    let mut count = 0;
    kernel::each_entry(c"/proc/self/task", |_| count += 1);
    // A main thread that has ended stays with the kernel until the process ends.
    let gone = usize::from(!known.contains(0));
    count > known.len() + gone
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
    // SAFETY: registered first: `exiting` runs after the program's own exit handlers, `in_child` before its fork
    // handlers.
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
    if let Some(mut inside) = enter() {
        inside.me().scheduling.exiting.set(true);
        inside.pause(Pause::Yield);
        free::catch_up_all(&mut inside);
        inside.step(pc, Op::Exit { status });
    }
}

/// The child of a fork is a process of its own: it has one thread and gets its own trace. Runs before the program's own
/// child handlers, which may already use locks.
extern "C" fn in_child() {
    if !active() {
        return;
    }
    let Some(row) = std::ptr::NonNull::new(tls::thread()) else { return };
    // SAFETY: the row of the thread that forked, which held the token; the parent's table was copied with it, and of
    // the threads in it nobody else is here.
    let (owner, objects) = unsafe {
        let mut token = super::Token::assume(conductor_of_thread(), row);
        (token.id(), std::mem::take(token.objects()))
    };
    CHILDREN.store(0, Ordering::Relaxed);
    CONDUCTOR.store(std::ptr::null_mut(), Ordering::Release);
    tls::set_thread(std::ptr::null_mut());
    let introduction = Introduction { instrumented: register::instrumented(), forked: true };
    let Some(region) = connect(introduction) else { return };
    // SAFETY: the child of a fork has one thread.
    unsafe {
        stacks::forget();
        free::forget();
        modules::forget();
        mappings::forget();
        threads::forget();
        futexes::forget();
    }
    register::start(region);
    timers::forget();
    modules::changed();
    let Some(mut inside) = enter() else { return };
    *inside.objects() = objects;
    let held = inherit(inside.objects(), owner);
    for (object, mode) in held {
        inside.step(0, Op::Acquire { object: ObjectId(object), mode, tried: false });
    }
}

/// Objects of the parent, as the child finds them; returns the locks it was born with, in an order that does not depend
/// on the table's: its trace begins with them.
fn inherit(objects: &mut Objects, owner: u32) -> Vec<(u64, LockMode)> {
    let mut held = Vec::new();
    for (object, lock) in objects.locks.iter_mut() {
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
    objects.conditions.clear();
    objects.barriers.values_mut().for_each(|barrier| barrier.arrived.clear());
    objects.onces.values_mut().for_each(|once| once.runner = once.runner.filter(|&id| id == owner).map(|_| 0));
    held.sort_unstable_by_key(|&(object, _)| object);
    held
}

/// The program is replaced: the launcher closes this trace when the new one says hello. Comes back only if it is not.
fn replace(exec: impl FnOnce() -> c_int) -> c_int {
    if let Some(mut inside) = enter() {
        inside.fill_pending_write();
        timers::survive(&mut inside);
    }
    let status = exec();
    let errno = kernel::errno();
    if let Some(mut inside) = enter() {
        timers::stay(&mut inside);
    }
    kernel::set_errno(errno);
    status
}

type Exec = unsafe extern "C-unwind" fn(*const c_char, *const *const c_char, *const *const c_char) -> c_int;
type Wait = unsafe extern "C-unwind" fn(pid_t, *mut c_int, c_int) -> pid_t;

interpose! {
    fn fork(; pc) -> pid_t {
        let fork = real!(fork: unsafe extern "C-unwind" fn() -> pid_t);
        let Some(mut inside) = enter() else { return fork() };
        inside.sync_point();
        inside.fill_pending_write();
        // The program's fork handlers are its own code.
        inside.me().own.inside.set(0);
        let child = fork();
        if child == 0 {
            // This thread's row is another one now.
            std::mem::forget(inside);
        } else {
            started(child);
            inside.keep();
            inside.me().own.inside.set(1);
            free::catch_up(&mut inside);
            inside.recorded_input(InputSource::Other);
            let op = Op::Input { source: InputSource::Other, value: i64::from(child > 0), bytes: &[] };
            inside.step(pc, op);
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
        handed_on::with(environment, |environment| replace(|| real!(execve: Exec)(path, arguments, environment)))
    }

    fn execv(path: *const c_char, arguments: *const *const c_char; pc) -> c_int {
        handed_on::with_own(|environment| replace(|| real!(execve: Exec)(path, arguments, environment)))
    }

    fn execvp(path: *const c_char, arguments: *const *const c_char; pc) -> c_int {
        handed_on::with_own(|environment| replace(|| real!(execvpe: Exec)(path, arguments, environment)))
    }

    fn waitpid(process: pid_t, status: *mut c_int, options: c_int; pc) -> pid_t {
        let wait = real!(waitpid: Wait);
        match enter() {
            Some(mut inside) => {
                let child = kernel::blocking(&mut inside, pc, libc::SYS_wait4 as u32, || wait(process, status, options));
                ended(child);
                if child > 0 {
                    let errno = kernel::errno();
                    super::super::ranges::wrote(&mut inside, status.cast(), 4, pc);
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

macro_rules! spawns {
    ($($name:ident)*) => {$(
        /// # Safety
        /// As for libc's function of this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(
            child: *mut pid_t,
            path: *const c_char,
            actions: *const c_void,
            attributes: *const c_void,
            arguments: *const *const c_char,
            environment: *const *const c_char,
        ) -> c_int {
            // SAFETY: the program's own call.
            let status = unsafe {
                handed_on::with(environment, |environment| {
                    real!($name: Spawn)(child, path, actions, attributes, arguments, environment)
                })
            };
            started((status == 0).into());
            status
        }
    )*};
}

spawns! { posix_spawn posix_spawnp }
