//! In front of accesses: a run that follows a schedule, or makes threads meet, stops them there.

use super::jni::{Class, Env, Object};
use super::resolve::{place_of_offset, resolve, size_at};
use super::space::{COLLECTION, NOTHING_RECORDED, is_in_collection};
use super::threads::Jvm;
use super::{agent, stacks, threads};
use crate::rewrite::facts::SiteKind;
use crate::rewrite::unsafe_calls::Operation;
use reweave_guest::{Next, Token};

/// The thread is about to access something. `block`: the address of the object, 0 if it has none yet: then nobody else
/// can be about to access it.
pub unsafe extern "system" fn before(env: Env, class: Class, object: Object, block: u64, index: i32, site: i32) {
    let agent = agent();
    let number = site as u32;
    if matches!(agent.hot.site(number).head, 0 | COLLECTION) {
        // SAFETY: as the hook class calls it.
        unsafe { resolve(env, class, object, site) };
    }
    let entry = *agent.hot.site(number);
    let (pc, size, write) = {
        let classes = agent.classes();
        let write = classes.site(number).is_some_and(|(_, site)| {
            matches!(site.kind, SiteKind::WriteField(_) | SiteKind::WriteStatic(_) | SiteKind::WriteElement(_))
        });
        (classes.pc(number), size_at(&classes, number), write)
    };
    let address = match (object.is_null(), block) {
        (true, _) => u64::from(entry.a) | u64::from(entry.b) << 32,
        (false, 0) => 0,
        (false, block) if index >= 0 => block + index as u64 * u64::from(size),
        (false, block) => block + u64::from(entry.b),
    };
    if is_in_collection(entry.head) {
        threads::enter(env, |inside| stacks::at_call(inside, |token, pc| stop(token, pc, address, size, write)));
    } else if entry.head & NOTHING_RECORDED == 0 {
        threads::enter(env, |inside| stop(inside, pc, address, size, write));
    }
}

/// The same for what lies at a real offset of an object.
pub unsafe extern "system" fn before_atomic(env: Env, _: Class, base: Object, block: u64, offset: i64, site: i32) {
    let (pc, size, write) = {
        let classes = agent().classes();
        let write = classes.site(site as u32).is_none_or(|(_, site)| match site.kind {
            SiteKind::Unsafe(call) => call.operation != Operation::Get,
            _ => true,
        });
        (classes.pc(site as u32), size_at(&classes, site as u32), write)
    };
    let address = if block == 0 { 0 } else { block + place_of_offset(env, base, offset) };
    threads::enter(env, |inside| stop(inside, pc, address, size, write));
}

pub fn stop(token: &mut Token<'_, Jvm>, pc: u64, address: u64, size: u32, write: bool) {
    if address != 0 {
        token.announce(Next::access(pc, address, size.into(), write));
    }
    token.point();
}
