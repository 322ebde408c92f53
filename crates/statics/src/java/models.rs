//! What library methods do: data, in `models.txt` and in files of the same form that a user gives.

use std::collections::HashMap;
use std::rc::Rc;

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
}

impl Model {
    pub fn has(&self, word: Word) -> bool {
        self.words.contains(&word)
    }

    pub fn opaque() -> Self {
        Self { words: vec![Word::Opaque], ..Self::default() }
    }
}

#[derive(Default)]
pub struct Models {
    methods: HashMap<(String, String), Rc<Model>>,
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
            let mut model = Model::default();
            for word in words {
                match word.split_once(':') {
                    Some(("fresh", class)) => {
                        model.words.push(Word::Fresh);
                        model.fresh = Some(class.replace('.', "/"));
                    }
                    Some(("calls", method)) => model.calls.push(method.to_owned()),
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

    /// What a method of a library class does; none if nobody says.
    pub fn find(&self, class: &str, method: &str) -> Option<Rc<Model>> {
        let mut line = Vec::new();
        self.line(class, &mut line);
        let short = class.rsplit('/').next().unwrap_or(class);
        if class.starts_with("java") && (short.ends_with("Exception") || short.ends_with("Error")) {
            line.push("java/lang/Throwable".to_owned());
        }
        let get = |class: &String, method: &str| self.methods.get(&(class.clone(), method.to_owned())).cloned();
        let exact = line.iter().find_map(|class| get(class, method));
        let of_object = || match method {
            "<init>" if line.len() <= 1 && class != "java/lang/Object" => None,
            _ => get(&"java/lang/Object".to_owned(), method),
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

    /// Whether one library class is another, by what models say.
    pub fn is(&self, class: &str, other: &str) -> bool {
        let mut line = Vec::new();
        self.line(class, &mut line);
        line.iter().any(|known| known == other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_inherited_and_the_nearest_wins() {
        let models = Models::built_in();
        assert!(models.find("java/util/ArrayList", "add").unwrap().has(Word::Keeps));
        assert!(models.find("java/util/Stack", "push").unwrap().has(Word::Argument));
        assert!(models.find("java/lang/StringBuilder", "length").unwrap().has(Word::Reads));
        assert!(models.find("java/io/IOException", "printStackTrace").unwrap().has(Word::Output));
        assert!(models.find("java/util/ArrayList", "hashCode").is_some());
        assert!(models.find("sun/misc/Unsafe", "putInt").is_none());
        assert!(models.find("sun/misc/Unsafe", "<init>").is_none());
    }

    #[test]
    fn a_users_lines_are_read_and_wrong_ones_named() {
        let mut models = Models::built_in();
        models.add("mine", "org.example.Plugin load reads # a comment\n").unwrap();
        assert!(models.find("org/example/Plugin", "load").unwrap().has(Word::Reads));
        assert_eq!(
            models.add("mine", "\norg.example.Plugin load eats").unwrap_err(),
            "mine:2: `eats` is no word of models"
        );
    }
}
