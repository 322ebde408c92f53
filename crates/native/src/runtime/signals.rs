//! Signals. The program's handlers run on a thread that holds the token: at the thread's next hook if it is in compiled
//! code or in the runtime (a hook and its access must not be torn apart), in place if it is in a library or a blocking
//! call.

use super::load::fault_fixup;
use super::slot::Slot;
use super::{Conductor, Thread, Token, aborts, conductor, modules, own_row, system, timers};
use libc::{c_int, c_void, sigaction as Action, siginfo_t};
use reweave_conductor::interrupts::{interrupt_channel, timer_channel};
use reweave_conductor::{InterruptSet, Status, Timer};
use reweave_model::{Addr, Op};
use std::mem::zeroed;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// The channel through which a thread is sent cancellation. Ids below any mapped address.
pub const fn channel(thread: u32) -> u64 {
    0x1000 + thread as u64
}

pub const SIGNALS: usize = 65;

type Handler = unsafe extern "C-unwind" fn(c_int, *mut siginfo_t, *mut c_void);
type SigAction = unsafe extern "C-unwind" fn(c_int, *const Action, *mut Action) -> c_int;

/// What the program asked for; changed by its own sigaction calls, and looked at by handlers on any thread.
static ACTIONS: [Slot<Action, 19>; SIGNALS] = [const { Slot::empty() }; SIGNALS];
/// Information about the last signal of each number that was put off.
static WAITING: [Slot<siginfo_t, 16>; SIGNALS] = [const { Slot::empty() }; SIGNALS];

/// Faults: ours first, because the runtime's own loads may fault in place of the program's.
const FAULTS: [c_int; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL];
/// Signals whose default is to die with a core, which we want in the trace.
pub const FATAL: [c_int; 7] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT, libc::SIGSYS, libc::SIGTRAP];

/// Signals that the program sent itself, and those that came from elsewhere, so far; a bit each.
static OWN: AtomicU64 = AtomicU64::new(0);
static FOREIGN: AtomicU64 = AtomicU64::new(0);

/// Whether somebody outside may send one: not if the program sent every signal it has a handler for itself.
pub fn may_come_from_outside() -> bool {
    let own = OWN.load(Ordering::Relaxed);
    let handled = || (1..SIGNALS as c_int).filter(|&number| has_handler(number).is_some());
    own == 0 || FOREIGN.load(Ordering::Relaxed) != 0 || handled().any(|number| own & bit(number) == 0)
}

/// Signals count from 1 to 64.
const fn bit(number: c_int) -> u64 {
    1 << (number - 1)
}

/// What the program asks for from here on.
pub fn set_wanted(number: c_int, action: Option<Action>) {
    ACTIONS[number as usize].set(action);
}

pub fn wanted(number: c_int) -> Option<Action> {
    ACTIONS[number as usize].get()
}

pub fn has_handler(number: c_int) -> Option<Action> {
    wanted(number).filter(|action| action.sa_sigaction != libc::SIG_DFL && action.sa_sigaction != libc::SIG_IGN)
}

pub fn any_handler() -> bool {
    (1..SIGNALS as c_int).any(|number| has_handler(number).is_some())
}

pub fn real_action(number: c_int, new: *const Action, old: *mut Action) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { real!(sigaction: SigAction)(number, new, old) }
}

pub fn start() {
    for number in FATAL {
        // SAFETY: an action made of zeros is a valid start.
        unsafe {
            let mut old: Action = zeroed();
            real_action(number, std::ptr::null(), &raw mut old);
            if old.sa_sigaction == arrived as *const () as usize {
                continue;
            }
            set_wanted(number, Some(old));
            let mut action: Action = zeroed();
            action.sa_sigaction = arrived as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
            real_action(number, &raw const action, std::ptr::null_mut());
        }
    }
}

/// Every signal with a handler of the program, and every fatal one, comes here first.
pub unsafe extern "C-unwind" fn arrived(number: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let errno = system::errno();
    // SAFETY: the kernel's arguments; of the row only words are touched, except through a token.
    unsafe {
        if FAULTS.contains(&number) && repaired(context) {
            return;
        }
        match (has_handler(number), own_row(), conductor()) {
            (None, thread, conductor) => {
                if FATAL.contains(&number) {
                    die(number, info, context, thread.zip(conductor));
                }
            }
            (Some(action), Some(thread), Some(conductor)) => {
                let fault = FAULTS.contains(&number) && (*info).si_code > 0;
                let expected = thread.row.expected.remove(number as u32);
                if !fault && !expected && source(number, &*info) != Source::Program && conductor.repeats() {
                    // The schedule says when it comes.
                    system::set_errno(errno);
                    return;
                }
                let compiled = || modules::instrumented_code(pc_of(context));
                if fault || thread.row.in_call.get() || (thread.own.inside.get() == 0 && !compiled()) {
                    in_place(conductor, thread, number, &action, info, context);
                } else {
                    WAITING[number as usize].set(Some(*info));
                    put_off(conductor, thread, number);
                }
            }
            (Some(action), _, _) => call(None, &action, number, info, context),
        }
    }
    system::set_errno(errno);
}

unsafe fn pc_of(context: *mut c_void) -> u64 {
    // SAFETY: the kernel's context.
    unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs[libc::REG_RIP as usize] as u64 }
}

/// A load of the runtime on behalf of a faulting access: skip it, the program's own access faults next.
unsafe fn repaired(context: *mut c_void) -> bool {
    // SAFETY: the kernel's context.
    unsafe {
        let Some(resume) = fault_fixup(pc_of(context) as usize) else { return false };
        (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs[libc::REG_RIP as usize] = resume as i64;
        true
    }
}

/// Records the end and lets the kernel carry it out, with the program's own status and core.
unsafe fn die(
    number: c_int,
    info: *mut siginfo_t,
    context: *mut c_void,
    recorded: Option<(&'static Thread, &'static Conductor)>,
) {
    // SAFETY: the kernel's arguments; default action.
    unsafe {
        if let Some((thread, conductor)) = recorded
            && (conductor.holder() == thread.id || conductor.is_free() && thread.own.inside.get() == 0)
        {
            let inside = thread.own.inside.replace(1);
            let addr = if FAULTS.contains(&number) { (*info).si_addr() as u64 } else { 0 };
            let pc = match pc_of(context) {
                // As a return address would have it.
                pc if FAULTS.contains(&number) && modules::instrumented_code(pc) => pc + 1,
                _ if number == libc::SIGABRT => aborts::place(thread),
                _ => 0,
            };
            // It holds the token. A token that it may have been using will not be used any more: the process dies.
            let mut token = reweave_guest::hold(conductor, NonNull::from(thread));
            super::free::catch_up_all(&mut token);
            token.event(pc, Op::Fatal { number: number as u32, addr: Addr(addr) });
            thread.own.inside.set(inside);
        }
        let mut default: Action = zeroed();
        default.sa_sigaction = libc::SIG_DFL;
        real_action(number, &raw const default, std::ptr::null_mut());
        if (*info).si_code <= 0 {
            // Sent, not caused: it will not come again by itself.
            libc::syscall(libc::SYS_tgkill, libc::getpid(), libc::syscall(libc::SYS_gettid), number);
        }
    }
}

fn put_off(conductor: &Conductor, thread: &Thread, number: c_int) {
    thread.interrupts.insert(number as u32);
    let budget = thread.own.budget.get();
    if thread.own.inside.get() == 0 && budget > 1 {
        // Ends the slice at the next hook. Not 0: the hook may be about to count down.
        thread.slice.size.set(thread.slice.size.get() - (budget - 1));
        thread.own.budget.set(1);
    }
    conductor.nudge(thread);
}

/// Runs the handler now. A thread in a blocking call first takes the token, and gives it back afterwards.
unsafe fn in_place(
    conductor: &'static Conductor,
    thread: &'static Thread,
    number: c_int,
    action: &Action,
    info: *mut siginfo_t,
    context: *mut c_void,
) {
    let in_call = thread.row.in_call.replace(false);
    let inside = thread.own.inside.replace(1);
    let held = conductor.holder() == thread.id;
    let row = NonNull::from(thread);
    // SAFETY: the row of this very thread. It is in a library, in a call of the program, or about to die of a fault:
    // nothing of the state is in use. The kernel's arguments.
    unsafe {
        let mut token = if in_call { Token::arrive(conductor, row) } else { reweave_guest::hold(conductor, row) };
        super::free::catch_up(&mut token);
        handle(&mut token, number, action, info, context);
        if !held && !in_call {
            token.run_free();
        }
        thread.own.inside.set(inside);
        if in_call {
            token.leave();
            thread.row.in_call.set(true);
        }
    }
}

/// Runs a handler on the thread that holds the token, between its two events.
unsafe fn handle(token: &mut Token<'_>, number: c_int, action: &Action, info: *mut siginfo_t, context: *mut c_void) {
    token.fill_pending_write();
    let ordered = &token.me().replay.ordered;
    ordered.set(ordered.get() & !bit(number));
    token.step(0, Op::Signal { number: number as u32 });
    // SAFETY: the kernel's, or made here.
    let source = source(number, unsafe { &*info });
    match source {
        Source::Program => OWN.fetch_or(bit(number), Ordering::Relaxed),
        Source::Timer | Source::Outside => FOREIGN.fetch_or(bit(number), Ordering::Relaxed),
    };
    match source {
        Source::Program => token.receive(0, interrupt_channel(number as u32), None),
        Source::Timer => token.receive(0, timer_channel(number as u32), None),
        Source::Outside => {}
    }
    let inside = token.me().own.inside.replace(0);
    // The handler may itself wait: what the interrupted wait was about must survive.
    let wait = token.me().wait.suspend();
    // SAFETY: the program's own handler.
    unsafe { call(Some(token), action, number, info, context) };
    if token.conductor().is_free() {
        token.me().own.inside.set(1);
    }
    token.keep();
    super::free::catch_up(token);
    token.me().own.inside.set(inside);
    token.me().wait.resume(&wait);
    token.step(0, Op::SignalReturn { number: number as u32 });
}

unsafe fn call(
    token: Option<&mut Token<'_>>,
    action: &Action,
    number: c_int,
    info: *mut siginfo_t,
    context: *mut c_void,
) {
    // SAFETY: the program gave us a function of the kind its flags say.
    unsafe {
        if action.sa_flags & libc::SA_RESETHAND != 0 {
            set_wanted(number, None);
            if !FATAL.contains(&number) {
                let default: Action = zeroed();
                real_action(number, &raw const default, std::ptr::null_mut());
            }
            if let Some(token) = token {
                timers::action_changed(token, number);
            }
        }
        std::mem::transmute::<usize, Handler>(action.sa_sigaction)(number, info, context);
    }
}

/// Blocks what the kernel would block during a handler; returns the mask before.
fn block(action: &Action, number: c_int) -> u64 {
    // SAFETY: the kernel's part of the set is its first word.
    let wanted = unsafe { (&raw const action.sa_mask).cast::<u64>().read() };
    let own = if action.sa_flags & libc::SA_NODEFER == 0 { bit(number) } else { 0 };
    let (set, mut old) = (wanted | own, 0u64);
    // SAFETY: rt_sigprocmask on local words.
    unsafe { system::raw(14, [libc::SIG_BLOCK as usize, &raw const set as usize, &raw mut old as usize, 8, 0, 0]) };
    old
}

/// Sets the mask of the calling thread; returns the one before.
pub fn set_mask(mask: u64) -> u64 {
    let mut old = 0u64;
    // SAFETY: rt_sigprocmask on local words.
    unsafe { system::raw(14, [libc::SIG_SETMASK as usize, &raw const mask as usize, &raw mut old as usize, 8, 0, 0]) };
    old
}

/// The calling thread takes no more signals, but for the two by which libc reaches all threads.
pub fn keep_away() {
    const OF_LIBC: u64 = bit(32) | bit(33);
    set_mask(!OF_LIBC);
}

/// Runs the handlers of the signals that were put off. The thread is in the runtime and holds the token.
pub fn deliver(token: &mut Token<'_>) {
    while let Some(number) = token.me().interrupts.first() {
        token.me().interrupts.remove(number);
        let number = number as c_int;
        if let Some(action) = has_handler(number) {
            // SAFETY: plain data; handlers that look at the context of an asynchronous signal see zeros.
            unsafe {
                let mut info = WAITING[number as usize].get().unwrap_or_else(|| {
                    let mut info: siginfo_t = zeroed();
                    info.si_signo = number;
                    info
                });
                let mut context: libc::ucontext_t = zeroed();
                let mask = block(&action, number);
                handle(token, number, &action, &raw mut info, (&raw mut context).cast());
                set_mask(mask);
            }
        }
    }
}

/// Whether a call that this signal interrupted goes on by itself.
pub fn restarts(signals: &InterruptSet) -> bool {
    (1..SIGNALS as c_int)
        .filter(|&number| signals.contains(number as u32))
        .all(|number| has_handler(number).is_none_or(|action| action.sa_flags & libc::SA_RESTART != 0))
}

/// Where a signal comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    /// The program sent it itself.
    Program,
    Timer,
    Outside,
}

/// What the kernel says about signals that it sends by itself, and about timers made by `timer_create`; absent in the
/// libc crate.
const SI_KERNEL: c_int = 0x80;
const SI_TIMER: c_int = -2;

fn source(number: c_int, info: &siginfo_t) -> Source {
    match info.si_code {
        SI_TIMER => Source::Timer,
        SI_KERNEL if [libc::SIGALRM, libc::SIGVTALRM, libc::SIGPROF].contains(&number) => Source::Timer,
        // Sent by somebody: kill, raise, sigqueue and the like, and what the kernel sends for a thread's own doing.
        // SAFETY: these come with a process id.
        libc::SI_USER | libc::SI_TKILL | libc::SI_QUEUE if unsafe { info.si_pid() == libc::getpid() } => {
            Source::Program
        }
        code if code > 0 && FAULTS.contains(&number) => Source::Program,
        _ => Source::Outside,
    }
}

/// The beginning of siginfo_t for timers, as the kernel has it.
#[repr(C)]
struct TimerInfo {
    head: [c_int; 4],
    timer: c_int,
    overruns: c_int,
    value: u64,
}

/// What the handler learns about a signal that the scheduler brings.
fn information(number: c_int, timer: Option<&Timer>) -> siginfo_t {
    // SAFETY: plain data, larger than what is written.
    let mut info: siginfo_t = unsafe { zeroed() };
    info.si_signo = number;
    if let Some(timer) = timer {
        info.si_code = if timers::is_interval(timer) { SI_KERNEL } else { SI_TIMER };
        // SAFETY: as above.
        let filled = unsafe { &mut *(&raw mut info).cast::<TimerInfo>() };
        (filled.overruns, filled.value) = (timer.overruns as c_int, timer.value);
    }
    info
}

/// Whether a thread handles this signal and does not block it.
pub fn takes(thread: &Thread, number: c_int) -> bool {
    if has_handler(number).is_none() || (thread.scheduling.os.get() == 0 && thread.status() == Status::Outside) {
        return false;
    }
    !blocks(await_birth(thread), number)
}

/// Gives a thread a signal of a timer or, as the schedule says, one from outside.
pub fn bring(thread: &Thread, number: c_int, timer: Option<&Timer>) {
    let info = information(number, timer);
    if thread.status() == Status::Outside {
        // It must come out of its call.
        thread.row.expected.insert(number as u32);
        let os = thread.scheduling.os.get() as usize;
        // SAFETY: rt_tgsigqueueinfo to a thread of this process.
        unsafe { system::raw(297, [libc::getpid() as usize, os, number as usize, &raw const info as usize, 0, 0]) };
        return;
    }
    WAITING[number as usize].set(Some(info));
    thread.interrupts.insert(number as u32);
}

/// A new thread has no id of the system's before it runs, and blocks everything until then. Returns the id.
fn await_birth(thread: &Thread) -> u32 {
    loop {
        match thread.scheduling.os.get() {
            0 => nap(),
            os => return os,
        }
    }
}

/// After sending a signal to another thread: waits until it has arrived there, so that the order of events does not
/// depend on the kernel. A thread that blocks the signal is not waited for.
pub fn await_arrival(token: &Token<'_>, target: u32, number: c_int) {
    if has_handler(number).is_none() {
        return;
    }
    let Some(thread) = token.thread(target) else { return };
    let os = await_birth(thread);
    if thread.row.in_call.get() || thread.status() == Status::Outside || blocks(os, number) {
        return;
    }
    for _ in 0..2_000 {
        if thread.interrupts.contains(number as u32) {
            return;
        }
        nap();
    }
}

/// 20 µs of real time.
fn nap() {
    if let Some(conductor) = conductor() {
        conductor.nap(20_000);
    }
}

/// Whether a thread has a signal in its mask, from the kernel's own account.
fn blocks(os: u32, number: c_int) -> bool {
    let mut path = [0u8; 64];
    let mut text = [0u8; 4096];
    let len = {
        use std::io::Write;
        let mut rest = &mut path[..];
        if write!(rest, "/proc/self/task/{os}/status\0").is_err() {
            return true;
        }
        // SAFETY: raw calls on local buffers.
        unsafe {
            let file = system::raw(2, [path.as_ptr() as usize, 0, 0, 0, 0, 0]);
            if file < 0 {
                return true;
            }
            let len = system::raw(0, [file as usize, text.as_mut_ptr() as usize, text.len(), 0, 0, 0]);
            system::close(file as c_int);
            len.max(0) as usize
        }
    };
    let text = std::str::from_utf8(&text[..len]).unwrap_or("");
    let mask = text.lines().find_map(|line| line.strip_prefix("SigBlk:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_none_or(|mask| mask & 1 << (number - 1) != 0)
}
