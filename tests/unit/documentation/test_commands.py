"""What README and docs tell people to type exists: verbs, options, targets, modules, deployments, files."""

import importlib.util
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer
import yaml

from novelapi import cli

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_FENCE = re.compile(r"^```(?:sh|bash|console)?\n(.*?)^```", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`((?:novelapi|make|python -m|prefect deployment run) [^`]+)`")
_HEREDOC = re.compile(r"<<'(\w+)'\n.*?^\1$", re.MULTILINE | re.DOTALL)
KNOWN = ("novelapi", "make", "python", "prefect")


def commands(page):
    """Yield the command lines of a page: of its fences, and those in the running text."""
    text = page.read_text(encoding="utf-8")
    for block in _FENCE.findall(text):
        for line in _HEREDOC.sub("", block).replace("\\\n", " ").splitlines():
            words = line.split("#")[0].strip()
            if words and Path(words.split()[0]).name in KNOWN:
                yield words
    for words in _INLINE.findall(_FENCE.sub("", text)):
        yield words.replace("\\|", "|")


def words_of(line):
    """Return the words of a command; alternatives (a|b) stand for the first, dots for more of the same."""
    words = [word.split("|")[0] for word in shlex.split(line.split(" > ")[0].split(" && ")[0])]
    return [word for word in words if word not in ("...", "…")]


LINES = [(page.relative_to(ROOT), line) for page in PAGES for line in commands(page)]


@pytest.fixture(scope="module")
def root():
    cli.load_checkout()
    return typer.main.get_command(cli.app)


@pytest.mark.parametrize(("page", "line"), LINES, ids=[f"{page}: {line[:60]}" for page, line in LINES])
def test_it_exists(page, line, root):
    words = words_of(line)
    program = Path(words[0]).name
    if program == "novelapi":
        check_verb(root, words[1:])
    elif program == "make":
        targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
        named = [word for word in words[1:] if "=" not in word and not word.startswith("-")]
        assert set(named) <= targets, line
    elif program == "python" and words[1] == "-m":
        assert importlib.util.find_spec(words[2]) is not None, line
    elif program == "python":
        assert (ROOT / words[1]).exists(), line
    elif words[1:3] == ["deployment", "run"]:
        flow, _, deployment = words[3].partition("/")
        names = [entry["name"] for entry in yaml.safe_load((ROOT / "prefect.yaml").read_text())["deployments"]]
        assert flow == deployment
        assert deployment in names, line


def check_verb(command, words):
    """Check that a chain of verbs exists and knows every option that is named."""
    while words and words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]
    if hasattr(command, "commands"):
        assert not words or words[0] in ("--help", "--version"), f"no verb {words}"
        return
    known = {text for parameter in command.params for text in (*parameter.opts, *parameter.secondary_opts)}
    for word in words:
        if word.startswith("-") and not re.fullmatch(r"-\d.*", word):
            assert word.split("=")[0] in known | {"--help"}, f"{command.name} has no option {word}"


def test_there_is_something_to_check():
    assert len(LINES) > 60
    assert {Path(line.split()[0]).name for _, line in LINES} >= set(KNOWN)


@pytest.mark.parametrize("line", ["novelapi runn --library numpy", "novelapi run --libary numpy"])
def test_a_misspelt_one_is_found(line, root):
    with pytest.raises(AssertionError):
        check_verb(root, words_of(line)[1:])


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.sandbox
@pytest.mark.timeout(3600)
def test_the_tutorial_runs(tmp_path):
    """Every block of the tutorial in one shell, as a reader would type it, but for the installation."""
    page = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    blocks = [block for block in _FENCE.findall(page) if "make install-local" not in block]
    assert len(blocks) == 7
    environment = {
        **os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "NOVELAPI_HOME": str(tmp_path / "data"),
    }  # fmt: skip
    done = subprocess.run(
        ["bash", "-e"], input="\n".join(blocks), cwd=tmp_path, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert "WrongAPISelection" in done.stdout
    subprocess.run([sys.executable, "-m", "flows.server", "stop"], env=environment, cwd=ROOT, check=False)
