"""Conducting a study: plan, run, judge, report."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Executor
from functools import partial
from os import PathLike

from fctlab import choices, studies
from fctlab.errors import SpecError
from fctlab.jobs import at_once
from fctlab.results import store
from fctlab.results.points import PointStore
from fctlab.studies.framework import asked, runner, settle
from fctlab.studies.framework.asked import Answers
from fctlab.studies.framework.asking import Asking
from fctlab.studies.framework.long import Long, do
from fctlab.studies.framework.reading import Reading
from fctlab.studies.framework.report import FIGURES, Report
from fctlab.studies.framework.runner import Task, Watch, Work
from fctlab.studies.framework.study import SEEDS, Claim, Mode, Plan, Study


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
        doubled: run the paper's claims twice as long and on wider fabrics as well, and say which
            effects are converged, see `fctlab.studies.framework.lengths`.
        max_seeds: with `settled` at most so many; 40 unless given.
        max_cpu_hours: with `doubled`, `settings` and `settled`, which are done in this order,
            nothing that would lead beyond, the study's own runs among them; see
            `fctlab.studies.framework.long`.
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
    beyond = Long(doubled, settings, settled, max_seeds, max_cpu_hours)
    _check(chosen, seeds, beyond)
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
            open_ = plan.asking(results)
            while open_:
                open_, wanted = asked.unanswered(open_)
                work.do(map(Task, wanted))
            asking = _asking(chosen, mode, plan, answers, work)
            long = (plan.claims, mode, chosen.left_open, results, run, number, beyond, asking)
            found = do(*long)
            text, wall_s = " ".join(command), time.monotonic() - begin
            beyond_runs = (found.readings, found.lengths, found.asked_s)
            made = (mode, number, text, wall_s, found.judged, *beyond_runs)
            report = Report(chosen, plan, results, found.runs, *made)
            report.save(folder)
    return report


def _asking(chosen: Study, mode: Mode, plan: Plan, answers: Answers, work: Work) -> Asking | None:
    """Makes the claims of the plan under readings, where they ask."""
    asks = chosen.asks
    if asks is None:
        return None
    there = {claim.id for claim in plan.claims}

    def make(reading: Reading) -> list[Claim]:
        return [claim for claim in asks(mode, reading) if claim.id in there]

    return Asking(make, answers, lambda wanted: work.do(map(Task, wanted)))


def _check(chosen: Study, seeds: int | None, long: Long) -> None:
    """Refuse arguments that do not go together."""
    hours = long.max_cpu_hours
    if hours is not None and not hours > 0:
        raise SpecError("max_cpu_hours", f"{hours:g} is not above 0")
    if long.settled and seeds is not None:
        raise SpecError("seeds", "are what is settled finds out; leave them out, or say max_seeds")
    if long.max_seeds is not None and not long.settled:
        raise SpecError("max_seeds", "is a limit of settled, which is not asked for")
    if hours is not None and not (long.settled or long.settings or long.doubled):
        raise SpecError("max_cpu_hours", "is a limit of what is not asked for: settled, settings")
    if long.settings and not chosen.left_open.settings:
        raise SpecError("settings", f"study {chosen.name} names none that its paper leaves open")
