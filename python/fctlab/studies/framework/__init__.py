"""What all studies share: how one is described, run, judged and told.

`cells` are scenarios, `runs` what they found, and a `study` is claims and figures about them;
`verdict` says how an effect becomes a verdict, `judged` a claim with what was found, `runner` runs
cells and whatever claims have `asked` for and resumes. `interval` says which flows of a run count.

What goes beyond a study's own runs is `long`: `settle` asks for more seeds, `readings` judges
claims `under` what a paper has `left_open` (`asking` those that ask instead of running cells), and
`lengths` says which effects are converged.

`figures` and `loads` make `pictures` of runs, `likeness` sees that schemes differ on purpose only,
`report` writes what was found, and `conduct` does it all.
"""
