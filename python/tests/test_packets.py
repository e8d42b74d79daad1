from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from fctlab.cli.app import app
from fctlab.errors import SpecError
from fctlab.slo import planning
from fctlab.studies.swp import accuracy, compared

FIXED = {"kind": "fixed", "size": "100KB"}
LONG = {"kind": "fixed", "size": "1MB"}


def spec(queue: Any, **classes: str) -> dict[str, Any]:
    """Classes of fixed sizes that share 100 Gbps; by name, weight or load."""
    rows = [
        {"name": name, "flowsizes": FIXED, "load": float(load), "slis": [TAIL]}
        for name, load in classes.items()
    ]
    network = {"link": "100Gbps", "rtt": "10us"}
    return planning.load({"network": network, "queue": queue, "cc": "hpcc", "classes": rows})


TAIL = {"name": "tail", "metric": "p99"}


def packets_warn_of(resolved: dict[str, Any]) -> tuple[str, ...]:
    """What `predict` says of it beforehand."""
    return planning.predict(resolved, engine="packet", most_flows=20).warnings


def test_a_lone_flow_takes_the_round_trip_and_its_packets() -> None:
    resolved = spec("fifo", a="0.001")
    drawn = planning.flows(resolved, 20)
    run, result = planning.replay(resolved, drawn)
    # 100 packets of 1000 + 48 + 42 B at 12.5 GB/s, one more of them per switch, ACKs of 60 B,
    # which carry the telemetry back, over RTT + 100 KB / 12.5 GB/s.
    alone = 10e-6 + 101 * 1090 / 12.5e9 + 2 * (60 + 42) / 12.5e9
    assert run["fct_s"].min() == pytest.approx(alone, rel=1e-3)
    assert run["slowdown"].min() == pytest.approx(alone / 18e-6, rel=1e-3)
    assert run.select("start_s", "size_bytes").equals(drawn.select("start_s", "size_bytes"))
    assert result.scenario["scheme"]["transport"]["kind"] == "hpcc"
    # No file has had them, and the text does not name one.
    assert result.scenario["traffic"] == {}
    senders = np.random.default_rng(resolved["seed"]).integers(0, 128, len(drawn))
    assert result.flows["src"].to_list() == senders.tolist()
    assert set(result.flows["dst"]) == {128}


def test_rows_that_are_no_flows_are_named() -> None:
    resolved = spec("fifo", a="0.1")
    drawn = planning.flows(resolved, 20)
    with pytest.raises(SpecError, match=r"traffic\.trace: flows in memory: row 1: size_bytes 0 is"):
        planning.replay(resolved, drawn.with_columns(size_bytes=0))
    with pytest.raises(SpecError, match=r"flows\.start_s: -1 is not a number of seconds"):
        planning.replay(resolved, drawn.with_columns(start_s=-1.0))
    with pytest.raises(SpecError, match=r"flows\.traffic_class: .*'other' is not one of"):
        planning.replay(resolved, drawn.with_columns(traffic_class=pl.lit("other")))


def test_predict_says_what_the_flows_of_packets_come_to() -> None:
    resolved = spec({"kind": "wfq", "inside": "fq"}, a="0.2", b="0.4")
    found = planning.predict(resolved, engine="packet", most_flows=1500)
    until_s = found.simulated_s
    run, result = planning.replay(resolved, planning.flows(resolved, 1500, until_s=until_s))
    assert found.classes == planning.judge(resolved, run, until_s)
    assert found.packet_hops == result.counters["packet_hops"]


def test_the_bdp_is_rate_times_round_trip() -> None:
    assert planning.bdp_bytes(spec("fifo", a="0.1")) == pytest.approx(125_000)


@pytest.mark.parametrize("first", ["a", "b"])
def test_priority_is_that_of_the_specification_whichever_class_starts_first(first: str) -> None:
    loads = {"a": "0.3", "b": "0.6"} if first == "a" else {"b": "0.6", "a": "0.3"}
    resolved = spec("priority", **loads)
    run, _ = planning.replay(resolved, planning.flows(resolved, 2000))
    mean: Any = {n: run.filter(traffic_class=n)["slowdown"].mean() for n in ("a", "b")}
    other = "b" if first == "a" else "a"
    assert mean[first] < mean[other]


def test_both_engines_judge_the_same_flows() -> None:
    resolved = spec({"kind": "wfq", "inside": "fifo"}, a="0.2", b="0.4")
    model = planning.predict(resolved, most_flows=3000)
    packet = planning.predict(resolved, engine="packet", most_flows=3000)
    assert packet.engine == "packet" and (packet.packet_hops or 0) > 100 * model.flows
    for ours, theirs in zip(model.classes, packet.classes, strict=True):
        assert ours.name == theirs.name
        assert ours.slis[0].flows == theirs.slis[0].flows
        assert theirs.slis[0].value == pytest.approx(ours.slis[0].value, rel=0.15)


def test_wrr_takes_whole_weights() -> None:
    resolved = spec("wrr", a="0.2", b="0.4")
    resolved["classes"][1]["weight"] = 1.5
    with pytest.raises(SpecError, match=r"classes\[1\]\.weight: 1\.5 is not a whole number"):
        planning.replay(resolved, planning.flows(resolved, 100))


@pytest.mark.parametrize("control", ["dctcp-rate", "hpcc"])
@pytest.mark.parametrize(
    "queue",
    ["fifo", "fq", "priority", "wrr", "drr", "wfq", {"kind": "wfq", "inside": "fq"}],
    ids=str,
)
def test_the_model_is_near_packets_whatever_the_queue(queue: Any, control: str) -> None:
    mix = accuracy.WEIGHTED[0]
    resolved = accuracy.specification(mix, 0.6, 1, control)
    resolved = planning.load({**resolved, "queue": queue})
    drawn = planning.flows(resolved, 10_000)
    run, _ = planning.replay(resolved, drawn)
    for each in mix.classes:
        of = pl.col("traffic_class") == each.name
        for sizes in (pl.col("size_bytes") <= compared.BDP_BYTES, pl.col("size_bytes") > 1e6):
            model, packets = (
                float(flows.filter(of & sizes)["slowdown"].to_numpy().mean())
                for flows in (drawn, run)
            )
            assert model == pytest.approx(packets, rel=accuracy.LONG), each.name


def test_judge_is_what_predict_says() -> None:
    resolved = spec("fifo", a="0.5")
    resolved["classes"][0]["slo"] = "tail < 3.0"
    resolved = planning.load(resolved)
    found = planning.predict(resolved, most_flows=2000)
    until_s = found.simulated_s
    flows = planning.flows(resolved, found.flows, until_s=until_s)
    judged = planning.judge(resolved, flows, until_s)
    (one,), (other,) = judged[0].slis, found.classes[0].slis
    assert one.flows == other.flows and one.value == other.value
    # `predict` may look again, so its intervals are wider; this is one look.
    for narrow, wide in zip(one.ci99, other.ci99, strict=True):
        off = [abs(end - one.value) for end in (narrow, wide) if end is not None]
        assert off == sorted(off)
    assert judged[0].verdict == found.classes[0].verdict


def test_flows_to_judge_are_whole_and_of_known_classes() -> None:
    resolved = spec("fifo", a="0.5")
    flows = planning.flows(resolved, 100)
    with pytest.raises(SpecError, match=r"flows.traffic_class: .*'other' is not one of"):
        planning.judge(resolved, flows.with_columns(traffic_class=pl.lit("other")), 1.0)
    with pytest.raises(SpecError, match=r"flows.fct_s: .*not a column of Float64 for every flow"):
        planning.judge(resolved, flows.with_columns(fct_s=None), 1.0)


def test_mistakes() -> None:
    resolved = spec("fifo", a="0.5")
    with pytest.raises(SpecError, match="'ns-3' is not an engine; known: model, packet"):
        planning.predict(resolved, engine="ns-3", most_flows=100)  # type: ignore[arg-type]
    resolved["cc"]["scheme"] = "tcp"
    with pytest.raises(
        SpecError, match=r"cc\.scheme: .tcp. is no scheme that has a model; known: dc"
    ):
        planning.predict(resolved, engine="packet", most_flows=100)


def test_the_command(tmp_path: Any) -> None:
    file = tmp_path / "spec.json"
    file.write_text(json.dumps(spec("wfq", a="0.2", b="0.3")))
    arguments = ["predict", str(file), "--engine", "packet", "--most-flows", "500", "--json"]
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code == 0 and json.loads(done.stdout)["engine"] == "packet"


@pytest.mark.parametrize(
    ("cc", "change"),
    [
        ("dctcp-rate", {"thresh": "10KB"}),
        ("dctcp-rate", {"gain": 1.0}),
        ("dctcp-rate", {"rise": "50KB"}),
        ("dctcp-rate", {"header": "400B"}),
        ("hpcc", {"u_target": 0.5}),
        ("hpcc", {"additive_increase": 0.1}),
        ("hpcc", {"payload": "500B"}),
    ],
)
def test_packets_take_the_parameters_that_both_engines_have(
    cc: str, change: dict[str, Any]
) -> None:
    classes = [{**spec("fifo", a="0.7")["classes"][0], "flowsizes": LONG}]
    usual = planning.load({**spec("fifo", a="0.7"), "cc": cc, "classes": classes})
    changed = planning.load({**usual, "cc": {"preset": cc, **change}})
    assert "nothing of" not in " ".join(packets_warn_of(changed))
    drawn = planning.flows(usual, 200)
    assert not planning.replay(changed, drawn)[0].equals(planning.replay(usual, drawn)[0])


def test_what_packets_do_not_take_is_named() -> None:
    changed = {**spec("fifo", a="0.5"), "cc": {"preset": "swp-d", "eta": 3.0, "thresh": "10KB"}}
    found = planning.predict(changed, engine="packet", most_flows=500)
    assert found.warnings == (
        "packets run the scheme dctcp-rate, which has nothing of cc.thresh, cc.eta",
    )
    other = planning.load({**changed, "cc": {"preset": "hpcc", "eta": 3.0}})
    assert packets_warn_of(other) == ("packets run the scheme hpcc, which has nothing of cc.eta",)
    small = planning.load({**changed, "cc": {"preset": "hpcc", "header": "41B"}})
    with pytest.raises(SpecError, match=r"cc\.header: 41B is less than the telemetry, 42B"):
        planning.replay(small, planning.flows(changed, 10))
