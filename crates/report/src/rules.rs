//! The kinds of findings as rules: what each is, and how it is usually fixed. Code scanning shows this beside a
//! finding. A new kind of finding is one entry here; what is special about a language is its
//! [advice](Language::advice).

use reweave_model::Kind;
use reweave_trace::Language;

pub struct Rule {
    pub kind: Kind,
    pub name: &'static str,
    pub short: &'static str,
    pub full: &'static str,
    /// How it is fixed in any language, in Markdown.
    help: &'static str,
    pub level: Level,
}

/// How bad a finding of a kind is, if it is proven.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    Error,
    /// Information, no defect.
    Note,
}

impl Rule {
    pub fn of(kind: Kind) -> &'static Self {
        &RULES[kind as usize]
    }

    /// How it is fixed, in Markdown: by what the language has for it, if it has something.
    pub fn help<'a>(&'a self, language: &'a Language) -> &'a str {
        language.advice.get(self.kind.name()).map_or(self.help, String::as_str)
    }
}

// invariant: in the order of the kinds
pub static RULES: [Rule; Kind::ALL.len()] = [
    Rule {
        kind: Kind::Race,
        name: "DataRace",
        short: "Two threads access the same memory at the same time",
        full: "Two accesses to the same memory, at least one of them a write and one not atomic, that no lock, no \
             start or end of a \
               thread and no strong enough atomic keeps apart. The behaviour of the program is undefined.",
        help: "Hold the **same** lock at both accesses, or make the variable atomic if each access stands for itself. \
             A race labelled *memory-order* has atomics in between that are too weak: a release on the writing side \
               and an acquire on the reading side order them.",
        level: Level::Error,
    },
    Rule {
        kind: Kind::Deadlock,
        name: "Deadlock",
        short: "Threads wait for each other forever",
        full: "There is an interleaving after which a set of threads can never continue, because each waits for \
             something that only another one of them could provide.",
        help: "Take locks in one order everywhere, or both at once. A wait for a notify needs its \
               condition checked under the lock, in a loop, and the notify after the change.",
        level: Level::Error,
    },
    Rule {
        kind: Kind::Atomicity,
        name: "AtomicityViolation",
        short: "An atomic block is interrupted by another thread",
        full: "The block should run as if in one step, but there is an interleaving that no order of whole blocks \
             explains: \
               what the block found out at its beginning no longer holds when it acts on it.",
        help: "Hold one lock over the **whole** block, from the check to the act, rather than once for each access.",
        level: Level::Error,
    },
    Rule {
        kind: Kind::Nondeterminism,
        name: "NondeterministicRead",
        short: "A read can see another write under another schedule",
        full: "What the read returns depends on the schedule. That alone is not a defect: it is where runs can differ.",
        help: "If the result should not depend on the schedule, order the read behind the write it should see (join, \
             barrier, \
               condition).",
        level: Level::Note,
    },
    Rule {
        kind: Kind::Failure,
        name: "FailureUnderSchedule",
        short: "A run under some schedule fails",
        full: "A run of the program with the same input but another schedule crashed, hung, failed an assertion or \
             ended with an error.",
        help: "Replay it (`reweave replay`), in the debugger if needed (`--gdb`): it happens every time.",
        level: Level::Error,
    },
    Rule {
        kind: Kind::Misuse,
        name: "SynchronizationMisuse",
        short: "A synchronization object is used against its rules",
        full: "A lock unlocked by another thread than its owner or locked twice, a lock destroyed while held, a thread \
             that is \
               never joined or is joined twice, memory freed twice.",
        help: "Keep lock and unlock in pairs in one thread, join or detach every thread once, and destroy locks \
               only when nobody uses them.",
        level: Level::Error,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_rule() {
        for &kind in Kind::ALL {
            assert_eq!(Rule::of(kind).kind, kind);
        }
    }

    #[test]
    fn a_language_advises_where_it_knows_more() {
        let race = Rule::of(Kind::Race);
        let unknown = Language::default();
        let help = race.help(&unknown);
        assert!(help.contains("Hold the **same** lock") && !help.contains("std::"), "{help}");
        assert!(race.help(&Language::of_older_traces()).contains("`std::atomic`"));
    }
}
