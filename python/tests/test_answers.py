"""Answers as types: read once, frozen, and printed as they came."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from fctlab import slo, tuning
from fctlab.answers import Answer
from fctlab.errors import InternalError
from fctlab.theory import types

PINNED = Path(__file__).parent / "pinned"
COST = {"predict": 0.5, "predict-packet": 0.5, "plan": 0.5, "provision": 0.5}
"""Answers that say how long they took, which pins leave out."""
TYPES: dict[str, type[Answer]] = {
    "predict": slo.Prediction,
    "predict-packet": slo.Prediction,
    "plan": slo.Plan,
    "provision": slo.Provision,
    "fit": slo.Fit,
    "calibrate": slo.Calibration,
    "mapping": tuning.Mapping,
    "thresholds": tuning.Thresholds,
    "bigswitch-ratio": types.RandomRatios,
    "bigswitch-worst-case": types.WorstCase,
}


def pinned(name: str) -> str:
    """What a command printed, with its time where a type wants one."""
    found = json.loads((PINNED / f"{name}.json").read_text())
    if name in COST:
        found["cost"] = {"wall_s": COST[name], **found["cost"]}
    if name.startswith("predict"):  # pins leave out every key of this name
        found["engine"] = "packet" if "packet_hops" in found else "model"
        if hops := found.pop("packet_hops", None):
            found["packet_hops"] = hops
    return json.dumps(found)


@pytest.mark.parametrize("name", TYPES)
def test_what_was_read_is_printed_to_the_byte(name: str) -> None:
    text = pinned(name)
    read = TYPES[name].read(json.loads(text))
    assert json.dumps(read.to_dict()) == text
    assert pickle.loads(pickle.dumps(read)) == read


def test_the_big_switch_answers_in_parts() -> None:
    """Its commands print an instance, or the name of a policy, beside what was found."""
    found = json.loads((PINNED / "bigswitch-opt.json").read_text())
    assert types.Instance.read(found["instance"]).to_dict() == found["instance"]
    best = types.Optimum.read(found["optimum"])
    assert json.dumps(best.to_dict()) == json.dumps(found["optimum"])
    assert best.schedule is not None and best.schedule[1] == types.Stretch(slot=6, slots=5, flow=1)
    (_, row, *_) = json.loads((PINNED / "bigswitch-run.json").read_text())["policies"]
    told = {key: value for key, value in row.items() if key != "policy"} | {"wall_s": 0.5}
    ran = types.Run.read(told)
    assert json.dumps(ran.to_dict()) == json.dumps(told)
    assert ran.metrics.of("fpt") == 35 and ran.schedule is None


def test_answers_are_frozen() -> None:
    found = slo.Prediction.read(json.loads(pinned("predict")))
    with pytest.raises(AttributeError, match="immutable"):
        found.flows = 0  # type: ignore[misc]
    assert found.classes[0].slis[0].targets == (slo.Target(below=9.0),)
    assert found.classes[0].slis[0].compared == "< 9.00"
    # Of the packet engine only.
    assert found.packet_hops is None and "packet_hops" not in found.to_dict()
    packet = slo.Prediction.read(json.loads(pinned("predict-packet")))
    assert packet.packet_hops == packet.to_dict()["packet_hops"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"flows": "many"}, r"Prediction: Expected `int`, got `str` - at `\$\.flows`"),
        ({"rows": 3}, "Prediction: Object contains unknown field `rows`"),
    ],
)
def test_another_answer_than_expected_is_a_bug_that_is_told(
    change: dict[str, object], message: str
) -> None:
    with pytest.raises(InternalError, match=message):
        slo.Prediction.read({**json.loads(pinned("predict")), **change})
