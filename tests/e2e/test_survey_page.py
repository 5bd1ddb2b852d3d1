"""The survey's page in a real browser: it randomises there, and only noise is ever posted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from e2e.survey_box import make, served
from support.chromium import chromium, new_context
from support.laws import FALSE_ALARM, p_value_of_successes
from tacit import collect
from tacit.collect.surveys.findings import findings
from tacit.engines.reports import tally
from tacit.faces.survey.server import SurveyServer
from tacit.faces.survey.site import public


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


def answer(browser: Any, server: SurveyServer, place: int) -> dict[str, Any]:
    """Answer once, in a browser that has never been here; everything it sent, and what the page says."""
    context = new_context(browser)
    page = context.new_page()
    sent: list[tuple[str, str, bytes]] = []
    troubles: list[str] = []
    page.on("request", lambda request: sent.append((request.method, request.url, request.post_data_buffer or b"")))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
    page.goto(f"http://127.0.0.1:{server.server_address[1]}/")
    page.locator("input[name=answer]").nth(place).check()
    page.get_by_role("button").click()
    page.locator("#sent").wait_for(state="visible")
    said = page.locator("#told").inner_text()
    told = page.locator("#bytes").inner_text()
    page.reload()
    page.locator("#sent").wait_for(state="visible")
    again = page.locator("#bytes").inner_text()
    stored = page.evaluate("JSON.stringify({...localStorage})")
    context.close()
    return {"sent": sent, "said": said, "told": told, "again": again, "troubles": troubles, "stored": stored}


def test_the_browser_randomises_and_posts_only_the_noisy_answer(tmp_path: Path, browser: Any) -> None:
    survey = make(tmp_path)
    with served(survey) as server:
        answers = [answer(browser, server, 1) for _ in range(2)]
        local = f"http://127.0.0.1:{server.server_address[1]}/"
    assert all(one["troubles"] == [] for one in answers)
    posted = set()
    for one in answers:
        assert all(url.startswith(local) for _, url, _ in one["sent"]), "nothing goes anywhere else"
        posts = [(url, body.hex()) for method, url, body in one["sent"] if method == "POST"]
        assert posts == [(f"{local}report", one["told"])], "one report, and not again when the page is opened again"
        assert one["again"] == one["told"]
        assert survey.answers[int(one["told"][-2:], 16)] in one["said"]
        assert set(json.loads(one["stored"]).values()) == {one["told"]}, "the true answer is stored nowhere"
        posted.add(one["told"])
    known = collect.messages(survey.protocol, np.array([[0], [1]], np.uint8), topic=survey.topic)
    assert posted <= {message.hex() for message in known}
    counted = tally(survey)
    assert (counted.reports, counted.dropped) == (2, 0)
    assert findings(survey, counted, confidence="0.95").reports == 2


def test_the_browsers_own_coins_follow_the_law(tmp_path: Path, browser: Any) -> None:
    survey = make(tmp_path)
    with served(survey) as server:
        page = new_context(browser).new_page()
        page.goto(f"http://127.0.0.1:{server.server_address[1]}/")
        yes = page.evaluate("""async () => {
          const { encode } = await import("/tacit-collect.mjs");
          const { description } = await (await fetch("survey.json")).json();
          return Array.from({ length: 8000 }, () => encode(description, 1)[5]).reduce((sum, bit) => sum + bit, 0);
        }""")
        page.context.close()
    assert p_value_of_successes(yes, 8000, 0.75) > FALSE_ALARM
    assert p_value_of_successes(yes, 8000, 0.5) < FALSE_ALARM, "the test has power"


def test_a_number_is_randomised_in_the_browser_too(tmp_path: Path, browser: Any) -> None:
    survey = make(tmp_path, "-q", "How old are you?", "--number", "0:100:1", "--epsilon", "2", name="age.toml")
    with served(survey) as server:
        page = new_context(browser).new_page()
        page.goto(f"http://127.0.0.1:{server.server_address[1]}/")
        page.locator("input[name=answer]").fill("40")
        page.get_by_role("button").click()
        page.locator("#sent").wait_for(state="visible")
        page.context.close()
    assert tally(survey).reports == 1


def test_without_the_survey_the_page_says_that_nothing_was_sent(tmp_path: Path, browser: Any) -> None:
    survey = make(tmp_path)
    with served(survey) as server:
        page = new_context(browser).new_page()
        page.goto(f"http://127.0.0.1:{server.server_address[1]}/")
        page.route("**/report", lambda route: route.fulfill(status=507))
        page.locator("input[name=answer]").nth(0).check()
        page.get_by_role("button").click()
        page.locator("#trouble").wait_for(state="visible")
        assert "Not sent" in page.locator("#trouble").inner_text()
        assert "the same report is sent, whatever you choose then" in page.locator("#trouble").inner_text()
        assert not page.locator("#sent").is_visible()
        drawn = set()
        for place in (0, 1, 0):
            with page.expect_request("**/report") as request:
                page.locator("input[name=answer]").nth(place).check()
                page.get_by_role("button").click()
            drawn.add(request.value.post_data_buffer)
            page.locator("button:enabled").wait_for()
        assert len(drawn) == 1, "a server that refuses again and again learns no more"
        page.context.close()


def test_a_browser_that_answered_one_survey_has_not_answered_another(tmp_path: Path, browser: Any) -> None:
    """Both are served at the same address, one after the other, with the same coins."""
    doping, tax = make(tmp_path), make(tmp_path, "-q", "Have you ever evaded tax?", name="tax.toml")
    page = new_context(browser).new_page()
    with served(doping) as server:
        port = server.server_address[1]
        page.goto(f"http://127.0.0.1:{port}/")
        page.locator("input[name=answer]").nth(1).check()
        page.get_by_role("button").click()
        page.locator("#sent").wait_for(state="visible")
        first = page.locator("#bytes").inner_text()
    with served(tax, port=port):
        page.goto(f"http://127.0.0.1:{port}/")
        page.locator("#form").wait_for(state="visible")
        assert page.locator("#question").inner_text() == tax.question
        assert not page.locator("#sent").is_visible(), "it is asked, and told nothing of the other"
        page.locator("input[name=answer]").nth(1).check()
        page.get_by_role("button").click()
        page.locator("#sent").wait_for(state="visible")
        assert page.locator("#bytes").inner_text()[:10] != first[:10]
    page.context.close()
    assert (tally(doping).reports, tally(tax).reports) == (1, 1)


TAMPERED = (
    ({"question": "Something else?"}, "does not fit its own description"),
    ({"lie": "0/1"}, "strictly between 0 and 1"),
    ({"lie": "1/1000"}, "fingerprint"),
)


def test_a_page_that_was_tampered_with_sends_nothing(tmp_path: Path, browser: Any) -> None:
    survey = make(tmp_path)
    with served(survey) as server:
        page = new_context(browser).new_page()
        for change, said in TAMPERED:
            told = public(survey)
            if "question" in change:
                told.update(change)
            else:
                told["description"].update(change)
                if change["lie"] == "0/1":  # with a fingerprint that fits
                    del told["description"]["id"]
            body = json.dumps(told)
            page.route("**/survey.json", lambda route, *, body=body: route.fulfill(body=body))
            page.goto(f"http://127.0.0.1:{server.server_address[1]}/")
            page.locator("#trouble").wait_for(state="visible")
            assert said in page.locator("#trouble").inner_text()
            assert not page.locator("#form").is_visible()
        page.context.close()
    assert tally(survey).reports == 0


def test_the_page_works_out_the_price_itself(tmp_path: Path, browser: Any) -> None:
    survey = make(tmp_path)
    assert not {"epsilon", "factor", "beliefs"} & public(survey).keys(), "the server's word is not asked for"
    dear = make(tmp_path, "--epsilon", "9", name="dear.toml")
    for asked, price, warned in ((survey, "ε = 1.099", False), (dear, "ε = 9", True)):
        with served(asked) as server:
            page = new_context(browser).new_page()
            page.goto(f"http://127.0.0.1:{server.server_address[1]}/")
            page.locator("#form").wait_for(state="visible")  # it has the description by then
            page.locator("summary").click()
            assert price in page.locator("#price").inner_text()
            assert page.locator("#dear").is_visible() is warned
            rows = page.locator("#beliefs tr").all_inner_texts()
            page.context.close()
        if asked is survey:
            assert rows[2].split() == ["10%", "25%"], "the lectures' exercise"
