"""Parsers of API request bodies."""

import json
from collections.abc import Mapping
from typing import IO, Any

from django.utils.translation import gettext as _
from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser

from core.lib.nesting import MOST_LEVELS, is_too_deep


class StorableJSONParser(JSONParser):
    """JSON that can be stored: without lone surrogates, and nested at most `MOST_LEVELS` deep."""

    def parse(
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Parse the body; 400 where it is not JSON, holds a lone surrogate or is nested too deep."""
        try:
            parsed = super().parse(stream, media_type, parser_context)
        except RecursionError as error:
            raise _too_deep() from error
        if is_too_deep(parsed):
            raise _too_deep()
        try:
            json.dumps(parsed, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise ParseError(
                _("the body holds half a surrogate pair (\\ud800 to \\udfff), which is not text")
            ) from error
        return parsed


def _too_deep() -> ParseError:
    return ParseError(_("the body is nested deeper than %(levels)d levels: flatten it") % {"levels": MOST_LEVELS})
