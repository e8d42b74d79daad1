"""`fctlab fabric`: SLOs of classes across a whole fabric."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import fctlab
from fctlab import fabric
from fctlab.cli.app import app
from fctlab.errors import SpecError
from fctlab.fabric import (
    accuracy,
    asked,
    judging,
    lengths,
    planning,
    saved,
    search,
    weights,
    windows,
)
from fctlab.fabric.accuracy import Accuracy, Measured, Size
from fctlab.fabric.types import FabricPlan
from fctlab.results.points import PointStore
from fctlab.scenario import toml
from tests.conftest import EIGHT_HOSTS

pytestmark = pytest.mark.filterwarnings("ignore::fctlab.SpecWarning")

TAIL = [{"name": "tail", "metric": "p99"}]


def spec(**changes: Any) -> dict[str, Any]:
    """Eight hosts in two racks; two classes of small flows, so that it is over soon."""
    classes = [
        {"class": "rpc", "workload": {"kind": "fixed", "size": "20KB"}, "share": 1, "dscp": [34]},
        {"class": "bulk", "workload": {"kind": "fixed", "size": "60KB"}, "share": 1, "dscp": [10]},
    ]
    for each, bound in zip(classes, (6, 9), strict=True):
        each.update(slis=TAIL, slo=f"tail < {bound}")
    wfq = {"kind": "wfq", "weights": [3, 1]}
    tables = {
        "name": "small",
        "topology": dict(EIGHT_HOSTS),
        "traffic": {"load": 0.5, "flows": 8000, "classes": classes},
        "scheme": {"preset": "dctcp-rate", "port": {"discipline": wfq}},
    }
    return tables | changes


EXACT = Accuracy(
    engines=(),
    cases=tuple(
        Measured(
            transport="dctcp-rate",
            load=load,
            rate_bps=1e10,
            disciplines=("fifo", "wfq"),
            patterns=("all-to-all",),
            sizes=(
                Size(above=0, up_to=None, mean=1.0, tail=tail),
                Size(above=1e4, up_to=1e5, mean=0.98, tail=0.95),
            ),
        )
        for load, tail in ((0.1, 0.96), (0.9, 1.02))
    ),
)


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """A study that covers the small fabric."""
    monkeypatch.setattr(accuracy, "known", lambda: EXACT)


def error(tables: dict[str, Any], **arguments: Any) -> str:
    with pytest.raises(SpecError) as caught:
        asked.load(tables, **arguments)
    return str(caught.value)


def test_what_is_wrong_is_told_once() -> None:
    classes = spec()["traffic"]["classes"]

    def of(*changed: dict[str, Any]) -> dict[str, Any]:
        return spec(traffic={"load": 0.5, "flows": 3000, "classes": list(changed)})

    bare = {k: v for k, v in classes[1].items() if k != "dscp"}
    assert "traffic.classes[1].dscp: is missing in bulk" in error(of(classes[0], bare))
    both = [{k: v for k, v in each.items() if k != "dscp"} for each in classes]
    asked.load(of(*both))
    assert "switches know a class by its code points" in error(of(*both), weights=True)
    twice = {**classes[1], "dscp": [34]}
    expected = "traffic.classes[1].dscp: 34 is that of two classes"
    assert error(of(classes[0], twice)) == expected
    assert "not an SLI of the class" in error(of(classes[0], {**classes[1], "slo": "tial < 3"}))
    silent = [{k: v for k, v in each.items() if k not in ("slis", "slo")} for each in classes]
    assert "no class has an SLI" in error(of(*silent))
    assert "is not an engine" in error(spec(), engine="model")
    fifo = spec(scheme={"preset": "dctcp-rate"})
    with pytest.raises(SpecError, match="fifo has no weights; take one of wfq"):
        fabric.plan(fifo)
    down = {**spec()["topology"], "down": ["leaf 0 -> spine 0", "leaf 0 -> spine 1"]}
    assert error(spec(topology=down)).startswith("topology.down")


@pytest.mark.usefixtures("known")
def test_predict_judges_classes_racks_pairs_and_links() -> None:
    found = fabric.predict(spec(traffic={**spec()["traffic"], "flows": 24_000}), most_windows=2)
    assert [each.name for each in found.classes] == ["rpc", "bulk"]
    assert [rack.name for rack in found.racks] == ["leaf 0", "leaf 1"]
    assert {(pair.source, pair.destination) for pair in found.pairs} == {
        (a, b) for a in ("leaf 0", "leaf 1") for b in ("leaf 0", "leaf 1")
    }
    # Every flow is in one pair, and in a rack at each of its ends.
    assert sum(pair.flows for pair in found.pairs) == found.runs.flows == 48_000
    apart = sum(pair.flows for pair in found.pairs if pair.source != pair.destination)
    in_racks = sum(sli.flows for rack in found.racks for c in rack.classes for sli in c.slis)
    assert in_racks == 48_000 + apart
    shares = [tier.share for tier in found.tiers if tier.share is not None]
    assert sum(shares) == pytest.approx(1.0)
    assert sum(link.share for link in found.links) == pytest.approx(1.0)
    for each in found.classes:
        (sli,) = each.slis
        low, high = sli.ci99
        assert low is not None and high is not None
        # The truth may be above the value by a twentieth, whatever the flows say.
        assert low < sli.value < 0.951 * high
        assert each.worst_loss is not None and each.loss is not None
        bound = sli.targets[0].below
        assert bound is not None
        assert each.worst_loss == pytest.approx(sli.value / 0.95 / bound - 1)


@pytest.mark.usefixtures("known")
def test_packets_and_the_fluid_have_the_same_flows() -> None:
    fluid, packet = (asked.load(spec(), engine=engine) for engine in asked.ENGINES)
    runs = [windows.run(of, [1]) for of in (fluid, packet)]
    one, other = (run.flows.select("class", "size_bytes", "src", "dst") for run in runs)
    assert one.equals(other)
    # An interval of packets' alone is narrower than with the error of the fluid.
    errors = accuracy.errors(fluid, EXACT)
    with_error = judging.judge(fluid, runs[0], errors)[0].slis[0].ci99[1]
    without = judging.judge(fluid, runs[0])[0].slis[0].ci99[1]
    assert with_error == pytest.approx((without or 0) / 0.95)


def test_outside_of_the_study_packets_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = Accuracy(engines=(), cases=())
    monkeypatch.setattr(accuracy, "known", lambda: nothing)
    found = fabric.predict(spec(), verify=True)
    assert {each.verdict for each in found.classes} == {"undecided"}
    assert "verify on packets" in found.classes[0].why
    # More windows would not help.
    assert len(found.runs.seeds) == 2
    assert found.verified is not None and found.verified.verdict in ("met", "violated")
    assert found.verified.least_flows >= lengths.FLOWS
    assert not set(found.verified.runs.seeds) & set(found.runs.seeds)


def test_windows_are_as_long_as_the_rarest_class_needs() -> None:
    classes = spec()["traffic"]["classes"]
    classes[1] = {**classes[1], "share": 0.1}
    traffic = {"load": 0.5, "duration": "1ms", "classes": classes}
    read = asked.load(spec(traffic=traffic), engine="packet")
    rare = min(lengths.flow_shares(read))
    longer = lengths.enough(read, 500)
    assert longer.prepared.expected_flows * rare == pytest.approx(500 * lengths.SPARE, rel=0.01)
    # No window takes all memory for a class that hardly comes.
    traffic["classes"] = [classes[0], {**classes[1], "share": 1e-6}]
    rarest = lengths.enough(asked.load(spec(traffic=traffic)))
    assert rarest.prepared.expected_flows == pytest.approx(lengths.MOST, rel=0.01)


@pytest.mark.usefixtures("known")
def test_all_commands_have_windows_of_one_length() -> None:
    """Of short ones the fluid would say what long ones of packets do not keep."""
    tables = spec()
    tables["traffic"]["flows"] = 300
    counts = {
        "predict": fabric.predict(tables, most_windows=1).runs,
        "verify": fabric.verify(tables, count=1, most_windows=1).runs,
        "whatif": fabric.whatif(tables, down=["spine 0"]).runs,
    }
    for name, runs in counts.items():
        count = 5 if name == "whatif" else 1
        assert runs.flows / count == pytest.approx(4 * 1000 * lengths.SPARE, rel=0.1), name
    found = fabric.plan(tables, budget=2, flows=400, verify=False)
    shared = len(found.runs.seeds) / (1 + planning.JUDGED)
    run = shared * (len(found.candidates) + planning.JUDGED)
    assert found.runs.flows / run == pytest.approx(4 * 400 * lengths.SPARE, rel=0.1)


def test_it_warns_where_slowdowns_still_rise_in_windows() -> None:
    """Large flows start in an empty fabric, at a load at which queues take long to grow."""
    tables = spec()
    tables["traffic"] |= {"load": 0.8, "flows": 100}
    for each in tables["traffic"]["classes"]:
        each["workload"] = {"kind": "fixed", "size": "1MB"}

    def said(count: int, measure: dict[str, Any]) -> list[str]:
        read = asked.load({**tables, "measure": measure})
        return list(lengths.too_short(read, windows.run(read, range(count))))

    short = said(20, {})
    assert [each.partition(": ")[0] for each in short] == ["rpc", "bulk"]
    assert all(
        each.endswith("windows start empty; give measure.warmup, or more flows") for each in short
    )
    tables["traffic"]["flows"] = 800
    assert not said(5, {"warmup": "10ms"})


def test_bursts_are_no_rise() -> None:
    """Chance has one in twenty, of twelve classes hardly more than two."""
    tables = spec(measure={"warmup": "5ms"})
    tables["traffic"]["load"] = 0.3
    for each in tables["traffic"]["classes"]:
        each["arrivals"] = {"kind": "lognormal", "sigma": 2.0}
    read = lengths.enough(asked.load(tables))
    runs = (windows.run(read, [seed, seed + 1]) for seed in range(0, 12, 2))
    assert sum(len(list(lengths.too_short(read, run))) for run in runs) <= 2


def test_weights_are_small_integers() -> None:
    assert weights.integers([2.0, 1.0]) == (2, 1)
    assert weights.integers([1.0, 1.5]) == (2, 3)
    assert weights.integers([1.0, 5000.0]) == (1, 100)
    for ratio in (1.1, 2.83, 7.7, 42.0, 99.0):
        one, other = weights.integers([ratio, 1.0])
        assert 1 <= other <= one <= 100
        assert one / other == pytest.approx(ratio, rel=weights.CLOSE)


def test_weights_are_written_where_ports_have_them() -> None:
    scheme = spec()["scheme"]
    read = asked.load(spec(scheme={**scheme, "nic": {"discipline": scheme["port"]["discipline"]}}))
    assert weights.today(read) == {"port": (3, 1), "nic": (3, 1)}
    made = weights.written(read, (5, 2), {"leaf-up": (7, 1)})
    assert weights.today(made) == {"port": (5, 2), "nic": (5, 2), "ports.leaf-up": (7, 1)}
    assert set(weights.tiers(made).values()) == {"leaf-up", "spine-down", "leaf-down"}
    assert weights.today(read)["port"] == (3, 1)


@pytest.mark.usefixtures("known")
def test_a_plan_is_verified_and_can_be_exported(tmp_path: Path) -> None:
    tables = spec()
    tables["scheme"]["port"]["discipline"]["weights"] = [1, 40]
    # Where NICs divide by weight, too, fluid and packets differ by more than planning allows here.
    tables["scheme"]["nic"] = {"discipline": "fifo"}
    found = fabric.plan(tables, budget=10)
    losses = {each.name: each.loss for each in found.candidates}
    assert losses["today"] is not None and losses["equal"] is not None
    best = min(each.loss for each in found.candidates if each.loss is not None)
    # What gains less than that is not worth larger weights.
    tried = [(each.weights, each.loss) for each in found.candidates]
    near = [each for each, lost in tried if lost is not None and lost <= best + search.GAIN]
    assert found.weights in near
    assert best < losses["today"]
    assert found.verified is not None and found.verified.least_flows >= lengths.FLOWS
    seeds = [set(found.runs.seeds), set(found.verified.runs.seeds)]
    assert not seeds[0] & seeds[1] and len(found.runs.seeds) == 3
    assert found.advice == (found.verified.verdict == "met")
    assert found.scenario["scheme"]["port"]["discipline"]["weights"] == list(found.weights)
    with saved.writing(FabricPlan, tmp_path / "plan") as draft:
        saved.write(found, {}, draft.folder)
    assert saved.read(FabricPlan, tmp_path / "plan") == found

    from fctlab.export import exporting, init

    site = tmp_path / "site.toml"
    site.write_text(init.text("sonic", tmp_path / "plan"))
    written = exporting.export("sonic", tmp_path / "plan", site)
    assert [each.role for each in written.steps] == ["leaf-down", "leaf-up", "spine-down", "host"]
    assert written.weights == dict(zip(found.names, found.weights, strict=True))


@pytest.mark.usefixtures("known")
def test_an_own_vector_is_exported_for_its_tier_alone(tmp_path: Path) -> None:
    from msgspec import structs

    from fctlab.export import exporting, init

    read = asked.load(spec())
    made = weights.written(read, (2, 1), {"leaf-up": (9, 1)})
    found = structs.replace(
        fabric.plan(spec(), budget=1, verify=False),
        advice=True,
        weights=(2, 1),
        tiers={"leaf-up": (9, 1), "spine-down": (2, 1), "leaf-down": (2, 1)},
        scenario=made.tables,
    )
    with saved.writing(FabricPlan, tmp_path / "plan") as draft:
        saved.write(found, {}, draft.folder)
    site = tmp_path / "site.toml"
    site.write_text(init.text("sonic", tmp_path / "plan"))
    export = exporting.export("sonic", tmp_path / "plan", site)
    files = {each.name: each.text for each in export.files}
    of = {}
    for role in ("leaf-up", "spine-down"):
        schedulers = json.loads(files[f"{role}.json"])["SCHEDULER"].values()
        of[role] = {int(row["weight"]) for row in schedulers if "weight" in row}
    assert of == {"leaf-up": {9, 1}, "spine-down": {2, 1}}
    text = site.read_text().replace("[roles.leaf-up]", "[roles.leaf]")
    (tmp_path / "other.toml").write_text(text)
    with pytest.raises(SpecError, match=r"roles\.leaf: is no tier of"):
        exporting.export("sonic", tmp_path / "plan", tmp_path / "other.toml")
    withheld = structs.replace(found, advice=False, why="it was not verified")
    with saved.writing(FabricPlan, tmp_path / "other") as draft:
        saved.write(withheld, {}, draft.folder)
    with pytest.raises(SpecError, match="advises nothing: it was not verified"):
        init.text("sonic", tmp_path / "other")


@pytest.mark.usefixtures("known")
def test_whatif_says_what_breaks_first() -> None:
    # Of means: tails of so small a fabric hardly depend on its spines.
    tables = spec()
    tables["traffic"]["flows"] = 20_000
    for each in tables["traffic"]["classes"]:
        each.update(slis=[{"name": "mean", "metric": "mean"}], slo="mean < 4")
    found = fabric.whatif(tables)
    cases = {each.what: each for each in found.cases}
    link = next(name for name in cases if name.startswith("leaf") and name.endswith("down"))
    assert {"rpc +20%", "bulk +20%", "spine 0 down", link} <= set(cases)
    assert "a tenant more, of what a rack brings (+50%)" in cases
    order = [each.loss for each in found.cases if each.verdict == "violated"]
    assert order == sorted(order, key=lambda loss: -(loss or 0.0))
    # Half of the links up carry what all did.
    assert cases["spine 0 down"].loss is not None and found.today.loss is not None
    assert cases["spine 0 down"].loss > found.today.loss
    with pytest.raises(SpecError, match=r"topology\.down"):
        fabric.whatif(spec(), down=["spine 7"])


@pytest.mark.usefixtures("known")
def test_whatif_names_the_link_that_is_full_and_the_hosts_that_are_cut_off() -> None:
    found = fabric.whatif(spec(), down=["spine 0", "leaf 1"], louder=1.95)
    cases = {each.what: each for each in found.cases}
    louder, cut = cases["bulk +195%"], cases["leaf 1 down"]
    assert (louder.not_run, louder.verdict) == ("overloaded", None)
    assert re.fullmatch(r"(host|leaf|spine) \d -> \w+ \d is offered \d{3}% of its rate", louder.why)
    assert (cut.not_run, cut.why) == ("cut off", "leaves host 4 without its link")
    ran = cases["spine 0 down"]
    assert (ran.not_run, ran.why) == (None, "") and ran.verdict is not None
    assert [each.not_run is None for each in found.cases] == [False] * 3 + [True] * 2
    more = {each.what: each for each in fabric.whatif(spec(), down=["spine 0"], louder=2.0).cases}
    assert more["rpc +200%"].not_run == "overloaded"
    assert more["rpc +200%"].why == "the loads of all classes add up to 100%"


def test_commands_say_what_became_of_slos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accuracy, "known", lambda: EXACT)
    file = tmp_path / "fabric.json"
    file.write_text(json.dumps(spec()))
    run = CliRunner().invoke
    out = tmp_path / "out"
    told = run(app, ["fabric", "predict", str(file), "--check", "--json", "--out", str(out)])
    verdicts = [each["verdict"] for each in json.loads(told.stdout)["classes"]]
    codes = {"met": 0, "violated": 3, "undecided": 4}
    assert told.exit_code == max(codes[verdict] for verdict in verdicts)
    assert {each.name for each in out.iterdir()} == {
        "fabric-prediction.json",
        "scenario.json",
        "waits.png",
    }
    tight = [f"--set=traffic.classes={toml(_tight())}", "--check"]
    assert run(app, ["fabric", "predict", str(file), *tight]).exit_code == 3
    verify = ["fabric", "verify", str(file), "--windows", "1", "--flows", "200", "--check"]
    assert run(app, [*verify, *tight[:1]]).exit_code in (3, 4)
    assert fctlab.load_scenario(out / "scenario.json").resolve()["name"] == "small"


def _tight() -> list[dict[str, Any]]:
    return [{**each, "slo": "tail < 1.2"} for each in spec()["traffic"]["classes"]]


def test_what_is_wrong_at_the_edges(tmp_path: Path) -> None:
    extras = spec(measure={"extras": ["waits"]})
    said = error(extras, engine="packet")
    assert 'is counted by engine = "fluid" alone; of packets record.waits has the longest' in said
    classes = spec()["traffic"]["classes"]

    def of(sli: dict[str, Any]) -> str:
        changed = [{**classes[0], "slis": [{**TAIL[0], **sli}]}, classes[1]]
        return error(spec(traffic={"load": 0.5, "flows": 3000, "classes": changed}))

    assert 'is not "mean", "p99" or {percentile = 0.99}' in of({"metric": "often"})
    assert "is not a name: letters, digits and _" in of({"name": "1 st"})
    assert "is not above `from` (10KB)" in of({"from": "10KB", "below": "1KB"})
    free = [{k: v for k, v in each.items() if k != "slo"} for each in classes]
    traffic = {**spec()["traffic"], "classes": free, "flows": 200}
    for count, flows in ((0, 1), (1, 0)):
        # Before the search, not behind it.
        with pytest.raises(SpecError, match=r"(windows|flows): 0 is not at least 1"):
            fabric.plan(spec(), budget=10**9, count=count, flows=flows)
    with pytest.raises(SpecError, match="no class has an SLO to plan for; write slo"):
        fabric.plan(spec(traffic=traffic))
    file = tmp_path / "free.json"
    file.write_text(json.dumps(spec(traffic=traffic)))
    checked = CliRunner().invoke(app, ["fabric", "predict", str(file), "--check"])
    assert "no class has an SLO" in str(checked.exception)
    PointStore(tmp_path / "store", create=True)
    empty = CliRunner().invoke(app, ["fabric", "accuracy", str(tmp_path)])
    assert "holds no run of `fctlab study fabric`" in str(empty.exception)
