"""The page as a file: same numbers as the tables, nothing from outside, nothing foreign that runs."""

import base64
import csv
import gzip
import hashlib
import io
import json
import re
from html.parser import HTMLParser

import pytest

from novelapi import jsonl
from novelapi.layout import Layout
from novelapi.reporting.report import write_report
from novelapi.reporting.table import Kind, shown
from tests.synthetic_runs import make_tasks, write_evaluation, write_experiment

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'\u202egnp.exe\u200b\x00&amp;"


class Tables(HTMLParser):
    """Collects the cells of every table with a name."""

    def __init__(self):
        super().__init__()
        self.tables = {}
        self._rows = None
        self._cell = None

    def handle_starttag(self, tag, attrs):
        name = dict(attrs).get("data-table")
        if tag == "table":
            self._rows = self.tables.setdefault(name, []) if name else None
        if self._rows is not None and tag == "tr":
            self._rows.append([])
        if self._rows is not None and tag in ("td", "th"):
            self._cell = ""

    def handle_endtag(self, tag):
        if tag in ("td", "th") and self._cell is not None:
            self._rows[-1].append(self._cell)
            self._cell = None

    def handle_data(self, data):
        if self._cell is not None:
            self._cell += data


def tables_of(page):
    parser = Tables()
    parser.feed(page)
    return parser.tables


def kind_of(table: str, key: str) -> Kind:
    differences = ("low", "high") if table == "differences" else ()
    kinds: dict[str, Kind] = dict.fromkeys(
        ("pass_at_1", "pass_at_1_of_asked", "value", "share", "low", "high", "detectable"), "share"
    )
    kinds |= dict.fromkeys(("difference", *differences), "difference")
    kinds |= dict.fromkeys(("p", "p_holm"), "p")
    return kinds.get(key, "count")


@pytest.fixture(scope="module")
def page(report):
    return report.page.read_text("utf-8")


@pytest.mark.parametrize("name", ["pass_at_1", "labels", "differences", "flows", "strata", "funnel"])
def test_numbers_in_html_csv_and_markdown_are_equal(report, page, name):
    folder = report.page.parent / "tables"
    rows = list(csv.DictReader(io.StringIO((folder / f"{name}.csv").read_text("utf-8"))))
    markdown = (folder / f"{name}.md").read_text("utf-8").replace("\\", "")
    table = [line.strip("|").split("|") for line in markdown.splitlines() if line.startswith("|")]
    in_markdown = [[cell.strip() for cell in line] for line in table[2:]]
    in_html = tables_of(page)[name][1:]
    expected = [
        [
            shown(kind_of(name, key), None if not value else float(value) if "." in value else int(value))
            if re.fullmatch(r"-?[\d.]+", value) or (not value and kind_of(name, key) != "count")
            else value
            for key, value in row.items()
        ]
        for row in rows
    ]
    assert len(rows) > 3
    assert in_html == expected
    assert in_markdown == expected


def test_the_figures_show_the_numbers_of_the_table(report, page):
    rows = csv.DictReader(io.StringIO((report.page.parent / "tables" / "pass_at_1.csv").read_text()))
    for row in rows:
        value = shown("share", float(row["pass_at_1"]))
        width = f"--v:{100 * float(row['pass_at_1']):.2f}%"
        assert f"<b>{value}</b>" in page
        assert width in page


def test_every_figure_is_there_as_svg_and_png_with_a_table_of_its_name(report):
    folder = report.page.parent
    names = {path.stem for path in report.figures}
    assert names == {"pass_at_1", "labels", "differences", "flows", "funnel", "probes"}
    for name in names:
        assert (folder / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "prefers-color-scheme: dark" in (folder / "figures" / f"{name}.svg").read_text()
        assert (folder / "tables" / f"{name}.csv").exists()
        assert (folder / "tables" / f"{name}.md").exists()


def test_the_page_loads_nothing(page):
    static = re.sub(r"<script[^>]*>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.findall(r"""(?:src|href)=["'](?!#|data:)""", static)
    assert "@import" not in static
    assert "url(" not in static


def test_only_its_own_script_may_run(page):
    allowed = re.search(r"script-src '(sha256-[^']+)'", page)[1].replace("&#43;", "+")
    scripts = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    assert len(scripts) == 1
    assert allowed == "sha256-" + base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()


def test_two_reports_of_the_same_runs_are_identical(home, report, tmp_path):
    again = write_report([home / "results" / "numpy-copy"], tmp_path)
    assert again.sha256 == report.sha256
    for path in report.page.parent.rglob("*.*"):
        assert (tmp_path / path.relative_to(report.page.parent)).read_bytes() == path.read_bytes(), path


def packages(page):
    found = re.findall(r'<script type="text/plain" data-package="\d+">(.*?)</script>', page)
    return [json.loads(gzip.decompress(base64.b64decode(data))) for data in found]


def test_the_page_holds_every_sample_with_its_texts(home, page):
    details = packages(page)
    rows = [sample["row"] for part in details for sample in part["samples"]]
    on_disk = [
        row
        for cell in sorted((home / "results" / "numpy-copy").iterdir())
        for row in jsonl.read(cell / "results.jsonl")
    ]
    assert sorted(map(json.dumps, rows)) == sorted(map(json.dumps, on_disk))
    answers = {
        row["task_id"]: row["samples"] for row in jsonl.read(home / "results/numpy-copy/oracle-full/predictions.jsonl")
    }
    prompts = {row["prompt"]: row["text"] for row in jsonl.read(home / "results/numpy-copy/oracle-full/prompts.jsonl")}
    seen = 0
    for part in details:
        for task_id, by_run in part["answers"].items():
            assert [part["texts"][position] for position in by_run["11"]] == answers[task_id]
        for sha, paragraphs in part["prompts"].items():
            if sha in prompts:
                assert "\n\n".join(part["paragraphs"][position] for position in paragraphs) == prompts[sha]
                seen += 1
    assert seen == len(prompts)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A page over an evaluation in which everything foreign is hostile."""
    folder = write_evaluation(tmp_path_factory.mktemp("hostile") / "<b>$a$\u202e中", apis=3, tasks=4)
    tasks = jsonl.read(folder / "tasks.jsonl")
    for task in tasks:
        task["api"] = task["api"] + HOSTILE
        task["description"] = HOSTILE
        task["calls"] = []
    jsonl.write(folder / "tasks.jsonl", tasks)
    rows = jsonl.read(folder / "results.jsonl")
    for row in rows:
        row.update(outcome="unscored", label=None, reason=HOSTILE)
    jsonl.write(folder / "results.jsonl", rows)
    predictions = jsonl.read(folder / "predictions.jsonl")
    jsonl.write(folder / "predictions.jsonl", ({**row, "samples": [HOSTILE]} for row in predictions))
    return write_report([folder], folder.parent / "report", title=HOSTILE, figures=True)


def test_hostile_texts_stay_texts(hostile):
    page = hostile.page.read_text("utf-8")
    assert "<script>alert" not in page
    assert "<img" not in page
    assert page.count("<script") == page.count("</script>")
    assert packages(page)[0]["texts"] == [HOSTILE]


def test_invisible_characters_are_shown(hostile):
    page = hostile.page.read_text("utf-8")
    assert '<span class="hidden-character">U+202E</span>' in page
    assert "\x00" not in page
    assert not set("\u202e\u200b") & set(page)
    for path in hostile.tables:
        assert not set("\u202e\u200b\x00") & set(path.read_text("utf-8"))


@pytest.mark.parametrize(
    "options",
    [
        {"apis": 1, "tasks": 1},  # a single API, a single task
        {"apis": 3, "tasks": 5, "conditions": ("full",)},  # nothing to compare with
        {"apis": 3, "tasks": 5, "unscored": 1.0},  # no verdict at all
        {"apis": 4, "tasks": 6, "samples": 4, "deliveries": ("oracle", "rag")},  # pass@k, several deliveries
    ],
)
def test_small_and_odd_grids_give_a_page(tmp_path, options):
    cells = write_experiment(tmp_path, **options)
    summary = write_report([cells[0].parent], tmp_path / "report", figures=True)
    page = summary.page.read_text("utf-8")
    assert "nan" not in re.sub(r"<script[^>]*>.*?</script>", "", page, flags=re.DOTALL).lower().split()
    assert ("pass_at_k" in tables_of(page)) == ("samples" in options)


def test_runs_of_no_rows_give_a_page_that_says_so(tmp_path):
    (cell,) = write_experiment(tmp_path, apis=3, tasks=4, conditions=("full",))
    (cell / "results.jsonl").write_text("")
    summary = write_report([cell], tmp_path / "report", figures=False)
    assert "The runs hold no rows at all" in summary.page.read_text()
    assert summary.partial


def test_several_experiments_share_a_page(tmp_path):
    cells = write_experiment(tmp_path, apis=5, tasks=8) + write_experiment(
        tmp_path, model="other", apis=5, tasks=8, effect=1.0
    )
    summary = write_report([cells[0].parent, cells[-1].parent], tmp_path / "report", figures=False)
    assert summary.counts["runs"] == 24
    assert "other, oracle" in summary.page.read_text()


def test_details_that_do_not_fit_are_left_out_and_said(tmp_path):
    cells = write_experiment(tmp_path, apis=5, tasks=8, conditions=("full",))
    summary = write_report(cells, tmp_path / "report", figures=False, details_mb=0.004)
    assert any("are not in this page" in notice for notice in summary.notices)
    assert 0 < len(packages(summary.page.read_text())) < 5


def test_a_page_can_be_named(tmp_path):
    cells = write_experiment(tmp_path, apis=3, tasks=4, conditions=("full",))
    summary = write_report(cells, tmp_path / "deep" / "mine.html", figures=False)
    assert summary.page == tmp_path / "deep" / "mine.html"
    assert (tmp_path / "deep" / "tables" / "pass_at_1.csv").exists()
    assert {path.name for path in (tmp_path / "deep").iterdir()} == {"mine.html", "tables"}


def test_the_instance_of_the_layout_is_found(tmp_path):
    tasks = make_tasks(3, 4, 0)
    assert len({task.task_id for task in tasks}) == 4
    assert Layout.home_of(tmp_path / "results" / "a" / "b") == tmp_path
    assert Layout.home_of(tmp_path / "elsewhere") is None
