"""The card that shows how a pooler's files are fetched and by whom, and examples with its address filled in."""

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from core.accounts.access import Access, find, needs
from pools.config_files import deliveries
from pools.deployment import offers
from pools.forms.fetches import FilesTokenForm
from pools.inventory import fetches
from pools.inventory.fetches import FetchState
from pools.models import Pooler, Revision
from pools.poolers import KINDS

FOLDER = settings.SHARE_DIR / "docs" / "pull"
TOKEN_FILE = "~/pooldeck-token"  # noqa: S105 (the path of a file)
BADGES = {FetchState.VERIFIED: "applied", FetchState.PENDING: "pending"}  # labels of panel.state_labels


@dataclass(frozen=True)
class Example:
    """A file of docs/pull; `folder` is what it has for the pooler's config_dir, empty where FILES names it."""

    label: Promise
    folder: str


EXAMPLES: Mapping[str, Example] = {
    "pooldeck-fetch.sh": Example(_("A loop for a sidecar, a unit or a cron job, in sh and curl"), ""),
    "kubernetes.yaml": Example(_("Kubernetes: a ConfigMap, and a sidecar that fetches and reloads"), "/pooldeck"),
    "ansible.yml": Example(
        _("Ansible: a play that fetches, and reloads where files changed"), "/etc/pgbouncer/pooldeck"
    ),
}


def card_of(
    request: HttpRequest, pooler: Pooler, form: FilesTokenForm | None = None, made: str = ""
) -> dict[str, object]:
    """Return the context of the card; nothing where the panel writes the files. `made`: a new token, shown once."""
    if pooler.is_watched or deliveries.of(pooler).writes:
        return {}
    url = panel_url(request)
    card = {"command": command(url, pooler), "token_file": TOKEN_FILE, "examples": EXAMPLES, "made": made}
    form = form or FilesTokenForm(initial={"name": fetches.usual_name(pooler)})
    return {"fetch_card": card, "files_token_form": form, **_progress(request, pooler)}


def _progress(request: HttpRequest, pooler: Pooler) -> dict[str, object]:
    """Return the revision to have, and those that fetch to whom may see tokens."""
    revision = Revision.objects.wanted_on(pooler)
    if not Access.of(request).may("pooler.fetches", pooler):
        return {"wanted": revision}
    rows = [{"fetcher": one, "badge": BADGES.get(one.state, one.state)} for one in fetches.of(pooler)]
    return {"fetchers": rows, "wanted": revision}


def panel_url(request: HttpRequest) -> str:
    """Return the panel's address as its reader knows it, without a slash at its end."""
    return request.build_absolute_uri("/").rstrip("/")


def command(url: str, pooler: Pooler) -> str:
    """Return the commands that fetch the files where they changed, put them in place and reload the pooler.

    The token goes through standard input, since `ps` shows arguments. Root, who may reload the unit, gives the files to
    the owner of the folder, whose pooler could not read them otherwise. The ETag is noted last, so that whatever breaks
    off before has everything fetched again.
    """
    folder, address = shlex.quote(pooler.config_dir), shlex.quote(f"{url}{offers.path_of(pooler)}?as=tar")
    return f"""\
umask 077 && cd {folder} &&
printf 'Authorization: Bearer %s\\n' "$(cat {TOKEN_FILE})" |
  curl --fail --silent --show-error --header @- \\
    --etag-compare .etag --etag-save .etag-new --output .files.tar \\
    {address} &&
if [ -s .files.tar ]; then
  tar -x -f .files.tar && tar -t -f .files.tar | xargs chown --no-dereference --reference=. -- &&
    rm .files.tar && systemctl reload-or-restart {KINDS[pooler.kind].service} && mv .etag-new .etag
fi"""


@require_safe
@needs("pooler.view")
def pooler_fetches(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Render who fetched the files, which polls."""
    pooler = find(request, Pooler.objects.all(), pk=pk)
    return render(request, "pools/includes/fetchers.html", {"pooler": pooler, **_progress(request, pooler)})


@require_safe
@never_cache
@needs("pooler.view")
def fetch_example(request: HttpRequest, pk: UUID, name: str) -> HttpResponse:
    """Download an example with the panel's address, the pooler's id and its folder in their places."""
    pooler = find(request, Pooler.objects.all(), pk=pk)
    if name not in EXAMPLES or pooler.is_watched or deliveries.of(pooler).writes:
        raise Http404
    text = filled((FOLDER / name).read_text(), EXAMPLES[name].folder, panel_url(request), pooler)
    answer = HttpResponse(text, content_type="text/plain; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer


def filled(text: str, folder: str, url: str, pooler: Pooler) -> str:
    """Return an example's text for one pooler."""
    text = re.sub(r"(?<=poolers/)ID(?=/)|(?<=pooldeck_pooler: )ID$|(?<=\")ID(?=\")", str(pooler.pk), text, flags=re.M)
    if folder:
        text = _with_folder(text, folder, pooler)
    else:
        text = _with_defaults(text, POOLDECK_URL=url, POOLDECK_POOLER=str(pooler.pk), FILES=pooler.config_dir)
    return text.replace("https://pooldeck.example.com", url)


def _with_folder(text: str, folder: str, pooler: Pooler) -> str:
    """Return the text with the pooler's config_dir for `folder`, escaped within double quotes."""
    quoted = json.dumps(pooler.config_dir, ensure_ascii=False).removesuffix('"')  # YAML's escapes are those of JSON
    text = re.sub(rf'"{re.escape(folder)}(?=["/])', lambda _found: quoted, text)
    return re.sub(rf'(?<![\w."]){re.escape(folder)}(?![\w.-])', lambda _found: pooler.config_dir, text)


def _with_defaults(text: str, **values: str) -> str:
    """Return the text of a script with these values for variables that its environment does not set."""
    for name, value in values.items():
        text = text.replace(f"{name}=${{{name}-}}", f"{name}=${{{name}-{shlex.quote(value)}}}")
    return text
