//! Interruptions of threads: a word of each thread that others write, and the thread itself reads and clears.

use super::jni::{Class, Env, Object};
use super::threads::{self, Jvm};
use super::{agent, replaced, stacks};
use reweave_guest::Token;
use reweave_guest::model::{Addr, AtomicKind, MemoryOrder, Op, Value};

/// Where it is written down whether a thread is interrupted: who sees that sees what came before.
const fn place(thread: u32) -> Addr {
    Addr(0x0900_0000_0000 + thread as u64 * 8)
}

fn record(token: &mut Token<'_, Jvm>, pc: u64, thread: u32, kind: AtomicKind, (read, written): (u64, u64)) {
    let (read, written) = (Value::Word(read), Value::Word(written));
    let (addr, order) = (place(thread), MemoryOrder::SeqCst);
    token.step(pc, Op::Atomic { kind, order, addr, size: 8, read, written });
}

/// Says that a thread is interrupted, or no longer; what the trace last said of it.
fn say(token: &Token<'_, Jvm>, thread: u32, interrupted: u32) -> u32 {
    token.thread(thread).map_or(0, |row| row.row.interrupted.replace(interrupted))
}

/// Whether the calling thread was interrupted, which it no longer is. Who asks throws.
pub fn take(env: Env) -> bool {
    agent().known().interrupted(env)
}

/// Whether the calling thread is interrupted.
pub fn is_set(env: Env) -> bool {
    threads::own_object().is_some_and(|thread| agent().known().is_interrupted(env, thread))
}

/// The calling thread goes on because it is interrupted.
pub fn see(token: &mut Token<'_, Jvm>, pc: u64) {
    let own = token.id();
    record(token, pc, own, AtomicKind::Load, (1, 0));
}

/// The calling thread was interrupted, which is over with this exception.
pub fn throw(env: Env) {
    threads::enter(env, |inside| {
        let own = inside.id();
        say(inside, own, 0);
        stacks::at_call(inside, |token, pc| record(token, pc, own, AtomicKind::Exchange, (1, 0)));
    });
    // SAFETY: a class of exceptions.
    unsafe { env.throw_new(agent().known().interrupted_exception, std::ptr::null()) };
}

/// A thread is about to be asked, or to be interrupted.
pub unsafe extern "system" fn before(env: Env, _: Class) {
    threads::enter(env, |inside| inside.sync_point());
}

/// A thread was asked, at once after [`before`].
pub unsafe extern "system" fn saw(env: Env, _: Class, thread: Object, interrupted: u8, clears: u8, site: i32) {
    let Some(target) = threads::number(thread) else { return };
    let pc = agent().classes().pc(site as u32);
    threads::enter(env, |inside| {
        let own = target == inside.id();
        if interrupted != 0 && clears != 0 {
            say(inside, target, 0);
            return record(inside, pc, target, AtomicKind::Exchange, (1, 0));
        }
        let said = inside.thread(target).map(|row| row.row.interrupted.get());
        if interrupted == 0 && said.is_none() {
            // One that has ended, or has not begun.
            return;
        }
        if interrupted == 0 && said != Some(0) {
            // It has cleared that where nothing is recorded, which only the thread itself can do.
            if !own {
                return;
            }
            say(inside, target, 0);
            record(inside, pc, target, AtomicKind::Store, (0, 0));
        }
        record(inside, pc, target, AtomicKind::Load, (interrupted.into(), 0));
    });
}

/// `Thread.interrupt0`: the machine's own flags, and an end to what the thread waits for in the model. The thread can see
/// that it is interrupted already, so nobody may come before that is recorded.
pub unsafe extern "system" fn interrupt(env: Env, thread: Object) {
    // SAFETY: the machine's own function.
    unsafe { (replaced::real().interrupt)(env, thread) };
    let Some(target) = threads::number(thread) else { return replaced::unpark_unmanaged(thread) };
    threads::enter(env, |inside| {
        say(inside, target, 1);
        stacks::at_call(inside, |token, pc| record(token, pc, target, AtomicKind::Store, (0, 1)));
        if let Some(row) = inside.thread(target) {
            row.wait.cancelled.set(true);
        }
    });
}
