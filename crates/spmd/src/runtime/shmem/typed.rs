//! Calls with a type: transfers, single elements, atomic operations, waits.
//!
//! The build script lists them, each as an invocation of the macro of its kind; `[ctx]` are those that take a context
//! first. The list says which calls there are, not which this library has: each is looked up when it is called.

use super::waits::{Many, satisfied};
use super::{ADD, Elements, Transfer, atomic, compare_swap, element, returned, signalled, transfer, waited};
use crate::event::{Action, Operator};
use crate::runtime::Call;
use crate::runtime::steer::{self, Decision};

/// An element as the integer that waits compare.
pub(super) trait Word: Copy {
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

pub(super) fn elements<T>(name: &str) -> Elements {
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

fn put<F>(call: &Call<F>, elements: Elements, (to, from, count, pe): (u64, u64, u64, i32), how: How) -> Decision {
    // SAFETY: the program gives these bytes to the operation.
    let value = unsafe { element(from, elements, count) };
    let (there, here) = ((to, how.strides.0), (from, how.strides.1));
    let How { context, blocking, .. } = how;
    transfer(
        call,
        Transfer { action: Action::Put, pe, there, here, count, elements, context, blocking, value, compare: None },
    )
}

fn get<F>(call: &Call<F>, elements: Elements, (to, from, count, pe): (u64, u64, u64, i32), how: How) -> Decision {
    let (there, here) = ((from, how.strides.0), (to, how.strides.1));
    let How { context, blocking, .. } = how;
    transfer(
        call,
        Transfer {
            action: Action::Get,
            pe,
            there,
            here,
            count,
            elements,
            context,
            blocking,
            value: None,
            compare: None,
        },
    )
}

/// A value that is put, without memory of this rank.
fn put_value<F>(call: &Call<F>, elements: Elements, context: usize, to: u64, value: u64, pe: i32) -> Decision {
    let (there, here, value) = ((to, 1), (0, 1), Some(value));
    transfer(
        call,
        Transfer {
            action: Action::Put,
            pe,
            there,
            here,
            count: 1,
            elements,
            context,
            blocking: true,
            value,
            compare: None,
        },
    )
}

fn get_value<F>(call: &Call<F>, elements: Elements, context: usize, from: u64, pe: i32) -> Decision {
    let (there, here) = ((from, 1), (0, 1));
    transfer(
        call,
        Transfer {
            action: Action::Get,
            pe,
            there,
            here,
            count: 1,
            elements,
            context,
            blocking: true,
            value: None,
            compare: None,
        },
    )
}

/// An atomic operation whose result comes later, into memory of this rank.
fn fetch_later<F>(
    call: &Call<F>,
    operator: Operator,
    context: usize,
    at: (u64, u64, i32),
    elements: Elements,
) -> Decision {
    let (result, there, pe) = at;
    let (there, here, action) = ((there, 1), (result, 1), Action::Fetch(operator));
    transfer(
        call,
        Transfer { action, pe, there, here, count: 1, elements, context, blocking: false, value: None, compare: None },
    )
}

/// The operation is issued later.
fn kept(decision: Decision, go: impl FnOnce() + 'static) {
    if let Decision::Late(context) = decision {
        steer::shmem_keep(context, go);
    }
}

/// Replaces a call: what is done before the library's own function runs, and after.
macro_rules! replace {
    ([] $name:ident($($arg:ident: $type:ty),*) -> $result:ty;
     |$call:ident, $context:ident| $before:expr; |$value:ident| $after:expr) => {
        interpose! { "p" fn $name($($arg: $type),*) -> $result { |$call| {
            let $context = 0usize;
            let decision = Decision::from($before);
            if decision.waits() {
                let real = $call.real;
                kept(decision, move || {
                    real($($arg),*);
                });
                // Only calls that bring nothing back are kept.
                return std::mem::zeroed();
            }
            let $value = ($call.real)($($arg),*);
            steer::shmem_after(decision);
            let _ = $context;
            $after;
            $value
        } } }
    };
    ([ctx] $name:ident($($arg:ident: $type:ty),*) -> $result:ty;
     |$call:ident, $context:ident| $before:expr; |$value:ident| $after:expr) => {
        interpose! { "p" fn $name($context: usize, $($arg: $type),*) -> $result { |$call| {
            let decision = Decision::from($before);
            if decision.waits() {
                let real = $call.real;
                kept(decision, move || {
                    real($context, $($arg),*);
                });
                // Only calls that bring nothing back are kept.
                return std::mem::zeroed();
            }
            let $value = ($call.real)($context, $($arg),*);
            steer::shmem_after(decision);
            $after;
            $value
        } } }
    };
}

/// Calls of one kind: arguments, and what they mean.
macro_rules! kinds {
    ($($kind:ident<$label:ident, $type:ident>($($arg:ident: $of:ty),*) -> $result:ty;
       |$call:ident, $context:ident| $before:expr; |$value:ident| $after:expr;)*) => {$(
        kinds! { @one ($) $kind $label $type ($($arg: $of),*) $result, $call $context $before, $value $after }
    )*};
    (@one ($dollar:tt) $kind:ident $label:ident $type:ident ($($arg:ident: $of:ty),*) $result:ty,
     $call:ident $context:ident $before:expr, $value:ident $after:expr) => {
        macro_rules! $kind {
            ($dollar how:tt $dollar name:ident $dollar label:literal $dollar kind_of:ty) => {
                const _: () = {
                    #[allow(unused, reason = "not every call has memory of that type")]
                    type $type = $dollar kind_of;
                    #[allow(unused, reason = "not every call names its type")]
                    const $label: &str = $dollar label;
                    replace! { $dollar how $dollar name($($arg: $of),*) -> $result;
                        |$call, $context| $before; |$value| $after }
                };
            };
        }
    };
}

kinds! {
    put<L, T>(to: u64, from: u64, n: u64, pe: i32) -> ();
        |call, context| put(&call, elements::<T>(L), (to, from, n, pe), plainly(context, true)); |done| ();
    get<L, T>(to: u64, from: u64, n: u64, pe: i32) -> ();
        |call, context| get(&call, elements::<T>(L), (to, from, n, pe), plainly(context, true)); |done| ();
    put_nbi<L, T>(to: u64, from: u64, n: u64, pe: i32) -> ();
        |call, context| put(&call, elements::<T>(L), (to, from, n, pe), plainly(context, false)); |done| ();
    get_nbi<L, T>(to: u64, from: u64, n: u64, pe: i32) -> ();
        |call, context| get(&call, elements::<T>(L), (to, from, n, pe), plainly(context, false)); |done| ();
    iput<L, T>(to: u64, from: u64, tst: i64, sst: i64, n: u64, pe: i32) -> ();
        |call, context| put(&call, elements::<T>(L), (to, from, n, pe), How { context, blocking: true, strides: (tst, sst) });
        |done| ();
    iget<L, T>(to: u64, from: u64, tst: i64, sst: i64, n: u64, pe: i32) -> ();
        |call, context| get(&call, elements::<T>(L), (to, from, n, pe), How { context, blocking: true, strides: (sst, tst) });
        |done| ();
    put_signal<L, T>(to: u64, from: u64, n: u64, signal: u64, value: u64, op: i32, pe: i32) -> ();
        |call, context| signalled(&call, elements::<T>(L), (to, from, n, pe), (signal, value, op), (context, true)); |done| ();
    put_signal_nbi<L, T>(to: u64, from: u64, n: u64, signal: u64, value: u64, op: i32, pe: i32) -> ();
        |call, context| signalled(&call, elements::<T>(L), (to, from, n, pe), (signal, value, op), (context, false)); |done| ();
    p<L, T>(to: u64, value: T, pe: i32) -> ();
        |call, context| put_value(&call, elements::<T>(L), context, to, value.word(), pe); |done| ();
    g<L, T>(from: u64, pe: i32) -> T;
        |call, context| get_value(&call, elements::<T>(L), context, from, pe); |value| ();
}

// Atomic operations.
kinds! {
    set<L, T>(to: u64, value: T, pe: i32) -> ();
        |call, context| atomic(&call, Action::Accumulate(Operator::Replace), context, to, elements::<T>(L), value.word(), pe);
        |done| ();
    fetch<L, T>(from: u64, pe: i32) -> T;
        |call, context| atomic(&call, Action::Fetch(Operator::NoOp), context, from, elements::<T>(L), 0, pe);
        |value| returned(&call, from, pe, value.word());
    swap<L, T>(to: u64, new: T, pe: i32) -> T;
        |call, context| atomic(&call, Action::Fetch(Operator::Replace), context, to, elements::<T>(L), new.word(), pe);
        |value| returned(&call, to, pe, value.word());
    add<L, T>(to: u64, more: T, pe: i32) -> ();
        |call, context| atomic(&call, Action::Accumulate(ADD), context, to, elements::<T>(L), more.word(), pe); |done| ();
    inc<L, T>(to: u64, pe: i32) -> ();
        |call, context| atomic(&call, Action::Accumulate(ADD), context, to, elements::<T>(L), 1, pe); |done| ();
    fetch_add<L, T>(to: u64, more: T, pe: i32) -> T;
        |call, context| atomic(&call, Action::Fetch(ADD), context, to, elements::<T>(L), more.word(), pe);
        |value| returned(&call, to, pe, value.word());
    fetch_inc<L, T>(to: u64, pe: i32) -> T;
        |call, context| atomic(&call, Action::Fetch(ADD), context, to, elements::<T>(L), 1, pe);
        |value| returned(&call, to, pe, value.word());
    compare_swap<L, T>(to: u64, old: T, new: T, pe: i32) -> T;
        |call, context| compare_swap(&call, context, to, elements::<T>(L), (old.word(), new.word()), pe);
        |value| returned(&call, to, pe, value.word());
    and<L, T>(to: u64, with: T, pe: i32) -> ();
        |call, context| atomic(&call, Action::Accumulate(Operator::BitAnd), context, to, elements::<T>(L), with.word(), pe);
        |done| ();
    or<L, T>(to: u64, with: T, pe: i32) -> ();
        |call, context| atomic(&call, Action::Accumulate(Operator::BitOr), context, to, elements::<T>(L), with.word(), pe);
        |done| ();
    xor<L, T>(to: u64, with: T, pe: i32) -> ();
        |call, context| atomic(&call, Action::Accumulate(Operator::BitXor), context, to, elements::<T>(L), with.word(), pe);
        |done| ();
    fetch_and<L, T>(to: u64, with: T, pe: i32) -> T;
        |call, context| atomic(&call, Action::Fetch(Operator::BitAnd), context, to, elements::<T>(L), with.word(), pe);
        |value| returned(&call, to, pe, value.word());
    fetch_or<L, T>(to: u64, with: T, pe: i32) -> T;
        |call, context| atomic(&call, Action::Fetch(Operator::BitOr), context, to, elements::<T>(L), with.word(), pe);
        |value| returned(&call, to, pe, value.word());
    fetch_xor<L, T>(to: u64, with: T, pe: i32) -> T;
        |call, context| atomic(&call, Action::Fetch(Operator::BitXor), context, to, elements::<T>(L), with.word(), pe);
        |value| returned(&call, to, pe, value.word());
    fetch_nbi<L, T>(into: u64, from: u64, pe: i32) -> ();
        |call, context| fetch_later(&call, Operator::NoOp, context, (into, from, pe), elements::<T>(L)); |done| ();
    swap_nbi<L, T>(into: u64, to: u64, new: T, pe: i32) -> ();
        |call, context| fetch_later(&call, Operator::Replace, context, (into, to, pe), elements::<T>(L)); |done| ();
    fetch_add_nbi<L, T>(into: u64, to: u64, more: T, pe: i32) -> ();
        |call, context| fetch_later(&call, ADD, context, (into, to, pe), elements::<T>(L)); |done| ();
    fetch_inc_nbi<L, T>(into: u64, to: u64, pe: i32) -> ();
        |call, context| fetch_later(&call, ADD, context, (into, to, pe), elements::<T>(L)); |done| ();
    compare_swap_nbi<L, T>(into: u64, to: u64, old: T, new: T, pe: i32) -> ();
        |call, context| fetch_later(&call, Operator::CompareAndSwap, context, (into, to, pe), elements::<T>(L)); |done| ();
    fetch_and_nbi<L, T>(into: u64, to: u64, with: T, pe: i32) -> ();
        |call, context| fetch_later(&call, Operator::BitAnd, context, (into, to, pe), elements::<T>(L)); |done| ();
    fetch_or_nbi<L, T>(into: u64, to: u64, with: T, pe: i32) -> ();
        |call, context| fetch_later(&call, Operator::BitOr, context, (into, to, pe), elements::<T>(L)); |done| ();
    fetch_xor_nbi<L, T>(into: u64, to: u64, with: T, pe: i32) -> ();
        |call, context| fetch_later(&call, Operator::BitXor, context, (into, to, pe), elements::<T>(L)); |done| ();
}

/// Not equal, as a comparison of the library.
pub(super) const NOT_EQUAL: i32 = 1;

// Waits and tests.
kinds! {
    wait<L, T>(word: u64, than: T) -> ();
        |call, context| steer::shmem_completing(None); |done| waited(&call, word, elements::<T>(L), NOT_EQUAL, than.word() as i64);
    wait_until<L, T>(word: u64, how: i32, wanted: T) -> ();
        |call, context| steer::shmem_completing(None); |done| waited(&call, word, elements::<T>(L), how, wanted.word() as i64);
    test<L, T>(word: u64, how: i32, wanted: T) -> i32;
        |call, context| (); |yes| if yes != 0 { waited(&call, word, elements::<T>(L), how, wanted.word() as i64) };
    wait_until_all<L, T>(words: u64, n: u64, skip: *const i32, how: i32, wanted: T) -> ();
        |call, context| (); |done| satisfied(&call, elements::<T>(L), (words, n), how, Many::All(skip), |_| wanted.word());
    wait_until_any<L, T>(words: u64, n: u64, skip: *const i32, how: i32, wanted: T) -> u64;
        |call, context| (); |which| satisfied(&call, elements::<T>(L), (words, n), how, Many::One(which), |_| wanted.word());
    wait_until_some<L, T>(words: u64, n: u64, which: *mut u64, skip: *const i32, how: i32, wanted: T) -> u64;
        |call, context| (); |m| satisfied(&call, elements::<T>(L), (words, n), how, Many::Some(which, m), |_| wanted.word());
    wait_until_all_vector<L, T>(words: u64, n: u64, skip: *const i32, how: i32, wanted: *const T) -> ();
        |call, context| (); |done| satisfied(&call, elements::<T>(L), (words, n), how, Many::All(skip), |i| wanted.add(i).read().word());
    wait_until_any_vector<L, T>(words: u64, n: u64, skip: *const i32, how: i32, wanted: *const T) -> u64;
        |call, context| (); |which| satisfied(&call, elements::<T>(L), (words, n), how, Many::One(which), |i| wanted.add(i).read().word());
    wait_until_some_vector<L, T>(words: u64, n: u64, which: *mut u64, skip: *const i32, how: i32, wanted: *const T) -> u64;
        |call, context| (); |m| satisfied(&call, elements::<T>(L), (words, n), how, Many::Some(which, m), |i| wanted.add(i).read().word());
    test_all<L, T>(words: u64, n: u64, skip: *const i32, how: i32, wanted: T) -> i32;
        |call, context| (); |yes| if yes != 0 { satisfied(&call, elements::<T>(L), (words, n), how, Many::All(skip), |_| wanted.word()) };
    test_any<L, T>(words: u64, n: u64, skip: *const i32, how: i32, wanted: T) -> u64;
        |call, context| (); |which| satisfied(&call, elements::<T>(L), (words, n), how, Many::One(which), |_| wanted.word());
    test_some<L, T>(words: u64, n: u64, which: *mut u64, skip: *const i32, how: i32, wanted: T) -> u64;
        |call, context| (); |m| satisfied(&call, elements::<T>(L), (words, n), how, Many::Some(which, m), |_| wanted.word());
    test_all_vector<L, T>(words: u64, n: u64, skip: *const i32, how: i32, wanted: *const T) -> i32;
        |call, context| (); |yes| if yes != 0 { satisfied(&call, elements::<T>(L), (words, n), how, Many::All(skip), |i| wanted.add(i).read().word()) };
    test_any_vector<L, T>(words: u64, n: u64, skip: *const i32, how: i32, wanted: *const T) -> u64;
        |call, context| (); |which| satisfied(&call, elements::<T>(L), (words, n), how, Many::One(which), |i| wanted.add(i).read().word());
    test_some_vector<L, T>(words: u64, n: u64, which: *mut u64, skip: *const i32, how: i32, wanted: *const T) -> u64;
        |call, context| (); |m| satisfied(&call, elements::<T>(L), (words, n), how, Many::Some(which, m), |i| wanted.add(i).read().word());
}

include!(concat!(env!("OUT_DIR"), "/shmem_calls.rs"));
