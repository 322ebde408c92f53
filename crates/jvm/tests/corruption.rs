//! Class files that were damaged on the way: refused or rewritten, but never a panic.

use reweave_jvm::classfile::{ClassFile, Code, find};
use reweave_jvm::rewrite::{Options, Scope, Stop, rewrite};

const KEPT: [&[u8]; 6] = [
    include_bytes!("data/Old.class"),
    include_bytes!("data/Shapes.class"),
    include_bytes!("data/Shapes$Inner.class"),
    include_bytes!("data/Shapes$Kept.class"),
    include_bytes!("data/Shapes$Colour.class"),
    include_bytes!("data/Shapes$Point.class"),
];

fn options(stop: Stop<'_>) -> Options<'_> {
    Options {
        first_site: 40_000,
        preloaded: false,
        has_address: &|_| false,
        scope: Scope::Everything,
        calls: true,
        array_births: true,
        stop,
    }
}

/// A generator that needs no dependency (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % bound
    }
}

#[test]
fn unchanged_classes_are_written_as_they_were() {
    for bytes in KEPT {
        let class = ClassFile::parse(bytes).expect("a class");
        assert!(class.write().expect("it was one") == bytes);
        for method in &class.methods {
            let Some(code) = find(&class.pool, &method.attributes, b"Code") else { continue };
            assert!(Code::parse(&code.bytes).expect("code").write().expect("it was code") == *code.bytes);
        }
    }
}

#[test]
fn damaged_classes_cause_no_panic() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut refused, mut accepted) = (0, 0);
    for round in 0..30_000 {
        let mut bytes = KEPT[round % KEPT.len()].to_vec();
        match random.below(8) {
            0 => bytes.truncate(random.below(bytes.len())),
            1 => {
                let (from, to) = (random.below(bytes.len()), random.below(bytes.len()));
                let piece = bytes[from..(from + 40).min(bytes.len())].to_vec();
                bytes.splice(to..to, piece);
            }
            damage => {
                for _ in 0..damage {
                    let at = random.below(bytes.len());
                    bytes[at] = [0, 1, 0xff, 0x7f, 0x80, random.below(256) as u8][random.below(6)];
                }
            }
        }
        let stop = if round % 2 == 0 { Stop::Nowhere } else { Stop::Everywhere };
        match rewrite(&bytes, &options(stop)) {
            Ok(_) => accepted += 1,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                refused += 1;
            }
        }
    }
    // Both happen: most damage leaves a class that can be read.
    assert!(refused > 1000 && accepted > 1000, "{refused} refused, {accepted} accepted");
}
