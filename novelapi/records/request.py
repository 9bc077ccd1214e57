"""What is asked of a stage: small, frozen, and the same for all four stages of a library."""

from __future__ import annotations

from datetime import date

from pydantic import Field

from novelapi.records.base import Record


class LibraryRequest(Record):
    """One library, seen from one model."""

    library: str
    """Library in the catalogue, or any distribution."""

    model: str = "copy"
    """Model as the user named it."""

    cutoff: date | None = None
    """The model's training cutoff; null takes the catalogue's, or `old` decides."""

    old: str | None = None
    """Release that the model can know; null follows from the cutoff."""

    new: str | None = None
    """Release under test; null takes the catalogue's pin, else the newest stable one."""

    entry: str | None = None
    """Digest of the library's entry in the catalogue, so that a corrected entry is not answered from a cache."""

    limit: int | None = Field(default=None, ge=1)
    """Number of units to keep (by hash of id), or null."""

    subsets: int | None = Field(default=None, ge=1)
    """Number of subsets of the parameter graph that tasks of several APIs are tried on; null makes none."""

    seed: int = 0
    """Seed of everything that is drawn."""

    author: str | None = None
    """Revision of a strong model that writes prose and examples and solves tasks (C3); null is without one."""

    jobs: int = Field(default=2, ge=1)
    """Processes at work; does not change any result."""


class ModelAccess(Record):
    """How a model is reached; nothing in it changes what the model says, and it holds no secret."""

    base_url: str | None = None
    """Address of an OpenAI-compatible endpoint; null takes OPENAI_BASE_URL or the embedded model."""

    revision: str | None = None
    """What pins the outputs of an endpoint, such as a commit; it is part of every key."""

    block: str | None = None
    """Name of a saved `model-endpoint` block, which holds address and key."""

    artifact: str | None = None
    """Folder of trained or edited weights on top of the model; which ones they must be is said by the cell."""

    window: int | None = None
    """Context window that the endpoint stated when it was asked; it counts where the profile has none."""

    profile: str | None = None
    """File of a profile (window, habits, prices); null takes the shipped one of the model's name."""

    budget_calls: int | None = None
    """Requests that one run may send; null is without limit."""

    budget_tokens: int | None = None
    """Tokens that one run may use, prompts and answers together."""

    budget_usd: float | None = None
    """US dollars that one run may spend, by the prices of the profile."""

    elsewhere: bool = False
    """The model answers beside another run only: nothing is asked here, what it stated there is taken as recorded."""

    offline: bool = False
    """Answer from recordings alone; what is not recorded stays unanswered."""

    strong_model: str | None = None
    """Strong model as author, solver and second opinion; which one it is stands in requests and cells."""

    strong_base_url: str | None = None
    """Its endpoint."""

    batch: int | None = None
    """Greedy prompts per pass of a model in this process; null takes the default."""


DIRECT = ModelAccess()
"""No endpoint of its own: the embedded model, or what the environment names."""


class FileResult(Record):
    """A finished unit of work: its file and what is in it."""

    path: str
    """File, relative to NOVELAPI_HOME."""

    sha256: str
    """Digest of that file."""

    counts: dict[str, int] = Field(default_factory=dict)
    """Units by outcome."""
