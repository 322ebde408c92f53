//! The code of a method in three-address form: every value is defined once (SSA), blocks end in one jump.
//!
//! Operand stack and local variables are gone: what they hold is a [`Value`]. Statements stand in the order in which
//! they are executed; values that need no statement (constants, phis, arithmetic that cannot fail) have their block
//! only. Types, operators and comparisons are those of `.rwi` programs; `boolean`, `byte`, `char` and `short` are
//! `i32` outside of memory, as in the machine.

use std::collections::HashMap;
use std::rc::Rc;

pub use reweave_script::language::{BinaryOp, Test, Type};

/// An interned name: of a class, a member, a descriptor or a text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Name(pub u32);

#[derive(Default)]
pub struct Names {
    ids: HashMap<Rc<str>, Name>,
    all: Vec<Rc<str>>,
}

impl Names {
    pub fn add(&mut self, text: &str) -> Name {
        if let Some(name) = self.ids.get(text) {
            return *name;
        }
        let name = Name(self.all.len() as u32);
        let text: Rc<str> = text.into();
        self.all.push(text.clone());
        self.ids.insert(text, name);
        name
    }

    pub fn get(&self, text: &str) -> Option<Name> {
        self.ids.get(text).copied()
    }

    pub fn text(&self, name: Name) -> &str {
        &self.all[name.0 as usize]
    }
}

/// Index into [`Code::values`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Value(pub u32);

impl Value {
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Index into [`Code::blocks`].
pub type Block = u32;

/// A field or method as an instruction names it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Member {
    pub class: Name,
    pub name: Name,
    pub descriptor: Name,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Constant {
    Null,
    Whole(i64),
    Float(f64),
    Text(Name),
    Class(Name),
    /// A constant that is computed at run time.
    Dynamic,
}

/// What is left of an `int` that is made smaller and then an `int` again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Narrowing {
    Byte,
    Char,
    Short,
}

#[derive(Clone, Debug)]
pub enum Place {
    Static(Member),
    Field(Value, Member),
    Element(Value, Value),
}

#[derive(Clone, Debug)]
pub enum Def {
    Parameter(u32),
    Constant(Constant),
    New(Name),
    /// Lengths of the outer dimensions; the descriptor is that of the whole array.
    Array(Name, Vec<Value>),
    Binary {
        op: BinaryOp,
        kind: Type,
        left: Value,
        right: Value,
    },
    /// -1, 0 or 1: how two numbers compare. What is no number counts as less or as greater.
    Compare {
        kind: Type,
        left: Value,
        right: Value,
        unordered: i64,
    },
    Negate(Type, Value),
    Narrow(Narrowing, Value),
    Convert {
        from: Type,
        to: Type,
        value: Value,
    },
    Length(Value),
    InstanceOf(Value, Name),
    Cast(Value, Name),
    Load(Place),
    /// What a call returns, or a new function object.
    Result,
    Phi(Vec<(Block, Value)>),
    Caught,
    Undefined,
}

#[derive(Clone, Debug)]
pub struct Info {
    pub def: Def,
    pub block: Block,
    pub pc: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    Static,
    /// Constructors, private methods, `super`.
    Special,
    /// By the class of the receiver.
    Virtual,
    /// Makes an object whose only method calls the implementation with what was captured.
    Lambda {
        method: Name,
        implementation: Member,
        kind: u8,
    },
    /// Text or a hash made of the arguments.
    Concat,
    /// A call site that nobody here understands.
    Unknown,
}

#[derive(Clone, Debug)]
pub struct Call {
    pub to: Option<Value>,
    pub how: How,
    pub method: Member,
    /// The receiver first, if there is one.
    pub arguments: Vec<Value>,
}

#[derive(Clone, Debug)]
pub enum Kind {
    /// An allocation, a load, or what may fail: a cast, a length, a division.
    Define(Value),
    Store(Place, Value),
    Call(Box<Call>),
    Enter(Value),
    Exit(Value),
    Jump,
    /// To the first successor if it holds. The second value is 0 or null where there is none.
    Branch(Test, Value, Option<Value>),
    Switch(Value),
    Return(Option<Value>),
    Throw(Value),
}

#[derive(Clone, Debug)]
pub struct Statement {
    pub pc: u32,
    pub kind: Kind,
}

#[derive(Clone, Debug, Default)]
pub struct BlockCode {
    pub statements: Vec<Statement>,
    /// Where it may go on; of a branch, where it holds first.
    pub next: Vec<Block>,
    /// Where exceptions lead that are thrown inside; the first one that fits counts.
    pub handlers: Vec<Handler>,
}

/// Who catches exceptions of a class; none: all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handler {
    pub to: Block,
    pub class: Option<Name>,
}

#[derive(Debug, Default)]
pub struct Code {
    pub blocks: Vec<BlockCode>,
    pub values: Vec<Info>,
    pub parameters: Vec<Value>,
    /// Handlers that catch nothing but `InterruptedException` and what comes of one at a barrier.
    pub for_interrupts: Vec<Block>,
    /// Bytecodes.
    pub instructions: u32,
}

impl BlockCode {
    /// Blocks that exceptions lead to.
    pub fn caught_by(&self) -> impl Iterator<Item = Block> + '_ {
        self.handlers.iter().map(|handler| handler.to)
    }
}

impl Code {
    pub fn def(&self, value: Value) -> &Def {
        &self.values[value.index()].def
    }

    pub fn constant(&self, value: Value) -> Option<Constant> {
        match self.def(value) {
            Def::Constant(constant) => Some(*constant),
            _ => None,
        }
    }

    /// The value behind casts.
    pub fn plain(&self, mut value: Value) -> Value {
        while let Def::Cast(inner, _) = self.def(value) {
            value = *inner;
        }
        value
    }

    /// What a definition is made of; not the object that a load reads from.
    pub fn operands(&self, value: Value) -> Vec<Value> {
        match self.def(value) {
            Def::Binary { left, right, .. } | Def::Compare { left, right, .. } => vec![*left, *right],
            Def::Narrow(_, value) | Def::Negate(_, value) | Def::Convert { value, .. } => vec![*value],
            Def::InstanceOf(value, _) | Def::Cast(value, _) | Def::Length(value) => vec![*value],
            Def::Phi(all) => all.iter().map(|(_, value)| *value).collect(),
            _ => Vec::new(),
        }
    }

    /// Everything that a definition names.
    pub fn mentioned(&self, value: Value) -> Vec<Value> {
        match self.def(value) {
            Def::Load(place) => place.values(),
            Def::Array(_, lengths) => lengths.clone(),
            _ => self.operands(value),
        }
    }
}

impl Place {
    pub fn values(&self) -> Vec<Value> {
        match self {
            Self::Static(_) => Vec::new(),
            Self::Field(base, _) => vec![*base],
            Self::Element(base, index) => vec![*base, *index],
        }
    }
}

impl Statement {
    /// Values that it uses.
    pub fn uses(&self, code: &Code) -> Vec<Value> {
        match &self.kind {
            Kind::Define(value) => code.mentioned(*value),
            Kind::Store(place, value) => place.values().into_iter().chain([*value]).collect(),
            Kind::Call(call) => call.arguments.clone(),
            Kind::Enter(value) | Kind::Exit(value) | Kind::Switch(value) | Kind::Throw(value) => vec![*value],
            Kind::Branch(_, left, right) => [*left].into_iter().chain(*right).collect(),
            Kind::Return(value) => value.iter().copied().collect(),
            Kind::Jump => Vec::new(),
        }
    }
}
