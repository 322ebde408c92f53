//! Small programs of threads: how they look in Java, and as instructions for [`super::machine`].

use std::fmt::Write;

/// Places of memory. An index is an expression without places.
#[derive(Clone, Debug)]
pub enum Place {
    /// `a`, `b`.
    Static(usize),
    /// `cells[i]`.
    Cell(Expr),
    /// `rows[i][j]`.
    Row(Expr, Expr),
    /// `part` of the thread itself.
    Part,
    /// `part` of one that was started.
    PartOf(Expr),
}

#[derive(Clone, Debug)]
pub enum Expr {
    Number(i32),
    Local(usize),
    Id,
    Load(Box<Place>),
    Both(Op, Box<Expr>, Box<Expr>),
    /// `one == number ? then : other`.
    Choose(Box<Expr>, i32, Box<Expr>, Box<Expr>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    Add,
    Sub,
    Mul,
    Min,
    Max,
    /// Shift by one to the right of a sum: the middle.
    Half,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Test {
    Less,
    Equal,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lock {
    Static(usize),
    /// The thread itself.
    Own,
}

#[derive(Clone, Debug)]
pub enum Statement {
    Set(Place, Expr),
    /// `place op= e`, or `place = Math.max(place, e)`.
    Update(Place, Op, Expr),
    /// `if (e < place) place = e`, or the other way round.
    Guarded(Place, bool, Expr),
    If(Test, Expr, Expr, Vec<Statement>),
    /// `for (int i = low; i < high; i += step)`.
    For(usize, Expr, Expr, Expr, Vec<Statement>),
    Hold(Lock, Vec<Statement>),
    Meet,
    Print(Expr),
    /// Makes and starts the thread with this number; its `id` is the expression.
    Start(Expr, Expr),
    Join(Expr),
    /// Makes a thread, which is started later.
    Make(Expr, Expr),
    /// `for (Thread one : t) one.start()`.
    StartAll(usize),
    Put(Expr),
    /// What the queue gives goes there.
    Take(Place),
}

/// How threads are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    Subclass,
    Lambda,
    Tasks,
    /// Tasks of a pool of one thread.
    OneByOne,
}

impl Style {
    pub fn is_pool(self) -> bool {
        matches!(self, Self::Tasks | Self::OneByOne)
    }
}

#[derive(Clone, Debug)]
pub struct Program {
    pub style: Style,
    pub threads: usize,
    /// For how many the barrier waits.
    pub parties: i32,
    pub main: Vec<Statement>,
    pub body: Vec<Statement>,
}

pub const STATICS: usize = 2;
pub const CELLS: usize = 6;
pub const ROWS: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Array {
    Cells,
    Rows,
    Parts,
}

/// What a thread does, step by step, on a stack of numbers. A load of an update is not watched: which update comes
/// before it may differ.
#[derive(Clone, Debug)]
pub enum Step {
    Number(i32),
    Get(usize),
    Put(usize),
    Id,
    Own,
    Both(Op),
    Static(usize),
    /// What is on top must be below.
    Below(usize),
    Index(Array),
    Load {
        watched: bool,
    },
    Store,
    Twice,
    Jump(usize),
    /// Goes on there unless the test holds.
    Unless(Test, usize),
    Enter(Lock),
    Leave(Lock),
    Meet,
    Print,
    Start,
    Make,
    /// Starts one that was made.
    Begin,
    Join,
    /// Into the queue.
    Offer,
    /// From the queue.
    Take,
    End,
}

/// Instructions of a body.
pub fn steps(body: &[Statement]) -> Vec<Step> {
    let mut all = Vec::new();
    body.iter().for_each(|one| flatten(one, &mut all));
    all.push(Step::End);
    all
}

fn place(at: &Place, all: &mut Vec<Step>) {
    match at {
        Place::Static(which) => all.push(Step::Static(*which)),
        Place::Cell(index) => {
            value(index, true, all);
            all.push(Step::Index(Array::Cells));
        }
        Place::Row(row, index) => {
            value(row, true, all);
            all.extend([Step::Below(ROWS), Step::Number(ROWS as i32), Step::Both(Op::Mul)]);
            value(index, true, all);
            all.extend([Step::Below(ROWS), Step::Both(Op::Add), Step::Index(Array::Rows)]);
        }
        Place::Part => all.extend([Step::Own, Step::Index(Array::Parts)]),
        Place::PartOf(which) => {
            value(which, true, all);
            all.push(Step::Index(Array::Parts));
        }
    }
}

fn value(of: &Expr, watched: bool, all: &mut Vec<Step>) {
    match of {
        Expr::Number(number) => all.push(Step::Number(*number)),
        Expr::Local(local) => all.push(Step::Get(*local)),
        Expr::Id => all.push(Step::Id),
        Expr::Load(at) => {
            place(at, all);
            all.push(Step::Load { watched });
        }
        Expr::Both(op, left, right) => {
            value(left, watched, all);
            value(right, watched, all);
            all.push(Step::Both(*op));
        }
        Expr::Choose(one, number, then, other) => {
            value(one, watched, all);
            all.push(Step::Number(*number));
            let mut over = 0;
            branch(all, Test::Equal, |all| {
                value(then, watched, all);
                over = all.len();
                all.push(Step::Jump(0));
            });
            value(other, watched, all);
            all[over] = Step::Jump(all.len());
        }
    }
}

fn branch(all: &mut Vec<Step>, test: Test, inside: impl FnOnce(&mut Vec<Step>)) {
    let at = all.len();
    all.push(Step::Unless(test, 0));
    inside(all);
    all[at] = Step::Unless(test, all.len());
}

fn guarded(at: &Place, greatest: bool, by: &Expr, all: &mut Vec<Step>) {
    let old = |all: &mut Vec<Step>| {
        place(at, all);
        all.push(Step::Load { watched: false });
    };
    if greatest {
        old(all);
    }
    value(by, true, all);
    if !greatest {
        old(all);
    }
    branch(all, Test::Less, |all| {
        place(at, all);
        value(by, true, all);
        all.push(Step::Store);
    });
}

fn flatten(one: &Statement, all: &mut Vec<Step>) {
    match one {
        Statement::Set(at, of) => {
            place(at, all);
            value(of, true, all);
            all.push(Step::Store);
        }
        Statement::Update(at, op, by) => {
            place(at, all);
            all.extend([Step::Twice, Step::Load { watched: false }]);
            value(by, true, all);
            all.extend([Step::Both(*op), Step::Store]);
        }
        Statement::Guarded(at, greatest, by) => guarded(at, *greatest, by, all),
        Statement::If(test, left, right, inside) => {
            value(left, true, all);
            value(right, true, all);
            branch(all, *test, |all| inside.iter().for_each(|one| flatten(one, all)));
        }
        Statement::For(local, low, high, step, inside) => {
            value(low, true, all);
            all.push(Step::Put(*local));
            let head = all.len();
            all.push(Step::Get(*local));
            value(high, true, all);
            branch(all, Test::Less, |all| {
                inside.iter().for_each(|one| flatten(one, all));
                all.push(Step::Get(*local));
                value(step, true, all);
                all.extend([Step::Both(Op::Add), Step::Put(*local), Step::Jump(head)]);
            });
        }
        Statement::Hold(lock, inside) => {
            all.push(Step::Enter(*lock));
            inside.iter().for_each(|one| flatten(one, all));
            all.push(Step::Leave(*lock));
        }
        Statement::Meet => all.push(Step::Meet),
        Statement::Print(of) => {
            value(of, true, all);
            all.push(Step::Print);
        }
        Statement::Start(which, id) => {
            value(which, true, all);
            value(id, true, all);
            all.push(Step::Start);
        }
        Statement::Join(which) => {
            value(which, true, all);
            all.push(Step::Join);
        }
        Statement::Make(which, id) => {
            value(which, true, all);
            value(id, true, all);
            all.push(Step::Make);
        }
        Statement::StartAll(count) => {
            (0..*count).for_each(|at| all.extend([Step::Number(at as i32), Step::Begin]));
        }
        Statement::Put(of) => {
            value(of, true, all);
            all.push(Step::Offer);
        }
        Statement::Take(at) => {
            place(at, all);
            all.extend([Step::Take, Step::Store]);
        }
    }
}

/// The program in Java.
pub fn java(program: &Program, name: &str) -> String {
    let mut text = format!(
        "import java.util.concurrent.*;\npublic class {name} {{\n\
         static int a, b = 1;\n\
         static int[] cells = new int[{CELLS}];\n\
         static int[][] rows = new int[{ROWS}][{ROWS}];\n\
         static final Object m = new Object(), n = new Object();\n\
         static final CyclicBarrier barrier = new CyclicBarrier({});\n\
         static final BlockingQueue<Integer> queue = new LinkedBlockingQueue<>();\n\
         static final ExecutorService pool = Executors.new{}();\n",
        program.parties,
        if program.style == Style::OneByOne { "SingleThreadExecutor" } else { "CachedThreadPool" }
    );
    let kind = match program.style {
        Style::Subclass => "Worker",
        Style::Lambda => "Thread",
        Style::Tasks | Style::OneByOne => "Future<?>",
    };
    let mut body = block(&program.body, program.style, 4);
    let failed = match (body.contains("barrier."), body.contains("queue.")) {
        (true, _) => Some("catch (InterruptedException | BrokenBarrierException e) { throw new RuntimeException(e); }"),
        (false, true) => Some("catch (InterruptedException e) { throw new RuntimeException(e); }"),
        (false, false) => None,
    };
    if let Some(failed) = failed {
        body = format!("    try {{\n{body}    }} {failed}\n");
    }
    match program.style {
        Style::Subclass => {
            let _ = writeln!(
                text,
                "static class Worker extends Thread {{ final int id; int part; Worker(int id) {{ this.id = id; }}\n\
                 public void run() {{\n{body}    }} }}"
            );
        }
        Style::Lambda | Style::Tasks | Style::OneByOne => {
            let _ = writeln!(text, "static void body(int id) {{\n{body}}}");
        }
    }
    let array = if program.style.is_pool() { "Future[]".to_owned() } else { format!("{kind}[]") };
    let new = array.replace("[]", &format!("[{}]", program.threads));
    let main = block(&program.main, program.style, 4);
    let end = if program.style.is_pool() { "    pool.shutdown();\n" } else { "" };
    let _ = writeln!(
        text,
        "public static void main(String[] arguments) throws Exception {{\n    {array} t = new {new};\n{main}{end}}}\n}}"
    );
    text
}

fn block(all: &[Statement], style: Style, depth: usize) -> String {
    all.iter().map(|one| statement(one, style, depth)).collect()
}

fn statement(one: &Statement, style: Style, depth: usize) -> String {
    let indent = " ".repeat(depth);
    let inner = |inside: &[Statement]| block(inside, style, depth + 2);
    match one {
        Statement::Set(at, of) => format!("{indent}{} = {};\n", shown(at), text(of)),
        Statement::Update(at, op, by) => {
            let (at, by) = (shown(at), text(by));
            match op {
                Op::Add => format!("{indent}{at} += {by};\n"),
                Op::Sub => format!("{indent}{at} -= {by};\n"),
                Op::Mul => format!("{indent}{at} *= {by};\n"),
                Op::Min => format!("{indent}{at} = Math.min({at}, {by});\n"),
                Op::Max => format!("{indent}{at} = Math.max({at}, {by});\n"),
                Op::Half => format!("{indent}{at} = ({at} + {by}) >> 1;\n"),
            }
        }
        Statement::Guarded(at, greatest, by) => {
            let (at, by) = (shown(at), text(by));
            let test = if *greatest { format!("{at} < {by}") } else { format!("{by} < {at}") };
            format!("{indent}if ({test}) {at} = {by};\n")
        }
        Statement::If(test, left, right, inside) => {
            let sign = if *test == Test::Less { "<" } else { "==" };
            format!("{indent}if ({} {sign} {}) {{\n{}{indent}}}\n", text(left), text(right), inner(inside))
        }
        Statement::For(local, low, high, step, inside) => {
            let (low, high, inside) = (text(low), text(high), inner(inside));
            let next = match step {
                Expr::Number(1) => format!("i{local}++"),
                step => format!("i{local} += {}", text(step)),
            };
            format!("{indent}for (int i{local} = {low}; i{local} < {high}; {next}) {{\n{inside}{indent}}}\n")
        }
        Statement::Hold(lock, inside) => {
            let lock = ["m", "n", "this"][if let Lock::Static(which) = lock { *which } else { 2 }];
            format!("{indent}synchronized ({lock}) {{\n{}{indent}}}\n", inner(inside))
        }
        Statement::Meet => format!("{indent}barrier.await();\n"),
        Statement::Print(of) => format!("{indent}System.out.println({});\n", text(of)),
        Statement::Start(which, id) => {
            let (which, id) = (text(which), text(id));
            match style {
                Style::Subclass => format!("{indent}t[{which}] = new Worker({id}); t[{which}].start();\n"),
                Style::Lambda => format!(
                    "{indent}{{ final int id = {id}; t[{which}] = new Thread(() -> body(id)); t[{which}].start(); }}\n"
                ),
                Style::Tasks | Style::OneByOne => {
                    format!("{indent}{{ final int id = {id}; t[{which}] = pool.submit(() -> body(id)); }}\n")
                }
            }
        }
        Statement::Join(which) => {
            let wait = if style.is_pool() { "get" } else { "join" };
            format!("{indent}t[{}].{wait}();\n", text(which))
        }
        Statement::Make(which, id) => {
            let (which, id) = (text(which), text(id));
            match style {
                Style::Subclass => format!("{indent}t[{which}] = new Worker({id});\n"),
                _ => format!("{indent}{{ final int id = {id}; t[{which}] = new Thread(() -> body(id)); }}\n"),
            }
        }
        Statement::StartAll(_) => format!("{indent}for (Thread one : t) one.start();\n"),
        Statement::Put(of) => format!("{indent}queue.put({});\n", text(of)),
        Statement::Take(at) => format!("{indent}{} = queue.take();\n", shown(at)),
    }
}

fn shown(place: &Place) -> String {
    match place {
        Place::Static(which) => ["a", "b"][*which].to_owned(),
        Place::Cell(index) => format!("cells[{}]", text(index)),
        Place::Row(row, index) => format!("rows[{}][{}]", text(row), text(index)),
        Place::Part => "part".to_owned(),
        Place::PartOf(which) => format!("t[{}].part", text(which)),
    }
}

fn text(of: &Expr) -> String {
    match of {
        Expr::Number(number) => number.to_string(),
        Expr::Local(local) => format!("i{local}"),
        Expr::Id => "id".to_owned(),
        Expr::Load(place) => shown(place),
        Expr::Both(op, left, right) => {
            let (left, right) = (text(left), text(right));
            match op {
                Op::Add => format!("({left} + {right})"),
                Op::Sub => format!("({left} - {right})"),
                Op::Mul => format!("({left} * {right})"),
                Op::Min => format!("Math.min({left}, {right})"),
                Op::Max => format!("Math.max({left}, {right})"),
                Op::Half => format!("(({left} + {right}) >> 1)"),
            }
        }
        Expr::Choose(one, number, then, other) => {
            format!("({} == {number} ? {} : {})", text(one), text(then), text(other))
        }
    }
}
