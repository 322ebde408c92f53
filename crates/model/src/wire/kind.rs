//! Kinds of records: number, name, and how long one is. Numbers are part of the trace format: never reuse one.

/// Set in [`SHAPES`] where a payload follows whose length in bytes is in the low half of the last fixed word.
const PAYLOAD: u8 = 0x80;

/// `NAME = number, "name in totals and text formats", words of the fixed part[, payload]`.
macro_rules! kinds {
    ($($name:ident = $number:literal, $text:literal, $words:literal $(, $payload:ident)?;)+) => {
        $(pub const $name: u8 = $number;)+

        /// Words of the fixed part by kind; 0 for a kind this build does not know.
        const SHAPES: [u8; 256] = {
            let mut shapes = [0; 256];
            $(shapes[$number] = $words $(| kinds!(@ $payload))?;)+
            shapes
        };

        /// What a kind is called in totals and text formats.
        pub const fn name(kind: u8) -> &'static str {
            match kind {
                $($name => $text,)+
                _ => "unknown",
            }
        }
    };
    (@ payload) => { PAYLOAD };
}

kinds! {
    PAD = 0, "pad", 1;
    SWITCH = 1, "switch", 1;
    STACK = 2, "stack", 1;
    STACK_DEF = 3, "stack_def", 2;
    READ = 4, "read", 3;
    WRITE = 5, "write", 3;
    READ_RANGE = 6, "read_range", 3, payload;
    WRITE_RANGE = 7, "write_range", 3, payload;
    ATOMIC = 8, "atomic", 4;
    ATOMIC_WIDE = 9, "atomic_wide", 6;
    FENCE = 10, "fence", 1;
    BEGIN = 11, "begin", 1;
    END = 12, "end", 1;
    FORK = 13, "fork", 2;
    JOIN = 14, "join", 2;
    DETACH = 15, "detach", 2;
    ACQUIRE = 16, "acquire", 2;
    RELEASE = 17, "release", 2;
    BLOCKED = 18, "blocked", 2;
    REFUSED = 19, "refused", 2;
    WAIT = 20, "wait", 3;
    WOKEN = 21, "woken", 4;
    NOTIFY = 22, "notify", 3;
    BARRIER_ARRIVE = 23, "barrier_arrive", 3;
    BARRIER_LEAVE = 24, "barrier_leave", 2;
    SEMAPHORE_POST = 25, "semaphore_post", 3;
    SEMAPHORE_TAKE = 26, "semaphore_take", 3;
    ONCE_BEGIN = 27, "once_begin", 2;
    ONCE_END = 28, "once_end", 2;
    ONCE_DONE = 29, "once_done", 2;
    SEND = 30, "send", 4;
    RECEIVE = 31, "receive", 4;
    ALLOC = 32, "alloc", 3;
    FREE = 33, "free", 3;
    CREATE = 34, "create", 3;
    DESTROY = 35, "destroy", 2;
    ATOMIC_ENTER = 36, "atomic_enter", 2;
    ATOMIC_EXIT = 37, "atomic_exit", 1;
    INPUT = 38, "input", 3, payload;
    SIGNAL = 39, "signal", 1;
    SIGNAL_RETURN = 40, "signal_return", 1;
    MISUSED = 41, "misused", 2;
    LEAVE = 42, "leave", 2;
    RETURN = 43, "return", 3;
    REVOKED = 44, "revoked", 1;
    CLOCK_JUMP = 45, "clock_jump", 2;
    MODULE = 46, "module", 5, payload;
    THREAD_NAME = 47, "thread_name", 2, payload;
    EXIT = 48, "exit", 2;
    FATAL = 49, "fatal", 2;
    HANG = 50, "hang", 1;
    BRANCH = 51, "branch", 1;
    PUT = 52, "put", 5;
    GET = 53, "get", 5;
    ACCUMULATE = 54, "accumulate", 5;
    EPOCH_BEGIN = 55, "epoch_begin", 3;
    EPOCH_END = 56, "epoch_end", 3;
    STOPPED = 57, "stopped", 1;
    FORESEEN = 58, "foreseen", 2, payload;
}

/// Whether a record of this kind is an event, i.e. takes an event id; the others set the context.
#[inline]
pub const fn is_event(kind: u8) -> bool {
    kind > STACK_DEF && kind != FORESEEN
}

/// Whether the upper 48 bits of the first word are a code address.
#[inline]
pub const fn has_pc(kind: u8) -> bool {
    kind >= STACK_DEF && kind != FORESEEN
}

/// The fixed part of a record by its first word.
#[derive(Clone, Copy)]
pub struct Shape(u8);

impl Shape {
    #[inline]
    pub const fn of(head: u64) -> Self {
        Self(SHAPES[head as u8 as usize])
    }

    /// Words before the payload; 0 for an unknown kind.
    #[inline]
    pub const fn fixed(self) -> usize {
        (self.0 & !PAYLOAD) as usize
    }

    #[inline]
    pub const fn has_payload(self) -> bool {
        self.0 & PAYLOAD != 0
    }
}

/// Words of the payload announced by the last fixed word.
#[inline]
pub const fn payload_words(last_fixed: u64) -> usize {
    (last_fixed as u32 as usize).div_ceil(8)
}
