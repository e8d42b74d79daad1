"""300 bad inputs, drawn from a seed: every one ends in a result or in one line that says why not.

Mutations of every scenario and specification (keys, values, bytes), of traces, size tables and
flow logs, and of options. No traceback, no panic, no hang, and no file changed but the output.
"""

from __future__ import annotations

import copy
import json
import random
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fctlab import cli
from fctlab.files import SCENARIO, SPECIFICATION, read_tables
from tests.conftest import SCENARIOS, Program

LONGEST_S = 10
"""CPU time, so that a busy machine is no hang."""
FILES = sorted(f for f in SCENARIOS.iterdir() if f.suffix in (".toml", ".dhall"))
VALUES: tuple[Any, ...] = (
    *(-1, 0, 1, 0.5, 3.7, 1e308, -1e-300, 2**53, 2**63, 2**64, float("nan"), float("inf")),
    *("", "x", "nan", "-5us", "0us", "1ps", "0B", "1B", "999999999GB", "10Gbps", "0.1bps"),
    *("99999999999999999999Tbps", "1bdp", "0pkt", "none", "\x00", "\u2028", "a.b", "'\"", "é" * 99),
    *(True, None, [], [[]], {}, {"kind": "x"}, {"kind": 3}, [1, "2", None], {"": ""}),
)


def paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where there is anything."""
    if at:
        yield at
    inside = (isinstance(value, list) and enumerate(value)) or ()
    for key, inner in value.items() if isinstance(value, dict) else inside:
        yield from paths(inner, (*at, key))


def changed(draw: random.Random, tables: dict[str, Any]) -> dict[str, Any]:
    """Another value, no value, another key, or a table where none was."""
    tables = copy.deepcopy(tables)
    for _ in range(draw.choice((1, 1, 1, 2))):
        path = draw.choice(list(paths(tables)))
        place: Any = tables
        for key in path[:-1]:
            place = place[key]
        key, how = path[-1], draw.randrange(5)
        if how == 0:
            del place[key]
        elif how == 1 and isinstance(place, dict):
            place[str(key)[:-1] + draw.choice("xyz_")] = place.pop(key)
        elif how == 2 and isinstance(place, dict):
            place[draw.choice(("kind", "preset", "load", "rate", "x"))] = draw.choice(VALUES)
        else:
            place[key] = draw.choice(VALUES)
    return tables


def garbled(draw: random.Random, text: bytes) -> bytes:
    """Bytes, fields or lines that are lost, doubled or something else."""
    lines = text.split(b"\n")
    at = draw.randrange(len(lines))
    how = draw.randrange(8)
    if how == 0:
        lines.insert(at, draw.choice(lines))
    elif how == 1:
        del lines[at:]
    elif how == 2:
        lines[at] += draw.choice((b",1,000", b" = 3", b"]", b"\xff\xfe", b"\x00", b",,"))
    elif how == 3:
        fields = lines[at].split(b",")
        fields[draw.randrange(len(fields))] = str(draw.choice(VALUES)).encode()
        lines[at] = b",".join(fields)
    elif how == 4:
        lines[at] = lines[at][: len(lines[at]) // 2]
    elif how == 5:
        lines = lines[1:]
    elif how == 6:
        lines[0] += b"," + lines[0].split(b",")[0]
    else:
        spot = draw.randrange(len(text) or 1)
        return text[:spot] + bytes([draw.randrange(256)]) + text[spot + 1 :]
    return b"\n".join(lines)


def few(file: Path, draw: random.Random) -> list[str]:
    """The command that runs `file`, briefly; plots take longer than what is tested."""
    if file.name.startswith("slo-") or file.suffix == ".dhall":
        return ["predict", str(file), "--most-flows", "200"]
    out = ["--out", str(file.parent / "out")] if draw.random() < 0.1 else []
    return ["run", str(file), "--set", "traffic.flows=40", "--set", "measure.warmup=0s", *out]


def scenarios(draw: random.Random, folder: Path) -> list[str]:
    """A scenario or specification, changed by key or by byte."""
    source = draw.choice(FILES)
    file = folder / source.name
    if source.suffix == ".dhall" or draw.random() < 0.3:
        file.write_bytes(garbled(draw, source.read_bytes()))
        return few(file, draw)
    file = file.with_suffix(".json")
    kind = SPECIFICATION if file.name.startswith("slo-") else SCENARIO
    file.write_text(json.dumps(changed(draw, read_tables(source, kind))))
    return few(file, draw)


def tables(draw: random.Random, folder: Path) -> list[str]:
    """A trace, a size table or a flow log."""
    what = draw.choice(("trace-replay", "dsrtf-case-1", "sizes", "plain", "log"))
    if what in ("trace-replay", "dsrtf-case-1"):
        file = folder / f"{what}.csv"
        file.write_bytes(garbled(draw, file.read_bytes()))
        return few(folder / f"{what}.toml", draw)
    if what == "log":
        rows = [f"{i / 1000},{draw.randrange(1, 10**6)},c{i % 2}" for i in range(300)]
        log = folder / "log.csv"
        log.write_bytes(garbled(draw, "\n".join(["start_s,size_bytes,class", *rows]).encode()))
        link = ["--link", "100Gbps", "--rtt", "10us", "--slo", "p99 < 5"]
        return [
            "fit",
            str(log),
            "--out",
            str(folder / "out"),
            *(link if draw.random() < 0.7 else []),
        ]
    sizes = b"size_bytes,cumulative_probability\n1000,0.2\n20000,0.7\n300000,1\n"
    plain = b"1000 20\n20000 70\n300000 100\n"
    file = folder / "sizes.csv"
    file.write_bytes(garbled(draw, sizes if what == "sizes" else plain))
    if draw.random() < 0.5:
        return ["thresholds", "pias", "--workload", str(file), "--queues", "3"]
    workload = json.dumps({"kind": "cdf", "file": str(file)}).replace('":', '"=')
    arguments = few(folder / "websearch-leafspine.toml", draw)
    return [*arguments, "--set", f"traffic.workload={workload}"]


OPTIONS = ("--seed", "--engine", "--loads", "--seeds", "--schemes", "--workers", "--set", "--x")
COMMANDS = ("run", "compare", "predict", "plan", "provision", "whatif", "fit", "mapping", "study")


def options(draw: random.Random, folder: Path) -> list[str]:
    """Options with values that they cannot have, and commands without what they need."""
    text = str(draw.choice(VALUES)).replace("\x00", "")
    if draw.random() < 0.3:
        place = draw.choice((folder, folder / "star-incast.toml", folder / "no", Path(text)))
        return [draw.choice(COMMANDS), str(place), *draw.choice(([], ["--json"], [text]))]
    if draw.random() < 0.5:
        file = draw.choice([f for f in FILES if f.suffix == ".toml" and "slo-" not in f.name])
        tables = read_tables(file, SCENARIO)
        path = [p for p in paths(tables) if all("." not in str(key) for key in p)]
        key = ".".join(map(str, draw.choice(path)))
        return [*few(folder / file.name, draw), "--set", f"{key}={text}"]
    name = draw.choice(("star-incast.toml", "trace-replay.toml"))
    arguments = [draw.choice(("run", "compare")), str(folder / name), draw.choice(OPTIONS), text]
    if arguments[0] == "compare" and "--schemes" not in arguments:
        arguments += ["--schemes", "dctcp"]
    return [*arguments, "--set", "traffic.flows=40"]


class Hang(Exception):
    """Took too long."""


@contextmanager
def within(limit_s: int) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(limit_s)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def contents(folder: Path) -> dict[Path, bytes]:
    """Every file but the output's."""
    files = (f for f in folder.rglob("*") if f.is_file())
    return {f: f.read_bytes() for f in files if "out" not in f.relative_to(folder).parts}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The scenarios, to be spoiled; where the program runs."""
    folder = tmp_path / "inputs"
    shutil.copytree(SCENARIOS, folder)
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.mark.parametrize("kind", [scenarios, tables, options], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("seed", range(10))
def test_bad_inputs(
    kind: Any,
    seed: int,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Ten at a time, in this process: an exception that nobody catches fails the test."""
    draw = random.Random(f"{kind.__name__} {seed}")
    for _ in range(10):
        shutil.rmtree(folder)
        shutil.copytree(SCENARIOS, folder)
        arguments = kind(draw, folder)
        before = contents(folder.parent)
        monkeypatch.setattr(sys, "argv", ["fctlab", *arguments])
        handlers = {s: signal.getsignal(s) for s in (signal.SIGTERM, signal.SIGINT)}
        begin = time.process_time()
        with within(12 * LONGEST_S), pytest.raises(SystemExit) as done:
            cli.main()
        took = time.process_time() - begin
        for number, handler in handlers.items():
            signal.signal(number, handler)
        said = capsys.readouterr()
        about = f"{arguments}\n{said.err}"
        assert took < LONGEST_S, about
        assert done.value.code in (0, 2), about
        errors = [line for line in said.err.splitlines() if line.startswith("error:")]
        assert len(errors) == (done.value.code == 2), about
        assert all(len(line) > len("error: ") and "panick" not in line for line in errors), about
        assert "Traceback" not in said.err, about
        assert contents(folder.parent) == before, about


@pytest.mark.parametrize("seed", range(3))
def test_bad_inputs_of_the_program(seed: int, program: Program, tmp_path: Path) -> None:
    """The same as a process of its own."""
    folder = tmp_path / "inputs"
    shutil.copytree(SCENARIOS, folder)
    draw = random.Random(f"program {seed}")
    for kind in (scenarios, tables, options):
        done = program(*kind(draw, folder))
        assert done.returncode in (0, 2) and "Traceback" not in done.stderr
        assert done.stderr.count("error:") == (done.returncode == 2)
