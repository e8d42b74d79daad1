"""User Mode Linux in virtual time: a kernel as a program, whose clock waits for what it computes.

It is built once from Debian's ``linux-source`` and kept. With ``time-travel=inf-cpu`` computing
takes no time at all: the clock goes from one timer to the next (``arch/um/Kconfig``), so results
do not hang on the machine's load. Its random numbers come from a seed, or connections would have
other ports in each run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib import resources
from pathlib import Path

from fctlab.errors import SpecError
from fctlab.testbed import contained

CACHE = "FCTLAB_UML"
"""Environment variable: the directory where the kernel is kept."""
SOURCES = Path("/usr/src")
PACKAGES = ("linux-source", "build-essential", "flex", "bison", "bc", "libelf-dev", "xz-utils")
PROGRAMS = ("make", "gcc", "flex", "bison", "bc", "xz")
MEMORY = "1024M"
PATIENCE_S = 3600.0
"""Of this machine's time: a guest that stalls would wait for ever, since its clock stands, too."""
PATCHES = (
    # A kernel's ticks are as long as its shortest timeout.
    ("arch/um/Kconfig", "\tdefault 100\n", "\tdefault 1000\n"),
    # Registers with those of AMX are 11,008 bytes, for which there was no room.
    (
        "arch/x86/um/user-offsets.c",
        "\tDEFINE_LONGS(HOST_FP_SIZE, 2696);\n",
        "\tDEFINE_LONGS(HOST_FP_SIZE, 12288);\n",
    ),
    # Random numbers that a seed gives.
    (
        "arch/um/os-Linux/util.c",
        "\treturn getrandom(buf, len, flags);\n",
        """\
	static unsigned long long state;
	char *seed = getenv("FCTLAB_SEED");
	size_t i;

	if (!seed)
		return getrandom(buf, len, flags);
	if (!state)
		state = strtoull(seed, NULL, 10) * 2 + 1;
	for (i = 0; i < len; i++) {
		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		((char *)buf)[i] = state >> 56;
	}
	return len;
""",
    ),
)


def folder() -> Path:
    """Where the kernel is kept: ``$FCTLAB_UML``, or in the cache of the user."""
    given = os.environ.get(CACHE)
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(given) if given else caches / "fctlab" / "uml"


def kernel() -> Path:
    """The program, whether it is there or not."""
    return folder() / "linux"


def lacks() -> str | None:
    """Why it cannot be run here; ``None`` if it can."""
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        return "User Mode Linux runs on Linux on x86-64"
    if not kernel().exists():
        return f"there is no {kernel()}; fctlab testbed build makes it, in minutes"
    return contained.lacks()


def build(say: Callable[[str], object], jobs: int | None = None) -> Path:
    """Build the kernel, unless it is there.

    Args:
        say: told what is being done.
        jobs: compilers at once; one per core if not given.

    Raises:
        SpecError: something is missing and cannot be installed, or it does not compile.
    """
    if kernel().exists():
        return kernel()
    archive = _archive(say)
    tree = folder() / archive.name.split(".tar")[0]
    if not (tree / "fctlab.patched").exists():
        say(f"unpacking {archive}")
        shutil.rmtree(tree, ignore_errors=True)
        folder().mkdir(parents=True, exist_ok=True)
        subprocess.run(["tar", "-xf", archive, "-C", folder()], check=True)
        for name, old, new in PATCHES:
            _patch(tree / name, old, new)
        (tree / "fctlab.patched").touch()
    wanted = (resources.files("fctlab") / "data" / "uml.config").read_text(encoding="utf-8")
    (tree / "fctlab.config").write_text(wanted)
    log = folder() / "build.log"
    say(f"building User Mode Linux in {tree}; it takes minutes; {log} has what is said")
    number = str(jobs or os.cpu_count() or 1)
    with log.open("w") as told:
        for words in (
            ["make", "ARCH=um", "defconfig"],
            ["scripts/kconfig/merge_config.sh", "-m", ".config", "fctlab.config"],
            ["make", "ARCH=um", "olddefconfig"],
            ["nice", "-n", "10", "make", f"-j{number}", "ARCH=um", "linux"],
        ):
            done = subprocess.run(words, cwd=tree, stdout=told, stderr=subprocess.STDOUT)
            if done.returncode != 0:
                raise SpecError(str(log), f"{' '.join(words)} failed; the last lines say why")
    _check(tree / ".config", wanted)
    shutil.copy(tree / "linux", kernel().with_suffix(".new"))
    kernel().with_suffix(".new").replace(kernel())
    return kernel()


def _archive(say: Callable[[str], object]) -> Path:
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    found = sorted(SOURCES.glob("linux-source-*.tar.xz"))
    if missing or not found:
        install = ["apt-get", "install", "-y", "--no-install-recommends", *PACKAGES]
        if os.geteuid() != 0 or shutil.which("apt-get") is None:
            what = ", ".join(missing) or f"{SOURCES}/linux-source-*.tar.xz"
            raise SpecError(what, f"cannot be found; sudo {' '.join(install)}")
        say(f"installing {' '.join(PACKAGES)}")
        subprocess.run(["apt-get", "update", "-qq"], capture_output=True)
        done = subprocess.run(install, capture_output=True, text=True)
        found = sorted(SOURCES.glob("linux-source-*.tar.xz"))
        if done.returncode != 0 or not found:
            raise SpecError("apt-get install", done.stderr.strip()[-300:] or "no kernel source")
    return found[-1]


def _patch(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    if text.count(old) != 1:
        raise SpecError(str(file), "is not the kernel's file that was expected; Linux 6.1 is")
    file.write_text(text.replace(old, new))


def _check(file: Path, wanted: str) -> None:
    """What was asked for is in the kernel."""
    has = set(file.read_text().splitlines())
    asked = [line for line in wanted.splitlines() if line.endswith("=y")]
    missing = [line.removesuffix("=y") for line in asked if line not in has]
    if missing:
        raise SpecError(str(file), f"the kernel refused {', '.join(missing)}")


def boot(job: Path, answer: Path, seed: int) -> None:
    """Run `inside` on a job in the kernel; it writes the answer.

    The machine's files are there to be read; the directory of the answer alone is written.

    Raises:
        SpecError: the kernel ended without an answer, or not at all.
    """
    place = answer.parent.resolve()
    start = place / "init"
    start.write_text(
        INIT.format(
            place=place,
            python=sys.executable,
            program=resources.files("fctlab.testbed") / "inside.py",
            job=job.resolve(),
            answer=answer.resolve(),
        )
    )
    start.chmod(0o755)
    done = start_with(start, seed)
    if not answer.exists():
        last = " / ".join((done.stdout + done.stderr).strip().splitlines()[-5:])
        raise SpecError(str(kernel()), f"ended without an answer: {last or done.returncode}")


def start_with(init: Path, seed: int) -> subprocess.CompletedProcess[str]:
    """Run a program as the kernel's first one; it has to power off (reboot(2)) in the end.

    Raises:
        SpecError: it did not, for `PATIENCE_S`.
    """
    words = [
        # A process of its own: the first one of a PID namespace cannot abort, and a guest that
        # panics, now and then while it powers off, would go on for ever.
        *("sh", "-c", '"$@"; exit $?', "sh"),
        *(str(kernel()), f"mem={MEMORY}", "time-travel=inf-cpu", "root=/dev/root"),
        *("rootfstype=hostfs", "rootflags=/", "ro", f"init={init}", "quiet", "panic=-1"),
        *("con=null", "con0=null,fd:1", "con1=null,fd:1", "random.trust_cpu=on"),
    ]
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(init.parent),
        "FCTLAB_SEED": str(seed),
        # Where UML has unmapped it, the machine's kernel would write it (restartable sequences).
        "GLIBC_TUNABLES": "glibc.pthread.rseq=0",
    }
    try:
        return contained.run(words, network=False, env=environment, patience_s=PATIENCE_S)
    except TimeoutError:
        message = f"did not end within {PATIENCE_S:.0f} s; it was killed"
        raise SpecError(str(kernel()), message) from None


INIT = """\
#!/bin/sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin PYTHONHASHSEED=0
mount -t proc none /proc
mount -t sysfs none /sys
mount -t tmpfs none /run
mkdir /run/netns
mount -t hostfs none {place} -o {place}
mount -t bpf none /sys/fs/bpf
exec {python} -I -S -B {program} {job} {answer} poweroff
"""
