//! What library methods do: data, in `models.txt` and in files of the same form that a user gives.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use reweave_jvm::classfile::descriptor::MethodDescriptor;

/// What a method does, as one word each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Word {
    Reads,
    Writes,
    Keeps,
    Gives,
    Fresh,
    Copies,
    View,
    /// Like a view, of a map by its entries.
    Entries,
    This,
    Argument,
    Arguments,
    Fills,
    Compares,
    Shows,
    Input,
    Output,
    Choice,
    Steps,
    Sum,
    Start,
    Join,
    Wait,
    Lock,
    Unlock,
    Submit,
    Await,
    Exit,
    Interrupt,
    Target,
    Current,
    Sleeps,
    Daemon,
    /// The name or number of a thread, which depends on who was made first.
    ThreadName,
    /// Runs what the receiver was given, in the same thread.
    Runs,
    /// Waits for all that it starts.
    Joins,
    /// What it is given runs any number of times, side by side.
    Often,
    /// What arguments hold is submitted, too.
    Each,
    /// The new object is over when all arguments are.
    Gathers,
    /// Every thread has its own.
    Local,
    /// Starts threads that it is given.
    Starts,
    /// Says whether all tasks of the receiver are over.
    Ended,
    /// One less of what `await` waits for.
    Counts,
    /// Waits until nothing is left to count.
    Awaits,
    /// Waits for all others at the same object.
    Meets,
    /// Throws nothing, whatever it gets and holds.
    Safe,
    /// Throws something only where an argument is null.
    NotNull,
    /// May return null, or an object that may be null.
    Nullable,
    /// May throw because of the order of threads.
    Refuses,
    /// No more tasks after that.
    Closes,
    /// A task that it is about may not be run.
    Cancels,
    /// Waits, and is interrupted while it does.
    Pauses,
    /// What it reads and changes belongs to the whole program.
    Global,
    /// The new object shows what the argument holds, under a lock of its own.
    Wraps,
    Opaque,
}

const WORDS: &[(&str, Word)] = &[
    ("reads", Word::Reads),
    ("writes", Word::Writes),
    ("keeps", Word::Keeps),
    ("gives", Word::Gives),
    ("fresh", Word::Fresh),
    ("copies", Word::Copies),
    ("view", Word::View),
    ("entries", Word::Entries),
    ("this", Word::This),
    ("arg", Word::Argument),
    ("args", Word::Arguments),
    ("fills", Word::Fills),
    ("compares", Word::Compares),
    ("shows", Word::Shows),
    ("input", Word::Input),
    ("output", Word::Output),
    ("choice", Word::Choice),
    ("steps", Word::Steps),
    ("sum", Word::Sum),
    ("start", Word::Start),
    ("join", Word::Join),
    ("wait", Word::Wait),
    ("lock", Word::Lock),
    ("unlock", Word::Unlock),
    ("submit", Word::Submit),
    ("await", Word::Await),
    ("exit", Word::Exit),
    ("interrupt", Word::Interrupt),
    ("target", Word::Target),
    ("current", Word::Current),
    ("sleeps", Word::Sleeps),
    ("daemon", Word::Daemon),
    ("name", Word::ThreadName),
    ("runs", Word::Runs),
    ("joins", Word::Joins),
    ("often", Word::Often),
    ("each", Word::Each),
    ("gathers", Word::Gathers),
    ("local", Word::Local),
    ("starts", Word::Starts),
    ("ended", Word::Ended),
    ("counts", Word::Counts),
    ("awaits", Word::Awaits),
    ("meets", Word::Meets),
    ("safe", Word::Safe),
    ("notnull", Word::NotNull),
    ("nullable", Word::Nullable),
    ("refuses", Word::Refuses),
    ("closes", Word::Closes),
    ("cancels", Word::Cancels),
    ("pauses", Word::Pauses),
    ("global", Word::Global),
    ("wraps", Word::Wraps),
    ("opaque", Word::Opaque),
];

/// What one method does.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Model {
    words: Vec<Word>,
    /// The class of a new object, if it is not the declared one.
    pub fresh: Option<String>,
    /// Methods of arguments that are called.
    pub calls: Vec<String>,
    /// Classes of what it throws, if it throws nothing else.
    pub throws: Vec<String>,
}

impl Model {
    pub fn has(&self, word: Word) -> bool {
        self.words.contains(&word)
    }

    /// Whether it waits, so that an interrupt ends it.
    pub fn waits(&self) -> bool {
        [Word::Join, Word::Sleeps, Word::Wait, Word::Await, Word::Awaits, Word::Meets, Word::Pauses]
            .into_iter()
            .any(|word| self.has(word))
    }

    pub fn opaque() -> Self {
        Self { words: vec![Word::Opaque], ..Self::default() }
    }
}

#[derive(Default)]
pub struct Models {
    methods: HashMap<(String, String), Rc<Model>>,
    /// Classes whose objects threads may share as they like.
    shared: HashSet<String>,
    /// Queues that give what was put first.
    fifo: HashSet<String>,
    parents: HashMap<String, Vec<String>>,
}

impl Models {
    /// Those that come with the program.
    pub fn built_in() -> Self {
        let mut models = Self::default();
        models.add("models.txt", include_str!("models.txt")).expect("its own models can be read");
        models
    }

    /// More, of a user; a line replaces one for the same method.
    pub fn add(&mut self, file: &str, text: &str) -> Result<(), String> {
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            let mut words = line.split_whitespace();
            let Some(class) = words.next() else { continue };
            let wrong = |what: &str| format!("{file}:{}: {what}", number + 1);
            let class = class.replace('.', "/");
            let method = words.next().ok_or_else(|| wrong("a class without a method"))?;
            if method == ":" {
                self.parents.entry(class).or_default().extend(words.map(|word| word.replace('.', "/")));
                continue;
            }
            if method == "is" {
                match words.next() {
                    Some("threadsafe") => self.shared.insert(class),
                    Some("fifo") => self.fifo.insert(class),
                    _ => return Err(wrong("a class is `threadsafe`, or `fifo`, or nothing")),
                };
                continue;
            }
            let mut model = Model::default();
            for word in words {
                match word.split_once(':') {
                    Some(("fresh", class)) => {
                        model.words.push(Word::Fresh);
                        model.fresh = Some(class.replace('.', "/"));
                    }
                    Some(("calls", method)) => model.calls.push(method.to_owned()),
                    Some(("throws", class)) => model.throws.push(class.replace('.', "/")),
                    _ => {
                        let known = WORDS.iter().find(|(text, _)| *text == word);
                        let (_, known) = known.ok_or_else(|| wrong(&format!("`{word}` is no word of models")))?;
                        model.words.push(*known);
                    }
                }
            }
            self.methods.insert((class, method.to_owned()), Rc::new(model));
        }
        Ok(())
    }

    /// What a method of a library class does; none if nobody says. Lines for its parameters, or for as many, come
    /// before lines for its name.
    pub fn find(&self, class: &str, method: &str, descriptor: &str) -> Option<Rc<Model>> {
        let parameters = parameters(descriptor);
        let names = [
            format!("{method}({})", parameters.join(",")),
            format!("{method}/{}", parameters.len()),
            method.to_owned(),
        ];
        let mut line = Vec::new();
        self.line(class, &mut line);
        let short = class.rsplit('/').next().unwrap_or(class);
        if class.starts_with("java") && (short.ends_with("Exception") || short.ends_with("Error")) {
            line.push("java/lang/Throwable".to_owned());
        }
        let get = |class: &String, method: &str| self.methods.get(&(class.clone(), method.to_owned())).cloned();
        let by_name = |class: &String| names.iter().find_map(|name| get(class, name));
        let exact = line.iter().find_map(by_name);
        let of_object = || match method {
            "<init>" if line.len() <= 1 && class != "java/lang/Object" => None,
            _ => by_name(&"java/lang/Object".to_owned()),
        };
        exact.or_else(|| line.iter().find_map(|class| get(class, "*"))).or_else(of_object)
    }

    fn line(&self, class: &str, line: &mut Vec<String>) {
        if line.iter().any(|known| known == class) || line.len() > 64 {
            return;
        }
        line.push(class.to_owned());
        for parent in self.parents.get(class).into_iter().flatten() {
            self.line(parent, line);
        }
    }

    /// All classes of exceptions that lines name.
    pub fn thrown(&self) -> impl Iterator<Item = &str> {
        self.methods.values().flat_map(|model| &model.throws).map(String::as_str)
    }

    /// A library class and those above it, as far as models say.
    pub fn line_of(&self, class: &str) -> Vec<String> {
        let mut line = Vec::new();
        self.line(class, &mut line);
        line
    }

    /// Whether threads may call methods of one object of a class side by side.
    pub fn is_threadsafe(&self, class: &str) -> bool {
        self.shared.contains(class)
    }

    pub fn is_fifo(&self, class: &str) -> bool {
        self.fifo.contains(class)
    }

    /// Whether one library class is another, by what models say.
    pub fn is(&self, class: &str, other: &str) -> bool {
        self.line_of(class).iter().any(|known| known == other)
    }
}

/// `int`, `String`, `Object[]` of a descriptor.
fn parameters(descriptor: &str) -> Vec<String> {
    let Ok(parsed) = MethodDescriptor::parse(descriptor.as_bytes()) else { return Vec::new() };
    let name = |part: &[u8]| {
        let text = String::from_utf8_lossy(part).into_owned();
        let inner = text.trim_start_matches('[');
        let plain = match inner {
            "I" => "int",
            "J" => "long",
            "Z" => "boolean",
            "B" => "byte",
            "C" => "char",
            "S" => "short",
            "F" => "float",
            "D" => "double",
            class => class.trim_start_matches('L').trim_end_matches(';').rsplit(['/', '$']).next().unwrap_or_default(),
        };
        format!("{plain}{}", "[]".repeat(text.len() - inner.len()))
    };
    parsed.parameters().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_inherited_and_the_nearest_wins() {
        let models = Models::built_in();
        let find = |class: &str, method: &str| models.find(class, method, "()V");
        assert!(find("java/util/ArrayList", "add").unwrap().has(Word::Keeps));
        assert!(find("java/util/Stack", "push").unwrap().has(Word::Argument));
        assert!(find("java/lang/StringBuilder", "length").unwrap().has(Word::Reads));
        assert!(find("java/io/IOException", "printStackTrace").unwrap().has(Word::Output));
        assert!(find("java/util/ArrayList", "hashCode").is_some());
        assert!(find("sun/misc/Unsafe", "putInt").is_none());
        assert!(find("sun/misc/Unsafe", "<init>").is_none());
    }

    #[test]
    fn lines_for_parameters_come_first() {
        let models = Models::built_in();
        let safe = |class: &str, method: &str, descriptor: &str| {
            models.find(class, method, descriptor).is_some_and(|model| model.has(Word::Safe))
        };
        assert!(safe("java/lang/Integer", "valueOf", "(I)Ljava/lang/Integer;"));
        assert!(!safe("java/lang/Integer", "valueOf", "(Ljava/lang/String;)Ljava/lang/Integer;"));
        assert!(safe("java/util/ArrayList", "add", "(Ljava/lang/Object;)Z"));
        assert!(!safe("java/util/ArrayList", "add", "(ILjava/lang/Object;)V"));
        assert!(!safe("java/lang/StringBuilder", "append", "([CII)Ljava/lang/StringBuilder;"));
        assert_eq!(parameters("([[JLjava/util/Map$Entry;)V"), ["long[][]", "Entry"]);
    }

    #[test]
    fn a_users_lines_are_read_and_wrong_ones_named() {
        let mut models = Models::built_in();
        models.add("mine", "org.example.Plugin load reads # a comment\n").unwrap();
        assert!(models.find("org/example/Plugin", "load", "()V").unwrap().has(Word::Reads));
        assert_eq!(
            models.add("mine", "\norg.example.Plugin load eats").unwrap_err(),
            "mine:2: `eats` is no word of models"
        );
    }
}
