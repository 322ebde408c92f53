//! Comparisons, which read both sides up to the first difference.

use super::Token;
use super::{copied, plain, ranges};
use libc::c_int;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Bytes,
    Text,
    /// Text, upper and lower case alike in the current locale.
    Folded,
}

impl Comparison {
    /// The difference of two bytes, if it decides the comparison.
    fn decides(self, a: u8, b: u8) -> Option<c_int> {
        let fold = |byte: u8| match self {
            // SAFETY: any byte is a valid argument of tolower.
            Comparison::Folded => unsafe { libc::tolower(byte.into()) },
            Comparison::Bytes | Comparison::Text => byte.into(),
        };
        let difference = fold(a) - fold(b);
        (difference != 0 || (self != Comparison::Bytes && a == 0)).then_some(difference)
    }

    /// How many bytes of each side it takes, at most `limit`, and the result if they decide.
    unsafe fn span(self, a: *const u8, b: *const u8, limit: usize) -> (usize, Option<c_int>) {
        for i in 0..limit {
            // SAFETY: the comparison has to read these bytes.
            let decided = unsafe { self.decides(*a.add(i), *b.add(i)) };
            if decided.is_some() {
                return (i + 1, decided);
            }
        }
        (limit, None)
    }
}

/// Compares piece by piece: if others run between the two reads, the second side may have become longer in common than
/// what was read of the first, and the comparison goes on behind that.
unsafe fn compare(token: &mut Token<'_>, a: *const u8, b: *const u8, limit: usize, how: Comparison, pc: u64) -> c_int {
    let mut done = 0;
    while done < limit {
        let (a, b, left) = (a.wrapping_add(done), b.wrapping_add(done), limit - done);
        token.point();
        // SAFETY: the program asked for this comparison.
        let (size, mut decided) = unsafe { how.span(a, b, left) };
        ranges::reads(token, a, size, pc);
        let mut second = size;
        if token.me().own.budget.get() == 0 {
            let seen = copied(a, size);
            token.point();
            // SAFETY: as above; `size` bytes were copied.
            (second, decided) = unsafe { how.span(seen.at, b, size) };
        }
        ranges::reads(token, b, second, pc);
        if let Some(difference) = decided {
            return difference;
        }
        done += size;
    }
    0
}

strings! {
    fn memcmp(a: *const u8, b: *const u8, size: usize; inside, pc) -> c_int [early plain::memcmp] {
        compare(inside, a, b, size, Comparison::Bytes, pc)
    }

    fn bcmp(a: *const u8, b: *const u8, size: usize; inside, pc) -> c_int [early plain::memcmp] {
        compare(inside, a, b, size, Comparison::Bytes, pc)
    }

    fn strcmp(a: *const u8, b: *const u8; inside, pc) -> c_int [early plain::strcmp] {
        compare(inside, a, b, usize::MAX, Comparison::Text, pc)
    }

    fn strncmp(a: *const u8, b: *const u8, limit: usize; inside, pc) -> c_int [early plain::strncmp] {
        compare(inside, a, b, limit, Comparison::Text, pc)
    }

    fn strcasecmp(a: *const u8, b: *const u8; inside, pc) -> c_int {
        compare(inside, a, b, usize::MAX, Comparison::Folded, pc)
    }

    fn strncasecmp(a: *const u8, b: *const u8, limit: usize; inside, pc) -> c_int {
        compare(inside, a, b, limit, Comparison::Folded, pc)
    }
}
