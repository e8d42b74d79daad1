"""Keys of input files, from their JSON Schemas."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

Schema: TypeAlias = Mapping[str, Any]

CHANGES = "Changes of a preset's part"
"""How the schema describes that a part's keys may stand without its kind."""


@dataclass(frozen=True)
class Key:
    """A key of a table.

    Attributes:
        path: from the root; ``[]`` follows a list of tables.
        kinds: of the part that have it; none where every kind has it.
        type: what it takes, in Markdown.
        defaults: in Markdown, by kind where kinds differ, else under an empty name; none of a key
            that has to be given.
        required: whether it has to be given.
        values: words that it takes, and what they mean.
        text: its description, in Markdown.
    """

    path: str
    kinds: tuple[str, ...]
    type: str
    defaults: Mapping[str, str]
    required: bool
    values: Mapping[str, str]
    text: str

    @property
    def name(self) -> str:
        """What it is called in the index."""
        return f"{self.path} ({', '.join(self.kinds)})" if self.kinds else self.path


@dataclass
class Section:
    """A table, or one kind of a part.

    Attributes:
        path: of the table; empty for the root.
        kind: of a part; empty for the table itself.
        text: its description.
        keys: its own.
        kinds: that there are, and what they do.
    """

    path: str
    kind: str
    text: str
    keys: list[Key] = field(default_factory=list)
    kinds: dict[str, str] = field(default_factory=dict)


def sections(schema: Schema) -> list[Section]:
    """Every table of a schema in order, each definition where it is met first."""
    return list(_Walk(schema).table("", schema))


def quantities(schema: Schema) -> dict[str, str]:
    """What texts with units mean, by the name that types have here."""
    return {
        name: definition["description"]
        for name, definition in schema["$defs"].items()
        if "pattern" in definition
    }


class _Walk:
    def __init__(self, schema: Schema) -> None:
        self._definitions: Mapping[str, Schema] = schema.get("$defs", {})
        self._met: dict[str, str] = {}

    def _resolved(self, schema: Schema) -> Schema:
        """What a reference refers to; ``null`` beside something else is left out."""
        if "$ref" in schema:
            return self._resolved(self._definitions[self._name(schema)])
        choices = [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]
        return self._resolved(choices[0]) if len(choices) == 1 else schema

    def _name(self, schema: Schema) -> str:
        return str(schema["$ref"]).rpartition("/")[2]

    def _reference(self, schema: Schema) -> str:
        """Name of the definition that a key refers to, perhaps inside a list; or nothing."""
        if "$ref" in schema:
            return self._name(schema)
        for each in (*schema.get("anyOf", ()), *filter(None, [schema.get("items")])):
            if found := self._reference(each):
                return found
        return ""

    def table(self, path: str, schema: Schema, kind: str = "") -> Iterator[Section]:
        """A table and those inside it."""
        own = Section(path, kind, schema.get("description", ""))
        inner = []
        for key, value in schema.get("properties", {}).items():
            if key == "kind" or value.get("readOnly"):
                continue
            required = key in schema.get("required", ())
            kinds = (kind,) if kind else ()
            own.keys.append(self.key(f"{path}.{key}".lstrip("."), value, kinds, required))
            inner.append((own.keys[-1].path, value))
        yield own
        for place, value in inner:
            yield from self.below(place, value)

    def below(self, path: str, schema: Schema) -> Iterator[Section]:
        """Tables that a key takes, unless they were met."""
        name = self._reference(schema)
        if name and self._met.setdefault(name, path) != path:
            return
        resolved = self._resolved(schema)
        if resolved.get("type") == "array":
            path, resolved = f"{path}[]", self._resolved(resolved["items"])
        elif "additionalProperties" in resolved and isinstance(
            resolved["additionalProperties"], Mapping
        ):
            yield from self.below(f"{path}.NAME", resolved["additionalProperties"])
            return
        kinds = [each for each in resolved.get("oneOf", ()) if _is_kind(each)]
        choices = (resolved, *map(self._resolved, resolved.get("anyOf", ())))
        tables = [each for each in choices if "properties" in each]
        if kinds:
            yield from self.place(path, self._definitions[name], kinds)
        for each in tables:
            yield from self.table(path, each)

    def place(self, path: str, schema: Schema, kinds: list[Schema]) -> Iterator[Section]:
        """A part: what several kinds have, then each kind that has more."""
        named = {str(each["properties"]["kind"]["const"]): each for each in kinds}
        whole = Section(path, "", schema.get("description", ""))
        whole.kinds = {name: each.get("description", "") for name, each in named.items()}
        shared = _shared(named)
        for key, names in shared:
            value = named[names[0]]["properties"][key]
            required = all(key in named[name].get("required", ()) for name in names)
            found = self.key(f"{path}.{key}", value, names, required)
            defaults = {
                name: self.key(path, named[name]["properties"][key], (), required).defaults
                for name in names
            }
            if len({str(each) for each in defaults.values()}) > 1:
                several = {name: each.get("", "") for name, each in defaults.items()}
                found = replace(found, defaults=several)
            everywhere = len(names) == len(kinds) > 1
            whole.keys.append(replace(found, kinds=()) if everywhere else found)
        yield whole
        for key, names in shared:
            yield from self.below(f"{path}.{key}", named[names[0]]["properties"][key])
        for name, each in named.items():
            seen = {key for key, names in shared if name in names}
            own = {key: value for key, value in each["properties"].items() if key not in seen}
            if set(own) - {"kind"}:
                yield from self.table(path, {**each, "properties": own}, name)

    def key(self, path: str, schema: Schema, kinds: tuple[str, ...], required: bool) -> Key:
        """A key as its schema has it."""
        text, _, told = one_line(schema.get("description", "")).partition("Default: ")
        default = self.default(schema) or told.strip().removesuffix(".")
        return Key(
            path=path,
            kinds=kinds,
            type=self.type(schema),
            defaults={"": default} if default and not required else {},
            required=required,
            values=self.values(schema),
            text=text.strip(),
        )

    def default(self, schema: Schema) -> str:
        """A default as people write it; empty where the schema has none."""
        if "default" not in schema:
            return ""
        value = schema["default"]
        if isinstance(value, Mapping) and set(value) == {"kind"}:
            value = value["kind"]
        return "none" if value in (None, "") else f"`{written(value)}`"

    def values(self, schema: Schema) -> dict[str, str]:
        """Words that a key takes, and what they mean."""
        found: dict[str, str] = {}
        resolved = self._resolved(schema)
        for each in (resolved, *resolved.get("anyOf", ()), *resolved.get("oneOf", ())):
            each = self._resolved(each) if each is not resolved else each
            for inner in (each, *each.get("oneOf", ())):
                if "const" in inner:
                    found[written(inner["const"])] = one_line(inner.get("description", ""))
                for value in inner.get("enum", ()):
                    found.setdefault(written(value), "")
        return found

    def type(self, schema: Schema) -> str:
        """What a key takes."""
        resolved = self._resolved(schema)
        if "$ref" in resolved:
            return self.type(self._definitions[self._name(resolved)])
        name = self._reference(schema) if "items" not in resolved else ""
        if "pattern" in resolved:
            words = re.sub(r"(?<!^)(?=[A-Z])", " ", name.rstrip("0123456789")).lower()
            return f"[{words}](scenario.md#quantities)" if name else "text"
        if "oneOf" in resolved:
            kinds = any(_is_kind(each) for each in resolved["oneOf"])
            return "name or table" if kinds else "one of"
        if "anyOf" in resolved:
            parts = [self.type(each) for each in resolved["anyOf"] if each.get("type") != "null"]
            return " or ".join(dict.fromkeys(filter(None, parts)))
        if "enum" in resolved or "const" in resolved:
            return "one of"
        return _plain(resolved, self)


def _plain(schema: Schema, walk: _Walk) -> str:
    kinds = schema.get("type", "")
    kind = kinds if isinstance(kinds, str) else next(k for k in kinds if k != "null")
    if "prefixItems" in schema:
        return f"pair ({', '.join(map(walk.type, schema['prefixItems']))})"
    if kind == "array":
        return f"list of {walk.type(schema['items'])}"
    names = {"integer": "whole number", "string": "text", "boolean": "`true` or `false`"}
    named = {**names, "object": "table", "number": "number"}.get(kind, kind)
    return f"{named}{_range(schema)}"


def _range(schema: Schema) -> str:
    ends = {
        "minimum": "from",
        "exclusiveMinimum": "above",
        "maximum": "to",
        "exclusiveMaximum": "below",
    }
    kept = [(word, schema[end]) for end, word in ends.items() if end in schema]
    return "".join(f" {word} {value:,}" for word, value in kept)


def _is_kind(schema: Schema) -> bool:
    return "kind" in schema.get("properties", {})


def _shared(kinds: Mapping[str, Schema]) -> list[tuple[str, tuple[str, ...]]]:
    """Keys that several kinds have, alike but for the default, and these kinds."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, each in kinds.items():
        for key, value in each["properties"].items():
            alike = {**value, "default": None}
            if key != "kind":
                found.setdefault((key, json.dumps(alike, sort_keys=True)), []).append(name)
    return [(key, tuple(names)) for (key, _), names in found.items() if len(names) > 1]


def one_line(text: str) -> str:
    """Rust's documentation as a line of Markdown."""
    return re.sub(r"\s*\n\s*", " ", text)


def written(value: object) -> str:
    """A value as in TOML."""
    if isinstance(value, Mapping):
        inner = ", ".join(f"{key} = {written(each)}" for key, each in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value, ensure_ascii=False)
