"""The files that a pooler shall have, for programs that fetch them: as JSON and as tar, alike for alike contents."""

import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pools.config_files import deliveries
from pools.models import Pooler, Revision
from pools.poolers import KINDS

MODE = 0o600  # the mode of each file in a tar: all may hold secrets
SINCE = 0  # their time, the same whenever they are fetched


@dataclass(frozen=True)
class WantedFiles:
    """The files by name, secrets in clear, and the revision that they are of; None before the first."""

    revision: Revision | None
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
    """Return the files of the revision that is offered, else of the live one. Raises `IllegalTransition`.

    Before the first there are none; where they are fetched, those with which a pooler can start.
    """
    pooler.require_managed()
    revision, kind = Revision.objects.wanted_on(pooler), KINDS[pooler.kind]
    if deliveries.of(pooler).writes:
        return WantedFiles(revision, revision.files if revision else {})
    texts = revision.files if revision else kind.first_texts(pooler)
    return WantedFiles(revision, {kind.fetched_names.get(name, name): text for name, text in texts.items()})


def etag(body: bytes) -> str:
    """Return a strong entity tag of these bytes (RFC 9110, 8.8.3)."""
    return f'"{hashlib.sha256(body).hexdigest()}"'
