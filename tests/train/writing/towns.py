"""Material of made-up towns, to learn to write from."""

from __future__ import annotations

from pathlib import Path

from train.letters import letters_tokenizer
from wherefrom.data.examples import whole
from wherefrom.train.writing.corpus import CorpusBuilder, CorpusExample, ShortAnswer
from wherefrom.train.writing.material import WritingMaterial, load

TOWNS = 120


def towns_material(folder: Path, towns: int = TOWNS) -> WritingMaterial:
    """Towns with bridges, every third left out; some have sentences; stories; sentences without passages."""
    corpus = CorpusBuilder(letters_tokenizer())
    passages = [
        whole(
            f"p{number}",
            f"The river is old. Town {number} has {number}7 bridges." + " People walk." * (number % 7),
            f"town {number}",
        )
        for number in range(towns)
    ]
    for number, gold in enumerate(passages):
        at = gold.text.index(f"{number}7")
        others = [passages[(number + step) % towns] for step in range(1, 7)]
        answerable = number % 3 != 0
        given = [*others[:2], gold, *others[2:5]] if answerable else others
        valid = number >= towns - 12
        sentences = (f"Town {number} has {number}7 bridges.",) if number % 4 == 0 else ()
        question = f"How is town {number} made?" if number % 4 == 1 else f"How many bridges has town {number}?"
        corpus.add(
            CorpusExample(
                "ten-passages",
                f"t{number}",
                question,
                [ShortAnswer(f"{number}7", (at, at + len(f"{number}7")))],
                1,
                sentences,
                [valid or number % 20 == 0] * len(sentences),
                gold,
                given,
                [passage is gold for passage in given],
                answerable=answerable,
                valid=valid,
            )
        )
    for number in range(9):
        given = [whole(f"s{number}#{k}", f"The dragon eats {'gold' if k == 3 else 'people'}.") for k in range(6)]
        corpus.add(
            CorpusExample(
                "narrativeqa",
                f"s{number}",
                "What eats the dragon?",
                [ShortAnswer("gold"), ShortAnswer("the gold")],
                2,
                given=given,
                weak=[k == 3 for k in range(6)],
                answerable=True,
            )
        )
    sentences = [f"Ana is {kind}." for kind in ("old", "red", "blue")]
    corpus.add(CorpusExample("paraqa", "x", "Who is old?", [ShortAnswer("Ana")], 0, sentences, [False] * 3))
    path = folder / "writer.safetensors"
    assert corpus.write(path, {})["left out"] == 0
    return load(path)
