//! Nonblocking calls of a pair: kept until something waits for them, or issued and driven to their end.
//!
//! A call that is kept has no request yet; the program is given a general one of ours in its place, which is exchanged
//! for the real one by the call that waits for it.

use std::time::{Duration, Instant};

use super::{Handle, PENDING, Said, Source, Steering, abi, active, alone_meets, buffer_role, hear, said, steering};
use crate::ids::Site;
use crate::runtime::steer::DONE;

/// A call that is kept, to write its request to the given place, and to read its origin there.
type Go = Box<dyn FnOnce(*mut u8, *const u8) -> i32>;

pub(super) struct Kept {
    /// What the program was given for a request; 0: it has waited for that.
    handle: Handle,
    /// `None`: it has been issued.
    go: Option<Go>,
    real: Handle,
    /// A persistent request is itself, always.
    persistent: bool,
    /// The window and target of a one-sided operation.
    window: Option<(Handle, i32)>,
    source: Source,
    collective: bool,
}

/// What a nonblocking call is, beside its request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sort {
    Message,
    Persistent,
    Collective,
}

unsafe extern "C" fn query(_: *mut u8, _: *mut u8) -> i32 {
    0
}

unsafe extern "C" fn free(_: *mut u8) -> i32 {
    0
}

unsafe extern "C" fn cancel(_: *mut u8, _: i32) -> i32 {
    0
}

/// A request that is done when we say so.
fn placeholder() -> Handle {
    type Query = unsafe extern "C" fn(*mut u8, *mut u8) -> i32;
    type Free = unsafe extern "C" fn(*mut u8) -> i32;
    type Cancel = unsafe extern "C" fn(*mut u8, i32) -> i32;
    let mut made: Handle = 0;
    pmpi!(PMPI_Grequest_start(
        query => Query, free => Free, cancel => Cancel, std::ptr::null_mut() => *mut u8,
        (&raw mut made).cast() => *mut u8,
    ));
    abi().handle(made)
}

fn forget(handle: Handle) {
    let mut handle = handle;
    pmpi!(PMPI_Grequest_complete(handle => Handle));
    pmpi!(PMPI_Request_free((&raw mut handle).cast() => *mut u8));
}

/// Polls until the request is done. Returns whether it is.
pub(super) fn drive(handle: Handle) -> bool {
    let patience = steering().map_or(0, |steering| steering.plan.patience);
    let until = Instant::now() + Duration::from_millis(patience);
    let ignore = if abi().open_mpi { 0usize } else { 1 };
    loop {
        let mut done = 0i32;
        pmpi!(PMPI_Request_get_status(handle => Handle, &mut done => *mut i32, ignore => usize));
        if done != 0 {
            return true;
        }
        if Instant::now() > until {
            return false;
        }
        std::thread::yield_now();
    }
}

/// A nonblocking call whose buffers have just been logged, or the start of a persistent one.
pub fn nonblocking(sort: Sort, request: *mut u8, go: impl FnOnce(*mut u8) -> i32 + 'static) -> i32 {
    let Some(first) = buffer_role() else { return go(request) };
    let alone = steering().is_some_and(|steering| steering.alone());
    if first {
        return begin(alone, request, go);
    }
    announce(alone);
    let persistent = sort == Sort::Persistent;
    // SAFETY: the program's own place for the request; a persistent one is there already.
    let handle = if persistent { unsafe { abi().nth(request, 0) } } else { placeholder() };
    keep(Kept {
        handle,
        go: Some(Box::new(move |request, _| go(request))),
        real: handle,
        persistent,
        window: None,
        source: Source::NONE,
        collective: sort == Sort::Collective,
    });
    // SAFETY: as before.
    unsafe { abi().set(request, handle) };
    0
}

/// The call that is to come first: issued, and over before the other one begins.
fn begin(alone: bool, request: *mut u8, go: impl FnOnce(*mut u8) -> i32) -> i32 {
    if !alone && hear(true, PENDING) {
        said(Said::Met);
    }
    let read = steering().and_then(|steering| steering.sends(true));
    read.into_iter().for_each(|bytes| said(Said::Value { first: true, bytes }));
    let result = go(request);
    // SAFETY: the library wrote a handle there.
    let handle = unsafe { abi().nth(request, 0) };
    if alone {
        alone_meets(true, Some(handle));
        if let Some(mut steering) = steering() {
            steering.driven = Some(handle);
        }
    } else if drive(handle)
        && let Some(mut steering) = steering()
    {
        steering.say(Said::First);
        steering.announce(true, DONE);
    }
    result
}

fn announce(alone: bool) {
    if alone {
        alone_meets(false, None);
    } else if let Some(steering) = steering() {
        steering.announce(false, PENDING);
    }
}

fn keep(kept: Kept) {
    if let Some(mut steering) = steering() {
        steering.under_way.push((false, kept.handle));
        steering.kept.push(kept);
    }
}

/// A one-sided operation with a request.
pub fn window_request(
    site: Site,
    (window, target): (Handle, i32),
    source: Source,
    fills: Option<(u64, u64)>,
    request: *mut u8,
    go: impl FnOnce(*mut u8, *const u8) -> i32 + 'static,
) -> i32 {
    let role = super::operation_role(site);
    let Some((first, alone)) = role else { return go(request, source.pointer()) };
    if let (Some(mut steering), Some((address, len))) = (steering(), fills) {
        steering.results.push((first, abi().handle(window), address, len));
    }
    if first {
        if alone {
            alone_meets(true, Some(window));
        } else if hear(true, PENDING) {
            said(Said::Met);
        }
        let read = steering().and_then(|steering| steering.reads(&source));
        read.into_iter().for_each(|bytes| said(Said::Value { first: true, bytes }));
        let result = go(request, source.pointer());
        pmpi!(PMPI_Win_flush(target => i32, window => Handle));
        if let Some(mut steering) = steering() {
            steering.say(Said::First);
            if !alone {
                steering.announce(true, DONE);
            }
        }
        return result;
    }
    announce(alone);
    let handle = placeholder();
    let window = Some((abi().handle(window), target));
    keep(Kept { handle, go: Some(Box::new(go)), real: handle, persistent: false, window, source, collective: false });
    // SAFETY: the program's own place for the request.
    unsafe { abi().set(request, handle) };
    0
}

impl Steering {
    /// Operations with requests that are completed locally: could all that are kept be copied?
    pub(super) fn copy_requests(&mut self, on: Handle, target: Option<i32>) -> bool {
        let covered = |kept: &&mut Kept| {
            let Some((window, to)) = kept.window else { return false };
            kept.go.is_some() && window == on && target.is_none_or(|target| target == to)
        };
        let copied = self.kept.iter_mut().filter(covered).map(|kept| kept.source.copy());
        copied.filter(|copied| !copied).count() == 0
    }

    pub(super) fn has_requests(&self) -> bool {
        self.kept.iter().any(|kept| kept.go.is_some())
    }

    /// The program waits for the request of an operation that is over locally before it is at the target (R6): a copy
    /// goes on without it.
    fn detach(&mut self, handle: Handle) -> bool {
        let waited = |kept: &&mut Kept| kept.handle == handle && kept.go.is_some() && kept.window.is_some();
        let Some(kept) = self.kept.iter_mut().find(waited).filter(|_| handle != 0) else { return false };
        let detached = kept.source.copy();
        if detached {
            kept.handle = 0;
            self.under_way.retain(|(_, key)| *key != handle);
        }
        detached
    }
}

/// Issues what is kept and `which` names.
fn issue_those(which: impl Fn(&Kept) -> bool) {
    loop {
        let next = steering().and_then(|mut steering| {
            let alone = steering.alone();
            let kept = steering.kept.iter_mut().find(|kept| kept.go.is_some() && which(kept))?;
            let (handle, go, of_window) = (kept.handle, kept.go.take()?, kept.window.is_some());
            let place = steering.kept.iter().position(|kept| kept.handle == handle)?;
            Some((handle, go, of_window, place, alone))
        });
        let Some((handle, go, of_window, place, alone)) = next else { return };
        let in_order = alone || hear(false, DONE);
        let Some((origin, read)) = steering().and_then(|steering| {
            let source = &steering.kept.get(place)?.source;
            let read = if of_window { steering.reads(source) } else { steering.sends(false) };
            Some((source.pointer(), read))
        }) else {
            return;
        };
        read.into_iter().for_each(|bytes| said(Said::Value { first: false, bytes }));
        let mut real = handle;
        go((&raw mut real).cast(), origin);
        if handle == 0 {
            // Nobody waits for it but the window.
            pmpi!(PMPI_Request_free((&raw mut real).cast() => *mut u8));
        }
        let real = abi().handle(real);
        if let Some(mut steering) = steering() {
            for kept in steering.kept.iter_mut().filter(|kept| kept.handle == handle) {
                kept.real = real;
            }
            steering.say(if in_order { Said::Second } else { Said::GaveUp });
        }
    }
}

/// Operations on the window are about to be completed.
pub(super) fn issue(on: Option<(Handle, Option<i32>)>) {
    issue_those(|kept| match (kept.window, on) {
        (Some((window, to)), Some((completed, target))) => {
            window == completed && target.is_none_or(|target| target == to)
        }
        _ => false,
    });
}

/// A call that may wait for others: what has no reason to be kept any more is issued.
pub fn release() {
    if active() && steering().is_some_and(|steering| steering.alone() && steering.first_happened) {
        issue_those(|_| true);
    }
}

/// Another collective follows: they are issued in their order.
pub fn release_collectives() {
    if active() {
        issue_those(|kept| kept.collective);
        release();
    }
}

/// The program waits for requests, or tests them: those that were kept are issued, and stand in their place.
///
/// # Safety
/// An array of that many requests.
pub unsafe fn resolve(requests: *mut u8, count: i32) {
    if !active() {
        return;
    }
    for number in 0..count.max(0) as usize {
        // SAFETY: as the caller says.
        let handle = unsafe { abi().nth(requests, number) };
        if steering().is_some_and(|mut steering| steering.detach(handle)) {
            // The program's wait finds it done.
            pmpi!(PMPI_Grequest_complete(handle => Handle));
            continue;
        }
        if steering().is_some_and(|steering| steering.kept.iter().any(|kept| kept.handle == handle)) {
            issue_those(|kept| kept.handle == handle);
        }
        let found = steering().and_then(|mut steering| {
            steering.under_way.retain(|(_, key)| *key != handle);
            let place = steering.kept.iter().position(|kept| kept.handle == handle)?;
            Some(steering.kept.remove(place))
        });
        let Some(kept) = found else { continue };
        if !kept.persistent {
            let size = if abi().open_mpi { 8 } else { 4 };
            // SAFETY: as the caller says.
            unsafe { abi().set(requests.add(number * size), kept.real) };
            forget(handle);
        }
    }
    release();
}
