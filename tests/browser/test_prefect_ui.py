"""What a person sees of a grid in the Prefect UI: the run, its artifacts, the deployments.

Server, worker and run are real, on a small library. The pictures are kept in pytest's folder (`--basetemp`).
"""

from __future__ import annotations

import re
import shutil
import time

import pytest

pytest.importorskip("selenium", reason="selenium is not installed (dependency group dev)")
pytest.importorskip("prefect", reason="Prefect is not installed (extra flows)")

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from tests.fakes.installation import small_installation
from tests.fakes.package_index import NAME

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.sandbox,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(BROWSER is None or DRIVER is None, reason="Chromium and chromedriver are not installed"),
]

EXPERIMENT = f"{NAME}-copy"
DEPLOYMENTS = ("library", "group", "instance", "cell", "paper-grid", "adaptation", "report", "rediscover")
NO_LINE = "did not generate any task or subflow runs"
SETTLE_S = 3
"""The timeline is drawn in steps; nothing in the page's text says when it is done."""

FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--window-size=1400,1000", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """The UI of a local server on which a worker has run the deployment of a small grid, and still waits for more."""
    folder = tmp_path_factory.mktemp("ui")
    with small_installation(folder) as installation:
        api = installation.deploy()["server"][0]
        with installation.worker("cpu"):
            run = installation.run("paper-grid/paper-grid", f"group={NAME}", "cutoff=2024-03-01")
            root = api.removesuffix("/api")
            yield {"run": f"{root}/runs/flow-run/{run}", "root": root, "shots": folder}


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
    """Open a page, wait until it shows the words, keep a picture; return what it shows."""
    driver.get(address)
    seen = ""

    def complete(driver):
        nonlocal seen
        seen = driver.find_element(By.TAG_NAME, "body").text
        return all(word in seen for word in words)

    try:
        WebDriverWait(driver, 120).until(complete)
        time.sleep(SETTLE_S)
    finally:
        driver.save_screenshot(str(shot))
    assert "Can't connect" not in seen
    return seen


def test_the_run_page_shows_the_grid_and_its_task_runs(driver, home):
    words = [f"{NAME} / copy", "Completed", "paper-grid", "Work Pool", "cpu", "submitted to infrastructure"]
    seen = look(driver, home["run"], words, home["shots"] / "run.png")
    assert int(re.search(r"(\d+) Task runs", seen)[1]) >= 3
    assert NO_LINE not in seen


def test_the_artifacts_page_shows_funnel_progress_and_report(driver, home):
    keys = [f"{kind}-{EXPERIMENT}" for kind in ("funnel", "grid", "report", "pass-1")]
    look(driver, f"{home['root']}/artifacts", keys, home["shots"] / "artifacts.png")


def test_the_deployments_page_shows_every_flow_ready_where_a_worker_waits(driver, home):
    words = [*DEPLOYMENTS, "03:30", "Ready"]
    seen = look(driver, f"{home['root']}/deployments", words, home["shots"] / "deployments.png")
    assert "Ready" in seen.splitlines(), "not only `Not Ready`"
