"""Addresses of games."""

from __future__ import annotations

from django.urls import URLPattern, path

from games.views import (
    archive,
    away,
    bell,
    challenges,
    feeds,
    game,
    lists,
    pages,
    preferences,
    push,
    replay,
)

urlpatterns: list[URLPattern] = [
    path("", pages.landing, name="landing"),
    path("rules/", pages.rules, name="rules"),
    path("games/", lists.your_turn, name="your_turn"),
    path("games/new/", challenges.new_game, name="new_game"),
    path("games/computer/", challenges.play_computer, name="play_computer"),
    path("games/<int:pk>/", game.game, name="game"),
    path("games/<int:pk>/board/", game.board, name="board"),
    path("games/<int:pk>/move/", game.move, name="move"),
    path("games/<int:pk>/resign/", game.resign, name="resign"),
    path("games/<int:pk>/abort/", game.abort, name="abort"),
    path("games/<int:pk>/draw/offer/", game.offer_draw, name="offer_draw"),
    path("games/<int:pk>/draw/accept/", game.accept_draw, name="accept_draw"),
    path("games/<int:pk>/draw/decline/", game.decline_draw, name="decline_draw"),
    path("archive/", archive.archive, name="archive"),
    path("games/<int:pk>/ply/<int:number>/", replay.replay, name="replay"),
    path("games/<int:pk>/record/", replay.record, name="record"),
    path("challenges/<int:pk>/", challenges.challenge, name="challenge"),
    path("challenges/<int:pk>/accept/", challenges.accept_challenge, name="accept_challenge"),
    path("challenges/<int:pk>/decline/", challenges.decline_challenge, name="decline_challenge"),
    path("challenges/<int:pk>/withdraw/", challenges.withdraw_challenge, name="withdraw_challenge"),
    path("players/<str:name>/", lists.player, name="player"),
    path("notices/", bell.bell, name="notices"),
    path("notices/count/", bell.count, name="count"),
    path("notices/seen/", bell.see_all, name="see_all"),
    path("preferences/", preferences.preferences, name="preferences"),
    path("preferences/away/", away.away, name="away"),
    path("preferences/test/", preferences.send_test, name="send_test"),
    path("preferences/feeds/", feeds.feeds, name="feeds"),
    path("preferences/feeds/<str:form>/remove/", feeds.remove_feed, name="remove_feed"),
    path("feeds/<slug:token>/turns.atom", feeds.turns, name="feed_turns"),
    path("feeds/<slug:token>/deadlines.ics", feeds.deadlines, name="feed_deadlines"),
    path("preferences/devices/", push.devices, name="push_devices"),
    path("preferences/devices/add/", push.add_device, name="add_push_device"),
    path("preferences/devices/<int:device>/remove/", push.remove_device, name="remove_push_device"),
    path("sw.js", push.service_worker, name="service_worker"),
    path("unsubscribe/<slug:token>/", preferences.unsubscribe, name="unsubscribe"),
]
