//! Waits and tests for several words at once, and signals (R17).

use super::{Elements, returned, typed, waited};
use crate::runtime::Call;

/// Which of the words were satisfied.
pub(super) enum Many {
    /// All, but for those that the array marks.
    All(*const i32),
    /// One, by its number; the largest number: none.
    One(u64),
    /// That many, by their numbers.
    Some(*const u64, u64),
}

/// A wait or test for several words came back.
pub(super) fn satisfied(
    call: &Call,
    elements: Elements,
    (words, count): (u64, u64),
    comparison: i32,
    which: Many,
    wanted: impl Fn(usize) -> u64,
) {
    let one = |number: u64| {
        let word = words + number * u64::from(elements.size);
        waited(call, word, elements, comparison, wanted(number as usize) as i64);
    };
    match which {
        // SAFETY: the program's array, if there is one, has a mark for each word.
        Many::All(marks) => (0..count)
            .filter(|&number| marks.is_null() || unsafe { marks.add(number as usize).read() } == 0)
            .for_each(one),
        Many::One(number) if number < count => one(number),
        Many::One(_) => {}
        // SAFETY: the library filled that many.
        Many::Some(numbers, filled) => (0..filled.min(count))
            .map(|place| unsafe { numbers.add(place as usize).read() })
            .filter(|&number| number < count)
            .for_each(one),
    }
}

interpose! { "p"
    fn shmem_signal_wait_until(signal: u64, comparison: i32, wanted: u64) -> u64 { |call| {
        let value = (call.real)(signal, comparison, wanted);
        waited(&call, signal, typed::elements::<u64>("uint64"), comparison, wanted as i64);
        value
    } }
    fn shmem_signal_fetch(signal: u64) -> u64 { |call| {
        let value = (call.real)(signal);
        let me = call.with(|state, _| state.me.0 as i32).unwrap_or(0);
        returned(&call, signal, me, value);
        value
    } }
    fn shmem_wait(word: u64, than: i64) -> () { |call| {
        (call.real)(word, than);
        waited(&call, word, typed::elements::<i64>("long"), typed::NOT_EQUAL, than)
    } }
    fn shmem_wait_until(word: u64, comparison: i32, wanted: i64) -> () { |call| {
        (call.real)(word, comparison, wanted);
        waited(&call, word, typed::elements::<i64>("long"), comparison, wanted)
    } }
}
