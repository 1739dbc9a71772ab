"""How the bodies of API requests are read."""

import json
from typing import Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser


class StorableJSONParser(JSONParser):
    """JSON whose texts have bytes: half a surrogate pair could be neither kept nor repeated in an answer."""

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        """The body; 400 where it is no JSON or holds such a half."""
        parsed = super().parse(stream, media_type, parser_context)
        try:
            json.dumps(parsed, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise ParseError("the body holds half a surrogate pair (\\ud800 to \\udfff): no text has that") from error
        return parsed
