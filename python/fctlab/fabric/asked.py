"""A scenario whose classes say what is measured of them and what must hold."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

from fctlab import choices
from fctlab.errors import SpecError
from fctlab.fabric.types import Engine
from fctlab.scenario import Prepared, Scenario, ScenarioLike, load_scenario
from fctlab.slo import planning

Warmup: TypeAlias = Literal["given", "found", "open"]

ENGINES: tuple[Engine, ...] = ("fluid", "packet")


@dataclass(frozen=True)
class Class:
    """What is asked of a class.

    Attributes:
        name: the class.
        dscp: its code points.
        slis: tables, as in the scenario.
        slo: what must hold; ``None`` without one.
    """

    name: str
    dscp: tuple[int, ...]
    slis: tuple[Mapping[str, Any], ...]
    slo: str | None


class Asked:
    """A scenario in which nothing is wrong, and what is asked of its classes.

    Attributes:
        prepared: what an engine runs.
        classes: in the order of the scenario.
        racks: names of the racks.
        rack_of: the rack of each host.
        sides: by tier, what its ports are called.
        offered: the load of each tier, as expected.
        warmup: whether the scenario gives one, or it was found (`warming`), or is open.

    Args:
        prepared: what an engine runs.
        warmup: see above.
    """

    def __init__(self, prepared: Prepared, *, warmup: Warmup = "given") -> None:
        self.prepared = prepared
        self.warmup = warmup
        self.tables = prepared.tables
        self.classes = tuple(
            Class(
                each["class"],
                tuple(each.get("dscp", ())),
                tuple(each.get("slis", ())),
                each.get("slo"),
            )
            for each in self.tables["traffic"].get("classes", ())
        )
        places = json.loads(prepared.native.places())
        self.racks: list[str] = places["racks"]
        self.rack_of: list[int] = places["rack_of"]
        self.sides: dict[str, str] = places["sides"]
        self.offered: list[dict[str, Any]] = places["offered"]

    @property
    def name(self) -> str:
        """Of the scenario."""
        return str(self.tables["name"])

    @property
    def seed(self) -> int:
        """Of the scenario."""
        return int(self.tables["seed"])

    @cached_property
    def traces(self) -> tuple[Path, ...]:
        """Files of flows that are replayed, one per window; none where flows are drawn.

        A trace whose name ends in a number has those of the next numbers beside it.
        """
        trace = self.tables["traffic"].get("trace")
        if trace is None:
            return ()
        found = [Path(trace)]
        parts = re.fullmatch(r"(.*-)(\d+)(\.[^.]+)", found[0].name)
        while parts:
            number = int(parts[2]) + len(found)
            later = found[0].with_name(f"{parts[1]}{number}{parts[3]}")
            if not later.is_file():
                break
            found.append(later)
        return tuple(found)

    @cached_property
    def busiest(self) -> float:
        """The load of the busiest link, as expected: of a trace, the mean of its tier's links."""
        key = "mean" if self.traces else "load"
        return max((tier[key] for tier in self.offered), default=0.0)

    @cached_property
    def loads(self) -> tuple[float, ...]:
        """The load of each class, as ``traffic.load`` counts it; they add up to that."""
        traffic = self.tables["traffic"]
        classes = traffic["classes"]
        if "load" not in traffic:
            return tuple(each["load"] for each in classes)
        parts = [each["share"] for each in classes]
        if traffic["share_of"] == "flows":
            parts = [p * mean for p, mean in zip(parts, self.mean_bytes, strict=True)]
        return tuple(traffic["load"] * part / sum(parts) for part in parts)

    @cached_property
    def mean_bytes(self) -> tuple[float, ...]:
        """The mean size of each class's flows."""
        return tuple(map(_mean_bytes, self.tables["traffic"]["classes"]))

    def disciplines(self) -> dict[str, dict[str, Any]]:
        """The discipline of each table of ports: ``port``, ``nic``, ``ports.TIER``."""
        scheme = self.tables["scheme"]
        found = {"port": scheme["port"], "nic": scheme["nic"]}
        found |= {f"ports.{name}": port for name, port in scheme.get("ports", {}).items()}
        return {name: port["discipline"] for name, port in found.items()}


def _mean_bytes(each: Mapping[str, Any]) -> float:
    pattern = each["pattern"]
    if "query_size" in pattern:
        return planning.size_bytes(pattern["query_size"]) / float(pattern["fanin"])
    return planning.mean_bytes(each["workload"])


def load(
    spec: ScenarioLike, sets: Iterable[str] = (), *, engine: str = "fluid", weights: bool = False
) -> Asked:
    """Read a scenario and what is asked of its classes.

    Args:
        spec: a file, a mapping or a `Scenario`.
        sets: changes ``path=value``.
        engine: that will run it.
        weights: whether switches will be told weights, for which each class needs a code point.

    Raises:
        SpecError: a mistake in the scenario; no class with an SLI; a class without a code point
            where others have one, or where `weights` need one.
    """
    choices.check("engine", engine, ENGINES, "an engine")
    scenario = with_engine(load_scenario(spec).with_sets(list(sets)), engine)
    prepared = scenario.resolve()
    given = "warmup" in scenario.value.get("measure", {})
    asked = Asked(prepared, warmup="given" if given else "open")
    if not any(each.slis for each in asked.classes):
        raise SpecError(
            "traffic.classes",
            'no class has an SLI; write slis = [{ name = "tail", metric = "p99" }] and an slo',
        )
    some = any(each.dscp for each in asked.classes)
    for i, each in enumerate(asked.classes):
        if not each.dscp and (some or weights):
            why = "switches know a class by its code points" if weights else "other classes have it"
            raise SpecError(
                f"traffic.classes[{i}].dscp", f"is missing in {each.name}, and {why}: write [10]"
            )
    return asked


def with_engine(scenario: Scenario, engine: str) -> Scenario:
    """The same on another engine; it keeps the fluid's step if it has one."""
    written = scenario.value.get("engine")
    kind = written.get("kind") if isinstance(written, Mapping) else written
    return scenario if kind == engine else scenario.set("engine", engine)
