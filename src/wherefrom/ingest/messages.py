"""What goes between an ingest and the process that reads its files: requests one way, records the other."""

from __future__ import annotations

import struct
from typing import BinaryIO, Literal

import msgspec

from wherefrom.config import IngestSettings
from wherefrom.ingest.outcome import IngestFailure, Record

_LENGTH = struct.Struct("<I")  # before each message


class ParseRequest(msgspec.Struct, array_like=True, frozen=True):
    """A file to be read, or only to be told which format it is in."""

    path: bytes  # as the file system has it
    folder: bytes  # that the path is relative to
    settings: IngestSettings
    only_kind: bool = False
    language: bool = False  # whether it is wanted which language a record is in, if not English


class ParsedRecord(msgspec.Struct, array_like=True, tag=True, frozen=True):
    """A text of a file."""

    record: Record
    language: str | None = None  # where it is asked for, and not English


class ParseFailure(msgspec.Struct, array_like=True, tag=True, frozen=True):
    """A part of a file that could not be read."""

    failure: IngestFailure


class ParseProgress(msgspec.Struct, array_like=True, tag=True, frozen=True):
    """How much of the file has been read, in bytes as it lies on disk."""

    bytes: int


class ParseEnd(msgspec.Struct, array_like=True, tag=True, frozen=True):
    """Nothing more comes of this file."""

    how: Literal["ready", "done", "refused", "memory"]  # ready: the process has begun, and waits for files
    reason: str = ""
    kind: str | None = None  # the format, where that was all that was wanted
    peak_megabytes: float = 0.0  # the most memory that the process has ever held; 0 where that is not known


ParseMessage = ParsedRecord | ParseFailure | ParseProgress | ParseEnd

_request_decoder = msgspec.msgpack.Decoder(ParseRequest)
_message_decoder: msgspec.msgpack.Decoder[ParseMessage] = msgspec.msgpack.Decoder(ParseMessage)
_encoder = msgspec.msgpack.Encoder()


def send(stream: BinaryIO, message: ParseRequest | ParseMessage) -> None:
    data = _encoder.encode(message)
    stream.write(_LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def request_from(stream: BinaryIO) -> ParseRequest | None:
    """The next request; None where the other side has gone."""
    data = _payload(stream)
    return None if data is None else _request_decoder.decode(data)


def message_from(stream: BinaryIO) -> tuple[ParseMessage, int] | None:
    """The next message with its size in bytes; None where the other side has gone, even in the middle of one."""
    data = _payload(stream)
    return None if data is None else (_message_decoder.decode(data), len(data))


def _payload(stream: BinaryIO) -> bytes | None:
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    data = stream.read(length)
    return data if len(data) == length else None
