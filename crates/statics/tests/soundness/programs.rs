//! Random programs for which all executions can be looked at: threads that are started and joined here and there, in
//! loops and by each other, share variables, an array and an object, lock, branch, call and read input. A seed gives
//! the same program everywhere.

use std::fmt::Write;

/// A reproducible source of numbers (splitmix64).
pub struct Dice(u64);

impl Dice {
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

struct Writer<'d> {
    dice: &'d mut Dice,
    text: String,
    done: String,
    count: u32,
    /// A register with a number.
    last: String,
    /// Handles that were started and not joined in this function.
    handles: Vec<String>,
    /// Functions that may still be written.
    left: u32,
    /// Statements that may still be written, in all threads.
    budget: i32,
    held: Vec<u64>,
    depth: u32,
    threads_left: u32,
}

/// The program of a seed.
pub fn program(seed: u64) -> String {
    let mut dice = Dice::new(seed);
    let budget = 6 + dice.below(9) as i32;
    let threads_left = 1 + dice.below(3) as u32;
    let mut writer = Writer {
        dice: &mut dice,
        text: String::new(),
        done: String::new(),
        count: 0,
        last: "%zero".into(),
        handles: Vec::new(),
        left: 3,
        budget,
        held: Vec::new(),
        depth: 0,
        threads_left,
    };
    writer.function("main", true);
    // Now and then sums go over the end.
    let first = if seed % 8 == 5 { i32::MAX } else { 1 };
    format!(
        "type Node {{ value: i32, next: ref }}\nglobal x: i32\nglobal y: i32 = {first}\nglobal array: i32[2] = 3, 3\n\
         global pile: i32[20]\nglobal sum: i32 = 1\nglobal shared: ref\nglobal node: Node\nglobal m: lock\nglobal n: lock\nglobal handle: thread\n\
         global c: condition\nglobal s: semaphore(1)\n{}",
        writer.done
    )
}

/// A program that calls two functions, one after the other, while another thread may be running, or have run before.
pub fn two_calls(seed: u64) -> String {
    let mut dice = Dice::new(seed);
    let mut writer = Writer {
        dice: &mut dice,
        text: String::new(),
        done: String::new(),
        count: 0,
        last: "%zero".into(),
        handles: Vec::new(),
        left: 0,
        budget: 4,
        held: Vec::new(),
        depth: 0,
        threads_left: 0,
    };
    writer.function("one", false);
    writer.budget = 4;
    writer.function("two", false);
    let beside = writer.dice.below(3);
    if beside > 0 {
        writer.budget = 2;
        writer.function("other", false);
        writer.done.push_str("func thread() {\nentry:\n  %u: i32 = call other(3)\n  return\n}\n");
    }
    // Started before and joined behind, or joined before as well, while main wrote, too.
    let (before, behind) = match beside {
        0 => ("", ""),
        1 => ("  %t: thread = start thread()\n", "  join %t\n"),
        _ => ("  %t: thread = start thread()\n  store y, 8\n  join %t\n", ""),
    };
    let functions = std::mem::take(&mut writer.done);
    let needs = if writer.dice.one_in(6) { "%a" } else { "5" };
    format!(
        "type Node {{ value: i32, next: ref }}\nglobal x: i32\nglobal y: i32 = 1\nglobal array: i32[2] = 3, 3\n\
         global pile: i32[20]\nglobal sum: i32 = 1\nglobal shared: ref\nglobal node: Node\nglobal m: lock\nglobal n: lock\nglobal c: condition\n\
         global handle: thread\nglobal s: semaphore(1)\n{functions}\nfunc main() {{\nentry:\n  %first: ref = alloc Node\n  \
         store shared, %first\n{before}  %a: i32 = call one(4)\n  %b: i32 = call two({needs})\n{behind}  %x: i32 = load x\n  \
         %y: i32 = load y\n  output %a, \" \", %b, \" \", %x, \" \", %y\n  return\n}}\n"
    )
}

impl Writer<'_> {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "  {line}");
    }

    fn fresh(&mut self, prefix: &str) -> String {
        self.count += 1;
        format!("%{prefix}{}", self.count)
    }

    fn labels<const N: usize>(&mut self, names: [&str; N]) -> [String; N] {
        self.count += 1;
        names.map(|name| format!("{name}{}", self.count))
    }

    fn label(&mut self, label: &str) {
        let _ = writeln!(self.text, "{label}:");
    }

    fn function(&mut self, name: &str, is_main: bool) {
        let outer = (
            std::mem::take(&mut self.text),
            std::mem::replace(&mut self.last, "%given".into()),
            std::mem::take(&mut self.handles),
            std::mem::take(&mut self.held),
            std::mem::replace(&mut self.depth, 0),
        );
        if is_main {
            self.text.push_str("\nfunc main() {\nentry:\n  %given: i32 = const 0\n");
            if self.dice.one_in(2) {
                self.line("%first: ref = alloc Node");
                self.line("store shared, %first");
            }
        } else {
            let _ = writeln!(self.text, "\nfunc {name}(%given: i32) -> i32 {{\nentry:");
        }
        if is_main {
            self.item(true);
            (0..self.dice.below(3)).for_each(|_| self.start());
        }
        let items = if is_main { 3 + self.dice.below(6) } else { 1 + self.dice.below(4) };
        for _ in 0..items {
            self.item(is_main);
        }
        let joins = !self.dice.one_in(4);
        for handle in std::mem::take(&mut self.handles) {
            if joins {
                self.line(&format!("join {handle}"));
            }
        }
        if is_main {
            let after = self.dice.below(3);
            self.budget = self.budget.max(0) + 2;
            (0..after).for_each(|_| self.item(true));
            if self.dice.one_in(2) {
                self.line(&format!("output \"end \", {}", self.last.clone()));
            }
            self.line("return");
        } else {
            self.line(&format!("return {}", self.last.clone()));
        }
        self.text.push_str("}\n");
        let own = std::mem::replace(&mut self.text, outer.0);
        self.done.push_str(&own);
        (self.last, self.handles, self.held, self.depth) = (outer.1, outer.2, outer.3, outer.4);
    }

    fn variable(&mut self) -> &'static str {
        ["x", "x", "x", "y", "array", "node", "pile"][self.dice.below(7) as usize]
    }

    fn place(&mut self) -> String {
        match self.variable() {
            "array" => match self.dice.below(3) {
                0 => "element(array, 0)".into(),
                1 => "element(array, 1)".into(),
                _ => {
                    let index = self.fresh("i");
                    self.line(&format!("{index}: i32 = and {}, 1", self.last.clone()));
                    format!("element(array, {index})")
                }
            },
            "pile" => {
                let index = self.fresh("i");
                self.line(&format!("{index}: i32 = and {}, 1", self.last.clone()));
                format!("element(pile, {index})")
            }
            "node" => match self.dice.below(3) {
                0 => "field(node, Node.value)".into(),
                _ => {
                    let object = self.fresh("o");
                    self.line(&format!("{object}: ref = load shared"));
                    format!("field({object}, Node.value)")
                }
            },
            other => other.into(),
        }
    }

    fn items(&mut self, starts: bool) {
        self.depth += 1;
        for _ in 0..1 + self.dice.below(2) {
            self.item(starts);
        }
        self.depth -= 1;
    }

    fn item(&mut self, starts: bool) {
        self.budget -= 1;
        if self.budget < 0 {
            return;
        }
        let shallow = self.depth < 2;
        match self.dice.below(24) {
            0..=3 => {
                let place = self.place();
                self.read(&format!("load {place}"));
            }
            4 | 5 => {
                let place = self.place();
                let value = self.dice.below(3);
                // The type of a field of an object that a register refers to shows in its name.
                self.line(&format!("store {place}, {value}"));
            }
            6 | 7 => {
                let place = self.place();
                let register = self.fresh("w");
                let by = self.dice.below(3);
                self.line(&format!("{register}: i32 = add {}, {by}", self.last.clone()));
                self.line(&format!("store {place}, {register}"));
            }
            8 => {
                let place = self.place();
                self.update(&place);
            }
            9 => {
                let place = self.place();
                let op = ["add", "add", "sub", "xor", "or", "exchange"][self.dice.below(6) as usize];
                let by = 1 + self.dice.below(2);
                if self.dice.one_in(2) {
                    self.read(&format!("rmw {op} {place}, {by}"));
                } else {
                    let unused = self.fresh("u");
                    self.line(&format!("{unused}: i32 = rmw {op} {place}, {by}"));
                }
            }
            10 => {
                let place = self.place();
                let (a, b) = (self.dice.below(2), self.dice.below(3));
                self.read(&format!("rmw cas {place}, {a}, {b}"));
            }
            11 | 12 if shallow => self.locked(starts),
            13 | 14 if shallow => self.branch(starts),
            15 if shallow && self.depth == 0 => self.repeat(starts),
            16..=18 if starts || self.dice.one_in(3) => self.start(),
            19 if !self.handles.is_empty() => {
                let at = self.dice.below(self.handles.len() as u64) as usize;
                let handle = if self.depth == 0 { self.handles.remove(at) } else { self.handles[at].clone() };
                self.line(&format!("join {handle}"));
            }
            20 if shallow => self.call(),
            21 => {
                let wide = self.fresh("n");
                self.line(&format!("{wide}: i64 = input"));
                self.read(&format!("conv {wide}"));
            }
            22 => self.odd(),
            _ => {
                self.line(&format!("output {}", self.last.clone()));
            }
        }
    }

    fn read(&mut self, statement: &str) {
        let register = self.fresh("r");
        self.line(&format!("{register}: i32 = {statement}"));
        self.last = register;
    }

    /// `x = x ⊕ e`, mostly under a lock.
    fn update(&mut self, place: &str) {
        let lock = (!self.held.contains(&0) && !self.dice.one_in(4)).then_some("m");
        if let Some(lock) = lock {
            self.line(&format!("enter {lock}"));
        }
        let (old, new) = (self.fresh("a"), self.fresh("b"));
        let op = ["add", "add", "add", "sub", "xor", "mul"][self.dice.below(6) as usize];
        let by = if self.dice.one_in(4) { self.last.clone() } else { (1 + self.dice.below(2)).to_string() };
        self.line(&format!("{old}: i32 = load {place}"));
        self.line(&format!("{new}: i32 = {op} {old}, {by}"));
        self.line(&format!("store {place}, {new}"));
        if let Some(lock) = lock {
            self.line(&format!("exit {lock}"));
        }
    }

    fn locked(&mut self, starts: bool) {
        let free: Vec<u64> = (0..2).filter(|lock| !self.held.contains(lock)).collect();
        let Some(&lock) = free.get(self.dice.below(free.len() as u64) as usize) else { return };
        let name = ["m", "n"][lock as usize];
        let shared = if self.dice.one_in(5) { " shared" } else { "" };
        self.line(&format!("enter {name}{shared}"));
        self.held.push(lock);
        self.items(starts);
        self.held.pop();
        self.line(&format!("exit {name}"));
    }

    fn branch(&mut self, starts: bool) {
        let test = self.fresh("q");
        let (op, by) = (["eq", "lt", "gt", "ne"][self.dice.below(4) as usize], self.dice.below(3));
        self.line(&format!("{test}: bool = cmp {op} {}, {by}", self.last.clone()));
        let [yes, no, end] = self.labels(["then", "else", "end"]);
        let last = self.last.clone();
        self.line(&format!("branch {test}, {yes}, {no}"));
        for (label, empty) in [(&yes, false), (&no, self.dice.one_in(2))] {
            self.label(label);
            if !empty {
                self.items(starts);
            }
            self.last.clone_from(&last);
            self.line(&format!("jump {end}"));
        }
        self.label(&end);
    }

    /// Twice, or as often as a variable says, up to twice.
    fn repeat(&mut self, starts: bool) {
        let [head, body, end] = self.labels(["loop", "round", "out"]);
        let (count, more) = (self.fresh("k"), self.fresh("q"));
        self.line(&format!("{count}: i32 = const 0"));
        self.line(&format!("jump {head}"));
        self.label(&head);
        self.line(&format!("{more}: bool = cmp lt {count}, 2"));
        self.line(&format!("branch {more}, {body}, {end}"));
        self.label(&body);
        self.line(&format!("{count} = add {count}, 1"));
        let last = self.last.clone();
        self.items(starts);
        self.last = last;
        self.line(&format!("jump {head}"));
        self.label(&end);
    }

    fn start(&mut self) {
        if self.threads_left == 0 || self.left == 0 {
            return;
        }
        self.threads_left -= 1;
        self.left -= 1;
        let name = format!("worker{}", self.left);
        self.function(&name, false);
        let handle = self.fresh("t");
        let given = if self.dice.one_in(2) { "1".into() } else { self.last.clone() };
        self.line(&format!("{handle}: thread = start {name}({given})"));
        match self.dice.below(6) {
            0 => self.line(&format!("join {handle}")),
            1 => {
                self.line(&format!("store handle, {handle}"));
                self.handles.push(handle);
            }
            _ if self.depth == 0 => self.handles.push(handle),
            _ => {}
        }
    }

    fn call(&mut self) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        let name = format!("helper{}", self.left);
        let held = std::mem::take(&mut self.held);
        // What is held is held by the caller: the callee takes no lock of it again.
        self.function_holding(&name, held.clone());
        self.held = held;
        let times = 1 + self.dice.below(2);
        for _ in 0..times {
            let given = self.last.clone();
            self.read(&format!("call {name}({given})"));
        }
    }

    fn function_holding(&mut self, name: &str, held: Vec<u64>) {
        let before = self.budget;
        if !held.is_empty() {
            // No locks at all in there.
            self.budget = self.budget.min(1);
        }
        self.function(name, false);
        if !held.is_empty() {
            self.budget = before - 1;
        }
    }

    /// Adds to what nothing else touches, under a lock most of the time.
    fn sum(&mut self) {
        let (old, new) = (self.fresh("s"), self.fresh("s"));
        let op = if self.dice.one_in(5) { "mul" } else { "add" };
        let by = if self.dice.one_in(2) { "2".into() } else { self.last.clone() };
        let locked = !self.dice.one_in(6);
        if locked {
            self.line("enter m");
        }
        self.line(&format!("{old}: i32 = load sum"));
        self.line(&format!("{new}: i32 = {op} {old}, {by}"));
        self.line(&format!("store sum, {new}"));
        if locked {
            self.line("exit m");
        }
    }

    /// What is rarer.
    fn odd(&mut self) {
        match self.dice.below(10) {
            7 | 8 if self.held.is_empty() => self.sum(),
            0 => {
                let object = self.fresh("o");
                self.line(&format!("{object}: ref = alloc Node"));
                self.line(&format!("store shared, {object}"));
            }
            1 => {
                let handle = self.fresh("h");
                self.line(&format!("{handle}: thread = load handle"));
                self.line(&format!("join {handle}"));
            }
            2 if !self.held.contains(&1) => {
                let got = self.fresh("g");
                let [yes, end] = self.labels(["yes", "over"]);
                self.line(&format!("{got}: bool = try enter n"));
                self.line(&format!("branch {got}, {yes}, {end}"));
                self.label(&yes);
                let last = self.last.clone();
                self.held.push(1);
                self.items(false);
                self.held.pop();
                self.last = last;
                self.line("exit n");
                self.line(&format!("jump {end}"));
                self.label(&end);
            }
            3 => self.line("post s"),
            4 => self.line("take s"),
            5 if self.held == [0] => {
                let woken = self.fresh("k");
                self.line(&format!("{woken}: bool = try wait c, m"));
            }
            6 => self.line("notify one c"),
            _ => {
                let test = self.fresh("q");
                self.line(&format!("{test}: bool = cmp ne {}, 7", self.last.clone()));
                self.line(&format!("assert {test}, \"seven\""));
            }
        }
    }
}
