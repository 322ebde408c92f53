//! Plain memory accesses: the hot path. The hook comes before the access: a read's value is taken now (nobody else can
//! run in between), a write's value is filled in at the thread's next hook.

use super::copies::{follows_write, is_copying};
use super::load::load;
use super::register::Hook;
use super::{Native, Thread, Token, conductor_of_thread, threads, tls};
use reweave_conductor::policy::Next;
use reweave_conductor::recorder::Recorder;
use reweave_guest::hold;
use reweave_model::AccessFlags;
use reweave_model::wire::{self, kind};
use std::ptr::NonNull;

/// Nothing here calls anything, so that the compiler saves no registers: whatever is not plain goes to [`cold`].
///
/// `WATCH`: repetitions are left out. `FORESEE`: others may be foreseen meanwhile.
#[inline(always)]
fn access<const WRITE: bool, const WATCH: bool, const FORESEE: bool>(addr: u64, size: u32, flags: u8, pc: u64) {
    let Some(row) = NonNull::new(tls::thread()) else {
        return cold::<WRITE, WATCH>(addr, size, flags, pc);
    };
    // SAFETY: this thread has a row.
    let (conductor, own) = unsafe { (conductor_of_thread(), &row.as_ref().own) };
    if own.budget.get() == 0 || conductor.holder() != own.gate() {
        return cold::<WRITE, WATCH>(addr, size, flags, pc);
    }
    // SAFETY: the row of this very thread, which has just been seen to hold the token. If it is inside the runtime,
    // where another token may be in use, nothing of the state is borrowed: the runtime's own code has no hooks.
    let mut token = unsafe { Token::assume(conductor, row) };
    let (recorder, me) = token.recorder();
    if WATCH && recorder.repeats.is_over(&own.moment) {
        return cold::<WRITE, WATCH>(addr, size, flags, pc);
    }
    if WATCH && recorder.repeats.has::<WRITE>(&own.moment, addr, size, pc) {
        own.budget.set(own.budget.get() - 1);
        return recorder.pass_over(me);
    }
    if !own.shows_stack()
        || recorder.is_full()
        || !(!WRITE && follows_write(recorder, me, size) || recorder.fill_pending_word(me))
    {
        return cold::<WRITE, WATCH>(addr, size, flags, pc);
    }
    put::<WRITE, WATCH, FORESEE>(recorder, me, addr, size, flags, pc);
}

/// Writes the record.
#[inline(always)]
fn put<const WRITE: bool, const WATCH: bool, const FORESEE: bool>(
    recorder: &mut Recorder<Native>,
    me: &Thread,
    addr: u64,
    size: u32,
    flags: u8,
    pc: u64,
) {
    if WATCH {
        recorder.repeats.note::<WRITE>(&me.own.moment, addr, size, pc);
    }
    me.own.budget.set(me.own.budget.get() - 1);
    // For a write, what was there before: see [`is_copying`].
    let value = load(addr, size);
    let head = head::<WRITE>(size, flags, pc);
    // SAFETY: callers have made room, shown the stack and settled the write before.
    unsafe { recorder.put_access::<WRITE, FORESEE>(me, head, (addr, size), value) };
}

#[inline(always)]
const fn head<const WRITE: bool>(size: u32, flags: u8, pc: u64) -> u64 {
    wire::access_word(if WRITE { kind::WRITE } else { kind::READ }, size as u8, flags, pc)
}

/// Where accesses that are foreseen take no record: most take this way. As [`access`], it calls nothing.
#[inline(always)]
fn foreseeing<const WRITE: bool, const SIZE: u32>(addr: u64, pc: u64) {
    let Some(row) = NonNull::new(tls::thread()) else {
        return cold::<WRITE, false>(addr, SIZE, NONE, pc);
    };
    // SAFETY: this thread has a row.
    let (conductor, own) = unsafe { (conductor_of_thread(), &row.as_ref().own) };
    if own.budget.get() == 0 || conductor.holder() != own.gate() {
        return cold::<WRITE, false>(addr, SIZE, NONE, pc);
    }
    // SAFETY: as in `access`.
    let mut token = unsafe { Token::assume(conductor, row) };
    let (recorder, me) = token.recorder();
    let head = head::<WRITE>(SIZE, NONE, pc);
    if !recorder.goes_on::<WRITE>(me, head, addr, SIZE) {
        return unforeseen::<WRITE, SIZE>(addr, head);
    }
    own.budget.set(own.budget.get() - 1);
}

/// Not foreseen at a glance.
#[inline(never)]
extern "C" fn unforeseen<const WRITE: bool, const SIZE: u32>(addr: u64, head: u64) {
    let Some(row) = NonNull::new(tls::thread()) else { return };
    // SAFETY: this thread has a row, and `foreseeing` has just seen that it holds the token and has steps left.
    let mut token = unsafe { Token::assume(conductor_of_thread(), row) };
    let (recorder, me) = token.recorder();
    if recorder.rests() {
        return access::<WRITE, false, true>(addr, SIZE, NONE, head >> 16);
    }
    if recorder.goes_on_somehow::<WRITE>(me, head, addr, SIZE) {
        return me.own.budget.set(me.own.budget.get() - 1);
    }
    access::<WRITE, false, true>(addr, SIZE, NONE, head >> 16);
}

/// The whole path.
#[cold]
#[inline(never)]
fn cold<const WRITE: bool, const WATCH: bool>(addr: u64, size: u32, flags: u8, pc: u64) {
    let Some(row) = NonNull::new(tls::thread()) else {
        return unannounced::<WRITE, WATCH>(addr, size, flags, pc);
    };
    // SAFETY: this thread has a row.
    let (conductor, own) = unsafe { (conductor_of_thread(), &row.as_ref().own) };
    // SAFETY: as above.
    let held = conductor.holder() == unsafe { row.as_ref() }.id;
    // SAFETY: as in `access`: it has just been seen to hold the token.
    let copying = !WRITE && held && go_on_copying(unsafe { Token::assume(conductor, row) }, addr, size);
    let mut token = if own.budget.get() == 0 || conductor.holder() != own.gate() {
        if own.inside.get() != 0 {
            return;
        }
        own.inside.set(1);
        // SAFETY: this thread's own row; outside of the runtime no other token of it is in use.
        let mut token = unsafe { hold(conductor, row) };
        slow(&mut token, Next::access(pc, addr, size.into(), WRITE));
        if own.ignores(WRITE) {
            // The last write's value is still its own.
            return token.fill_pending_write();
        }
        token
    } else {
        // SAFETY: as in `access`: it has just been seen to hold the token.
        unsafe { Token::assume(conductor, row) }
    };
    let (recorder, me) = token.recorder();
    if !copying {
        recorder.fill_pending_write(me);
        if recorder.is_full() || recorder.has_foreseen_enough() {
            recorder.publish(me);
        }
    }
    if !own.shows_stack() {
        recorder.context(me);
    }
    if WATCH {
        recorder.repeats.renew(&own.moment);
    }
    if WATCH {
        put::<WRITE, true, false>(recorder, me, addr, size, flags, pc);
    } else {
        // From this chunk on they may be.
        put::<WRITE, false, true>(recorder, me, addr, size, flags, pc);
    }
}

/// Whether a read belongs to a copy that the thread is in the middle of: nobody comes in between.
fn go_on_copying(mut token: Token<'_>, addr: u64, size: u32) -> bool {
    let (recorder, me) = token.recorder();
    let copying = is_copying(recorder, me, addr, size);
    if copying {
        token.go_on();
    }
    copying
}

/// How far up the stack an access is taken to be to a variable of its own thread.
const FRAMES: u64 = 16 << 10;

/// The slice is over, the token was gone, or some accesses are ignored. The thread is inside, and leaves.
#[cold]
#[inline(never)]
fn slow(token: &mut Token<'_>, next: Next) {
    // Frames of the callers lie above this one.
    let here = &raw const next as u64;
    token.announce(Next { local: (here..here + FRAMES).contains(&next.at), ..next });
    token.point();
    while !token.me().interrupts.is_empty() {
        super::signals::deliver(token);
        // The handler may have used up the slice.
        token.point();
    }
    token.me().own.inside.set(0);
}

#[cold]
#[inline(never)]
fn unannounced<const WRITE: bool, const WATCH: bool>(addr: u64, size: u32, flags: u8, pc: u64) {
    if threads::adopt().is_some() {
        access::<WRITE, WATCH, true>(addr, size, flags, pc);
    }
}

macro_rules! hooks {
    ($($name:ident $symbol:literal $write:literal $size:literal $flags:expr;)*) => {
        $(
            mod $name {
                use super::*;
                #[unsafe(naked)]
                pub unsafe extern "C" fn stub() {
                    std::arch::naked_asm!("mov rsi, [rsp]", "jmp {body}", body = sym body)
                }
                pub extern "C" fn body(addr: u64, pc: u64) {
                    if $size == 16 {
                        super::super::ranges::range(addr, 16, $write, $flags, pc);
                    } else {
                        // With plain ones at work, none is foreseen: those are replaced by others then.
                        access::<$write, false, { $flags != NONE }>(addr, $size, $flags, pc);
                    }
                }
            }
        )*
        pub const HOOKS: &[Hook] = &[
            $(($symbol, $name::stub as *const ()),)*
            ("__tsan_read1_pc", read1::body as *const ()),
            ("__tsan_read2_pc", read2::body as *const ()),
            ("__tsan_read4_pc", read4::body as *const ()),
            ("__tsan_read8_pc", read8::body as *const ()),
            ("__tsan_read16_pc", read16::body as *const ()),
            ("__tsan_write1_pc", write1::body as *const ()),
            ("__tsan_write2_pc", write2::body as *const ()),
            ("__tsan_write4_pc", write4::body as *const ()),
            ("__tsan_write8_pc", write8::body as *const ()),
            ("__tsan_write16_pc", write16::body as *const ()),
            ("__tsan_read_write1", update1::stub as *const ()),
            ("__tsan_read_write2", update2::stub as *const ()),
            ("__tsan_read_write4", update4::stub as *const ()),
            ("__tsan_read_write8", update8::stub as *const ()),
            ("__tsan_read_write16", update16::stub as *const ()),
            ("__tsan_unaligned_read_write1", update1::stub as *const ()),
            ("__tsan_unaligned_read_write2", update2::stub as *const ()),
            ("__tsan_unaligned_read_write4", update4::stub as *const ()),
            ("__tsan_unaligned_read_write8", update8::stub as *const ()),
            ("__tsan_unaligned_read_write16", update16::stub as *const ()),
            ("__tsan_vptr_update", vptr_write::stub as *const ()),
            ("__tsan_vptr_read", vptr_read::stub as *const ()),
        ];
    };
}

const NONE: u8 = 0;
const VOLATILE: u8 = AccessFlags::VOLATILE;

hooks! {
    read1 "__tsan_read1" false 1 NONE;
    read2 "__tsan_read2" false 2 NONE;
    read4 "__tsan_read4" false 4 NONE;
    read8 "__tsan_read8" false 8 NONE;
    read16 "__tsan_read16" false 16 NONE;
    write1 "__tsan_write1" true 1 NONE;
    write2 "__tsan_write2" true 2 NONE;
    write4 "__tsan_write4" true 4 NONE;
    write8 "__tsan_write8" true 8 NONE;
    write16 "__tsan_write16" true 16 NONE;
    uread1 "__tsan_unaligned_read1" false 1 NONE;
    uread2 "__tsan_unaligned_read2" false 2 NONE;
    uread4 "__tsan_unaligned_read4" false 4 NONE;
    uread8 "__tsan_unaligned_read8" false 8 NONE;
    uread16 "__tsan_unaligned_read16" false 16 NONE;
    uwrite1 "__tsan_unaligned_write1" true 1 NONE;
    uwrite2 "__tsan_unaligned_write2" true 2 NONE;
    uwrite4 "__tsan_unaligned_write4" true 4 NONE;
    uwrite8 "__tsan_unaligned_write8" true 8 NONE;
    uwrite16 "__tsan_unaligned_write16" true 16 NONE;
    vread1 "__tsan_volatile_read1" false 1 VOLATILE;
    vread2 "__tsan_volatile_read2" false 2 VOLATILE;
    vread4 "__tsan_volatile_read4" false 4 VOLATILE;
    vread8 "__tsan_volatile_read8" false 8 VOLATILE;
    vread16 "__tsan_volatile_read16" false 16 VOLATILE;
    vwrite1 "__tsan_volatile_write1" true 1 VOLATILE;
    vwrite2 "__tsan_volatile_write2" true 2 VOLATILE;
    vwrite4 "__tsan_volatile_write4" true 4 VOLATILE;
    vwrite8 "__tsan_volatile_write8" true 8 VOLATILE;
    vwrite16 "__tsan_volatile_write16" true 16 VOLATILE;
    uvread1 "__tsan_unaligned_volatile_read1" false 1 VOLATILE;
    uvread2 "__tsan_unaligned_volatile_read2" false 2 VOLATILE;
    uvread4 "__tsan_unaligned_volatile_read4" false 4 VOLATILE;
    uvread8 "__tsan_unaligned_volatile_read8" false 8 VOLATILE;
    uvread16 "__tsan_unaligned_volatile_read16" false 16 VOLATILE;
    uvwrite1 "__tsan_unaligned_volatile_write1" true 1 VOLATILE;
    uvwrite2 "__tsan_unaligned_volatile_write2" true 2 VOLATILE;
    uvwrite4 "__tsan_unaligned_volatile_write4" true 4 VOLATILE;
    uvwrite8 "__tsan_unaligned_volatile_write8" true 8 VOLATILE;
    uvwrite16 "__tsan_unaligned_volatile_write16" true 16 VOLATILE;
}

/// A read and the write that follows it (`g++`).
macro_rules! updates {
    ($($name:ident $size:literal;)*) => {$(
        mod $name {
            use super::*;
            #[unsafe(naked)]
            pub unsafe extern "C" fn stub() {
                std::arch::naked_asm!("mov rsi, [rsp]", "jmp {body}", body = sym body)
            }
            extern "C" fn body(addr: u64, pc: u64) {
                if $size == 16 {
                    super::super::ranges::range(addr, 16, false, NONE, pc);
                    super::super::ranges::range(addr, 16, true, NONE, pc);
                } else {
                    access::<false, false, true>(addr, $size, NONE, pc);
                    access::<true, false, true>(addr, $size, NONE, pc);
                }
            }
        }
    )*};
}
updates! { update1 1; update2 2; update4 4; update8 8; update16 16; }

/// A vptr update is a write only if it changes the pointer: constructors of a base and of the derived class both store.
mod vptr_write {
    use super::*;
    #[unsafe(naked)]
    pub unsafe extern "C" fn stub() {
        std::arch::naked_asm!("mov rdx, [rsp]", "jmp {body}", body = sym body)
    }
    extern "C" fn body(addr: u64, new: u64, pc: u64) {
        if load(addr, 8) != new {
            access::<true, false, true>(addr, 8, AccessFlags::VPTR, pc);
        }
    }
}

mod vptr_read {
    use super::*;
    #[unsafe(naked)]
    pub unsafe extern "C" fn stub() {
        std::arch::naked_asm!("mov rsi, [rsp]", "jmp {body}", body = sym body)
    }
    extern "C" fn body(addr: u64, pc: u64) {
        access::<false, false, true>(addr, 8, AccessFlags::VPTR, pc);
    }
}

/// The same hooks in other ways. They come before [`HOOKS`]; what is not here is rare.
macro_rules! instead {
    ($list:ident $way:ident; $($name:ident $size:literal $read:literal $write:literal;)*) => {
        $(
            mod $name {
                use super::*;
                #[unsafe(naked)]
                pub unsafe extern "C" fn read() {
                    std::arch::naked_asm!("mov rsi, [rsp]", "jmp {body}", body = sym read_body)
                }
                #[unsafe(naked)]
                pub unsafe extern "C" fn write() {
                    std::arch::naked_asm!("mov rsi, [rsp]", "jmp {body}", body = sym write_body)
                }
                pub extern "C" fn read_body(addr: u64, pc: u64) {
                    $way::<false, $size>(addr, pc);
                }
                pub extern "C" fn write_body(addr: u64, pc: u64) {
                    $way::<true, $size>(addr, pc);
                }
            }
        )*
        pub const $list: &[Hook] = &[
            $(
                (concat!("__tsan_", $read), $name::read as *const ()),
                (concat!("__tsan_", $write), $name::write as *const ()),
                (concat!("__tsan_unaligned_", $read), $name::read as *const ()),
                (concat!("__tsan_unaligned_", $write), $name::write as *const ()),
                (concat!("__tsan_", $read, "_pc"), $name::read_body as *const ()),
                (concat!("__tsan_", $write, "_pc"), $name::write_body as *const ()),
            )*
        ];
    };
}

/// For a program that is only watched: what repeats is left out.
#[inline(always)]
fn watching<const WRITE: bool, const SIZE: u32>(addr: u64, pc: u64) {
    access::<WRITE, true, false>(addr, SIZE, NONE, pc);
}

instead! { WATCHED watching;
    watched1 1 "read1" "write1";
    watched2 2 "read2" "write2";
    watched4 4 "read4" "write4";
    watched8 8 "read8" "write8";
}

instead! { FORESEEN foreseeing;
    foreseen1 1 "read1" "write1";
    foreseen2 2 "read2" "write2";
    foreseen4 4 "read4" "write4";
    foreseen8 8 "read8" "write8";
}
