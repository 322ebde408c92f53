//! Operations of SHMEM in a plan: early ones are followed by a quiet, late ones are kept until the context's.

use std::sync::atomic::{AtomicBool, Ordering};

use super::{Handle, Late, PENDING, Said, Source, alone_meets, hear, meet_after, meet_before, said, steering};
use crate::event::Action;
use crate::ids::{Context, Site};
use crate::runtime::steer::{DONE, active, completed, completing};

/// Stands for symmetric memory where others have a window.
const KEY: Handle = usize::MAX;

/// A fence was called, and nothing since.
static FENCED: AtomicBool = AtomicBool::new(false);

/// What becomes of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decision {
    /// As always.
    Now,
    /// Now, and completed at once on its context.
    Early(usize),
    /// It happens where it stands: whether it comes first, and whether the order is known.
    Point(bool, bool),
    /// To be kept by [`shmem_keep`], for its context.
    Late(i32),
    /// Kept already.
    Kept,
}

impl From<()> for Decision {
    fn from((): ()) -> Decision {
        Decision::Now
    }
}

impl Decision {
    /// Does the library's function have to wait?
    pub fn waits(self) -> bool {
        matches!(self, Decision::Late(_) | Decision::Kept)
    }
}

/// What a blocking put has read when it comes back: elements at equal distances.
#[derive(Clone, Copy)]
pub struct Elements {
    pub from: u64,
    /// Bytes from element to element, here and at the target.
    pub distances: (i64, i64),
    pub size: u64,
    pub count: u64,
}

/// An operation of the program. `source`: what a blocking put has read when it comes back; `to`: where it puts it.
pub fn shmem_operation(
    site: Site,
    (action, blocking, context): (Action, bool, usize),
    source: Option<Elements>,
    fills: Option<(u64, u64)>,
    (to, pe): (u64, i32),
) -> Decision {
    // Behind a fence nothing overtakes what was kept but gets (R16).
    if action != Action::Get && FENCED.swap(false, Ordering::Relaxed) {
        shmem_completing(None);
    }
    let role = super::operation_role(site);
    let Some((first, alone)) = role else { return Decision::Now };
    if let (Some(mut steering), Some((address, len))) = (steering(), fills) {
        steering.results.push((first, KEY, address, len));
    }
    if blocking && action.returns() {
        return Decision::Point(first, meet_before(first));
    }
    if first {
        if alone {
            alone_meets(true, Some(KEY));
        } else if hear(true, PENDING) {
            said(Said::Met);
        }
        return Decision::Early(context);
    }
    if alone {
        alone_meets(false, Some(KEY));
    } else if let Some(steering) = steering() {
        steering.announce(false, PENDING);
    }
    let number = crate::runtime::shmem::context(context).0 as i32;
    let (Some(source), true) = (source, blocking) else { return Decision::Late(number) };
    let Elements { from, distances: (here, there), size, count } = source;
    let at = |number: u64| from.wrapping_add_signed(here * number as i64) as *const u8;
    // SAFETY: the source of the program's put, which may be changed when the call comes back.
    let element = |number: u64| unsafe { std::slice::from_raw_parts(at(number), size as usize) }.to_vec();
    let elements: Vec<Vec<u8>> = (0..count).map(element).collect();
    shmem_keep(number, move || {
        let put = real!("pshmem_putmem", unsafe extern "C" fn(u64, *const u8, usize, i32));
        for (number, bytes) in (0..).zip(&elements) {
            // SAFETY: the program's own destination.
            unsafe { put(to.wrapping_add_signed(there * number), bytes.as_ptr(), bytes.len(), pe) };
        }
        quiet(0);
    });
    Decision::Kept
}

/// Keeps an operation of a context.
pub fn shmem_keep(context: i32, go: impl FnOnce() + 'static) {
    let go = move |_: Handle, _: *const u8| {
        go();
        0
    };
    if let Some(mut steering) = steering() {
        steering.late.push(Late { window: KEY, target: context, source: Source::NONE, go: Box::new(go) });
    }
}

fn quiet(context: usize) {
    if context == 0 {
        let quiet = real!("pshmem_quiet", unsafe extern "C" fn());
        // SAFETY: the default context.
        unsafe { quiet() };
    } else {
        let quiet = real!("pshmem_ctx_quiet", unsafe extern "C" fn(usize));
        // SAFETY: the program's own context.
        unsafe { quiet(context) };
    }
}

/// The library's function came back with a value: what the access of the pair found.
pub fn shmem_brought<T>(decision: Decision, value: &T) {
    if let (Decision::Point(first, _), true) = (decision, size_of::<T>() > 0) {
        let bytes = super::text(std::ptr::from_ref(value) as u64, size_of::<T>() as u64);
        said(Said::Value { first, bytes });
    }
}

/// The library's function came back.
pub fn shmem_after(decision: Decision) {
    match decision {
        Decision::Early(context) => {
            quiet(context);
            if let Some(mut steering) = steering() {
                steering.say(Said::First);
                if !steering.alone() {
                    steering.announce(true, DONE);
                }
            }
        }
        Decision::Point(first, in_order) => {
            completed(KEY);
            meet_after(first, in_order);
        }
        Decision::Now | Decision::Late(_) | Decision::Kept => {}
    }
}

/// A call that completes operations of a context (all of them, if it says none), or waits for others.
pub fn shmem_completing(context: Option<Context>) {
    if active() {
        completing(KEY, context.map(|context| context.0 as i32));
    }
}

/// A fence: completes nothing, but what was kept comes before the next operation.
pub fn shmem_fenced() {
    FENCED.store(active(), Ordering::Relaxed);
}

pub fn shmem_completed() {
    if active() {
        completed(KEY);
    }
}
