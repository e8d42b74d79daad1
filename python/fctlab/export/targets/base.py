"""What a module for a kind of device has to have."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Generic, TypeVar

from fctlab.export.form import Limits
from fctlab.export.types import Form

State = TypeVar("State")


class Target(ABC, Generic[State]):
    """A kind of device.

    A *state* is the part of a device's configuration that exports are about, as data. What an
    operator types is a *change* of it, as text: an export changes what is there, and so does the
    way back.

    Attributes:
        name: what it is called on the command line.
        about: one line.
        suffix: of the names of its files.
        limits: what such devices have.
        hosts: whether it is for sending hosts.
        existing: the command that prints what ``--existing`` reads.
        port: the name of a port, as an example.
        role_lines: what ``--init`` adds to the table of a role.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    suffix: ClassVar[str]
    limits: ClassVar[Limits]
    hosts: ClassVar[bool] = False
    existing: ClassVar[str]
    port: ClassVar[str]
    role_lines: ClassVar[str] = ""

    @abstractmethod
    def parse(self, text: str) -> State:
        """Read a state.

        Raises:
            SpecError: it is none; with the line or key.
        """

    @abstractmethod
    def render(self, state: State) -> str:
        """Write a state; `parse` gives it back."""

    @abstractmethod
    def wanted(self, form: Form, before: State | None, in_place: bool) -> State:
        """The state with the form in it.

        Args:
            form: what ports are told.
            before: what is there; ``None`` if that is not known.
            in_place: change profiles instead of pointing to new ones, where there is a choice.

        Raises:
            SpecError: such devices cannot do it, or it does not fit what is there.
        """

    @abstractmethod
    def change(self, before: State, after: State) -> str:
        """What turns one state into the other, and nothing that stays; empty if they are alike."""

    @abstractmethod
    def apply(self, state: State, change: str) -> State:
        """The state after a change, as the device would have it.

        Raises:
            SpecError: the device would refuse it.
        """

    def written(self, weights: Sequence[int]) -> tuple[int, ...]:
        """Weights as they are written."""
        return tuple(weights)

    @abstractmethod
    def fresh(self, form: Form, after: State) -> str:
        """What is applied where it is not known what is there: the form's own part of a state."""

    def extra(self, form: Form) -> dict[str, str]:
        """More files, by the end of their names."""
        return {}

    @abstractmethod
    def apply_words(self, form: Form, file: str, change: str | None) -> list[str]:
        """How to apply it.

        Args:
            form: what is applied.
            file: the name of `fresh`'s file, quoted for a shell.
            change: that of the file of the change; ``None`` without an existing state.
        """

    @abstractmethod
    def look_words(self, form: Form) -> list[str]:
        """How to see that it took: counters."""

    @abstractmethod
    def back_words(self, form: Form, rollback: str | None) -> list[str]:
        """The way back.

        Args:
            form: what was applied.
            rollback: the name of the file, quoted; ``None`` without an existing state.
        """

    def cannot(self, form: Form, before: State | None) -> list[str]:
        """What the device cannot express, or does besides.

        Args:
            form: what is applied.
            before: what is there; ``None`` if that is not known.
        """
        return []
