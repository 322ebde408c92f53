//! Threads of the program, from their start to their end. Threads that the machine itself starts are left alone.

use super::jni::{Env, Object};
use super::jvmti::{Jvmti, ThreadInfo};
use super::{agent, failures, joins, replaced, stacks, status, unseen};
use reweave_guest::model::{Op, ThreadId};
use reweave_guest::words::{Long, Word};
use reweave_guest::{Deadline, Inside, NewThread, Pause, Thread, Token, World};
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::CStr;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// The world of a Java machine, as the conductor sees it.
pub struct Jvm;

/// The agent's part of a thread's row.
#[derive(Default)]
pub struct Row {
    /// The thread, as a global reference; null before it begins.
    pub thread: Long,
    /// How deep the thread is in code of which nothing is recorded.
    pub quiet: Word,
    /// How many of these are initializers of classes.
    pub initializing: Word,
    /// The thread whose end was waited for last, plus one, until the hook behind the wait has asked.
    pub joined: Word,
    /// How often it had taken the lock that a wait for a condition has given up.
    pub depth: Word,
    /// The stack of its last call to a collection or a lock; 0 while what is done there is not the program's.
    pub called: Word,
    /// Whether it is interrupted, as far as the trace says.
    pub interrupted: Word,
    /// The lock that it asks for, 0 if none.
    pub awaited: Long,
    /// The lock that it asked for before it entered a method whose body will tell the model, 0 if none.
    pub asked: Long,
    /// Who made it, and whose child it was before that, as a number: the same in every run; 0 for the main thread.
    pub descent: Long,
}

impl World for Jvm {
    type Row = Row;
}

thread_local! {
    static ROW: Cell<Option<NonNull<Thread<Row>>>> = const { Cell::new(None) };
}

/// Threads by their number, and their descent.
type Forked = HashMap<u32, (NewThread<Jvm>, u64)>;

/// Threads that were forked and have not begun.
static FORKED: LazyLock<Mutex<Forked>> = LazyLock::new(Mutex::default);

fn forked() -> MutexGuard<'static, Forked> {
    FORKED.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn is_managed() -> bool {
    ROW.get().is_some()
}

/// Whether what this thread does is recorded, as soon as it has the token.
pub fn is_recorded() -> bool {
    // SAFETY: this thread's own row, which stays until it ends.
    ROW.get().is_some_and(|row| unsafe { row.as_ref() }.row.quiet.get() == 0)
}

/// The calling thread as an object, if it is under control.
pub fn own_object() -> Option<Object> {
    // SAFETY: as above.
    ROW.get().map(|row| unsafe { row.as_ref() }.row.thread.get() as Object).filter(|thread| !thread.is_null())
}

/// Whether this thread has asked for the lock before it entered the method that it is in now; it is said once.
pub fn has_asked_for(lock: u64) -> bool {
    // SAFETY: as above.
    let asked = ROW.get().map_or(0, |row| unsafe { row.as_ref() }.row.asked.replace(0));
    lock != 0 && asked == lock
}

/// Runs an operation of this thread with the token. `None`: nothing of this thread is recorded, or it is in an
/// operation.
pub fn enter<R>(env: Env, code: impl FnOnce(&mut Inside<'_, Jvm>) -> R) -> Option<R> {
    let row = ROW.get()?;
    // SAFETY: this thread's own row; tokens of this thread do not outlive this function.
    let mut inside = unsafe { Inside::enter(&agent().conductor, row) }?;
    if HAS_UNSAID.load(Ordering::Relaxed) {
        say_classes(&mut inside);
    }
    unseen::look_after(&mut inside, env);
    let result = code(&mut inside);
    drop(inside);
    show(env);
    Some(result)
}

/// Runs what the agent itself asks the machine for: collections that are used on the way are not the program's.
pub fn aside<R>(code: impl FnOnce() -> R) -> R {
    // SAFETY: this thread's own row, which stays until it ends.
    let own = ROW.get().map(|row| unsafe { &row.as_ref().row.called });
    let stack = own.map_or(0, |own| own.replace(0));
    let result = code();
    if let Some(own) = own {
        own.set(stack);
    }
    result
}

/// Leaves control: what comes next may block for real. Whether the thread was under control.
pub fn leave(env: Env) -> bool {
    let Some(row) = ROW.get() else { return false };
    // SAFETY: this thread's own row; tokens of this thread do not outlive this function.
    let Some(mut inside) = (unsafe { Inside::enter(&agent().conductor, row) }) else { return false };
    unseen::look_after(&mut inside, env);
    inside.into_token().leave();
    true
}

/// Back under control, after [`leave`].
pub fn come_back(env: Env) {
    let Some(row) = ROW.get() else { return };
    // SAFETY: this thread's own row, which left by `leave`.
    drop(Inside::with(unsafe { Token::arrive(&agent().conductor, row) }));
    show(env);
}

/// Tells the hook class that this thread holds the token, unless it knows.
pub fn show(env: Env) {
    let Some(row) = ROW.get() else { return };
    let (agent, known) = (agent(), agent().known());
    // SAFETY: this thread's own row, which stays until it ends.
    let row = unsafe { row.as_ref() };
    let quiet = row.row.quiet.get() != 0;
    let budget = &raw const row.own.budget as u64;
    let hot = &agent.hot;
    if hot.budget.load(Ordering::Relaxed) == budget && hot.quiet.load(Ordering::Relaxed) == quiet {
        return;
    }
    let (shown, wanted) = row.own.stack_words();
    // Whoever the token was taken from must not take these words for its own.
    // SAFETY: a field of the hook class.
    unsafe { env.set_static_object_field(known.hooks, known.holder, std::ptr::null_mut()) };
    hot.budget.store(budget, Ordering::Relaxed);
    hot.shown.store(shown as u64, Ordering::Relaxed);
    hot.wanted.store(wanted as u64, Ordering::Relaxed);
    hot.called.store(&raw const row.row.called as u64, Ordering::Relaxed);
    hot.quiet.store(quiet, Ordering::Relaxed);
    let thread = row.row.thread.get() as Object;
    let (holder, silent) = if quiet { (std::ptr::null_mut(), thread) } else { (thread, std::ptr::null_mut()) };
    // SAFETY: fields of the hook class, and a reference to a thread or null.
    unsafe {
        env.set_static_object_field(known.hooks, known.holder, holder);
        env.set_static_object_field(known.hooks, known.quiet, silent);
    }
}

/// The main thread comes under control.
pub fn start_main(env: Env, thread: Object) {
    let agent = agent();
    let mut token = agent.conductor.start();
    let words = token.recorder().0.words();
    agent.hot.cursor.store(words.cursor as u64, Ordering::Relaxed);
    agent.hot.limit.store(words.limit as u64, Ordering::Relaxed);
    agent.hot.visible.store(words.visible as u64, Ordering::Relaxed);
    begin(env, thread, token);
    // Until the first class of the program is there, the JDK is at work for itself.
    if let Some(row) = ROW.get() {
        // SAFETY: this thread's own row.
        if let Some(mut inside) = unsafe { Inside::enter(&agent.conductor, row) } {
            be_quiet(&mut inside, true);
        }
    }
}

/// From here on nothing of the thread is recorded and nobody preempts it, or no longer; such parts nest.
pub fn be_quiet(inside: &mut Inside<'_, Jvm>, begins: bool) {
    let quiet = &inside.me().row.quiet;
    if begins {
        quiet.set(quiet.get() + 1);
        inside.forbid_preemption();
    } else {
        quiet.set(quiet.get().saturating_sub(1));
        inside.allow_preemption();
    }
}

static PROGRAM_BEGUN: AtomicBool = AtomicBool::new(false);

/// A class of the program is ready to be used.
pub fn program_begins(env: Env) {
    if is_managed() && !PROGRAM_BEGUN.swap(true, Ordering::Relaxed) {
        enter(env, |inside| be_quiet(inside, false));
    }
}

fn begin(env: Env, thread: Object, token: Token<'_, Jvm>) {
    ROW.set(Some(token.pointer()));
    let mut inside = Inside::with(token);
    // SAFETY: a valid reference.
    inside.me().row.thread.set(unsafe { env.new_global_ref(thread) } as u64);
    inside.step(0, Op::Begin);
    let id = ThreadId(inside.id());
    status::begins(env);
    replaced::name_permit(&mut inside);
    if let Some((name, _)) = about(agent().jvmti, thread) {
        inside.event(0, Op::ThreadName { thread: id, name: &name });
    }
    // SAFETY: a valid reference.
    unsafe { agent().jvmti.set_tag(thread, i64::from(id.0) + 1) };
}

/// Its name, and whether it is a daemon.
fn about(jvmti: Jvmti, thread: Object) -> Option<(Vec<u8>, bool)> {
    // SAFETY: a structure that the machine fills; its name is given back.
    unsafe {
        let mut info: ThreadInfo = std::mem::zeroed();
        if jvmti.get_thread_info(thread, &raw mut info) != 0 || info.name.is_null() {
            return None;
        }
        let name = CStr::from_ptr(info.name).to_bytes().to_vec();
        jvmti.deallocate(info.name.cast());
        Some((name, info.is_daemon != 0))
    }
}

fn is_daemon(jvmti: Jvmti, thread: Object) -> bool {
    about(jvmti, thread).is_some_and(|(_, daemon)| daemon)
}

/// The number of the thread under control that this object is.
pub fn number(thread: Object) -> Option<u32> {
    u32::try_from(agent().jvmti.tag(thread) - 1).ok()
}

/// Whether the JDK starts the thread for itself (a cleaner, say), whenever it first needs it.
fn is_helper(env: Env, thread: Object) -> bool {
    // SAFETY: a valid reference.
    let class = unsafe { env.get_object_class(thread) };
    agent().jvmti.signature(class).is_some_and(|own| own == b"Ljdk/internal/misc/InnocuousThread;")
}

/// `Thread.start0`.
pub unsafe extern "system" fn start(env: Env, thread: Object) {
    let real = replaced::real().start_thread;
    if is_helper(env, thread) {
        // Since JDK 21 a question for the tag gives a hash, which must not come when the helper has begun, whenever
        // that is.
        let _ = agent().jvmti.tag(thread);
        // SAFETY: the machine's own function.
        return unsafe { real(env, thread) };
    }
    let managed = enter(env, |inside| {
        inside.sync_point();
        let child = inside.register_child();
        let (id, nth) = (child.id(), child.nth());
        let ancestry = Ancestry::of_child(inside, nth);
        forked().insert(id, (child, ancestry.descent()));
        status::forked(id);
        // SAFETY: a valid reference, and the machine's own function.
        unsafe {
            agent().jvmti.set_tag(thread, i64::from(id) + 1);
            real(env, thread);
            if env.exception_check() != 0 {
                agent().jvmti.set_tag(thread, 0);
                let unborn = forked().remove(&id);
                if let Some((unborn, _)) = unborn {
                    inside.unregister_child(unborn);
                }
                return;
            }
        }
        stacks::at_call(inside, |token, pc| token.step(pc, Op::Fork { child: ThreadId(id), nth }));
        if !is_daemon(agent().jvmti, thread) {
            awaited_at_the_end().insert(ancestry, id);
        }
        inside.make_ready(id);
    });
    if managed.is_none() {
        // SAFETY: the machine's own function.
        unsafe { real(env, thread) };
    }
}

pub unsafe extern "system" fn thread_start(_: Jvmti, env: Env, thread: Object) {
    if let Some(row) = ROW.get() {
        // The machine's last thread has no object before, and another environment than the main thread, which is gone.
        status::begins(env);
        // SAFETY: this thread's own row, and a valid reference.
        unsafe { row.as_ref().row.thread.set(env.new_global_ref(thread) as u64) };
        agent().hot.budget.store(0, Ordering::Relaxed);
        return show(env);
    }
    let nobody = forked().is_empty();
    let child = if nobody { None } else { number(thread).and_then(|id| forked().remove(&id)) };
    if let Some((child, descent)) = child {
        let token = child.begin(&agent().conductor);
        token.me().row.descent.set(descent);
        begin(env, thread, token);
        show(env);
    }
}

pub unsafe extern "system" fn thread_end(_: Jvmti, env: Env, _: Object) {
    let Some(row) = ROW.get() else { return };
    if ENDS_PROGRAM.get() {
        return;
    }
    // SAFETY: this thread's own row; it ends here.
    let Some(mut inside) = (unsafe { Inside::enter(&agent().conductor, row) }) else { return };
    unseen::look_after(&mut inside, env);
    inside.point();
    let last = (inside.id() == MAIN).then(|| fork_last(&mut inside));
    let thread = inside.me().row.thread.get() as Object;
    joins::ends(&mut inside, agent().known().known_address(env, thread));
    inside.step(0, Op::End);
    ROW.set(None);
    inside.into_token().retire();
    // SAFETY: the reference was this row's.
    unsafe { env.delete_global_ref(thread) };
    if let Some(last) = last {
        await_others(last);
    }
}

/// The number of the main thread.
const MAIN: u32 = 0;

thread_local! {
    /// This thread ends the program; it goes on when the machine has said that it has ended.
    static ENDS_PROGRAM: Cell<bool> = const { Cell::new(false) };
}

/// Where a thread comes from, which is the same in every run: those of the main thread first, in their order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Ancestry {
    /// Of the thread that made it.
    parent: u64,
    nth: u32,
}

impl Ancestry {
    fn of_child(parent: &Token<'_, Jvm>, nth: u32) -> Self {
        Self { parent: parent.me().row.descent.get(), nth }
    }

    /// Never 0, which is the main thread's.
    const fn descent(self) -> u64 {
        let mixed = (self.parent ^ (self.nth as u64 + 1)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ mixed >> 29) | 1 << 63
    }
}

/// Threads other than daemons that were started: when the main thread has ended, the machine waits for them. Those that
/// have ended by then are here, too: which they are depends on the schedule, and what the thread does that waits for
/// them must not, as it has read nothing that would tell it.
static AWAITED_AT_THE_END: Mutex<BTreeMap<Ancestry, u32>> = Mutex::new(BTreeMap::new());

fn awaited_at_the_end() -> MutexGuard<'static, BTreeMap<Ancestry, u32>> {
    AWAITED_AT_THE_END.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The next thread to wait for at the end, if there is any. `late`: those that other threads wait for, which come last,
/// as a trace has one join of each thread.
fn next_awaited(late: &mut Vec<u32>) -> Option<u32> {
    while let Some((_, own)) = awaited_at_the_end().pop_first() {
        if joins::is_unasked(own) {
            return Some(own);
        }
        late.push(own);
    }
    late.retain(|own| agent().conductor.is_alive(*own));
    late.first().copied()
}

/// When the main thread ends, the machine goes on with the same thread of the system under another name: that one waits
/// for all others, and ends the program.
fn fork_last(inside: &mut Inside<'_, Jvm>) -> NewThread<Jvm> {
    let last = inside.register_child();
    let (id, nth) = (last.id(), last.nth());
    inside.step(0, Op::Fork { child: ThreadId(id), nth });
    inside.make_ready(id);
    last
}

fn await_others(last: NewThread<Jvm>) {
    ENDS_PROGRAM.set(true);
    let token = last.begin(&agent().conductor);
    ROW.set(Some(token.pointer()));
    let mut inside = Inside::with(token);
    inside.step(0, Op::Begin);
    let id = ThreadId(inside.id());
    inside.event(0, Op::ThreadName { thread: id, name: b"DestroyJavaVM" });
    let mut late = Vec::new();
    while let Some(next) = next_awaited(&mut late) {
        joins::is_first(next);
        inside.join(0, next, Deadline::Never);
    }
}

/// The program has ended, as far as the trace is concerned.
static EXITED: AtomicBool = AtomicBool::new(false);

/// The program ends with this status: others may come first.
pub fn exits(env: Env, status: i32) {
    if EXITED.load(Ordering::Relaxed) {
        return;
    }
    ENDS_PROGRAM.set(true);
    if !is_managed() {
        let child = agent().conductor.adopt();
        ROW.set(Some(child.pointer()));
        let mut thread = std::ptr::null_mut();
        // SAFETY: asks for the calling thread; the row is this thread's own.
        unsafe {
            agent().jvmti.get_current_thread(&raw mut thread);
            begin(env, thread, Token::arrive(&agent().conductor, child.pointer()));
        }
        show(env);
    }
    enter(env, |inside| {
        inside.me().scheduling.exiting.set(true);
        inside.pause(Pause::Yield);
        EXITED.store(true, Ordering::Relaxed);
        stacks::at_call(inside, |token, pc| token.step(pc, Op::Exit { status }));
    });
}

/// The machine ends by itself. If an exception ended a thread, the program has failed, whatever the machine would
/// return: its status only tells of the main thread.
pub unsafe extern "system" fn vm_death(_: Jvmti, env: Env) {
    let failed = failures::has_failed();
    exits(env, i32::from(failed));
    if failed {
        // SAFETY: everything of the program has ended, and its output is written without a buffer.
        unsafe { libc::_exit(1) };
    }
}

/// Classes whose code is there and not yet in the trace: a thread that is in an operation, or not under control, cannot
/// record.
static UNSAID: Mutex<Vec<usize>> = Mutex::new(Vec::new());
static HAS_UNSAID: AtomicBool = AtomicBool::new(false);

/// The code of a class is there.
pub fn class_loaded(env: Env, number: usize) {
    UNSAID.lock().unwrap_or_else(PoisonError::into_inner).push(number);
    HAS_UNSAID.store(true, Ordering::Relaxed);
    enter(env, |_| ());
}

fn say_classes(inside: &mut Inside<'_, Jvm>) {
    HAS_UNSAID.store(false, Ordering::Relaxed);
    let unsaid = std::mem::take(&mut *UNSAID.lock().unwrap_or_else(PoisonError::into_inner));
    for number in unsaid {
        let (code, size, name) = {
            let classes = agent().classes();
            let loaded = classes.get(number);
            (loaded.code, loaded.size(), loaded.facts.name.replace('/', "."))
        };
        inside.module(code, size, code, name.as_bytes());
    }
}
