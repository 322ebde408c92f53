//! The text of a sketched program. Each statement is on a line of its own that no other line equals: findings are told
//! apart by the text of their lines.

use std::fmt::Write;

use super::random::{Item, LOCKS, Sketch, VARIABLES};

/// The text of a program. Statements are counted in comments, so that no two lines are the same.
pub fn write(sketch: &Sketch) -> String {
    let mut writer = Writer::default();
    let threads = sketch.threads.len();
    for at in (0..threads).rev() {
        let starts = sketch.threads.get(at + 1).is_some_and(|(_, nested)| *nested).then_some(at + 1);
        let items = &sketch.threads[at].0;
        writer.function(&format!("thread{at}"), |writer| {
            if let Some(child) = starts {
                writer.line(&format!("%child: thread = start thread{child}()"));
            }
            writer.items(items);
            if starts.is_some() && sketch.joins {
                writer.line("join %child");
            }
        });
    }
    writer.function("main", |writer| {
        writer.line("%first: ref = alloc Node");
        writer.line("store shared, %first");
        let own: Vec<usize> = (0..threads).filter(|at| !sketch.threads[*at].1).collect();
        for at in &own {
            writer.line(&format!("%t{at}: thread = start thread{at}()"));
        }
        writer.items(&sketch.meanwhile);
        if sketch.joins {
            own.iter().for_each(|at| writer.line(&format!("join %t{at}")));
        }
        writer.items(&sketch.after);
    });
    let mut text = String::from("type Node { value: i32 }\n");
    text.extend((0..VARIABLES).map(|variable| format!("global v{variable}: i32\n")));
    text.extend((0..LOCKS).map(|lock| format!("global m{lock}: lock\n")));
    text.push_str("global flag: i32\nglobal c: condition\nglobal array: i32[2]\nglobal shared: ref\n");
    let _ = writeln!(text, "global s: semaphore({})\nglobal b: barrier({})", sketch.semaphore, sketch.barrier);
    text.push_str(&writer.done);
    text.push_str(&writer.text);
    number_lines(&text)
}

/// Every statement gets a comment that no other one has.
fn number_lines(text: &str) -> String {
    let mut numbered = String::new();
    for (at, line) in text.lines().enumerate() {
        let _ = match line.starts_with("  ") {
            true => writeln!(numbered, "{line}  # {}", at + 1),
            false => writeln!(numbered, "{line}"),
        };
    }
    numbered
}

/// Functions that are done, and the one being written.
#[derive(Default)]
struct Writer {
    done: String,
    text: String,
    /// Registers and blocks so far.
    count: usize,
    /// What was read last.
    last: String,
}

impl Writer {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "  {line}");
    }

    fn fresh(&mut self, prefix: &str) -> String {
        self.count += 1;
        format!("{prefix}{}", self.count)
    }

    fn label(&mut self, label: &str) {
        let _ = writeln!(self.text, "{label}:");
    }

    /// Functions that are called stand before it.
    fn function(&mut self, name: &str, body: impl FnOnce(&mut Self)) {
        let outer = (std::mem::take(&mut self.text), std::mem::replace(&mut self.last, "0".into()));
        let _ = writeln!(self.text, "\nfunc {name}() {{\nentry:");
        self.line("%zero: i32 = const 0");
        self.last = "%zero".into();
        body(self);
        self.line("return");
        self.text.push_str("}\n");
        self.done.push_str(&self.text);
        (self.text, self.last) = outer;
    }

    fn items(&mut self, items: &[Item]) {
        items.iter().for_each(|item| self.item(item));
    }

    fn read(&mut self, statement: &str) {
        let register = self.fresh("%r");
        self.line(&format!("{register}: i32 = {statement}"));
        self.last = register;
    }

    /// Whether what was read last is this.
    fn test(&mut self, test: &str, value: u64) -> String {
        let register = self.fresh("%q");
        self.line(&format!("{register}: bool = cmp {test} {}, {value}", self.last));
        register
    }

    fn blocks<const N: usize>(&mut self, names: [&str; N]) -> [String; N] {
        self.count += 1;
        names.map(|name| format!("{name}{}", self.count))
    }

    fn item(&mut self, item: &Item) {
        let order = |atomic: &bool| if *atomic { " [atomic seq_cst]" } else { "" };
        match item {
            Item::Read { variable, atomic } => self.read(&format!("load v{variable}{}", order(atomic))),
            Item::Write { variable, atomic, value: Some(value) } => {
                self.line(&format!("store v{variable}, {value}{}", order(atomic)));
            }
            Item::Write { variable, atomic, value: None } => {
                let register = self.fresh("%w");
                self.line(&format!("{register}: i32 = add {}, 1", self.last));
                self.line(&format!("store v{variable}, {register}{}", order(atomic)));
            }
            Item::Add { variable } => self.read(&format!("rmw add v{variable}, 1")),
            Item::Exchange { variable, value } => self.read(&format!("rmw exchange v{variable}, {value}")),
            Item::CompareExchange { variable, expected, new } => {
                self.read(&format!("rmw cas v{variable}, {expected}, {new}"));
            }
            Item::ReadElement => {
                let index = self.index();
                self.read(&format!("load element(array, {index})"));
            }
            Item::WriteElement { value } => {
                let index = self.index();
                self.line(&format!("store element(array, {index}), {value}"));
            }
            Item::ReadField => {
                let object = self.shared();
                self.read(&format!("load field({object}, Node.value)"));
            }
            Item::WriteField { value } => {
                let object = self.shared();
                self.line(&format!("store field({object}, Node.value), {value}"));
            }
            Item::Renew => {
                let object = self.fresh("%o");
                self.line(&format!("{object}: ref = alloc Node"));
                self.line(&format!("store shared, {object}"));
            }
            Item::Locked { lock, shared, items } => {
                self.line(&format!("enter m{lock}{}", if *shared { " shared" } else { "" }));
                self.items(items);
                self.line(&format!("exit m{lock}"));
            }
            Item::Tried { lock, items } => {
                let got = self.fresh("%g");
                self.line(&format!("{got}: bool = try enter m{lock}"));
                self.either(&got, |writer| {
                    writer.items(items);
                    writer.line(&format!("exit m{lock}"));
                });
            }
            Item::If { equals, then, otherwise } => {
                let test = self.test("eq", *equals);
                let last = self.last.clone();
                let [yes, no, end] = self.blocks(["then", "else", "end"]);
                self.line(&format!("branch {test}, {yes}, {no}"));
                for (label, items) in [(&yes, then), (&no, otherwise)] {
                    self.label(label);
                    self.last.clone_from(&last);
                    self.items(items);
                    self.line(&format!("jump {end}"));
                }
                self.label(&end);
                self.last = last;
            }
            Item::While { times, variable, until, items } => self.loop_(*times, *variable, *until, items),
            Item::Wait { looks, again, timed } => self.wait(*looks, *again, *timed),
            Item::Notify { all, sets, locked } => {
                if *locked {
                    self.line("enter m0");
                }
                if *sets {
                    self.line("store flag, 1");
                }
                self.line(&format!("notify {} c", if *all { "all" } else { "one" }));
                if *locked {
                    self.line("exit m0");
                }
            }
            Item::Post => self.line("post s"),
            Item::Take => self.line("take s"),
            Item::TryTake => {
                let got = self.fresh("%g");
                self.line(&format!("{got}: bool = try take s"));
                self.read(&format!("conv {got}"));
            }
            Item::Barrier => self.line("barrier b"),
            Item::Fence => self.line("fence seq_cst"),
            Item::Assert { equals, not } => {
                let test = self.test(if *not { "ne" } else { "eq" }, *equals);
                self.line(&format!("assert {test}, \"{test}\""));
            }
            Item::Call { items } => {
                let name = self.fresh("called");
                let last = self.last.clone();
                self.function_with_result(&name, items);
                self.read(&format!("call {name}({last})"));
            }
        }
    }

    /// A function that takes what was read last and returns what it read last.
    fn function_with_result(&mut self, name: &str, items: &[Item]) {
        let outer = (std::mem::take(&mut self.text), std::mem::replace(&mut self.last, "%given".into()));
        let _ = writeln!(self.text, "\nfunc {name}(%given: i32) -> i32 {{\nentry:");
        self.items(items);
        self.line(&format!("return {}", self.last));
        self.text.push_str("}\n");
        self.done.push_str(&self.text);
        (self.text, self.last) = outer;
    }

    /// What was read last, as an index into the array.
    fn index(&mut self) -> String {
        let index = self.fresh("%i");
        self.line(&format!("{index}: i32 = and {}, 1", self.last));
        index
    }

    fn shared(&mut self) -> String {
        let object = self.fresh("%o");
        self.line(&format!("{object}: ref = load shared"));
        object
    }

    /// Only if the register is true.
    fn either(&mut self, condition: &str, body: impl FnOnce(&mut Self)) {
        let last = self.last.clone();
        let [yes, end] = self.blocks(["yes", "over"]);
        self.line(&format!("branch {condition}, {yes}, {end}"));
        self.label(&yes);
        body(self);
        self.line(&format!("jump {end}"));
        self.label(&end);
        self.last = last;
    }

    fn loop_(&mut self, times: u64, variable: u64, until: u64, items: &[Item]) {
        let last = self.last.clone();
        let [head, body, end] = self.blocks(["loop", "round", "out"]);
        let (count, more, seen, both) = (self.fresh("%n"), self.fresh("%m"), self.fresh("%s"), self.fresh("%b"));
        self.line(&format!("{count}: i32 = const 0"));
        self.line(&format!("jump {head}"));
        self.label(&head);
        self.line(&format!("{seen}: i32 = load v{variable} [atomic seq_cst]"));
        self.line(&format!("{more}: bool = cmp lt {count}, {times}"));
        self.line(&format!("{both}: bool = cmp ne {seen}, {until}"));
        self.line(&format!("{both} = and {both}, {more}"));
        self.line(&format!("branch {both}, {body}, {end}"));
        self.label(&body);
        self.line(&format!("{count} = add {count}, 1"));
        self.last = seen;
        self.items(items);
        self.line(&format!("jump {head}"));
        self.label(&end);
        self.last = last;
    }

    fn wait(&mut self, looks: bool, again: bool, timed: bool) {
        let sleep = |writer: &mut Self| {
            if timed {
                let woken = writer.fresh("%k");
                writer.line(&format!("{woken}: bool = try wait c, m0"));
            } else {
                writer.line("wait c, m0");
            }
        };
        self.line("enter m0");
        if looks {
            let [head, asleep, end] = self.blocks(["look", "sleep", "awake"]);
            self.line(&format!("jump {head}"));
            self.label(&head);
            let (seen, zero) = (self.fresh("%f"), self.fresh("%z"));
            self.line(&format!("{seen}: i32 = load flag"));
            self.line(&format!("{zero}: bool = cmp eq {seen}, 0"));
            self.line(&format!("branch {zero}, {asleep}, {end}"));
            self.label(&asleep);
            sleep(self);
            // Time may run out again and again.
            self.line(&format!("jump {}", if again && !timed { &head } else { &end }));
            self.label(&end);
        } else {
            sleep(self);
        }
        self.line("exit m0");
    }
}
