//! POSIX threads: creating and joining, mutexes, condition variables, barriers, semaphores.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::Mutex;

use super::{
    acquire, become_strand, fresh, known, listening, log, next, object, ordering, quietly, release, sections, several,
};
use crate::event::Event;
use crate::ids::Object;

type Start = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

/// What a new thread is given.
struct Begin {
    start: Start,
    argument: *mut c_void,
    strand: u32,
    begun: Object,
    ended: Object,
}

/// By thread: what whoever joins it waits for.
static ENDS: Mutex<Option<HashMap<usize, Object>>> = Mutex::new(None);

thread_local! {
    static ENDED: std::cell::Cell<Option<Object>> = const { std::cell::Cell::new(None) };
}

fn ends<T>(body: impl FnOnce(&mut HashMap<usize, Object>) -> T) -> T {
    let mut ends = ENDS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    body(ends.get_or_insert_default())
}

unsafe extern "C" fn begin(given: *mut c_void) -> *mut c_void {
    // SAFETY: made by `pthread_create` below, for this thread alone.
    let given = unsafe { Box::from_raw(given.cast::<Begin>()) };
    become_strand(Some(given.strand));
    ENDED.set(Some(given.ended));
    acquire(given.begun);
    // SAFETY: what the program asked for.
    let result = unsafe { (given.start)(given.argument) };
    over();
    result
}

/// The thread is at its end.
fn over() {
    if let Some(ended) = ENDED.take() {
        release(ended);
    }
}

/// # Safety
/// As the library has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_create(
    thread: *mut usize,
    attributes: *const c_void,
    start: Start,
    argument: *mut c_void,
) -> i32 {
    type Create = unsafe extern "C" fn(*mut usize, *const c_void, Start, *mut c_void) -> i32;
    let real = next!(c"pthread_create", Create);
    // SAFETY: the program's own call.
    unsafe { create(thread, start, argument, |start, argument| real(thread, attributes, start, argument)) }
}

/// # Safety
/// As the library has it. Its function returns an integer, in the same register.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thrd_create(thread: *mut usize, start: Start, argument: *mut c_void) -> i32 {
    let real = next!(c"thrd_create", unsafe extern "C" fn(*mut usize, Start, *mut c_void) -> i32);
    // SAFETY: the program's own call.
    unsafe { create(thread, start, argument, |start, argument| real(thread, start, argument)) }
}

/// # Safety
/// `go` starts a thread and writes its name to `thread`.
unsafe fn create(
    thread: *mut usize,
    start: Start,
    argument: *mut c_void,
    go: impl FnOnce(Start, *mut c_void) -> i32,
) -> i32 {
    if !listening() {
        return go(start, argument);
    }
    let (begun, ended) = (object(), object());
    let given = Box::into_raw(Box::new(Begin { start, argument, strand: fresh(), begun, ended }));
    release(begun);
    // SAFETY: the program's own call, with a start of ours that calls its own.
    unsafe {
        let result = go(begin, given.cast());
        if result == 0 {
            quietly(|| ends(|ends| ends.insert(*thread, ended)));
        } else {
            drop(Box::from_raw(given));
        }
        result
    }
}

/// # Safety
/// As the library has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_exit(value: *mut c_void) -> ! {
    if known() {
        over();
    }
    let real = next!(c"pthread_exit", unsafe extern "C" fn(*mut c_void) -> !);
    // SAFETY: the program's own call.
    unsafe { real(value) }
}

fn mutex(address: *mut c_void) -> Object {
    Object(address as u64)
}

fn lock(address: *mut c_void) {
    if several() {
        log(Event::MutexLock { mutex: mutex(address) });
        sections::begin(address as u64);
    }
}

fn unlock(address: *mut c_void) {
    if several() {
        sections::end(address as u64);
        log(Event::MutexUnlock { mutex: mutex(address) });
    }
}

fn joined(thread: usize) {
    if let Some(ended) = ends(|ends| ends.remove(&thread)) {
        acquire(ended);
    }
}

ordering! {
    pthread_join(thread: usize, result: *mut *mut c_void) -> i32 {
        before: (), after |status|: if status == 0 { joined(thread) }
    }
    pthread_mutex_lock(address: *mut c_void) -> i32 { before: (), after |status|: if status == 0 { lock(address) } }
    pthread_mutex_trylock(address: *mut c_void) -> i32 { before: (), after |status|: if status == 0 { lock(address) } }
    pthread_mutex_unlock(address: *mut c_void) -> i32 { before: unlock(address), after |_status|: () }
    pthread_spin_lock(address: *mut c_void) -> i32 { before: (), after |status|: if status == 0 { lock(address) } }
    pthread_spin_unlock(address: *mut c_void) -> i32 { before: unlock(address), after |_status|: () }
    pthread_mutex_timedlock(address: *mut c_void, until: *const c_void) -> i32 {
        before: (), after |status|: if status == 0 { lock(address) }
    }
    pthread_spin_trylock(address: *mut c_void) -> i32 { before: (), after |status|: if status == 0 { lock(address) } }
    pthread_rwlock_rdlock(address: *mut c_void) -> i32 { before: (), after |status|: if status == 0 { lock(address) } }
    pthread_rwlock_wrlock(address: *mut c_void) -> i32 { before: (), after |status|: if status == 0 { lock(address) } }
    pthread_rwlock_tryrdlock(address: *mut c_void) -> i32 { before: (), after |status|: if status == 0 { lock(address) } }
    pthread_rwlock_trywrlock(address: *mut c_void) -> i32 { before: (), after |status|: if status == 0 { lock(address) } }
    pthread_rwlock_unlock(address: *mut c_void) -> i32 { before: unlock(address), after |_status|: () }
    mtx_lock(address: *mut c_void) -> i32 { before: (), after |status|: if status == 0 { lock(address) } }
    mtx_trylock(address: *mut c_void) -> i32 { before: (), after |status|: if status == 0 { lock(address) } }
    mtx_unlock(address: *mut c_void) -> i32 { before: unlock(address), after |_status|: () }
    cnd_wait(condition: *mut c_void, address: *mut c_void) -> i32 {
        before: unlock(address), after |_status|: { lock(address); acquire(mutex(condition)) }
    }
    cnd_signal(condition: *mut c_void) -> i32 { before: release(mutex(condition)), after |_status|: () }
    cnd_broadcast(condition: *mut c_void) -> i32 { before: release(mutex(condition)), after |_status|: () }
    thrd_join(thread: usize, result: *mut i32) -> i32 {
        before: (), after |status|: if status == 0 { joined(thread) }
    }
    sem_trywait(semaphore: *mut c_void) -> i32 {
        before: (), after |status|: if status == 0 { acquire(mutex(semaphore)) }
    }
    sem_timedwait(semaphore: *mut c_void, until: *const c_void) -> i32 {
        before: (), after |status|: if status == 0 { acquire(mutex(semaphore)) }
    }
    pthread_cond_wait(condition: *mut c_void, address: *mut c_void) -> i32 {
        before: unlock(address), after |_status|: { lock(address); acquire(mutex(condition)) }
    }
    pthread_cond_timedwait(condition: *mut c_void, address: *mut c_void, until: *const c_void) -> i32 {
        before: unlock(address), after |_status|: { lock(address); acquire(mutex(condition)) }
    }
    pthread_cond_signal(condition: *mut c_void) -> i32 { before: release(mutex(condition)), after |_status|: () }
    pthread_cond_broadcast(condition: *mut c_void) -> i32 { before: release(mutex(condition)), after |_status|: () }
    pthread_barrier_wait(barrier: *mut c_void) -> i32 {
        before: release(mutex(barrier)), after |_status|: acquire(mutex(barrier))
    }
    sem_post(semaphore: *mut c_void) -> i32 { before: release(mutex(semaphore)), after |_status|: () }
    sem_wait(semaphore: *mut c_void) -> i32 { before: (), after |_status|: acquire(mutex(semaphore)) }
}
