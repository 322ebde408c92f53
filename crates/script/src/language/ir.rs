//! Programs as data. Registers are private to a call; everything in memory is shared and may be seen by every thread.

use super::words::{BinaryOp, Order, Test, Type, UnaryOp, UpdateOp};

macro_rules! ids {
    ($($(#[$about:meta])* $name:ident;)+) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub u32);

        impl $name {
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    )+};
}

ids! {
    /// Index into [`Program::types`].
    TypeId;
    /// Index into [`Program::globals`].
    GlobalId;
    /// Index into [`Program::functions`].
    FunctionId;
    /// Index into [`Program::files`].
    FileId;
    /// Index into [`Function::blocks`].
    BlockId;
    /// Index into [`Function::registers`].
    Register;
    /// Numbers the statements of a program in the order of its text.
    StatementId;
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Program {
    /// The file it was read from, as it was named.
    pub file: String,
    pub types: Vec<Object>,
    pub globals: Vec<Global>,
    pub functions: Vec<Function>,
    /// Source files that positions name.
    pub files: Vec<String>,
}

/// The layout of an object.
#[derive(Clone, PartialEq, Debug)]
pub struct Object {
    pub name: String,
    pub fields: Vec<(String, Slot)>,
    pub line: u32,
}

/// What a place in memory is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
    Value(Type),
    Lock,
    Condition,
    /// With its count at first.
    Semaphore(u32),
    /// For so many threads.
    Barrier(u32),
    /// A whole object; of a global only.
    Object(TypeId),
}

/// A place in memory that is there from the start, or an array of them.
#[derive(Clone, PartialEq, Debug)]
pub struct Global {
    pub name: String,
    pub slot: Slot,
    /// Of an array.
    pub length: Option<u32>,
    /// What it holds at first; the rest is zero.
    pub initial: Vec<Literal>,
    pub line: u32,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Function {
    pub name: String,
    // invariant: the first registers are the parameters, in order
    pub parameters: u32,
    pub result: Option<Type>,
    pub registers: Vec<RegisterInfo>,
    /// Begins with the first.
    // invariant: not empty
    pub blocks: Vec<Block>,
    pub line: u32,
}

/// Zero (false, null) until it is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegisterInfo {
    pub name: String,
    pub kind: Type,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Block {
    pub label: String,
    // invariant: the last one, and no other, ends the block
    pub statements: Vec<Statement>,
    pub line: u32,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Statement {
    pub id: StatementId,
    pub position: Position,
    pub kind: StatementKind,
}

/// Where a statement stands, and what it was made from if that is something else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    /// In the `.rwi` file.
    pub line: u32,
    pub source: Option<Source>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Source {
    pub file: FileId,
    pub line: u32,
    /// 0 if not known.
    pub column: u32,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Literal {
    Integer(i64),
    Float(f64),
    Bool(bool),
    Null,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Operand {
    Register(Register),
    Literal(Literal),
}

/// Somewhere in memory.
#[derive(Clone, PartialEq, Debug)]
pub enum Place {
    Global(GlobalId),
    /// The object itself: its monitor, which a thread may enter again while it is in it.
    Object(Register),
    /// `field`: index into [`Object::fields`].
    Field {
        base: Base,
        kind: TypeId,
        field: u32,
    },
    Element {
        base: Base,
        index: Operand,
    },
}

/// What a place lies in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Base {
    Register(Register),
    Global(GlobalId),
}

/// How memory is accessed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    Plain,
    /// As in C: a plain access that the compiler may not leave out.
    Volatile,
    Atomic(Order),
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Allocation {
    Object(TypeId),
    Array { element: Type, length: Operand },
}

/// A part of what `output` prints.
#[derive(Clone, PartialEq, Debug)]
pub enum Part {
    Text(String),
    Value(Operand),
}

#[derive(Clone, PartialEq, Debug)]
pub enum StatementKind {
    Const {
        to: Register,
        value: Literal,
    },
    Move {
        to: Register,
        from: Operand,
    },
    Unary {
        to: Register,
        op: UnaryOp,
        value: Operand,
    },
    Binary {
        to: Register,
        op: BinaryOp,
        left: Operand,
        right: Operand,
    },
    Compare {
        to: Register,
        test: Test,
        left: Operand,
        right: Operand,
    },
    /// To the type of the register; `unsigned`: the source is taken as an unsigned number.
    Convert {
        to: Register,
        from: Register,
        unsigned: bool,
    },
    Alloc {
        to: Register,
        what: Allocation,
    },
    Load {
        to: Register,
        from: Place,
        mode: Mode,
    },
    Store {
        to: Place,
        value: Operand,
        mode: Mode,
    },
    /// Returns what was there.
    Update {
        to: Register,
        op: UpdateOp,
        at: Place,
        value: Operand,
        order: Order,
    },
    /// Writes `new` if `expected` is there; returns what was there.
    CompareExchange {
        to: Register,
        at: Place,
        expected: Operand,
        new: Operand,
        order: Order,
    },
    Fence {
        order: Order,
    },
    Enter {
        lock: Place,
        shared: bool,
    },
    /// Whether it could.
    TryEnter {
        to: Register,
        lock: Place,
        shared: bool,
    },
    Exit {
        lock: Place,
    },
    /// Leaves the lock, waits for a notify, enters the lock again.
    Wait {
        condition: Place,
        lock: Place,
    },
    /// The same, but time may run out first: false then.
    TimedWait {
        to: Register,
        condition: Place,
        lock: Place,
    },
    Notify {
        condition: Place,
        all: bool,
    },
    Start {
        to: Register,
        function: FunctionId,
        arguments: Vec<Operand>,
    },
    Join {
        thread: Register,
    },
    Detach {
        thread: Register,
    },
    /// True for the one that came last.
    Barrier {
        to: Option<Register>,
        barrier: Place,
    },
    Post {
        semaphore: Place,
    },
    Take {
        semaphore: Place,
    },
    TryTake {
        to: Register,
        semaphore: Place,
    },
    Call {
        to: Option<Register>,
        function: FunctionId,
        arguments: Vec<Operand>,
    },
    Jump {
        to: BlockId,
    },
    Branch {
        condition: Operand,
        then: BlockId,
        otherwise: BlockId,
    },
    Switch {
        value: Register,
        cases: Vec<(i64, BlockId)>,
        otherwise: BlockId,
    },
    Return {
        value: Option<Operand>,
    },
    /// A failure if it is reached.
    Unreachable,
    Assert {
        condition: Operand,
        message: String,
    },
    /// A line on the standard output.
    Output {
        parts: Vec<Part>,
    },
    /// A number from the standard input.
    Input {
        to: Register,
    },
    /// Code that could not be lowered, and what it may touch. A failure if it is reached.
    Opaque {
        reason: String,
        reads: Vec<Place>,
        writes: Vec<Place>,
    },
}

impl StatementKind {
    /// Whether it ends a block.
    pub const fn ends_block(&self) -> bool {
        matches!(
            self,
            Self::Jump { .. } | Self::Branch { .. } | Self::Switch { .. } | Self::Return { .. } | Self::Unreachable
        )
    }

    /// The place it is about; a wait is about two.
    pub const fn place(&self) -> Option<&Place> {
        match self {
            Self::Load { from: place, .. }
            | Self::Store { to: place, .. }
            | Self::Update { at: place, .. }
            | Self::CompareExchange { at: place, .. }
            | Self::Enter { lock: place, .. }
            | Self::TryEnter { lock: place, .. }
            | Self::Exit { lock: place }
            | Self::Notify { condition: place, .. }
            | Self::Barrier { barrier: place, .. }
            | Self::Post { semaphore: place }
            | Self::Take { semaphore: place }
            | Self::TryTake { semaphore: place, .. } => Some(place),
            _ => None,
        }
    }

    /// The register it writes.
    pub const fn target(&self) -> Option<Register> {
        match *self {
            Self::Const { to, .. }
            | Self::Move { to, .. }
            | Self::Unary { to, .. }
            | Self::Binary { to, .. }
            | Self::Compare { to, .. }
            | Self::Convert { to, .. }
            | Self::Alloc { to, .. }
            | Self::Load { to, .. }
            | Self::Update { to, .. }
            | Self::CompareExchange { to, .. }
            | Self::TryEnter { to, .. }
            | Self::TimedWait { to, .. }
            | Self::Start { to, .. }
            | Self::TryTake { to, .. }
            | Self::Input { to } => Some(to),
            Self::Barrier { to, .. } | Self::Call { to, .. } => to,
            _ => None,
        }
    }

    /// The blocks it may go to.
    pub fn successors(&self) -> Vec<BlockId> {
        match self {
            Self::Jump { to } => vec![*to],
            Self::Branch { then, otherwise, .. } => vec![*then, *otherwise],
            Self::Switch { cases, otherwise, .. } => cases.iter().map(|(_, to)| *to).chain([*otherwise]).collect(),
            _ => Vec::new(),
        }
    }
}

impl Program {
    pub fn function(&self, id: FunctionId) -> &Function {
        &self.functions[id.index()]
    }

    pub fn global(&self, id: GlobalId) -> &Global {
        &self.globals[id.index()]
    }

    /// The function that a program begins in.
    pub fn main(&self) -> Option<FunctionId> {
        self.functions.iter().position(|function| function.name == "main").map(|at| FunctionId(at as u32))
    }

    /// Numbers all statements in order, and says how many there are.
    pub fn renumber(&mut self) -> u32 {
        let blocks = self.functions.iter_mut().flat_map(|function| &mut function.blocks);
        let mut next = 0;
        for statement in blocks.flat_map(|block| &mut block.statements) {
            statement.id = StatementId(next);
            next += 1;
        }
        next
    }

    /// All statements in order, with the function each is in.
    pub fn statements(&self) -> impl Iterator<Item = (FunctionId, &Statement)> {
        self.functions.iter().enumerate().flat_map(|(at, function)| {
            let statements = function.blocks.iter().flat_map(|block| &block.statements);
            statements.map(move |statement| (FunctionId(at as u32), statement))
        })
    }
}

impl Function {
    pub fn block(&self, id: BlockId) -> &Block {
        &self.blocks[id.index()]
    }

    pub fn kind_of(&self, register: Register) -> Type {
        self.registers[register.index()].kind
    }
}
