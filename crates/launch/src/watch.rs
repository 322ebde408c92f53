//! Analysis while the program runs: `reweave watch`.
//!
//! Each process of the program gets an analysis of its own, in the thread that collects its events; nothing goes to
//! disk. What they see goes to one *teller*, which resolves symbols, drops what was told before (by source position, so
//! that it does not matter in which process) and tells the rest. The program waits where the analysis is slower than it
//! is, which is counted.
//!
//! Memory is bounded: beyond the limit an analysis starts over (see [`Live::start_over`]), which is counted too.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

use reweave_model::{Claim, Sighting, ThreadId};
use reweave_predict::live::{self, Live};
use reweave_report::resolve::live as resolve;
use reweave_report::{Item, Report, data};
use reweave_trace::{Language, Meta, Module};

use crate::Result;
use crate::front_end::FrontEnd;
use crate::interrupt;
use crate::registry::lock;
use crate::session::{self, Options, Run};
use crate::sink::{End, OpenSink, Sink, SinkProblem, Stalls, Totals, Watcher};
use crate::symbols::symbols;

/// Findings told one by one; further ones are counted.
const MAX_TOLD: usize = 1000;
/// Chunks between two looks at our memory.
const LOOK_EVERY: u64 = 16;
/// Chunks an analysis takes before it starts over again: forgetting more often helps nobody.
const BETWEEN_RESTARTS: u64 = 64;
pub const MAX_MEMORY: u64 = 2 << 30;

#[derive(Clone, Debug)]
pub struct Plan {
    pub options: live::Options,
    /// Of this process, in bytes.
    pub max_memory: u64,
}

/// What the watcher hears while the program runs.
pub enum WatchEvent<'a> {
    NewFinding(&'a Item),
    /// The program waits for the analysis: told once.
    Slowed,
    /// Memory is at its limit: told once.
    Forgot,
}

pub struct Watched {
    pub run: Run,
    pub report: Report,
    pub totals: live::Totals,
    pub stalls: Stalls,
    /// Findings beyond the limit.
    pub unreported: u64,
    /// Those that were not told because another one about the same variable or locks was.
    pub alike: u64,
    pub peak_memory: u64,
    /// Until the summary is told, what it consists of is not lost by another Ctrl-C.
    _until_told: interrupt::Guard,
}

enum Message {
    /// Code addresses mean something only within one process: its modules come along.
    Sightings {
        front_end: &'static dyn FrontEnd,
        modules: Arc<[Module]>,
        sightings: Vec<Sighting>,
    },
    Slowed,
    Forgot,
}

/// Hands out sinks and gathers what they come to.
struct Hub {
    plan: Plan,
    announcer: SyncSender<Message>,
    slowed: AtomicBool,
    forgot: AtomicBool,
    sums: Mutex<(live::Totals, Stalls)>,
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub").field("plan", &self.plan).finish_non_exhaustive()
    }
}

/// The [`Watcher`] that a session holds; the hub outlives it.
#[derive(Debug)]
struct Admission(Arc<Hub>);

impl Watcher for Admission {
    fn allows_skipping_repeats(&self) -> bool {
        self.0.plan.options.allows_skipping_repeats()
    }

    fn admit(&self, _: &Meta, front_end: &'static dyn FrontEnd) -> OpenSink {
        let hub = Arc::clone(&self.0);
        Box::new(move || {
            let live = Live::new(&hub.plan.options);
            Box::new(ToAnalysis {
                hub,
                front_end,
                live,
                modules: Arc::from([]),
                chunks: 0,
                started: 0,
                restarts_told: 0,
            })
        })
    }
}

/// Into an analysis.
struct ToAnalysis {
    hub: Arc<Hub>,
    front_end: &'static dyn FrontEnd,
    live: Live,
    /// As the teller got them last.
    modules: Arc<[Module]>,
    chunks: u64,
    /// The number of the chunk with which the analysis last started over.
    started: u64,
    /// How often it had when it was last asked.
    restarts_told: u64,
}

impl ToAnalysis {
    fn send(&mut self, sightings: Vec<Sighting>) {
        if sightings.is_empty() {
            return;
        }
        if *self.modules != *self.live.modules() {
            self.modules = self.live.modules().into();
        }
        let modules = Arc::clone(&self.modules);
        // It goes before us only by a panic.
        let _ = self.hub.announcer.send(Message::Sightings { front_end: self.front_end, modules, sightings });
    }

    fn taken(
        &mut self,
        news: reweave_trace::Result<Vec<Sighting>>,
        stalls: Stalls,
    ) -> std::result::Result<(), SinkProblem> {
        match news {
            Ok(sightings) => self.send(sightings),
            Err(error) => return Err(SinkProblem::Stop(format!("the analysis cannot continue: {error}"))),
        }
        self.mind_memory();
        if stalls.times > 0 && !self.hub.slowed.swap(true, Ordering::Relaxed) {
            let _ = self.hub.announcer.send(Message::Slowed);
        }
        Ok(())
    }

    fn mind_memory(&mut self) {
        if !self.chunks.is_multiple_of(LOOK_EVERY) || self.chunks - self.started < BETWEEN_RESTARTS {
            return;
        }
        if memory("VmRSS:") > self.hub.plan.max_memory {
            self.started = self.chunks;
            let last = self.live.start_over();
            self.send(last);
            // SAFETY: gives free pages back; there is nothing it could break.
            unsafe { libc::malloc_trim(0) };
            if !self.hub.forgot.swap(true, Ordering::Relaxed) {
                let _ = self.hub.announcer.send(Message::Forgot);
            }
        }
    }
}

impl Sink for ToAnalysis {
    fn take(&mut self, words: &[u64], thread: ThreadId, stalls: Stalls) -> std::result::Result<(), SinkProblem> {
        let news = self.live.chunk(words, thread);
        self.chunks += 1;
        self.taken(news, stalls)
    }

    /// A server that does little fills a chunk in hours: what it did is told at once.
    fn takes_pieces(&self) -> bool {
        true
    }

    fn more(&mut self, words: &[u64], stalls: Stalls) -> std::result::Result<(), SinkProblem> {
        let news = self.live.more(words);
        self.taken(news, stalls)
    }

    fn has_last_words(&self) -> bool {
        self.live.has_last_words()
    }

    fn has_forgotten(&mut self) -> bool {
        let restarts = self.live.totals().restarts;
        std::mem::replace(&mut self.restarts_told, restarts) != restarts
    }

    fn finish(&mut self, end: &End<'_>) -> Vec<String> {
        let last = self.live.finish();
        self.send(last);
        let mut sums = lock(&self.hub.sums);
        sums.0.add(&self.live.totals());
        sums.1.times += end.stalls.times;
        sums.1.nanoseconds += end.stalls.nanoseconds;
        Vec::new()
    }

    fn totals(&self) -> Totals {
        let live::Totals { events, threads, .. } = self.live.totals();
        Totals { events, threads, bytes: 0 }
    }
}

/// Resolves, sifts and tells.
struct Announcer<'a> {
    on_event: &'a mut (dyn FnMut(WatchEvent<'_>) + Send),
    items: Vec<Item>,
    /// Where each item is, and what the analysis behind it claims.
    by_fingerprint: HashMap<String, (usize, Claim)>,
    unreported: u64,
    /// What was told already is about these: variables, locks, or the functions that use memory without a name.
    subjects: HashMap<String, u32>,
    /// Findings about what another one was told about: they are in the report.
    alike: u64,
    /// What the programs are written in that findings were made in, by front end.
    languages: BTreeMap<&'static str, Arc<Language>>,
}

impl Announcer<'_> {
    fn listen(&mut self, news: Receiver<Message>) {
        while let Ok(message) = news.recv() {
            match message {
                Message::Slowed => (self.on_event)(WatchEvent::Slowed),
                Message::Forgot => (self.on_event)(WatchEvent::Forgot),
                Message::Sightings { front_end, modules, sightings } => {
                    self.sightings(front_end, &modules, &sightings);
                }
            }
        }
    }

    fn sightings(&mut self, front_end: &dyn FrontEnd, modules: &[Module], sightings: &[Sighting]) {
        let wanted: BTreeSet<_> = sightings.iter().flat_map(resolve::addresses).filter(|pc| pc.0 != 0).collect();
        let wanted: Vec<_> = wanted.into_iter().collect();
        let symbols = symbols(front_end, modules, &wanted);
        let language = self.languages.entry(front_end.name()).or_insert_with(|| Arc::new(front_end.language()));
        let language = Arc::clone(language);
        for sighting in sightings {
            let item = resolve::item(self.items.len() as u32 + 1, sighting, &symbols, &language);
            let claim = sighting.analysis.claim();
            match self.by_fingerprint.get_mut(&item.fingerprint) {
                Some((place, known)) => {
                    // Happens-before says more than a pattern: the summary has the better reason.
                    if claim < *known {
                        *known = claim;
                        let told = &mut self.items[*place];
                        *told = Item { id: told.id, ..item };
                    }
                }
                None if self.items.len() < MAX_TOLD => {
                    let others = self.subjects.entry(resolve::subject(&item)).or_default();
                    if *others == 0 {
                        (self.on_event)(WatchEvent::NewFinding(&item));
                    } else {
                        self.alike += 1;
                    }
                    *others += 1;
                    self.by_fingerprint.insert(item.fingerprint.clone(), (self.items.len(), claim));
                    self.items.push(item);
                }
                None => self.unreported += 1,
            }
        }
    }
}

/// Runs the program to its end and tells what the analyses see meanwhile.
pub fn watch(mut options: Options, plan: Plan, on_event: &mut (dyn FnMut(WatchEvent<'_>) + Send)) -> Result<Watched> {
    let until_told = interrupt::Guard::around();
    // A few messages may wait; with more, the analysis waits for the teller.
    let (sender, receiver) = sync_channel(64);
    let hub = Arc::new(Hub {
        plan,
        announcer: sender,
        slowed: AtomicBool::new(false),
        forgot: AtomicBool::new(false),
        sums: Mutex::default(),
    });
    options.watcher = Some(Arc::new(Admission(Arc::clone(&hub))));
    let mut announcer = Announcer {
        on_event,
        items: Vec::new(),
        by_fingerprint: HashMap::new(),
        unreported: 0,
        subjects: HashMap::new(),
        alike: 0,
        languages: BTreeMap::new(),
    };
    let (run, totals, stalls) = std::thread::scope(|scope| {
        let told = scope.spawn(|| announcer.listen(receiver));
        let run = session::run(&options);
        options.watcher = None;
        let (totals, stalls) = *lock(&hub.sums);
        // With the last sender the teller ends.
        drop(hub);
        let _ = told.join();
        (run, totals, stalls)
    });
    let run = run?;
    let Announcer { items, unreported, alike, languages, .. } = announcer;
    // Advice is one page of a report: where programs of several kinds were watched, that of the first.
    let language = languages.into_values().next().unwrap_or_default();
    let peak_memory = memory("VmHWM:");
    let command = options.command.iter().map(|word| word.to_string_lossy().into_owned());
    let seconds = run.took.as_secs_f64().max(1e-9);
    let numbers = [
        ("events", totals.events),
        ("threads", totals.threads),
        ("processes", run.processes.len() as u64),
        ("milliseconds", run.took.as_millis() as u64),
        ("events_per_second", (totals.events as f64 / seconds) as u64),
        ("stalls", stalls.times),
        ("stalled_ms", stalls.nanoseconds / 1_000_000),
        ("peak_memory_kb", peak_memory >> 10),
        ("skipped_weaker", totals.skipped.weaker),
        ("skipped_sampled", totals.skipped.sampled),
        ("checked_pairs", totals.checked_pairs),
        ("lost_pairs", totals.lost_pairs),
        ("restarts", totals.restarts),
        ("recycled_threads", totals.recycled_threads),
        ("dropped", totals.dropped),
        ("forgotten_lock_operations", totals.forgotten),
        ("unreported_findings", unreported),
        ("alike_findings", alike),
        ("unknown_pairs", 0),
        ("ignored_functions", session::left_out(&options)),
    ];
    let report = Report {
        bugs: Vec::new(),
        reweave: env!("CARGO_PKG_VERSION").into(),
        schema: data::SCHEMA,
        program: command.collect(),
        findings: items,
        stats: numbers.into_iter().map(|(name, number)| (name.to_owned(), number)).collect(),
        unchecked: None,
        baseline: None,
        determinism: None,
        language,
    };
    Ok(Watched { run, report, totals, stalls, unreported, alike, peak_memory, _until_told: until_told })
}

/// A line of our own status, in bytes.
fn memory(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) << 10
}
