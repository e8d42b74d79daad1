"""What makes others trust fctlab, by machine: ``make trust``.

    python packaging/trust.py                    every step
    python packaging/trust.py digests coverage   these
    python packaging/trust.py --page             the page alone

Each step ends in rows of a table, or in the reason why it is skipped. They are kept in
`docs/evidence/trust.json`, and `docs/evidence/trust.md` is written from there, so that nobody types
a number. Minutes of fuzzing add up from run to run. Ends with 1 where a step fails.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import fuzz
import lines
import mutants
from steps import OURS, ROOT, Failed, Rows, Skip, done, need, programs

KEPT, PAGE = ROOT / "docs/evidence/trust.json", ROOT / "docs/evidence/trust.md"
BEGIN, END = "<!-- begin trust -->\n", "<!-- end trust -->"
SECONDS = int(os.environ.get("SECONDS", "120"))
"""Of fuzzing, for each target: `make trust SECONDS=3600`."""
TARGETS = os.environ.get("TARGETS", "").split()
"""Those that are fuzzed, all unless said: `make trust STEPS=fuzzing TARGETS="engine rows"`."""


def chosen() -> list[str]:
    """The targets that are asked for."""
    every = [*fuzz.RUST, *fuzz.PYTHON]
    if wrong := [name for name in TARGETS if name not in every]:
        sys.exit(f"error: TARGETS: {wrong[0]} is not a target; there are {', '.join(every)}")
    return TARGETS or every


def fuzzing(_: Rows) -> Rows:
    """Fuzz every target, and add to what was done before; also where another crashes."""
    fuzzed = list(fuzz.fuzz_all(chosen(), SECONDS))
    # Others may have fuzzed other targets meanwhile.
    rows = {row[0]: row for row in known().get("fuzzing", {}).get("rows", [])}
    for found in fuzzed:
        if not found.crash:
            last = rows.get(found.target, [found.target, "0", "0", "0", "0"])
            kept = fuzz.CORPORA / found.target
            files = len(list(kept.iterdir())) if kept.is_dir() else 0
            rows[found.target] = [
                found.target,
                f"{float(last[1]) + found.seconds / 60:.1f}",
                f"{int(last[2].replace(',', '')) + found.runs:,}",
                f"{found.reached:,}",
                str(files),
            ]
    crashes = [f"{found.target} crashes\n{found.crash}" for found in fuzzed if found.crash]
    if not rows and not crashes:
        raise Skip("nothing can be fuzzed here")
    done = [rows[name] for name in [*fuzz.RUST, *fuzz.PYTHON] if name in rows]
    if crashes:
        raise Failed("\n".join(crashes), done)
    return done


def digests(_: Rows) -> Rows:
    """The frozen digests in builds that nobody makes."""
    table = json.loads((ROOT / "crates/fabric/tests/digests.json").read_text())["digests"]
    builds: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
        # As tests inside crates are built; crates of others are those of the release.
        "not optimised, with checks of overflow": (("--config", ".cargo/units.toml"), {}),
        "for processors with AVX2 (`x86-64-v3`)": (
            (),
            {"RUSTFLAGS": "-C target-cpu=x86-64-v3", "CARGO_TARGET_DIR": str(OURS / "avx2")},
        ),
        "for every processor; and one whose glibc is told of no AVX2": ((), {}),
    }
    rows = []
    for name, (words, more) in builds.items():
        if "AVX2 (" in name and "avx2" not in Path("/proc/cpuinfo").read_text():
            rows.append([name, "skipped: this processor has no AVX2"])
            continue
        command = ("cargo", "test", "--release", "--workspace", "--test", "digests", *words)
        told = done(*command, **more)
        passed = re.search(r"(\d+) passed; 0 failed", told)
        if not passed:
            raise RuntimeError(told[-3000:])
        rows.append([name, f"all {len(table)} the same"])
    return rows


def sdist(_: Rows) -> Rows:
    """A source distribution: it builds, and runs under the oldest and the newest Python here."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        done(sys.executable, "-m", "maturin", "sdist", "--out", folder)
        (packed,) = folder.glob("*.tar.gz")
        built = {"CARGO_TARGET_DIR": str(OURS / "sdist")}
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
        done(*pip, "wheel", "--no-deps", "--wheel-dir", folder, packed, folder=folder, **built)
        (wheel,) = folder.glob("*.whl")
        rows = [["source distribution", f"{packed.stat().st_size / 1e6:.1f} MB, builds"]]
        found = pythons()
        for minor in dict.fromkeys((min(found), max(found))):
            rows.append([f"Python 3.{minor}", tried(found[minor], wheel, folder / f"3.{minor}")])
    return rows


def pythons() -> dict[int, str]:
    """Interpreters that may have fctlab, by their minor version."""
    least = re.search(r'requires-python = ">=3\.(\d+)"', (ROOT / "pyproject.toml").read_text())
    found = {sys.version_info.minor: sys.executable}
    for minor in range(int(least[1]) if least else 10, 20):
        for place in (
            f"python3.{minor}",
            *Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python"),
        ):
            asked = [str(place), "-c", "import sys; print(sys.version_info.minor)"]
            try:
                told = subprocess.run(asked, capture_output=True, text=True).stdout
            except FileNotFoundError:
                continue
            if told.strip() == str(minor):
                found[minor] = str(place)
    return found


def tried(python: str, wheel: Path, folder: Path) -> str:
    """Installs a wheel, imports everything, and holds its runs against the frozen digests."""
    done(python, "-m", "venv", folder)
    inside = folder / "bin/python"
    done(inside, "-m", "pip", "install", "--quiet", wheel, "pytest", "hypothesis")
    names = "fctlab.__path__, 'fctlab.'"
    imports = (
        "import importlib, pkgutil, fctlab\n"
        f"names = [found.name for found in pkgutil.walk_packages({names})]\n"
        "print(len([importlib.import_module(n) for n in names if n != 'fctlab.__main__']))"
    )
    count = done(inside, "-c", imports, folder=folder).split()[-1]
    shutil.copytree(ROOT / "python/tests", folder / "tree/python/tests")
    for name in ("scenarios", "crates/fabric/tests"):
        shutil.copytree(ROOT / name, folder / "tree" / name)
    shutil.copy(ROOT / "CHANGELOG.md", folder / "tree")
    told = done(
        *(inside, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", folder / "tree"),
        *("python/tests/test_digests.py", "-o", "pythonpath=python"),
        folder=folder / "tree",
    )
    passed = told.strip().splitlines()[-1].strip("= ").partition(" in ")[0]
    return f"{count} modules imported, digests: {passed}"


def compilers(_: Rows) -> Rows:
    """The oldest compiler that may build it."""
    oldest = re.search(r'rust-version = "([\d.]+)"', (ROOT / "Cargo.toml").read_text())
    least = oldest[1] if oldest else ""
    listed = json.loads(done("cargo", "metadata", "--format-version", "1", "--locked"))
    newer = [
        each["name"]
        for each in listed["packages"]
        if number(each["rust_version"] or "0") > number(least)
    ]
    if newer:
        raise RuntimeError(f"need a newer compiler than {least}: {', '.join(newer)}")
    count = len(listed["packages"])
    rows = [[f"crates that ask for more than Rust {least}", f"0 of {count}"]]
    there = subprocess.run(["cargo", f"+{least}", "--version"], capture_output=True).returncode == 0
    if not there:
        why = f"skipped: not here (rustup toolchain install {least}); clippy holds code against it"
        return [*rows, [f"`cargo +{least} check`", why]]
    done("cargo", f"+{least}", "check", "--workspace", CARGO_TARGET_DIR=str(OURS / "oldest"))
    return [*rows, [f"`cargo +{least} check`", "builds"]]


def number(version: str) -> tuple[int, ...]:
    """A version, to be compared; 1.88.0 is 1.88."""
    return tuple(map(int, version.split(".")[:2]))


def licences(_: Rows) -> Rows:
    """Licences, sources and doubles of what is compiled in (`deny.toml`)."""
    need("cargo-deny", "cargo install cargo-deny")
    done("cargo", "deny", "check", "licenses", "bans", "sources")
    rows = [["licences, bans, sources (`cargo deny`)", "pass"]]
    told = subprocess.run(
        ["cargo", "deny", "check", "advisories"], cwd=ROOT, capture_output=True, text=True
    )
    if "advisories ok" in told.stdout + told.stderr:
        return [*rows, ["advisories of RustSec", "none"]]
    if "failed to" in told.stderr:
        return [*rows, ["advisories of RustSec", "skipped: their list cannot be fetched here"]]
    raise RuntimeError(told.stderr[-3000:])


def advisories(_: Rows) -> Rows:
    """Known holes of the Python packages that are installed."""
    audit = need(*programs("pip-audit"), "pip install pip-audit")
    told = subprocess.run(
        [audit, "--format", "json", "--progress-spinner", "off", *site()],
        capture_output=True,
        text=True,
    )
    try:
        listed = json.loads(told.stdout)["dependencies"]
    except ValueError:
        raise Skip(f"pip-audit gives no answer: {told.stderr.strip()[-200:]}") from None
    asked = [each for each in listed if "vulns" in each]
    holes = {
        each["name"]: [hole["id"] for hole in each["vulns"]] for each in asked if each["vulns"]
    }
    if holes:
        raise RuntimeError(f"known holes: {holes}")
    if not asked:
        raise Skip("the package index that is reached here tells no advisories")
    return [["Python packages with a known hole", f"0 of {len(asked)}"]]


def site() -> tuple[str, str]:
    """Where this interpreter's packages are, for pip-audit."""
    return "--path", next(path for path in sys.path if path.endswith("site-packages"))


def sbom(_: Rows) -> Rows:
    """What is inside, as CycloneDX: crates, and Python packages as they are installed."""
    OURS.mkdir(parents=True, exist_ok=True)
    rows = []
    if shutil.which("cargo-cyclonedx"):
        manifest = ROOT / "crates/python/Cargo.toml"
        name = ("--format", "json", "--override-filename", "fctlab-rust.cdx")
        done("cargo", "cyclonedx", "--manifest-path", manifest, *name)
        for file in ROOT.glob("crates/*/fctlab-rust.cdx.json"):
            if file.parent.name == "python":
                shutil.move(file, OURS / file.name)
            else:
                file.unlink()
        rows.append(counted(OURS / "fctlab-rust.cdx.json"))
    else:
        rows.append(["crates", "skipped: no cargo-cyclonedx (cargo install cargo-cyclonedx)"])
    tool = next(filter(None, map(shutil.which, programs("cyclonedx-py"))), None)
    if not tool:
        return [*rows, ["Python packages", "skipped: no cyclonedx-py (pip install cyclonedx-bom)"]]
    file = OURS / "fctlab-python.cdx.json"
    done(tool, "environment", "--output-reproducible", "-o", file, sys.executable)
    return [*rows, counted(file)]


def counted(file: Path) -> list[str]:
    """What an SBOM has."""
    parts = json.loads(file.read_text())["components"]
    return [f"`{file.name}`", f"{len(parts)} components"]


Step = Callable[[Rows], Rows]
SURVIVORS = ("what, or what survives", "which", "why")
STEPS: dict[str, tuple[Step, str, tuple[str, ...]]] = {
    "fuzzing": (
        fuzzing,
        "Fuzzing without a crash",
        ("target", "minutes", "runs", "places reached", "inputs kept"),
    ),
    "digests": (digests, "Frozen digests", ("build", "runs")),
    "coverage": (
        lines.coverage,
        "Lines that tests run",
        ("crate, or file below 90%", "lines", "run"),
    ),
    "mutants": (
        mutants.rust,
        "Mutants of the engines",
        ("what, or what survives", "which", "killed"),
    ),
    "verdicts": (partial(mutants.python, mutants.VERDICTS), "Mutants of verdicts", SURVIVORS),
    "settling": (partial(mutants.python, mutants.SETTLING), "Mutants of settling", SURVIVORS),
    "looks": (partial(mutants.python, mutants.LOOKS), "Mutants of looks at seeds", SURVIVORS),
    "advice": (partial(mutants.python, mutants.ADVICE), "Mutants of advice", SURVIVORS),
    "sdist": (sdist, "From source, on other Pythons", ("what", "found")),
    "compilers": (compilers, "The oldest compiler", ("what", "found")),
    "licences": (licences, "Crates", ("what", "found")),
    "advisories": (advisories, "Python packages", ("what", "found")),
    "sbom": (sbom, "Bills of materials", ("file", "found")),
}
"""By name: what is done, its title, and the heads of its table."""


def page(kept: dict[str, Any], text: str) -> str:
    """The page with what is kept between its two lines."""
    before, begins, rest = text.partition(BEGIN)
    _, ends, after = rest.partition(END)
    if not begins or not ends:
        sys.exit(f"error: {PAGE} has no lines {BEGIN.strip()} and {END}")
    parts = []
    for name, (_, title, head) in STEPS.items():
        found = kept.get(name)
        if not found:
            continue
        parts += [f"## {title}", f"`make trust STEPS={name}`, {found['on']}, {found['at']}."]
        if "skipped" in found:
            parts.append(f"Skipped: {found['skipped']}.")
        else:
            table = [head, ["---"] * len(head), *found["rows"]]
            parts.append("\n".join(f"| {' | '.join(line)} |" for line in table))
    return f"{before}{BEGIN}\n" + "\n\n".join(parts) + f"\n\n{END}{after}"


def known() -> dict[str, Any]:
    """What steps found, by their name. Read anew each time: others may run meanwhile."""
    kept: dict[str, Any] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    return kept


def step(name: str) -> bool:
    """Does a step, keeps what it found and says it; whether it went well."""
    doing, title, _ = STEPS[name]
    print(f"\n{title}", flush=True)
    commit = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    at = subprocess.run(commit, cwd=ROOT, capture_output=True, text=True).stdout.strip()
    found: dict[str, Any] = {"on": datetime.date.today().isoformat(), "at": at or "no commit"}
    passed = True
    try:
        found["rows"] = doing(known().get(name, {}).get("rows", []))
    except Skip as why:
        print(f"skipped: {why}")
        # What was found elsewhere stays.
        if "rows" in known().get(name, {}):
            return True
        found["skipped"] = str(why)
    except Failed as error:
        print(f"error: {name}: {error}")
        found["rows"], passed = error.rows, False
    except RuntimeError as error:
        print(f"error: {name}: {error}")
        return False
    for row in found.get("rows", []):
        print("  " + "  ".join(row))
    kept = {**known(), name: found}
    KEPT.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    PAGE.write_text(page(kept, PAGE.read_text()))
    return passed


def main() -> int:
    """Take the steps."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--page", action="store_true", help="write the page and do nothing else")
    parser.add_argument("step", nargs="*", choices=[*STEPS, []], help="all unless said")
    asked = parser.parse_args()
    if asked.page:
        PAGE.write_text(page(known(), PAGE.read_text()))
        return 0
    went = [step(name) for name in asked.step or STEPS]
    print(f"\n{sum(went)} steps passed, {len(went) - sum(went)} failed")
    return int(not all(went))


if __name__ == "__main__":
    sys.exit(main())
