"""The planner against the packet engine, over random scenarios of table 4 with three classes.

Per scenario: `provision` finds the least link for weights, a link within 20% of it is drawn, and
`plan` is asked. Then the packet engine judges, on the flows of another seed: the plan's weights on
the drawn link, and whether the provisioned link divided by 1.1 would do as well. Where the
planner finds no weights, or the smaller link fails with the planner's, algorithm 1 looks for
others on packet runs. The model's losses on the same flows stand beside: what differs then is the
model, not the seed.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from fctlab.jobs import Told, deaf
from fctlab.slo import planning
from fctlab.slo.types import ClassPrediction
from fctlab.studies.framework.asked import asked, of_each
from fctlab.studies.framework.lab import claim
from fctlab.studies.framework.runs import Results
from fctlab.studies.framework.study import Check, Mode, Part, Table
from fctlab.studies.framework.verdict import Within
from fctlab.studies.swp.capacity import draw_spec
from fctlab.studies.swp.readings import Lab

CLASSES = 3
CC = "dctcp-rate"
COUNT: dict[Mode, int] = {"quick": 4, "full": 100}
WITHIN = 0.2
"""How far the drawn link is from the provisioned one, at most."""
TENTH = 1.1
LEAST_LINK = 1.02
"""Links have at least so many times what is offered."""
FLOWS = 4_000
"""Behind each p99 of a packet run, at least."""
MORE = 4
"""Times as many flows are asked while a threshold that decides lies inside an interval."""
MOST_JUDGED: dict[Mode, int] = {"quick": 1_000_000, "full": 32_000_000}
"""Flows of a packet run that was asked for more, at most."""
ROUNDS = 3
"""Packet runs in a search for weights, at most."""
PRECISION = 2.0
MOST_FLOWS: dict[Mode, int] = {"quick": 4_000_000, "full": 160_000_000}
"""Of a plan: with fewer than the default (full) some verdicts stay undecided."""
FRESH = 10_000
"""Added to a seed: flows that the planner has not seen."""

Verdict: TypeAlias = Literal["met", "violated", "undecided"]


@dataclass(frozen=True)
class Judgement:
    """What the packet engine says of weights."""

    weights: tuple[float, ...]
    losses: tuple[float, ...]
    """By class; negative when its SLO is met."""
    model: tuple[float, ...]
    """The same of the model, on the same flows."""
    worst_sli: str
    """The SLI that decides the largest loss, with its class's sizes."""
    settled: bool
    """Whether the intervals say the same as the losses: all SLOs hold, or one does not."""

    @staticmethod
    def read(record: dict[str, Any]) -> Judgement:
        """From its JSON form."""
        lists = {key: tuple(record[key]) for key in ("weights", "losses", "model")}
        return Judgement(**{**record, **lists})

    @property
    def worst(self) -> float:
        """The largest loss."""
        return max(self.losses)

    @property
    def met(self) -> bool:
        """Whether every SLO is met."""
        return self.worst < 0

    @property
    def margin(self) -> str:
        """What the worst class is below its threshold; with a question mark if not settled."""
        return f"{-self.worst:+.1%}{'' if self.settled else '?'}"


@dataclass(frozen=True)
class Trial:
    """A scenario on its drawn link."""

    number: int
    least_bps: float
    """The provisioned link."""
    factor: float
    """The drawn one over it."""
    verdict: Verdict
    margin: float
    """Of the plan's worst class."""
    packet: Judgement
    """With the plan's weights on the drawn link, or the best that was found there."""
    smaller: Judgement
    """The best that was found on a link a tenth smaller than the provisioned one."""

    @property
    def missed(self) -> bool:
        """Whether there are weights that the planner does not offer, or it cannot tell."""
        infeasible = self.verdict == "violated" and self.packet.met
        return self.verdict == "undecided" or infeasible


def on_link(spec: dict[str, Any], bps: float) -> dict[str, Any]:
    """The specification on another link."""
    return {**spec, "network": {**spec["network"], "link": f"{bps / 1e9:.6f}Gbps"}}


def count_for(slis: Sequence[Sequence[int]], flows: int) -> int:
    """Flows of all classes of which `flows` or more are behind each SLI.

    Args:
        slis: by class, flows behind each of its SLIs, whose sizes do not overlap, in some run.
        flows: at least this many.
    """
    total = sum(map(sum, slis))
    return math.ceil(total * flows / min(map(min, slis)))


@dataclass(frozen=True)
class Sli:
    """A p99 slowdown of a class and its threshold."""

    name: str
    low: float
    value: float
    high: float
    threshold: float

    @property
    def loss(self) -> float:
        """Equation 1."""
        return self.value / self.threshold - 1


def read_slis(row: dict[str, Any], found: ClassPrediction) -> list[Sli]:
    """The SLIs of a class of `draw_spec` and what a run found."""
    thresholds = (float(each.split("<")[1]) for each in row["slo"].split("and"))
    slis = []
    for sli, threshold in zip(found.slis, thresholds, strict=True):
        low, high = sli.ci95
        low, high = 0.0 if low is None else low, math.inf if high is None else high
        slis.append(Sli(sli.name, low, sli.value, high, threshold))
    return slis


def losses_of(found: Iterable[ClassPrediction]) -> list[float]:
    """Of classes that all have an SLO."""
    return [each.loss for each in found if each.loss is not None]


def is_settled(slis: Sequence[Sli]) -> bool:
    """Whether all hold, or one does not, whatever the values inside the intervals."""
    return all(s.high < s.threshold for s in slis) or any(s.low >= s.threshold for s in slis)


def judged(
    spec: dict[str, Any],
    weights: Sequence[float],
    behind: list[list[int]],
    most_flows: int,
    told: Told = deaf,
) -> Judgement:
    """Run a specification with `weights` packet by packet, on flows of a fresh seed.

    Args:
        spec: as `draw_spec` makes it, with a link.
        weights: one per class.
        behind: see `count_for`.
        most_flows: no run is longer for the sake of an interval.
        told: how far a run has come.
    """
    rows = [{**c, "weight": w} for c, w in zip(spec["classes"], weights, strict=True)]
    resolved = planning.load({**spec, "seed": spec["seed"] + FRESH, "classes": rows})
    count = count_for(behind, FLOWS)
    while True:
        drawn = planning.flows(resolved, count)
        until_s = float(drawn["start_s"][-1])
        run, _ = planning.replay(resolved, drawn, told=told)
        packets, model = (planning.judge(resolved, each, until_s) for each in (run, drawn))
        by_class = [read_slis(*each) for each in zip(rows, packets, strict=True)]
        slis = [sli for each in by_class for sli in each]
        settled = is_settled(slis)
        if settled or count >= most_flows:
            break
        count = min(MORE * count, most_flows)
    losses = losses_of(packets)
    k = int(np.argmax(losses))
    worst = max(by_class[k], key=lambda sli: sli.loss)
    return Judgement(
        tuple(weights),
        tuple(losses),
        tuple(losses_of(model)),
        f"{worst.name}, {rows[k]['flowsizes']}",
        settled,
    )


def search(judge: Callable[[Sequence[float]], Judgement], start: Sequence[float]) -> Judgement:
    """Algorithm 1 of the paper from `start`, until every SLO is met; the best is returned.

    It ends where every class is violated, since none has a share to give.
    """
    weights = np.array(start) / sum(start)
    best = None
    for _ in range(ROUNDS):
        found = judge(weights.tolist())
        if best is None or found.worst < best.worst:
            best = found
        if found.met or min(found.losses) > 0:
            break
        order = np.argsort(found.losses)
        for giver, taker in zip(order, order[::-1], strict=True):
            if found.losses[giver] >= 0 or found.losses[taker] <= 0:
                break
            moved = min(-found.losses[giver] / 2, 0.5) * weights[giver]
            weights[giver] -= moved
            weights[taker] += moved
    assert best is not None
    return best


def trial(number: int, mode: Mode) -> Trial | None:
    """The `number`-th scenario; nothing where no link is large enough."""
    spec = {**draw_spec(CLASSES, number), "cc": CC}
    factor = float(np.random.default_rng([CLASSES, number, 1]).uniform(1 - WITHIN, 1 + WITHIN))
    found = measured(spec, factor, MOST_FLOWS[mode], MOST_JUDGED[mode])
    if found is None:
        return None
    runs = {key: Judgement.read(found[key]) for key in ("packet", "smaller")}
    return Trial(number=number, factor=factor, **{**found, **runs})


@asked("plans and what packets say")
def measured(
    spec: dict[str, Any], factor: float, most_flows: int, most_judged: int, told: Told = deaf
) -> dict[str, Any] | None:
    """What `Trial` has beside its number and factor."""
    told_of = planning.provision(spec, ["weights"], precision=PRECISION, intervals=False, told=told)
    (found,) = told_of.strategies
    least = found.capacity_bps
    if least is None or found.load is None or found.weights is None:
        return None
    offered = found.load * least
    drawn = on_link(spec, max(factor * least, LEAST_LINK * offered))
    plan = planning.plan(drawn, most_flows=most_flows, told=told).plan
    behind = [[sli.flows for sli in each.slis] for each in plan.classes]

    def ask(link: dict[str, Any], weights: Sequence[float]) -> Judgement:
        return judged(link, weights, behind, most_judged, told)

    match plan.verdict:
        case "violated":
            packet = search(functools.partial(ask, drawn), plan.weights)
        case "met":
            packet = ask(drawn, plan.weights)
        case _:  # counts as missed, whatever packets say: one run shows how near it is
            packet = judged(drawn, plan.weights, behind, 0, told)
    tenth = on_link(spec, max(least / TENTH, LEAST_LINK * offered))
    smaller = search(functools.partial(ask, tenth), found.weights)
    return {
        "least_bps": least,
        "verdict": plan.verdict,
        "margin": plan.margin,
        "packet": asdict(packet),
        "smaller": asdict(smaller),
    }


def trials(mode: Mode) -> list[Trial]:
    """All scenarios of a mode."""
    found = of_each(lambda number: trial(number, mode), range(1, COUNT[mode] + 1))
    return [one for one in found if one is not None]


def shares(found: Sequence[Trial]) -> dict[str, tuple[int, int]]:
    """By bar: how many, of how many."""
    met = [each for each in found if each.verdict == "met"]
    return {
        "met": (sum(each.packet.met for each in met), len(met)),
        "missed": (sum(each.missed for each in found), len(found)),
        "larger": (sum(each.smaller.met for each in found), len(found)),
    }


def share(found: Sequence[Trial], bar: str) -> list[float]:
    """A share; nothing of nothing."""
    part, whole = shares(found)[bar]
    return [part / whole] if whole else []


def errors(found: Sequence[Trial]) -> list[float]:
    """By scenario, link and class: the model's SLI that decides, over that of packets."""
    runs = [run for each in found for run in (each.packet, each.smaller)]
    pairs = [pair for run in runs for pair in zip(run.model, run.losses, strict=True)]
    return [(1 + model) / (1 + packets) for model, packets in pairs]


def written(part: int, whole: int) -> str:
    """A share with its 95% interval (Wilson)."""
    from scipy.stats import binomtest

    if not whole:
        return "0 of 0"
    interval = binomtest(part, whole).proportion_ci(0.95, "wilson")
    return f"{part} of {whole} ({part / whole:.0%} [{interval.low:.0%}, {interval.high:.0%}])"


def _share(lab: Lab, bar: str, paper: str, expected: Within) -> Iterator[Part]:
    yield Part("share", paper, expected, (), lambda: share(trials(lab.mode), bar))


def _counted(bar: str) -> Callable[[Lab, Results], str]:
    """A share with its interval, as a sentence."""

    def why(lab: Lab, _: Results) -> str:
        return f"{written(*shares(trials(lab.mode))[bar])}."

    return why


@claim(
    "swp-x2",
    "Packets: plans that say met and are, with a fresh seed",
    "at least 0.95",
    why=_counted("met"),
    beyond=True,
)
def met(lab: Lab) -> Iterator[Part]:
    """What a plan is worth."""
    return _share(lab, "met", "at least 0.95", Within(low=0.95))


@claim(
    "swp-x3",
    "Packets: plans that are undecided, or infeasible where packets have weights",
    "at most 0.1",
    why=_counted("missed"),
    beyond=True,
)
def missed(lab: Lab) -> Iterator[Part]:
    """What a planner misses."""
    return _share(lab, "missed", "at most 0.1", Within(high=0.1))


@claim(
    "swp-x4",
    "Packets: provisioned links of which ten elevenths would have done",
    "at most 0.1",
    why=_counted("larger"),
    beyond=True,
)
def larger(lab: Lab) -> Iterator[Part]:
    """What a provision is worth."""
    return _share(lab, "larger", "at most 0.1", Within(high=0.1))


CLAIMS = (met, missed, larger)
IDS = tuple(each.id for each in CLAIMS)


def checks(lab: Lab) -> list[Check]:
    """The shares with their intervals."""
    texts = {
        "met": "plans that say met: met by packets",
        "missed": "plans undecided, or infeasible though packets have weights",
        "larger": "provisioned links more than a tenth too large",
    }

    def check(bar: str, id: str) -> Check:
        def text(_: Results) -> str:
            return written(*shares(trials(lab.mode))[bar])

        return Check(texts[bar], "", (), text, (id,))

    def error(_: Results) -> str:
        low, median, high = np.quantile(errors(trials(lab.mode)), (0.05, 0.5, 0.95))
        return f"{low:.2f}, {median:.2f}, {high:.2f}"

    def broken(_: Results) -> str:
        met = [each.packet for each in trials(lab.mode) if each.verdict == "met"]
        return written(sum(each.settled and not each.met for each in met), len(met))

    what = "deciding SLI, model over packets on the same flows: 5%, median, 95% of classes"
    return [
        *(check(bar, id) for bar, id in zip(texts, IDS, strict=True)),
        Check("plans that say met: packets' intervals say violated", "", (), broken, IDS[:1]),
        Check(what, "", (), error, IDS),
    ]


def tables(lab: Lab) -> list[Table]:
    """Every scenario."""

    def rows(_: Results) -> list[tuple[str, ...]]:
        return [
            (
                str(each.number),
                f"{each.least_bps / 1e9:.1f}",
                f"{each.factor:.2f}",
                each.verdict,
                f"{each.margin:+.1%}",
                f"{-max(each.packet.model):+.1%}",
                each.packet.margin,
                each.packet.worst_sli,
                each.smaller.margin,
            )
            for each in trials(lab.mode)
        ]

    header = (
        "scenario",
        "least link (Gbps)",
        "drawn / least",
        "plan",
        "margin",
        "margin, fresh flows, model",
        "margin, fresh flows, packets",
        "worst SLI of packets",
        "margin at least / 1.1, packets",
    )
    caption = (
        "Margins are those of the worst class, as a share of its threshold; positive is met, and "
        "a question mark says that intervals leave it open. "
        f"Congestion control: {CC}."
    )
    title = "The planner against the packet engine"
    return [Table("planner-packets", title, caption, (), header, rows, IDS, folded=True)]
