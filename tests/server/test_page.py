"""The page in a real browser: asking, where words come from, documents, files sent, and what goes wrong."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("playwright", reason="`pip install 'wherefrom[dev]'` brings playwright")

from playwright.sync_api import FilePayload, Route, expect

from server.browsing import (
    Open,
    answer_of,
    ask,
    browser,
    library_at,
    newest,
    opened,
    sample,
    serving_page,
    site,
    violations,
)
from server.stages import GatedReader
from wherefrom import Library
from wherefrom.config import resolve
from wherefrom.server.folder import ServerFolder
from wherefrom.server.keys import Keys
from wherefrom.stages import OnWords
from wherefrom.types import Answer, Candidate, Document, Hit, Place, Question, Style, Word

if TYPE_CHECKING:
    from playwright.sync_api import JSHandle, Page

__all__ = ["browser", "opened", "sample", "site"]  # fixtures

MOST_BYTES = 150_000
PAGE = Path(__file__).parents[2] / "src" / "wherefrom" / "server" / "page"
ICELAND = "When did Iceland become a republic?"


@pytest.fixture
def own(sample: Path, tmp_path: Path) -> Iterator[str]:
    """A server over a copy of the sample library that a test may change."""
    shutil.copytree(sample, tmp_path / "library")
    with serving_page(library_at(tmp_path / "library")) as address:
        yield address


class MixedWriter:
    """Writes with words of all three sources, as a writer that is more than a copyist does."""

    def write(
        self,
        questions: Sequence[Question],
        hits: Sequence[Sequence[Hit]],
        candidates: Sequence[Sequence[Candidate]],
        chances: Sequence[float],
        style: Style,
        on_words: OnWords | None = None,
    ) -> list[Answer]:
        answers = []
        for question, read in zip(questions, candidates, strict=True):
            passage = read[0].passage
            at = passage.text.index("Marta")
            in_question = question.text.index("boiler")
            words = (
                Word("Marta", "passage", passage.id, at, at + 5, 0.9),
                Word("maintained", "vocabulary", share=0.6, space=" "),
                Word("the", "question", None, in_question - 4, in_question - 1, 0.5, " "),
                Word("boiler", "question", None, in_question, in_question + 6, 0.75, " "),
                Word(".", "vocabulary", share=1.0),
            )
            answers.append(Answer("Marta maintained the boiler.", style, 0.8, words, (passage,)))
        return answers


# ------------------------------------------------------------------------------------------------- the answer


def test_each_word_shows_its_source_by_colour_line_legend_and_words(tmp_path: Path, opened: Open) -> None:
    library = library_at(tmp_path / "library")
    library.put([Document("boiler.md", "The boiler was serviced by Marta in May. It hums.", "The boiler")])
    with serving_page(library, lambda pipeline: replace(pipeline, writer=MixedWriter())) as address:
        page = opened(address)
        ask(page, "Who serviced the boiler?")
        assert answer_of(page) == "Marta maintained the boiler."
        words = page.locator(".answer .word")
        assert words.all_text_contents() == ["Marta", "maintained", "the", "boiler", "."]
        looks = words.evaluate_all(
            "all => all.map(word => getComputedStyle(word.parentElement))"
            ".map(stretch => [stretch.color, stretch.textDecorationStyle])"
        )
        assert [line for _, line in looks] == ["solid", "dotted", "dashed", "dashed", "dotted"]
        assert len({color for color, _ in looks}) == 3
        legend = page.get_by_label("What the colours and lines mean")
        for meaning in ("copied from a passage", "taken from your question", "the writer's own word"):
            expect(legend.get_by_text(meaning)).to_be_visible()
        where = page.locator(".where")
        words.nth(0).hover()
        expect(where).to_contain_text("Marta is from The boiler (boiler.md). Share: 90 %.")
        assert where.locator("mark.exact").all_text_contents() == ["Marta"]
        words.nth(1).hover()
        expect(where).to_contain_text("the writer's own word: it stands in no passage. Share: 60 %.")
        words.nth(3).focus()
        expect(where).to_contain_text("taken from your question. Share: 75 %.")
        assert where.locator("mark.exact").all_text_contents() == ["boiler"]


def test_a_bare_yes_or_no_shows_the_words_that_decided_it(tmp_path: Path, opened: Open) -> None:
    library = library_at(tmp_path / "library")
    library.put([Document("boiler.md", "The boiler is not insured. It hums.", "The boiler")])
    with serving_page(library) as address:
        page = opened(address)
        ask(page, "Is the boiler insured?")
        where = page.locator(".where")
        assert answer_of(page) == "No"
        expect(where).to_contain_text("It stands in no passage, and was decided by the words that are marked here.")
        assert "not" in "".join(where.locator("mark").all_text_contents())
        page.locator(".answer .word").hover()
        expect(where).to_contain_text("the writer's own word: it stands in no passage.")
        assert "not" in "".join(where.locator("mark").all_text_contents())


def test_the_place_in_the_file_is_shown_with_each_source(tmp_path: Path, opened: Open) -> None:
    text = "The boiler hums all day long. It was moved on Sunday. The boiler was serviced by Marta in May."
    places = (Place(0, "page 11", 11), Place(text.index("The boiler was"), "page 12", 12))
    library = library_at(tmp_path / "library", "write.style=sentence")
    library.put([Document("manual.pdf", text, "Manual", places=places)])
    with serving_page(library) as address:
        page = opened(address, permissions=["clipboard-read", "clipboard-write"])
        ask(page, "Who serviced the boiler in May?")
        assert "Marta" in answer_of(page)
        expect(page.locator(".source").first).to_contain_text("manual.pdf · page 12")
        page.locator(".answer .word", has_text="Marta").hover()
        expect(page.locator(".where")).to_contain_text("Marta is from Manual (manual.pdf, page 12)")
        page.get_by_role("button", name="Copy", exact=True).click()
        expect(page.locator(".acts").get_by_text("Copied.")).to_be_visible()
        assert "[1] Manual (manual.pdf), page 12, characters " in page.evaluate("navigator.clipboard.readText()")


def test_the_document_opens_at_the_answer_s_characters_and_has_an_address(site: str, opened: Open) -> None:
    page = opened(site)
    page.get_by_label("a sentence").check()
    ask(page, ICELAND)
    assert answer_of(page) == "Iceland became a republic on 17 June 1944."
    assert page.locator(".where mark").all_text_contents() == [answer_of(page)]
    expect(page.get_by_role("meter")).to_have_attribute("aria-valuenow", re.compile(r"\d+"))
    page.get_by_role("link", name="Open the document here").click()
    mark = page.locator("#viewer mark")
    expect(mark).to_have_text(answer_of(page))
    expect(mark).to_be_in_viewport()
    expect(page.locator("#viewer-title")).to_have_text("Iceland")
    assert page.evaluate("document.activeElement.id") == "viewer-title"
    again = opened(page.url)  # the address alone leads there
    expect(again.locator("#viewer mark")).to_have_text("Iceland became a republic on 17 June 1944.")
    again.get_by_role("button", name="Close").click()
    expect(again.locator("#viewer")).to_be_hidden()


def test_offsets_count_characters_beyond_the_basic_plane(tmp_path: Path, opened: Open) -> None:
    library = library_at(tmp_path / "library")
    text = "🦊🦊🦊 𝔣𝔬𝔵𝔢𝔰 live here.\n\nThe red key 🗝️ hangs by the 🚪 door."
    library.put([Document("foxes 🦊.txt", text, "Foxes 🦊")])
    with serving_page(library) as address:
        page = opened(address)
        ask(page, "Where hangs the red key?")
        assert answer_of(page) in text
        assert page.locator(".where mark").all_text_contents() == [answer_of(page)]
        page.locator(".answer .word", has_text="door").hover()
        assert page.locator(".where mark.exact").all_text_contents() == ["door"]
        page.get_by_role("link", name="Open the document at this word").click()
        expect(page.locator("#viewer mark")).to_have_text("door")
        assert page.locator("#viewer-text").text_content() == text


def test_passages_are_shown_before_they_are_read(sample: Path, tmp_path: Path, opened: Open) -> None:
    shutil.copytree(sample, tmp_path / "library")
    library = library_at(tmp_path / "library")
    reader = GatedReader(library.pipeline().reader)
    with serving_page(library, lambda pipeline: replace(pipeline, reader=reader)) as address:
        reader.gate.clear()
        page = opened(address)
        page.get_by_label("Your question").fill(ICELAND)
        page.keyboard.press("Enter")
        expect(page.get_by_text(re.compile(r"\d+ passages found$"))).to_be_visible()
        expect(page.locator("#progress")).to_contain_text("found; reading them")
        assert page.locator(".answer").count() == 0
        page.get_by_role("button", name="Stop").click()
        expect(page.locator("#progress")).to_have_text("Stopped.")
        reader.gate.set()
        ask(page, ICELAND)
        expect(page.get_by_text("How this answer was found")).to_be_visible()


def test_why_it_won_is_told_with_each_stage_s_score(site: str, opened: Open) -> None:
    page = opened(site)
    ask(page, ICELAND)
    why = page.locator(".how")
    expect(why.locator(".scores").first).to_be_hidden()
    page.get_by_text("How this answer was found").click()
    expect(why).to_contain_text("By its words, its passage was first of")
    expect(why.locator(".ranked").last.locator("> li").first).to_contain_text("the answer is from here")
    expect(why.locator(".scores").first).to_be_hidden()  # numbers are for those who want them
    why.get_by_role("button", name="Show the scores").click()
    expect(why.locator(".scores").first).to_be_visible()
    assert "Words in common" in why.locator(".scores dt").all_text_contents()
    why.get_by_text("What the scores mean").click()
    expect(why.get_by_text("how many words, and how rare ones")).to_be_visible()


def test_a_question_in_another_language_is_told_to_be_out_of_reach(site: str, opened: Open) -> None:
    page = opened(site)
    ask(page, "Wann wurde Island eine Republik?")
    declined = page.locator(".declined")
    expect(declined).to_contain_text("It is out of reach: questions in German are not supported (English only).")
    expect(page.locator(".gauge")).to_have_count(0)


def test_another_source_that_says_otherwise_is_shown(tmp_path: Path, opened: Open) -> None:
    text = "The pump in the cellar was last painted by {}, who has the key."
    with Library(tmp_path / "library") as library:
        library.put(
            [
                Document("pump-1.md", text.format("Marta"), "Pump manual 1.0"),
                Document("pump-2.md", text.format("Ines"), "Pump manual 2.0"),
            ]
        )
    bold = Library(tmp_path / "library", resolve(overrides=["judge.min_chance=0.1"]))
    with serving_page(bold) as address:  # sources are compared where spans are read
        page = opened(address)
        ask(page, "Who painted the pump?")
        expect(page.locator(".disagrees")).to_contain_text("Another source says Marta: Pump manual 1.0")
        expect(page.locator(".disagrees")).to_contain_text("an older version")


def test_it_declines_in_plain_words_and_shows_what_was_nearest(site: str, opened: Open) -> None:
    page = opened(site)
    ask(page, "Who invented the zipper in Iceland?")
    declined = page.locator(".declined")
    expect(declined).to_contain_text("Your documents do not answer this, as far as I can tell.")
    expect(declined).to_contain_text("Nearest to it")
    expect(page.locator("#said")).to_contain_text("do not answer this")
    declined.get_by_role("button", name="Answer all the same").click()
    expect(page.locator(".answer .word").first).to_be_visible()
    page.get_by_text("Filters", exact=True).click()
    page.get_by_label("Smallest chance").fill("100")
    page.get_by_label("Passages to find").fill("2")
    ask(page, ICELAND)
    expect(newest(page).locator(".declined")).to_contain_text("I answer from over 99 in 100 on")
    assert newest(page).locator(".ranked").last.locator("> li").count() == 2


def test_examples_are_questions_that_the_library_answers(site: str, opened: Open) -> None:
    page = opened(site)
    examples = page.locator("#examples button")
    expect(examples).to_have_count(6)
    examples.first.click()
    expect(page.locator("#progress")).to_have_text("Answered.")
    expect(page.locator("#examples")).to_be_hidden()
    assert page.evaluate("document.activeElement.id") == "question"


def test_how_sure_it_is_is_said_as_what_it_means(site: str, opened: Open) -> None:
    page = opened(site)
    ask(page, ICELAND)
    said = page.locator(".gauge").text_content() or ""
    share = page.get_by_role("meter").get_attribute("aria-valuenow")
    assert share is not None
    expected = "over 99" if share == "100" else share
    assert f"of 100 answers as sure as this, {expected} are right" in said
    assert re.match("Very probably right|Probably right|Right or wrong|Probably wrong", said)


def test_question_answer_and_sources_are_above_the_fold(site: str, opened: Open) -> None:
    page = opened(site, 1280, 860)
    page.get_by_label("a sentence").check()
    ask(page, ICELAND)
    for shown in ("#question", ".answer", ".gauge", ".source a"):
        expect(page.locator(shown).first).to_be_in_viewport(ratio=1)
    phone = opened(site, 390, 844, is_mobile=True, has_touch=True)
    ask(phone, ICELAND)
    for shown in ("#question", ".answer"):
        expect(phone.locator(shown).first).to_be_in_viewport(ratio=1)
    expect(phone.locator(".source").first).to_be_in_viewport(ratio=0.3)


def test_an_answer_is_copied_with_its_sources(site: str, opened: Open) -> None:
    page = opened(site, permissions=["clipboard-read", "clipboard-write"])
    page.get_by_label("a sentence").check()
    ask(page, ICELAND)

    def copied(button: str) -> str:
        page.get_by_role("button", name=button, exact=True).click()
        expect(page.locator(".acts").get_by_text("Copied.")).to_be_visible()
        return str(page.evaluate("navigator.clipboard.readText()"))

    answer = answer_of(page)
    plain = copied("Copy")
    assert plain.startswith(
        f"{ICELAND}\n\n{answer}[1]\n\n[1] Iceland (places/iceland.html), A very old parliament, characters "
    )
    assert plain.endswith(f"“{answer}”")
    markdown = copied("Copy as Markdown")
    assert f"**{ICELAND}**" in markdown
    assert f"{answer}[^1]" in markdown
    assert "[^1]: Iceland (places/iceland.html)" in markdown
    bibtex = copied("Copy as BibTeX")
    assert bibtex.startswith("@misc{places-iceland-html-1,\n  title = {{Iceland}},")
    assert f"``{answer}''" in bibtex
    link = copied("Copy a link")
    again = opened(link)
    expect(again.locator("#progress")).to_have_text("Answered.")
    assert answer_of(again) == answer
    expect(again.get_by_label("a sentence")).to_be_checked()
    assert again.url.endswith("#/"), "the question does not stay in the address"


def test_where_the_clipboard_is_closed_the_text_is_shown_to_be_copied(site: str, opened: Open) -> None:
    page = opened("about:blank")
    page.add_init_script("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    page.goto(site)
    ask(page, ICELAND)
    page.get_by_role("button", name="Copy", exact=True).click()
    expect(page.get_by_label("The browser keeps the clipboard to itself")).to_have_value(re.compile("17 June 1944"))
    page.get_by_role("button", name="Done").click()
    expect(page.locator("#copy-dialog")).to_be_hidden()


def test_a_thread_keeps_its_questions_and_opens_them_again(site: str, opened: Open) -> None:
    page = opened(site)
    expect(page.get_by_role("heading", name="Ask your documents")).to_be_in_viewport()
    ask(page, ICELAND)
    first = answer_of(page)
    expect(page.get_by_label("Your question")).to_have_value("")  # for the next one
    expect(page.get_by_placeholder("Ask a follow-up")).to_be_visible()
    ask(page, "Who invented the zipper in Iceland?")
    expect(page.get_by_label("Your question")).to_have_value(re.compile("zipper"))  # to be put otherwise
    turns = page.locator(".turn")
    expect(turns).to_have_count(2)
    earlier = turns.nth(1)
    expect(earlier.locator(".answer")).to_be_hidden()
    earlier.get_by_role("button", name=first[:20]).click()
    expect(earlier.locator(".answer")).to_have_text(first)
    expect(earlier.get_by_role("link", name="Open the document here")).to_be_visible()
    earlier.get_by_role("button", name="Show less").click()
    expect(earlier.locator(".answer")).to_be_hidden()
    ask(page, ICELAND)
    expect(turns).to_have_count(2)  # the same question once
    turns.nth(1).get_by_role("button", name="Edit the question").click()
    expect(page.get_by_label("Your question")).to_have_value("Who invented the zipper in Iceland?")
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(element => element.id)")
    assert len(ids) == len(set(ids)), "every turn has ids of its own"
    page.get_by_role("button", name="New thread").click()
    expect(turns).to_have_count(0)
    expect(page.get_by_label("Your question")).to_be_focused()
    expect(page.locator("#examples button").first).to_be_visible()


def test_a_part_of_the_library_is_asked(site: str, opened: Open) -> None:
    page = opened(site)
    page.get_by_text("Filters", exact=True).click()
    page.get_by_label("Only in folders").fill("history, science")
    ask(page, ICELAND)
    assert not newest(page).locator(".how a", has_text="Iceland").count()
    expect(page.get_by_label("Only in folders")).to_be_hidden()  # it does not stand before the answer
    expect(page.locator("#part")).to_contain_text("Only in history or science")
    page.get_by_text("Filters", exact=True).click()
    page.get_by_label("Only in folders").fill("places")
    page.get_by_label("Only of types").fill(".html")
    with page.expect_request("**/ask") as sent:
        ask(page, ICELAND)
    assert sent.value.post_data_json["within"] == {"folders": ["places"], "types": ["html"]}
    assert newest(page).locator(".how a", has_text="Iceland").count()
    page.get_by_text("Filters", exact=True).click()
    page.get_by_label("Since").fill("2999-01-01")
    page.keyboard.press("Escape")
    expect(page.get_by_label("Since")).to_be_hidden()
    page.get_by_label("Your question").fill(ICELAND)
    page.keyboard.press("Enter")
    expect(page.locator("#ask-trouble .trouble")).to_be_visible()  # says that no document fits
    page.get_by_role("button", name="Ask everything").click()
    expect(page.locator("#part")).to_be_hidden()
    ask(page, ICELAND)
    assert newest(page).locator(".how a", has_text="Iceland").count()


def test_tags_are_seen_found_and_asked_by(own: str, opened: Open) -> None:
    page = opened(own)
    page.evaluate(
        "() => fetch('/tags', {method: 'POST', headers: {'Content-Type': 'application/json'},"
        " body: JSON.stringify({add: ['islands'], documents: ['places/iceland.html']})})"
    )
    page.get_by_text("Filters", exact=True).click()
    expect(page.locator("#tags-known option")).to_have_attribute("value", "islands")
    page.get_by_label("Only with tags").fill("islands")
    with page.expect_request("**/ask") as sent:
        ask(page, ICELAND)
    assert sent.value.post_data_json["within"] == {"tags": ["islands"]}
    expect(page.locator("#part")).to_contain_text("Only tagged islands")
    page.get_by_role("link", name="Documents").click()
    page.get_by_label("Show those").fill("islands")
    expect(page.locator("#documents-list > li")).to_have_count(1)
    expect(page.locator("#documents-list .tag")).to_have_text("islands")


def test_one_document_is_asked(site: str, opened: Open) -> None:
    page = opened(site)
    page.goto(f"{site}/#/document/places/iceland.html?at=10-20")
    page.get_by_role("button", name="Ask this document").click()
    expect(page.locator("#viewer")).to_be_hidden()
    expect(page.get_by_label("Your question")).to_be_focused()
    with page.expect_request("**/ask") as sent:
        ask(page, ICELAND)
    assert sent.value.post_data_json["within"] == {"folders": ["places/iceland.html"]}
    links = newest(page).locator(".how a").evaluate_all("links => links.map(link => link.hash)")
    assert links
    assert all("iceland.html" in link for link in links)


def test_where_it_declines_other_passages_are_offered_to_look_into(site: str, opened: Open) -> None:
    page = opened(site)
    ask(page, "Who invented the zipper in Iceland?")
    near = newest(page).locator(".nearby > li")
    assert 1 <= near.count() <= 4
    texts = near.locator(".snippet").all_text_contents()
    assert len(set(texts)) == len(texts)
    near.first.get_by_role("link").click()
    expect(page.locator("#viewer mark").first).to_be_visible()


def test_how_a_follow_up_was_understood_is_told(site: str, opened: Open) -> None:
    page = opened(site)
    whole = "What is the largest glacier of Iceland?"
    instead = ["What is Iceland?"]
    hits = json.dumps({"stage": "retrieve", "hits": [], "understood": whole, "instead": instead})
    answer = {"text": None, "style": "short", "chance": 0.0, "words": [], "evidence": []}
    question = {"id": "", "text": whole, "typed": "and the largest glacier?", "instead": instead}
    trace = {"question": question, "hits": [], "candidates": []}
    trace = json.dumps({**trace, "answer": answer, "timings": {}})
    body = f"event: hits\ndata: {hits}\n\nevent: trace\ndata: {trace}\n\n"
    page.route("**/ask", lambda route: route.fulfill(headers={"Content-Type": "text/event-stream"}, body=body))
    ask(page, "and the largest glacier?")
    understood = newest(page).locator(".understood")
    expect(understood).to_contain_text(f"Understood as: {whole}")
    expect(understood.get_by_role("button", name="What is Iceland?")).to_be_visible()


def test_a_follow_up_is_sent_with_the_turns_before_it(site: str, opened: Open) -> None:
    page = opened(site)
    ask(page, ICELAND)
    answer_of(page)
    with page.expect_request("**/ask") as sent:
        ask(page, "and what is its largest glacier?")
    (turn,) = sent.value.post_data_json["turns"]
    assert (turn["question"], turn["title"]) == (ICELAND, "Iceland")
    understood = newest(page).locator(".understood")
    expect(understood).to_contain_text("Understood as: What is Iceland's largest glacier?")
    with page.expect_request("**/ask") as typed:
        understood.get_by_role("button", name="Ask it as typed").click()
    assert "turns" not in typed.value.post_data_json


def test_a_slash_leads_to_the_question(site: str, opened: Open) -> None:
    page = opened(f"{site}/#/documents")
    expect(page.locator("#documents-count")).to_contain_text("60 documents")
    page.keyboard.press("/")
    expect(page.get_by_label("Your question")).to_be_focused()
    page.keyboard.type("a/b")
    expect(page.get_by_label("Your question")).to_have_value("a/b")


def test_a_table_of_contents_is_not_the_nearest_answer(tmp_path: Path, opened: Open) -> None:
    lines = "\n".join(f"{at}.{at} Chapter on the boiler and its owner {at} ........ {at * 7}" for at in range(1, 9))
    library = library_at(tmp_path / "library")
    library.put([Document("contents.txt", lines, "Contents"), Document("boiler.md", "The boiler hums.", "The boiler")])
    with serving_page(library) as address:
        page = opened(address)
        page.get_by_text("Filters", exact=True).click()
        page.get_by_label("Smallest chance").fill("100")
        ask(page, "Who is the owner of the boiler?")
        expect(page.locator(".declined .quote")).to_have_text("The boiler hums.")


def test_line_ends_in_a_name_are_blanks_and_long_answers_are_kept_short(tmp_path: Path, opened: Open) -> None:
    library = library_at(tmp_path / "library")
    text = "The boiler was serviced by Marta in May. " + "It hums in the night and in the day. " * 20
    library.put([Document("boiler.md", text, "The\nboiler")])
    with serving_page(library) as address:
        page = opened(address)
        page.get_by_label("a passage").check()
        ask(page, "Who serviced the boiler?")
        expect(page.locator(".source-head")).to_contain_text("The boiler")
        kept = page.evaluate("JSON.parse(localStorage.getItem('wherefrom.history'))[0].answer")
        assert len(answer_of(page)) > 300
        assert len(kept) < 170


# ---------------------------------------------------------------------------------------- sending and removing


def test_a_file_is_sent_asked_about_and_removed(own: str, opened: Open, tmp_path: Path) -> None:
    page = opened(own)
    page.get_by_role("link", name="Documents").click()
    expect(page.locator("#documents-count")).to_have_text("60 documents of 60.")
    (tmp_path / "harbour.md").write_text("# Harbour\n\nThe harbour master of Velmouth is called Odile Brandt.\n")
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7 and then nothing")
    (tmp_path / "program.exe").write_bytes(b"MZ\x00\x01")
    page.get_by_label("Add files").set_input_files(
        [tmp_path / name for name in ("harbour.md", "broken.pdf", "program.exe")]
    )
    rows = page.locator("#uploads > li")
    expect(rows.filter(has_text="harbour.md")).to_contain_text(
        "Done: 1 document added. Harbour, 1 passage to answer from."
    )
    expect(rows.filter(has_text="harbour.md").get_by_role("link", name="Open it")).to_be_visible()
    expect(page.locator("#uploads-summary")).to_have_text(
        "3 of 3 files done, 1 document added, 2 not taken, and why stands below."
    )
    expect(rows.filter(has_text="broken.pdf").locator("ul")).to_contain_text("broken.pdf: ")
    expect(rows.filter(has_text="program.exe")).to_contain_text("Not taken: it is in no format")
    expect(page.locator("#documents-count")).to_have_text("61 documents of 61.")
    page.get_by_role("link", name="Ask").click()
    ask(page, "Who is the harbour master of Velmouth?")
    assert "Odile Brandt" in answer_of(page)

    page.get_by_role("link", name="Documents").click()
    page.get_by_label("Show those").fill("harbour")
    expect(page.locator("#documents-list > li")).to_have_count(1)
    page.get_by_role("button", name="Remove Harbour").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Harbour (harbour.md) goes from the library.")
    dialog.get_by_role("button", name="Keep it").click()
    expect(page.locator("#documents-list > li")).to_have_count(1)
    page.get_by_role("button", name="Remove Harbour").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove it").click()
    expect(page.locator("#documents-count")).to_have_text("0 documents of 60.")


def _dragged(page: Page, name: str) -> JSHandle:
    """A file on its way over the page."""
    return page.evaluate_handle(
        """name => {
            const dragged = new DataTransfer();
            dragged.items.add(new File([`The text of ${name}.`], name, { type: "text/plain" }));
            return dragged;
        }""",
        name,
    )


def test_files_can_be_dropped_and_a_file_on_its_way_cancelled(own: str, opened: Open) -> None:
    page = opened(own)
    expect(page.locator("#library")).to_contain_text("60 documents")
    stuck: list[Route] = []
    page.route(
        "**/documents", lambda route: stuck.append(route) if route.request.method == "POST" else route.continue_()
    )
    dropped = _dragged(page, "dropped.txt")
    page.dispatch_event("main", "dragover", {"dataTransfer": dropped})
    expect(page.get_by_text("Drop the files to add them")).to_be_visible()
    page.dispatch_event("main", "drop", {"dataTransfer": dropped})
    row = page.locator("#uploads > li", has_text="dropped.txt")
    row.get_by_role("button", name="Cancel dropped.txt").click()
    expect(row).to_contain_text("Cancelled: nothing was sent.")
    page.unroute("**/documents")
    expect(page.locator("#uploads-summary")).to_be_empty()  # one file tells of itself
    other = _dragged(page, "other.txt")
    page.dispatch_event("main", "drop", {"dataTransfer": other})
    expect(page.locator("#uploads > li", has_text="other.txt")).to_contain_text("Done: 1 document added")


def test_a_folder_is_added_with_the_names_in_it(own: str, opened: Open, tmp_path: Path) -> None:
    folder = tmp_path / "logbook"
    (folder / "may").mkdir(parents=True)
    (folder / "may" / "first.txt").write_text("On the first of May the gate of Velmouth was painted by Ida Lund.")
    (folder / "second.txt").write_text("On the second of May it rained.")
    (folder / ".hidden.txt").write_text("Nobody sees this.")
    page = opened(f"{own}/#/documents")
    expect(page.locator("#documents-count")).to_have_text("60 documents of 60.")
    page.get_by_label("Add a folder").set_input_files(folder)
    expect(page.locator("#uploads-summary")).to_have_text("2 of 2 files done, 2 documents added.")
    expect(page.locator("#documents-list")).to_contain_text("logbook/may/first.txt")


def test_an_empty_library_says_what_to_do_and_is_asked_when_it_is_filled(tmp_path: Path, opened: Open) -> None:
    library = library_at(tmp_path / "library", "judge.min_chance=0.2")
    library.make()
    with serving_page(library) as address:
        page = opened(address)
        empty = page.get_by_role("region", name="There is nothing to ask yet")
        expect(empty).to_be_visible()
        assert violations(page) == []
        expect(empty).to_contain_text("Drop files anywhere on this page")
        expect(page.locator("#examples")).to_be_hidden()
        empty.get_by_role("link", name="choose some").click()
        expect(page.locator("#documents-count")).to_contain_text("The library is empty.")
        texts = {
            "harbour.txt": "Velmouth became a free harbour on 3 May 1931. The gate is green.",
            "boiler.txt": "The boiler hums in the night. Nobody knows why.",
            "mast.txt": "The mast is painted grey. It stands behind the shed.",
        }
        page.get_by_label("Add files").set_input_files(
            [FilePayload(name=name, mimeType="text/plain", buffer=text.encode()) for name, text in texts.items()]
        )
        expect(page.locator("#uploads-summary")).to_have_text("3 of 3 files done, 3 documents added.")
        page.get_by_role("link", name="Ask", exact=True).click()
        expect(empty).to_be_hidden()
        expect(page.locator("#library")).to_contain_text("3 documents, 3 passages")
        page.locator("#examples").get_by_role("button", name="When did Velmouth become a free harbour?").click()
        expect(page.locator("#progress")).to_have_text("Answered.")


# -------------------------------------------------------------------------------------- feedback and history


def test_verdicts_are_kept_in_the_library(sample: Path, tmp_path: Path, opened: Open) -> None:
    shutil.copytree(sample, tmp_path / "library")
    with serving_page(library_at(tmp_path / "library")) as address:
        page = opened(address)
        ask(page, ICELAND)
        page.get_by_role("button", name="Right", exact=True).click()
        expect(page.get_by_text("Kept, thank you.")).to_be_visible()
        ask(page, "Who invented the zipper in Iceland?")
        page.get_by_role("button", name="I know better").click()
        page.get_by_label("What is the answer?").fill("nobody")
        page.keyboard.press("Enter")
        expect(newest(page).get_by_text("Kept, thank you.")).to_be_visible()
    with Library(tmp_path / "library") as library:
        verdicts = [(each.verdict, each.answer, each.better, len(each.evidence)) for each in library.feedback()]
    assert verdicts == [("right", "Iceland became a republic on 17 June 1944.", None, 1), ("wrong", None, "nobody", 0)]


def test_questions_are_remembered_here_until_they_are_forgotten(site: str, opened: Open) -> None:
    page = opened(site)
    ask(page, ICELAND)
    page.reload()
    page.get_by_role("link", name="History").click()
    row = page.locator("#history-list > li")
    expect(row).to_contain_text("Iceland became a republic")
    row.get_by_role("button", name="Ask again").click()
    expect(page.locator("#progress")).to_have_text("Answered.")
    page.get_by_role("link", name="History").click()
    page.get_by_role("button", name="Forget all of it").click()
    expect(page.locator("#history-list")).to_have_text("Nothing yet.")
    assert page.evaluate("localStorage.getItem('wherefrom.history')") is None


# ------------------------------------------------------------------------------------------ what goes wrong


def test_a_full_server_is_waited_for_as_long_as_it_says(site: str, opened: Open) -> None:
    page = opened(site)
    refused: list[float] = []

    def refuse(route: Route) -> None:
        refused.append(time.monotonic())
        body = '{"type": "x", "title": "Queue full", "status": 503, "detail": "too many ask"}'
        route.fulfill(status=503, headers={"Retry-After": "2", "Content-Type": "application/problem+json"}, body=body)

    page.route("**/ask", refuse, times=1)
    page.get_by_label("Your question").fill(ICELAND)
    page.keyboard.press("Enter")
    trouble = page.locator("#ask-trouble")
    expect(trouble).to_contain_text("Queue full")
    expect(trouble).to_contain_text("Too many ask")
    expect(trouble.locator(".clock")).to_have_text(re.compile("Trying again in [12] s"))
    expect(page.locator("#progress")).to_have_text("Answered.")
    assert time.monotonic() - refused[0] >= 1.9
    expect(trouble).to_be_empty()


def test_a_server_that_is_still_starting_is_waited_for(site: str, opened: Open) -> None:
    page = opened("about:blank")
    body = '{"type": "x", "title": "Not ready", "status": 503, "detail": "the server is starting"}'
    page.route("**/ready", lambda route: route.fulfill(status=503, headers={"Retry-After": "1"}, body=body), times=1)
    page.goto(site)
    expect(page.locator("#trouble")).to_contain_text("The server is starting")
    expect(page.locator("#library")).to_contain_text("60 documents")
    expect(page.locator("#trouble")).to_be_empty()
    expect(page.get_by_label("a few words")).to_be_checked()


def test_a_server_that_has_gone_and_an_answer_that_breaks_off_are_told(site: str, opened: Open) -> None:
    page = opened(site)
    page.route("**/ask", lambda route: route.abort(), times=1)
    page.get_by_label("Your question").fill(ICELAND)
    page.keyboard.press("Enter")
    trouble = page.locator("#ask-trouble")
    expect(trouble).to_contain_text("The server cannot be reached")
    stream = {"Content-Type": "text/event-stream"}
    page.route(
        "**/ask", lambda route: route.fulfill(headers=stream, body='event: hits\ndata: {"hits": []}\n\n'), times=1
    )
    trouble.get_by_role("button", name="Try again now").click()
    expect(trouble).to_contain_text("The answer broke off")
    error = '{"title": "Too slow", "status": 504, "detail": "it took more than 30 s", "type": "x"}'
    page.route("**/ask", lambda route: route.fulfill(headers=stream, body=f"event: error\ndata: {error}\n\n"), times=1)
    trouble.get_by_role("button", name="Try again now").click()
    expect(trouble).to_contain_text("It took more than 30 s")
    trouble.get_by_role("button", name="Try again now").click()
    expect(page.locator("#progress")).to_have_text("Answered.")


def test_wrong_requests_and_documents_that_are_not_there_are_told(site: str, opened: Open) -> None:
    page = opened(f"{site}/#/document/nothing.txt?at=1-5")
    expect(page.locator("#viewer-trouble")).to_contain_text("There is no document 'nothing.txt'")
    page.get_by_role("button", name="Close", exact=True).last.click()
    page.goto(f"{site}/#/")


def test_a_key_is_asked_for_when_one_is_needed(tmp_path: Path, opened: Open) -> None:
    library = library_at(tmp_path / "library")
    library.put([Document("boiler.md", "The boiler was serviced by Marta in May.", "The boiler")])
    key = Keys(ServerFolder(tmp_path / "library")).add("reader", "read")
    with serving_page(library) as address:
        page = opened(address)
        page.get_by_label("Your question").fill("Who serviced the boiler?")
        page.keyboard.press("Enter")
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("This library needs a key")
        page.keyboard.type("wf_wrong")
        page.keyboard.press("Enter")
        expect(dialog).to_contain_text("That key is not known here.")
        dialog.get_by_label("Key").fill(key)
        page.keyboard.press("Enter")
        expect(page.locator("#progress")).to_have_text("Answered.")
        page.get_by_role("button", name="Right", exact=True).click()
        expect(page.get_by_text("The key 'reader' may only read")).to_be_visible()
        assert key not in page.evaluate("JSON.stringify(localStorage) + document.documentElement.outerHTML")


# -------------------------------------------------------------------------------------------- weight and time


def test_the_page_is_light_and_soon_there(site: str, opened: Open) -> None:
    weight = sum(path.stat().st_size for path in PAGE.rglob("*") if path.is_file())
    assert weight < MOST_BYTES
    times = []
    for _ in range(3):
        page: Page = opened(site)
        expect(page.locator("#examples button").first).to_be_visible()
        times.append(page.evaluate("performance.getEntriesByName('interactive')[0].startTime"))
        loaded = page.evaluate("performance.getEntriesByType('resource').map(entry => new URL(entry.name).origin)")
        assert set(loaded) == {site}
    assert min(times) < 1000
