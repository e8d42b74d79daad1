from __future__ import annotations

import json
import random
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from fctlab import bench
from fctlab.errors import SpecError
from fctlab.theory import bigswitch, proofs
from fctlab.theory.types import Flow, Instance, Metric
from tests.conftest import Program

BURSTS = [[1], [2], [[1, 2]], [1, 3], [[2, 2]], [3]]


def instances(count: int, ports: int, weights: int) -> list[dict[str, Any]]:
    """Random ones of up to 4 flows and 8 packets."""
    rng = random.Random(ports * 10 + weights)
    found = []
    for _ in range(count):
        flows = []
        left = 8
        for _ in range(rng.randint(1, 4)):
            size = rng.randint(1, min(3, left - 3) if left > 3 else 1)
            left -= size
            flows.append(
                {
                    "ingress": rng.randrange(ports),
                    "egress": rng.randrange(ports),
                    "weight": rng.randint(1, weights),
                    "packets": sorted(rng.randint(1, 6) for _ in range(size)),
                }
            )
        found.append({"ingress_ports": ports, "egress_ports": ports, "flows": flows})
    return found


@pytest.mark.parametrize("ports", [1, 2])
@pytest.mark.parametrize("metric", ["fpt", "weighted_fpt"])
def test_dynamic_and_integer_programs_agree(ports: int, metric: Metric) -> None:
    for instance in instances(60, ports, 5):
        exact = bigswitch.optimum(instance, metric)
        other = bigswitch.optimum(instance, metric, method="milp")
        assert (exact.label, other.label) == ("exact", "exact")
        assert exact.value == other.value, instance
        for method in ("bounds", "lp"):
            bound = bigswitch.optimum(instance, metric, method=method)
            assert bound.label == "lower-bound"
            assert bound.value <= exact.value, (method, instance)


def test_they_agree_on_every_tiny_instance_of_two_flows() -> None:
    for a, b, egress in product(BURSTS, BURSTS, (0, 1)):
        flows = [{"packets": a}, {"packets": b, "ingress": 1, "egress": egress}]
        instance = {"ingress_ports": 2, "egress_ports": 2, "flows": flows}
        exact = bigswitch.optimum(instance)
        assert exact.value == bigswitch.optimum(instance, method="milp").value, instance


def test_what_is_too_large_for_an_exact_optimum_is_bounded_and_says_so() -> None:
    flows = [
        {"packets": [1, 9 + i, 60 + 3 * i], "ingress": i % 3, "egress": i % 2} for i in range(40)
    ]
    instance = {"ingress_ports": 3, "egress_ports": 2, "flows": flows}
    found = bigswitch.optimum(instance)
    assert (found.label, found.method) == ("lower-bound", "bounds")
    stronger = bigswitch.optimum(instance, method="lp")
    best = min(bigswitch.run(instance, p).metrics.fpt for p in ("fifo", "ideal", "sjf"))
    assert found.value <= best and stronger.value <= best
    with pytest.raises(SpecError, match="variables"):
        bigswitch.optimum({"flows": [{"arrival": 100_000, "size": 3}] * 2}, method="milp")


@pytest.mark.parametrize(
    ("flow", "message"),
    [
        (
            {"arrival": 3, "packets": [2]},
            "flows[0].packets[0]: slot 2 is before the flow's arrival, slot 3",
        ),
        ({"packets": [-2]}, "flows[0].packets[0]: -2 is not a slot: slots are numbered from 1"),
        (
            {"packets": [1], "egress": 1},
            "flows[0].egress: 1 is not a port: there are 1, numbered 0 to 0",
        ),
        ({"arrival": 1, "size": 0}, "flows[0].size: 0 packets: a flow has at least one"),
    ],
)
def test_mistakes_in_instances(flow: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError) as error:
        bigswitch.load({"flows": [flow]})
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("lass", 'policy.kind: "lass" is not a policy; did you mean "las"?'),
        ("pias{thresholds=[4, 2]}", "policy.thresholds: [4, 2] is not a rising list"),
        ('asrpt{second="srpt"}', 'policy.second: "srpt" cannot order flows of unknown size'),
        ("pias{thresholds=", "has no closing brace"),
        ("fixed{ranks=[1]}", "policy.ranks: 1 for 3 flows"),
    ],
)
def test_mistakes_in_policies(policy: str, message: str) -> None:
    with pytest.raises(SpecError) as error:
        bigswitch.run(bigswitch.load("figure-1"), policy)
    assert message in str(error.value)


def test_policies_are_written_with_parameters() -> None:
    assert bigswitch.policy('ga{policy="ideal"}') == {"kind": "ga", "policy": "ideal"}
    assert bigswitch.policy("pias{ thresholds=[2, 4] }")["thresholds"] == [2, 4]
    assert bigswitch.label({"kind": "ga", "policy": {"kind": "las"}}) == "ga{policy=las}"
    named = {row["name"] for row in bigswitch.policies()}
    assert {"fifo", "brr", "las", "pias", "srpt", "sjf", "asrpt", "ideal", "ga"} <= named


def test_a_search_gets_worse_than_chance_and_stays_below_the_bound() -> None:
    found = bigswitch.search("asrpt", steps=3000, restarts=1)
    assert 1.3 < found.value <= 2 and found.violations == 0 and found.tried > 10_000
    again = bigswitch.ratios(found.instance, ["asrpt"])
    assert again.optimum.is_exact
    assert again.policies[0].ratio == pytest.approx(found.value)


def test_what_a_mapping_says_is_an_instance_that_says_the_same() -> None:
    written = {
        "egress_ports": 2,
        "flows": [
            {"packets": [[3, 2], 7], "weight": 2, "egress": 1, "name": "late"},
            {"arrival": 5, "size": 3, "every": 2},
        ],
    }
    read = bigswitch.load(written)
    late = Flow(name="late", egress=1, weight=2, packets=((3, 2), 7))
    flows = (late, Flow(egress=0, packets=(5, 7, 9)))
    assert read == Instance(ingress_ports=1, egress_ports=2, flows=flows)
    assert read.names == ["late", "f2"] and late.slots == [3, 3, 7]
    assert bigswitch.load(read) == read == bigswitch.load(read.to_dict())
    # Keys that say nothing are left out; those of a switch with several ports are there.
    assert read.to_dict()["flows"][1] == {"egress": 0, "packets": [5, 7, 9]}
    for method in ("states", "milp"):
        found = bigswitch.optimum(read, "weighted_fpt", method=method)
        assert found == bigswitch.optimum(written, "weighted_fpt", method=method)


def test_where_no_instance_is_small_enough_there_is_no_ratio(program: Program) -> None:
    found = bigswitch.random_ratios(
        ["las"], 3, ingress=3, egress=3, flows=60, packets=3000, slots=3000
    )
    (row,) = found.policies
    assert (found.tried, row.worst, row.mean, row.instance) == (0, None, None, None)
    sizes = ("--ports", "3", "--flows", "60", "--packets", "3000", "--slots", "3000")
    done = program("bigswitch", "ratio", "--instances", "3", "--policy", "las", *sizes)
    assert done.returncode == 0, done.stderr
    assert "3 were too large for it" in done.stdout


def test_the_steps_of_proofs() -> None:
    ranked = proofs.theorem2(50, ingress=2, egress=2, flows=4, packets=12, slots=9)
    assert (ranked.instances, ranked.violations) == (50, 0) and ranked.pairs > 1000
    steps = proofs.theorem8('ga{policy="ideal"}', 50, ingress=2, egress=2, flows=4, packets=9)
    assert steps.tried == 50 and steps.different_schedules == steps.violations == 0
    assert steps.ratio is not None and 1 <= steps.ratio.value <= 3
    built = proofs.against("fifo", proofs.theorem3(10))
    assert built.value > 5 and built.optimum.is_exact
    fooled = proofs.theorem1("las", 2)
    assert fooled.ratio == fooled.policy_fct / fooled.feasible_fct > 1.4


def test_mistakes_in_shapes() -> None:
    with pytest.raises(SpecError, match=r"shape\.slots: 0 is not from 1 to 1,073,741,824"):
        bigswitch.random_ratios(["fifo"], 5, slots=0)
    with pytest.raises(SpecError, match=r"shape\.packets: 2 is less than the 3 flows"):
        bigswitch.random_ratios(["fifo"], 5, flows=3, packets=2)
    with pytest.raises(SpecError, match="restarts: 0 is not at least 1"):
        bigswitch.search("las", restarts=0)
    with pytest.raises(SpecError, match=r"shape\.flows: 0 is not from 1 to "):
        bigswitch.search("las", flows=0)


def test_a_search_keeps_to_the_sizes_it_is_given() -> None:
    found = bigswitch.search("las", steps=50, restarts=1, flows=1, packets=1, slots=1)
    assert found.instance.flows == (Flow(packets=(1,)),)


def test_weighted_asrpt_reaches_two() -> None:
    instance = proofs.family("heavy", 2000).instance
    policy = "asrpt{weighted=true}"
    found = bigswitch.ratios(instance, [policy], "weighted_fpt")
    assert found.optimum.is_exact
    assert 1.999 < found.policies[0].ratio < 2


def test_the_commands(program: Program, tmp_path: Path) -> None:
    def answer(*arguments: str) -> Any:
        done = program("bigswitch", *arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    rows = {r["policy"]: r for r in answer("run", "figure-1")["policies"]}
    assert rows["fifo"]["ends"] == [10, 15, 16] and rows["las"]["metrics"]["fpt"] == 33
    assert answer("opt", "figure-3")["optimum"]["value"] == 25
    assert answer("opt", "figure-3", "--method", "milp")["optimum"]["method"] == "milp"
    assert answer("ratio", "figure-2", "--policy", "las")["policies"][0]["ratio"] == 74 / 50
    found = answer("ratio", "--instances", "500", "--policy", "las")
    assert found["tried"] == 500 and found["policies"][0]["violations"] == 0
    found = answer("worst-case", "brr", "--steps", "300", "--out", "bad.json")
    assert bigswitch.load(tmp_path / "bad.json").to_dict() == found["instance"]
    assert answer("worst-case", "las", "--theorem", "1", "--n", "2")["ratio"] > 1.4
    assert answer("worst-case", "fifo", "--theorem", "3", "--n", "10")["value"] > 5
    done = program("bigswitch", "draw", "figure-1", "--out", "one.svg")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "one.svg").read_text().startswith("<?xml")
    for command in (["run", "figure-1"], ["opt", "figure-1"], ["ratio", "--instances", "9"]):
        assert program("bigswitch", *command).returncode == 0


def test_mistakes_on_the_command_line(program: Program) -> None:
    for arguments, message in (
        (["run", "nothing"], "nothing: is no .toml, .yaml, .yml, .json, .dhall file, nor figure-1"),
        (["run", "nothing.json"], "nothing.json: no such file"),
        (["opt", "figure-1", "--method", "magic"], "--method: 'magic' is not a method; known: "),
        (["ratio", "--flows", "0"], "--flows: 0 is not at least 1"),
        (["worst-case", "fifo", "--theorem", "2"], "--theorem: 2 is not 1, 3 or 6"),
        (["worst-case", "fifo", "--theorem", "1", "--n", "9"], "n: 9 is not in [2, 5]"),
        (["draw", "figure-1", "--out", "a.txt"], "--out: a.txt is no .png"),
    ):
        done = program("bigswitch", *arguments)
        assert done.returncode == 2 and message in done.stderr, done.stderr


def test_the_benchmark_names_every_policy() -> None:
    found = bench.measure("bigswitch", None, 1, lambda line: None)
    names = {b["name"] for b in found}
    assert {f"bigswitch.{p}.packets_per_s" for p in ("fifo", "brr", "las", "srpt")} <= names
    assert all(b["value"] > 1e6 for b in found)
