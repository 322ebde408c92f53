//! Enums whose values have names, in reports and on the command line. One table says which, both ways.

/// Declares an enum with a name for each value. The order is that of the declaration.
macro_rules! named {
    ($(#[$about:meta])* pub enum $Name:ident { $($(#[$doc:meta])* $Value:ident = $name:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum $Name { $($(#[$doc])* $Value,)* }

        impl $Name {
            pub const ALL: &'static [Self] = &[$(Self::$Value),*];

            pub const fn name(self) -> &'static str {
                match self { $(Self::$Value => $name,)* }
            }

            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$Value),)* _ => None }
            }
        }

        impl std::fmt::Display for $Name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        #[cfg(feature = "serde")]
        impl serde::Serialize for $Name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        #[cfg(feature = "serde")]
        impl<'de> serde::Deserialize<'de> for $Name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let name = <String as serde::Deserialize>::deserialize(deserializer)?;
                Self::from_name(&name)
                    .ok_or_else(|| serde::de::Error::unknown_variant(&name, &[$($name),*]))
            }
        }
    };
}

pub(crate) use named;
