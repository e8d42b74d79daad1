"""Exports from the command line: plans, thresholds and mappings, and what is refused."""

from __future__ import annotations

import copy
import json
import random
import shlex
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from fctlab.errors import SpecError, SpecWarning
from fctlab.export import effect, exporting, form, init, percent, results, saved, site
from fctlab.export import steps as dividing
from fctlab.export.targets import TARGETS
from fctlab.export.types import Advice, Cuts, Queue, Share
from fctlab.slo import planning
from fctlab.slo import saved as plans
from fctlab.slo.types import Plan
from tests.conftest import SCENARIOS, Program
from tests.refusing import changed
from tests.test_export_openconfig import config as model_config
from tests.test_export_sonic import config
from tests.test_pinned import PINNED

SWITCHES = ("sonic", "openconfig", "eos")
THRESHOLDS = PINNED / "thresholds.json"
MAPPING = PINNED / "mapping.json"


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``fctlab plan --out`` writes, with weights 77 : 93 : 1."""
    place = tmp_path_factory.mktemp("plan") / "plan"
    spec = planning.load(SCENARIOS / "slo-two-classes.toml")
    spec["classes"].append({**copy.deepcopy(spec["classes"][1]), "name": "bulk", "rate": "5Gbps"})
    spec["classes"][0]["dscp"] = [10, 12]
    spec = planning.load(spec)
    found = Plan.read(json.loads((PINNED / "plan.json").read_text()) | _timeless(spec))
    with plans.writing(Plan, place) as draft:
        plans.write(found, spec, draft.folder)
    return place


def _timeless(spec: dict[str, Any]) -> dict[str, Any]:
    pinned = json.loads((PINNED / "plan.json").read_text())
    cost = {**pinned["cost"], "wall_s": 1.0}
    return {"cost": cost, "spec": spec, "plan": {**pinned["plan"], "weights": [77, 93, 1]}}


@pytest.fixture
def sites(plan: Path, tmp_path: Path) -> dict[str, Path]:
    """What ``--init`` writes, by target."""
    found = {}
    for name in TARGETS:
        found[name] = tmp_path / f"{name}.toml"
        found[name].write_text(init.text(name, plan))
    return found


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", ["plan", "thresholds"])
def test_what_init_writes_is_exported(target: str, kind: str, plan: Path, tmp_path: Path) -> None:
    result = plan if kind == "plan" else THRESHOLDS
    file = tmp_path / "site.toml"
    file.write_text(init.text(target, result))
    found = exporting.export(target, result, file, predict=False)
    names = {each.name for each in found.files}
    assert {"host.tc", "host.dcb"} <= names
    assert target == "tc" or {"leaf.json", "leaf.cfg"} & names
    for steps in found.steps:
        assert steps.apply and steps.look and steps.back
    told = " ".join(found.lost)
    assert ("tagger" in told) == (kind == "thresholds") and "overlay" in told


def test_a_mapping_is_exported_where_it_is_for_all(tmp_path: Path) -> None:
    mapping = json.loads(MAPPING.read_text())
    file = tmp_path / "mapping.json"
    file.write_text(json.dumps(mapping | {"scope": "global", "thresholds": [3, 8, 8, 20]}))
    assert [share.name for share in results.read(file).shares] == [f"band-{i}" for i in range(4)]
    place = tmp_path / "site.toml"
    place.write_text(init.text("sonic", file))
    found = exporting.export("sonic", file, place)
    assert "Queues end at the priorities 3, 8, 20." in " ".join(found.lost)
    ports = {**mapping, "scope": "port", "thresholds": {"leaf 0 -> host 0": [1, 2]}}
    file.write_text(json.dumps(ports))
    with pytest.raises(SpecError, match="compute it with --scope switch or global"):
        results.read(file)


def test_a_mapping_for_each_switch_is_an_output_for_each_tier(tmp_path: Path) -> None:
    place = tmp_path / "site.toml"
    place.write_text(init.text("sonic", MAPPING))
    found = exporting.export("sonic", MAPPING, place)
    texts = {each.name: each.text for each in found.files}
    leaf, spine = (json.loads(texts[f"{role}.json"]) for role in ("leaf", "spine"))
    assert leaf["DSCP_TO_TC_MAP"] != spine["DSCP_TO_TC_MAP"] and "host.tc" in texts
    assert any(
        line.startswith("Hosts write the code point of a packet's step") for line in found.lost
    )
    place.write_text(place.read_text().replace("[roles.spine]", "[roles.spin]"))
    with pytest.raises(
        SpecError, match=r"roles\.spin: is no switch or tier of the mapping; it has host, l"
    ):
        exporting.export("sonic", MAPPING, place)


def test_every_switch_divides_priorities_as_its_thresholds_say() -> None:
    draw = random.Random(3)
    for _ in range(200):
        count = draw.randint(1, 4)
        places = {
            f"{tier} {i}": tuple(sorted(draw.randint(0, 40) for _ in range(count)))
            for tier in ("leaf", "spine")
            for i in range(3)
        }
        roles = ["leaf-0", "leaf 2", "spine"]
        led = dividing.of(places, roles, range(10, 10 + draw.choice((16, 4, 2))))
        assert list(led.ends) == sorted(set(led.ends)) and len(led.codes) == len(led.ends) + 1
        queues = [Queue(f"band-{i}", i, i, (), i, None) for i in range(count + 1)]
        for role in roles:
            leads = {
                code: number
                for each in led.queues(role, queues)
                for code in each.dscps
                for number in [each.queue]
            }
            assert set(leads) == set(led.codes)
            for value in range(42):
                step = sum(end < value for end in led.ends)
                assert leads[led.codes[step]] == sum(cut < value for cut in led.found[role])
        if len(led.codes) > 12:
            assert led.asked == led.found, "there are enough code points for all"
        elif led.asked != led.found:
            assert any("bring them nearer" in line for line in led.words())
        assert led.asked["leaf-0"] == places["leaf 0"]


def test_code_points_of_a_plan_are_the_sites(sites: dict[str, Path]) -> None:
    for file in sites.values():
        assert site.read(file).classes["web"].dscp == (10, 12)


def test_change_and_rollback_are_written(
    plan: Path, sites: dict[str, Path], tmp_path: Path
) -> None:
    existing = tmp_path / "config_db.json"
    existing.write_text(json.dumps(config()))
    found = exporting.export("sonic", plan, sites["sonic"], existing=existing, predict=False)
    texts = {each.name: each.text for each in found.files}
    sonic = TARGETS["sonic"]
    after = sonic.apply(config(), texts["leaf.change.json"])
    assert sonic.apply(after, texts["leaf.rollback.json"]) == config()
    existing.write_text(json.dumps(after))
    assert exporting.difference("sonic", plan, sites["sonic"], existing) == ""


def test_from_the_command_line(
    program: Program, plan: Path, sites: dict[str, Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    done = program("export", "eos", plan, "--site", sites["eos"], "--no-predict", "--out", out)
    assert done.returncode == 0, done.stderr
    assert "What that does to SLOs was not asked for (--no-predict)." in done.stdout
    index = json.loads((out / "export.json").read_text())
    assert index["written"] == {"web": 45, "storage": 54, "bulk": 1}
    assert {each["name"] for each in index["files"]} | {"export.json", "export.txt"} == {
        each.name for each in out.iterdir()
    }
    assert "configure session fctlab" in (out / "export.txt").read_text()
    running = tmp_path / "running"
    running.write_text("hostname leaf1\n")
    done = program("export", "eos", plan, "--site", sites["eos"], "--diff", running)
    assert done.stdout == (out / "leaf.cfg").read_text()
    done = program("export", "eos", plan)
    assert (
        done.returncode == 2 and "--site: is missing; write one: fctlab export eos" in done.stderr
    )
    with pytest.raises(SpecError, match="none of sonic, openconfig, eos, tc"):
        exporting.export("junos", plan, sites["eos"])


# What rounding does


@pytest.mark.parametrize(
    ("weights", "found"),
    [
        ((77, 93, 1), (45, 54, 1)),
        ((1,), (100,)),
        ((1, 1, 1), (34, 33, 33)),
        ((100, 100, 1, 1), (49, 49, 1, 1)),
        ((), ()),
    ],
)
def test_percent(weights: tuple[int, ...], found: tuple[int, ...]) -> None:
    assert percent.of(weights) == found


def test_percent_of_anything_sums_to_100_in_order() -> None:
    draw = random.Random(7)
    for _ in range(2000):
        weights = [draw.choice((1, draw.randint(1, 100))) for _ in range(draw.randint(1, 16))]
        found = percent.of(weights)
        assert sum(found) == 100 and min(found) >= 1
        ranked = sorted(zip(weights, found, strict=True))
        assert all(a[1] <= b[1] for a, b in pairwise(ranked) if a[0] < b[0])


def test_the_effect_is_that_of_predict_with_the_weights_as_written(plan: Path) -> None:
    advice = results.read(plan)
    rows = effect.of(advice, (45, 54, 1), most_flows=20_000)
    assert advice.spec is not None
    spec = copy.deepcopy(advice.spec)
    for each, weight in zip(spec["classes"], (45, 54, 1), strict=True):
        each["weight"] = weight
    asked = planning.predict(spec, most_flows=20_000)
    values = [(c.name, s.name, s.value, c.verdict) for c in asked.classes for s in c.slis]
    assert [(r.traffic_class, r.sli, r.written, r.verdict) for r in rows] == values
    assert {row.cause for row in rows} == {"weights are 45 : 54 : 1"}
    assert effect.of(advice, (77, 93, 1)) == ()


def test_a_feature_that_is_lost_is_predicted(plan: Path) -> None:
    advice = results.read(plan)
    assert advice.spec is not None
    spec = {**advice.spec, "queue": {"kind": "wfq", "inside": "fq"}}
    fair = Advice(advice.source, advice.shares, spec=planning.load(spec))
    rows = effect.of(fair, (77, 93, 1), most_flows=20_000)
    assert {row.cause for row in rows} == {effect.lost(fair)[0][0]}
    assert any(row.planned != row.written for row in rows)


def test_another_threshold_is_predicted_and_queues_that_do_not_mark_are_told(
    plan: Path, sites: dict[str, Path]
) -> None:
    advice = results.read(plan)
    assert advice.spec is not None
    spec = planning.load({**advice.spec, "cc": "dctcp-rate"})
    marking = Advice(advice.source, advice.shares, spec=spec, mark_bytes=300_000)
    assert effect.lost(marking, 300_000) == [] == effect.lost(marking, None)
    ((words, tables),) = effect.lost(marking, 30_000)
    assert words == "queues mark at 30,000 B, not at 300,000 B"
    assert planning.thresh_bytes({**spec, **tables}) == 30_000


# What is refused


ADVICE = Advice("plan", (Share("web", 2), Share("bulk", 1)), mark_bytes=300_000)


def tables() -> dict[str, Any]:
    return {
        "roles": {"leaf": {"ports": ["Ethernet0"], "rate": "100Gbps"}},
        "host": {"ports": ["eth0"], "rate": "100Gbps"},
        "classes": {"web": {"queue": 1, "dscp": [10]}, "bulk": {"queue": 2, "dscp": [18]}},
    }


BAD: list[tuple[str, Any, str]] = [
    ("classes.web.dscp", [64], r"classes.web.dscp\[0\]: 64: expected `int` <= 63"),
    ("classes.web.dscp", [-1], "expected `int` >= 0"),
    ("classes.web.dscp", [], "no code point leads to the class"),
    ("classes.web.dscp", [18], "classes.bulk.dscp: 18 is that of web as well"),
    ("classes.web.dscp", [48], "48 is"),
    ("classes.web.dscp", "10", "expected `array`"),
    ("classes.web.queue", 8, r"8 is not in \[0, 7\]"),
    ("classes.web.queue", 2, "classes.bulk.queue: 2 is that of web as well"),
    ("classes.web.queue", 256, "expected `int` <= 255"),
    ("classes.web.queue", None, "classes.web.queue: is missing; not taken are"),
    ("classes.web.tc", 2, "classes.bulk.tc: 2 is that of web as well"),
    ("classes.web.priority", 16, "expected `int` <= 15"),
    ("classes.web.priority", 2, "classes.bulk.priority: 2 is that of web as well"),
    ("classes.web.colour", "red", "is no key of this table; known: queue, tc, dscp"),
    ("classes.web", None, "classes.web: is missing"),
    ("classes.other", {}, "classes.other: is no class of plan; it has web, bulk"),
    ("classes.$(reboot)", {}, "is no name of 1 to 32 letters"),
    ("classes." + "a" * 300, {}, "is no name of 1 to 32 letters"),
    ("roles.leaf.ports", ["Ethernet0; reboot"], "is no name of a port"),
    ("roles.leaf.ports", ["E" * 300], "is no name of a port"),
    ("roles.leaf.ports", ["Ethernet0", "Ethernet0"], "names Ethernet0 twice"),
    ("roles.leaf.ports", [], "names no port"),
    ("roles.leaf.rate", "fast", "'fast' is no rate such as 100Gbps"),
    ("roles.leaf.rate", "0Gbps", "is no rate"),
    ("roles.leaf.rate", None, "roles.leaf.rate: is missing"),
    ("roles.a|b", {"ports": ["Ethernet0"], "rate": "1Gbps"}, "is no name of 1 to 32"),
    ("roles.host", {"ports": ["Ethernet0"], "rate": "1Gbps"}, "hosts have a table of their own"),
    ("host.ports", ["eth0`id`"], "is no name of a port"),
    ("marking", {"threshold": "2^31"}, "is no size such as 300KB"),
    ("queues", {}, "queues: is no table of a site; known: roles, classes"),
    ("taken", {"queues": [1]}, "1 is taken by lossless or control traffic"),
    ("taken", {"tcs": [1]}, "1 is taken by lossless or control traffic"),
    ("taken", {"dscps": [10]}, r"10 is taken \(\[taken\] dscps\)"),
]


@pytest.mark.parametrize(("path", "value", "wrong"), BAD, ids=[path[:24] for path, *_ in BAD])
def test_a_site_that_cannot_be_is_refused(path: str, value: Any, wrong: str) -> None:
    written = changed(tables(), (path, value))
    with pytest.raises(SpecError, match=wrong):
        form.of(ADVICE, site.of(written), TARGETS["sonic"].limits)


def test_a_lossless_traffic_class_is_refused_unless_the_site_frees_it() -> None:
    written = tables()
    written["classes"]["web"]["queue"] = 3
    with pytest.raises(SpecError, match="3 is taken by lossless or control traffic"):
        form.of(ADVICE, site.of(written), TARGETS["sonic"].limits)
    written["taken"] = {"queues": [4], "tcs": [4], "dscps": []}
    form.of(ADVICE, site.of(written), TARGETS["sonic"].limits)
    written["classes"]["web"]["dscp"] = [46]
    with pytest.raises(SpecError, match="46 is control or voice traffic and stays where it is"):
        form.of(ADVICE, site.of(written), TARGETS["sonic"].limits)


@pytest.mark.parametrize("target", SWITCHES)
def test_no_value_of_a_file_reaches_a_shell(target: str) -> None:
    """Whatever a SITE says is refused or is a word of its own in every command."""
    draw = random.Random(target)
    letters = "aE0/.:-_;|&$`'\"\\ \n\t(){}<>*?~#!"
    passed = 0
    for _ in range(300):
        written = tables()
        port = "E" + "".join(draw.choice(letters) for _ in range(draw.randint(0, 3)))
        role = "r" + "".join(draw.choice(letters) for _ in range(draw.randint(0, 2)))
        written["roles"] = {role: {"ports": [port], "rate": "100Gbps"}}
        written["host"]["ports"] = [port]
        try:
            forms = form.of(ADVICE, site.of(written), TARGETS[target].limits)
            made = []
            for each in forms:
                kind = TARGETS["tc"] if each.role == form.HOST else TARGETS[target]
                made.append(exporting.files_of(kind, each, None, False))
        except SpecError:
            continue
        passed += 1
        for files, steps in made:
            assert all(shlex.quote(file.name) == file.name for file in files)
            words = {word for command in steps.look for word in shlex.split(command, comments=True)}
            assert any(port in word for word in words)
            assert not set(port) & set(";|&$`'\"\\ \n\t(){}<>*?~#!")
    assert passed > 5


def _places(node: Any) -> list[tuple[Any, Any]]:
    """Every place in JSON where a value stands: what holds it, and its key."""
    pairs = list(node.items() if isinstance(node, dict) else enumerate(node))
    inner = [place for _, each in pairs if isinstance(each, dict | list) for place in _places(each)]
    return [(node, key) for key, _ in pairs] + inner


@pytest.mark.parametrize(("target", "existing"), [("sonic", config), ("openconfig", model_config)])
def test_an_existing_file_that_is_broken_is_refused_in_words(target: str, existing: Any) -> None:
    draw = random.Random(target)
    kind = TARGETS[target]
    one = form.of(ADVICE, site.of(tables()), kind.limits)[0]
    one = replace(one, ports=("Ethernet0" if target == "sonic" else "Ethernet1/1",))
    refused = 0
    for _ in range(400):
        broken = existing()
        node, key = draw.choice(_places(broken))
        node[key] = draw.choice([3, None, [], {}, "x", "$(reboot)", True, {"x": 3}, [{}]])
        try:
            before = kind.parse(json.dumps(broken))
            after = kind.wanted(one, before, False)
            assert kind.apply(before, kind.change(before, after)) == after
        except SpecError:
            refused += 1
    assert 0 < refused < 400


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        ("{}", "holds neither thresholds nor a mapping"),
        ("[", "is not JSON: .*; RESULT is"),
        ('{"thresholds_bytes": [3, 2]}', "is not what fctlab writes"),
        ('{"fctlab_mapping": "x"}', "is not what fctlab writes"),
    ],
)
def test_a_result_that_is_none_is_refused(content: str, wrong: str, tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    file.write_text(content)
    with pytest.raises(SpecError, match=wrong):
        results.read(file)
    with pytest.raises(SpecError, match="no such file or directory; RESULT is"):
        results.read(tmp_path / "none")
    with pytest.raises(SpecError, match="holds no result of fctlab's"):
        results.read(tmp_path)


@pytest.mark.parametrize("weights", [[0, 1, 1], [101, 1, 1], [-3, 1, 1], [1, 1]])
def test_weights_that_cannot_be_are_refused(weights: list[int], plan: Path, tmp_path: Path) -> None:
    place = tmp_path / "plan"
    shutil.copytree(plan, place)
    told = json.loads((place / "plan.json").read_text())
    told["plan"]["weights"] = weights
    (place / "plan.json").write_text(json.dumps(told))
    wrong = r"has a weight of -?\d+, not in \[1, 100\]|has 2 weights for 3 classes"
    with pytest.raises(SpecError, match=wrong):
        results.read(place)


def test_thresholds_of_runs(tmp_path: Path) -> None:
    """Those of AWAFS are where its ports ended, those of PIAS what it had."""
    import fctlab

    scenario = fctlab.load_scenario(SCENARIOS / "websearch-leafspine.toml").set("scheme", "awafs")
    changes = {"traffic.flows": 40, "measure.warmup": "0s", "record.ports": {"interval": "1ms"}}
    for key, value in changes.items():
        scenario = scenario.set(key, value)
    place = tmp_path / "run"
    with pytest.warns(SpecWarning, match="nothing is learned"):
        fctlab.run(scenario, out=place)
    # Nothing is learned in so short a time: they are those that it began with.
    assert results.read(place).cuts == Cuts("bytes sent", (7_000, 14_000, 21_000))
    (place / "recordings" / "port_series.parquet").unlink()
    told = json.loads((place / "scenario.json").read_text())
    told["scheme"]["port"]["discipline"] = {"kind": "priority", "thresholds": [9, 99]}
    (place / "scenario.json").write_text(json.dumps(told))
    assert results.read(place).cuts == Cuts("bytes sent", (9, 99))
    del told["scheme"]["port"]["discipline"]["thresholds"]
    (place / "scenario.json").write_text(json.dumps(told))
    says = "has no thresholds; those that follow flows are in a run with record.ports"
    with pytest.raises(SpecError, match=says):
        results.read(place)
    told["scheme"]["tagger"]["kind"] = "remaining"
    (place / "scenario.json").write_text(json.dumps(told))
    says = "its scheme has no thresholds on bytes sent, which hosts tag"
    with pytest.raises(SpecError, match=says):
        results.read(place)


def test_an_export_is_not_written_over_strangers(
    plan: Path, sites: dict[str, Path], tmp_path: Path
) -> None:
    from fctlab.errors import OutputError

    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    with (
        pytest.raises(OutputError, match=r"holds mine\.txt"),
        saved.keeping(tmp_path / "out", [plan, sites["eos"]], False),
    ):
        pass
