"""What a notebook shows of results, and what `import fctlab` has and does not load."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import fctlab
from fctlab import tables
from fctlab.slo import whatif
from tests.conftest import SCENARIOS, SMALL

HEAVY = ("numpy", "scipy", "polars", "pyarrow", "matplotlib", "plotly", "fctlab.slo")


def test_import_loads_nothing_heavy_and_has_planning_and_fit() -> None:
    code = (
        "import json, sys, fctlab; before = list(sys.modules); "
        "names = [fctlab.planning.__name__, fctlab.fit.__module__, fctlab.fit.__name__]; "
        "print(json.dumps([before, names, dir(fctlab)]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    before, found, names = json.loads(done.stdout)
    assert [name for name in HEAVY if name in before] == []
    assert found == ["fctlab.slo.planning", "fctlab.slo.fit", "fit"]
    assert {"planning", "fit", "compare"} <= set(names)
    with pytest.raises(AttributeError, match="no attribute 'plannning'"):
        _ = fctlab.plannning


def test_runs_and_comparisons_show_as_the_tables_of_the_terminal() -> None:
    result = fctlab.run(SMALL)
    shown = result._repr_html_()
    assert shown.startswith("<table>") and "small &lt;= 100 KB" in shown and "packet-hops" in shown
    comparison = fctlab.compare(SMALL, ["dctcp", "tcp"], seeds=2)
    shown = comparison._repr_html_()
    assert shown.count("<tr>") == 1 + 3 * 2 and "vs dctcp" in shown and "±" in shown


def test_figures_show_as_pictures() -> None:
    result = fctlab.run(SMALL)
    for figure in (result.plot_fct_cdf(), result.plot_slowdown()):
        assert figure._repr_png_().startswith(b"\x89PNG")
    vary = whatif.read("classes.storage.rate=10Gbps,20Gbps")
    found = whatif.sweep(SCENARIOS / "slo-two-classes.toml", [vary], most_flows=5_000)
    assert "<table>" in (found._repr_html_() or "")
    assert whatif.plot(found)._repr_png_().startswith(b"\x89PNG")


def test_answers_of_the_planner_show_as_tables() -> None:
    found = fctlab.planning.predict(SCENARIOS / "slo-two-classes.toml", most_flows=5_000)
    assert "<table>" in (found._repr_html_() or "")
    assert found.classes[0]._repr_html_() is None


def test_cells_are_text_and_never_markup() -> None:
    table = tables.Table("<b>", (tables.Column("a & b"), *tables.numbers("n")))
    table.add("<script>", "1", ends=True)
    shown = tables.html([table, tables.Line("x < y", soft=True)])
    assert "<script>" not in shown and "<caption>&lt;b&gt;</caption>" in shown
    assert "a &amp; b" in shown and "x &lt; y" in shown and "text-align: right" in shown
