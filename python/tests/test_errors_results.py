"""Errors of results, reports, logs and what-ifs, each provoked once."""

from __future__ import annotations

import gzip
import json
import math
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import fctlab
from fctlab import choices, files
from fctlab.report import predicted, whatifs
from fctlab.results import kinds, store, traces
from fctlab.slo import fit as fits
from fctlab.slo import fitspec, flowlog, logfile, pictures, whatif
from fctlab.studies.framework import conduct
from fctlab.tuning.mapping import COLUMNS, VALUES
from tests.conftest import SMALL
from tests.refusing import refuses
from tests.test_points import filled
from tests.test_whatif import SPEC


def test_lists_and_sets(tmp_path: Path) -> None:
    refuses("only: is empty; known: a, b", choices.check_all, "only", [], ["a", "b"], "a claim")
    says = "sets: 'seed' is not an assignment; write path=value"
    refuses(says, files.assignments, ["seed"])
    refuses(": is a directory, not a scenario", fctlab.load_scenario, tmp_path)
    sweep = tmp_path / "sweep.toml"
    sweep.write_text('scenario = "small.toml"\nseeds = 3\n')
    says = "sweep.toml: is a sweep, for `fctlab sweep`; a scenario is needed here"
    refuses(says, fctlab.load_scenario, sweep)


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two saved runs."""
    out = tmp_path_factory.mktemp("compared") / "out"
    fctlab.compare(SMALL, schemes=["dctcp", "tcp"], out=out)
    return out


def test_a_saved_comparison_is_no_run(compared: Path, tmp_path: Path) -> None:
    file = compared / kinds.SCENARIO
    refuses("runs: this is a saved comparison; run it with compare", fctlab.run, file)
    says = "runs: a saved comparison is run as it is; nothing can be changed"
    refuses(says, fctlab.compare, file, schemes=["dctcp"])
    says = "schemes: is missing; name one or more, such as dctcp,pfabric"
    refuses(says, fctlab.compare, SMALL)
    refuses("out: holds a comparison; its runs are in runs/", kinds.read_run, compared)
    for name in (kinds.SCENARIO, kinds.REPORT):
        (tmp_path / name).write_text(json.dumps({"runs": [3]}))
    says = f"{kinds.SCENARIO}: runs[0]: is not a run of a saved comparison"
    refuses(says, fctlab.Comparison.load, tmp_path)
    refuses("runs[0]: is not a run of a saved comparison", fctlab.compare, {"runs": [3]})


def test_what_is_not_overwritten(compared: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    says = ": holds mine.txt and no result of fctlab's; name another directory, or force=True"
    refuses(says, fctlab.run, SMALL, out=tmp_path)
    says = ": holds 2 runs, more than the 1 that would replace them; force=True replaces them"
    refuses(says, fctlab.run, SMALL, out=compared)
    run = compared / kinds.RUNS
    run = next(run.iterdir())
    says = f": this command reads {kinds.SCENARIO} there; name another directory, or force=True"
    refuses(says, fctlab.run, run / kinds.SCENARIO, out=run)
    says = ": holds another comparison; force=True replaces it"
    refuses(says, store.gathering(compared, ["store"], 1, "swp").__enter__)
    refuses("out: is empty; give a name, or . for the working dir", fctlab.run, SMALL, out="")


def test_files_that_are_not_overwritten(tmp_path: Path) -> None:
    def output(path: Path, **more: Any) -> None:
        store.FileOutput(path, lambda _: False, **more)

    refuses(f"{tmp_path}: is a directory, not a file to write", output, tmp_path)
    file = tmp_path / "read.csv"
    file.write_text("x")
    says = "read.csv: is read by this command; force=True overwrites it"
    refuses(says, output, file, reads=[file])


def test_flows_that_are_no_traces(tmp_path: Path) -> None:
    file = tmp_path / "flows.txt"
    file.write_text("x")
    refuses("flows.txt: is no trace; its name ends in .csv", traces.read, file)
    says = "traffic.trace: is not set; the flows of this result are no trace's"
    refuses(says, fctlab.run(SMALL).with_trace)


def mapped(folder: Path, **columns: list[Any]) -> None:
    """Checks nothing: computes a mapping of a run that has recorded these columns."""
    table = {key: [1] for key in COLUMNS} | {"node": ["a"], "port": ["p"]} | columns
    pl.DataFrame(table).write_parquet(folder / kinds.RECORDINGS / VALUES)
    fctlab.compute_mapping(folder, 4)


def test_values_that_no_mapping_is_made_of(compared: Path) -> None:
    run = next((compared / kinds.RUNS).iterdir())
    says = f"has no {VALUES}" + "; run it with --set record.values={}"
    refuses(says, fctlab.compute_mapping, run, 4)
    (run / kinds.RECORDINGS).mkdir()
    file = run / kinds.RECORDINGS / VALUES
    file.write_text("x")
    refuses(f"{VALUES}: cannot be read as Parquet: ", fctlab.compute_mapping, run, 4)
    refuses(f"{VALUES}: column value has empty values", mapped, run, value=[None])
    refuses(f"{VALUES}: column value has -3; values are 0 and more", mapped, run, value=[-3])
    refuses(f"{VALUES}: is empty: no port has seen any data", mapped, run, packets=[0])


def test_pages_of_what_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    says = f"has no {kinds.WHATIF_FILE}, which a page is made of: run fctlab whatif again"
    refuses(says, whatifs.of_whatif, tmp_path)
    points = filled(tmp_path / "store", 1)
    says = f"{0:032x}.json: is no answer about SLOs: 'plan'"
    refuses(says, predicted._classes, points, f"{0:032x}")
    pages = import_module("fctlab.report.page")
    monkeypatch.setattr(pages, "MOST_BYTES", 1_000_000)
    whole = pages.Page("Title", "x" * 1_000_000)
    refuses("Title: its page would be larger than 1 MB", whole.html)


def log(folder: Path, header: str, *rows: str, name: str = "log.csv") -> Path:
    file = folder / name
    file.write_text("\n".join([header, *rows]) + "\n")
    return file


def test_flow_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuses(
        "log.doc: is not a flow log; its name ends in ",
        flowlog.read,
        log(tmp_path, "start_s,bytes", name="log.doc"),
    )
    one = log(tmp_path, "start_s,bytes", "0.5,1000", "1.5,1000")
    says = f"--names: {one} has no classes; --class names a column"
    refuses(says, flowlog.read, one, names={"web": "Web"})
    whole = log(tmp_path, "when,bytes", "3,1000", "4,1000")
    says = "column when has whole numbers, and nothing says of what; say --time when:ms, or s, us"
    refuses(says, flowlog.read, whole, columns=flowlog.Columns(time="when"))
    packed = tmp_path / "log.csv.gz"
    packed.write_bytes(gzip.compress(b"start_s,bytes\n0.5,1000\n"))
    monkeypatch.setattr(logfile, "_most_unpacked", lambda: 10)
    says = "log.csv.gz: unpacks to more than 10 bytes, which memory has no room for"
    refuses(says, flowlog.read, packed)


def test_logs_that_nothing_is_fitted_to(tmp_path: Path) -> None:
    same = log(tmp_path, "start_s,bytes", *["0.5,1000"] * fits.LEAST)
    refuses("class all: all flows start at once", fits.fit, same)
    says = (
        "--slo: 'tale' in 'tale < 3' is not an SLI; write mean, p50, p99 or p99_9, with short_ or "
        "long_ before it, or _fct or _throughput behind it"
    )
    refuses(says, list, fitspec._slis("tale < 3", 1.0, 0.5, []))


def test_what_ifs() -> None:
    says = "vary: 'a=1:2' is not PATH=FROM:TO:COUNT or PATH=A,B,C with numbers of one unit"
    refuses(says, whatif.read, "a=1:2")
    refuses("vary: 'a=1' has fewer than two values", whatif.read, "a=1")
    says = "vary: 3 values to vary; one or two can be drawn"
    refuses(says, whatif.sweep, SPEC, [whatif.read(f"{x}=1,2") for x in "abc"])
    plain = {**SPEC, "classes": [{**each} for each in SPEC["classes"]]}
    for each in plain["classes"]:
        del each["slo"]
    vary = [whatif.read(f"classes.{x}.weight=1,2") for x in "ab"]
    found = whatif.sweep(plain, vary, most_flows=1000)
    refuses("classes: have no SLO; a region needs at least one", pictures.region, found)


def test_limits_of_studies(tmp_path: Path) -> None:
    says = "max_seeds: is a limit of settled, which is not asked for"
    refuses(says, conduct.study, "swp", out=tmp_path, max_seeds=3)
    says = "max_cpu_hours: is a limit of what is not asked for: settled, settings"
    refuses(says, conduct.study, "swp", out=tmp_path, max_cpu_hours=math.pi)
