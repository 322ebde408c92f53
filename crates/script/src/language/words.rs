//! The words of the language that stand for one thing each, with their spelling: types, operations, memory orders.

use std::fmt;

/// An enum whose variants have one spelling each, used by the parser and the printer alike.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$each:meta])* $variant:ident $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum $name {
            $($(#[$each])* $variant,)+
        }

        impl $name {
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }

            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.word() == word)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.word())
            }
        }
    };
}

words! {
    /// What a register or a place in memory holds.
    Type {
        Bool "bool",
        I8 "i8",
        I16 "i16",
        I32 "i32",
        I64 "i64",
        F32 "f32",
        F64 "f64",
        /// An object or an array, or null.
        Ref "ref",
        /// What `start` returns.
        Thread "thread",
    }
}

words! {
    BinaryOp {
        Add "add",
        Sub "sub",
        Mul "mul",
        /// Towards zero; a failure if the divisor is zero.
        Div "div",
        Rem "rem",
        /// As unsigned numbers.
        UDiv "udiv",
        URem "urem",
        And "and",
        Or "or",
        Xor "xor",
        /// Shifts take the distance modulo the width.
        Shl "shl",
        /// Keeps the sign.
        Shr "shr",
        UShr "ushr",
    }
}

words! {
    UnaryOp {
        Neg "neg",
        /// Bitwise; of a bool, the other one.
        Not "not",
    }
}

words! {
    Test {
        Eq "eq",
        Ne "ne",
        Lt "lt",
        Le "le",
        Gt "gt",
        Ge "ge",
        /// As unsigned numbers.
        ULt "ult",
        ULe "ule",
        UGt "ugt",
        UGe "uge",
    }
}

words! {
    /// What an atomic update writes, from what was there and its operand.
    UpdateOp {
        Add "add",
        Sub "sub",
        And "and",
        Or "or",
        Xor "xor",
        Exchange "exchange",
    }
}

words! {
    /// Memory orders, as in C11.
    Order {
        Relaxed "relaxed",
        Consume "consume",
        Acquire "acquire",
        Release "release",
        AcqRel "acq_rel",
        SeqCst "seq_cst",
    }
}

impl Type {
    /// Bytes in memory.
    pub const fn size(self) -> u32 {
        match self {
            Self::Bool | Self::I8 => 1,
            Self::I16 => 2,
            Self::I32 | Self::F32 => 4,
            Self::I64 | Self::F64 | Self::Ref | Self::Thread => 8,
        }
    }

    pub const fn is_integer(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }

    pub const fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    pub const fn is_number(self) -> bool {
        self.is_integer() || self.is_float()
    }
}
