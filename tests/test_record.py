"""A record says a game in full, and nothing that the rules refuse can be read from one."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from games.onitama.cards import BLUE, CARDS, RED, Colour, Deal
from games.onitama.position import Action, BadText, Pass, Position, parse_move
from games.onitama.record import TERMINATIONS, Record
from tests.strategies import lines_of_play

STONE = """\
[Site "https://onitama.example"]
[Date "2026.12.01"]
[Blue "ann"]
[Red "ben"]
[Result "blue"]
[Termination "stone"]
[TimeControl "259200+86400/432000"]
[Deck "base"]
[Cards "tiger,ox,crab,goose,rooster"]
[First "red"]
[BlueRating "1500"]
[RedRating "1612"]

1. goose:c5d4 tiger:e1e3 2. crab:e5e4 goose:e3d4 blue
"""
STREAM_MOVES = "crab:b5b4 ox:c1c2 rooster:b4a3 crab:c2c3 ox:c5b5 tiger:c3c5"

# Six plies bring back the position, cards and all.
CYCLE = "goose:a5b4 horse:a1a2 rooster:b4a4 goose:a2b2 horse:a4a5 rooster:b2a1"
CYCLE_DEAL: Deal = ("horse", "ox", "crab", "goose", "rooster")

# Blue ends with five pieces on the left edge, holding Tiger and Horse.
STUCK_DEAL: Deal = ("tiger", "horse", "crab", "boar", "elephant")
STUCK = (
    "boar:a5a4 horse:c1c2 crab:a4a3 boar:c2b2 elephant:b5c4 crab:e1c1 boar:e5e4 elephant:d1c2 "
    "crab:a3c3 boar:b2b3 elephant:e4d3 crab:c2a2 horse:c4d4 elephant:b3a4 boar:c5b5 horse:a2a3 "
    "elephant:c3b2 boar:a4a5 horse:b2b3 tiger:c1c3 boar:d4c4 elephant:b1a2 crab:d5d4 boar:a3a4 "
    "tiger:b3b1 crab:c3a3 boar:d3c3 horse:pass"
)


def actions(text: str) -> tuple[Action, ...]:
    return tuple(parse_move(word) for word in text.split())


def changed(old: str, new: str) -> str:
    assert STONE.count(old) == 1, f"{old!r} is there {STONE.count(old)} times"
    return STONE.replace(old, new)


def without(tag: str) -> str:
    lines = STONE.splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith(f"[{tag} ")]
    assert len(kept) == len(lines) - 1
    return "".join(kept)


# Reading and writing


def test_it_reads_a_record() -> None:
    assert Record.read(STONE) == Record(
        start=Position.start(("tiger", "ox", "crab", "goose", "rooster"), RED),
        actions=actions("goose:c5d4 tiger:e1e3 crab:e5e4 goose:e3d4"),
        result="blue",
        termination="stone",
        site="https://onitama.example",
        date=datetime.date(2026, 12, 1),
        blue="ann",
        red="ben",
        time_control="259200+86400/432000",
        deck="base",
        blue_rating=1500,
        red_rating=1612,
    )


def test_it_writes_what_it_read() -> None:
    assert Record.read(STONE).write() == STONE


def test_it_gives_every_position() -> None:
    record = Record.read(STONE)
    positions = record.positions()
    assert positions[0] == record.start
    assert positions[1] == record.start.play(record.actions[0])
    assert len(positions) == 5
    outcome = positions[-1].outcome()
    assert outcome is not None
    assert (outcome.termination, outcome.winner) == ("stone", BLUE)


def test_what_is_not_known_has_no_tag() -> None:
    record = Record(start=Position.start(CYCLE_DEAL))
    assert record.write() == (
        '[Result "*"]\n[Cards "horse,ox,crab,goose,rooster"]\n[First "red"]\n\n*\n'
    )
    assert Record.read(record.write()) == record


@pytest.mark.parametrize("colour", [BLUE, RED])
def test_the_tag_says_who_starts_whatever_the_stamp(colour: Colour) -> None:
    record = Record(start=Position.start(CYCLE_DEAL, colour))
    assert f'[First "{colour.word}"]' in record.write()
    assert Record.read(record.write()).start.turn is colour


def test_another_start_has_a_board() -> None:
    start = Position.parse("1000200000000000000000004 tiger,ox,crab,goose,rooster b")
    record = Record(start=start, actions=actions("tiger:a1a3"))
    assert '[Board "1000200000000000000000004"]' in record.write()
    assert Record.read(record.write()) == record
    assert "[Board " not in STONE


def test_it_reads_a_start_that_is_already_won() -> None:
    start = Position.parse("0020000000000000000000000 tiger,ox,crab,goose,rooster r")
    record = Record(start=start, result="blue", termination="stone")
    assert Record.read(record.write()) == record


def test_long_games_are_wrapped() -> None:
    moves = actions(STUCK)
    record = Record(start=Position.start(STUCK_DEAL, RED), actions=moves)
    text = record.write()
    assert max(map(len, text.splitlines())) < 80
    assert text.endswith(" 14. boar:d3c3 horse:pass *\n")
    assert Record.read(text) == record


def test_the_last_number_may_hold_one_ply() -> None:
    record = Record(start=Position.start(CYCLE_DEAL), actions=actions("goose:a5b4"))
    assert record.write().endswith("\n\n1. goose:a5b4 *\n")
    assert Record.read(record.write()) == record


@pytest.mark.parametrize(
    "text",
    [
        STONE.replace("\n", "\r\n"),
        "\ufeff" + STONE,
        "\n\n" + STONE + "\n\n",
        STONE.replace("\n\n", "\n\n\n"),
        STONE.replace("\n\n", "\n"),
        STONE.replace("]\n", "] \t\n"),
        STONE.replace(" 2. ", "\n2.\n"),
        STONE.rstrip("\n"),
        changed('[Deck "base"]', '[Event "a tag of somebody else"]\n[Deck "base"]'),
    ],
)
def test_it_reads_what_mail_and_editors_make_of_it(text: str) -> None:
    assert Record.read(text) == Record.read(STONE)


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ('say "hi"', r"say \"hi\""),
        ("back\\slash", r"back\\slash"),
        ('\\"', r"\\\""),
        ('"]', r"\"]"),
        ("\\", r"\\"),
        ("", ""),
        (" padded ", " padded "),
        ("Čeh 日本 🐗", "Čeh 日本 🐗"),
        ("[Result *]", "[Result *]"),
    ],
)
def test_it_escapes_names(name: str, written: str) -> None:
    record = Record(start=Position.start(CYCLE_DEAL), blue=name)
    assert f'[Blue "{written}"]\n' in record.write()
    assert Record.read(record.write()).blue == name


@pytest.mark.parametrize(
    "name", ["a\nb", "a\r", "\n", "a\x0bb", "a\u2028b", "a\x85b", "\x00", "\ud800"]
)
def test_a_name_is_one_line(name: str) -> None:
    start = Position.start(CYCLE_DEAL)
    for field in ("blue", "red", "site"):
        with pytest.raises(BadText, match="one line") as refusal:
            Record(start=start, **{field: name})  # type: ignore[arg-type]  # any text field
        assert len(str(refusal.value).splitlines()) == 1


# How a game ends


@pytest.mark.parametrize(
    ("result", "termination"),
    [(result, why) for result, reasons in TERMINATIONS.items() for why in reasons],
)
def test_an_unfinished_board_ends_by_the_players_alone(
    result: str, termination: str | None
) -> None:
    start = Position.start(CYCLE_DEAL)
    if termination in ("stone", "stream", "repetition"):
        with pytest.raises(BadText, match="do not end by"):
            Record(start=start, result=result, termination=termination)
    else:
        record = Record(start=start, result=result, termination=termination)
        assert Record.read(record.write()) == record


@pytest.mark.parametrize(
    ("result", "termination"),
    [
        ("blue", None),
        ("blue", "agreement"),
        ("blue", "aborted"),
        ("red", "repetition"),
        ("draw", None),
        ("draw", "time"),
        ("draw", "stone"),
        ("*", "time"),
        ("*", "resignation"),
        ("blue", "checkmate"),
        ("blue", ""),
        ("white", "time"),
        ("BLUE", "time"),
        ("", None),
        ("1-0", "time"),
    ],
)
def test_it_refuses_a_result_that_does_not_fit(result: str, termination: str | None) -> None:
    with pytest.raises(BadText):
        Record(start=Position.start(CYCLE_DEAL), result=result, termination=termination)


@pytest.mark.parametrize(
    ("result", "termination"),
    [
        ("red", "stone"),
        ("blue", "stream"),
        ("blue", "resignation"),
        ("red", "time"),
        ("draw", "agreement"),
        ("*", None),
        ("*", "aborted"),
    ],
)
def test_a_win_on_the_board_is_that_win(result: str, termination: str | None) -> None:
    won = Record.read(STONE)
    with pytest.raises(BadText, match="the moves end in blue by stone"):
        Record(start=won.start, actions=won.actions, result=result, termination=termination)


def test_it_reads_a_win_by_the_stream() -> None:
    start = Position.start(("tiger", "ox", "crab", "goose", "rooster"), RED)
    won = Record(start=start, actions=actions(STREAM_MOVES), result="blue", termination="stream")
    assert Record.read(won.write()) == won
    with pytest.raises(BadText, match="blue by stream"):
        Record(start=start, actions=won.actions, result="blue", termination="stone")


def test_a_third_occurrence_is_a_draw() -> None:
    start = Position.start(CYCLE_DEAL)
    twice = actions(f"{CYCLE} {CYCLE}")
    drawn = Record(start=start, actions=twice, result="draw", termination="repetition")
    assert drawn.positions().count(start) == 3
    assert Record.read(drawn.write()) == drawn
    with pytest.raises(BadText, match="draw by repetition"):
        Record(start=start, actions=twice)
    with pytest.raises(BadText, match="ply 13, goose:a5b4, comes after the end by repetition"):
        Record(start=start, actions=actions(f"{CYCLE} {CYCLE} goose:a5b4"))


def test_two_occurrences_are_none() -> None:
    start = Position.start(CYCLE_DEAL)
    once = actions(CYCLE)
    assert Record(start=start, actions=once).positions()[-1] == start
    with pytest.raises(BadText, match="do not end by repetition"):
        Record(start=start, actions=once, result="draw", termination="repetition")


def test_passes_are_plies() -> None:
    record = Record(start=Position.start(STUCK_DEAL, RED), actions=actions(STUCK))
    assert record.actions[-1] == Pass("horse")
    assert Record.read(record.write()) == record
    with pytest.raises(BadText, match="ply 28: boar:pass is not legal"):
        Record(start=record.start, actions=(*record.actions[:-1], Pass("boar")))
    with pytest.raises(BadText, match="ply 27: boar:pass is not legal"):
        Record(start=record.start, actions=(*record.actions[:-2], Pass("boar")))


# Bad texts


def bad_records() -> Iterator[tuple[str, str]]:
    yield "Result is missing", ""
    yield "Result is missing", "\n\n"
    yield "Result is missing", "1. goose:c5d4 blue"
    for tag in ("Result", "Cards", "First"):
        yield f"{tag} is missing", without(tag)
    yield "cannot have the termination none", without("Termination")
    yield "there twice", changed('[Blue "ann"]', '[Blue "ann"]\n[Blue "ann"]')
    yield "there twice", changed('[Blue "ann"]', '[First "blue"]\n[Blue "ann"]')
    for line in (
        "[Blue ann]",
        '[Blue "ann"',
        '[Blue "ann]',
        '[Blue "ann"x]',
        '[Blue "an"n"]',
        r'[Blue "ann\"]',
        r'[Blue "a\nn"]',
        '[Blue  "ann"]',
        '[ Blue "ann"]',
        '["ann"]',
        "[]",
        "[",
        '[Blue "ann"] [Deck "base"]',
        '[Blue "ann\u2028"]',
    ):
        expected = "one line" if "\u2028" in line else "is not a tag"
        yield expected, changed('[Blue "ann"]', line)
    yield "Result is missing", changed('[Blue "ann"]', 'Blue "ann"')
    for cards in (
        "tiger,ox,crab,goose",
        "tiger,ox,crab,goose,tiger",
        "tiger,ox,crab,goose,unicorn",
        "tiger,ox,crab,goose,bat",
        "Tiger,ox,crab,goose,rooster",
        "tiger, ox, crab, goose, rooster",
        "",
    ):
        yield "card|space", changed("tiger,ox,crab,goose,rooster", cards)
    yield "is not legal", changed("tiger,ox,crab,goose,rooster", "goose,ox,crab,tiger,rooster")
    yield "fox is not in the deck base", changed("tiger,ox,", "tiger,fox,")
    for first in ("", "r", "Red", "white", "red "):
        yield "First must be", changed('First "red"', f'First "{first}"')
    yield "ply 1: goose:c5d4 is not legal", changed('First "red"', 'First "blue"')
    for board in ("", "0" * 25, "1" * 25, "0", "1121100000000000000033434", "x" * 25):
        yield "board|master|students", changed("[Deck", f'[Board "{board}"]\n[Deck')
    yield (
        "is not legal",
        changed("[Deck", '[Board "1121100000000000000003433"]\n[Deck').replace(
            "goose:c5d4", "goose:a5b4"
        ),
    )
    for date in (
        "",
        "2026.13.01",
        "2026.02.30",
        "2026-12-01",
        "????.??.??",
        "2026.12.1",
        "0000.01.01",
        "２026.12.01",
        "2026.12.01 ",
    ):
        yield "Date must be", changed("2026.12.01", date)
    for rating in ("", "abc", "-1", "1500?", "1e3", "１500", "1500.5", "9" * 5000):
        yield "rating", changed('BlueRating "1500"', f'BlueRating "{rating}"')
    for control in (
        "",
        "3 days",
        "259200",
        "259200+86400",
        "+/",
        "--",
        "1+1/1/1",
        "-1+1/1",
        "١+1/1",
    ):
        yield "TimeControl must be", changed("259200+86400/432000", control)
    for deck in ("", "Base", "all", "way_of_the_wind"):
        yield "Deck must be", changed('Deck "base"', f'Deck "{deck}"')
    yield "Result must be|must end with", changed('Result "blue"', 'Result "white"')
    yield "must end with the result", changed('Result "blue"', 'Result "red"')
    yield "must end with the result", changed("goose:e3d4 blue", "goose:e3d4 red")
    yield "must end with the result", changed("goose:e3d4 blue", "goose:e3d4")
    yield "must end with the result", changed("goose:e3d4 blue", "goose:e3d4 blue 3.")
    yield "Result must be", STONE.replace('"blue"', '"white"').replace("d4 blue", "d4 white")
    yield (
        "the moves end in blue by stone",
        STONE.replace('"blue"', '"red"').replace("d4 blue", "d4 red"),
    )
    yield "the moves end in blue by stone", changed('"stone"', '"stream"')
    yield "the moves end in blue by stone", changed('"stone"', '"time"')
    yield "do not end by stone", changed("2. crab:e5e4 goose:e3d4 blue", "blue")
    for moves in (
        "goose:c5d4 tiger:e1e3 crab:e5e4 goose:e3d4",
        "1.goose:c5d4 tiger:e1e3 2.crab:e5e4 goose:e3d4",
        "1. goose:c5d4 1... tiger:e1e3 2. crab:e5e4 goose:e3d4",
        "1. goose:c5d4 tiger:e1e3 3. crab:e5e4 goose:e3d4",
        "1. goose:c5d4 tiger:e1e3 crab:e5e4 goose:e3d4",
        "1. goose:c5d4 2. tiger:e1e3 3. crab:e5e4 4. goose:e3d4",
        "0. goose:c5d4 tiger:e1e3 1. crab:e5e4 goose:e3d4",
        "1. goose:c5d4 tiger:e1e3 2. crab:e5e4 goose:e3d4 blue",
        "1. goose:c5d4 tiger:e1e3 { a comment } 2. crab:e5e4 goose:e3d4",
        "1. goose:c5d4! tiger:e1e3 2. crab:e5e4 goose:e3d4",
        "1. goose:c5-d4 tiger:e1e3 2. crab:e5e4 goose:e3d4",
        "１. goose:c5d4 tiger:e1e3 2. crab:e5e4 goose:e3d4",
    ):
        yield "is not a move|is missing before", f"{STONE.partition('1. ')[0]}{moves} blue\n"
    head = STONE.partition("1. ")[0]
    yield "no move follows '3.'", changed(" blue\n", " 3. blue\n")
    yield "ply 5, ox:b5b4, comes after the end by stone", changed("d4 blue", "d4 3. ox:b5b4 blue")
    yield "ply 2: tiger:e1e2 is not legal", changed("tiger:e1e3", "tiger:e1e2")
    yield "ply 2: tiger:pass is not legal", changed("tiger:e1e3", "tiger:pass")
    yield "ply 1: tiger:e1e3 is not legal", f"{head}1. tiger:e1e3 goose:c5d4 blue\n"
    yield "'bat' is not a card", changed("tiger:e1e3", "bat:e1e3")


@pytest.mark.parametrize(("message", "text"), list(bad_records()))
def test_it_refuses_bad_text(message: str, text: str) -> None:
    with pytest.raises(BadText, match=message) as refusal:
        Record.read(text)
    assert len(str(refusal.value).splitlines()) == 1
    assert len(str(refusal.value)) < 250


@given(st.text())
@example('[Result "*"]')
def test_it_survives_any_text(text: str) -> None:
    with pytest.raises(BadText):
        Record.read(text)


@given(st.integers(0, len(STONE) - 1), st.characters())
@settings(max_examples=500)
def test_it_survives_a_wrong_letter(place: int, letter: str) -> None:
    text = STONE[:place] + letter + STONE[place + 1 :]
    try:
        record = Record.read(text)
    except BadText as refusal:
        assert len(str(refusal).splitlines()) == 1
    else:
        assert Record.read(record.write()) == record


@given(st.integers(0, len(STONE) - 1), st.integers(1, 60))
def test_it_survives_a_gap(place: int, length: int) -> None:
    text = STONE[:place] + STONE[place + length :]
    try:
        record = Record.read(text)
    except BadText:
        pass
    else:
        assert Record.read(record.write()) == record


# Every game

line_texts = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]))


@st.composite
def records(draw: st.DrawFn) -> Record:
    start, played, after = draw(lines_of_play())
    everything = [start, *after]
    for plies, position in enumerate(everything):
        if everything[: plies + 1].count(position) == 3:
            played = played[:plies]
            break
    final = everything[len(played)]
    outcome = final.outcome()
    if outcome is not None:
        result, termination = outcome.winner.word, outcome.termination
    elif everything[: len(played) + 1].count(final) == 3:
        result, termination = "draw", "repetition"
    else:
        result, termination = draw(
            st.sampled_from(
                [("blue", "time"), ("red", "resignation"), ("draw", "agreement"), ("*", "aborted")]
            )
        )
    return Record(
        start=start,
        actions=tuple(played),
        result=result,
        termination=termination,
        site=draw(st.none() | line_texts),
        date=draw(st.none() | st.dates()),
        blue=draw(st.none() | line_texts),
        red=draw(st.none() | line_texts),
        time_control=draw(st.sampled_from([None, "-", "86400+86400/86400"])),
        deck=draw(st.sampled_from([None, "all34"])),
        blue_rating=draw(st.none() | st.integers(0, 4000)),
        red_rating=draw(st.none() | st.integers(0, 4000)),
    )


@given(records())
def test_what_is_written_reads_back_the_same(record: Record) -> None:
    text = record.write()
    again = Record.read(text)
    assert again == record
    assert again.write() == text
    assert [str(position) for position in again.positions()] == [
        str(position) for position in record.positions()
    ]


@given(records())
def test_the_ply_after_a_number_is_the_starters(record: Record) -> None:
    moves = record.write().partition("\n\n")[2]
    starters = re.findall(r"\d+\.\s(\S+)", moves)
    assert starters == [str(action) for action in record.actions[::2]]
    numbers = [int(number) for number in re.findall(r"(\d+)\.", moves)]
    assert numbers == list(range(1, len(numbers) + 1))


def test_it_knows_all_cards_by_name() -> None:
    names = list(CARDS)
    for first in range(0, 30, 5):
        blue_1, blue_2, red_1, red_2, side = names[first : first + 5]
        record = Record(start=Position.start((blue_1, blue_2, red_1, red_2, side)), deck="all34")
        assert Record.read(record.write()) == record
