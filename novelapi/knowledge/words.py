"""Words: names of APIs that are also English words, and what prose says in their place."""

from __future__ import annotations

SYNONYMS = {
    "all": "every",
    "any": "some",
    "average": "weighted mean",
    "clip": "limit",
    "copy": "duplicate",
    "cross": "vector",
    "diagonal": "main line",
    "dot": "scalar",
    "empty": "blank",
    "fill": "set",
    "full": "complete",
    "get": "obtain",
    "join": "connect",
    "max": "largest",
    "mean": "average",
    "median": "middle value",
    "min": "smallest",
    "mode": "way",
    "product": "multiplication result",
    "range": "span",
    "request": "call",
    "round": "bring",
    "select": "choose",
    "slice": "cut",
    "sort": "order",
    "split": "divide",
    "stack": "pile",
    "std": "spread",
    "strip": "trim",
    "sum": "total",
    "take": "pick",
    "trace": "diagonal total",
    "transform": "conversion",
    "unique": "distinct",
    "var": "variability",
    "where": "in which",
}
"""What prose says in place of a name that is also a word."""

_TEXT = """
add append apply array assign bar bind box build call cast center change check choice clear clone close code column
columns combine common compare compile compress concat connect contains context convert count cover create cut data
date day decode default define delete diff difference discard display divide drop encode end equals error evaluate
execute expand explode extend extract factor field file filter find first fit flat flatten flip float floor format
freeze function group hash head hist hour identity index info insert interpolate inverse invert item items key keys
kind label last left length level line linear list load log lookup make map mark mask match matrix melt merge method
minute model month more move multiply name names nearest nonzero norm normal normalize object one ones open order
outer pad parse partition path period pivot place plot pop power prepend process prod properties property push put
query rank rate read real rebuild reduce register release remove rename repeat replace report reset reshape resolve
response rest resume reverse right roll root rotate row rows run sample save scale schema score search second secret
send sequence series set shape shift show shuffle sign signal size solve source spread square squeeze start state
status step stop store stream string style subset subtract suffix swap tail template test text tile time times to
token top total transpose trim truncate type union unit update use validate value values variance vector view walk
weights window with wrap write year zero zeros
"""

WORDS = frozenset(SYNONYMS) | frozenset(_TEXT.split())
"""Names that prose uses for themselves."""


def is_ordinary(leaf: str) -> bool:
    """Say whether a name is an English word that prose uses for itself."""
    return leaf in WORDS
