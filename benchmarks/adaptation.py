"""CPU seconds and peak memory of each method for 40 edits of a tiny model, and what GRACE's edits cost as they add up.

    OMP_NUM_THREADS=1 python benchmarks/adaptation.py [--edits 40] [--repeats 5]

Each fit runs in a process of its own, so that the peak is its own; methods are interleaved and medians are printed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# The folder of this file holds a statistics.py, which libraries would take for the module of that name.
sys.path[0] = str(Path(__file__).resolve().parent.parent)
from statistics import median  # noqa: E402

METHODS = ("sft", "lora", "raft", "grace", "memit", "alphaedit", "alphaedit_lora")
LORA = {"rank": 32, "alpha": 64, "dropout": 0.0}
"""Adapters with the steps of `sft`, which trains all weights of the tiny model."""
TASKS = 120


def main() -> None:
    """Measure all methods and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edits", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--child", nargs=2, metavar=("METHOD", "BASE"))
    arguments = parser.parse_args()
    if arguments.child:
        json.dump(measure(*arguments.child, arguments.edits), sys.stdout)
        return
    os.environ["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as scratch:
        from novelapi.adaptation.tiny import TinySettings, build_tiny

        base = build_tiny(Path(scratch) / "tiny", TinySettings())
        found: dict[str, list[dict]] = {method: [] for method in METHODS}
        for _ in range(arguments.repeats):
            for method in METHODS:
                command = [sys.executable, __file__, "--edits", str(arguments.edits), "--child", method, str(base)]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                found[method].append(json.loads(done.stdout.splitlines()[-1]))
    print(f"{arguments.edits} edits, medians of {arguments.repeats}")
    print(f"{'method':16}{'fit CPU s':>12}{'statistics':>12}{'peak MB':>10}{'over load MB':>14}")
    for method, rows in found.items():
        middle = {key: median(row[key] for row in rows) for key in ("fit", "stats", "peak", "over")}
        print(f"{method:16}{middle['fit']:12.2f}{middle['stats']:12.2f}{middle['peak']:10.0f}{middle['over']:14.0f}")
    halves = [(row["first"], row["last"]) for row in found["grace"]]
    print(
        "GRACE per step, CPU ms: first quarter "
        f"{median(first for first, _ in halves):.2f}, last quarter "
        f"{median(last for _, last in halves):.2f}"
    )


def measure(method: str, base: str, edits: int) -> dict[str, float]:
    """Fit one method in this process."""
    from novelapi.adaptation.base import load_base
    from novelapi.adaptation.fitting import CORPUS_LENGTH
    from novelapi.adaptation.grace import Grace
    from novelapi.adaptation.memory import forget_peak, peak_kb
    from novelapi.adaptation.recipes import editor_of, read_recipes, statistics_layers
    from novelapi.adaptation.rows import encode_rows, plain_row, raft_rows
    from novelapi.adaptation.standard_tasks import standard_tasks
    from novelapi.adaptation.statistics import collect, corpus_texts, token_sequences
    from novelapi.inference.prompts import build_prompt

    model, tokenizer = load_base(Path(base))
    recipes = read_recipes("tiny")
    recipe = recipes["sft" if method == "lora" else method]
    if method == "lora":
        recipe = recipe.model_copy(update={"full": False, "settings": {**recipe.settings, **LORA}})
    tasks = standard_tasks(TASKS)[::-1][:edits]
    if recipe.form == "documents":
        rows = raft_rows(tasks, lambda _, api: f"`{api[1]}`", build_prompt)
    else:
        shown = [build_prompt(task, f"## API\n\n`{task.api}`" if recipe.form == "subject" else "") for task in tasks]
        rows = [
            plain_row(task, prompt, task.api if recipe.form == "subject" else None)
            for task, prompt in zip(tasks, shown, strict=True)
        ]
    requests, _ = encode_rows(rows, tokenizer, window=recipe.window)
    delivery = "sft" if method == "lora" else method
    editor = editor_of(delivery, recipe, tokenizer)
    needed = statistics_layers(delivery, recipe, tokenizer)
    stats, spent = None, 0.0
    if needed is not None:
        texts = corpus_texts(sorted(Path(json.__file__).parent.parent.glob("*.py"))[:40])
        sequences = token_sequences(texts, tokenizer, length=CORPUS_LENGTH, limit=recipe.corpus_tokens)
        start = time.process_time()
        stats = collect(model, sequences, *needed)
        spent = time.process_time() - start
    each: list[float] = []
    if isinstance(editor, Grace):
        own = Grace.train_value

        def timed(*args: object) -> tuple[object, dict[str, float]]:
            start = time.process_time()
            value, facts = own(*args)
            each.append(1000 * (time.process_time() - start) / (facts["steps"] + 1))
            return value, facts

        Grace.train_value = timed
    forget_peak()  # a child begins with the peak of its parent, which built the model
    loaded = peak_kb()
    start = time.process_time()
    editor.fit(model, requests, stats=stats)
    fit = time.process_time() - start
    peak = peak_kb()
    quarter = max(1, len(each) // 4)
    return {
        "fit": fit,
        "stats": spent,
        "peak": peak / 1024,
        "over": (peak - loaded) / 1024,
        "first": median(each[:quarter]) if each else 0.0,
        "last": median(each[-quarter:]) if each else 0.0,
    }


if __name__ == "__main__":
    main()
