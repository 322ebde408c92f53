//! qsort, done here: libc moves elements between calls of the comparison, where nobody sees it, so what the comparison
//! reads next would have no write that explains it. This one sorts pointers (a stable merge sort, as libc's) while the
//! array stays as it is, then moves the elements in one read and one write.

use super::{enter, ranges};
use crate::runtime::{Inside, strings};
use libc::{c_int, c_void, size_t};

/// Sorts `items` by merging runs of growing length; `spare` has the same length.
fn merge_sort(items: &mut Vec<*const u8>, mut in_order: impl FnMut(*const u8, *const u8) -> bool) {
    let count = items.len();
    let mut spare = items.clone();
    let mut run = 1;
    while run < count {
        for start in (0..count).step_by(2 * run) {
            let (middle, end) = ((start + run).min(count), (start + 2 * run).min(count));
            let (mut left, mut right) = (start, middle);
            for slot in &mut spare[start..end] {
                let from_left = right == end || (left < middle && in_order(items[left], items[right]));
                let taken = if from_left { &mut left } else { &mut right };
                *slot = items[*taken];
                *taken += 1;
            }
        }
        std::mem::swap(items, &mut spare);
        run *= 2;
    }
}

unsafe fn sort(
    inside: &mut Inside,
    pc: u64,
    base: *mut u8,
    count: usize,
    size: usize,
    mut compare: impl FnMut(*const u8, *const u8) -> c_int,
) {
    if count < 2 || size == 0 {
        return;
    }
    let mut order: Vec<*const u8> = (0..count).map(|i| base.wrapping_add(i * size).cast_const()).collect();
    // The comparison is the program's own code and may be left by an exception: the array is then untouched.
    merge_sort(&mut order, |a, b| inside.call_back(|| compare(a, b)) <= 0);
    let total = count * size;
    let mut sorted = Vec::<u8>::with_capacity(total);
    ranges::reads(inside, base, total, pc);
    for (i, element) in order.into_iter().enumerate() {
        // SAFETY: elements of the program's array, into room for all of them.
        unsafe { strings::memmove::real()(sorted.as_mut_ptr().add(i * size), element, size) };
    }
    ranges::writes(inside, base, total, pc);
    // SAFETY: as above, the other way.
    unsafe { strings::memmove::real()(base, sorted.as_ptr(), total) };
    inside.fill_pending_write();
}

type Compare = unsafe extern "C-unwind" fn(*const c_void, *const c_void) -> c_int;
type CompareWith = unsafe extern "C-unwind" fn(*const c_void, *const c_void, *mut c_void) -> c_int;

interpose! {
    fn qsort(base: *mut c_void, count: size_t, size: size_t, compare: Compare; pc) {
        match enter() {
            Some(mut inside) => {
                sort(&mut inside, pc, base.cast(), count, size, |a, b| compare(a.cast(), b.cast()));
            }
            None => {
                real!(qsort: unsafe extern "C-unwind" fn(*mut c_void, size_t, size_t, Compare))(base, count, size, compare);
            }
        }
    }

    fn qsort_r(base: *mut c_void, count: size_t, size: size_t, compare: CompareWith, context: *mut c_void; pc) {
        type Sort = unsafe extern "C-unwind" fn(*mut c_void, size_t, size_t, CompareWith, *mut c_void);
        match enter() {
            Some(mut inside) => {
                sort(&mut inside, pc, base.cast(), count, size, |a, b| compare(a.cast(), b.cast(), context));
            }
            None => real!(qsort_r: Sort)(base, count, size, compare, context),
        }
    }
}
