"""How the commands of a page are found, run and compared with what the page shows."""

import os
from pathlib import Path

import pytest

from tests.docs_blocks import OWN_VALUES, Block, blocks, own_values
from tests.live.docs import shell
from tests.live.docs.shell import matches

ENVIRONMENT = {"PATH": os.environ["PATH"]}
DOCUMENT = """# A page

<!-- not run: your own values -->
```sh
export POOLDECK_URL=https://example.org   # yours
```

1. A step:

   ```sh
   echo "$POOLDECK_URL" | sed s/https/http/
   cat <<END
     two
   END
   ```

   ```console
   http://…
   …
   ```

<!-- not run: it needs a cluster -->
```sh
false
```
"""


def test_blocks_are_found_with_their_lines_and_reasons() -> None:
    assert blocks(DOCUMENT) == [
        Block(4, "sh", "export POOLDECK_URL=https://example.org   # yours\n", "your own values"),
        Block(10, "sh", 'echo "$POOLDECK_URL" | sed s/https/http/\ncat <<END\n  two\nEND\n', ""),
        Block(17, "console", "http://…\n…\n", ""),
        Block(23, "sh", "false\n", "it needs a cluster"),
    ]


def test_variables_that_readers_set_are_named() -> None:
    assert own_values(blocks(DOCUMENT)) == {"POOLDECK_URL"}


def test_a_block_of_own_values_holds_nothing_else() -> None:
    with pytest.raises(AssertionError, match="rm -r"):
        own_values([Block(1, "sh", "rm -r /\n", OWN_VALUES)])


def test_blocks_are_run_in_one_shell(tmp_path: Path) -> None:
    found = [
        Block(1, "sh", "read=1\n", ""),
        Block(2, "sh", 'echo "read $read"\n', ""),
        Block(3, "console", "read 1\n", ""),
    ]
    assert shell.run(found, ENVIRONMENT, tmp_path) == []


def test_a_failure_within_a_block_is_told_with_its_line(tmp_path: Path) -> None:
    found = [Block(4, "sh", "true\n", ""), Block(8, "sh", "echo begun; false | cat\necho no\n", "")]
    (fault,) = shell.run(found, ENVIRONMENT, tmp_path)
    assert fault == "line 8: exit code 1:\nbegun\n"


def test_a_variable_that_no_reader_was_told_of_is_a_failure(tmp_path: Path) -> None:
    (fault,) = shell.run([Block(2, "sh", "echo $POOLDECK_URL\n", "")], ENVIRONMENT, tmp_path)
    assert "POOLDECK_URL: unbound variable" in fault


def test_other_output_than_the_document_shows_is_told(tmp_path: Path) -> None:
    found = [Block(2, "sh", "echo two\n", ""), Block(5, "console", "one\n", "")]
    assert shell.run(found, ENVIRONMENT, tmp_path) == ["line 5: printed was\ntwo\n"]


@pytest.mark.parametrize(
    ("expected", "text", "is_same"),
    [
        ("POOL  STATE\napp  applied\n", "POOL     STATE\napp      applied\n", True),
        ("app … applied\n", "app 12 of 15 applied\n", True),
        ("…\nlast\n", "one\ntwo\nlast\n", True),
        ("…\nlast\n", "last\n", True),
        ("one\n", "one\ntwo\n", False),
        ("a.c\n", "abc\n", False),
    ],
)
def test_a_wildcard_stands_for_words_or_lines(expected: str, text: str, is_same: bool) -> None:
    assert matches(expected, text) is is_same
