"""What every Store promises."""

from __future__ import annotations

from wherefrom.stages import Store
from wherefrom.types import Document


class StoreContract:
    """Give a fixture `store`: an empty store that cuts texts at blank lines, white space trimmed."""

    def test_gives_back_what_was_put(self, store: Store) -> None:
        document = Document("a", "First part.\n\nSecond — “part”, 灯台 🚢.", "A title", "a.txt")
        store.put([document])
        assert store.document("a") == document

    def test_unknown_ids_are_none_or_left_out(self, store: Store) -> None:
        store.put([Document("a", "text")])
        assert store.document("b") is None
        assert [passage.id for passage in store.passages(["b#0", "a#0", "a#1", "a", "", "a#x"])] == ["a#0"]

    def test_passages_are_pieces_of_their_document(self, store: Store) -> None:
        text = "Größe zählt.\n\n灯台は高い。\n\n  🚢 ships  "
        store.put([Document("a", text, "T"), Document("b", "other")])
        passages = store.passages(["a#2", "a#0", "b#0", "a#1"])
        assert [passage.text for passage in passages] == ["🚢 ships", "Größe zählt.", "other", "灯台は高い。"]
        for passage in passages[:2]:
            assert text[passage.start : passage.end] == passage.text
            assert (passage.document_id, passage.title) == ("a", "T")

    def test_putting_again_replaces_the_old_version(self, store: Store) -> None:
        store.put([Document("a", "old one\n\nold two"), Document("b", "kept")])
        store.put([Document("a", "new")])
        assert store.document("a") == Document("a", "new")
        assert [passage.text for passage in store.passages(["a#0", "a#1", "b#0"])] == ["new", "kept"]

    def test_removing_takes_document_and_passages(self, store: Store) -> None:
        store.put([Document("a", "one\n\ntwo"), Document("b", "kept")])
        assert store.remove(["a", "nothing", "a"]) == ["a"]
        assert store.document("a") is None
        assert [passage.id for passage in store.passages(["a#0", "a#1", "b#0"])] == ["b#0"]
        assert store.remove(["a"]) == []

    def test_keys_of_gone_versions_find_nothing(self, store: Store) -> None:
        store.put([Document("a", "one\n\ntwo")])
        before = {key for key in range(10) if store.passages_at([key])}
        assert len(before) == 2
        store.put([Document("a", "three")])
        after = {key for key in range(20) if store.passages_at([key])}
        assert len(after) == 1
        assert not before & after

    def test_empty_in_empty_out(self, store: Store) -> None:
        store.put([])
        assert store.passages([]) == []
        assert store.passages_at([]) == {}
        assert store.remove([]) == []

    def test_a_document_without_passages_is_kept(self, store: Store) -> None:
        store.put([Document("empty", "")])
        assert store.document("empty") == Document("empty", "")
        assert store.passages(["empty#0"]) == []
