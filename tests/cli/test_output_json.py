"""Values as JSON, as the asking verbs print them."""

from __future__ import annotations

import pytest

from tenax.cli.output import print_json, to_json


@pytest.mark.parametrize(
    "value",
    [
        {}, [], [[]], [{}], {"a": {}}, [1, {"a": [2]}],
        {"a": 1, "b": [1, {"c": "x\n\u200b"}], "d": [], "é\u200b": {"x": {"y": None}}},
        [{"long": "a\u200b漢" * 20_000}],
    ],
)  # fmt: skip
def test_it_is_printed_in_pieces_as_it_is_whole(
    value: dict[str, object] | list[object], capsys: pytest.CaptureFixture[str]
) -> None:
    print_json(value)
    assert capsys.readouterr().out == to_json(value) + "\n"
