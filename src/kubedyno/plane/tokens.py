"""Bearer tokens of one lab: what its kubeconfigs show.

The API server verifies a client certificate anew with every request, a fifth of its CPU under load; a token it looks
up.
"""

import csv
import io
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

from kubedyno.kit.durable import write_atomic
from kubedyno.plane.identities import Identity


def new_token() -> str:
    """A token that nobody guesses."""
    return secrets.token_urlsafe(32)


def create(path: Path, identities: Sequence[Identity]) -> Mapping[str, str]:
    """Make a token for each identity and write them as the API server's `--token-auth-file` (0600); by identity."""
    tokens = {identity.name: new_token() for identity in identities}
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    for identity in identities:
        rows.writerow((tokens[identity.name], identity.user, identity.name, ",".join(identity.groups)))
    write_atomic(path, text.getvalue(), mode=0o600)
    return tokens


def read(path: Path) -> dict[str, str]:
    """The tokens of a file that `create` wrote, by identity."""
    with path.open(newline="") as file:
        return {row[2]: row[0] for row in csv.reader(file)}
