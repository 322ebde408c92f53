//! Progress of long work, when somebody watches.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

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

    pub fn at(&self, position: u64) {
        self.0.set_position(position);
    }

    pub fn done(self) {
        self.0.finish_and_clear();
    }
}
