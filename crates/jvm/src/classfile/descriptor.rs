//! Descriptors of fields and methods: `(IJ[Ljava/lang/String;)V`.

use super::bytes::{Malformed, Result};

/// How many operand slots a value of this type takes.
pub const fn slots(first: u8) -> usize {
    match first {
        b'J' | b'D' => 2,
        b'V' => 0,
        _ => 1,
    }
}

/// A method's parameters and result, each as its part of the descriptor.
#[derive(Clone, Copy, Debug)]
pub struct MethodDescriptor<'d> {
    parameters: &'d [u8],
    pub result: &'d [u8],
}

impl<'d> MethodDescriptor<'d> {
    pub fn parse(descriptor: &'d [u8]) -> Result<Self> {
        let bad = || Malformed::new("not the descriptor of a method", 0);
        let rest = descriptor.strip_prefix(b"(").ok_or_else(bad)?;
        let close = rest.iter().rposition(|byte| *byte == b')').ok_or_else(bad)?;
        let (parameters, result) = (&rest[..close], &rest[close + 1..]);
        let mut left = parameters;
        while !left.is_empty() {
            left = &left[length(left).ok_or_else(bad)?..];
        }
        if result != b"V" && length(result) != Some(result.len()) {
            return Err(bad());
        }
        Ok(Self { parameters, result })
    }

    pub fn parameters(&self) -> impl Iterator<Item = &'d [u8]> + use<'d> {
        let mut left = self.parameters;
        std::iter::from_fn(move || {
            let (first, rest) = left.split_at_checked(length(left)?)?;
            left = rest;
            Some(first)
        })
    }

    /// Slots that the parameters take, the receiver not counted.
    pub fn parameter_slots(&self) -> usize {
        self.parameters().map(|parameter| slots(parameter[0])).sum()
    }

    pub fn result_slots(&self) -> usize {
        slots(self.result[0])
    }
}

/// Length of the field type that `descriptor` starts with.
fn length(descriptor: &[u8]) -> Option<usize> {
    let dimensions = descriptor.iter().take_while(|byte| **byte == b'[').count();
    let element = &descriptor[dimensions..];
    match element.first()? {
        b'B' | b'C' | b'D' | b'F' | b'I' | b'J' | b'S' | b'Z' => Some(dimensions + 1),
        b'L' => element.iter().position(|byte| *byte == b';').map(|end| dimensions + end + 1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_told_apart() {
        let method = MethodDescriptor::parse(b"(IJ[[Ljava/lang/String;D)V").unwrap();
        let parameters: Vec<_> = method.parameters().collect();
        assert_eq!(parameters, [&b"I"[..], b"J", b"[[Ljava/lang/String;", b"D"]);
        assert_eq!((method.parameter_slots(), method.result_slots()), (6, 0));
    }

    #[test]
    fn broken_descriptors_are_refused() {
        for text in ["", "()", "(V)V", "(L)V", "(I", "([)V", "()II", "I"] {
            assert!(MethodDescriptor::parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}
