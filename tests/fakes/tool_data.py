"""Miniature data of the selection suites, made by hand in the published formats."""

import json


def api(tool, name):
    return {
        "category_name": "Data", "tool_name": tool, "api_name": name, "api_description": "", "method": "GET",
        "required_parameters": [{"name": "q", "type": "STRING", "description": "", "default": ""}],
        "optional_parameters": [{"name": "n", "type": "NUMBER", "description": "", "default": 1}],
    }  # fmt: skip


def query(number, labels, apis=(("Kick", "Get clips"), ("Kick", "Get details"), ("Weather", "from"))):
    return {"query_id": number, "query": "?", "api_list": [api(*pair) for pair in apis], "relevant APIs": labels}


CLIPS, DETAILS = ["Kick", "Get clips"], ["Kick", "Get details"]
FUNCTION = {
    "name": "math.area", "description": "d",
    "parameters": {"type": "dict", "properties": {"base": {"type": "integer"}}, "required": ["base"]},
}  # fmt: skip
QUESTION = {"id": "simple_0", "question": [[{"role": "user", "content": "Area?"}]], "function": [FUNCTION]}
ANSWER = {"id": "simple_0", "ground_truth": [{"math.area": {"base": [10], "unit": [""]}}]}
SPEC = [
    {"name": "Find.City", "query_parameters": {"name": {"required": True}}, "path_parameters": {"lang": {"required": False}}},
    {"name": "Fly", "arguments": {"city": {"required": True}}},
    {"name": "Stay", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}},
]  # fmt: skip
SEQUENCE = {
    "input": "Fly!",
    "output": [
        {"name": "Find.City", "arguments": {"name": "Rome"}, "label": "var1"},
        {"name": "Fly", "arguments": {"city": "$var1.id$"}, "label": "var2"},
        {"name": "var_result", "arguments": {"flight": "$var2$"}},
    ],
}
NODES = [
    {"id": "Image Search", "desc": "d", "input-type": ["text"], "output-type": ["image"]},
    {"id": "Image Mixer", "desc": "d", "input-type": ["image", "image"], "output-type": ["image"]},
]
APIS = [{"id": "send_sms", "desc": "d", "parameters": [{"name": "number", "type": "string", "desc": "d"}]}]
REQUEST = {
    "id": "17", "type": "chain", "user_request": "Mix.", "task_steps": [],
    "task_nodes": [
        {"task": "Image Mixer", "arguments": ["<node-1>", "a.png"]}, {"task": "Image_Search", "arguments": ["cats"]},
    ],
    "task_links": [{"source": "Image Search", "target": "Image_Mixer"}],
}  # fmt: skip


def write(path, rows, *, lines=False):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, rows)) if lines else json.dumps(rows))


def write_suites(folder):
    """Write miniature data of all four suites, each in its own folder."""
    write(folder / "stabletoolbench/solvable_queries/test_instruction/G1_tool.json", [query(5, [CLIPS, DETAILS])])
    write(
        folder / "stabletoolbench/solvable_queries/test_instruction/G2_category.json",
        [query(5, [CLIPS]), query(6, [DETAILS])],
    )
    write(folder / "tools/bfcl/BFCL_v4_simple_python.json", [QUESTION], lines=True)
    write(folder / "tools/bfcl/possible_answer/BFCL_v4_simple_python.json", [ANSWER], lines=True)
    write(folder / "nestful_v1/non-executable-glaive-data.json", [SEQUENCE])
    write(folder / "nestful_v1/non-executable-glaive-spec.json", SPEC)
    write(folder / "taskbench/data_images/tool_desc.json", {"nodes": NODES})
    write(folder / "taskbench/data_images/data.json", [REQUEST], lines=True)
    return folder
