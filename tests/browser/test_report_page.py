"""The page in a real browser: filters, drill-down, comparison, both themes, a phone, and no script at all."""

import re

import pytest

pytest.importorskip("selenium", reason="selenium is not installed (dependency group dev)")

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

pytestmark = pytest.mark.browser


def find(driver, selector):
    return driver.find_element(By.CSS_SELECTOR, selector)


def visible_rows(driver):
    return [row for row in driver.find_elements(By.CSS_SELECTOR, "#api-table tbody tr[data-api]") if row.is_displayed()]


def click(driver, element):
    driver.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element)
    element.click()


def wait(driver, condition):
    return WebDriverWait(driver, 20).until(condition)


def open_sample(driver, outcome):
    """Filter for an outcome, open the first API and the first sample with it."""
    Select(find(driver, "#filter-outcome")).select_by_visible_text(outcome)
    click(driver, find(driver, "#api-table tbody tr:not([hidden]) button.api"))
    click(driver, find(driver, f".opened .chip.o-{outcome}"))
    return wait(driver, lambda d: find(d, "#viewer-body .why"))


@pytest.mark.parametrize("width", [375, 768, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_is_wider_than_the_screen(open_page, width, dark):
    driver = open_page(width, dark=dark)
    for details in driver.find_elements(By.CSS_SELECTOR, "details"):
        driver.execute_script("arguments[0].open = true", details)
    click(driver, find(driver, "#api-table tbody tr:not([hidden]) button.api"))
    assert driver.execute_script("return document.documentElement.scrollWidth") == width
    paper = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", paper)[:3])) < 200) == dark


def test_points_and_names_lie_inside_their_figures(open_page):
    """A point at the rim may reach over by its radius; names of a graph stay in the picture at any width."""
    for width in (375, 1280):
        driver = open_page(width)
        assert len(driver.find_elements(By.CSS_SELECTOR, ".scatter")) == 4
        outside = driver.execute_script("""
            const beyond = (inner, outer, slack) => {
              const a = inner.getBoundingClientRect(), b = outer.getBoundingClientRect();
              return a.left < b.left - slack || a.right > b.right + slack || a.top < b.top - slack || a.bottom > b.bottom + slack;
            };
            const points = [...document.querySelectorAll(".scatter .point")].filter((p) => beyond(p, p.parentElement, 11));
            const svg = document.querySelector("svg.graph");
            const names = [...svg.querySelectorAll("text, circle")].filter((t) => beyond(t, svg, 1));
            return [...points, ...names].map((e) => e.outerHTML);""")
        assert outside == []


def test_texts_stand_out_from_their_ground(open_page):
    # WCAG AA: 4.5 for text. Colours are computed by the browser, in both themes.
    for dark in (False, True):
        driver = open_page(dark=dark)
        ratios = driver.execute_script("""
            const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
            const channel = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
            const luminance = (colour) => {
              canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
              const [r, g, b] = canvas.getImageData(0, 0, 1, 1).data;
              return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
            };
            const ground = (node) => {
              for (; node; node = node.parentElement) {
                const colour = getComputedStyle(node).backgroundColor;
                if (!/, 0\\)$|transparent/.test(colour)) return colour;
              }
              return getComputedStyle(document.body).backgroundColor;
            };
            return ["h1", "h1 b", ".evidence", ".notices li", ".notices h2", ".lede", ".name", ".value small", ".stack i:nth-child(2)",
                    ".facts dt", "summary", ".bar nav a", ".note", "button.api", ".losses .more, .losses li"].map((selector) => {
              const node = document.querySelector(selector);
              const [a, b] = [luminance(getComputedStyle(node).color), luminance(ground(node))].sort((x, y) => y - x);
              return [selector, (a + 0.05) / (b + 0.05)];
            });
        """)
        assert [pair for pair in ratios if pair[1] < 4.5] == []


def test_search_and_filters_narrow_the_table(open_page):
    driver = open_page()
    assert find(driver, "#count").text == "70 APIs"
    assert len(visible_rows(driver)) == 60
    click(driver, find(driver, "#more"))
    assert len(visible_rows(driver)) == 70
    find(driver, "#filter-text").send_keys("linalg")
    assert 0 < len(visible_rows(driver)) < 20
    assert all("linalg" in row.text for row in visible_rows(driver))
    Select(find(driver, "#filter-outcome")).select_by_visible_text("WrongParam")
    Select(find(driver, "#filter-run")).select_by_visible_text("s_name")
    assert re.fullmatch(r"\d+ of 70 APIs, \d+ samples? with WrongParam", find(driver, "#count").text)
    find(driver, "#filter-text").send_keys("nothing like this")
    assert visible_rows(driver) == []


def test_columns_sort_both_ways(open_page):
    driver = open_page()
    header = driver.find_elements(By.CSS_SELECTOR, "#api-table thead button")[-1]
    click(driver, header)
    assert find(driver, "th[aria-sort]").get_attribute("aria-sort") == "descending"
    shares = [eval_share(row) for row in visible_rows(driver)]
    assert shares == sorted(shares, reverse=True)
    click(driver, header)
    shares = [eval_share(row) for row in visible_rows(driver)]
    assert shares == sorted(shares)


def eval_share(row):
    passed, scored = re.search(r"(\d+) of (\d+)$", row.text).groups()
    return int(passed) / max(int(scored), 1)


def test_a_sample_shows_prompt_answer_verdict_calls_and_evidence(open_page):
    driver = open_page()
    open_sample(driver, "WrongParam")
    text = find(driver, "#viewer-body").text
    for part in ("WrongParam", "refused the argument `dim`", "The code that ran", "unexpected keyword argument 'dim'",
                 "Calls of the target", "did not fit the signature", "The whole prompt", "The task and its reference"):  # fmt: skip
        assert part in text
    assert find(driver, "#viewer-body .line.error").text.endswith("dim=axis)]")
    assert driver.execute_script("return location.hash").startswith("#sample=numpy%2F")


def test_knowledge_is_set_off_from_the_rest_of_the_prompt(open_page):
    driver = open_page()
    Select(find(driver, "#filter-run")).select_by_visible_text("full")
    Select(find(driver, "#filter-outcome")).select_by_visible_text("pass")
    click(driver, find(driver, "#api-table tbody tr:not([hidden]) button.api"))
    click(driver, driver.find_elements(By.CSS_SELECTOR, ".opened .chip.o-pass")[-1])
    knowledge = wait(driver, lambda d: find(d, "#viewer-body .knowledge")).text
    assert "### Examples" in knowledge
    assert "## Task" not in knowledge
    assert "Does the result flow from the API?" in find(driver, "#viewer-body").text


def test_two_runs_stand_side_by_side_and_keys_step_through_runs(open_page):
    driver = open_page()
    open_sample(driver, "WrongLogic")
    before = Select(find(driver, "#viewer-run")).first_selected_option.text
    Select(find(driver, "#viewer-other")).select_by_visible_text("rag-s_name")
    wait(driver, lambda d: len(d.find_elements(By.CSS_SELECTOR, "#viewer-body .badge")) == 2)
    find(driver, "#viewer-body").send_keys(Keys.ARROW_RIGHT)
    wait(driver, lambda d: Select(find(d, "#viewer-run")).first_selected_option.text != before)


def test_closing_a_sample_gives_the_focus_back(open_page):
    driver = open_page()
    open_sample(driver, "WrongLogic")
    find(driver, "#viewer-body").send_keys(Keys.ESCAPE)
    wait(driver, lambda d: not find(d, "#viewer").get_attribute("open"))
    assert "o-WrongLogic" in driver.switch_to.active_element.get_attribute("class")
    assert driver.execute_script("return location.hash") == ""


def test_an_address_opens_its_sample(open_page):
    driver = open_page(fragment="#sample=numpy%2Funstack%2F1/oracle-full/1")
    wait(driver, lambda d: find(d, "#viewer-body .why"))
    assert find(driver, "#viewer-title").text == "numpy/unstack/1"
    assert "sample 1" in find(driver, "#viewer-body").text
    assert find(driver, "#viewer-body .chip[aria-pressed=true]").text.startswith("1 ")


def test_flows_and_deliveries_can_be_chosen(open_page):
    driver = open_page()
    Select(find(driver, "#flow-select")).select_by_index(2)
    shown = [box for box in driver.find_elements(By.CSS_SELECTOR, ".flow-box") if box.is_displayed()]
    assert [box.get_attribute("data-flow") for box in shown] == ["2"]
    Select(find(driver, "#filter-group")).select_by_visible_text("rag")
    click(driver, visible_rows(driver)[0].find_element(By.CSS_SELECTOR, "button.api"))
    assert [cell.text.split("\n")[-1] for cell in driver.find_elements(By.CSS_SELECTOR, ".opened .chip-cell")][:3] == [
        "s_name",
        "e",
        "full",
    ]


def test_the_theme_can_be_changed(open_page):
    driver = open_page()
    click(driver, find(driver, "#theme"))
    assert driver.execute_script("return document.documentElement.dataset.theme") == "dark"
    assert find(driver, "#theme").text == "Light"


def test_everything_can_be_reached_with_the_keyboard(open_page):
    driver = open_page()
    body = find(driver, "body")
    body.send_keys(Keys.TAB)
    assert driver.switch_to.active_element.get_attribute("class") == "skip"
    unnamed = driver.execute_script("""
        return [...document.querySelectorAll("button, a, input, select, [role=region]")].filter((node) => {
          const label = node.getAttribute("aria-label") || node.textContent.trim() || node.closest("label")?.textContent.trim()
            || document.querySelector(`label[for="${node.id}"]`)?.textContent.trim();
          return !label;
        }).map((node) => node.outerHTML);
    """)
    assert unnamed == []


def test_the_page_is_readable_without_any_script(open_page):
    driver = open_page(script=False)
    text = find(driver, "body").text
    assert "of the tasks are solved" in text
    assert "conditions have results" in text
    assert "oracle-baseline → oracle-full" in text
    assert len(visible_rows(driver)) == 70
    assert not find(driver, "#filters").is_displayed()
    assert not find(driver, "#theme").is_displayed()
