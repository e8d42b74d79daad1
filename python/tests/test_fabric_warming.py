"""The warm-up of `fctlab fabric` where a scenario gives none."""

from __future__ import annotations

from typing import Any

import pytest

from fctlab import fabric
from fctlab.errors import SpecError
from fctlab.fabric import asked, lengths, warming, windows
from fctlab.formats import time_s
from tests.test_fabric import spec

pytestmark = pytest.mark.filterwarnings("ignore::fctlab.SpecWarning")


def rising(**traffic: Any) -> dict[str, Any]:
    """Large flows in an empty fabric, at a load at which queues take long to grow."""
    tables = spec()
    tables["traffic"] |= {"load": 0.9, "flows": 200, **traffic}
    for each in tables["traffic"]["classes"]:
        each["workload"] = {"kind": "fixed", "size": "1MB"}
    return tables


def warmup_s(of: asked.Asked) -> float:
    return time_s(of.tables["measure"]["warmup"])


def test_what_is_level_from_the_start_needs_none() -> None:
    found = warming.settled(asked.load(spec()))
    assert (found.warmup, warmup_s(found)) == ("found", 0)


def test_what_a_scenario_gives_is_kept() -> None:
    for given in ("0s", "2ms"):
        read = asked.load(rising() | {"measure": {"warmup": given}})
        assert warming.settled(read) is read


def test_slowdowns_are_level_behind_what_is_found() -> None:
    read = asked.load(rising())
    assert lengths.rises(read, windows.run(read, range(8)).flows)
    found = warming.settled(read)
    assert found.warmup == "found" and warmup_s(found) > 0
    run = windows.run(found, range(8))
    assert not lengths.rises(found, run.flows)
    assert len(run.flows) == pytest.approx(8 * 200, rel=0.1), "as many are measured"


def test_measuring_lasts_as_long_as_before() -> None:
    tables = rising(duration="3ms")
    del tables["traffic"]["flows"]
    found = warming.settled(asked.load(tables))
    assert warmup_s(found) > 0
    assert time_s(found.tables["traffic"]["duration"]) == pytest.approx(3e-3 + warmup_s(found))


def test_every_command_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = rising()
    monkeypatch.setattr(lengths, "enough", lambda read, *_: read)
    runs = {
        "predict": fabric.predict(tables, most_windows=1).runs,
        "verify": fabric.verify(tables, count=1, flows=100).runs,
        "whatif": fabric.whatif(tables, down=["spine 0"]).runs,
        "plan": fabric.plan(tables, budget=2, flows=100, verify=False).runs,
    }
    assert all(each.warmup_found for each in runs.values())
    assert len({each.warmup_s for each in runs.values()}) == 1
    assert runs["predict"].warmup_s > 0
    given = tables | {"measure": {"warmup": "3ms"}}
    kept = fabric.predict(given, most_windows=1).runs
    assert (kept.warmup_s, kept.warmup_found) == (3e-3, False)


def test_it_is_found_on_packets_where_the_fluid_does_not_know_the_scheme() -> None:
    tables = rising() | {"scheme": {"preset": "pfabric"}}
    found = warming.settled(asked.load(tables, engine="packet"))
    assert found.warmup == "found" and found.tables["engine"]["kind"] == "packet"


def test_it_is_found_on_packets_where_the_fluid_overflows_a_buffer() -> None:
    tables = rising()
    tables["scheme"]["port"] = {
        **tables["scheme"]["port"],
        "buffer": "15KB",
        "ecn_threshold": "6KB",
    }
    with pytest.raises(SpecError, match="buffer"):
        warming.settled(asked.load(tables))
    found = warming.settled(asked.load(tables, engine="packet"))
    assert found.warmup == "found" and found.tables["engine"]["kind"] == "packet"


def test_a_mistake_in_its_table_is_told_first() -> None:
    with pytest.raises(SpecError, match="measure"):
        asked.load(spec(measure=5))
