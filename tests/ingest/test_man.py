"""Manual pages of both macro languages give what `man` would print."""

from __future__ import annotations

from wherefrom.ingest.man import is_link, is_manual, read, table_rows
from wherefrom.ingest.roff import plain

MAN = rb""".\" a comment
.TH "LS" "1" "2022-05-14" "coreutils" "User Commands"
.de FOO
never shown
..
.ie n .ds Aq '
.el .ds Aq `
.SH NAME
ls \- list directory contents
.SH SYNOPSIS
.B ls
[\fI\,OPTION\/\fR]... [\fI\,FILE\/\fR]...
.SH DESCRIPTION
.PP
List information about the FILEs. It\*(Aqs
sorted.
.TP
\fB\-a\fR, \fB\-\-all\fR
do not ignore entries
starting with .
.PP
\-b, \-\-blue
.RS 4
Blue names\&.
.RE
.IP \(bu 2
one thing
.IP \(bu 2
another
.nf
$ ls \-l

$ ls
.fi
.if t \{\
only on paper
.\}
.SH "SEE ALSO"
.BR dir (1),
.BR vdir (1)
"""

MDOC = rb""".Dd March 5, 2021
.Dt SSH 1
.Os
.Sh NAME
.Nm ssh
.Nd remote login client
.Sh SYNOPSIS
.Nm
.Op Fl 46Aa
.Op Fl l Ar login_name
.Ar destination
.Op Ar command Op Ar argument ...
.Sh DESCRIPTION
.Nm
logs in, see
.Xr sshd 8 ,
.Dq as usual .
.Bl -tag -width Ds
.It Fl E Ar log_file
Append logs to
.Ar log_file .
.It Fl L Xo
.Sm off
.Oo Ar address : Oc
.Ar port
.Sm on
.Xc
Forward it.
.El
.Bl -bullet
.It
first
.It
second
.El
.Bd -literal
$ ssh host
$ exit
.Ed
.Ex -std
"""


def test_a_page_in_man_macros_reads_as_it_is_printed() -> None:
    record = read(MAN, "ls.1")
    assert record.title == "ls(1): list directory contents"
    assert record.date == "2022-05-14"
    assert record.text == "\n\n".join(
        [
            "NAME",
            "ls - list directory contents",
            "SYNOPSIS",
            "ls [OPTION]... [FILE]...",
            "DESCRIPTION",
            "List information about the FILEs. It's sorted.",
            "-a, --all\ndo not ignore entries starting with .",
            "-b, --blue\nBlue names.",
            "- one thing\n- another",
            "$ ls -l\n \n$ ls",
            "SEE ALSO",
            "dir(1), vdir(1)",
        ]
    )


def test_places_are_the_sections() -> None:
    record = read(MAN, "ls.1")
    labels = {place.label: record.text[place.start :][: len(place.label)] for place in record.places}
    assert labels["SEE ALSO"] == "SEE ALSO"
    assert all(label == words for label, words in labels.items())


def test_a_page_in_mdoc_macros_reads_as_it_is_printed() -> None:
    record = read(MDOC, "ssh.1")
    assert record.title == "ssh(1): remote login client"
    assert record.date == "2021-03-05"
    assert record.text == "\n\n".join(
        [
            "NAME",
            "ssh - remote login client",
            "SYNOPSIS",
            "ssh [-46Aa] [-l login_name] destination [command [argument ...]]",
            "DESCRIPTION",
            "ssh logs in, see sshd(8), “as usual”.",
            "-E log_file\nAppend logs to log_file.",
            "-L [address:]port\nForward it.",
            "- first\n- second",
            "$ ssh host\n$ exit",
            "The ssh utility exits 0 on success, and >0 if an error occurs.",
        ]
    )


def test_tables_are_rows_with_their_headings() -> None:
    lines = ["tab(|);", "lB lB", "l l.", "Name|Meaning", "_", "a|T{", "first", "line", "T}", "b|last"]
    assert table_rows(lines) == ["Name | Meaning", "a | Meaning: first line", "b | Meaning: last"]


def test_escapes_stand_for_their_signs() -> None:
    assert plain(r"\(lqna\(:ive\(rq \[u20AC]5 \s-1UNIX\s0 \h'2n'\fBa\fP\e", {}) == "“nai\u0308ve” €5 UNIX a\\"


def test_pages_and_links_to_pages_are_told_apart() -> None:
    assert is_manual(MAN)
    assert not is_manual(b"A page begins so:\n.TH LS 1\n")
    assert is_link(b'.\\" a comment\n.so man1/dir.1\n')
    assert not is_link(MAN)


def test_a_page_without_the_usual_parts_is_read_all_the_same() -> None:
    record = read(b".TH X\nwords\n.FOO unknown\n.SH\nlate heading\nmore \\", "x.1")
    assert (record.title, record.text) == ("x", "words\n\nlate heading\n\nmore")
