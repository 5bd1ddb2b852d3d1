"""The owner's look at files of text, for a draft."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.engines import look_at_files, unfit_in
from tacit.errors import PolicyError
from tacit.faces.owner.drafting import draft_text
from tacit.policy import Dataset, TextFormat, parse_policy


def looked(base: Path, text: str | bytes, file: str = "t.csv") -> tuple[dict[str, str], TextFormat]:
    (base / file).write_bytes(text if isinstance(text, bytes) else text.encode())
    found = look_at_files(Dataset("d", {"t": file}, base=base))
    return dict(found.schema["t"]), found.formats["t"]


@pytest.mark.parametrize(
    ("cells", "kind", "form"),
    [
        (["1", "-2", ""], "BIGINT", {}),
        (["1", "2.5"], "DOUBLE", {}),
        (["007", "010"], "VARCHAR", {}),
        (["true", "no"], "BOOLEAN", {}),
        (["0", "1"], "BIGINT", {}),
        (["2020-01-31", "2020-02-01"], "DATE", {}),
        (["25/01/2020", "01/02/2020"], "DATE", {"date": "%d/%m/%Y"}),
        (["01/25/2020", "01/02/2020"], "DATE", {"date": "%m/%d/%Y"}),
        (["31.12.2020"], "DATE", {"date": "%d.%m.%Y"}),
        (["2020-01-31 10:00", "2020-01-31T10:00:00Z"], "TIMESTAMP", {}),
        (["31/01/2020 10:00:30"], "TIMESTAMP", {"timestamp": "%d/%m/%Y %H:%M:%S"}),
        (["9223372036854775808"], "DOUBLE", {}),
        (["x", "1"], "VARCHAR", {}),
        (["", ""], "VARCHAR", {}),
    ],
)
def test_the_type_that_every_cell_fits_is_proposed(tmp_path, cells, kind, form):
    schema, found = looked(tmp_path, "\n".join(["id,x", *(f"a,{cell}" for cell in cells), ""]))
    assert schema == {"id": "VARCHAR", "x": kind}
    assert found.plain() == form


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("a;b\n1,5;x\n", {"delimiter": ";", "decimal": ","}),
        ("a\tb\n1\tx\n", {"delimiter": "\t"}),
        ('a,b\n"x\ny",1\nz,2\n', {"newlines": True}),
        ("a,b\nZürich,1\n".encode("cp1252"), {"encoding": "windows-1252"}),
        ("a,b\nZürich,1\n".encode("utf-16"), {"encoding": "utf-16"}),
    ],
)
def test_the_dialect_that_every_line_fits_is_proposed(tmp_path, text, form):
    schema, found = looked(tmp_path, text)
    assert list(schema) == ["a", "b"]
    assert found.plain() == form


def test_json_is_one_list_or_one_object_a_line(tmp_path):
    assert looked(tmp_path, '[{"a": 1}, {"b": "x"}]', "t.json") == ({"a": "BIGINT", "b": "VARCHAR"}, TextFormat())
    assert looked(tmp_path, '{"a": 1}\n{"a": 1.5}\n', "t.json") == ({"a": "DOUBLE"}, TextFormat(lines=True))
    assert looked(tmp_path, '{"a": 1}\n{"a": 1.5}\n', "t.jsonl") == ({"a": "DOUBLE"}, TextFormat())


def test_the_draft_says_that_the_rows_were_looked_at_and_fits_them(tmp_path):
    (tmp_path / "t.csv").write_text("id;day\n7;25/01/2020\n8;01/02/2020\n")
    text = draft_text([str(tmp_path / "t.csv")], policy=tmp_path / "tacit.toml", name="d")
    assert "tacit looked at the rows" in text
    assert "no row was looked at" not in text
    filled = text.replace('epsilon = "?"', "epsilon = 3", 1).replace('unit = "?"', 'unit = "id"', 1)
    assert unfit_in(parse_policy(filled, tmp_path)) == []


def test_a_file_that_is_not_what_its_name_says_is_refused(tmp_path):
    with pytest.raises(PolicyError):
        looked(tmp_path, b"\x1f\x8b no gzip at all", "t.csv.gz")
