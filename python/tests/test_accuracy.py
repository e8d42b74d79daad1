"""The link model beside packets: guards at twice the errors of docs/evidence/model-accuracy.md."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from fctlab.slo import planning

FACEBOOK, WEBSEARCH = "facebook_hadoop_bytes", "websearch_bytes"
# Bins by size: up to a BDP, up to 1 MB, above.
EDGES = (0, 125e3, 1e6, np.inf)
# Errors that docs/evidence/model-accuracy.md has, of means by bin, and of the p99 up to a BDP.
STATED = {"dctcp-rate": ((0.005, 0.01, 0.015), 0.01), "hpcc": ((0.005, 0.03, 0.02), 0.025)}


def spec(sizes: str, cc: str, queue: Any = "fifo", **network: str) -> dict[str, Any]:
    """One class at a load of 0.6, gaps with sigma 2."""
    row = {
        "name": "a",
        "flowsizes": sizes,
        "interarrivals": {"kind": "lognormal", "sigma": 2.0},
        "load": 0.6,
        "slis": [{"name": "tail", "metric": "p99"}],
        "slo": "tail < 100",
    }
    of = {"link": "100Gbps", "rtt": "10us"} | network
    return planning.load({"network": of, "queue": queue, "cc": cc, "classes": [row]})


def errors(resolved: dict[str, Any], flows: int) -> tuple[list[float], list[float]]:
    """Of means and of p99s of slowdowns, by size."""
    drawn = planning.flows(resolved, flows)
    run, _ = planning.replay(resolved, drawn)
    sizes = drawn["size_bytes"].to_numpy()
    model, packets = (each["slowdown"].to_numpy() for each in (drawn, run))
    bins = [(sizes > low) & (sizes <= high) for low, high in itertools.pairwise(EDGES)]
    means = [float(model[i].mean() / packets[i].mean() - 1) for i in bins]
    tails = [float(np.quantile(model[i], 0.99) / np.quantile(packets[i], 0.99) - 1) for i in bins]
    return means, tails


@pytest.mark.parametrize("cc", STATED)
@pytest.mark.parametrize(("sizes", "flows"), [(FACEBOOK, 40_000), (WEBSEARCH, 12_000)])
def test_the_model_is_as_near_packets_as_the_docs_say(cc: str, sizes: str, flows: int) -> None:
    means, tails = errors(spec(sizes, cc), flows)
    stated, tail = STATED[cc]
    for error, most in zip(means, stated, strict=True):
        assert abs(error) < 2 * most, means
    assert abs(tails[0]) < 2 * tail, tails


@pytest.mark.parametrize("queue", ["fq", {"kind": "wfq", "inside": "fq"}], ids=str)
def test_under_fair_queueing_packets_leave_whole(queue: Any) -> None:
    """A fluid is 3 to 15% too slow here: it gives a packet n times its transmission time."""
    resolved = spec(FACEBOOK, "dctcp-rate", queue)
    if queue != "fq":
        own = {**resolved["classes"][0], "load": 0.375}
        other = {**own, "name": "b", "flowsizes": WEBSEARCH}
        resolved = planning.load({**resolved, "classes": [own, other]})
    drawn = planning.flows(resolved, 20_000)
    run, _ = planning.replay(resolved, drawn)
    of = ((drawn["traffic_class"] == "a") & (drawn["size_bytes"] <= 3000)).to_numpy()
    model, packets = (each["slowdown"].to_numpy()[of] for each in (drawn, run))
    for share in (0.5, 0.9, 0.99, 0.999):
        assert np.quantile(model, share) == pytest.approx(np.quantile(packets, share), rel=0.02)


def test_where_the_model_is_off_predict_plan_and_provision_say_so() -> None:
    few = spec(FACEBOOK, "hpcc", "wfq", link="25Gbps", rtt="8us")
    with pytest.warns(UserWarning, match="here 23 .25Gbps, 8us.*24% too low"):
        found = planning.predict(few, most_flows=200)
    assert len(found.warnings) == 1 and "--engine packet" in found.warnings[0]
    with pytest.warns(UserWarning, match="few packets"):
        assert planning.plan(few, most_flows=2000).warnings == found.warnings
    few["classes"][0]["slo"] = "tail < 8"
    with pytest.warns(UserWarning, match="few packets"):
        planning.provision(few, ["fifo"], precision=0.01)


@pytest.mark.filterwarnings("error")
def test_where_the_model_is_right_nothing_is_said() -> None:
    few = spec(FACEBOOK, "hpcc", link="25Gbps", rtt="8us")
    assert planning.predict(few, engine="packet", most_flows=200).warnings == ()
    for cc, link in (("hpcc", "100Gbps"), ("dctcp-rate", "25Gbps"), ("swp-h", "25Gbps")):
        found = planning.predict(spec(FACEBOOK, cc, link=link), most_flows=200)
        assert found.warnings == (), cc
