"""An export: the form of each role in a target's words, checked, with the way back."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from fctlab.errors import InternalError, SpecError
from fctlab.export import effect, form, results
from fctlab.export import site as sites
from fctlab.export.answer import Export, File, Steps
from fctlab.export.targets import HOST, named
from fctlab.export.targets.base import Target
from fctlab.export.types import Advice, Form
from fctlab.jobs import Told

TAGGER = (
    "No device compares bytes sent: hosts write the code point of a packet's band, for which they "
    "need a tagger. Bands end at {cuts} bytes."
)
MAPPER = (
    "No device reads a priority field of 12 bits: hosts write the code point of a packet's queue. "
    "Queues end at the priorities {cuts}."
)
STEPS = (
    "No device reads a priority field of 12 bits: packets carry the step of their priority, and "
    "each switch divides steps among its queues."
)
UNMARKED = (
    "The plan's congestion control needs marks at {marks:,} B, and queues of {classes} do not mark "
    "(ecn = false). What that does is not predicted."
)
OVERLAY = "Code points must survive the overlay: tunnels have to copy DSCP to the outer header."
NO_HOST = (
    "The sending host is part of every export, and SITE has no [host]: packets wait in the host "
    "before any switch sees them, and without priorities there most of the tail's gain is lost."
)


def export(
    target: str,
    result: Path,
    site: Path,
    *,
    existing: Path | None = None,
    role: str | None = None,
    in_place: bool = False,
    predict: bool = True,
    most_flows: int | None = None,
    told: Told | None = None,
) -> Export:
    """Write what was found as configuration.

    Args:
        target: a kind of device, one of `targets.TARGETS`.
        result: what was found, see `results`.
        site: a SITE.toml, see `site`.
        existing: what a device has now (`Target.existing`); with it come a change and a rollback.
        role: this one alone; needed with `existing` where a site has several.
        in_place: change profiles instead of pointing to new ones.
        predict: whether to predict the effect of what is lost.
        most_flows: of each prediction.
        told: called again and again meanwhile; what it raises ends it.

    Raises:
        SpecError: a mistake in one of the files, or what such devices cannot do.
    """
    kind, advice, read = named(target), results.read(result), sites.read(site)
    try:
        forms = form.of(advice, read, kind.limits)
    except SpecError as error:
        raise SpecError(str(site), str(error)) from None
    forms = _chosen(forms, kind, role, existing is not None, site)
    before = None if existing is None else read_existing(kind, existing)
    files: list[File] = []
    steps: list[Steps] = []
    for each in forms:
        own = HOST if each.role == form.HOST else kind
        there = before if own is kind else None
        try:
            made, told_ = files_of(own, each, there, in_place)
        except SpecError as error:
            where = str(site) if there is None else f"{site} on {existing}"
            raise SpecError(where, f"{each.role}: {error}") from None
        files += made
        steps.append(told_)
    weights = {share.name: share.weight for share in advice.shares if share.weight is not None}
    written = kind.written(list(weights.values()))
    marks = _marks(forms)
    effects = (
        effect.of(advice, written, marks=marks, most_flows=most_flows, told=told) if predict else ()
    )
    return Export(
        target=target,
        result=str(result),
        weights=weights,
        written=dict(zip(weights, written, strict=True)),
        files=tuple(files),
        steps=tuple(steps),
        lost=tuple(_lost(advice, read, forms)),
        effects=effects,
    )


def read_existing(kind: Target[Any], file: Path) -> Any:
    """What a device has now.

    Raises:
        SpecError: the file cannot be read, or is not what the device prints.
    """
    try:
        return kind.parse(file.read_bytes().decode("utf-8"))
    except OSError as error:
        raise SpecError(str(file), error.strerror or str(error)) from None
    except UnicodeDecodeError as error:
        raise SpecError(str(file), f"is not UTF-8 text (byte {error.start})") from None
    except SpecError as error:
        raise SpecError(str(file), str(error)) from None


def difference(
    target: str,
    result: Path,
    site: Path,
    existing: Path,
    *,
    role: str | None = None,
    in_place: bool = False,
) -> str:
    """What changes at a device that has `existing`, in the words of the target.

    Raises:
        SpecError: as `export`.
    """
    found = export(
        *(target, result, site), existing=existing, role=role, in_place=in_place, predict=False
    )
    return next((each.text for each in found.files if ".change." in each.name), "")


def _chosen(
    forms: list[Form], kind: Target[Any], role: str | None, one: bool, site: Path
) -> list[Form]:
    """The roles to write, and hosts."""
    roles = [each.role for each in forms if (each.role == form.HOST) == kind.hosts]
    if not roles:
        wanted = "no [host]" if kind.hosts else "no [roles.NAME]"
        raise SpecError(str(site), f"has {wanted}, which {kind.name} is for")
    if role is not None and role not in roles:
        raise SpecError("role", f"{role!r:.40} is none of {', '.join(roles)}")
    if role is None and one and len(roles) > 1:
        raise SpecError("role", f"is missing; an existing file is of one: {', '.join(roles)}")
    chosen = roles if role is None else [role]
    hosts = [] if kind.hosts else [form.HOST]
    return [each for each in forms if each.role in (*chosen, *hosts)]


def files_of(
    kind: Target[Any], each: Form, before: Any, in_place: bool
) -> tuple[list[File], Steps]:
    """The files of a role, each read back, and what to do with them."""
    after = kind.wanted(each, before, in_place)
    main, fresh = f"{each.role}.{kind.suffix}", kind.fresh(each, after)
    files = [File(name=main, text=fresh, what=kind.about)]
    for end, text in kind.extra(each).items():
        files.append(File(name=f"{each.role}.{end}", text=text, what=f"{kind.about}: {end}"))
    change = rollback = None
    if before is not None:
        change = _checked(kind, before, after, f"{each.role}.change.{kind.suffix}", files)
        rollback = _checked(kind, after, before, f"{each.role}.rollback.{kind.suffix}", files)
    steps = Steps(
        role=each.role,
        apply=tuple(kind.apply_words(each, shlex.quote(main), change)),
        look=tuple(kind.look_words(each)),
        back=tuple(kind.back_words(each, rollback)),
        cannot=tuple(kind.cannot(each, before)),
    )
    return files, steps


def _checked(kind: Target[Any], one: Any, other: Any, name: str, files: list[File]) -> str:
    """Write a change of one state into the other, having applied it; its name, quoted."""
    text = kind.change(one, other)
    if kind.apply(one, text) != other:
        raise InternalError(f"{name} does not do what it is for")
    what = "the way back" if ".rollback." in name else "what changes"
    files.append(File(name=name, text=text, what=what))
    return shlex.quote(name)


def _marks(forms: list[Form]) -> int | None:
    """Length at which queues mark; ``None`` if none does."""
    return next((q.mark_bytes for q in forms[0].queues if q.mark_bytes is not None), None)


def _lost(advice: Advice, site: sites.Site, forms: list[Form]) -> list[str]:
    lines = [words for words, _ in effect.lost(advice, _marks(forms))]
    unmarked = [each.name for each in forms[0].queues if each.mark_bytes is None]
    if advice.mark_bytes is not None and unmarked:
        lines.append(UNMARKED.format(marks=advice.mark_bytes, classes=", ".join(unmarked)))
    if advice.cuts is not None:
        cuts = ", ".join(f"{value:,}" for value in advice.cuts.values)
        words = TAGGER if advice.cuts.unit == "bytes sent" else MAPPER
        lines.append(words.format(cuts=cuts))
    if (led := form.steps_of(advice, site)) is not None:
        lines += [STEPS, *led.words()]
    if all(each.role != form.HOST for each in forms):
        lines.append(NO_HOST)
    return [*lines, OVERLAY]
