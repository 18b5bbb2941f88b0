"""A manual page as it is put together: paragraphs, terms with what they mean, listings."""

from __future__ import annotations

from wherefrom.ingest.blocks import Blocks, is_item

_LONGEST_TAG = 200  # characters of a term; more is a paragraph


class TroffPage:
    """Collects words to lines and lines to blocks, as a page is walked through."""

    def __init__(self) -> None:
        self.blocks = Blocks()
        self.held_link = ""
        self._words: list[str] = []
        self._tags: list[str] = []
        self._listing = False

    def heading(self, text: str, level: int) -> None:
        self.end_listing()
        self.end_block()
        self.blocks.heading(text, level)

    def tag(self, text: str) -> None:
        """The term, or the bullet, that the paragraph to come is about."""
        self._tags.append(" ".join(text.split()))

    def text(self, text: str) -> None:
        """A line of running text; an empty one, or one that begins with a blank, begins a block or a line."""
        if self._listing:
            self._words.append(text.rstrip() + "\n")
        elif not text.strip():
            self.end_block(keep_tag=True)
        else:
            if text[0].isspace():
                self.line_break()
            self._words.append(text.strip() + " ")

    def word(self, text: str) -> None:
        """Words that belong to the line."""
        self._words.append(text + ("\n" if self._listing else " "))

    def line_break(self) -> None:
        if self._words:
            self._words.append("\n")

    def indent(self) -> None:
        """What follows is set in: it tells what a short line above it means, or is a block of its own."""
        text = " ".join("".join(self._words).split())
        if not self._listing and 0 < len(text) <= _LONGEST_TAG and text[-1] not in ".:;,":
            self._tags.append(text)
            self._words = []
        else:
            self.end_block(keep_tag=True)

    def extend_tag(self, text: str, glued: bool) -> None:
        """More of the term that was begun last."""
        if self._tags and len(self._tags[-1]) <= _LONGEST_TAG:
            self._tags[-1] = f"{self._tags[-1]}{'' if glued else ' '}{text}".strip()

    def begin_listing(self) -> None:
        self.end_block(keep_tag=True)
        self._listing = True

    def end_listing(self) -> None:
        if self._listing:
            self.end_block()
            self._listing = False

    def end_block(self, keep_tag: bool = False) -> None:
        """Close the block that is being collected; a tag without a text waits for one where it is to be kept."""
        if self._listing:
            text = "".join(self._words)
        else:
            text = "\n".join(" ".join(line.split()) for line in "".join(self._words).split("\n")).strip("\n")
        self._words = []
        if not text.strip() and keep_tag:
            return
        tags, self._tags = list(filter(None, self._tags)), []
        if not self._listing and not tags and text.startswith("•"):
            tags, text = ["•"], text[1:].lstrip()
        if len(tags) == 1 and not self._listing and (tags[0] == "o" or is_item(f"{tags[0]} ")):
            marker = "-" if tags[0] in "-*•o" else tags[0]
            self.blocks.item(f"{marker} {text}")
        elif self._listing:
            if tags:
                self.blocks.add("\n".join(tags))
            self.blocks.literal(text, close=bool(tags))
        else:
            self.blocks.add("\n".join([*tags, text] if text else tags))
