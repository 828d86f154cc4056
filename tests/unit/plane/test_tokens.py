import csv
import stat
from pathlib import Path

import pytest

from kubedyno.plane import tokens
from kubedyno.plane.identities import Identity

pytestmark = pytest.mark.unit


def test_each_identity_has_a_token_of_its_own_in_the_api_servers_format(tmp_path: Path) -> None:
    path = tmp_path / "tokens.csv"
    shown = tokens.create(
        path,
        (
            Identity(name="admin", user="kubedyno", groups=("system:masters", "testers")),
            Identity(name="binder", user="system:serviceaccount:kai:binder"),
        ),
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(csv.reader(path.read_text().splitlines())) == [
        [shown["admin"], "kubedyno", "admin", "system:masters,testers"],
        [shown["binder"], "system:serviceaccount:kai:binder", "binder", ""],
    ]
    assert len(set(shown.values())) == len(shown)


def test_what_was_written_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "tokens.csv"
    shown = tokens.create(path, (Identity(name="a", user="u", groups=("g", "h")), Identity(name="b", user="v")))
    assert tokens.read(path) == shown
