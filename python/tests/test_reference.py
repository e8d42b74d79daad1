"""The reference of the site: what it says is what schemas, the parser and the types say."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import jsonschema
import pytest

import fctlab
from fctlab import files
from reference import answers, commands, keys, parts, render, schema
from tests import pages
from tests.conftest import SCENARIOS

REFERENCE = pages.ROOT / "docs" / "reference"
KEY = re.compile(r"^:::\{(\w+)-key\} (\S+?)(?: \((.*?)\))?\n(.*?)^:::$", re.MULTILINE | re.DOTALL)


def page(name: str) -> str:
    """A page as the site has it."""
    return render((REFERENCE / f"{name}.md").read_text(encoding="utf-8"))


def leaves(value: Any) -> Iterator[tuple[str, Any, bool]]:
    """Every key of a schema wherever it is, its schema, and whether it has to be given.

    Knows nothing of pages: it goes through all tables and follows no reference.
    """
    if isinstance(value, dict):
        if schema.CHANGES in value.get("description", ""):
            return
        properties = value.get("properties", {})
        for key, inner in properties.items():
            if key != "kind" and not inner.get("readOnly"):
                yield key, inner, key in value.get("required", ())
        tables = properties is value.get("properties")
        for key, inner in value.items():
            inside = inner.values() if key in ("properties", "$defs") and tables else [inner]
            for each in inside:
                yield from leaves(each)
    elif isinstance(value, list):
        for each in value:
            yield from leaves(each)


def differences(of: Any, text: str) -> list[str]:
    """What a page says otherwise than a schema, or leaves out, or invents."""
    shown: dict[str, list[str]] = {}
    for _, path, _, body in KEY.findall(text):
        shown.setdefault(path.rpartition(".")[2], []).append(body)
    wrong, known = [], set()
    for key, value, required in leaves(of):
        known.add(key)
        bodies = shown.get(key, [])
        if required:
            wanted = "has to be given"
        elif "default" in value:
            default = value["default"]
            if isinstance(default, dict) and set(default) == {"kind"}:
                default = default["kind"]
            wanted = "none" if default in (None, "") else f"`{schema.written(default)}`"
        else:
            told = schema.one_line(value.get("description", "")).partition("Default: ")[2]
            wanted = told.removesuffix(".") or "(no default in the schema)"
        if not any(wanted in body for body in bodies):
            wrong.append(f"{key}: {wanted}")
        about = schema.one_line(value.get("description", "")).partition("Default: ")[0].strip()
        if not about or not any(about in body for body in bodies):
            wrong.append(f"{key}: {about or 'no description'}")
    invented = {path for _, path, _, _ in KEY.findall(text) if path.rpartition(".")[2] not in known}
    return [*wrong, *sorted(invented)]


@pytest.mark.parametrize("kind", keys.SCHEMAS)
def test_every_key_is_on_its_page_with_its_default(kind: str) -> None:
    found = differences(keys.SCHEMAS[kind](), page(kind))
    assert found == []


def test_a_key_that_is_missing_changed_or_invented_is_seen() -> None:
    of, text = fctlab.schema(), page("scenario")
    gone = copy.deepcopy(of)
    del gone["$defs"]["TrafficSpec"]["properties"]["load_counts"]
    assert differences(gone, text) == ["traffic.load_counts"]
    more = copy.deepcopy(of)
    more["$defs"]["TrafficSpec"]["properties"]["mood"] = {"description": "Its mood.", "default": 1}
    assert differences(more, text) == ["mood: `1`", "mood: Its mood."]
    other = copy.deepcopy(of)
    other["$defs"]["PortSpec"]["properties"]["buffer"]["default"] = "1B"
    assert differences(other, text) == ['buffer: `"1B"`']
    shorter = KEY.sub(lambda key: "" if "per_flow_limit" in key[2] else key[0], text)
    assert [line.partition(":")[0] for line in differences(of, shorter)] == ["per_flow_limit"] * 2


@pytest.mark.parametrize("kind", keys.SCHEMAS)
def test_numbers_have_a_range_or_a_unit(kind: str) -> None:
    bare = [
        key.name
        for section in schema.sections(keys.SCHEMAS[kind]())
        for key in section.keys
        if key.type in ("number", "whole number") and "unit" not in key.text
    ]
    free = {"classes[].interarrivals.mu (lognormal)", "loads.from", "loads.to"}
    assert set(bare) <= free


def test_defaults_of_transports_are_what_scenarios_come_to() -> None:
    (shared,) = (
        each
        for each in schema.sections(fctlab.schema())
        if each.path == "scheme.transport" and not each.kind
    )
    window = next(key for key in shared.keys if key.path.endswith(".initial_window"))
    scenario = fctlab.load_scenario(SCENARIOS / "websearch-leafspine.toml")
    for kind in shared.kinds:
        scheme = {"transport": kind}
        transport = scenario.set("scheme", scheme).resolve()["scheme"]["transport"]
        default = window.defaults.get(kind, window.defaults.get(""))
        assert default == f"`{json.dumps(transport['initial_window'])}`", kind


@pytest.mark.parametrize("file", sorted(SCENARIOS.glob("sweeps/*.toml")), ids=lambda f: f.stem)
def test_the_schema_of_sweeps_takes_ready_made_ones(file: Path) -> None:
    of = keys.SCHEMAS["sweep"]()
    tables = files.read_tables(file, files.SWEEP)
    jsonschema.validate(tables, of)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**tables, "seed": 1}, of)


def test_every_command_and_option_is_on_the_page() -> None:
    text = page("commands")
    for words, command in commands.commands():
        _, found, rest = text.partition(f"### fctlab {' '.join(words)}\n")
        assert found, words
        rest = rest.partition("\n### ")[0]
        for param in command.params:
            for option in param.opts if param.param_type_name == "option" else ():
                assert f"`{option}`" in rest, (words, option)
                assert param.help, (words, option)


def test_every_attribute_of_an_answer_is_described() -> None:
    asked = re.findall(r"<!-- made of: answer (\S+) -->", (REFERENCE / "outputs.md").read_text())
    assert len(asked) > 5
    for name in asked:
        whole = resolve_name(name)
        for each in answers.inside(whole):
            told = answers.attributes(each)
            assert set(told) == set(each.__struct_fields__), each
        assert answers.page(name).count("\n| `") >= len(whole.__struct_fields__)


def test_presets_and_workloads_come_from_the_registry() -> None:
    text = page("presets")
    for each in fctlab.catalog()["schemes"]:
        assert f"\n## {each['name']}\n" in text
    assert parts.resolved("pias")["port"]["discipline"]["thresholds"]
    assert parts.mean_bytes("websearch") == pytest.approx(1_665_831, abs=1)
    assert "`websearch` | 1,665,831 B" in page("workloads")


def test_sentences_that_are_made_are_short() -> None:
    for kind in ("scenario", "specification", "sweep", "commands", "outputs", "presets"):
        found = [each for each in pages.sentences(page(kind)) if pages.words(each) > 40]
        assert found == [], kind
