//! OpenMP as gcc compiles it (libgomp): parallel regions, barriers, sections, tasks, critical code.

use std::cell::RefCell;
use std::ffi::c_void;

use super::{
    STRAND, acquire, become_strand, fresh, listening, log, next, object, ordering, release, sections, set_floor,
};
use crate::event::Event;
use crate::ids::Object;

type Body = unsafe extern "C" fn(*mut c_void);

/// A parallel region that is being run.
#[derive(Clone, Copy)]
struct Team {
    barrier: Object,
    /// Released by tasks that are done.
    tasks: Object,
}

/// What every thread of a region is given.
struct Region {
    body: Body,
    data: *mut c_void,
    master: Option<u32>,
    begun: Object,
    ended: Object,
    team: Team,
}

/// Where a thread stands.
#[derive(Default)]
struct Here {
    teams: Vec<Team>,
    /// The strand that it is outside of sections, and the ends of those that it has run.
    outside: Option<u32>,
    sections: Vec<Object>,
    /// Released by the tasks that this one (or the thread itself) has made, if any.
    children: Option<Object>,
    /// Groups of tasks that are open, released by everything that is made in them.
    groups: Vec<Object>,
}

thread_local! {
    static HERE: RefCell<Here> = RefCell::default();
}

fn here<T>(body: impl FnOnce(&mut Here) -> T) -> Option<T> {
    HERE.try_with(|here| here.try_borrow_mut().ok().map(|mut here| body(&mut here))).ok().flatten()
}

fn team() -> Option<Team> {
    here(|here| here.teams.last().copied()).flatten()
}

unsafe extern "C" fn part(region: *mut c_void) {
    // SAFETY: given by `parallel` below, which lives until all have ended.
    let region = unsafe { &*region.cast::<Region>() };
    let before = STRAND.get();
    let is_master = before == region.master && before.is_some();
    if !is_master {
        become_strand(Some(fresh()));
        acquire(region.begun);
    }
    here(|here| here.teams.push(region.team));
    // SAFETY: what the program asked for.
    unsafe { (region.body)(region.data) };
    end_section();
    here(|here| here.teams.pop());
    release(region.ended);
    if !is_master {
        become_strand(before);
    }
}

/// Runs a region by `start`, which is given the body and its argument.
fn parallel(body: Body, data: *mut c_void, start: impl FnOnce(Body, *mut c_void)) {
    if !listening() {
        start(body, data);
        return;
    }
    let team = Team { barrier: object(), tasks: object() };
    let region = Region { body, data, master: STRAND.get(), begun: object(), ended: object(), team };
    release(region.begun);
    start(part, (&raw const region).cast_mut().cast());
    acquire(region.ended);
    acquire(team.tasks);
}

macro_rules! regions {
    ($($name:ident($($arg:ident: $type:ty),*);)*) => {$(
        /// # Safety
        /// As the library has it.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(body: Body, data: *mut c_void, $($arg: $type),*) {
            const NAME: &std::ffi::CStr =
                match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => c"",
                };
            let real = next!(NAME, unsafe extern "C" fn(Body, *mut c_void, $($type),*));
            // SAFETY: the program's own call.
            parallel(body, data, |body, data| unsafe { real(body, data, $($arg),*) });
        }
    )*};
}
regions! {
    GOMP_parallel(threads: u32, flags: u32);
    GOMP_parallel_sections(threads: u32, count: u32, flags: u32);
    GOMP_parallel_loop_static(threads: u32, from: i64, to: i64, step: i64, chunk: i64, flags: u32);
    GOMP_parallel_loop_dynamic(threads: u32, from: i64, to: i64, step: i64, chunk: i64, flags: u32);
    GOMP_parallel_loop_guided(threads: u32, from: i64, to: i64, step: i64, chunk: i64, flags: u32);
    GOMP_parallel_loop_runtime(threads: u32, from: i64, to: i64, step: i64, flags: u32);
    GOMP_parallel_loop_nonmonotonic_dynamic(threads: u32, from: i64, to: i64, step: i64, chunk: i64, flags: u32);
    GOMP_parallel_loop_nonmonotonic_guided(threads: u32, from: i64, to: i64, step: i64, chunk: i64, flags: u32);
    GOMP_parallel_loop_nonmonotonic_runtime(threads: u32, from: i64, to: i64, step: i64, flags: u32);
    GOMP_parallel_loop_maybe_nonmonotonic_runtime(threads: u32, from: i64, to: i64, step: i64, flags: u32);
}

/// Everybody of the team comes before what everybody does afterwards, tasks too.
fn arrive() {
    end_sections();
    if let Some(team) = team() {
        release(team.barrier);
    }
}

fn leave() {
    if let Some(team) = team() {
        acquire(team.barrier);
        acquire(team.tasks);
    }
}

/// The section that this thread has run ends, if it ran one.
fn end_section() {
    let outside = here(|here| here.outside.take()).flatten();
    if let Some(outside) = outside {
        let ended = object();
        release(ended);
        here(|here| here.sections.push(ended));
        become_strand(Some(outside));
        set_floor(0);
    }
}

/// A section begins, as a strand of its own; 0: there is none left.
fn begin_section(number: u32) {
    end_section();
    if number == 0 {
        return;
    }
    let begun = object();
    release(begun);
    let before = become_strand(Some(fresh()));
    here(|here| here.outside = before);
    // The frame of the region itself, in which shared variables may be, lies above.
    set_floor(&raw const number as u64);
    acquire(begun);
}

/// All sections that this thread has run come before what it does next.
fn end_sections() {
    end_section();
    for ended in here(|here| std::mem::take(&mut here.sections)).unwrap_or_default() {
        acquire(ended);
    }
}

/// Marks the object of a team's ordered regions.
const ORDERED: u64 = 1 << 63;

/// Of code that only one thread at a time runs.
const CRITICAL: Object = Object(u64::MAX);

fn critical(name: *mut c_void) -> Object {
    if name.is_null() { CRITICAL } else { Object(name as u64) }
}

fn lock(mutex: Object) {
    log(Event::MutexLock { mutex });
    sections::begin(mutex.0);
}

fn unlock(mutex: Object) {
    sections::end(mutex.0);
    log(Event::MutexUnlock { mutex });
}

ordering! {
    GOMP_barrier() -> () { before: arrive(), after |_done|: leave() }
    GOMP_loop_end() -> () { before: arrive(), after |_done|: leave() }
    GOMP_sections_end() -> () { before: arrive(), after |_done|: leave() }
    GOMP_sections_end_nowait() -> () { before: end_sections(), after |_done|: () }
    GOMP_sections_start(count: u32) -> u32 { before: (), after |number|: begin_section(number) }
    GOMP_sections_next() -> u32 { before: end_section(), after |number|: begin_section(number) }
    GOMP_taskwait() -> () { before: (), after |_done|: if let Some(own) = here(|here| here.children).flatten() { acquire(own) } }
    GOMP_taskgroup_start() -> () { before: { let group = object(); here(|here| here.groups.push(group)); }, after |_done|: () }
    GOMP_taskgroup_end() -> () { before: (), after |_done|: if let Some(group) = here(|here| here.groups.pop()).flatten() { acquire(group) } }
    GOMP_single_copy_start() -> *mut c_void { before: (), after |given|: if !given.is_null() { leave() } }
    GOMP_single_copy_end(given: *mut c_void) -> () { before: arrive(), after |_done|: leave() }
    GOMP_ordered_start() -> () { before: (), after |_done|: if let Some(team) = team() { acquire(Object(team.barrier.0 | ORDERED)) } }
    GOMP_ordered_end() -> () { before: if let Some(team) = team() { release(Object(team.barrier.0 | ORDERED)) }, after |_done|: () }
    omp_set_nest_lock(lock_: *mut c_void) -> () { before: (), after |_done|: lock(critical(lock_)) }
    omp_unset_nest_lock(lock_: *mut c_void) -> () { before: unlock(critical(lock_)), after |_done|: () }
    GOMP_critical_start() -> () { before: (), after |_done|: lock(CRITICAL) }
    GOMP_critical_end() -> () { before: unlock(CRITICAL), after |_done|: () }
    GOMP_critical_name_start(name: *mut c_void) -> () { before: (), after |_done|: lock(critical(name)) }
    GOMP_critical_name_end(name: *mut c_void) -> () { before: unlock(critical(name)), after |_done|: () }
    omp_set_lock(lock_: *mut c_void) -> () { before: (), after |_done|: lock(critical(lock_)) }
    omp_unset_lock(lock_: *mut c_void) -> () { before: unlock(critical(lock_)), after |_done|: () }
    omp_test_lock(lock_: *mut c_void) -> i32 { before: (), after |got|: if got != 0 { lock(critical(lock_)) } }
}

type Copier = unsafe extern "C" fn(*mut c_void, *mut c_void);

/// What a task depends on (addresses), as the library was told: (out, in).
type Depends = (Vec<u64>, Vec<u64>);

/// Who is waited for at an address: those that only read it, and those that do not.
fn readers(address: u64) -> Object {
    Object(address | 1 << 62)
}

fn writers(address: u64) -> Object {
    Object(address | 1 << 61)
}

/// # Safety
/// The library's array: how many there are, how many of them are written, the addresses.
unsafe fn depends(list: *const usize, flags: u32) -> Depends {
    const DEPEND: u32 = 8;
    if flags & DEPEND == 0 || list.is_null() {
        return Depends::default();
    }
    // SAFETY: as the caller says. A first word of 0 is a longer form, with objects of its own.
    unsafe {
        let (all, out) = (list.read(), list.add(1).read());
        if all == 0 || all > 4096 || out > all {
            return Depends::default();
        }
        let addresses: Vec<u64> = (0..all).map(|number| list.add(2 + number).read() as u64).collect();
        (addresses[..out].to_vec(), addresses[out..].to_vec())
    }
}

/// Stands before the data of a task.
#[derive(Clone, Copy)]
struct Task {
    body: Body,
    copy: Option<Copier>,
    begun: Object,
    team: Team,
    /// Its parent's: released when it is done.
    children: Object,
    group: Option<Object>,
    /// Given away to the task that runs.
    depends: *mut Depends,
    /// Bytes from here to the data.
    offset: usize,
}

unsafe extern "C" fn task(given: *mut c_void) {
    // SAFETY: made by `GOMP_task` below; the library has copied it.
    let Task { body, begun, team, offset, children, group, depends, .. } = unsafe { given.cast::<Task>().read() };
    // SAFETY: as before; a task runs once.
    let (out, read) = *unsafe { Box::from_raw(depends) };
    let before = become_strand(Some(fresh()));
    let floor = set_floor(&raw const offset as u64);
    let outer = here(|here| (here.children.take(), std::mem::take(&mut here.groups)));
    here(|here| here.groups.extend(group));
    acquire(begun);
    out.iter().chain(&read).for_each(|address| acquire(writers(*address)));
    out.iter().for_each(|address| acquire(readers(*address)));
    // SAFETY: what the program asked for; the data lies behind.
    unsafe { body(given.byte_add(offset)) };
    out.iter().for_each(|address| release(writers(*address)));
    read.iter().for_each(|address| release(readers(*address)));
    release(team.tasks);
    release(children);
    group.into_iter().for_each(release);
    if let Some((children, groups)) = outer {
        here(|here| (here.children, here.groups) = (children, groups));
    }
    set_floor(floor);
    become_strand(before);
}

unsafe extern "C" fn copy(to: *mut c_void, from: *mut c_void) {
    // SAFETY: both have a task in front of their data.
    unsafe {
        let given = from.cast::<Task>().read();
        to.cast::<Task>().write(given);
        if let Some(copy) = given.copy {
            copy(to.byte_add(given.offset), from.byte_add(given.offset));
        }
    }
}

/// # Safety
/// As the library has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_task(
    body: Body,
    data: *mut c_void,
    cpyfn: Option<Copier>,
    size: i64,
    align: i64,
    deferred: bool,
    flags: u32,
    depend: *mut *mut c_void,
    priority: i32,
    detach: *mut c_void,
) {
    type Real = unsafe extern "C" fn(
        Body,
        *mut c_void,
        Option<Copier>,
        i64,
        i64,
        bool,
        u32,
        *mut *mut c_void,
        i32,
        *mut c_void,
    );
    let real = next!(c"GOMP_task", Real);
    let Some(team) = team().filter(|_| listening()) else {
        // SAFETY: the program's own call.
        return unsafe { real(body, data, cpyfn, size, align, deferred, flags, depend, priority, detach) };
    };
    let align = (align.max(16) as usize).next_power_of_two();
    let offset = size_of::<Task>().next_multiple_of(align);
    let begun = object();
    release(begun);
    let fresh_children = object();
    let known = here(|here| (*here.children.get_or_insert(fresh_children), here.groups.last().copied()));
    let (children, group) = known.unwrap_or((fresh_children, None));
    // SAFETY: the program's own call.
    let depends = Box::into_raw(Box::new(unsafe { depends(depend.cast(), flags) }));
    let whole = offset + size.max(0) as usize;
    let mut given = vec![0u128; whole.div_ceil(16) + align / 16];
    // SAFETY: there is room for the task and the data behind it, aligned as asked for. The library copies both before
    // it returns, or runs the task at once.
    unsafe {
        let start = given.as_mut_ptr().cast::<c_void>();
        let start = start.byte_add(start.cast::<u8>().align_offset(align));
        start.cast::<Task>().write(Task { body, copy: cpyfn, begun, team, children, group, depends, offset });
        if size > 0 {
            std::ptr::copy_nonoverlapping(data.cast::<u8>(), start.byte_add(offset).cast(), size as usize);
        }
        let copies = cpyfn.map(|_| copy as Copier);
        real(task, start, copies, whole as i64, align as i64, deferred, flags, depend, priority, detach);
    }
}
