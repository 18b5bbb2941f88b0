"""reStructuredText gives its words in order, with lists, tables and listings, and nothing of its marks."""

from __future__ import annotations

from wherefrom.ingest.rst import inline_text, read

PAGE = """
.. _start:

=========
Quickstart
=========

:Date: 2024-03-05
:Author: Ann

Eager to get *started*? See :doc:`installation` and :class:`~flask.Flask`, or `the site <https://x.org>`_.

Install
-------

Type this::

    $ pip install x

    $ x run

- one
  more
- two

1. first
#. second

term
    What it means.

.. note:: Take care
   with it.

.. code-block:: python
   :linenos:

   import x

.. image:: a.png
   :alt: A picture of it

.. raw:: html

   <b>hidden</b>

.. include:: /etc/passwd

.. a comment
   that goes on

=====  ======
Name   Value
=====  ======
a      1
b      two
=====  ======

+------+-------+
| Name | Value |
+======+=======+
| c    | three |
+------+-------+

.. versionadded:: 2.0
   It is new.

.. function:: run(host=None)

   Runs it.

The |name| ends.

.. |name| replace:: whole thing
"""


def test_a_page_reads_as_it_is_shown() -> None:
    record = read(PAGE.encode(), "quickstart.rst")
    assert record.title == "Quickstart"
    assert record.date == "2024-03-05"
    assert record.text == "\n\n".join(
        [
            "Quickstart",
            "Date: 2024-03-05\nAuthor: Ann",
            "Eager to get started? See installation and flask.Flask, or the site.",
            "Install",
            "Type this:",
            "$ pip install x\n \n$ x run",
            "- one more\n- two",
            "1. first\n2. second",
            "term\nWhat it means.",
            "Note: Take care with it.",
            "    import x",
            "A picture of it",
            "Name | Value\na | Value: 1\nb | Value: two",
            "Name | Value\nc | Value: three",
            "New in version 2.0: It is new.",
            "    run(host=None)",
            "Runs it.",
            "The whole thing ends.",
        ]
    )
    assert [place.label for place in record.places] == ["Install"]


def test_marks_inside_lines_go() -> None:
    written = r"``a *b*`` **bold** :ref:`text <t>` Python_ `x`__ [1]_ 2\*3 a_b snake_case_name * alone"
    assert inline_text(written, {}) == "a *b* bold text Python x [1] 2*3 a_b snake_case_name * alone"


def test_odd_pages_are_read() -> None:
    assert read(b"", "my_page.rst").title == "my page"
    assert read(b"====\n\n::\n\n::\n\n   x", "x.rst").text == "    x"
    assert read(b"Title\n=====\n\n.. unknown:: words\n", "x.rst").text == "Title\n\nwords"
    assert read(b"Para\n....\n\n+---\n\n=== ===\n", "x.rst").text
