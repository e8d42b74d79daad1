"""The specification of a flow log's classes, for `predict` and `plan` as it is.

A folder: ``specification.toml``, a size table per class, and flows to replay. A class that was not
fitted for want of flows is replayed from the log again and again, so that its load is there. Every
other has SLIs: its p99 slowdowns of short (up to a BDP) and long flows, and those that its SLO
names, in the words of `SLI`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from fctlab import formats
from fctlab.errors import SpecError
from fctlab.results import kinds, store
from fctlab.slo import fit, flowlog, measured, planning
from fctlab.slo.fitted import Fit, FittedClass, Gaps, LogClass, ReplayedClass

if TYPE_CHECKING:
    import polars as pl

SLI = re.compile(r"(?:(short|long)_)?(mean|p\d+(?:_\d+)?)(?:_(fct|throughput))?")
"""Names of SLIs: ``p99``, ``short_p99``, ``long_mean``, ``p99_9_fct``, ``p1_throughput``."""
LEAST_SHARE = 0.05
"""Of a class's flows, for an SLI of short or of long ones: a p99 takes 1,000 of them."""
EVEN = 1e-4
"""The least sigma that is written: gaps that are all the same."""


@dataclass(frozen=True)
class Link:
    """The link that a log's flows share, and what they shall have on it.

    Attributes:
        rate: such as ``100Gbps``.
        rtt: such as ``10us``.
        cc: preset of congestion control.
        slos: ``p99 < 5`` for every fitted class, ``web=p99 < 3`` for one.
    """

    rate: str
    rtt: str
    cc: str = "dctcp-rate"
    slos: tuple[str, ...] = ()


def output(
    trace: str | PathLike[str], folder: str | PathLike[str], *, force: bool = False
) -> AbstractContextManager[store.Draft]:
    """The directory that is to hold the fit of a log; see `store.writing`."""
    log = Path(trace)
    size = log.stat().st_size if log.is_file() else 0
    return store.writing(folder, None, kinds.FIT, reads=[log], bytes_besides=2 * size, force=force)


def save(
    found: Fit,
    folder: str | PathLike[str],
    *,
    log: flowlog.FlowLog | None = None,
    link: Link | None = None,
    force: bool = False,
) -> list[str]:
    """Write what `write` does, whole or not at all; an older fit there is replaced.

    Args:
        found: what `fit.fit` found.
        folder: made if need be.
        log: that it found it in; without one the file is read again.
        link: see `write`.
        force: overwrite what would otherwise be refused.

    Returns:
        Names of the files.

    Raises:
        SpecError: as `write`; the log can no longer be read.
        OutputError: `folder` cannot be written, or holds what is not overwritten without `force`.
    """
    with output(found.trace, folder, force=force) as draft:
        return write(found, log or flowlog.read(found.trace), draft.folder, link)


def write(found: Fit, log: flowlog.FlowLog, folder: Path, link: Link | None = None) -> list[str]:
    """Write a specification and what it reads.

    Args:
        found: what `fit.fit` found.
        log: that it found it in.
        folder: where.
        link: without one the specification has classes only.

    Returns:
        Names of the files, the specification first.

    Raises:
        SpecError: a mistake in the link or its SLOs; a load that the link cannot carry.
    """
    writer = _Writer(found, log, folder)
    slos = writer.slos(link.slos if link else ())
    head = f"# Classes of {found.trace!r}, {kinds.FITTED}.\n"
    head += "".join(f"# {note}\n" for note in found.notes)
    short = 0.0
    if link is not None:
        network = {"link": link.rate, "rtt": link.rtt}
        sizes = {"kind": "fixed", "size": "1KB"}
        alone = {"name": "one", "flowsizes": sizes, "rate": "1Mbps"}
        short = planning.bdp_bytes({"network": network, "cc": link.cc, "classes": [alone]})
        head += f"name = {_text(log.file.name)}\ncc = {_text(link.cc)}\n\n[network]\n"
        head += f"link = {_text(link.rate)}\nrtt = {_text(link.rtt)}\n"
        writer.look(planning.load({"network": network, "classes": [alone]})["network"])
    each = [writer.fitted(one, short, slos.get(one.name)) for one in found.classes]
    each += [writer.replayed(one) for one in found.replayed]
    file = folder / kinds.FITTED_SPEC
    file.write_text(head + "\n" + "\n".join(each), encoding="utf-8")
    if link is not None:
        try:
            planning.load(file)
        except SpecError as error:  # in a file that will be elsewhere
            raise SpecError(error.path, error.message) from None
    return [kinds.FITTED_SPEC, *writer.files]


class _Writer:
    """Writes tables, and says what a specification has of them."""

    def __init__(self, found: Fit, log: flowlog.FlowLog, folder: Path) -> None:
        self.trace, self.log, self.folder = found.trace, log, folder
        self.files: list[str] = []
        self.seen: pl.DataFrame | None = None
        """The log's flows as `measured.table` has them, where it has durations."""
        self.few = [each.name for each in found.replayed]
        of: list[LogClass] = [*found.classes, *found.replayed]
        self.names = _names([each.name for each in of])
        codes = [code for each in of for code in each.dscp]
        self.shared = {code for code in codes if codes.count(code) > 1}

    def look(self, network: Mapping[str, str]) -> None:
        """Makes of the log's durations, if it has any, what was measured on a link."""
        if "duration_s" in self.log.flows.columns:
            rate, rtt = formats.rate_bps(network["link"]), formats.time_s(network["rtt"])
            apart = measured.paced(self.log.flows, rate, rtt)
            self.seen = measured.table(self.log.flows, apart, rtt if self.log.packets else 0.0)

    def slos(self, given: Sequence[str]) -> dict[str, str]:
        """The SLO of each fitted class that has one."""
        fitted = [name for name in self.names if name not in self.few]
        found: dict[str, str] = {}
        for text in sorted(given, key=lambda text: _whose(text)[0] is not None):
            whose, slo = _whose(text)
            called = [n for n in self.names if whose in (n, self.names[n])] if whose else fitted
            if not called:
                known = ", ".join(self.names.values())
                raise SpecError("--slo", f"{whose!r} is not a class of the log; it has {known}")
            if called[0] in self.few:
                message = f"{whose} has too few flows for an SLO; --names may merge it with another"
                raise SpecError("--slo", message)
            found |= dict.fromkeys(called, slo)
        return found

    def fitted(self, each: FittedClass, short: float, slo: str | None) -> str:
        """A class whose flows are drawn."""
        name = self.names[each.name]
        file = f"sizes-{name}.csv"
        rows = "".join(f"{size:.0f},{share:.9f}\n" for size, share in each.sizes.points)
        text = f"# {each.name!r}: {each.flows:,} flows of {self.trace}\n"
        text += "size_bytes,cumulative_probability\n" + rows
        (self.folder / file).write_text(text, encoding="utf-8")
        self.files.append(file)
        lines = [f"# {warning}" for warning in each.warnings]
        if not each.holds:
            trace = self._flows(each.name)
            lines.append(f'# To replay: trace = "{trace}" and none of the next three keys.')
        lines += [
            *self._begin(each),
            f'flowsizes = {{ kind = "cdf", file = "{file}", '
            f'interpolation = "{each.sizes.interpolation}" }}',
            f"interarrivals = {_interarrivals(each.interarrivals, measured=each.measured_gaps)}",
            f'rate = "{each.rate_bps:.0f}bps"',
        ]
        if slo is not None:
            lines.append(f"slo = {_text(slo)}")
        if short:
            here = self.log.flows["bytes"].filter(self.log.flows["class"] == each.name)
            long = int((here >= short).sum()) / len(here)
            also = () if self.seen is None else ("mean",)
            lines += ["slis = [", *_slis(slo or "", short, long, also), "]"]
        return "\n".join(lines) + "\n"

    def replayed(self, each: ReplayedClass) -> str:
        """A class whose flows are those of the log, again and again."""
        period = fit.period_s(self.log.flows)
        lines = [
            f"# {each.flows} flows are too few to fit: they are replayed, without an SLO.",
            *self._begin(each),
            f'trace = "{self._flows(each.name)}"',
            f'repeat = "{period:.9f}s"',
        ]
        return "\n".join(lines) + "\n"

    def _begin(self, each: LogClass) -> Iterator[str]:
        yield (
            f"# {each.flows:,} flows: {each.share_of_flows:.1%} of the log's, and "
            f"{each.share_of_bytes:.1%} of its bytes."
        )
        yield "[[classes]]"
        yield f'name = "{self.names[each.name]}"'
        if codes := [code for code in each.dscp if code not in self.shared]:
            yield f"dscp = {codes}"
        if self.seen is not None:
            yield f'measured = "{self._flows(each.name)}"'

    def _flows(self, name: str) -> str:
        """Writes the flows of a class as a trace; times are from the log's first flow on."""
        import polars as pl

        file = f"flows-{self.names[name]}.csv"
        if file not in self.files:
            seen = self.log.flows if self.seen is None else self.seen
            flows = seen.filter(self.log.flows["class"] == name)
            if self.seen is None:
                flows = flows.select(
                    "start_s", src=pl.lit(0), dst=pl.lit(1), size_bytes=pl.col("bytes")
                )
            flows.write_csv(self.folder / file, float_precision=12)
            self.files.append(file)
        return file


def _whose(text: str) -> tuple[str | None, str]:
    """Class and SLO of ``web=p99 < 3``; no class of ``p99 < 3``."""
    named = re.fullmatch(r"\s*([\w.-]+)\s*=\s*(?!=)(.*)", text, re.DOTALL)
    return (named[1], named[2]) if named else (None, text.strip())


def _names(names: Sequence[str]) -> dict[str, str]:
    """As specifications name classes; others get their number, from 0, if nobody has it."""
    found: dict[str, str] = {}
    for number, name in enumerate(names):
        plain = re.fullmatch(r"[A-Za-z0-9_-]+", name)
        named = f"class-{number}"
        found[name] = name if plain else f"{named}-" if named in names else named
    return found


def _slis(slo: str, short: float, long: float, also: Sequence[str]) -> Iterator[str]:
    """SLIs that an SLO names, and the usual ones; `short` are bytes, `long` a share of flows."""
    names = [n for n in re.findall(r"(?<![\w.])[A-Za-z_]\w*", slo) if n not in ("and", "or", "not")]
    both = LEAST_SHARE <= long <= 1 - LEAST_SHARE
    names += [*(["short_p99", "long_p99"] if both else ["p99"]), *also]
    for name in dict.fromkeys(names):
        parts = SLI.fullmatch(name)
        if parts is None:
            message = (
                f"{name!r} in {slo!r} is not an SLI; write mean, p50, p99 or p99_9, with short_ or "
                "long_ before it, or _fct or _throughput behind it"
            )
            raise SpecError("--slo", message)
        which, metric, attr = parts.groups()
        keys = {"name": name, "metric": metric.replace("_", ".")}
        keys |= {"attr": attr} if attr else {}
        keys |= {"short": {"below": f"{short:.0f}B"}, "long": {"from": f"{short:.0f}B"}}.get(
            which, {}
        )
        yield "    { " + ", ".join(f"{key} = {_text(value)}" for key, value in keys.items()) + " },"


def _interarrivals(gaps: Gaps, *, measured: bool) -> str:
    """The arrival process of a class, as a specification writes it."""
    if measured:
        points = ", ".join(f"[{gap:.6g}, {share:.9g}]" for gap, share in gaps.points)
        return f'{{ kind = "measured", cdf = [{points}] }}'
    if gaps.sigma is not None:
        return f'{{ kind = "lognormal", sigma = {max(gaps.sigma, EVEN):.4f} }}'
    return f'{{ kind = "{gaps.family}" }}'


def _text(value: str) -> str:
    """A string of TOML."""
    return json.dumps(value, ensure_ascii=False)
