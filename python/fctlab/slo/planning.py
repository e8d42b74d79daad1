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
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from fctlab import _native, files, memory, plain
from fctlab.errors import SpecError, SpecWarning
from fctlab.jobs import Told

if TYPE_CHECKING:
    import polars as pl

Spec: TypeAlias = "str | PathLike[str] | Mapping[str, Any]"
Strategy: TypeAlias = Literal["fifo", "static", "weights", "weights-fq", "priority"]
Engine: TypeAlias = Literal["model", "packet"]
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
        value, folder = dict(spec), Path()
    else:
        value, folder = files.read_tables(spec, files.SPECIFICATION), Path(spec).absolute().parent
    pairs = files.assignments(sets)
    plain.dumps(value)  # a mistake is told with its path in the specification
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
) -> dict[str, Any]:
    """Predict every SLI with its 95% interval, and whether every SLO is met.

    The model is run until every interval is within 10% of its value to either side and rests on
    enough flows (1,000 behind a p99), then up to sixteen times longer while a threshold lies
    inside an interval, or until `most_flows`.

    Args:
        spec: see `load`.
        engine: ``"model"``, or ``"packet"``: the same flows packet by packet, see `bottleneck`.
        most_flows: at most so many flows; default: 40 million. Never more than fit into memory,
            which ``warnings`` say where it leaves a verdict open.
        told: called again and again while the model runs; what it raises ends it.

    Returns:
        ``classes``: ``{"name", "verdict" ("met", "violated", "undecided"; None without an SLO),
        "why", "loss", "slis": [{"name", "attr", "value", "ci95", "ci99", "flows",
        "flows_needed", "count_error", "work_error", "enough", "tight", "targets"}]}``, verdicts
        being about ``ci99``, which is open where ``flows`` are not ``enough``, and ``targets``
        what the SLO compares it with (``[{"below": 3.0}]`` or ``above``); ``load`` (``payload``,
        ``wire`` and ``used``, shares of the link, and ``classes``); ``warnings``; ``flows``,
        ``simulated_s``, ``cost`` (``wall_s``, ``evaluations``, ``flows``) and the resolved
        ``spec``.

    Raises:
        SpecError: a mistake in the specification.
    """
    if engine not in ENGINES:
        raise SpecError("engine", f"{engine!r} is not an engine; known: {', '.join(ENGINES)}")
    resolved = load(spec)
    found: dict[str, Any] = ask("predict", told, spec=resolved, limit=memory.limit(most_flows))
    found["engine"] = engine
    found["warnings"] += _unread(resolved)
    inaccurate = found.pop("inaccurate")
    if engine == "model":
        found["warnings"] += inaccurate
        _warn(found)
        return found
    from fctlab.slo import bottleneck

    if unused := bottleneck.unused(resolved):
        message = f"packets run the scheme {resolved['cc']['scheme']}, which has nothing of"
        found["warnings"].append(f"{message} {', '.join(unused)}")
    _warn(found)
    until_s = found["simulated_s"]
    memory.check("most_flows", found["flows"], "flows of packets", 2 * memory.BYTES_PER_FLOW)
    run, result = bottleneck.replay(resolved, flows(resolved, found["flows"], until_s=until_s))
    found["classes"] = judge(resolved, run, until_s)
    found["packet_hops"] = result.counters["packet_hops"]
    found["cost"]["wall_s"] += result.perf["wall_s"]
    return found


def _unread(spec: dict[str, Any]) -> list[str]:
    """Keys that say something and that nothing reads."""
    queue = spec["queue"]["kind"]
    weighted = [c["name"] for c in spec["classes"] if c["weight"] != 1]
    if queue not in ("fifo", "priority") or not weighted:
        return []
    keys = ", ".join(f"classes.{name}.weight" for name in weighted)
    return [f"{keys}: a queue of kind {queue} has no weights"]


def _warn(found: dict[str, Any]) -> None:
    for line in found["warnings"]:
        warnings.warn(line, SpecWarning, stacklevel=3)


def judge(spec: Spec, run: pl.DataFrame, until_s: float) -> list[dict[str, Any]]:
    """SLIs and verdicts from flows that were run elsewhere.

    Args:
        spec: see `load`.
        run: ``traffic_class``, ``start_s``, ``size_bytes`` and ``fct_s`` of every flow.
        until_s: the time over which they started, in seconds.

    Returns:
        ``classes`` as `predict` has them.

    Raises:
        SpecError: a mistake in the specification; flows of a class that it does not have; flows
            without a number.
    """
    import polars as pl

    resolved = load(spec)
    names = [each["name"] for each in resolved["classes"]]
    for name in run["traffic_class"].unique():
        if name not in names:
            raise SpecError("flows.traffic_class", f"{name!r} is not one of {', '.join(names)}")
    columns = run.select(
        pl.col("traffic_class")
        .replace_strict(names, range(len(names)), return_dtype=pl.UInt16)
        .alias("class"),
        pl.col("start_s", "size_bytes", "fct_s").cast(pl.Float64),
    )
    table = io.BytesIO()
    columns.write_ipc_stream(table)
    question = json.dumps({"spec": resolved, "until_s": until_s})
    found: list[dict[str, Any]] = json.loads(_native.judge(question, table.getvalue()))
    return found


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


def plan(spec: Spec, *, most_flows: int | None = None, told: Told | None = None) -> dict[str, Any]:
    """Find integer weights (1 to 100) that meet every SLO; those of `spec` are ignored.

    Args:
        spec: see `load`.
        most_flows: at most so many flows for one choice, one verdict or one what-if; default: 160
            million for verdicts, 40 million elsewhere. Never more than fit into memory.
        told: called again and again meanwhile; what it raises ends it.

    Returns:
        ``plan``: ``success``, ``verdict``, ``weights``, ``classes`` as `predict` has them (on flows
        that the weights were not chosen on, unless all are traces),
        ``baselines``, ``margin`` (of the worst class, as a share of its threshold), ``binding``,
        ``algorithm_1`` and ``search`` (how each ended), ``compared`` (from which weights those
        were chosen, all on the same flows), ``flows`` (behind the verdict), ``off_forecast`` (loads
        and sigmas off by 20%, the worst first; ``cut_short`` says why flows say little);
        ``warnings``, as `predict` has them; ``cost``, ``spec``.

    Raises:
        SpecError: a mistake, a class without an SLO, or a queue without weights.
    """
    found: dict[str, Any] = ask("plan", told, spec=load(spec), limit=memory.limit(most_flows))
    found["warnings"] += found.pop("inaccurate")
    _warn(found)
    return found


def provision(
    spec: Spec,
    strategies: Iterable[Strategy] = STRATEGIES,
    *,
    precision: float | None = None,
    most_flows: int | None = None,
    told: Told | None = None,
) -> dict[str, Any]:
    """Find the least link rate with which each strategy meets every SLO.

    Args:
        spec: see `load`; its own link only says what ``load`` is a share of.
        strategies: a shared FIFO, the sum of what each class needs alone, optimised weights with
            FIFO or fair queueing inside each class, strict priority in the order of classes.
        precision: flows behind each SLI, in multiples of the least (1,000 for a p99).
        most_flows: at most so many flows at each capacity; default: 40 million. Never more than
            fit into memory; ``warnings`` say where `precision` takes more.
        told: called again and again meanwhile; what it raises ends it.

    Returns:
        ``strategies``: ``{"strategy", "capacity_bps" (None when 64 times the offered load does
        not do), "capacity_ci95" (from where every SLO is violated for all values inside the 95%
        intervals to where all are met for all of them; an end may be None), "load", "weights",
        "tried"}``; ``warnings`` (fewer flows than asked for; where the model is known to be off, on
        the slowest of these links that classes share); ``cost``, ``spec``.

    Raises:
        SpecError: a mistake, an unknown strategy, or a class without an SLO.
    """
    chosen = list(strategies)
    for name in chosen:
        if name not in STRATEGIES:
            known = ", ".join(STRATEGIES)
            raise SpecError("strategies", f"{name!r} is not a strategy; known: {known}")
    found: dict[str, Any] = ask(
        "provision",
        told,
        spec=load(spec),
        strategies=chosen,
        precision=precision,
        limit=memory.limit(most_flows),
    )
    found["warnings"] += found.pop("inaccurate")
    _warn(found)
    return found
