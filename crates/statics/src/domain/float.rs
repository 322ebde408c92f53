//! Floating-point numbers: one bit pattern, or an interval, rounded outward, with or without NaN.
//!
//! Lattice: sets of values of f32 or f64, by inclusion. Bounds are kept as f64; both zeros lie in an interval that
//! holds zero.

use reweave_script::language::arithmetic::{self, cut};
use reweave_script::language::{BinaryOp, Test, Type, UnaryOp};

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Float {
    /// Its bits.
    Exact(u64),
    // invariant: low ≤ high, neither is NaN
    Range {
        low: f64,
        high: f64,
        nan: bool,
    },
}

pub const ANY: Float = Float::Range { low: f64::NEG_INFINITY, high: f64::INFINITY, nan: true };

fn number(kind: Type, bits: u64) -> f64 {
    if kind == Type::F32 { f32::from_bits(bits as u32).into() } else { f64::from_bits(bits) }
}

/// The next number of this type below, and above.
fn outward(kind: Type, low: f64, high: f64) -> (f64, f64) {
    if kind == Type::F32 {
        return ((low as f32).next_down().into(), (high as f32).next_up().into());
    }
    (low.next_down(), high.next_up())
}

impl Float {
    fn bounds(self, kind: Type) -> Option<(f64, f64, bool)> {
        match self {
            Self::Range { low, high, nan } => Some((low, high, nan)),
            Self::Exact(bits) => {
                let value = number(kind, bits);
                (!value.is_nan()).then_some((value, value, false))
            }
        }
    }

    pub fn contains(self, kind: Type, bits: u64) -> bool {
        match self {
            Self::Exact(own) => own == bits,
            Self::Range { low, high, nan } => {
                let value = number(kind, bits);
                if value.is_nan() { nan } else { low <= value && value <= high }
            }
        }
    }

    pub fn is_within(self, kind: Type, other: Self) -> bool {
        match (self, other) {
            (Self::Exact(bits), _) => other.contains(kind, bits),
            (Self::Range { .. }, Self::Exact(_)) => false,
            (Self::Range { low, high, nan }, Self::Range { low: l, high: h, nan: n }) => {
                l <= low && high <= h && (n || !nan)
            }
        }
    }

    #[must_use]
    pub fn join(self, kind: Type, other: Self) -> Self {
        if self == other {
            return self;
        }
        let (Some((a, b, n)), Some((c, d, m))) = (self.bounds(kind), other.bounds(kind)) else {
            let (low, high, _) = self.bounds(kind).or_else(|| other.bounds(kind)).unwrap_or((0.0, 0.0, true));
            return Self::Range { low, high, nan: true };
        };
        Self::Range { low: a.min(c), high: b.max(d), nan: n || m }
    }

    /// Everything where a join would grow.
    #[must_use]
    pub fn widen(self, kind: Type, other: Self) -> Self {
        let joined = self.join(kind, other);
        if joined.is_within(kind, self) { self } else { ANY }
    }

    #[must_use]
    pub fn binary(self, kind: Type, op: BinaryOp, other: Self) -> Self {
        if let (Self::Exact(a), Self::Exact(b)) = (self, other) {
            return arithmetic::binary(op, kind, a, b).map_or(ANY, Self::Exact);
        }
        let (Some((a, b, n)), Some((c, d, m))) = (self.bounds(kind), other.bounds(kind)) else { return ANY };
        let corners = match op {
            BinaryOp::Add => vec![a + c, b + d],
            BinaryOp::Sub => vec![a - d, b - c],
            BinaryOp::Mul => vec![a * c, a * d, b * c, b * d],
            BinaryOp::Div if c > 0.0 || d < 0.0 => vec![a / c, a / d, b / c, b / d],
            _ => return ANY,
        };
        let bounded = [a, b, c, d].iter().all(|value| value.is_finite());
        if !bounded || corners.iter().any(|value| value.is_nan()) {
            return ANY;
        }
        let low = corners.iter().copied().fold(f64::INFINITY, f64::min);
        let high = corners.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (low, high) = outward(kind, low, high);
        Self::Range { low, high, nan: n || m }
    }

    #[must_use]
    pub fn unary(self, kind: Type, op: UnaryOp) -> Self {
        match (self, op) {
            (Self::Exact(bits), _) => Self::Exact(arithmetic::unary(op, kind, bits)),
            (Self::Range { low, high, nan }, UnaryOp::Neg) => Self::Range { low: -high, high: -low, nan },
            (Self::Range { .. }, UnaryOp::Not) => ANY,
        }
    }

    /// Whether a comparison can hold, and whether it can fail to.
    pub fn compare(self, kind: Type, test: Test, other: Self) -> (bool, bool) {
        if let (Self::Exact(a), Self::Exact(b)) = (self, other) {
            let holds = arithmetic::compare(test, kind, a, b);
            return (holds, !holds);
        }
        let (Some((a, b, n)), Some((c, d, m))) = (self.bounds(kind), other.bounds(kind)) else { return (true, true) };
        let (can, cannot) = match test {
            Test::Lt | Test::ULt => (a < d, b >= c),
            Test::Le | Test::ULe => (a <= d, b > c),
            Test::Gt | Test::UGt => (b > c, a <= d),
            Test::Ge | Test::UGe => (b >= c, a < d),
            Test::Eq => (a <= d && c <= b, true),
            Test::Ne => (true, a <= d && c <= b),
        };
        (can || (test == Test::Ne && (n || m)), cannot || ((n || m) && test != Test::Ne))
    }

    pub fn convert(self, from: Type, to: Type) -> Self {
        match self {
            Self::Exact(bits) => Self::Exact(cut(to, arithmetic::convert(from, to, false, bits))),
            Self::Range { low, high, nan } => {
                let (low, high) = outward(to, low, high);
                Self::Range { low, high, nan }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_hold_what_is_computed() {
        let values = [-3.5f64, -1.0, -0.0, 0.0, 0.1, 0.2, 1.0, 1e10, 3.0];
        let range = |low: f64, high: f64| Float::Range { low, high, nan: false };
        for (low, high) in [(-4.0, 0.2), (0.1, 3.0), (-0.0, 1e10)] {
            for (c, d) in [(-4.0, -0.5), (0.1, 3.0), (0.2, 0.2)] {
                for op in [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div] {
                    let result = range(low, high).binary(Type::F64, op, range(c, d));
                    let inside = |low: f64, high: f64| values.into_iter().filter(move |x| low <= *x && *x <= high);
                    for (a, b) in inside(low, high).flat_map(|a| inside(c, d).map(move |b| (a, b))) {
                        let value = arithmetic::binary(op, Type::F64, a.to_bits(), b.to_bits()).unwrap();
                        assert!(result.contains(Type::F64, value), "{a} {op} {b} is not in {result:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn nan_is_unlike_everything_and_itself() {
        let nan = Float::Exact(f64::NAN.to_bits());
        let one = Float::Exact(1f64.to_bits());
        let both = nan.join(Type::F64, one);
        assert!(both.contains(Type::F64, f64::NAN.to_bits()) && both.contains(Type::F64, 1f64.to_bits()));
        assert_eq!(both.compare(Type::F64, Test::Eq, one), (true, true));
        assert_eq!(nan.compare(Type::F64, Test::Ne, nan), (true, false));
    }
}
