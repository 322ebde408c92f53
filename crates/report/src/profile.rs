//! Where the events of a trace come from: by function, with what they cost.

use std::collections::HashMap;
use std::io::{self, Write};

use reweave_model::{Op, Pc, Value};
use reweave_trace::Trace;

/// What the events of one function came to.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Cost {
    pub accesses: u64,
    /// All other events.
    pub others: u64,
    /// As they were written, before they were packed.
    pub bytes: u64,
}

impl Cost {
    pub const fn events(&self) -> u64 {
        self.accesses + self.others
    }
}

#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Profile {
    // invariant: the most bytes first, then by name
    pub functions: Vec<(String, Cost)>,
    pub all: Cost,
}

impl Profile {
    /// The function of an event is the outermost one at its place of the code, which is the one that can be left out:
    /// what was inlined into it has no code of its own.
    pub fn of(trace: &Trace) -> reweave_trace::Result<Self> {
        let mut by_place: HashMap<Pc, Cost> = HashMap::new();
        let mut events = trace.events();
        let mut all = Cost::default();
        while let Some(event) = events.next()? {
            let place = by_place.entry(event.pc).or_default();
            for cost in [place, &mut all] {
                match event.op {
                    Op::Read { value, .. } | Op::Write { value, .. } => {
                        cost.accesses += 1;
                        cost.bytes += access_bytes(value);
                    }
                    _ => {
                        cost.others += 1;
                        cost.bytes += OTHER_BYTES;
                    }
                }
            }
        }
        let mut functions: HashMap<String, Cost> = HashMap::new();
        for (pc, cost) in by_place {
            let name = trace.symbols().frames(pc).next_back().map_or("(no code)", |frame| frame.function);
            let sum = functions.entry(name.to_owned()).or_default();
            sum.accesses += cost.accesses;
            sum.others += cost.others;
            sum.bytes += cost.bytes;
        }
        let mut functions: Vec<_> = functions.into_iter().collect();
        functions.sort_by(|(a, x), (b, y)| y.bytes.cmp(&x.bytes).then_with(|| a.cmp(b)));
        Ok(Self { functions, all })
    }

    pub fn write(&self, most: usize, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{:>14} {:>14} {:>7}  function", "accesses", "other events", "cost")?;
        for (name, cost) in self.functions.iter().take(most) {
            let share = 100.0 * cost.bytes as f64 / self.all.bytes.max(1) as f64;
            writeln!(out, "{:>14} {:>14} {share:>5.1} %  {name}", cost.accesses, cost.others)?;
        }
        if self.functions.len() > most {
            let rest: u64 = self.functions[most..].iter().map(|(_, cost)| cost.events()).sum();
            writeln!(out, "{rest:>14} events in {} more functions", self.functions.len() - most)?;
        }
        writeln!(out, "cost: share of the bytes recorded; --ignore FUNC leaves out the accesses of a function")
    }
}

/// Three words and what does not fit into the third.
fn access_bytes(value: Value<'_>) -> u64 {
    match value {
        Value::Bytes(bytes) => 24 + bytes.len().next_multiple_of(8) as u64,
        Value::Word(_) | Value::Unknown => 24,
    }
}

/// What most other records take.
const OTHER_BYTES: u64 = 24;
