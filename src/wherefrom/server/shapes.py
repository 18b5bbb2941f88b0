"""What requests and responses look like, for checking them and for /openapi.json. Traces are those of `types.py`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from wherefrom.server.jobs import Kind, State
from wherefrom.store.feedback import Verdict
from wherefrom.store.sqlite import DocumentFacts
from wherefrom.types import Filter, Style, Turn

MOST_TURNS = 20  # of a conversation that are sent with a question; the last few are looked at
MOST_PASSAGES = 100  # found for one question; more are read in seconds and by nobody
_Text = Annotated[str, StringConstraints(min_length=1, max_length=2000, pattern=r"\S")]
_whole = BeforeValidator(lambda number: int(number) if isinstance(number, float) and number.is_integer() else number)
Passages = Annotated[int, Field(ge=1, le=MOST_PASSAGES), _whole]  # 3.0 is a whole number in JSON
_Words = Annotated[int, Field(ge=10, le=1000), _whole]
_Id = Annotated[str, StringConstraints(min_length=1, max_length=1000)]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


_Day = Annotated[str, StringConstraints(pattern=r"^[0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01]))?)?$")]
# As ids begin. Where files lie on the server's disk is nobody else's business, so no path that begins at its root.
_Folder = Annotated[str, StringConstraints(min_length=1, max_length=1000, pattern=r"^[^/\\~:][^:\\]*$")]
_Name = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"\S")]

_Tag = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[\w.#+@&-][\w .#+@&:/'-]*$")]


class Within(_Request):
    """Which documents are asked; what is left out narrows nothing. Where no document fits: 404."""

    folders: list[_Folder] = Field(default_factory=list, max_length=20, description="In any of them; as ids begin.")
    since: _Day | None = Field(None, description="Of this day, month or year, or later.")
    until: _Day | None = Field(None, description="Of this day, month or year, or earlier.")
    types: list[_Name] = Field(default_factory=list, max_length=20, description="Of any of these suffixes.")

    tags: list[_Tag] = Field(default_factory=list, max_length=20, description="With all of these tags.")

    def part(self) -> Filter:
        return Filter(tuple(self.folders), self.since or "", self.until or "", tuple(self.types), tuple(self.tags))


class SearchRequest(_Request):
    """Find passages."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"question": "deepest lake", "k": 3},
                {"question": "deepest lake", "within": {"folders": ["places"], "types": ["md", "html"]}},
            ]
        }
    )

    question: _Text
    k: Passages | None = Field(None, description="Passages to find; the setting retrieve.k if null.")
    within: Within | None = Field(None, description="The part of the library that is asked; all of it if null.")

    def part(self) -> Filter | None:
        return (self.within.part() or None) if self.within else None


class EarlierTurn(_Request):
    """A question that was asked before, and what was answered."""

    question: _Text = Field(description="As it was understood: the `text` of the trace's question.")
    answer: Annotated[str, StringConstraints(max_length=20_000)] | None = Field(
        None, description="What was answered; null where it declined."
    )
    title: Annotated[str, StringConstraints(max_length=1000)] = Field(
        "", description="Of the document that the answer came from."
    )

    def turn(self) -> Turn:
        return Turn(self.question, self.answer or "", self.title)


class AskRequest(SearchRequest):
    """Answer a question, which may be a follow-up to earlier turns."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"question": "When did Iceland become a republic?", "style": "short", "stream": False},
                {"question": "What makes raw olives bitter?", "style": "passage", "k": 10, "min_chance": 0.3},
                {
                    "question": "and what is its largest glacier?",
                    "turns": [
                        {
                            "question": "When did Iceland become a republic?",
                            "answer": "17 June 1944",
                            "title": "Iceland",
                        }
                    ],
                },
            ]
        }
    )

    turns: list[EarlierTurn] = Field(
        default_factory=list,
        max_length=MOST_TURNS,
        description="The conversation so far, oldest first: the question may refer to it. Nothing of it is kept.",
    )

    style: Style | None = Field(None, description="How the answer is told; the setting write.style if null.")
    min_chance: float | None = Field(
        None, ge=0.0, le=1.0, allow_inf_nan=False, description="Decline below it; the setting judge.min_chance if null."
    )
    why: bool = Field(False, description="Also tell what each step did, and what to try: the trace's `why`.")
    expect: _Text | None = Field(
        None, description="An answer that should be given: `why.lost` tells at which step it was lost. Implies `why`."
    )
    stream: bool = Field(True, description="Events as they come; false: the finished trace alone.")


class SummarizeRequest(SearchRequest):
    """Tell many documents around a question, in their own sentences."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"question": "life in the Arctic", "words": 100, "stream": False},
                {"question": "Summarize the whole document.", "documents": ["places/iceland.html"]},
            ]
        }
    )

    words: _Words | None = Field(None, description="At most so many; the setting summarize.words if null.")
    documents: list[_Id] = Field(
        default_factory=list, max_length=200, description="Ids of those that are summarized; all that fit if empty."
    )
    stream: bool = Field(True, description="Events as they come; false: the finished trace alone.")


class ExampleQuestions(BaseModel):
    questions: list[str]


class FeedbackRequest(_Request):
    """A verdict on an answer. Passages are named by their ids; their texts are taken from the library."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "question": "When did Iceland become a republic?",
                    "verdict": "wrong",
                    "answer": "Iceland has 130 volcanoes.",
                    "better": "17 June 1944",
                    "style": "short",
                    "passages": ["places/iceland.html#0", "places/iceland.html#1"],
                    "evidence": ["places/iceland.html#0"],
                }
            ]
        }
    )

    question: _Text
    verdict: Verdict
    answer: Annotated[str, StringConstraints(max_length=20_000)] | None = Field(
        description='What was answered; null for "I don\'t know".'
    )
    better: _Text | None = Field(None, description="What should have been answered.")
    style: Style = "short"
    passages: list[_Id] = Field(default_factory=list, max_length=MOST_PASSAGES, description="Ids of the hits.")
    evidence: list[_Id] = Field(default_factory=list, max_length=MOST_PASSAGES, description="Ids of those quoted.")


class FeedbackKept(BaseModel):
    number: int


class TagRequest(_Request):
    """Tags that documents are given, and others that are taken from them; upper and lower case make no other tag."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"documents": ["keys.txt"], "add": ["north"]}]})

    documents: list[_Id] = Field(min_length=1, max_length=1000)
    add: list[_Tag] = Field(default_factory=list, max_length=20)
    remove: list[_Tag] = Field(default_factory=list, max_length=20)


class TaggedDocuments(BaseModel):
    documents: list[str] = Field(description="Those of the documents that are there, and have been changed.")


class TagList(BaseModel):
    tags: dict[str, int] = Field(description="Every tag, and how many documents have it.")


class DocumentList(BaseModel):
    """Documents by id; `next` is the `after` of the next page, null on the last.

    The `source` of a document is the name of the file it was read from, without its folder; `gone` says that it is no
    longer there.
    """

    documents: list[DocumentFacts]
    next: str | None
    documents_in_all: int
    passages_in_all: int


class PassagePlace(BaseModel):
    """`text[start:end]` of the document, in characters (Unicode code points)."""

    id: str
    start: int
    end: int


class TextPlace(BaseModel):
    """Where in its file the text stands, from the character `start` on to the next place."""

    start: int
    label: str = Field(description='"page 12", "slide 3", "Costs, row 7", "Install › On Windows".')
    number: int | None = Field(description="Of the page or slide, for opening the file there.")


class DocumentText(BaseModel):
    """A document, or the part of it that was requested: `text` is its characters `start` to `end` of `length`.

    `passages` and `places` are those of which some of it lies there; they count from the beginning of the document.
    """

    id: str
    title: str
    source: str
    length: int
    start: int
    end: int
    passages_in_all: int
    text: str
    passages: list[PassagePlace]
    original: Literal["pdf"] | None = Field(
        None, description="What file it was read from, where GET /originals/{id} can show its pages."
    )
    places: list[TextPlace] = Field(description="In rising order; none where the file has no parts that people know.")


class JobOut(BaseModel):
    """An upload or a removal on its way into the library."""

    id: str
    kind: Kind
    state: State
    names: list[str] = Field(description="The documents it is about.")
    progress: dict[str, Any] | None = Field(
        description="While it runs: files, files_in_all, bytes, bytes_in_all, documents, current, safe; "
        "or waiting, with the reason, while another process writes."
    )
    result: dict[str, Any] | None = Field(
        description="When it is done: added, replaced, unchanged, removed, failures and warnings (name, reason), "
        "documents, passages, seconds; of a removal: removed."
    )
    reason: str | None = Field(description="Why it failed or was cancelled.")
    created: str
    changed: str


class JobList(BaseModel):
    jobs: list[JobOut]


class Alive(BaseModel):
    status: Literal["alive"] = "alive"
    version: str


class Ready(BaseModel):
    status: Literal["ready"] = "ready"
    documents: int
    passages: int
    keys_needed: bool
    styles: list[Style]
    style: Style = Field(description="The style when a question names none.")
    min_chance: float


class ProblemError(BaseModel):
    where: str
    what: str


class ProblemOut(BaseModel):
    """RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[ProblemError] | None = None
