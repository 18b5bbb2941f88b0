"""Whether a question asks for yes or no, and what speaks for either in the words that answer it; English."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from wherefrom.features.overlap import Stems
from wherefrom.text import Span, sentences_around

_AUXILIARY = r"(?:do|does|did|is|are|was|were|am|can|could|has|have|had|will|would|should|shall|may|might|must)"
_ASKING = rf"(?:{_AUXILIARY}(?:n['’]t)?|can['’]t|won['’]t|cannot)\s+(?!{_AUXILIARY}\b)[\w\"'“‘`.$/\\<(@#*+-]"
# `If I lose it, can they send another?`: what is asked comes after a condition.
_OPENING = re.compile(
    rf"\W*(?:(?:if|when|once|after|before|while|unless|in|on|at|with|without|for|under)\s"
    rf"(?:(?!\b(?:what|which|who|whom|whose|how|why)\b)[^,?])*,\s*)?{_ASKING}",
    re.IGNORECASE,
)
# These offer no choice: `built or not`, `Python 3.8 or later`, `with or without a key`.
_NO_CHOICE = re.compile(
    r"(?:,|(?<![\s,]))\s+or\s+(?:not|any|others?|another|even|so|similar|equivalent)\b"
    r"|\bwith or without\b|\bone or more\b"
    r"|(?<=\d)\s+or\s+(?:later|newer|older|younger|earlier|higher|lower|larger|smaller|above|below|more|less|fewer)\b",
    re.IGNORECASE,
)
# `Is it red or blue?`, `Had he not died, what would he be?`, `Do you know where it is?` ask for something else, and so
# does a request.
_ELSE = re.compile(
    r"\bor\b|\bhow (?:many|much)\b|,\s*(?:what|which|why|how)\b|\band\s+(?:what|why|how|who)\b"
    r"|\bwhat\W*$|\s(?:is|are|was|were) what\b"
    r"|(?:(?:can|could|may|might)\s+i\s+ask|(?:do|does|can|could|would|will)\s+(?:you|anyone|anybody|somebody|someone)"
    r"\s+(?:happen to\s+)?(?:know|remember|recall|say|see))\s+(?:what|which|who|whom|whose|when|where|why|how)\b"
    r"|(?:can|could|will|would)\s+(?:you|anyone|somebody|someone)\s+(?:please\s+)?"
    r"(?:name|tell|list|give|explain|describe|show|say|find\s+(?:me|us|out))\b",
    re.IGNORECASE,
)


def asks_yes_no(question: str) -> bool:
    """Whether yes or no would be an answer, by the question's form: it begins with an auxiliary, offers no choice."""
    return _OPENING.match(question) is not None and _ELSE.search(_NO_CHOICE.sub("", question)) is None


NAMES = (
    "negation",
    "denial",
    "difference",
    "opposite",
    "less",
    "contrast around",
    "question negated",
    "question: all",
    "question: only",
    "question: same",
    "question: any",
    "number missing",
    "sentence coverage",
    "span coverage",
    "span length",
)

# What is looked at where the reader network says itself which way a text decides.
TRUTH_NAMES = ("truth", "truth where relevant", "sentences", *NAMES)
_BOUND = 8.0  # logits beyond this say no more

_NOT = frozenset("not no never none neither nor nobody nothing nowhere cannot without n't".split())
_DENIALS = frozenset(
    """hardly seldom rarely scarcely barely lack lacks lacked lacking fail fails failed failing failure refuse refuses
    refused unable incapable impossible unlikely unclear prevent prevents prevented prohibit prohibits prohibited banned
    forbidden illegal false incorrect wrong myth deny denies denied reject rejects rejected exempt exempted except
    excluding unsuccessful unsuitable absent absence ended ceased stopped ignore ignored""".split()
)
_DIFFERENCES = frozenset(
    """different differently differ differs differed differing difference differences vary varies varied varying
    opposite contrary reverse reversed disagree disagreed disagreement dispute disputed controversial unlike""".split()
)
_LESS = frozenset("less fewer little few".split())
_CONTRASTS = frozenset("but however although though despite while instead rather".split())
_ALL = frozenset("all every everyone everybody always".split())
_ONLY = frozenset("only solely just exclusively".split())
_ANY = frozenset("any anyone anybody anything ever some".split())
_NEGATIVE_OPENING = re.compile(r"\W*(?:\w+n['’]t|cannot)\b", re.IGNORECASE)  # `isn't it` asks the same as `is it`
_TOKEN = re.compile(r"n't|[a-z]+(?=n't)|[a-z]+|\d[\d,.]*")
_OPPOSITE = re.compile(r"(?:un|in|im|il|ir|non|dis)(\w{3,})")
_LONGEST = 20  # tokens; longer spans say no more by their length


def features(question: str, title: str, text: str, span: Span, stems: Stems) -> tuple[float, ...]:
    """What speaks for yes or no, in the order of NAMES; `span` is where in the passage's text the answer was read.

    negation: not, never, nothing in the span; denial: failed, illegal; difference: varies, opposite; each unless the
    question has one too. opposite: unable, for a question with able. less: fewer, little. contrast around: but, however
    in the sentence around the span. number missing: the question has a number that the sentence has not.
    """
    start, end = span
    first, last = sentences_around(text, span)
    question_tokens, span_tokens = _tokens(_opened(question)), _tokens(text[start:end])
    beside = _tokens(f"{text[first:start]} {text[end:last]}")
    wanted = set(stems(question))
    near = set(stems(text[first:last])) | set(stems(title))
    return (
        float(_otherwise(span_tokens, question_tokens, _NOT)),
        float(_otherwise(span_tokens, question_tokens, _DENIALS)),
        float(_otherwise(span_tokens, question_tokens, _DIFFERENCES)),
        float(any(_turned(token, wanted, stems) for token in span_tokens)),
        float(_count(span_tokens, _LESS)),
        float(_count(beside, _CONTRASTS)),
        float(any(token in _NOT for token in question_tokens)),
        float(_count(question_tokens, _ALL)),
        float(_count(question_tokens, _ONLY)),
        float("same" in question_tokens),
        float(_count(question_tokens, _ANY)),
        float(bool(_numbers(question_tokens) - _numbers(_tokens(text[first:last])))),
        _share(wanted, near),
        _share(wanted, set(stems(text[start:end]))),
        min(len(span_tokens), _LONGEST) / _LONGEST,
    )


def pooled_truth(relevances: Sequence[float], truths: Sequence[float]) -> float:
    """The logit of yes of several texts together: their mean, the more relevant the heavier (softmax).

    Texts that are as relevant as each other and say the opposite leave nothing; one that has nothing to do with the
    question does not count, whatever it says.
    """
    highest = max(relevances)
    shares = [math.exp(relevance - highest) for relevance in relevances]
    heard = sum(share * max(-_BOUND, min(_BOUND, truth)) for share, truth in zip(shares, truths, strict=True))
    return heard / sum(shares)


def log_support(relevance: float, truth: float, yes: bool) -> float:
    """The log of the chance that a text decides a question, and that it decides it this way."""
    return _log_probability(relevance) + _log_probability(truth if yes else -truth)


def _log_probability(logit: float) -> float:
    return min(logit, 0.0) - math.log1p(math.exp(-abs(logit)))


def _opened(question: str) -> str:
    """The question without an opening that is negative in form alone."""
    match = _NEGATIVE_OPENING.match(question)
    return question[match.end() :] if match else question


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text.lower().replace("’", "'").replace("can't", "can n't"))


def _count(tokens: list[str], words: frozenset[str]) -> int:
    return min(2, sum(token in words for token in tokens))


def _otherwise(span_tokens: list[str], question_tokens: list[str], words: frozenset[str]) -> int:
    """How many such words are said, less one if the question has one too: it asks for what they say."""
    return abs(_count(span_tokens, words) - any(token in words for token in question_tokens))


def _turned(token: str, wanted: set[str], stems: Stems) -> bool:
    match = _OPPOSITE.fullmatch(token)
    return match is not None and not wanted.isdisjoint(stems(match[1]))


def _numbers(tokens: list[str]) -> set[str]:
    return {token.rstrip(".,") for token in tokens if token[0].isdigit()}


def _share(wanted: set[str], held: set[str]) -> float:
    return len(wanted & held) / max(len(wanted), 1)
