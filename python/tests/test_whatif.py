from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fctlab.cli.app import app
from fctlab.errors import SpecError
from fctlab.slo import WhatIf, whatif

RPC: dict[str, Any] = {
    "flowsizes": "google_rpc",
    "slis": [{"name": "tail", "metric": "p99"}],
    "slo": "tail < 4.0",
}
SPEC: dict[str, Any] = {
    "network": {"link": "100Gbps", "rtt": "10us"},
    "queue": "wfq",
    "classes": [{"name": "a", "load": 0.3, **RPC}, {"name": "b", "load": 0.3, **RPC}],
}


def test_values_to_vary() -> None:
    assert whatif.read("classes.a.load=0.1:0.5:5").numbers == pytest.approx(
        (0.1, 0.2, 0.3, 0.4, 0.5)
    )
    rate = whatif.read("classes.a.rate=5Gbps,20Gbps")
    assert (rate.numbers, rate.name) == ((5.0, 20.0), "classes.a.rate (Gbps)")
    assert rate.change(5.0) == "classes.a.rate=5Gbps"
    for wrong in ("classes.a.load", "=1,2", "a=1:2", "a=1,x", "a=1Gbps,2Mbps", "a=1:2:x"):
        with pytest.raises(SpecError, match="is not PATH=FROM:TO:COUNT"):
            whatif.read(wrong)
    with pytest.raises(SpecError, match="fewer than two values"):
        whatif.read("a=1")


def test_tails_grow_with_the_load() -> None:
    found = whatif.sweep(SPEC, [whatif.read("classes.a.load=0.1,0.6")], most_flows=60_000)
    assert (found.spec, found.paths) == ("", ("classes.a.load",))
    light, heavy = (point.classes[0].slis[0] for point in found.points)
    assert light.value < heavy.value
    assert len(whatif.plot(found).axes) == 2


def test_more_weight_is_never_worse(tmp_path: Path) -> None:
    vary = [whatif.read("classes.a.weight=1,8"), whatif.read("classes.b.weight=1,8")]
    found = whatif.sweep(SPEC, vary, most_flows=60_000)
    assert len(found.points) == 4 and len(found.table()) == 4 * 2
    at = {
        (*point.at, each.name): each.slis[0].value
        for point in found.points
        for each in point.classes
    }
    assert at[8, 1, "a"] < at[1, 8, "a"]
    assert at[1, 1, "a"] == at[8, 8, "a"]  # scaling all weights changes nothing
    whatif.plot(found).savefig(tmp_path / "region.png")
    three = [*vary, whatif.read("classes.a.load=0.1,0.2")]
    with pytest.raises(SpecError, match="3 values to vary"):
        whatif.sweep(SPEC, three)


def test_command(tmp_path: Path) -> None:
    import json

    file = tmp_path / "spec.json"
    file.write_text(json.dumps(SPEC))
    arguments = ["--vary", "classes.a.load=0.1,0.2", "--most-flows", "50000"]
    done = CliRunner().invoke(app, ["whatif", str(file), *arguments, "--out", str(tmp_path / "o")])
    assert done.exit_code == 0, done.output
    files = {"whatif.csv", "whatif.png", "whatif.json", "specification.json", "report.html"}
    assert {f.name for f in (tmp_path / "o").iterdir()} == files


def drawn(slo: str, **point: Any) -> tuple[Any, WhatIf]:
    """A picture of what-ifs with SLIs of every kind at loads far apart."""
    slis = [
        {"name": "tail", "metric": "p99"},
        {"name": "took", "metric": "mean", "attr": "fct"},
        {"name": "rate", "metric": "mean", "attr": "throughput"},
    ]
    sizes = {"kind": "fixed", "size": "100KB"}
    one = {"name": "a", "load": 0.3, "flowsizes": sizes, "slis": slis, "slo": slo}
    spec = {**SPEC, "classes": [one]}
    vary = [whatif.read("classes.a.load=0.01,0.02,0.05,0.1,0.8")]
    found = whatif.sweep(spec, vary, **{"most_flows": 20_000, **point})
    return whatif.plot(found), found


def test_targets_units_and_verdicts_are_in_the_picture() -> None:
    figure, found = drawn("tail < 1.5 and took < 1ms and rate > 1Gbps")
    figure.canvas.draw()
    tail, took, rate = figure.axes
    assert [ax.get_ylabel() for ax in figure.axes] == ["slowdown", "FCT", "throughput"]
    level = [line.get_ydata()[0] for line in tail.lines if len(set(line.get_ydata())) == 1]
    assert 1.5 in level
    ticks = [text.get_text() for ax in (took, rate) for text in ax.get_yticklabels()]
    assert any(text.endswith("s") for text in ticks) and any("bps" in text for text in ticks)
    # Loads far apart stand on a logarithmic axis, as do FCTs of 20 us beside 1 ms.
    assert rate.get_xscale() == "log" and took.get_yscale() == "log"
    crosses = [len(line.get_xdata()) for line in tail.lines if line.get_marker() == "X"]
    verdicts = [point.classes[0].verdict for point in found.points]
    assert max(crosses) == verdicts.count("violated") > 0


def test_undecided_points_are_hollow() -> None:
    figure, found = drawn("tail < 4", most_flows=500)
    assert {point.classes[0].verdict for point in found.points} == {"undecided"}
    hollow = [line for line in figure.axes[0].lines if line.get_markerfacecolor() == "white"]
    assert len(hollow[0].get_xdata()) == len(found.points)
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "SLO undecided" in legend and "tail" in legend
