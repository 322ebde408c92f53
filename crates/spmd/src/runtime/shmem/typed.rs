//! Calls with a type: transfers, single elements, atomic operations, waits.
//!
//! Names are spelled out because a macro cannot put them together; the lists say which library calls
//! exist, not which this library has: each is looked up when it is called.

use super::{ADD, Call, Elements, Transfer, atomic, element, returned, transfer, waited};
use crate::event::{Action, Operator};

/// An element as the integer that waits compare.
trait Word: Copy {
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

/// Where the elements of a transfer lie, and how it is completed.
#[derive(Clone, Copy)]
struct How {
    context: usize,
    blocking: bool,
    /// Distances of the elements: at the other rank, and here.
    strides: (i64, i64),
}

fn put<F>(call: &Call<F>, elements: Elements, (to, from, count, pe): (u64, u64, u64, i32), how: How) {
    // SAFETY: the program gives these bytes to the operation.
    let value = unsafe { element(from, elements, count) };
    let (there, here) = ((to, how.strides.0), (from, how.strides.1));
    let How { context, blocking, .. } = how;
    transfer(call, Transfer { action: Action::Put, pe, there, here, count, elements, context, blocking, value });
}

fn get<F>(call: &Call<F>, elements: Elements, (to, from, count, pe): (u64, u64, u64, i32), how: How) {
    let (there, here) = ((from, how.strides.0), (to, how.strides.1));
    let How { context, blocking, .. } = how;
    transfer(call, Transfer { action: Action::Get, pe, there, here, count, elements, context, blocking, value: None });
}

/// A value that is put, without memory of this rank.
fn put_value<F>(call: &Call<F>, elements: Elements, context: usize, to: u64, value: u64, pe: i32) {
    let (there, here, value) = ((to, 1), (0, 1), Some(value));
    transfer(
        call,
        Transfer { action: Action::Put, pe, there, here, count: 1, elements, context, blocking: true, value },
    );
}

fn get_value<F>(call: &Call<F>, elements: Elements, context: usize, from: u64, pe: i32) {
    let (there, here) = ((from, 1), (0, 1));
    transfer(
        call,
        Transfer { action: Action::Get, pe, there, here, count: 1, elements, context, blocking: true, value: None },
    );
}

macro_rules! transfers {
    ($($name:literal $type:ty: $put:ident $get:ident $put_nbi:ident $get_nbi:ident $iput:ident $iget:ident $p:ident $g:ident,
       $cput:ident $cget:ident $cput_nbi:ident $cget_nbi:ident $cp:ident $cg:ident;)*) => {$(
        interpose! { "p"
            fn $put(to: u64, from: u64, n: u64, pe: i32) -> () { |call| {
                put(&call, elements::<$type>($name), (to, from, n, pe), How { context: 0, blocking: true, strides: (1, 1) });
                (call.real)(to, from, n, pe)
            } }
            fn $get(to: u64, from: u64, n: u64, pe: i32) -> () { |call| {
                get(&call, elements::<$type>($name), (to, from, n, pe), How { context: 0, blocking: true, strides: (1, 1) });
                (call.real)(to, from, n, pe)
            } }
            fn $put_nbi(to: u64, from: u64, n: u64, pe: i32) -> () { |call| {
                put(&call, elements::<$type>($name), (to, from, n, pe), How { context: 0, blocking: false, strides: (1, 1) });
                (call.real)(to, from, n, pe)
            } }
            fn $get_nbi(to: u64, from: u64, n: u64, pe: i32) -> () { |call| {
                get(&call, elements::<$type>($name), (to, from, n, pe), How { context: 0, blocking: false, strides: (1, 1) });
                (call.real)(to, from, n, pe)
            } }
            fn $iput(to: u64, from: u64, tst: i64, sst: i64, n: u64, pe: i32) -> () { |call| {
                put(&call, elements::<$type>($name), (to, from, n, pe), How { context: 0, blocking: true, strides: (tst, sst) });
                (call.real)(to, from, tst, sst, n, pe)
            } }
            fn $iget(to: u64, from: u64, tst: i64, sst: i64, n: u64, pe: i32) -> () { |call| {
                get(&call, elements::<$type>($name), (to, from, n, pe), How { context: 0, blocking: true, strides: (sst, tst) });
                (call.real)(to, from, tst, sst, n, pe)
            } }
            fn $p(to: u64, value: $type, pe: i32) -> () { |call| {
                put_value(&call, elements::<$type>($name), 0, to, value.word(), pe);
                (call.real)(to, value, pe)
            } }
            fn $g(from: u64, pe: i32) -> $type { |call| {
                get_value(&call, elements::<$type>($name), 0, from, pe);
                (call.real)(from, pe)
            } }
            fn $cput(context: usize, to: u64, from: u64, n: u64, pe: i32) -> () { |call| {
                put(&call, elements::<$type>($name), (to, from, n, pe), How { context, blocking: true, strides: (1, 1) });
                (call.real)(context, to, from, n, pe)
            } }
            fn $cget(context: usize, to: u64, from: u64, n: u64, pe: i32) -> () { |call| {
                get(&call, elements::<$type>($name), (to, from, n, pe), How { context, blocking: true, strides: (1, 1) });
                (call.real)(context, to, from, n, pe)
            } }
            fn $cput_nbi(context: usize, to: u64, from: u64, n: u64, pe: i32) -> () { |call| {
                put(&call, elements::<$type>($name), (to, from, n, pe), How { context, blocking: false, strides: (1, 1) });
                (call.real)(context, to, from, n, pe)
            } }
            fn $cget_nbi(context: usize, to: u64, from: u64, n: u64, pe: i32) -> () { |call| {
                get(&call, elements::<$type>($name), (to, from, n, pe), How { context, blocking: false, strides: (1, 1) });
                (call.real)(context, to, from, n, pe)
            } }
            fn $cp(context: usize, to: u64, value: $type, pe: i32) -> () { |call| {
                put_value(&call, elements::<$type>($name), context, to, value.word(), pe);
                (call.real)(context, to, value, pe)
            } }
            fn $cg(context: usize, from: u64, pe: i32) -> $type { |call| {
                get_value(&call, elements::<$type>($name), context, from, pe);
                (call.real)(context, from, pe)
            } }
        }
    )*};
}

fn elements<T>(name: &str) -> Elements {
    Elements::named(name, size_of::<T>() as u32)
}

transfers! {
    "char" i8: shmem_char_put shmem_char_get shmem_char_put_nbi shmem_char_get_nbi shmem_char_iput shmem_char_iget shmem_char_p shmem_char_g,
        shmem_ctx_char_put shmem_ctx_char_get shmem_ctx_char_put_nbi shmem_ctx_char_get_nbi shmem_ctx_char_p shmem_ctx_char_g;
    "schar" i8: shmem_schar_put shmem_schar_get shmem_schar_put_nbi shmem_schar_get_nbi shmem_schar_iput shmem_schar_iget shmem_schar_p shmem_schar_g,
        shmem_ctx_schar_put shmem_ctx_schar_get shmem_ctx_schar_put_nbi shmem_ctx_schar_get_nbi shmem_ctx_schar_p shmem_ctx_schar_g;
    "short" i16: shmem_short_put shmem_short_get shmem_short_put_nbi shmem_short_get_nbi shmem_short_iput shmem_short_iget shmem_short_p shmem_short_g,
        shmem_ctx_short_put shmem_ctx_short_get shmem_ctx_short_put_nbi shmem_ctx_short_get_nbi shmem_ctx_short_p shmem_ctx_short_g;
    "int" i32: shmem_int_put shmem_int_get shmem_int_put_nbi shmem_int_get_nbi shmem_int_iput shmem_int_iget shmem_int_p shmem_int_g,
        shmem_ctx_int_put shmem_ctx_int_get shmem_ctx_int_put_nbi shmem_ctx_int_get_nbi shmem_ctx_int_p shmem_ctx_int_g;
    "long" i64: shmem_long_put shmem_long_get shmem_long_put_nbi shmem_long_get_nbi shmem_long_iput shmem_long_iget shmem_long_p shmem_long_g,
        shmem_ctx_long_put shmem_ctx_long_get shmem_ctx_long_put_nbi shmem_ctx_long_get_nbi shmem_ctx_long_p shmem_ctx_long_g;
    "longlong" i64: shmem_longlong_put shmem_longlong_get shmem_longlong_put_nbi shmem_longlong_get_nbi shmem_longlong_iput shmem_longlong_iget shmem_longlong_p shmem_longlong_g,
        shmem_ctx_longlong_put shmem_ctx_longlong_get shmem_ctx_longlong_put_nbi shmem_ctx_longlong_get_nbi shmem_ctx_longlong_p shmem_ctx_longlong_g;
    "uchar" u8: shmem_uchar_put shmem_uchar_get shmem_uchar_put_nbi shmem_uchar_get_nbi shmem_uchar_iput shmem_uchar_iget shmem_uchar_p shmem_uchar_g,
        shmem_ctx_uchar_put shmem_ctx_uchar_get shmem_ctx_uchar_put_nbi shmem_ctx_uchar_get_nbi shmem_ctx_uchar_p shmem_ctx_uchar_g;
    "ushort" u16: shmem_ushort_put shmem_ushort_get shmem_ushort_put_nbi shmem_ushort_get_nbi shmem_ushort_iput shmem_ushort_iget shmem_ushort_p shmem_ushort_g,
        shmem_ctx_ushort_put shmem_ctx_ushort_get shmem_ctx_ushort_put_nbi shmem_ctx_ushort_get_nbi shmem_ctx_ushort_p shmem_ctx_ushort_g;
    "uint" u32: shmem_uint_put shmem_uint_get shmem_uint_put_nbi shmem_uint_get_nbi shmem_uint_iput shmem_uint_iget shmem_uint_p shmem_uint_g,
        shmem_ctx_uint_put shmem_ctx_uint_get shmem_ctx_uint_put_nbi shmem_ctx_uint_get_nbi shmem_ctx_uint_p shmem_ctx_uint_g;
    "ulong" u64: shmem_ulong_put shmem_ulong_get shmem_ulong_put_nbi shmem_ulong_get_nbi shmem_ulong_iput shmem_ulong_iget shmem_ulong_p shmem_ulong_g,
        shmem_ctx_ulong_put shmem_ctx_ulong_get shmem_ctx_ulong_put_nbi shmem_ctx_ulong_get_nbi shmem_ctx_ulong_p shmem_ctx_ulong_g;
    "ulonglong" u64: shmem_ulonglong_put shmem_ulonglong_get shmem_ulonglong_put_nbi shmem_ulonglong_get_nbi shmem_ulonglong_iput shmem_ulonglong_iget shmem_ulonglong_p shmem_ulonglong_g,
        shmem_ctx_ulonglong_put shmem_ctx_ulonglong_get shmem_ctx_ulonglong_put_nbi shmem_ctx_ulonglong_get_nbi shmem_ctx_ulonglong_p shmem_ctx_ulonglong_g;
    "float" f32: shmem_float_put shmem_float_get shmem_float_put_nbi shmem_float_get_nbi shmem_float_iput shmem_float_iget shmem_float_p shmem_float_g,
        shmem_ctx_float_put shmem_ctx_float_get shmem_ctx_float_put_nbi shmem_ctx_float_get_nbi shmem_ctx_float_p shmem_ctx_float_g;
    "double" f64: shmem_double_put shmem_double_get shmem_double_put_nbi shmem_double_get_nbi shmem_double_iput shmem_double_iget shmem_double_p shmem_double_g,
        shmem_ctx_double_put shmem_ctx_double_get shmem_ctx_double_put_nbi shmem_ctx_double_get_nbi shmem_ctx_double_p shmem_ctx_double_g;
    "int8" i8: shmem_int8_put shmem_int8_get shmem_int8_put_nbi shmem_int8_get_nbi shmem_int8_iput shmem_int8_iget shmem_int8_p shmem_int8_g,
        shmem_ctx_int8_put shmem_ctx_int8_get shmem_ctx_int8_put_nbi shmem_ctx_int8_get_nbi shmem_ctx_int8_p shmem_ctx_int8_g;
    "int16" i16: shmem_int16_put shmem_int16_get shmem_int16_put_nbi shmem_int16_get_nbi shmem_int16_iput shmem_int16_iget shmem_int16_p shmem_int16_g,
        shmem_ctx_int16_put shmem_ctx_int16_get shmem_ctx_int16_put_nbi shmem_ctx_int16_get_nbi shmem_ctx_int16_p shmem_ctx_int16_g;
    "int32" i32: shmem_int32_put shmem_int32_get shmem_int32_put_nbi shmem_int32_get_nbi shmem_int32_iput shmem_int32_iget shmem_int32_p shmem_int32_g,
        shmem_ctx_int32_put shmem_ctx_int32_get shmem_ctx_int32_put_nbi shmem_ctx_int32_get_nbi shmem_ctx_int32_p shmem_ctx_int32_g;
    "int64" i64: shmem_int64_put shmem_int64_get shmem_int64_put_nbi shmem_int64_get_nbi shmem_int64_iput shmem_int64_iget shmem_int64_p shmem_int64_g,
        shmem_ctx_int64_put shmem_ctx_int64_get shmem_ctx_int64_put_nbi shmem_ctx_int64_get_nbi shmem_ctx_int64_p shmem_ctx_int64_g;
    "uint8" u8: shmem_uint8_put shmem_uint8_get shmem_uint8_put_nbi shmem_uint8_get_nbi shmem_uint8_iput shmem_uint8_iget shmem_uint8_p shmem_uint8_g,
        shmem_ctx_uint8_put shmem_ctx_uint8_get shmem_ctx_uint8_put_nbi shmem_ctx_uint8_get_nbi shmem_ctx_uint8_p shmem_ctx_uint8_g;
    "uint16" u16: shmem_uint16_put shmem_uint16_get shmem_uint16_put_nbi shmem_uint16_get_nbi shmem_uint16_iput shmem_uint16_iget shmem_uint16_p shmem_uint16_g,
        shmem_ctx_uint16_put shmem_ctx_uint16_get shmem_ctx_uint16_put_nbi shmem_ctx_uint16_get_nbi shmem_ctx_uint16_p shmem_ctx_uint16_g;
    "uint32" u32: shmem_uint32_put shmem_uint32_get shmem_uint32_put_nbi shmem_uint32_get_nbi shmem_uint32_iput shmem_uint32_iget shmem_uint32_p shmem_uint32_g,
        shmem_ctx_uint32_put shmem_ctx_uint32_get shmem_ctx_uint32_put_nbi shmem_ctx_uint32_get_nbi shmem_ctx_uint32_p shmem_ctx_uint32_g;
    "uint64" u64: shmem_uint64_put shmem_uint64_get shmem_uint64_put_nbi shmem_uint64_get_nbi shmem_uint64_iput shmem_uint64_iget shmem_uint64_p shmem_uint64_g,
        shmem_ctx_uint64_put shmem_ctx_uint64_get shmem_ctx_uint64_put_nbi shmem_ctx_uint64_get_nbi shmem_ctx_uint64_p shmem_ctx_uint64_g;
    "size" u64: shmem_size_put shmem_size_get shmem_size_put_nbi shmem_size_get_nbi shmem_size_iput shmem_size_iget shmem_size_p shmem_size_g,
        shmem_ctx_size_put shmem_ctx_size_get shmem_ctx_size_put_nbi shmem_ctx_size_get_nbi shmem_ctx_size_p shmem_ctx_size_g;
    "ptrdiff" i64: shmem_ptrdiff_put shmem_ptrdiff_get shmem_ptrdiff_put_nbi shmem_ptrdiff_get_nbi shmem_ptrdiff_iput shmem_ptrdiff_iget shmem_ptrdiff_p shmem_ptrdiff_g,
        shmem_ctx_ptrdiff_put shmem_ctx_ptrdiff_get shmem_ctx_ptrdiff_put_nbi shmem_ctx_ptrdiff_get_nbi shmem_ctx_ptrdiff_p shmem_ctx_ptrdiff_g;
}

macro_rules! swaps {
    ($($name:literal $type:ty: $set:ident $fetch:ident $swap:ident, $cset:ident $cfetch:ident $cswap:ident;)*) => {$(
        interpose! { "p"
            fn $set(to: u64, value: $type, pe: i32) -> () { |call| {
                atomic(&call, Action::Accumulate(Operator::Replace), 0, to, elements::<$type>($name), value.word(), pe);
                (call.real)(to, value, pe)
            } }
            fn $fetch(from: u64, pe: i32) -> $type { |call| {
                atomic(&call, Action::Fetch(Operator::NoOp), 0, from, elements::<$type>($name), 0, pe);
                let value = (call.real)(from, pe);
                returned(&call, from, pe, value.word());
                value
            } }
            fn $swap(to: u64, value: $type, pe: i32) -> $type { |call| {
                atomic(&call, Action::Fetch(Operator::Replace), 0, to, elements::<$type>($name), value.word(), pe);
                let before = (call.real)(to, value, pe);
                returned(&call, to, pe, before.word());
                before
            } }
            fn $cset(context: usize, to: u64, value: $type, pe: i32) -> () { |call| {
                atomic(&call, Action::Accumulate(Operator::Replace), context, to, elements::<$type>($name), value.word(), pe);
                (call.real)(context, to, value, pe)
            } }
            fn $cfetch(context: usize, from: u64, pe: i32) -> $type { |call| {
                atomic(&call, Action::Fetch(Operator::NoOp), context, from, elements::<$type>($name), 0, pe);
                let value = (call.real)(context, from, pe);
                returned(&call, from, pe, value.word());
                value
            } }
            fn $cswap(context: usize, to: u64, value: $type, pe: i32) -> $type { |call| {
                atomic(&call, Action::Fetch(Operator::Replace), context, to, elements::<$type>($name), value.word(), pe);
                let before = (call.real)(context, to, value, pe);
                returned(&call, to, pe, before.word());
                before
            } }
        }
    )*};
}
swaps! {
    "int" i32: shmem_int_atomic_set shmem_int_atomic_fetch shmem_int_atomic_swap, shmem_ctx_int_atomic_set shmem_ctx_int_atomic_fetch shmem_ctx_int_atomic_swap;
    "long" i64: shmem_long_atomic_set shmem_long_atomic_fetch shmem_long_atomic_swap, shmem_ctx_long_atomic_set shmem_ctx_long_atomic_fetch shmem_ctx_long_atomic_swap;
    "longlong" i64: shmem_longlong_atomic_set shmem_longlong_atomic_fetch shmem_longlong_atomic_swap, shmem_ctx_longlong_atomic_set shmem_ctx_longlong_atomic_fetch shmem_ctx_longlong_atomic_swap;
    "uint" u32: shmem_uint_atomic_set shmem_uint_atomic_fetch shmem_uint_atomic_swap, shmem_ctx_uint_atomic_set shmem_ctx_uint_atomic_fetch shmem_ctx_uint_atomic_swap;
    "ulong" u64: shmem_ulong_atomic_set shmem_ulong_atomic_fetch shmem_ulong_atomic_swap, shmem_ctx_ulong_atomic_set shmem_ctx_ulong_atomic_fetch shmem_ctx_ulong_atomic_swap;
    "ulonglong" u64: shmem_ulonglong_atomic_set shmem_ulonglong_atomic_fetch shmem_ulonglong_atomic_swap, shmem_ctx_ulonglong_atomic_set shmem_ctx_ulonglong_atomic_fetch shmem_ctx_ulonglong_atomic_swap;
    "int32" i32: shmem_int32_atomic_set shmem_int32_atomic_fetch shmem_int32_atomic_swap, shmem_ctx_int32_atomic_set shmem_ctx_int32_atomic_fetch shmem_ctx_int32_atomic_swap;
    "int64" i64: shmem_int64_atomic_set shmem_int64_atomic_fetch shmem_int64_atomic_swap, shmem_ctx_int64_atomic_set shmem_ctx_int64_atomic_fetch shmem_ctx_int64_atomic_swap;
    "uint32" u32: shmem_uint32_atomic_set shmem_uint32_atomic_fetch shmem_uint32_atomic_swap, shmem_ctx_uint32_atomic_set shmem_ctx_uint32_atomic_fetch shmem_ctx_uint32_atomic_swap;
    "uint64" u64: shmem_uint64_atomic_set shmem_uint64_atomic_fetch shmem_uint64_atomic_swap, shmem_ctx_uint64_atomic_set shmem_ctx_uint64_atomic_fetch shmem_ctx_uint64_atomic_swap;
    "size" u64: shmem_size_atomic_set shmem_size_atomic_fetch shmem_size_atomic_swap, shmem_ctx_size_atomic_set shmem_ctx_size_atomic_fetch shmem_ctx_size_atomic_swap;
    "ptrdiff" i64: shmem_ptrdiff_atomic_set shmem_ptrdiff_atomic_fetch shmem_ptrdiff_atomic_swap, shmem_ctx_ptrdiff_atomic_set shmem_ctx_ptrdiff_atomic_fetch shmem_ctx_ptrdiff_atomic_swap;
    "float" f32: shmem_float_atomic_set shmem_float_atomic_fetch shmem_float_atomic_swap, shmem_ctx_float_atomic_set shmem_ctx_float_atomic_fetch shmem_ctx_float_atomic_swap;
    "double" f64: shmem_double_atomic_set shmem_double_atomic_fetch shmem_double_atomic_swap, shmem_ctx_double_atomic_set shmem_ctx_double_atomic_fetch shmem_ctx_double_atomic_swap;
}

macro_rules! arithmetic {
    ($($name:literal $type:ty: $add:ident $inc:ident $fetch_add:ident $fetch_inc:ident $compare_swap:ident $wait:ident $test:ident;)*) => {$(
        interpose! { "p"
            fn $add(to: u64, value: $type, pe: i32) -> () { |call| {
                atomic(&call, Action::Accumulate(ADD), 0, to, elements::<$type>($name), value.word(), pe);
                (call.real)(to, value, pe)
            } }
            fn $inc(to: u64, pe: i32) -> () { |call| {
                atomic(&call, Action::Accumulate(ADD), 0, to, elements::<$type>($name), 1, pe);
                (call.real)(to, pe)
            } }
            fn $fetch_add(to: u64, value: $type, pe: i32) -> $type { |call| {
                atomic(&call, Action::Fetch(ADD), 0, to, elements::<$type>($name), value.word(), pe);
                let before = (call.real)(to, value, pe);
                returned(&call, to, pe, before.word());
                before
            } }
            fn $fetch_inc(to: u64, pe: i32) -> $type { |call| {
                atomic(&call, Action::Fetch(ADD), 0, to, elements::<$type>($name), 1, pe);
                let before = (call.real)(to, pe);
                returned(&call, to, pe, before.word());
                before
            } }
            fn $compare_swap(to: u64, compare: $type, value: $type, pe: i32) -> $type { |call| {
                atomic(&call, Action::Fetch(Operator::CompareAndSwap), 0, to, elements::<$type>($name), value.word(), pe);
                let before = (call.real)(to, compare, value, pe);
                returned(&call, to, pe, before.word());
                before
            } }
            fn $wait(word: u64, comparison: i32, wanted: $type) -> () { |call| {
                (call.real)(word, comparison, wanted);
                waited(&call, word, elements::<$type>($name), comparison, wanted.word() as i64)
            } }
            fn $test(word: u64, comparison: i32, wanted: $type) -> i32 { |call| {
                let result = (call.real)(word, comparison, wanted);
                if result != 0 {
                    waited(&call, word, elements::<$type>($name), comparison, wanted.word() as i64);
                }
                result
            } }
        }
    )*};
}
arithmetic! {
    "int" i32: shmem_int_atomic_add shmem_int_atomic_inc shmem_int_atomic_fetch_add shmem_int_atomic_fetch_inc shmem_int_atomic_compare_swap
        shmem_int_wait_until shmem_int_test;
    "long" i64: shmem_long_atomic_add shmem_long_atomic_inc shmem_long_atomic_fetch_add shmem_long_atomic_fetch_inc shmem_long_atomic_compare_swap
        shmem_long_wait_until shmem_long_test;
    "longlong" i64: shmem_longlong_atomic_add shmem_longlong_atomic_inc shmem_longlong_atomic_fetch_add shmem_longlong_atomic_fetch_inc shmem_longlong_atomic_compare_swap
        shmem_longlong_wait_until shmem_longlong_test;
    "uint" u32: shmem_uint_atomic_add shmem_uint_atomic_inc shmem_uint_atomic_fetch_add shmem_uint_atomic_fetch_inc shmem_uint_atomic_compare_swap
        shmem_uint_wait_until shmem_uint_test;
    "ulong" u64: shmem_ulong_atomic_add shmem_ulong_atomic_inc shmem_ulong_atomic_fetch_add shmem_ulong_atomic_fetch_inc shmem_ulong_atomic_compare_swap
        shmem_ulong_wait_until shmem_ulong_test;
    "ulonglong" u64: shmem_ulonglong_atomic_add shmem_ulonglong_atomic_inc shmem_ulonglong_atomic_fetch_add shmem_ulonglong_atomic_fetch_inc shmem_ulonglong_atomic_compare_swap
        shmem_ulonglong_wait_until shmem_ulonglong_test;
    "int32" i32: shmem_int32_atomic_add shmem_int32_atomic_inc shmem_int32_atomic_fetch_add shmem_int32_atomic_fetch_inc shmem_int32_atomic_compare_swap
        shmem_int32_wait_until shmem_int32_test;
    "int64" i64: shmem_int64_atomic_add shmem_int64_atomic_inc shmem_int64_atomic_fetch_add shmem_int64_atomic_fetch_inc shmem_int64_atomic_compare_swap
        shmem_int64_wait_until shmem_int64_test;
    "uint32" u32: shmem_uint32_atomic_add shmem_uint32_atomic_inc shmem_uint32_atomic_fetch_add shmem_uint32_atomic_fetch_inc shmem_uint32_atomic_compare_swap
        shmem_uint32_wait_until shmem_uint32_test;
    "uint64" u64: shmem_uint64_atomic_add shmem_uint64_atomic_inc shmem_uint64_atomic_fetch_add shmem_uint64_atomic_fetch_inc shmem_uint64_atomic_compare_swap
        shmem_uint64_wait_until shmem_uint64_test;
    "size" u64: shmem_size_atomic_add shmem_size_atomic_inc shmem_size_atomic_fetch_add shmem_size_atomic_fetch_inc shmem_size_atomic_compare_swap
        shmem_size_wait_until shmem_size_test;
    "ptrdiff" i64: shmem_ptrdiff_atomic_add shmem_ptrdiff_atomic_inc shmem_ptrdiff_atomic_fetch_add shmem_ptrdiff_atomic_fetch_inc shmem_ptrdiff_atomic_compare_swap
        shmem_ptrdiff_wait_until shmem_ptrdiff_test;
}

macro_rules! bits {
    ($($name:literal $type:ty: $($change:ident $fetch:ident $operator:ident),*;)*) => {$($(
        interpose! { "p"
            fn $change(to: u64, value: $type, pe: i32) -> () { |call| {
                atomic(&call, Action::Accumulate(Operator::$operator), 0, to, elements::<$type>($name), value.word(), pe);
                (call.real)(to, value, pe)
            } }
            fn $fetch(to: u64, value: $type, pe: i32) -> $type { |call| {
                atomic(&call, Action::Fetch(Operator::$operator), 0, to, elements::<$type>($name), value.word(), pe);
                let before = (call.real)(to, value, pe);
                returned(&call, to, pe, before.word());
                before
            } }
        }
    )*)*};
}
bits! {
    "uint" u32: shmem_uint_atomic_and shmem_uint_atomic_fetch_and BitAnd, shmem_uint_atomic_or shmem_uint_atomic_fetch_or BitOr,
        shmem_uint_atomic_xor shmem_uint_atomic_fetch_xor BitXor;
    "ulong" u64: shmem_ulong_atomic_and shmem_ulong_atomic_fetch_and BitAnd, shmem_ulong_atomic_or shmem_ulong_atomic_fetch_or BitOr,
        shmem_ulong_atomic_xor shmem_ulong_atomic_fetch_xor BitXor;
    "ulonglong" u64: shmem_ulonglong_atomic_and shmem_ulonglong_atomic_fetch_and BitAnd, shmem_ulonglong_atomic_or shmem_ulonglong_atomic_fetch_or BitOr,
        shmem_ulonglong_atomic_xor shmem_ulonglong_atomic_fetch_xor BitXor;
    "int32" i32: shmem_int32_atomic_and shmem_int32_atomic_fetch_and BitAnd, shmem_int32_atomic_or shmem_int32_atomic_fetch_or BitOr,
        shmem_int32_atomic_xor shmem_int32_atomic_fetch_xor BitXor;
    "int64" i64: shmem_int64_atomic_and shmem_int64_atomic_fetch_and BitAnd, shmem_int64_atomic_or shmem_int64_atomic_fetch_or BitOr,
        shmem_int64_atomic_xor shmem_int64_atomic_fetch_xor BitXor;
    "uint32" u32: shmem_uint32_atomic_and shmem_uint32_atomic_fetch_and BitAnd, shmem_uint32_atomic_or shmem_uint32_atomic_fetch_or BitOr,
        shmem_uint32_atomic_xor shmem_uint32_atomic_fetch_xor BitXor;
    "uint64" u64: shmem_uint64_atomic_and shmem_uint64_atomic_fetch_and BitAnd, shmem_uint64_atomic_or shmem_uint64_atomic_fetch_or BitOr,
        shmem_uint64_atomic_xor shmem_uint64_atomic_fetch_xor BitXor;
}
