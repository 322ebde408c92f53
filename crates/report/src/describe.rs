//! One event as one line, and the names of addresses and places as people know them.

use std::fmt::Write as _;

use reweave_model::{
    AccessFlags, Addr, BlockedOn, EpochKind, Event, EventId, InputSource, LockMode, MemoryOrder, Misuse, ObjectId,
    ObjectKind, Op, Pc, RefusedWhy, Remote, Value, WakeReason,
};
use reweave_trace::symbols::VariableAt;
use reweave_trace::{Language, Outcome, Symbols, Trace};

use crate::data::Location;

/// Names things of one trace.
#[derive(Clone, Copy)]
pub struct Describer<'a> {
    pub symbols: &'a Symbols,
    pub language: &'a Language,
    /// Where memory was allocated, if that is wanted, …
    pub trace: Option<&'a Trace>,
    /// … and when it is asked about: blocks come and go.
    pub when: EventId,
}

impl<'a> Describer<'a> {
    pub fn of(trace: &'a Trace) -> Self {
        Self::new(trace.symbols(), trace.language())
    }

    pub const fn new(symbols: &'a Symbols, language: &'a Language) -> Self {
        Self { symbols, language, trace: None, when: EventId(u64::MAX) }
    }

    /// `bank.c:14 deposit`, or what is known of it; of what was inlined there, the program's own part.
    pub fn place(&self, pc: Pc) -> String {
        if pc.0 == 0 {
            return String::new();
        }
        match crate::place::Placed::new(pc, std::iter::empty(), *self).at {
            at if at == Location::default() => self.symbols.place(pc).function,
            at => at.short(),
        }
    }

    /// A variable and the offset in it, a part of a block, or the bare address.
    pub fn address(&self, addr: Addr) -> String {
        match self.symbols.variable(addr) {
            Some(variable) => format!("{}{}", variable.name, self.part(&variable)),
            None => self.in_block(addr).unwrap_or_else(|| format!("{:#x}", addr.0)),
        }
    }

    /// Where in a variable something lies.
    pub(crate) fn part(&self, variable: &VariableAt<'_>) -> String {
        match self.symbols.part_of_variable(variable) {
            Some(path) => path,
            None if variable.offset == 0 => String::new(),
            None => format!("+{}", variable.offset),
        }
    }

    /// The same for what code at this position accesses, which may have a name where the memory has none.
    pub fn accessed(&self, addr: Addr, pc: Option<Pc>) -> String {
        self.by_code(addr, pc).unwrap_or_else(|| self.address(addr))
    }

    /// What the code itself calls what it accesses, if the memory has no name.
    pub fn by_code(&self, addr: Addr, pc: Option<Pc>) -> Option<String> {
        let name = pc.and_then(|pc| self.symbols.accessed(pc))?;
        self.symbols.variable(addr).is_none().then(|| name.to_owned())
    }

    /// The variable alone, or the bare address.
    pub fn variable(&self, addr: Addr) -> String {
        self.symbols.variable(addr).map_or_else(|| format!("{:#x}", addr.0), |variable| variable.name.to_owned())
    }

    pub fn object(&self, object: ObjectId) -> String {
        self.address(Addr(object.0))
    }

    /// `double free of 0x…`; what is joined twice is a thread.
    pub fn misuse(&self, what: Misuse, object: ObjectId) -> String {
        let name = misuse_name(what);
        match what {
            Misuse::JoinTwice => format!("{name} thread {object}"),
            _ => format!("{name} {}", self.object(object)),
        }
    }

    /// What a thread waits for, as in `waits for lock account`.
    pub fn blocked_on(&self, on: BlockedOn, object: ObjectId) -> String {
        match on {
            BlockedOn::LockExclusive => format!("lock {}", self.object(object)),
            BlockedOn::LockShared => format!("lock {} (shared)", self.object(object)),
            BlockedOn::Notify => format!("a notify on {}", self.object(object)),
            BlockedOn::Join => format!("the end of thread {object}"),
            BlockedOn::Barrier => format!("barrier {}", self.object(object)),
            BlockedOn::Semaphore => format!("semaphore {}", self.object(object)),
            BlockedOn::Once => format!("the initialiser of {}", self.object(object)),
            BlockedOn::Futex => format!("futex {}", self.object(object)),
            BlockedOn::Descriptor => format!("descriptor {object}"),
            BlockedOn::Signal => "a signal".into(),
            BlockedOn::Sleep => "time to pass".into(),
        }
    }

    /// A value as lines show it.
    pub fn value(&self, value: Value<'_>) -> String {
        show(value)
    }

    /// What an access is to.
    pub fn access_address(&self, op: &Op<'_>) -> Option<String> {
        match *op {
            Op::Read { addr, .. } | Op::Write { addr, .. } | Op::Atomic { addr, .. } => Some(self.address(addr)),
            _ => None,
        }
    }

    /// `     42 T1  write          balance:4 = 110                bank.c:14 deposit`
    pub fn line(&self, event: &Event<'_>) -> String {
        let (kind, what) = (event.op.kind(), self.operands(&event.op, Some(event.pc)));
        let place = self.place(event.pc);
        let line = format!("{:>8} T{:<3} {kind:<15} {what:<44} {place}", event.id, event.thread);
        line.trim_end().to_owned()
    }

    /// `pc`: where it happens, if that is known.
    pub fn operands(&self, op: &Op<'_>, pc: Option<Pc>) -> String {
        let object = |id: ObjectId| self.object(id);
        match *op {
            Op::Begin | Op::End | Op::AtomicExit | Op::Branch | Op::Revoked | Op::Stopped | Op::Hang => String::new(),
            Op::Fork { child, nth } => format!("T{child} (child {nth})"),
            Op::Join { child } | Op::Detach { child } => format!("T{child}"),
            Op::Read { addr, size, value, flags } | Op::Write { addr, size, value, flags } => {
                format!("{}:{size} = {}{}", self.accessed(addr, pc), show(value), flag_names(flags))
            }
            Op::Atomic { kind, order, addr, size, read, written } => {
                let mut text = format!("{}:{size}", self.accessed(addr, pc));
                if kind.reads() {
                    let _ = write!(text, " read {}", show(read));
                }
                if kind.writes() {
                    let _ = write!(text, " wrote {}", show(written));
                }
                format!("{text} {}", order_name(order))
            }
            Op::Fence { order } => order_name(order).into(),
            Op::Acquire { object: id, mode, tried } => {
                format!("{}{}{}", object(id), mode_name(mode), if tried { " tried" } else { "" })
            }
            Op::Release { object: id, mode } => format!("{}{}", object(id), mode_name(mode)),
            Op::Blocked { on, object } => self.blocked_on(on, object),
            Op::Refused { object, on, why } => format!("{}: {}", self.blocked_on(on, object), refused_name(why)),
            Op::Wait { condition, mutex, timed } => {
                let until = if timed { " with a deadline" } else { "" };
                format!("{} releasing {}{until}", object(condition), object(mutex))
            }
            Op::Woken { condition, mutex, reason, notify } => {
                let by = if notify == 0 { String::new() } else { format!(" by notify {notify}") };
                format!("{} holding {}: {}{by}", object(condition), object(mutex), wake_name(reason))
            }
            Op::Notify { condition, all, notify, woken } => {
                let who = if all { "all" } else { "one" };
                format!("{} {who}: notify {notify} wakes {woken}", object(condition))
            }
            Op::BarrierArrive { barrier, count } => format!("{} of {count}", object(barrier)),
            Op::BarrierLeave { barrier, serial } => {
                format!("{}{}", object(barrier), if serial { " serial" } else { "" })
            }
            Op::SemaphorePost { semaphore, value } => format!("{} now {value}", object(semaphore)),
            Op::SemaphoreTake { semaphore, value, tried } => {
                format!("{} now {value}{}", object(semaphore), if tried { " tried" } else { "" })
            }
            Op::OnceBegin { object: id } | Op::OnceEnd { object: id } | Op::OnceDone { object: id } => object(id),
            Op::Send { channel, position, size } | Op::Receive { channel, position, size } => {
                format!("{channel} {position}..{}", position.saturating_add(size))
            }
            Op::Alloc { addr, size } | Op::Free { addr, size } => format!("{:#x} {size} bytes", addr.0),
            Op::Create { object: id, kind, value } => {
                let value = if value == 0 { String::new() } else { format!(" = {value}") };
                format!("{} {}{value}", object_kind_name(kind), object(id))
            }
            Op::Destroy { object: id, kind } => format!("{} {}", object_kind_name(kind), object(id)),
            Op::AtomicEnter { name } => self.address(name),
            Op::Put { remote, origin } | Op::Get { remote, origin } | Op::Accumulate { remote, origin } => {
                let Remote { window, target, displacement, size } = remote;
                format!("{}:{size} with {target} at {displacement} of {}", self.address(origin), object(window))
            }
            Op::EpochBegin { window, kind, target } | Op::EpochEnd { window, kind, target } => {
                let whom = if target == Remote::ALL { "all".to_owned() } else { target.to_string() };
                format!("{} {} with {whom}", object(window), epoch_name(kind))
            }
            Op::Input { source, value, bytes } => {
                let bytes = if bytes.is_empty() { String::new() } else { format!(" {}", show(Value::Bytes(bytes))) };
                format!("{} {value}{bytes}", input_name(source))
            }
            Op::Signal { number } | Op::SignalReturn { number } => signal_name(number as i32),
            Op::Misused { what, object: id } => self.misuse(what, id),
            Op::Leave { call } => format!("call {call}"),
            Op::Return { call, result } => format!("call {call} = {result}"),
            Op::ClockJump { nanoseconds } => format!("{:.6} s", nanoseconds as f64 / 1e9),
            Op::Module { base, size, path, .. } => {
                format!("{:#x}+{size:#x} {}", base.0, String::from_utf8_lossy(path))
            }
            Op::ThreadName { thread, name } => format!("T{thread} {}", String::from_utf8_lossy(name)),
            Op::Exit { status } => format!("status {status}"),
            Op::Fatal { number: 0, .. } => signal_name(0),
            Op::Fatal { number, addr } => format!("{} at {:#x}", signal_name(number as i32), addr.0),
        }
    }
}

/// The first ones of a list, and how many more there are.
pub fn some(all: impl IntoIterator<Item = String>) -> String {
    const SHOWN: usize = 3;
    let all: Vec<String> = all.into_iter().collect();
    match all.len().saturating_sub(SHOWN) {
        0 | 1 => all.join(", "),
        more => format!("{}, and {more} more", all[..SHOWN].join(", ")),
    }
}

/// The last part of a path.
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

const fn epoch_name(kind: EpochKind) -> &'static str {
    match kind {
        EpochKind::Fence => "fence",
        EpochKind::Group => "group",
        EpochKind::LockShared => "shared lock",
        EpochKind::LockExclusive => "lock",
    }
}

fn show(value: Value<'_>) -> String {
    const SHOWN: usize = 16;
    match value {
        Value::Word(word) if word < 1 << 20 => word.to_string(),
        Value::Word(word) => format!("{word:#x}"),
        Value::Unknown => "?".into(),
        Value::Bytes(bytes) => {
            let text: String =
                bytes.iter().take(SHOWN).flat_map(|&byte| std::ascii::escape_default(byte)).map(char::from).collect();
            format!("\"{text}\"{}", if bytes.len() > SHOWN { "…" } else { "" })
        }
    }
}

fn flag_names(flags: AccessFlags) -> String {
    let names = [
        (AccessFlags::VOLATILE, " volatile"),
        (AccessFlags::VPTR, " vptr"),
        (AccessFlags::LIBRARY, " by a library call"),
        (AccessFlags::FREE, " by free"),
    ];
    names.iter().filter(|(bit, _)| flags.has(*bit)).map(|(_, name)| *name).collect()
}

pub const fn order_name(order: MemoryOrder) -> &'static str {
    match order {
        MemoryOrder::Relaxed => "relaxed",
        MemoryOrder::Consume => "consume",
        MemoryOrder::Acquire => "acquire",
        MemoryOrder::Release => "release",
        MemoryOrder::AcqRel => "acq_rel",
        MemoryOrder::SeqCst => "seq_cst",
    }
}

const fn mode_name(mode: LockMode) -> &'static str {
    match mode {
        LockMode::Exclusive => "",
        LockMode::Shared => " shared",
    }
}

const fn refused_name(why: RefusedWhy) -> &'static str {
    match why {
        RefusedWhy::Busy => "busy",
        RefusedWhy::TimedOut => "timed out",
        RefusedWhy::Error => "refused",
        RefusedWhy::Interrupted => "interrupted",
    }
}

const fn wake_name(reason: WakeReason) -> &'static str {
    match reason {
        WakeReason::Notified => "notified",
        WakeReason::TimedOut => "timed out",
        WakeReason::Spurious => "spurious",
        WakeReason::Cancelled => "cancelled",
    }
}

const fn object_kind_name(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Mutex => "mutex",
        ObjectKind::RwLock => "rwlock",
        ObjectKind::SpinLock => "spin lock",
        ObjectKind::Condition => "condition",
        ObjectKind::Barrier => "barrier",
        ObjectKind::Semaphore => "semaphore",
        ObjectKind::Once => "once",
        ObjectKind::Channel => "channel",
    }
}

const fn misuse_name(what: Misuse) -> &'static str {
    match what {
        Misuse::UnlockByNonOwner => "unlock by another thread than the owner of",
        Misuse::DoubleLock => "second lock by the owner of",
        Misuse::DestroyHeld => "destruction while held of",
        Misuse::UnlockUnlocked => "unlock without a lock of",
        Misuse::DoubleFree => "double free of",
        Misuse::JoinTwice => "second join of",
    }
}

const fn input_name(source: InputSource) -> &'static str {
    match source {
        InputSource::Clock => "clock",
        InputSource::Random => "random",
        InputSource::Read => "read",
        InputSource::Poll => "poll",
        InputSource::Other => "other",
    }
}

const SIGNALS: [&str; 32] = [
    "",
    "SIGHUP",
    "SIGINT",
    "SIGQUIT",
    "SIGILL",
    "SIGTRAP",
    "SIGABRT",
    "SIGBUS",
    "SIGFPE",
    "SIGKILL",
    "SIGUSR1",
    "SIGSEGV",
    "SIGUSR2",
    "SIGPIPE",
    "SIGALRM",
    "SIGTERM",
    "SIGSTKFLT",
    "SIGCHLD",
    "SIGCONT",
    "SIGSTOP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGXCPU",
    "SIGXFSZ",
    "SIGVTALRM",
    "SIGPROF",
    "SIGWINCH",
    "SIGIO",
    "SIGPWR",
    "SIGSYS",
];

/// `SIGSEGV`, or `signal 40`.
pub fn signal_name(number: i32) -> String {
    if number == 0 {
        return "an uncaught exception".into();
    }
    match usize::try_from(number).ok().and_then(|i| SIGNALS.get(i)).filter(|name| !name.is_empty()) {
        Some(name) => (*name).to_owned(),
        None => format!("signal {number}"),
    }
}

const WITH_STATUS: &str = "ended with status ";
const BY_SIGNAL: &str = "ended by ";
const WITH_CORE: &str = " (core dumped)";
const HUNG: &str = "hung";
pub const NORMALLY: &str = "ended normally";

/// How a run ended, if not well.
pub fn outcome(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Exited { status: 0 } | Outcome::Unknown => None,
        Outcome::Exited { status } => Some(format!("{WITH_STATUS}{status}")),
        Outcome::Signalled { signal, core } => {
            Some(format!("{BY_SIGNAL}{}{}", signal_name(*signal), if *core { WITH_CORE } else { "" }))
        }
        Outcome::Hung => Some(format!("{HUNG}: no thread could ever move again")),
        Outcome::Stopped { why } => Some(why.clone()),
        Outcome::Exec => Some("went on as another program".into()),
    }
}

/// How a run ended by itself, from the words that [`outcome`] has for it and what follows them.
pub(crate) fn read_outcome(text: &str) -> Option<Outcome> {
    let how = text.split([';', ':']).next().unwrap_or_default();
    if let Some(status) = how.strip_prefix(WITH_STATUS) {
        return Some(Outcome::Exited { status: status.parse().ok()? });
    }
    if let Some(rest) = how.strip_prefix(BY_SIGNAL) {
        let (name, core) = rest.strip_suffix(WITH_CORE).map_or((rest, false), |name| (name, true));
        let known = SIGNALS.iter().position(|known| *known == name && !name.is_empty());
        let signal = known.and_then(|known| i32::try_from(known).ok());
        let signal = signal.or_else(|| name.strip_prefix("signal ")?.parse().ok())?;
        return Some(Outcome::Signalled { signal, core });
    }
    match how {
        NORMALLY => Some(Outcome::Exited { status: 0 }),
        HUNG => Some(Outcome::Hung),
        _ => None,
    }
}

/// The synchronization object an operation is about.
pub const fn object_of(op: &Op<'_>) -> Option<ObjectId> {
    match *op {
        Op::Acquire { object, .. }
        | Op::Release { object, .. }
        | Op::OnceBegin { object }
        | Op::OnceEnd { object }
        | Op::OnceDone { object }
        | Op::Create { object, .. }
        | Op::Destroy { object, .. }
        | Op::Misused { object, .. } => Some(object),
        Op::Blocked { on, object } | Op::Refused { on, object, .. } => match on {
            BlockedOn::Join | BlockedOn::Descriptor | BlockedOn::Signal | BlockedOn::Sleep => None,
            _ => Some(object),
        },
        Op::Wait { condition, .. } | Op::Woken { condition, .. } | Op::Notify { condition, .. } => Some(condition),
        Op::BarrierArrive { barrier, .. } | Op::BarrierLeave { barrier, .. } => Some(barrier),
        Op::SemaphorePost { semaphore, .. } | Op::SemaphoreTake { semaphore, .. } => Some(semaphore),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_runs_are_read_back() {
        let signalled = |signal, core| Outcome::Signalled { signal, core };
        for end in [
            Outcome::Exited { status: 3 },
            Outcome::Hung,
            signalled(6, true),
            signalled(11, false),
            signalled(40, false),
        ] {
            let text = outcome(&end).expect("not well");
            assert_eq!(read_outcome(&text), Some(end.clone()), "{text}");
            assert_eq!(read_outcome(&format!("{text}; it printed something else: 3")), Some(end), "{text}");
        }
        assert_eq!(read_outcome(NORMALLY), Some(Outcome::Exited { status: 0 }));
        assert_eq!(read_outcome("did not end in time"), None);
    }
}
