"""Specifications in Dhall: the paper's figure 4, the typed names, and what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import fctlab
from fctlab import dhall
from fctlab.cli.app import app
from fctlab.errors import SpecError
from fctlab.files import SCENARIO, SPECIFICATION, read_tables
from fctlab.slo import planning

SCENARIOS = Path(__file__).parents[2] / "scenarios"
FIGURE = SCENARIOS / "figure-4"

# swp, figure 4, as printed: line breaks, indentation and the cut included.
CONFIG = """\
-- Top-level configuration
{ network =
  { link = T.Gbps 100
    , rtt = T.Us 10
  }
  , queue = Queue.FIFO
  , cc = ./dctcp.dhall
  , classes = [ ./foo.dhall, ./bar.dhall ]
} : Config
"""
DCTCP = """\
CC.Normal
{ r_init = T.Gbps 100
  , u_target = 1.0
  , thresh = T.KB 100
  , beta = 1.0
  , eta = 5.5
}
"""
FOO = """\
{ name = "Foo"
  , flowsizes = Workload.Cdf "websearch.txt"
  , interarrivals =
    Workload.Lognormal
    { mu = 11.3, sigma = 2.0 }
  , slis =
    [ { name = "tail_slowdown"
      , metric = Metric.Percentile 0.99
      , attr = Attr.Slowdowns
      -- ... (snip)
    }
    ]
  , slo = "tail_slowdown < 3.0"
}
"""

# scenarios/figure-4 in TOML.
TOML = """
network = { link = "100Gbps", rtt = "10us" }
queue = "fifo"
cc = { r_init = "100Gbps", u_target = 1.0, thresh = "100KB", beta = 1.0, eta = 5.5 }

[[classes]]
name = "Foo"
flowsizes = SIZES
interarrivals = { kind = "lognormal", mu = 11.3, sigma = 2.0 }
slis = [{ name = "tail_slowdown", metric = "p99" }]
slo = "tail_slowdown < 3.0"

[[classes]]
name = "Bar"
flowsizes = SIZES
interarrivals = { kind = "lognormal", mu = 12.0, sigma = 1.5 }
slis = [{ name = "tail_slowdown", metric = "p99" }, { name = "mean_slowdown", metric = "mean" }]
slo = "tail_slowdown < 30.0 and mean_slowdown < 10.0"
"""


def figure(folder: Path, **changed: str) -> Path:
    """Figure 4 in `folder`, with files (by stem) changed."""
    shutil.copytree(FIGURE, folder, dirs_exist_ok=True)
    for stem, text in changed.items():
        (folder / f"{stem}.dhall").write_text(text, encoding="utf-8")
    return folder / "config.dhall"


def error(file: Path) -> str:
    with pytest.raises(SpecError) as caught:
        planning.load(file)
    return str(caught.value).replace(f"{file}: ", "", 1)


def test_figure_4_predicts_what_the_same_in_toml_does(tmp_path: Path) -> None:
    sizes = f"{{ kind = 'cdf', file = '{FIGURE / 'websearch.txt'}' }}"
    (tmp_path / "cdf.toml").write_text(TOML.replace("SIZES", sizes), encoding="utf-8")
    (tmp_path / "table.toml").write_text(TOML.replace("SIZES", "'websearch_bytes'"))

    def predicted(file: Path) -> Any:
        arguments = ["predict", str(file), "--most-flows", "50000", "--json"]
        done = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        answer = json.loads(done.stdout)
        del answer["cost"]
        return answer

    dhall = predicted(FIGURE / "config.dhall")
    assert [c["name"] for c in dhall["classes"]] == ["Foo", "Bar"]
    assert dhall["flows"] > 40_000
    assert dhall == predicted(tmp_path / "cdf.toml")
    assert dhall["classes"] == predicted(tmp_path / "table.toml")["classes"]


def test_figure_4_as_printed(tmp_path: Path) -> None:
    printed = planning.load(figure(tmp_path, config=CONFIG, dctcp=DCTCP, foo=FOO))
    shipped = planning.load(FIGURE / "config.dhall")
    text = json.dumps(printed).replace(str(tmp_path), str(FIGURE))
    assert json.loads(text) == shipped


def test_every_key_has_a_typed_form(tmp_path: Path) -> None:
    two = SCENARIOS / "slo-two-classes"
    assert planning.load(f"{two}.dhall") == planning.load(f"{two}.toml")

    # What is left out in Dhall means what it means in TOML.
    least = tmp_path / "least.dhall"
    least.write_text(
        "Spec::{ network = Network::{ link = T.Gbps 10, rtt = T.Ms 1 }, classes ="
        ' [ Class::{ name = "a", flowsizes = Some (Workload.Fixed (T.KB 2)), load = Some 0.5 } ] }'
    )
    same: dict[str, Any] = {
        "network": {"link": "10Gbps", "rtt": "1ms"},
        "classes": [{"name": "a", "flowsizes": {"kind": "fixed", "size": "2KB"}, "load": 0.5}],
    }
    assert planning.load(least) == planning.load(same)

    (tmp_path / "flows.csv").write_text("start_s,src,dst,size_bytes\n0,0,1,1250\n")
    most = tmp_path / "most.dhall"
    most.write_text("""
      let sizes = Workload.Uniform [ T.B 100, T.KB 2, T.MB 1 ]
      let bimodal = Workload.Bimodal { small = T.KB 1, large = T.MB 2, small_share = 0.9 }
      let slow = Sli::{ name = "slow", metric = Metric.Mean, attr = Attr.Throughput, from = T.B 9 }
      let a = Class::{ name = "a", flowsizes = Some sizes, interarrivals = Some Workload.Poisson
                     , rate = Some (T.Mbps 900), weight = 2.5, slis = [ slow ] }
      let b = Class::{ name = "b", flowsizes = Some bimodal, load = Some 0.1
                     , interarrivals = Some (Workload.LognormalShape 1.5) }
      let c = Class::{ name = "c", trace = Some "flows.csv" }
      let d = Class::{ name = "d", flowsizes = Some (Workload.TableSteps "cache"), load = Some 0.1 }
      let cc = CC.Normal
            { r_init = T.Line, u_target = 0.9, thresh = T.B 0, beta = 1.0, eta = 5.0 }
      let network = Network::{ link = T.Gbps 10, rtt = T.Us 8, fct_ends = Network.Delivery
                             , overload = True }
      in Spec::{ seed = 7, network, queue = Queue.DRR Inside.FQ, cc, classes = [ a, b, c, d ] }
    """)
    lognormal = {"kind": "lognormal", "sigma": 1.5}
    mixed = {"kind": "bimodal", "small": "1KB", "large": "2MB", "small_share": 0.9}
    goodput = {"name": "slow", "metric": "mean", "attr": "throughput", "from": "9B"}
    same = {
        "seed": 7,
        "network": {"link": "10Gbps", "rtt": "8us", "fct_ends": "delivery", "overload": True},
        "queue": {"kind": "drr", "inside": "fq"},
        "cc": {"preset": "swp-h", "scheme": "dctcp-rate"},
        "classes": [
            {"name": "a", "flowsizes": {"kind": "uniform", "sizes": ["100B", "2KB", "1MB"]}}
            | {"interarrivals": "poisson", "rate": "900Mbps", "weight": 2.5, "slis": [goodput]},
            {"name": "b", "flowsizes": mixed, "load": 0.1, "interarrivals": lognormal},
            {"name": "c", "trace": str(tmp_path / "flows.csv")},
            {"name": "d", "flowsizes": {"kind": "cache", "interpolation": "step"}, "load": 0.1},
        ],
    }
    assert planning.load(most) == planning.load(same)


@pytest.mark.parametrize("name", ["FIFO", "FQ", "Priority", "WRR", "DRR", "WFQ"])
def test_every_discipline_has_a_name(tmp_path: Path, name: str) -> None:
    alone = name in ("FIFO", "FQ")
    queue = f"Queue.{name}" if alone else f"Queue.{name} Inside.FQ"
    file = figure(tmp_path, config=CONFIG.replace("Queue.FIFO", queue))
    inside = {} if alone else {"inside": "fq"}
    assert read_tables(file, SPECIFICATION)["queue"] == {"kind": name.lower(), **inside}
    planning.load(file)


def test_every_preset_and_kind_has_a_name() -> None:
    catalog = planning.catalog()
    prelude = (Path(__file__).parents[2] / "crates/dhall/src/prelude.dhall").read_text()
    for part in catalog["congestion controls"]:
        assert f"| {part['name']}\n" in prelude
    for part in catalog["queues"]:
        assert f'"{part["name"]}"' in prelude


def test_a_scenario_of_the_packet_engine(tmp_path: Path) -> None:
    file = tmp_path / "star.dhall"
    file.write_text("""
      { topology = { kind = "star", senders = 3, host_rate = "10Gbps", base_rtt = "20us" }
      , traffic = { workload.kind = "fixed", workload.size = "20KB", load = 0.3, flows = 50 }
      , scheme.preset = "dctcp"
      }
    """)
    flat = tmp_path / "star.toml"
    flat.write_text("""
      topology = { kind = "star", senders = 3, host_rate = "10Gbps", base_rtt = "20us" }
      traffic = { workload = { kind = "fixed", size = "20KB" }, load = 0.3, flows = 50 }
      scheme = { preset = "dctcp" }
    """)
    assert read_tables(file, SCENARIO) == read_tables(flat, SCENARIO)
    assert fctlab.run(file).flows.equals(fctlab.run(flat).flows)


def test_mistakes(tmp_path: Path) -> None:
    def wrong(stem: str, old: str, new: str) -> str:
        shutil.rmtree(tmp_path)
        text = (FIGURE / f"{stem}.dhall").read_text(encoding="utf-8")
        assert old in text
        return error(figure(tmp_path, **{stem: text.replace(old, new)}))

    assert wrong("config", "T.Us 10", "T.KB 10") == (
        "line 2, column 1: network.rtt: expected T.Duration, found T.Size (at `{ network =`)"
    )
    assert wrong("config", "rtt", "rtd").startswith(
        'line 2, column 1: network: rtd: unknown key; did you mean "rtt"? known here: link, rtt'
    )
    assert wrong("config", "bar", "baz") == "line 8, column 28: baz.dhall: no such file"
    assert wrong("foo", "0.99", '"p99"') == (
        "foo.dhall: line 8, column 16: wrong type of function argument: expected Double, "
        'found Text (at `Metric.Percentile "p99"`)'
    )
    assert wrong("foo", "slo =", "slo") == (
        'foo.dhall: line 12, column 3: syntax error (at `slo "tail_slowdown < 3.0"`)'
    )
    missing = wrong("foo", '"websearch.txt"', '"nosuch.txt"')
    assert missing.startswith("classes.Foo.flowsizes.file: ")
    assert wrong("dctcp", "CC.Normal", "https://example.com/cc.dhall") == (
        "dctcp.dhall: line 2, column 1: example.com is not read: imports are files on the local "
        "disk, such as ./foo.dhall"
    )
    assert wrong("bar", "{ name", "./config.dhall { name") == (
        "bar.dhall: line 2, column 1: import cycle: config.dhall -> bar.dhall -> config.dhall"
    )
    # Right types, wrong values: the engine's own errors.
    assert wrong("foo", "sigma = 2.0", "sigma = -2.0") == (
        "classes.Foo.interarrivals.sigma: -2.0 is not in (0, inf)"
    )
    assert wrong("foo", "tail_slowdown <", "tail <").startswith("classes.Foo.slo: ")


def test_mistakes_on_the_command_line(tmp_path: Path) -> None:
    file = figure(tmp_path, dctcp="{ a = }")
    done = CliRunner().invoke(app, ["predict", str(file)])
    assert done.exit_code != 0 and "Traceback" not in done.output


def test_what_recurses_without_bound(tmp_path: Path) -> None:
    file = tmp_path / "endless.dhall"
    program = "Natural/fold 3000000 Natural (\\(n : Natural) -> n + 1) 0"
    file.write_text(f"{{ a = {program} }}", encoding="utf-8")
    assert error(file) == "recurses too deep, or takes more than 4 GB of memory to read"


def test_imports_stay_in_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stranger's specification shows nobody the files of who reads it."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "secret").write_text("not to be shown")
    spec = tmp_path / "mine" / "spec.dhall"
    (tmp_path / "mine" / "link").symlink_to(tmp_path / "secret")
    for place in ("../secret", "./link", str(tmp_path / "secret")):
        spec.write_text(f"{{ name = {place} as Text }}")
        with pytest.raises(SpecError, match="is outside the specification's folder") as error:
            dhall.read(spec.read_text(), spec)
        assert "not to be shown" not in str(error.value)
    monkeypatch.setenv("FCTLAB_IMPORTS", str(tmp_path))
    assert json.loads(dhall.read(spec.read_text(), spec)) == {"name": "not to be shown"}
