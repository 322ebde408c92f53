//! What tests with a machine share: a JDK if there is one, hook classes that do nothing, running programs.

use reweave_jvm::classfile::{
    Attribute, ClassFile, Code, Member, Pool, access, descriptor::MethodDescriptor, opcode::*,
};
use reweave_jvm::rewrite::hook_names::{ATOMICS_CLASS, HOOK_CLASS, Hook};
use reweave_jvm::rewrite::unsafe_calls::{Operation, UnsafeCall};
use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program of the JDK, or `None` with a message if there is no JDK here.
pub fn jdk(program: &str) -> Option<PathBuf> {
    let home = std::env::var_os("JAVA_HOME").map(|home| PathBuf::from(home).join("bin").join(program));
    let found = home.into_iter().chain(std::iter::once(PathBuf::from(program)));
    for candidate in found {
        if Command::new(&candidate).arg("-version").output().is_ok_and(|output| output.status.success()) {
            return Some(candidate);
        }
    }
    eprintln!("left out: this test needs a JDK (`{program}`)");
    None
}

/// Runs a command that must succeed and returns what it printed.
pub fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}\n{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stdout)
}

/// An empty folder for one test.
pub fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

/// All class files below a folder, with their names.
pub fn classes(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "class") {
                let bytes = fs::read(&path).expect("a class file");
                found.push((path.strip_prefix(folder).expect("below the folder").to_path_buf(), bytes));
            }
        }
    }
    found.sort();
    found
}

/// Writes hook classes that do nothing but what the program itself asked for.
pub fn write_idle_hooks(folder: &Path) {
    let target = folder.join("java/lang");
    fs::create_dir_all(&target).expect("a folder for the hook classes");
    let hooks = Hook::all().map(|hook| {
        let (name, descriptor) = hook.name_and_descriptor();
        (name, descriptor, None)
    });
    let atomics = UnsafeCall::all().map(|call| {
        let (name, descriptor) = call.hook();
        (name, descriptor, Some(call))
    });
    fs::write(target.join("ReweaveHooks.class"), assemble(HOOK_CLASS, hooks)).expect("the hook class");
    fs::write(target.join("ReweaveAtomics.class"), assemble(ATOMICS_CLASS, atomics)).expect("the hook class");
}

fn assemble(name: &str, methods: impl Iterator<Item = (&'static str, String, Option<UnsafeCall>)>) -> Vec<u8> {
    let mut pool = Pool::empty();
    let this_class = pool.add_class(name.as_bytes()).unwrap();
    let super_class = pool.add_class(b"java/lang/Object").unwrap();
    let code_name = pool.add_utf8(b"Code").unwrap();
    let methods = methods
        .map(|(name, descriptor, call)| {
            let body = body(name, &descriptor, call, &mut pool, this_class);
            let code = Code { max_stack: 16, max_locals: 16, bytes: &body, handlers: vec![], attributes: vec![] };
            Member {
                access: access::PUBLIC | access::STATIC,
                name: pool.add_utf8(name.as_bytes()).unwrap(),
                descriptor: pool.add_utf8(descriptor.as_bytes()).unwrap(),
                attributes: vec![Attribute { name: code_name, bytes: Cow::Owned(code.write().unwrap()) }],
            }
        })
        .collect();
    let class = ClassFile {
        minor: 0,
        major: 61,
        pool,
        access: access::PUBLIC | access::FINAL | 0x20,
        this_class,
        super_class,
        interfaces: vec![],
        fields: vec![],
        methods,
        attributes: vec![],
    };
    class.write().unwrap()
}

fn body(name: &str, descriptor: &str, call: Option<UnsafeCall>, pool: &mut Pool<'_>, this_class: u16) -> Vec<u8> {
    let mut body = Vec::new();
    let mut method = |op: u8, class: &str, name: &str, descriptor: &str, body: &mut Vec<u8>| {
        body.push(op);
        let index = pool.add_method(class.as_bytes(), name.as_bytes(), descriptor.as_bytes()).unwrap();
        body.extend_from_slice(&index.to_be_bytes());
    };
    let parsed = MethodDescriptor::parse(descriptor.as_bytes()).unwrap();
    if name == "copiedArray" {
        body.extend([ALOAD_0, ILOAD, 1, ALOAD, 2, ILOAD, 3, ILOAD, 4]);
        let copy = "(Ljava/lang/Object;ILjava/lang/Object;II)V";
        method(INVOKESTATIC, "java/lang/System", "arraycopy", copy, &mut body);
    } else if let Some(call) = call {
        let class = "jdk/internal/misc/Unsafe";
        method(INVOKESTATIC, class, "getUnsafe", "()Ljdk/internal/misc/Unsafe;", &mut body);
        // Neither the `Unsafe` of the caller nor the site.
        let count = parsed.parameters().count();
        let mut local = 1;
        for parameter in parsed.parameters().take(count - 1).skip(1) {
            body.extend([load_of(parameter[0]), local]);
            local += if matches!(parameter[0], b'J' | b'D') { 2 } else { 1 };
        }
        method(INVOKEVIRTUAL, class, &unsafe_name(&call), &call.descriptor(), &mut body);
    } else if name == "classOfSite" {
        body.extend([LDC_W]);
        body.extend(this_class.to_be_bytes());
    } else if name == "enteringLock" {
        body.push(ACONST_NULL);
    } else if matches!(name, "checkedAlive" | "checkedInterrupted") {
        body.extend([ILOAD, 1]);
    } else if name == "checkedOwnInterruption" {
        body.extend([ILOAD, 0]);
    } else if name == "clonedArray" {
        body.push(ALOAD_0);
        method(INVOKEVIRTUAL, "java/lang/Object", "clone", "()Ljava/lang/Object;", &mut body);
    } else if name == "gotReflected" {
        // What was read, after the object and its field.
        body.extend([load_of(parsed.result[0]), 2]);
    } else if parsed.result == b"I" {
        body.push(ICONST_0);
    }
    body.push(match parsed.result[0] {
        b'V' => RETURN,
        b'J' => LRETURN,
        b'F' => FRETURN,
        b'D' => DRETURN,
        b'L' => ARETURN,
        _ => IRETURN,
    });
    body
}

/// The instruction that loads a local variable of this type.
const fn load_of(letter: u8) -> u8 {
    match letter {
        b'J' => LLOAD,
        b'F' => FLOAD,
        b'D' => DLOAD,
        b'L' => ALOAD,
        _ => ILOAD,
    }
}

fn unsafe_name(call: &UnsafeCall) -> String {
    let value = match call.letter {
        b'Z' => "Boolean",
        b'B' => "Byte",
        b'S' => "Short",
        b'C' => "Char",
        b'I' => "Int",
        b'J' => "Long",
        b'F' => "Float",
        b'D' => "Double",
        _ => "Reference",
    };
    match call.operation {
        Operation::Get => format!("get{value}Volatile"),
        Operation::Put => format!("put{value}Volatile"),
        Operation::CompareAndSet => format!("compareAndSet{value}"),
        Operation::CompareAndExchange => format!("compareAndExchange{value}"),
        Operation::GetAndSet => format!("getAndSet{value}"),
        Operation::GetAndAdd => format!("getAndAdd{value}"),
        Operation::GetAndOr => format!("getAndBitwiseOr{value}"),
        Operation::GetAndAnd => format!("getAndBitwiseAnd{value}"),
        Operation::GetAndXor => format!("getAndBitwiseXor{value}"),
    }
}
