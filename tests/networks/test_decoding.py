"""Writing: greedy and beam search against all answers enumerated, blocking, rules, lengths and provenance."""

from __future__ import annotations

import itertools
import math

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from networks.writer_examples import PREAST, WORDS, WRITER, answers, examples, fitted, lively, reading  # noqa: E402
from wherefrom.errors import SettingsError  # noqa: E402
from wherefrom.networks.decoder import Cache  # noqa: E402
from wherefrom.networks.decoding import BeamAnswer, DecodingSettings, beams, chosen, repeats, write  # noqa: E402
from wherefrom.networks.passage_heads import all_alike  # noqa: E402
from wherefrom.networks.pointer import CopySource, Step  # noqa: E402
from wherefrom.networks.writer import Memory, WordpieceSettings  # noqa: E402
from wherefrom.networks.writing_rules import WholeWords  # noqa: E402

END = 5


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


FEW = WordpieceSettings(words=10, padding=0, unknown=3, classify=4, end=END)  # styles 1 and 2, plain words 6 to 9


def memory(tokens: list[int], answerable: float = 0.0, rows: int = 1) -> Memory:
    """A memory of one source with these tokens."""
    given = torch.tensor([tokens] * rows)
    real = torch.ones(rows, 1, dtype=torch.bool)
    source = CopySource.plain(torch.zeros(*given.shape, 1), given, torch.ones_like(given, dtype=torch.bool))
    return Memory((source,), all_alike(real), torch.full((rows,), answerable), real)


class Chain:
    """A writer that looks only at the last token: `after[token]` says with which probability each word follows.

    `copies` of the probability of plain words comes from the places of the source that hold them, in equal parts.
    """

    def __init__(self, after: dict[int, dict[int, float]], copies: float = 0.0) -> None:
        self._after, self._copies = after, copies
        self.seen: list[list[int]] = []

    def begin(self, memory: Memory) -> Cache:
        return Cache((torch.zeros(1, len(memory.answerable), 1),), (), ())

    def decode_step(self, memory: Memory, cache: Cache, token: torch.Tensor) -> tuple[Step, Cache]:
        self.seen.append(token.tolist())
        probability = torch.zeros(len(token), 10)
        for row, last in enumerate(token.tolist()):
            for word, value in self._after.get(last, {END: 1.0}).items():
                probability[row, word] = value
        source = memory.sources[0]
        here = source.tokens[:, :, None] == torch.arange(10)  # (rows, places, words)
        count = here.sum(dim=1)
        copied = torch.where(count > 0, probability * self._copies, 0.0)
        by_place = (here * (copied / count.clamp(min=1))[:, None]).sum(dim=2)
        return Step(probability - copied, (by_place,)), cache


AFTER = {
    1: {6: 0.6, 7: 0.4},
    6: {6: 0.1, 7: 0.5, 8: 0.3, END: 0.1},
    7: {6: 0.1, 8: 0.2, END: 0.7},
    8: {6: 0.3, END: 0.7},
}


def every_answer(longest: int) -> dict[tuple[int, ...], float]:
    """Each answer of at most so many tokens with its mean log-likelihood; those that are cut do not count [end]."""
    results = {}
    for length in range(1, longest + 1):
        for words in itertools.product((6, 7, 8), repeat=length):
            path = [1, *words] if length == longest else [1, *words, END]
            steps = [AFTER[last].get(word, 0.0) for last, word in itertools.pairwise(path)]
            if all(steps):
                results[words] = sum(map(math.log, steps)) / len(steps)
    return results


# Searching


def test_greedy_takes_the_best_token_each_time() -> None:
    answer = write(Chain(AFTER), memory([9]), torch.tensor([1]), FEW)[0]
    assert answer.tokens == (6, 7)
    assert answer.score == pytest.approx((math.log(0.6) + math.log(0.5) + math.log(0.7)) / 3, abs=1e-5)
    assert answer.ended


def test_a_wide_beam_finds_what_enumerating_finds() -> None:
    expected = every_answer(4)
    results = beams(Chain(AFTER), memory([9]), torch.tensor([1]), FEW, DecodingSettings(beam=200, max_tokens=4))[0]
    assert {answer.tokens: pytest.approx(answer.score, abs=1e-4) for answer in results} == expected
    scores = [answer.score for answer in results]
    assert scores == sorted(scores, reverse=True)


def test_a_beam_of_one_is_greedy_and_a_batch_equals_one_by_one() -> None:
    made = lively(WRITER)
    wanted = answers(examples())
    batch = made.encode(reading(examples(), WRITER))
    for beam in (1, 3):
        settings = DecodingSettings(beam=beam, max_tokens=6)
        together = write(made, batch, wanted.style, WORDS, settings)
        for number, example in enumerate(examples()):
            alone = write(
                made, made.encode(reading([example], WRITER)), wanted.style[number : number + 1], WORDS, settings
            )
            assert alone[0].tokens == together[number].tokens
            assert alone[0].score == pytest.approx(together[number].score, abs=1e-4)


def test_a_wider_beam_is_never_less_likely_here() -> None:
    made = lively(PREAST)
    wanted = answers(examples())
    memory_of = made.encode(reading(examples(), PREAST))
    best = [
        [each[0].score for each in beams(made, memory_of, wanted.style, WORDS, DecodingSettings(beam=n, max_tokens=5))]
        for n in (1, 8)
    ]
    assert all(wide >= narrow - 1e-5 for narrow, wide in zip(*best, strict=True))


def test_stops_at_the_most_tokens() -> None:
    answer = write(
        Chain({1: {6: 1.0}, 6: {6: 1.0}}), memory([9]), torch.tensor([1]), FEW, DecodingSettings(max_tokens=4)
    )
    assert answer[0].tokens == (6, 6, 6, 6)
    assert not answer[0].ended


def test_stops_when_all_have_ended() -> None:
    chain = Chain(AFTER)
    write(chain, memory([9], rows=2), torch.tensor([1, 1]), FEW, DecodingSettings(max_tokens=50))
    assert len(chain.seen) == 3


# Never empty


def test_never_an_empty_answer() -> None:
    chain = Chain({1: {END: 0.99, 6: 0.01}, 6: {END: 1.0}})
    for beam in (1, 4):
        assert write(chain, memory([9]), torch.tensor([1]), FEW, DecodingSettings(beam=beam))[0].tokens == (6,)


def test_can_be_asked_for_more_than_one_token() -> None:
    settings = DecodingSettings(min_tokens=3)
    assert len(write(Chain(AFTER), memory([9]), torch.tensor([1]), FEW, settings)[0].tokens) == 3


def test_special_tokens_are_never_written() -> None:
    chain = Chain({1: {0: 0.3, 4: 0.3, 2: 0.3, 6: 0.1}, 6: {END: 1.0}})
    assert write(chain, memory([9]), torch.tensor([1]), FEW)[0].tokens == (6,)


# Longest good answer


def answer(tokens: int, score: float, ended: bool = True) -> BeamAnswer:
    return BeamAnswer(tuple(range(tokens)), score, ended, None)


def test_prefers_the_longest_good_answer_when_there_surely_is_one() -> None:
    results = [answer(2, -0.5), answer(6, -0.9), answer(9, -1.1), answer(12, -0.6, ended=False)]
    settings = DecodingSettings(margin=0.5)
    assert len(chosen(results, 0.31, settings).tokens) == 6
    assert len(chosen(results, 0.3, settings).tokens) == 2
    assert len(chosen(results, 0.9, DecodingSettings(margin=0.7)).tokens) == 9
    assert len(chosen([answer(3, -2.0, ended=False)], 0.9, settings).tokens) == 3


def test_the_preference_follows_the_classifier() -> None:
    settings = DecodingSettings(beam=20, margin=0.3, max_tokens=6)
    likely, unlikely = (
        write(Chain(AFTER), memory([9], answerable=logit), torch.tensor([1]), FEW, settings)[0] for logit in (3.0, -3.0)
    )
    assert len(likely.tokens) > len(unlikely.tokens)


# Repeats


def test_which_tokens_would_repeat() -> None:
    written = torch.tensor([[6, 7, 8, 6, 7], [6, 6, 6, 6, 6], [6, 7, 8, 9, 6]])

    def results(n: int) -> list[list[int]]:
        return [torch.nonzero(row).flatten().tolist() for row in repeats(written, n, 10)]

    assert results(1) == [[6, 7, 8], [6], [6, 7, 8, 9]]
    assert results(2) == [[8], [6], [7]]
    assert results(3) == [[8], [6], []]


def test_blocks_repeated_ngrams() -> None:
    chain = Chain({1: {6: 1.0}, 6: {7: 0.9, 8: 0.1}, 7: {6: 0.9, END: 0.1}, 8: {END: 1.0}})
    settings = DecodingSettings(block_ngrams=2, max_tokens=9)
    assert write(chain, memory([9]), torch.tensor([1]), FEW, settings)[0].tokens == (6, 7, 6, 8)
    assert write(chain, memory([9]), torch.tensor([1]), FEW, DecodingSettings(max_tokens=9))[0].tokens == (6, 7) * 4 + (
        6,
    )


def test_repeats_rather_than_say_nothing() -> None:
    chain = Chain({1: {6: 1.0}, 6: {6: 1.0}})
    settings = DecodingSettings(block_ngrams=1, max_tokens=3)
    assert write(chain, memory([9]), torch.tensor([1]), FEW, settings)[0].tokens == (6, 6, 6)


# Provenance


def test_shares_by_hand() -> None:
    """8 tenths of every word that the source holds are copied; 6 stands there twice."""
    results = write(Chain(AFTER, copies=0.8), memory([6, 9, 6]), torch.tensor([1]), FEW)[0]
    assert results.tokens == (6, 7)
    torch.testing.assert_close(results.shares.vocabulary, torch.tensor([0.2, 1.0]))
    torch.testing.assert_close(results.shares.copied[0], torch.tensor([[0.4, 0.0, 0.4], [0.0, 0.0, 0.0]]))


@pytest.mark.parametrize("beam", [1, 4])
def test_the_shares_of_every_token_add_up_to_one(beam: int) -> None:
    made = lively(WRITER)
    wanted = answers(examples())
    memory_of = made.encode(reading(examples(), WRITER)).packed()
    settings = DecodingSettings(beam=beam, max_tokens=6)
    for row, each in enumerate(beams(made, memory_of, wanted.style, WORDS, settings)):
        for one in each:
            total = one.shares.vocabulary + sum(part.sum(dim=1) for part in one.shares.copied)
            torch.testing.assert_close(total, torch.ones(len(one.tokens)))
            for source, part in zip(memory_of.sources, one.shares.copied, strict=True):
                for token, places in zip(one.tokens, part, strict=True):
                    assert set(source.tokens[row][places > 0].tolist()) <= {token}


def test_a_beams_shares_follow_its_own_path() -> None:
    """Writing the chosen tokens again, one by one, gives the same shares."""
    made = fitted(WRITER, 30)[0]
    wanted = answers(examples())
    memory_of = made.encode(reading(examples(), WRITER))
    results = beams(made, memory_of, wanted.style, WORDS, DecodingSettings(beam=4, max_tokens=6))
    for row in range(8):
        for one in results[row]:
            alone = memory_of.rows(torch.tensor([row]))
            cache, token = made.begin(alone), wanted.style[row : row + 1]
            for place, written in enumerate(one.tokens):
                with torch.no_grad():
                    step, cache = made.decode_step(alone, cache, token)
                token = torch.tensor([written])
                part = step.copied[1] * (alone.sources[1].tokens == written)
                whole = step.vocabulary[0, written] + sum(
                    (copied * (source.tokens == written)).sum()
                    for copied, source in zip(step.copied, alone.sources, strict=True)
                )
                torch.testing.assert_close(one.shares.copied[1][place], (part / whole)[0], atol=1e-4, rtol=1e-3)


def test_provenance_can_be_left_out() -> None:
    assert (
        write(Chain(AFTER), memory([9]), torch.tensor([1]), FEW, DecodingSettings(provenance=False))[0].shares is None
    )


# Rules


def test_a_rule_can_forbid() -> None:
    def no_seven(written: torch.Tensor, step: Step, sources: object) -> Step:
        vocabulary = step.vocabulary.clone()
        vocabulary[:, 7] = 0
        return step._replace(vocabulary=vocabulary)

    assert write(Chain(AFTER), memory([9]), torch.tensor([1]), FEW, rules=[no_seven])[0].tokens == (6, 8)


def test_a_rule_that_forbids_everything_ends_the_answer() -> None:
    def nothing(written: torch.Tensor, step: Step, sources: object) -> Step:
        late = written.shape[1] >= 1
        return Step(step.vocabulary * (not late), tuple(part * (not late) for part in step.copied))

    assert write(Chain(AFTER), memory([9]), torch.tensor([1]), FEW, rules=[nothing])[0].tokens == (6,)


# Words 6 and 7 begin a number, 8 continues one, 9 is plain. The source says "6 8 9 7 9".
GUARDED = torch.tensor([word in (6, 7, 8) for word in range(10)])
CONTINUES = torch.tensor([word == 8 for word in range(10)])
RULE = WholeWords(GUARDED, CONTINUES)


def after(written: list[int], tokens: list[int]) -> tuple[set[int], list[int]]:
    """Which words the vocabulary may write after this, and which places may be copied."""
    step = Step(torch.ones(1, 10), (torch.ones(1, len(tokens)),))
    results = RULE(torch.tensor([written], dtype=torch.long).view(1, -1), step, memory(tokens).sources)
    return set(torch.nonzero(results.vocabulary[0]).flatten().tolist()), torch.nonzero(
        results.copied[0][0]
    ).flatten().tolist()


def test_numbers_are_only_copied_and_only_whole() -> None:
    text = [6, 8, 9, 7, 9]
    plain = set(range(10)) - {6, 7, 8}
    assert after([], text) == (plain, [0, 2, 3, 4])  # no number begins in its middle
    assert after([9], text) == (plain, [0, 2, 3, 4])
    assert after([6], text) == (set(), [1])  # 6 stands there only as 6 8: it must go on
    assert after([6, 8], text) == (plain, [0, 2, 3, 4])
    assert after([9, 7], text) == (plain, [0, 2, 3, 4])  # 7 is whole; 7 8 stands nowhere
    assert after([7], [7, 9, 7, 8]) == (plain, [0, 1, 2, 3])  # both 7 and 7 8 do


def test_words_do_not_go_on_across_a_gap() -> None:
    one = memory([6, 8]).sources[0]
    apart = one._replace(place=torch.tensor([[0, 5]]))  # the end of one passage, and the middle of another
    step = Step(torch.ones(1, 10), (torch.ones(1, 2),))
    results = RULE(torch.tensor([[6]]), step, (apart,))
    assert results.copied[0].tolist() == [[1.0, 0.0]]
    assert results.vocabulary[0, 9] == 1


def test_the_rule_keeps_a_number_whole_in_a_beam() -> None:
    chain = Chain({1: {6: 0.5, 9: 0.5}, 6: {8: 0.01, 9: 0.5, END: 0.49}, 8: {END: 1.0}, 9: {END: 1.0}}, copies=0.5)
    for beam in (1, 3):
        results = beams(chain, memory([6, 8, 9]), torch.tensor([1]), FEW, DecodingSettings(beam=beam), [RULE])[0]
        assert all(one.tokens in ((9,), (6, 8)) for one in results)


# Settings


@pytest.mark.parametrize(("name", "value"), [("beam", 0), ("max_tokens", 0), ("min_tokens", -1), ("block_ngrams", -2)])
def test_refuses_settings_out_of_range(name: str, value: int) -> None:
    with pytest.raises(SettingsError, match=f"{name} is {value}"):
        DecodingSettings(**{name: value})
