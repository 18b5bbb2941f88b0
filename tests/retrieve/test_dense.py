"""The dense index: what every index promises, and what is its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import numpy
import pytest

pytest.importorskip("faiss", reason="the dense index needs faiss: pip install 'wherefrom[dense]'")

from contracts.index import IndexContract
from retrieve.bag_of_words import WIDTH, BagOfWords
from wherefrom.errors import LibraryDamaged
from wherefrom.retrieve import dense
from wherefrom.retrieve.dense import DenseIndex
from wherefrom.runtime.embedder import TextEmbedder, in_eight_bits
from wherefrom.stages import KeyRanges


def made(path: Path, ivf_from: int = dense.IVF_FROM, probed: int = dense.PROBED) -> DenseIndex:
    return DenseIndex(path, lambda: cast(TextEmbedder, BagOfWords()), ivf_from, probed)


class TestContract(IndexContract):
    """DenseIndex is an Index."""

    @pytest.fixture
    def make(self, tmp_path: Path) -> Iterator[Callable[[], DenseIndex]]:
        opened: list[DenseIndex] = []

        def make() -> DenseIndex:
            opened.append(made(tmp_path / "dense"))
            return opened[-1]

        yield make
        for index in opened:
            index.close()


def random_vectors(count: int, seed: int = 1) -> numpy.ndarray:
    """In twenty clumps, as texts are."""
    chance = numpy.random.default_rng(seed)
    centres = chance.standard_normal((20, WIDTH))
    return in_eight_bits((centres[chance.integers(0, 20, count)] + chance.standard_normal((count, WIDTH))).astype("f4"))


def filled(path: Path, vectors: numpy.ndarray, ivf_from: int = dense.IVF_FROM, first: int = 0) -> DenseIndex:
    index = made(path, ivf_from)
    index.create()
    index.put_prepared(range(first, first + len(vectors)), vectors)
    index.commit()
    return index


def exact(vectors: numpy.ndarray, question: numpy.ndarray, k: int) -> list[int]:
    scores = vectors.astype(int) @ question.astype(int)
    order = sorted(range(len(vectors)), key=lambda at: (-scores[at], at))
    return [at for at in order if scores[at] > 0][:k]


def keys_of(index: DenseIndex, question: numpy.ndarray, k: int, within: KeyRanges | None = None) -> list[int]:
    return [key for key, _ in index._snapshot().best(question, k, within, index._probed)]


def test_the_score_is_the_cosine(tmp_path: Path) -> None:
    index = made(tmp_path)
    index.create()
    index.put([1, 2], ["red fox grey roses", "red owl brown garden"])
    index.commit()
    assert index.search(["red fox grey roses"], 2)[0][0] == (1, pytest.approx(1.0, abs=0.02))
    assert index.search(["red fox grey roses"], 2)[0][1] == (2, pytest.approx(1 / 4, abs=0.02))


def test_few_passages_are_searched_exactly(tmp_path: Path) -> None:
    vectors = random_vectors(3000)
    index = filled(tmp_path, vectors)
    assert index._snapshot().manifest.segments[0].lists == 0
    for question in random_vectors(20, seed=2):
        assert keys_of(index, question, 10) == exact(vectors, question, 10)


def test_many_passages_are_cut_into_lists_and_nearly_all_of_the_best_are_among_those_looked_into(
    tmp_path: Path,
) -> None:
    vectors = random_vectors(3000)
    filled(tmp_path, vectors, ivf_from=2000)
    index = made(tmp_path, ivf_from=2000, probed=40)  # of 109, as 224 would be all of them
    (facts,) = index._snapshot().manifest.segments
    assert facts.lists == 109
    questions = random_vectors(30, seed=2)
    both = [len({*keys_of(index, each, 10)} & {*exact(vectors, each, 10)}) for each in questions]
    assert sum(both) >= 0.95 * 300
    # What is added stays outside the lists until it is a fifth.
    index.put_prepared(range(3000, 3300), random_vectors(300, seed=3))
    index.commit()
    assert [facts.lists for facts in index._snapshot().manifest.segments] == [109, 0]
    index.put_prepared(range(3300, 4300), random_vectors(1000, seed=4))
    index.commit()
    (facts,) = index._snapshot().manifest.segments
    assert (facts.passages, facts.lists) == (4300, int(2 * 4300**0.5))
    assert index.keys() == set(range(4300))
    whole = numpy.concatenate([vectors, random_vectors(300, seed=3), random_vectors(1000, seed=4)])
    assert (index._snapshot().segments[0].vectors() == whole).all()  # nothing is rounded twice


@pytest.mark.parametrize("ivf_from", [2000, 200_000])
def test_the_best_of_some_keys_are_exactly_those(tmp_path: Path, ivf_from: int) -> None:
    vectors = random_vectors(2500)
    index = filled(tmp_path, vectors, ivf_from, first=100)
    index.remove([2001, 150])
    index.commit()
    within = KeyRanges((100, 2000), (200, 2010))
    inside = [key for key in [*range(100, 200), *range(2000, 2010)] if key not in (2001, 150)]
    for question in random_vectors(10, seed=5):
        ranked = exact(vectors, question, 2500)
        expected = [at + 100 for at in ranked if at + 100 in inside][:7]
        assert keys_of(index, question, 7, within) == expected
    assert keys_of(index, vectors[0], 7, KeyRanges((), ())) == []


def test_segments_are_merged_and_what_is_gone_leaves_the_disk(tmp_path: Path) -> None:
    index = made(tmp_path)
    index.create()
    for first in range(0, 200, 10):
        index.put_prepared(range(first, first + 10), random_vectors(10, seed=first))
        index.commit()
    assert len(list(tmp_path.glob("segment-*"))) < 10
    before = sum(file.stat().st_size for file in tmp_path.rglob("vectors.faiss"))
    index.remove(range(150))
    index.commit()
    assert index.keys() == set(range(150, 200))
    assert sum(file.stat().st_size for file in tmp_path.rglob("vectors.faiss")) < before / 2


def test_a_writer_killed_before_its_manifest_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = filled(tmp_path, random_vectors(50))

    def killed(_self: DenseIndex, _manifest: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(DenseIndex, "_write", killed)
        index.put_prepared([50], random_vectors(1))
        with pytest.raises(KeyboardInterrupt):
            index.commit()
    again = made(tmp_path)
    assert again.keys() == set(range(50))
    again.put_prepared([], random_vectors(0))
    again.commit()
    assert len(list(tmp_path.glob("segment-*"))) == 1
    assert len(list(tmp_path.glob("gone-*"))) == 1


@pytest.mark.parametrize("name", ["vectors.faiss", "keys.bin", "index.json"])
@pytest.mark.parametrize("how", ["cut", "changed"])
def test_damage_is_told_and_never_searched(tmp_path: Path, name: str, how: str) -> None:
    filled(tmp_path, random_vectors(50))
    (file,) = tmp_path.rglob(name)
    data = file.read_bytes()
    middle = len(data) // 2
    file.write_bytes(
        data[:middle] if how == "cut" else data[:middle] + bytes([data[middle] ^ 255]) + data[middle + 1 :]
    )
    with pytest.raises(LibraryDamaged, match=r"check|anew"):
        made(tmp_path).keys()


def test_vectors_of_other_weights_are_refused(tmp_path: Path) -> None:
    filled(tmp_path, random_vectors(5))
    other = BagOfWords()
    other.identity = "another bag"
    index = DenseIndex(tmp_path, lambda: cast(TextEmbedder, other))
    assert not index.fits()
    with pytest.raises(LibraryDamaged, match="index dense"):
        index.search(["red"], 1)


def test_a_passage_takes_less_than_half_a_kilobyte(tmp_path: Path) -> None:
    chance = numpy.random.default_rng(1)
    wide = in_eight_bits(chance.standard_normal((4000, 384)).astype("f4"))
    bag = BagOfWords()
    bag.width = 384
    index = DenseIndex(tmp_path, lambda: cast(TextEmbedder, bag), 2000)
    index.create()
    index.put_prepared(range(4000), wide)
    index.commit()
    size = sum(file.stat().st_size for file in tmp_path.rglob("*") if file.is_file())
    centres = int(2 * 4000**0.5) * 384 * 4
    assert (size - centres) / 4000 < 420
