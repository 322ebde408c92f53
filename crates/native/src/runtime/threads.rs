//! Thread life: create, begin, end, join, detach, exit, cancel, and threads that nobody announced.

use super::signals::set_mask;
use super::world::Native;
use super::{Inside, Token, active, alone, conductor, enter, stacks, tls};
use libc::{c_int, c_void, pthread_attr_t, pthread_t, timespec};
use reweave_conductor::objects::AddressMap;
use reweave_conductor::{Deadline, NewThread, Pause, Wakeup};
use reweave_guest::Guarded;
use reweave_model::{Addr, Misuse, ObjectId, Op, ThreadId};
use std::sync::atomic::{AtomicU32, Ordering};

type Start = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;
type Create = unsafe extern "C-unwind" fn(*mut pthread_t, *const pthread_attr_t, Start, *mut c_void) -> c_int;

/// What a new thread needs to know.
struct StartArguments {
    thread: NewThread<Native>,
    start: Start,
    argument: *mut c_void,
    /// Signals are blocked until the thread knows who it is.
    mask: u64,
}

/// Whom a handle names: until it is joined, or has ended detached. The system gives the same handle to later threads.
#[derive(Clone, Copy)]
struct Named {
    thread: u32,
    detached: bool,
    joined: JoinState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum JoinState {
    Not,
    /// Somebody waits for its end.
    Soon,
    /// The handle names nobody any more, but somebody may use it all the same. The system gives it to later threads.
    Already,
}

/// Threads by their pthread handle. Touched by the holder of the token only.
// SAFETY: for the holder of the token of the one conductor.
static HANDLES: Guarded<Option<AddressMap<Named>>> = unsafe { Guarded::new(None) };

/// The thread behind a handle, if it was created under control.
pub fn by_handle(token: &mut Token<'_>, handle: pthread_t) -> Option<u32> {
    HANDLES.made(token).get(&handle).filter(|named| named.joined != JoinState::Already).map(|named| named.thread)
}

/// Nobody will join this thread.
fn detached(token: &mut Token<'_>, handle: pthread_t) {
    if let Some(named) = HANDLES.made(token).get_mut(&handle) {
        named.detached = true;
        let thread = named.thread;
        if !token.is_alive(thread) {
            HANDLES.made(token).remove(&handle);
        }
    }
}

/// After a fork: of all threads only the caller is there, and it gets another number.
///
/// # Safety
/// The caller is alone.
pub unsafe fn forget() {
    // SAFETY: by the contract.
    *unsafe { HANDLES.get_alone() } = None;
}

/// Key whose destructor is the end of a thread, after all other keys' destructors.
static END_KEY: AtomicU32 = AtomicU32::new(u32::MAX);

/// First event of a thread that holds the token.
pub fn begin(token: &mut Token<'_>, pc: u64) {
    stacks::attach(token);
    token.me().scheduling.os.set(reweave_conductor::sys::thread_id());
    let mut key = END_KEY.load(Ordering::Relaxed);
    if key == u32::MAX {
        // SAFETY: a key with our destructor.
        unsafe { libc::pthread_key_create(&mut key, Some(ending)) };
        END_KEY.store(key, Ordering::Relaxed);
    }
    // SAFETY: our key; the value counts destructor rounds.
    let own = unsafe {
        libc::pthread_setspecific(key, std::ptr::without_provenance(1));
        libc::pthread_self()
    };
    let attributes = own_attributes();
    // One that was created under control is known already, and perhaps detached.
    let id = token.id();
    if by_handle(token, own) != Some(id) {
        let detached = attributes.as_ref().is_some_and(|own| own.detached);
        HANDLES.made(token).insert(own, Named { thread: id, detached, joined: JoinState::Not });
    }
    token.step(pc, Op::Begin);
    // Stacks are used again: what another thread had there is another location.
    if let Some((addr, size)) = attributes.and_then(|own| own.stack) {
        token.step(pc, Op::Alloc { addr: Addr(addr), size });
    }
}

/// What the system says about the calling thread.
struct OwnAttributes {
    /// The top of its stack, where threads that had it before may have left their traces.
    stack: Option<(u64, u64)>,
    detached: bool,
}

/// `None` for the main thread.
fn own_attributes() -> Option<OwnAttributes> {
    const MOST: usize = 256 << 10;
    // SAFETY: asks for attributes of this thread and gives them back.
    unsafe {
        if libc::getpid() == libc::gettid() {
            return None;
        }
        let mut attributes = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) != 0 {
            return None;
        }
        let (mut base, mut size) = (std::ptr::null_mut(), 0);
        let known = libc::pthread_attr_getstack(&raw const attributes, &raw mut base, &raw mut size) == 0;
        let detached = is_detached(&raw const attributes);
        libc::pthread_attr_destroy(&raw mut attributes);
        let used = size.min(MOST);
        Some(OwnAttributes { stack: known.then(|| (base as u64 + (size - used) as u64, used as u64)), detached })
    }
}

/// PTHREAD_CANCEL_DISABLE, which the libc crate lacks.
const CANCEL_DISABLE: c_int = 1;

/// Rounds of destructors that libc makes at most.
const ROUNDS: usize = 4;

extern "C" fn ending(round: *mut c_void) {
    let round = round as usize;
    if round < ROUNDS && active() {
        // Other keys' destructors may still run program code: come again in the next round.
        // SAFETY: our key.
        unsafe { libc::pthread_setspecific(END_KEY.load(Ordering::Relaxed), std::ptr::without_provenance(round + 1)) };
        return;
    }
    end();
}

fn end() {
    let Some(inside) = enter() else { return };
    // What a handler does from here on nobody would see; the last thread goes on to the end of the process.
    if inside.conductor().threads_there() > 1 {
        super::signals::keep_away();
    }
    // Those that have come are handled.
    drop(inside);
    let Some(mut inside) = enter() else { return };
    inside.point();
    inside.step(0, Op::End);
    let id = inside.id();
    // SAFETY: asks who we are.
    let own = unsafe { libc::pthread_self() };
    let handles = HANDLES.made(&mut inside);
    if handles.get(&own).is_some_and(|named| named.thread == id && named.detached) {
        handles.remove(&own);
    }
    inside.objects().channels.remove(&super::signals::channel(id));
    stacks::detach(&mut inside);
    tls::set_ended();
    tls::set_thread(std::ptr::null_mut());
    inside.into_token().retire();
}

/// Takes a thread under control that was not created through us (SIGEV_THREAD, clone, a static library).
#[cold]
pub fn adopt() -> Option<Token<'static>> {
    let conductor = conductor().filter(|_| !tls::ended())?;
    let row = conductor.adopt();
    row.enter();
    tls::set_thread(row.pointer().as_ptr());
    // SAFETY: this thread's own row, just made.
    let mut token = unsafe { Token::arrive(conductor, row.pointer()) };
    begin(&mut token, 0);
    token.me().own.inside.set(0);
    Some(token)
}

unsafe extern "C-unwind" fn first(beginning: *mut c_void) -> *mut c_void {
    // SAFETY: made by pthread_create below.
    let StartArguments { thread, start, argument, mask } =
        *unsafe { Box::from_raw(beginning.cast::<StartArguments>()) };
    let row = thread.pointer();
    thread.enter();
    tls::set_thread(row.as_ptr());
    // Before others can find it by its number, and see which signals it takes.
    set_mask(mask);
    if let Some(conductor) = conductor() {
        if super::modules::in_openmp(start as usize as u64) {
            // A pool thread waits inside its library, which nobody here sees; its first parallel region is its
            // beginning.
            thread.begin_outside(conductor);
            // SAFETY: this thread's own row, of which a word is touched.
            unsafe { row.as_ref() }.own.inside.set(0);
        } else {
            let mut token = thread.begin(conductor);
            // A pc is a return address everywhere else: one past the instruction.
            begin(&mut token, start as usize as u64 + 1);
            token.meet_interrupt();
            token.deliver();
            token.run_free();
            // SAFETY: this thread's own row, of which a word is touched.
            unsafe { row.as_ref() }.own.inside.set(0);
        }
    }
    // SAFETY: the program's own function.
    unsafe { start(argument) }
}

/// Creates a thread; shared by pthreads and C11 threads.
pub unsafe fn create(
    inside: &mut Inside,
    pc: u64,
    handle: *mut pthread_t,
    attributes: *const pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    inside.sync_point();
    let child = inside.register_child();
    let (id, nth) = (child.id(), child.nth());
    let mask = set_mask(u64::MAX);
    let beginning = Box::into_raw(Box::new(StartArguments { thread: child, start, argument, mask }));
    // Recorded before the fork, and so before everything that the child does.
    let status = alone::no_longer_alone(inside, pc, || {
        // SAFETY: the program's own arguments, with our first function.
        unsafe { real!(pthread_create: Create)(handle, attributes, first, beginning.cast()) }
    });
    set_mask(mask);
    if status != 0 {
        // SAFETY: nobody took it.
        let beginning = unsafe { Box::from_raw(beginning) };
        inside.unregister_child(beginning.thread);
        return status;
    }
    let detached = !attributes.is_null() && is_detached(attributes);
    // SAFETY: filled by pthread_create.
    let new = unsafe { *handle };
    HANDLES.made(inside).insert(new, Named { thread: id, detached, joined: JoinState::Not });
    // libc stores the handle before the thread starts: whoever the thread gives its name to may read it. Nobody may
    // come between that and the fork, the new thread least of all.
    inside.forbid_preemption();
    super::ranges::wrote(inside, handle.cast(), size_of::<pthread_t>(), pc);
    inside.step(pc, Op::Fork { child: ThreadId(id), nth });
    // A pool thread of OpenMP stays outside, see `first`.
    if !super::modules::in_openmp(start as usize as u64) {
        inside.make_ready(id);
    }
    inside.allow_preemption();
    if detached {
        inside.step(pc, Op::Detach { child: ThreadId(id) });
    }
    if inside.conductor().is_free() {
        // Both go on at once: otherwise much of what the maker does next would be over before the new thread runs.
        inside.pause(Pause::Yield);
    }
    0
}

/// Whether nobody is to join a thread with these attributes.
fn is_detached(attributes: *const pthread_attr_t) -> bool {
    unsafe extern "C" {
        fn pthread_attr_getdetachstate(attributes: *const pthread_attr_t, state: *mut c_int) -> c_int;
    }
    let mut state = libc::PTHREAD_CREATE_JOINABLE;
    // SAFETY: valid attributes; the program's own were just read by the real call.
    let status = unsafe { pthread_attr_getdetachstate(attributes, &raw mut state) };
    status == 0 && state == libc::PTHREAD_CREATE_DETACHED
}

/// Waits for a thread as the model sees it; the real join that follows is then short. Whoever comes while another one
/// waits is refused, as by libc, and so is whoever comes after it: the real call would touch memory that is gone. The
/// error, if there is one.
pub unsafe fn join(inside: &mut Inside, pc: u64, handle: pthread_t, deadline: Deadline, late: c_int) -> c_int {
    let Some(named) = HANDLES.made(inside).get(&handle).copied() else { return 0 };
    let child = named.thread;
    if named.joined != JoinState::Not {
        inside.sync_point();
        inside.step(pc, Op::Misused { what: Misuse::JoinTwice, object: ObjectId(child.into()) });
        return if named.joined == JoinState::Soon { libc::EINVAL } else { libc::ESRCH };
    }
    let now = |inside: &mut Inside, joined| {
        if let Some(named) = HANDLES.made(inside).get_mut(&handle) {
            named.joined = joined;
        }
    };
    now(inside, JoinState::Soon);
    loop {
        match inside.join(pc, child, deadline) {
            Wakeup::Granted => {
                now(inside, JoinState::Already);
                return 0;
            }
            Wakeup::Interrupted => super::signals::deliver(inside),
            Wakeup::Cancelled => {
                now(inside, JoinState::Not);
                inside.call_back(cancel_point);
                now(inside, JoinState::Soon);
            }
            Wakeup::TimedOut => {
                now(inside, JoinState::Not);
                return late;
            }
        }
    }
}

/// Whether the scheduler is to end waits of this thread.
fn note_cancellation(thread: &super::Thread) {
    thread.wait.cancelled.set(thread.row.cancelled.get() && !thread.row.cancel_off.get());
}

/// Acts on a cancellation that has been asked for.
pub fn cancel_point() {
    // SAFETY: may unwind this thread, as the program asked.
    unsafe { real!(pthread_testcancel: unsafe extern "C-unwind" fn())() }
}

type Join = unsafe extern "C-unwind" fn(pthread_t, *mut *mut c_void) -> c_int;

/// The handle in a `std::thread` is gone.
fn forgotten(handle: *mut pthread_t, pc: u64) {
    if let Some(mut inside) = enter() {
        super::ranges::wrote(&mut inside, handle.cast(), size_of::<pthread_t>(), pc);
    }
}

interpose! {
    fn pthread_create(handle: *mut pthread_t, attributes: *const pthread_attr_t, start: Start, argument: *mut c_void; pc) -> c_int {
        match enter() {
            Some(mut inside) => create(&mut inside, pc, handle, attributes, start, argument),
            None => real!(pthread_create: Create)(handle, attributes, start, argument),
        }
    }

    fn pthread_join(handle: pthread_t, value: *mut *mut c_void; pc) -> c_int {
        let Some(mut inside) = enter() else { return real!(pthread_join: Join)(handle, value) };
        if handle == libc::pthread_self() {
            return libc::EDEADLK;
        }
        let refused = join(&mut inside, pc, handle, Deadline::Never, 0);
        if refused != 0 {
            return refused;
        }
        let status = real!(pthread_join: Join)(handle, value);
        if status == 0 {
            super::super::ranges::wrote(&mut inside, value.cast(), size_of::<*mut c_void>(), pc);
        }
        status
    }

    fn pthread_tryjoin_np(handle: pthread_t, value: *mut *mut c_void; pc) -> c_int {
        let Some(mut inside) = enter() else { return real!(pthread_tryjoin_np: Join)(handle, value) };
        let refused = join(&mut inside, pc, handle, Deadline::Now, libc::EBUSY);
        if refused != 0 {
            return refused;
        }
        real!(pthread_join: Join)(handle, value)
    }

    fn pthread_timedjoin_np(handle: pthread_t, value: *mut *mut c_void, until: *const timespec; pc) -> c_int {
        type Timed = unsafe extern "C-unwind" fn(pthread_t, *mut *mut c_void, *const timespec) -> c_int;
        let Some(mut inside) = enter() else { return real!(pthread_timedjoin_np: Timed)(handle, value, until) };
        let deadline = super::super::time::deadline(libc::CLOCK_REALTIME, until);
        let refused = join(&mut inside, pc, handle, deadline, libc::ETIMEDOUT);
        if refused != 0 {
            return refused;
        }
        real!(pthread_join: Join)(handle, value)
    }

    fn pthread_detach(handle: pthread_t; pc) -> c_int {
        let detach = real!(pthread_detach: unsafe extern "C-unwind" fn(pthread_t) -> c_int);
        let Some(mut inside) = enter() else { return detach(handle) };
        if let Some(child) = by_handle(&mut inside, handle) {
            inside.sync_point();
            inside.step(pc, Op::Detach { child: ThreadId(child) });
            detached(&mut inside, handle);
        }
        detach(handle)
    }

    fn pthread_cancel(handle: pthread_t; pc) -> c_int {
        let cancel = real!(pthread_cancel: unsafe extern "C-unwind" fn(pthread_t) -> c_int);
        let Some(mut inside) = enter() else { return cancel(handle) };
        let Some(target) = by_handle(&mut inside, handle) else { return cancel(handle) };
        let channel = super::super::signals::channel(target);
        inside.send(pc, channel, 1);
        let status = cancel(handle);
        match inside.thread(target) {
            Some(target) => {
                target.row.cancelled.set(target.row.cancelled.get() || status == 0);
                note_cancellation(target);
            }
            // It has ended, and will not look.
            None => drop(inside.objects().channels.remove(&channel)),
        }
        status
    }

    fn pthread_setcancelstate(state: c_int, old: *mut c_int; pc) -> c_int {
        let set = real!(pthread_setcancelstate: unsafe extern "C-unwind" fn(c_int, *mut c_int) -> c_int);
        if let Some(inside) = enter() {
            inside.me().row.cancel_off.set(state == CANCEL_DISABLE);
            note_cancellation(inside.me());
        }
        set(state, old)
    }

    fn pthread_testcancel(; pc) {
        let test = real!(pthread_testcancel: unsafe extern "C-unwind" fn());
        match enter() {
            Some(mut inside) => {
                inside.sync_point();
                if inside.me().row.cancelled.get() {
                    let own = super::super::signals::channel(inside.id());
                    inside.receive(pc, own, None);
                }
                inside.call_back(|| test());
            }
            None => test(),
        }
    }

    fn pthread_setname_np(handle: pthread_t, name: *const libc::c_char; pc) -> c_int {
        type SetName = unsafe extern "C-unwind" fn(pthread_t, *const libc::c_char) -> c_int;
        if let Some(mut inside) = enter() && let Some(thread) = by_handle(&mut inside, handle) {
            let name = std::ffi::CStr::from_ptr(name).to_bytes();
            inside.event(pc, Op::ThreadName { thread: ThreadId(thread), name });
        }
        real!(pthread_setname_np: SetName)(handle, name)
    }

    /// `std::thread`'s constructor takes its state out of the caller's unique_ptr, inside the C++ library.
    fn _ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(
        this: *mut c_void, state: *mut *mut c_void, unused: *const c_void; pc
    ) {
        type Begin = unsafe extern "C-unwind" fn(*mut c_void, *mut *mut c_void, *const c_void);
        real!(_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE: Begin)(this, state, unused);
        if let Some(mut inside) = enter() {
            super::super::ranges::wrote(&mut inside, state.cast(), size_of::<*mut c_void>(), pc);
        }
    }

    /// Joins where the program asks for it: the library's own place says nothing to anybody. What is refused, the
    /// library throws for.
    fn _ZNSt6thread4joinEv(this: *mut pthread_t; pc) {
        if *this != 0 && pthread_join::body(*this, std::ptr::null_mut(), pc) == 0 {
            *this = 0;
        } else {
            real!(_ZNSt6thread4joinEv: unsafe extern "C-unwind" fn(*mut pthread_t))(this);
        }
        forgotten(this, pc);
    }

    fn _ZNSt6thread6detachEv(this: *mut pthread_t; pc) {
        if *this != 0 && pthread_detach::body(*this, pc) == 0 {
            *this = 0;
        } else {
            real!(_ZNSt6thread6detachEv: unsafe extern "C-unwind" fn(*mut pthread_t))(this);
        }
        forgotten(this, pc);
    }

    fn sched_yield(; pc) -> c_int {
        let Some(mut inside) = enter() else { return real!(sched_yield: unsafe extern "C-unwind" fn() -> c_int)() };
        super::super::time::give_way(&mut inside);
        0
    }

    fn pthread_yield(; pc) -> c_int {
        sched_yield::body(pc)
    }
}
