//! Making a race happen (phase II): operations early or late, ranks that wait for each other.
//!
//! What an operation does between its call and its completion is the library's choice, so we choose.
//! *Early*: it is issued and completed at once; inside fence and general active target epochs, where
//! flushing is forbidden, through a twin window of ours over the same memory. *Late*: it is kept, and
//! issued inside the call that completes it. Both are legal.
//!
//! The access that is to come second says that it is there and waits; the one that comes first waits
//! until it has heard that, happens, and says so. Ranks that wait poll the library: a sleeping target
//! stops one-sided operations of others. There is no central rank. Deviation from Algorithm 7.4: the
//! pair is named with its execution, so there is no random choice and no back-off.

mod heard;
mod memory;
mod origin;
mod requests;
mod shmem;
mod stop;

use std::cell::Cell;
use std::collections::HashMap;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};

use super::abi::{Handle, abi};
use crate::ids::{Rank, Site};
use crate::plan::{ANYWHERE, Anchor, Plan, Said, Step, What};

use heard::hear;
pub use memory::{gone, logged};
pub use origin::{Source, completing_locally, keeps_types};
pub use requests::{Sort, nonblocking, release, release_collectives, resolve, window_request};
pub use shmem::{
    Decision, Elements, shmem_after, shmem_brought, shmem_completed, shmem_completing, shmem_fenced, shmem_keep,
    shmem_operation,
};

use memory::text;

/// What the run is to do; without a plan, what is looked at.
pub const PLAN: &str = "REWEAVE_SPMD_PLAN";
/// Tags of our messages.
const PENDING: i32 = 1;
const DONE: i32 = 2;
/// The same between threads of one rank, by tag.
static FLAGS: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];

thread_local! {
    /// What the buffer of the call that is being made is to the plan.
    static BUFFER: Cell<Option<bool>> = const { Cell::new(None) };
}

/// An operation that is kept, to be issued on the given window, and to read its origin there.
pub type Kept = Box<dyn FnOnce(Handle, *const u8) -> i32>;

/// Such an operation, towards a target.
struct Late {
    window: Handle,
    target: i32,
    source: Source,
    go: Kept,
}

struct Steering {
    plan: Plan,
    me: Rank,
    folder: std::path::PathBuf,
    /// An access of the pair was found, and a debugger is to look at this rank.
    stops: bool,
    /// Our own communicator.
    comm: Handle,
    twins: HashMap<Handle, Handle>,
    executions: HashMap<(What, Site), u64>,
    /// How far memory lies from where the plan has it: that of the first, of the second, and of both.
    shifts: [i64; 3],
    /// Buffers of the call that was logged last.
    buffers: Vec<u64>,
    /// Loads and stores of the pair, first and second: how often they were made, and at which call last.
    locals: [(u64, u64); 2],
    /// The memory of the plan has been given back.
    gone: bool,
    /// The first access of the pair has happened.
    first_happened: bool,
    /// Nonblocking calls of the pair that are kept.
    kept: Vec<requests::Kept>,
    /// The first access of the pair is under way: the request that says when it is over.
    driven: Option<Handle>,
    late: Vec<Late>,
    /// Copies that operations read until the end of the run.
    copies: Vec<Source>,
    /// Operations of the pair that the program has issued and not completed: (first?, window).
    under_way: Vec<(bool, Handle)>,
    /// What they fill: (first?, window, address, bytes).
    results: Vec<(bool, Handle, u64, u64)>,
    file: std::fs::File,
}

// SAFETY: what is kept holds pointers of the program, which are used by the call that completes the
// operation, as the library itself would use them.
unsafe impl Send for Steering {}

static ACTIVE: AtomicBool = AtomicBool::new(false);
static STEERING: OnceLock<Mutex<Steering>> = OnceLock::new();

/// Is there a plan?
pub fn active() -> bool {
    ACTIVE.load(Ordering::Relaxed)
}

fn steering() -> Option<std::sync::MutexGuard<'static, Steering>> {
    Some(STEERING.get()?.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
}

/// MPI is there: is this run told to do something?
pub fn begin(folder: &std::path::Path, me: Rank) {
    let Some(plan) = std::env::var(PLAN).ok().and_then(|plan| plan.parse::<Plan>().ok()) else { return };
    // SHMEM without MPI has no way to speak of it.
    if !has_messages() {
        return;
    }
    let mut comm: Handle = 0;
    pmpi!(PMPI_Comm_dup(abi().world => Handle, &mut comm => *mut Handle));
    let Ok(file) = std::fs::File::create(folder.join(format!("rank.{me}.said"))) else { return };
    let steering = Steering {
        plan,
        me,
        folder: folder.to_owned(),
        stops: false,
        comm,
        twins: HashMap::new(),
        executions: HashMap::new(),
        shifts: [0; 3],
        buffers: Vec::new(),
        locals: [(0, u64::MAX); 2],
        gone: false,
        first_happened: false,
        kept: Vec::new(),
        driven: None,
        late: Vec::new(),
        copies: Vec::new(),
        under_way: Vec::new(),
        results: Vec::new(),
        file,
    };
    let _ = STEERING.set(Mutex::new(steering));
    ACTIVE.store(true, Ordering::Release);
}

/// Is there MPI, and has it begun?
pub fn has_messages() -> bool {
    let there = !super::modules::function(c"PMPI_Initialized").is_null();
    let mut begun = 0i32;
    there && pmpi!(PMPI_Initialized(&mut begun => *mut i32)) == 0 && begun != 0
}

/// A window was made: a twin over the same memory, in which operations can be completed at once.
pub fn twin(window: Handle, base: u64, size: i64, unit: i32, comm: Handle) {
    if !active() {
        return;
    }
    let mut made: Handle = 0;
    pmpi!(PMPI_Win_create(
        base as *mut u8 => *mut u8, size => i64, unit => i32, abi().no_info => Handle, comm => Handle,
        &mut made => *mut Handle,
    ));
    pmpi!(PMPI_Win_lock_all(0 => i32, made => Handle));
    if let Some(mut steering) = steering() {
        steering.twins.insert(window, made);
    }
}

/// A window goes: everybody frees it, so everybody frees the twin.
pub fn forget(window: Handle) {
    completing(window, None);
    let made = steering().and_then(|mut steering| steering.twins.remove(&window));
    if let Some(mut made) = made {
        pmpi!(PMPI_Win_unlock_all(made => Handle));
        pmpi!(PMPI_Win_free(&mut made => *mut Handle));
        // Everybody has completed everything.
        if let Some(mut steering) = steering() {
            steering.say_left();
        }
    }
}

impl Steering {
    /// Is this execution of a statement one of the pair? Whether it is to come first.
    fn role(&mut self, what: What, site: Site) -> Option<bool> {
        let count = self.executions.entry((what, site)).or_default();
        *count += 1;
        let (me, execution) = (self.me, *count);
        let found = self.place(|step| (step.what, step.site, step.rank, step.execution) == (what, site, me, execution));
        if found.is_some() {
            self.stops = self.plan.stop == Some(me);
            let buffers = std::mem::take(&mut self.buffers);
            self.shift(|anchor| match anchor {
                Anchor::Buffer(number, base) => Some((*buffers.get(number as usize)?, base)),
                Anchor::Fixed | Anchor::Window(..) => None,
            });
        }
        found
    }

    /// Is this load or store one of the pair, the first time that it is made between these calls?
    fn local_role(&mut self, site: Site, calls: u64, address: u64, len: u32) -> Option<bool> {
        let me = self.me;
        for (number, step) in [self.plan.first, self.plan.second].into_iter().enumerate() {
            let wanted = step.address.wrapping_add_signed(self.shifts[number]);
            let there = step.address == ANYWHERE || wanted.wrapping_sub(address) < u64::from(len);
            if step.what != What::Local || step.site != site || step.rank != me || !there {
                continue;
            }
            let (count, last) = &mut self.locals[number];
            if std::mem::replace(last, calls) == calls {
                continue;
            }
            *count += 1;
            if *count == step.execution {
                self.stops = self.plan.stop == Some(me);
                return Some(number == 0);
            }
        }
        None
    }

    fn place(&self, is: impl Fn(&Step) -> bool) -> Option<bool> {
        [(self.plan.first, true), (self.plan.second, false)]
            .into_iter()
            .find(|(step, _)| is(step))
            .map(|(_, first)| first)
    }

    /// One strand makes both: what comes first in the program's text is under way when the other one comes.
    fn alone(&self) -> bool {
        self.plan.first.rank == self.plan.second.rank && !self.plan.threads
    }

    fn other(&self, first: bool) -> Rank {
        if first { self.plan.second.rank } else { self.plan.first.rank }
    }

    fn say(&mut self, said: Said) {
        self.first_happened |= said == Said::First;
        let _ = writeln!(self.file, "{said}");
        let _ = self.file.flush();
    }
}

/// Is this operation one of the pair? Whether it is to come first, and whether one strand makes both.
fn operation_role(site: Site) -> Option<(bool, bool)> {
    let role = steering().and_then(|mut steering| Some((steering.role(What::Operation, site)?, steering.alone())));
    if role.is_some() {
        stop::for_debugger();
    }
    role
}

/// The program issues an operation. `locked`: the target is, so it can be flushed. `source`: what it reads; `fills`:
/// address and bytes of its result. Returns what the call returns.
pub fn operation(
    site: Site,
    window: Handle,
    (target, locked): (i32, bool),
    source: Source,
    fills: Option<(u64, u64)>,
    go: Kept,
) -> i32 {
    let Some((first, alone)) = operation_role(site) else { return go(window, source.pointer()) };
    if let (Some(mut steering), Some((address, len))) = (steering(), fills) {
        steering.results.push((first, abi().handle(window), address, len));
    }
    if alone {
        alone_meets(first, Some(window));
    }
    if !first {
        if let Some(mut steering) = steering() {
            if !alone {
                steering.announce(false, PENDING);
            }
            steering.late.push(Late { window, target, source, go });
        }
        return 0;
    }
    if !alone && hear(true, PENDING) {
        said(Said::Met);
    }
    let read = steering().and_then(|steering| steering.reads(&source));
    let result = early(window, target, locked, source.pointer(), go);
    read.into_iter().for_each(|bytes| said(Said::Value { first: true, bytes }));
    if let Some(mut steering) = steering() {
        steering.say(Said::First);
        if !alone {
            steering.announce(true, DONE);
        }
    }
    result
}

/// Issues an operation and completes it.
fn early(window: Handle, target: i32, locked: bool, origin: *const u8, go: Kept) -> i32 {
    if locked {
        let result = go(window, origin);
        pmpi!(PMPI_Win_flush(target => i32, window => Handle));
        return result;
    }
    let twin = steering().and_then(|steering| steering.twins.get(&abi().handle(window)).copied());
    let Some(twin) = twin else { return go(window, origin) };
    let result = go(twin, origin);
    pmpi!(PMPI_Win_flush(target => i32, twin => Handle));
    result
}

/// One strand has both accesses: they meet if the first one in its text is not complete when the other one comes.
fn alone_meets(first: bool, key: Option<Handle>) {
    let driven = steering().and_then(|mut steering| {
        if steering.under_way.iter().any(|(other, _)| *other != first) {
            steering.say(Said::Met);
        }
        if let Some(key) = key {
            steering.under_way.push((first, abi().handle(key)));
        }
        if first { None } else { steering.driven.take() }
    });
    if driven.is_some_and(requests::drive) {
        said(Said::First);
    }
}

/// An access that happens where it stands is about to. Returns whether it is known to be in order.
fn meet_before(first: bool) -> bool {
    let alone = steering().is_some_and(|steering| steering.alone());
    if alone {
        alone_meets(first, None);
        return true;
    }
    if first {
        if hear(true, PENDING) {
            said(Said::Met);
        }
        return true;
    }
    if let Some(steering) = steering() {
        steering.announce(false, PENDING);
    }
    hear(false, DONE)
}

/// It happened.
fn meet_after(first: bool, in_order: bool) {
    if let Some(mut steering) = steering() {
        steering.say(match (first, in_order) {
            (true, _) => Said::First,
            (false, true) => Said::Second,
            (false, false) => Said::GaveUp,
        });
        if first && !steering.alone() {
            steering.announce(true, DONE);
        }
    }
}

/// A request is done: the program may look at its buffer.
pub fn request_done() {
    if let (true, Some(mut steering)) = (active(), steering()) {
        steering.say_left();
    }
}

/// The buffer of a message or collective was logged: is it one of the pair?
pub fn buffer(site: Site, write: bool) {
    let what = if write { What::BufferWrite } else { What::BufferRead };
    if let Some(role) = steering().and_then(|mut steering| steering.role(what, site)) {
        stop::for_debugger();
        let _ = BUFFER.try_with(|buffer| buffer.set(Some(role)));
    }
}

fn buffer_role() -> Option<bool> {
    if !active() {
        return None;
    }
    BUFFER.try_with(Cell::take).ok().flatten()
}

/// A blocking call whose buffers have just been logged.
pub fn blocking<T>(go: impl FnOnce() -> T) -> T {
    let Some(first) = buffer_role() else { return go() };
    let in_order = meet_before(first);
    let read = steering().and_then(|steering| steering.sends(first));
    read.into_iter().for_each(|bytes| said(Said::Value { first, bytes }));
    let result = go();
    meet_after(first, in_order);
    result
}

/// A call that completes operations on the window, towards one target or all: what was kept is issued now, after the
/// first access has happened.
pub fn completing(window: Handle, target: Option<i32>) {
    if !active() {
        return;
    }
    let window = abi().handle(window);
    let (kept, alone) = {
        let Some(mut steering) = steering() else { return };
        let covers = |other: i32| target.is_none_or(|target| target == other);
        let late = std::mem::take(&mut steering.late);
        let on = |late: &Late| abi().handle(late.window) == window;
        let (kept, others): (Vec<_>, Vec<_>) = late.into_iter().partition(|late| on(late) && covers(late.target));
        if !others.iter().any(on) {
            steering.under_way.retain(|(_, other)| *other != window);
        }
        steering.late = others;
        (kept, steering.alone())
    };
    requests::issue(Some((window, target)));
    for Late { window, source, go, .. } in kept {
        let in_order = alone || hear(false, DONE);
        let read = steering().and_then(|steering| steering.reads(&source));
        go(window, source.pointer());
        read.into_iter().for_each(|bytes| said(Said::Value { first: false, bytes }));
        if let Some(mut steering) = steering() {
            steering.copies.push(source);
        }
        // Without the other one's word nobody knows which came first.
        said(if in_order { Said::Second } else { Said::GaveUp });
    }
}

/// Such a call came back: results are there.
pub fn completed(window: Handle) {
    if !active() {
        return;
    }
    let window = abi().handle(window);
    let Some(mut steering) = steering() else { return };
    let results = std::mem::take(&mut steering.results);
    for (first, other, address, len) in results {
        if other == window {
            steering.say(Said::Value { first, bytes: text(address, len) });
        } else {
            steering.results.push((first, other, address, len));
        }
    }
    steering.say_left();
}

/// The program is about to load or store.
pub fn local(site: Site, calls: u64, (address, named): (u64, u64), len: u32) {
    let role = steering().and_then(|mut steering| steering.local_role(site, calls, named, len));
    let Some(first) = role else { return };
    stop::for_debugger();
    let in_order = meet_before(first);
    said(Said::Value { first, bytes: text(address, u64::from(len)) });
    meet_after(first, in_order);
}

fn said(said: Said) {
    if let Some(mut steering) = steering() {
        steering.say(said);
    }
}

/// The end: nobody's message is left behind.
pub fn end() {
    if !active() {
        return;
    }
    ACTIVE.store(false, Ordering::Release);
    let Some(comm) = steering().map(|steering| steering.comm) else { return };
    pmpi!(PMPI_Barrier(comm => Handle));
    let ignore = if abi().open_mpi { 0usize } else { 1 };
    loop {
        let mut there = 0i32;
        pmpi!(PMPI_Iprobe(
            abi().any_source => i32, super::abi::ANY_TAG => i32, comm => Handle, &mut there => *mut i32,
            ignore => usize,
        ));
        if there == 0 {
            break;
        }
        pmpi!(PMPI_Recv(
            std::ptr::null_mut() => *mut u8, 0 => i32, abi().byte => Handle, abi().any_source => i32,
            super::abi::ANY_TAG => i32, comm => Handle, ignore => usize,
        ));
    }
}
