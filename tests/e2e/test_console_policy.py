"""The curator's page of the policy: the same findings as `tacit check`, a change that is on record and in force."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from html import unescape

import pytest

from e2e.cli_clinic import build, here
from support.browsing import person
from support.server import serving
from tacit.errors import PolicyError, RequestConflict
from tacit.faces.owner import ledger_admin
from tacit.faces.owner.changing import change_policy, consequences, key_changes
from tacit.faces.server.serving import open_hub
from tacit.policy import load_policy, parse_policy


@pytest.fixture
def served(tmp_path):
    with serving(open_hub(build(tmp_path, people=40))) as made:
        yield made


@pytest.fixture
def curator(served):
    with person(served, "carla", role="curator") as made:
        yield made


def sent(curator, text, act="check", **fields):
    seen = re.search(r'name="seen" value="(\w+)"', curator.get("/policy").text)[1]
    return curator.post("/policy", {"seen": seen, "text": text, "act": act, **fields})


def entries(served):
    found = ledger_admin.entries(served.hub.policy, None, limit=50)
    return [(entry.kind, entry.note, entry.outcome) for entry in found if entry.act == "charge"]


def test_the_page_shows_the_file_as_it_is(served, curator, tmp_path):
    text = unescape(curator.get("/policy").text)
    assert (tmp_path / "tacit.toml").read_text() in text
    assert served.hub.policy.version[:16] in text


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("max_rows = 4", "max_rows = 0"),
        ("max_rows = 4", "max_row = 4"),
        ("epsilon = 4", 'epsilon = "four"'),
        ("[tables.visits]", "[tables.visits"),
        ('unit = "patient_id"', 'unit = "nobody"'),
        ("age = { lower = 18", "age = { lower = 180"),
    ],
)
def test_findings_are_those_of_check_line_for_line(served, curator, tmp_path, was, now):
    policy = tmp_path / "tacit.toml"
    before = policy.read_text()
    reply = sent(curator, before.replace(was, now))
    assert reply.status_code == 422
    assert policy.read_text() == before, "checking writes nothing"
    policy.write_text(before.replace(was, now))
    said = here("check", "--format", "json", cwd=tmp_path).json["findings"]
    policy.write_text(before)
    text = unescape(reply.text)
    assert said
    for finding in said:
        assert finding["message"] in text
        assert finding["hint"] in text
    line = re.search(r"tacit\.toml:(\d+)", text)
    assert line is None or f'data-line="{line[1]}"' in reply.text
    assert entries(served) == []


def test_a_change_is_previewed_recorded_and_in_force_at_once(served, curator, tmp_path):
    policy = tmp_path / "tacit.toml"
    after = policy.read_text().replace("[analysts.ana]\nepsilon = 4", "[analysts.ana]\nepsilon = 3")
    shown = unescape(sent(curator, after).text)
    assert "[analysts.ana]" in shown
    assert re.search(r"<code>4</code></td><td><code>3</code>", shown)
    assert policy.read_text() != after
    reply = sent(curator, after, act="apply", note="the study is smaller")
    assert reply.status_code == 200
    assert "It is in force" in reply.text
    assert policy.read_text() == after
    assert entries(served) == [("policy", "policy changed by carla: the study is smaller", "settle")]
    assert served.hub.balance("ana").analysts[0].cap.epsilon == 3
    assert here("ledger", "verify", cwd=tmp_path).code == 0
    assert "policy changed by carla" in curator.get("/log").text


def test_what_does_not_fit_is_neither_written_nor_recorded(served, curator, tmp_path):
    policy = tmp_path / "tacit.toml"
    before = policy.read_text()
    for text in ("", "[[[", before.replace("max_rows = 4", "max_rows = 0"), before.replace("patient_id", "nobody")):
        assert sent(curator, text, act="apply").status_code == 422
        assert policy.read_text() == before
    assert sent(curator, before + "# more\n", act="apply", note="two\nlines").status_code == 400
    assert sent(curator, before + "# more\n", act="apply", note="x" * 500).status_code == 400
    assert policy.read_text() == before
    assert entries(served) == []


def test_nobody_undoes_what_another_wrote(served, curator, tmp_path):
    policy = tmp_path / "tacit.toml"
    seen = re.search(r'name="seen" value="(\w+)"', curator.get("/policy").text)[1]
    before = policy.read_text()
    policy.write_text(before + "# by another\n")
    reply = curator.post("/policy", {"seen": seen, "text": before + "# mine\n", "act": "apply"})
    assert reply.status_code == 409
    assert policy.read_text().endswith("# by another\n")
    texts = [f"{policy.read_text()}# {number}\n" for number in range(4)]
    seen = re.search(r'name="seen" value="(\w+)"', curator.get("/policy").text)[1]
    fields = {"csrf": curator.token, "seen": seen, "act": "apply"}
    with ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(lambda text: curator.client.post("/policy", data={**fields, "text": text}), texts))
    assert sorted(reply.status_code for reply in replies).count(200) >= 1
    assert policy.read_text() in texts
    settled = [entry for entry in entries(served) if entry[2] == "settle"]
    assert len(settled) == sum(reply.status_code == 200 for reply in replies)


def test_what_another_writes_while_a_text_is_checked_stays(served, tmp_path):
    policy = tmp_path / "tacit.toml"
    before = policy.read_text()
    policy.write_text(before + "# by another\n")
    with pytest.raises(RequestConflict, match="changed meanwhile"):
        change_policy(policy, before, seen=before, note="", who="carla", in_force=served.hub.policy)
    assert policy.read_text().endswith("# by another\n")
    assert entries(served) == [("policy", "policy changed by carla", "fail")], "that it did not come about is on record"


def test_the_act_itself_refuses_what_does_not_fit(served, tmp_path):
    policy = tmp_path / "tacit.toml"
    before = policy.read_text()
    with pytest.raises(PolicyError, match="nobody"):
        change_policy(
            policy,
            before.replace("patient_id", "nobody"),
            seen=before,
            note="",
            who="carla",
            in_force=served.hub.policy,
        )
    assert policy.read_text() == before
    assert entries(served) == []


def test_a_broken_file_can_be_mended_from_the_page(served, curator, tmp_path):
    policy = tmp_path / "tacit.toml"
    before = policy.read_text()
    policy.write_text("[[[")
    with person(served, "ana") as ana:
        assert ana.get("/ask").status_code == 503
        assert sent(curator, before, act="apply").status_code == 200
        assert ana.get("/ask").status_code == 200


def test_a_change_says_what_it_does(tmp_path):
    path = build(tmp_path, people=40)
    text = path.read_text()
    before = load_policy(path)

    def told(was: str, now: str) -> str:
        return "\n".join(consequences(before, parse_policy(text.replace(was, now), tmp_path)))

    assert "version stays" in told("epsilon = 10", "epsilon = 9") or "version changes" in told("= 10", "= 9")
    assert "version changes" in told("max_rows = 4", "max_rows = 5")
    assert "whom the answers hide is another" in told("max_rows = 4", 'max_rows = 4\nunit_form = "trim"')
    assert "ben can ask nothing more" in told('[analysts.ben]\nepsilon = 2\ngroups = ["students"]\n', "")
    assert "not counted" in told('name = "clinic"', 'name = "other"')
    after = parse_policy(text.replace("city = {}", "city = {}\nzip = {}"), tmp_path)
    assert [(change.where, change.key, change.was) for change in key_changes(before, after)] == [
        ("[tables.visits.columns]", "zip", "")
    ]
