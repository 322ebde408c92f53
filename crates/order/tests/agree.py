"""Asks Z3 what `cargo run -p reweave-order --release --example formulas -- DIR N` asked this solver.

Needs the z3-solver package. Usage: agree.py DIR. Exit code 1 if any answer differs, or if one of the two answers is rare.
"""
import collections
import pathlib
import sys

import z3

folder = pathlib.Path(sys.argv[1])
seen = collections.Counter()
different = []
for line in (folder / "answers.txt").read_text().splitlines():
    name, ours = line.split()
    solver = z3.Solver()
    solver.from_file(str(folder / name))
    theirs = str(solver.check())
    seen[theirs] += 1
    if ours != theirs:
        different.append((name, ours, theirs))
print(dict(seen), "different:", different)
rare = min(seen["sat"], seen["unsat"]) * 10 < sum(seen.values())
sys.exit(1 if different or rare else 0)
