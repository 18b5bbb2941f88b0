"""Text with marks that nobody would write: markup, code, mail and tables, line by line from what each format knows."""

from __future__ import annotations

import base64
import json
import quopri
import random
import re
from collections.abc import Callable

from attack.grammar import Make, encoded, plain, pumped, text

MOST_BYTES = 60_000
_SLOT = re.compile(r"«(\w)»")


def _line(chance: random.Random, words: int = 10) -> str:
    return text(chance, words).replace("\n", " ")


def _filled(chance: random.Random, template: str, marks: tuple[str, ...]) -> str:
    """A line of a format: «t» is a few words, «n» a number, «m» a mark of the format, «p» a mark many times."""

    def fill(slot: re.Match[str]) -> str:
        kind = slot[1]
        if kind == "n":
            return str(chance.choice((0, 1, 2, 9, -1, 300, 10**10, "x", "")))
        if kind == "m":
            return chance.choice(marks)
        if kind == "p":
            mark = "".join(chance.choice(marks) for _ in range(chance.randrange(1, 3)))
            return mark * chance.randrange(2, max(3, int(MOST_BYTES ** chance.uniform(0.2, 1.0)) // max(len(mark), 1)))
        return _line(chance, chance.choice((2, 4, 11)))

    return _SLOT.sub(fill, template)


def _lines(chance: random.Random, templates: tuple[str, ...], marks: tuple[str, ...], head: str = "") -> bytes:
    """Lines drawn from the templates, set in now and then, one of them again and again now and then."""
    out = [head] if head and chance.random() < 0.7 else []
    for _ in range(chance.choice((1, 4, 12, 40))):
        kind = chance.random()
        if kind < 0.72:
            line = _filled(chance, chance.choice(templates), marks)
        elif kind < 0.80:
            line = "".join(chance.choice((chance.choice(marks), _line(chance, 3), " ")) for _ in range(12))
        elif kind < 0.88:
            line = ""
        elif kind < 0.90:
            line = pumped(chance)
        elif kind < 0.93:
            template = chance.choice(templates)
            line = "\n".join([_filled(chance, template, marks)] * chance.randrange(2, 800))
        else:
            line = text(chance)
        out.append(" " * chance.choice((0, 0, 0, 1, 2, 4, 8, 60)) + line[:MOST_BYTES])
    return encoded(chance, chance.choice(("\n", "\n", "\n", "\r\n", "\r")).join(out))


def _of(templates: str, marks: str, head: str = "") -> Make:
    """A grammar of lines; the templates one a line, the marks parted by blanks."""
    rows = tuple(row.replace("⏎", "\n") for row in templates.strip("\n").split("\n"))
    signs = tuple(marks.split())
    return lambda chance: _lines(chance, rows, signs, head)


rst = _of(
    """
«t»⏎=======
=====⏎«t»⏎=====
«t»⏎«p»
«p»
.. note:: «t»⏎   «t»
.. «m»:: «t»⏎   :«t»: «t»⏎⏎   «t»
.. |«t»| replace:: «t»
.. |a| replace:: |a| |a|
.. [#«t»] «t»
.. _«t»: «t»
.. csv-table:: «t»⏎   :header: «t»⏎⏎   a,"b",«t»
.. image:: «t»⏎   :alt: «t»
.. versionadded:: «n» «t»
.. «t»
«t»::⏎⏎    «t»⏎    «t»
:«t»: «t»
- «t»
  * «t»
«n». «t»
#. «t»
(«n») «t»
«t»⏎   «t»
| «t»
>>> «t»
+---+---+⏎| a | «t» |⏎+===+===+⏎| «t» | «t» |⏎+---+---+
+«p»+⏎| a |
=== ===⏎a   «t»⏎=== ===⏎«t»⏎=== ===
== «p»⏎«t»
``«t»`` **«t»** *«t»* :«m»:`«t»` `«t» <«t»>`_ |«t»| «t»_ [«t»]_
«m»«t»«m»
:func:`~«t»` :ref:`«t» <«p»>`
""",
    "` `` * ** | _ __ :: : .. [ ] < > ~ = - + # \\ code-block list-table only raw function c:function math :ref: _` ` `_",
)
info = _of(
    """
\x1f⏎File: a.info,  Node: «t»,  Next: «t»,  Up: «t»⏎
\x1f⏎File: a.info,  Node: «m»
«t»⏎****
«t»⏎«p»
* Menu:⏎⏎* «t»::  «t»
* «t»: «t».   «t»
     «t»
'-«n»'⏎     «t»
   * «t»
(*note «t»: «t».) *Note «t»::
*note «p»
\x00\x08[index\x00\x08]
\x00\x08[image src="«t»"\x00\x08]
\x1f⏎Tag Table:⏎Node: «t»\x7f«n»⏎\x1f⏎End Tag Table
«m»«t»«m»
""",
    "* = - . :: : *note \x00\x08[ \x00\x08] Menu: File: Node: Up: Top ,",
)
org = _of(
    """
* «t» :a:b:
** TODO [#A] «t»
«p» «t»
#+TITLE: «t»
#+DATE: <«n»-«n»-«n»>
#+CAPTION[«t»]: «t»
#+begin_src «t»⏎«t»⏎#+end_src
#+begin_«m»⏎«t»
#+end_«m»
:PROPERTIES:⏎:a: «t»⏎:END:
SCHEDULED: «t»
- [X] «t»
1) «t»
 * «t»
| a | «t» | «p» |
|---+---|
: «t»
# «t»
[[«t»][«t»]] *«t»* /«t»/ =«t»= ~«t»~ +«t»+
«m»«t»«m»
«p»«t»
""",
    "* / _ = ~ + [[ ]] ][ | # #+ : :: \\\\ src example quote comment export <2020-01-01> - ,*",
)
asciidoc = _of(
    """
= «t»
== «t»
«p» «t»
:«t»: «t»
:toc:
{«t»} {a}
----⏎«t»⏎----
....⏎«t»
|===⏎|a |«t»⏎⏎|«t» a|«t»⏎|===
|===⏎«p»
****⏎«t»⏎****
* «t»
** «t»
. «t»
«t»:: «t»
«t»;; «t»
[NOTE]⏎====⏎«t»⏎====
[«t»,«t»]
[[«t»]]
.«t»
image::«t»[«t»]
include::«t»[]
ifdef::«t»[]
link:«t»[«t»] <<«t»,«t»>> https://«t»[«t»] footnote:[«t»]
*«t»* _«t»_ `«t»` #«t»# ^«t»^ +++«t»+++
«t» +
//«t»
////⏎«t»
«m»«t»«m»
""",
    "* ** _ __ ` `` # + ++ [ ] [[ ]] << >> { } | |=== ---- .... **** ==== == = :: . , ^ ~ (C) -> link: image: 2+| ^.>s|",
)
tex = _of(
    r"""
\documentclass[«t»]{article}⏎\title{«t»}⏎\begin{document}
\section{«t»}
\subsection*[«t»]{«t» \label{a}}
\begin{«m»}⏎«t»
\end{«m»}
\begin{itemize}⏎\item[«t»] «t»⏎\item «t»⏎\end{itemize}
\begin{tabular}{l|p{«n»}}⏎a & «t» \\ \hline⏎\multicolumn{2}{c}{«t»} & \\[2pt]⏎\end{tabular}
\begin{verbatim}⏎«t»
\begin{minted}[«t»]{py}⏎«t»⏎\end{minted}
$«t»$ \(«t»\) $$«t»
\footnote{«t» \emph{«t»}}
\textbf{«t»}{\it «t»}
\verb|«t»| \verb+«t»
\newcommand{\a}[1]{«t»} \def\b#1{«t»
\cite[«t»]{«t»} \ref{«t»} \href{«t»}{«t»}
\'e \"{o} \v{s} \c c \~n \^{\i} \ss{} \o
``«t»'' «t»---«t»~«t»
% «t»
«p»«t»
{«p»
\«t»{«t»}
\input{«t»} \special{«t»
\title{«p»}
\caption[«t»]{«t»}
\begin{frame}{«t»}
\item
«m»«t»«m»
""",
    r"\ { } [ ] $ $$ & \\ ~ % ^ _ # \begin{ \end{ itemize tabular equation tikzpicture lstlisting frame abstract \item \a \textbf{ "
    r"\footnote{ \section{ \[ \] \( < > \def \' \cite{ \verb",
)
man = _of(
    r"""
.TH NAME «n» 2020-01-01 «t»
.SH NAME⏎ls \- «t»
.SH
.SS «t»
.TP⏎.B «t»⏎«t»
.IP «t» «n»
.BR «t» («n»)
.de «m»⏎.«t»⏎..
.ds «m» «t»
.ds a \*a\*a
.if «t» .«t»
.ie n \{«t»⏎.\}⏎.el \{
.so «t»
.nr a «n»
.TS⏎tab(|);⏎lb l.⏎a|«t»⏎T{⏎«t»⏎T}|b⏎.TE
.TS⏎«p»
.nf⏎«t»
.fi
.RS «n»
.RE
.UR «t»⏎«t»⏎.UE «t»
.EX⏎«t»⏎.EE
.ig⏎«t»
'«t»
.«t»
\fB«t»\fP \(em \[u00E9] \*(xx \s-2 \h'«n»' \k«t» \w'«t»' \N'«n»' \e \& \z \o'«t»'
«p»«t»
.B "«t»
.MR «t» «n»
.\" «t»
""",
    r"\ \f \fB \fI \fR \( \[ \* \s \h' ' \" \- . .. \{ \} \w' \e \& \n( \$1 .B .de .ds TS TE T{ T} | tab(x); Aq Xo Xc",
    '.TH A 1 2020-01-01 "x"',
)
mdoc = _of(
    r"""
.Dd March «n», 2020⏎.Dt LS «n»⏎.Os
.Sh NAME⏎.Nm ls⏎.Nd «t»
.Ss «t»
.Bl -tag -width «t»
.Bl -enum
.Bl -column «t» «t»
.It Fl a Ar «t»
.It Xo⏎.Fl «t»⏎.Xc
.It «t» Ta «t»
.El
.Bd -literal⏎«t»⏎.Ed
.Op Fl «t» Oo Ar «t» Oc Ns «t»
.Fo «t»⏎.Fa «t»⏎.Fc
.Xr «t» «n» , «t»
.Fn «t» «t» «t»
.Lk «t» «t»
.Pf «t» Ap «t» No «t»
.Ex -std «t»
.St -p1003.1
.Dl «t»
.Rs⏎.%A «t»⏎.%T «t»⏎.Re
.«m» «m» «m» «t» «m»
.Aq «p»
.Sm off
.«m» «t»
«t»
""",
    r"Fl Ar Op Oo Oc Ns Xo Xc Aq Ao Ac Dq Do Dc Sq Qq Pq Po Pc Bq Brq Nm Nd Xr Fn Fa Fo Fc In Lk Pf Ap No Ta Tn Ux Bx Nx Em Sy Li Va "
    r". , ; ) ( [ ] | -tag -column El It Bl Sm Bk Ek Rv Ex St Lb Cm Ic Ev Pa Er %A %T",
    ".Dd March 1, 2020\n.Dt LS 1\n.Os",
)
configuration = _of(
    """
[«t»]
«t» = «t»
«t»: «t»
  - «t»
# «t»
{"«t»": [«n», {"«t»": null}]}
«t» = \"\"\"«t»
&a [*a,*a,*a]
export «t»="«t»"
«p»
""",
    '= : [ ] { } - # " \' """ & * ! | > , ; $ ${ %',
)
code = _of(
    """
def «t»(«t»):
async def a(«t») -> «t»:
class «t»(«t»):
    \"\"\"«t»
\"\"\"
    return «t»
# «t»
@«t»
function «t»(«t») {
export const a = async («t») => {
public static void main(«t») {
static inline unsigned long int «t»(«t»,⏎«t»)
template <«p»> class «t»;
int a(«p»
func (r *«t») «t»(«t») error {
pub(crate) fn «t»<«t»>(«t») {
impl<«t»> «t» for «t» {
CREATE OR REPLACE TABLE IF NOT EXISTS «t» (
(defun «t» («t»)
sub «t» {
local function «t»(«t»)
a <- function(«t»)
data A = «t»
    subroutine «t»
/** «t»⏎ * «t»⏎ */
/* «t»
// Copyright «t»
#include <«t»>
#define a(«t») «t»
import «t» from "«t»"
const {a, «t»} = require(«t»)
}
«m»«m»«m» a «m»«t»
«p»
""",
    "( ) { } [ ] < > ; : :: , = => -> * & ~ a A_ a.b. \"\"\" ''' /* */ // # -- static const inline unsigned class def function fn impl < template",
)


def csv(chance: random.Random) -> bytes:
    sign = chance.choice((",", ",", ";", "\t", "|", "\x01"))
    rows = []
    for _ in range(chance.choice((1, 3, 8, 40, 400))):
        cells = [_cell(chance) for _ in range(chance.choice((0, 1, 3, 3, 3, 12)))]
        rows.append(
            sign.join(cells) if chance.random() < 0.97 else chance.choice(("", '"', "sep=;", pumped(chance, 9000)))
        )
    if chance.random() < 0.02:
        rows.append(sign * chance.randrange(1, 60_000))
    return encoded(chance, chance.choice(("\n", "\r\n", "\r")).join(rows))


def _cell(chance: random.Random) -> str:
    kind = chance.random()
    if kind < 0.4:
        return str(chance.choice((1, 2.5, -3, "1,000.00 €", "2020-01-01", "true", "(5)", "1e999", "")))
    said = text(chance, 4)
    return '"' + said.replace('"', '""' if chance.random() < 0.8 else '"') + '"' if kind < 0.7 else said


# ------------------------------------------------------------------------------------------------ rich text

_RICH = (
    r"\par \pard \b \b0 \i \cell \row \trowd \intbl \line \tab \u8364? \u-10179\u-8704 \uc0 \uc2 \uc99999 \'e4 \'zz \~ \_ \* "
    r"\fonttbl \f0 \f1 \fcharset204 \fcharset77 \ansicpg1251 \ansicpg99999 \ansicpg037 \info \title \pict \footnote \listtext \pntext \field "
    r"\fldinst \header \bin5 \bin999999999 \bin-1 \sect \page \nestcell \u99999999 \uc \s-1 \stylesheet \colortbl \shppict \upr \ud "
    "{ } {\\* } \\ \\\\ \\{ \\}"
).split(" ")


def rtf(chance: random.Random) -> bytes:
    parts = [
        chance.choice(
            (
                "{\\rtf1\\ansi ",
                "{\\rtf1\\ansi ",
                "{\\rtf1\\ansi\\ansicpg1252{\\fonttbl{\\f0\\fcharset0 A;}{\\f1\\fcharset128 B;}}",
                "{\\rtf",
            )
        )
    ]
    for _ in range(chance.choice((3, 20, 100, 400))):
        kind = chance.random()
        if kind < 0.5:
            parts.append(chance.choice(_RICH) + chance.choice(("", " ")))
        elif kind < 0.9:
            parts.append(_line(chance, 4))
        elif kind < 0.93:
            parts.append(chance.choice(_RICH) * chance.randrange(2, 3000))
        else:
            parts.append("{" + chance.choice(_RICH) + _line(chance, 3) + "}")
    return "".join(parts).encode("latin-1", "replace") + b"}" * chance.randrange(3)


# ------------------------------------------------------------------------------------------------ notebooks


def notebook(chance: random.Random) -> bytes:
    cells = [_notebook_cell(chance) for _ in range(chance.choice((0, 1, 3, 10)))]
    if chance.random() < 0.03 and cells:
        cells *= 500
    book: object = {"cells": cells, "nbformat": 4, "metadata": {}}
    if chance.random() < 0.1:
        book = chance.choice(
            ({"worksheets": [{"cells": cells}, 3]}, {"worksheets": cells}, cells, {"cells": {}}, {}, None, "x")
        )
    said = json.dumps(book, ensure_ascii=chance.random() < 0.5)
    if chance.random() < 0.04:
        said = chance.choice(
            ('{"cells":' + "[" * 9000, '{"a":' * 9000, said[: len(said) // 2], '{"cells": 1' + "0" * 9000 + "}")
        )
    return encoded(chance, said)


def _notebook_cell(chance: random.Random) -> object:
    if chance.random() < 0.05:
        return chance.choice((None, 3, "x", [], {}, {"source": None}))
    source: object = chance.choice(
        (text(chance), [_line(chance) + "\n", 3, _line(chance)], pumped(chance, 9000), 5, None, {})
    )
    cell: dict[str, object] = {
        "cell_type": chance.choice(("markdown", "code", "raw", "heading", "x", None, 3)),
        "source": source,
    }
    if chance.random() < 0.5:
        cell["outputs"] = [_output(chance) for _ in range(chance.randrange(4))]
    return cell


def _output(chance: random.Random) -> object:
    return chance.choice(
        (
            {"output_type": "stream", "text": text(chance)},
            {"output_type": "stream", "text": "\x1b[31m" * chance.randrange(3000)},
            {"output_type": "error", "ename": [_line(chance)], "evalue": chance.choice((None, 3, text(chance)))},
            {"output_type": "display_data", "data": {"text/plain": [text(chance), 3], "image/png": "AAAA"}},
            {"data": []},
            {"data": {"text/plain": {}}},
            None,
            "x",
        )
    )


# ------------------------------------------------------------------------------------------------ mail

_CHARSETS = (
    "utf-8",
    "iso-8859-1",
    "x-odd",
    "",
    "utf-7",
    "utf-16",
    "koi8-r",
    "idna",
    "unicode_escape",
    "rot13",
    "hex",
    "zip",
    "\u0130",
)


def message(chance: random.Random) -> bytes:
    names = ("From", "To", "Subject", "Date", "Cc", "Message-ID")
    head = [f"{name}: {_field(chance, name)}" for name in names if chance.random() < 0.7]
    return "\n".join(head).encode("utf-8", "replace") + b"\n" + _part(chance, 0)


def _field(chance: random.Random, name: str) -> str:
    if name == "Date" and chance.random() < 0.8:
        return chance.choice(
            ("Mon, 5 Feb 2024 10:00:00 +0100", "Mon, 99 Foo 99999 25:61:61 +9999", "x", "5 Feb 0000 -0000", "1" * 500)
        )
    kind = chance.random()
    if kind < 0.4:
        return _line(chance, 6)
    if kind < 0.7:
        said = base64.b64encode(text(chance, 4).encode("utf-8", "replace")).decode()
        return f"=?{chance.choice(_CHARSETS)}?{chance.choice('bBqQxX')}?{said}?="
    if kind < 0.8:
        return chance.choice(
            ("=?", "?=", "a@b, ", '"', "(", "\n ", "<", "=?a?q?", ";", "=?utf-8?b?=")
        ) * chance.randrange(2, 3000)
    return 'Ivo <ivo@example.org>, "Marta, B." <m@b>'


def _part(chance: random.Random, depth: int) -> bytes:
    charset = chance.choice(_CHARSETS)
    if depth < 5 and chance.random() < (0.5 if depth == 0 else 0.25):
        mark = chance.choice((f"b{depth}", f"b{depth}", "b", "", "(", "x" * 300, "a b"))
        kind = chance.choice(("mixed", "alternative", "related", "x"))
        inside = b"".join(
            b"--" + mark.encode() + b"\n" + _part(chance, depth + 1) + b"\n" for _ in range(chance.randrange(5))
        )
        end = b"--" + mark.encode() + b"--\n" if chance.random() < 0.8 else b""
        return f'Content-Type: multipart/{kind}; boundary="{mark}"\n\nx\n'.encode() + inside + end
    kind = chance.choice(
        ("text/plain", "text/plain", "text/html", "message/rfc822", "application/pdf", "image/png", "", "x")
    )
    body = message(chance) if kind == "message/rfc822" and depth < 4 else plain(chance)
    if chance.random() < 0.3:
        body = b"\n".join(b"> " * chance.randrange(4) + line for line in body.split(b"\n"))
    how = chance.choice(("", "7bit", "base64", "quoted-printable", "x-uuencode"))
    if how == "base64" and chance.random() < 0.8:
        body = base64.encodebytes(body)
    elif how == "quoted-printable":
        body = quopri.encodestring(body)
    lines = [f'Content-Type: {kind}; charset="{charset}"'] if kind else []
    lines += [f"Content-Transfer-Encoding: {how}"] if how else []
    if chance.random() < 0.3:
        name = chance.choice(
            ("a.txt", "a.html", "../a.md", "a.csv", "a.eml", "=?utf-8?b?YQ==?=", "", "\u202ea.txt", "a.docx", "a.gz")
        )
        lines.append(f'Content-Disposition: {chance.choice(("attachment", "inline"))}; filename="{name}"')
        if chance.random() < 0.2:
            lines[-1] += f"; filename*{chance.choice(('', '*0', '0*'))}={chance.choice(_CHARSETS)}''a%20%ff"
    return "\n".join(lines).encode("utf-8", "replace") + b"\n\n" + body


def mailbox(chance: random.Random) -> bytes:
    parts = []
    for _ in range(chance.randrange(1, 6)):
        parts.append(
            chance.choice((b"From a@b Mon Feb  5 10:00:00 2024\n",) * 4 + (b"From \n", b">From x\n", b"From" * 500))
        )
        parts.append(message(chance) + chance.choice((b"\n\n", b"\n", b"")))
    return b"".join(parts)


MARKUP: dict[str, Callable[[random.Random], bytes]] = {
    ".rst": rst,
    ".org": org,
    ".info": info,
    ".adoc": asciidoc,
    ".tex": tex,
    ".rtf": rtf,
    ".ipynb": notebook,
    ".eml": message,
    ".mbox": mailbox,
    ".csv": csv,
    ".tsv": csv,
    ".1": man,
    ".8": mdoc,
}
# What only machines read as a rule: several of these go by the same rules, a suffix each.
MACHINES: dict[str, Callable[[random.Random], bytes]] = dict.fromkeys(
    (".py", ".js", ".cpp", ".go", ".rs", ".sh", ".rb", ".pl", ".sql", ".lua", ".r", ".ex", ".hs", ".el", ".f90"), code
) | dict.fromkeys((".yaml", ".toml", ".ini", ".json"), configuration)
