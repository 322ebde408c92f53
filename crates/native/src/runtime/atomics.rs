//! C11 and C++ atomics: the hook performs the operation, so both values are known at once.

use super::register::Hook;
use super::tls::{self, pc_in_tls};
use super::{Inside, enter};
use reweave_conductor::policy::Next;
use reweave_model::{Addr, AtomicKind, MemoryOrder, Op, Value};
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::SeqCst};

fn order(bits: i32) -> MemoryOrder {
    MemoryOrder::of_bits(bits as u8)
}

/// Both values of an operation, as the trace has them.
fn value<'a>(bytes: &'a [u8; 16], size: usize) -> Value<'a> {
    match bytes.first_chunk::<8>() {
        Some(word) if size <= 8 => Value::Word(u64::from_le_bytes(*word)),
        _ => Value::Bytes(bytes),
    }
}

fn record<T: Word>(
    inside: &mut Inside,
    pc: u64,
    addr: *mut T,
    kind: AtomicKind,
    order: MemoryOrder,
    read: T,
    written: T,
) {
    let (read, written, size) = (read.bytes(), written.bytes(), size_of::<T>());
    let (read, written) = (value(&read, size), value(&written, size));
    let op = Op::Atomic { kind, order, addr: Addr(addr as u64), size: size as u32, read, written };
    inside.step(pc, op);
}

/// A value that an atomic operation works on.
trait Word: Copy + PartialEq {
    fn bytes(self) -> [u8; 16];
    /// # Safety
    /// `addr` is valid and aligned.
    unsafe fn load(addr: *mut Self) -> Self;
    /// # Safety
    /// As for `load`. False: something else was there.
    unsafe fn replace(addr: *mut Self, old: Self, new: Self) -> bool;
    fn apply(self, operation: Operation, with: Self) -> Self;
}

#[derive(Clone, Copy)]
enum Operation {
    Add,
    Sub,
    And,
    Or,
    Xor,
    Nand,
}

macro_rules! apply {
    () => {
        fn apply(self, operation: Operation, with: Self) -> Self {
            match operation {
                Operation::Add => self.wrapping_add(with),
                Operation::Sub => self.wrapping_sub(with),
                Operation::And => self & with,
                Operation::Or => self | with,
                Operation::Xor => self ^ with,
                Operation::Nand => !(self & with),
            }
        }
        fn bytes(self) -> [u8; 16] {
            u128::from(self).to_le_bytes()
        }
    };
}

macro_rules! word {
    ($($ty:ty, $atomic:ty;)*) => {$(
        impl Word for $ty {
            apply!();
            unsafe fn load(addr: *mut Self) -> Self {
                // SAFETY: by the contract.
                unsafe { <$atomic>::from_ptr(addr).load(SeqCst) }
            }
            unsafe fn replace(addr: *mut Self, old: Self, new: Self) -> bool {
                // SAFETY: by the contract.
                unsafe { <$atomic>::from_ptr(addr).compare_exchange(old, new, SeqCst, SeqCst).is_ok() }
            }
        }
    )*};
}
word! { u8, AtomicU8; u16, AtomicU16; u32, AtomicU32; u64, AtomicU64; }

/// The token makes reading 16 bytes atomic enough: no other instrumented atomic runs.
impl Word for u128 {
    apply!();
    unsafe fn load(addr: *mut Self) -> Self {
        // SAFETY: by the contract.
        unsafe { addr.read_volatile() }
    }
    unsafe fn replace(addr: *mut Self, old: Self, new: Self) -> bool {
        let done: u8;
        // SAFETY: by the contract. The compiler may keep something in rbx, so it is put aside, and nothing else that is
        // named here lies there.
        unsafe {
            std::arch::asm!(
                "xchg rbx, rsi",
                "lock cmpxchg16b [rdi]",
                "mov rbx, rsi",
                "sete r8b",
                in("rdi") addr,
                inout("rsi") new as u64 => _,
                out("r8b") done,
                inout("rax") old as u64 => _,
                inout("rdx") (old >> 64) as u64 => _,
                in("rcx") (new >> 64) as u64,
                options(nostack)
            );
        }
        done != 0
    }
}

/// Performs one operation and records it. Outside of recording it is performed all the same.
unsafe fn perform<T: Word>(addr: *mut T, kind: AtomicKind, mo: i32, pc: u64, new: impl Fn(T) -> T) -> T {
    let mut inside = enter();
    if let Some(inside) = &mut inside {
        inside.announce(Next::access(pc, addr as u64, size_of::<T>() as u64, kind.writes()));
        inside.sync_point();
        if !inside.me().interrupts.is_empty() {
            super::signals::deliver(inside);
        }
    }
    // Code without hooks, and where threads run free anybody, may come in between.
    let (read, written) = loop {
        // SAFETY: the program's own atomic.
        unsafe {
            let read = T::load(addr);
            let written = if kind.writes() { new(read) } else { read };
            if !kind.writes() || T::replace(addr, read, written) {
                break (read, written);
            }
        }
    };
    if let Some(inside) = &mut inside {
        record(inside, pc, addr, kind, order(mo), read, written);
    }
    read
}

unsafe fn compare_exchange<T: Word>(addr: *mut T, expected: T, new: T, mo: i32, fail: i32, pc: u64) -> T {
    let mut inside = enter();
    if let Some(inside) = &mut inside {
        inside.announce(Next::access(pc, addr as u64, size_of::<T>() as u64, true));
        inside.sync_point();
    }
    let (read, done) = loop {
        // SAFETY: the program's own atomic.
        unsafe {
            let read = T::load(addr);
            let done = read == expected;
            if !done || T::replace(addr, read, new) {
                break (read, done);
            }
        }
    };
    if let Some(inside) = &mut inside {
        let (kind, mo) = if done { (AtomicKind::CasDone, mo) } else { (AtomicKind::CasFailed, fail) };
        record(inside, pc, addr, kind, order(mo), read, if done { new } else { read });
    }
    read
}

macro_rules! hook {
    ($name:ident, $body:path) => {
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            pc_in_tls!($body)
        }
    };
}

macro_rules! width {
    ($bits:ident, $ty:ty) => {
        mod $bits {
            use super::*;
            type T = $ty;

            pub unsafe extern "C" fn load_body(addr: *mut T, mo: i32) -> T {
                let pc = tls::caller_pc();
                // SAFETY: the program's own operation.
                unsafe { perform(addr, AtomicKind::Load, mo, pc, |read| read) }
            }
            pub unsafe extern "C" fn store_body(addr: *mut T, value: T, mo: i32) {
                let pc = tls::caller_pc();
                // SAFETY: the program's own operation.
                unsafe { perform(addr, AtomicKind::Store, mo, pc, |_| value) };
            }
            pub unsafe extern "C" fn exchange_body(addr: *mut T, value: T, mo: i32) -> T {
                let pc = tls::caller_pc();
                // SAFETY: the program's own operation.
                unsafe { perform(addr, AtomicKind::Exchange, mo, pc, |_| value) }
            }
            pub unsafe extern "C" fn add_body(addr: *mut T, value: T, mo: i32) -> T {
                let pc = tls::caller_pc();
                // SAFETY: the program's own operation.
                unsafe { perform(addr, AtomicKind::Update, mo, pc, |read| read.apply(Operation::Add, value)) }
            }
            pub unsafe extern "C" fn sub_body(addr: *mut T, value: T, mo: i32) -> T {
                let pc = tls::caller_pc();
                // SAFETY: the program's own operation.
                unsafe { perform(addr, AtomicKind::Update, mo, pc, |read| read.apply(Operation::Sub, value)) }
            }
            pub unsafe extern "C" fn and_body(addr: *mut T, value: T, mo: i32) -> T {
                let pc = tls::caller_pc();
                // SAFETY: the program's own operation.
                unsafe { perform(addr, AtomicKind::Update, mo, pc, |read| read.apply(Operation::And, value)) }
            }
            pub unsafe extern "C" fn or_body(addr: *mut T, value: T, mo: i32) -> T {
                let pc = tls::caller_pc();
                // SAFETY: the program's own operation.
                unsafe { perform(addr, AtomicKind::Update, mo, pc, |read| read.apply(Operation::Or, value)) }
            }
            pub unsafe extern "C" fn xor_body(addr: *mut T, value: T, mo: i32) -> T {
                let pc = tls::caller_pc();
                // SAFETY: the program's own operation.
                unsafe { perform(addr, AtomicKind::Update, mo, pc, |read| read.apply(Operation::Xor, value)) }
            }
            pub unsafe extern "C" fn nand_body(addr: *mut T, value: T, mo: i32) -> T {
                let pc = tls::caller_pc();
                // SAFETY: the program's own operation.
                unsafe { perform(addr, AtomicKind::Update, mo, pc, |read| read.apply(Operation::Nand, value)) }
            }
            pub unsafe extern "C" fn cas_body(addr: *mut T, expected: *mut T, value: T, mo: i32, fail: i32) -> i32 {
                let pc = tls::caller_pc();
                // SAFETY: the program's own operation.
                unsafe {
                    let wanted = *expected;
                    let read = compare_exchange(addr, wanted, value, mo, fail, pc);
                    if read != wanted {
                        *expected = read;
                        if let Some(mut inside) = enter() {
                            super::super::ranges::wrote(&mut inside, expected.cast(), size_of::<T>(), pc);
                        }
                    }
                    (read == wanted).into()
                }
            }
            pub unsafe extern "C" fn cas_value_body(addr: *mut T, expected: T, value: T, mo: i32, fail: i32) -> T {
                let pc = tls::caller_pc();
                // SAFETY: the program's own operation.
                unsafe { compare_exchange(addr, expected, value, mo, fail, pc) }
            }
            hook!(load, load_body);
            hook!(store, store_body);
            hook!(exchange, exchange_body);
            hook!(add, add_body);
            hook!(sub, sub_body);
            hook!(and, and_body);
            hook!(or, or_body);
            hook!(xor, xor_body);
            hook!(nand, nand_body);
            hook!(cas, cas_body);
            hook!(cas_value, cas_value_body);
        }
    };
}
width!(bits8, u8);
width!(bits16, u16);
width!(bits32, u32);
width!(bits64, u64);
width!(bits128, u128);

unsafe extern "C" fn thread_fence_body(mo: i32) {
    let pc = tls::caller_pc();
    std::sync::atomic::fence(SeqCst);
    if let Some(mut inside) = enter() {
        inside.sync_point();
        inside.step(pc, Op::Fence { order: order(mo) });
    }
}
hook!(thread_fence, thread_fence_body);

macro_rules! names {
    ($($bits:literal $module:ident;)*) => {
        pub const HOOKS: &[Hook] = &[
            $(
                (concat!("__tsan_atomic", $bits, "_load"), $module::load as *const ()),
                (concat!("__tsan_atomic", $bits, "_store"), $module::store as *const ()),
                (concat!("__tsan_atomic", $bits, "_exchange"), $module::exchange as *const ()),
                (concat!("__tsan_atomic", $bits, "_fetch_add"), $module::add as *const ()),
                (concat!("__tsan_atomic", $bits, "_fetch_sub"), $module::sub as *const ()),
                (concat!("__tsan_atomic", $bits, "_fetch_and"), $module::and as *const ()),
                (concat!("__tsan_atomic", $bits, "_fetch_or"), $module::or as *const ()),
                (concat!("__tsan_atomic", $bits, "_fetch_xor"), $module::xor as *const ()),
                (concat!("__tsan_atomic", $bits, "_fetch_nand"), $module::nand as *const ()),
                (concat!("__tsan_atomic", $bits, "_compare_exchange_strong"), $module::cas as *const ()),
                (concat!("__tsan_atomic", $bits, "_compare_exchange_weak"), $module::cas as *const ()),
                (concat!("__tsan_atomic", $bits, "_compare_exchange_val"), $module::cas_value as *const ()),
            )*
            ("__tsan_atomic_thread_fence", thread_fence as *const ()),
        ];
    };
}
names! { "8" bits8; "16" bits16; "32" bits32; "64" bits64; "128" bits128; }
