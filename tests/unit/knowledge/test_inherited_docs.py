"""A method without a docstring of its own has the one of the class above, also behind a decorator."""

import subprocess
import sys
import textwrap
from pathlib import Path

import novelapi.execution

GUEST = Path(novelapi.execution.__file__).parent / "guest"
PROGRAM = textwrap.dedent("""
    import functools, sys
    sys.path.append(sys.argv[1])
    from describe_apis import documentation
    import inspect

    def checked(function):
        @functools.wraps(function)
        def wrapper(*args):
            return function(*args)
        return wrapper

    class Above:
        def mass(self):
            "Probability mass."
        def own(self):
            "Of the class above."

    class Below(Above):
        @checked
        def mass(self):
            return 1
        @checked
        def own(self):
            "Its own."
        def none(self):
            return 2

    class Bare(Above):
        pass

    for obj in (Below.mass, Below.own, Below.none, Above.mass, Bare):
        print(documentation(obj, inspect.unwrap(obj)))
""")


def test_what_is_inherited(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    done = subprocess.run([sys.executable, str(script), str(GUEST)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["Probability mass.", "Its own.", "None", "Probability mass.", "None"]
