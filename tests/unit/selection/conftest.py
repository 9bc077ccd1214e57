import pytest

from novelapi.selection.names import mangled
from novelapi.selection.tasks import Task, Tool, Wanted


def api(owner, title):
    return Tool(name=f"{owner} / {title}", owner=owner, title=title)


@pytest.fixture
def row():
    """A row of ToolBench's kind: four APIs of two tools, two of them wanted."""
    tools = (
        api("Kick.com API | Kick API", "Get Channel Clips"), api("Kick.com API | Kick API", "Get Channel Details"),
        api("168 Weather", "from"), api("168 Weather", "Forecast"),
    )  # fmt: skip
    listing = [
        {
            "category_name": "Data", "tool_name": tool.owner, "api_name": tool.title, "api_description": "d",
            "required_parameters": [{"name": "q", "type": "STRING"}], "optional_parameters": [], "method": "GET",
        }
        for tool in tools
    ]  # fmt: skip
    return Task(
        key="G1/1", query="Show me the clips of a channel and its details.", tools=tools,
        wanted=(Wanted(name=tools[0].name), Wanted(name=tools[1].name)), match="set", listing=listing,
        scheme="toolbench", ignored=frozenset({"Finish"}),
    )  # fmt: skip


@pytest.fixture
def blind(row):
    """The same row with labels for everything that it lists."""
    from dataclasses import replace

    return replace(row, wanted=tuple(Wanted(name=tool.name) for tool in row.tools))


@pytest.fixture
def shown():
    return lambda tool: mangled(tool.title, tool.owner)[-64:]


@pytest.fixture
def functions():
    """A row of BFCL's kind: two functions, one call wanted."""
    area = Tool(
        name="math.area",
        parameters={
            "base": {"type": "integer"}, "height": {"type": "float"}, "unit": {"type": "string"},
            "points": {"type": "array", "items": {"type": "float"}},
            "style": {"type": "dict", "properties": {"color": {"type": "string"}}},
        },
        required=("base", "height"),
    )  # fmt: skip
    other = Tool(name="math.sum", parameters={"values": {"type": "array", "items": {"type": "integer"}}})
    accepted = {
        "base": [10], "height": [5.0], "unit": ["square units", ""], "points": [[1.0, 2.0], ""],
        "style": [{"color": ["red", "dark red"], "width": [1, ""]}, ""],
    }  # fmt: skip
    return Task(
        key="simple_0", query="Area of a triangle?", tools=(area, other),
        wanted=(Wanted(name="math.area", arguments=accepted),), match="accepted",
        listing=[{"name": "math.area", "description": "d", "parameters": {"type": "dict", "properties": {}}}],
    )  # fmt: skip


@pytest.fixture
def chain():
    """A row of NESTFUL's kind: two searches feed a third call."""
    tools = tuple(
        Tool(name=name, parameters={key: {} for key in keys})
        for name, keys in {"find": ["query"], "fly": ["start", "end", "date"], "stay": ["place"]}.items()
    )
    wanted = (
        Wanted(name="find", arguments={"query": "New York"}, label="var1"),
        Wanted(name="find", arguments={"query": "London"}, label="var2"),
        Wanted(name="fly", arguments={"start": "$var1.id$", "end": "$var2.id$", "date": "2024-08-15"}, label="var3"),
    )
    return Task(
        key="executable/0", query="Fly to London.", tools=tools, wanted=wanted, match="sequence",
        ignored=frozenset({"var_result"}),
        listing=[{"name": tool.name, "description": "d", "query_parameters": {}} for tool in tools],
    )  # fmt: skip
