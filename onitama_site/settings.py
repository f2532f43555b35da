"""Settings, all read from the environment; the defaults serve one machine on loopback."""

from __future__ import annotations

import os
from email.utils import parseaddr
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import environ
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext_lazy as _

from onitama_site import environment as env
from onitama_site.logs import KeylessFormatter, one_line

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = env.data_directory(BASE_DIR)

# --- who we are -----------------------------------------------------------------------------

SECRET_KEY = env.secret_key(DATA_DIR)
DEBUG = False
SITE_URL = env.origin("SITE_URL", "http://127.0.0.1:8000")
_SITE = urlsplit(SITE_URL)
_LOOPBACK = env.is_loopback(str(_SITE.hostname))
ALLOWED_HOSTS = [str(_SITE.hostname), *env.hosts("ALLOWED_HOSTS")]
if _LOOPBACK:
    ALLOWED_HOSTS += ["127.0.0.1", "localhost", "[::1]"]
MAILBOX = env.flag("ONITAMA_MAILBOX")
if MAILBOX and not all(env.is_loopback(host) for host in ALLOWED_HOSTS):
    raise ImproperlyConfigured(
        "ONITAMA_MAILBOX=1 shows every mail to everybody: it is refused unless SITE_URL and"
        " ALLOWED_HOSTS are loopback addresses."
    )
# How many proxies of our own stand before us and append to X-Forwarded-For; 0 ignores it.
TRUSTED_PROXY_COUNT = int(env.number("TRUSTED_PROXY_COUNT", 0, least=0, most=10))

# --- https ----------------------------------------------------------------------------------

HTTPS = _SITE.scheme == "https"
CSRF_TRUSTED_ORIGINS = [SITE_URL]
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
if TRUSTED_PROXY_COUNT:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CSRF_FAILURE_VIEW = "onitama_site.errors.csrf_failure"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "base-uri": [NONE],
        "connect-src": [SELF],
        "font-src": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "frame-src": [SELF],
        "img-src": [SELF, "data:"],
        "manifest-src": [SELF],
        "script-src": [SELF],
        "style-src": [SELF],
        "worker-src": [SELF],
    }
}

# --- the applications -----------------------------------------------------------------------

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "allauth",
    "allauth.account",
    "csp",
    "django_htmx",
    "template_partials",
    "accounts",
    "games",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "accounts.middleware.CacheMiddleware",
    "accounts.middleware.CookieMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "accounts.middleware.ReaderMiddleware",
    "allauth.account.middleware.AccountMiddleware",
]
ROOT_URLCONF = "onitama_site.urls"
WSGI_APPLICATION = "onitama_site.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "games.context.site",
            ],
        },
    },
]

# --- rows -----------------------------------------------------------------------------------

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
_TEST_DATABASE = env.text("TEST_DATABASE_URL")


def _database() -> dict[str, Any]:
    url = _TEST_DATABASE or env.text("DATABASE_URL") or f"sqlite:///{DATA_DIR / 'onitama.sqlite3'}"
    try:
        database: dict[str, Any] = environ.Env.db_url_config(url)
    except Exception as error:
        raise ImproperlyConfigured(f"DATABASE_URL cannot be read: {error}") from None
    database.update(CONN_MAX_AGE=600, CONN_HEALTH_CHECKS=True)
    if database["ENGINE"] == "django.db.backends.sqlite3":
        database["OPTIONS"] = {
            # One writer at a time, in line, instead of "database is locked".
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            # FULL: an acknowledged move survives a power cut.
            "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=FULL;"
            "PRAGMA mmap_size=134217728;PRAGMA journal_size_limit=27103364;"
            "PRAGMA cache_size=-20000;",
        }
        # In memory, threads of a test meet "table is locked"; in a file they don't.
        database["TEST"] = {"NAME": str(DATA_DIR / "test.sqlite3")}
    elif database["ENGINE"] != "django.db.backends.postgresql":
        raise ImproperlyConfigured("DATABASE_URL must be a sqlite:// or postgres:// address.")
    return database


DATABASES = {"default": _database()}
# Limits of attempts live in the cache, so it is one that all processes share.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.db.DatabaseCache",
        "LOCATION": "cache",
        "OPTIONS": {"MAX_ENTRIES": 10_000},
    }
}
SESSION_COOKIE_AGE = 180 * 24 * 3600
# Where no cookie is looked at: the address is the key.
NAMELESS_PATHS = ("/feeds/",)

# --- words, times, files --------------------------------------------------------------------

LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English"))]
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"
STATIC_URL = "static/"
STATIC_ROOT = DATA_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "onitama_site" / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

# --- accounts -------------------------------------------------------------------------------

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["accounts.backends.Backend"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
    )
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/games/"
ACCOUNT_ADAPTER = "accounts.adapter.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email*", "password1*"]
ACCOUNT_EMAIL_VERIFICATION = "optional"
ACCOUNT_PREVENT_ENUMERATION = "strict"
ACCOUNT_CHANGE_EMAIL = True
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
ACCOUNT_REAUTHENTICATION_METHODS = {"password"}
# A guest is logged in, and must reach both pages; accounts.views sends people away from them.
ACCOUNT_AUTHENTICATED_LOGIN_REDIRECTS = False
ACCOUNT_RATE_LIMITS = {"new_guest": "10/h/ip"}
ACCOUNT_FORMS = {
    "signup": "accounts.forms.SignupForm",
    "login": "accounts.forms.LoginForm",
    "add_email": "accounts.forms.AddressForm",
    "change_password": "accounts.forms.ChangePasswordForm",
    "reset_password": "accounts.forms.ResetPasswordForm",
    "reset_password_from_key": "accounts.forms.NewPasswordForm",
    "reauthenticate": "accounts.forms.ReauthenticateForm",
}
ACCOUNT_EMAIL_NOTIFICATIONS = True
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_LOGOUT_REDIRECT_URL = "/"
ACCOUNT_USERNAME_MIN_LENGTH = 3
ACCOUNT_DEFAULT_HTTP_PROTOCOL = _SITE.scheme

# --- mail -----------------------------------------------------------------------------------

# Every mail is a row first; accounts.mail sends the rows through SMTP, where EMAIL_URL is set.
EMAIL_BACKEND = "accounts.mail.RowBackend"
DEFAULT_FROM_EMAIL = env.sender("MAIL_FROM", f"Onitama <onitama@{_SITE.hostname}>")
EMAIL_TIMEOUT = env.number("SMTP_TIMEOUT", 10, least=0.1, most=60)
EMAIL_URL = env.text("EMAIL_URL")
if EMAIL_URL:
    try:
        _EMAIL = environ.Env.email_url_config(EMAIL_URL)
    except Exception as error:
        raise ImproperlyConfigured(f"EMAIL_URL cannot be read: {error}") from None
    EMAIL_HOST = _EMAIL["EMAIL_HOST"] or "127.0.0.1"
    EMAIL_PORT = _EMAIL["EMAIL_PORT"] or 25
    EMAIL_HOST_USER = _EMAIL["EMAIL_HOST_USER"] or ""
    EMAIL_HOST_PASSWORD = _EMAIL["EMAIL_HOST_PASSWORD"] or ""
    EMAIL_USE_TLS = _EMAIL.get("EMAIL_USE_TLS", False)
    EMAIL_USE_SSL = _EMAIL.get("EMAIL_USE_SSL", False)
elif not _LOOPBACK:
    raise ImproperlyConfigured("EMAIL_URL must be set: a site at a public SITE_URL sends mail.")
# Seconds after which a mail that was being sent counts as not sent.
MAIL_LEASE = int(env.number("MAIL_LEASE", 60, least=1, most=240))

# --- web push -------------------------------------------------------------------------------

# Made by `manage.py make_push_keys`; without one no page and no notice speaks of push.
VAPID_PRIVATE_KEY, VAPID_PUBLIC_KEY = env.push_keys("VAPID_PRIVATE_KEY")
if VAPID_PRIVATE_KEY:
    VAPID_CONTACT = env.push_contact("VAPID_CONTACT", f"mailto:{parseaddr(DEFAULT_FROM_EMAIL)[1]}")
# Who may be posted to: an address that a browser names must not lead into our own network.
PUSH_HOSTS = [
    "fcm.googleapis.com",
    # Of the Chromium that distributions build.
    "jmt17.google.com",
    "updates.push.services.mozilla.com",
    "*.push.services.mozilla.com",
    "*.notify.windows.com",
    "web.push.apple.com",
    "*.push.apple.com",
    *env.push_hosts("PUSH_HOSTS"),
]

# --- work behind the pages ------------------------------------------------------------------

# Seconds an engine may think before its process is ended; its lease is five longer.
ENGINE_TIME_LIMIT = int(env.number("ENGINE_TIME_LIMIT", 25, least=1, most=25))
ENGINE_LEASE = min(ENGINE_TIME_LIMIT + 5, 30)
# Processes of the engine's worker: the games that wait share their time.
ENGINE_WORKERS = int(env.number("ENGINE_WORKERS", min(2, os.cpu_count() or 1), least=1, most=64))
SWEEP_SECONDS = env.number("SWEEP_SECONDS", 15, least=1, most=15)
# What Numba has compiled is kept with all other state; to be known before it is loaded.
os.environ.setdefault("NUMBA_CACHE_DIR", str(DATA_DIR / "numba"))
# The endgame tables, and how many bytes of them are kept: one takes 860 MB, and is made again
# where it is gone.
TABLES_DIR = DATA_DIR / "tables"
TABLES_LIMIT = int(env.number("TABLES_LIMIT_MB", 4096, least=0, most=1 << 20)) << 20
# Whether `make play` compiles the engine; without it the computer plays simply.
ENGINE_COMPILE = env.flag("ENGINE_COMPILE", "1")
CELERY_BROKER_URL = env.broker("REDIS_URL", "redis://127.0.0.1:6379/0")
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 5
# The engine's processes load what is compiled before they say that they are up.
CELERY_WORKER_PROC_ALIVE_TIMEOUT = 60
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# For ever: after its hundred tries a worker would end, and stay ended.
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_TASK_DEFAULT_QUEUE = "sweep"
CELERY_TASK_CREATE_MISSING_QUEUES = True
CELERY_TASK_ROUTES = {
    "games.engine_move": {"queue": "engine"},
    "games.build_tables": {"queue": "tables"},
    "games.send_notices": {"queue": "mail"},
    "accounts.send_mails": {"queue": "mail"},
}
# What the web process may wait for the broker; workers get patience in onitama_site.celery.
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": env.number("VISIBILITY_TIMEOUT", 300, least=5, most=3600),
    "unacked_restore_interval": 10,
    "unacked_restore_throttle": 1,
    "socket_timeout": 0.2,
    "socket_connect_timeout": 0.2,
    "max_retries": 0,
}
# A tick that no worker took before the next one is due is worth nothing.
CELERY_BEAT_SCHEDULE = {
    name: {"task": name, "schedule": seconds, "options": {"expires": seconds}}
    for name, seconds in {
        "games.sweep": SWEEP_SECONDS,
        "games.send_notices": SWEEP_SECONDS,
        "accounts.send_mails": SWEEP_SECONDS,
        "accounts.clean_up": 3600.0,
        "games.clean_up": 3600.0,
    }.items()
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"()": lambda: KeylessFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s")}
    },
    "filters": {"one_line": {"()": lambda: one_line}},
    "handlers": {
        "console": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["one_line"]}
    },
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {
        "django": {"handlers": [], "level": "WARNING", "propagate": True},
        # It warns at each HEAD that Django renders the page and leaves dropping it to the server.
        "gunicorn.http.wsgi": {"level": "ERROR"},
    },
}
