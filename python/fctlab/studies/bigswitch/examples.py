"""ASCC, figures 1 to 3: instances on which policies differ as the text says."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from fctlab.studies.bigswitch.tried import Lab
from fctlab.studies.framework.lab import claim
from fctlab.studies.framework.runs import Results
from fctlab.studies.framework.study import Part
from fctlab.studies.framework.verdict import Computed
from fctlab.theory import bigswitch
from fctlab.theory.draw import draw as draw_schedules
from fctlab.theory.types import Instance

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

SCHEDULES = {
    1: {
        "fifo": "1111111111223323",
        "brr": "1123123123111111",
        "las": "1123231231111111",
        "asrpt": "1112223331111111",
    },
    2: {
        "las": "12312312312344441234",
        "fifo": "12312312312312344444",
        "asrpt": "12311112222333344444",
    },
    3: {"srpt": "1133112222221", "asrpt": "1233222221111"},
}
"""By figure and policy: which flow sends, packet by packet."""


def _figure(number: int) -> Instance:
    """The instance of a figure, made so that what the text says of it holds."""
    return bigswitch.load(f"figure-{number}")


def _end_times(number: int, policies: dict[str, int]) -> tuple[Part, ...]:
    """FPT and schedule of each policy on a figure's instance, and the policies' order."""

    def fpt(policy: str) -> float:
        instance = _figure(number)
        if policy == "opt":
            return float(bigswitch.optimum(instance).value)
        return float(bigswitch.run(instance, policy).metrics.fpt)

    def falls() -> float:
        values = [fpt(policy) for policy in policies]
        return float(all(a > b for a, b in itertools.pairwise(values)))

    parts = [Part("the policies' order is the text's", "yes", Computed(1), (), falls)]
    for policy, value in policies.items():
        measure = functools.partial(fpt, policy)
        parts.append(Part(f"{policy} FPT", "", Computed(value), (), measure))
    for policy, flows in SCHEDULES[number].items():

        def same(policy: str = policy, flows: str = flows) -> bool:
            return "".join(map(str, _order(number, policy))) == flows

        parts.append(_says(f"{policy} sends what is drawn", same))
    return tuple(parts)


def _ends(number: int, policy: str) -> tuple[int, ...]:
    return bigswitch.run(_figure(number), policy).ends


def _order(number: int, policy: str) -> list[int]:
    """Which flow (from 1) sends, slot by slot."""
    found = bigswitch.run(_figure(number), policy, schedule=True)
    return [s.flow + 1 for s in found.schedule or () for _ in range(s.slots)]


def _says(name: str, holds: Callable[[], bool]) -> Part:
    return Part(name, "yes", Computed(1), (), lambda: float(holds()))


def _evenly() -> bool:
    """BRR takes turns in slots 3 to 10."""
    turns = _order(1, "brr")[2:10]
    return all(len(set(turns[i : i + 3])) == 3 for i in range(6))


def _third() -> bool:
    """Under LAS two packets of f2 and of f3 go before f1's third."""
    order = _order(1, "las")
    before = order[: [i for i, flow in enumerate(order) if flow == 1][2]]
    return before.count(2) == before.count(3) == 2


@claim(
    "ascc-f1",
    "Figure 1: FIFO, BRR, LAS, ASRPT, OPT on three flows, ever better",
    "order; FIFO ends f1 in slot 10",
)
def figure_1(_: Lab) -> Iterator[Part]:
    """What the text says about figure 1."""
    yield from _end_times(1, {"fifo": 41, "brr": 35, "las": 33, "asrpt": 31, "opt": 29})
    yield Part("FIFO ends f1", "10", Computed(10), (), lambda: float(_ends(1, "fifo")[0]))
    yield _says("BRR shares slots 3-10 evenly", _evenly)
    yield _says("LAS: f1's third packet after two of f2, f3", _third)


@claim(
    "ascc-f2",
    "Figure 2: LAS has the largest FPT that 20 busy slots allow; FIFO, ASRPT, OPT less",
    "order; f1-f3 have one packet left after slot 12",
)
def figure_2(_: Lab) -> Iterator[Part]:
    """What the text says about figure 2."""
    yield from _end_times(2, {"las": 74, "fifo": 62, "asrpt": 53, "opt": 50})
    yield _says("LAS is the worst", lambda: sorted(_ends(2, "las")) == [17, 18, 19, 20])
    yield _says(
        "4 packets each of f1-f3 by slot 12",
        lambda: sorted(_order(2, "las")[:12]) == [1] * 4 + [2] * 4 + [3] * 4,
    )
    yield _says("then 4 of f4", lambda: _order(2, "las")[12:16] == [4] * 4)


@claim(
    "ascc-f3",
    "Figure 3: SRPT, ASRPT, OPT on three flows, ever better",
    "order; f3 in slots 3 and 4",
)
def figure_3(_: Lab) -> Iterator[Part]:
    """What the text says about figure 3."""
    yield from _end_times(3, {"srpt": 29, "asrpt": 26, "opt": 25})
    yield _says("SRPT: f3 in slots 3, 4", lambda: _order(3, "srpt")[:4] == [1, 1, 3, 3])
    name = "ASRPT: f2 after slot 1, f3 in 3, 4"
    yield _says(name, lambda: _order(3, "asrpt")[:5] == [1, 2, 3, 3, 2])


CLAIMS = (figure_1, figure_2, figure_3)


def draw(number: int) -> Callable[[Results], Drawing]:
    """Draws a figure: its schedules, and an optimal one."""
    rows = {
        1: ("fifo", "brr", "las", "asrpt", "opt"),
        2: ("las", "fifo", "asrpt", "opt"),
        3: ("srpt", "asrpt", "opt"),
    }

    def draw(_: Results) -> Drawing:
        return draw_schedules(f"figure-{number}", rows[number])

    return draw
