//! Classes as they are loaded: which of them are rewritten, their sites and their code addresses.

use super::jni::{Class, Env, Object};
use super::space::{FIRST_CODE, Hot, NOTHING_RECORDED, Site};
use crate::rewrite::facts::{Facts, SiteKind};
use crate::rewrite::hook_names::HOOK_CLASS;
use crate::rewrite::{Options, Stop, rewrite};
use reweave_guest::model::wire::{access_word, kind};
use std::collections::HashSet;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

/// All classes that were rewritten, in the order they were loaded.
pub struct Classes {
    loaded: Vec<Loaded>,
    /// Names of those that hold their objects' addresses, or inherit that.
    with_address: HashSet<Vec<u8>>,
    next_site: u32,
    next_code: u64,
    /// Where names and lines go, for the launcher.
    symbols: Option<PathBuf>,
    pub problems: Vec<String>,
}

pub struct Loaded {
    pub facts: Facts,
    pub first_site: u32,
    /// Address of its first method.
    pub code: u64,
    /// Offset of each method in the class's code.
    offsets: Vec<u64>,
    /// The class itself once it is prepared, as a global reference.
    pub class: Object,
}

// SAFETY: references are global ones.
unsafe impl Send for Loaded {}

/// Packages whose classes are left as they are: the machine's own, and what its start and its class loading need.
const LEFT_ALONE: [&[u8]; 7] = [b"java/", b"javax/", b"jdk/", b"sun/", b"com/sun/", b"org/graalvm/", b"netscape/"];

/// Whether classes of that name get hooks.
pub fn is_in_scope(name: &[u8]) -> bool {
    !LEFT_ALONE.iter().any(|prefix| name.starts_with(prefix))
}

impl Loaded {
    /// The code address of a site: one past the instruction, as return addresses are everywhere else.
    pub fn pc(&self, site: &crate::rewrite::facts::Site) -> u64 {
        self.code + self.offsets[usize::from(site.method)] + u64::from(site.pc) + 1
    }

    pub fn size(&self) -> u64 {
        self.offsets.last().copied().unwrap_or(0) + 1
    }
}

impl Classes {
    pub fn new(symbols: Option<&str>) -> Self {
        Self {
            loaded: Vec::new(),
            with_address: HashSet::new(),
            next_site: 1,
            next_code: FIRST_CODE,
            symbols: symbols.map(PathBuf::from),
            problems: Vec::new(),
        }
    }

    /// Rewrites a class that is being loaded. `None`: it stays as it is. Otherwise its bytes, and the number of the class.
    pub fn load(&mut self, name: &[u8], bytes: &[u8], hot: &Hot) -> Option<(Vec<u8>, usize)> {
        if !is_in_scope(name) {
            return None;
        }
        let with_address = &self.with_address;
        let options = Options {
            first_site: self.next_site,
            preloaded: false,
            has_address: &|name| with_address.contains(name),
            calls: true,
            array_births: true,
            stop: if hot.announces() { Stop::Everywhere } else { Stop::Nowhere },
        };
        let result = match rewrite(bytes, &options) {
            Ok(result) => result,
            Err(error) => {
                self.problems.push(format!("{}: {error}", String::from_utf8_lossy(name)));
                return None;
            }
        };
        let facts = result.facts;
        for left_out in &facts.left_out {
            let method = &facts.methods[usize::from(left_out.method)].name;
            self.problems.push(format!("{}.{method}: too long ({:?})", facts.name, left_out.what));
        }
        self.with_address.insert(name.to_vec());
        let mut offsets = Vec::with_capacity(facts.methods.len() + 1);
        let mut size = 0;
        for method in &facts.methods {
            offsets.push(size);
            // One address more, so that the one past the last instruction is still the method's own.
            size += u64::from(method.length) + 1;
        }
        offsets.push(size);
        let loaded =
            Loaded { first_site: self.next_site, code: self.next_code, offsets, class: std::ptr::null_mut(), facts };
        self.next_site += loaded.facts.sites.len() as u32;
        self.next_code += size.next_multiple_of(16) + 16;
        enter_sites(&loaded, hot);
        self.write_symbols(&loaded);
        self.loaded.push(loaded);
        Some((result.bytes?, self.loaded.len() - 1))
    }

    pub fn get(&self, number: usize) -> &Loaded {
        &self.loaded[number]
    }

    /// The class and the facts of a site.
    pub fn site(&self, number: u32) -> Option<(&Loaded, &crate::rewrite::facts::Site)> {
        let after = self.loaded.partition_point(|loaded| loaded.first_site <= number);
        let loaded = self.loaded.get(after.checked_sub(1)?)?;
        Some((loaded, loaded.facts.sites.get((number - loaded.first_site) as usize)?))
    }

    pub fn pc(&self, number: u32) -> u64 {
        self.site(number).map_or(0, |(loaded, site)| loaded.pc(site))
    }

    /// A class of that name is ready.
    pub fn prepared(&mut self, env: Env, name: &[u8], class: Class) {
        let wanted = |loaded: &&mut Loaded| loaded.class.is_null() && loaded.facts.name.as_bytes() == name;
        if let Some(loaded) = self.loaded.iter_mut().rev().find(wanted) {
            // SAFETY: a valid reference.
            loaded.class = unsafe { env.new_global_ref(class) };
        }
    }

    /// Names, lines and blocks for the launcher: see the reader (`symbols`).
    fn write_symbols(&self, loaded: &Loaded) {
        let Some(folder) = &self.symbols else { return };
        let facts = &loaded.facts;
        let name = facts.name.replace('/', ".");
        let mut text = format!("class\t{name}\t{}\n", facts.source_file.as_deref().unwrap_or(""));
        for (method, offset) in facts.methods.iter().zip(&loaded.offsets) {
            if method.length > 0 {
                let lines: Vec<String> = method.lines.iter().map(|(pc, line)| format!("{pc}:{line}")).collect();
                let _ = writeln!(text, "method\t{offset:x}\t{}\t{}", method.name, lines.join(" "));
            }
        }
        // Numbers of blocks start over in each method.
        let (mut method, mut first, mut last) = (u16::MAX, 0, 0);
        for site in &facts.sites {
            if site.method != method {
                (method, first) = (site.method, last + 1);
            }
            last = last.max(first + site.block);
            let (offset, constant) = (loaded.pc(site) - loaded.code, u8::from(!site.depends));
            let _ = writeln!(text, "site\t{offset:x}\t{}\t{constant}", first + site.block);
        }
        // Several machines may load the class at once; a launcher that finds no names shows addresses.
        let file = folder.join(format!("{name}.class.txt"));
        let draft = folder.join(format!("{name}.{}", std::process::id()));
        if fs::write(&draft, text).is_ok() {
            let _ = fs::rename(draft, file);
        }
    }
}

/// What is known of a site before it is first used.
fn enter_sites(loaded: &Loaded, hot: &Hot) {
    for (i, site) in loaded.facts.sites.iter().enumerate() {
        let pc = loaded.pc(site);
        let head = match site.kind {
            SiteKind::ReadElement(letter) => access_word(kind::READ, size_of_letter(letter), 0, pc),
            SiteKind::WriteElement(letter) => access_word(kind::WRITE, size_of_letter(letter), 0, pc),
            SiteKind::MadeObject => u64::from(kind::ALLOC) | pc << 16,
            SiteKind::ReadField(_) | SiteKind::WriteField(_) | SiteKind::ReadStatic(_) | SiteKind::WriteStatic(_) => 0,
            _ => NOTHING_RECORDED,
        };
        *hot.site(loaded.first_site + i as u32) = Site { head, a: u32::MAX, b: 0 };
    }
}

/// Bytes of a value in the made-up address space.
pub const fn size_of_letter(letter: u8) -> u8 {
    match letter {
        b'Z' | b'B' => 1,
        b'S' | b'C' => 2,
        b'I' | b'F' => 4,
        _ => 8,
    }
}

/// Whether a class is one of ours.
pub fn is_hook_class(name: &[u8]) -> bool {
    name.starts_with(b"java/lang/Reweave") || name == HOOK_CLASS.as_bytes()
}
