//! Which classes a user wants to see more of, or less: names of packages and classes, separated by commas. The longest
//! name that fits a class decides.

/// Variables by which the agent gets them.
pub const ENV_INCLUDE: &str = "REWEAVE_INCLUDE";
pub const ENV_EXCLUDE: &str = "REWEAVE_EXCLUDE";

/// What hooks themselves are made of: they would run into themselves.
const BENEATH_HOOKS: [&str; 4] = ["java/lang/", "java/security/", "jdk/internal/", "sun/"];

/// A name of a package or class; `com.shop.*` is the same as `com.shop`, and `com.shop.Or*` any name that begins so.
#[derive(Debug)]
struct Pattern {
    // invariant: as class files have names, with slashes
    name: String,
    open: bool,
}

impl Pattern {
    fn new(text: &str) -> Self {
        let start = text.trim().trim_end_matches('*');
        let name = start.trim_end_matches('.');
        Self { open: start.len() < text.trim().len() && name.len() == start.len(), name: name.replace('.', "/") }
    }

    fn fits(&self, class: &[u8]) -> bool {
        let rest = class.strip_prefix(self.name.as_bytes());
        rest.is_some_and(|rest| self.open || matches!(rest.first(), None | Some(b'/' | b'$')))
    }
}

/// What a user wants.
#[derive(Debug)]
pub struct Wishes {
    include: Vec<Pattern>,
    exclude: Vec<Pattern>,
}

impl Wishes {
    /// # Errors
    /// Names that cannot be included.
    pub fn new(include: &str, exclude: &str) -> Result<Self, String> {
        let all = |text: &str| -> Vec<Pattern> {
            text.split(',').filter(|word| !word.trim().is_empty()).map(Pattern::new).collect()
        };
        let wishes = Self { include: all(include), exclude: all(exclude) };
        let is_beneath = |pattern: &&Pattern| {
            let own = format!("{}/", pattern.name);
            BENEATH_HOOKS.iter().any(|beneath| beneath.starts_with(&own) || own.starts_with(beneath))
        };
        match wishes.include.iter().find(is_beneath) {
            None => Ok(wishes),
            Some(pattern) => Err(format!(
                "--include {}: accesses inside java.lang, java.security, jdk.internal and sun cannot be seen",
                pattern.name.replace('/', ".")
            )),
        }
    }

    /// Whether the class is to be seen; `None`: nothing is said about it.
    pub fn about(&self, class: &[u8]) -> Option<bool> {
        let longest = |patterns: &[Pattern]| {
            patterns.iter().filter(|pattern| pattern.fits(class)).map(|pattern| pattern.name.len()).max()
        };
        let (included, excluded) = (longest(&self.include), longest(&self.exclude));
        (included.is_some() || excluded.is_some()).then_some(included > excluded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_name_decides() {
        let wishes = Wishes::new("com.shop.order, java.util.Scan*", "com.shop.*").expect("nothing beneath hooks");
        assert_eq!(wishes.about(b"com/shop/order/Cart$Line"), Some(true));
        assert_eq!(wishes.about(b"com/shop/Till"), Some(false));
        assert_eq!(wishes.about(b"com/shopping/Till"), None);
        assert_eq!(wishes.about(b"java/util/Scanner"), Some(true));
        assert_eq!(wishes.about(b"java/util/Sc"), None);
    }

    #[test]
    fn what_hooks_are_made_of_cannot_be_included() {
        for name in ["java", "java.lang", "java.lang.String", "sun.*"] {
            assert!(Wishes::new(name, "").is_err(), "{name}");
        }
        assert!(Wishes::new("java.text", "java.lang").is_ok());
    }
}
