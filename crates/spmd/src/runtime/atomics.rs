//! Atomic operations of the program, as the compilers' hooks have them: accesses, and the order that they make among
//! the threads of a rank. Relaxed ones order nothing.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};

use super::local::access;
use super::threads;

const RELAXED: i32 = 0;
const RELEASE: i32 = 3;
/// Numbers of orders; the compilers add flags above them.
const ORDERS: i32 = 0xff;

/// Before an operation that writes: what was done so far is given to whoever sees it.
fn before(pc: u64, address: u64, len: u32, write: bool, order: i32) {
    access(pc, address, len, write);
    if write && order & ORDERS >= RELEASE {
        threads::give(address);
    }
}

/// After an operation that reads.
fn after(address: u64, order: i32) {
    if order & ORDERS != RELAXED && order & ORDERS != RELEASE {
        threads::take(address);
    }
}

macro_rules! operations {
    ($($module:ident $type:ty, $atomic:ty, $len:literal;)*) => {$(
        mod $module {
            use super::*;

            fn cell<'a>(address: u64) -> &'a $atomic {
                // SAFETY: the program's own operand, which is aligned for its atomic operations.
                unsafe { <$atomic>::from_ptr(address as *mut $type) }
            }

            pub unsafe extern "C" fn load(address: u64, order: i32) -> $type {
                before(caller!(), address, $len, false, order);
                let value = cell(address).load(SeqCst);
                after(address, order);
                value
            }

            pub unsafe extern "C" fn store(address: u64, value: $type, order: i32) {
                before(caller!(), address, $len, true, order);
                cell(address).store(value, SeqCst);
            }

            fn update(pc: u64, address: u64, order: i32, with: impl Fn(&$atomic) -> $type) -> $type {
                before(pc, address, $len, true, order);
                let value = with(cell(address));
                after(address, order);
                value
            }

            pub unsafe extern "C" fn exchange(address: u64, value: $type, order: i32) -> $type {
                update(caller!(), address, order, |cell| cell.swap(value, SeqCst))
            }
            pub unsafe extern "C" fn add(address: u64, value: $type, order: i32) -> $type {
                update(caller!(), address, order, |cell| cell.fetch_add(value, SeqCst))
            }
            pub unsafe extern "C" fn sub(address: u64, value: $type, order: i32) -> $type {
                update(caller!(), address, order, |cell| cell.fetch_sub(value, SeqCst))
            }
            pub unsafe extern "C" fn and(address: u64, value: $type, order: i32) -> $type {
                update(caller!(), address, order, |cell| cell.fetch_and(value, SeqCst))
            }
            pub unsafe extern "C" fn or(address: u64, value: $type, order: i32) -> $type {
                update(caller!(), address, order, |cell| cell.fetch_or(value, SeqCst))
            }
            pub unsafe extern "C" fn xor(address: u64, value: $type, order: i32) -> $type {
                update(caller!(), address, order, |cell| cell.fetch_xor(value, SeqCst))
            }
            pub unsafe extern "C" fn nand(address: u64, value: $type, order: i32) -> $type {
                update(caller!(), address, order, |cell| cell.fetch_nand(value, SeqCst))
            }

            pub unsafe extern "C" fn compare(address: u64, expected: *mut $type, new: $type, order: i32, _: i32) -> i32 {
                // SAFETY: the program's own operand.
                let wanted = unsafe { expected.read() };
                let was = update(caller!(), address, order, |cell| {
                    cell.compare_exchange(wanted, new, SeqCst, SeqCst).unwrap_or_else(|was| was)
                });
                // SAFETY: as before.
                unsafe { expected.write(was) };
                i32::from(was == wanted)
            }
            pub unsafe extern "C" fn compare_value(address: u64, wanted: $type, new: $type, order: i32, _: i32) -> $type {
                update(caller!(), address, order, |cell| {
                    cell.compare_exchange(wanted, new, SeqCst, SeqCst).unwrap_or_else(|was| was)
                })
            }

            /// The function for an operation.
            pub fn hook(name: &str) -> Option<usize> {
                Some(match name {
                    "load" => load as *const () as usize,
                    "store" => store as *const () as usize,
                    "exchange" => exchange as *const () as usize,
                    "fetch_add" => add as *const () as usize,
                    "fetch_sub" => sub as *const () as usize,
                    "fetch_and" => and as *const () as usize,
                    "fetch_or" => or as *const () as usize,
                    "fetch_xor" => xor as *const () as usize,
                    "fetch_nand" => nand as *const () as usize,
                    "compare_exchange_strong" | "compare_exchange_weak" => compare as *const () as usize,
                    "compare_exchange_val" => compare_value as *const () as usize,
                    _ => return None,
                })
            }
        }
    )*};
}
operations! {
    bits8 u8, AtomicU8, 1;
    bits16 u16, AtomicU16, 2;
    bits32 u32, AtomicU32, 4;
    bits64 u64, AtomicU64, 8;
}

/// The function for a hook: `32_fetch_add`.
pub fn hook(name: &str) -> Option<usize> {
    let (bits, name) = name.split_once('_')?;
    match bits {
        "8" => bits8::hook(name),
        "16" => bits16::hook(name),
        "32" => bits32::hook(name),
        "64" => bits64::hook(name),
        _ => None,
    }
}
