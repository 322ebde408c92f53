//! Broken-down times and their text.

use super::text;
use libc::{c_char, size_t, time_t, tm};

const TM: usize = size_of::<tm>();
const TIME: usize = size_of::<time_t>();

fills! {
    fn gmtime_r(time: *const time_t, to: *mut tm) -> *mut tm: reads [time => TIME] then |result| [result => TM];
    fn localtime_r(time: *const time_t, to: *mut tm) -> *mut tm: reads [time => TIME] then |result| [result => TM];
    // These return memory of the library's own, the same for all threads.
    fn gmtime(time: *const time_t) -> *mut tm: reads [time => TIME] then |result| [result => TM];
    fn localtime(time: *const time_t) -> *mut tm: reads [time => TIME] then |result| [result => TM];
    fn ctime(time: *const time_t) -> *mut c_char: reads [time => TIME] then |result| [result => text(result)];
    fn asctime(time: *const tm) -> *mut c_char: reads [time => TM] then |result| [result => text(result)];
    fn mktime(time: *mut tm) -> time_t: reads [time => TM] then |result| [time => TM];
    fn timegm(time: *mut tm) -> time_t: reads [time => TM] then |result| [time => TM];
    fn ctime_r(time: *const time_t, to: *mut c_char) -> *mut c_char:
        reads [time => TIME] then |result| [result => text(result)];
    fn asctime_r(time: *const tm, to: *mut c_char) -> *mut c_char:
        reads [time => TM] then |result| [result => text(result)];
    fn strftime(to: *mut c_char, room: size_t, format: *const c_char, time: *const tm) -> size_t:
        reads [time => TM] then |result| [to => if result > 0 { result + 1 } else { 0 }];
    fn strptime(from: *const c_char, format: *const c_char, to: *mut tm) -> *mut c_char:
        reads [from => text(from)] then |result| [to => if result.is_null() { 0 } else { TM }];
}
