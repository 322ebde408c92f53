//! What operations on values give. A value is 64 bits; what they mean is up to its type, and bits beyond its width are
//! zero.

use super::ir::Literal;
use super::words::{BinaryOp, Test, Type, UnaryOp, UpdateOp};

/// Why an operation has no result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DivisionByZero;

/// Only the bits that a value of this type has.
pub const fn cut(kind: Type, bits: u64) -> u64 {
    match kind {
        Type::Bool => bits & 1,
        Type::I8 => bits & 0xff,
        Type::I16 => bits & 0xffff,
        Type::I32 | Type::F32 => bits & 0xffff_ffff,
        Type::I64 | Type::F64 | Type::Ref | Type::Thread => bits,
    }
}

/// As a signed number.
pub const fn signed(kind: Type, bits: u64) -> i64 {
    match kind {
        Type::I8 => bits as i8 as i64,
        Type::I16 => bits as i16 as i64,
        Type::I32 => bits as i32 as i64,
        _ => bits as i64,
    }
}

fn float(kind: Type, bits: u64) -> f64 {
    if kind == Type::F32 { f32::from_bits(bits as u32).into() } else { f64::from_bits(bits) }
}

fn from_float(kind: Type, value: f64) -> u64 {
    if kind == Type::F32 { (value as f32).to_bits().into() } else { value.to_bits() }
}

pub fn literal(kind: Type, literal: Literal) -> u64 {
    match literal {
        Literal::Integer(value) => cut(kind, value as u64),
        Literal::Float(value) => from_float(kind, value),
        Literal::Bool(value) => value.into(),
        Literal::Null => 0,
    }
}

pub fn unary(op: UnaryOp, kind: Type, value: u64) -> u64 {
    match op {
        UnaryOp::Neg if kind.is_float() => from_float(kind, -float(kind, value)),
        UnaryOp::Neg => cut(kind, value.wrapping_neg()),
        UnaryOp::Not => cut(kind, !value),
    }
}

/// # Errors
/// An integer was to be divided by zero.
pub fn binary(op: BinaryOp, kind: Type, left: u64, right: u64) -> Result<u64, DivisionByZero> {
    if kind.is_float() {
        let (left, right) = (float(kind, left), float(kind, right));
        let value = match op {
            BinaryOp::Add => left + right,
            BinaryOp::Sub => left - right,
            BinaryOp::Mul => left * right,
            BinaryOp::Div => left / right,
            _ => left % right,
        };
        return Ok(from_float(kind, value));
    }
    let (a, b) = (signed(kind, left), signed(kind, right));
    let distance = (right % (u64::from(kind.size()) * 8)) as u32;
    let divides = matches!(op, BinaryOp::Div | BinaryOp::Rem | BinaryOp::UDiv | BinaryOp::URem);
    if divides && right == 0 {
        return Err(DivisionByZero);
    }
    let bits = match op {
        BinaryOp::Add => left.wrapping_add(right),
        BinaryOp::Sub => left.wrapping_sub(right),
        BinaryOp::Mul => left.wrapping_mul(right),
        BinaryOp::Div => a.wrapping_div(b) as u64,
        BinaryOp::Rem => a.wrapping_rem(b) as u64,
        BinaryOp::UDiv => left / right,
        BinaryOp::URem => left % right,
        BinaryOp::And => left & right,
        BinaryOp::Or => left | right,
        BinaryOp::Xor => left ^ right,
        BinaryOp::Shl => left << distance,
        BinaryOp::Shr => (a >> distance) as u64,
        BinaryOp::UShr => left >> distance,
    };
    Ok(cut(kind, bits))
}

pub fn compare(test: Test, kind: Type, left: u64, right: u64) -> bool {
    if kind.is_float() {
        let (left, right) = (float(kind, left), float(kind, right));
        return match test {
            Test::Eq => left == right,
            Test::Ne => left != right,
            Test::Lt | Test::ULt => left < right,
            Test::Le | Test::ULe => left <= right,
            Test::Gt | Test::UGt => left > right,
            Test::Ge | Test::UGe => left >= right,
        };
    }
    let (a, b) = (signed(kind, left), signed(kind, right));
    match test {
        Test::Eq => left == right,
        Test::Ne => left != right,
        Test::Lt => a < b,
        Test::Le => a <= b,
        Test::Gt => a > b,
        Test::Ge => a >= b,
        Test::ULt => left < right,
        Test::ULe => left <= right,
        Test::UGt => left > right,
        Test::UGe => left >= right,
    }
}

/// A number in another type. What does not fit is cut off; floats go towards zero and stop at the ends.
pub fn convert(from: Type, to: Type, unsigned: bool, bits: u64) -> u64 {
    match (from.is_float(), to.is_float()) {
        (true, true) => from_float(to, float(from, bits)),
        (true, false) if unsigned => cut(to, float(from, bits) as u64),
        (true, false) => cut(to, float(from, bits) as i64 as u64),
        (false, true) if unsigned => from_float(to, bits as f64),
        (false, true) => from_float(to, signed(from, bits) as f64),
        (false, false) if to == Type::Bool => u64::from(bits != 0),
        (false, false) if unsigned || from == Type::Bool => cut(to, bits),
        (false, false) => cut(to, signed(from, bits) as u64),
    }
}

/// What an atomic update writes.
pub fn updated(op: UpdateOp, kind: Type, there: u64, operand: u64) -> u64 {
    let bits = match op {
        UpdateOp::Add => there.wrapping_add(operand),
        UpdateOp::Sub => there.wrapping_sub(operand),
        UpdateOp::And => there & operand,
        UpdateOp::Or => there | operand,
        UpdateOp::Xor => there ^ operand,
        UpdateOp::Exchange => operand,
    };
    cut(kind, bits)
}

/// For people.
pub fn shown(kind: Type, bits: u64) -> String {
    match kind {
        Type::Bool => (bits != 0).to_string(),
        Type::F32 => f32::from_bits(bits as u32).to_string(),
        Type::F64 => f64::from_bits(bits).to_string(),
        Type::Ref | Type::Thread => format!("{bits:#x}"),
        _ => signed(kind, bits).to_string(),
    }
}
