//! Says what can differ between two runs of a `.rwi` program, and what cannot:
//! `cargo run -p reweave-statics --example determinism -- tests/statics/account.rwi`

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Instant;

use reweave_script::language::parse;
use reweave_statics::frames::Point;
use reweave_statics::values::locations::LocationId;
use reweave_statics::values::state::Source;
use reweave_statics::verdict::{Kind, OutputDiffers, ReadVerdict, SameBecause, Verdict, Verdicts, races};
use reweave_statics::{Program, Settings};

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: determinism FILE.rwi");
        return ExitCode::from(2);
    };
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("{path}: {error}");
            return ExitCode::from(2);
        }
    };
    let program = match parse(&path, &text) {
        Ok(program) => program,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    let begun = Instant::now();
    let analysed = Program::new(&program, Settings::default());
    let verdicts = Verdicts::new(&analysed);
    let printer = Printer { program: &analysed, verdicts: &verdicts };
    printer.threads();
    printer.locations();
    printer.outputs();
    println!("{} rounds, {:.3} s", analysed.rounds, begun.elapsed().as_secs_f64());
    if analysed.lacking.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(4) }
}

struct Printer<'a, 'p> {
    program: &'a Program<'p>,
    verdicts: &'a Verdicts,
}

impl Printer<'_, '_> {
    fn threads(&self) {
        let skeleton = &self.program.skeleton;
        let all = skeleton.thread_ids().map(|id| {
            let thread = &skeleton.threads[id.index()];
            let site = thread.site.map_or_else(String::new, |site| format!("@{}", self.line(site)));
            format!("{}{site}{}", skeleton.name(id), if thread.is_many { " (many)" } else { "" })
        });
        println!("threads   {}", all.collect::<Vec<_>>().join(" · "));
    }

    fn line(&self, statement: reweave_script::language::StatementId) -> u32 {
        self.program.skeleton.statement(statement).position.line
    }

    fn place(&self, at: Point) -> String {
        let thread = self.program.skeleton.name(self.program.skeleton.thread_of(at));
        format!("line {} by {thread}", self.line(at.statement))
    }

    fn locations(&self) {
        let racy: BTreeSet<LocationId> = races(self.program).into_iter().map(|(location, _)| location).collect();
        let mut fixed = Vec::new();
        for location in self.program.locations.ids() {
            let name = self.program.locations.name(&self.program.skeleton, &self.program.points_to, location);
            let reads = self.verdicts.reads.get(&location).into_iter().flatten();
            let all: Vec<&ReadVerdict> = reads.chain(self.verdicts.last.get(&location).into_iter().flatten()).collect();
            let race = if racy.contains(&location) { "   (data race)" } else { "" };
            match self.verdicts.location(location) {
                Verdict::Proved => {
                    let same = all.iter().find_map(|read| match read.kind {
                        Kind::SameValue(because) => Some(because),
                        _ => None,
                    });
                    match same {
                        Some(SameBecause::Constant) => println!("SAME VALUE  {name}   one constant{race}"),
                        Some(SameBecause::OrderFree) => {
                            println!("SAME VALUE  {name}   order of updates does not matter")
                        }
                        None => fixed.push(name),
                    }
                }
                Verdict::CanDiffer => {
                    println!("CAN DIFFER  {name}{race}");
                    all.iter().filter(|read| read.kind.verdict() != Verdict::Proved).for_each(|read| self.read(read));
                }
                Verdict::Unknown => println!("UNKNOWN     {name}"),
            }
        }
        println!("FIXED       {}", fixed.join(", "));
    }

    fn read(&self, read: &ReadVerdict) {
        let kind = self.program.locations.get(read.seen.location).kind;
        let sources = read.seen.before.iter().map(|source| match source {
            Source::System => "the start".to_owned(),
            Source::Write(point) => self.place(*point),
        });
        let beside = read.seen.beside.iter().map(|point| self.place(*point));
        let sources: Vec<String> = sources.chain(beside).collect();
        let what =
            if self.verdicts.reads.values().flatten().any(|other| other.at == read.at) { "read" } else { "end " };
        println!(
            "   {what}   {}   sees {} from {}",
            self.place(read.at),
            read.seen.value.shown(kind),
            sources.join(", ")
        );
        match &read.kind {
            Kind::Choice(pairs) => {
                let (one, other) = pairs[0];
                println!("   why    {} and {} may happen in parallel", self.place(one), self.place(other));
            }
            Kind::Derived => println!("   why    depends on a choice made elsewhere"),
            _ => {}
        }
    }

    fn outputs(&self) {
        for (at, why) in self.verdicts.outputs.iter().filter(|(_, why)| !why.is_empty()) {
            let why = why.iter().map(|why| match why {
                OutputDiffers::Tainted => "what is printed depends on a choice".to_owned(),
                OutputDiffers::Order(other) => format!("may come before or after {}", self.place(*other)),
                OutputDiffers::Outlived => "main may end before".to_owned(),
            });
            println!("OUTPUT      {}   {}", self.place(*at), why.collect::<Vec<_>>().join("; "));
        }
        if self.verdicts.status != Verdict::Proved {
            println!("EXIT STATUS can differ");
        }
    }
}
