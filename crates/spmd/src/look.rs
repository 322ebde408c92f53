//! Which loads and stores of ranks are looked at, and whose memory: what the user asks for, as text that the launcher
//! writes and ranks read.
//!
//! The strategies are those of Table 8.3 of the paper: `NL` none; `I` statements, each with a probability that falls by
//! a tenth with every access that is taken; `H.5` those of functions whose own probability falls by half with every call
//! that is taken; with an `A` (`IA`, `HA.5`) a statement that touched nothing shared is off until more is shared.
//! Deviation: Table 8.3 has no name for what looks at all of them, which is what happens unless asked otherwise.

use std::str::FromStr;

/// How much the probability of a statement falls with every access that is taken.
pub const STATEMENTS: f64 = 0.9;

/// Which loads and stores are looked at.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub enum Local {
    #[default]
    All,
    None,
    Sampled {
        /// How much a function's probability falls with every call that is taken; 1: all calls are.
        functions: f64,
        /// Statements that touch nothing shared are off until more is shared.
        alias: bool,
    },
}

impl Local {
    /// What `sampled` means unless more is said: `HA.5`.
    pub const SAMPLED: Local = Local::Sampled { functions: 0.5, alias: true };
}

impl FromStr for Local {
    type Err = String;

    fn from_str(text: &str) -> Result<Local, String> {
        let wrong =
            || format!("`{text}` is no strategy: choose from NL, I, IA, H.5, HA.5 (or another factor behind H)");
        if text == "NL" {
            return Ok(Local::None);
        }
        let (kind, factor) = match text.find(|c: char| c == '.' || c.is_ascii_digit()) {
            Some(at) => text.split_at(at),
            None => (text, ""),
        };
        let alias = kind.ends_with('A');
        let functions = match (kind.trim_end_matches('A'), factor) {
            ("I", "") => 1.0,
            ("H", factor) => {
                let factor: f64 = factor.parse().map_err(|_| wrong())?;
                Some(factor).filter(|factor| (0.0..=1.0).contains(factor)).ok_or_else(wrong)?
            }
            _ => return Err(wrong()),
        };
        Ok(Local::Sampled { functions, alias })
    }
}

impl std::fmt::Display for Local {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Local::All => write!(f, "all"),
            Local::None => write!(f, "NL"),
            Local::Sampled { functions, alias } => {
                let alias = if *alias { "A" } else { "" };
                match *functions {
                    1.0 => write!(f, "I{alias}"),
                    factor => {
                        let text = factor.to_string();
                        match text.strip_prefix("0.") {
                            Some(digits) => write!(f, "H{alias}.{digits}"),
                            None => write!(f, "H{alias}{text}"),
                        }
                    }
                }
            }
        }
    }
}

/// Ranks whose memory is looked at: `0-3,8`. Empty: all of them.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Owners(Vec<(u32, u32)>);

impl Owners {
    pub const NONE_NAMED: Owners = Owners(Vec::new());

    pub fn has(&self, rank: u32) -> bool {
        self.0.is_empty() || self.0.iter().any(|(first, last)| (*first..=*last).contains(&rank))
    }

    pub fn is_everybody(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromStr for Owners {
    type Err = String;

    fn from_str(text: &str) -> Result<Owners, String> {
        let number = |text: &str| text.trim().parse::<u32>();
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            match (number(first), number(last)) {
                (Ok(first), Ok(last)) if first <= last => Ok((first, last)),
                _ => Err(format!("`{part}` is no rank and no range of ranks: say 2, 0-3 or 0-3,8")),
            }
        };
        text.split(',').map(range).collect::<Result<Vec<_>, _>>().map(Owners)
    }
}

impl std::fmt::Display for Owners {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let range = |(first, last): &(u32, u32)| {
            if first == last { first.to_string() } else { format!("{first}-{last}") }
        };
        write!(f, "{}", self.0.iter().map(range).collect::<Vec<_>>().join(","))
    }
}

/// What is looked at in a run.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Look {
    pub local: Local,
    pub owners: Owners,
}

impl std::fmt::Display for Look {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            look if *look == Look::default() => Ok(()),
            Look { local, owners } => write!(f, "look {local} {owners}"),
        }
    }
}

impl FromStr for Look {
    type Err = String;

    fn from_str(text: &str) -> Result<Look, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (local, owners) = match words[..] {
            ["look", local] => (local, None),
            ["look", local, owners] => (local, Some(owners)),
            _ => return Err(format!("`{text}` does not say what to look at")),
        };
        let local = if local == "all" { Local::All } else { local.parse()? };
        Ok(Look { local, owners: owners.map_or(Ok(Owners::default()), str::parse)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_run_looks_at_is_read_as_it_is_written() {
        for (local, owners) in [(Local::All, "1-2"), (Local::SAMPLED, "0"), (Local::None, "4,6-7")] {
            let look = Look { local, owners: owners.parse().expect("ranks") };
            assert_eq!(look.to_string().parse(), Ok(look));
        }
        let look = Look { local: Local::None, owners: Owners::default() };
        assert_eq!(look.to_string().parse(), Ok(look));
        assert_eq!(Look::default().to_string(), "");
    }

    #[test]
    fn strategies_are_read_as_they_are_written() {
        for (text, wanted) in [
            ("NL", Local::None),
            ("I", Local::Sampled { functions: 1.0, alias: false }),
            ("IA", Local::Sampled { functions: 1.0, alias: true }),
            ("H.5", Local::Sampled { functions: 0.5, alias: false }),
            ("HA.5", Local::SAMPLED),
            ("HA0", Local::Sampled { functions: 0.0, alias: true }),
        ] {
            let local: Local = text.parse().expect("a strategy");
            assert_eq!(local, wanted, "{text}");
            assert_eq!(local.to_string().parse(), Ok(wanted), "{text}");
        }
        for wrong in ["", "X", "A", "H", "HA2", "I.5", "Hx"] {
            assert!(wrong.parse::<Local>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn ranges_of_ranks_are_read_as_they_are_written() {
        let owners: Owners = "0-3,8".parse().expect("ranks");
        assert_eq!((0..10).filter(|rank| owners.has(*rank)).collect::<Vec<_>>(), [0, 1, 2, 3, 8]);
        assert_eq!(owners.to_string(), "0-3,8");
        assert!(Owners::default().has(7) && "3-1".parse::<Owners>().is_err() && "x".parse::<Owners>().is_err());
    }
}
