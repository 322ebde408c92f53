//! Lengths of wire records, without decoding them: all that packing and skipping need to know.

use reweave_model::wire::{Malformed, kind as k};

/// Set in [`SHAPES`] where a payload follows whose length in bytes is in the low half of the last fixed word.
const PAYLOAD: u8 = 0x80;

/// Words of the fixed part by kind; 0 for a kind this build does not know.
const SHAPES: [u8; 256] = {
    let mut shapes = [0; 256];
    let one = [
        k::PAD,
        k::SWITCH,
        k::STACK,
        k::FENCE,
        k::BEGIN,
        k::END,
        k::ATOMIC_EXIT,
        k::SIGNAL,
        k::SIGNAL_RETURN,
        k::REVOKED,
        k::HANG,
        k::BRANCH,
    ];
    let two = [
        k::STACK_DEF,
        k::FORK,
        k::JOIN,
        k::DETACH,
        k::ACQUIRE,
        k::RELEASE,
        k::BLOCKED,
        k::REFUSED,
        k::BARRIER_LEAVE,
        k::ONCE_BEGIN,
        k::ONCE_END,
        k::ONCE_DONE,
        k::DESTROY,
        k::ATOMIC_ENTER,
        k::MISUSED,
        k::LEAVE,
        k::CLOCK_JUMP,
        k::EXIT,
        k::FATAL,
    ];
    let three = [
        k::READ,
        k::WRITE,
        k::WAIT,
        k::NOTIFY,
        k::BARRIER_ARRIVE,
        k::SEMAPHORE_POST,
        k::SEMAPHORE_TAKE,
        k::ALLOC,
        k::FREE,
        k::CREATE,
        k::RETURN,
    ];
    let four = [k::ATOMIC, k::WOKEN, k::SEND, k::RECEIVE];
    let mut i = 0;
    while i < one.len() {
        shapes[one[i] as usize] = 1;
        i += 1;
    }
    i = 0;
    while i < two.len() {
        shapes[two[i] as usize] = 2;
        i += 1;
    }
    i = 0;
    while i < three.len() {
        shapes[three[i] as usize] = 3;
        i += 1;
    }
    i = 0;
    while i < four.len() {
        shapes[four[i] as usize] = 4;
        i += 1;
    }
    shapes[k::ATOMIC_WIDE as usize] = 6;
    shapes[k::READ_RANGE as usize] = 3 | PAYLOAD;
    shapes[k::WRITE_RANGE as usize] = 3 | PAYLOAD;
    shapes[k::INPUT as usize] = 3 | PAYLOAD;
    shapes[k::MODULE as usize] = 5 | PAYLOAD;
    shapes[k::THREAD_NAME as usize] = 2 | PAYLOAD;
    shapes
};

/// The fixed part of a record by its first word.
#[derive(Clone, Copy)]
pub(crate) struct Shape(u8);

impl Shape {
    #[inline]
    pub fn of(head: u64) -> Self {
        Self(SHAPES[head as u8 as usize])
    }

    /// Words before the payload; 0 for an unknown kind.
    #[inline]
    pub fn fixed(self) -> usize {
        (self.0 & !PAYLOAD) as usize
    }

    #[inline]
    pub fn has_payload(self) -> bool {
        self.0 & PAYLOAD != 0
    }
}

/// Words of the payload announced by the last fixed word.
#[inline]
pub(crate) fn payload_words(last_fixed: u64) -> usize {
    (last_fixed as u32 as usize).div_ceil(8)
}

/// Length in words of the record that starts here.
#[inline]
pub(crate) fn length(words: &[u64]) -> Result<usize, Malformed> {
    let head = *words.first().ok_or(Malformed::Truncated)?;
    let shape = Shape::of(head);
    let fixed = shape.fixed();
    if fixed == 0 {
        return Err(Malformed::UnknownKind(head as u8));
    }
    if fixed > words.len() {
        return Err(Malformed::Truncated);
    }
    let len = if shape.has_payload() { fixed + payload_words(words[fixed - 1]) } else { fixed };
    if len > words.len() { Err(Malformed::Truncated) } else { Ok(len) }
}

/// Whether a record of this kind is an event, i.e. takes an event id; the others set the context.
#[inline]
pub(crate) const fn is_event(kind: u8) -> bool {
    kind > k::STACK_DEF
}

/// Whether the upper 48 bits of the first word are a code address.
#[inline]
pub(crate) const fn has_pc(kind: u8) -> bool {
    kind >= k::STACK_DEF
}

/// What a record kind is called in totals and text formats.
pub const fn kind_name(kind: u8) -> &'static str {
    const NAMES: [&str; k::BRANCH as usize + 1] = [
        "pad",
        "switch",
        "stack",
        "stack_def",
        "read",
        "write",
        "read_range",
        "write_range",
        "atomic",
        "atomic_wide",
        "fence",
        "begin",
        "end",
        "fork",
        "join",
        "detach",
        "acquire",
        "release",
        "blocked",
        "refused",
        "wait",
        "woken",
        "notify",
        "barrier_arrive",
        "barrier_leave",
        "semaphore_post",
        "semaphore_take",
        "once_begin",
        "once_end",
        "once_done",
        "send",
        "receive",
        "alloc",
        "free",
        "create",
        "destroy",
        "atomic_enter",
        "atomic_exit",
        "input",
        "signal",
        "signal_return",
        "misused",
        "leave",
        "return",
        "revoked",
        "clock_jump",
        "module",
        "thread_name",
        "exit",
        "fatal",
        "hang",
        "branch",
    ];
    if (kind as usize) < NAMES.len() { NAMES[kind as usize] } else { "unknown" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reweave_model::wire;

    #[test]
    fn lengths_agree_with_the_decoder() {
        for kind in 0..=255u8 {
            let mut words = [0u64; 16];
            words[0] = u64::from(kind) | 1 << 8; // size 1 where it matters
            match (length(&words), wire::decode(&words)) {
                (Ok(mine), Ok((_, theirs))) => assert_eq!(mine, theirs, "kind {kind}"),
                (Err(mine), Err(theirs)) => assert_eq!(mine, theirs, "kind {kind}"),
                (mine, theirs) => panic!("kind {kind}: {mine:?} but {theirs:?}"),
            }
        }
    }
}
