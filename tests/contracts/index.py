"""What every Index promises."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from wherefrom.errors import LibraryDamaged
from wherefrom.stages import Index

TEXTS = {
    11: "The lighthouse of the harbour was built of granite",
    12: "Roses grow in the garden behind the harbour",
    13: "A garden of roses, roses and more roses",
    14: "Nothing of note happened that year",
    15: "灯台は高い建物です",
    16: "Ships — vapeurs, Dampfschiffe — leave at dawn",
}


class IndexContract:
    """Give a fixture `make`: called with nothing, it opens the same index on disk anew each time."""

    @pytest.fixture
    def index(self, make: Callable[[], Index]) -> Index:
        index = make()
        index.create()
        index.put(list(TEXTS), list(TEXTS.values()))
        index.commit()
        return index

    def test_finds_the_text_that_fits_best_first(self, index: Index) -> None:
        (hits,) = index.search(["granite lighthouse harbour"], 3)
        assert hits[0][0] == 11
        assert [score for _, score in hits] == sorted((score for _, score in hits), reverse=True)

    def test_gives_at_most_k(self, index: Index) -> None:
        (hits,) = index.search(["harbour garden roses"], 2)
        assert len(hits) == 2

    def test_a_batch_equals_one_by_one(self, index: Index) -> None:
        texts = ["harbour", "roses in the garden", "", "zzz", "灯台"]
        assert index.search(texts, 4) == [index.search([text], 4)[0] for text in texts]

    def test_empty_in_empty_out(self, index: Index) -> None:
        assert index.search([], 5) == []
        assert index.search([""], 5) == [[]]

    def test_equal_scores_are_ordered_by_key(self, index: Index) -> None:
        keys = list(range(300, 200, -1))
        index.put(keys, ["quokka"] * len(keys))
        index.commit()
        (hits,) = index.search(["quokka"], 7)
        assert [key for key, _ in hits] == list(range(201, 208))

    def test_removed_keys_are_not_found(self, index: Index) -> None:
        index.remove([11, 12, 999])
        index.commit()
        (hits,) = index.search(["harbour lighthouse granite garden"], 10)
        assert {key for key, _ in hits} == {13}
        assert index.keys() == {13, 14, 15, 16}

    def test_nothing_is_seen_before_it_is_committed(self, index: Index, make: Callable[[], Index]) -> None:
        index.put([21], ["quokka"])
        index.remove([11])
        other = make()
        assert other.search(["quokka"], 5) == [[]]
        assert other.keys() == set(TEXTS)
        index.commit()
        other.refresh()
        assert [key for key, _ in other.search(["quokka"], 5)[0]] == [21]
        assert other.keys() == {*TEXTS, 21} - {11}
        other.close()

    def test_survives_closing_and_opening(self, index: Index, make: Callable[[], Index]) -> None:
        before = index.search(["roses"], 5)
        index.close()
        again = make()
        assert again.search(["roses"], 5) == before
        again.put([31], ["quokka"])
        again.commit()
        assert again.keys() == {*TEXTS, 31}
        again.close()

    def test_a_missing_index_is_an_error_and_not_an_empty_one(self, make: Callable[[], Index]) -> None:
        with pytest.raises(LibraryDamaged, match="check"):
            make().search(["harbour"], 3)

    @pytest.mark.parametrize(
        "text",
        [
            "AND OR NOT +harbour -garden",
            '"unclosed quote AND (',
            "text:harbour title:[a TO z] key:11",
            "harbour~2^3 gard* /regex/ {!} \\",
            "🚢 " * 50,
            "lorem ipsum dolor " * 600,
            "x" * 10_000,
            "\x00\x01 harbour",
            "\n\t ",
        ],
    )
    def test_any_text_is_safe(self, index: Index, text: str) -> None:
        (hits,) = index.search([text], 5)
        assert len(hits) <= 5
