"""Our reader as transformers loads it: a BERT for question answering that reads as it was trained to.

`use` makes `AutoModelForQuestionAnswering` load it. Spans are of the passage alone; at [CLS] stand the logits of "no
answer", as in models of SQuAD 2.0, or nothing where `no_answer=False`, as in those of SQuAD 1.1.
"""

from __future__ import annotations

from typing import Any

import torch
from transformers import AutoModelForQuestionAnswering, BertConfig, BertForQuestionAnswering
from transformers.modeling_outputs import QuestionAnsweringModelOutput

_SEPARATE = 102
_NEVER = -1e4


class ExportedReader(BertForQuestionAnswering):  # type: ignore[misc]
    """`[CLS] question [SEP] passage [SEP]`: token types are made here, whatever a library passes."""

    no_answer_at_cls = True

    def __init__(self, config: BertConfig) -> None:
        super().__init__(config)
        self.no_answer = torch.nn.Linear(config.hidden_size, 1)
        self.post_init()

    def forward(self, input_ids: torch.Tensor, attention_mask: Any = None, **_: Any) -> QuestionAnsweringModelOutput:
        separates = input_ids == _SEPARATE
        before = separates.long().cumsum(1) - separates.long()  # separators in front of a token
        types = ((before == 1) & (input_ids != 0)).long()
        hidden = self.bert(input_ids, attention_mask=attention_mask, token_type_ids=types)[0]
        passage = (types == 1) & ~separates
        logits = self.qa_outputs(hidden).masked_fill(~passage[:, :, None], _NEVER)
        if self.no_answer_at_cls:
            logits[:, 0] = self.no_answer(hidden[:, 0])
        start, end = logits[:, :, 0], logits[:, :, 1]
        return QuestionAnsweringModelOutput(start_logits=start, end_logits=end)


def use(no_answer: bool = True) -> None:
    """From now on a BERT for question answering is this one."""
    ExportedReader.no_answer_at_cls = no_answer
    AutoModelForQuestionAnswering.register(BertConfig, ExportedReader, exist_ok=True)
