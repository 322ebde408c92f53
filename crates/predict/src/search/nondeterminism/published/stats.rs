//! The columns of the paper's Table A1.

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Stats {
    pub windows: u64,
    /// Events of the graphs.
    pub events: u64,
    pub couples: u64,
    /// Column 2.
    pub possible: u64,
    /// Column 3: a cycle in G'.
    pub cyclic: u64,
    /// Column 4: no cycle, and no choice to make.
    pub no_choices: u64,
    /// Column 5.
    pub with_choices: u64,
    /// Pairs of scopes to choose for, of all of those.
    pub choices: u64,
    /// Column 6 times column 5; stays at its largest value.
    pub graphs_possible: u64,
    /// Column 7 times column 5.
    pub graphs_explored: u64,
    /// Of those with choices.
    pub infeasible_by_choice: u64,
    /// With more choice graphs than were explored.
    pub gave_up: u64,
    /// Not looked at: out of time.
    pub left: u64,
}

impl Stats {
    /// Column 9.
    pub fn feasible(&self) -> u64 {
        self.no_choices + self.with_choices - self.infeasible_by_choice
    }

    /// By name, for the report. Averages are per thousand, as numbers there are whole.
    pub fn numbers(&self) -> Vec<(&'static str, u64)> {
        let per_thousand = |sum: u64, of: u64| (u128::from(sum) * 1000).checked_div(u128::from(of)).unwrap_or(0);
        let per_thousand = |sum, of| u64::try_from(per_thousand(sum, of)).unwrap_or(u64::MAX);
        let looked_at = self.possible - self.left;
        vec![
            ("windows", self.windows),
            ("kept_events", self.events),
            ("read_couples", self.couples),
            ("witnesses_possible", self.possible),
            ("witnesses_cyclic", self.cyclic),
            ("witnesses_without_choices", self.no_choices),
            ("witnesses_with_choices", self.with_choices),
            ("witnesses_feasible", self.feasible()),
            ("witnesses_infeasible", looked_at - self.feasible()),
            ("witnesses_infeasible_by_choice", self.infeasible_by_choice),
            ("witnesses_given_up", self.gave_up),
            ("witnesses_not_looked_at", self.left),
            ("choices_per_1000_with_choices", per_thousand(self.choices, self.with_choices)),
            ("choice_graphs_possible_per_1000", per_thousand(self.graphs_possible, self.with_choices)),
            ("choice_graphs_explored_per_1000", per_thousand(self.graphs_explored, self.with_choices)),
            // One for each G', and the choice graphs.
            ("graphs_per_1000_witnesses", per_thousand(looked_at + self.graphs_explored, looked_at)),
        ]
    }
}
