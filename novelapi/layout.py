"""The only module that builds run paths."""

from __future__ import annotations

import re
from pathlib import Path


def safe_name(text: str) -> str:
    """Return a text as one path segment: everything but letters, digits and `._+-` becomes `_`."""
    name = re.sub(r"[^A-Za-z0-9._+-]+", "_", text).strip(".") or "_"
    return name[:150]


class EnvironmentsLayout:
    """Where environments of libraries under test lie below one folder (NOVELAPI_ENVS)."""

    def __init__(self, root: Path) -> None:
        """Remember the folder; nothing is created."""
        self.root = root

    def environment(self, key: str) -> Path:
        """Folder of one environment."""
        return self.root / safe_name(key)

    def record(self, key: str) -> Path:
        """Its record; written last, so it also says that the environment is complete."""
        return self.environment(key) / "environment.json"

    def lock(self, key: str) -> Path:
        """The exact versions and digests that were installed."""
        return self.root / f"{safe_name(key)}.lock.txt"

    def resolution(self, name: str) -> Path:
        """The answer to one request for an environment, so that it is resolved once."""
        return self.root / "resolutions" / f"{safe_name(name)}.txt"

    def guard(self, key: str) -> Path:
        """File that is locked while the environment is built."""
        return self.root / "guards" / safe_name(key)


class Layout:
    """Where everything lies below one home folder (NOVELAPI_HOME)."""

    def __init__(self, home: Path) -> None:
        """Remember the home folder; nothing is created."""
        self.home = home

    # What is fetched and built once, for all models.

    @property
    def index_cache(self) -> Path:
        """Recorded answers of the package index."""
        return self.home / "index"

    @property
    def downloads(self) -> Path:
        """Wheels and sdists by SHA-256."""
        return self.home / "downloads"

    def download(self, sha256: str, name: str) -> Path:
        """One downloaded file, or what was unpacked from it."""
        return self.downloads / sha256[:2] / sha256[:20] / safe_name(name)

    def release(self, dist: str, version: str) -> Path:
        """Folder of what was read from one release."""
        return self.home / "releases" / safe_name(f"{dist}-{version}")

    def private(self, name: str) -> Path:
        """Folder of a user's own package: what it is called, and its files as an index would list them."""
        return self.home / "private" / safe_name(name)

    def surface(self, dist: str, version: str) -> Path:
        """Static surface of one release."""
        return self.release(dist, version) / "surface.json"

    def documentation(self, dist: str, version: str) -> Path:
        """What the documentation and the tests of one release mention."""
        return self.release(dist, version) / "documentation.json"

    def observations(self, env_key: str, request: str) -> Path:
        """What one environment answered to one request about its APIs."""
        return self.home / "observations" / safe_name(env_key) / f"{request}.json"

    # The stages of one library.

    def stage(self, library: str, stage: str, model: str | None = None) -> Path:
        """File of a stage's rows: `raw/{library}/{stage}.{model}.jsonl`; without a model the part is left out."""
        name = f"{stage}.{safe_name(model)}.jsonl" if model else f"{stage}.jsonl"
        return self.home / "raw" / safe_name(library) / name

    def stage_manifest(self, library: str, stage: str, model: str | None = None) -> Path:
        """Manifest beside a stage's file."""
        return self.stage(library, stage, model).with_suffix(".manifest.json")

    def graph(self, library: str, model: str | None) -> Path:
        """Parameter graph of a library, with the candidates of one model marked."""
        return self.stage(library, "graph", model).with_suffix(".json")

    def flows(self, env_key: str, request: str) -> Path:
        """Flows that were seen while programs ran in one environment."""
        return self.home / "observations" / safe_name(env_key) / f"flows-{request}.json"

    # Groups and experiments.

    def instance(self, group: str, model: str) -> Path:
        """Folder of a group's instance and split for one model."""
        return self.home / "processed" / "groups" / safe_name(group) / safe_name(model)

    def rag(self, group: str) -> Path:
        """Folder of the retrieval index of a group."""
        return self.home / "rag" / safe_name(group)

    def rankings(self, group: str, name: str) -> Path:
        """Rankings of one corpus for one instance, made once for all cells."""
        return self.rag(group) / "rankings" / f"{safe_name(name)}.jsonl"

    def documents(self, group: str, digest: str) -> Path:
        """Passages of a maintainer's documentation."""
        return self.rag(group) / "documents" / f"{safe_name(digest)}.jsonl"

    def prerequisites(self, group: str, digest: str) -> Path:
        """What may have to be called before each API of a group, by a graph."""
        return self.home / "packs" / safe_name(group) / f"before-{safe_name(digest)}.json"

    def pack(self, group: str, digest: str) -> Path:
        """A context pack that the delivery `pack` shows."""
        return self.home / "packs" / safe_name(group) / f"{safe_name(digest)}.json"

    def sft(self, group: str) -> Path:
        """Folder of the training rows of a group."""
        return self.home / "sft" / safe_name(group)

    @property
    def edits(self) -> Path:
        """Folder of trained adapters and editor artefacts."""
        return self.home / "edits"

    def experiment(self, experiment: str) -> Path:
        """Folder of all cells of an experiment."""
        return self.home / "results" / safe_name(experiment)

    def cell(self, experiment: str, cell: str) -> Path:
        """Folder of one cell: manifest.json, predictions.jsonl, results.jsonl, summary.json."""
        return self.experiment(experiment) / safe_name(cell)

    def suite(self, suite: str, answers: str) -> Path:
        """Folder of a run of an outside suite; `answers` says whose."""
        return self.experiment("suites") / safe_name(f"{suite}-{answers}")

    @staticmethod
    def home_of(cell: Path) -> Path | None:
        """Return the home that a cell lies in (`home/results/experiment/cell`), null if it lies elsewhere."""
        parents = cell.absolute().parents
        return parents[2] if len(parents) > 2 and parents[1].name == "results" else None

    def analysis(self, experiment: str) -> Path:
        """Folder of tables, figures and report of an experiment."""
        return self.home / "analysis" / safe_name(experiment)

    # Caches and services.

    @property
    def harnesses(self) -> Path:
        """Folder of prepared harnesses, by what they depend on."""
        return self.home / "harnesses"

    def gate(self, library: str, gate: str, model: str) -> Path:
        """Folder of what a model answered at a gate."""
        return self.home / "raw" / safe_name(library) / f"{gate}.{safe_name(model)}"

    @property
    def completions(self) -> Path:
        """Folder of the completion cache."""
        return self.home / "completions"

    @property
    def prefect(self) -> Path:
        """Folder of the local Prefect server and of cached task results."""
        return self.home / "prefect"

    @property
    def results(self) -> Path:
        """Stored results of tasks, below the keys of the calls."""
        return self.prefect / "results"

    @property
    def locks(self) -> Path:
        """The file whose bytes are the locks of tasks that run."""
        return self.prefect / "locks"

    @property
    def server_state(self) -> Path:
        """Process and address of the local Prefect server."""
        return self.prefect / "server.json"

    @property
    def server_log(self) -> Path:
        """What the local Prefect server printed."""
        return self.prefect / "server.log"

    @property
    def server_database(self) -> Path:
        """SQLite database of the local Prefect server."""
        return self.prefect / "prefect.db"

    @property
    def serving(self) -> Path:
        """State files and logs of the model servers that a worker started."""
        return self.prefect / "serving"

    @property
    def known_releases(self) -> Path:
        """Newest release of each library, as it was when somebody looked last."""
        return self.home / "releases" / "known.jsonl"

    @property
    def serve_env(self) -> Path:
        """Environment that vLLM serves from; see workers/serve_env.py."""
        return self.home / "serve"
