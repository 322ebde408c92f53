//! In which chunks accesses are foreseen: after the first one they are tried, and go on as long as chunks are better for
//! it. Short runs never pay for it, and long ones that gain nothing pay ever less.

/// The longest pause between two trials, in chunks. The first is one, and each is twice as long as the one before.
const LONGEST_PAUSE: u32 = 64;

/// What the launcher asks for (see `foresee` in [`shared::Header`](crate::shared::Header)).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Never,
    WhereItPays,
    Always,
}

pub(super) struct Trials {
    wanted: Wanted,
    /// Chunks until the next trial; 0: it has begun.
    pause: u32,
    /// The pause after the next trial that does not pay.
    next_pause: u32,
    /// Whether the last chunk was better for it.
    paid: bool,
}

impl Trials {
    pub const fn new(foresee: u32) -> Self {
        let wanted = match foresee {
            0 => Wanted::Never,
            1 => Wanted::WhereItPays,
            _ => Wanted::Always,
        };
        // The first chunk is asked for, too.
        Self { wanted, pause: 2, next_pause: 1, paid: false }
    }

    /// So many accesses of a chunk of so many words were foreseen.
    pub const fn judge(&mut self, foreseen: u64, words: u64) {
        self.paid = foreseen > words + words / 2;
    }

    /// Whether the next chunk is one. `is_on`: the last one was, to its end.
    pub fn next(&mut self, is_on: bool) -> bool {
        match self.wanted {
            Wanted::Never => return false,
            Wanted::Always => return true,
            Wanted::WhereItPays => {}
        }
        if is_on && self.paid {
            self.next_pause = 1;
            return true;
        }
        if self.pause == 0 {
            // It was tried, and rests or pays too little.
            self.pause = self.next_pause;
            self.next_pause = (self.next_pause * 2).min(LONGEST_PAUSE);
            return false;
        }
        self.pause -= 1;
        self.pause == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether each of so many chunks is one, if all that are do (not) pay.
    fn chunks(foresee: u32, count: usize, pays: bool) -> Vec<bool> {
        let (mut trials, mut on) = (Trials::new(foresee), false);
        let mut next = || {
            on = trials.next(on);
            trials.judge(if pays && on { 100 } else { 0 }, 50);
            on
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn trials_go_on_where_they_pay_and_become_rare_where_not() {
        assert_eq!(chunks(1, 5, true), [false, true, true, true, true]);
        let tried = chunks(1, 600, false);
        let at: Vec<usize> = (0..tried.len()).filter(|&chunk| tried[chunk]).collect();
        assert_eq!(at, [1, 3, 6, 11, 20, 37, 70, 135, 200, 265, 330, 395, 460, 525, 590]);
        assert_eq!((chunks(0, 3, true), chunks(2, 3, false)), (vec![false; 3], vec![true; 3]));
    }
}
