"""Whether a written sentence may be shown: well formed, of nothing but its question and its evidence, and borne out.

Three looks. What it is made of: every word comes from the question, from the short answer or from the sentences around
it in the passage, or is a small one; the question's words are all told and none twice; a negation of the evidence is
not lost. How it is built: a small network (`features/fluency.py`) tells it from garbled ones. Whether it is true: where
the reader network was trained for yes and no, the passage must not speak against it. What does not pass is not shown;
the document is quoted instead.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wherefrom.features.fluency import Fluency, ToldAnswer
from wherefrom.features.forms import stems
from wherefrom.features.tokens import tokens
from wherefrom.text import FUNCTION_WORDS, NUMBER_WORDS, Span, sentences_around
from wherefrom.types import Candidate, Passage

if TYPE_CHECKING:
    from wherefrom.runtime.reader import ReaderSession

Truth = Callable[[str, Passage], float | None]  # the reader's logit that a passage says yes to a statement

_WH = frozenset("who whom whose which what when where why how".split())
_DO = frozenset(("do", "does", "did"))
_FORMS = {  # of verbs that a stemmer does not lead back to one
    **dict.fromkeys("am is are was were be been being".split(), "be"),
    **dict.fromkeys("has have had having".split(), "have"),
    **dict.fromkeys("can could".split(), "can"),
    **dict.fromkeys("will would".split(), "will"),
}
_IRREGULAR = {
    past: base
    for base, pasts in (
        line.split(":")
        for line in """begin:began,begun;become:became;break:broke,broken;bring:brought;build:built;buy:bought;
        choose:chose,chosen;come:came;cost:cost;cut:cut;do:did,done;draw:drew,drawn;drive:drove,driven;eat:ate,eaten;
        fall:fell,fallen;feel:felt;fight:fought;find:found;fly:flew,flown;forget:forgot,forgotten;get:got,gotten;
        give:gave,given;go:went,gone;grow:grew,grown;hear:heard;hide:hid,hidden;hold:held;keep:kept;know:knew,known;
        lead:led;leave:left;lend:lent;lie:lay,lain;lose:lost;make:made;mean:meant;meet:met;pay:paid;rise:rose,risen;
        run:ran;say:said;see:saw,seen;sell:sold;send:sent;shoot:shot;show:shown;sing:sang,sung;sit:sat;speak:spoke,spoken;
        spend:spent;stand:stood;steal:stole,stolen;swim:swam,swum;take:took,taken;teach:taught;tell:told;think:thought;
        throw:threw,thrown;understand:understood;wear:wore,worn;win:won;write:wrote,written""".replace("\n", "").split(
            ";"
        )
    )
    for past in pasts.split(",")
}
_NEGATIONS = frozenset("not no never none neither nor nobody nothing cannot without n't nt hardly unable".split())
_NOT = re.compile(r"(?<=\w)n['’]t\b", re.IGNORECASE)
_BETWEEN_CLAUSES = re.compile(r"[,;:()–—]|\bbut\b")
_SMALL = FUNCTION_WORDS - {"name", "kind", "given", "give", "get", "go", "goes", "gets", "got", "said", "say", "says"}
_FREE = frozenset("year day date month time place person company called named located s t approximately".split())


class BorneOut:
    """The reader's logit that a passage says yes to a statement; None, for good, where it was not trained for that."""

    def __init__(self, session: ReaderSession) -> None:
        self._session = session
        self._able = True

    def __call__(self, statement: str, passage: Passage) -> float | None:
        if not self._able:
            return None
        truth = self._session.read([statement], [[passage]])[0][0].truth
        self._able = truth is not None
        return truth


@dataclass(frozen=True, slots=True)
class SentenceCheck:
    """Says of a sentence why it may not be shown."""

    fluency: Fluency
    least: float  # chance of being well formed
    truth: Truth | None = None
    least_truth: float = 0.0  # logit of the reader that the evidence bears it out

    def fault(self, question: str, candidate: Candidate, sentence: str) -> str:
        """What is wrong with the sentence; nothing where it may be shown."""
        wrong = _made_of(question, candidate, sentence)
        if wrong:
            return wrong
        if self.least > 0.0:
            (chance,) = self.fluency.chances([ToldAnswer(question, candidate.text, sentence)])
            if chance < self.least:
                return "not well formed"
        if self.truth is not None:
            logit = self.truth(sentence, candidate.passage)
            if logit is not None and logit < self.least_truth:
                return "not borne out by its evidence"
        return ""


def _made_of(question: str, candidate: Candidate, sentence: str) -> str:
    """What the sentence has too much or too little of."""
    if "\n" in sentence or not sentence.rstrip().endswith((".", "!", '."', ".”")) or not sentence[:1].strip():
        return "not one sentence"
    sentence_words, wanted, short = _words(sentence), _words(question), _words(candidate.text)
    unfit = _unfit(question, short)
    if unfit:
        return unfit
    passage = candidate.passage
    first, last = sentences_around(passage.text, (candidate.start, candidate.end))
    around = _words(passage.text[first:last])
    outside = _without(sentence_words, short)
    if outside is None or " ".join(candidate.text.split()).casefold().strip(" .,;:") not in sentence.casefold():
        return "without the answer"
    sentence_bases, wanted_bases = _bases(outside), _bases(wanted)
    # Nothing that neither question nor evidence has.
    known = {*wanted_bases, *_bases(around), *_bases(short), *_bases(_words(passage.title))}
    for word, base in zip(outside, sentence_bases, strict=True):
        if base not in known and word not in _SMALL and base not in _FREE:
            return f"{word!r} stands in no source"
    # Nothing of the question lost, nothing more often than there.
    lost = _lost(wanted, wanted_bases, {*sentence_bases, *_bases(short)})
    if lost:
        return f"{lost!r} of the question is lost"
    often = Counter(base for base, word in zip(sentence_bases, outside, strict=True) if word not in _SMALL)
    most = Counter(wanted_bases)
    for base, count in often.items():
        if count > max(most[base], 1) or (count >= 1 and base in _bases(short) and base not in most):
            return f"{base!r} is told twice"
    ill = _ill_built(wanted, sentence_words, outside, short)
    if ill:
        return ill
    if _DO & set(wanted[:6]) - {"do"} and not _new_verb(wanted, outside):
        return "the verb is as in the question"
    begin, end = _clause(passage.text, (first, last), candidate)
    if _NEGATIONS & {*_words(passage.text[begin:end])} - {*wanted} and not _NEGATIONS & {*sentence_words}:
        return "a negation is lost"
    return ""


def _unfit(question: str, short: Sequence[str]) -> str:
    """Why an answer cannot stand in a sentence: it is one itself, or no number where one is asked for."""
    if not short or (len(short) > _A_CLAUSE and not _VERBS.isdisjoint(short)):
        return "the answer is a sentence itself"
    numbers = any(any(map(str.isdigit, word)) or word in NUMBER_WORDS or word in _AMOUNTS for word in short)
    if _OF_AMOUNT.search(question) and not numbers:
        return "the answer is no number"
    return ""


_A_CLAUSE = 3  # words; more of them with a verb say something by themselves
_AMOUNTS = frozenset("one few several many most all none nil no some hundreds thousands".split())
_OF_AMOUNT = re.compile(r"\bhow many\b|\bcosts?\b|\bprice\b", re.IGNORECASE)


def _clause(text: str, sentence: Span, candidate: Candidate) -> Span:
    """The part of the sentence between the marks around the answer."""
    marks = [match.span() for match in _BETWEEN_CLAUSES.finditer(text, *sentence)]
    begin = max([sentence[0], *(end for _, end in marks if end <= candidate.start)])
    return begin, min([sentence[1], *(start for start, _ in marks if start >= candidate.end)])


def _words(text: str) -> list[str]:
    """Words and numbers in small letters; the `not` of `isn't` by itself."""
    text = _NOT.sub(" not", text).lower()
    return [text[start:end] for start, end in tokens(text) if any(map(str.isalnum, text[start:end]))]


def _bases(words: Sequence[str]) -> list[str]:
    plain = [_FORMS.get(word) or _IRREGULAR.get(word) or word for word in words]
    return stems(plain)


def _without(words: list[str], part: list[str]) -> list[str] | None:
    """The words without the first place where `part` stands in a row; None where it does not."""
    while part and part[0] in ("a", "an", "the"):
        part = part[1:]
    for place in range(len(words) - len(part) + 1):
        if words[place : place + len(part)] == part:
            return words[:place] + words[place + len(part) :]
    return None


def _lost(wanted: Sequence[str], bases: Sequence[str], sentence_words: set[str]) -> str:
    """A word of the question that the sentence has not; what the question word asks with may be left out."""
    place = next((number for number, word in enumerate(wanted) if word in _WH), None)
    free = _phrase_end(wanted, place) if place is not None else 0
    for number, (word, base) in enumerate(zip(wanted, bases, strict=True)):
        if base in sentence_words or word in _WH or word in _DO or number < free:
            continue
        if word in _SMALL and word not in _FORMS and word not in _NEGATIONS and word not in _KEPT:
            continue
        return word
    return ""


_KEPT = frozenset("can could will would should must may might before after without until under over".split())


def _ill_built(
    wanted: Sequence[str], sentence_words: Sequence[str], outside: Sequence[str], short: Sequence[str]
) -> str:
    """Signs of a sentence that fell apart, which need no more than its words."""
    if sentence_words[-1] in _NEVER_LAST or (
        sentence_words[-1] in _BEFORE_A_NOUN and sentence_words[-1] not in (wanted[-1], short[-1])
    ):
        return f"it ends in {sentence_words[-1]!r}"
    verbs, wanted_verbs = Counter(_FORMS.get(word, word) for word in outside), Counter(_FORMS.get(w, w) for w in wanted)
    for verb in {*_FORMS.values(), *_MODALS}:
        if verbs[verb] > max(wanted_verbs[verb], verb in ("be", "have") and not wanted_verbs["be"]):
            return f"{verb!r} comes too often"
    place = next((number for number, word in enumerate(wanted) if word in _WH), None)
    if place is None:
        return ""
    before = {wanted[-1]} if wanted[-1] in _BEFORE_A_NOUN else set()
    before |= {wanted[place - 1]} if place and wanted[place - 1] in _BEFORE_A_NOUN else set()
    start = _start(sentence_words, short)
    if before and not before & {*sentence_words[max(0, start - 2) : start]}:
        return f"{sorted(before)[0]!r} does not stand before the answer"
    of_manner = wanted[place] == "how" and not _VERBS.isdisjoint(wanted[place + 1 : place + 2])
    if of_manner and not _MEANS & {*sentence_words[max(0, start - 1) : start], *short[:1]}:
        return "it does not say how"
    if len(wanted) > place + 2 and wanted[place] in ("what", "which"):
        end = _phrase_end(wanted, place)
        phrase = [word for word in wanted[place + 1 : end] if word not in _SMALL]
        kept = [word for word in phrase if word in outside]
        if wanted[end] in _VERBS and kept and len(kept) < len(phrase):
            return f"only {kept[0]!r} of what the question asks with is kept"
    return ""


def _start(sentence_words: Sequence[str], short: Sequence[str]) -> int:
    rest = _without(list(sentence_words), list(short))
    if rest is None:
        return 0
    return next((number for number, (a, b) in enumerate(zip(sentence_words, rest, strict=False)) if a != b), len(rest))


_MODALS = frozenset("can will should must may might".split())
_VERBS = frozenset(_FORMS) | _MODALS | _DO
_MEANS = frozenset("by on in with through from using via at as under over against between into for without".split())
_NEVER_LAST = frozenset("a an the and or but because than as my your its their if when that which who".split())
_BEFORE_A_NOUN = frozenset(
    "of in on at by for from to with over after before under until since within into during".split()
)


def _phrase_end(wanted: Sequence[str], place: int) -> int:
    """Where the phrase ends that begins with the question word: `which general electric product`."""
    most = min(place + 1 + _LONGEST_PHRASE, len(wanted) - 1)
    for number in range(place + 1, most):
        if wanted[number] in _SMALL and wanted[number] not in _INSIDE:
            return number
    return most


_LONGEST_PHRASE = 3
_INSIDE = frozenset("many much of a the other kind per own same".split())  # of such a phrase


def _new_verb(wanted: Sequence[str], sentence_words: Sequence[str]) -> bool:
    """Whether the sentence has a form of the question's words that the question has not: shrinks for shrink."""
    pairs = dict(zip(wanted, _bases(wanted), strict=True))
    bases = {base for word, base in pairs.items() if word not in _DO}
    return any(
        word not in pairs and base in bases for word, base in zip(sentence_words, _bases(sentence_words), strict=True)
    )
