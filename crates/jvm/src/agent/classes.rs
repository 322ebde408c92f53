//! Classes as they are loaded: which of them are rewritten, their sites and their code addresses.

use super::jni::{Class, Env, Object};
use super::jvmti::MethodInfo;
use super::scope::scope;
use super::space::{COLLECTION, FIRST_CODE, Hot, NOTHING_RECORDED, Site as Entry};
use crate::classfile::access;
use crate::rewrite::facts::{Facts, Missing, Site, SiteKind};
use crate::rewrite::hook_names::HOOK_CLASS;
use crate::rewrite::{Options, Scope, Stop, rewrite};
use reweave_guest::model::wire::{access_word, kind};
use std::collections::HashSet;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

/// What the machine calls the initializer of a class.
const INITIALIZER: &str = "<clinit>";

/// All classes that were rewritten, in the order they were loaded.
pub struct Classes {
    loaded: Vec<Loaded>,
    /// Names of those that hold their objects' addresses, or inherit that.
    with_address: HashSet<Vec<u8>>,
    /// Names of those whose constructors hand out the object before it is done.
    handed_out_early: HashSet<String>,
    next_site: u32,
    next_code: u64,
    /// Where names and lines go, for the launcher.
    symbols: Option<PathBuf>,
}

pub struct Loaded {
    pub facts: Facts,
    pub first_site: u32,
    /// Address of its first method.
    pub code: u64,
    /// Offset of each method in the class's code.
    offsets: Vec<u64>,
    /// Of its fields only volatile ones count.
    pub synchronization: bool,
    /// What it accesses is accessed where the program called it.
    pub collection: bool,
    /// Nothing is recorded in some of its methods; it has no other hooks.
    pub only_quiet: bool,
    /// It was there before the agent, so it has the fields and flags that it was written with.
    preloaded: bool,
    /// The class itself once it is prepared, as a global reference.
    pub class: Object,
}

// SAFETY: references are global ones.
unsafe impl Send for Loaded {}

impl Loaded {
    /// The code address of a site: one past the instruction, as return addresses are everywhere else.
    pub fn pc(&self, site: &Site) -> u64 {
        self.code + self.offsets[usize::from(site.method)] + u64::from(site.pc) + 1
    }

    /// The code, then the class as an object, the lock of its initializer, and its fields.
    pub fn size(&self) -> u64 {
        self.field_offset(self.facts.fields.len())
    }

    fn code_size(&self) -> u64 {
        (self.offsets.last().copied().unwrap_or(0) + 1).next_multiple_of(8)
    }

    /// The lock that its initializer holds.
    pub fn initializer(&self) -> u64 {
        self.code + self.code_size() + 8
    }

    /// Whether a site is in its initializer, which threads see to run or to have run.
    pub fn is_in_initializer(&self, site: &Site) -> bool {
        !self.only_quiet && self.is_of_initializer(site)
    }

    pub fn is_of_initializer(&self, site: &Site) -> bool {
        self.facts.methods[usize::from(site.method)].name == INITIALIZER
    }

    /// Where a field lies, from the start of the class's code.
    fn field_offset(&self, number: usize) -> u64 {
        self.code_size() + 16 + 8 * number as u64
    }
}

impl Classes {
    pub fn new(symbols: Option<&str>) -> Self {
        Self {
            loaded: Vec::new(),
            with_address: HashSet::new(),
            handed_out_early: HashSet::new(),
            next_site: 1,
            next_code: FIRST_CODE,
            symbols: symbols.map(PathBuf::from),
        }
    }

    /// Rewrites a class that is being loaded. `None`: it stays as it is. Otherwise its bytes, and the number of the
    /// class. `preloaded`: it was there before the agent.
    pub fn load(&mut self, name: &[u8], bytes: &[u8], hot: &Hot, preloaded: bool) -> Option<(Vec<u8>, usize)> {
        let scope = scope(name)?;
        let with_address = &self.with_address;
        let options = Options {
            first_site: self.next_site,
            preloaded: preloaded || matches!(scope, Scope::Quiet(_)),
            has_address: &|name| with_address.contains(name),
            scope,
            calls: scope.is_everything(),
            array_births: true,
            stop: if hot.announces() { Stop::Everywhere } else { Stop::Nowhere },
        };
        let result = match rewrite(bytes, &options) {
            Ok(result) => result,
            Err(error) => super::give_up(&format!(
                "the class {} cannot be rewritten, so nothing of it would be seen: {error}",
                String::from_utf8_lossy(name)
            )),
        };
        let only_quiet = matches!(scope, Scope::Quiet(_));
        if only_quiet && result.bytes.is_none() {
            return None;
        }
        let facts = result.facts;
        for left_out in &facts.left_out {
            let method = &facts.methods[usize::from(left_out.method)].name;
            if left_out.what == Missing::Everything {
                eprintln!("reweave: {}.{method} is too long to be rewritten: its accesses are not seen", facts.name);
            }
        }
        if scope.is_everything() && !preloaded {
            self.with_address.insert(name.to_vec());
        }
        if facts.hands_out_this {
            self.handed_out_early.insert(facts.name.clone());
        }
        let mut offsets = Vec::with_capacity(facts.methods.len() + 1);
        let mut size = 0;
        for method in &facts.methods {
            offsets.push(size);
            // One address more, so that the one past the last instruction is still the method's own.
            size += u64::from(method.length) + 1;
        }
        offsets.push(size);
        let loaded = Loaded {
            first_site: self.next_site,
            code: self.next_code,
            offsets,
            synchronization: !scope.has_plain(),
            collection: scope.is_collections(),
            only_quiet,
            preloaded: preloaded || only_quiet,
            class: std::ptr::null_mut(),
            facts,
        };
        self.next_site += loaded.facts.sites.len() as u32;
        self.next_code += loaded.size().next_multiple_of(16) + 16;
        enter_sites(&loaded, hot);
        self.write_symbols(&loaded, scope.is_everything());
        self.loaded.push(loaded);
        Some((result.bytes?, self.loaded.len() - 1))
    }

    pub fn get(&self, number: usize) -> &Loaded {
        &self.loaded[number]
    }

    /// The class and the facts of a site.
    pub fn site(&self, number: u32) -> Option<(&Loaded, &Site)> {
        let after = self.loaded.partition_point(|loaded| loaded.first_site <= number);
        let loaded = self.loaded.get(after.checked_sub(1)?)?;
        Some((loaded, loaded.facts.sites.get((number - loaded.first_site) as usize)?))
    }

    /// Whether others may see the final fields of its objects change.
    pub fn is_handed_out_early(&self, class: &str) -> bool {
        self.handed_out_early.contains(class)
    }

    /// Whether a class that is to be replaced has the shape that we gave it: it must have it afterwards, too.
    pub fn is_shaped(&self, env: Env, name: &[u8], class: Class) -> bool {
        // SAFETY: valid references.
        let same = |loaded: &&Loaded| unsafe { env.is_same_object(loaded.class, class) } != 0;
        let mut named = self.loaded.iter().filter(|loaded| loaded.facts.name.as_bytes() == name);
        named.find(same).is_some_and(|loaded| !loaded.preloaded)
    }

    /// What was loaded as this class, whose signature this is: first, if it was replaced since. Where its static fields
    /// lie stays as it is.
    fn of(&self, env: Env, class: Class, signature: &[u8]) -> Option<&Loaded> {
        let [b'L', name @ .., b';'] = signature else { return None };
        let same = |loaded: &&Loaded| {
            // SAFETY: valid references.
            loaded.facts.name.as_bytes() == name && unsafe { env.is_same_object(loaded.class, class) } != 0
        };
        self.loaded.iter().find(same)
    }

    /// Where a static field of a class lies.
    pub fn static_address(&self, env: Env, class: Class, signature: &[u8], name: &str) -> Option<u64> {
        let loaded = self.of(env, class, signature)?;
        let number = loaded.facts.fields.iter().position(|field| field.name == name)?;
        Some(loaded.code + loaded.field_offset(number))
    }

    /// Where a class lies as an object.
    pub fn class_address(&self, env: Env, class: Class, signature: &[u8]) -> Option<u64> {
        self.of(env, class, signature).map(|loaded| loaded.code + loaded.code_size())
    }

    /// The lock of a class's initializer, and whether the class has one; `None` for a class without hooks.
    pub fn initializer(&self, env: Env, class: Class, signature: &[u8]) -> Option<(u64, bool)> {
        let [b'L', name @ .., b';'] = signature else { return None };
        let is_named = |loaded: &&Loaded| loaded.facts.name.as_bytes() == name && !loaded.only_quiet;
        // A class that is not linked yet is not known as an object either.
        let is_same = |loaded: &&Loaded| {
            // SAFETY: valid references.
            loaded.class.is_null() || unsafe { env.is_same_object(loaded.class, class) } != 0
        };
        let loaded = self.loaded.iter().rev().filter(is_named).find(is_same)?;
        Some((loaded.initializer(), loaded.facts.methods.iter().any(|method| method.name == INITIALIZER)))
    }

    /// Where the body of a method tells that the machine has taken its monitor.
    pub fn entry_of_synchronized(&self, method: &MethodInfo) -> Option<u64> {
        let [b'L', name @ .., b';'] = &method.class[..] else { return None };
        let loaded = self.loaded.iter().find(|loaded| loaded.facts.name.as_bytes() == name)?;
        let is_meant = |site: &&Site| {
            let own = &loaded.facts.methods[usize::from(site.method)];
            let is_same = own.name.as_bytes() == method.name && own.descriptor.as_bytes() == method.descriptor;
            site.kind == SiteKind::EnterMethod && is_same
        };
        loaded.facts.sites.iter().find(is_meant).map(|site| loaded.pc(site))
    }

    /// The code address of the first instruction of a line, in a method of a class of the program.
    pub fn place(&self, class: &str, method: &str, line: i32) -> Option<u64> {
        let wanted = |loaded: &&Loaded| loaded.facts.name == class && !loaded.synchronization && !loaded.collection;
        let loaded = self.loaded.iter().rev().find(wanted)?;
        loaded.facts.methods.iter().zip(&loaded.offsets).filter(|(own, _)| own.name == method).find_map(
            |(own, offset)| {
                let (pc, _) = own.lines.iter().find(|(_, own)| i32::from(*own) == line)?;
                Some(loaded.code + offset + u64::from(*pc) + 1)
            },
        )
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
    fn write_symbols(&self, loaded: &Loaded, own: bool) {
        let Some(folder) = &self.symbols else { return };
        let facts = &loaded.facts;
        let name = facts.name.replace('/', ".");
        // Several machines may load the class at once; a launcher that finds no names shows addresses.
        let file = folder.join(format!("{name}.class.txt"));
        // Those of the JDK are the same in every run.
        if !own && file.exists() {
            return;
        }
        let mut text = format!("class\t{name}\t{}\n", facts.source_file.as_deref().unwrap_or(""));
        for (method, offset) in facts.methods.iter().zip(&loaded.offsets) {
            if method.length > 0 {
                let lines: Vec<String> = method.lines.iter().map(|(pc, line)| format!("{pc}:{line}")).collect();
                let _ = writeln!(text, "method\t{offset:x}\t{}\t{}", method.name, lines.join(" "));
            }
        }
        let _ = writeln!(text, "variable\t{:x}\t8\tclass {}", loaded.code_size(), short_name(&facts.name));
        let _ = writeln!(text, "variable\t{:x}\t8\tinitializer of {}", loaded.code_size() + 8, short_name(&facts.name));
        for (i, field) in facts.fields.iter().enumerate().filter(|(_, field)| field.access & access::STATIC != 0) {
            let size = size_of_letter(field.descriptor.as_bytes().first().copied().unwrap_or(b'J'));
            let name = format!("{}.{}", short_name(&facts.name), field.name);
            let _ = writeln!(text, "variable\t{:x}\t{size}\t{name}", loaded.field_offset(i));
        }
        // Numbers of blocks start over in each method.
        let (mut method, mut first, mut last) = (u16::MAX, 0, 0);
        for site in &facts.sites {
            if site.method != method {
                (method, first) = (site.method, last + 1);
            }
            last = last.max(first + site.block);
            let into_collection = site.kind == SiteKind::CallCollection;
            let (offset, constant) = (loaded.pc(site) - loaded.code, u8::from(!site.depends && !into_collection));
            let accessed = match (site.kind, facts.members.get(site.member as usize)) {
                (SiteKind::CallCollection, Some(member)) => {
                    format!("what the {} holds", short_name(&member.class))
                }
                (kind, Some(member)) if kind.is_access() => format!("{}.{}", short_name(&member.class), member.name),
                (SiteKind::ReadElement(_) | SiteKind::WriteElement(_), _) => "an array element".to_owned(),
                (SiteKind::Reflected, _) => "a field, by reflection".to_owned(),
                _ => String::new(),
            };
            let _ = writeln!(text, "site\t{offset:x}\t{}\t{constant}\t{accessed}", first + site.block);
        }
        let draft = folder.join(format!("{name}.{}", std::process::id()));
        if fs::write(&draft, text).is_ok() {
            let _ = fs::rename(draft, file);
        }
    }
}

/// A class as people call it: without its package.
pub fn short_name(name: &str) -> String {
    name.rsplit('/').next().unwrap_or(name).replace('$', ".")
}

/// What is known of a site before it is first used.
fn enter_sites(loaded: &Loaded, hot: &Hot) {
    for (i, site) in loaded.facts.sites.iter().enumerate() {
        let pc = loaded.pc(site);
        let in_collection = if loaded.collection { COLLECTION } else { 0 };
        let head = match site.kind {
            SiteKind::ReadElement(letter) => access_word(kind::READ, size_of_letter(letter), 0, pc) | in_collection,
            SiteKind::WriteElement(letter) => access_word(kind::WRITE, size_of_letter(letter), 0, pc) | in_collection,
            SiteKind::MadeObject => u64::from(kind::ALLOC) | pc << 16,
            SiteKind::UseClass => 0,
            SiteKind::ReadField(_) | SiteKind::WriteField(_) | SiteKind::ReadStatic(_) | SiteKind::WriteStatic(_) => {
                in_collection
            }
            _ => NOTHING_RECORDED,
        };
        *hot.site(loaded.first_site + i as u32) = Entry { head, a: u32::MAX, b: 0 };
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
