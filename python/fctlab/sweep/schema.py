"""The JSON Schema of a sweep file, which `fctlab.sweep.grid` reads."""

from __future__ import annotations

from typing import Any

MOST_STEPS = 10_000
MOST_SEEDS = 10_000


def _values(description: str) -> dict[str, Any]:
    return {"$ref": "#/$defs/Values", "description": description}


def _share(description: str, default: str | None = None) -> dict[str, Any]:
    value = {"$ref": "#/$defs/Share", "description": description}
    return value if default is None else {**value, "default": default}


def _seeds(description: str, **more: Any) -> dict[str, Any]:
    ends = {"minimum": 1, "maximum": MOST_SEEDS}
    return {"type": "integer", **ends, "description": description, **more}


def _axes(description: str) -> dict[str, Any]:
    inner = {"description": "Values of a path, or a table of further paths."}
    return {"type": "object", "description": description, "additionalProperties": inner}


UNTIL: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "description": "A rule that adds seeds to each cell and scheme until it is content.",
    "properties": {
        "metric": {
            "type": "string",
            "description": "What is judged: a size class (`all`, `small`, `medium`, `large`), a "
            "dot and a column of `summary.csv`; of a specification a class, a dot and its SLI. "
            "Default: `all.avg_slowdown`; a specification has none.",
        },
        "against": {
            "type": "string",
            "description": "The scheme whose value divides, seed by seed. "
            "Default: the first of several schemes, else the value itself is judged.",
        },
        "ci": _share(
            "Enough once the 95% t interval is within this share of the value to either side. "
            "Either `ci` or `decided` has to be given. Default: none."
        ),
        "decided": {
            "const": True,
            "description": "Enough once the sign of the effect is sure, or that the effect is "
            "within `margin`. Default: none.",
        },
        "margin": _share("Of `decided`: a smaller effect is no effect.", "1%"),
        "alpha": _share("Of `decided`: the most chance of a wrong decision.", "5%"),
    },
}

SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "fctlab sweep",
    "description": "What `fctlab sweep` reads.",
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "name": {
            "type": "string",
            "description": "What results call it. Default: the file's name without its ending.",
        },
        "scenario": {
            "type": "string",
            "description": "A scenario's file, from the folder of the sweep. Either this or "
            "`specification` has to be given. Default: none.",
        },
        "specification": {
            "type": "string",
            "description": "A specification's file, from the folder of the sweep. Default: none.",
        },
        "ask": {
            "enum": ["predict", "plan"],
            "description": "Of a specification: the question to the planner at every point.",
            "default": "predict",
        },
        "set": {
            "type": "object",
            "description": "Changes of the scenario or specification that hold for every point: "
            "paths and their values.",
            "default": {},
        },
        "schemes": {
            "type": "array",
            "minItems": 1,
            "uniqueItems": True,
            "items": {"type": "string"},
            "description": "Presets, or tables `[schemes.NAME]` of the scenario; the first is the "
            "baseline. Default: the scenario's own.",
        },
        "presets": {
            "type": ["string", "array"],
            "items": {"type": "string"},
            "description": "A directory of presets of your own, files NAME.toml, from the folder "
            "of the sweep; or a list of them. Default: none.",
        },
        "loads": _values("An axis of `traffic.load`. Default: the scenario's own."),
        "workloads": _values("An axis of `traffic.workload`. Default: the scenario's own."),
        "axes": {
            **_axes("Axes by their paths; every combination of their values is a cell."),
            "default": {},
        },
        "linked": {
            "type": "array",
            "items": _axes("Axes that go together, value by value: all have equally many."),
            "description": "Tables of axes, each of which counts as one axis.",
            "default": [],
        },
        "seeds": _seeds("How many seeds each point has, from the scenario's on.", default=1),
        "until": {
            "anyOf": [{"const": "decided"}, {"$ref": "#/$defs/Until"}],
            "description": "Instead of `seeds`: when there are enough. `decided` stands for a "
            "table with `decided = true`. Default: none.",
        },
        "max_seeds": _seeds("With `until`: no more seeds than these.", default=1000),
        "max_cpu_hours": {
            "type": "number",
            "exclusiveMinimum": 0,
            "description": "With `until`: CPU hours after which a call adds no more seeds. "
            "Default: no limit.",
        },
        "keep": {
            "enum": ["summary", "flows"],
            "description": "What is kept of each point; `flows` adds them as Parquet.",
            "default": "summary",
        },
    },
    "$defs": {
        "Share": {
            "type": ["string", "number"],
            "pattern": "^ *[0-9.]+%? *$",
            "exclusiveMinimum": 0,
            "exclusiveMaximum": 1,
            "description": 'a share above 0 and below 1: write a number, or percent, such as "5%"',
        },
        "Until": UNTIL,
        "Values": {
            "anyOf": [
                {"type": "array", "minItems": 1, "uniqueItems": True, "items": {}},
                {
                    "type": "object",
                    "additionalProperties": False,
                    "description": "A range of numbers with both ends.",
                    "required": ["from", "to", "steps"],
                    "properties": {
                        "from": {"type": "number", "description": "The first value."},
                        "to": {"type": "number", "description": "The last value."},
                        "steps": {
                            "type": "integer",
                            "minimum": 2,
                            "maximum": MOST_STEPS,
                            "description": "How many values.",
                        },
                    },
                },
            ]
        },
    },
}
