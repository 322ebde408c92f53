//! The commonest functions on wide characters.

use super::bytes::copy;
use super::{conductor, look, put};

type Wide = libc::wchar_t;
const WIDTH: usize = size_of::<Wide>();

strings! {
    fn wmemcpy(to: *mut Wide, from: *const Wide, count: usize; inside, pc) -> *mut Wide {
        copy(inside.thread, to.cast(), from.cast(), count * WIDTH, pc);
        to
    }

    fn wmemmove(to: *mut Wide, from: *const Wide, count: usize; inside, pc) -> *mut Wide {
        copy(inside.thread, to.cast(), from.cast(), count * WIDTH, pc);
        to
    }

    fn wmemset(to: *mut Wide, value: Wide, count: usize; inside, pc) -> *mut Wide {
        put(inside.thread, to.cast(), count * WIDTH, pc, || {
            real()(to, value, count);
        });
        to
    }

    fn wcslen(text: *const Wide; inside, pc) -> usize {
        look(inside.thread, pc, || {
            let length = real()(text);
            (length, text.cast(), (length + 1) * WIDTH)
        })
    }

    fn wcscpy(to: *mut Wide, from: *const Wide; inside, pc) -> *mut Wide {
        conductor().point(inside.thread);
        let size = (wcslen::real()(from) + 1) * WIDTH;
        copy(inside.thread, to.cast(), from.cast(), size, pc);
        to
    }
}
