"""Text between double quotes as Python, Go, JavaScript and YAML all read it, shared by the formats in their words."""

import json


def quoted(text: str) -> str:
    """JSON's quotes and escapes, and `\\uXXXX` for what doesn't show.

    YAML takes no unprintable characters as they are, Go no byte order mark; beyond U+FFFF all four take any, but
    have no escape in common.
    """
    json_text = json.dumps(text, ensure_ascii=False)
    return "".join(char if char.isprintable() or char > "\uffff" else f"\\u{ord(char):04x}" for char in json_text)
