"""The files that a pooler shall have, for programs that fetch them: as JSON and as tar, alike for alike contents."""

import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pools.models import Pooler, Revision

MODE = 0o600  # of each file in a tar: all may hold secrets
SINCE = 0  # their time, the same whenever they are fetched


@dataclass(frozen=True)
class WantedFiles:
    """The files by name, and the number of the revision that they are of; None before the first."""

    revision: int | None
    texts: Mapping[str, str]

    def as_json(self) -> bytes:
        """Return `{files: [{name, content}]}`; bytes that are not UTF-8 come as lone surrogates, as Python has them."""
        files = [{"name": name, "content": text} for name, text in sorted(self.texts.items())]
        return json.dumps({"files": files}).encode()

    def as_tar(self) -> bytes:
        """Return a tar in the POSIX format, which holds nothing but the files: no owner, no folder, and one time."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for name, text in sorted(self.texts.items()):
                content = text.encode(errors="surrogateescape")
                member = tarfile.TarInfo(name)
                member.size, member.mode, member.mtime = len(content), MODE, SINCE
                tar.addfile(member, io.BytesIO(content))
        return packed.getvalue()


MAKERS: Mapping[str, tuple[str, Callable[[WantedFiles], bytes]]] = {
    "json": ("application/json", WantedFiles.as_json),
    "tar": ("application/x-tar", WantedFiles.as_tar),
}


def of(pooler: Pooler) -> WantedFiles:
    """Return the files of the live revision, secrets in clear; none before the first. Raises `IllegalTransition`."""
    pooler.require_managed()
    last = Revision.objects.live_on(pooler)
    return WantedFiles(last.number, last.files) if last else WantedFiles(None, {})


def etag(body: bytes) -> str:
    """Return a strong entity tag of these bytes (RFC 9110, 8.8.3)."""
    return f'"{hashlib.sha256(body).hexdigest()}"'
