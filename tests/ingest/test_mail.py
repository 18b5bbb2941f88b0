"""Messages give subject, people, date and text; attachments are documents of their own; quotes are kept once."""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path

import pytest

from wherefrom import Library
from wherefrom.config import IngestSettings
from wherefrom.errors import IngestError
from wherefrom.ingest.formats import IngestFailure, Record, read
from wherefrom.ingest.mail import read as read_message
from wherefrom.ingest.mail import read_mailbox


def no_attachment(data: bytes, name: str) -> Iterator[Record | IngestFailure]:
    raise IngestError("of no kind that is read")


def message(text: str = "See you at noon.\n") -> EmailMessage:
    written = EmailMessage()
    written["From"] = "Ann Öther <ann@x.org>"
    written["To"] = "bo@x.org"
    written["Date"] = "Tue, 05 Mar 2024 10:00:00 +0100"
    written["Subject"] = "Lunch on Frïday"
    written.set_content(text)
    return written


def all_of(path: Path) -> list[Record | IngestFailure]:
    return list(read(path, IngestSettings(max_megabytes=1.0)))


def test_a_message_reads_as_a_letter() -> None:
    (record,) = read_message(message().as_bytes(), "x.eml", no_attachment)
    assert isinstance(record, Record)
    assert (record.title, record.date) == ("Lunch on Frïday", "2024-03-05T09:00:00Z")
    assert record.text == (
        "From: Ann Öther <ann@x.org>\nTo: bo@x.org\nDate: Tue, 05 Mar 2024 10:00:00 +0100\n\nSee you at noon."
    )


def test_attachments_are_documents_and_others_are_named(tmp_path: Path) -> None:
    written = message()
    written.add_alternative("<p>See you at <b>noon</b>.</p>", subtype="html")
    written.add_attachment(b"# Menu\n\nSoup.", maintype="text", subtype="markdown", filename="menu.md")
    written.add_attachment(b"\x89PNG\r\n\x1a\n\0", maintype="image", subtype="png", filename="map.png")
    written.add_attachment(message("Inner words.\n"))
    path = tmp_path / "lunch.eml"
    path.write_bytes(written.as_bytes())
    letter, menu, inner = all_of(path)
    assert isinstance(letter, Record)
    assert isinstance(menu, Record)
    assert isinstance(inner, Record)
    assert letter.text.count("noon") == 1
    assert letter.text.endswith("Attachments: menu.md; map.png (not read: of no kind that is read); message 3.eml.")
    assert (menu.title, menu.text, menu.place) == ("Menu", "Menu\n\nSoup.", "attachment 1")
    assert (inner.title, inner.place) == ("Lunch on Frïday", "attachment 3")


def test_a_page_alone_is_read_as_a_page() -> None:
    written = message()
    written.set_content("<p>Only <i>this</i>.</p><script>x()</script>", subtype="html")
    (record,) = read_message(written.as_bytes(), "x.eml", no_attachment)
    assert isinstance(record, Record)
    assert record.text.endswith("\n\nOnly this.")


def test_documents_of_a_message_keep_their_ids_when_it_changes(tmp_path: Path) -> None:
    path, library = tmp_path / "lunch.eml", Library(tmp_path / "library")
    for text in ("See you at noon.\n", "See you at one.\n"):
        written = message(text)
        written.add_attachment(b"# Menu\n\nSoup.", maintype="text", subtype="markdown", filename="menu.md")
        path.write_bytes(written.as_bytes())
        report = library.ingest([path])
        assert report.failures == ()
    assert (report.replaced, report.unchanged) == (1, 1)
    assert sorted(document.id for document in library.documents()) == ["lunch.eml", "lunch.eml:1"]
    assert "at one" in library.document("lunch.eml").text


MAILBOX = b"""From ann@x.org Tue Mar  5 10:00:00 2024
From: ann@x.org
Subject: Boiler

The boiler is broken. Please
call the plumber.

>From here it leaks.

From bo@x.org Tue Mar  5 11:00:00 2024
From: bo@x.org
Subject: Re: Boiler

Done. He comes on Monday.

> The boiler is broken.
> Please call the plumber.
>
> Something older that nobody has.
"""


def test_a_mailbox_is_a_document_a_message_and_quotes_are_kept_once() -> None:
    first, second = read_mailbox(io.BytesIO(MAILBOX), "inbox", 1_000_000, no_attachment)
    assert isinstance(first, Record)
    assert isinstance(second, Record)
    assert (first.title, first.place, first.places[0].label) == ("Boiler", "message 1", "message 1")
    assert "\n\nFrom here it leaks." in first.text
    assert second.text == "From: bo@x.org\n\nDone. He comes on Monday.\n\n> Something older that nobody has."


def test_a_message_over_the_limit_is_named_and_the_next_is_read() -> None:
    data = b"From a 10:00:00 2024\nFrom: a\n\n" + b"x" * 5_000 + b"\n\n" + MAILBOX
    outcomes = list(read_mailbox(io.BytesIO(data), "inbox", 1_000, no_attachment))
    assert outcomes[0] == IngestFailure(
        "inbox:1", "the message is longer than 0.001 MB; raise ingest.max_megabytes to read it"
    )
    assert [type(each) for each in outcomes[1:]] == [Record, Record]


def test_parts_nested_without_end_are_refused() -> None:
    head = "Content-Type: multipart/mixed; boundary=b{0}\n\n--b{0}\n"
    data = "From: a\nSubject: b\n" + "".join(head.format(n) for n in range(1_000)) + "text"
    with pytest.raises(IngestError, match="nested too deeply"):
        list(read_message(data.encode(), "x.eml", no_attachment))
    many = "From: a\nContent-Type: multipart/mixed; boundary=b\n\n" + "--b\n\nx\n" * 2_000
    with pytest.raises(IngestError, match="too many"):
        list(read_message(many.encode(), "x.eml", no_attachment))


def test_what_is_no_message_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.eml"
    path.write_bytes(b"plain words\n\nand more")
    with pytest.raises(IngestError, match="no message"):
        all_of(path)


def test_odd_heads_are_read() -> None:
    data = (
        b"From: =?nonsense?q?x?= =?utf-8?b?%%%?=\nTo: " + b"a@b.org, " * 300 + b"\nDate: never\nSubject:\n"
        b"Content-Type: text/plain; charset=no-such\nContent-Transfer-Encoding: base64\n\nd29yZHM"
    )
    (record,) = read_message(data, "my_letter.eml", no_attachment)
    assert isinstance(record, Record)
    assert (record.title, record.date) == ("my letter", "")
    assert " more\n" in record.text
    assert record.text.endswith("words")


def test_a_field_whose_letters_are_not_those_it_names_is_read_as_it_stands() -> None:
    data = "From: =?İ?b?TWFydGE=?=\nTo: =?rot13?q?Ivo?=\nCc: =?idna?b?LiAuLg==?=\n\nwords".encode()
    (record,) = read_message(data, "a.eml", no_attachment)
    assert isinstance(record, Record)
    assert record.text.endswith("words")


def test_a_message_of_letters_that_say_nothing_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty.eml").write_bytes(b"Subject: =?utf-16?B?" + b64encode(b"\x00\xd8" * 40) + b"?=\n\n")
    outcomes = list(read(tmp_path / "empty.eml", IngestSettings()))
    assert not [outcome for outcome in outcomes if isinstance(outcome, Record) and not outcome.text.strip()]
    assert [outcome.reason for outcome in outcomes if isinstance(outcome, IngestFailure)] == ["it is empty"]
