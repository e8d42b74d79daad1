"""Installs a wheel on a system that has Python and no compiler, and runs the demo there.

    python3 packaging/try_wheel.py dist

The system is a root directory of its own, in namespaces without a network: Debian's (debootstrap)
where that can be had, else this machine's `/usr` without its compilers, and with an empty home. The
wheel's dependencies are downloaded beforehand. Skipped, with the reason, where it cannot be done;
ends with 1 if the wheel does not work.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SCENARIO = Path(__file__).resolve().parents[1] / "scenarios/websearch-leafspine.toml"
DEMO = "fctlab compare websearch-leafspine.toml --schemes dctcp,pfabric --out results/demo"
LIMIT_S = 60
TOOLS = "cc gcc g++ c++ clang ld ld.lld as make cargo rustc rustup"
"""What the system does not have."""

INSIDE = f"""
set -e
export HOME=/home/user PATH=/home/user/fct/bin:/usr/local/bin:/usr/bin:/bin
unset PYTHONPATH PYTHONHOME VIRTUAL_ENV
for tool in {TOOLS}; do
    if command -v $tool; then echo "error: there is a $tool" >&2; exit 1; fi
done
cd /home/user
"$PYTHON" -m venv fct
fct/bin/pip install --quiet --no-index --find-links /wheels --disable-pip-version-check fctlab
fctlab --version
python - <<'END'
import importlib, pkgutil, fctlab
names = [found.name for found in pkgutil.walk_packages(fctlab.__path__, "fctlab.")]
for name in names:
    if name != "fctlab.__main__":
        importlib.import_module(name)
print(len(names), "modules imported")
END
fctlab list > /dev/null
start=$(date +%s)
{DEMO}
test -s results/demo/report.html
took=$(($(date +%s) - start))
echo "the demo took $took s"
test $took -lt {LIMIT_S} || {{ echo "error: that is not under {LIMIT_S} s" >&2; exit 1; }}
"""


def skip(reason: str) -> None:
    """Say why nothing is tried, and end."""
    print(f"skipped: the wheel is not tried in a clean system: {reason}")
    sys.exit(0)


def downloaded(wheel: Path, python: list[str], folder: Path) -> None:
    """The wheel and what it depends on, as wheels for a Python in a folder."""
    asked = [*python, "-c", "import ensurepip, sys; print('%d.%d' % sys.version_info[:2])"]
    found = subprocess.run(asked, capture_output=True, text=True)
    if found.returncode:
        skip(f"{python[-1]} has no venv (apt install python3-venv)")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--python-version", found.stdout.strip(), "--only-binary", ":all:"]
    command += ["--dest", str(folder), str(wheel)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        skip(
            "its dependencies cannot be downloaded: "
            + (done.stderr.strip().splitlines() or ["?"])[-1]
        )


def debian(root: Path) -> str:
    """Debian in a folder; returns its Python, or nothing where Debian cannot be had."""
    if not shutil.which("debootstrap") or os.geteuid() != 0:
        return ""
    command = [
        "debootstrap",
        "--variant=minbase",
        "--include=python3,python3-venv",
        "stable",
        str(root),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    return "/usr/bin/python3" if done.returncode == 0 else ""


def borrowed(root: Path) -> list[str]:
    """This machine's `/usr` in a folder, without compilers; returns the commands that mount it."""
    lines = []
    for name in ("usr", "bin", "sbin", "lib", "lib64", "etc"):
        there = Path("/") / name
        if there.is_symlink():
            (root / name).symlink_to(there.readlink())
        elif there.exists():
            (root / name).mkdir()
            lines.append(f"mount --rbind /{name} {root}/{name}")
    # The folders of programs become folders of links without the tools.
    hidden = set(TOOLS.split())
    for name in ("usr/bin", "usr/local/bin"):
        kept = root / "kept" / name
        kept.mkdir(parents=True)
        for program in Path("/", name).iterdir():
            plain = program.name.rpartition("-linux-gnu-")[2].rstrip("0123456789.-") or program.name
            if program.name not in hidden and plain not in hidden:
                shutil.copy2(program, kept / program.name, follow_symlinks=False)
        lines.append(f"mount --bind {kept} {root}/{name}")
    return lines


def main() -> int:
    """Try the newest wheel of a folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dist", type=Path, help="the folder with the wheel")
    wheels = sorted(parser.parse_args().dist.glob("*.whl"), key=lambda file: file.stat().st_mtime)
    if not wheels:
        sys.exit("error: there is no wheel; make wheel makes one")
    if sys.platform != "linux" or not shutil.which("unshare"):
        skip("there is no unshare (util-linux)")
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "root"
        root.mkdir()
        python, system, mounts = debian(root), "Debian (debootstrap)", []
        if not python:
            shutil.rmtree(root)
            root.mkdir()
            system, python = "this machine's /usr without compilers", "/usr/bin/python3"
            mounts = borrowed(root)
        for name in ("proc", "dev", "tmp", "wheels", "home/user"):
            (root / name).mkdir(parents=True, exist_ok=True)
        entered = ["chroot", str(root), python] if not mounts else [python]
        downloaded(wheels[-1], entered, root / "wheels")
        shutil.copy(SCENARIO, root / "home/user")
        print(f"{wheels[-1].name} in {system}", flush=True)
        script = root / "home/user/try.sh"
        script.write_text(INSIDE)
        mounts += [f"mount --rbind /dev {root}/dev", f"mount -t proc proc {root}/proc"]
        enter = " && ".join(
            [*mounts, f"PYTHON={python} exec chroot {root} /bin/sh /home/user/try.sh"]
        )
        # A network of its own has none. Whoever is not root becomes it inside.
        command = ["unshare", "--mount", "--net", "--pid", "--fork"]
        command += [] if os.geteuid() == 0 else ["--map-root-user"]
        if subprocess.run([*command, "true"], capture_output=True).returncode:
            skip("no namespaces can be made here")
        start = time.monotonic()
        done = subprocess.run([*command, "sh", "-c", enter], env={"PATH": os.environ["PATH"]})
        if done.returncode:
            return 1
        print(f"it works: installed and run in {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
