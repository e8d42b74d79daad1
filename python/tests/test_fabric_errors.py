"""What intervals include of the fluid's errors, and the file of them that the study becomes."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
from typer.testing import CliRunner

from fctlab.cli.app import app
from fctlab.fabric import accuracy, asked, judging, windows
from fctlab.fabric.accuracy import Accuracy, Size
from fctlab.fabric.types import Error
from fctlab.jobs import Job
from fctlab.results.points import PointStore
from tests.test_fabric import EXACT, spec


def test_the_error_of_the_fluid_is_that_of_its_load_and_sizes() -> None:
    read = asked.load(spec())
    found = accuracy.errors(read, EXACT)
    # All sizes, of both loads around that of the scenario, and those between 10 and 100 KB.
    assert [(each.low, each.high, each.open) for each in found] == [(0.95, 1.02, "")] * 2
    classes = spec()["traffic"]["classes"]
    few = {"name": "tail", "metric": "p99", "attr": "throughput", "below": "5KB"}
    classes[0] = {**classes[0], "slis": [few], "slo": "tail > 1Mbps"}
    traffic = {**spec()["traffic"], "classes": classes}
    small = accuracy.errors(asked.load(spec(traffic=traffic)), EXACT)[0]
    assert (small.low, small.high, small.open != "") == (1.0, 1.0, True)
    busy = accuracy.errors(asked.load(spec(), ["traffic.load=0.94"]), EXACT)[0]
    assert busy.open.startswith("the busiest link has a load of")
    discipline = {"kind": "strict", "classes": 2}
    ports = {"port": {"discipline": discipline}, "nic": {"discipline": "fifo"}}
    strict = spec(scheme={"preset": "dctcp-rate", **ports})
    assert accuracy.errors(asked.load(strict), EXACT)[0].open.startswith("ports are strict")
    assert accuracy.errors(asked.load(spec(), engine="packet"), EXACT) == ()


def test_errors_of_other_ports_and_of_bursts_do_not_count() -> None:
    plain = EXACT.cases[0]
    wide = (Size(above=0, up_to=None, mean=1.3, tail=1.5),)
    fifo, strict, incast = (
        msgspec.structs.replace(plain, disciplines=(port,), patterns=(pattern,), load=0.5, **more)
        for port, pattern, more in (
            ("fifo", "all-to-all", {}),
            ("strict", "all-to-all", {"sizes": wide}),
            ("fifo", "incast", {"sizes": wide}),
        )
    )
    classes = [
        {k: v for k, v in each.items() if k != "dscp"} for each in spec()["traffic"]["classes"]
    ]
    traffic = spec()["traffic"] | {"classes": classes}
    read = asked.load(spec(scheme={"preset": "dctcp-rate"}, traffic=traffic))
    both_ends = tuple(msgspec.structs.replace(fifo, load=load) for load in (0.1, 0.9))
    measured = Accuracy(engines=(), cases=(fifo, strict, incast, *both_ends))
    assert accuracy.near(read, measured)[0] == fifo
    assert {each.high for each in accuracy.errors(read, measured)} == {1.0}
    none = Accuracy(
        engines=(),
        cases=(
            strict,
            incast,
            *(msgspec.structs.replace(strict, load=load) for load in (0.1, 0.9)),
        ),
    )
    assert accuracy.errors(read, none)[0].open


def test_a_study_becomes_the_file_of_errors(tmp_path: Path) -> None:
    from fctlab.results.points import Found, Wanted
    from fctlab.results.simulation import simulated

    store = PointStore(tmp_path / "store", create=True)
    given = {"scenario": asked.load(spec(), engine="packet").tables, "keep": "summary"}
    ratios = {"mean all": 0.99, "tail all": 1.02, "mean 100 KB": 0.98, "tail 100 KB": 0.97}
    found = {"kept": {"fluid": ratios}}
    store.keep(Wanted.of(Job("a case", simulated, given)), Found(found, {"engine": "e"}))
    told = CliRunner().invoke(app, ["fabric", "accuracy", str(tmp_path)])
    (case,) = json.loads(told.stdout)["cases"]
    assert (case["disciplines"], case["patterns"]) == (["wfq"], ["all-to-all"])
    assert 0.5 < case["load"] < 0.6 and case["rate_bps"] == 1e10
    assert case["sizes"] == [
        {"above": 0, "up_to": None, "mean": 0.99, "tail": 1.02},
        {"above": 1e4, "up_to": 1e5, "mean": 0.98, "tail": 0.97},
    ]
    empty = CliRunner().invoke(app, ["fabric", "accuracy", str(tmp_path / "none")])
    assert empty.exit_code != 0
    # Another seed of it is no case of its own. It had too few flows of one size for a tail.
    given["scenario"] = asked.load(spec(seed=3), engine="packet").tables
    other = {"kept": {"fluid": {"mean all": 1.01, "tail all": 1.08}}}
    store.keep(Wanted.of(Job("a case", simulated, given)), Found(other, {"engine": "e"}))
    told = CliRunner().invoke(app, ["fabric", "accuracy", str(tmp_path)])
    (case,) = json.loads(told.stdout)["cases"]
    everything, small = case["sizes"]
    assert everything["mean"] == round((0.99 * 1.01) ** 0.5, 4)
    assert everything["tail"] == round((1.02 * 1.08) ** 0.5, 4)
    assert (small["mean"], small["tail"]) == (0.98, 0.97)
    # A study that went on with another engine: its report says with which.
    given["scenario"] = asked.load(spec(seed=2), engine="packet").tables
    store.keep(Wanted.of(Job("a case", simulated, given)), Found(found, {"engine": "f"}))
    told = CliRunner().invoke(app, ["fabric", "accuracy", str(tmp_path)])
    assert "holds runs of several engines (e, f)" in str(told.exception)
    (tmp_path / "report.json").write_text('{"engine": "f"}')
    told = CliRunner().invoke(app, ["fabric", "accuracy", str(tmp_path)])
    assert json.loads(told.stdout)["engines"] == ["f"]


def test_an_sli_without_an_error_is_open() -> None:
    read = asked.load(spec())
    run = windows.run(read, [1])
    left_out = Error(traffic_class="rpc", sli="tail", low=1.0, high=1.0, open="nobody measured it")
    found = judging.judge(read, run, [left_out])
    assert found[0].verdict == "undecided" and found[0].why.startswith("nobody measured it")
    assert found[1].verdict != "undecided" or "measured" not in found[1].why
