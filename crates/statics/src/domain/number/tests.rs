//! Every operation on every pair of small ranges, against the language's own arithmetic.

use super::*;

/// Numbers of an i8: sets, intervals and congruences near zero and near the ends.
fn numbers() -> Vec<(Number, Vec<i64>)> {
    let mut all = Vec::new();
    for (low, high) in [(-128, 127), (-3, 12), (0, 20), (100, 127), (-128, -110), (1, 10), (-20, -9), (-1, 60)] {
        for (modulus, residue) in [(1, 0), (2, 1), (3, 2), (4, 0)] {
            if let Some(number) = Number::range(low, high, modulus, residue) {
                let inside = (-128..=127).filter(|value| number.contains(*value)).collect();
                all.push((number, inside));
            }
        }
    }
    for set in [&[0][..], &[-128, 127], &[1, 2, 4, 8], &[-1], &[5, 100]] {
        all.push((Number::Set(set.to_vec()), set.to_vec()));
    }
    all
}

#[test]
fn operations_hold_what_they_compute() {
    let i8s = Arithmetic { kind: Type::I8, wraps: true };
    let bits = |value: i64| cut(Type::I8, value as u64);
    for (left, lefts) in &numbers() {
        for (right, rights) in &numbers() {
            for op in BinaryOp::ALL {
                let result = i8s.binary(*op, left, right);
                for (a, b) in lefts.iter().flat_map(|a| rights.iter().map(move |b| (*a, *b))) {
                    if let Ok(value) = arithmetic::binary(*op, Type::I8, bits(a), bits(b)) {
                        let value = signed(Type::I8, value);
                        let held = result.as_ref().is_some_and(|result| result.contains(value));
                        assert!(held, "{a} {op} {b} = {value} is not in {result:?}, of {left:?} and {right:?}");
                    }
                }
            }
            for test in Test::ALL {
                let refined = i8s.refine(*test, left, right);
                for (a, b) in lefts.iter().flat_map(|a| rights.iter().map(move |b| (*a, *b))) {
                    if arithmetic::compare(*test, Type::I8, bits(a), bits(b)) {
                        let held = refined.as_ref().is_some_and(|(l, r)| l.contains(a) && r.contains(b));
                        assert!(held, "{a} {test} {b}: not in {refined:?}, of {left:?} and {right:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_lattice_is_one() {
    for (left, lefts) in &numbers() {
        for (right, rights) in &numbers() {
            let joined = left.join(right);
            assert!(left.is_within(&joined) && right.is_within(&joined), "{left:?} ⊔ {right:?} = {joined:?}");
            let widened = left.widen(right, Type::I8, &[-5, 0, 15]);
            assert!(joined.is_within(&widened), "{left:?} ∇ {right:?} = {widened:?}");
            if left.is_within(right) {
                assert!(lefts.iter().all(|value| rights.contains(value)), "{left:?} ⊑ {right:?}");
            }
        }
    }
}

#[test]
fn conversions_and_unary_operations_hold_what_they_compute() {
    let bits = |value: i64| cut(Type::I8, value as u64);
    for (number, inside) in &numbers() {
        for (to, unsigned) in [(Type::I16, false), (Type::I16, true), (Type::Bool, false), (Type::I8, false)] {
            let result = Arithmetic { kind: to, wraps: true }.convert(Type::I8, unsigned, number);
            for value in inside {
                let value = signed(to, arithmetic::convert(Type::I8, to, unsigned, bits(*value)));
                assert!(result.contains(value), "{number:?} to {to}: {value} is not in {result:?}");
            }
        }
        for op in UnaryOp::ALL {
            let result = Arithmetic { kind: Type::I8, wraps: true }.unary(*op, number);
            for value in inside {
                let value = signed(Type::I8, arithmetic::unary(*op, Type::I8, bits(*value)));
                assert!(result.contains(value), "{op} {number:?}: {value} is not in {result:?}");
            }
        }
    }
}

#[test]
fn widening_ends() {
    let mut number = Number::constant(0);
    let mut steps = 0;
    loop {
        let next =
            number.widen(&number.join(&Number::constant(number.high().saturating_add(1))), Type::I32, &[10, 1000]);
        if next == number {
            break;
        }
        number = next;
        steps += 1;
        assert!(steps < 20, "{number:?}");
    }
    assert_eq!(number.high(), i64::from(i32::MAX));
}
