//! The commonest functions on wide characters.

use super::bytes::copy;
use super::{look, put};

type Wide = libc::wchar_t;
const WIDTH: usize = size_of::<Wide>();

strings! {
    fn wmemcpy(to: *mut Wide, from: *const Wide, count: usize; inside, pc) -> *mut Wide {
        copy(inside, to.cast(), from.cast(), count * WIDTH, pc);
        to
    }

    fn wmemmove(to: *mut Wide, from: *const Wide, count: usize; inside, pc) -> *mut Wide {
        copy(inside, to.cast(), from.cast(), count * WIDTH, pc);
        to
    }

    fn wmemset(to: *mut Wide, value: Wide, count: usize; inside, pc) -> *mut Wide {
        put(inside, to.cast(), count * WIDTH, pc, || {
            real()(to, value, count);
        });
        to
    }

    fn wcslen(text: *const Wide; inside, pc) -> usize {
        look(inside, pc, || {
            let length = real()(text);
            (length, text.cast(), (length + 1) * WIDTH)
        })
    }

    fn wcscpy(to: *mut Wide, from: *const Wide; inside, pc) -> *mut Wide {
        inside.point();
        let size = (wcslen::real()(from) + 1) * WIDTH;
        copy(inside, to.cast(), from.cast(), size, pc);
        to
    }
}
