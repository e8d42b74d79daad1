"""Answers as frozen types: what engines say in JSON is decoded once, by `Answer.read`."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from fctlab import tables
from fctlab.errors import InternalError

if TYPE_CHECKING:
    from typing_extensions import Self


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a function of the library found; attributes are called what ``--json`` calls them.

    A field has a default only if its key may be absent.
    """

    shown_by: ClassVar[str] = ""
    """Name of the function that makes its tables (`pkgutil.resolve_name`), if there is one."""

    def _repr_html_(self) -> str | None:
        """The tables of the terminal, in a notebook."""
        if not self.shown_by:
            return None
        parts = resolve_name(self.shown_by)(self)
        return tables.html([parts] if isinstance(parts, tables.Table) else parts)

    @classmethod
    def read(cls, value: object) -> Self:
        """Read what `whole` gives, or an engine gave.

        Raises:
            InternalError: it has other keys or other types.
        """
        try:
            return msgspec.convert(value, cls)
        except msgspec.ValidationError as error:
            raise InternalError(f"{cls.__name__}: {error}") from None

    def to_dict(self) -> dict[str, Any]:
        """What ``--json`` prints: dictionaries, lists, numbers and text, keys in this order."""
        return self.whole()

    def whole(self) -> dict[str, Any]:
        """What `read` takes, also of an answer whose `to_dict` is another view of it."""
        found: dict[str, Any] = _plain(msgspec.to_builtins(self))
        return found


def _plain(value: Any) -> Any:
    """`value` with lists where JSON has lists."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, tuple | list) else value
