//! Partitions of values: two values that lie in one class count as the same (*weak determinism*).
//!
//! The paper compares abstract values; two unknown ones would be equal. Here all values must lie in **one class**.

use reweave_script::language::Test;

use super::number::{Arithmetic, Number};
use super::value::Value;

/// How values are told apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Partition {
    /// Negative, zero, positive.
    Sign,
    Parity,
    Modulo(i64),
    /// Null or not.
    Null,
    /// Every value by itself.
    Constant,
    /// Those for which `x TEST constant` holds, and the others.
    Predicate(Test, i64),
}

impl Partition {
    /// The class that all of a value lies in.
    pub fn class(self, kind: reweave_script::language::Type, value: &Value) -> Option<i64> {
        match (self, value) {
            (Self::Null, Value::Reference { null, object }) => (null != object).then_some(i64::from(*null)),
            (_, Value::Number(number)) => self.class_of_number(kind, number),
            (Self::Constant, other) if other.is_constant() => Some(0),
            _ => None,
        }
    }

    fn class_of_number(self, kind: reweave_script::language::Type, number: &Number) -> Option<i64> {
        let one = |value: i64| match self {
            Self::Sign => value.signum(),
            Self::Parity => value.rem_euclid(2),
            Self::Modulo(modulus) => value.rem_euclid(modulus.max(1)),
            _ => value,
        };
        match (self, number) {
            (Self::Predicate(test, bound), _) => {
                let arithmetic = Arithmetic { kind, wraps: true };
                match arithmetic.compare(test, number, &Number::constant(bound)) {
                    (true, false) => Some(1),
                    (false, true) => Some(0),
                    _ => None,
                }
            }
            (_, Number::Set(values)) => {
                let first = one(values[0]);
                values.iter().all(|value| one(*value) == first).then_some(first)
            }
            (Self::Sign, Number::Range { low, high, .. }) => (low.signum() == high.signum()).then_some(low.signum()),
            (Self::Parity, Number::Range { modulus, residue, .. }) => (modulus % 2 == 0).then_some(residue % 2),
            (Self::Modulo(by), Number::Range { modulus, residue, .. }) => {
                (by > 0 && modulus % by == 0).then_some(residue % by.max(1))
            }
            _ => None,
        }
    }
}
