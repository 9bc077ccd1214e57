"""Seeded run folders that look like those of the pipeline: cells, an instance, stage manifests, an evaluation.

    from tests.synthetic_runs import write_experiment
    cells = write_experiment(home, apis=50, tasks=100, seed=0)

Nothing here was produced by a model; rates and label shares are planted so that tests know what a report must say.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from novelapi import jsonl
from novelapi.fingerprint import file_digest, text_digest
from novelapi.layout import Layout
from novelapi.records.cell import Cell, Condition, Sampling
from novelapi.records.manifest import Manifest
from novelapi.records.task import Task, TaskInput
from novelapi.records.verdict import (
    LABELS,
    CallRecord,
    ErrorEvidence,
    Frame,
    InputEvidence,
    Observation,
    ResultRow,
    StubRun,
)

CONDITIONS: tuple[Condition, ...] = get_args(Condition)

LEAVES = (
    "unstack", "matvec", "vecmat", "vecdot", "cumulative_sum", "cumulative_prod", "unique_values", "unique_counts",
    "unique_inverse", "unique_all", "matrix_transpose", "permute_dims", "concat", "isdtype", "bitwise_count", "astype",
    "linalg.matrix_norm", "linalg.vector_norm", "linalg.diagonal", "linalg.trace", "linalg.outer", "linalg.cross",
    "strings.slice", "strings.partition", "strings.rpartition", "strings.count", "strings.find", "strings.ljust",
    "strings.zfill", "strings.replace", "strings.expandtabs", "rec.find_duplicate", "trapezoid", "pow", "acos", "asinh",
    "atan2", "bitwise_invert", "bitwise_left_shift", "linalg.svdvals", "fft.rfft2", "random.Generator.spawn",
    "quantile", "percentile", "sort", "argsort", "pad", "save", "from_dlpack", "asarray", "clip", "reshape",
)  # fmt: skip

EFFECT = {
    "baseline": -4.2, "s_name": -1.6, "e": 0.4, "m_prose": -2.0, "m_code": -1.2, "s": -0.6, "s_m_prose": -0.5,
    "s_m_code": -0.2, "s_m_prose_m_code": -0.1, "s_e": 0.9, "s_e_m_code": 0.9, "full": 1.0,
}  # fmt: skip
DELIVERY_EFFECT = {"oracle": 0.0, "rag": -0.5, "sft": -0.8, "rag_sft": 0.1}

LABEL_WEIGHTS = {
    "baseline": (2, 14, 70, 4, 3, 7),
    "s_name": (2, 6, 18, 42, 12, 20),
    "default": (2, 4, 8, 20, 18, 48),
}

Failure = tuple[str, str, ErrorEvidence | None]


def make_tasks(apis: int, tasks: int, seed: int, library: str = "numpy", release: str = "2.4.4") -> list[Task]:
    """Return `tasks` tasks over `apis` APIs, one to four each."""
    generator = random.Random(f"tasks-{seed}")
    per_api = [1] * apis
    while sum(per_api) < tasks:
        slot = generator.randrange(apis)
        if per_api[slot] < max(4, math.ceil(tasks / apis) + 1):
            per_api[slot] += 1
    rows: list[Task] = []
    for number in range(apis):
        leaf = LEAVES[number % len(LEAVES)] + (f"_{number // len(LEAVES)}" if number >= len(LEAVES) else "")
        rows += [
            _task(f"{library}.{leaf}", leaf, index, library, release, generator)
            for index in range(1, per_api[number] + 1)
        ]
    return rows


def _task(api: str, leaf: str, index: int, library: str, release: str, generator: random.Random) -> Task:
    axis = generator.choice([0, 1, -1])
    shape = generator.choice(["(2, 3)", "(3, 4)", "(2, 2)"])
    size = {"(2, 3)": 6, "(3, 4)": 12, "(2, 2)": 4}[shape]
    return Task(
        task_id=f"{library}/{leaf}/{index}",
        library=library,
        release=release,
        api=api,
        change="modified" if sum(map(ord, leaf)) % 5 == 0 else "added",
        difficulty=generator.choice(["easy", "easy", "medium", "hard"]),
        description=(
            f"Return the parts of `x` along `axis` as plain lists. The axis of this task is {axis}; negative values "
            "count from the last dimension. The order of the parts is the order of the input."
        ),
        context_code="import numpy as np\n",
        entry_point="solve",
        signature="def solve(x, axis):",
        reference_solution=f"def solve(x, axis):\n    return [part.tolist() for part in np.{leaf}(x, axis=axis)]\n",
        inputs=(
            TaskInput(args=(f"np.arange({size}).reshape{shape}", str(axis))),
            TaskInput(args=(f"np.ones({shape})", "0"), hidden=True),
        ),
        expected=([[0, 1, 2], [3, 4, 5]], [[1.0, 1.0], [1.0, 1.0]]),
        calls=({"api": api, "required": {"axis": str(axis)}},),
        integrity="strong" if generator.random() < 0.7 else "weak",
        provenance={"gates": _gates(api)},
    )


def _gates(api: str) -> dict[str, Any]:
    """As stage 4 writes them; every second name is known to the model, and every fourth import path."""
    number = sum(map(ord, api))
    probe = {"answer": api, "import_path": number % 4 == 0, "call_name": number % 2 == 0, "reason": ""}
    return {
        "C0": {"reason": "the old release does not have it", "old_release": "1.26.2"},
        "C1": {"reason": "the reference passes"},
        "C2": {"reason": "the model fails without knowledge", "probe": probe},
    }


def prompt_text(task: Task, condition: str) -> str:
    """Return a prompt with the knowledge of the condition in front, as the pipeline orders it."""
    leaf = task.api.removeprefix(f"{task.library}.")
    parts = {
        "s_name": f"### Name\n\n`{task.api}`",
        "s": f"### Signature\n\n```python\n{task.api}(x, /, *, axis=0)\n```\n\n- `x`: array_like, the input\n- `axis`: int, default 0",
        "e": f"### Examples\n\n```python\nimport numpy as np\nx = np.arange(12).reshape(3, 4)\nprint(np.{leaf}(x, axis=1))\n# (array([0, 4, 8]), array([1, 5, 9]))\n```",
        "m_prose": f"### How it works\n\nSplits the input into a tuple of parts along one axis. This is the inverse of stacking; no copy is made ({len(leaf)} lines of source).",
        "m_code": "### Source\n\n```python\ndef _(x, /, *, axis=0):\n    if x.ndim == 0:\n        raise ValueError('Input array must be at least 1-d.')\n    return tuple(_nx.moveaxis(x, axis, 0))\n```",
    }
    chosen = {
        "full": ("s", "e", "m_prose", "m_code"),
        "baseline": (),
        "s_name": ("s_name",),
        "m_prose": ("m_prose",),
        "m_code": ("m_code",),
    }
    names = chosen.get(condition) or tuple(
        name for name in ("s", "e", "m_prose", "m_code") if name in _components(condition)
    )
    knowledge = "\n\n".join(parts[name] for name in names)
    head = f"## What is known\n\n{knowledge}\n\n" if knowledge else ""
    return (
        f"{head}## Context\n\n```python\n{task.context_code}```\n\n## Task\n\n{task.description}\n\n"
        f"Write the function `{task.signature}`. Answer with one Python code block.\n"
    )


def _components(condition: str) -> set[str]:
    found = set()
    rest = condition
    for name in ("m_prose", "m_code"):
        if name in rest:
            found.add(name)
            rest = rest.replace(name, "")
    return found | {part for part in rest.split("_") if part in ("s", "e")}


def _failure(label: str, task: Task) -> Failure:
    leaf = task.api.removeprefix(f"{task.library}.")
    name = leaf.rsplit(".", 1)[-1]

    def error(kind: str, message: str, line: int, **more: Any) -> ErrorEvidence:
        frames = (
            Frame(where="completion", module="completion", function="solve", line=line),
            *more.pop("frames", ()),
        )
        return ErrorEvidence(
            type=kind,
            bases=("builtins.Exception",),
            message=message,
            frames=frames,
            position=(line, line, 11, 40),
            **more,
        )

    inside = (Frame(where="library", module="numpy.lib._shape_base_impl", function=name, line=412, target=True),)
    table: dict[str, Failure] = {
        "WrongSyntax": (
            "def solve(x, axis)\n    return x\n",
            "the completion does not compile: expected ':' (line 1)",
            ErrorEvidence(type="builtins.SyntaxError", message="expected ':' (line 1)", position=(1, 1, 18, 19)),
        ),
        "WrongImport": (
            f"from numpy.core import {name}\n\ndef solve(x, axis):\n    return {name}(x, axis)\n",
            f"cannot import name '{name}' from 'numpy.core'",
            error(
                "builtins.ImportError",
                f"cannot import name '{name}' from 'numpy.core'",
                1,
                name=name,
                owner="numpy.core",
                owner_kind="module",
            ),
        ),
        "WrongAPISelection": (
            "import numpy as np\n\ndef solve(x, axis):\n    # np.split keeps the dimension, so squeeze it\n    return [np.squeeze(p, axis=axis).tolist() for p in np.split(x, x.shape[axis], axis=axis)]\n",
            f"{task.api} was never called; np.split and np.squeeze were",
            None,
        ),
        "WrongParam": (
            f"import numpy as np\n\ndef solve(x, axis):\n    return [p.tolist() for p in np.{leaf}(x, dim=axis)]\n",
            f"{task.api} refused the argument `dim`",
            error("builtins.TypeError", f"{name}() got an unexpected keyword argument 'dim'", 4),
        ),
        "WrongShapeDtype": (
            f"import numpy as np\n\ndef solve(x, axis):\n    return [p.tolist() for p in np.{leaf}(np.ravel(x)[0], axis=axis)]\n",
            "the data argument `x` has rank 0 where at least 1 is needed",
            error("builtins.ValueError", "Input array must be at least 1-d.", 4, frames=inside),
        ),
        "WrongLogic": (
            f"import numpy as np\n\ndef solve(x, axis):\n    parts = np.{leaf}(x, axis=0)\n    return [p.tolist() for p in parts]\n",
            "input 0: list differs at [0][1]: 3 where 1 is expected",
            None,
        ),
    }
    return table[label]


def _completion(task: Task, label: str | None) -> str:
    if label is None:
        return f"Here is the function:\n\n```python\nimport numpy as np\n\n{task.reference_solution}```\n"
    return f"```python\n{_failure(label, task)[0]}```\n"


def make_row(
    task: Task,
    sample: int,
    outcome: str,
    label: str | None,
    *,
    overlap: float | None,
    prompt: str,
    text: str,
    generator: random.Random,
) -> ResultRow:
    """Return a result row with the evidence that such a verdict carries."""
    called = outcome == "pass" or label in ("WrongParam", "WrongShapeDtype", "WrongLogic")
    code, reason, error = (
        _failure(label, task)
        if label
        else (f"import numpy as np\n\n{task.reference_solution}", "all 2 inputs are equal", None)
    )
    if outcome == "unscored":
        reason, error = "the sandbox was killed for memory of another process", None
    call = CallRecord(
        api=task.api, input=0, origin="completion", where="remote" if task.integrity == "strong" else "local", line=4,
        position=(4, 4, 31, 55), arguments={"x": "array([[0, 1, 2],\n       [3, 4, 5]])", "axis": "1"}, bound=label != "WrongParam",
        required={"axis": label != "WrongLogic"}, returned=outcome == "pass" or label == "WrongLogic",
        result="(array([0, 3]), array([1, 4]), array([2, 5]))" if outcome == "pass" else "", error=error if called else None,
    )  # fmt: skip
    inputs = () if label in ("WrongSyntax", "WrongImport") or outcome == "unscored" else (
        InputEvidence(index=0, equal=outcome == "pass", answer="[[0, 3], [1, 4], [2, 5]]", expected="[[0, 3], [1, 4], [2, 5]]" if outcome == "pass" else "[[0, 1, 2], [3, 4, 5]]", difference="" if outcome == "pass" else "differs at [0][1]: 3 where 1 is expected", error=error),
    )  # fmt: skip
    stubs = (StubRun(stub="perturbed", changed=True, answer="[[1, 4], [2, 5], [3, 6]]"),) if outcome == "pass" else ()
    # As the pipeline writes it: only what differs from the defaults.
    seen = Observation(
        code=code,
        stage={"WrongSyntax": "compile", "WrongImport": "load"}.get(label or "", "done"),
        error=error if not inputs else None,
        inputs=inputs,
        stubs=stubs,
        stdout="checking\n" if label == "WrongLogic" else "",
    )
    kept = {"code", "stage", "error", "inputs", "stubs", "ended", "stdout", "flags"}
    evidence = {} if outcome == "unscored" else seen.model_dump(mode="json", include=kept, exclude_defaults=True)
    return ResultRow(
        task_id=task.task_id, sample=sample, outcome=outcome, label=label, reason=reason,
        integrity=task.integrity or "weak", calls=(call,) if called else (), evidence=evidence,
        cpu_ms=round(generator.uniform(2, 30), 1), wall_ms=round(generator.uniform(3, 60), 1),
        peak_kb=generator.randrange(28_000, 90_000), executor="fork", env="numpy-2.4.4-abc123", overlap=overlap,
        prompt=text_digest(prompt), text=text_digest(text),
    )  # fmt: skip


def write_cell(
    layout: Layout,
    experiment: str,
    model: str,
    delivery: str,
    condition: str,
    tasks: Sequence[Task],
    instance: Path,
    *,
    samples: int = 1,
    unscored: float = 0.01,
    seed: int = 0,
    effect: float = 0.0,
    limit: int | None = None,
) -> Path:
    """Write one finished cell and return its folder."""
    generator = random.Random(f"{seed}-{model}-{delivery}-{condition}")
    shared = random.Random(f"{seed}-apis")
    api_effect = {api: shared.gauss(0, 1.1) for api in sorted({task.api for task in tasks})}
    folder = layout.cell(experiment, f"{delivery}-{condition}")
    rows, predictions, prompts = [], [], {}
    for task in tasks:
        prompt = prompt_text(task, condition)
        prompts[text_digest(prompt)] = prompt
        chance = 1 / (
            1 + math.exp(-(EFFECT[condition] + DELIVERY_EFFECT.get(delivery, -0.6) + effect + api_effect[task.api]))
        )
        overlap = round(generator.betavariate(2, 2), 3) if condition in ("full", "s_e", "e", "s_e_m_code") else None
        texts = []
        for sample in range(samples):
            outcome, label = "pass", None
            if generator.random() < unscored:
                outcome = "unscored"
            elif generator.random() >= chance:
                outcome = "fail"
                label = generator.choices(LABELS, LABEL_WEIGHTS.get(condition, LABEL_WEIGHTS["default"]))[0]
            text = _completion(task, label)
            texts.append(text)
            rows.append(
                make_row(task, sample, outcome, label, overlap=overlap, prompt=prompt, text=text, generator=generator)
            )
        predictions.append({"task_id": task.task_id, "samples": texts, "prompt_sha": text_digest(prompt)})
    _write_run(folder, rows, predictions, prompts)
    cell = Cell(
        experiment=experiment, group="numpy", model=model, model_revision=f"{model}@1", condition=condition, delivery=delivery,
        instance_sha=file_digest(instance)[:20], bundles_sha="b" * 20, sampling=Sampling(n=samples), limit=limit,
    )  # fmt: skip
    outcomes = [row.outcome for row in rows]
    manifest = Manifest(
        kind="cell",
        name=cell.name,
        spec={**cell.to_row(), "instance": str(instance)},
        inputs={"instance": file_digest(instance)},
        versions={"novelapi": "0.1.0", "python": "3.11.15", "evaluator": "1"},
        counts={name: outcomes.count(name) for name in ("pass", "fail", "unscored")},
        started="2025-06-01T12:00:00Z",
        wall_s=12.5,
        cpu_s=20.1,
        peak_kb=310_000,
        partial=limit is not None,
        isolation={"sandbox": "bubblewrap", "seccomp": True, "cgroups": "v2"},
    )
    jsonl.write_text(folder / "manifest.json", manifest.model_dump_json(indent=2) + "\n")
    return folder


def _write_run(folder: Path, rows: list[ResultRow], predictions: list[dict[str, Any]], prompts: dict[str, str]) -> None:
    ordered = sorted(rows, key=lambda row: (row.task_id, row.sample))
    jsonl.write(folder / "results.jsonl", (row.to_row() for row in ordered))
    jsonl.write(folder / "predictions.jsonl", sorted(predictions, key=lambda row: row["task_id"]))
    jsonl.write(folder / "prompts.jsonl", ({"prompt": sha, "text": prompts[sha]} for sha in sorted(prompts)))


def write_stages(layout: Layout, library: str, model: str, tasks: int) -> None:
    """Write the manifests of the four stages."""
    counts: dict[str, dict[str, Any]] = {
        "stage1_discovery": {
            "candidates": 311,
            "excluded": 5120,
            "reasons": {"private": 3010, "moved": 1204, "not_public": 706, "vendored": 131, "deprecated": 69},
        },
        "stage2_knowledge": {"bundles": 296, "reasons": {"not_importable": 11, "no_signature": 4}},
        "stage3_tasks": {
            "drafted": 640,
            "tasks": tasks + 74,
            "apis": 61,
            "easy": tasks - 10,
            "medium": 50,
            "hard": 34,
            "modified": 21,
            "reasons": {"mutant_passes": 211, "gold_unstable": 52, "not_plain_data": 140, "result_unused": 63},
        },
        "stage4_filtered": {
            "accepted": tasks,
            "reasons": {
                "C0 old release passes": 18,
                "C2 solved without knowledge": 31,
                "C3 not solved with knowledge": 25,
            },
        },
    }
    for stage, numbers in counts.items():
        manifest = Manifest(kind="stage", name=stage, spec={"library": library, "model": model}, counts=numbers)
        jsonl.write_text(layout.stage_manifest(library, stage, model), manifest.model_dump_json(indent=2) + "\n")


def write_experiment(
    home: Path,
    *,
    group: str = "numpy",
    model: str = "copy",
    apis: int = 50,
    tasks: int = 100,
    deliveries: Sequence[str] = ("oracle",),
    conditions: Sequence[str] = CONDITIONS,
    samples: int = 1,
    seed: int = 0,
    unscored: float = 0.01,
    effect: float = 0.0,
    limit: int | None = None,
) -> list[Path]:
    """Write an experiment and return the folders of its cells; every delivery but the first shares the baseline."""
    layout = Layout(home)
    experiment = f"{group}-{model}"
    rows = make_tasks(apis, tasks, seed)
    instance = layout.instance(group, model) / "instance.jsonl"
    jsonl.write(instance, (task.to_row() for task in sorted(rows, key=lambda task: task.task_id)))
    write_stages(layout, "numpy", model, tasks)
    cells = []
    for delivery in deliveries:
        for condition in conditions:
            if condition == "baseline" and delivery != deliveries[0]:
                continue
            cells.append(
                write_cell(
                    layout,
                    experiment,
                    model,
                    delivery,
                    condition,
                    rows,
                    instance,
                    samples=samples,
                    unscored=unscored,
                    seed=seed,
                    effect=effect,
                    limit=limit,
                )
            )
    return cells


def write_evaluation(
    folder: Path, *, apis: int = 20, tasks: int = 40, seed: int = 0, condition: str = "s_e", samples: int = 1
) -> Path:
    """Write the output folder of `evaluate`: rows, manifest, copies of tasks and predictions."""
    layout = Layout(folder.parent / "scratch")
    cells = write_experiment(layout.home, apis=apis, tasks=tasks, seed=seed, conditions=(condition,), samples=samples)
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("results.jsonl", "predictions.jsonl"):
        (folder / name).write_bytes((cells[0] / name).read_bytes())
    (folder / "tasks.jsonl").write_bytes((layout.instance("numpy", "copy") / "instance.jsonl").read_bytes())
    manifest = Manifest(
        kind="evaluation", name=folder.name, spec={"predictions": "predictions.jsonl"}, versions={"novelapi": "0.1.0"}
    )
    jsonl.write_text(folder / "manifest.json", manifest.model_dump_json(indent=2) + "\n")
    return folder
