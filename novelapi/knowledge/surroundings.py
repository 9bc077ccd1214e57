"""Surroundings: what a program expects around it, a server or a file, made by the program itself."""

from __future__ import annotations

import ast
import re

from novelapi.knowledge.trials import Trial

_SIGNS = re.compile(
    r"unreachable|Name or service not known|Temporary failure in name resolution|Connection refused|No route to host|"
    r"getaddrinfo|All connection attempts failed",
    re.IGNORECASE,
)
_URL = re.compile(r"(?P<quote>[\"'])https?://[\w.-]+(?::\d+)?(?P<path>[^\"'\s{}]*)(?P=quote)")

SERVER = """import http.server
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b"" if self.command == "HEAD" else f"{self.command} {self.path}".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_DELETE = do_HEAD = do_OPTIONS = do_PATCH = do_POST = do_PUT = do_GET

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
base_url = f"http://127.0.0.1:{server.server_port}"
"""
"""Answers every request with its method and path."""


def needs_network(trial: Trial) -> bool:
    """Say whether a program ended because no network answered."""
    return not trial.ok and bool(_SIGNS.search(trial.error_message))


def served(code: str) -> str | None:
    """Return a program whose addresses lead to a server of its own; null when it holds no address."""
    changed, count = _URL.subn(lambda match: f'base_url + "{match.group("path") or "/"}"', code)
    return f"{SERVER}\n{changed}" if count else None


_MISSING = re.compile(r"No such file or directory: '(?:/scratch/run\d+/)?(?P<path>[\w.-][\w./-]*)'")


def with_file(code: str, message: str) -> str | None:
    """Return a program that first writes the file for which it asked; null when its message names no relative path."""
    match = _MISSING.search(message)
    if match is None:
        return None
    path = match.group("path")
    folder, _, _ = path.rpartition("/")
    texts = [part.value for part in _asserted(code) if isinstance(part.value, str) and part.value.strip()]
    content = "\n".join(texts[:3]) or "Hello, World!"
    lines = ["from pathlib import Path", ""]
    if folder:
        lines.append(f"Path({folder!r}).mkdir(parents=True, exist_ok=True)")
    lines.append(f"Path({path!r}).write_text({content + chr(10)!r})")
    first = [line for line in code.split("\n") if line.startswith("from __future__")]
    rest = [line for line in code.split("\n") if not line.startswith("from __future__")]
    return "\n".join([*first, *lines, *rest])


def _asserted(code: str) -> list[ast.Constant]:
    statements = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Assert)]
    return [part for node in statements for part in ast.walk(node) if isinstance(part, ast.Constant)]


def without_extras(code: str, trial: Trial) -> str | None:
    """Return a program without the lines that asked for something that is not installed; null when it needs them.

    A statement that only calls something (`x.plot()`) can go, and with it all others that call the same.
    """
    if trial.error_type not in ("ModuleNotFoundError", "ImportError") or trial.error_line is None:
        return None
    tree = ast.parse(code)
    failed = [item for item in tree.body if item.lineno <= trial.error_line <= (item.end_lineno or item.lineno)]
    names = {_called(item) for item in failed} - {None}
    gone = [item for item in tree.body if _called(item) in names]
    if not names or len(gone) == len(tree.body):
        return None
    lines = code.split("\n")
    for statement in gone:
        for number in range(statement.lineno - 1, statement.end_lineno or statement.lineno):
            lines[number] = ""
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n") + "\n"


def _called(statement: ast.stmt) -> str | None:
    """Return the last part of the name that a statement calls, where it does nothing else."""
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return None
    function = statement.value.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", None)
