"""What befalls commands that write, each as a cell of a table: `docs/reference/faults.md`.

All cells take minutes: ``FCTLAB_TESTS=all``. Otherwise those of `USUAL`.
"""

from __future__ import annotations

import random
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from fctlab.cli.app import app
from tests.conftest import EVERYTHING
from tests.faults import COMMANDS, Bench, content, disk, fill

ROOT = Path(__file__).parents[2]
USUAL = ("run", "sweep", "trace")
NAMES = list(COMMANDS) if EVERYTHING else list(USUAL)

pytestmark = pytest.mark.xdist_group("faults")
each_command = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """Inputs, and results that nothing befell."""
    return Bench.made(tmp_path_factory.mktemp("faults"))


@pytest.fixture
def full(bench: Bench, tmp_path: Path) -> Iterator[Path]:
    """A small disk."""
    with disk(tmp_path / "disk", "20m") as place:
        yield place


def moments(name: str, bench: Bench) -> list[float]:
    """Two moments of a command's work, drawn once for all; one while it starts."""
    bench.result_of(name)
    took_s = bench.whole[name][1]
    drawn = random.Random(name)
    return [drawn.uniform(0.02, 0.4), drawn.uniform(0.3, 1.0) * took_s]


def is_whole(bench: Bench, name: str, out: Path) -> bool:
    bench.result_of(name)
    return content(out) == bench.whole[name][0]


@each_command
def test_a_full_disk_is_one_error_and_loses_nothing(name: str, bench: Bench, full: Path) -> None:
    out = full / "out"
    bench.before(name, out)
    before = content(out)
    fill(full)
    done = bench.run(name, out)
    if COMMANDS[name].damage:
        assert done.code == 0 and is_whole(bench, name, out), done
        return
    assert done.is_one_error, done
    assert "No space left" in done.said or "the disk has" in done.said, done.said
    assert content(out) == before


@each_command
def test_a_read_only_disk_is_one_error(name: str, bench: Bench, full: Path) -> None:
    out = full / "out"
    bench.before(name, out)
    before = content(out)
    subprocess.run(["mount", "-o", "remount,ro", str(full)], check=True)
    done = bench.run(name, out)
    assert done.is_one_error, done
    assert "Read-only file system" in done.said, done.said
    assert content(out) == before


@each_command
def test_killed_and_started_again_leaves_what_it_leaves_untroubled(
    name: str, bench: Bench, tmp_path: Path
) -> None:
    for i, moment in enumerate(moments(name, bench)):
        out = tmp_path / f"out{i}"
        bench.before(name, out)
        bench.started(name, out).signalled(signal.SIGKILL, moment)
        was_whole = is_whole(bench, name, out)
        done = bench.run(name, out)
        assert done.code == 0 or (was_whole and name == "init"), (moment, done)
        assert is_whole(bench, name, out), (moment, sorted(content(out)))
        assert not list(out.rglob(".fctlab-*"))


def test_ctrl_c_before_there_is_anything_to_say(bench: Bench, tmp_path: Path) -> None:
    """No traceback of an import."""
    for _ in range(10):
        started = bench.started("run", tmp_path / "out").loaded()
        done = started.signalled(signal.SIGINT, 0)
        assert (done.code, done.said) in [(-signal.SIGINT, ""), (130, NOTHING)], done
    assert not (tmp_path / "out").exists()


NOTHING = "interrupted: nothing was kept\n"


@each_command
def test_ctrl_c_leaves_nothing_half(name: str, bench: Bench, tmp_path: Path) -> None:
    out = tmp_path / "out"
    bench.before(name, out)
    moment = moments(name, bench)[1]
    done = bench.started(name, out).loaded().signalled(signal.SIGINT, moment)
    assert done.code in (0, 130, -signal.SIGINT), done
    assert "Traceback" not in done.said, done.said
    assert done.code != 130 or "interrupted: " in done.said.splitlines()[-1], done
    assert not list(out.rglob(".fctlab-*"))
    again = bench.run(name, out)
    assert again.code == 0 or name == "init", again
    assert is_whole(bench, name, out)


@each_command
def test_two_at_once_leave_what_one_leaves(name: str, bench: Bench, tmp_path: Path) -> None:
    out = tmp_path / "out"
    bench.before(name, out)
    both = [bench.started(name, out) for _ in range(2)]
    ends = [each.ended() for each in both]
    assert 0 in [done.code for done in ends], ends
    assert all(done.code == 0 or done.is_one_error for done in ends), ends
    assert is_whole(bench, name, out)
    assert not list(out.rglob(".fctlab-*"))


CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
#include <sys/time.h>

static long jump(void) {
    static long calls;
    return (__sync_add_and_fetch(&calls, 1) % 3 - 1) * 5000000L;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int code = real(clock, now);
    if (clock == CLOCK_REALTIME) now->tv_sec += jump();
    return code;
}

time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval *at, void *zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}
"""


@pytest.fixture(scope="module")
def jumping(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A library under which the time of day goes to and fro by two months."""
    place = tmp_path_factory.mktemp("clock")
    (place / "clock.c").write_text(CLOCK)
    library = str(place / "clock.so")
    command = ["cc", "-shared", "-fPIC", "-o", library, str(place / "clock.c"), "-ldl"]
    if subprocess.run(command, capture_output=True).returncode:
        pytest.skip("no C compiler")
    return library


@each_command
def test_a_clock_that_jumps_changes_nothing(
    name: str, bench: Bench, jumping: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    bench.before(name, out)
    done = bench.run(name, out, LD_PRELOAD=jumping)
    assert done.code == 0, done
    assert is_whole(bench, name, out)


@pytest.mark.parametrize("name", [name for name in NAMES if COMMANDS[name].reads])
def test_an_input_that_is_cut_short_is_not_half_read(
    name: str, bench: Bench, tmp_path: Path
) -> None:
    """Its new text comes in two pieces, the second a moment later."""
    file = bench.place / COMMANDS[name].reads
    bench.result_of(name)
    text, out = file.read_text(), tmp_path / "out"
    bench.before(name, out)
    started = bench.started(name, out)
    try:
        file.write_text(text[: len(text) // 2])
        started.process.wait(timeout=0.4)
    except subprocess.TimeoutExpired:
        pass
    finally:
        file.write_text(text)
    done = started.ended()
    assert done.is_one_error or (done.code == 0 and is_whole(bench, name, out)), done


@pytest.mark.parametrize("name", [name for name in NAMES if COMMANDS[name].flows])
def test_a_thousand_million_flows_are_refused_before_anything_runs(
    name: str, bench: Bench, full: Path
) -> None:
    """Of a disk that any machine has: a result of so many flows may fit on a large one."""
    done = bench.run(name, full / "out", *COMMANDS[name].flows)
    assert done.is_one_error and "the disk has" in done.said, done
    assert list(full.iterdir()) == []


def test_the_page_has_the_commands_of_the_table() -> None:
    page = (ROOT / "docs" / "reference" / "faults.md").read_text(encoding="utf-8")
    listed = re.findall(r"`([\w -]+)`", page.partition("Commands:")[2].partition("Times of")[0])
    assert sorted(listed) == sorted(COMMANDS)


def test_every_command_that_writes_is_in_the_table() -> None:
    writing = set(commands_that_write("", typer.main.get_command(app)))
    assert writing == set(COMMANDS) - {"report", "init", "store gc"} | {"testbed run"}


def commands_that_write(name: str, command: Any) -> Iterator[str]:
    """Those with ``--out``, of every group."""
    for inner, each in getattr(command, "commands", {}).items():
        yield from commands_that_write(f"{name} {inner}".strip(), each)
    if any("--out" in param.opts for param in command.params):
        yield name
