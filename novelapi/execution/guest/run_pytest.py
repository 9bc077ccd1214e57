"""Runs a test file of an outside suite with pytest against one answer, in a child process.

Request: {"module": name, "code": text of the answer, "test": text of the test file}. The answer is imported by its name
from the folder above the test file. Answer: {"passed": [names], "failed": {name: message}, "skipped": {name: reason},
"errors": [messages]}. Runs on Python 3.7 too.
"""

import json
import os
import signal
import sys
import tempfile


class Outcomes:
    """What pytest reports, test by test."""

    def __init__(self):
        self.passed, self.failed, self.skipped, self.errors = [], {}, {}, []

    def pytest_runtest_logreport(self, report):
        name = report.nodeid.rpartition("/")[2].partition("::")[2]
        if report.failed:
            self.failed[name] = cause(report)
        elif report.skipped:
            self.skipped[name] = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)[
                :300
            ]
        elif report.when == "call":
            self.passed.append(name)

    def pytest_collectreport(self, report):
        if report.failed:
            self.errors.append("collection: " + cause(report))


def cause(report):
    """The line that says why: the last one that pytest marks with E, or its last line."""
    lines = [line for line in str(report.longrepr).splitlines() if line.strip()]
    marked = [line[1:].strip() for line in lines if line.startswith("E ")]
    named = [line for line in marked if "Error" in line.split(":")[0] or "Exception" in line.split(":")[0]]
    found = (named or marked or lines or ["no message"])[-1 if not named else 0]
    return found[:300]


def run(folder, request, channel):
    """Run the tests in this process and send what they gave; never returns."""
    sys.path.insert(0, folder)  # as `python -m pytest` has it
    import pytest

    outcomes = Outcomes()
    test = os.path.join(folder, "tests", "test_%s.py" % request["module"])
    arguments = [
        "-p",
        "no:cacheprovider",
        "-p",
        "no:randomly",
        "-q",
        "--tb=short",
        "--rootdir",
        folder,
        "-c",
        os.path.join(folder, "pytest.ini"),
        test,
    ]
    code = pytest.main(arguments, plugins=[outcomes])
    if int(code) > 2 and not outcomes.errors:
        outcomes.errors.append("pytest ended with status %d" % int(code))
    found = {
        "passed": outcomes.passed,
        "failed": outcomes.failed,
        "skipped": outcomes.skipped,
        "errors": outcomes.errors,
    }
    os.write(channel, json.dumps(found).encode()[:1000000])
    os._exit(0)


def write(path, text):
    """Write a text; what is no text becomes a file that Python refuses."""
    with open(path, "w", encoding="utf-8", errors="surrogatepass") as file:
        file.write(text)


def main():
    request = json.load(sys.stdin)
    answer = int(sys.argv[1])
    folder = tempfile.mkdtemp()
    os.mkdir(os.path.join(folder, "tests"))
    write(os.path.join(folder, "pytest.ini"), "[pytest]\n")
    write(os.path.join(folder, request["module"] + ".py"), request["code"])
    write(os.path.join(folder, "tests", "test_%s.py" % request["module"]), request["test"])
    os.chdir(folder)
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(answer)
        os.close(read_end)
        os.dup2(2, 1)
        run(folder, request, write_end)
    os.close(write_end)
    data = b""
    while True:
        chunk = os.read(read_end, 65536)
        if not chunk:
            break
        data += chunk
    _, status = os.waitpid(pid, 0)
    try:
        found = json.loads(data.decode())
    except ValueError:
        if os.WIFSIGNALED(status):
            how = "by signal %s" % signal.Signals(os.WTERMSIG(status)).name
        else:
            how = "with status %d" % os.WEXITSTATUS(status)
        found = {"passed": [], "failed": {}, "skipped": [], "errors": ["the tests ended early, %s" % how]}
    with os.fdopen(answer, "w") as file:
        json.dump(found, file)


if __name__ == "__main__":
    main()
