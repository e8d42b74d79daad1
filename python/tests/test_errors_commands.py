"""Errors of commands that no function of theirs makes, each provoked once."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from fctlab.cli.app import app
from fctlab.cli.options import items
from fctlab.theory import bigswitch, draw
from tests.refusing import refuses

COMMANDS: list[tuple[str, str]] = [
    ("export sonic plan --init plan", "--init: takes the RESULT itself; leave out the argument"),
    ("export sonic", "RESULT: is missing: a plan's directory, or a file of thresholds"),
    (
        "fit log.csv --link 1Gbps",
        "--link: takes --link and --rtt, such as --link 100Gbps --rtt 10us",
    ),
    ("trace log.csv --out trace.txt", "--out: trace.txt is no .parquet file"),
    ("trace log.csv --out trace.parquet --rate fast", "--rate: 'fast' is no rate in Tbps, Gbps"),
    ("bigswitch draw figure-1 --out a.doc", "--out: a.doc is no .png, .svg or .pdf file"),
    (
        "bigswitch worst-case fifo --theorem 1 --factor 15 --out found.json",
        "--out: the instance has more than 100,000 flows, the most that are saved",
    ),
]


@pytest.mark.parametrize(("words", "says"), COMMANDS, ids=[says for _, says in COMMANDS])
def test_a_command_is_refused(
    words: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.csv").write_text("start_s,bytes\n0.5,1000\n")
    refuses(says, CliRunner().invoke, app, words.split(), catch_exceptions=False)
    assert [file.name for file in tmp_path.iterdir()] == ["log.csv"]


def test_a_list_has_something() -> None:
    says = "--loads: is empty; write a number, or several with commas between"
    refuses(says, items, "--loads", " ", float)


def test_optima_that_are_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    flows = [{"packets": [1, 2], "ingress": i, "egress": i} for i in range(2)]
    instance = {"ingress_ports": 2, "egress_ports": 2, "flows": flows}
    gave_up = SimpleNamespace(status=1, message="a limit was reached")
    monkeypatch.setattr("scipy.optimize.milp", lambda *_, **__: gave_up)
    says = "method: HiGHS gave up: a limit was reached"
    refuses(says, bigswitch.optimum, instance, method="milp")
    flows = [
        {"packets": [[1, 9], 20 + i], "ingress": i % 2, "egress": i // 2 % 2} for i in range(20)
    ]
    large = {"ingress_ports": 2, "egress_ports": 2, "flows": flows}
    says = "opt: the instance is too large for an exact optimum"
    refuses(says, draw.draw, large, ["opt"])
