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
from fctlab import store
from tests.conftest import PROGRAM, SMALL_TOML, Program

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
    with store.writing(out, 0) as draft:
        for name in ("scenario.json", "a", "z"):
            (draft.folder / name).write_text(name)
    assert moved[-1] == "scenario.json" and names(out) == ["a", "scenario.json", "z"]


def test_nothing_is_left_of_a_failure(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), store.writing(tmp_path / "a" / "b", 0) as draft:
        (draft.folder / "scenario.json").write_text("{}")
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_a_failure_while_publishing_leaves_nothing_that_reads_as_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(source: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "scenario.json").write_text("{}")
    monkeypatch.setattr(store, "_move", refuse)
    with (
        pytest.raises(fctlab.OutputError, match="No space left on device; nothing was kept"),
        store.writing(tmp_path, 0) as draft,
    ):
        (draft.folder / "flows.parquet").write_text("")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(fctlab.SpecError):
        fctlab.Result.load(tmp_path)


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
    """Ends within a second, code 130; what it said."""
    process.send_signal(number)
    start = time.monotonic()
    try:
        _, stderr = process.communicate(timeout=30)
    finally:
        process.kill()
    assert time.monotonic() - start < 1
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
    (tmp_path / "endless.toml").write_text(ENDLESS_TOML)
    command = [PROGRAM, "compare", "endless.toml", "--schemes", "dctcp,tcp", "--progress"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert " flows, " in process.stderr.readline()
        said = interrupt(process, signal.SIGINT)
    assert said.endswith("interrupted: nothing was kept\n")
