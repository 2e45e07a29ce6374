"""Texts of the pages stand out from what lies behind them (4.5 to 1, as WCAG 2 asks of small text), light and dark."""

from __future__ import annotations

import re
from importlib import resources

import pytest
from bankbench.reports.pictures.style import _luminance

PAGES = ("templates/report.html.j2", "view/page.css")
ON_PAGE = ("ink", "soft", "ok", "bad", "warn", "link")


def colours(name: str, scheme: str) -> dict[str, str]:
    text = (resources.files("bankbench.reports") / name).read_text(encoding="utf-8")
    light, dark = text.split("@media (prefers-color-scheme: dark)")[:2]
    dark = dark[: re.search(r"\}\s*\}", dark).end()]  # type: ignore[union-attr]
    return dict(re.findall(r"--([\w-]+):\s*(#[0-9a-f]{6})", light if scheme == "light" else dark))


def contrast(one: str, other: str) -> float:
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("page", PAGES)
def test_texts_can_be_read(page: str, scheme: str) -> None:
    found = colours(page, scheme)
    assert {"ink", "soft", "paper", "panel"} <= set(found)
    for text in ON_PAGE:
        for ground in ("paper", "panel"):
            if text in found:
                assert contrast(found[text], found[ground]) >= 4.5, (text, ground)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_numbers_in_the_cells_of_a_grid_can_be_read(scheme: str) -> None:
    found = colours("view/page.css", scheme)
    assert contrast(found["lit-ink"], found["lit"]) >= 4.5
    for ground in ("other", "clash-fill", *(f"t{n}" for n in range(8))):
        assert contrast(found["ink"], found[ground]) >= 4.5, ground
