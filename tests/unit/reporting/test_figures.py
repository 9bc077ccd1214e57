"""What the files of figures say: axes with titles, names that do not lie on each other, texts that can be read."""

import re

import pytest

from novelapi.records.verdict import LABELS
from novelapi.reporting.palette import light, text_on
from novelapi.reporting.report import write_report
from tests.synthetic_evidence import add_tokens
from tests.synthetic_runs import write_experiment


@pytest.fixture(scope="module")
def figures(tmp_path_factory):
    home = tmp_path_factory.mktemp("figures")
    cells = write_experiment(home, apis=8, tasks=12, conditions=("baseline", "s_name", "full"))
    for place, cell in enumerate(cells):
        add_tokens(cell, 1000 + place, 5)  # points that lie together
    write_report([cells[0].parent], home / "report")
    return home / "report" / "figures"


def texts(file):
    return [re.sub(r"<[^>]+>", "", text).strip() for text in re.findall(r"<text.*?</text>", file.read_text("utf-8"))]


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("pass_at_1", "pass@1 of scored tasks, 95 % interval over APIs"),
        ("labels", "share of the tasks that each run was asked"),
        ("differences", "difference of pass@1 in percentage points, 95 % interval over APIs"),
        ("costs", "tokens of prompt and answers per task"),
        ("costs", "pass@1 (%)"),
    ],
)
def test_axes_say_what_they_show(figures, name, title):
    assert title in texts(figures / f"{name}.svg")


def test_points_are_numbered_and_named_below(figures):
    found = texts(figures / "costs.svg")
    for number, name in enumerate(("oracle baseline", "oracle s_name", "oracle full"), 1):
        assert str(number) in found
        assert name not in found
        assert any(re.fullmatch(rf"{number}\s+{name}", text) for text in found)


@pytest.mark.parametrize("role", ["pass", *LABELS])
def test_codes_can_be_read_on_their_colours(role):
    def luminance(colour):
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    dark, bright = sorted((luminance(light(role)), luminance(text_on(role))))
    assert (bright + 0.05) / (dark + 0.05) >= 4.5  # WCAG 2.2, 1.4.3
