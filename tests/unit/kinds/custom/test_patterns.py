"""Go's regular expressions in Python."""

import pytest

from kubedyno.kinds.custom.patterns import compiled, problem

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("^a+$", "aaa", True),
        ("^a+$", "aaa\n", False),
        (r"^a\z", "a", True),
        ("b", "abc", True),
        ("^[[:alpha:]]+$", "abc", True),
        ("^[[:alpha:]_]+$", "ab1", False),
        (r"^\d+$", "٣", False),
        ("^x{,3}$", "x{,3}", True),
        ("(?<name>a)b", "ab", True),
        ("^[a$]+$", "a$", True),
        ("(?i)^abc$", "ABC", True),
    ],
)
def test_the_same_texts_match(pattern: str, text: str, matches: bool) -> None:
    expression = compiled(pattern)
    assert expression is not None
    assert (expression.search(text) is not None) == matches


def test_what_python_cannot_say_is_not_checked() -> None:
    assert problem(r"^\p{Greek}+$") == ""
    assert compiled(r"^\p{Greek}+$") is None


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        ("[a", "missing closing ]: `[a`"),
        ("(a", "missing closing ): `(a`"),
        ("(?:a", "missing closing ): `(?:a`"),
        ("a)", "unexpected ): `a)`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a++", "invalid nested repetition operator: `++`"),
        ("a{2,1}", "invalid repeat count: `{2,1}`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?<=a)", "invalid named capture: `(?<=a)`"),
        (r"\1", r"invalid escape sequence: `\1`"),
        (r"\Z", r"invalid escape sequence: `\Z`"),
        ("a\\", "trailing backslash at end of expression: ``"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("(?x)a", "invalid or unsupported Perl syntax: `(?x`"),
    ],
)
def test_what_go_refuses_is_refused_in_its_words(pattern: str, told: str) -> None:
    assert problem(pattern) == f"error parsing regexp: {told}"


@pytest.mark.parametrize(
    "pattern", ["", "^$", "a*?", "a{2}?", "(|a)*", "[]a]", "(?P<n>a)", "(?i)a", r"[\d\-]", "(?:a|b)+"]
)
def test_what_go_takes_is_taken(pattern: str) -> None:
    assert problem(pattern) == ""
