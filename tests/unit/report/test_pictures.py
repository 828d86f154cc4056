import io
import re
import xml.etree.ElementTree as ET

import msgspec
import numpy as np
import pytest
from matplotlib.text import Text
from PIL import Image
from tests.submissions import CALM, NS_PER_S, TROUBLED, Troubles, make_up

from kubedyno.model.samples import SampledFile
from kubedyno.model.submissions import SubmittedFile
from kubedyno.report import figures, pages
from kubedyno.report.captions import Captions, captions
from kubedyno.report.choosing import choose
from kubedyno.report.rows import Row, rows
from kubedyno.report.ways import join

pytestmark = pytest.mark.unit

SUBMISSIONS = {
    "one": make_up(1),
    "few, in order": make_up(20),
    "few gangs in trouble": make_up(20, workload_type="distributed", workers=7, troubles=TROUBLED, pvc=True),
    "many in trouble": make_up(2_500, troubles=TROUBLED),
    "all coarse": make_up(400, troubles=Troubles(coarse=1.0)),
}


def prepared(
    files: tuple[SubmittedFile, SampledFile], plot: str, *, skip_errors: bool, resolution_ns: int = 1_000
) -> tuple[tuple[Row, ...], Captions]:
    submitted, sampled = files
    ways = join(submitted, sampled, resolution_ns=resolution_ns)
    steps = sampled.general if plot == "general" else sampled.detailed
    chosen = choose(ways, steps, skip_errors=skip_errors)
    return rows(chosen), captions(submitted, sampled, ways, chosen, skip_errors=skip_errors)


@pytest.mark.parametrize(
    ("name", "plot", "skip_errors"),
    [*((name, "detailed", False) for name in SUBMISSIONS), ("few, in order", "general", True)],
)
def test_all_text_is_on_the_page_and_none_lies_on_another(name: str, plot: str, skip_errors: bool) -> None:
    made, words = prepared(SUBMISSIONS[name], plot, skip_errors=skip_errors)
    with figures.styled():
        figure = figures.figure(made, words)
        figure.draw_without_rendering()
        width, height = figure.canvas.get_width_height()
        shown = [
            (text.get_text(), text.get_window_extent().padded(-0.5))
            for text in figure.findobj(match=Text)
            if text.get_text() and text.get_visible()
        ]
    assert len(shown) > 50
    for text, box in shown:
        assert 0 <= box.x0 <= box.x1 <= width, text
        assert 0 <= box.y0 <= box.y1 <= height, text
    overlapping = [
        (one, other)
        for index, (one, box) in enumerate(shown)
        for other, another in shown[index + 1 :]
        if box.overlaps(another)
    ]
    assert overlapping == []


def test_long_words_get_smaller_and_stay_on_the_page() -> None:
    made, words = prepared(SUBMISSIONS["few, in order"], "general", skip_errors=True)
    long = Captions(title="W" + words.title * 5, subtitle="m " * 150, trust=words.trust * 4, origin=words.origin * 6)
    with figures.styled():
        figure = figures.figure(made, long)
        figure.draw_without_rendering()
        width, _ = figure.canvas.get_width_height()
        assert max(text.get_window_extent().x1 for text in figure.texts) <= width


@pytest.mark.parametrize("form", ["png", "svg"])
def test_the_same_rows_give_the_same_bytes(form: figures.Format) -> None:
    first, second = (
        figures.draw(*prepared(make_up(2_100, troubles=TROUBLED), "general", skip_errors=False), form) for _ in range(2)
    )
    assert first == second


def test_six_rows_are_a_slide_and_more_make_it_longer() -> None:
    general, detailed = (
        Image.open(io.BytesIO(figures.draw(*prepared(make_up(30, troubles=CALM), plot, skip_errors=True), "png")))
        for plot in ("general", "detailed")
    )
    assert general.size == (1920, 1080)
    assert detailed.size[0] == 1920
    assert detailed.size[1] > 1500


def test_thousands_of_dots_are_pixels_in_an_svg() -> None:
    picture = figures.draw(*prepared(make_up(4_000), "general", skip_errors=True), "svg")
    assert ET.fromstring(picture).tag.endswith("svg")  # noqa: S314 - we wrote it
    assert picture.count(b"<image") >= 6
    assert len(picture) < 3_000_000


def test_whole_seconds_can_be_drawn() -> None:
    made, words = prepared(make_up(300), "detailed", skip_errors=True, resolution_ns=NS_PER_S)
    assert all((row.values_s == np.round(row.values_s)).all() for row in made)
    assert figures.draw(made, words, "png").startswith(b"\x89PNG")


def test_a_page_holds_the_picture_the_numbers_and_the_recording_and_needs_nothing_else() -> None:
    submitted, sampled = make_up(40, troubles=TROUBLED)
    (recording,) = sampled.recordings
    odd = msgspec.structs.replace(sampled, recordings=(msgspec.structs.replace(recording, proof="a < b & c"),))
    made, words = prepared((submitted, odd), "general", skip_errors=True)
    page = pages.page(made, words, odd, figures.draw(made, words, "svg"))
    assert page.startswith("<!DOCTYPE html>")
    assert page.count("<svg") == 1
    assert "a &lt; b &amp; c" in page
    for row in made:
        assert f'<td class="text">{row.title}</td>' in page
    assert f"<td>{made[-1].values_s.size}</td>" in page
    assert not re.search(r'(src|href)="(?!#|data:)', re.sub(r'xlink:href="(#|data:)', "", page))
    assert "<script" not in page


def test_a_page_without_recording_says_so() -> None:
    submitted, sampled = make_up(3)
    bare = msgspec.structs.replace(sampled, recordings=())
    made, words = prepared((submitted, bare), "general", skip_errors=True)
    assert "Nothing was recorded" in pages.page(made, words, bare, figures.draw(made, words, "svg"))
