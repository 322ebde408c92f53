//! Looks into traces: the checker, how the run ended, which kinds of events there are.

use std::path::{Path, PathBuf};

use reweave_model::Op;
use reweave_predict::analyses::hb::Hb;
use reweave_predict::analyses::lockset::Lockset;
use reweave_predict::live::{Live, Options, Totals};
use reweave_trace::check::{Report, check};
use reweave_trace::{Outcome, Trace};

/// A trace, read to its end.
pub struct Checked {
    pub trace: Trace,
    pub report: Report,
}

impl Checked {
    /// Reads and checks a trace that must be whole: nothing damaged, nothing inconsistent.
    #[track_caller]
    pub fn sound(path: &Path) -> Self {
        let checked = Self::open(path).unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(checked.complaints(), Vec::<String>::new(), "{}", path.display());
        checked
    }

    pub fn open(path: &Path) -> Result<Self, String> {
        let say = |error: reweave_trace::Error| format!("{}: {error}", path.display());
        let trace = Trace::open(path).map_err(say)?;
        let report = check(&trace).map_err(say)?;
        Ok(Self { trace, report })
    }

    /// Everything that is wrong with the trace itself.
    pub fn complaints(&self) -> Vec<String> {
        let damage = self.trace.damage().into_iter().map(|damage| format!("damaged: {damage}"));
        let wrong = self.report.inconsistencies.iter().map(|one| {
            let symbols = self.trace.symbols();
            let place = symbols.frames(one.pc).next().map(|frame| format!("{}:{}", frame.file, frame.line));
            format!("event {} of T{} at {}: {}", one.event.0, one.thread.0, place.unwrap_or_default(), one.what)
        });
        damage.chain(wrong).collect()
    }

    /// The reads that no recorded write explains, most frequent first: how many, and where.
    pub fn unexplained(&self) -> Vec<(u64, String)> {
        let mut found: Vec<_> = self.report.unexplained.iter().map(|(&pc, at)| (at.count, self.place(pc))).collect();
        found.sort_unstable_by(|one, two| two.cmp(one));
        found
    }

    fn place(&self, pc: reweave_model::Pc) -> String {
        match self.trace.symbols().frames(pc).next() {
            Some(frame) => format!("{}:{} {}", frame.file, frame.line, frame.function),
            None => format!("{pc:?}"),
        }
    }

    pub fn outcome(&self) -> Outcome {
        self.trace.footer().map_or(Outcome::Unknown, |footer| footer.outcome.clone())
    }

    /// How many events satisfy a condition.
    pub fn count(&self, wanted: impl Fn(&Op<'_>) -> bool) -> usize {
        let mut events = self.trace.events();
        let mut count = 0;
        while let Some(event) = events.next().expect("checked before") {
            count += usize::from(wanted(&event.op));
        }
        count
    }

    /// What the live analyses come to on this trace if they look at fewer accesses, next to what they come to without.
    pub fn sampled(&self) -> Result<Totals, String> {
        let options = Options { analyses: vec![&Hb, &Lockset], sample: true, check: true, every_access: false };
        let mut live = Live::new(&options);
        let mut events = self.trace.events();
        while let Some(chunk) = events.next_chunk() {
            live.chunk(chunk.words, chunk.thread).map_err(|error| error.to_string())?;
        }
        live.finish();
        Ok(live.totals())
    }

    pub fn threads(&self) -> usize {
        self.count(|op| matches!(op, Op::Begin))
    }

    /// The last event.
    pub fn last(&self) -> String {
        let mut events = self.trace.events();
        let mut last = String::new();
        while let Some(event) = events.next().expect("checked before") {
            last = format!("{:?}", event.op);
        }
        last
    }
}

/// The traces of one recording: TRACE, TRACE.2 and so on.
pub fn all(first: &Path) -> Vec<PathBuf> {
    let numbered = (2..).map(|n| PathBuf::from(format!("{}.{n}", first.display())));
    std::iter::once(first.to_owned()).chain(numbered).take_while(|path| path.exists()).collect()
}

/// Which thread each step belongs to, as text: the schedule of a run.
pub fn turns(path: &Path) -> String {
    let checked = Checked::sound(path);
    let mut events = checked.trace.events();
    let mut turns = String::new();
    while let Some(event) = events.next().expect("checked before") {
        if event.op.is_step() {
            turns.push_str(&format!("{} ", event.thread.0));
        }
    }
    turns
}
