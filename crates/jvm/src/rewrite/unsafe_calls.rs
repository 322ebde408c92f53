//! Calls of `Unsafe`: below `VarHandle`, the `Atomic…` classes and field updaters lies always one of these. A call that
//! names an object and an offset is replaced by one of the hook class, which does it and records it.
//!
//! All kinds of one operation (plain, opaque, acquire, release, volatile) go to one hook, which does the strongest.
//! What the program asked for is in the facts.

use crate::classfile::pool::Reference;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnsafeCall {
    pub operation: Operation,
    /// Letter of the value's type; `L` for references.
    pub letter: u8,
    pub order: Order,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    Get,
    Put,
    CompareAndSet,
    CompareAndExchange,
    GetAndSet,
    GetAndAdd,
    GetAndOr,
    GetAndAnd,
    GetAndXor,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    Plain,
    Opaque,
    Acquire,
    Release,
    Volatile,
}

/// Names of operations, the longer ones before their prefixes; what is left of a method's name says type and order.
const OPERATIONS: [(&str, Operation, Order); 13] = [
    ("compareAndSet", Operation::CompareAndSet, Order::Volatile),
    ("weakCompareAndSet", Operation::CompareAndSet, Order::Volatile),
    ("compareAndSwap", Operation::CompareAndSet, Order::Volatile),
    ("compareAndExchange", Operation::CompareAndExchange, Order::Volatile),
    ("getAndSet", Operation::GetAndSet, Order::Volatile),
    ("getAndAdd", Operation::GetAndAdd, Order::Volatile),
    ("getAndBitwiseOr", Operation::GetAndOr, Order::Volatile),
    ("getAndBitwiseAnd", Operation::GetAndAnd, Order::Volatile),
    ("getAndBitwiseXor", Operation::GetAndXor, Order::Volatile),
    ("putOrdered", Operation::Put, Order::Release),
    ("put", Operation::Put, Order::Plain),
    ("get", Operation::Get, Order::Plain),
    ("", Operation::Get, Order::Plain),
];

const TYPES: [(&str, u8); 10] = [
    ("Boolean", b'Z'),
    ("Byte", b'B'),
    ("Short", b'S'),
    ("Char", b'C'),
    ("Int", b'I'),
    ("Long", b'J'),
    ("Float", b'F'),
    ("Double", b'D'),
    ("Reference", b'L'),
    ("Object", b'L'),
];

const ORDERS: [(&str, Order); 5] = [
    ("Plain", Order::Plain),
    ("Opaque", Order::Opaque),
    ("Acquire", Order::Acquire),
    ("Release", Order::Release),
    ("Volatile", Order::Volatile),
];

/// Other names for the same.
const ALIASES: [&str; 3] = ["weakCompareAndSet", "compareAndSwap", "putOrdered"];

impl Operation {
    /// Whether values of that type have the operation.
    const fn allows(self, letter: u8) -> bool {
        match self {
            Self::GetAndAdd => !matches!(letter, b'Z' | b'L'),
            Self::GetAndOr | Self::GetAndAnd | Self::GetAndXor => !matches!(letter, b'F' | b'D' | b'L'),
            _ => true,
        }
    }
}

impl UnsafeCall {
    /// What a call of this method does, if it is one that is replaced.
    pub fn recognise(method: &Reference<'_>) -> Option<Self> {
        if !matches!(method.class, b"jdk/internal/misc/Unsafe" | b"sun/misc/Unsafe") {
            return None;
        }
        if !method.descriptor.starts_with(b"(Ljava/lang/Object;J") {
            return None;
        }
        let name = std::str::from_utf8(method.name).ok()?;
        let (prefix, operation, usual) = *OPERATIONS.iter().find(|(prefix, ..)| name.starts_with(prefix))?;
        if prefix.is_empty() {
            return None;
        }
        let rest = &name[prefix.len()..];
        let (word, letter) = *TYPES.iter().find(|(word, _)| rest.starts_with(word))?;
        let order = match &rest[word.len()..] {
            "" => usual,
            suffix => ORDERS.iter().find(|(word, _)| *word == suffix)?.1,
        };
        let call = Self { operation, letter, order };
        if !operation.allows(letter) {
            return None;
        }
        (method.descriptor == call.descriptor().as_bytes()).then_some(call)
    }

    /// One call for each hook.
    pub fn all() -> impl Iterator<Item = Self> {
        let operations = OPERATIONS.iter().filter(|(name, ..)| !name.is_empty() && !ALIASES.contains(name));
        operations.flat_map(|&(_, operation, order)| {
            let letters = b"ZBSCIJFDL".iter().copied().filter(move |letter| operation.allows(*letter));
            letters.map(move |letter| Self { operation, letter, order })
        })
    }

    fn value(letter: u8) -> String {
        if letter == b'L' { "Ljava/lang/Object;".to_owned() } else { char::from(letter).to_string() }
    }

    /// What the JDK's method looks like.
    pub fn descriptor(&self) -> String {
        let (parameters, result) = self.parts();
        format!("(Ljava/lang/Object;J{parameters}){result}")
    }

    fn parts(&self) -> (String, String) {
        let value = Self::value(self.letter);
        match self.operation {
            Operation::Get => (String::new(), value),
            Operation::Put => (value, "V".to_owned()),
            Operation::CompareAndSet => (value.repeat(2), "Z".to_owned()),
            Operation::CompareAndExchange => (value.repeat(2), value),
            _ => (value.clone(), value),
        }
    }

    /// Name and descriptor of the hook: the `Unsafe` itself comes first, the site last.
    pub fn hook(&self) -> (&'static str, String) {
        let name = match self.operation {
            Operation::Get => "unsafeGet",
            Operation::Put => "unsafePut",
            Operation::CompareAndSet => "unsafeCompareAndSet",
            Operation::CompareAndExchange => "unsafeCompareAndExchange",
            Operation::GetAndSet => "unsafeGetAndSet",
            Operation::GetAndAdd => "unsafeGetAndAdd",
            Operation::GetAndOr => "unsafeGetAndOr",
            Operation::GetAndAnd => "unsafeGetAndAnd",
            Operation::GetAndXor => "unsafeGetAndXor",
        };
        // Hooks that only differ in what they return have names of their own.
        let (parameters, result) = self.parts();
        let name = if self.operation == Operation::Get { get_name(self.letter) } else { name };
        (name, format!("(Ljava/lang/Object;Ljava/lang/Object;J{parameters}I){result}"))
    }
}

const fn get_name(letter: u8) -> &'static str {
    match letter {
        b'Z' => "unsafeGetBoolean",
        b'B' => "unsafeGetByte",
        b'S' => "unsafeGetShort",
        b'C' => "unsafeGetChar",
        b'I' => "unsafeGetInt",
        b'J' => "unsafeGetLong",
        b'F' => "unsafeGetFloat",
        b'D' => "unsafeGetDouble",
        _ => "unsafeGetReference",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recognise(name: &str, descriptor: &str) -> Option<UnsafeCall> {
        let class = b"jdk/internal/misc/Unsafe";
        UnsafeCall::recognise(&Reference { class, name: name.as_bytes(), descriptor: descriptor.as_bytes() })
    }

    #[test]
    fn names_say_operation_type_and_order() {
        let call =
            recognise("weakCompareAndSetReferencePlain", "(Ljava/lang/Object;JLjava/lang/Object;Ljava/lang/Object;)Z");
        let wanted = UnsafeCall { operation: Operation::CompareAndSet, letter: b'L', order: Order::Plain };
        assert_eq!(call, Some(wanted));
        let call = recognise("getLongAcquire", "(Ljava/lang/Object;J)J");
        assert_eq!(call, Some(UnsafeCall { operation: Operation::Get, letter: b'J', order: Order::Acquire }));
        let call = recognise("getAndAddInt", "(Ljava/lang/Object;JI)I").unwrap();
        assert_eq!(call.hook(), ("unsafeGetAndAdd", "(Ljava/lang/Object;Ljava/lang/Object;JII)I".to_owned()));
    }

    #[test]
    fn other_methods_are_left_alone() {
        for (name, descriptor) in [
            ("getAddress", "(Ljava/lang/Object;J)J"),
            ("getLong", "(J)J"),
            ("getLongUnaligned", "(Ljava/lang/Object;J)J"),
            ("putInt", "(Ljava/lang/Object;JJ)V"),
            ("park", "(ZJ)V"),
        ] {
            assert_eq!(recognise(name, descriptor), None, "{name}");
        }
    }
}
