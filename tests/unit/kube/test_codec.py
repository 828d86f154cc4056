import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.kit.errors import UsageError
from kubedyno.kube import codec
from kubedyno.kube.codec import LineSplitter

pytestmark = pytest.mark.unit

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_objects_survive_the_wire(obj: codec.Object) -> None:
    assert codec.decode(codec.encode(obj)) == obj


@pytest.mark.parametrize("body", [b"", b"[]", b'"x"', b"null", b'{"a":', b"<html>"])
def test_what_is_no_object_is_a_value_error(body: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        codec.decode(body)


def test_frames_keep_the_object_encoded() -> None:
    frame = codec.decode_frame(b'{"type":"ADDED","object":{"a": 1}}')
    assert frame.type == "ADDED"
    assert isinstance(frame.object, msgspec.Raw)
    assert codec.decode(frame.object) == {"a": 1}
    with pytest.raises(ValueError, match="truncated"):
        codec.decode_frame(b'{"type":"ADDED","object":{"a"')


@given(st.lists(st.binary(max_size=6)), st.lists(st.integers(1, 5)))
def test_lines_do_not_depend_on_how_the_stream_is_cut(pieces: list[bytes], cuts: list[int]) -> None:
    stream = b"\n".join(pieces)
    expected = [line for line in stream.split(b"\n")[:-1] if line]
    splitter = LineSplitter()
    found: list[bytes] = []
    position = 0
    for cut in [*cuts, len(stream)]:
        found += splitter.feed(stream[position : position + cut])
        position += cut
    assert found == expected
    assert splitter.rest == stream.rsplit(b"\n", 1)[-1]


def test_yaml_of_several_documents() -> None:
    text = "# head\n---\na: 1\n---\n---\n# nothing\n---\nb: [x, 'y']\n...\n"
    assert codec.read_yaml(text, source="f") == [{"a": 1}, {"b": ["x", "y"]}]
    assert codec.read_yaml(b"", source="f") == []
    assert codec.read_yaml(b'{"json": true}', source="f") == [{"json": True}]


def test_yaml_gives_only_what_json_has() -> None:
    text = "day: 2026-01-02\nat: 2026-01-02T03:04:05Z\nbase: &b {x: 1}\nmore: {<<: *b, y: 2}"
    (document,) = codec.read_yaml(text, source="f")
    assert document["day"] == "2026-01-02"
    assert document["at"] == "2026-01-02T03:04:05Z"
    assert document["more"] == {"x": 1, "y": 2}
    codec.encode(document)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\nb: [", "f.yaml:3:1: did not find expected node content"),
        ("a: 1\n---\n- x", "f.yaml:3: a document must be a mapping with apiVersion and kind, not a list"),
        ("a: 1\nb:\n  c: 1\n  c: 2", "f.yaml:4:3: the key 'c' stands twice in one mapping"),
        ("a: 1\n2: x", "f.yaml:2:1: a key must be text: quote it"),
        ("a: !!python/object:os.system x", "f.yaml:1:4: could not determine a constructor for the tag"),
        ("a: *nowhere", "f.yaml:1:4: found undefined alias"),
        ("a: \x00", "f.yaml: the YAML cannot be read: "),
        (b"a: \xff", "f.yaml: the YAML cannot be read: "),
    ],
)
def test_yaml_errors_name_file_and_line(text: str | bytes, expected: str) -> None:
    with pytest.raises(UsageError) as caught:
        codec.read_yaml(text, source="f.yaml")
    assert str(caught.value).startswith(expected)
    assert "\n" not in str(caught.value)


@given(st.text() | st.binary())
def test_no_text_makes_yaml_fail_in_another_way(text: str | bytes) -> None:
    try:
        codec.read_yaml(text, source="f.yaml")
    except UsageError as error:
        assert str(error).startswith("f.yaml")  # noqa: PT017 - most texts are fine or wrong, never anything else
