//! Progress of long work, when somebody watches: what is being done, how far it is, and what is left of the time.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// How often the time that is left is drawn, whether anything happens or not.
const TICK: Duration = Duration::from_millis(250);

pub struct Bar(ProgressBar);

impl Bar {
    /// Draws on stderr if that is a terminal, and nothing otherwise.
    pub fn new(what: &'static str, total: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(10));
        if let Ok(style) = ProgressStyle::with_template("{msg} {bar:30} {percent}% ({eta})") {
            bar.set_style(style);
        }
        bar.set_message(what);
        Self(bar)
    }

    /// One bar for work of several phases that has to be done at a time.
    pub fn until(deadline: Instant) -> Self {
        let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr_with_hz(10));
        let left = move |_: &ProgressState, out: &mut dyn std::fmt::Write| {
            let _ = write!(out, "{} left", time(deadline.saturating_duration_since(Instant::now())));
        };
        if let Ok(style) = ProgressStyle::with_template("{prefix:<15} {bar:24} {msg}{left}") {
            bar.set_style(style.with_key("left", left));
        }
        bar.enable_steady_tick(TICK);
        Self(bar)
    }

    /// What is being done, how far that is, and a word on it.
    pub fn phase(&self, what: &'static str, done: u64, total: u64, note: &str) {
        if self.0.prefix() != what {
            self.0.set_prefix(what);
        }
        self.0.set_length(total.max(1));
        self.0.set_position(done.min(total));
        let note = if note.is_empty() { String::new() } else { format!("{note}, ") };
        if self.0.message() != note {
            self.0.set_message(note);
        }
    }

    /// A line that stays, above the bar; a plain line where nobody watches.
    pub fn print_line(&self, line: &str) {
        self.0.suspend(|| eprintln!("{line}"));
    }

    pub fn at(&self, position: u64) {
        self.0.set_position(position);
    }

    pub fn done(self) {
        self.0.finish_and_clear();
    }
}

/// `2m 05s`, `41s`
fn time(left: Duration) -> String {
    // Half a second is none to people.
    let seconds = (left.as_secs_f64() + 0.5) as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m {seconds:02}s"),
        (hours, minutes, _) => format!("{hours}h {minutes:02}m"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        let told = |seconds| time(Duration::from_secs(seconds));
        assert_eq!([told(0), told(41), told(125), told(7260)], ["0s", "41s", "2m 05s", "2h 01m"]);
        assert_eq!(time(Duration::from_millis(59_600)), "1m 00s");
    }
}
