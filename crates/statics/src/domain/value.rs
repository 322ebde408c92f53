//! A value of any type, and the choice of domain: how much of a value is kept.
//!
//! Sign, parity and constants are views of numbers: upper closures, applied after every operation. By themselves they
//! are the domains that the paper speaks of.

use reweave_script::language::arithmetic::{self, signed};
use reweave_script::language::{BinaryOp, Literal, Test, Type, UnaryOp};

use super::float::{self, Float};
use super::number::{Arithmetic, Number, ends};
use crate::faults::{Fault, is_seeded};

#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// No value: not reached, or not allocated.
    Nothing,
    Number(Number),
    Float(Float),
    /// What it refers to is another analysis's.
    Reference {
        null: bool,
        object: bool,
    },
}

/// What is kept of whole numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Precision {
    /// Constants, intervals and congruences.
    Full,
    Intervals,
    /// Negative, zero, positive, or anything.
    Signs,
    Parity,
    Constants,
}

/// A domain of values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Domain {
    pub precision: Precision,
    /// Numbers wrap around at their width. Otherwise they are taken to have no end.
    pub wraps: bool,
}

impl Domain {
    pub const FULL: Self = Self { precision: Precision::Full, wraps: true };

    pub fn arithmetic(self, kind: Type) -> Arithmetic {
        Arithmetic { kind, wraps: self.wraps && !is_seeded(Fault::NoWrapping) }
    }

    /// As much of a number as the domain keeps.
    pub fn keep(self, kind: Type, number: Number) -> Number {
        let (least, most) = ends(kind);
        if kind == Type::Bool {
            return number;
        }
        let kept = match self.precision {
            Precision::Full => None,
            Precision::Intervals => Number::between(number.low(), number.high()),
            Precision::Constants => number.as_constant().map(Number::constant),
            Precision::Parity => {
                let (even, odd) = (least, least + 1);
                [even, odd].into_iter().find_map(|residue| {
                    let all = Number::range(least, most, 2, residue.rem_euclid(2))?;
                    number.is_within(&all).then_some(all)
                })
            }
            Precision::Signs => {
                let classes = [Number::between(least, -1), Number::between(0, 0), Number::between(1, most)];
                classes.into_iter().flatten().find(|class| number.is_within(class))
            }
        };
        match (self.precision, kept) {
            (Precision::Full, _) => number,
            (_, Some(kept)) => kept,
            (_, None) => Number::any(kind),
        }
    }

    fn number(self, kind: Type, number: Option<Number>) -> Value {
        number.map_or(Value::Nothing, |number| Value::Number(self.keep(kind, number)))
    }

    pub fn bits(self, kind: Type, bits: u64) -> Value {
        match kind {
            Type::F32 | Type::F64 => Value::Float(Float::Exact(bits)),
            Type::Ref | Type::Thread => Value::Reference { null: bits == 0, object: bits != 0 },
            _ => self.number(kind, Some(Number::constant(signed(kind, bits)))),
        }
    }

    pub fn literal(self, kind: Type, literal: Literal) -> Value {
        self.bits(kind, arithmetic::literal(kind, literal))
    }

    pub fn zero(self, kind: Type) -> Value {
        self.bits(kind, 0)
    }

    pub fn any(self, kind: Type) -> Value {
        match kind {
            Type::F32 | Type::F64 => Value::Float(float::ANY),
            Type::Ref | Type::Thread => Value::Reference { null: true, object: true },
            _ => Value::Number(Number::any(kind)),
        }
    }

    pub fn binary(self, kind: Type, op: BinaryOp, left: &Value, right: &Value) -> Value {
        match (left, right) {
            (Value::Nothing, _) | (_, Value::Nothing) => Value::Nothing,
            (Value::Number(left), Value::Number(right)) => {
                self.number(kind, self.arithmetic(kind).binary(op, left, right))
            }
            (Value::Float(left), Value::Float(right)) => Value::Float(left.binary(kind, op, *right)),
            _ => self.any(kind),
        }
    }

    pub fn unary(self, kind: Type, op: UnaryOp, value: &Value) -> Value {
        match value {
            Value::Number(number) => self.number(kind, Some(self.arithmetic(kind).unary(op, number))),
            Value::Float(float) => Value::Float(float.unary(kind, op)),
            other => other.clone(),
        }
    }

    pub fn convert(self, from: Type, to: Type, unsigned: bool, value: &Value) -> Value {
        match value {
            Value::Nothing => Value::Nothing,
            Value::Number(number) if !to.is_float() => {
                self.number(to, Some(self.arithmetic(to).convert(from, unsigned, number)))
            }
            Value::Number(number) => match number.as_constant() {
                Some(value) => {
                    let bits = arithmetic::cut(from, value as u64);
                    self.bits(to, arithmetic::convert(from, to, unsigned, bits))
                }
                None => self.any(to),
            },
            Value::Float(float) if to.is_float() => Value::Float(float.convert(from, to)),
            Value::Float(Float::Exact(bits)) => self.bits(to, arithmetic::convert(from, to, unsigned, *bits)),
            _ => self.any(to),
        }
    }

    /// Whether a comparison can hold, and whether it can fail to.
    pub fn compare(self, kind: Type, test: Test, left: &Value, right: &Value) -> (bool, bool) {
        match (left, right) {
            (Value::Nothing, _) | (_, Value::Nothing) => (false, false),
            (Value::Number(left), Value::Number(right)) => self.arithmetic(kind).compare(test, left, right),
            (Value::Float(left), Value::Float(right)) => left.compare(kind, test, *right),
            (Value::Reference { null: a, object: b }, Value::Reference { null: c, object: d }) => {
                let (equal, unequal) = ((*a && *c) || (*b && *d), (*a && *d) || (*b && *c) || (*b && *d));
                if test == Test::Ne { (unequal, equal) } else { (equal, unequal) }
            }
            _ => (true, true),
        }
    }

    /// The sides of a comparison that holds. None: it cannot.
    pub fn refine(self, kind: Type, test: Test, left: &Value, right: &Value) -> Option<(Value, Value)> {
        match (left, right) {
            (Value::Nothing, _) | (_, Value::Nothing) => None,
            (Value::Number(left), Value::Number(right)) => {
                let (left, right) = self.arithmetic(kind).refine(test, left, right)?;
                Some((self.number(kind, Some(left)), self.number(kind, Some(right))))
            }
            (Value::Reference { null: a, object: b }, Value::Reference { null: c, object: d }) => {
                let (a, b, c, d) = (*a, *b, *c, *d);
                let (left, right) = match test {
                    Test::Eq => ((a && c, b && d), (a && c, b && d)),
                    _ => ((a && d, b), (c && b, d)),
                };
                let is_some = |(null, object): (bool, bool)| null || object;
                let reference = |(null, object)| Value::Reference { null, object };
                (is_some(left) && is_some(right)).then(|| (reference(left), reference(right)))
            }
            _ => self.compare(kind, test, left, right).0.then(|| (left.clone(), right.clone())),
        }
    }

    pub fn join(self, kind: Type, left: &Value, right: &Value) -> Value {
        match (left, right) {
            (Value::Nothing, other) | (other, Value::Nothing) => other.clone(),
            (Value::Number(left), Value::Number(right)) => self.number(kind, Some(left.join(right))),
            (Value::Float(left), Value::Float(right)) => Value::Float(left.join(kind, *right)),
            (Value::Reference { null: a, object: b }, Value::Reference { null: c, object: d }) => {
                Value::Reference { null: *a || *c, object: *b || *d }
            }
            _ => self.any(kind),
        }
    }

    pub fn widen(self, kind: Type, left: &Value, right: &Value, thresholds: &[i64]) -> Value {
        match (left, right) {
            (Value::Number(left), Value::Number(right)) => self.number(kind, Some(left.widen(right, kind, thresholds))),
            (Value::Float(left), Value::Float(right)) => Value::Float(left.widen(kind, *right)),
            _ => self.join(kind, left, right),
        }
    }

    pub fn is_within(self, kind: Type, left: &Value, right: &Value) -> bool {
        match (left, right) {
            (Value::Nothing, _) => true,
            (_, Value::Nothing) => false,
            (Value::Number(left), Value::Number(right)) => left.is_within(right),
            (Value::Float(left), Value::Float(right)) => left.is_within(kind, *right),
            (Value::Reference { null: a, object: b }, Value::Reference { null: c, object: d }) => {
                (*c || !*a) && (*d || !*b)
            }
            _ => false,
        }
    }
}

impl Value {
    /// Whether it may be these bits.
    pub fn contains(&self, kind: Type, bits: u64) -> bool {
        match self {
            Self::Nothing => false,
            Self::Number(number) => number.contains(signed(kind, bits)),
            Self::Float(float) => float.contains(kind, bits),
            Self::Reference { null, object } => {
                if bits == 0 {
                    *null
                } else {
                    *object
                }
            }
        }
    }

    /// Whether it is the same in all executions, whatever happens. References are told apart by what they refer to.
    pub fn is_constant(&self) -> bool {
        match self {
            Self::Nothing | Self::Float(Float::Exact(_)) => true,
            Self::Number(number) => number.as_constant().is_some(),
            Self::Reference { object, .. } => !object,
            Self::Float(Float::Range { .. }) => false,
        }
    }

    /// For people: `[900..1000]`, `5`, `{1, 4}`, `null`.
    pub fn shown(&self, kind: Type) -> String {
        match self {
            Self::Nothing => "nothing".into(),
            Self::Number(number) if kind == Type::Bool => match number.as_constant() {
                Some(value) => (value != 0).to_string(),
                None => "true or false".into(),
            },
            Self::Number(number) => shown_number(kind, number),
            Self::Float(Float::Exact(bits)) => arithmetic::shown(kind, *bits),
            Self::Float(Float::Range { low, high, .. }) => format!("[{low}..{high}]"),
            Self::Reference { object: false, .. } => "null".into(),
            Self::Reference { null: false, .. } => "an object".into(),
            Self::Reference { .. } => "an object or null".into(),
        }
    }
}

fn shown_number(kind: Type, number: &Number) -> String {
    let (least, most) = ends(kind);
    match number {
        Number::Set(values) => match &values[..] {
            [one] => one.to_string(),
            many => {
                let many: Vec<String> = many.iter().map(i64::to_string).collect();
                format!("{{{}}}", many.join(", "))
            }
        },
        Number::Range { low, high, modulus, residue } => {
            let low = if *low == least { "-∞".into() } else { low.to_string() };
            let high = if *high == most { "∞".into() } else { high.to_string() };
            match (&low[..], &high[..], modulus) {
                ("-∞", "∞", 1) => "any number".into(),
                (_, _, 1) => format!("[{low}..{high}]"),
                _ => format!("[{low}..{high}], {residue} mod {modulus}"),
            }
        }
    }
}
