"""Commands about the API itself: a login to it, and any request."""

import json
import sys
from pathlib import Path
from typing import IO

import click

from .client import Api, ApiError, Login, team_named
from .output import print_json

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


class RefusedError(ApiError):
    """The panel answers with a status of 4xx: the request has to change."""

    exit_code = 4


class ServerError(ApiError):
    """The panel, or a proxy before it, answers with a status of 5xx: the same request may do later."""

    exit_code = 5


BY_STATUS: dict[int, type[ApiError]] = {4: RefusedError, 5: ServerError}


@click.command()
@click.argument("url")
@click.option("--cacert", type=click.Path(exists=True, dir_okay=False), help="The certificate authority to trust.")
@click.option("--token-stdin", is_flag=True, help="Read the token from standard input instead of asking for it.")
def login(url: str, cacert: str | None, token_stdin: bool) -> None:
    """Check an API token with the panel at URL, and store both for the other commands."""
    token = sys.stdin.readline().strip() if token_stdin else click.prompt("API token", hide_input=True)
    found = Login(url, token, str(Path(cacert).resolve()) if cacert else "")
    Api(found).get("clusters/", page_size=1)
    click.echo(f"Logged in to {url}; stored in {found.write()}.")


@click.command()
@click.argument("method", type=click.Choice(METHODS, case_sensitive=False), metavar="METHOD")
@click.argument("path")
@click.option(
    "-d", "--data", metavar="JSON", help="The request's body. Other users can see it in the list of processes."
)
@click.option("-f", "--file", type=click.File("rb"), help="A file with the request's body; - is standard input.")
@click.option(
    "--team", default="", help="The team (name or id) that what is made belongs to, or whose rows are listed."
)
@click.option("--reason", default="", help="Why, in one sentence for the audit trail, as for a DELETE.")
def api(method: str, path: str, data: str | None, file: IO[bytes] | None, team: str, reason: str) -> None:
    """Send a request to PATH below /api/v1/, and print the answer.

    With --team the body's field `team` is the id of that team; in a GET it filters the list.

    A PATH that begins with / is one of the panel, such as /healthz/ready. The exit code is 0 for an answer with a
    status of 2xx, 2 for wrong usage or no answer, 4 where the panel refuses (4xx), and 5 where it fails or is too busy
    (5xx); the reason is printed to standard error.
    """
    body = _body(data, file)
    panel = Api(Login.read())
    try:
        if team:
            path, body = _of_team(method, path, body, team_named(panel, team)["id"])
        answer = panel.send(method, path, body, reason)
    except ApiError as error:
        raise BY_STATUS.get(error.status // 100, ApiError)(error.message) from None
    _print(answer)


def _body(data: str | None, file: IO[bytes] | None) -> bytes | None:
    """Return the body as it was given; what is no JSON never reaches the panel."""
    if data is not None and file is not None:
        raise click.UsageError("the body comes from --data or from --file, not from both")
    if file is None and data is None:
        return None
    body = file.read() if file else (data or "").encode()
    try:
        json.loads(body)
    except ValueError as error:
        raise click.UsageError(f"the body is not JSON: {error}") from None
    return body


def _of_team(method: str, path: str, body: bytes | None, team: str) -> tuple[str, bytes | None]:
    """Return the path with the filter, or the body with the field."""
    if method == "GET":
        return f"{path}{'&' if '?' in path else '?'}team={team}", body
    fields = json.loads(body or b"{}")
    if not isinstance(fields, dict):
        raise click.UsageError("--team needs a body that is a JSON object")
    return path, json.dumps({**fields, "team": team}).encode()


def _print(answer: bytes) -> None:
    """Print JSON with indentation, and anything else, such as CSV, as it came."""
    try:
        print_json(json.loads(answer))
    except ValueError:
        click.echo(answer, nl=False)
