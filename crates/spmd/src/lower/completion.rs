//! Operations that are under way, and the calls that end them (R1, R2, R4, R6, R15, R18).

use crate::access::{Access, End, LockName, OwnersEvent};
use crate::event::{Action, Operation, Through};
use crate::ids::{Context, Moment, Rank, Request, Strand, Window};

use super::Lowering;

/// An operation that is not over on both sides.
pub(super) struct Open {
    issued: Moment,
    pub(super) window: Option<Window>,
    pub(super) target: Option<Rank>,
    pub(super) request: Option<Request>,
    context: Option<Context>,
    action: Option<Action>,
    /// Local memory.
    near: Vec<Access>,
    /// Memory of the target.
    far: Vec<Access>,
}

impl Open {
    /// The buffer of a message or collective: local memory that a request ends.
    pub(super) fn buffer(issued: Moment, request: Request, near: Vec<Access>) -> Open {
        Open {
            issued,
            window: None,
            target: None,
            request: Some(request),
            context: None,
            action: None,
            near,
            far: Vec::new(),
        }
    }

    /// A stretch ends: ends that were in it lie before the next one.
    pub(super) fn carry(&mut self) {
        self.near.iter_mut().chain(&mut self.far).for_each(carry);
    }

    /// What is left of it.
    pub(super) fn unfinished(&self) -> impl Iterator<Item = &Access> {
        self.near.iter().chain(&self.far)
    }
}

impl Lowering {
    /// Starts an operation.
    pub(super) fn issue(&mut self, issued: Moment, operation: &Operation, near: Vec<Access>, far: Vec<Access>) {
        let mut open = Open {
            issued,
            window: None,
            target: Some(operation.target),
            request: None,
            context: None,
            action: Some(operation.action),
            near,
            far,
        };
        match operation.through {
            Through::Window { window, request } => {
                open.window = Some(window);
                open.request = request;
            }
            Through::Context { context, blocking, .. } => {
                open.context = Some(context);
                if blocking {
                    self.finished(std::mem::take(&mut open.near), End::AtStart);
                    if operation.action.returns() {
                        self.finished(std::mem::take(&mut open.far), End::AtStart);
                    }
                }
            }
        }
        if !open.near.is_empty() || !open.far.is_empty() {
            self.open.push(open);
        }
    }

    /// The call at `moment` ends, of what was issued before it and `covers` names, the local side,
    /// the side of the target, or both.
    pub(super) fn complete(&mut self, moment: Moment, near: bool, far: bool, covers: impl Fn(&Open) -> bool) {
        let end = End::At(moment);
        let (threads, out) = (&self.threads, &mut self.out.accesses);
        self.open.retain_mut(|open| {
            if !covers(open) || !threads.before_now(open.issued, moment) {
                return true;
            }
            if near {
                out.extend(open.near.drain(..).map(|access| ended(access, end)));
                match open.action {
                    Some(Action::Get) => out.extend(open.far.drain(..).map(|access| ended(access, end))),
                    // R2: a fetched value cannot be here before the target was changed; the letter
                    // asks for more.
                    Some(Action::Fetch(_)) => open.far.iter_mut().for_each(|access| end_in_practice(access, end)),
                    _ => {}
                }
            }
            if far {
                out.extend(open.far.drain(..).map(|access| ended(access, end)));
            }
            !open.near.is_empty() || !open.far.is_empty()
        });
    }

    /// `MPI_Win_complete`: the origin side is over; the target's when the target has waited (R4).
    pub(super) fn complete_epoch(&mut self, moment: Moment, window: Window, waits: &[(Rank, u32)]) {
        let (threads, rank) = (&self.threads, self.rank);
        for open in self.open.iter_mut().filter(|open| open.window == Some(window)) {
            let Some(&(_, number)) = waits.iter().find(|(target, _)| open.target == Some(*target)) else { continue };
            if !threads.before_now(open.issued, moment) {
                continue;
            }
            let end = End::Owners(OwnersEvent::Waited(window, rank, number));
            match open.action {
                Some(Action::Get) => {}
                Some(Action::Fetch(_)) => open.far.iter_mut().for_each(|access| access.end_by_the_letter = end),
                _ => open.far.iter_mut().for_each(|access| {
                    access.end = end;
                    access.end_by_the_letter = end;
                }),
            }
        }
        self.complete(moment, true, false, |open| open.window == Some(window));
        // What is left waits for nothing more of this rank.
        let out = &mut self.out.accesses;
        self.open.retain_mut(|open| {
            if open.window != Some(window) || !open.near.is_empty() {
                return true;
            }
            if open.far.iter().any(|access| access.end_by_the_letter == End::Open) {
                return true;
            }
            out.append(&mut open.far);
            false
        });
    }

    /// `shmem_quiet`, alone or inside a barrier (R15, R18).
    pub(super) fn quiet(&mut self, moment: Moment, context: Context, barrier: bool) {
        *self.context_epochs.entry(context).or_default() += 1;
        self.complete(moment, true, true, |open| open.context == Some(context));
        if barrier {
            let threads = &self.threads;
            for open in self.open.iter_mut().filter(|open| open.context.is_some()) {
                if threads.before_now(open.issued, moment) {
                    let end = End::At(moment);
                    open.near.iter_mut().chain(&mut open.far).for_each(|access| end_in_practice(access, end));
                }
            }
        }
    }

    /// A lock was given back: it does not protect what is still under way. `holder`: only what this
    /// strand issued.
    pub(super) fn lost(&mut self, lock: LockName, holder: Option<Strand>) {
        for open in &mut self.open {
            if holder.is_none_or(|holder| open.issued.strand == holder) {
                for access in open.near.iter_mut().chain(&mut open.far) {
                    access.locks.retain(|held| held.lock != lock);
                }
            }
        }
    }
}

impl Lowering {
    /// The locks of a window were given back, whatever the target.
    pub(super) fn lost_window(&mut self, window: Window) {
        for access in self.open.iter_mut().flat_map(|open| open.near.iter_mut().chain(&mut open.far)) {
            access.locks.retain(|held| !matches!(held.lock, LockName::Window(lost, _) if lost == window));
        }
    }
}

/// The access with an end, by the letter too; an earlier end in practice stays.
fn ended(mut access: Access, end: End) -> Access {
    end_in_practice(&mut access, end);
    if access.end_by_the_letter == End::Open {
        access.end_by_the_letter = end;
    }
    access
}

/// The access as the next stretch sees it.
pub fn carry(access: &mut Access) {
    for end in [&mut access.end, &mut access.end_by_the_letter] {
        if matches!(end, End::At(_)) {
            *end = End::Past;
        }
    }
}

fn end_in_practice(access: &mut Access, end: End) {
    if access.end == End::Open {
        access.end = end;
    }
}
