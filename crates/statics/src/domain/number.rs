//! Whole numbers: up to eight constants, or an interval with a congruence (reduced product).
//!
//! Lattice: sets of signed numbers of one width, by inclusion. `Set` is exact; `Range` is all `x` with `low ≤ x ≤
//! high` and `x ≡ residue (mod modulus)`. What leaves the width wraps around, as in the language.

use reweave_script::language::arithmetic::{self, cut, signed};
use reweave_script::language::{BinaryOp, Test, Type, UnaryOp};

use crate::faults::{Fault, is_seeded};

/// Constants that are kept apart.
pub const MOST_CONSTANTS: usize = 8;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Number {
    // invariant: ascending, not empty, at most MOST_CONSTANTS
    Set(Vec<i64>),
    // invariant: low < high, both ≡ residue; 0 ≤ residue < modulus
    Range { low: i64, high: i64, modulus: i64, residue: i64 },
}

/// The ends of a type.
pub const fn ends(kind: Type) -> (i64, i64) {
    match kind {
        Type::Bool => (0, 1),
        Type::I8 => (i8::MIN as i64, i8::MAX as i64),
        Type::I16 => (i16::MIN as i64, i16::MAX as i64),
        Type::I32 => (i32::MIN as i64, i32::MAX as i64),
        _ => (i64::MIN, i64::MAX),
    }
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl Number {
    pub fn constant(value: i64) -> Self {
        Self::Set(vec![value])
    }

    /// Every value of a type.
    pub fn any(kind: Type) -> Self {
        let (low, high) = ends(kind);
        Self::range(low, high, 1, 0).expect("a type has values")
    }

    /// None if there is no such number.
    pub fn range(low: i64, high: i64, modulus: i64, residue: i64) -> Option<Self> {
        if modulus == 1 && low < high {
            return Some(Self::Range { low, high, modulus, residue: 0 });
        }
        let (wide, modulus_wide) = (i128::from(residue), i128::from(modulus));
        let up = i128::from(low) + (wide - i128::from(low)).rem_euclid(modulus_wide);
        let down = i128::from(high) - (i128::from(high) - wide).rem_euclid(modulus_wide);
        match up.cmp(&down) {
            std::cmp::Ordering::Greater => None,
            std::cmp::Ordering::Equal => Some(Self::constant(up as i64)),
            std::cmp::Ordering::Less => Some(Self::Range { low: up as i64, high: down as i64, modulus, residue }),
        }
    }

    pub fn between(low: i64, high: i64) -> Option<Self> {
        if low > high { None } else { Self::range(low, high, 1, 0) }
    }

    /// Of all these; none if there are none.
    pub fn of(mut values: Vec<i64>) -> Option<Self> {
        values.sort_unstable();
        values.dedup();
        if values.len() <= MOST_CONSTANTS {
            return if values.is_empty() { None } else { Some(Self::Set(values)) };
        }
        let (low, high) = (values[0], values[values.len() - 1]);
        let (modulus, residue) = congruence(&values);
        Self::range(low, high, modulus, residue)
    }

    pub fn low(&self) -> i64 {
        match self {
            Self::Set(values) => values[0],
            Self::Range { low, .. } => *low,
        }
    }

    pub fn high(&self) -> i64 {
        match self {
            Self::Set(values) => values[values.len() - 1],
            Self::Range { high, .. } => *high,
        }
    }

    pub fn as_constant(&self) -> Option<i64> {
        match self {
            Self::Set(values) if values.len() == 1 => Some(values[0]),
            _ => None,
        }
    }

    /// Modulus and residue; modulus 0 for one constant.
    fn congruence(&self) -> (i64, i64) {
        match self {
            Self::Set(values) => congruence(values),
            Self::Range { modulus, residue, .. } => (*modulus, *residue),
        }
    }

    pub fn contains(&self, value: i64) -> bool {
        match self {
            Self::Set(values) => values.binary_search(&value).is_ok(),
            Self::Range { low, high, modulus, residue } => {
                *low <= value
                    && value <= *high
                    && (i128::from(value) - i128::from(*residue)).rem_euclid(i128::from(*modulus)) == 0
            }
        }
    }

    pub fn is_within(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Set(values), _) => values.iter().all(|value| other.contains(*value)),
            // A range has values that a small set may all hold: rare, and not worth the look.
            (Self::Range { .. }, Self::Set(_)) => false,
            (Self::Range { low, high, modulus, .. }, Self::Range { low: l, high: h, modulus: m, .. }) => {
                l <= low && high <= h && modulus % m == 0 && other.contains(*low)
            }
        }
    }

    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        if let (Self::Set(one), Self::Set(two)) = (self, other) {
            return Self::of([&one[..], &two[..]].concat()).expect("not empty");
        }
        if is_seeded(Fault::JoinForgets) {
            return self.clone();
        }
        let (low, high) = (self.low().min(other.low()), self.high().max(other.high()));
        let (modulus, residue) = join_congruences(self.congruence(), other.congruence());
        Self::range(low, high, modulus.max(1), residue).expect("not empty")
    }

    /// Goes to the next threshold where a join would go on growing. `thresholds`: ascending.
    #[must_use]
    pub fn widen(&self, other: &Self, kind: Type, thresholds: &[i64]) -> Self {
        let joined = self.join(other);
        let (Self::Range { low, high, modulus, residue }, false) = (&joined, joined.is_within(self)) else {
            return joined;
        };
        let (least, most) = ends(kind);
        let mut low = *low;
        if low < self.low() {
            low = thresholds.iter().copied().rfind(|at| *at <= low).unwrap_or(least).max(least);
        }
        let mut high = *high;
        if high > self.high() {
            high = thresholds.iter().copied().find(|at| *at >= high).unwrap_or(most).min(most);
        }
        Self::range(low, high, *modulus, *residue).unwrap_or(joined)
    }

    #[must_use]
    pub fn meet_range(&self, low: i64, high: i64) -> Option<Self> {
        match self {
            Self::Set(values) => Self::of(values.iter().copied().filter(|at| low <= *at && *at <= high).collect()),
            Self::Range { low: l, high: h, modulus, residue } => {
                let (low, high) = (low.max(*l), high.min(*h));
                if low > high { None } else { Self::range(low, high, *modulus, *residue) }
            }
        }
    }

    #[must_use]
    pub fn without(&self, value: i64) -> Option<Self> {
        match self {
            Self::Set(values) => Self::of(values.iter().copied().filter(|at| *at != value).collect()),
            Self::Range { low, high, modulus, residue } => {
                let low = if value == *low { low + 1 } else { *low };
                let high = if value == *high { high - 1 } else { *high };
                Self::range(low, high, *modulus, *residue)
            }
        }
    }
}

/// Modulus and residue of all these; modulus 0 for one.
fn congruence(values: &[i64]) -> (i64, i64) {
    let first = i128::from(values[0]);
    let modulus = values.iter().fold(0, |modulus, value| gcd(modulus, (i128::from(*value) - first).unsigned_abs()));
    normal(modulus, first)
}

fn normal(modulus: u128, residue: i128) -> (i64, i64) {
    match i64::try_from(modulus) {
        Ok(0) => (0, residue as i64),
        Ok(modulus) => (modulus, residue.rem_euclid(i128::from(modulus)) as i64),
        Err(_) => (1, 0),
    }
}

fn join_congruences((m, r): (i64, i64), (n, s): (i64, i64)) -> (i64, i64) {
    let apart = (i128::from(r) - i128::from(s)).unsigned_abs();
    normal(gcd(gcd(m.unsigned_abs().into(), n.unsigned_abs().into()), apart), r.into())
}

/// How numbers behave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arithmetic {
    pub kind: Type,
    /// What leaves the width comes in at the other end. Otherwise it stays at the end, as if numbers had none.
    pub wraps: bool,
}

impl Arithmetic {
    /// From exact bounds and a congruence.
    fn fit(self, low: i128, high: i128, (modulus, residue): (i64, i64)) -> Number {
        let (least, most) = ends(self.kind);
        if i128::from(least) <= low && high <= i128::from(most) {
            return Number::range(low as i64, high as i64, modulus.max(1), residue)
                .unwrap_or_else(|| Number::constant(low as i64));
        }
        if !self.wraps {
            let clamp = |value: i128| value.clamp(least.into(), most.into()) as i64;
            return Number::range(clamp(low), clamp(high), 1, 0).unwrap_or_else(|| Number::any(self.kind));
        }
        // Going round adds multiples of a power of two.
        let round = 1u128 << (self.kind.size() * 8);
        let (modulus, residue) = normal(gcd(modulus.unsigned_abs().into(), round), residue.into());
        Number::range(least, most, modulus.max(1), residue).unwrap_or_else(|| Number::any(self.kind))
    }

    fn exact(self, op: BinaryOp, left: i64, right: i64) -> Option<i64> {
        if !self.wraps && matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul) {
            let (a, b) = (i128::from(left), i128::from(right));
            let value = match op {
                BinaryOp::Add => a + b,
                BinaryOp::Sub => a - b,
                _ => a * b,
            };
            let (least, most) = ends(self.kind);
            return Some(value.clamp(least.into(), most.into()) as i64);
        }
        let bits = |value: i64| cut(self.kind, value as u64);
        arithmetic::binary(op, self.kind, bits(left), bits(right)).ok().map(|bits| signed(self.kind, bits))
    }

    /// None: it always fails.
    pub fn binary(self, op: BinaryOp, left: &Number, right: &Number) -> Option<Number> {
        if let (Number::Set(one), Number::Set(two)) = (left, right) {
            let pairs = one.iter().flat_map(|a| two.iter().map(|b| self.exact(op, *a, *b)));
            return Number::of(pairs.flatten().collect());
        }
        let wide = |value: i64| i128::from(value);
        let (a, b, c, d) = (wide(left.low()), wide(left.high()), wide(right.low()), wide(right.high()));
        let (m, n) = (left.congruence(), right.congruence());
        let modulus = gcd(m.0.unsigned_abs().into(), n.0.unsigned_abs().into());
        Some(match op {
            BinaryOp::Add if is_seeded(Fault::SumTooSmall) => self.fit(a + c, (b + d - 1).max(a + c), (1, 0)),
            BinaryOp::Add => self.fit(a + c, b + d, normal(modulus, wide(m.1) + wide(n.1))),
            BinaryOp::Sub => self.fit(a - d, b - c, normal(modulus, wide(m.1) - wide(n.1))),
            BinaryOp::Mul => {
                let corners = [a * c, a * d, b * c, b * d];
                let scaled = |(modulus, residue): (i64, i64), by: i64| {
                    normal(u128::from(modulus.unsigned_abs()) * u128::from(by.unsigned_abs()), wide(residue) * wide(by))
                };
                let congruence = match (left.as_constant(), right.as_constant()) {
                    (Some(by), _) if by != 0 => scaled(n, by),
                    (_, Some(by)) if by != 0 => scaled(m, by),
                    _ => (1, 0),
                };
                let low = corners.iter().copied().min().expect("four corners");
                let high = corners.iter().copied().max().expect("four corners");
                self.fit(low, high, congruence)
            }
            BinaryOp::Div => self.divide(left, right)?,
            BinaryOp::Rem => self.remainder(left, right)?,
            BinaryOp::UDiv | BinaryOp::URem if a >= 0 && c >= 0 => {
                let op = if op == BinaryOp::UDiv { BinaryOp::Div } else { BinaryOp::Rem };
                return self.binary(op, left, right);
            }
            BinaryOp::And if a >= 0 && c >= 0 => self.fit(0, b.min(d), (1, 0)),
            BinaryOp::And if a >= 0 => self.fit(0, b, (1, 0)),
            BinaryOp::And if c >= 0 => self.fit(0, d, (1, 0)),
            BinaryOp::Or | BinaryOp::Xor if a >= 0 && c >= 0 => {
                let bits = 128 - (b | d).leading_zeros();
                self.fit(0, (1i128 << bits) - 1, (1, 0))
            }
            BinaryOp::Shl => match self.distance(right) {
                Some(by) if by < self.kind.size() * 8 - 1 => {
                    return self.binary(BinaryOp::Mul, left, &Number::constant(1i64 << by));
                }
                _ => Number::any(self.kind),
            },
            BinaryOp::Shr | BinaryOp::UShr if op == BinaryOp::Shr || a >= 0 => match self.distance(right) {
                Some(by) => self.fit(a >> by, b >> by, (1, 0)),
                None => self
                    .fit(a.min(0), b.max(0), (1, 0))
                    .join(&Number::constant(-1))
                    .meet_range(if a < 0 { i64::MIN } else { 0 }, i64::MAX)?,
            },
            _ => Number::any(self.kind),
        })
    }

    /// By how much a shift goes, if that is known.
    fn distance(self, right: &Number) -> Option<u32> {
        right.as_constant().map(|by| (cut(self.kind, by as u64) % (u64::from(self.kind.size()) * 8)) as u32)
    }

    fn divide(self, left: &Number, right: &Number) -> Option<Number> {
        let (least, _) = ends(self.kind);
        if left.contains(least) && right.contains(-1) {
            return Some(Number::any(self.kind));
        }
        let mut result: Option<Number> = None;
        for side in [right.meet_range(i64::MIN, -1), right.meet_range(1, i64::MAX)].into_iter().flatten() {
            let by = [side.low(), side.high()];
            let corners = [left.low(), left.high()].into_iter().flat_map(|a| by.map(|b| i128::from(a) / i128::from(b)));
            let corners: Vec<i128> = corners.collect();
            let (low, high) = (corners.iter().min().copied()?, corners.iter().max().copied()?);
            let part = self.fit(low, high, (1, 0));
            result = Some(result.map_or(part.clone(), |known| known.join(&part)));
        }
        result
    }

    fn remainder(self, left: &Number, right: &Number) -> Option<Number> {
        let most = right.low().unsigned_abs().max(right.high().unsigned_abs());
        if most == 0 {
            return None;
        }
        let most = i128::from(most) - 1;
        let low = if left.low() < 0 { (-most).max(left.low().into()) } else { 0 };
        let high = if left.high() > 0 { most.min(left.high().into()) } else { 0 };
        Some(self.fit(low, high, (1, 0)))
    }

    pub fn unary(self, op: UnaryOp, value: &Number) -> Number {
        match op {
            UnaryOp::Neg => {
                self.binary(BinaryOp::Sub, &Number::constant(0), value).unwrap_or_else(|| Number::any(self.kind))
            }
            UnaryOp::Not => {
                let bits =
                    |value: i64| signed(self.kind, arithmetic::unary(op, self.kind, cut(self.kind, value as u64)));
                match value {
                    Number::Set(values) => Number::of(values.iter().map(|at| bits(*at)).collect()).expect("not empty"),
                    Number::Range { low, high, .. } if self.kind.is_integer() => {
                        Number::between(!high, !low).expect("not empty")
                    }
                    Number::Range { .. } => Number::any(self.kind),
                }
            }
        }
    }

    /// Another width.
    pub fn convert(self, from: Type, unsigned: bool, value: &Number) -> Number {
        if let Number::Set(values) = value {
            let one = |value: &i64| {
                signed(self.kind, arithmetic::convert(from, self.kind, unsigned, cut(from, *value as u64)))
            };
            return Number::of(values.iter().map(one).collect()).expect("not empty");
        }
        let (least, most) = ends(self.kind);
        if self.kind != Type::Bool && least <= value.low() && value.high() <= most && (!unsigned || value.low() >= 0) {
            return value.clone();
        }
        Number::any(self.kind)
    }

    /// Whether a comparison can hold, and whether it can fail to.
    pub fn compare(self, test: Test, left: &Number, right: &Number) -> (bool, bool) {
        (self.refine(test, left, right).is_some(), self.refine(opposite(test), left, right).is_some())
    }

    /// The sides of a comparison that holds. None: it cannot.
    pub fn refine(self, test: Test, left: &Number, right: &Number) -> Option<(Number, Number)> {
        if let (Number::Set(one), Number::Set(two)) = (left, right) {
            let bits = |value: i64| cut(self.kind, value as u64);
            let holds = |a: i64, b: i64| arithmetic::compare(test, self.kind, bits(a), bits(b));
            let left = one.iter().copied().filter(|a| two.iter().any(|b| holds(*a, *b))).collect();
            let right = two.iter().copied().filter(|b| one.iter().any(|a| holds(*a, *b))).collect();
            return Some((Number::of(left)?, Number::of(right)?));
        }
        let (min, max) = (i64::MIN, i64::MAX);
        match test {
            Test::Eq => {
                let left_met = left.meet_range(right.low(), right.high())?;
                let right_met = right.meet_range(left.low(), left.high())?;
                let common = |set: &Number, other: &Number| match set {
                    Number::Set(values) => {
                        Number::of(values.iter().copied().filter(|at| other.contains(*at)).collect())
                    }
                    Number::Range { .. } => Some(set.clone()),
                };
                Some((common(&left_met, right)?, common(&right_met, left)?))
            }
            Test::Ne => {
                let left_left = right.as_constant().map_or_else(|| Some(left.clone()), |value| left.without(value))?;
                let right_left =
                    left.as_constant().map_or_else(|| Some(right.clone()), |value| right.without(value))?;
                Some((left_left, right_left))
            }
            Test::Lt => {
                let below = if is_seeded(Fault::RefinesTooMuch) { 2 } else { 1 };
                let left_met = left.meet_range(min, right.high().checked_sub(below)?)?;
                Some((left_met, right.meet_range(left.low().checked_add(1)?, max)?))
            }
            Test::Le => Some((left.meet_range(min, right.high())?, right.meet_range(left.low(), max)?)),
            Test::Gt => self.refine(Test::Lt, right, left).map(|(right, left)| (left, right)),
            Test::Ge => self.refine(Test::Le, right, left).map(|(right, left)| (left, right)),
            Test::ULt | Test::ULe if right.low() >= 0 => {
                let test = if test == Test::ULt { Test::Lt } else { Test::Le };
                self.refine(test, &left.meet_range(0, max)?, right)
            }
            Test::UGt | Test::UGe if left.low() >= 0 => {
                let test = if test == Test::UGt { Test::ULt } else { Test::ULe };
                self.refine(test, right, left).map(|(right, left)| (left, right))
            }
            _ => Some((left.clone(), right.clone())),
        }
    }
}

pub const fn opposite(test: Test) -> Test {
    match test {
        Test::Eq => Test::Ne,
        Test::Ne => Test::Eq,
        Test::Lt => Test::Ge,
        Test::Le => Test::Gt,
        Test::Gt => Test::Le,
        Test::Ge => Test::Lt,
        Test::ULt => Test::UGe,
        Test::ULe => Test::UGt,
        Test::UGt => Test::ULe,
        Test::UGe => Test::ULt,
    }
}

#[cfg(test)]
mod tests;
