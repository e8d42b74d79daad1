"""Schemes that a study compares differ in nothing that it does not name."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import fctlab
from fctlab import studies
from fctlab.studies.framework.cells import Source
from fctlab.studies.framework.likeness import Intended, unlike
from fctlab.studies.framework.study import Mode, Plan

STUDIES = ("ads", "advice", "ascc", "awafs", "crosscut", "dsrtf")


def resolved(plan: Plan, folder: Path) -> dict[str, Any]:
    """Every scenario of a study as the engine takes it.

    Files are written; in the place of a mapping that a run would have to make first there
    are thresholds.
    """

    def ready(value: Any) -> Any:
        if isinstance(value, Source):
            assert value.scenario is None
            (folder / value.name).write_text(value.make(*value.arguments))
            return str(folder / value.name)
        if isinstance(value, Mapping):
            if value.get("kind") == "mapped" and "file" in value["mapping"]:
                cuts = list(range(1, value["queues"]))
                return {**value, "mapping": {"kind": "static", "thresholds": cuts}}
            return {key: ready(inner) for key, inner in value.items()}
        return value

    return {cell.id: fctlab.load_scenario(ready(cell.scenario)).resolve() for cell in plan.cells()}


Resolved = Callable[[str, Mode], dict[str, Any]]


@pytest.fixture(scope="module")
def scenarios(tmp_path_factory: pytest.TempPathFactory) -> Resolved:
    """Those of a study, resolved once."""

    @functools.cache
    def of(name: str, mode: Mode) -> dict[str, Any]:
        return resolved(studies.load(name).plan(mode), tmp_path_factory.mktemp(name))

    return of


@pytest.mark.xdist_group("likeness")
@pytest.mark.parametrize("mode", ["quick", "full"])
@pytest.mark.parametrize("name", STUDIES)
def test_schemes_differ_only_in_what_the_study_names(
    name: str, mode: Mode, scenarios: Resolved
) -> None:
    intended = studies.load(name).plan(mode).intended
    assert intended
    assert unlike(scenarios(name, mode), intended) == []


@pytest.mark.xdist_group("likeness")
@pytest.mark.parametrize("name", STUDIES)
def test_alpha_starts_at_zero_in_every_study(name: str, scenarios: Resolved) -> None:
    transports = [s["scheme"]["transport"] for s in scenarios(name, "quick").values()]
    assert {t["initial_alpha"] for t in transports if "initial_alpha" in t} == {0.0}


@pytest.mark.xdist_group("likeness")
@pytest.mark.parametrize("name", ["ads", "ascc", "awafs", "dsrtf"])
def test_completion_times_of_what_ran_in_ns_2_end_with_the_ack(
    name: str, scenarios: Resolved
) -> None:
    for cell, found in scenarios(name, "quick").items():
        if not cell.startswith("case study"):  # of section 3.1: arithmetic, in seconds
            assert found["measure"]["fct_ends"] == "ack", cell


@pytest.mark.xdist_group("likeness")
def test_d_srtfs_hosts_have_their_delay_in_both_fabrics(scenarios: Resolved) -> None:
    fabrics = {s["topology"]["kind"]: s["topology"] for s in scenarios("dsrtf", "quick").values()}
    assert fabrics["leaf-spine"]["host_delay"] == fabrics["fat-tree"]["host_delay"] == "20us"
    # 85.2 us = 80 us in hosts + 4 x (1.2 + 0.032) us of transmissions + 8 links.
    assert fabrics["leaf-spine"]["base_rtt"]["value"] == "85.2us"
    assert fabrics["fat-tree"]["link_delay"] == "34ns"


def scenario(kind: str, **transport: Any) -> dict[str, Any]:
    """Just enough."""
    return {
        "name": kind,
        "traffic": {"load": 0.5},
        "scheme": {"name": kind, "transport": {"kind": kind, **transport}},
    }


def test_a_difference_is_a_mistake_unless_it_is_named() -> None:
    cells = {
        "a": scenario("dctcp", initial_alpha=0.0),
        "b": scenario("dctcp", initial_alpha=1.0),
        "c": scenario("mintcp"),  # has no alpha: says nothing about it
    }
    kind = Intended(("scheme.transport.kind",), "", ("c",))
    (found,) = unlike(cells, [kind])
    assert found == "scheme.transport.initial_alpha: 0.0 in 'a'; 1.0 in 'b'"
    alpha = Intended(("scheme.transport.initial_alpha",), "", ("b",))
    assert unlike(cells, [kind, alpha]) == []
    # The cells that may differ are named: no other may.
    assert len(unlike(cells, [kind, Intended(alpha.keys, "", ("c",))])) == 1
    # What is excused and does not differ is no excuse to keep.
    (idle,) = unlike(cells, [kind, alpha, Intended(("scheme.nic",), "")])
    assert idle == "scheme.nic: meant to differ, and does not"


def test_other_flows_are_another_setting() -> None:
    other = scenario("mintcp") | {"traffic": {"load": 0.9}}
    assert unlike({"a": scenario("dctcp"), "b": other}, []) == []
    assert len(unlike({"a": scenario("dctcp"), "b": scenario("mintcp")}, [])) == 1
