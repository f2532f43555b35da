"""A hash that costs no time; the servers of the process tests can read it all the same."""

from __future__ import annotations

from django.contrib.auth.hashers import Argon2PasswordHasher

REAL = ["django.contrib.auth.hashers.Argon2PasswordHasher"]


class Quick(Argon2PasswordHasher):
    time_cost = 1
    memory_cost = 8
    parallelism = 1
