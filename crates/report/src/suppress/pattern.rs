//! Names with `*` in them.

/// A whole name, in which `*` stands for anything.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Glob {
    text: String,
}

impl Glob {
    pub fn new(text: &str) -> Self {
        Self { text: text.to_owned() }
    }

    pub fn matches(&self, name: &str) -> bool {
        glob(&self.text, name, true, true)
    }

    /// A path, or the end of it from a folder on.
    pub fn matches_path(&self, path: &str) -> bool {
        self.matches(path)
            || super::ends_with_path(path, &self.text)
            || path.match_indices('/').any(|(at, _)| self.matches(&path[at + 1..]))
    }
}

/// Whether the pattern is found in the name: from its beginning, up to its end, or anywhere. Linear in both but for the
/// number of stars.
pub fn glob(pattern: &str, name: &str, from_start: bool, to_end: bool) -> bool {
    let parts: Vec<&str> = pattern.split('*').collect();
    let (Some((first, rest)), true) = (parts.split_first(), !name.is_empty() || pattern.trim_matches('*').is_empty())
    else {
        return false;
    };
    if rest.is_empty() {
        return match (from_start, to_end) {
            (true, true) => name == *first,
            (true, false) => name.starts_with(first),
            (false, true) => name.ends_with(first),
            (false, false) => name.contains(first),
        };
    }
    let start = if from_start { name.starts_with(first).then_some(0) } else { name.find(first) };
    let Some(start) = start else { return false };
    let mut left = &name[start + first.len()..];
    let (last, middle) = rest.split_last().unwrap_or((first, &[]));
    for part in middle {
        match left.find(part) {
            Some(at) => left = &left[at + part.len()..],
            None => return false,
        }
    }
    if to_end { left.ends_with(last) } else { left.contains(last) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_ends() {
        for (pattern, name, whole, inside) in [
            ("log", "log", true, true),
            ("log", "catalog", false, true),
            ("log_*", "log_line", true, true),
            ("*_log", "my_log", true, true),
            ("a*b*c", "aXbYc", true, true),
            ("a*b*c", "acb", false, false),
            ("*", "", true, true),
            ("ab*ab", "ab", false, false),
        ] {
            assert_eq!(glob(pattern, name, true, true), whole, "{pattern} {name}");
            assert_eq!(glob(pattern, name, false, false), inside, "{pattern} in {name}");
        }
    }

    #[test]
    fn paths_by_their_end() {
        assert!(Glob::new("src/bank.c").matches_path("/home/me/src/bank.c"));
        assert!(Glob::new("third_party/*").matches_path("/home/me/third_party/a/b.c"));
        assert!(!Glob::new("bank.c").matches_path("/home/me/mybank.c"));
    }
}
