"""The console in a real browser: asking by keyboard, prices as one types, one charge for two clicks, small screens."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

from e2e.test_console_trust import odd_clinic
from support.browsing import PASSWORD, account
from support.chromium import Visitors, chromium
from support.server import serving
from tacit.faces.server.serving import open_hub

QUESTION = "SELECT dept, COUNT(*) AS n FROM visits GROUP BY dept"


@pytest.fixture(scope="module")
def visitors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitors]:
    policy = odd_clinic(tmp_path_factory.mktemp("console"))
    policy.write_text(policy.read_text().replace("epsilon = 10\n", "epsilon = 100\n").replace("= 4\n", "= 90\n", 1))
    with chromium() as browser, serving(open_hub(policy)) as served:
        account(served, "ana")
        yield Visitors(browser, served)


def left(visitors: Visitors) -> Fraction:
    return visitors.served.hub.balance("ana").analysts[0].left.epsilon


def price_of(page: Any, holds: str = "true") -> tuple[float, float]:
    """What is said of the price, ε and ±, once nothing is on its way and both fulfil this condition."""
    page.wait_for_function(f"""() => {{
      const epsilon = Number(document.querySelector('#price[aria-busy=false] [data-epsilon]')?.dataset.epsilon);
      const error = Number(document.querySelector('#price [data-error]')?.dataset.error);
      return epsilon > 0 && error > 0 && ({holds});
    }}""")
    facts, error = page.locator("#price [data-epsilon]"), page.locator("#price [data-error]").first
    return float(facts.get_attribute("data-epsilon")), float(error.get_attribute("data-error"))


def test_the_price_follows_the_typing_the_slider_and_the_error(visitors: Visitors) -> None:
    with visitors.page("ana", "/ask") as page:
        before = left(visitors)
        page.fill("#sql", QUESTION)
        page.fill("#epsilon", "0.5")
        epsilon, error = price_of(page, "epsilon === 0.5")
        page.locator("#slide").focus()
        page.keyboard.press("PageUp")
        dearer, smaller = price_of(page, "epsilon !== 0.5")
        assert dearer > epsilon
        assert smaller < error
        wanted = round(2 * error)
        page.fill("#off", str(wanted))
        found = price_of(page, f"Math.abs(error / {2 * error} - 1) < 0.05")
        assert found == (pytest.approx(epsilon / 2, rel=0.2), pytest.approx(2 * error, rel=0.05)), "wider is cheaper"
        page.fill("#sql", "DP-SELECT 0.5 COUNT(*) AS n FROM visits")
        page.wait_for_selector('[data-epsilon="0.5"]')
        page.locator("#slide").fill("1000")
        page.wait_for_selector('[data-epsilon="100"]')
        assert page.input_value("#sql") == "DP-SELECT 100 COUNT(*) AS n FROM visits", "the question says its own price"
        page.fill("#sql", "SELECT secret FROM visits")
        page.wait_for_selector("#price [data-refused]")
    assert left(visitors) == before, "all of that is free"


def test_somebody_signs_in_completes_and_asks_by_keyboard_once(visitors: Visitors) -> None:
    with visitors.page("ana", "/signin") as page:
        page.keyboard.type("ana")  # the name has the focus
        page.keyboard.press("Tab")
        page.keyboard.type(PASSWORD)
        page.keyboard.press("Enter")
        page.locator("#sql").wait_for()
        before = left(visitors)
        page.fill("#sql", "DP-SELECT 0.1 FRESH COUNT(*) AS n FROM ")
        page.locator("#sql").press_sequentially("vis")
        page.wait_for_selector("#completions li")
        page.keyboard.press("Tab")
        assert page.input_value("#sql").endswith("FROM visits")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector(".answer")
        assert left(visitors) == before - Fraction(1, 10)
        page.wait_for_selector("#go:enabled")
        assert "/answers/console-" in page.url
        shown = page.locator(".tiles").inner_text()
        page.reload()
        assert page.locator(".tiles").inner_text() == shown
        for step, there in ((-1, "/ask"), (1, "/answers/")):
            with page.expect_event("load"):
                page.evaluate(f"history.go({step})")
            assert there in page.url
        assert page.locator(".tiles").inner_text() == shown
        assert left(visitors) == before - Fraction(1, 10), "neither reload nor the way back is charged"
        page.fill("#sql", "DP-SELECT 0.1 FRESH COUNT(*) AS twice FROM visits")
        page.locator("#go").dblclick()
        page.wait_for_selector(".tiles >> text=twice")
        page.wait_for_selector("#go:enabled")
        assert left(visitors) == before - Fraction(2, 10), "two clicks are one question"


SOUND = """() => {
  const nameless = [...document.querySelectorAll('input:not([type=hidden]), textarea, select, button, a')]
    .filter((one) => one.checkVisibility())
    .filter((one) => !(one.labels?.length || one.getAttribute('aria-label') || one.innerText?.trim()));
  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  const out = [...document.querySelectorAll('.card *, .accounts')].filter((one) => one.checkVisibility())
    .filter((one) => !one.closest('svg, pre, textarea, .visually-hidden, thead, .answer .scroll'))
    .filter((one) => one.getBoundingClientRect().right > one.closest('.card').getBoundingClientRect().right + 1);
  return {nameless: nameless.map((one) => one.outerHTML), wide, headings: document.querySelectorAll('h1').length,
          out: out.map((one) => one.outerHTML.slice(0, 80))};
}"""
LONG_NAME = """for (const one of document.querySelectorAll('.accounts tbody th'))
  one.textContent = 'analyst ' + 'name-'.repeat(12)"""
SHIFT = """new Promise((done) => {
  const sum = (list) => list.getEntries().filter((one) => !one.hadRecentInput).reduce((all, one) => all + one.value, 0);
  new PerformanceObserver((list) => done(sum(list))).observe({type: 'layout-shift', buffered: true});
  setTimeout(() => done(0), 200);
})"""
BACKGROUND = "getComputedStyle(document.body).backgroundColor"


SCREENS = (({"width": 390, "height": 800}, "dark"), ({"width": 820, "height": 800}, "light"))


def test_small_screens_scroll_one_way_every_control_has_a_name_and_hostile_cells_are_text(visitors: Visitors) -> None:
    with visitors.page("ana", "/ask") as page:
        page.set_viewport_size(SCREENS[0][0])
        page.goto("/ask")
        price_of(page)
        assert page.evaluate(SHIFT) < 0.1, "nothing jumps when the price comes"
        alias = "how_many_visits_there_were_as_far_as_anybody_may_know_of_them"
        sql = f"DP-SELECT 1 city AS the_city_in_letters, COUNT(*) * 123456 AS {alias} FROM towns GROUP BY city"
        page.fill("#sql", sql)
        page.wait_for_selector(f"#price[aria-busy=false] dt:has-text('{alias}')")
        assert "e+" not in page.locator("#price").inner_text(), "numbers are written out"
        page.click("#go")
        page.wait_for_selector(".answer")
        page.evaluate("document.querySelector('.notes').innerHTML += '<li>' + 'name_of_a_column_'.repeat(6) + '</li>'")
        page.click("summary:has-text('Table')")
        cells = page.locator(".answer tbody td:first-child").all_inner_texts()
        assert "<script>alert(1)</script>" in cells
        assert any("onerror" in cell for cell in cells)
        for path in (None, "/budget", "/data", "/log"):
            if path is not None:
                page.goto(path)
                page.evaluate(LONG_NAME)
            for viewport, scheme in SCREENS:
                page.set_viewport_size(viewport)
                page.emulate_media(color_scheme=scheme)
                assert page.evaluate(SOUND) == {"nameless": [], "wide": 0, "headings": 1, "out": []}, (path, viewport)
        colours = [page.evaluate(BACKGROUND)]
        page.click("#theme")
        colours.append(page.evaluate(BACKGROUND))
        page.goto("/budget")
        colours.append(page.evaluate(BACKGROUND))
        assert colours[0] != colours[1] == colours[2], "the theme that was chosen stays"


LAST_KEYS = """() => [...document.querySelectorAll('.bars .label')].map((label) => {
  label.firstElementChild.textContent = 'a ward with a long name, '.repeat(4);
  const last = label.lastElementChild, [inner, outer] = [last, label].map((one) => one.getBoundingClientRect());
  return inner.right <= outer.right + 1 && last.scrollWidth <= last.clientWidth ? last.innerText : 'cut off';
})"""


def test_of_several_keys_the_last_is_read_however_long_the_first_is(visitors: Visitors) -> None:
    with visitors.page("ana", "/ask") as page:
        page.fill("#sql", "DP-SELECT 1 dept, age > 30 AS old, COUNT(*) AS n FROM visits GROUP BY dept, age > 30")
        page.click("#go")
        page.wait_for_selector(".bars .label")
        for viewport, _ in SCREENS:
            page.set_viewport_size(viewport)
            assert set(page.evaluate(LAST_KEYS)) == {"True", "False"}


def test_without_scripts_everything_can_be_done(visitors: Visitors) -> None:
    with visitors.page("carla", "/policy", role="curator", java_script_enabled=False) as page:
        whole = page.input_value("#text")
        page.fill("#text", whole.replace("max_rows = 4", "max_rows = 3"))
        page.click("text=Check, and show what it does")
        assert "[tables.visits]" in page.locator(".changes").inner_text()
        page.fill("#note", "fewer rows are enough")
        page.click("text=Put it into force")
        assert "It is in force" in page.locator(".sound").inner_text()
        assert visitors.served.hub.policy.table("visits").max_rows == 3
        page.goto("/log")
        assert "fewer rows are enough" in page.locator(".entries").inner_text()
        page.click("text=Verify the ledger")
        assert "It is whole" in page.locator(".sound").inner_text()
        page.click("text=Sign out")
        page.wait_for_url("**/signin")
        page.fill("#name", "ana")
        page.fill("#password", PASSWORD)
        page.click("button[type=submit]")
        page.wait_for_url("**/ask")
        before = left(visitors)
        page.fill("#sql", QUESTION)
        page.fill("#epsilon", "0.25")
        page.click("#go")
        page.wait_for_url("**/answers/**")
        assert page.locator(".bars li").count() == 3
        page.reload()
        assert left(visitors) == before - Fraction(1, 4)
        with page.expect_download() as file:
            page.click("text=CSV")
        assert file.value.suggested_filename == "answer.csv"
