"""Presets and workloads as Markdown: what they come to."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import fctlab
from fctlab import _native
from fctlab.slo import planning

ROOT = Path(__file__).resolve().parents[3]
SCENARIO = "scenarios/websearch-leafspine.toml"
"""For which presets are worked out."""

COLUMNS = {
    "transport": "transport.kind",
    "initial window": "transport.initial_window",
    "least RTO": "transport.min_rto",
    "tagger": "tagger.kind",
    "discipline": "port.discipline.kind",
    "thresholds": "port.discipline.thresholds",
    "buffer": "port.buffer",
    "drop": "port.drop",
    "K": "port.ecn_threshold",
    "routing": "routing.kind",
}


def schemes(_: str) -> str:
    """Presets of schemes: what they are, their files, and what they come to in one scenario."""
    catalog = fctlab.catalog()["schemes"]
    head = ("preset", *COLUMNS)
    rows = [
        (
            f"[`{each['name']}`](#{each['name']})",
            *(_at(resolved(each["name"]), path) for path in COLUMNS.values()),
        )
        for each in catalog
    ]
    lines = [_table(head, rows)]
    for each in catalog:
        lines.append(_preset("fabric", each["name"]))
    return "\n".join(lines)


def controls(_: str) -> str:
    """Presets of the link model's congestion control."""
    return "\n".join(
        _preset("link", each["name"], level=3) for each in planning.catalog()["congestion controls"]
    )


def workloads(_: str) -> str:
    """Workloads that have sizes of their own, and their means."""
    rows = []
    for each in fctlab.catalog()["workloads"]:
        mean = mean_bytes(each["name"])
        if mean is not None:
            rows.append((f"`{each['name']}`", f"{mean:,.0f} B", each["description"]))
    return _table(("workload", "mean size", ""), rows)


def mean_bytes(workload: str) -> float | None:
    """Mean size of a workload's flows; None where that hangs on its keys."""
    try:
        found = json.loads(_native.size_distribution(json.dumps(workload), "."))
    except fctlab.SpecError:
        return None
    return float(found["mean_bytes"])


@cache
def resolved(preset: str) -> Mapping[str, Any]:
    """The scheme that a preset comes to."""
    scenario = fctlab.load_scenario(ROOT / SCENARIO)
    found: Mapping[str, Any] = scenario.with_scheme(preset).resolve()["scheme"]
    return found


def _preset(crate: str, name: str, level: int = 2) -> str:
    text = (ROOT / "crates" / crate / "presets" / f"{name}.toml").read_text(encoding="utf-8")
    lines = text.splitlines()
    told = [line.lstrip("# ") for line in lines if line.startswith("#")]
    rest = "\n".join(line for line in lines if not line.startswith("#")).strip()
    return f"\n{'#' * level} {name}\n\n{' '.join(told)}\n\n```toml\n{rest}\n```\n"


def _at(table: Mapping[str, Any], path: str) -> str:
    value: Any = table
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    if value is None:
        return ""
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
