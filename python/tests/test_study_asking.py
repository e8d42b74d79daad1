"""Claims that ask instead of running cells, under readings of their lab."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from fctlab import studies
from fctlab.results.points import PointStore, Wanted
from fctlab.studies.framework import lab
from fctlab.studies.framework.asked import Answers, asked, of_each, unanswered
from fctlab.studies.framework.asking import NOTHING, Asking
from fctlab.studies.framework.conduct import study
from fctlab.studies.framework.lab import claim
from fctlab.studies.framework.left_open import OWN, Choice, LeftOpen, OpenSetting, Variant
from fctlab.studies.framework.longer import LONGER
from fctlab.studies.framework.reading import TEXT, Reading
from fctlab.studies.framework.report import left
from fctlab.studies.framework.study import Claim, Mode, Part, Plan, Study
from fctlab.studies.framework.verdict import Number, Sign


@dataclass(frozen=True)
class Settings:
    """What is left open."""

    headers: bool = False
    length: int = 1


@asked("slowdowns")
def slowdown(seed: int, headers: bool, length: int) -> float:
    """Twice what it would be without headers."""
    return (2.0 if headers else 1.0) * (1 + seed / 1000) * (1 + (length - 1) / 1000)


@claim("made-1", "Headers cost", "2x")
def costs(lab: lab.Lab[Settings]) -> Iterator[Part]:
    """Seed by seed."""
    own = lab.settings

    def effect(seed: int) -> float:
        return slowdown(seed, own.headers, own.length)

    yield Part("slowdown", "2x", Number(2), (), lambda: of_each(effect, range(1, 6)))


@claim("made-2", "Nobody asks", "1x")
def constant(lab: lab.Lab[Settings]) -> Iterator[Part]:
    """The same under every reading."""
    yield Part("one", "> 1", Sign(1), (), lambda: [1.5, 1.5, 1.6])


def asks(mode: Mode, reading: Reading) -> list[Claim]:
    """Both claims."""
    made = lab.Lab(mode, Settings()).based(reading)
    return [costs.of(made), constant.of(made)]


HEADERS = Choice("headers", "with headers", settings={"headers": True})
OPEN = LeftOpen((OpenSetting("headers", "none", "not stated", (HEADERS,)),))
MADE = Study("made", "Made up", "-", lambda mode: Plan(asks(mode, TEXT)), OPEN, asks)


def test_claims_are_made_anew_and_what_they_ask_for_is_answered_once(tmp_path: Path) -> None:
    answers = Answers(PointStore(tmp_path, create=True))
    computed: list[int] = []

    def answer(wanted: list[Wanted]) -> None:
        computed.append(len(wanted))
        for one in wanted:
            found = one.job.function(one.job.input, lambda *_: None)
            PointStore(tmp_path).keep(one, found)

    made = Asking(partial(asks, "quick"), answers, answer)  # type: ignore[arg-type]
    with answers.given():
        assert made.claims(OWN)[0].judge(NOTHING).verdict.value == "direction"
        (first, _) = made.claims(Variant((HEADERS,)))
        assert first.judge(NOTHING).verdict.value == "agrees"
        made.claims(Variant((HEADERS,)))
    assert computed == [5, 5]
    assert made.cpu_s(OWN) == 0, "is spent already"


def test_what_is_not_there_costs_what_such_an_answer_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = Answers(PointStore(tmp_path, create=True))

    def answer(wanted: list[Wanted]) -> None:
        for one in wanted:
            PointStore(tmp_path).keep(one, one.job.function(one.job.input, lambda *_: None))

    with monkeypatch.context() as patched:
        clock = iter(range(1000))
        patched.setattr("fctlab.studies.framework.asked.time.monotonic", lambda: next(clock))
        Asking(partial(asks, "quick"), answers, answer).claims(OWN)  # type: ignore[arg-type]
    made = Asking(partial(asks, "quick"), answers, answer)  # type: ignore[arg-type]
    assert made.spent() == 5, "a second each"
    assert made.cpu_s(Variant((HEADERS,))) == 5
    assert made.cpu_s(LONGER) == 10, "twice as long"
    assert made.cpu_s(Variant((HEADERS,)), {"made-2"}) == 0


def test_a_study_that_asks_is_tried_under_readings_and_doubled(tmp_path: Path) -> None:
    found = study(MADE, out=tmp_path, settings=True, doubled=True).json
    claims = {each["id"]: each for each in found["readings"]["claims"]}
    (decides,) = claims["made-1"]["deciding"]
    assert (decides["choice"], decides["verdict"]) == ("headers", "agrees")
    assert decides["moved"] == pytest.approx(2)
    assert claims["made-2"]["deciding"] == []
    assert [each["reading"] for each in found["readings"]["readings"]] == ["as read", "headers"]
    doubled = {each["id"]: each for each in found["lengths"]["claims"]}
    assert doubled["made-1"]["moved"] == pytest.approx(1.001) and doubled["made-1"]["converged"]
    assert left.summary(found).endswith("nothing is left.")


@dataclass(frozen=True)
class BySeed:
    """What more seeds change."""

    seeds: int | None = None


@asked("slowdowns that hang on chance")
def by_chance(seed: int, spread: float) -> float:
    """Twice, about."""
    return 2 * math.exp(spread * math.sin(7 * seed))


@claim("chance-1", "Twice", "2x")
def twice(lab: lab.Lab[BySeed]) -> Iterator[Part]:
    """Open with five seeds, settled with ten."""
    yield by_seed(lab, 0.12)


@claim("chance-2", "Twice, if one knew", "2x")
def unknown(lab: lab.Lab[BySeed]) -> Iterator[Part]:
    """Open with ten seeds as well."""
    yield by_seed(lab, 4.0)


def by_seed(lab: lab.Lab[BySeed], spread: float) -> Part:
    seeds = range(1, (lab.settings.seeds or 5) + 1)
    effects = partial(of_each, lambda seed: by_chance(seed, spread), seeds)
    return Part("slowdown", "2x", Number(2), (), effects, by_seed=True)


def test_what_is_asked_by_seed_is_settled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def asks(mode: Mode, reading: Reading) -> list[Claim]:
        made = lab.Lab(mode, BySeed()).based(reading)
        return [each.of(made) for each in (twice, unknown)]

    def plan(mode: Mode) -> Plan:
        fixed = Part("fixed", "> 1", Sign(1), (), lambda: [1.5, 0.5, 1.6])
        return Plan([*asks(mode, TEXT), Claim("chance-3", "Nobody asks", "-", (fixed,))])

    chance = Study("chance", "Made up", "-", plan, asks=asks)
    found = study(chance, out=tmp_path, settled=True, max_seeds=10).json
    claims = {each["id"]: each for each in found["claims"]}
    assert [claims[f"chance-{i}"]["settled"] for i in (1, 2, 3)] == [True, False, True]
    assert [claims[f"chance-{i}"]["seeds"] for i in (1, 2, 3)] == [10, 10, 0]
    assert claims["chance-1"]["verdict"] == "agrees"
    assert claims["chance-2"]["price"]["seeds"] > 10
    monkeypatch.setattr(Answers, "cpu_s", lambda *_: 3600.0)
    plain = study(chance, out=tmp_path / "plain").json["claims"]
    needed = plain[1]["price"]["seeds"]
    assert plain[1]["price"]["cpu_hours"] == needed - 5, "an hour a seed"
    assert [each["seeds"] for each in plain] == [5, 5, 0]


ASKING = [name for name in studies.STUDIES if studies.load(name).asks is not None]


@pytest.mark.parametrize("name", ASKING)
def test_every_choice_of_a_study_that_asks_makes_it_ask_for_something_else(
    name: str, tmp_path: Path
) -> None:
    chosen = studies.load(name)
    assert chosen.asks is not None
    answers = Answers(PointStore(tmp_path, create=True))
    seen: dict[str, frozenset[str]] = {}
    own = [each for each in chosen.plan("quick").claims if not each.beyond]
    for variant in [*chosen.left_open.variants(), LONGER]:
        with answers.noting() as keys:
            claims = chosen.asks("quick", variant.reading)
            assert {each.id for each in claims} < {each.id for each in own}
            parts = [part for each in claims for part in each.parts]
            unanswered([partial(part.effects, NOTHING) for part in parts])
        seen[variant.name] = frozenset(keys)
    assert len(seen) == 24 + 1 and len(set(seen.values())) == len(seen)
