"""What a person sees of a grid in the Prefect UI: the run, its artifacts, the deployments. Screenshots are kept."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("selenium", reason="selenium is not installed (dependency group dev)")
pytest.importorskip("prefect", reason="Prefect is not installed (extra flows)")

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(BROWSER is None or DRIVER is None, reason="Chromium and chromedriver are not installed"),
]

CHECKOUT = Path(__file__).parents[2]
MINIATURE = CHECKOUT / "tests" / "flows" / "miniature.py"
DEPLOYMENTS = ("library", "group", "instance", "cell", "paper-grid", "adaptation", "report", "rediscover")
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--window-size=1400,1000", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A run folder with a local server of its own, a finished grid and the deployments."""
    folder = tmp_path_factory.mktemp("ui")
    names = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    environment = names | {"NOVELAPI_HOME": str(folder)}

    def start(*command):
        done = subprocess.run(
            [sys.executable, *command], cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    grid = json.loads(start(str(MINIATURE), "demo", "--json"))
    start("-m", "novelapi", "deploy", "--json")
    yield {"run": grid["url"], "root": grid["url"].split("/runs")[0], "shots": folder}
    start("-m", "flows.server", "stop")


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    driver = webdriver.Chrome(service=Service(DRIVER), options=options)
    driver.set_page_load_timeout(180)
    yield driver
    driver.quit()


def look(driver, address, words, shot):
    """Open a page, wait until it shows the words, keep a picture."""
    driver.get(address)
    seen = ""

    def complete(driver):
        nonlocal seen
        seen = driver.find_element(By.TAG_NAME, "body").text
        return all(word in seen for word in words)

    try:
        WebDriverWait(driver, 120).until(complete)
    finally:
        driver.save_screenshot(str(shot))
    assert "Can't connect" not in seen


def test_the_run_page_shows_the_grid_and_its_task_runs(driver, home):
    look(driver, home["run"], ["numpy / copy", "Completed", "paper-grid"], home["shots"] / "run.png")


def test_the_artifacts_page_shows_funnel_progress_and_report(driver, home):
    keys = ["funnel-numpy-copy", "grid-numpy-copy", "report-numpy-copy", "pass-1-numpy-copy"]
    look(driver, f"{home['root']}/artifacts", keys, home["shots"] / "artifacts.png")


def test_the_deployments_page_shows_every_flow(driver, home):
    look(driver, f"{home['root']}/deployments", DEPLOYMENTS, home["shots"] / "deployments.png")
