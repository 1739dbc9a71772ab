"""`script/pooldeck`: pools, connection URIs, runs and comparisons from a shell or a CI job, over the REST API.

This folder needs Python 3.11 and click only, and imports nothing of the panel, so it can be copied to another host:
`python3 command_line --help`. Its imports are relative, since it has another name there.
Exit codes: 0 done, 1 a gate failed (`run`, `compare`), 2 wrong usage or an error of the API; `api` tells errors apart.
"""

import click

from .api import api, login
from .pools import pools, uri
from .runs import compare, run


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def pooldeck() -> None:
    """Work with a Pooldeck panel: its pools, their connection URIs, runs and comparisons, and all else by `api`."""


for command in (login, pools, uri, run, compare, api):
    pooldeck.add_command(command)
