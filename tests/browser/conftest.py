"""A browser without a screen, and the page of a small experiment."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from novelapi import jsonl
from novelapi.layout import Layout
from novelapi.reporting.report import write_report
from tests.synthetic_evidence import add_fits, add_graph, add_opinion, add_rankings, add_tokens
from tests.synthetic_runs import write_experiment

Chrome = webdriver.Chrome
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of 70 APIs, two deliveries, two samples a task, one cell missing, with all figures and a graph."""
    home = tmp_path_factory.mktemp("browser")
    conditions = ("baseline", "s_name", "e", "s_e", "full")
    cells = write_experiment(home, apis=70, tasks=90, deliveries=("oracle", "rag"), conditions=conditions, samples=2)
    shutil.rmtree(cells.pop(-2))
    instance = Layout(home).instance("numpy", "copy") / "instance.jsonl"
    for place, cell in enumerate(cells):
        add_tokens(cell, 100 * (place + 1), 50)
        if cell.name.startswith("rag"):
            add_rankings(cell, instance, hit=0.5)
    add_opinion(cells[-1])
    add_fits(cells[0].parent, (0.5, 1.0))
    apis = sorted({row["api"] for row in jsonl.read(instance)})
    add_graph(home, apis, [(apis[place // 2], apis[place]) for place in range(1, 40)])
    return write_report([cells[0].parent], home / "report", figures=False).page


@pytest.fixture
def open_page(page: Path, tmp_path: Path) -> Iterator[Callable[..., Chrome]]:
    """Opens the page at a width and theme; at the end no request left the file and the console is empty."""
    if BROWSER is None or DRIVER is None:
        pytest.skip("Chromium and chromedriver are not installed (apt install chromium chromium-driver)")
    opened: list[Chrome] = []

    def start(width: int = 1280, *, dark: bool = False, script: bool = True, fragment: str = "") -> Chrome:
        options = webdriver.ChromeOptions()
        options.binary_location = BROWSER
        for flag in (*FLAGS, f"--user-data-dir={tmp_path / str(len(opened))}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        driver = webdriver.Chrome(service=Service(DRIVER), options=options)
        opened.append(driver)
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not script})
        driver.get(page.as_uri() + fragment)
        return driver

    yield start
    problems: list[Any] = []
    requested: set[str] = set()
    for driver in opened:
        problems += driver.get_log("browser")
        events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
        requested |= {e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"}
        driver.quit()
    assert problems == []
    own = ("data:", "chrome:", "chrome-untrusted:")  # the last two: the browser's own first tab
    assert {url.split("#")[0] for url in requested if not url.startswith(own)} == {page.as_uri()}
