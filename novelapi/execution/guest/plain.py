"""What encoder and decoder share: bounds, the refusal, names of classes. Runs inside the sandbox."""

MAX_NODES = 500000
MAX_BYTES = 16 << 20
MAX_DEPTH = 60
MAX_ITERATOR = 10000


class Opaque(Exception):
    """The value, or a part of it, has no plain form."""


def qualified(cls):
    return "%s.%s" % (getattr(cls, "__module__", "?"), getattr(cls, "__qualname__", getattr(cls, "__name__", "?")))
