//! The natives of the hook class: what it does not do itself.

use super::jni::{Class, Env, NativeMethod};
use super::threads::{self, Jvm};
use super::{agent, failures, initializers, interrupts, joins, locks, monitors, reflection, resolve, stacks, stops};
use crate::rewrite::facts::SiteKind;
use crate::rewrite::fences::Fence;
use crate::rewrite::queues;
use reweave_guest::Token;
use reweave_guest::model::wire::kind;
use reweave_guest::model::{AccessFlags, Addr, AtomicKind, MemoryOrder, Op, Value};
use std::ffi::c_void;

/// Gives the hook class its natives.
///
/// # Errors
/// What is missing.
pub fn register(env: Env, class: Class) -> Result<(), String> {
    let natives = [
        (c"hot", c"()J", hot as *const c_void),
        (c"arrive", c"()Z", arrive as *const c_void),
        (c"access", c"(JJJ)V", access as *const c_void),
        (c"accessWithin", c"(JJJ)V", access_within as *const c_void),
        (c"atomic", c"(IJJJI)V", atomic as *const c_void),
        (c"stepped", c"()V", stepped as *const c_void),
        (c"point", c"()V", point as *const c_void),
        (c"resolve", c"(Ljava/lang/Object;I)V", resolve::resolve as *const c_void),
        (c"name", c"(Ljava/lang/Object;IIZ)J", resolve::name as *const c_void),
        (c"call", c"(II)I", call as *const c_void),
        (c"enterMonitor", c"(JI)V", enter_monitor as *const c_void),
        (c"giveBackMonitor", c"(Ljava/lang/Object;J)I", monitors::give_back as *const c_void),
        (c"takeMonitor", c"(Ljava/lang/Object;I)V", monitors::take as *const c_void),
        (c"exitMonitor", c"(JI)V", exit_monitor as *const c_void),
        (c"enterLock", c"(JIIZ)Z", locks::enter as *const c_void),
        (c"leaveLock", c"(JIZ)V", locks::leave as *const c_void),
        (c"conditionWait", c"(III)V", locks::condition_wait as *const c_void),
        (c"initializer", c"(IZ)V", initializers::bracket as *const c_void),
        (c"useClass", c"(I)V", initializers::use_class as *const c_void),
        (c"range", c"(Ljava/lang/Object;IIIZZ)V", resolve::range as *const c_void),
        (c"stopBefore", c"(Ljava/lang/Object;JII)V", stops::before as *const c_void),
        (c"stopBeforeAtomic", c"(Ljava/lang/Object;JJI)V", stops::before_atomic as *const c_void),
        (c"fails", c"(Ljava/lang/Throwable;)V", failures::fails as *const c_void),
        (c"sawEnd", c"(Ljava/lang/Object;I)Z", joins::saw_end as *const c_void),
        (c"beforeInterrupt", c"()V", interrupts::before as *const c_void),
        (c"sawInterruption", c"(Ljava/lang/Object;ZZI)V", interrupts::saw as *const c_void),
        (c"fence", c"(I)V", fence as *const c_void),
        (c"classAt", c"(I)Ljava/lang/Class;", resolve::class_at as *const c_void),
        (c"staticAddress", c"(Ljava/lang/Class;Ljava/lang/String;)J", reflection::static_address as *const c_void),
        (c"reflected", c"(JJIIIZ)V", reflection::accessed as *const c_void),
        (c"atomicAt", c"(Ljava/lang/Object;JIJJI)V", resolve::atomic_at as *const c_void),
    ];
    let methods = natives.map(|(name, signature, function)| NativeMethod {
        name: name.as_ptr(),
        signature: signature.as_ptr(),
        function,
    });
    // SAFETY: functions of these signatures.
    let status = unsafe { env.register_natives(class, methods.as_ptr(), methods.len() as i32) };
    if env.clear() || status != 0 { Err("a native of the hook class".to_owned()) } else { Ok(()) }
}

unsafe extern "system" fn hot(_: Env, _: Class) -> i64 {
    &raw const *agent().hot as i64
}

unsafe extern "system" fn arrive(env: Env, _: Class) -> u8 {
    u8::from(threads::enter(env, |_| ()).is_some())
}

unsafe extern "system" fn access(env: Env, _: Class, head: u64, address: u64, value: u64) {
    threads::enter(env, |inside| {
        inside.step(head >> 16, operation(head, address, value));
        after_step(inside);
    });
}

/// An access within a collection is made where the collection was called.
unsafe extern "system" fn access_within(env: Env, _: Class, head: u64, address: u64, value: u64) {
    threads::enter(env, |inside| {
        stacks::at_call(inside, |token, pc| token.step(pc, operation(head, address, value)));
        after_step(inside);
    });
}

fn operation(head: u64, address: u64, value: u64) -> Op<'static> {
    let size = (head >> 8 & 15) as u32;
    let (addr, flags) = (Addr(address), AccessFlags(0));
    match head as u8 {
        kind::READ => Op::Read { addr, size, value: Value::Word(value), flags },
        kind::WRITE => Op::Write { addr, size, value: Value::Word(value), flags },
        _ => Op::Alloc { addr, size: value },
    }
}

/// The access was made: if it was the last of the slice, others may come before the next.
pub fn after_step(token: &mut Token<'_, Jvm>) {
    if token.me().own.budget.get() == 0 {
        token.after_step(false);
    }
}

unsafe extern "system" fn stepped(env: Env, _: Class) {
    threads::enter(env, |inside| after_step(inside));
}

unsafe extern "system" fn point(env: Env, _: Class) {
    threads::enter(env, |inside| inside.point());
}

/// Reads and writes of volatile fields.
unsafe extern "system" fn atomic(env: Env, _: Class, site: i32, address: u64, read: u64, written: u64, kind: i32) {
    let (pc, size, mask) = {
        let classes = agent().classes();
        let is_status = classes.site(site as u32).is_some_and(|(loaded, site)| {
            let member = loaded.facts.members.get(site.member as usize);
            member.is_some_and(|member| queues::is_status(&member.class, &member.name))
        });
        let mask = if is_status { queues::WAITS_FOR_CONDITION } else { u64::MAX };
        (classes.pc(site as u32), resolve::size_at(&classes, site as u32), mask)
    };
    threads::enter(env, |inside| {
        record_atomic(inside, pc, (address, size), (read & mask, written & mask), kind, MemoryOrder::SeqCst)
    });
}

pub fn record_atomic(
    token: &mut Token<'_, Jvm>,
    pc: u64,
    place: (u64, u32),
    values: (u64, u64),
    kind: i32,
    order: MemoryOrder,
) {
    let (addr, size) = (Addr(place.0), place.1);
    let (read, written) = (Value::Word(values.0), Value::Word(values.1));
    let kind = AtomicKind::of_bits(kind as u8);
    token.step(pc, Op::Atomic { kind, order, addr, size, read, written });
    token.after_step(true);
}

unsafe extern "system" fn fence(env: Env, _: Class, site: i32) {
    let (kind, pc) = {
        let classes = agent().classes();
        (classes.site(site as u32).map(|(_, site)| site.kind), classes.pc(site as u32))
    };
    let order = match kind {
        Some(SiteKind::Fence(Fence::Acquire)) => MemoryOrder::Acquire,
        Some(SiteKind::Fence(Fence::Release)) => MemoryOrder::Release,
        _ => MemoryOrder::SeqCst,
    };
    threads::enter(env, |inside| inside.step(pc, Op::Fence { order }));
}

unsafe extern "system" fn call(env: Env, _: Class, stack: i32, site: i32) -> i32 {
    let (agent, site) = (agent(), site as u32);
    let pc = agent.classes().pc(site);
    let made = threads::enter(env, |inside| {
        let next = stacks::call(inside, stack as u32, pc);
        let entry = agent.hot.site(site);
        (entry.a, entry.b) = (stack as u32, next);
        next
    });
    made.unwrap_or(stack as u32) as i32
}

unsafe extern "system" fn enter_monitor(env: Env, _: Class, address: u64, site: i32) {
    let pc = agent().classes().pc(site as u32);
    threads::enter(env, |inside| monitors::acquire(inside, pc, address));
}

unsafe extern "system" fn exit_monitor(env: Env, _: Class, address: u64, site: i32) {
    let pc = agent().classes().pc(site as u32);
    threads::enter(env, |inside| monitors::release(inside, pc, address));
}
