"""QASA as ranker."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the tiny network is made with torch: pip install 'wherefrom[train]'")

import torch

from contracts.material import HITS, QUESTIONS
from contracts.stages import RankerContract
from systems.qasa.small import NETWORK, write_lists
from wherefrom.build import build
from wherefrom.config import resolve
from wherefrom.errors import SettingsError
from wherefrom.rank.qasa import QasaRanker
from wherefrom.runtime.qasa import QasaSession
from wherefrom.runtime.weights import Weights
from wherefrom.stages import Ranker
from wherefrom.systems.qasa.export import export_qasa
from wherefrom.systems.qasa.lists import PassageLists
from wherefrom.systems.qasa.settings import QasaTaskSettings
from wherefrom.systems.qasa.task import QasaTask
from wherefrom.train.seeds import seed_everything


def tiny(folder: Path) -> tuple[QasaTask, torch.nn.Module]:
    folder.mkdir(parents=True, exist_ok=True)
    lists = write_lists(folder / "lists.safetensors")
    task = QasaTask(lists, NETWORK, QasaTaskSettings())
    seed_everything("tiny qasa")
    network = task.model().eval()
    export_qasa(network, PassageLists(lists), 128, folder)
    return task, network


@pytest.fixture(scope="module")
def weights(made_once: Callable[..., Path]) -> Path:
    return made_once("tiny-qasa", lambda folder: tiny(folder))


class TestContract(RankerContract):
    @pytest.fixture
    def ranker(self, weights: Path) -> Ranker:
        return QasaRanker(QasaSession(Weights(weights)), keep=20)


def test_numpy_says_what_torch_does(tmp_path: Path) -> None:
    task, network = tiny(tmp_path)
    with torch.no_grad():
        expected = task.scores(network, [8])[0]  # type: ignore[arg-type]
    from systems.qasa.small import THINGS, example

    texts = [f"The {other} is here, the house too." for other in THINGS]
    texts += ["It is red of the sky.", example(0).passages[0].text]
    (scores,) = QasaSession(Weights(tmp_path)).score([example(0).question.text], [texts])
    assert scores == pytest.approx(expected.tolist(), abs=5e-3)  # 16 bits, and vectors of 8
    assert max(scores) - min(scores) > 0.02


def test_it_is_chosen_by_name_and_wants_weights(weights: Path) -> None:
    with pytest.raises(SettingsError, match="wherefrom train qasa"):
        build(resolve(overrides=["rank.kind=qasa"]), None)
    pipeline = build(resolve(overrides=["rank.kind=qasa", f"runtime.qasa={weights}"]), None)
    (ranked, *_) = pipeline.ranker.rank(QUESTIONS, HITS) if pipeline.ranker else [[]]
    assert len(ranked) == len(HITS[0])
    assert weights in pipeline.weights
