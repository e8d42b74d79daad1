"""SLOs without priorities (swp): predict, plan, provision on a functional model of one link.

A specification is a mapping, or a TOML, YAML, JSON or Dhall file (``scenarios/slo-*.toml``)::

    {"network": {"link": "100Gbps", "rtt": "10us"}, "queue": "wfq", "cc": "swp-d",
     "classes": [{"name": "web", "flowsizes": "websearch_bytes", "load": 0.3,
                  "interarrivals": {"kind": "lognormal", "sigma": 2},
                  "slis": [{"name": "tail", "metric": "p99", "below": "125KB"}],
                  "slo": "tail < 4.0"}]}

Times are in seconds, rates in bits per second, throughout.
"""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import structs

from fctlab import _native, choices, files, memory, plain, scenario
from fctlab.errors import SpecError, SpecWarning
from fctlab.jobs import Told
from fctlab.slo.types import ClassPrediction, Engine, Plan, Prediction, Provision, Strategy

if TYPE_CHECKING:
    import polars as pl

    from fctlab.results.result import Result

Spec: TypeAlias = "str | PathLike[str] | Mapping[str, Any]"
ENGINES: tuple[Engine, ...] = ("model", "packet")
STRATEGIES: tuple[Strategy, ...] = ("fifo", "static", "weights", "weights-fq", "priority")


def ask(question: str, told: Told | None = None, **arguments: Any) -> Any:
    """Ask the engine.

    Args:
        question: what is asked.
        told: called again and again until it answers; what it raises ends it.
        arguments: of the question.

    Raises:
        SpecError: a mistake in the arguments.
        KeyboardInterrupt: on Ctrl-C; nothing is kept.
    """
    given = {key: value for key, value in arguments.items() if value is not None}
    return json.loads(_native.planning(plain.dumps({"ask": question, **given}), told))


def load(spec: Spec, sets: Iterable[str] = ()) -> dict[str, Any]:
    """Read, change and validate a specification.

    Args:
        spec: a mapping or a file; relative file names are taken from the file's folder.
        sets: changes ``path=value``; the value is TOML or bare text, or a change such as
            ``+20%``: ``classes.web.load=+20%``.

    Returns:
        The resolved specification; reading it again gives the same.

    Raises:
        SpecError: the first mistake, with its path, the value and what is allowed.
    """
    if isinstance(spec, Mapping):
        value, folder, file = dict(spec), Path(), None
    else:
        value, folder = files.read_tables(spec, files.SPECIFICATION), Path(spec).absolute().parent
        file = spec
    pairs = files.assignments(sets)
    plain.dumps(value)  # a mistake is told with its path in the specification
    with files.located(file, pairs):
        found: dict[str, Any] = ask("resolve", spec=value, sets=pairs, base_dir=str(folder))
    return found


def schema() -> dict[str, Any]:
    """The JSON Schema of a specification."""
    found: dict[str, Any] = ask("schema")
    return found


def catalog() -> dict[str, list[dict[str, str]]]:
    """Presets of congestion control, and disciplines."""
    found: dict[str, list[dict[str, str]]] = ask("catalog")
    return found


def predict(
    spec: Spec,
    *,
    engine: Engine = "model",
    most_flows: int | None = None,
    told: Told | None = None,
) -> Prediction:
    """Predict every SLI with its 95% interval, and whether every SLO is met.

    The model is run until every interval is within 10% of its value to either side and rests on
    enough flows (1,000 behind a p99), then up to sixteen times longer while a threshold lies
    inside an interval, or until `most_flows`.

    Args:
        spec: see `load`.
        engine: ``"model"``, or ``"packet"``: the same flows packet by packet, see `replay`.
        most_flows: at most so many flows; default: 40 million. Never more than fit into memory,
            which ``warnings`` say where it leaves a verdict open.
        told: called again and again meanwhile; what it raises ends it.

    Raises:
        SpecError: a mistake in the specification; more flows of packets than fit into memory.
    """
    from fctlab.slo import measured

    choices.check("engine", engine, ENGINES, "an engine")
    resolved = load(spec)
    limit = memory.limit(most_flows)
    found = ask("predict", told, spec=resolved, engine=engine, limit=limit)
    found["warnings"] += _unread(resolved) + found.pop("inaccurate")
    prediction = Prediction.read(found)
    if seen := tuple(measured.of(resolved, _sizes(resolved))):
        prediction = structs.replace(prediction, measured=seen)
    _warn(prediction.warnings)
    return prediction


def _sizes(spec: Mapping[str, Any]) -> dict[str, float]:
    """Bytes of the sizes that SLIs name."""
    slis = [sli for each in spec["classes"] if "measured" in each for sli in each["slis"]]
    named = {sli[key] for sli in slis for key in ("from", "below") if key in sli}
    return {size: size_bytes(size) for size in {"0B", *named}}


def _unread(spec: dict[str, Any]) -> list[str]:
    """Keys that say something and that nothing reads."""
    queue = spec["queue"]["kind"]
    weighted = [c["name"] for c in spec["classes"] if c["weight"] != 1]
    if queue not in ("fifo", "priority") or not weighted:
        return []
    keys = ", ".join(f"classes.{name}.weight" for name in weighted)
    return [f"{keys}: a queue of kind {queue} has no weights"]


def _warn(lines: Iterable[str]) -> None:
    for line in lines:
        warnings.warn(line, SpecWarning, stacklevel=3)


def judge(spec: Spec, run: pl.DataFrame, until_s: float) -> tuple[ClassPrediction, ...]:
    """SLIs and verdicts from flows that were run elsewhere.

    Args:
        spec: see `load`.
        run: ``traffic_class``, ``start_s``, ``size_bytes`` and ``fct_s`` of every flow.
        until_s: the time over which they started, in seconds.

    Returns:
        The classes, as `predict` has them.

    Raises:
        SpecError: a mistake in the specification; flows of a class that it does not have; flows
            without a number.
    """
    resolved = load(spec)
    table = _table(resolved, run, "start_s", "size_bytes", "fct_s")
    question = json.dumps({"spec": resolved, "until_s": until_s})
    found = json.loads(_native.judge(question, table))
    return tuple(map(ClassPrediction.read, found))


def replay(
    spec: Spec, drawn: pl.DataFrame, *, scheme: str | None = None, told: Told | None = None
) -> tuple[pl.DataFrame, Result]:
    """Run flows packet by packet over the link of a specification.

    128 senders share it, with its discipline over classes; congestion control is the scheme of the
    packet engine that ``cc`` stands for, with those parameters that both engines have.

    Args:
        spec: see `load`.
        drawn: what `flows` returns.
        scheme: instead of ``cc.scheme``, as its preset has it; one of `schemes`.
        told: how far it has come; what it raises ends it.

    Returns:
        `drawn` with ``fct_s`` and ``slowdown`` (over RTT + size / rate, as in the model) of
        this run, and its result. The scenario of that has no traffic, which was in no file.

    Raises:
        SpecError: a mistake in the specification; flows of a class that it does not have; a scheme
            that the model does not stand for; a parameter that packets cannot take.
    """
    resolved = load(spec)
    question = {"spec": resolved, "scheme": scheme}
    table = _table(resolved, drawn, "start_s", "size_bytes")
    prepared = scenario.Prepared(_native.packets(json.dumps(question), table))
    scenario.warn([prepared])
    from fctlab.results.result import simulate

    result = simulate(prepared, None, told)
    fcts, ideals = result.flows["fct_s"], drawn["fct_s"] / drawn["slowdown"]
    return drawn.with_columns(fct_s=fcts, slowdown=fcts / ideals), result


def _table(resolved: Mapping[str, Any], run: pl.DataFrame, *columns: str) -> bytes:
    """Columns of flows for the engine, and the place of each one's class in the specification."""
    import polars as pl

    names = [each["name"] for each in resolved["classes"]]
    for name in run["traffic_class"].unique():
        if name not in names:
            raise SpecError("flows.traffic_class", f"{name!r} is not one of {', '.join(names)}")
    places = pl.col("traffic_class").replace_strict(
        names, range(len(names)), return_dtype=pl.UInt16
    )
    table = io.BytesIO()
    run.select(places.alias("class"), pl.col(columns).cast(pl.Float64)).write_ipc_stream(table)
    return table.getvalue()


def schemes() -> dict[str, str]:
    """Schemes of the packet engine that the model stands for, each with swp's preset for it."""
    found: dict[str, str] = ask("schemes")
    return found


def bdp_bytes(spec: Spec) -> float:
    """The bandwidth-delay product of a link, in bytes: its rate times its propagation RTT."""
    return float(ask("bdp", spec=load(spec)))


def thresh_bytes(spec: Spec) -> float:
    """T of its congestion control (swp, table 1), in bytes at its link."""
    return float(ask("thresh", spec=load(spec)))


def mean_bytes(sizes: Mapping[str, Any]) -> float:
    """The mean of a resolved distribution of flow sizes, in bytes."""
    found = json.loads(_native.size_distribution(json.dumps(sizes), ""))
    return float(found["mean_bytes"])


def size_bytes(size: str) -> float:
    """A size as resolved specifications write it, such as ``"48B"``, in bytes."""
    return 0.0 if size == "0B" else mean_bytes({"kind": "fixed", "size": size})


def flows(spec: Spec, count: int, *, until_s: float | None = None) -> pl.DataFrame:
    """Run about `count` flows (of traces alone: all) in the model and return each.

    Args:
        spec: see `load`.
        count: how many.
        until_s: all that start before, instead of `count`.

    Returns:
        ``start_s``, ``size_bytes``, ``traffic_class``, ``fct_s`` and ``slowdown`` of every flow,
        in order of start.

    Raises:
        SpecError: a mistake in the specification.
    """
    import polars as pl

    resolved = load(spec)
    memory.check("count", count, "flows", memory.BYTES_PER_FLOW)
    question = {"spec": resolved, "flows": count, "until_s": until_s}
    found = pl.DataFrame(_native.model_flows(json.dumps(question)))
    names = pl.Series([each["name"] for each in resolved["classes"]])
    named = found.with_columns(names[found["class"]].alias("traffic_class"))
    return named.select("start_s", "size_bytes", "traffic_class", "fct_s", "slowdown")


def plan(spec: Spec, *, most_flows: int | None = None, told: Told | None = None) -> Plan:
    """Find integer weights (1 to 100) that meet every SLO; those of `spec` are ignored.

    Args:
        spec: see `load`.
        most_flows: at most so many flows for one choice, one verdict or one what-if; default: 160
            million for verdicts, 40 million elsewhere. Never more than fit into memory.
        told: called again and again meanwhile; what it raises ends it.

    Raises:
        SpecError: a mistake, no class with an SLO, or a queue without weights.
    """
    found = ask("plan", told, spec=load(spec), limit=memory.limit(most_flows))
    found["warnings"] += found.pop("inaccurate")
    made = Plan.read(found)
    _warn(made.warnings)
    return made


def weights(
    spec: Spec, *, most_flows: int | None = None, told: Told | None = None
) -> tuple[int, ...]:
    """Integer weights (1 to 100) that `plan`'s search comes to, by class, unjudged.

    For those who judge on flows of their own. What `plan` does after its search is left out: a
    verdict on fresh flows, and what happens when forecasts are off.

    Args:
        spec: see `load`; its own weights are ignored.
        most_flows: see `plan`.
        told: called again and again meanwhile; what it raises ends it.

    Raises:
        SpecError: as `plan`'s.
    """
    return tuple(ask("weights", told, spec=load(spec), limit=memory.limit(most_flows)))


def provision(
    spec: Spec,
    strategies: Iterable[Strategy] = STRATEGIES,
    *,
    precision: float | None = None,
    most_flows: int | None = None,
    intervals: bool = True,
    told: Told | None = None,
) -> Provision:
    """Find the least link rate with which each strategy meets every SLO.

    Args:
        spec: see `load`; its own link only says what ``load`` is a share of.
        strategies: a shared FIFO, the sum of what each class needs alone, optimised weights with
            FIFO or fair queueing inside each class, strict priority in the order of classes.
        precision: flows behind each SLI, in multiples of the least (1,000 for a p99).
        most_flows: at most so many flows at each capacity; default: 40 million. Never more than
            fit into memory; ``warnings`` say where `precision` takes more.
        intervals: of the capacities; without them it takes up to half as long.
        told: called again and again meanwhile; what it raises ends it.

    Raises:
        SpecError: a mistake, an unknown strategy, no class with an SLO, or a trace that ends.
    """
    chosen = list(strategies)
    choices.check_all("strategies", chosen, STRATEGIES, "a strategy")
    found = ask(
        "provision",
        told,
        spec=load(spec),
        strategies=chosen,
        precision=precision,
        intervals=intervals,
        limit=memory.limit(most_flows),
    )
    found["warnings"] += found.pop("inaccurate")
    provision = Provision.read(found)
    _warn(provision.warnings)
    return provision
