//! Whole numbers as sums of products of things that do not change: `id * slice + 1`.

use std::collections::BTreeMap;

use super::classes::{FieldId, MethodId};
use super::code::Value;
use super::solve::{FrameId, ObjectId, ThreadId};

/// Where the number of an instance comes from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Number {
    /// A field of what the instance runs.
    Field(FieldId),
    /// What the loop counts that makes the instances' objects.
    Count(FrameId, Value),
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Atom {
    /// A number that is another one in every instance of a thread.
    Id(ThreadId, Number),
    Static(FieldId),
    /// Of one object of a run.
    Field(ObjectId, FieldId),
    Length(ObjectId),
    /// A whole quotient, cut towards zero.
    Quotient(Box<Poly>, Box<Poly>),
    /// A computation that is not looked into, of the same operands.
    Computed(MethodId, Value, Vec<Poly>),
}

/// Coefficients of products.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
// invariant: no coefficient is zero; atoms of a product are sorted
pub struct Poly(BTreeMap<Vec<Atom>, i64>);

/// The id of a thread's instances.
pub type IdOf = (ThreadId, Number);

impl Poly {
    pub fn number(number: i64) -> Self {
        Self::term(Vec::new(), number)
    }

    pub fn atom(atom: Atom) -> Self {
        Self::term(vec![atom], 1)
    }

    fn term(product: Vec<Atom>, by: i64) -> Self {
        Self([(product, by)].into_iter().filter(|(_, by)| *by != 0).collect())
    }

    pub fn plus(&self, other: &Self, times: i64) -> Option<Self> {
        let mut sum = self.0.clone();
        for (product, by) in &other.0 {
            let known = sum.entry(product.clone()).or_insert(0);
            *known = known.checked_add(by.checked_mul(times)?)?;
        }
        sum.retain(|_, by| *by != 0);
        Some(Self(sum))
    }

    pub fn minus(&self, other: &Self) -> Option<Self> {
        self.plus(other, -1)
    }

    pub fn times(&self, other: &Self) -> Option<Self> {
        let mut all = Self::default();
        for (one, by) in &self.0 {
            for (two, times) in &other.0 {
                let mut product: Vec<Atom> = one.iter().chain(two).cloned().collect();
                product.sort();
                (product.len() <= 4).then_some(())?;
                all = all.plus(&Self::term(product, by.checked_mul(*times)?), 1)?;
            }
        }
        Some(all)
    }

    /// If it is one.
    pub fn constant(&self) -> Option<i64> {
        match self.0.len() {
            0 => Some(0),
            1 => self.0.get(&Vec::new()).copied(),
            _ => None,
        }
    }

    /// Whether something that is not looked into is computed from an id: then it is another one in every instance.
    fn hides_id(&self) -> bool {
        self.0.keys().flatten().any(|atom| match atom {
            Atom::Computed(.., operands) => operands.iter().any(Self::names_id),
            Atom::Quotient(of, by) => of.names_id() || by.names_id(),
            _ => false,
        })
    }

    /// Whether it is another one in every instance, as far as one can see.
    pub fn names_id(&self) -> bool {
        self.has_id() || self.hides_id()
    }

    fn has_id(&self) -> bool {
        self.0.keys().flatten().any(|atom| matches!(atom, Atom::Id(..)))
    }

    /// Quotient and remaining number, if it is one quotient and a number: `a / b - 1`.
    pub fn as_quotient(&self) -> Option<(&Self, &Self, i64)> {
        let mut found = None;
        let mut rest = 0;
        for (product, by) in &self.0 {
            match (&product[..], by) {
                ([], by) => rest = *by,
                ([Atom::Quotient(of, divisor)], 1) if found.is_none() => found = Some((&**of, &**divisor)),
                _ => return None,
            }
        }
        found.map(|(of, divisor)| (of, divisor, rest))
    }

    /// The only id in it, the factor of that, and the rest; none if there is another one, a square, or an id in what is
    /// not looked into.
    pub fn by_id(&self) -> Option<(Option<IdOf>, Self, Self)> {
        (!self.hides_id()).then_some(())?;
        let is_id = |atom: &&Atom| matches!(atom, Atom::Id(..));
        let (mut id, mut factor, mut rest) = (None, Self::default(), Self::default());
        for (product, by) in &self.0 {
            let mut ids = product.iter().filter(is_id);
            match ids.next() {
                None => rest = rest.plus(&Self::term(product.clone(), *by), 1)?,
                Some(Atom::Id(thread, number)) => {
                    ids.next().is_none().then_some(())?;
                    id.is_none_or(|known| known == (*thread, *number)).then_some(())?;
                    id = Some((*thread, *number));
                    let others = product.iter().filter(|atom| !is_id(atom)).cloned().collect();
                    factor = factor.plus(&Self::term(others, *by), 1)?;
                }
                Some(_) => return None,
            }
        }
        Some((id, factor, rest))
    }

    /// Whether it is surely below zero where `positive` is at least one.
    pub fn is_below_zero(&self, positive: &Self) -> bool {
        let Some((product, by)) = positive.0.iter().find(|(product, _)| !product.is_empty()) else {
            return self.constant().is_some_and(|number| number < 0);
        };
        // A multiple of it is taken out.
        let own = self.0.get(product).copied().unwrap_or(0);
        if own % by != 0 || own / by > 0 {
            return false;
        }
        let times = own / by;
        let rest = self.plus(positive, -times);
        rest.and_then(|rest| rest.constant()).is_some_and(|number| number.saturating_add(times) < 0)
    }

    /// Whether a number that is not below zero shows that `size` is at least one, too: a multiple of it less something.
    pub fn shows_positive(&self, size: &Self) -> bool {
        let Some((product, by)) = size.0.iter().find(|(product, _)| !product.is_empty()) else {
            return size.constant().is_some_and(|number| number > 0);
        };
        let own = self.0.get(product).copied().unwrap_or(0);
        if own % by != 0 || own / by <= 0 {
            return false;
        }
        let rest = self.plus(size, -(own / by));
        rest.and_then(|rest| rest.constant()).is_some_and(|number| number < 0)
    }

    /// What is left of it where another one is zero: a multiple of that is taken out, or an id that it fixes put in.
    pub fn where_zero(&self, zero: &Self) -> Option<i64> {
        let without = [-1, 0, 1].into_iter().find_map(|times| self.plus(zero, times)?.constant());
        let put_in = || {
            let (id, factor, rest) = zero.by_id()?;
            let (own, times, others) = self.by_id()?;
            (id.is_some() && own == id && factor == Self::number(1)).then_some(())?;
            others.minus(&times.times(&rest)?)?.constant()
        };
        without.or_else(put_in)
    }

    pub fn is_divisible(&self, by: i64) -> bool {
        by != 0 && self.0.values().all(|factor| factor % by == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id() -> Poly {
        Poly::atom(Atom::Id(ThreadId(1), Number::Field(FieldId(1))))
    }

    fn slice() -> Poly {
        Poly::atom(Atom::Static(FieldId(2)))
    }

    #[test]
    fn slices_are_split_by_their_id() {
        let low = id().times(&slice()).unwrap();
        let high = id().plus(&Poly::number(1), 1).unwrap().times(&slice()).unwrap();
        let (own, factor, rest) = high.by_id().unwrap();
        assert_eq!((own, &factor, &rest), (Some((ThreadId(1), Number::Field(FieldId(1)))), &slice(), &slice()));
        assert_eq!(high.minus(&low).unwrap(), slice());
        assert!(id().times(&id()).unwrap().by_id().is_none());
    }

    #[test]
    fn ids_in_what_is_not_looked_into_are_no_ids() {
        // `id - id % 2` is the same for two instances.
        let rest = Poly::atom(Atom::Computed(MethodId(0), Value(3), vec![id(), Poly::number(2)]));
        assert!(id().minus(&rest).unwrap().by_id().is_none());
        let other = Poly::atom(Atom::Computed(MethodId(0), Value(3), vec![slice(), Poly::number(2)]));
        assert!(id().minus(&other).unwrap().by_id().is_some());
    }

    #[test]
    fn quotients_hide_their_ids() {
        let of = id().times(&slice()).unwrap();
        let quotient = Poly::atom(Atom::Quotient(Box::new(of.clone()), Box::new(Poly::number(4))));
        let less = quotient.plus(&Poly::number(1), -1).unwrap();
        assert!(quotient.names_id() && quotient.by_id().is_none());
        assert_eq!(less.as_quotient(), Some((&of, &Poly::number(4), -1)));
        assert!(less.plus(&slice(), 1).unwrap().as_quotient().is_none());
    }

    #[test]
    fn a_size_may_be_zero_unless_something_lies_within() {
        let less = slice().plus(&Poly::number(1), -1).unwrap();
        assert!(less.shows_positive(&slice()) && Poly::number(0).shows_positive(&Poly::number(4)));
        assert!(!Poly::number(0).shows_positive(&slice()) && !slice().shows_positive(&slice()));
        assert!(!Poly::number(0).shows_positive(&Poly::number(0)));
    }

    #[test]
    fn what_is_zero_is_put_in() {
        let low = id().times(&slice()).unwrap();
        let beyond = id().plus(&Poly::number(1), 1).unwrap().minus(&low).unwrap();
        assert_eq!(beyond.where_zero(&id()), Some(1), "id + 1 - id * slice where id is zero");
        assert_eq!(Poly::number(1).minus(&low).unwrap().where_zero(&low), Some(1));
        assert_eq!(beyond.where_zero(&slice()), None);
        let other = id().plus(&Poly::number(2), -1).unwrap();
        assert_eq!(id().times(&Poly::number(3)).unwrap().where_zero(&other), Some(6));
    }

    #[test]
    fn what_is_below_zero_needs_a_proof() {
        let minus = |number: i64, times: i64| Poly::number(number).plus(&slice(), times).unwrap();
        assert!(minus(0, -1).is_below_zero(&slice()) && minus(-1, 0).is_below_zero(&slice()));
        assert!(!minus(1, -1).is_below_zero(&slice()) && !minus(-5, 1).is_below_zero(&slice()));
        assert!(!minus(0, 0).is_below_zero(&slice()));
        assert!(!Poly::atom(Atom::Static(FieldId(9))).is_below_zero(&slice()));
    }
}
