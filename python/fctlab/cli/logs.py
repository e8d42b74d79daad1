"""Options of commands that read flow logs."""

from __future__ import annotations

from typing import Annotated

import typer

from fctlab.errors import SpecError

Time = Annotated[str | None, typer.Option(metavar="COLUMN[:UNIT]", help="Starts; s, ms, us, ns.")]
End = Annotated[str | None, typer.Option(metavar="COLUMN[:UNIT]", help="Ends.")]
Lasts = Annotated[
    str | None,
    typer.Option("--duration", metavar="COLUMN[:UNIT]", help="From start to end."),
]
Size = Annotated[
    str | None, typer.Option(metavar="COLUMN[:UNIT]", help="Bytes of a flow; B, KB, MB, GB.")
]
Classes = Annotated[
    str | None,
    typer.Option("--class", metavar="COLUMN[:UNIT]", help="Classes; name, dscp, tos."),
]
Names = Annotated[
    str | None,
    typer.Option(metavar="A=NAME,B=NAME", help="0=rpc,10=storage; two of one name are one."),
]


def names_of(text: str | None) -> dict[str, str]:
    """``0=rpc,10=storage``.

    Raises:
        SpecError: it reads otherwise.
    """
    found: dict[str, str] = {}
    for each in text.split(",") if text else ():
        code, equals, name = (part.strip() for part in each.partition("="))
        if not (code and equals and name):
            raise SpecError("--names", f"{each!r} is not VALUE=NAME, such as 0=rpc,10=storage")
        if code in found:
            raise SpecError("--names", f"{code} is named twice")
        found[code] = name
    return found
