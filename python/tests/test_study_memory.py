from __future__ import annotations

from pathlib import Path

from fctlab.studies.memory import kept_in, remembered

asked: list[tuple[int, str]] = []


@remembered
def answer(number: int, word: str) -> dict[str, object]:
    asked.append((number, word))
    return {"word": word * number}


def test_an_answer_is_computed_once_per_folder(tmp_path: Path) -> None:
    asked.clear()
    with kept_in(tmp_path):
        assert answer(2, "ab") == answer(2, "ab") == {"word": "abab"}
        assert asked == [(2, "ab")]
        answer(3, "ab")
    assert len(list(tmp_path.glob("*.json"))) == 2
    with kept_in(tmp_path):
        answer(3, "ab")
    assert asked == [(2, "ab"), (3, "ab")]
    # Elsewhere nothing is kept.
    answer(3, "ab")
    assert len(asked) == 3
