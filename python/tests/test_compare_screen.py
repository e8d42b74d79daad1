"""A comparison on a terminal: as narrow as 80 letters, how far it has come, and after a kill."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import threading
from pathlib import Path

import pytest
from rich.console import Console, RenderableType

import fctlab
from fctlab.cli import progress as showing
from fctlab.cli import tables
from tests.conftest import PROGRAM, SMALL, SMALL_TOML, Program

SCHEMES = ["dctcp-rate", "pfabric", "hpcc"]


@pytest.fixture(scope="module")
def comparison() -> fctlab.Comparison:
    return fctlab.compare(SMALL, SCHEMES, seeds=3)


def printed(comparison: fctlab.Comparison, width: int) -> list[str]:
    return lines(tables.comparison(comparison), width)


def lines(found: RenderableType, width: int) -> list[str]:
    console = Console(width=width, highlight=False, file=io.StringIO())
    console.print(found)
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def told(lines: list[str]) -> set[str]:
    """All numbers."""
    return set(re.findall(r"\d[\d.,]*(?: us| ms|x|%)?", "\n".join(lines)))


def test_a_run_of_many_flows_fits_80_columns() -> None:
    flows = {"workload": {"kind": "fixed", "size": "1KB"}, "load": 0.5, "flows": 12_345}
    table = tables.result(fctlab.run(SMALL | {"traffic": flows}))
    narrow, wide = lines(table, 80), lines(table, 140)
    assert told(wide) == told(narrow)
    assert max(map(len, narrow)) <= 80 and any("12,345" in line for line in narrow)


def test_a_comparison_fits_80_columns(comparison: fctlab.Comparison) -> None:
    narrow, wide = printed(comparison, 80), printed(comparison, 140)
    assert max(map(len, narrow)) <= 80 < max(map(len, wide))
    assert told(wide) == told(narrow), "nothing is left out"
    assert any(re.fullmatch(r"small <= 100 KB, \d+ flows", line) for line in narrow)
    assert sum(line.startswith("pfabric  ") for line in narrow) == 3, "all, small and medium"


def test_long_names_go_on_below() -> None:
    name = "dctcp-with-a-window-of-twenty-packets"
    scheme = {"preset": "dctcp", "transport": {"initial_window": "20pkt"}}
    found = fctlab.compare(SMALL | {"schemes": {name: scheme}}, ["dctcp", name], seeds=2)
    shown = printed(found, 80)
    assert max(map(len, shown)) <= 80
    table = shown[: next(i for i, line in enumerate(shown) if line.startswith("offered"))]
    starts = [line.split(" ")[0] for line in table]
    place = next(i for i, start in enumerate(starts) if len(start) >= 7 and name.startswith(start))
    assert "".join(starts[place:]).startswith(name), "all of it is there"


def test_a_tty_has_a_bar_for_all_runs(small: Path, tmp_path: Path) -> None:
    master, slave = pty.openpty()
    seen = bytearray()

    def read() -> None:
        while True:
            try:
                chunk = os.read(master, 4096)
            except OSError:
                return
            if not chunk:
                return
            seen.extend(chunk)

    reader = threading.Thread(target=read)
    reader.start()
    given = ["--schemes", "dctcp,pfabric", "--seeds", "2", "--set", "traffic.flows=20000"]
    done = subprocess.run(
        [PROGRAM, "compare", str(small), *given],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=slave,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
        timeout=120,
    )
    os.close(slave)
    reader.join(10)
    os.close(master)
    assert done.returncode == 0
    assert re.search(rb"[0-3] of 4 runs", seen) and b"0:" in seen, seen[-500:]


def test_elsewhere_a_line_comes_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(asked: bool | None) -> list[str]:
        with showing.of_comparison(asked) as cells:
            fctlab.compare(SMALL, ["dctcp", "tcp"], progress=cells.tell, started=cells.started)
        return capsys.readouterr().err.splitlines()

    assert said(None) == [], "it is done before the first line is due"
    assert said(True)[-1].startswith("2 of 2 runs, 100%")
    monkeypatch.setattr(showing, "NOW_AND_THEN_S", 0.0)
    lines = said(None)
    assert lines and all(re.match(r"[012] of 2 runs, \d+%", line) for line in lines)
    assert said(False) == []


def test_a_comparison_that_was_killed_goes_on(program: Program, tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(SMALL_TOML.replace("flows = 300", "flows = 10_000"))
    arguments = ["compare", "long.toml", "--schemes", "dctcp,tcp", "--seeds", "4", "--workers", "1"]
    command = [PROGRAM, *arguments, "--out", "out", "--progress"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if re.match(r"[3-7] of 8 runs", line):
                break
        process.kill()
    kept = len(list((tmp_path / "out").glob(".fctlab-*/runs/*/scenario.json")))
    assert 0 < kept < 8
    done = program(*arguments, "--out", "out")
    assert done.returncode == 0, done.stderr
    assert f"{kept} of 8 runs were there already" in done.stderr
    assert program(*arguments, "--out", "whole").returncode == 0
    for name in ("flows.parquet", "summary.csv", "scenario.json"):
        same = [(tmp_path / out / name).read_bytes() for out in ("out", "whole")]
        assert same[0] == same[1], name
    assert not list(tmp_path.rglob(".fctlab-*"))
