//! The programs in `tests/script`: what their first lines promise is what is found, and `_ok` ones are clean.

use crate::common::{Scratch, root};
use crate::compare::compare;

#[test]
fn golden_scripts_are_found_out() {
    let mut seen = 0;
    for entry in std::fs::read_dir(root().join("tests/script")).expect("tests/script") {
        let path = entry.expect("an entry").path();
        let (text, name) = (std::fs::read_to_string(&path).expect("a script"), path.display());
        let scratch = Scratch::new("golden-script");
        let compared = compare(&text, scratch.path()).unwrap_or_else(|| panic!("{name}: too many states"));
        assert_eq!(compared.differences, [] as [String; 0], "{name}");
        let bugs = compared.failures + compared.deadlocks + compared.races;
        assert_eq!(bugs > 0, path.to_string_lossy().ends_with("_bad.rwi"), "{name}: {compared:?}");
        seen += 1;
    }
    assert!(seen >= 10, "{seen} programs");
}
