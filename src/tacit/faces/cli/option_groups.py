"""Options that go together: declared once as a dataclass, and spelt out in every command that takes one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, get_type_hints


def spelt_out(run: Callable[..., None]) -> Callable[..., None]:
    """A command as the command line reads it: where a parameter is a dataclass, the fields of it are the options."""
    parameters = inspect.signature(run, eval_str=True).parameters
    groups: dict[str, Any] = {
        name: each.annotation for name, each in parameters.items() if is_dataclass(each.annotation)
    }
    if not groups:
        return run

    @functools.wraps(run)
    def gathered(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{each.name: given.pop(each.name) for each in fields(group)})
        run(**given)

    options: list[inspect.Parameter] = []
    for name, parameter in parameters.items():
        options.extend(_options(groups[name]) if name in groups else [parameter])
    gathered.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]  # read by whoever inspects it
    gathered.__annotations__ = {each.name: each.annotation for each in options}
    return gathered


def _options(group: Any) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    for each in fields(group):
        yield inspect.Parameter(
            each.name, inspect.Parameter.KEYWORD_ONLY, default=_default(each), annotation=hints[each.name]
        )


def _default(option: Field[Any]) -> Any:
    return inspect.Parameter.empty if option.default is MISSING else option.default
