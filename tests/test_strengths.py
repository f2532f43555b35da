"""The belts as the site knows them: their rows, what is said of them, how strength is reckoned."""

from __future__ import annotations

from datetime import date
from importlib import import_module
from math import isclose

import pytest
from django.apps import apps
from django.db import connection

from accounts.models import User
from games import belts, strengths, thinking
from games.models import Level
from games.strengths import LADDER, Match
from tests import world

MIGRATION = import_module("games.migrations.0004_belts")


def match(stronger: str, weaker: str, won: int, drawn: int, lost: int) -> Match:
    played = date(2026, 12, 1)
    return Match(stronger, weaker, won, drawn, lost, 100, 300, "engine_match", played)


def ladder(*results: tuple[int, int, int]) -> tuple[Match, ...]:
    pairs = zip(LADDER[1:], LADDER[:-1], results, strict=True)
    return tuple(match(upper, lower, *result) for upper, lower, result in pairs)


# --- rows -----------------------------------------------------------------------------------


@pytest.mark.django_db
def test_each_is_a_player_who_cannot_log_in() -> None:
    rows = User.objects.filter(username__in=Level.values)
    assert {row.username for row in rows} == set(Level.values) == set(LADDER)
    assert all(row.is_engine and not row.has_usable_password() for row in rows)
    assert User.objects.filter(username__in=world.OLD_LEVELS, kind="engine").count() == 3


@pytest.mark.django_db
def test_the_migration_back_keeps_who_has_played() -> None:
    world.against_level(world.person("alice"), Level.GREEN)
    MIGRATION.remove_belts(apps, connection.schema_editor())
    left = User.objects.filter(kind="engine").values_list("username", flat=True)
    assert set(left) == {"green-belt", *world.OLD_LEVELS}
    MIGRATION.add_belts(apps, connection.schema_editor())
    assert User.objects.filter(kind="engine").count() == 8 + 3


# --- words ----------------------------------------------------------------------------------


def test_each_belt_has_a_character_of_its_own() -> None:
    assert [belt.level for belt in belts.BELTS] == list(Level)
    for words in ("line", "character", "suits", "colour"):
        assert len({str(getattr(belt, words)) for belt in belts.BELTS}) == len(belts.BELTS)


def test_old_levels_lead_to_a_belt() -> None:
    for name in world.OLD_LEVELS:
        assert belts.belt(name) is None
        assert belts.nearest(name) in belts.BELTS
    for name in Level.values:
        assert belts.belt(name) is belts.nearest(name)


def test_the_stronger_thinks_longer() -> None:
    needed = [thinking.seconds(name) for name in LADDER]
    assert needed == sorted(needed)
    assert all(0 < thinking.seconds(name) <= needed[0] for name in world.OLD_LEVELS)


# --- strength -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("result", "step"),
    [((100, 0, 100), 0), ((150, 0, 50), 190.8), ((120, 40, 40), 147.2), ((0, 200, 0), 0)],
)
def test_a_step_follows_from_the_score(result: tuple[int, int, int], step: float) -> None:
    found = match("yellow-belt", "white-belt", *result)
    assert isclose(found.step, step, abs_tol=0.1)


def test_even_a_match_without_a_loss_has_a_step() -> None:
    assert 800 < match("yellow-belt", "white-belt", 200, 0, 0).step < 1100


def test_the_ladder_is_the_sum_of_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    three_quarters = (150, 0, 50)
    extra = match("white-belt", "random", 190, 0, 10)
    monkeypatch.setattr(strengths, "MATCHES", (*ladder(*[three_quarters] * 7), extra))
    assert strengths.elo() == {name: 191 * n for n, name in enumerate(LADDER)}
    assert set(strengths.steps()) == set(LADDER[1:])


def test_half_a_ladder_says_nothing_of_strength(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strengths, "MATCHES", ladder(*[(150, 0, 50)] * 7)[:6])
    assert strengths.elo() == {}
    assert belts.BELTS[2].elo is None


def test_what_is_recorded_is_sound() -> None:
    known = set(LADDER) | set(world.OLD_LEVELS)
    for recorded in strengths.MATCHES:
        assert {recorded.stronger, recorded.weaker} <= known
        assert recorded.low <= recorded.step <= recorded.high
        assert 120 <= recorded.step <= 300
        assert recorded.games >= 60
        assert recorded.command.startswith(".venv/bin/python manage.py engine_match")
