"""Fuzzes readers of strangers' files, and engines on tiny scenarios: coverage guides what is tried.

    python packaging/fuzz.py --seconds 120
    python packaging/fuzz.py --seconds 3600 engine
    python packaging/fuzz.py --keep

Targets run beside each other, one on each core. What is written in Rust needs a C++ compiler for
libFuzzer, what is written in Python needs Atheris; without them targets are skipped, with the
reason. Inputs that reach something new stay in `target/fuzz/corpus`; `--keep` makes the small
corpora of the repository from them. Ends with 1 where something is found.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CORPORA, OURS = ROOT / "fuzz/corpus", ROOT / "target/fuzz"
DICTIONARY = OURS / "words"
RUST = re.findall(r'name = "(\w+)"\npath', (ROOT / "fuzz/Cargo.toml").read_text())
PYTHON = ("logs", "configurations")
LONGEST = {"engine": 600, "dhall": 400, "logs": 9_000, "configurations": 9_000}
"""Bytes of an input; 4,096 unless said here."""
KEPT_BYTES = 60_000
"""Of a corpus of the repository."""
COMPILER = os.environ.get("CXX", "c++")
COUNTED = (
    "--cfg=fuzzing",
    "-Clink-dead-code",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
)
"""What the compiler counts for libFuzzer: places reached, and what is compared."""


@dataclass(frozen=True)
class Fuzzed:
    """What was done with a target."""

    target: str
    seconds: int
    runs: int
    reached: int
    """Places of the code, as the fuzzer counts them."""
    crash: str = ""
    """The end of what was printed."""


def lacks(target: str) -> str:
    """Why a target cannot be fuzzed; empty where it can."""
    if target in PYTHON:
        there = importlib.util.find_spec("atheris")
        return "" if there else "Atheris is not installed (pip install atheris)"
    there = shutil.which(COMPILER)
    return "" if there else f"libFuzzer needs a C++ compiler, and there is no {COMPILER}"


def build() -> None:
    """Builds all targets that are in Rust, with checks of overflow."""
    told = subprocess.run(["rustc", "-vV"], cwd=ROOT, capture_output=True, text=True, check=True)
    machine = re.findall(r"host: (.+)", told.stdout)
    # For a machine by name: what runs while it is built is not counted.
    where = ["--target", *machine, "--target-dir", str(OURS)]
    subprocess.run(
        ["cargo", "build", "--release", "--quiet", *where],
        cwd=ROOT / "fuzz",
        env={**os.environ, "RUSTFLAGS": " ".join(COUNTED)},
        check=True,
    )


def command(target: str) -> list[str]:
    """What runs a target; libFuzzer's options follow."""
    if target in PYTHON:
        return [sys.executable, str(ROOT / "fuzz/readers.py"), target]
    return [str(next(OURS.glob(f"*/release/{target}")))]


def write_dictionary() -> None:
    """Writes the words that scenarios and specifications have."""
    files = [file for file in sorted((ROOT / "scenarios").glob("*.*l")) if file.is_file()]
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    found = sorted(set(re.findall(r"[\w.+-]{2,24}", text)))
    OURS.mkdir(parents=True, exist_ok=True)
    DICTIONARY.write_text("".join(f'"{word}"\n' for word in found))


def seeds(target: str) -> list[Path]:
    """Folders of inputs, of which the first grows. A byte before a text chooses its form."""
    grows = OURS / "corpus" / target
    given = OURS / "seeds" / target
    for folder in (grows, given):
        folder.mkdir(parents=True, exist_ok=True)
    first = {"text": b"\0", "specification": b"", "dhall": b""}
    if target in first:
        for file in (ROOT / "scenarios").glob("*.dhall" if target == "dhall" else "*.toml"):
            (given / file.name).write_bytes(first[target] + file.read_bytes())
    return [grows, given, *filter(Path.is_dir, [CORPORA / target])]


def options(target: str) -> list[str]:
    """Limits of an input's length, time and memory."""
    return [f"-max_len={LONGEST.get(target, 4096)}", "-timeout=30", "-rss_limit_mb=6000"]


def ran(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """A fuzzer that has run, with what it told; its files are in memory, where that is a place."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    # libFuzzer ends without a chance to clean up.
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        return subprocess.run(
            arguments,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            env={**os.environ, "TMPDIR": folder},
        )


def fuzz(target: str, seconds: int) -> Fuzzed:
    """Fuzzes one target."""
    found = OURS / "found"
    found.mkdir(parents=True, exist_ok=True)
    asked = [
        f"-max_total_time={seconds}",
        f"-artifact_prefix={found}/{target}-",
        f"-dict={DICTIONARY}",
    ]
    told = ran([*command(target), *map(str, seeds(target)), *options(target), *asked])
    done = re.search(r"Done (\d+) runs in (\d+) second", told.stderr)
    reached = re.findall(r"cov: (\d+)", told.stderr)
    crash = "" if told.returncode == 0 and done else told.stderr[-3000:]
    runs, lasted = (int(done[1]), int(done[2])) if done else (0, 0)
    return Fuzzed(target, lasted, runs, int(reached[-1]) if reached else 0, crash)


def keep(target: str) -> None:
    """Writes the repository's corpus: of inputs that reach something, the shortest."""
    merged = OURS / "merged" / target
    shutil.rmtree(merged, ignore_errors=True)
    merged.mkdir(parents=True)
    folders = map(str, (merged, *seeds(target)))
    ran([*command(target), "-merge=1", *folders, *options(target)])
    given = {file.read_bytes() for file in (OURS / "seeds" / target).iterdir()}
    if not any(merged.iterdir()):
        print(f"{target}: nothing reaches more; its inputs stay")
        return
    shutil.rmtree(CORPORA / target, ignore_errors=True)
    (CORPORA / target).mkdir(parents=True)
    left = KEPT_BYTES
    for file in sorted(merged.iterdir(), key=lambda file: (file.stat().st_size, file.name)):
        left -= file.stat().st_size
        if left < 0:
            break
        if file.read_bytes() not in given:
            shutil.copy(file, CORPORA / target / file.name)


def fuzzable(targets: list[str]) -> Iterator[str]:
    """Those of the targets that can be fuzzed, built; says which are skipped, and why."""
    why = {target: lacks(target) for target in targets}
    for reason in sorted(set(why.values()) - {""}):
        names = ", ".join(target for target in targets if why[target] == reason)
        print(f"skipped: {names} are not fuzzed: {reason}")
    if any(target in RUST and not why[target] for target in targets):
        build()
    yield from (target for target in targets if not why[target])


def fuzz_all(targets: list[str], seconds: int) -> Iterator[Fuzzed]:
    """Fuzzes targets, as many beside each other as there are cores; yields each when it is done."""
    write_dictionary()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        begun = [pool.submit(fuzz, target, seconds) for target in fuzzable(targets)]
        yield from (done.result() for done in as_completed(begun))


def main() -> int:
    """Fuzz."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=120, help="of each target")
    parser.add_argument("--keep", action="store_true", help="make the repository's corpora instead")
    parser.add_argument("target", nargs="*", choices=[*RUST, *PYTHON, []], help="all unless said")
    asked = parser.parse_args()
    crashed = False
    targets = asked.target or [*RUST, *PYTHON]
    if asked.keep:
        for target in fuzzable(targets):
            keep(target)
        return 0
    for done in fuzz_all(targets, asked.seconds):
        told = f"{done.runs:,} runs in {done.seconds} s, {done.reached:,} places reached"
        print(f"{done.target}: {told}", flush=True)
        if done.crash:
            crashed = True
            print(f"{done.crash}\nerror: {done.target} crashes on an input in {OURS / 'found'}")
    return int(crashed)


if __name__ == "__main__":
    sys.exit(main())
