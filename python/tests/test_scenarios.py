from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest

import fctlab
from fctlab.files import SCENARIO, read_tables
from tests.conftest import SCENARIOS, SMALL

# Those called slo-* are specifications of another kind: tests/test_planning.py.
FILES = sorted(f for f in SCENARIOS.glob("*.toml") if not f.name.startswith("slo-"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_schema_allows_every_scenario(file: Path) -> None:
    jsonschema.validate(read_tables(file, SCENARIO), fctlab.schema())
    jsonschema.validate(fctlab.load_scenario(file).resolve().tables, fctlab.schema())


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_scenario_runs(file: Path, tmp_path: Path) -> None:
    scenario = fctlab.load_scenario(file).set("traffic.flows", 100).set("measure.warmup", "0s")
    result = fctlab.run(scenario, out=tmp_path / "out")  # some record, which needs a place
    assert result.counters["flows_started"] == result.counters["flows_finished"] > 0
    assert result.title


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("traffic.load", 1.3),
        ("traffic.laod", 0.3),
        ("topology.host_rate", "10"),
        ("topology.kind", "ring"),
        ("scheme", ["dctcp"]),
    ],
)
def test_the_schema_and_the_engine_refuse_alike(path: str, value: object) -> None:
    table, _, key = path.rpartition(".")
    changed = SMALL | ({table: SMALL[table] | {key: value}} if table else {key: value})
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(changed, fctlab.schema())
    with pytest.raises(fctlab.SpecError):
        fctlab.load_scenario(changed).resolve()


def test_the_base_rtt_is_computed_and_not_written() -> None:
    # Two links each way of 2 us; a packet of 1500 B and an ACK of 40 B are sent twice at 10 Gbps.
    star = {"kind": "star", "senders": 2, "host_rate": "10Gbps", "link_delay": "2us"}
    resolved = fctlab.load_scenario(SMALL | {"topology": star}).resolve()
    assert resolved["base_rtt_s"] == pytest.approx(8e-6 + 2 * 1.232e-6, abs=1e-15)
    again = fctlab.load_scenario(resolved)
    assert again.resolve() == resolved
    slower = again.set("topology.link_delay", "12us").resolve()
    assert slower["base_rtt_s"] == pytest.approx(48e-6 + 2 * 1.232e-6, abs=1e-15)
    wrong = (again.set("base_rtt_s", 1e-5), fctlab.load_scenario(SMALL | {"base_rtt_s": 1e-5}))
    for scenario in wrong:
        with pytest.raises(fctlab.SpecError, match=r"^(set )?base_rtt_s: is computed from the top"):
            scenario.resolve()


@pytest.mark.parametrize(
    "scheme",
    [
        {"preset": "l2dct", "transport": {"min_rto": "5ms"}},
        {"preset": "d-srtf", "tagger": {"size": "remaining"}},
        {"preset": "pias", "port": {"discipline": {"thresholds": [1_000, 2_000]}}},
        {"preset": "ads", "port": {"discipline": {"mapping": {"policy": "equal-split"}}}},
        {"preset": "awafs", "nic": {"discipline": {"window": "20s"}}},
    ],
)
def test_a_change_of_a_preset_needs_no_kind(scheme: dict[str, Any]) -> None:
    changed = SMALL | {"scheme": scheme}
    jsonschema.validate(changed, fctlab.schema())
    jsonschema.validate(SMALL | {"schemes": {"changed": scheme}}, fctlab.schema())
    jsonschema.validate(fctlab.load_scenario(changed).resolve().tables, fctlab.schema())


@pytest.mark.parametrize(
    "scheme",
    [
        {"preset": "l2dct", "transport": {"min_rot": "5ms"}},
        {"preset": "l2dct", "transport": {"min_rto": 5}},
        {"preset": "pias", "port": {"discipline": {"thresholds": "some"}}},
        {"preset": "pias", "port": {"discipline": {"kind": "fifo", "thresholds": [1_000]}}},
        {"preset": "ads", "port": {"discipline": {"mapping": {"kind": "none"}}}},
    ],
)
def test_a_change_of_a_preset_keeps_to_the_keys(scheme: dict[str, Any]) -> None:
    changed = SMALL | {"scheme": scheme}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(changed, fctlab.schema())
    with pytest.raises(fctlab.SpecError):
        fctlab.load_scenario(changed).resolve()
