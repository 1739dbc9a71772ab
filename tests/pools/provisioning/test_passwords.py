"""Passwords that the panel makes; that they reach no server log: tests/live/pools/provisioning/test_roles.py."""

import re
from urllib.parse import quote

from pools.models import identifiers
from pools.provisioning import passwords


def test_a_password_is_random_and_stands_anywhere_as_it_is():
    made = {passwords.generate() for _ in range(200)}
    assert len(made) == 200
    assert {password for password in made if not re.fullmatch(r"[A-Za-z0-9]{32}", password)} == set()
    assert {password for password in made if quote(password, safe="") != password} == set()
    assert {identifiers.password_problem(password) for password in made} == {""}


def test_no_character_is_rarer_than_chance():
    text = "".join(passwords.generate() for _ in range(500))
    counts = [text.count(character) for character in passwords.ALPHABET]
    assert min(counts) > len(text) / len(counts) / 2
