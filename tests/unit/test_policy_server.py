"""The section [server] of a policy: what may be said of the doors, and that it promises nothing."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction

import pytest

from tacit.errors import PolicyError
from tacit.policy import ServerPolicy, parse_policy, policy_text

POLICY = """[dataset]
name = "clinic"
source = "clinic.duckdb"
{server}
[budget]
epsilon = 10
[tables.visits]
unit = "id"
"""


def policy_with(server=""):
    return parse_policy(POLICY.format(server=server))


def test_a_policy_that_says_nothing_is_served_on_this_machine_alone():
    server = policy_with().server
    assert (server.host, server.http_port, server.pg_port) == ("127.0.0.1", 8080, 5433)
    assert server.slot_ms is None
    assert server == ServerPolicy()


def test_what_is_said_is_read_written_back_and_promises_nothing():
    said = """[server]
host = "0.0.0.0"
http_port = 443
names = ["DP.example.org"]
certificate = "tls/cert.pem"
key = "tls/key.pem"
slot_ms = 250
connection_epsilon = "1/3"
idle = "5m"
"""
    policy = policy_with(said)
    assert policy.server.names == ("dp.example.org",)
    assert policy.server.connection_epsilon == Fraction(1, 3)
    assert policy.server.idle == timedelta(minutes=5)
    assert parse_policy(policy_text(policy)).server == policy.server
    assert policy.version == policy_with().version
    assert "[server]" not in policy_text(policy_with())


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("http_port = 65536", "must be a port"),
        ("pg_port = true", "must be a port"),
        ("pg_port = -1", "must be a port"),
        ("slot_ms = 0", "must be at least 1"),
        ("slot_ms = 0.5", "must be a whole number"),
        ("workers = 0", "must be at least 1"),
        ("workers = 257", "must be at most 256"),
        ("connection_epsilon = 0", "must be greater than zero"),
        ('names = "example.org"', "must be a list of names"),
        ('certificate = "cert.pem"', "a certificate and its key go together"),
        ('key = "key.pem"', "a certificate and its key go together"),
        ('idle = "soon"', "is not a span of time"),
        ('port = "8080"', "is not a key tacit knows"),
    ],
)
def test_what_means_nothing_is_refused_by_its_line(said, message):
    with pytest.raises(PolicyError, match=rf"tacit.toml:\d+: server.*{message}"):
        policy_with(f"[server]\n{said}")
