from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import types
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import fctlab
from fctlab import jobs, studies
from fctlab.cli.app import app
from fctlab.results import result, simulation, store
from fctlab.results.points import PointStore
from fctlab.results.result import Result
from fctlab.studies.framework import figures
from fctlab.studies.framework.cells import Cell, Source
from fctlab.studies.framework.conduct import study
from fctlab.studies.framework.figures import Quantity
from fctlab.studies.framework.judged import hosts as hosts_of
from fctlab.studies.framework.runner import Status
from fctlab.studies.framework.runs import SLOWDOWN, Results, Run, metric
from fctlab.studies.framework.study import Check, Claim, Figure, Mode, Part, Plan, Study, ratio
from fctlab.studies.framework.verdict import Band, Computed, Exact, Number, Sign, Verdict
from tests.conftest import PROGRAM, SMALL, Program
from tests.test_store import interrupt, wait_for

TABLE = "size_bytes,cumulative_probability\n1000,0\n1000,0.5\n300000,1\n"


def sizes(found: Result) -> dict[str, Any]:
    """Kept beside the summary."""
    return {"bytes": int(found.flows["size_bytes"].sum())}


def trace(found: Result) -> str:
    """The flows of a run."""
    return found.flows.select("start_s", "src", "dst", "size_bytes").write_csv()


def two_cells(mode: Mode) -> Plan:
    """Web-like sizes from a file, under DCTCP and under pFabric's SRPT."""
    sizes_file = {"kind": "cdf", "file": Source("sizes.csv", str, (TABLE,))}
    traffic = {"workload": sizes_file, "load": 0.6, "flows": 300}
    fifo, srpt = (
        Cell(name, {**SMALL, "traffic": traffic, "scheme": preset}, cost, keep)
        for name, preset, cost, keep in (("fifo", "dctcp", 1, None), ("srpt", "pfabric", 2, sizes))
    )

    def draw(results: Results) -> Any:
        groups = {"all": {"FIFO": ((fifo,), SLOWDOWN), "SRPT": ((srpt,), SLOWDOWN)}}
        return figures.bars(results, [("(a)", Quantity("slowdown"), groups)])

    return Plan(
        claims=[
            Claim("two-1", "SRPT < FIFO", "better", (ratio("FIFO / SRPT", fifo, srpt, Sign(1)),)),
            Claim(
                "two-2",
                "equal & exact",
                "1x; 3",
                (
                    ratio("itself", fifo, fifo, Band.within(0.05), "1x", of=metric("p99_fct_s")),
                    Part("one and two", "3", Exact(3), (), lambda: 1 + 2),
                    ratio("beside", srpt, fifo, Number(70), "70x", counts=False),
                ),
            ),
            Claim(
                "two-10",
                "SRPT is 70 times worse",
                "70x",
                (ratio("SRPT / FIFO", srpt, fifo, Number(70), "70x"),),
                why=lambda results: f"FIFO's slowdown is {results.mean(fifo, SLOWDOWN):.2f}.",
            ),
            Claim("two-x1", "more?", "open", (ratio("x", fifo, srpt, Sign(1)),), beyond=True),
        ],
        figures=[Figure("bars", "Two bars", "As <b>expected</b>.", (fifo, srpt), draw, ("two-1",))],
        checks=[Check("flows", "300", (srpt,), lambda r: f"{r.of(srpt)[0].of('all')['flows']}")],
        notes=[f"a {mode} test"],
    )


TWO = Study("two", "Two cells", "Nobody: Nothing. Nowhere.", two_cells)


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the scenarios that were really run."""
    names: list[str] = []
    simulate = result.simulate

    def watched(scenario: fctlab.scenario.Prepared, *rest: Any) -> Result:
        names.append(f"{scenario['scheme']['name']} {scenario['seed']}")
        return simulate(scenario, *rest)

    monkeypatch.setattr(simulation, "simulate", watched)
    return names


def test_a_study_judges_every_claim_and_writes_three_reports(tmp_path: Path) -> None:
    found = study(TWO, out=tmp_path / "out", seeds=3)
    written = json.loads((tmp_path / "out" / "report.json").read_text())
    assert written == found.json
    assert (written["study"], written["mode"], written["seeds"]) == ("two", "quick", 3)
    claims = {claim["id"]: claim for claim in written["claims"]}
    assert list(claims) == ["two-1", "two-2", "two-10", "two-x1"]
    for claim in claims.values():
        assert claim.keys() >= {"id", "claim", "paper", "here", "ci95", "verdict", "why"}
    assert claims["two-1"]["verdict"] == "agrees" and claims["two-1"]["why"] == ""
    low, high = claims["two-1"]["ci95"]
    assert 1 < low < high
    assert claims["two-2"]["verdict"] == "agrees"  # what stands beside does not count
    assert claims["two-2"]["here"] == "itself 1.00x; one and two 3"
    assert claims["two-10"]["verdict"] == "differs"
    assert re.fullmatch(r"FIFO's slowdown is \d\.\d\d\.", claims["two-10"]["why"])
    assert written["runs"]["runs"] == 6 and written["checks"][0]["here"] == "300"

    page = (tmp_path / "out" / "report.html").read_text()
    text = (tmp_path / "out" / "report.md").read_text()
    for claim in found.plan.claims:
        if len(claim.parts) > 1:
            assert all(part.name in text and part.name in page for part in claim.parts)
        assert f'id="{claim.id}"' in page and f"| {claim.id} |" in text
    assert "SRPT &lt; FIFO" in page and "As &lt;b&gt;expected" in page
    assert 'id="figure-bars"' in page
    assert not re.search(r'(src|href)="(?!#)', page)  # it needs no other file
    assert (tmp_path / "out" / "figures" / "bars.png").read_bytes().startswith(b"\x89PNG")
    assert "(beside)" in page and found.command in page


@pytest.mark.parametrize(
    ("topology", "hosts"),
    [
        ({"kind": "star", "senders": 3}, 4),
        ({"kind": "leaf-spine", "leaves": 9, "hosts_per_leaf": 16}, 144),
        ({"kind": "fat-tree", "k": 4}, 16),
        ({"kind": "ring"}, None),
    ],
)
def test_hosts_of_a_topology(topology: dict[str, Any], hosts: int | None) -> None:
    assert hosts_of(topology) == hosts


def test_arithmetic_is_called_computed_and_nothing_else() -> None:
    part = Part("6 x 7", "42", Computed(42), (), lambda: 6 * 7)
    nothing = Results([])
    assert part.judge(nothing).verdict is Verdict.COMPUTED
    assert replace(part, expected=Exact(42)).judge(nothing).verdict is Verdict.AGREES
    assert replace(part, expected=Computed(41)).judge(nothing).verdict is Verdict.DIFFERS
    claim = Claim("c", "", "", (part, replace(part, expected=Exact(42))))
    assert claim.judge(nothing).verdict is Verdict.AGREES
    (table_size,) = (c for c in studies.load("ads").plan("quick").claims if c.id == "ads-17")
    assert table_size.judge(nothing).verdict is Verdict.COMPUTED


def test_runs_are_paired_by_seed_and_remember_what_was_asked(tmp_path: Path) -> None:
    found = study(TWO, out=tmp_path, seeds=2).results
    fifo, srpt = TWO.plan("quick").cells()
    runs: list[Run] = found.of(srpt)
    assert [run.seed for run in runs] == [1, 2]
    assert runs[0].kept["bytes"] != runs[1].kept["bytes"]
    ratios = found.measured([fifo, srpt], lambda a, b: SLOWDOWN(a) / SLOWDOWN(b))
    for seed, ratio_here in zip((1, 2), ratios, strict=True):
        (tmp_path / "mine.csv").write_text(TABLE)
        scenario = {**SMALL, "traffic": {**SMALL["traffic"], "load": 0.6}}
        scenario["traffic"]["workload"] = {"kind": "cdf", "file": str(tmp_path / "mine.csv")}
        slowdowns = [
            fctlab.run({**scenario, "scheme": scheme}, seed=seed).summary["avg_slowdown"][0]
            for scheme in ("dctcp", "pfabric")
        ]
        assert ratio_here == pytest.approx(slowdowns[0] / slowdowns[1], rel=1e-12)


def test_a_finished_study_runs_nothing_again(tmp_path: Path, simulated: list[str]) -> None:
    first = study(TWO, out=tmp_path, seeds=2, workers=1)
    # The more costly cell is first.
    assert simulated == ["pfabric 1", "pfabric 2", "dctcp 1", "dctcp 2"]
    again = study(TWO, out=tmp_path, seeds=2)
    assert len(simulated) == 4
    assert again.json["claims"] == first.json["claims"]
    study(TWO, out=tmp_path, seeds=3)
    assert sorted(simulated[4:]) == ["dctcp 3", "pfabric 3"]


def test_a_stopped_study_goes_on(tmp_path: Path, simulated: list[str]) -> None:
    def stop(seen: Status) -> None:
        if seen.total == 40 and seen.done > 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"kept \d+ finished runs? in .*goes on from there"):
        study(TWO, out=tmp_path, seeds=20, workers=1, watch=stop)
    kept = len(PointStore(tmp_path / "store").names())
    started = len(simulated)
    assert not (tmp_path / "report.json").exists()
    assert 0 < kept < 40
    study(TWO, out=tmp_path, seeds=20)
    assert len(simulated) == started + 40 - kept
    assert not list(tmp_path.rglob(".fctlab-*"))


def test_cells_are_known_by_what_they_simulate(
    tmp_path: Path, simulated: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def with_load(load: float, text: str) -> Study:
        file = Source("sizes.csv", str, (text,))
        traffic = {"workload": {"kind": "cdf", "file": file}, "load": load, "flows": 50}
        cell = Cell("only", {**SMALL, "traffic": traffic})
        part = ratio("r", cell, cell, Band.within(0.1))
        return Study("s", "s", "s", lambda _: Plan([Claim("s-1", "s", "s", (part,))]))

    study(with_load(0.3, TABLE), out=tmp_path, seeds=1)
    study(with_load(0.3, TABLE), out=tmp_path, seeds=1)
    assert len(simulated) == 1
    study(with_load(0.4, TABLE), out=tmp_path, seeds=1)
    assert len(simulated) == 2
    study(with_load(0.4, TABLE.replace("0.5", "0.6")), out=tmp_path, seeds=1)
    assert len(simulated) == 3  # the same scenario reads another file
    monkeypatch.setattr(jobs, "engine", lambda: "another build")
    study(with_load(0.3, TABLE), out=tmp_path, seeds=1)
    assert len(simulated) == 4


def test_a_source_may_come_from_a_run(tmp_path: Path, simulated: list[str]) -> None:
    first: dict[str, Any] = {**SMALL, "traffic": {**SMALL["traffic"], "flows": 40}, "scheme": "tcp"}

    sizes_file = {"kind": "cdf", "file": Source("sizes.csv", str, (TABLE,))}
    first["traffic"]["workload"] = sizes_file  # a run may need files, too

    def replay(name: str) -> Cell:
        source = Source(f"{name}.csv", trace, (), first)
        return Cell(name, {**SMALL, "traffic": {"trace": source}})

    part = ratio("r", replay("a"), replay("b"), Band.within(0.1))
    replayed = Study("s", "s", "s", lambda _: Plan([Claim("s-1", "s", "s", (part,))]))
    found = study(replayed, out=tmp_path, seeds=1)
    assert found.judged[0].verdict is Verdict.DIRECTION  # equal, but one seed has no interval
    assert simulated.count("tcp 1") == 1  # one run for both files
    assert len(list((tmp_path / "inputs").iterdir())) == 3
    assert len(simulated) == 2  # what two cells have in common in all but name is run once
    study(replayed, out=tmp_path, seeds=1)
    assert len(simulated) == 2


def test_a_failing_run_is_told_and_stops_the_study(tmp_path: Path) -> None:
    missing = {**SMALL, "traffic": {"trace": str(tmp_path / "none.csv")}}
    part = ratio("r", Cell("a", missing), Cell("b", SMALL), Sign(1))
    broken = Study("s", "s", "s", lambda _: Plan([Claim("s-1", "s", "s", (part,))]))
    with pytest.raises(fctlab.SpecError, match=r"none\.csv"):
        study(broken, out=tmp_path / "out", seeds=1)


def test_two_cells_of_one_name_are_a_mistake() -> None:
    part = ratio("r", Cell("a", SMALL), Cell("a", SMALL), Sign(1))
    with pytest.raises(ValueError, match="two cells are called a"):
        Plan([Claim("s-1", "s", "s", (part,))]).cells()


def test_only_chooses_claims_by_whole_numbers(tmp_path: Path) -> None:
    def chosen(*prefixes: str) -> list[str]:
        return [claim.id for claim in two_cells("quick").only(prefixes).claims]

    assert chosen("two-1") == ["two-1"]
    assert chosen("two-1", "two-x") == ["two-1", "two-x1"]
    assert chosen("two-") == ["two-1", "two-2", "two-10", "two-x1"]
    assert [f.id for f in two_cells("quick").only(["two-1"]).figures] == ["bars"]
    assert two_cells("quick").only(["two-2"]).figures == []
    with pytest.raises(fctlab.SpecError, match=r"two-3.*known: two-1, two-2"):
        study(TWO, out=tmp_path / "out", only=["two-3"])
    assert not (tmp_path / "out").exists()


def test_what_explains_a_claim_may_be_left_out(tmp_path: Path) -> None:
    """By `only`: its words rest on another claim's runs."""

    def plan(mode: Mode) -> Plan:
        whole = two_cells(mode)
        fifo, srpt = whole.claims[0].parts[0].cells
        claim = Claim(
            "two-5",
            "FIFO is worse than itself",
            "70x",
            (ratio("FIFO / FIFO", fifo, fifo, Number(70), "70x"),),
            why=lambda results: f"SRPT's slowdown is {results.mean(srpt, SLOWDOWN):.2f}.",
        )
        return Plan([*whole.claims, claim])

    explained = Study("two", "Two cells", "Nobody: Nothing. Nowhere.", plan)
    (judged,) = study(explained, out=tmp_path / "one", only=["two-5"], seeds=2).judged
    assert "--only left it out" in judged.why
    *_, judged = study(explained, out=tmp_path / "all", seeds=2).judged
    assert "SRPT's slowdown is" in judged.why


def test_a_file_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write_whole(tmp_path / "a", "old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        store.write_whole(tmp_path / "a", "new")
    assert [(f.name, f.read_text()) for f in tmp_path.iterdir()] == [("a", "old")]


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> None:
    """The study of two cells, as if it came with fctlab."""
    module = types.ModuleType("fctlab.studies.two")
    module.STUDY = TWO  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "fctlab.studies.two", module)
    monkeypatch.setitem(studies.STUDIES, "two", "A test.")


@pytest.mark.usefixtures("two")
def test_the_command_prints_a_table_or_one_object(tmp_path: Path) -> None:
    arguments = ["study", "two", "--seeds", "4", "--out", str(tmp_path), "--progress"]
    table = CliRunner().invoke(app, arguments)
    assert table.exit_code == 0, table.output
    for shown in ("two-10", "SRPT is 70 times", "differs", "claims: 2 agrees, 1 differs", "hops"):
        assert shown in " ".join(table.stdout.split()), table.stdout
    assert "8 of 8 runs" in table.stderr and "saved in" in table.stderr
    found = CliRunner().invoke(app, [*arguments, "--json", "--only", "two-1"])
    assert [claim["id"] for claim in json.loads(found.stdout)["claims"]] == ["two-1"]


def test_a_computed_claim_of_the_real_study(program: Program, tmp_path: Path) -> None:
    done = program("study", "ads", "--only", "ads-17", "--out", "out", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["mode"] == "quick" and found["claims"][0]["verdict"] == "computed"
    assert "1,399" in found["claims"][0]["here"]
    assert {"report.json", "report.md", "report.html"} <= {
        f.name for f in (tmp_path / "out").iterdir()
    }


BAD: dict[str, tuple[list[str], str]] = {
    "study": (["adss"], "study: 'adss' is not a study; did you mean 'ads'? known: ads"),
    "claim": (["ads", "--only", "ads-99"], "only: 'ads-99' is not a claim; did you mean "),
    "hole": (["ads", "--only", "ads-1,"], "--only"),
    "seeds": (["ads", "--seeds", "0"], "seeds: 0 is not at least 1"),
    "workers": (["ads", "--workers", "0"], "workers: 0 is not at least 1"),
    "mode": (["ads", "--fast"], "--fast"),
}


def refused(done: subprocess.CompletedProcess[str], message: str) -> None:
    assert done.returncode == 2, done
    assert done.stdout == "" and done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("error: ") and message in done.stderr


@pytest.mark.parametrize("name", BAD)
def test_study_refuses(program: Program, tmp_path: Path, name: str) -> None:
    arguments, message = BAD[name]
    refused(program("study", *arguments, "--out", "out"), message)
    assert list(tmp_path.iterdir()) == []


def test_study_refuses_an_output_that_cannot_be(program: Program, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for out in ("file", "file/below", "/proc/fctlab"):
        refused(program("study", "ads", "--out", out), out)


def test_ctrl_c_ends_a_study_within_a_second_and_says_how_to_go_on(tmp_path: Path) -> None:
    command = [PROGRAM, "study", "ads", "--only", "ads-2", "--workers", "1", "--out", "out"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        wait_for(tmp_path, "out/store/points/*/*.json")
        said = interrupt(process, signal.SIGINT)
    counted = re.fullmatch(
        r"interrupted: kept (\d+) finished runs? in out/store; "
        r"the same command goes on from there\n",
        said,
    )
    assert counted, said
    kept = PointStore(tmp_path / "out" / "store").names()
    assert len(kept) == int(counted[1]) > 0
    assert [f.name for f in (tmp_path / "out").iterdir()] == ["store"]


@pytest.mark.parametrize("mode", ["quick", "full"])
def test_the_studies_have_every_claim_once(mode: Mode) -> None:
    plan = studies.load("ads").plan(mode)
    ids = [claim.id for claim in plan.claims]
    assert len(ids) == len(set(ids))
    assert {f"ads-{n}" for n in range(1, 18)} | {"ads-x1", "ads-x2", "ads-x3"} <= set(ids)
    assert all(name in ids for figure in plan.figures for name in figure.claims)
    assert plan.cells()


def test_judging_is_a_matter_of_the_parts_that_count() -> None:
    computed: Callable[[float, bool], Part] = lambda value, counts: Part(  # noqa: E731
        "p", "", Exact(1), (), lambda: value, counts
    )
    claim = Claim("c", "c", "c", (computed(1, True), computed(2, False)))
    assert claim.judge(Results([])).verdict is Verdict.AGREES
    claim = Claim("c", "c", "c", (computed(1, True), computed(2, True)))
    assert claim.judge(Results([])).verdict is Verdict.DIFFERS


@pytest.mark.parametrize("mode", ["quick", "full"])
def test_every_cell_of_the_studies_is_a_scenario(mode: Mode, tmp_path: Path) -> None:
    cells = studies.load("ads").plan(mode).cells()

    def filled(value: Any) -> Any:
        if isinstance(value, Source):
            if value.scenario is None:
                text = value.make(*value.arguments)
            else:  # a mapping: of so many queues as its name says
                queues = int(Path(value.name).stem.rpartition("-")[2])
                text = json.dumps({"thresholds": list(range(1, queues))})
            (tmp_path / value.name).write_text(text)
            return str(tmp_path / value.name)
        if isinstance(value, dict):
            return {key: filled(inner) for key, inner in value.items()}
        return value

    for cell in cells:
        resolved = fctlab.load_scenario(filled(dict(cell.scenario))).resolve()
        assert resolved["scheme"]["name"]
