"""The packet engine in a process of its own that loads nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from fctlab import _native
from fctlab.errors import InternalError
from fctlab.scenario import Scenario

ENGINE_ALONE = """
import importlib.util, sys
file, flows_out, recordings_out, threads = sys.argv[1:]
spec = importlib.util.spec_from_file_location("_native", file)
native = importlib.util.module_from_spec(spec)
spec.loader.exec_module(native)
prepared = native.prepare(sys.stdin.read(), [], "")
outs = flows_out or None, recordings_out or None
print(native.run(prepared, *outs, threads=int(threads)).report())
"""


def reference() -> Scenario:
    """The scenario that speed is told of: 144 hosts, web search at load 0.6."""
    text = (resources.files("fctlab") / "data" / "reference.toml").read_text(encoding="utf-8")
    return Scenario(json.loads(_native.parse(text, "toml")))


def alone(
    scenario: dict[str, Any],
    tool: Sequence[str] = (),
    flows_out: Path | None = None,
    recordings_out: Path | None = None,
    threads: int = 1,
) -> tuple[dict[str, Any], str]:
    """Runs a scenario.

    Args:
        scenario: resolved.
        tool: a command that the process runs under, such as valgrind.
        flows_out: where flow records go as Parquet; otherwise they are held until the end.
        recordings_out: a directory for what recorders write.
        threads: that share the work.

    Returns:
        The report, and what the process wrote to stderr.

    Raises:
        InternalError: the process failed.
    """
    assert _native.__file__ is not None
    python = [sys.executable, "-I", "-S", "-c", ENGINE_ALONE]
    given = (str(flows_out or ""), str(recordings_out or ""), str(threads))
    command = [*tool, *python, _native.__file__, *given]
    done = subprocess.run(command, input=json.dumps(scenario), text=True, capture_output=True)
    if done.returncode != 0:
        raise InternalError(done.stderr)
    return json.loads(done.stdout), done.stderr
