//! Projections (chapter 7 of the paper): what is judged is restricted to some threads, locations and states.
//!
//! A **state** is an access: `reads` are reads of the program, `writes` what writers find and leave behind (reads of
//! statements that write, and the last state of a location). A location is judged by the states that are left.

use reweave_report::determinism::{AccessAt, Determinism, OutputItem, ReadItem, Verdict, Why};

use crate::question::fits;

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Only {
    /// Names, `*` for anything; none: all.
    pub threads: Vec<String>,
    pub locations: Vec<String>,
    pub states: Vec<State>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum State {
    Reads,
    Writes,
    /// `FILE:LINE`, or a method.
    At(String),
}

/// `threads=T1,T2,locations=Account.*,states=reads`.
pub fn only(text: &str) -> Result<Only, String> {
    let wrong = |part: &str| {
        format!(
            "`{part}` is nothing to look at: threads=NAME, locations=LOCATION, states=reads|writes|FILE:LINE|METHOD"
        )
    };
    let mut only = Only::default();
    let mut key = None;
    for part in text.split(',') {
        let value = match part.split_once('=') {
            Some((word, value)) => {
                key = Some(word.trim());
                value
            }
            None => part,
        };
        let value = value.trim().to_owned();
        match key {
            _ if value.is_empty() => return Err(wrong(part)),
            Some("threads") => only.threads.push(value),
            Some("locations") => only.locations.push(value),
            Some("states") => only.states.push(match value.as_str() {
                "reads" => State::Reads,
                "writes" => State::Writes,
                _ => State::At(value),
            }),
            _ => return Err(wrong(part)),
        }
    }
    Ok(only)
}

impl Only {
    pub fn is_everything(&self) -> bool {
        *self == Self::default()
    }

    /// What several options say together.
    pub fn add(&mut self, other: Self) {
        self.threads.extend(other.threads);
        self.locations.extend(other.locations);
        self.states.extend(other.states);
    }

    /// A thread, by its name or the name with the place where it starts.
    pub fn has_thread(&self, name: &str) -> bool {
        let short = name.split('@').next().unwrap_or(name);
        self.threads.is_empty() || self.threads.iter().any(|wanted| fits(wanted, name) || fits(wanted, short))
    }

    pub fn has_location(&self, name: &str) -> bool {
        self.locations.is_empty() || self.locations.iter().any(|wanted| fits(wanted, name))
    }

    /// Whether a place is one of those that were asked for.
    pub fn is_place(at: &AccessAt, wanted: &str) -> bool {
        let stem = at.file.split('.').next().unwrap_or(&at.file);
        let by_class = || {
            let (class, method) = wanted.rsplit_once('.')?;
            Some(method == at.function && class.rsplit('.').next() == Some(stem))
        };
        at.short() == wanted || at.function == wanted || by_class().unwrap_or(false)
    }

    fn has_read(&self, read: &ReadItem) -> bool {
        let by = match read.is_end {
            true => self.threads.is_empty() || read.sources.iter().any(|source| self.has_thread(&source.by)),
            false => self.has_thread(&read.at.by),
        };
        let is_meant = |state: &State| match state {
            State::Reads => !read.is_end,
            State::Writes => read.is_end || read.at.writes,
            State::At(place) => !read.is_end && Self::is_place(&read.at, place),
        };
        by && (self.states.is_empty() || self.states.iter().any(is_meant))
    }

    fn has_output(&self, output: &OutputItem) -> bool {
        let name = format!("output:{}", output.at.short());
        let named = self.has_location("output") || self.has_location(&name);
        let is_meant = |state: &State| match state {
            State::Reads => true,
            State::Writes => false,
            State::At(place) => Self::is_place(&output.at, place),
        };
        named && self.has_thread(&output.at.by) && (self.states.is_empty() || self.states.iter().any(is_meant))
    }

    /// Leaves out locations that were not asked for.
    pub fn leave_out(&self, determinism: &mut Determinism) {
        determinism.locations.retain(|item| self.has_location(&item.name));
    }

    /// Leaves out threads and states that were not asked for. `by_reads`: verdicts follow from reads, those that are
    /// left decide.
    pub fn apply(&self, determinism: &mut Determinism, by_reads: bool) {
        if self.is_everything() {
            return;
        }
        determinism.outputs.retain(|output| self.has_output(output));
        for item in &mut determinism.locations {
            let doubtful = !item.reads.is_empty();
            item.reads.retain(|read| self.has_read(read));
            if doubtful && by_reads {
                item.verdict = item.reads.iter().map(|read| verdict(read.why)).max().unwrap_or_default();
            }
            let meant = |pair: &[AccessAt; 2]| pair.iter().any(|one| self.has_thread(&one.by));
            item.race = item.race.take().filter(meant);
        }
    }
}

const fn verdict(why: Why) -> Verdict {
    match why {
        Why::Choice | Why::Derived => Verdict::CanDiffer,
        Why::Unknown => Verdict::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projections_are_read() {
        let both = only("threads=T1,T2,locations=Account.*,states=reads").expect("a projection");
        assert_eq!(both.threads, ["T1", "T2"]);
        assert!(both.has_location("Account.amount") && !both.has_location("Bank.name"));
        assert!(both.has_thread("T1@Bank.java:3") && !both.has_thread("main"));
        assert_eq!(only("states=Bank.java:7").expect("a place").states, [State::At("Bank.java:7".to_owned())]);
        for wrong in ["", "threads", "threads=", "colour=red", "locations=a,,b"] {
            assert!(only(wrong).is_err(), "{wrong}");
        }
    }
}
