//! The runs as Chrome trace events (JSON), which ui.perfetto.dev and chrome://tracing open: a process for each run, a
//! track for each thread, a slice for each step, the locks held around them, and arrows for what ordered what.
//!
//! Time is the number of the step: only the order is real in a run that a scheduler controls. One step is one
//! microsecond.

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::dossier::Dossier;
use crate::view::{Class, Row, Run};

pub fn write(dossier: &Dossier<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut events = Vec::new();
    let mut process = 0;
    for item in &dossier.report.findings {
        let evidence = dossier.evidence(item);
        for (name, run) in [
            ("the run that did it", &evidence.failing),
            ("the predicted order", &evidence.predicted),
            ("the recorded run", &evidence.observed),
        ] {
            if let Some(run) = run {
                process += 1;
                let title = format!("[{}] {} {}: {name}", item.id, item.strength, item.kind);
                add_run(run, process, &title, &mut events);
            }
        }
    }
    writeln!(out, "{{\"displayTimeUnit\": \"ms\", \"traceEvents\": [")?;
    for (number, event) in events.iter().enumerate() {
        let comma = if number + 1 < events.len() { "," } else { "" };
        writeln!(out, "{event}{comma}")?;
    }
    writeln!(out, "]}}")
}

fn add_run(run: &Run, process: u32, title: &str, events: &mut Vec<Value>) {
    events.push(json!({ "ph": "M", "name": "process_name", "pid": process, "tid": 0, "args": { "name": title } }));
    for lane in &run.lanes {
        let name = run.thread_name(lane.thread);
        events.push(
            json!({ "ph": "M", "name": "thread_name", "pid": process, "tid": lane.thread, "args": { "name": name } }),
        );
        events.push(json!({
            "ph": "M", "name": "thread_sort_index", "pid": process, "tid": lane.thread, "args": { "sort_index": lane.thread }
        }));
    }
    // A row is a microsecond, so that what is no step has its place too.
    for bar in &run.bars {
        let name = if bar.shared { format!("{} (shared)", bar.lock) } else { bar.lock.clone() };
        let id = format!("{process}-{}-{}-{}", bar.thread, bar.lock, bar.from);
        for (phase, at) in [("b", bar.from), ("e", bar.to + 1)] {
            events.push(json!({
                "ph": phase, "cat": "lock", "id": id, "name": format!("T{} holds {name}", bar.thread), "pid": process,
                "tid": bar.thread, "ts": at,
            }));
        }
    }
    for (at, row) in run.rows.iter().enumerate() {
        let Row::Step(step) = row else { continue };
        let mark = step.mark.map_or(String::new(), |number| format!("({number}) "));
        let place = step.place.to_string();
        events.push(json!({
            "ph": "X", "cat": category(step.class), "name": format!("{mark}{}", step.what), "pid": process,
            "tid": step.thread, "ts": at, "dur": 1,
            "args": { "step": step.number, "place": place, "holding": step.locks },
        }));
        if step.mark.is_some() {
            events.push(json!({
                "ph": "i", "s": "p", "cat": "finding", "name": format!("{mark}{}", step.what), "pid": process,
                "tid": step.thread, "ts": at,
            }));
        }
    }
    for (number, link) in run.links.iter().enumerate() {
        let thread = |row: usize| run.rows[row].step().map_or(0, |step| step.thread);
        let id = format!("{process}-{number}");
        let name = format!("{:?}", link.kind).to_lowercase();
        for (phase, row) in [("s", link.from), ("f", link.to)] {
            let mut event = json!({
                "ph": phase, "cat": "order", "name": name, "id": id, "pid": process, "tid": thread(row), "ts": row as f64 + 0.5,
            });
            if phase == "f" {
                event["bp"] = json!("e");
            }
            events.push(event);
        }
    }
}

const fn category(class: Class) -> &'static str {
    match class {
        Class::Read => "read",
        Class::Write => "write",
        Class::Update => "update",
        Class::Sync => "sync",
        Class::Wait => "wait",
        Class::End => "end",
        Class::Other => "other",
    }
}
