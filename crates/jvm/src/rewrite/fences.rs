//! Fences of a program: what makes plain and opaque accesses around them order what threads do, as fences of C11 do.

use crate::classfile::pool::Reference;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fence {
    Acquire,
    Release,
    Full,
}

impl Fence {
    /// What a call of this method is, if it is one. A fence for loads or for stores alone is taken for one that orders
    /// more, so nothing is reported that it may forbid.
    pub fn recognise(method: &Reference<'_>) -> Option<Self> {
        let named = match method.class {
            b"java/lang/invoke/VarHandle" => match method.name {
                b"acquireFence" | b"loadLoadFence" => Self::Acquire,
                b"releaseFence" | b"storeStoreFence" => Self::Release,
                b"fullFence" => Self::Full,
                _ => return None,
            },
            b"sun/misc/Unsafe" | b"jdk/internal/misc/Unsafe" => match method.name {
                b"loadFence" | b"loadLoadFence" => Self::Acquire,
                b"storeFence" | b"storeStoreFence" => Self::Release,
                b"fullFence" => Self::Full,
                _ => return None,
            },
            _ => return None,
        };
        (method.descriptor == b"()V").then_some(named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_have_names() {
        let fence = |class: &str, name: &str| {
            Fence::recognise(&Reference { class: class.as_bytes(), name: name.as_bytes(), descriptor: b"()V" })
        };
        assert_eq!(fence("java/lang/invoke/VarHandle", "releaseFence"), Some(Fence::Release));
        assert_eq!(fence("sun/misc/Unsafe", "loadFence"), Some(Fence::Acquire));
        assert_eq!(fence("sun/misc/Unsafe", "park"), None);
        assert_eq!(fence("Garden", "fullFence"), None);
    }
}
