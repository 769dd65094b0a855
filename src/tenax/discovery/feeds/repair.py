"""Repairs the most common errors in feeds that are almost XML."""

from __future__ import annotations

import re
from html.entities import html5
from typing import Final

_CDATA: Final = "<![CDATA["
_CDATA_END: Final = "]]>"
_FIRST_ELEMENT = re.compile(r"<[A-Za-z_]")
_DOCTYPE = re.compile(r"<!DOCTYPE\b", re.IGNORECASE)
_END_OF_SUBSET = re.compile(r"\]\s*>")
_ENTITY = re.compile(r"<!ENTITY\b", re.IGNORECASE)
_DECLARATION = re.compile(r"\A<\?xml\b[^>]*\?>")
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_BARE_AMPERSAND = re.compile(r"&(?!(?:#(?:\d{1,8}|[xX][0-9a-fA-F]{1,7})|\w{1,40});)")
_XML_REFERENCE = re.compile(r"&(?:(#(?:\d{1,8}|[xX][0-9a-fA-F]{1,7}))|(\w{1,40}));")
_NON_XML_REFERENCE = re.compile(rf"&(?!(?:amp|lt|gt|quot|apos);){_XML_REFERENCE.pattern[1:]}")
_MAX_PARTS: Final = 50_000
_XML_ENTITIES: Final = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


def remove_doctype(text: str) -> tuple[str, bool]:
    """The text without its DOCTYPE, and whether it declared entities. Entities are never expanded."""
    found = _DOCTYPE.search(text)
    if found is None:
        return text, False
    first = _FIRST_ELEMENT.search(text)
    if first is not None and first.start() < found.start():
        return text, False
    end = _doctype_end(text, found.end())
    return text[: found.start()] + text[end:], _ENTITY.search(text, found.end(), end) is not None


def _doctype_end(text: str, at: int) -> int:
    """After its `>`; with an internal subset, the `>` after the last `]`."""
    end, subset = text.find(">", at), text.find("[", at)
    if 0 <= subset < end:
        closing = _END_OF_SUBSET.search(text, subset)
        end = closing.end() - 1 if closing else -1
    return end + 1 if end >= 0 else len(text)


def repair_xml(text: str) -> str:
    """Starts with the first element or declaration, without characters, references or ampersands invalid in XML."""
    text = _ILLEGAL.sub("", text[max(text.find("<"), 0) :])
    text = _DECLARATION.sub("", text)
    parts: list[str] = []
    end = 0
    while (start := text.find(_CDATA, end)) >= 0:
        found = text.find(_CDATA_END, start)
        before, end = end, found + len(_CDATA_END) if found >= 0 else len(text)
        parts += [_fix_references(text[before:start]), text[start:end]]
        if len(parts) >= _MAX_PARTS:  # a million parts would take many times the memory
            parts = ["".join(parts)]
    return "".join((*parts, _fix_references(text[end:])))


def decode_references(escaped: str) -> str:
    """Decode XML references, and HTML names with a semicolon."""
    return _XML_REFERENCE.sub(_decode_reference, escaped) if "&" in escaped else escaped


def _fix_references(text: str) -> str:
    return _NON_XML_REFERENCE.sub(_to_xml_reference, _BARE_AMPERSAND.sub("&amp;", text)) if "&" in text else text


def _to_xml_reference(found: re.Match[str]) -> str:
    """The reference in valid XML."""
    number, name = found.groups()
    if number:
        return found[0] if _decode_number(number) else ""
    return html5.get(f"{name};") or f"&amp;{name};"


def _decode_reference(found: re.Match[str]) -> str:
    number, name = found.groups()
    if number:
        return _decode_number(number)
    return _XML_ENTITIES.get(name) or html5.get(f"{name};", found[0])


def _decode_number(number: str) -> str:
    """The character; empty if XML does not allow it."""
    code = int(number[2:], 16) if number[1] in "xX" else int(number[1:])
    character = chr(code) if code <= 0x10FFFF else ""
    return "" if _ILLEGAL.match(character) else character
