"""Pages of predictions, plans, provisions and what-ifs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fctlab import report
from fctlab.errors import SpecError
from fctlab.results import kinds
from fctlab.slo import Plan, Prediction, Provision, WhatIf, advice, saved, words
from fctlab.slo.types import Capacity, ClassPrediction
from tests.conftest import Program
from tests.opened import Opened, data
from tests.test_pinned import PINNED

SPEC = """
name = "two"
network = { link = "100Gbps", rtt = "10us" }
queue = "wfq"
[[classes]]
name = "web"
flowsizes = "google_rpc"
load = 0.3
slo = "tail < 4.0 and goodput > 1Mbps"
slis = [{ name = "tail", metric = "p99" }, { name = "goodput", metric = "p1", attr = "throughput" }]
[[classes]]
name = "bulk"
flowsizes = "google_rpc"
load = 0.2
slo = "tail < 1.01"
slis = [{ name = "tail", metric = "p99" }]
"""
NAMES = ("prediction", "plan", "provision", "whatif")


def pinned(name: str) -> dict[str, Any]:
    """What a command prints with ``--json``, with a time in the place of what is not pinned."""
    found: dict[str, Any] = json.loads((PINNED / f"{name}.json").read_text(encoding="utf-8"))
    found["cost"]["wall_s"] = 1.0
    return found | ({"engine": "model"} if name == "predict" else {})


def keep(found: Any, spec: dict[str, Any], folder: Path) -> Path:
    """A result directory with its page."""
    folder.mkdir()
    saved.write(found, spec, folder)
    report.write(folder)
    return folder


def asked() -> WhatIf:
    """Two classes over two values, each of which matters to one of them."""
    points = []
    for load in (0.1, 0.3):
        for weight in (1, 2, 4):
            web = judged("met" if weight > 1 else "violated", tail=6.0 / weight, mid=2.0 * load)
            bulk = judged("met" if load < 0.2 else "undecided", tail=9.0 * load, mid=3.0 / weight)
            named = [web.to_dict() | {"name": "web"}, bulk.to_dict() | {"name": "bulk"}]
            points.append({"at": [load, weight], "classes": named})
    paths = ["classes.bulk.load", "classes.web.weight"]
    return WhatIf.read({"spec": "two", "paths": paths, "points": points})


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A directory of each kind."""
    root = tmp_path_factory.mktemp("slos")
    predicted, planned = pinned("predict"), pinned("plan")
    found = {
        "prediction": keep(Prediction.read(predicted), predicted["spec"], root / "prediction"),
        "plan": keep(Plan.read(planned), planned["spec"], root / "plan"),
    }
    provisioned = pinned("provision")
    found["provision"] = keep(Provision.read(provisioned), provisioned["spec"], root / "provision")
    found["whatif"] = keep(asked(), planned["spec"], root / "whatif")
    return found


@pytest.mark.parametrize(
    ("name", "charts", "controls"),
    [
        ("prediction", ["standing"], None),
        ("plan", ["standing", "off"], None),
        ("provision", ["least"], None),
        # Two classes; axes and class; along, weight or load, SLI; class and SLI of the map.
        ("whatif", ["verdicts", "along", "over"], 2 + 2 + 3 + 2),
    ],
)
def test_every_control_changes_what_is_drawn(
    browser: Any, places: dict[str, Path], name: str, charts: list[str], controls: int | None
) -> None:
    page = Opened(browser, places[name] / "report.html")
    assert page.charts == charts
    assert page.click_everything() == controls or controls is None
    assert page.tab.locator(".headline").first.is_visible()
    assert page.wrong == []


@pytest.mark.parametrize("name", NAMES)
def test_dark_phone(browser: Any, places: dict[str, Path], name: str) -> None:
    look = {"viewport": {"width": 375, "height": 700}, "color_scheme": "dark"}
    page = Opened(browser, places[name] / "report.html", **look)
    assert page.tab.evaluate("() => document.documentElement.scrollWidth") == 375
    assert page.wrong == []


@pytest.mark.parametrize("name", NAMES)
def test_the_verdict_comes_first_and_needs_no_script(
    browser: Any, places: dict[str, Path], name: str
) -> None:
    tab = browser.new_context(java_script_enabled=False).new_page()
    tab.goto((places[name] / "report.html").as_uri())
    lines = tab.inner_text("body").split("\n")
    first = next(i for i, line in enumerate(lines) if line.split(" ")[0] in words.VERDICTS)
    assert first < lines.index("what"), "before the facts"
    assert len(tab.query_selector_all("td.state, td.number")) > 2


def test_a_prediction_is_told_with_value_interval_and_target(places: dict[str, Path]) -> None:
    page = report.page(places["prediction"])
    overall, *classes = page.headlines
    assert (
        overall.state == "undecided" and overall.text == "2 of 2 SLOs are undecided: web, storage."
    )
    assert "target < 9.00" in classes[0].text and "too few flows" in classes[0].text
    assert any("--most-flows" in line for line in page.advice)
    (chart,) = data(places["prediction"] / "report.html")["charts"]
    series = data(places["prediction"] / "report.html")["series"][chart["series"]]
    sli = saved.read(Prediction, places["prediction"]).classes[0].slis[0]
    assert series[0]["y"][0] == pytest.approx(sli.value / 9.0, rel=1e-3)


def judged(verdict: str, **slis: float) -> ClassPrediction:
    """A class whose SLIs have these values, and a target below 4."""
    template = pinned("predict")["classes"][0]["slis"][0]
    found = [
        {
            **template,
            "name": name,
            "value": value,
            "enough": True,
            "ci99": [value - 0.1, value + 0.1],
            "targets": [{"below": 4.0}],
        }
        for name, value in slis.items()
    ]
    loss = max(slis.values()) / 4 - 1
    return ClassPrediction.read(
        {"name": verdict, "verdict": verdict, "why": "it is", "loss": loss, "slis": found}
    )


def test_verdicts_are_told_the_worst_first() -> None:
    told = words.verdicts([judged("met", a=1.0), judged("violated", a=5.0, b=3.0)])
    assert [(each.verdict, each.text) for each in told] == [
        ("violated", "1 of 2 SLOs is violated: violated."),
        (
            "violated",
            "violated, by 25%: a 5.00 (99%: 4.90 to 5.10), target < 4.00; "
            "b 3.00 (99%: 2.90 to 3.10), target < 4.00",
        ),
        ("met", "met, by 75%: a 1.00 (99%: 0.90 to 1.10), target < 4.00"),
    ]
    assert words.verdicts([judged("met", a=1.0)])[0].text == "Every SLO is met: met."
    assert (
        words.verdicts([judged("violated", a=5.0)])[0].text == "The only SLO is violated: violated."
    )
    assert words.verdicts([]) == []


def test_what_to_do_next() -> None:
    found = pinned("predict")

    def after(*classes: ClassPrediction) -> str:
        rows = [each.to_dict() for each in classes]
        return "\n".join(advice.after(Prediction.read({**found, "classes": rows}), "s.json"))

    assert after(judged("violated", a=5.0)) == (
        "Look for weights that meet every SLO: fctlab plan s.json\n"
        "Look for the least link that does: fctlab provision s.json"
    )
    assert "The tightest is met, with 25% of its threshold to spare." in after(judged("met", a=3.0))
    made = pinned("plan")
    made["plan"] |= {"success": True, "weights": [3, 1], "margin": 0.1, "binding": "web"}
    planned = "\n".join(advice.after(Plan.read(made), "s.json"))
    assert "Set the weights of the link's queues: web 3, storage 1." in planned
    assert "The tightest is web, 10% to spare." in planned and "Watch the forecasts" in planned
    made["plan"]["success"] = False
    assert "fctlab provision s.json" in "\n".join(advice.after(Plan.read(made), "s.json"))


@pytest.mark.parametrize(
    ("ends", "verdict"),
    [((10e9, 20e9), "met"), ((10e9, 30e9), "undecided"), ((25e9, 30e9), "violated")],
)
def test_a_link_is_fast_enough_where_every_slo_is_surely_met(
    ends: tuple[float, float], verdict: str
) -> None:
    row = Capacity(
        strategy="fifo",
        capacity_bps=15e9,
        capacity_ci95=ends,
        load=0.5,
        weights=None,
        tried=1,
    )
    assert words.enough(row, 25e9) == verdict


def test_where_slos_hold_along_one_value() -> None:
    def point(at: float, verdict: str) -> dict[str, Any]:
        return {"at": [at], "classes": [judged(verdict, a=3.0).to_dict() | {"name": "web"}]}

    verdicts = {1: "met", 2: "met", 3: "violated", 4: "met"}
    found = WhatIf.read(
        {"spec": "", "paths": ["x (Gbps)"], "points": [point(*each) for each in verdicts.items()]}
    )
    assert [each.text for each in words.regions(found)] == [
        "Every SLO is met at 3 of 4 points: x (Gbps) 1 to 2, 4.",
        "An SLO is violated at 1 of 4 points: x (Gbps) 3 (web).",
    ]
    assert advice.after(found, "s.json") == [
        "Between 2 and 3 of x (Gbps) the SLO of web turns from met to violated.",
        "Between 3 and 4 of x (Gbps) the SLO of web turns from violated to met.",
        "Look for weights where one is violated: fctlab plan s.json --set x=3Gbps",
    ]


def test_a_map_has_the_verdicts_of_its_points(places: dict[str, Path]) -> None:
    found = data(places["whatif"] / "report.html")
    chart = found["charts"][0]
    (series,) = found["series"][chart["series"]]
    answer = saved.read(WhatIf, places["whatif"])
    wanted = [
        verdict
        for point in answer.points
        for verdict in [
            words.worst(each.verdict for each in point.classes),
            *(each.verdict for each in point.classes),
        ]
    ]
    assert series["y"] == wanted
    assert [each["labels"] for each in chart["grid"]] == [
        ["0.1", "0.3"],
        ["1", "2", "4"],
        ["every class", "web", "bulk"],
    ]


def test_commands_keep_what_they_print(program: Program, tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(SPEC)
    quick = ("--most-flows", "3000", "--out", "out")
    for command, file in (("predict", "prediction.json"), ("plan", "plan.json")):
        done = program(command, "two.toml", *quick, "--json")
        assert done.returncode == 0 and "open out/report.html in a browser" in done.stderr, done
        # An answer replaces the one before it.
        assert {entry.name for entry in (tmp_path / "out").iterdir()} == {
            file,
            "specification.json",
            "report.html",
        }
        assert json.loads((tmp_path / "out" / file).read_text()) == json.loads(done.stdout)
    again = program("predict", "out/specification.json", "--most-flows", "3000")
    assert again.returncode == 0 and "goodput" in again.stdout
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "note.txt").touch()
    refused = program("predict", "two.toml", "--out", "mine")
    assert refused.returncode == 2 and "no result of fctlab's" in refused.stderr


@pytest.mark.parametrize(
    ("content", "told"),
    [("{", "plan.json: is not JSON"), ("{}", "plan.json: is not what fctlab writes: .*warnings")],
)
def test_a_broken_answer_is_one_error(tmp_path: Path, content: str, told: str) -> None:
    (tmp_path / "plan.json").write_text(content)
    with pytest.raises(SpecError, match=told):
        report.write(tmp_path)


def test_a_what_if_from_before_there_were_pages(tmp_path: Path) -> None:
    for name in kinds.WHATIF:
        (tmp_path / name).touch()
    with pytest.raises(SpecError, match=r"has no whatif\.json, .* run fctlab whatif again"):
        report.page(tmp_path)
