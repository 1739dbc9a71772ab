"""Quoted text reads the same in every language that takes it."""

import ast
import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pools.connection_strings.quoting import quoted


@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_python_json_and_yaml_read_the_text_back(text):
    read = quoted(text)
    assert (ast.literal_eval(read), json.loads(read), yaml.safe_load(read)) == (text, text, text)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("plain", '"plain"'),
        ('a"b\\c', r'"a\"b\\c"'),
        ("пароль 日本 😀", '"пароль 日本 😀"'),
        ("\x00\x7f\x85\u2028\ufeff\u202e", r'"\u0000\u007f\u0085\u2028\ufeff\u202e"'),
    ],
)
def test_what_does_not_show_is_escaped_and_the_rest_stays_readable(text, read):
    assert quoted(text) == read
