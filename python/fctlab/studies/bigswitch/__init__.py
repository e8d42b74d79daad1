"""ASCC, sections II-VI: theorems 1-8 on a slotted big switch, and figures 1-3.

Nothing here is simulated at packet level, so there are no cells: every part is computed
against the exact optimum. What a theorem says about every instance is tried on random
instances and on those that a search makes as bad as it can.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from fctlab.studies.bigswitch import examples, tried
from fctlab.studies.bigswitch.tried import ASRPT, BRR, EXAMPLES, LAS, PIAS, WEIGHTED, Lab, Scale
from fctlab.studies.framework.asked import of_each
from fctlab.studies.framework.lab import Stated, claim
from fctlab.studies.framework.runs import Results
from fctlab.studies.framework.study import Check, Figure, Mode, Part, Plan, Study
from fctlab.studies.framework.verdict import Exact, Within
from fctlab.theory.types import Metric

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

GOLDEN = (1 + 5**0.5) / 2


def _bound(
    lab: Lab, policies: dict[str, str], bound: float, metric: Metric = "fpt"
) -> Iterator[Part]:
    """The worst ratios of policies, and how many instances are above the bound."""
    for name, policy in policies.items():

        def worst(policy: str = policy) -> float:
            random = tried.at_random(policy, metric, lab.mode)["worst"]
            return float(max(random, tried.searched(policy, metric, lab.mode)["value"]))

        def above(policy: str = policy) -> float:
            violations = tried.at_random(policy, metric, lab.mode)["violations"]
            return float(violations + tried.searched(policy, metric, lab.mode)["violations"])

        yield Part(f"{name} worst ratio", f"<= {bound:g}", Within(1, bound), (), worst)
        alone = len(policies) == 1
        yield Part(f"{name} instances above", "0", Exact(0), (), above, counts=alone)


def _draw_families(scale: Scale) -> Callable[[Results], Drawing]:
    def draw(_: Results) -> Drawing:
        from matplotlib.figure import Figure as Drawing

        drawing = Drawing(figsize=(7.5, 4), layout="constrained")
        ax = drawing.subplots()
        sizes = [n for n in (2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 300, 1000) if n <= scale.family]
        shown = {"BRR": BRR, "LAS": LAS, "ASRPT": ASRPT["fifo"], "weighted ASRPT": WEIGHTED}
        limits = {"LAS": 2.0, "ASRPT": GOLDEN}
        for i, (name, policy) in enumerate(shown.items()):
            ratios = of_each(functools.partial(tried.family, policy), sizes)
            ax.plot(sizes, ratios, marker="o", markersize=3, color=f"C{i}", label=name)
            if name in limits:
                ax.axhline(limits[name], color=f"C{i}", linestyle=":", linewidth=1)
        ax.set_xscale("log")
        ax.set_xlabel("n")
        ax.set_ylabel("ratio to the optimum")
        ax.grid(alpha=0.3)
        ax.legend(frameon=False)
        return drawing

    return draw


@claim(
    "ascc-t1",
    "Theorem 1: no policy is constant-competitive in FCT when flows have gaps",
    "ratio grows with n",
)
def theorem_1(lab: Lab) -> Iterator[Part]:
    """The construction, by policy."""
    sizes = range(2, lab.scale.largest_n + 1)
    for policy in EXAMPLES:

        def measure(policy: str = policy) -> float:
            return min(of_each(lambda n: tried.theorem1(policy, n) / ((n + 1) / 2), sizes))

        name = f"{policy.upper()}, n = 2 to {lab.scale.largest_n}: least share of (n + 1) / 2"
        yield Part(name, "-> 1", Within(0.95), (), measure)


@claim(
    "ascc-t2",
    "Theorem 2: a policy is better in FPT if and only if it is in FCT",
    "always",
)
def theorem_2(lab: Lab) -> Iterator[Part]:
    """Pairs of schedules."""
    yield Part(
        "schedules whose FPT is not the FCT counted from packets plus the "
        "proof's constant, and pairs that the two rank differently",
        "0",
        Exact(0),
        (),
        lambda: float(tried.theorem2(lab.mode)["violations"]),
    )


LARGEST = 64
"""n of theorems 3 and 6."""


def _constructed(name: str, policy: str, n: int) -> Part:
    measure = functools.partial(tried.constructed, policy, n)
    return Part(name, f">= {n / 2:g}", Within(n / 2), (), measure)


@claim("ascc-t3", "Theorem 3: FIFO is not constant-competitive in FPT", ">= n / 2")
def theorem_3(_: Lab) -> Iterator[Part]:
    """The construction, by size."""
    for n in (4, 16, LARGEST):
        yield _constructed(f"n = {n}", "fifo", n)


@claim("ascc-t4", "Theorem 4: BRR is 3-competitive in FPT", "<= 3")
def theorem_4(lab: Lab) -> Iterator[Part]:
    """BRR."""
    return _bound(lab, {"BRR": BRR}, 3)


@claim("ascc-t5", "Theorem 5: LAS is 3-competitive in FPT", "<= 3")
def theorem_5(lab: Lab) -> Iterator[Part]:
    """LAS."""
    return _bound(lab, {"LAS": LAS}, 3)


@claim(
    "ascc-t6",
    "Theorem 6: PIAS is not constant-competitive in FPT for any thresholds",
    ">= n / 2",
)
def theorem_6(_: Lab) -> Iterator[Part]:
    """The construction, by thresholds."""
    for policy in PIAS:
        yield _constructed(f"{policy[4:]}, n = {LARGEST}", policy, LARGEST)


@claim(
    "ascc-t7",
    "Theorem 7: ASRPT is 2-competitive in FPT, its second group by FIFO, BRR or LAS",
    "<= 2",
)
def theorem_7(lab: Lab) -> Iterator[Part]:
    """ASRPT with each of its second groups."""
    return _bound(lab, {f"second group {s.upper()}": p for s, p in ASRPT.items()}, 2)


@claim("ascc-t7w", "Section V: weighted ASRPT is 2-competitive in weighted FPT", "<= 2")
def weighted(lab: Lab) -> Iterator[Part]:
    """Weighted ASRPT."""
    return _bound(lab, {"weighted": WEIGHTED}, 2, "weighted_fpt")


@claim(
    "ascc-t8",
    "Theorem 8: GA(A) is 3k-competitive when A is k-competitive without gaps; step by step",
    "FPT(GA(A), F) = FPT(A, F'); OPT(F') <= 3 OPT(F)",
)
def theorem_8(lab: Lab) -> Iterator[Part]:
    """The steps of the proof."""

    def total(key: str) -> Callable[[], float]:
        return lambda: float(sum(row[key] for row in tried.steps(lab.mode)))

    def residual() -> float:
        searched = of_each(
            lambda ports: tried.on_ports("residual-optimum", False, ports, lab.mode), (2, 3)
        )
        random = [row["residual_optimum"]["value"] for row in tried.steps(lab.mode)]
        return float(max(*(found["value"] for found in searched), *random))

    different = total("different_schedules")
    yield Part("schedules that differ in a packet", "0", Exact(0), (), different)
    yield Part("worst OPT(F') / OPT(F)", "<= 3", Within(1, 3), (), residual)
    yield Part("above 3", "0", Exact(0), (), total("violations"))


TIGHT: tuple[tuple[str, float, Metric, str], ...] = (
    (BRR, 3, "fpt", "BRR: its true ratio lies between this and 3"),
    (LAS, 3, "fpt", "LAS: its true ratio lies between this (limit 2) and 3"),
    (ASRPT["fifo"], 2, "fpt", "ASRPT: between this (limit 1.618) and 2"),
    (WEIGHTED, 2, "weighted_fpt", "Weighted ASRPT: 2 is attained in the limit"),
)
"""Policies, their bounds, and how tight these are, which the paper leaves open."""


def _tight(number: int, policy: str, bound: float, metric: Metric) -> Stated[Lab]:
    """The entry about one of them."""
    text = TIGHT[number - 1][-1]

    @claim(f"bigswitch-x{number}", text, f"<= {bound}", beyond=True)
    def worst_known(lab: Lab) -> Iterator[Part]:
        def worst() -> float:
            searched = tried.searched(policy, metric, lab.mode)["value"]
            random = tried.at_random(policy, metric, lab.mode)["worst"]
            return float(max(tried.family(policy, lab.scale.family), searched, random))

        yield Part("worst known", f"<= {bound}", Within(1, bound), (), worst)

    return worst_known


@claim(
    "bigswitch-x5",
    "GA(Ideal) on 2 x 2 and 3 x 3 ports, up to 6 flows: worst ratio that a search finds",
    "<= 3k, k unknown",
    beyond=True,
)
def on_ports(lab: Lab) -> Iterator[Part]:
    """GA(Ideal) on several ports."""

    def over_ports(gapless: bool) -> float:
        found = of_each(lambda ports: tried.on_ports("ratio", gapless, ports, lab.mode), (2, 3))
        return float(max(one["value"] for one in found))

    for name, gapless in (("gapless flows (k of Ideal is at least)", True), ("with gaps", False)):
        yield Part(name, "", Within(1), (), functools.partial(over_ports, gapless))


CLAIMS: tuple[Stated[Lab], ...] = (
    *(theorem_1, theorem_2, theorem_3, theorem_4, theorem_5, theorem_6, theorem_7, weighted),
    theorem_8,
    *examples.CLAIMS,
    *(_tight(number, *row[:3]) for number, row in enumerate(TIGHT, 1)),
    on_ports,
)


def plan(mode: Mode) -> Plan:
    """Claims, figures and checks in a mode."""
    lab = Lab(mode)
    return Plan(
        claims=[each.of(lab) for each in CLAIMS],
        figures=[
            *(
                Figure(
                    f"figure-{i}",
                    f"Figure {i} of the paper",
                    "Reconstructed from the text. A rectangle marked n is n packets of a flow; the "
                    "bold number is what the flow that ends there adds to FPT.",
                    (),
                    examples.draw(i),
                    (f"ascc-f{i}",),
                )
                for i in (1, 2, 3)
            ),
            Figure(
                "families",
                "How tight the bounds are",
                "Families of instances and the ratio that each policy has on them; dotted, limits. "
                "Proven bounds: BRR and LAS 3, ASRPT 2, weighted ASRPT 2.",
                (),
                _draw_families(lab.scale),
                ("bigswitch-x",),
            ),
        ],
        checks=_checks(lab),
        notes=_notes(),
    )


def _checks(lab: Lab) -> list[Check]:
    """Bound, worst measured and instances tried, per policy."""
    scale, mode = lab.scale, lab.mode

    def row(policy: str, metric: Metric) -> Callable[[Results], str]:
        def measure(_: Results) -> str:
            random, searched = (
                tried.at_random(policy, metric, mode),
                tried.searched(policy, metric, mode),
            )
            return (
                f"{random['worst']:.4f} over {random['tried']:,} random instances; "
                f"{searched['value']:.4f} over {searched['tried']:,} searched; "
                f"{tried.family(policy, scale.family):.4f} in its family, n = {scale.family}"
            )

        return measure

    rows: list[tuple[Stated[Lab], str, str, str, Metric]] = [
        (theorem_4, "BRR", "<= 3 (theorem 4)", BRR, "fpt"),
        (theorem_5, "LAS", "<= 3 (theorem 5)", LAS, "fpt"),
        *(
            (theorem_7, f"ASRPT, {s.upper()}", "<= 2 (theorem 7)", p, "fpt")
            for s, p in ASRPT.items()
        ),
        (weighted, "weighted ASRPT, weighted FPT", "<= 2 (section V)", WEIGHTED, "weighted_fpt"),
    ]
    worst = "worst ratio to the exact optimum"
    checks = [
        Check(f"{worst}: {name}", paper, (), row(policy, metric), (of.id,))
        for of, name, paper, policy, metric in rows
    ]

    def pairs(_: Results) -> str:
        found = tried.theorem2(mode)
        return f"{found['pairs']:,} pairs of schedules of {found['instances']:,} instances"

    def steps(_: Results) -> str:
        random = sum(found["tried"] for found in tried.steps(mode))
        ports = of_each(
            lambda ports: tried.on_ports("residual-optimum", False, ports, mode), (2, 3)
        )
        searched = sum(found["tried"] for found in ports)
        return f"{random:,} random instances on 1 to 3 ports, {searched:,} searched on 2 and 3"

    def theorem1(_: Results) -> str:
        def row(policy: str) -> str:
            sizes = range(2, scale.largest_n + 1)
            found = of_each(lambda n: f"{tried.theorem1(policy, n):,.4g}", sizes)
            return f"{policy.upper()} {', '.join(found)}"

        return "; ".join(of_each(row, EXAMPLES))

    sizes = range(2, scale.largest_n + 1)
    limits = ", ".join(f"{(n + 1) / 2:g}" for n in sizes)
    text = f"theorem 1: ratio in FCT for n = 2 to {scale.largest_n}"
    return [
        *checks,
        Check(text, f"-> {limits}", (), theorem1, (theorem_1.id,)),
        Check("theorem 2: compared", "all", (), pairs, (theorem_2.id,)),
        Check("theorem 8: steps tried", "all", (), steps, (theorem_8.id,)),
    ]


def _notes() -> list[str]:
    return [
        "Ratios are to the exact optimum (dynamic programming over sets of flows on one port, "
        "over states of the switch on several); in the families of ASRPT, weighted ASRPT and LAS "
        "to a schedule that is given, so that the true ratio is at least what is shown.",
        "Weighted ASRPT: the paper's proof (the same as that of theorem 7) rests on SRPT being "
        "optimal, which it is not for weights. The bound is nevertheless true: "
        "docs/explanation/bigswitch.md has a proof; the family shows that no smaller constant is.",
        "The proofs of theorems 7 and 8 use that OPT ends flow i not before a'_i + l_i - 1, which "
        "is wrong where it has sent packets of the flow before the last one came; that it ends "
        "the flow not before a'_i suffices.",
        "Theorem 1 is built with flows of (n^2 + 1)^n packets instead of a multiple of "
        "(n^2 + 1)^2n: that is all that the proof divides. The stream of lemma 9 is 10 times the "
        "FCT before it.",
        "Remaining processing time counts the packet to be sent next. The paper's does not; "
        "without weights that is the same, with weights it would tie all flows that have one "
        "packet left, and no constant would hold.",
        "The arrival slots behind figures 1-3 are not in the text; they are reconstructed so that "
        "all that the text says holds. So their rows are called computed: they show that text and "
        "policies fit together, and differ where a packet that moves by a slot changes a schedule.",
        "On several ports every policy serves a greedy matching in its order (Ideal is SRPT's). "
        "BRR lets a flow that had nothing to send join before those that have just had their turn.",
    ]


STUDY = Study(
    "bigswitch",
    "Theorems of the big switch",
    "ASCC: flow scheduling with unknown flow sizes, sections II-VI and appendix",
    plan,
)
