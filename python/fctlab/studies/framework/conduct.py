"""Conducting a study: plan, run, judge, report."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from os import PathLike

from fctlab import choices, studies
from fctlab.errors import SpecError
from fctlab.jobs import at_once
from fctlab.results import store
from fctlab.results.points import PointStore
from fctlab.studies.framework import asked, lengths, readings, runner, settle
from fctlab.studies.framework.asked import Answers
from fctlab.studies.framework.report import FIGURES, Report
from fctlab.studies.framework.runner import Task, Watch, Work
from fctlab.studies.framework.study import SEEDS, Mode, Study

MAX_SEEDS = 40
"""Where `settle` ends unless told otherwise."""


def study(
    which: str | Study,
    mode: Mode = "quick",
    *,
    out: str | PathLike[str],
    force: bool = False,
    seeds: int | None = None,
    only: Sequence[str] = (),
    settled: bool = False,
    settings: bool = False,
    doubled: bool = False,
    max_seeds: int | None = None,
    max_cpu_hours: float | None = None,
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
        settled: give claims that are undecided more seeds until they are decided, see
            `fctlab.studies.framework.settle`.
        settings: judge claims under every reading of what the paper leaves open as well, see
            `fctlab.studies.framework.readings`.
        doubled: run the paper's claims twice as long as well, and say which effects are converged,
            see `fctlab.studies.framework.lengths`.
        max_seeds: with `settled` at most so many; 40 unless given.
        max_cpu_hours: with `settled` no more seeds once the runs have taken so many; with
            `settings` no reading that leads beyond, with `doubled` no longer runs that take more;
            5 unless given.
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
    limits = {"max_seeds": max_seeds, "max_cpu_hours": max_cpu_hours}
    for name, value in (("seeds", seeds), ("workers", workers), ("max_seeds", max_seeds)):
        if value is not None and value < 1:
            raise SpecError(name, f"{value} is not at least 1")
    _check(chosen, seeds, limits, settled, settings, doubled)
    everything = chosen.plan(mode)
    plan = everything.only(only)
    choices.check_distinct("only", only)
    for start in only:
        if not everything.only([start]).claims:
            known = [claim.id for claim in everything.claims if "." not in claim.id]
            choices.check("only", start, known, "a claim")
    number = settle.FIRST if settled else seeds or SEEDS[mode]
    command = ["fctlab", "study", chosen.name, f"--{mode}"]
    command += ["--settle"] if settled else ["--seeds", str(number)]
    command += ["--settings"] if settings else []
    command += ["--double"] if doubled else []
    command += [f"--{k.replace('_', '-')}={v:g}" for k, v in limits.items() if v is not None]
    command += ["--only", ",".join(only)] if only else []
    cells = plan.cells()
    size = runner.expected_bytes(cells, number)
    folders = (runner.STORE, runner.INPUTS, FIGURES)
    with store.gathering(out, folders, size, chosen.name, force) as folder:
        points = PointStore(folder / runner.STORE, create=True)
        work = Work(points, workers or at_once(executor), executor, watch)
        run = partial(runner.run, folder=folder, work=work)
        results = run(cells, number)
        answers = Answers(points)
        with answers.given():
            asking = plan.asking(results)
            while asking:
                asking, wanted = asked.unanswered(asking)
                work.do(map(Task, wanted))
            judged, runs = [claim.judge(results) for claim in plan.claims], results
            if settled:
                most = max_seeds or MAX_SEEDS
                judged, runs = settle.settle(plan.claims, results, run, most, max_cpu_hours)
            hours = max_cpu_hours or readings.MAX_CPU_HOURS
            again = partial(run, seeds=number)
            longer = lengths.double(plan.claims, results, again, hours) if doubled else None
            tried = None
            if settings:
                tried = readings.read(plan.claims, chosen.left_open, results, again, hours)
            text, wall_s = " ".join(command), time.monotonic() - begin
            found = (mode, number, text, wall_s, judged, tried, longer)
            report = Report(chosen, plan, results, runs, *found)
            report.save(folder)
    return report


def _check(
    chosen: Study,
    seeds: int | None,
    limits: Mapping[str, float | None],
    settled: bool,
    settings: bool,
    doubled: bool,
) -> None:
    """Refuse arguments that do not go together."""
    hours = limits["max_cpu_hours"]
    if hours is not None and not hours > 0:
        raise SpecError("max_cpu_hours", f"{hours:g} is not above 0")
    if settled and doubled:
        raise SpecError("doubled", "compares the same seeds for all; settle apart from that")
    if settled and settings:
        raise SpecError("settings", "are tried with the same seeds for all; settle apart from that")
    if settled and seeds is not None:
        raise SpecError("seeds", "are what is settled finds out; leave them out, or say max_seeds")
    for name, limit in limits.items():
        if (
            limit is not None
            and not settled
            and not ((settings or doubled) and name == "max_cpu_hours")
        ):
            raise SpecError(name, "is a limit of settled, which is not asked for")
    if settings and not chosen.left_open.settings:
        raise SpecError("settings", f"study {chosen.name} names none that its paper leaves open")
