"""The keywords that overloads and methods of frames take are those of the functions, in the same form."""

from __future__ import annotations

from inspect import Parameter, signature

import pytest

import dpsel
from dpsel.typing import SelectOptions, TopKOptions

OPTIONS = {"select_partitions": SelectOptions, "select_top_k": TopKOptions}


@pytest.mark.parametrize("name", OPTIONS)
def test_the_options_of_overloads_are_the_keywords_of_the_function(name) -> None:
    options = OPTIONS[name].__annotations__
    keywords = {
        key: each for key, each in signature(getattr(dpsel, name)).parameters.items() if key != "data"
    }
    assert list(options) == list(keywords)
    for key, each in keywords.items():
        assert each.kind is Parameter.KEYWORD_ONLY
        wanted = f"Required[{each.annotation}]" if each.default is Parameter.empty else each.annotation
        assert options[key].__forward_arg__ == wanted
