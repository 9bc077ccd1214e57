"""CPU and memory of the endpoint client against the bare official client, on a loopback server with faults.

Run: python -m benchmarks.endpoint [requests] [concurrency]
"""

from __future__ import annotations

import asyncio
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from novelapi.adapters.openai_model import OpenAIModel
from novelapi.inference.batch import complete_tasks
from novelapi.inference.cache import CompletionCache
from novelapi.inference.prompts import build_prompt
from novelapi.records.cell import Sampling
from tests.fakes.openai_server import error, fake_openai
from tests.fakes.tasks import numpy_task

ANSWER = "```python\ndef solve(x, axis):\n    return [part.tolist() for part in np.unstack(x, axis=axis)]\n```\n"


def _serve(pipe: Any) -> None:
    """Answer from another process; every 20th prompt fails once."""

    def behaviour(body: dict[str, Any], attempt: int) -> Any:
        faulty = hash(body["messages"][0]["content"]) % 20 == 0 and attempt == 1
        return error(500, "oops", headers={"retry-after-ms": "5"}) if faulty else [ANSWER] * body["n"]

    with fake_openai(behaviour) as server:
        pipe.send(server.base_url)
        while (message := pipe.recv()) == "count":
            pipe.send(len(server.requests))
    assert message is None


def _bare(url: str, prompts: list[str], concurrency: int) -> int:
    import openai

    async def run() -> int:
        gate = asyncio.Semaphore(concurrency)
        async with openai.AsyncOpenAI(api_key="none", base_url=url, max_retries=6) as client:

            async def ask(prompt: str) -> str:
                async with gate:
                    reply = await client.chat.completions.create(
                        model="tiny",
                        messages=[{"role": "user", "content": prompt}],
                        n=1,
                        max_tokens=2048,
                        temperature=0,
                        seed=0,
                    )
                return reply.choices[0].message.content or ""

            return len(await asyncio.gather(*(ask(prompt) for prompt in prompts)))

    return asyncio.run(run())


def _measure(name: str, work: Callable[[], Any]) -> None:
    """Run in a fork, so that each measurement has its own CPU time and peak."""
    receive, send = multiprocessing.Pipe(duplex=False)

    def body() -> None:
        started, wall = time.process_time(), time.perf_counter()
        result = work()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        send.send((time.process_time() - started, time.perf_counter() - wall, peak, result))

    job = multiprocessing.get_context("fork").Process(target=body)
    job.start()
    cpu, wall, peak, result = receive.recv()
    job.join()
    print(f"{name:28} cpu {cpu:6.2f} s  wall {wall:6.2f} s  peak {peak} MB  {result}")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    concurrency = int(sys.argv[2]) if len(sys.argv) > 2 else 64
    tasks = [numpy_task(number, description=f"Do {number}.") for number in range(count)]
    prompts = [build_prompt(task, "") for task in tasks]
    here, there = multiprocessing.Pipe()
    server = multiprocessing.get_context("fork").Process(target=_serve, args=(there,))
    server.start()
    url = here.recv()
    model = OpenAIModel("tiny", base_url=url, concurrency=concurrency)

    def ours(folder: str) -> str:
        with CompletionCache(Path(folder) / "completions.sqlite") as cache:
            result = complete_tasks(tasks, prompts, model, Sampling(), cache, Path(folder) / "cell")
        return f"answered {result.answered}, from cache {result.usage.cached}, missing {result.missing}"

    _measure("official client, bare", lambda: _bare(url, [f"{prompt} " for prompt in prompts], concurrency))
    with tempfile.TemporaryDirectory() as folder:
        _measure("novelapi: cache, files", lambda: ours(folder))
        (Path(folder) / "cell" / "predictions.jsonl").unlink()
        _measure("novelapi: again, from cache", lambda: ours(folder))
    here.send("count")
    print("requests that reached the server:", here.recv())
    here.send(None)
    server.join()


if __name__ == "__main__":
    main()
