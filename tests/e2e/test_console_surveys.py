"""Surveys among the doors: asked without an account, collected beside the policy, estimated on a page."""

from __future__ import annotations

import httpx
import numpy as np
import pytest

from e2e.cli_clinic import build, here
from e2e.survey_box import make, reports_of
from support.browsing import person
from support.server import serving
from tacit.collect.surveys.store import read_lines
from tacit.errors import PolicyError
from tacit.faces.server.serving import open_hub
from tacit.faces.survey.site import OCTETS
from tacit.policy import parse_policy

HEADERS = {"content-type": OCTETS}


@pytest.fixture
def clinic(tmp_path):
    return build(tmp_path, people=40)


def test_reports_are_taken_in_and_estimated(clinic, tmp_path):
    survey = make(tmp_path)
    clinic.write_text(clinic.read_text() + '[server]\nsurveys = ["doping.toml"]\nsurvey_rate = 0\n')
    messages = reports_of(survey, np.array([1] * 30 + [0] * 70))
    with serving(open_hub(clinic)) as served, httpx.Client(base_url=served.url, timeout=30) as anybody:
        page = anybody.get("/surveys/doping", follow_redirects=True)
        assert page.url.path == "/surveys/doping/"
        assert "Randomise here" in page.text
        assert "script-src 'self'" in page.headers["content-security-policy"]
        assert "set-cookie" not in page.headers
        for path in ("page.css", "page.mjs", "tacit-collect.mjs", "survey.json"):
            assert anybody.get(f"/surveys/doping/{path}").status_code == 200
        for path in ("../tacit.toml", "doping.toml", "doping.reports.jsonl", "report"):
            assert anybody.get(f"/surveys/doping/{path}").status_code in {401, 404}
        assert anybody.get("/surveys/nothing/").status_code == 404
        assert anybody.get("/surveys/doping/", headers={"host": "evil.example"}).status_code == 421
        for message in messages:
            assert anybody.post("/surveys/doping/report", content=message, headers=HEADERS).status_code == 204
        assert anybody.post("/surveys/doping/report", content=b"x", headers=HEADERS).status_code == 422
        assert anybody.post("/surveys/doping/report", data={"x": "1"}).status_code == 415
        for name, role in (("ana", "analyst"), ("carla", "curator")):
            with person(served, name, role=role) as who:
                text = who.get("/surveys").text
                assert "100 reports, 2 dropped" in text
                assert "ε = 1.099" in text
                assert "whisker" in text
                assert 'href="/surveys"' in who.get("/data").text
        with person(served) as stranger:
            assert stranger.get("/surveys").url.path == "/signin"
    assert sum(read_lines(survey.reports)[0].values()) == 100
    assert here("survey", "estimate", "doping.toml", "--format", "json", cwd=tmp_path).json["reports"] == 100


def test_one_sender_cannot_outvote_the_others(clinic, tmp_path):
    survey = make(tmp_path)
    clinic.write_text(clinic.read_text() + '[server]\nsurveys = ["doping.toml"]\nsurvey_rate = 3\n')
    with serving(open_hub(clinic)) as served, httpx.Client(base_url=served.url, timeout=30) as anybody:
        found = [
            anybody.post("/surveys/doping/report", content=message, headers=HEADERS).status_code
            for message in reports_of(survey, np.array([1] * 5))
        ]
    assert found == [204] * 3 + [429] * 2


def test_a_policy_that_names_other_surveys_is_followed(clinic, tmp_path):
    make(tmp_path)
    make(tmp_path, "-q", "Have you ever evaded tax?", name="tax.toml")
    original = clinic.read_text()
    clinic.write_text(original + '[server]\nsurveys = ["doping.toml"]\n')
    with serving(open_hub(clinic)) as served, httpx.Client(base_url=served.url, timeout=30) as anybody:
        assert anybody.get("/surveys/tax/").status_code == 404
        clinic.write_text(original + '[server]\nsurveys = ["tax.toml"]\n')
        served.hub.check_policy()
        assert anybody.get("/surveys/tax/").status_code == 200
        assert anybody.get("/surveys/doping/").status_code == 404
        clinic.write_text(original + '[server]\nsurveys = ["gone.toml"]\n')
        served.hub.check_policy()
        assert anybody.get("/surveys/tax/").status_code == 503, "what the curator wants is not known"
        with person(served, "carla", role="curator") as curator:
            assert "gone.toml: there is no such survey" in curator.get("/surveys").text


def test_a_survey_that_cannot_be_read_stops_the_server_before_it_starts(clinic):
    clinic.write_text(clinic.read_text() + '[server]\nsurveys = ["gone.toml"]\n')
    ran = here("serve", "-p", clinic, "--http-port", "0", "--pg-port", "0", cwd=clinic.parent)
    assert ran.code == 5
    assert ran.lines[-2].startswith("error: gone.toml: there is no such survey")


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ('surveys = "doping.toml"', "must be a list of files"),
        ('surveys = ["a.toml", "b/a.toml"]', "is there twice"),
        ('surveys = ["../é ü.toml"]', "cannot stand in an address"),
        ("survey_rate = -1", "survey_rate"),
        ("survey_rate = true", "survey_rate"),
    ],
)
def test_what_cannot_be_an_address_is_refused_with_its_line(clinic, said, why):
    with pytest.raises(PolicyError, match=why) as raised:
        parse_policy(clinic.read_text() + f"[server]\n{said}\n", clinic.parent)
    assert raised.value.message.startswith("tacit.toml:")
