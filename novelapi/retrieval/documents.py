"""A maintainer's own documentation as a corpus: the delivery `docs`, beside the bundles."""

from __future__ import annotations

from pathlib import Path

from novelapi.errors import DataError
from novelapi.retrieval.passages import BLOCKS, Chunking, Passage, make_passages

SUFFIXES = (".md", ".rst", ".txt", ".mdx")
_CAP = 2_000_000
"""Characters of one file; longer ones are data, not documentation."""


def read_documents(folder: Path, chunking: Chunking = BLOCKS) -> list[Passage]:
    """Cut every text file of a folder into passages, sorted by path; the file stands in the place of the API.

    Files and folders that start with a point are left out.

    Raises:
        DataError: there is no such folder, a file is not UTF-8, or there is no documentation in it.
    """
    if not folder.is_dir():
        raise DataError(f"there is no folder {folder}; give the folder of the documentation")
    passages: list[Passage] = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.suffix not in SUFFIXES or not path.is_file() or any(part.startswith(".") for part in Path(name).parts):
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise DataError(f"{path} is not UTF-8; convert it, or leave it out") from error
        if len(text) <= _CAP:
            passages += make_passages(name, folder.name, text, chunking)
    if not passages:
        raise DataError(f"{folder} holds no documentation ({', '.join(SUFFIXES)}); give another folder")
    return passages
