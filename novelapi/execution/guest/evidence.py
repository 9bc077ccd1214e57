"""Exceptions and frames as plain text. Runs inside the sandbox."""

import re
import sys
import sysconfig

COMPLETION, CONTEXT, TEST = "<completion>", "<context>", "<test>"
GUEST = __file__.rsplit("/", 1)[0]
STDLIB = sysconfig.get_paths()["stdlib"]
MESSAGE = 2000
OWNERS = []  # classes that own a target, set when the targets are known
_FROM = re.compile(r"cannot import name '([^']+)' from (?:partially initialized module )?'([^']+)'")


def qualified(cls):
    return "%s.%s" % (getattr(cls, "__module__", "?"), getattr(cls, "__qualname__", "?"))


def text_of(value, limit):
    """`str` or `repr` of hostile objects: whatever it raises becomes text."""
    try:
        text = str(value)
    except BaseException as error:
        text = "<unprintable: %s>" % type(error).__name__
    if type(text) is not str:
        text = "<unprintable>"
    return text[:limit]


def where(filename):
    if filename == COMPLETION:
        return "completion"
    if filename == CONTEXT:
        return "context"
    if filename == TEST or filename.startswith(GUEST):
        return "harness"
    if "site-packages" in filename or "dist-packages" in filename:
        return "library"
    if filename.startswith(STDLIB) or filename.startswith("<frozen"):
        return "stdlib"
    return "other"


def positions(code, lasti):
    """Return [line, end line, column, end column] of an instruction, or None before Python 3.11."""
    if lasti < 0 or not hasattr(code, "co_positions"):
        return None
    for number, found in enumerate(code.co_positions()):
        if number == lasti // 2:
            return None if None in found else list(found)
    return None


def frames_of(traceback, codes):
    """Return the frames outermost first, the harness's own left out, and the position in the completion."""
    found, position = [], None
    while traceback is not None:
        frame = traceback.tb_frame
        place = where(frame.f_code.co_filename)
        if place == "completion":
            position = positions(frame.f_code, traceback.tb_lasti) or [traceback.tb_lineno, traceback.tb_lineno, 0, 0]
        if place != "harness":
            found.append({
                "where": place,
                "module": text_of(frame.f_globals.get("__name__", ""), 200),
                "function": getattr(frame.f_code, "co_qualname", frame.f_code.co_name)[:200],
                "line": traceback.tb_lineno or 0,
                "target": frame.f_code in codes,
            })  # fmt: skip
        traceback = traceback.tb_next
    if len(found) > 40:
        found = found[:20] + found[-20:]
    return found, position


def error_of(error, codes=()):
    """Describe an exception."""
    cls = type(error)
    frames, position = frames_of(error.__traceback__, codes)
    found = {
        "type": qualified(cls),
        "bases": [qualified(base) for base in cls.__mro__[1:] if base is not object],
        "message": text_of(error, MESSAGE),
        "frames": frames,
        "position": position,
    }
    if isinstance(error, SyntaxError) and getattr(error, "filename", None) == COMPLETION and error.lineno:
        found["position"] = [
            error.lineno,
            getattr(error, "end_lineno", None) or error.lineno,
            (error.offset or 1) - 1,
            0,
        ]
    found.update(_failing_name(error))
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None:
        found["context"] = qualified(type(cause))
    return found


def _failing_name(error):
    if isinstance(error, ImportError):
        match = _FROM.search(text_of(error, MESSAGE))
        if match:
            return {"name": match.group(1), "owner": match.group(2), "owner_kind": "module"}
        return {"name": error.name if type(error.name) is str else None}
    if isinstance(error, NameError):
        return {"name": _plain(getattr(error, "name", None))}
    if isinstance(error, AttributeError):
        name, owner = _plain(getattr(error, "name", None)), getattr(error, "obj", None)
        found = {"name": name}
        if owner is not None:
            found.update(_owner(owner))
        if name is None:
            match = re.search(r"has no attribute '([^']+)'", text_of(error, MESSAGE))
            found["name"] = match.group(1) if match else None
            found.update(_looked_up(error.__traceback__))
        return found
    return {}


def _looked_up(traceback):
    """Return what a `__getattr__` that raised was asked for, and by whom; its own exception need not say."""
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None or traceback.tb_frame.f_code.co_name != "__getattr__":
        return {}
    frame = traceback.tb_frame
    code, values = frame.f_code, frame.f_locals
    given = [values.get(name) for name in code.co_varnames[: code.co_argcount]]
    if len(given) not in (1, 2) or type(given[-1]) is not str:
        return {}
    owner = sys.modules.get(_plain(frame.f_globals.get("__name__"))) if len(given) == 1 else given[0]
    return dict(_owner(owner), name=given[-1]) if owner is not None else {"name": given[-1]}


def _plain(value):
    return value if type(value) is str else None


def _owner(owner):
    if type(owner) is type(sys):
        return {"owner": _plain(getattr(owner, "__name__", None)), "owner_kind": "module"}
    cls = owner if isinstance(owner, type) else type(owner)
    ancestor = any(cls in holder.__mro__ for holder in OWNERS)
    return {"owner": qualified(cls), "owner_kind": "class" if cls is owner else "instance", "ancestor": ancestor}
