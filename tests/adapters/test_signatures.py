"""The tools as they are published: flat, small, and true to what the commands take."""

import json

import pytest
from pydantic import TypeAdapter
from slw.adapters.catalogue import OPERATIONS
from slw.adapters.commands import ClaimTold, MemoryFeedback, ProcedureFeedback, ProcedureTold, VerificationTold
from slw.adapters.signatures import CLAIM, MEMORY_VERDICT, PROCEDURE_VERDICT
from slw.adapters.stdio import INSTRUCTIONS
from slw.adapters.tools import chosen, published

VERBS = ["activate", "remember", "recall", "feedback", "commit"]


def on_the_wire(tools):
    told = [tool.model_dump(by_alias=True, mode="json", exclude_none=True) for tool in tools]
    return json.dumps({"tools": told}, separators=(",", ":")).encode()


def listed(tools):
    return [published(operation) for operation in chosen(OPERATIONS, tools)]


def nodes(schema):
    yield schema
    for value in schema.values():
        if isinstance(value, dict):
            yield from nodes(value)
        elif isinstance(value, list):
            for entry in value:
                if isinstance(entry, dict):
                    yield from nodes(entry)


def test_core_are_the_five_verbs_and_take_less_than_8_kb():
    tools = listed("core")
    assert [tool.name for tool in tools] == [f"slowave_{verb}" for verb in VERBS]
    assert len(on_the_wire(tools)) <= 8_000


def test_all_tools_take_less_than_14_kb():
    assert len(on_the_wire(listed("full"))) <= 14_000


@pytest.mark.parametrize("tool", listed("full"), ids=lambda tool: tool.name)
def test_schemas_are_flat(tool):
    for node in nodes(tool.input_schema):
        assert not {"$ref", "$defs", "anyOf", "oneOf", "allOf"} & set(node)
        assert node.get("type") != "null"
        assert not isinstance(node.get("type"), list)
        assert None not in node.get("enum", [])
    assert tool.input_schema["additionalProperties"] is False


@pytest.mark.parametrize("tool", listed("full"), ids=lambda tool: tool.name)
def test_descriptions_are_short_and_there(tool):
    assert 40 < len(tool.description) < 2_048
    assert all(len(node.get("description", "")) < 2_048 for node in nodes(tool.input_schema))


def test_the_instructions_tell_the_lifecycle_in_order_and_the_scope_convention():
    assert len(INSTRUCTIONS) < 1_500
    places = [
        INSTRUCTIONS.index(f"slowave_{verb}") for verb in ("activate", "recall", "remember", "feedback", "commit")
    ]
    assert places == sorted(places)
    assert "project:<name of the git root folder>" in INSTRUCTIONS


@pytest.mark.parametrize("operation", chosen(OPERATIONS, "full"), ids=lambda o: o.name)
def test_what_is_published_is_what_is_taken(operation):
    """Names, required ones, and every published default is a value the command takes."""
    taken = operation.command.model_fields
    assert set(operation.tool.properties) == set(taken)
    required = {name for name, field in taken.items() if field.is_required()}
    assert required <= set(operation.tool.required) <= set(taken)
    for name, schema in operation.tool.properties.items():
        if "default" in schema:
            field = taken[name]
            TypeAdapter(field.rebuild_annotation()).validate_python(schema["default"], strict=True)


@pytest.mark.parametrize(
    ("published_members", "command"),
    [
        (CLAIM, ClaimTold),
        (MEMORY_VERDICT["properties"], MemoryFeedback),
        (PROCEDURE_VERDICT["properties"], ProcedureFeedback),
        (next(o for o in OPERATIONS if o.name == "commit").tool.properties["procedure"]["properties"], ProcedureTold),
        (
            next(o for o in OPERATIONS if o.name == "commit").tool.properties["verification"]["properties"],
            VerificationTold,
        ),
    ],
    ids=["claim", "memory", "procedure feedback", "procedure", "verification"],
)
def test_what_is_published_inside_is_what_is_taken(published_members, command):
    assert set(published_members) == set(command.model_fields)
