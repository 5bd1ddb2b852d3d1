"""pure-ldp at the same work, run by a Python of its own: prints CPU seconds as JSON."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np


def main(people: int, values: int, epsilon: float) -> None:
    from pure_ldp.frequency_oracles.apple_cms import CMSClient, CMSServer
    from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
    from pure_ldp.frequency_oracles.hadamard_mechanism import HadamardMechClient, HadamardMechServer
    from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer
    from pure_ldp.frequency_oracles.rappor import RAPPORClient, RAPPORServer
    from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

    data = np.random.default_rng(0).zipf(1.5, people) % values

    def same(value: int) -> int:
        return value

    def unary(*, optimised: bool) -> tuple[Any, Any]:
        options = {"use_oue": optimised, "index_mapper": same}
        return UEClient(epsilon, values, **options), UEServer(epsilon, values, **options)

    def local_hash() -> tuple[Any, Any]:
        options = {"use_olh": True, "index_mapper": same}
        return LHClient(epsilon, values, **options), LHServer(epsilon, values, **options)

    def hadamard() -> tuple[Any, Any]:
        return (
            HadamardMechClient(epsilon, values, 1, index_mapper=same),
            HadamardMechServer(epsilon, values, 1, index_mapper=same),
        )

    def sketch(*, coded: bool) -> tuple[Any, Any]:
        server = CMSServer(epsilon, 64, 256, is_hadamard=coded, index_mapper=same)
        return CMSClient(epsilon, server.get_hash_funcs(), 256, is_hadamard=coded), server

    def rappor() -> tuple[Any, Any]:
        server = RAPPORServer(0.5, 32, 1, 100, num_of_cohorts=64, index_mapper=same)
        return RAPPORClient(0.5, 32, server.get_hash_funcs(), num_of_cohorts=64, index_mapper=same), server

    makers: dict[str, Callable[[], tuple[Any, Any]]] = {
        "direct": lambda: (DEClient(epsilon, values, same), DEServer(epsilon, values, same)),
        "unary, optimised": lambda: unary(optimised=True),
        "unary, symmetric": lambda: unary(optimised=False),
        "local hash": local_hash,
        "Hadamard": hadamard,
        "count-mean sketch": lambda: sketch(coded=False),
        "Hadamard sketch": lambda: sketch(coded=True),
        "RAPPOR": rappor,
    }
    print(
        json.dumps(
            {name: _timed(make, data, known=100 if name == "RAPPOR" else values) for name, make in makers.items()}
        )
    )


def _timed(make: Callable[[], tuple[Any, Any]], data: Any, *, known: int) -> float | str:
    """CPU seconds; or what went wrong, which is theirs."""
    try:
        client, server = make()
        start = time.process_time()
        for value in data % known:
            server.aggregate(client.privatise(int(value)))
        if known > 100:  # RAPPOR's regression takes as long for few people as for many
            server.estimate_all(range(known), suppress_warnings=True)
        return time.process_time() - start
    except Exception as error:  # say so and go on
        return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
