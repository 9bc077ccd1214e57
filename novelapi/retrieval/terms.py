"""Search terms: identifiers whole and in their parts, no stemming, no stop words."""

from __future__ import annotations

import re

_IDENTIFIER = re.compile(r"[^\W_]+(?:_+[^\W_]+)*")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def terms(text: str) -> list[str]:
    """Return the terms of code, prose or a query, lower case.

    `DataFrame.to_iceberg` gives `dataframe data frame to_iceberg to iceberg`: the rare whole finds the API, the parts
    find it for those who do not know its spelling.
    """
    found: list[str] = []
    for identifier in _IDENTIFIER.findall(text):
        found.append(identifier.lower())
        parts = [part.lower() for part in _PART.findall(identifier)] if identifier.isascii() else []
        if len(parts) > 1:
            found += parts
    return found
