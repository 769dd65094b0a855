"""The pictures of the documents are correct: the diagram follows the source, and the terminal shows real output."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from docs import diagram, generate, packages, site_check, terminal_picture
from docs.from_code import GROUPS
from docs.packages import LOOSE, DiagramError, Step
from tenax.cli.views import progress, summary
from tests.test_architecture import LEVEL, MODULES, own_imports, package_of

ROOT = Path(__file__).parent.parent
PICTURES = [diagram.PICTURE, terminal_picture.PICTURE]


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_a_picture_is_shown_and_needs_nothing_else(picture: Path) -> None:
    pages = "\n".join(page.read_text(encoding="utf-8") for page in generate.pages())
    assert re.search(rf"!\[[^]]+\]\((?:docs/)?{re.escape(picture.name)}\)", pages), f"no page shows {picture.name}"
    text = picture.read_text(encoding="utf-8")
    assert not re.search(r"\b(?:href|src)=|<script|<image|<foreignObject", text)
    assert list(site_check.remote_urls(text)) == []


# ---- the diagram --------------------------------------------------------------------------------------------


def test_the_diagram_is_up_to_date() -> None:
    """A step of a module that was renamed is an error which names it."""
    assert diagram.svg() == diagram.PICTURE.read_text(encoding="utf-8"), "run scripts/docs"
    assert generate.generated()[diagram.PICTURE] == diagram.svg()


def test_layers_are_drawn_in_the_order_of_imports() -> None:
    boxes = diagram.place(packages.packages())
    assert boxes.keys() - {LOOSE} == {
        name for name in LEVEL if (ROOT / "src" / "tenax" / name / "__init__.py").exists() and name
    }
    above = [(high, low) for high in boxes for low in boxes if boxes[high].row < boxes[low].row and low != LOOSE]
    assert above and all(LEVEL[high] > LEVEL[low] for high, low in above)


def test_imports_are_those_of_the_source() -> None:
    drawn = {(one.name, other) for one in packages.packages().values() for other in one.uses}
    names = {name for group in GROUPS for name in group}
    imported = {(package_of(module), package_of(name)) for module in MODULES for name in own_imports(module)}
    assert drawn == {(one, other) for one, other in imported if one != other and {one, other} <= names}


def test_boxes_and_steps_do_not_cover_each_other() -> None:
    boxes = list(diagram.place(packages.packages()).values())
    for box in boxes:
        others = [other for other in boxes if other is not box]
        assert not [o for o in others if abs(o.middle - box.middle) < (o.width + box.width) / 2 and o.y == box.y]
        assert box.x >= 0 and all(other.y >= box.y + box.height for other in others if other.row > box.row)
    badges = diagram.place_badges(diagram.place(packages.packages()), packages.checked_steps())
    assert len({(badge.x, badge.y) for badge in badges}) == len(packages.STEPS) == 9


def test_a_step_whose_module_is_gone_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = (*packages.STEPS, Step("urls.gone", "is no more"), Step("crawl.reader.lost", "is no more"))
    monkeypatch.setattr(packages, "STEPS", steps)
    with pytest.raises(DiagramError, match=r"STEPS names urls\.gone, crawl\.reader\.lost, not found"):
        diagram.svg()


# ---- the terminal -------------------------------------------------------------------------------------------

REASON = re.compile(r"(?<![\d.,])[\d,]+ (?!kB\b|MB\b|s\b|more\b)([a-z]+(?: [a-z]+)*)")


def shown() -> list[str]:
    return terminal_picture.text_of(terminal_picture.PICTURE.read_text(encoding="utf-8"))


def strings(*files: Path) -> set[str]:
    """Every string in these modules; a placeholder separates two pieces."""
    return {
        node.value
        for file in files
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def test_the_terminal_shows_labels_that_the_program_prints() -> None:
    """Those of the live progress above the rule, those of the summary below."""
    lines = shown()
    rule = next(number for number, line in enumerate(lines) if set(line) == {terminal_picture.RULE})
    for view, part in ((progress, lines[:rule]), (summary, lines[rule:])):
        labels = terminal_picture.labels(part)
        assert len(labels) >= 4
        assert labels - strings(MODULES[view.__name__]) == set(), "draw it again: scripts/docs picture"


def test_the_terminal_shows_words_that_the_program_prints() -> None:
    lines = shown()
    pieces = "\n".join(strings(*MODULES.values()))
    reasons = {reason for line in lines for reason in REASON.findall(line)}
    whole = {line.strip() for line in lines if line.strip().endswith(".")}
    assert len(reasons) >= 8 and whole
    endings = {piece.strip() for line in whole for piece in line.split(":")}
    gone = [words for words in reasons | endings if words not in pieces]
    assert gone == [], "draw it again: scripts/docs picture"


def test_what_is_drawn_can_be_read_back() -> None:
    frame = " \x1b[2mpages \x1b[0m     \x1b[1m7\x1b[0m  \x1b[36m━━\x1b[0m  a & b\n"
    ending = "\x1b[32mDone:\x1b[0m all.\n\n  pages     7   8\n\n  database  x.db\n\nTry next\n  this\n"
    svg = terminal_picture.drawn(terminal_picture.Recording((frame,), ending))
    lines = terminal_picture.text_of(svg)
    assert lines[0] == "$ tenax demo" and lines[1] == " pages      7  ━━  a & b"
    assert lines[3:] == ["Done: all.", "  pages     7   8", "  database  x.db"]
    assert terminal_picture.labels(lines) == {"pages", "database"}
    assert 'class="cyan"' in svg and 'class="green"' in svg and 'class="dim"' in svg


def test_a_colour_without_a_style_is_an_error() -> None:
    with pytest.raises(SystemExit, match="the colour magenta"):
        terminal_picture.drawn(terminal_picture.Recording(("\x1b[35mpages\x1b[0m",), "end"))
