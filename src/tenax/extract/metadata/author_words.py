"""Words around author names, in many languages: prefixes, roles, and texts that are no name."""

from __future__ import annotations

from typing import Final

NAME_PREFIXES: Final = tuple("""
by|written by|posted by|published by|author|authors|authored by|words by|story by|text by|text|texte|reviewed by
contributed by|submitted by|article by|report by|from|gespeichert von|eingestellt von|contributors|post by|von
verfasst von|geschrieben von|autor|autorin|autoren|ein artikel von|artikel von|par|publié par|écrit par|auteur
propos recueillis par|por|publicado por|escrito por|autores|di|a cura di|scritto da|autore|door|geschreven door
av|af|skrevet af|skriven av|przez|autorka|od|napsal|napsala|szerző|yazan|yazar|автор|автори|авторы|текст
συντάκτης|από|kirjoittaja|tekst|skribent|penulis|oleh|tác giả
作者|文|記者|记者|執筆者|著者|기자|글|بقلم|كتب|الكاتب|מאת
""".strip().replace("\n", "|").split("|"))  # fmt: skip
"""May precede a name."""

NAME_PARTICLES: Final = frozenset(("von", "di", "par", "por", "av", "af", "od", "door"))
"""Those of the prefixes that may also be part of a name."""

ROLES: Final = frozenset("""
author editor editors writer contributor reporter correspondent journalist columnist staff admin founder ceo cto
cofounder redakteur redakteurin redaktion journalistin korrespondent korrespondentin volontär volontärin
chefredakteur autor autorin journaliste rédacteur rédactrice correspondant redactor redactora periodista
corresponsal redattore redazione giornalista redacteur dziennikarz redaktor редактор корреспондент журналист
senior chief managing associate manager director director specialist strategist marketing president professor
phd md dr rd ms analyst consultant photographer
""".strip().replace("\n", " ").split(" "))  # fmt: skip
"""A comma-separated part or a line that begins or ends with one of these is a role."""

NON_NAMES: Final = frozenset("""
share|admin|administrator|author|authors|by|guest|guest author|user|unknown|anonymous|none|null|no author
undefined|writer
about|about the author|about author|view all posts|more posts|website|home|login|follow|subscribe|read more|contact
default|root|webmaster|wordpress|super user|superuser|posted|published|updated|comments|comment|facebook|twitter|email
print|reply|written by|all posts|see all posts|n/a|na|username|log in|sign in|register|edited|editor|contributor|other
""".strip().replace("\n", "|").split("|"))  # fmt: skip
"""Placeholders that name nobody."""

EDITORIAL_NAMES: Final = frozenset("""
staff|team|editors|redaktion|die redaktion|redaction|la rédaction|rédaction|redacción|redazione|redactie|редакция
editorial staff|editorial team|staff writer|news desk|newsroom|contributors
""".strip().replace("\n", "|").split("|"))  # fmt: skip
"""Generic authors: used only when no person is named."""
