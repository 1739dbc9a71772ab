"""How the bodies of API requests are read."""

import json
from typing import Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser

MOST_LEVELS = 32
TOO_DEEP = f"the body is nested deeper than {MOST_LEVELS} levels: nothing here needs that"


class StorableJSONParser(JSONParser):
    """JSON that can be kept and repeated in an answer: without half a surrogate pair, and of at most `MOST_LEVELS`."""

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        """The body; 400 where it is no JSON, holds such a half or is nested deeper."""
        try:
            parsed = super().parse(stream, media_type, parser_context)
        except RecursionError as error:
            raise ParseError(TOO_DEEP) from error
        if depth_exceeds(parsed, MOST_LEVELS):
            raise ParseError(TOO_DEEP)
        try:
            json.dumps(parsed, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise ParseError("the body holds half a surrogate pair (\\ud800 to \\udfff): no text has that") from error
        return parsed


def depth_exceeds(parsed: Any, levels: int) -> bool:
    """Whether lists and objects stand in each other deeper than that; walks level by level, without recursion."""
    level = [parsed]
    for _ in range(levels + 1):
        level = [
            value
            for one in level
            if isinstance(one, list | dict)
            for value in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return False
    return True
