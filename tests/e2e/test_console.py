"""The console over real sockets: what each page shows and to whom, and what is charged by what is clicked."""

from __future__ import annotations

import csv
import io
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest

from e2e.cli_clinic import CANARY, NUMBERS, build
from support.browsing import person
from support.server import serving
from tacit.faces.server.serving import open_hub

COUNT = "SELECT dept, COUNT(*) AS n FROM visits GROUP BY dept"
FRESH = "DP-SELECT 0.1 FRESH COUNT(*) AS n FROM visits"


@pytest.fixture
def served(tmp_path):
    hub = open_hub(build(tmp_path, people=40))
    with serving(hub) as made:
        yield made


@pytest.fixture
def ana(served):
    with person(served, "ana") as made:
        yield made


@pytest.fixture
def ben(served):
    with person(served, "ben") as made:
        yield made


@pytest.fixture
def curator(served):
    with person(served, "carla", role="curator") as made:
        yield made


def left(served, name: str = "ana") -> Fraction:
    return served.hub.balance(name).analysts[0].left.epsilon


def test_a_question_is_answered_with_table_figure_notes_receipt_and_files(served, ana):
    reply = ana.ask(COUNT, epsilon="0.5")
    assert (reply.status_code, reply.url.path.split("/")[1]) == (200, "answers")
    assert "It cost <b>ε = 0.5</b>" in reply.text
    for part in ('<th scope="col">dept</th>', "CS", "Econ", "Bio", "whisker", "guarantee", "left out: rows without"):
        assert part in reply.text
    assert COUNT in reply.text, "the question stands in the editor, to go on from"
    place = reply.url.path
    rows = list(csv.DictReader(io.StringIO(ana.get(f"{place}/answer.csv").text)))
    assert [row["dept"] for row in rows] == ["CS", "Econ", "Bio"]
    body = ana.get(f"{place}/answer.json").json()
    assert [row[1] for row in body["rows"]] == [int(row["n"]) for row in rows]
    assert ana.get(f"{place}/answer.exe").status_code == 404
    assert left(served) == Fraction(7, 2)


def test_the_same_form_is_charged_once_however_often_it_is_sent(served, ana):
    key = ana.form_key()
    pages = [ana.ask(FRESH, key=key) for _ in range(3)]
    assert len({page.url.path for page in pages}) == 1
    assert left(served) == Fraction(39, 10)
    ana.ask(FRESH)
    assert left(served) == Fraction(38, 10), "a form that was loaded anew asks anew"
    ana.ask(FRESH.replace("AS n", "AS m"), key=key)
    assert left(served) == Fraction(37, 10), "what was edited since is another question"


def test_two_clicks_at_once_are_one_question(served, ana):
    key, token = ana.form_key(), ana.token
    data = {"sql": FRESH, "epsilon": "", "key": key, "csrf": token}
    with ThreadPoolExecutor(6) as pool:
        replies = [sent.result() for sent in [pool.submit(ana.client.post, "/ask", data=data) for _ in range(6)]]
    assert {reply.status_code for reply in replies} == {200}
    assert len({reply.url.path for reply in replies}) == 1
    assert left(served) == Fraction(39, 10)


def test_a_form_outlives_the_server(tmp_path):
    policy = build(tmp_path, people=40)
    with serving(open_hub(policy)) as served, person(served, "ana") as ana:
        key = ana.form_key()
        first = ana.ask(FRESH, key=key)
    with serving(open_hub(policy)) as served, person(served, "ana") as ana:
        again = ana.get(first.url.path)
        assert again.status_code == 200, "the ledger still has it"
        shown = ana.get(f"{first.url.path}/answer.json").json()["rows"]
        ana.ask(FRESH, key=key)
        assert ana.get(f"{first.url.path}/answer.json").json()["rows"] == shown
        assert left(served) == Fraction(39, 10)


def test_explaining_completing_and_refusals_are_free(served, ana):
    shown = ana.price(COUNT, epsilon="0.5").text
    assert 'data-epsilon="0.5"' in shown
    assert 'data-column="n" data-error="' in shown
    assert "does not cover" in ana.price(COUNT, epsilon="7").text
    assert "EXPLAIN" not in ana.ask(f"EXPLAIN DP-SELECT 0.5 {COUNT[7:]}").text.split("<textarea")[0]
    words = {text for text, _ in ana.get("/ask/words").json()}
    assert {"visits", "dept", "DP-SELECT"} <= words
    assert "secret" not in words
    for sql, status in (
        ("SELECT city FROM visits", 422),
        ("SELECT COUNT(* FROM visits", 400),
        ("SELECT COUNT(*) FROM nobody", 422),
        ("DP-SELECT 9 COUNT(*) FROM visits", 402),
        ("", 400),
    ):
        reply = ana.ask(sql, epsilon="0.1")
        assert reply.status_code == status, sql
        assert "<b>error:</b>" in reply.text
    assert "epsilon" in ana.ask(COUNT, epsilon="-1").text
    assert left(served) == 4
    assert served.hub.log("ana") == ()


def test_the_words_of_an_error_are_those_of_every_door(served, ana):
    sql = "SELECT COUNT(*) FROM visits WHERE secret = 'x'"
    with served.client("ana") as api:
        said = api.post("/v1/query", json={"sql": sql, "epsilon": 1}).json()["error"]
    reply = ana.ask(sql, epsilon="1")
    assert said["message"].replace("'", "&#39;") in reply.text
    assert said["hint"].replace("'", "&#39;") in reply.text


def test_nobody_sees_the_answers_the_log_or_the_name_of_another(served, ana, ben):
    place = ana.ask("DP-SELECT 0.5 COUNT(*) AS quite_private FROM visits").url.path
    entry = next(entry for entry in served.hub.log("ana") if entry.act == "settle").hash
    for path in (place, f"/answers/{entry}", f"{place}/answer.csv", f"{place}/answer.json"):
        assert ana.get(path).status_code == 200
        reply = ben.get(path)
        assert reply.status_code == 422
        assert "no answer of yours has this address" in reply.text
    for path in ("/budget", "/log", "/data", "/ask"):
        text = ben.get(path).text
        assert "quite_private" not in text
        assert "ana" not in text.replace("analyst", "").replace("banana", "")
    assert "quite_private" in ana.get("/log").text


def test_the_budget_page_tells_what_is_spent_and_left(served, ana, curator):
    ana.ask(COUNT, epsilon="0.5")
    text = ana.get("/budget").text
    assert "<b>ε = 3.5, δ = 0.000001</b> is left to you" in text
    assert "analyst ana" in text
    assert 'class="curve"' in text
    everybody = curator.get("/budget").text
    assert "analyst ana" in everybody
    assert "analyst ben" in everybody
    assert "group students" in everybody


def test_the_data_page_is_the_public_view_and_nothing_else(served, ana, curator):
    for who in (ana, curator):
        text = who.get("/data").text
        for part in ("visits", "dept", "Econ", "[0, 500] by 0.01", "hides one patient_id", "public"):
            assert part in text
        assert "secret" not in text
        assert CANARY not in text
        assert not [number for number in NUMBERS if number in text]


def test_the_log_lists_entries_and_the_ledger_is_verified(served, ana, ben, curator):
    ana.ask(COUNT, epsilon="0.5")
    ben.ask(FRESH)
    text = ana.get("/log").text
    entry = next(entry for entry in served.hub.log("ana") if entry.act == "settle")
    assert f"/answers/{entry.hash}" in text
    assert ana.get(f"/answers/{entry.hash}").status_code == 200
    assert "It is whole" in ana.post("/log").text
    assert "entries, the last" not in ana.post("/log").text, "how much others asked is not theirs to know"
    everything = curator.get("/log").text
    assert "<span>ana</span>" in everything
    assert "<span>ben</span>" in everything
    assert "entries, the last of them" in curator.post("/log").text


def test_a_page_holds_so_much_of_an_answer_and_the_files_all_of_it(served, ana):
    reply = ana.ask("DP-SELECT 1 age, dept, COUNT(*) AS n FROM visits GROUP BY age, dept")
    assert "more rows, in the files" in reply.text
    assert "more, in the table and the files" in reply.text
    rows = ana.get(f"{reply.url.path}/answer.csv").text.splitlines()
    assert len(rows) == 1 + 73 * 3
    assert reply.text.count("<tr>") == 1 + 200


def test_batches_of_the_api_are_shown_from_the_log(served, ana):
    questions = ["SELECT COUNT(*) AS one FROM visits", "SELECT COUNT(*) AS two FROM visits WHERE age > 30"]
    with served.client("ana") as api:
        entry = api.post("/v1/batch", json={"questions": questions, "epsilon": 0.5}).json()["id"]
    text = ana.get(f"/answers/{entry}").text
    assert "<dt>one</dt>" in text
    assert "<dt>two</dt>" in text


def test_parameters_delta_and_several_questions_are_asked_by_the_form(served, ana):
    def send(path: str, **fields: str):
        return ana.post(path, {"key": ana.form_key(), "epsilon": "0.5", **fields})

    asked = {"sql": "SELECT COUNT(*) AS n FROM visits WHERE dept = ? AND age > ?", "parameters": '["CS", 30]'}
    assert 'data-column="n"' in send("/ask/price", **asked).text
    reply = send("/ask", **asked)
    assert "It cost <b>ε = 0.5</b>" in reply.text
    assert 'value="[&#34;CS&#34;, 30]"' in reply.text, "what was typed stands there, to go on from"
    named = {"sql": "SELECT COUNT(*) AS n FROM visits WHERE dept = :dept", "parameters": '{"dept": "Econ"}'}
    assert "It cost <b>" in send("/ask", **named).text
    before = left(served)
    with_delta = {"sql": "SELECT city, COUNT(*) AS n FROM visits GROUP BY city", "delta": "0.0000001"}
    assert "δ = 1e-7" in send("/ask/price", **with_delta).text
    together = f"{COUNT};\n-- ; is no end here\nSELECT AVG(age) AS a FROM visits WHERE city <> ';';"
    price = send("/ask/price", sql=together).text
    assert 'data-column="1: n"' in price
    assert 'data-column="2: a"' in price
    assert left(served) == before, "prices are free"
    reply = send("/ask", sql=together)
    assert reply.text.count('class="card answer"') == 2
    assert left(served) == before - Fraction(1, 2), "the batch is charged once"
    assert together.splitlines()[0] in reply.text


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"parameters": "CS"}, "the parameters are no list"),
        ({"parameters": "[1, "}, "the parameters are no list of values"),
        ({"parameters": '[[1]], "sql": "x"'}, "the parameters are no list of values"),
        ({"parameters": "[1]", "sql": f"{COUNT}; {COUNT}"}, "a batch has no parameters here"),
        ({"sql": f"{COUNT}; {COUNT}", "epsilon": ""}, "a batch has one price"),
        ({"delta": "2"}, "delta"),
        ({"delta": "x"}, "delta"),
    ],
)
def test_fields_that_are_none_are_refused_at_no_charge(served, ana, fields, said):
    for path in ("/ask", "/ask/price"):
        reply = ana.post(path, {"key": ana.form_key(), "sql": COUNT, "epsilon": "0.5", **fields})
        assert said in reply.text, path
        assert reply.status_code in ({400, 422} if path == "/ask" else {200})
    assert left(served) == 4


@pytest.mark.parametrize(
    ("accounting", "unit"), [("zcdp", "ρ left"), ("pld", "grains left"), ("approximate", "ε left")]
)
def test_budgets_of_every_kind_burn_down(tmp_path, accounting, unit):
    policy = build(tmp_path, people=40)
    kind = f'epsilon = 10\naccounting = "{accounting}"' + ("\ngrain = 0.1" if accounting == "pld" else "")
    policy.write_text(policy.read_text().replace("epsilon = 10", kind, 1))
    with serving(open_hub(policy)) as served, person(served, "ana") as ana:
        ana.ask(FRESH)
        text = ana.get("/budget").text
        assert unit in text
        assert 'class="curve"' in text
