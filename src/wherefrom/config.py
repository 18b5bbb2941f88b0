"""Every setting, its default and the reason for it.

Defaults are overruled by a TOML file, and that by `--set section.name=value`. A name that is not a
setting, or a value of the wrong type, is an error that says what was meant.
"""

from __future__ import annotations

import difflib
import re
import tomllib
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from wherefrom.errors import SettingsError
from wherefrom.types import Style

Similarity = Literal["cosine", "dot"]
Format = Literal[  # what ingest.formats may name
    "txt", "markdown", "html", "pdf", "docx", "pptx", "xlsx", "csv", "odt", "ods", "odp", "rst", "org", "asciidoc",
    "tex", "picture", "rtf", "epub", "notebook", "man", "info", "message", "mailbox", "jsonl", "wikipedia", "code",
    "configuration",
]  # fmt: skip
_Section = TypeVar("_Section")  # any dataclass of settings, or of sections of them


@dataclass(frozen=True, slots=True)
class IngestSettings:
    """Reading files."""

    max_megabytes: float = 64.0  # one document, unpacked; a long novel is 3, and a bigger file is rarely prose
    batch_passages: int = 20_000  # written and acknowledged together; larger is faster, smaller loses less
    batch_seconds: float = 10.0  # ... or after this long, so that slow formats are acknowledged too
    seconds_per_file: float = 120.0  # to read it, or one record of many; a PDF of 10,000 pages takes half of that
    parse_megabytes: int = 2048  # memory to read it in; a web page of 64 MB takes a good half of that
    ocr: bool = True  # read what is written on scans and pictures, where the extra is installed; seconds a page
    warn_language: bool = True  # name documents that are not in English: the networks read English alone
    code: bool = False  # read source code in folders too; it is found before the prose that says the same in words
    configuration: bool = False  # read toml, yaml, ini and json too: settings, and often passwords and data by the ton
    formats: tuple[Format, ...] = ()  # read only these in folders; none named: all but code and configuration
    skip: tuple[str, ...] = (  # in folders: files and folders of these names; others made them, or tests feed on them
        "node_modules",
        "site-packages",
        "__pycache__",
        "*.min.*",
        "*.lock",
        "*-lock.*",
        "testdata",
        "test[-_]data",
        "__fixtures__",
        "__snapshots__",
        "test*/data",
        "test*/fixtures",
        "test*/baseline_images",
    )

    def __post_init__(self) -> None:
        _positive(
            "ingest", self, "max_megabytes", "batch_passages", "batch_seconds", "seconds_per_file", "parse_megabytes"
        )


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Where documents are kept; a folder remembers which it was, so that this is said once."""

    kind: Literal["sqlite", "postgres"] = "sqlite"  # in the library's folder; postgres: in a server that many share
    url: str = field(default="", repr=False)  # postgres: postgres://USER@HOST:5432/DATABASE; a password is never shown

    def __post_init__(self) -> None:
        if self.url and not self.url.startswith(("postgres://", "postgresql://")):
            raise SettingsError("store.url must name a database, such as postgres://USER@HOST:5432/DATABASE")


@dataclass(frozen=True, slots=True)
class SplitSettings:
    """Cutting documents into passages; fixed when a library is created."""

    words: int = 100  # the length the readers are trained on
    overlap: int = 25  # an answer that leans on the sentence before it stays whole
    section: int = 40  # words from which on a passage ends where a section does; 0: sections are not looked at

    def __post_init__(self) -> None:
        _positive("split", self, "words")
        if self.section < 0:
            raise SettingsError(f"split.section must be at least 0, not {self.section}")
        if not 0 <= self.overlap < self.words:
            raise SettingsError(
                f"split.overlap must be at least 0 and below split.words ({self.words}), not {self.overlap}"
            )


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """What the indexes see; fixed when a library is created."""

    language: str = "english"  # whose word endings are cut: a Snowball name, or "none"
    title: bool = True  # a passage is also found by the title of its document
    ngrams: int = 2  # tfidf: words in a row that are looked for together, up to this many
    buckets: int = 1 << 24  # tfidf: hashes that n-grams fall into; DrQA's, few collisions in millions of passages

    def __post_init__(self) -> None:
        if not 1 <= self.ngrams <= 5:
            raise SettingsError(f"index.ngrams must be from 1 to 5, not {self.ngrams}")
        if not 1024 <= self.buckets <= 1 << 32:
            raise SettingsError(f"index.buckets must be from 1024 to {1 << 32}, not {self.buckets}")
        if self.language not in LANGUAGES:
            guess = _suggestion(self.language, LANGUAGES)
            raise SettingsError(
                f"index.language knows no '{self.language}'{guess or '; it knows ' + ', '.join(LANGUAGES)}"
            )


@dataclass(frozen=True, slots=True)
class RetrieveSettings:
    """Finding passages."""

    kind: Literal["bm25", "tfidf", "qdrant", "dense", "hybrid"] = (
        "bm25"  # tfidf: DrQA's n-grams; qdrant: BM25 in a server; dense: vectors; hybrid: bm25 and dense
    )
    k: int = 12  # passages found for a question; matched by meaning, twelve hold as much as twenty of BM25 alone
    url: str = ""  # qdrant: where the server is; empty: where the library's index was made, first http://127.0.0.1:6333
    dense: Literal["none", "matcher", "embedder"] = (
        "none"  # qdrant: vectors kept too, and ranks by both fused; matcher: of its words; embedder: runtime.embedder's
    )
    similarity: Similarity = "cosine"  # tfidf: of the vectors' directions; dot: long passages gain, as in DrQA
    match: Literal["auto", "none", "words"] = (
        "auto"  # of `pool` keep the k nearest in meaning (auto: of read.kind=span)
    )
    pool: int = 100  # match: passages that the index gives; nearly all that answer are among them
    respell: bool = True  # misspelt words become the library's own: 85.6 in 100 reach their passage so, 61.8 as typed
    nearness: float = 10.0  # match: weight of nearness in meaning beside the index's score, a share of the best one's
    fusion: Literal["score", "rank"] = "score"  # hybrid: what both indexes say, weighed; rank: by the places alone
    cosine: float = 6.0  # hybrid: weight of the vectors' cosine beside the same
    hybrid_nearness: float = 3.0  # hybrid: what `nearness` is there; vectors say better what is near in meaning

    def __post_init__(self) -> None:
        _positive("retrieve", self, "k", "pool")
        for name in ("nearness", "cosine", "hybrid_nearness"):
            if getattr(self, name) < 0:
                raise SettingsError(f"retrieve.{name} must be at least 0, not {getattr(self, name)}")


@dataclass(frozen=True, slots=True)
class RankSettings:
    """Putting the found passages into a better order."""

    kind: Literal["none", "overlap", "reader", "masque", "cete", "qasa"] = (
        "reader"  # reads them anyway; masque: the writer network; cete: a network for sentences; qasa: one of your own
    )
    keep: int = 20  # passages that go on to the reader

    def __post_init__(self) -> None:
        _positive("rank", self, "keep")


@dataclass(frozen=True, slots=True)
class ReadSettings:
    """Reading candidate answers out of passages."""

    kind: Literal["sentence", "span", "drqa"] = "span"  # exact, by the reader network or DrQA's; sentence: by words
    candidates: int = 10  # kept for the stages that follow
    max_tokens: int = 30  # of a span; answers are rarely longer than 20 words
    relevance: float = 0.5  # span: weight of the passage's log relevance beside the span's log probability
    span_score: Literal["exp", "softmax"] = "exp"  # drqa: raw, comparable between passages; softmax: inside each one
    brevity: bool = True  # prefer shorter spans as much as the weights say; start and end are chosen apart

    def __post_init__(self) -> None:
        _positive("read", self, "candidates", "max_tokens")


@dataclass(frozen=True, slots=True)
class RerankSettings:
    """Putting the candidate answers into a better order."""

    kind: Literal["auto", "none", "vote", "merits", "rankqa"] = (
        "auto"  # merits: what speaks for each (auto: of read.kind=span, English); vote: same answers add up; a network
    )
    candidates: int = 40  # rankqa: read in place of read.candidates; the source has 40
    newest: bool = True  # of versions of one text the newest is believed, and what other sources say is told
    weights: str = "rankqa"  # of the re-ranker: a shipped name, or a folder; they belong to one reader

    def __post_init__(self) -> None:
        _positive("rerank", self, "candidates")


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """Judging how likely the answer is right; where it is not, it is not given."""

    kind: Literal["lexical", "calibrated", "masque"] = "calibrated"  # by the reader; shared words; by the writer
    second: bool = True  # calibrated: the writer network says what it thinks of the answer; English; a fifth more time
    english_only: bool = True  # other languages are told to be out of reach; unless index.language is another one
    min_chance: float = 0.6  # below this the answer is "I don't know"; kept for precision 0.85 on unknown documents

    def __post_init__(self) -> None:
        if not 0.0 <= self.min_chance <= 1.0:
            raise SettingsError(f"judge.min_chance is a probability from 0 to 1, not {self.min_chance}")


@dataclass(frozen=True, slots=True)
class WriteSettings:
    """Writing the answer."""

    kind: Literal["verbatim", "masque"] = "masque"  # sentences by the writer network; verbatim: quotes alone
    style: Style = "short"
    passages: int = 3  # masque: that a sentence is written from; more take longer and hardly add anything
    beam: int = 1  # masque: beginnings that are followed at once; more take longer
    short: Literal["quote", "write"] = "quote"  # masque: short answers as they were read, or written too
    check: bool = True  # masque: a sentence is shown if it is well formed and tells the question; else it is quoted
    fluent: float = 0.4  # check: least chance that a person would have written it so; more quotes more
    borne_out: float = -2.0  # check: least logit of the reader that the passage says yes to it; English, like all of it
    yes_no: bool = True  # questions that ask for it get a Yes or No in front of what it rests on; English
    sure: float = 0.0  # yes_no: least chance of the word, below it only what decides is quoted; 0: as the weights say

    def __post_init__(self) -> None:
        _positive("write", self, "passages", "beam")
        if not 0.0 <= self.fluent <= 1.0:
            raise SettingsError(f"write.fluent is a probability from 0 to 1, not {self.fluent}")
        if self.sure and not 0.5 <= self.sure <= 1.0:
            raise SettingsError(f"write.sure is a probability from 0.5 to 1, or 0, not {self.sure}")


@dataclass(frozen=True, slots=True)
class SummarizeSettings:
    """Summaries around a question, and explanations of some sentences."""

    kind: Literal["extractive"] = "extractive"  # the documents' own sentences
    words: int = 250  # of a summary that names no number
    passages: int = 60  # that a summary is made from; more take longer and hardly add anything
    read: int = 12  # of them that the reader network reads: most of the time; the others are weighed by words alone
    novelty: float = 0.1  # how much a sentence that is like a chosen one is held back; 0: not at all
    min_chance: float = 0.15  # that the passages speak of the question; below it there is no summary

    def __post_init__(self) -> None:
        _positive("summarize", self, "words", "passages", "read")
        if self.novelty < 0:
            raise SettingsError(f"summarize.novelty must be at least 0, not {self.novelty}")
        if not 0.0 <= self.min_chance <= 1.0:
            raise SettingsError(f"summarize.min_chance is a probability from 0 to 1, not {self.min_chance}")


@dataclass(frozen=True, slots=True)
class ConversationSettings:
    """Understanding follow-ups by the turns before them; English."""

    follow_ups: bool = True  # "how long is it?" is answered as the whole question it means; false: as it was typed
    unsure: float = 0.15  # a second meaning is tried too where it has at least this chance; 1: never

    def __post_init__(self) -> None:
        if not 0.0 < self.unsure <= 1.0:
            raise SettingsError(f"conversation.unsure is a probability above 0, up to 1, not {self.unsure}")


@dataclass(frozen=True, slots=True)
class RuntimeSettings:
    """Running trained networks."""

    reader: str = "reader"  # weights of the reader network: a shipped name, or a folder
    skim: bool = True  # the reader's first layers choose the passages that all of them read, where its weights can
    matcher: str = "matcher"  # weights that tell how near words are in meaning, likewise
    embedder: str = "embedder"  # weights that give texts their vectors, likewise
    drqa: str = "drqa"  # weights of DrQA's reader, likewise
    tagger: str = "tagger"  # weights of the tagger that the check of sentences and DrQA's reader ask, likewise
    followup: str = "followup"  # weights that tell what a follow-up means, likewise
    fluency: str = "fluency"  # weights that tell well-formed sentences from garbled ones, likewise
    writer: str = "writer"  # weights of the writer network: a shipped name, or a folder
    cete: str = "cete"  # weights that rank sentences, likewise; they come with wherefrom-lab
    qasa: str = ""  # weights of `wherefrom train qasa`, a folder: none are shipped
    yes_no: str = "yes-no"  # weights that decide between Yes and No, likewise
    selector: str = "selector"  # weights that tell what is worth telling in summaries and explanations, likewise
    threads: int = 2  # of one pass; more gain little on small networks, and stall others under load

    def __post_init__(self) -> None:
        _positive("runtime", self, "threads")


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Answering over HTTP: `wherefrom serve`."""

    host: str = "127.0.0.1"  # this machine alone; any other address needs keys
    port: int = 8765
    workers: int = 1  # processes; each holds the networks, so more of them cost memory
    hosts: str = ""  # names it may be called by besides localhost, with commas; guards against DNS rebinding
    batch: int = 8  # questions read together
    wait_ms: float = 3.0  # how long a question waits for others to be read with
    queue: int = 64  # questions under way; one more is told to come back (503), and no client has more than 3/4 of them
    patience_seconds: float = (
        6.0  # that a question may wait for its turn; one that would longer is told to come back (503)
    )
    seconds: float = 30.0  # for one question, until it is answered
    connections: int = 256  # open at a time, a process; one more takes the place of an idle one, or is refused (503)
    client_seconds: float = 10.0  # for a client to send the head of a request; thrice for its body, and to listen
    upload_megabytes: float = 64.0  # one request
    upload_files: int = 20  # one request
    unpacked_megabytes: float = 256.0  # all that a packed upload may hold: .gz and .xz can be bombs
    jobs: int = 100  # uploads waiting; one more is told to come back (503)
    job_seconds: float = 600.0  # for one upload; a file can be made to be read for ever
    job_megabytes: int = 2048  # memory of the process that reads uploads; a file can be made to need too much
    per_minute: int = 600  # requests of one key, where the key does not say otherwise
    log_texts: bool = False  # questions and messages of unexpected errors in the log, where they may be private

    def __post_init__(self) -> None:
        _positive(
            "server",
            self,
            "workers",
            "batch",
            "queue",
            "patience_seconds",
            "seconds",
            "connections",
            "client_seconds",
            "upload_megabytes",
            "upload_files",
            "unpacked_megabytes",
            "jobs",
            "job_seconds",
            "job_megabytes",
            "per_minute",
        )
        if not 0 <= self.port <= 65535:
            raise SettingsError(f"server.port is a number from 0 to 65535, not {self.port}")
        if self.wait_ms < 0:
            raise SettingsError(f"server.wait_ms must be at least 0, not {self.wait_ms}")


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings, a section a stage."""

    ingest: IngestSettings = field(default_factory=IngestSettings)
    store: StoreSettings = field(default_factory=StoreSettings)
    split: SplitSettings = field(default_factory=SplitSettings)
    index: IndexSettings = field(default_factory=IndexSettings)
    retrieve: RetrieveSettings = field(default_factory=RetrieveSettings)
    rank: RankSettings = field(default_factory=RankSettings)
    read: ReadSettings = field(default_factory=ReadSettings)
    rerank: RerankSettings = field(default_factory=RerankSettings)
    judge: JudgeSettings = field(default_factory=JudgeSettings)
    write: WriteSettings = field(default_factory=WriteSettings)
    summarize: SummarizeSettings = field(default_factory=SummarizeSettings)
    conversation: ConversationSettings = field(default_factory=ConversationSettings)
    runtime: RuntimeSettings = field(default_factory=RuntimeSettings)
    server: ServerSettings = field(default_factory=ServerSettings)


# Snowball languages that the index can stem.
LANGUAGES = (
    "none",
    "arabic",
    "danish",
    "dutch",
    "english",
    "finnish",
    "french",
    "german",
    "greek",
    "hungarian",
    "italian",
    "norwegian",
    "portuguese",
    "romanian",
    "russian",
    "spanish",
    "swedish",
    "tamil",
    "turkish",
)

# A library remembers these from its first day: changing one would need every passage made anew.
FIXED_SECTIONS = ("split", "index")


def resolve(toml: Path | None = None, overrides: Iterable[str] = (), base: Settings | None = None) -> Settings:
    """The settings in force: `base` (or the defaults), then the TOML file, then each `section.name=value`."""
    settings = base or Settings()
    if toml is not None:
        settings = from_mapping(read_toml(toml), settings, origin=str(toml))
    for override in overrides:
        settings = overridden(settings, override)
    return settings


def from_mapping(values: Mapping[str, object], base: Settings | None = None, origin: str = "") -> Settings:
    """`base` with the values of a nested mapping, as a TOML file gives it."""
    return updated(base or Settings(), values, origin)


def to_mapping(settings: Settings) -> dict[str, dict[str, Any]]:
    """The settings as a nested mapping that TOML and JSON can hold; a password is left out of it."""
    return {
        section.name: {
            setting.name: _plain(getattr(getattr(settings, section.name), setting.name))
            for setting in fields(getattr(settings, section.name))
        }
        for section in fields(settings)
    }


def _plain(value: object) -> object:
    if isinstance(value, str) and "://" in value:
        return without_password(value)
    return list(value) if isinstance(value, tuple) else value


def without_password(url: str) -> str:
    """A URL as it may be shown and kept."""
    scheme, separator, rest = url.partition("://")
    if "@" in rest:  # the last one: a password may hold others, though it should not
        user, _, place = rest.rpartition("@")
        rest = f"{user.partition(':')[0]}@{place}"
    return scheme + separator + re.sub(r"([?&](?:ssl)?password=)[^&]*", r"\1", rest)


def overridden(base: _Section, override: str) -> _Section:
    """`base`, any tree of settings, with one `section.name=value` applied; a section may have sections."""
    name, equals, text = override.partition("=")
    name = name.strip()
    if not equals:
        raise SettingsError(f"'{override}' does not say a value; write it as section.name=value")
    known = list(_names_in(base, ""))
    if name not in known and not _is_nested(name, base):
        guess = _suggestion(name, known)
        raise SettingsError(f"{name or override!r} is not a setting{guess or '; write section.name=value'}")
    *sections, setting = name.split(".")
    values: dict[str, object] = {setting: _Written(text.strip())}
    for section in reversed(sections):
        values = {section: values}
    return updated(base, values)


def _is_nested(name: str, base: object) -> bool:
    """Whether a name has at least the form of a setting in a section of `base`: then what is wrong can be said best."""
    first, _, rest = name.partition(".")
    return bool(rest) and (not is_dataclass(base) or hasattr(base, first))


def layers(toml: Path) -> list[tuple[Path, dict[str, Any]]]:
    """The settings of a TOML file, behind those of the file that its `base` names, and so on; each with its file."""
    chain: list[tuple[Path, dict[str, Any]]] = []
    file: Path | None = toml
    while file is not None:
        if any(file == seen for seen, _ in chain):
            raise SettingsError(f"{toml}: base leads back to {file.name}")
        values = read_toml(file)
        base = values.pop("base", None)
        if base is not None and not isinstance(base, str):
            raise SettingsError(f"{file}: base names the file of settings that these change, not {base!r}")
        chain.insert(0, (file, values))
        file = None if base is None else file.parent / base
    return chain


def names(settings: Settings | None = None) -> Iterator[str]:
    """Every setting's full name, such as `split.words`."""
    return _names_in(settings or Settings(), "")


@dataclass(frozen=True, slots=True)
class _Written:
    """A value as typed on a command line: what it means depends on the setting's type."""

    text: str


def updated(base: _Section, values: Mapping[str, object], origin: str = "") -> _Section:
    """`base`, any dataclass of settings or of sections of them, with the values of a nested mapping."""
    return _updated(base, values, "", origin, list(_names_in(base, "")))


def _names_in(section: object, prefix: str) -> Iterator[str]:
    for setting in fields(section):  # type: ignore[arg-type]
        value = getattr(section, setting.name)
        if is_dataclass(value):
            yield from _names_in(value, f"{prefix}{setting.name}.")
        else:
            yield f"{prefix}{setting.name}"


def _updated(base: _Section, values: Mapping[str, object], prefix: str, origin: str, known: Sequence[str]) -> _Section:
    hints = get_type_hints(type(base))
    changes: dict[str, Any] = {}
    for name, value in values.items():
        full = f"{prefix}{name}"
        where = f" (in {origin})" if origin else ""
        if name not in hints:
            raise SettingsError(f"{full} is not a setting{_suggested(full, prefix, hints, known)}{where}")
        current = getattr(base, name)
        if is_dataclass(current):
            if not isinstance(value, Mapping):
                raise SettingsError(f"{full} is a section of settings, not a value{where}")
            changes[name] = _updated(current, value, f"{full}.", origin, known)
        else:
            changes[name] = _checked(full, value, hints[name], where)
    return replace(base, **changes)  # type: ignore[type-var]


def _suggested(full: str, prefix: str, siblings: Iterable[str], known: Sequence[str]) -> str:
    """`; did you mean ...?`: a neighbour of the same section first, then any setting at all."""
    local = difflib.get_close_matches(full.removeprefix(prefix), list(siblings), n=1)
    if local:
        return f"; did you mean {prefix}{local[0]}?"
    last = full.rpartition(".")[2]
    elsewhere = [name for name in known if name.rpartition(".")[2] == last]
    if elsewhere:
        return f"; did you mean {difflib.get_close_matches(full, elsewhere, n=1, cutoff=0.0)[0]}?"
    return _suggestion(full, known) or ("; `wherefrom config` lists them all" if known == list(names()) else "")


def _suggestion(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""


_KIND_NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


def _checked(name: str, value: object, hint: Any, where: str) -> object:
    """The value in the setting's own type, or an error that names the setting."""
    if get_origin(hint) in (Union, types.UnionType):
        hint = next(option for option in get_args(hint) if option is not type(None))
    if get_origin(hint) is Literal:
        choices = {str(choice): choice for choice in get_args(hint)}
        choice_text = value.text.strip("\"'") if isinstance(value, _Written) else value
        chosen = choices.get(str(choice_text))
        if chosen is None or not isinstance(choice_text, str | type(chosen)) or isinstance(choice_text, bool):
            guess = _suggestion(str(choice_text), list(choices))
            raise SettingsError(f"{name} must be one of {', '.join(choices)}, not {choice_text!r}{guess}{where}")
        return chosen
    if isinstance(value, _Written) and get_origin(hint) in (Mapping, tuple):
        value = _parsed_toml(value.text)
    if get_origin(hint) is Mapping:
        key, each = get_args(hint)
        return _checked_mapping(name, value, key, each, where)
    if get_origin(hint) is tuple:
        return _checked_list(name, value, get_args(hint), where)
    if isinstance(value, _Written):
        value = _parsed(value.text, hint)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not hint:
        raise SettingsError(f"{name} must be {_KIND_NAMES[hint]}, not {value!r}{where}")
    return value


def _parsed_toml(text: str) -> object:
    """A table or a list as TOML writes it; the text itself where it is none."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _checked_mapping(name: str, value: object, key: Any, each: Any, where: str) -> dict[object, object]:
    """A table such as {"encoder." = 3e-4}; where keys are numbers, TOML has them as text."""
    if not isinstance(value, Mapping):
        raise SettingsError(f"{name} must be a table, not {value!r}{where}")
    checked: dict[object, object] = {}
    for written, inside in value.items():
        try:
            checked[key(written)] = _checked(f"{name}.{written}", inside, each, where)
        except ValueError:
            raise SettingsError(f"{name}.{written}: {written!r} must be {_KIND_NAMES[key]}{where}") from None
    return checked


def _checked_list(name: str, value: object, each: tuple[Any, ...], where: str) -> tuple[object, ...]:
    """A list such as [[2, 4], [5, 11]], of any length or of a fixed one."""
    if not isinstance(value, list | tuple):
        raise SettingsError(f"{name} must be a list, not {value!r}{where}")
    if each[-1] is Ellipsis:
        each = each[:1] * len(value)
    if len(value) != len(each):
        raise SettingsError(f"{name} must be a list of {len(each)}, not {value!r}{where}")
    return tuple(_checked(name, inside, hint, where) for inside, hint in zip(value, each, strict=True))


def _parsed(text: str, hint: type) -> object:
    """Text from a command line, read as TOML unless the setting is text itself."""
    if hint is str:
        return text.strip("\"'")
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def read_toml(path: Path) -> dict[str, Any]:
    """A settings file as a nested mapping."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"cannot read the settings file {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not TOML: {error}") from error


def _positive(section: str, settings: object, *names: str) -> None:
    for name in names:
        if not getattr(settings, name) > 0:
            raise SettingsError(f"{section}.{name} must be above 0, not {getattr(settings, name)}")
