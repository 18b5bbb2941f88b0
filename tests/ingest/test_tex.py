"""LaTeX gives its words: headings, lists, tables and listings, and nothing that is put in or expanded."""

from __future__ import annotations

from wherefrom.ingest.tex import read

PAPER = r"""
\documentclass{article}
\newcommand{\bomb}{\bomb\bomb}
\title{On \emph{Tides}\thanks{For all.}}
\begin{document}
\maketitle
\begin{abstract} A short word. \end{abstract}
\section{The \textbf{Moon}} % a comment
It pulls 5\,\% of caf\'e water, ``mostly''---see~\cite{a} and \ref{b}\footnote{Not always.}.

\input{/etc/passwd}
\begin{itemize}
\item One
\item[Two] with a label
\end{itemize}
\begin{tabular}{ll}
Name & Height \\ \hline
Spring tide & \textit{high} \\
\end{tabular}
\begin{verbatim}
$ tides --now

\section{not one}
\end{verbatim}
\bomb{kept}
\end{document}
"""


def test_a_paper_reads_as_it_is_printed() -> None:
    record = read(PAPER.encode(), "paper.tex")
    assert record.title == "On Tides"
    assert record.text == "\n\n".join(
        [
            "Abstract",
            "A short word.",
            "The Moon",
            "It pulls 5 % of caf\u00e9 water, “mostly”—see and (Not always.).",
            "- One",
            "Two\nwith a label",
            "Name | Height\nSpring tide | high",
            "$ tides --now\n \n\\section{not one}",
            "kept",
        ]
    )
    assert [place.label for place in record.places] == ["Abstract", "The Moon"]


def test_broken_ones_are_read_as_far_as_they_go() -> None:
    assert read(b"\\section{Open", "x.tex").title == "Open"
    assert read(b"words } } \\end{tabular} & \\\\ \\item", "my_x.tex").title == "my x"
    assert "words" in read(b"\\begin{verbatim} words", "x.tex").text
