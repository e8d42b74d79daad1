from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import fctlab
from fctlab.results import kinds, store
from tests.conftest import PROGRAM, SCENARIOS, SMALL, SMALL_TOML, Program, busy_s

# Ends when it is told to.
ENDLESS_TOML = SMALL_TOML.replace("flows = 300", 'duration = "100000s"')


def names(directory: Path) -> list[str]:
    return sorted(entry.name for entry in directory.iterdir())


def test_a_result_is_published_with_its_scenario_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved: list[str] = []
    move = store._move

    def watch(source: Path, target: Path) -> None:
        moved.append(target.name)
        move(source, target)

    monkeypatch.setattr(store, "_move", watch)
    out = tmp_path / "new" / "out"
    with store.writing(out, 0, kinds.RUN) as draft:
        for name in ("scenario.json", "report.json", "flows.parquet"):
            (draft.folder / name).write_text(name)
    assert moved[-1] == "scenario.json"
    assert names(out) == ["flows.parquet", "report.json", "scenario.json"]


def test_nothing_is_left_of_a_failure(tmp_path: Path) -> None:
    place = tmp_path / "a" / "b"
    with pytest.raises(ZeroDivisionError), store.writing(place, 0, kinds.RUN) as draft:
        (draft.folder / "scenario.json").write_text("{}")
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_a_failure_while_publishing_leaves_nothing_that_reads_as_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the next command that writes there moves into place what was whole."""
    out = tmp_path / "out"
    fctlab.run(SMALL, out=out)
    move = store._move

    def refuse(source: Path, target: Path) -> None:
        if source.name == "scenario.json":
            raise OSError(28, "No space left on device")
        move(source, target)

    monkeypatch.setattr(store, "_move", refuse)
    with pytest.raises(fctlab.OutputError, match=r"No space left on device; the next command"):
        fctlab.run(SMALL, seed=2, out=out)
    with pytest.raises(fctlab.SpecError, match="does not hold a whole result"):
        fctlab.Result.load(out)
    monkeypatch.undo()
    with (
        pytest.raises(ZeroDivisionError),
        store.writing(out, 0, kinds.RUN),
    ):
        assert fctlab.Result.load(out).scenario["seed"] == 2
        raise ZeroDivisionError
    assert not list(out.glob(".fctlab-*"))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A directory on a disk of 6 MB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("mounting a small disk needs root")
    yield disk
    subprocess.run(["umount", disk], check=True)


def test_too_small_a_disk_is_refused_before_simulating(
    program: Program, small: Path, small_disk: Path
) -> None:
    done = program("run", small, "--set", "traffic.flows=100000000", "--out", small_disk / "out")
    assert done.returncode == 2
    assert "the disk has 6 MB left, the result may need" in done.stderr
    assert list(small_disk.iterdir()) == []


def test_a_disk_that_fills_up_leaves_nothing(
    program: Program, tmp_path: Path, small_disk: Path
) -> None:
    (tmp_path / "endless.toml").write_text(ENDLESS_TOML)
    done = program("run", "endless.toml", "--out", small_disk / "out")
    assert done.returncode == 2
    assert "No space left on device" in done.stderr and "nothing was kept" in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(small_disk.iterdir()) == []


def wait_for(condition: Path, pattern: str) -> None:
    for _ in range(600):
        if list(condition.glob(pattern)):
            return
        time.sleep(0.05)
    pytest.fail(f"{pattern} does not appear in {condition}")


def interrupt(process: subprocess.Popen[str], number: int) -> str:
    """Ends within a second beyond what any program takes here, code 130; what it said."""
    process.send_signal(number)
    start = time.monotonic()
    try:
        _, stderr = process.communicate(timeout=30)
    finally:
        process.kill()
    took_s = time.monotonic() - start
    assert took_s < 1 + busy_s(), took_s
    assert process.returncode == 130
    return stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_a_run_within_a_second(tmp_path: Path, number: int) -> None:
    (tmp_path / "endless.toml").write_text(ENDLESS_TOML)
    command = [PROGRAM, "run", "endless.toml", "--out", "out"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        wait_for(tmp_path, "out/.fctlab-*/flows.parquet")
        time.sleep(0.3)
        said = interrupt(process, number)
    assert said == "interrupted: nothing was kept in out\n"
    assert not (tmp_path / "out").exists()


def test_ctrl_c_keeps_the_finished_runs_of_a_comparison(tmp_path: Path) -> None:
    scenario = SMALL_TOML.replace("flows = 300", "flows = 10_000")
    (tmp_path / "long.toml").write_text(scenario)
    command = [PROGRAM, "compare", "long.toml", "--schemes", "dctcp,tcp", "--seeds", "500"]
    with subprocess.Popen(
        [*command, "--out", "out"], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    ) as process:
        wait_for(tmp_path, "out/.fctlab-*/runs/*/scenario.json")
        said = interrupt(process, signal.SIGINT)
    counted = re.fullmatch(r"interrupted: kept (\d+) finished runs? in out/runs\n", said)
    assert counted, said
    kept = list((tmp_path / "out" / "runs").iterdir())
    assert len(kept) == int(counted[1]) > 0
    assert names(tmp_path / "out") == ["runs"]
    for run in kept:
        assert len(fctlab.Result.load(run).flows) == 10_000
    shutil.rmtree(tmp_path / "out")


def test_ctrl_c_without_output(tmp_path: Path) -> None:
    # Flows that are held fit into memory.
    (tmp_path / "long.toml").write_text(SMALL_TOML.replace("flows = 300", "flows = 5_000_000"))
    command = [PROGRAM, "compare", "long.toml", "--schemes", "dctcp,tcp", "--progress"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert " of 2 runs, " in process.stderr.readline()
        said = interrupt(process, signal.SIGINT)
    assert said.endswith("interrupted: nothing was kept\n")


LONG = SMALL_TOML.replace("flows = 300", "flows = 10_000")
COMPARE = [PROGRAM, "compare", "long.toml", "--schemes", "dctcp,tcp", "--seeds", "20"]


def begun(folder: Path, runs: int) -> subprocess.Popen[str]:
    """A comparison into ``out`` that has done some of its runs."""
    (folder / "long.toml").write_text(LONG)
    process = subprocess.Popen(
        [*COMPARE, "--workers", "1", "--out", "out"], cwd=folder, stderr=subprocess.PIPE, text=True
    )
    for _ in range(2400):
        if len(list(folder.glob("out/.fctlab-*/runs/*/scenario.json"))) >= runs:
            return process
        time.sleep(0.02)
    process.kill()
    pytest.fail("no run comes to its end")


def test_an_interrupted_comparison_leaves_an_older_result_as_it_was(tmp_path: Path) -> None:
    fctlab.compare(SMALL, ["pfabric", "tcp"], out=tmp_path / "out")
    before = {f: f.read_bytes() for f in (tmp_path / "out").rglob("*") if f.is_file()}
    with begun(tmp_path, 2) as process:
        said = interrupt(process, signal.SIGINT)
    told = re.match(r"interrupted: kept (\d+) finished runs? in out/\.fctlab-\w+, where the ", said)
    assert told
    for file, content in before.items():
        assert file.read_bytes() == content, file
    assert fctlab.load(tmp_path / "out").report["summary"]
    # The same command takes the runs over.
    kept = int(told[1])
    seen: set[str] = set()
    comparison = fctlab.compare(
        fctlab.load_scenario(tmp_path / "long.toml"),
        ["dctcp", "tcp"],
        seeds=20,
        out=tmp_path / "out",
        progress=lambda cell, progress: seen.add(cell.name),
    )
    assert 0 < len(seen) <= 40 - kept
    assert len(comparison.results) == 40 and names(tmp_path / "out" / "runs")[0] == "dctcp-0.5-1"
    assert len(names(tmp_path / "out" / "runs")) == 40
    assert not list(tmp_path.rglob(".fctlab-*"))


def test_what_a_killed_process_left_is_taken_over_or_cleaned(tmp_path: Path) -> None:
    with begun(tmp_path, 2) as process:
        process.kill()
    (left,) = (tmp_path / "out").glob(".fctlab-*")
    (whole, *_) = left.glob("runs/*/scenario.json")
    whole.with_name("report.json").touch()
    seen: set[str] = set()
    few = fctlab.compare(
        fctlab.load_scenario(tmp_path / "long.toml"),
        ["dctcp", "tcp"],
        out=tmp_path / "out",
        progress=lambda cell, progress: seen.add(cell.name),
    )
    assert seen == {"tcp-0.5-1"} and [r.scheme for r in few.results] == ["dctcp", "tcp"]
    assert not list(tmp_path.rglob(".fctlab-*"))
    assert names(tmp_path / "out" / "runs") == ["dctcp-0.5-1", "tcp-0.5-1"]


def test_drafts_of_processes_that_run_are_left_alone(tmp_path: Path) -> None:
    with begun(tmp_path, 1) as process:
        (draft,) = (tmp_path / "out").glob(".fctlab-*")
        fctlab.run(SMALL, out=tmp_path / "out", force=True)
        assert draft.is_dir() and list(draft.glob("runs/*"))
        process.kill()
    fctlab.run(SMALL, out=tmp_path / "out")
    assert not list(tmp_path.rglob(".fctlab-*"))


def test_a_result_is_replaced_whole(tmp_path: Path) -> None:
    out = tmp_path / "out"
    recorded = {**SMALL, "record": {"values": {}}}
    fctlab.run(recorded, out=out)
    assert (out / "recordings").is_dir()
    (out / "notes.txt").write_text("mine")
    fctlab.run(SMALL, seed=2, out=out)
    assert not (out / "recordings").exists() and (out / "notes.txt").read_text() == "mine"
    fctlab.compare(SMALL, ["dctcp", "tcp"], out=out)
    with pytest.raises(fctlab.OutputError, match=r"holds 2 runs, more than the 1 .* force=True"):
        fctlab.run(SMALL, out=out)
    assert len(fctlab.Comparison.load(out).results) == 2
    fctlab.run(SMALL, out=out, force=True)
    assert not (out / "runs").exists() and len(fctlab.Result.load(out).flows) == 300


def test_what_is_no_result_and_what_is_read_is_not_overwritten(
    program: Program, small: Path, tmp_path: Path
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (place / "flows.parquet").write_text("mine")
    for command in (["run"], ["compare", "--schemes", "dctcp"]):
        done = program(*command, small, "--out", "place")
        assert done.returncode == 2 and done.stderr.count("\n") == 1
        assert "place: holds flows.parquet and no result of fctlab's" in done.stderr
        assert names(place) == ["flows.parquet"]
    assert program("run", small, "--out", "place", "--force").returncode == 0
    # A trace and a scenario that the run reads.
    before = {f: f.read_bytes() for f in place.iterdir()}
    for arguments in (
        ["place/scenario.json"],
        [small, "--set", "traffic={trace='place/flows.parquet'}"],
    ):
        done = program("run", *arguments, "--out", "place")
        assert done.returncode == 2, done
        assert "this command reads" in done.stderr and "--force" in done.stderr
        assert {f: f.read_bytes() for f in place.iterdir()} == before
    done = program("run", small, "--out", "")
    assert done.returncode == 2 and "it is empty" in done.stderr
    with pytest.raises(fctlab.SpecError, match="out: is empty"):
        fctlab.run(SMALL, out="")


@pytest.mark.parametrize(
    ("command", "ours"),
    [
        (["bigswitch", "draw", "figure-1", "--out"], "a.png"),
        (["bigswitch", "worst-case", "fifo", "--theorem", "3", "--out"], "a.json"),
    ],
)
def test_files_of_others_are_not_overwritten(
    program: Program, tmp_path: Path, command: list[str], ours: str
) -> None:
    (tmp_path / ours).write_text("mine")
    done = program(*command, ours)
    assert done.returncode == 2 and "is there and not an older output" in done.stderr, done.stderr
    assert (tmp_path / ours).read_text() == "mine"
    assert program(*command, ours, "--force").returncode == 0
    assert program(*command, ours).returncode == 0
    assert names(tmp_path) == [ours]
    assert "is a directory" in program(*command, ".").stderr or ours.endswith("png")


LOG = "start_s,size_bytes,class\n" + "".join(f"{i * 0.001 + i % 7 * 0.0001},{1000 + i},web\n"
                                              for i in range(500))  # fmt: skip


def test_fit_leaves_nothing_on_a_full_disk_and_replaces_only_its_own(
    program: Program, tmp_path: Path, small_disk: Path
) -> None:
    (tmp_path / "log.csv").write_text(LOG)
    (small_disk / "filler").write_bytes(bytes(5_900_000))
    done = program("fit", "log.csv", "--out", small_disk / "out")
    assert done.returncode == 2 and "the disk has" in done.stderr, done
    assert names(small_disk) == ["filler"]
    assert program("fit", "log.csv", "--out", "out").returncode == 0
    (tmp_path / "out" / "flows-mine.csv").write_text("mine")
    (tmp_path / "log.csv").write_text(LOG.replace("web", "cache"))
    assert program("fit", "log.csv", "--out", "out").returncode == 0
    left = names(tmp_path / "out")
    assert "sizes-cache.csv" in left and "sizes-web.csv" not in left and "flows-mine.csv" in left


def test_a_file_on_a_full_disk_is_refused_before_the_work(
    program: Program, small: Path, tmp_path: Path, small_disk: Path
) -> None:
    assert program("run", small, "--set", "record.values={}", "--out", "ran").returncode == 0
    (small_disk / "filler").write_bytes(bytes(6 * 2**20))
    for out in (small_disk / "map.json", tmp_path / "none" / "map.json", Path("/proc/map.json")):
        done = program("mapping", "ran", "--out", out)
        assert done.returncode == 2 and str(out) in done.stderr, done
        assert done.stdout == "" and done.stderr.count("\n") == 1
    assert names(small_disk) == ["filler"]
    spec = SCENARIOS / "slo-two-classes.toml"
    for command in (
        ["whatif", spec, "--vary", "classes.rpc.load=0.1,0.2", "--out", small_disk / "out"],
        ["calibrate", spec, "--scheme", "hpcc", "--out", small_disk / "cc.toml"],
    ):
        start = time.monotonic()
        done = program(*command)
        assert done.returncode == 2 and "the disk has" in done.stderr, done
        assert time.monotonic() - start < 10
    assert names(small_disk) == ["filler"]
