"""Material of made-up towns for the writers' training."""

from __future__ import annotations

from pathlib import Path

from train.letters import letters_tokenizer
from wherefrom.data.examples import whole
from wherefrom.train.writing.corpus import Asked, Told, WriterMaterial
from wherefrom.train.writing.material import Material, load

TOWNS = 120


def towns_material(folder: Path, towns: int = TOWNS) -> Material:
    """Towns with bridges, every third left out; some have sentences; stories; sentences without passages."""
    collected = WriterMaterial(letters_tokenizer())
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
        told = (f"Town {number} has {number}7 bridges.",) if number % 4 == 0 else ()
        question = f"How is town {number} made?" if number % 4 == 1 else f"How many bridges has town {number}?"
        collected.add(
            Asked(
                "ten-passages",
                f"t{number}",
                question,
                [Told(f"{number}7", (at, at + len(f"{number}7")))],
                1,
                told,
                [valid or number % 20 == 0] * len(told),
                gold,
                given,
                [passage is gold for passage in given],
                answerable=answerable,
                valid=valid,
            )
        )
    for number in range(9):
        given = [whole(f"s{number}#{k}", f"The dragon eats {'gold' if k == 3 else 'people'}.") for k in range(6)]
        collected.add(
            Asked(
                "narrativeqa",
                f"s{number}",
                "What eats the dragon?",
                [Told("gold"), Told("the gold")],
                2,
                given=given,
                weak=[k == 3 for k in range(6)],
                answerable=True,
            )
        )
    said = [f"Ana is {kind}." for kind in ("old", "red", "blue")]
    collected.add(Asked("paraqa", "x", "Who is old?", [Told("Ana")], 0, said, [False] * 3))
    path = folder / "writer.safetensors"
    assert collected.write(path, {})["left out"] == 0
    return load(path)
