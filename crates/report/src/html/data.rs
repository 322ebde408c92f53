//! The runs as compact JSON for the script of the page: strings and places stand once in tables, and a run that several
//! findings show (the recorded one) stands once too.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::data::Location;
use crate::describe::file_name;
use crate::dossier::Dossier;
use crate::view::{Class, LinkKind, Row, Run, Step};

/// Lines of source that are shown around a place.
const AROUND: u32 = 4;
/// Places whose source is part of the page: a page of a large run is large enough.
const MOST_PLACES: usize = 4_000;
const LONGEST_LINE: usize = 200;

/// Numbers things in the order in which they come.
struct Table<T> {
    all: Vec<T>,
    ids: HashMap<T, usize>,
}

impl<T: Clone + Eq + std::hash::Hash> Table<T> {
    fn new() -> Self {
        Self { all: Vec::new(), ids: HashMap::new() }
    }

    fn id(&mut self, one: &T) -> usize {
        if let Some(&id) = self.ids.get(one) {
            return id;
        }
        let id = self.all.len();
        self.all.push(one.clone());
        self.ids.insert(one.clone(), id);
        id
    }
}

pub struct Packer {
    strings: Table<String>,
    places: Table<Location>,
    stacks: Table<Vec<usize>>,
    runs: Vec<Value>,
    run_ids: HashMap<String, usize>,
    findings: serde_json::Map<String, Value>,
}

/// What the script gets.
pub fn pack(dossier: &Dossier<'_>) -> Value {
    let mut packer = Packer {
        strings: Table::new(),
        places: Table::new(),
        stacks: Table::new(),
        runs: Vec::new(),
        run_ids: HashMap::new(),
        findings: serde_json::Map::new(),
    };
    // 0 stands for none.
    packer.strings.id(&String::new());
    packer.places.id(&Location::default());
    for item in &dossier.report.findings {
        let Some(evidence) = dossier.evidence.get(&item.id) else { continue };
        let views =
            [("failing", &evidence.failing), ("predicted", &evidence.predicted), ("observed", &evidence.observed)];
        let views = views.into_iter().filter_map(|(name, run)| Some((name.to_owned(), packer.view(run.as_ref()?))));
        let views = views.collect();
        packer.findings.insert(item.id.to_string(), Value::Object(views));
    }
    packer.finish(dossier)
}

impl Packer {
    fn view(&mut self, run: &Run) -> Value {
        let marks: Vec<Value> = run.marked().into_iter().map(|(number, row)| json!([row, number])).collect();
        let packed = self.run(run);
        let key = packed.to_string();
        let next = self.runs.len();
        let id = *self.run_ids.entry(key).or_insert(next);
        if id == next {
            self.runs.push(packed);
        }
        json!({ "run": id, "marks": marks })
    }

    fn run(&mut self, run: &Run) -> Value {
        let lane_of: HashMap<u32, usize> = run.lanes.iter().enumerate().map(|(i, lane)| (lane.thread, i)).collect();
        let lane = |thread: u32| lane_of.get(&thread).copied().unwrap_or(0);
        let rows: Vec<Value> = run
            .rows
            .iter()
            .map(|row| match row {
                Row::Fold { steps, threads } => json!([-1, steps, threads]),
                Row::Step(step) => self.step(step, lane(step.thread)),
            })
            .collect();
        let links: Vec<Value> =
            run.links.iter().map(|link| json!([link_name(link.kind), link.from, link.to])).collect();
        let bars: Vec<Value> = run
            .bars
            .iter()
            .map(|bar| json!([lane(bar.thread), self.strings.id(&bar.lock), u8::from(bar.shared), bar.from, bar.to]))
            .collect();
        let lanes: Vec<Value> = run.lanes.iter().map(|lane| json!([lane.label, lane.name])).collect();
        json!({
            "lanes": lanes, "rows": rows, "links": links, "bars": bars, "steps": run.steps, "outcome": run.outcome,
        })
    }

    fn step(&mut self, step: &Step, lane: usize) -> Value {
        let place = if step.place == Location::default() { 0 } else { self.places.id(&step.place) };
        let stack: Vec<usize> = step.stack.iter().take(12).map(|frame| self.places.id(frame)).collect();
        let (what, object) = (self.strings.id(&step.what), self.strings.id(&step.object));
        json!([step.number, lane, class_name(step.class), what, place, self.stacks.id(&stack), object])
    }

    fn finish(self, dossier: &Dossier<'_>) -> Value {
        let mut files: Table<String> = Table::new();
        let mut source: HashMap<usize, serde_json::Map<String, Value>> = HashMap::new();
        let mut places = Vec::new();
        for (number, place) in self.places.all.iter().enumerate() {
            let file = files.id(&place.file);
            let shown = crate::view::cut(&place.function);
            places.push(json!([file, place.line, shown]));
            if number < MOST_PLACES && place.line != 0 {
                for (line, text) in dossier.sources.around(&place.file, place.line, AROUND) {
                    let text: String = text.chars().take(LONGEST_LINE).collect();
                    source.entry(file).or_default().insert(line.to_string(), Value::String(text));
                }
            }
        }
        let named: Vec<Value> = files
            .all
            .iter()
            .map(|path| json!([crate::view::cut(file_name(path)), crate::view::cut(&dossier.shown_path(path))]))
            .collect();
        let source: serde_json::Map<String, Value> =
            source.into_iter().map(|(file, lines)| (file.to_string(), Value::Object(lines))).collect();
        json!({
            "strings": self.strings.all,
            "places": places,
            "files": named,
            "stacks": self.stacks.all,
            "source": source,
            "runs": self.runs,
            "findings": self.findings,
        })
    }
}

const fn class_name(class: Class) -> &'static str {
    match class {
        Class::Read => "r",
        Class::Write => "w",
        Class::Update => "u",
        Class::Sync => "s",
        Class::Wait => "b",
        Class::End => "e",
        Class::Other => "o",
    }
}

const fn link_name(kind: LinkKind) -> &'static str {
    match kind {
        LinkKind::Fork => "fork",
        LinkKind::Join => "join",
        LinkKind::Lock => "lock",
        LinkKind::Notify => "notify",
        LinkKind::Barrier => "barrier",
        LinkKind::Semaphore => "semaphore",
        LinkKind::Message => "message",
        LinkKind::Once => "once",
        LinkKind::Data => "data",
    }
}
