"""A DNS server on loopback: it answers from a table, which may change between two queries."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import Counter
from types import TracebackType
from typing import Literal, NamedTuple, TypeAlias

QuestionType: TypeAlias = Literal["A", "AAAA"]

_TYPES = {"A": 1, "CNAME": 5, "AAAA": 28}
_TYPE_NAMES = {1: "A", 28: "AAAA"}
_RCODES = {"ok": 0, "servfail": 2, "nxdomain": 3, "refused": 5}


class Says(NamedTuple):
    """The answer for a name: its addresses, or an alias; or how the query fails."""

    values: tuple[str, ...] = ()
    """Addresses of either kind, or one name. Empty: the name exists and has no address."""
    ttl_seconds: int = 60
    behaviour: Literal["ok", "nxdomain", "servfail", "refused", "silent", "garbage", "forged"] = "ok"
    """`forged`: a forged answer with a private address comes first, with a wrong id."""
    only_for: QuestionType | None = None
    """The behaviour applies to this type of query; the other one is answered properly."""


def says(*values: str, ttl: int = 60) -> Says:
    return Says(values, ttl)


class NameServer:
    """Speaks DNS over UDP. Names that are not in its table do not exist."""

    def __init__(self) -> None:
        self.asked: Counter[tuple[str, str]] = Counter()
        """Name and type of each question, counted."""
        self._table: dict[str, tuple[Says, ...]] = {}

    async def __aenter__(self) -> NameServer:
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_datagram_endpoint(lambda: _Door(self), ("127.0.0.1", 0))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._transport.close()
        await asyncio.sleep(0)

    @property
    def address(self) -> str:
        host, port = self._transport.get_extra_info("sockname")
        return f"{host}:{port}"

    def knows(self, name: str, *answers: Says) -> None:
        """From now on: the first query of each type gets the first answer, and so on; the last one stays."""
        self._table[name] = answers
        for question in _TYPE_NAMES.values():
            self.asked[name, question] = 0

    def receive(self, query: bytes, asker: tuple[str, int]) -> None:
        for reply in self._replies(query):
            self._transport.sendto(reply, asker)

    def _replies(self, query: bytes) -> list[bytes]:
        name, question, end = _question(query)
        self.asked[name, question] += 1
        answer = self._answer(name, question)
        behaviour = answer.behaviour if answer.only_for in (None, question) else "ok"
        match behaviour:
            case "silent":
                return []
            case "garbage":
                return [query[:2] + b"\x81\x80" + b"\xff" * 40]
            case "forged":
                stranger = bytes((query[0] ^ 0xFF, query[1])) + query[2:]
                forged = _reply(stranger, end, "ok", self._records(name, question, says("127.0.0.1", "::1")))
                return [forged, _reply(query, end, "ok", self._records(name, question, answer))]
            case "ok":
                return [_reply(query, end, "ok", self._records(name, question, answer))]
            case _:
                return [_reply(query, end, behaviour, [])]

    def _answer(self, name: str, question: str) -> Says:
        answers = self._table.get(name)
        if answers is None:
            return Says(behaviour="nxdomain")
        return answers[min(max(self.asked[name, question], 1), len(answers)) - 1]

    def _records(self, name: str, question: str, answer: Says) -> list[bytes]:
        records: list[bytes] = []
        for value in answer.values:
            kind = "AAAA" if ":" in value else "A" if value[-1].isdigit() else "CNAME"
            if kind in (question, "CNAME"):
                records.append(_record(name, kind, value, answer.ttl_seconds))
            if kind == "CNAME" and value in self._table:
                records += self._records(value, question, self._answer(value, question))
        return records


class _Door(asyncio.DatagramProtocol):
    def __init__(self, server: NameServer) -> None:
        self._server = server

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self._server.receive(data, addr)


def _question(query: bytes) -> tuple[str, str, int]:
    """The name and type of a query, and where its question ends."""
    labels, position = [], 12
    while length := query[position]:
        labels.append(query[position + 1 : position + 1 + length].decode("ascii"))
        position += 1 + length
    (kind,) = struct.unpack_from("!H", query, position + 1)
    return ".".join(labels).lower(), _TYPE_NAMES[kind], position + 5


def _reply(query: bytes, end: int, rcode: str, records: list[bytes]) -> bytes:
    head = struct.pack("!HHHHH", 0x8180 | _RCODES[rcode], 1, len(records), 0, 0)
    return query[:2] + head + query[12:end] + b"".join(records)


def _record(name: str, kind: str, value: str, ttl_seconds: int) -> bytes:
    if kind == "CNAME":
        data = _wire(value)
    else:
        data = socket.inet_pton(socket.AF_INET if kind == "A" else socket.AF_INET6, value)
    return _wire(name) + struct.pack("!HHIH", _TYPES[kind], 1, ttl_seconds, len(data)) + data


def _wire(name: str) -> bytes:
    return b"".join(bytes((len(label),)) + label.encode("ascii") for label in name.split(".")) + b"\0"
