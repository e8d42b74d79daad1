from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread

import fctlab
from fctlab.results import plots
from tests.conftest import SMALL


def drawn(figure: Figure, file: Path) -> float:
    """Share of pixels that are not the background."""
    figure.savefig(file)
    pixels = imread(file)[..., :3]
    assert min(pixels.shape[:2]) > 300
    return float((np.abs(pixels - 1).max(axis=2) > 0.1).mean())


def test_the_plots_of_a_comparison_show_every_scheme(tmp_path: Path) -> None:
    comparison = fctlab.compare(SMALL, ["dctcp", "pfabric", "tcp"], loads=[0.3, 0.6], seeds=2)
    cdf, slowdown = comparison.plot_fct_cdf(), comparison.plot_slowdown()
    for name, figure in (("cdf", cdf), ("slowdown", slowdown)):
        assert drawn(figure, tmp_path / f"{name}.png") > 0.02
        assert {len(ax.get_legend_handles_labels()[0]) for ax in figure.axes} == {3}
        (legend,) = figure.legends
        assert [text.get_text() for text in legend.get_texts()] == ["dctcp", "pfabric", "tcp"]
    assert [ax.get_title() for ax in cdf.axes] == ["load 0.3", "load 0.6"]
    assert cdf.axes[0].get_xlabel() == "FCT"
    assert slowdown.axes[-1].get_xlabel() == "flow size"
    assert all(ax.get_xscale() == "log" for ax in (*cdf.axes, *slowdown.axes))


def test_the_plots_of_a_run(tmp_path: Path) -> None:
    result = fctlab.run(SMALL)
    assert drawn(result.plot_fct_cdf(), tmp_path / "cdf.png") > 0.02
    assert drawn(result.plot_slowdown(), tmp_path / "slowdown.png") > 0.02


def flows(sizes: list[int], slowdowns: list[float], finished: bool = True) -> pl.LazyFrame:
    return pl.LazyFrame(
        {
            "size_bytes": sizes,
            "slowdown": slowdowns,
            "fct_s": slowdowns,
            "finished": [finished] * len(sizes),
            "measured": [True] * len(sizes),
        },
        schema_overrides={"finished": pl.Boolean, "measured": pl.Boolean},
    )


def test_slowdowns_are_averaged_in_bins_and_over_seeds() -> None:
    seeds = [flows([1, 1, 1000, 1000] * 100, [s, s, 10 * s, 10 * s] * 100) for s in (1.0, 3.0)]
    figure = plots.slowdown_by_size([plots.Curve("x", None, seeds)], "")
    average, p99 = (ax.lines[0] for ax in figure.axes)
    for line in (average, p99):
        assert np.asarray(line.get_xdata()) == pytest.approx([1, 1000])
        assert np.asarray(line.get_ydata()) == pytest.approx([2, 20])


def test_unfinished_flows_count_in_the_cdf() -> None:
    both = [pl.concat([flows([1], [1.0]), flows([1], [9.0], finished=False)])]
    (line,) = plots.fct_cdf([plots.Curve("x", None, both)], "").axes[0].lines
    assert np.asarray(line.get_ydata()).max() == pytest.approx(0.5)


def test_no_flows_draw_an_empty_plot() -> None:
    nothing = [plots.Curve("x", None, [flows([], [])])]
    plots.fct_cdf(nothing, "").canvas.draw()
    plots.slowdown_by_size(nothing, "").canvas.draw()
