"""Programs of which nothing is left: namespaces of their own, which end with them.

Network, mount and process namespaces are those of the program alone, and are gone when its last
process is: after Ctrl-C, SIGTERM and SIGKILL of fctlab as well (``PR_SET_PDEATHSIG``, the first
process of a PID namespace).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from fctlab import jobs

NEEDED = ("unshare", "setpriv", "ip", "tc", "mount")
MOUNTS = (
    "mount -t tmpfs none /run && mkdir /run/netns && mount -t sysfs none /sys && "
    "mount -t bpf none /sys/fs/bpf;"
)


def lacks() -> str | None:
    """Why there can be none here; ``None`` if there can."""
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        return f"{', '.join(missing)} cannot be found (Debian packages util-linux, iproute2)"
    done = subprocess.run(command(["true"]), capture_output=True, text=True)
    if done.returncode != 0:
        return f"no namespaces can be made here: {done.stderr.strip()[:200]}"
    return None


def command(words: Sequence[str | Path], network: bool = True) -> list[str]:
    """The command that runs another one, contained.

    Args:
        words: the other one.
        network: whether it has a network of its own and mounts, too.
    """
    inner = [str(word) for word in words]
    spaces = ["--pid", "--fork", "--kill-child"]
    if network:
        spaces += ["--net", "--mount", "--mount-proc"]
        inner = ["sh", "-c", f'{MOUNTS} exec "$@"', "sh", *inner]
    if os.geteuid() != 0:
        spaces += ["--user", "--map-root-user"]
    return ["setpriv", "--pdeathsig", "KILL", "unshare", *spaces, "--", *inner]


def run(
    words: Sequence[str | Path],
    network: bool = True,
    env: Mapping[str, str] | None = None,
    patience_s: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command contained; it ends with the job that runs it (`fctlab.jobs.check`).

    Args:
        words: the command.
        network: as of `command`.
        env: its environment, instead of this process's.
        patience_s: how long at most.

    Raises:
        TimeoutError: it took longer; it was killed.
    """
    since = time.monotonic()
    with subprocess.Popen(
        command(words, network),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
    ) as ran:
        try:
            while True:
                try:
                    out, err = ran.communicate(timeout=jobs.TICK_S)
                    return subprocess.CompletedProcess(ran.args, ran.returncode, out, err)
                except subprocess.TimeoutExpired:
                    jobs.check()
                if patience_s is not None and time.monotonic() - since > patience_s:
                    raise TimeoutError
        except BaseException:
            ran.kill()
            raise
