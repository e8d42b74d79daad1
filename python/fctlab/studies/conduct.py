"""Conducting a study: plan, run, judge, report."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Executor
from os import PathLike

from fctlab import studies
from fctlab.errors import SpecError
from fctlab.jobs import at_once
from fctlab.results import store
from fctlab.results.points import PointStore
from fctlab.studies import asked, runner
from fctlab.studies.asked import Answers
from fctlab.studies.report import FIGURES, Report
from fctlab.studies.runner import Task, Watch, Work
from fctlab.studies.study import SEEDS, Mode, Study


def study(
    which: str | Study,
    mode: Mode = "quick",
    *,
    out: str | PathLike[str],
    force: bool = False,
    seeds: int | None = None,
    only: Sequence[str] = (),
    workers: int | None = None,
    executor: Executor | None = None,
    watch: Watch | None = None,
) -> Report:
    """Measure every claim of a paper and write the report.

    Args:
        which: name of a study.
        mode: ``"quick"`` shrinks fabric, flows and seeds, never the list of claims;
            ``"full"`` is the paper's scale.
        out: directory of the report; every finished run and answer is a point of its ``store/``,
            and a study that is started again there goes on where it ended.
        force: let `out` replace another result, or be a directory that holds something else.
        seeds: 5 (quick) or 10 (full) unless given.
        only: the claims whose ids start so, instead of all.
        workers: runs at once; one per core unless given.
        executor: of ``concurrent.futures``, does the runs instead of threads of this process.
        watch: told how far the study has come.

    Raises:
        SpecError: an unknown study or a mistake in an argument; nothing has been simulated.
        OutputError: `out` cannot be written, or holds what is not overwritten without `force`.
        KeyboardInterrupt: on Ctrl-C, within a second; its text says what was kept.
    """
    begin = time.monotonic()
    chosen = studies.load(which) if isinstance(which, str) else which
    for name, value in (("seeds", seeds), ("workers", workers)):
        if value is not None and value < 1:
            raise SpecError(name, f"{value} is not at least 1")
    everything = chosen.plan(mode)
    plan = everything.only(only)
    if not plan.claims:
        known = ", ".join(claim.id for claim in everything.claims if "." not in claim.id)
        raise SpecError("only", f"{','.join(only)!r} is no claim; known: {known}")
    number = seeds or SEEDS[mode]
    command = ["fctlab", "study", chosen.name, f"--{mode}", "--seeds", str(number)]
    command += ["--only", ",".join(only)] if only else []
    cells = plan.cells()
    size = runner.expected_bytes(cells, number)
    folders = (runner.STORE, runner.INPUTS, FIGURES)
    with store.gathering(out, folders, size, chosen.name, force) as folder:
        points = PointStore(folder / runner.STORE, create=True)
        work = Work(points, workers or at_once(executor), executor, watch)
        results = runner.run(cells, number, folder, work)
        answers = Answers(points)
        with answers.given():
            while wanted := asked.missing(plan.asking(results)):
                work.do(map(Task, wanted))
            wall_s = time.monotonic() - begin
            report = Report(chosen, plan, results, mode, number, " ".join(command), wall_s)
            report.save(folder)
    return report
