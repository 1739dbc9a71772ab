"""Long texts made short, as the files of ten thousand pools that are much alike, and made whole again.

By zstd, which is ten times as quick here as zlib at its quickest, and smaller; what zlib packed earlier is still read.
"""

import sys
import zlib

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

FAST = 1  # of its levels
MAGIC = b"\x28\xb5\x2f\xfd"  # with which each of its frames begins (RFC 8878)


def packed(text: str) -> bytes:
    """The text in about a tenth of its bytes."""
    return zstd.compress(text.encode(), FAST)


def unpacked(data: bytes) -> str:
    """The reverse, of what zlib packed too."""
    return (zstd.decompress(data) if data.startswith(MAGIC) else zlib.decompress(data)).decode()
