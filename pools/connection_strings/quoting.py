"""Text in double quotes that Python, Go, JavaScript and YAML all read alike."""

import json


def quoted(text: str) -> str:
    """Return the text with JSON's quotes and escapes, and `\\uXXXX` for unprintable characters.

    YAML accepts no raw unprintable characters, Go no byte order mark; beyond U+FFFF all four accept any, but
    have no escape in common.
    """
    json_text = json.dumps(text, ensure_ascii=False)
    return "".join(char if char.isprintable() or char > "\uffff" else f"\\u{ord(char):04x}" for char in json_text)
