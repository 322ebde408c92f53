//! What each bytecode does to stack and locals.

use reweave_jvm::classfile::descriptor::{MethodDescriptor, slots};
use reweave_jvm::classfile::opcode::*;
use reweave_jvm::classfile::pool::Constant as PoolConstant;
use reweave_jvm::classfile::{Instruction, decode_text};

use super::code::*;
use super::lower::{Bootstrap, Lowering, State};

/// A slot of the operand stack; a long or a double is one wide slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub value: Value,
    pub wide: bool,
}

/// One block while it is simulated.
pub(super) struct Simulation {
    pub state: State,
    pub statements: Vec<Statement>,
    /// What was stored in locals, for handlers.
    pub stored: Vec<(usize, Value)>,
    block: Block,
    pc: u32,
}

type Done = Result<(), String>;

impl Simulation {
    pub fn new(state: State, block: Block) -> Self {
        Self { state, statements: Vec::new(), stored: Vec::new(), block, pc: 0 }
    }

    pub fn run(&mut self, lowering: &mut Lowering<'_, '_>, instructions: &[Instruction<'_>]) -> Done {
        for one in instructions {
            self.pc = one.pc;
            self.instruction(lowering, one).map_err(|error| format!("{error} (at {})", one.pc))?;
        }
        let ends = self.statements.last().is_some_and(|last| {
            matches!(last.kind, Kind::Jump | Kind::Branch(..) | Kind::Switch(_) | Kind::Return(_) | Kind::Throw(_))
        });
        if !ends {
            self.emit(Kind::Jump);
        }
        Ok(())
    }

    fn emit(&mut self, kind: Kind) {
        self.statements.push(Statement { pc: self.pc, kind });
    }

    fn pop(&mut self) -> Result<Value, String> {
        self.state.stack.pop().map(|slot| slot.value).ok_or_else(|| "the stack is empty".to_owned())
    }

    fn slot(&mut self) -> Result<Slot, String> {
        self.state.stack.pop().ok_or_else(|| "the stack is empty".to_owned())
    }

    fn push(&mut self, value: Value, wide: bool) {
        self.state.stack.push(Slot { value, wide });
    }

    fn define(&mut self, lowering: &mut Lowering<'_, '_>, def: Def, wide: bool) -> Value {
        let value = lowering.value(def, self.block, self.pc);
        self.push(value, wide);
        value
    }

    /// The same, of something that may fail: a statement.
    fn define_here(&mut self, lowering: &mut Lowering<'_, '_>, def: Def) {
        let value = self.define(lowering, def, false);
        self.emit(Kind::Define(value));
    }

    fn instruction(&mut self, lowering: &mut Lowering<'_, '_>, one: &Instruction<'_>) -> Done {
        match one.op {
            NOP => {}
            ACONST_NULL..=LDC2_W => self.constant(lowering, one)?,
            ILOAD..=ALOAD_3 => {
                let wide = matches!(one.op, LLOAD | DLOAD | 30..=33 | 38..=41);
                let local = usize::from(one.local().unwrap_or_default());
                let value = *self.state.locals.get(local).ok_or("there is no such local")?;
                self.push(value, wide);
            }
            IALOAD..=SALOAD => {
                let (index, base) = (self.pop()?, self.pop()?);
                let wide = matches!(one.op, LALOAD | DALOAD);
                let value = self.define(lowering, Def::Load(Place::Element(base, index)), wide);
                self.emit(Kind::Define(value));
            }
            ISTORE..=ASTORE_3 => {
                let local = usize::from(one.local().unwrap_or_default());
                let value = self.pop()?;
                self.set(local, value)?;
            }
            IASTORE..=SASTORE => {
                let (value, index, base) = (self.pop()?, self.pop()?, self.pop()?);
                self.emit(Kind::Store(Place::Element(base, index), value));
            }
            POP..=SWAP => self.shuffle(one.op)?,
            IADD..=LXOR => self.arithmetic(lowering, one.op)?,
            IINC => {
                let local = usize::from(one.local().unwrap_or_default());
                let by = match one.bytes {
                    [WIDE, .., a, b] => i64::from(i16::from_be_bytes([*a, *b])),
                    [.., a] => i64::from(*a as i8),
                    [] => 0,
                };
                let left = *self.state.locals.get(local).ok_or("there is no such local")?;
                let right = lowering.value(Def::Constant(Constant::Whole(by)), self.block, self.pc);
                let def = Def::Binary { op: BinaryOp::Add, kind: Type::I32, left, right };
                let value = lowering.value(def, self.block, self.pc);
                self.set(local, value)?;
            }
            I2L..=I2S => self.convert(lowering, one.op)?,
            LCMP..=DCMPG => {
                let (kind, unordered) = match one.op - LCMP {
                    0 => (Type::I64, 0),
                    1 => (Type::F32, -1),
                    2 => (Type::F32, 1),
                    3 => (Type::F64, -1),
                    _ => (Type::F64, 1),
                };
                let (right, left) = (self.pop()?, self.pop()?);
                self.define(lowering, Def::Compare { kind, left, right, unordered }, false);
            }
            IFEQ..=IF_ACMPNE | IFNULL | IFNONNULL => self.branch(one.op)?,
            _ => return self.control(lowering, one),
        }
        Ok(())
    }

    /// Jumps, calls, objects.
    fn control(&mut self, lowering: &mut Lowering<'_, '_>, one: &Instruction<'_>) -> Done {
        match one.op {
            GOTO | GOTO_W => self.emit(Kind::Jump),
            TABLESWITCH | LOOKUPSWITCH => {
                let value = self.pop()?;
                self.emit(Kind::Switch(value));
            }
            IRETURN..=ARETURN => {
                let value = self.pop()?;
                self.emit(Kind::Return(Some(value)));
            }
            RETURN => self.emit(Kind::Return(None)),
            GETSTATIC..=PUTFIELD => self.field(lowering, one)?,
            INVOKEVIRTUAL..=INVOKEDYNAMIC => self.invoke(lowering, one)?,
            NEW | NEWARRAY | ANEWARRAY | MULTIANEWARRAY => self.allocate(lowering, one)?,
            ARRAYLENGTH => {
                let base = self.pop()?;
                self.define_here(lowering, Def::Length(base));
            }
            ATHROW => {
                let value = self.pop()?;
                self.emit(Kind::Throw(value));
            }
            CHECKCAST => {
                let value = self.pop()?;
                let name = lowering.class_name(one.index())?;
                self.define_here(lowering, Def::Cast(value, name));
            }
            INSTANCEOF => {
                let value = self.pop()?;
                let name = lowering.class_name(one.index())?;
                self.define(lowering, Def::InstanceOf(value, name), false);
            }
            MONITORENTER => {
                let value = self.pop()?;
                self.emit(Kind::Enter(value));
            }
            MONITOREXIT => {
                let value = self.pop()?;
                self.emit(Kind::Exit(value));
            }
            _ => return Err("an unknown instruction".to_owned()),
        }
        Ok(())
    }

    fn set(&mut self, local: usize, value: Value) -> Done {
        *self.state.locals.get_mut(local).ok_or("there is no such local")? = value;
        self.stored.push((local, value));
        Ok(())
    }

    fn constant(&mut self, lowering: &mut Lowering<'_, '_>, one: &Instruction<'_>) -> Done {
        let (constant, wide) = match one.op {
            ACONST_NULL => (Constant::Null, false),
            2..=8 => (Constant::Whole(i64::from(one.op) - 3), false),
            LCONST_0 | LCONST_1 => (Constant::Whole(i64::from(one.op - LCONST_0)), true),
            FCONST_0..=FCONST_2 => (Constant::Float(f64::from(one.op - FCONST_0)), false),
            DCONST_0 | DCONST_1 => (Constant::Float(f64::from(one.op - DCONST_0)), true),
            BIPUSH => (Constant::Whole(i64::from(one.bytes.get(1).copied().unwrap_or_default() as i8)), false),
            SIPUSH => (Constant::Whole(i64::from(one.index() as i16)), false),
            _ => lowering.pool_constant(one.index())?,
        };
        self.define(lowering, Def::Constant(constant), wide || one.op == LDC2_W);
        Ok(())
    }

    /// Copies and swaps on the stack. Wide slots count twice.
    fn shuffle(&mut self, op: u8) -> Done {
        match op {
            POP => {
                self.slot()?;
            }
            POP2 => {
                if !self.slot()?.wide {
                    self.slot()?;
                }
            }
            SWAP => {
                let (a, b) = (self.slot()?, self.slot()?);
                self.state.stack.extend([a, b]);
            }
            _ => {
                // Which is copied: one slot, or two halves; how many halves it goes below.
                let (twice, below) = match op {
                    DUP => (false, 0),
                    DUP_X1 => (false, 1),
                    DUP_X2 => (false, 2),
                    DUP2 => (true, 0),
                    DUP2_X1 => (true, 1),
                    _ => (true, 2),
                };
                let mut top = vec![self.slot()?];
                if twice && !top[0].wide {
                    top.insert(0, self.slot()?);
                }
                let mut under = Vec::new();
                let mut halves = 0;
                while halves < below {
                    let slot = self.slot()?;
                    halves += if slot.wide { 2 } else { 1 };
                    under.insert(0, slot);
                }
                self.state.stack.extend(top.iter().copied().chain(under).chain(top.iter().copied()));
            }
        }
        Ok(())
    }

    fn arithmetic(&mut self, lowering: &mut Lowering<'_, '_>, op: u8) -> Done {
        // Groups of int, long, float, double; shifts and bit operations of int and long only.
        let (group, kind) = match op {
            IADD..=DNEG => ((op - IADD) / 4, (op - IADD) % 4),
            _ => (6 + (op - ISHL) / 2, (op - ISHL) % 2),
        };
        let kind = [Type::I32, Type::I64, Type::F32, Type::F64][usize::from(kind)];
        let wide = matches!(kind, Type::I64 | Type::F64);
        let op = match group {
            0 => BinaryOp::Add,
            1 => BinaryOp::Sub,
            2 => BinaryOp::Mul,
            3 => BinaryOp::Div,
            4 => BinaryOp::Rem,
            5 => {
                let value = self.pop()?;
                self.define(lowering, Def::Negate(kind, value), wide);
                return Ok(());
            }
            6 => BinaryOp::Shl,
            7 => BinaryOp::Shr,
            8 => BinaryOp::UShr,
            9 => BinaryOp::And,
            10 => BinaryOp::Or,
            _ => BinaryOp::Xor,
        };
        let (right, left) = (self.pop()?, self.pop()?);
        let value = self.define(lowering, Def::Binary { op, kind, left, right }, wide);
        if matches!(op, BinaryOp::Div | BinaryOp::Rem) && !kind.is_float() {
            self.emit(Kind::Define(value));
        }
        Ok(())
    }

    fn convert(&mut self, lowering: &mut Lowering<'_, '_>, op: u8) -> Done {
        let value = self.pop()?;
        let narrowing = match op {
            145 => Some(Narrowing::Byte),
            146 => Some(Narrowing::Char),
            147 => Some(Narrowing::Short),
            _ => None,
        };
        if let Some(narrowing) = narrowing {
            self.define(lowering, Def::Narrow(narrowing, value), false);
            return Ok(());
        }
        // From each of four types to the three others.
        let all = [Type::I32, Type::I64, Type::F32, Type::F64];
        let (from, to) = (usize::from((op - I2L) / 3), usize::from((op - I2L) % 3));
        let (from, to) = (all[from], all[if to >= from { to + 1 } else { to }]);
        self.define(lowering, Def::Convert { from, to, value }, matches!(to, Type::I64 | Type::F64));
        Ok(())
    }

    fn branch(&mut self, op: u8) -> Done {
        let compared = [Test::Eq, Test::Ne, Test::Lt, Test::Ge, Test::Gt, Test::Le];
        let (test, left, right) = match op {
            IF_ICMPEQ..=IF_ACMPNE => {
                let (right, left) = (self.pop()?, self.pop()?);
                // References come last, and are equal or not.
                match compared[usize::from((op - IF_ICMPEQ) % 6)] {
                    Test::Gt => (Test::Lt, right, Some(left)),
                    Test::Ge => (Test::Le, right, Some(left)),
                    test => (test, left, Some(right)),
                }
            }
            IFNULL => (Test::Eq, self.pop()?, None),
            IFNONNULL => (Test::Ne, self.pop()?, None),
            _ => (compared[usize::from(op - IFEQ)], self.pop()?, None),
        };
        self.emit(Kind::Branch(test, left, right));
        Ok(())
    }

    fn field(&mut self, lowering: &mut Lowering<'_, '_>, one: &Instruction<'_>) -> Done {
        let member = lowering.member(one.index())?;
        let wide = matches!(lowering.names.text(member.descriptor), "J" | "D");
        match one.op {
            GETSTATIC | GETFIELD => {
                let place = match one.op {
                    GETSTATIC => Place::Static(member),
                    _ => Place::Field(self.pop()?, member),
                };
                let value = self.define(lowering, Def::Load(place), wide);
                self.emit(Kind::Define(value));
            }
            _ => {
                let value = self.pop()?;
                let place = match one.op {
                    PUTSTATIC => Place::Static(member),
                    _ => Place::Field(self.pop()?, member),
                };
                self.emit(Kind::Store(place, value));
            }
        }
        Ok(())
    }

    fn invoke(&mut self, lowering: &mut Lowering<'_, '_>, one: &Instruction<'_>) -> Done {
        let method = lowering.member(one.index())?;
        let text = lowering.names.text(method.descriptor).to_owned();
        let descriptor = MethodDescriptor::parse(text.as_bytes()).map_err(|error| format!("{error}"))?;
        let has_receiver = !matches!(one.op, INVOKESTATIC | INVOKEDYNAMIC);
        let count = descriptor.parameters().count() + usize::from(has_receiver);
        let mut arguments = (0..count).map(|_| self.pop()).collect::<Result<Vec<_>, _>>()?;
        arguments.reverse();
        let how = match one.op {
            INVOKESTATIC => How::Static,
            INVOKESPECIAL => How::Special,
            INVOKEDYNAMIC => match lowering.bootstrap(one.index()) {
                Bootstrap::Lambda { implementation, kind } => How::Lambda { method: method.name, implementation, kind },
                Bootstrap::Pure => How::Concat,
                Bootstrap::Unknown => How::Unknown,
            },
            _ => How::Virtual,
        };
        let wide = slots(descriptor.result[0]) == 2;
        let to = (descriptor.result != b"V").then(|| self.define(lowering, Def::Result, wide));
        self.emit(Kind::Call(Box::new(Call { to, how, method, arguments })));
        Ok(())
    }

    fn allocate(&mut self, lowering: &mut Lowering<'_, '_>, one: &Instruction<'_>) -> Done {
        let def = match one.op {
            NEW => Def::New(lowering.class_name(one.index())?),
            NEWARRAY => {
                let element = match one.bytes.get(1).copied().unwrap_or_default() {
                    4 => "[Z",
                    5 => "[C",
                    6 => "[F",
                    7 => "[D",
                    8 => "[B",
                    9 => "[S",
                    10 => "[I",
                    _ => "[J",
                };
                Def::Array(lowering.names.add(element), vec![self.pop()?])
            }
            ANEWARRAY => {
                let class = lowering.class_name(one.index())?;
                let class = lowering.names.text(class);
                let array = if class.starts_with('[') { format!("[{class}") } else { format!("[L{class};") };
                Def::Array(lowering.names.add(&array), vec![self.pop()?])
            }
            _ => {
                let class = lowering.class_name(one.index())?;
                let dimensions = usize::from(one.bytes.get(3).copied().unwrap_or(1));
                let mut lengths = (0..dimensions).map(|_| self.pop()).collect::<Result<Vec<_>, _>>()?;
                lengths.reverse();
                Def::Array(class, lengths)
            }
        };
        let value = self.define(lowering, def, false);
        self.emit(Kind::Define(value));
        Ok(())
    }
}

impl Lowering<'_, '_> {
    pub fn class_name(&mut self, index: u16) -> Result<Name, String> {
        let name = self.class.pool.class_name(index).map_err(|error| format!("{error}"))?;
        Ok(self.names.add(&decode_text(name)))
    }

    fn member(&mut self, index: u16) -> Result<Member, String> {
        let reference = self.class.pool.reference(index).map_err(|error| format!("{error}"))?;
        Ok(Member {
            class: self.names.add(&decode_text(reference.class)),
            name: self.names.add(&decode_text(reference.name)),
            descriptor: self.names.add(&decode_text(reference.descriptor)),
        })
    }

    fn bootstrap(&self, index: u16) -> Bootstrap {
        match self.class.pool.get(index) {
            Ok(PoolConstant::InvokeDynamic { bootstrap, .. }) => {
                self.bootstraps.get(usize::from(bootstrap)).copied().unwrap_or(Bootstrap::Unknown)
            }
            _ => Bootstrap::Unknown,
        }
    }

    fn pool_constant(&mut self, index: u16) -> Result<(Constant, bool), String> {
        let constant = self.class.pool.get(index).map_err(|error| format!("{error}"))?;
        Ok(match constant {
            PoolConstant::Integer(value) => (Constant::Whole(value.into()), false),
            PoolConstant::Long(value) => (Constant::Whole(value), true),
            PoolConstant::Float(value) => (Constant::Float(value.into()), false),
            PoolConstant::Double(value) => (Constant::Float(value), true),
            PoolConstant::String { text } => {
                let text = self.class.pool.utf8(text).map_err(|error| format!("{error}"))?;
                (Constant::Text(self.names.add(&decode_text(text))), false)
            }
            PoolConstant::Class { .. } => (Constant::Class(self.class_name(index)?), false),
            PoolConstant::Dynamic { name_and_type, .. } => {
                let (_, descriptor) = self.class.pool.name_and_type(name_and_type).map_err(|e| format!("{e}"))?;
                (Constant::Dynamic, matches!(descriptor, b"J" | b"D"))
            }
            _ => (Constant::Dynamic, false),
        })
    }
}
