"""YAML as the real API server reads it: values and words are its own."""

import subprocess
import sys
from typing import Any

import pytest

from kubedyno.kube import goyaml
from kubedyno.kube.nesting import MAX_DEPTH

pytestmark = pytest.mark.unit

VALUES: list[tuple[bytes, Any]] = [
    (b"", None),
    (b"a: b", {"a": "b"}),
    (b"{b: 1, a: [x, ~, null, '']}", {"a": ["x", None, None, ""], "b": 1}),
    (b"[y, N, on, OFF, True, 'yes']", [True, False, True, False, True, "yes"]),
    (b"[1, -5, +5, 0x1F, 0o17, 017, 0b11, 09, 1_000]", [1, -5, 5, 31, 15, 15, 3, 9.0, 1000]),
    (b"[1.5, .5, 1e3, 1., 1e999]", [1.5, 0.5, 1000.0, 1.0, "1e999"]),
    (b"[18446744073709551615, 18446744073709551616]", [18446744073709551615, 18446744073709551616.0]),
    (b"[2026-01-01, 1:30, '5', !!str 5, !!int '5', !!float 5]", ["2026-01-01", "1:30", "5", "5", 5, 5.0]),
    (b"[!!binary aGk=, !foo b, !!timestamp 2026-01-01, =]", ["hi", "b", "2026-01-01", "="]),
    (b"{1: a, true: b, 1.5: c, 0x10: d}", {"1": "a", "1.5": "c", "16": "d", "true": "b"}),
    (b"!!set {a, b}", {"a": None, "b": None}),
    (b"a: &x {b: c}\nd: *x\n", {"a": {"b": "c"}, "d": {"b": "c"}}),
    (b"a: &x {b: c, d: e}\nf: {<<: *x, b: g}\n", {"a": {"b": "c", "d": "e"}, "f": {"b": "g", "d": "e"}}),
    (b"{<<: [{a: 1}, {a: 2, b: 3}]}", {"a": 1, "b": 3}),
    (b"a: b\n---\nc: [", {"a": "b"}),
]


@pytest.mark.parametrize(("text", "value"), VALUES, ids=str)
def test_a_document_is_read_as_json(text: bytes, value: Any) -> None:
    assert goyaml.read(text) == (value, ())


def test_what_an_alias_repeats_is_a_copy() -> None:
    value, _ = goyaml.read(b"a: &x {b: [c]}\nd: *x\n")
    value["a"]["b"].append("more")
    assert value["d"] == {"b": ["c"]}


def test_keys_that_stand_twice_are_told_and_the_last_counts() -> None:
    assert goyaml.read(b"a: 1\nb: {c: 1, c: 2}\ny: 1\ny: 2\n") == (
        {"a": 1, "b": {"c": 2}, "true": 2},
        ('line 2: key "c" already set in map', "line 4: key true already set in map"),
    )


BOMB = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
    b"%c: &%c [%s]\n" % (98 + level, 98 + level, b",".join([b"*%c" % (97 + level)] * 9)) for level in range(9)
)
REFUSED = [
    (b"a:\n\tb: c", "yaml: line 2: found character that cannot start any token"),
    (b"a: \0", "yaml: control characters are not allowed"),
    (b"\xff", "yaml: invalid leading UTF-8 octet"),
    (b"a: *x", "yaml: unknown anchor 'x' referenced"),
    (b"a: &x [*x]", "yaml: anchor 'x' value contains itself"),
    (b"{<<: 5}", "yaml: map merge requires map or sequence of maps as the value"),
    (b"{~: x}", 'unsupported map key of type: %!s(<nil>), key: <nil>, value: "x"'),
    (b".inf", "json: unsupported value: +Inf"),
    (b"-.INF", "json: unsupported value: -Inf"),
    (b".NaN", "json: unsupported value: NaN"),
    (b"!!int x", "yaml: cannot decode !!str `x` as a !!int"),
    (BOMB, "yaml: document contains excessive aliasing"),
    (b"a: &a " + b"x" * 100_000 + b"\nb: [" + b"*a," * 50 + b"]", "yaml: document contains excessive aliasing"),
]


@pytest.mark.parametrize(("text", "problem"), REFUSED, ids=lambda value: str(value)[:40])
def test_what_cannot_be_read_is_told_in_gos_words(text: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=r".") as refused:
        goyaml.read(text)
    assert str(refused.value) == problem


def test_no_document_is_so_deep_that_it_ends_the_process() -> None:
    # In a process of its own: where it is not refused, the stack of the C library ends.
    program = (
        "from kubedyno.kube import goyaml\n"
        "for text in (b'- ' * 10**6, b'[' * 10**6, b'{a: ' * 10**5, b'? ' * 10**6):\n"
        "    try:\n"
        "        goyaml.read(text)\n"
        "    except ValueError as error:\n"
        "        print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["yaml: exceeded max depth of 10000"] * 4


def test_what_is_nested_as_deep_as_may_be_is_read() -> None:
    value, _ = goyaml.read(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)
    depth = 0
    while value is not None:
        value, depth = (value[0] if value else None), depth + 1
    assert depth == MAX_DEPTH
