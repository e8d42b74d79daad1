"""The site that `make docs` built, opened as files and without a network."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests import pages

SITE = pages.ROOT / "target" / "site"
PHONE = {"width": 390, "height": 800}

pytestmark = pytest.mark.skipif(
    not (SITE / "index.html").exists(), reason="there is no site (make docs)"
)


@pytest.fixture
def opened(browser: Any) -> Iterator[Any]:
    """A phone's page that is offline, and collects what went wrong."""
    context = browser.new_context(viewport=PHONE, offline=True, color_scheme="dark")
    page = context.new_page()
    wrong: list[str] = []
    page.on("requestfailed", lambda request: wrong.append(request.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    yield page
    assert wrong == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    context.close()


def test_no_page_is_wider_than_a_phone(opened: Any) -> None:
    built = sorted(SITE.glob("**/*.html"))
    assert len(built) > 20
    for file in built:
        opened.goto(file.as_uri(), wait_until="domcontentloaded")
        assert opened.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], file


def test_dark_pages_are_dark(opened: Any) -> None:
    opened.goto((SITE / "index.html").as_uri())
    colour = opened.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(int(part) for part in colour.strip("rgba()").split(",")[:3]) < 60


def test_search_by_keyboard(opened: Any) -> None:
    opened.set_viewport_size({"width": 1300, "height": 900})
    opened.goto((SITE / "index.html").as_uri())
    opened.keyboard.press("/")
    opened.keyboard.type("weights")
    opened.keyboard.press("Enter")
    # Hits appear one by one; the summary says when the last one is there.
    opened.locator(".search-summary", has_text="Search finished").wait_for()
    links = [each.get_attribute("href") for each in opened.locator("ul.search li a").all()]
    assert len(links) > 3
    assert any("reference/scenario" in link for link in links)
    assert all((SITE / link.partition("#")[0].partition("?")[0]).exists() for link in links)
