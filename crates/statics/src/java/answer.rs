//! From paths to an answer.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Instant;

use reweave_jvm::classfile::access;
use reweave_report::determinism::{AccessAt, Determinism, LocationItem, NotUnderstood, OutputItem, Verdict};

use super::classes::{Classes, MethodId};
use super::code::Name;
use super::entries;
use super::exceptions::Exceptions;
use super::judge::Facts;
use super::load::load;
use super::models::Models;
use super::parallelise::Changed;
use super::published::{Told, Weak, told};
use super::ranges::{Effort, Ranges};
use super::solve::{Birth, Origin, Solver, ThreadId};
use crate::expected::Expected;
use crate::question::{Assumption, Question, Rule, judge};

/// Why there is no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoAnswer {
    /// What was asked makes no sense here.
    Usage(String),
    /// There is nothing to analyse.
    Nothing(String),
}

/// Analyses the program that the paths hold.
pub fn answer(paths: &[PathBuf], question: &Question) -> Result<Determinism, NoAnswer> {
    let judged = |solver: &Solver<'_>| match solver.gave_up {
        true => (unfinished(solver), Weak::default()),
        false => Facts::new(solver).judge(question),
    };
    let ((mut determinism, weak), damage, version) = analyse(paths, question, judged)?;
    let damaged = damage.into_iter().map(|what| NotUnderstood { what, at: "not read".to_owned() });
    determinism.not_understood.extend(damaged);
    determinism.assumptions.extend(version.map(|version| {
        format!("of classes for several versions of Java those for the newest are meant (up to Java {version})")
    }));
    question.only.apply(&mut determinism, question.rule == Rule::Sources);
    let items: Vec<_> = determinism.locations.iter().map(Weak::key).collect();
    judge(&mut determinism, &question.required, &|at, by| weak.lies(&items[at], by)).map_err(NoAnswer::Usage)?;
    question.only.leave_out(&mut determinism);
    Ok(determinism)
}

/// What runs of the program may do, for comparing.
pub fn expected(paths: &[PathBuf], question: &Question) -> Result<Expected, NoAnswer> {
    let lines = |solver: &Solver<'_>| match solver.gave_up {
        true => Expected { blind: true, ..Expected::default() },
        false => Facts::new(solver).expected(),
    };
    analyse(paths, question, lines).map(|(expected, ..)| expected)
}

/// What threads write in each location, as far as values are known.
pub fn levels(paths: &[PathBuf], question: &Question, effort: Effort) -> Result<Told, NoAnswer> {
    analyse(paths, question, |solver| {
        let facts = Facts::new(solver);
        told(&facts, &Ranges::new(&facts, effort))
    })
    .map(|(told, ..)| told)
}

/// Who calls whom, a line each.
pub fn call_graph(paths: &[PathBuf], question: &Question) -> Result<BTreeSet<String>, NoAnswer> {
    analyse(paths, question, |solver| solver.call_graph()).map(|(lines, ..)| lines)
}

/// What is wanted of the solved program, which files could not be read, and which version of Java they are for.
fn analyse<T>(
    paths: &[PathBuf],
    question: &Question,
    wanted: impl FnOnce(&Solver<'_>) -> T,
) -> Result<(T, Vec<String>, Option<u32>), NoAnswer> {
    analyse_as(paths, question, &mut |_| None, |solver, _| wanted(solver))
}

/// What is wanted of the program after a change, and whether there was one.
pub(super) fn analyse_changed<T>(
    paths: &[PathBuf],
    question: &Question,
    change: &mut dyn FnMut(&mut Classes<'_>) -> Option<Changed>,
    wanted: impl FnOnce(&Solver<'_>) -> T,
) -> Result<(T, bool), NoAnswer> {
    analyse_as(paths, question, change, |solver, changed| (wanted(solver), changed)).map(|(both, ..)| both)
}

fn analyse_as<T>(
    paths: &[PathBuf],
    question: &Question,
    change: &mut dyn FnMut(&mut Classes<'_>) -> Option<Changed>,
    wanted: impl FnOnce(&Solver<'_>, bool) -> T,
) -> Result<(T, Vec<String>, Option<u32>), NoAnswer> {
    let loaded = load(paths).map_err(NoAnswer::Usage)?;
    let (mut damage, version) = (loaded.damage, loaded.version);
    let mut classes = Classes::new(&loaded.classes, &mut damage);
    if classes.all.is_empty() {
        let why = damage.first().map_or_else(String::new, |first| format!(" ({first})"));
        return Err(NoAnswer::Nothing(format!("no class was found{why}")));
    }
    let (main, made_up) = beginning(&mut classes, question, loaded.main.as_deref())?;
    let mut models = Models::built_in();
    for (file, text) in &question.models {
        models.add(file, text).map_err(NoAnswer::Usage)?;
    }
    Exceptions::prepare(&mut classes.names, &models);
    let changed = change(&mut classes);
    let mut solver = Solver::new(classes, models, question.context.map_or(1, |context| context as u32));
    solver.barriers = barriers(&solver.classes, &question.barriers)?;
    solver.made_up = made_up.then_some(main);
    let is_changed = changed.is_some();
    if let Some(changed) = changed {
        let place = changed.places.last().copied().unwrap_or_default();
        solver.turns.extend(changed.exit.map(|exit| (changed.method, exit, place)));
        solver.reduces = Some((changed.method, changed.places));
    }
    solver.limits_hold = question.assumed.contains(&Assumption::Limits);
    solver.deadline = question.budget.map(|budget| Instant::now() + budget);
    solver.run(main);
    Ok((wanted(&solver, is_changed), damage, version))
}

/// Nothing is known of anything.
fn unfinished(solver: &Solver<'_>) -> Determinism {
    let unknown = |name: String| LocationItem { name, verdict: Verdict::Unknown, ..LocationItem::default() };
    let output = OutputItem {
        at: AccessAt { file: "output".to_owned(), ..AccessAt::default() },
        verdict: Verdict::Unknown,
        ..OutputItem::default()
    };
    Determinism {
        locations: solver.classes.field_names().into_iter().map(unknown).collect(),
        outputs: vec![output],
        gave_up: Some("the program is too large, or the budget too small".to_owned()),
        ..Determinism::default()
    }
}

/// The methods that are barriers, as a user says.
fn barriers(classes: &Classes<'_>, wanted: &[String]) -> Result<BTreeSet<MethodId>, NoAnswer> {
    let mut all = BTreeSet::new();
    for name in wanted {
        let fits = |method: &super::classes::Method| {
            let class = classes.names.text(method.class_name).replace(['/', '$'], ".");
            let own = format!("{class}.{}", classes.names.text(method.name));
            own == *name || own.strip_suffix(name.as_str()).is_some_and(|before| before.ends_with('.'))
        };
        let found = classes.methods.iter().enumerate().filter(|(_, method)| fits(method));
        let before = all.len();
        all.extend(found.map(|(at, _)| MethodId(at as u32)));
        if all.len() == before {
            return Err(NoAnswer::Usage(format!("no method is named `{name}` (--barrier CLASS.METHOD)")));
        }
    }
    Ok(all)
}

/// Where the program begins, and whether that is made up: a `main`, or methods that others call.
fn beginning(
    classes: &mut Classes<'_>,
    question: &Question,
    of_manifest: Option<&str>,
) -> Result<(MethodId, bool), NoAnswer> {
    let found = match question.entries.is_empty() {
        true => find_main(classes, question.main.as_deref().or(of_manifest)),
        false => Ok(None),
    };
    if let Some(main) = found? {
        let method = classes.method(main);
        let (is_static, class) = (method.flags & access::STATIC != 0, method.class_name);
        return Ok((if is_static { main } else { entries::add_launcher(classes, class, main) }, false));
    }
    let entries = entries::find(classes, &question.entries)?;
    let main = entries::add_main(classes, &entries);
    let nothing = || NoAnswer::Nothing("no class has a main method, and no public class a public method".to_owned());
    main.map(|main| (main, true)).ok_or_else(nothing)
}

/// `main` of the class that was named, or of the only one that has it.
fn find_main(classes: &Classes<'_>, wanted: Option<&str>) -> Result<Option<MethodId>, NoAnswer> {
    // Static ones with arguments come first; the others begin programs since Java 25.
    let rank = |method: &super::classes::Method| {
        let is_static = method.flags & access::STATIC != 0;
        match (classes.names.text(method.name), classes.names.text(method.descriptor)) {
            _ if method.flags & (access::ABSTRACT | access::PRIVATE) != 0 => None,
            ("main", "([Ljava/lang/String;)V") => Some(if is_static { 0 } else { 2 }),
            ("main", "()V") => Some(if is_static { 1 } else { 3 }),
            _ => None,
        }
    };
    let mut all: Vec<(MethodId, u8)> = Vec::new();
    for (at, method) in classes.methods.iter().enumerate() {
        let Some(own) = rank(method) else { continue };
        let modern = own == 0 || classes.all[method.class].file.major >= JAVA_25;
        match all.iter_mut().find(|(known, _)| classes.method(*known).class == method.class) {
            _ if !modern => {}
            Some(known) if known.1 > own => *known = (MethodId(at as u32), own),
            Some(_) => {}
            None => all.push((MethodId(at as u32), own)),
        }
    }
    let all: Vec<MethodId> = all.into_iter().map(|(id, _)| id).collect();
    let name = |id: &MethodId| classes.names.text(classes.method(*id).class_name).replace('/', ".");
    if let Some(wanted) = wanted {
        let fits = |id: &&MethodId| {
            let name = name(id);
            name == wanted || name.rsplit('.').next() == Some(wanted)
        };
        return all.iter().find(fits).copied().map(Some).ok_or_else(|| {
            NoAnswer::Usage(format!("there is no class `{wanted}` with a main method: {}", list(&all, &name)))
        });
    }
    match all[..] {
        [only] => Ok(Some(only)),
        [] => Ok(None),
        _ => Err(NoAnswer::Usage(format!("say which class to start with --main: {}", list(&all, &name)))),
    }
}

/// Version of class files.
const JAVA_25: u16 = 69;

fn list(all: &[MethodId], name: &dyn Fn(&MethodId) -> String) -> String {
    let names: Vec<String> = all.iter().take(12).map(name).collect();
    if names.is_empty() { "no class has one".to_owned() } else { names.join(", ") }
}

impl Solver<'_> {
    /// Solves the program that starts at a method.
    pub fn run(&mut self, main: MethodId) {
        let thread = self.thread(Birth::Main, None);
        debug_assert_eq!(thread, ThreadId::MAIN);
        let class: Name = self.classes.method(main).class_name;
        self.main_line = self.classes.line(class);
        self.initialise(class);
        match self.frame(main, thread, None) {
            Some(frame) => {
                self.threads[thread.index()].entries.push(frame);
                let array = self.classes.names.add("[Ljava/lang/String;");
                let object = self.object(Origin::Arguments, array, None);
                if let Some(parameter) = self.frames[frame.index()].body.code.parameters.first().copied() {
                    let node = self.value_node(frame, parameter);
                    self.add_one(node, object);
                }
            }
            None => {
                let why = match self.classes.body(main) {
                    Some(Err(why)) => why,
                    _ => "it has no code".to_owned(),
                };
                self.not_understood.entry((format!("main: {why}"), String::new())).or_default();
                self.gave_up = true;
            }
        }
        self.solve();
        while !self.gave_up && (self.lost_streams() || self.take_back() || self.spread_blindness()) {
            self.solve();
        }
    }
}
