"""`watch`: each new log is judged on the fluid, and answered with weights where an SLO is at risk.

Nothing is ever told to a device. What is written is a specification with the weights that the fluid
judged; whoever applies it lets `verify` confirm or withdraw it first, or afterwards. Weights are
taken to be in force from the next log on, until they are withdrawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fctlab.errors import SpecError
from fctlab.fabric import importing, planning, predicting, saved, weights
from fctlab.fabric.asked import Asked, load
from fctlab.fabric.types import ClassFound, Confirmation, FabricEpoch, FabricPlan, Verification
from fctlab.jobs import Told
from fctlab.results import kinds
from fctlab.results.drafts import write_json
from fctlab.scenario import Scenario, ScenarioLike, load_scenario
from fctlab.slo.logfile import KINDS

BUDGET = 16
"""Runs of the fluid in a search for weights."""


@dataclass(frozen=True)
class Watch:
    """Logs of a folder, and what became of each.

    Attributes:
        folder: of the logs.
        topology: a scenario, see `importing.imported`.
        out: gets a folder per log.
        match: names of logs, such as ``nfcapd.*``.
        wanted: of logs.
        sets: changes ``path=value`` of the scenario.
    """

    folder: Path
    topology: ScenarioLike
    out: Path
    match: str = "*"
    wanted: importing.Wanted = field(default_factory=importing.Wanted)
    sets: tuple[str, ...] = ()

    def fresh(self) -> list[Path]:
        """Logs that were not judged yet, in order of their names.

        Raises:
            SpecError: there is no such folder.
        """
        if not self.folder.is_dir():
            raise SpecError(str(self.folder), "is no directory of flow logs")
        logs = [each for each in self.folder.glob(self.match) if each.is_file() and _is_log(each)]
        return sorted(log for log in logs if not self._place(log).is_dir())

    def judge(self, log: Path, told: Told | None = None) -> FabricEpoch:
        """Judge a log under the weights in force, and plan others if an SLO is at risk.

        Raises:
            SpecError: as `importing.imported`.
        """
        place = self._place(log)
        scenario = self._in_force()
        with saved.writing(FabricEpoch, place, reads=[log]) as draft:
            made = importing.imported([log], scenario, draft.folder, self.wanted)
            file = draft.folder / kinds.SCENARIO
            write_json(file, made.scenario)
            asked = load(file)
            found = predicting.predict(file, told=told)
            risk = at_risk(found.classes)
            plan = planning.plan(file, budget=BUDGET, verify=False, told=told) if risk else None
            better = plan is not None and _better(plan, asked)
            if plan is not None and better:
                write_json(draft.folder / SPECIFICATION, _specification(plan, made.scenario))
            epoch = FabricEpoch(
                warnings=found.warnings,
                name=log.name,
                number=len(self.epochs()),
                at_risk=risk,
                names=tuple(each.name for each in asked.classes),
                weights=weights.today(asked),
                classes=found.classes,
                proposed=plan.weights if plan is not None and better else None,
                proposed_classes=plan.classes if plan is not None and better else (),
                specification=str(place / SPECIFICATION) if better else "",
            )
            saved.write(epoch, made.scenario, draft.folder)
        return epoch

    def epochs(self) -> list[FabricEpoch]:
        """All that were judged, in order."""
        files = self.out.glob(f"*/{kinds.FABRIC_EPOCH_FILE}") if self.out.is_dir() else ()
        found = [saved.read(FabricEpoch, file.parent) for file in files]
        return sorted(found, key=lambda each: each.number)

    def _place(self, log: Path) -> Path:
        return self.out / log.name

    def _in_force(self) -> Scenario:
        """The scenario with the newest weights that were not withdrawn."""
        written = load_scenario(self.topology).with_sets(list(self.sets))
        for epoch in reversed(self.epochs()):
            file = self._place(Path(epoch.name)) / SPECIFICATION
            if file.is_file() and confirmation(file) != "withdrawn":
                scheme = kinds.read_json(file)["scheme"]
                return replace(written, value={**written.value, "scheme": scheme})
        return written


SPECIFICATION = kinds.FABRIC_SPECIFICATION


def _is_log(file: Path) -> bool:
    return (file.with_suffix("") if file.suffix == ".gz" else file).suffix in KINDS


def at_risk(classes: Iterable[ClassFound]) -> bool:
    """Whether a value breaks an SLO at the worse end of what the fluid may be off by."""
    judged = [each for each in classes if each.verdict is not None]
    return any(each.worst_loss is None or each.worst_loss > 0 for each in judged)


def _better(plan: FabricPlan, asked: Asked) -> bool:
    """Whether a plan's weights are others than today's, and lose less by more than chance."""
    losses = {each.name: each.loss for each in plan.candidates}
    chosen = [each for each in plan.candidates if each.weights == plan.weights]
    best = min((each.loss for each in chosen if each.loss is not None), default=None)
    today = losses.get("today")
    if best is None:
        return False
    return today is None or best < today - plan.interval


def _specification(plan: FabricPlan, scenario: dict[str, Any]) -> dict[str, Any]:
    """The scenario of a log with the weights of a plan."""
    return {**scenario, "scheme": plan.scenario["scheme"]}


def confirmation(specification: Path) -> str:
    """``confirmed``, ``withdrawn`` or ``open``: what packets said of a specification."""
    file = specification.with_name(kinds.FABRIC_CONFIRMATION)
    return str(kinds.read_json(file)["outcome"]) if file.is_file() else "open"


def confirm(specification: Path, found: Verification) -> Confirmation | None:
    """Write what packets say of a specification beside it; nothing of other scenarios.

    Weights are confirmed if packets meet every SLO, and withdrawn if they break one that the fluid
    met with them. Where the fluid broke it as well, nothing better was promised.
    """
    folder = specification.parent
    epoch_file = folder / kinds.FABRIC_EPOCH_FILE
    if specification.name != SPECIFICATION or not epoch_file.is_file():
        return None
    epoch = saved.read(FabricEpoch, folder)
    promised = {each.name for each in epoch.proposed_classes if (each.loss or 0.0) <= 0}
    broken = [each.name for each in found.classes if each.verdict == "violated"]
    if found.verdict == "met":
        outcome, why = "confirmed", "packets meet every SLO"
    elif gone := promised.intersection(broken):
        outcome, why = "withdrawn", f"packets break what the fluid met: {', '.join(sorted(gone))}"
    else:
        outcome, why = "open", "packets leave it undecided, or break what the fluid broke as well"
    made = Confirmation(outcome=outcome, why=why, verification=found)
    write_json(folder / kinds.FABRIC_CONFIRMATION, made.whole())
    return made


def worst(classes: Sequence[ClassFound]) -> ClassFound | None:
    """The class with the largest loss."""
    judged = [each for each in classes if each.loss is not None]
    return max(judged, key=lambda each: each.loss or 0.0, default=None)
