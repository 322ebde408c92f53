//! Random programs of the kind that people write, with the mistakes that people make: loops that start and join
//! threads, blocks of arrays by number, barriers, updates under locks; bounds and numbers are off by one now and then.

use crate::language::{CELLS, Expr, Lock, Op, Place, Program, ROWS, Statement, Style, Test};

/// A reproducible source of numbers (splitmix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    fn number(&mut self, from: i32, to: i32) -> i32 {
        from + self.below((to - from + 1) as u64) as i32
    }
}

fn number(of: i32) -> Expr {
    Expr::Number(of)
}

fn both(op: Op, left: Expr, right: Expr) -> Expr {
    match (op, &right) {
        (Op::Add | Op::Sub, Expr::Number(0)) | (Op::Mul, Expr::Number(1)) => left,
        _ => Expr::Both(op, Box::new(left), Box::new(right)),
    }
}

fn load(place: Place) -> Expr {
    Expr::Load(Box::new(place))
}

struct Writer {
    dice: Dice,
    threads: i32,
    style: Style,
    meets: bool,
    queues: bool,
    /// Loops around, each with its own variable.
    depth: usize,
    /// What numbers main and the threads tell apart.
    is_main: bool,
}

/// The program of a seed.
pub fn program(seed: u64) -> Program {
    let mut dice = Dice(seed.wrapping_mul(0x0010_0000_01b3));
    let threads = dice.number(2, 3);
    let style = [Style::Subclass, Style::Subclass, Style::Lambda, Style::Lambda, Style::Tasks, Style::OneByOne]
        [dice.below(6) as usize];
    let (meets, queues) = (dice.one_in(3), dice.one_in(5));
    let mut writer = Writer { dice, threads, style, meets, queues, depth: 0, is_main: false };
    let count = writer.dice.number(1, if meets { 4 } else { 3 });
    let mut body = writer.some(count);
    if meets && !has_meet(&body) {
        let at = writer.dice.below(body.len() as u64 + 1) as usize;
        body.insert(at, Statement::Meet);
    }
    writer.is_main = true;
    let main = writer.main();
    let parties = if writer.dice.one_in(6) { threads - 1 } else { threads };
    Program { style, threads: threads as usize, parties, main, body }
}

fn has_meet(all: &[Statement]) -> bool {
    all.iter().any(|one| match one {
        Statement::Meet => true,
        Statement::If(_, _, _, inside) | Statement::For(_, _, _, _, inside) | Statement::Hold(_, inside) => {
            has_meet(inside)
        }
        _ => false,
    })
}

impl Writer {
    /// A number that is right most of the time.
    fn about(&mut self, right: i32) -> i32 {
        if self.dice.one_in(8) { right + self.dice.number(-1, 1) } else { right }
    }

    fn main(&mut self) -> Vec<Statement> {
        let mut all = Vec::new();
        if self.dice.one_in(2) {
            all.push(self.plain());
        }
        let local = || Expr::Local(0);
        let id = match self.dice.below(8) {
            0 => both(Op::Add, local(), number(1)),
            1 => both(Op::Sub, number(self.threads - 1), local()),
            2 => both(Op::Mul, local(), number(2)),
            3 => both(Op::Half, local(), number(0)),
            4 => both(Op::Min, local(), number(1)),
            _ => local(),
        };
        let (first, end) = (if self.dice.one_in(12) { 1 } else { 0 }, self.threads);
        let count = |low: i32, high: i32, inside| Statement::For(0, number(low), number(high), number(1), inside);
        if self.dice.one_in(5) {
            all.extend((0..self.threads).map(|at| Statement::Start(number(at), number(at))));
        } else if !self.style.is_pool() && self.dice.one_in(3) {
            all.push(count(first, end, vec![Statement::Make(local(), id)]));
            all.push(Statement::StartAll(self.threads as usize));
        } else {
            let mut inside = vec![Statement::Start(local(), id)];
            if self.dice.one_in(12) {
                inside.push(Statement::Join(local()));
            }
            all.push(count(first, end, inside));
        }
        if self.dice.one_in(3) {
            all.push(self.plain());
        }
        if self.queues {
            let takes = self.dice.number(0, 2);
            (0..takes).for_each(|at| all.push(Statement::Take(Place::Static(at as usize))));
        }
        let mut inside = vec![Statement::Join(local())];
        if self.style == Style::Subclass && self.dice.one_in(3) {
            self.depth = 1;
            inside.push(Statement::Update(Place::Static(0), Op::Add, load(Place::PartOf(local()))));
            self.depth = 0;
        }
        match self.dice.below(8) {
            0 => all.push(Statement::Join(number(self.threads - 1))),
            1 => all.push(count(first.max(1), end, inside)),
            2 => all.push(count(first, end - 1, inside)),
            _ => all.push(count(first, end, inside)),
        }
        let count = self.dice.number(1, 2);
        (0..count).for_each(|_| {
            let what = self.value();
            all.push(Statement::Print(what));
        });
        all
    }

    fn some(&mut self, count: i32) -> Vec<Statement> {
        (0..count).map(|_| self.statement()).collect()
    }

    fn statement(&mut self) -> Statement {
        match self.dice.below(12) {
            0..=2 if self.depth < 2 => self.block(),
            3 if self.depth < 2 => self.every_nth(),
            4 | 5 => self.update(),
            6 if self.meets && self.depth < 2 => self.rounds(),
            7 if self.meets => Statement::Meet,
            9 | 10 if self.queues => match self.dice.below(3) {
                0 => Statement::Take(self.place()),
                1 => {
                    let (left, right) = (self.decider(), number(self.dice.number(0, 1)));
                    Statement::If(Test::Equal, left, right, vec![Statement::Put(self.value())])
                }
                _ => Statement::Put(self.value()),
            },
            8 => {
                let (left, right) = (self.decider(), number(self.dice.number(0, 2)));
                let test = if self.dice.one_in(2) { Test::Less } else { Test::Equal };
                Statement::If(test, left, right, vec![self.plain()])
            }
            _ => self.plain(),
        }
    }

    fn decider(&mut self) -> Expr {
        match self.dice.below(3) {
            0 => self.value(),
            _ => self.id(),
        }
    }

    fn id(&mut self) -> Expr {
        if self.is_main { number(self.dice.number(0, 1)) } else { Expr::Id }
    }

    /// `for (i = id * size; i < id * size + size; i++) cells[i] = …`, in one of the forms people write.
    fn block(&mut self) -> Statement {
        let size = if self.dice.one_in(4) { 1 } else { CELLS as i32 / self.threads };
        let local = self.depth;
        let (factor, add) = (self.about(size), self.dice.one_in(10));
        let low = both(Op::Add, both(Op::Mul, self.id(), number(factor)), number(i32::from(add)));
        let width = self.about(size);
        let high = match self.dice.below(5) {
            4 => {
                let next = both(Op::Add, low.clone(), number(width));
                let last = self.about(self.threads - 1);
                Expr::Choose(Box::new(self.id()), last, Box::new(number(CELLS as i32)), Box::new(next))
            }
            0 => both(Op::Add, low.clone(), number(width)),
            1 => {
                let next = both(Op::Add, self.id(), number(1));
                both(Op::Min, both(Op::Mul, next, number(width)), number(CELLS as i32))
            }
            2 => {
                let next = both(Op::Add, self.id(), number(1));
                both(Op::Min, number(CELLS as i32), both(Op::Mul, next, number(width)))
            }
            _ => {
                let next = both(Op::Add, self.id(), number(1));
                both(Op::Mul, next, number(width))
            }
        };
        self.depth += 1;
        let shift = if self.dice.one_in(10) { self.dice.number(-1, 1) } else { 0 };
        let place = Place::Cell(both(Op::Add, Expr::Local(local), number(shift)));
        let inside = self.store(place);
        self.depth -= 1;
        Statement::For(local, low, high, number(1), vec![inside])
    }

    /// `for (i = id; i < n; i += threads) cells[i] = …`.
    fn every_nth(&mut self) -> Statement {
        let local = self.depth;
        let step = self.about(self.threads).max(1);
        self.depth += 1;
        let inside = self.store(Place::Cell(Expr::Local(local)));
        self.depth -= 1;
        let bound = if self.dice.one_in(3) { CELLS as i32 } else { 4 };
        Statement::For(local, self.id(), number(bound), number(step), vec![inside])
    }

    /// Turns of a loop that meet at a barrier.
    fn rounds(&mut self) -> Statement {
        let local = self.depth;
        self.depth += 1;
        let mut inside = vec![self.plain(), Statement::Meet];
        if self.dice.one_in(2) {
            inside.push(self.plain());
            if self.dice.one_in(2) {
                inside.push(Statement::Meet);
            }
        }
        self.depth -= 1;
        let high = if self.dice.one_in(8) { self.id() } else { number(2) };
        Statement::For(local, number(0), high, number(1), inside)
    }

    fn update(&mut self) -> Statement {
        let place = self.place();
        let what = self.small();
        let update = match self.dice.below(8) {
            0 => Statement::Update(place, Op::Mul, what),
            1 => Statement::Update(place, Op::Max, what),
            2 => Statement::Guarded(place, true, what),
            3 => Statement::Guarded(place, false, what),
            4 => Statement::Update(place, Op::Sub, what),
            _ => Statement::Update(place, Op::Add, what),
        };
        let own = self.style == Style::Subclass && !self.is_main;
        match self.dice.below(8) {
            0 => update,
            1 if own => Statement::Hold(Lock::Own, vec![update]),
            2 => Statement::Hold(Lock::Static(1), vec![update]),
            _ => Statement::Hold(Lock::Static(0), vec![update]),
        }
    }

    fn plain(&mut self) -> Statement {
        if self.dice.one_in(8) {
            return Statement::Print(self.value());
        }
        let place = self.place();
        self.store(place)
    }

    fn store(&mut self, place: Place) -> Statement {
        let what = self.value();
        match self.dice.below(4) {
            0 => Statement::Update(place, Op::Add, what),
            _ => Statement::Set(place, what),
        }
    }

    /// A place of this thread, or of all.
    fn place(&mut self) -> Place {
        match self.dice.below(7) {
            0 => Place::Static(0),
            1 => Place::Static(1),
            2 | 3 => {
                let shift = if self.dice.one_in(6) { 1 } else { 0 };
                Place::Cell(both(Op::Add, self.id(), number(shift)))
            }
            4 => {
                let column = self.column();
                Place::Row(self.id(), column)
            }
            5 if self.style == Style::Subclass && !self.is_main => Place::Part,
            _ => Place::Cell(number(self.dice.number(0, CELLS as i32 - 1))),
        }
    }

    fn column(&mut self) -> Expr {
        if self.dice.one_in(2) { self.id() } else { number(self.dice.number(0, ROWS as i32 - 1)) }
    }

    fn small(&mut self) -> Expr {
        match self.dice.below(4) {
            0 => self.id(),
            1 => self.value(),
            _ => number(self.dice.number(0, 2)),
        }
    }

    fn value(&mut self) -> Expr {
        match self.dice.below(6) {
            0 => self.id(),
            1 => {
                let place = self.place();
                both(Op::Add, load(place), number(self.dice.number(0, 2)))
            }
            2 if self.depth > 0 => Expr::Local(self.depth - 1),
            3 => number(self.dice.number(0, 3)),
            4 if self.is_main && self.style == Style::Subclass && self.dice.one_in(2) => {
                load(Place::PartOf(number(self.dice.number(0, self.threads - 1))))
            }
            _ => load(self.place()),
        }
    }
}
