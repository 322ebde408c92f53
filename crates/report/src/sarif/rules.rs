//! The kinds of findings as rules: what each is, and how it is usually mended. Code scanning shows this beside a finding.

pub struct Rule {
    /// The kind of the finding.
    pub id: &'static str,
    pub name: &'static str,
    pub short: &'static str,
    pub full: &'static str,
    /// How it is mended, in Markdown.
    pub help: &'static str,
}

pub const RULES: [Rule; 6] = [
    Rule {
        id: "race",
        name: "DataRace",
        short: "Two threads access the same memory at the same time",
        full: "Two accesses to the same memory, at least one of them a write and one not atomic, that no lock, no start or end of a \
               thread and no strong enough atomic keeps apart. The behaviour of the program is undefined.",
        help: "Hold the **same** lock at both accesses, or make the variable atomic (`_Atomic`, `std::atomic`) if each access stands \
               for itself. A race labelled *memory-order* has atomics in between that are too weak: a release on the writing side \
               and an acquire on the reading side order them.",
    },
    Rule {
        id: "deadlock",
        name: "Deadlock",
        short: "Threads wait for each other for ever",
        full: "There is an interleaving after which a set of threads can never go on, because each waits for something that only \
               another one of them could give.",
        help: "Take locks in one order everywhere, or both at once (`std::scoped_lock`, `std::lock`). A wait for a notify needs its \
               condition checked under the lock, in a loop, and the notify after the change.",
    },
    Rule {
        id: "atomicity",
        name: "AtomicityViolation",
        short: "An atomic block is torn apart by another thread",
        full: "The block should run as if in one step, but there is an interleaving that no order of whole blocks explains: \
               what the block found out at its beginning no longer holds when it acts on it.",
        help: "Hold one lock over the **whole** block, from the check to the act, rather than once for each access.",
    },
    Rule {
        id: "nondeterminism",
        name: "NondeterministicRead",
        short: "A read can see another write under another schedule",
        full: "What the read returns depends on the schedule. That is no defect by itself: it is where runs can differ.",
        help: "If the result should not depend on the schedule, order the read behind the write it should see (join, barrier, \
               condition).",
    },
    Rule {
        id: "failure",
        name: "FailureUnderSchedule",
        short: "A run under some schedule fails",
        full: "A run of the program with the same input but another schedule crashed, hung, failed an assertion or ended with an error.",
        help: "Replay it (`reweave replay`), in the debugger if needed (`--gdb`): it happens every time.",
    },
    Rule {
        id: "misuse",
        name: "SynchronizationMisuse",
        short: "A synchronization object is used against its rules",
        full: "A lock unlocked by another thread than its owner or locked twice, a lock destroyed while held, a thread that is \
               never joined or is joined twice, memory freed twice.",
        help: "Keep lock and unlock in pairs in one thread (`std::lock_guard`), join or detach every thread once, and destroy locks \
               only when nobody uses them.",
    },
];
