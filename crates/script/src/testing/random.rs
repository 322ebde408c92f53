//! Random programs, small enough for all their schedules to be enumerated: a few threads that read, write, lock, wait
//! and assert. A seed gives the same program everywhere.
//!
//! They are made as trees ([`Sketch`]), so that they can be made smaller; [`write`](super::write) makes text of them.

/// A reproducible source of numbers (splitmix64).
#[derive(Clone, Debug)]
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

/// What is shared: so many of each.
pub const VARIABLES: u64 = 3;
pub const LOCKS: u64 = 2;

/// A statement, or a few that belong together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Item {
    Read {
        variable: u64,
        atomic: bool,
    },
    /// A constant, or what was read last plus one.
    Write {
        variable: u64,
        atomic: bool,
        value: Option<u64>,
    },
    Add {
        variable: u64,
    },
    Exchange {
        variable: u64,
        value: u64,
    },
    CompareExchange {
        variable: u64,
        expected: u64,
        new: u64,
    },
    /// An element of an array, by what was read last.
    ReadElement,
    WriteElement {
        value: u64,
    },
    /// A field of the object that `shared` points to.
    ReadField,
    WriteField {
        value: u64,
    },
    /// A new object for `shared`.
    Renew,
    Locked {
        lock: u64,
        shared: bool,
        items: Vec<Item>,
    },
    /// Only if the lock is free.
    Tried {
        lock: u64,
        items: Vec<Item>,
    },
    /// By what was read last.
    If {
        equals: u64,
        then: Vec<Item>,
        otherwise: Vec<Item>,
    },
    /// At most so often, and not any more once the variable has this value.
    While {
        times: u64,
        variable: u64,
        until: u64,
        items: Vec<Item>,
    },
    /// Under lock 0; `looks`: only while the variable is zero, `again`: and looks again afterwards.
    Wait {
        looks: bool,
        again: bool,
        timed: bool,
    },
    /// Under lock 0, after setting the variable.
    Notify {
        all: bool,
        sets: bool,
        locked: bool,
    },
    Post,
    Take,
    TryTake,
    Barrier,
    Fence,
    /// What was read last is this, or is not.
    Assert {
        equals: u64,
        not: bool,
    },
    Call {
        items: Vec<Item>,
    },
}

impl Item {
    /// What it is made of.
    pub fn parts(&self) -> Vec<&Vec<Item>> {
        match self {
            Self::Locked { items, .. }
            | Self::Tried { items, .. }
            | Self::While { items, .. }
            | Self::Call { items } => vec![items],
            Self::If { then, otherwise, .. } => vec![then, otherwise],
            _ => Vec::new(),
        }
    }

    pub fn parts_mut(&mut self) -> Vec<&mut Vec<Item>> {
        match self {
            Self::Locked { items, .. }
            | Self::Tried { items, .. }
            | Self::While { items, .. }
            | Self::Call { items } => vec![items],
            Self::If { then, otherwise, .. } => vec![then, otherwise],
            _ => Vec::new(),
        }
    }
}

/// A program before it is written down.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sketch {
    /// Of each thread that main starts: what it does, and whether the one before starts it instead of main.
    pub threads: Vec<(Vec<Item>, bool)>,
    /// What main does between starting and joining, and after it.
    pub meanwhile: Vec<Item>,
    pub after: Vec<Item>,
    /// Otherwise main returns while they run.
    pub joins: bool,
    pub semaphore: u64,
    pub barrier: u64,
}

/// What programs are made of.
#[derive(Clone, Copy, Debug)]
pub struct ProgramSize {
    /// Beside main.
    pub threads: u64,
    /// Statements in all, what locks and unlocks not counted.
    pub statements: u64,
}

impl Default for ProgramSize {
    fn default() -> Self {
        Self { threads: 3, statements: 12 }
    }
}

/// The program of a seed.
pub fn sketch(seed: u64, limits: ProgramSize) -> Sketch {
    let mut dice = Dice::new(seed);
    let threads = 1 + dice.below(limits.threads);
    let mut left = 2 + dice.below(limits.statements.saturating_sub(1));
    // Each program uses some of the language: with all of it, nothing meets anything.
    let taste =
        ItemChooser { kinds: (0..5).map(|_| dice.below(KINDS)).collect(), variables: 1 + dice.below(VARIABLES) };
    let mut bodies: Vec<Vec<Item>> = (0..=threads).map(|_| Vec::new()).collect();
    while left > 0 {
        let who = dice.below(bodies.len() as u64) as usize;
        let item = taste.item(&mut dice, &mut left, 0, &[]);
        bodies[who].push(item);
    }
    let meanwhile = bodies.pop().unwrap_or_default();
    let nested = dice.one_in(4);
    let threads = bodies.into_iter().enumerate().map(|(at, items)| (items, nested && at == 1)).collect();
    let mut after = Vec::new();
    if dice.one_in(3) {
        after.push(Item::Read { variable: dice.below(taste.variables), atomic: false });
        after.push(Item::Assert { equals: dice.below(3), not: dice.one_in(2) });
    }
    Sketch { threads, meanwhile, after, joins: !dice.one_in(5), semaphore: dice.below(3), barrier: 2 + dice.below(2) }
}

/// Kinds of items that [`ItemChooser::item`] chooses from.
const KINDS: u64 = 21;

struct ItemChooser {
    kinds: Vec<u64>,
    variables: u64,
}

impl ItemChooser {
    fn items(&self, dice: &mut Dice, left: &mut u64, depth: u64, held: &[u64]) -> Vec<Item> {
        let count = 1 + dice.below(2);
        (0..count.min((*left).max(1))).map(|_| self.item(dice, left, depth + 1, held)).collect()
    }

    /// `held`: locks that the thread has. None is taken twice: a thread that waits for itself is of no interest.
    fn item(&self, dice: &mut Dice, left: &mut u64, depth: u64, held: &[u64]) -> Item {
        *left = left.saturating_sub(1);
        let variable = dice.below(self.variables);
        let value = dice.below(3);
        // Mostly what the program has a taste for; plain accesses in between.
        let kind =
            if dice.one_in(3) { dice.below(4) } else { self.kinds[dice.below(self.kinds.len() as u64) as usize] };
        let free: Vec<u64> = (0..LOCKS).filter(|lock| !held.contains(lock)).collect();
        let shallow = depth < 3;
        match kind {
            0 | 1 => Item::Read { variable, atomic: false },
            2 => Item::Write { variable, atomic: false, value: Some(value) },
            3 => Item::Write { variable, atomic: false, value: None },
            4 => Item::Read { variable, atomic: true },
            5 => Item::Write { variable, atomic: true, value: Some(value).filter(|_| dice.one_in(2)) },
            6 => Item::Add { variable },
            7 => Item::CompareExchange { variable, expected: value, new: dice.below(3) },
            8 => Item::Exchange { variable, value },
            9 => [Item::ReadElement, Item::WriteElement { value }][dice.below(2) as usize].clone(),
            10 => [Item::ReadField, Item::WriteField { value }, Item::Renew][dice.below(3) as usize].clone(),
            11 | 12 if shallow && !free.is_empty() => {
                let lock = free[dice.below(free.len() as u64) as usize];
                let held: Vec<u64> = held.iter().copied().chain([lock]).collect();
                if dice.one_in(4) {
                    return Item::Tried { lock, items: self.items(dice, left, depth, &held) };
                }
                Item::Locked { lock, shared: dice.one_in(4), items: self.items(dice, left, depth, &held) }
            }
            13 if shallow => {
                let then = self.items(dice, left, depth, held);
                let otherwise = if dice.one_in(3) { self.items(dice, left, depth, held) } else { Vec::new() };
                Item::If { equals: value, then, otherwise }
            }
            14 if shallow => {
                let items = if dice.one_in(2) { self.items(dice, left, depth, held) } else { Vec::new() };
                Item::While { times: 1 + dice.below(2), variable, until: 1 + dice.below(2), items }
            }
            15 if !held.contains(&0) => {
                if dice.one_in(2) {
                    return Item::Notify { all: dice.one_in(2), sets: !dice.one_in(3), locked: !dice.one_in(4) };
                }
                Item::Wait { looks: !dice.one_in(4), again: !dice.one_in(3), timed: dice.one_in(5) }
            }
            16 => [Item::Post, Item::Take, Item::TryTake][dice.below(3) as usize].clone(),
            17 => Item::Barrier,
            18 => Item::Assert { equals: value, not: dice.one_in(2) },
            19 if shallow => Item::Call { items: self.items(dice, left, depth, held) },
            20 => [Item::Fence, Item::Post][dice.below(2) as usize].clone(),
            _ => Item::Read { variable, atomic: dice.one_in(2) },
        }
    }
}
