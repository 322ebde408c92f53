//! Calls with a type: transfers, single elements, atomic operations, waits.
//!
//! The build script lists them, each as an invocation of the macro of its kind; `[ctx]` are those that take a context
//! first. The list says which calls there are, not which this library has: each is looked up when it is called.
//!
//! There are two thousand of them. So what a name becomes is a few instructions: everything is done by one function for
//! each kind (and, where an element is passed by value, for each way to pass it).

use std::ffi::c_void;
use std::sync::atomic::AtomicPtr;

use super::waits::{Many, satisfied};
use super::{ADD, Elements, Transfer, atomic, compare_and_swap, element, returned, signalled, transfer, waited};
use crate::event::{Action, Operator};
use crate::runtime::steer::{self, Decision};
use crate::runtime::{Call, missing, real};

/// A call that has a type in its name.
pub(super) struct Typed {
    /// The library's own function.
    name: &'static str,
    real: AtomicPtr<c_void>,
    pub(super) of: Elements,
}

impl Typed {
    pub(super) const fn new(name: &'static str, of: Elements) -> Typed {
        Typed { name, real: AtomicPtr::new(std::ptr::null_mut()), of }
    }

    /// Ends the process if the library has no such function: then the program could not have called it.
    pub(super) fn real(&self) -> *mut c_void {
        real::find(&self.real, self.name).unwrap_or_else(|| missing(self.name))
    }
}

/// An element as the integer that waits compare.
pub(super) trait Word: Copy + 'static {
    fn word(self) -> u64;
}

macro_rules! words {
    ($($type:ty)*) => {$(
        impl Word for $type {
            fn word(self) -> u64 {
                self as i64 as u64
            }
        }
    )*};
}
words! { i8 i16 i32 i64 u8 u16 u32 u64 }

impl Word for f32 {
    fn word(self) -> u64 {
        u64::from(self.to_bits())
    }
}

impl Word for f64 {
    fn word(self) -> u64 {
        self.to_bits()
    }
}

/// For kinds of calls that pass no element by value.
impl Word for () {
    fn word(self) -> u64 {
        0
    }
}

pub(super) const fn elements<T>(name: &str) -> Elements {
    Elements::named(name, size_of::<T>() as u32)
}

/// Where the elements of a transfer lie, and how it is completed.
#[derive(Clone, Copy)]
struct How {
    context: usize,
    blocking: bool,
    /// Distances of the elements: at the other rank, and here.
    strides: (i64, i64),
}

const fn plainly(context: usize, blocking: bool) -> How {
    How { context, blocking, strides: (1, 1) }
}

fn put_elements(call: &Call, elements: Elements, (to, from, count, pe): (u64, u64, u64, i32), how: How) -> Decision {
    // SAFETY: the program gives these bytes to the operation.
    let value = unsafe { element(from, elements, count) };
    let (there, here) = ((to, how.strides.0), (from, how.strides.1));
    let How { context, blocking, .. } = how;
    let one = Transfer::one(Action::Put, pe, there, here, elements, context);
    transfer(call, Transfer { count, blocking, value, ..one })
}

fn get_elements(call: &Call, elements: Elements, (to, from, count, pe): (u64, u64, u64, i32), how: How) -> Decision {
    let (there, here) = ((from, how.strides.0), (to, how.strides.1));
    let How { context, blocking, .. } = how;
    let one = Transfer::one(Action::Get, pe, there, here, elements, context);
    transfer(call, Transfer { count, blocking, ..one })
}

/// A value that is put, without memory of this rank.
fn put_value(call: &Call, elements: Elements, context: usize, to: u64, value: u64, pe: i32) -> Decision {
    let one = Transfer::one(Action::Put, pe, (to, 1), (0, 1), elements, context);
    transfer(call, Transfer { value: Some(value), ..one })
}

fn get_value(call: &Call, elements: Elements, context: usize, from: u64, pe: i32) -> Decision {
    transfer(call, Transfer::one(Action::Get, pe, (from, 1), (0, 1), elements, context))
}

/// An atomic operation whose result comes later, into memory of this rank.
fn fetch_later(call: &Call, operator: Operator, context: usize, at: (u64, u64, i32), elements: Elements) -> Decision {
    let (result, there, pe) = at;
    let one = Transfer::one(Action::Fetch(operator), pe, (there, 1), (result, 1), elements, context);
    transfer(call, Transfer { blocking: false, ..one })
}

/// Calls of one kind: arguments, what is done before the library's own function runs, and after. `<T>`: an element is
/// passed by value.
macro_rules! kinds {
    ($($kind:ident<$by:tt>($($arg:ident: $of:ty),*) -> $result:ty;
       |$call:ident, $elements:ident, $context:ident| $before:expr; |$value:ident| $after:expr;)*) => {$(
        #[allow(clippy::too_many_arguments, reason = "those of the call")]
        pub unsafe fn $kind<T: Word>(
            typed: &'static Typed, pc: u64, on: Option<usize>, $($arg: $of),*
        ) -> $result {
            let real = typed.real();
            let go = move || {
                // SAFETY: the program's own call; the standard has these arguments.
                unsafe {
                    match on {
                        None => std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($of),*) -> $result>(real)($($arg),*),
                        Some(on) => std::mem::transmute::<
                            *mut c_void, unsafe extern "C" fn(usize, $($of),*) -> $result,
                        >(real)(on, $($arg),*),
                    }
                }
            };
            let Some($call) = Call::enter(pc) else { return go() };
            #[allow(unused, reason = "not every kind needs them")]
            let ($elements, $context) = (typed.of, on.unwrap_or(0));
            let decision = Decision::from($before);
            if decision.waits() {
                if let Decision::Late(context) = decision {
                    steer::shmem_keep(context, move || {
                        go();
                    });
                }
                // SAFETY: only calls that bring nothing back are kept.
                return unsafe { std::mem::zeroed() };
            }
            let $value = go();
            steer::shmem_brought(decision, &$value);
            steer::shmem_after(decision);
            // SAFETY: what the library has filled.
            #[allow(unused_unsafe, reason = "a few are safe")]
            unsafe { $after };
            $value
        }
        kinds! { @stub ($) $kind $by ($($arg: $of),*) $result }
    )*};
    (@stub ($dollar:tt) $kind:ident $by:tt ($($arg:ident: $of:ty),*) $result:ty) => {
        macro_rules! $kind {
            ([] $dollar name:ident $dollar label:literal $dollar kind_of:ty) => {
                const _: () = {
                    #[allow(unused, reason = "not every call has memory of that type")]
                    type T = $dollar kind_of;
                    /// # Safety
                    /// As the library has it.
                    #[unsafe(no_mangle)]
                    pub unsafe extern "C" fn $dollar name($($arg: $of),*) -> $result {
                        static TYPED: Typed =
                            Typed::new(concat!("p", stringify!($dollar name)), elements::<$dollar kind_of>($dollar label));
                        let pc = caller!();
                        // SAFETY: the contract is that of the function replaced.
                        unsafe { by_kind::$kind::<$by>(&TYPED, pc, None, $($arg),*) }
                    }
                };
            };
            ([ctx] $dollar name:ident $dollar label:literal $dollar kind_of:ty) => {
                const _: () = {
                    #[allow(unused, reason = "not every call has memory of that type")]
                    type T = $dollar kind_of;
                    /// # Safety
                    /// As the library has it.
                    #[unsafe(no_mangle)]
                    pub unsafe extern "C" fn $dollar name(context: usize, $($arg: $of),*) -> $result {
                        static TYPED: Typed =
                            Typed::new(concat!("p", stringify!($dollar name)), elements::<$dollar kind_of>($dollar label));
                        let pc = caller!();
                        // SAFETY: the contract is that of the function replaced.
                        unsafe { by_kind::$kind::<$by>(&TYPED, pc, Some(context), $($arg),*) }
                    }
                };
            };
        }
    };
}

/// Not equal, as a comparison of the library.
pub(super) const NOT_EQUAL: i32 = 1;

#[macro_use]
mod by_kind {
    use super::*;

    kinds! {
        put<()>(to: u64, from: u64, n: u64, pe: i32) -> ();
            |call, of, context| put_elements(&call, of, (to, from, n, pe), plainly(context, true)); |done| ();
        get<()>(to: u64, from: u64, n: u64, pe: i32) -> ();
            |call, of, context| get_elements(&call, of, (to, from, n, pe), plainly(context, true)); |done| ();
        put_nbi<()>(to: u64, from: u64, n: u64, pe: i32) -> ();
            |call, of, context| put_elements(&call, of, (to, from, n, pe), plainly(context, false)); |done| ();
        get_nbi<()>(to: u64, from: u64, n: u64, pe: i32) -> ();
            |call, of, context| get_elements(&call, of, (to, from, n, pe), plainly(context, false)); |done| ();
        iput<()>(to: u64, from: u64, tst: i64, sst: i64, n: u64, pe: i32) -> ();
            |call, of, context| put_elements(&call, of, (to, from, n, pe), How { context, blocking: true, strides: (tst, sst) });
            |done| ();
        iget<()>(to: u64, from: u64, tst: i64, sst: i64, n: u64, pe: i32) -> ();
            |call, of, context| get_elements(&call, of, (to, from, n, pe), How { context, blocking: true, strides: (sst, tst) });
            |done| ();
        put_signal<()>(to: u64, from: u64, n: u64, signal: u64, value: u64, op: i32, pe: i32) -> ();
            |call, of, context| signalled(&call, of, (to, from, n, pe), (signal, value, op), (context, true)); |done| ();
        put_signal_nbi<()>(to: u64, from: u64, n: u64, signal: u64, value: u64, op: i32, pe: i32) -> ();
            |call, of, context| signalled(&call, of, (to, from, n, pe), (signal, value, op), (context, false)); |done| ();
        p<T>(to: u64, value: T, pe: i32) -> ();
            |call, of, context| put_value(&call, of, context, to, value.word(), pe); |done| ();
        g<T>(from: u64, pe: i32) -> T;
            |call, of, context| get_value(&call, of, context, from, pe); |value| ();
    }

    // Atomic operations.
    kinds! {
        set<T>(to: u64, value: T, pe: i32) -> ();
            |call, of, context| atomic(&call, Action::Accumulate(Operator::Replace), context, to, of, value.word(), pe);
            |done| ();
        fetch<T>(from: u64, pe: i32) -> T;
            |call, of, context| atomic(&call, Action::Fetch(Operator::NoOp), context, from, of, 0, pe);
            |value| returned(&call, from, pe, value.word());
        swap<T>(to: u64, new: T, pe: i32) -> T;
            |call, of, context| atomic(&call, Action::Fetch(Operator::Replace), context, to, of, new.word(), pe);
            |value| returned(&call, to, pe, value.word());
        add<T>(to: u64, more: T, pe: i32) -> ();
            |call, of, context| atomic(&call, Action::Accumulate(ADD), context, to, of, more.word(), pe); |done| ();
        inc<()>(to: u64, pe: i32) -> ();
            |call, of, context| atomic(&call, Action::Accumulate(ADD), context, to, of, 1, pe); |done| ();
        fetch_add<T>(to: u64, more: T, pe: i32) -> T;
            |call, of, context| atomic(&call, Action::Fetch(ADD), context, to, of, more.word(), pe);
            |value| returned(&call, to, pe, value.word());
        fetch_inc<T>(to: u64, pe: i32) -> T;
            |call, of, context| atomic(&call, Action::Fetch(ADD), context, to, of, 1, pe);
            |value| returned(&call, to, pe, value.word());
        compare_swap<T>(to: u64, old: T, new: T, pe: i32) -> T;
            |call, of, context| compare_and_swap(&call, context, to, of, (old.word(), new.word()), pe);
            |value| returned(&call, to, pe, value.word());
        and<T>(to: u64, with: T, pe: i32) -> ();
            |call, of, context| atomic(&call, Action::Accumulate(Operator::BitAnd), context, to, of, with.word(), pe);
            |done| ();
        or<T>(to: u64, with: T, pe: i32) -> ();
            |call, of, context| atomic(&call, Action::Accumulate(Operator::BitOr), context, to, of, with.word(), pe);
            |done| ();
        xor<T>(to: u64, with: T, pe: i32) -> ();
            |call, of, context| atomic(&call, Action::Accumulate(Operator::BitXor), context, to, of, with.word(), pe);
            |done| ();
        fetch_and<T>(to: u64, with: T, pe: i32) -> T;
            |call, of, context| atomic(&call, Action::Fetch(Operator::BitAnd), context, to, of, with.word(), pe);
            |value| returned(&call, to, pe, value.word());
        fetch_or<T>(to: u64, with: T, pe: i32) -> T;
            |call, of, context| atomic(&call, Action::Fetch(Operator::BitOr), context, to, of, with.word(), pe);
            |value| returned(&call, to, pe, value.word());
        fetch_xor<T>(to: u64, with: T, pe: i32) -> T;
            |call, of, context| atomic(&call, Action::Fetch(Operator::BitXor), context, to, of, with.word(), pe);
            |value| returned(&call, to, pe, value.word());
        fetch_nbi<()>(into: u64, from: u64, pe: i32) -> ();
            |call, of, context| fetch_later(&call, Operator::NoOp, context, (into, from, pe), of); |done| ();
        swap_nbi<T>(into: u64, to: u64, new: T, pe: i32) -> ();
            |call, of, context| fetch_later(&call, Operator::Replace, context, (into, to, pe), of); |done| ();
        fetch_add_nbi<T>(into: u64, to: u64, more: T, pe: i32) -> ();
            |call, of, context| fetch_later(&call, ADD, context, (into, to, pe), of); |done| ();
        fetch_inc_nbi<()>(into: u64, to: u64, pe: i32) -> ();
            |call, of, context| fetch_later(&call, ADD, context, (into, to, pe), of); |done| ();
        compare_swap_nbi<T>(into: u64, to: u64, old: T, new: T, pe: i32) -> ();
            |call, of, context| fetch_later(&call, Operator::CompareAndSwap, context, (into, to, pe), of); |done| ();
        fetch_and_nbi<T>(into: u64, to: u64, with: T, pe: i32) -> ();
            |call, of, context| fetch_later(&call, Operator::BitAnd, context, (into, to, pe), of); |done| ();
        fetch_or_nbi<T>(into: u64, to: u64, with: T, pe: i32) -> ();
            |call, of, context| fetch_later(&call, Operator::BitOr, context, (into, to, pe), of); |done| ();
        fetch_xor_nbi<T>(into: u64, to: u64, with: T, pe: i32) -> ();
            |call, of, context| fetch_later(&call, Operator::BitXor, context, (into, to, pe), of); |done| ();
    }

    // Waits and tests.
    kinds! {
        wait<T>(word: u64, than: T) -> ();
            |call, of, context| steer::shmem_completing(None); |done| waited(&call, word, of, NOT_EQUAL, than.word() as i64);
        wait_until<T>(word: u64, how: i32, wanted: T) -> ();
            |call, of, context| steer::shmem_completing(None); |done| waited(&call, word, of, how, wanted.word() as i64);
        test<T>(word: u64, how: i32, wanted: T) -> i32;
            |call, of, context| (); |yes| if yes != 0 { waited(&call, word, of, how, wanted.word() as i64) };
        wait_until_all<T>(words: u64, n: u64, skip: *const i32, how: i32, wanted: T) -> ();
            |call, of, context| (); |done| satisfied(&call, of, (words, n), how, Many::All(skip), |_| wanted.word());
        wait_until_any<T>(words: u64, n: u64, skip: *const i32, how: i32, wanted: T) -> u64;
            |call, of, context| (); |which| satisfied(&call, of, (words, n), how, Many::One(which), |_| wanted.word());
        wait_until_some<T>(words: u64, n: u64, which: *mut u64, skip: *const i32, how: i32, wanted: T) -> u64;
            |call, of, context| (); |m| satisfied(&call, of, (words, n), how, Many::Some(which, m), |_| wanted.word());
        wait_until_all_vector<T>(words: u64, n: u64, skip: *const i32, how: i32, wanted: *const T) -> ();
            |call, of, context| (); |done| satisfied(&call, of, (words, n), how, Many::All(skip), |i| wanted.add(i).read().word());
        wait_until_any_vector<T>(words: u64, n: u64, skip: *const i32, how: i32, wanted: *const T) -> u64;
            |call, of, context| (); |which| satisfied(&call, of, (words, n), how, Many::One(which), |i| wanted.add(i).read().word());
        wait_until_some_vector<T>(words: u64, n: u64, which: *mut u64, skip: *const i32, how: i32, wanted: *const T) -> u64;
            |call, of, context| (); |m| satisfied(&call, of, (words, n), how, Many::Some(which, m), |i| wanted.add(i).read().word());
        test_all<T>(words: u64, n: u64, skip: *const i32, how: i32, wanted: T) -> i32;
            |call, of, context| (); |yes| if yes != 0 { satisfied(&call, of, (words, n), how, Many::All(skip), |_| wanted.word()) };
        test_any<T>(words: u64, n: u64, skip: *const i32, how: i32, wanted: T) -> u64;
            |call, of, context| (); |which| satisfied(&call, of, (words, n), how, Many::One(which), |_| wanted.word());
        test_some<T>(words: u64, n: u64, which: *mut u64, skip: *const i32, how: i32, wanted: T) -> u64;
            |call, of, context| (); |m| satisfied(&call, of, (words, n), how, Many::Some(which, m), |_| wanted.word());
        test_all_vector<T>(words: u64, n: u64, skip: *const i32, how: i32, wanted: *const T) -> i32;
            |call, of, context| (); |yes| if yes != 0 { satisfied(&call, of, (words, n), how, Many::All(skip), |i| wanted.add(i).read().word()) };
        test_any_vector<T>(words: u64, n: u64, skip: *const i32, how: i32, wanted: *const T) -> u64;
            |call, of, context| (); |which| satisfied(&call, of, (words, n), how, Many::One(which), |i| wanted.add(i).read().word());
        test_some_vector<T>(words: u64, n: u64, which: *mut u64, skip: *const i32, how: i32, wanted: *const T) -> u64;
            |call, of, context| (); |m| satisfied(&call, of, (words, n), how, Many::Some(which, m), |i| wanted.add(i).read().word());
    }
}

include!(concat!(env!("OUT_DIR"), "/shmem_calls.rs"));
