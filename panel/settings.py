"""Settings of the panel; every value that differs between installations is read through core.lib.env."""

from csp.constants import NONCE, SELF
from kombu import Exchange, Queue

from core.accounts.sign_on import configuration as sign_on
from core.lib import database_url, env, queues

env.remove_libpq_variables()
BASE_DIR = env.BASE_DIR
SHARE_DIR = env.SHARE_DIR
HOME = env.home()
SECRETS_FOLDER = env.secrets_folder()

DEBUG = env.flag("POOLDECK_DEBUG")
SECRET_KEY = env.secret("POOLDECK_SECRET_KEY", "secret_key")  # the web process alone asks for it: panel.asgi
POOLDECK_KEYS = env.encryption_keys()
ALLOWED_HOSTS = env.words("POOLDECK_ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.words("POOLDECK_TRUSTED_ORIGINS", [])
CSRF_FAILURE_VIEW = "panel.error_pages.form_refused"
TRUSTED_PROXIES = env.read("POOLDECK_TRUSTED_PROXIES", env.NOWHERE, env.networks)

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "django_htmx",
    "template_partials",
    "django_filters",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "csp",
    "axes",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "core.audit",
    "core.accounts",
    "core.installation",
    "pools",
    "benchmarks",
    "panel",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "panel.response_headers.response_headers",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "core.accounts.audit.origins.audit_origin",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "core.accounts.sign_on.proxy_header.SessionOfHeader",
    "core.accounts.middleware.BrowserSessions",
    "core.accounts.second_factor.requirement.SecondFactorRequired",
    "pools.views.approvals.HeldBackPages",
    "panel.nul_characters.NulCharacters",
    "panel.private_texts.private_texts",  # innermost: a body has its length and its reader's reading at once
]

ROOT_URLCONF = "panel.urls"
ASGI_APPLICATION = "panel.asgi.application"
TEMPLATE_LOADERS = ["django.template.loaders.filesystem.Loader", "django.template.loaders.app_directories.Loader"]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [SHARE_DIR / "templates"],
        "OPTIONS": {
            "loaders": [("template_partials.loader.Loader", [("panel.compact_templates.Loader", TEMPLATE_LOADERS)])],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "csp.context_processors.nonce",
                "core.installation.pausing.in_templates",
                "core.accounts.in_templates.may",
            ],
            "builtins": ["core.accounts.templatetags.access"],
        },
    }
]

FORM_RENDERER = "panel.form_rendering.FormRenderer"

DATABASES = {"default": database_url.from_url(env.database_url())}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
REDIS_URL = env.redis_url()
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "pooldeck",
    }
}

AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "dashboard"
LOGOUT_REDIRECT_URL = "login"
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = 0.25
AXES_HANDLER = "core.accounts.lockout.LoginLimits"
LOGIN_FAILURES_BY_ADDRESS = 50  # failures within AXES_COOLOFF_TIME, over all names
LOGIN_FAILURES_BY_NAME = 50  # failures from addresses from which the name never logged in
WRONG_TOKENS = 30
WRONG_TOKENS_WINDOW_S = 60
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False
AXES_LOCKOUT_TEMPLATE = "accounts/locked.html"
# Of django-allauth the second factor and OpenID Connect are used; logins by password, their limits and accounts are the
# panel's own.
ACCOUNT_ADAPTER = "core.accounts.second_factor.adapters.AccountAdapter"
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*", "password2*"]
ACCOUNT_RATE_LIMITS = MFA_RATE_LIMITS = False
MFA_ADAPTER = "core.accounts.second_factor.adapters.SecondFactorAdapter"
MFA_ALLOW_UNVERIFIED_EMAIL = True
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_TOTP_ISSUER = "Pooldeck"
MFA_TOTP_TOLERANCE = 1  # half a minute before and after, for clocks that differ
OIDC = sign_on.openid_connect()
SIGN_ON_HEADER = sign_on.proxy_header(TRUSTED_PROXIES)
SIGN_ON_CONTACT = env.text("POOLDECK_SIGN_ON_CONTACT")  # whom people ask who are refused
SOCIALACCOUNT_ADAPTER = "core.accounts.sign_on.adapters.SignOnAdapter"
SOCIALACCOUNT_STORE_TOKENS = False
REQUIRE_MFA = env.read("POOLDECK_REQUIRE_MFA", "none", env.require_mfa)

USE_I18N = True
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English")]  # another language: its code here, its catalog in locale/
LOCALE_PATHS = [SHARE_DIR / "locale"]
TIME_ZONE = env.text("POOLDECK_TIME_ZONE", "UTC")
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = HOME / "static"
NODE_MODULES = SHARE_DIR / "static" / "node_modules"
STATICFILES_DIRS = [
    ("css", SHARE_DIR / "static" / "css"),
    ("js", SHARE_DIR / "static" / "js"),
    ("img", SHARE_DIR / "static" / "img"),
    ("vendor/tabler", NODE_MODULES / "@tabler" / "core" / "dist"),
    ("vendor/chart.js", NODE_MODULES / "chart.js" / "dist"),
    ("vendor/chartjs-plugin-zoom", NODE_MODULES / "chartjs-plugin-zoom" / "dist"),
]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "panel.staticfiles.HashedStorage"},
}
WHITENOISE_KEEP_ONLY_HASHED_FILES = True  # pages name no other, and each costs seconds to compress
STATICFILES_FINDERS = [
    "panel.staticfiles.Folders",
    "panel.staticfiles.Bundles",
    "panel.staticfiles.Apps",
]

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "img-src": [SELF, "data:"],
        "script-src": [SELF, NONCE],
        "style-src": [SELF],
        "connect-src": [SELF],
        "frame-ancestors": ["'none'"],
        "form-action": [SELF],
        "base-uri": ["'none'"],
        "object-src": ["'none'"],
    }
}
SECURE_REFERRER_POLICY = "same-origin"
# The proxy that has the certificate sends Strict-Transport-Security and redirects to HTTPS (deploy/debian). Probes and
# Prometheus ask the panel itself over HTTP, and a second header would leave browsers to choose between two.
SILENCED_SYSTEM_CHECKS = ["security.W004", "security.W008"]
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = env.flag("POOLDECK_HTTPS")
SESSION_COOKIE_HTTPONLY = True

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "core.accounts.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["core.accounts.permissions.HasScope", "core.accounts.reasons.GivesReason"],
    "DEFAULT_PAGINATION_CLASS": "core.rest.pagination.Pages",
    "DEFAULT_FILTER_BACKENDS": [
        "core.rest.filters.OnlyVisible",
        "core.rest.filters.ListFilter",
        "core.rest.filters.ListSearch",
        "core.rest.ordering.StableOrdering",
    ],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["core.rest.parsers.StorableJSONParser"],
    "DEFAULT_SCHEMA_CLASS": "core.rest.schema.Schema",
    "EXCEPTION_HANDLER": "core.rest.errors.handle_exception",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
# ids → names of the records that tokens can be limited to
LIMITS_OF_TOKENS = {"": "pools.Pooler", "cluster": "pools.Cluster", "pool": "pools.Pool"}
API_EXAMPLES = [
    "core.rest.common_examples.EXAMPLES",
    "core.rest.token_examples.EXAMPLES",
    "pools.api.examples.EXAMPLES",
    "benchmarks.api.examples.EXAMPLES",
]
SPECTACULAR_SETTINGS = {
    "TITLE": "Pooldeck",
    "DESCRIPTION": (
        "Clusters, pools and benchmarks of PostgreSQL. Send `Authorization: Bearer TOKEN` with a token made at "
        "/tokens/. Lists take `page`, `page_size` (at most 200), `ordering` and `search`. A body with a field that "
        "there is not is refused with 400, naming those there are. Reads carry a `version`: "
        "send it with an edit, in the body or as `If-Match`, and the edit is refused with 409 when somebody else's "
        "came in between."
    ),
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "core.rest.schema.allow_null",
        "benchmarks.api.run_schemas.describe_options",
        "benchmarks.api.description.describe_events",
        "pools.api.description.describe_live",
        "pools.api.description.describe_held",
        "core.rest.examples.add_examples",
        "core.rest.schema.document_errors",
    ],
    "ENUM_NAME_OVERRIDES": {
        "NodeRoleEnum": "pools.models.NodeRole",
        "TeamRoleEnum": "core.accounts.models.Role",
        "ReachabilityEnum": "pools.models.ClusterState",
        "PoolStateEnum": "pools.models.PoolState",
        "PoolerKindEnum": "pools.models.PoolerKind",
        "FetchStateEnum": "pools.inventory.fetches.FetchState",
        "RevisionStateEnum": "pools.models.RevisionState",
        "ExperimentStateEnum": "benchmarks.models.ExperimentState",
    },
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
}

GENERATOR = env.read("POOLDECK_GENERATOR", "local", env.generator_name)
WORKER = env.read("POOLDECK_WORKER", queues.WorkerKind.ALL, env.worker_kind)
CELERY_BROKER_URL = env.broker_url()
CELERY_RESULT_BACKEND = None
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SERIALIZER = "json"
CELERY_TASK_PUBLISH_RETRY = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# Without max_retries a caller waits 4 s and more for a Redis that is down (kombu's default_channel).
CELERY_BROKER_TRANSPORT_OPTIONS = {"socket_timeout": 5, "socket_connect_timeout": 2, "max_retries": 0}
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_QUEUES = [Queue(name, Exchange(name), routing_key=name) for name in queues.listened_on(WORKER, GENERATOR)]
CELERY_TASK_ROUTES = ("pools.task_queue.route",)
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
# Remote control would let anyone who reaches Redis shut workers down or have them take from other queues.
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_SECURITY_KEY, CELERY_SECURITY_CERTIFICATE, CELERY_SECURITY_CERT_STORE = env.message_signing()
if CELERY_SECURITY_KEY:
    # the first protocol has all of a task in the part that is signed; the second leaves its name and times outside
    CELERY_TASK_PROTOCOL = 1
    CELERY_TASK_SERIALIZER = CELERY_EVENT_SERIALIZER = "auth"
    CELERY_ACCEPT_CONTENT = ["auth"]
CELERY_BEAT_SCHEDULER = "panel.beat:Scheduler"
CELERY_BEAT_SCHEDULE_FILENAME = str(HOME / "celerybeat-schedule")
CELERY_BEAT_SCHEDULE = {
    "check-everything": {"task": "pools.tasks.check_everything", "schedule": 60.0},
    "check-hosts": {"task": "pools.tasks.check_hosts", "schedule": 60.0, "options": {"expires": 60}},
    "prove-pools": {"task": "pools.tasks.prove_pools", "schedule": 10.0, "options": {"expires": 10}},
    "look-for-drift": {"task": "pools.tasks.check_drift", "schedule": 30.0, "options": {"expires": 30}},
    "count-refused-logins": {
        "task": "pools.tasks.count_refused_logins",
        "schedule": 30.0,
        "options": {"expires": 30},
    },
    "apply-what-waits": {"task": "pools.tasks.apply_what_waits", "schedule": 5.0, "options": {"expires": 5}},
    "catch-up": {"task": "pools.tasks.catch_up", "schedule": 10.0, "options": {"expires": 10}},
    "resume-paused-pools": {"task": "pools.tasks.resume_paused_pools", "schedule": 5.0},
    "run-cluster-commands": {
        "task": "pools.tasks.run_cluster_commands",
        "schedule": 5.0,
        "options": {"expires": 5},
    },
    "reap-and-dispatch": {"task": "benchmarks.tasks.reap_and_dispatch", "schedule": 5.0},
    "advance-experiments": {
        "task": "benchmarks.tasks.advance_experiments",
        "schedule": 3.0,
        "options": {"expires": 3},
    },
    "start-due-schedules": {
        "task": "benchmarks.tasks.start_due_schedules",
        "schedule": 5.0,
        "options": {"expires": 5},
    },
    "notify-of-nights": {"task": "benchmarks.tasks.notify_of_nights", "schedule": 30.0, "options": {"expires": 30}},
    "ask-generators": {"task": "benchmarks.tasks.ask_generators", "schedule": 180.0, "options": {"expires": 180}},
    "forget-old-runs": {"task": "benchmarks.tasks.forget_old_runs", "schedule": 3600.0, "options": {"expires": 3600}},
    "send-audit-trail": {"task": "pools.tasks.send_audit_trail", "schedule": 5.0, "options": {"expires": 5}},
    "prune-audit-trail": {"task": "pools.tasks.prune_audit_trail", "schedule": 600.0, "options": {"expires": 600}},
    "record-figures": {"task": "pools.tasks.record_figures", "schedule": 10.0, "options": {"expires": 10}},
    "tell-of-events": {"task": "pools.tasks.send_notifications", "schedule": 10.0, "options": {"expires": 10}},
}

PGBENCH = env.text("POOLDECK_PGBENCH")
SYSBENCH_SCRIPTS = env.text("POOLDECK_SYSBENCH_SCRIPTS")
TARGETS_ALLOW = env.read("POOLDECK_TARGETS_ALLOW", env.NOWHERE, env.networks)
HTTP_ALLOW = env.words("POOLDECK_HTTP_ALLOW", [])
JMETER = env.text("POOLDECK_JMETER")
JMETER_PLANS = env.text("POOLDECK_JMETER_PLANS")
DRAIN_SECONDS = env.number("POOLDECK_DRAIN_SECONDS", 240)
STREAMS = env.number("POOLDECK_STREAMS", 400, least=1)
STREAMS_PER_TOKEN = env.number("POOLDECK_STREAMS_PER_TOKEN", 200, least=1)
WAITS = env.number("POOLDECK_WAITS", 64, least=1)
WEB_THREADS = env.number("POOLDECK_WEB_THREADS", 16, least=1)
WEB_QUEUE = env.number("POOLDECK_WEB_QUEUE", 100, least=1)
RUN_DAYS = env.number("POOLDECK_RUN_DAYS", 0)
AUDIT_KEEP_DAYS = env.number("POOLDECK_AUDIT_KEEP_DAYS", 0)
REQUIRE_REASON = env.flag("POOLDECK_REQUIRE_REASON")
AUDIT_SYSLOG = env.read("POOLDECK_AUDIT_SYSLOG", None, env.syslog_receiver)
AUDIT_SYSLOG_CA = env.text("POOLDECK_AUDIT_SYSLOG_CA")
AUDIT_SYSLOG_CERTIFICATE = env.text("POOLDECK_AUDIT_SYSLOG_CERTIFICATE")
AUDIT_WEBHOOK_URL = env.read("POOLDECK_AUDIT_WEBHOOK_URL", "", env.web_address)
AUDIT_WEBHOOK_SECRET = env.text("POOLDECK_AUDIT_WEBHOOK_SECRET")
BACKUP_DAYS = env.number("POOLDECK_BACKUP_DAYS", 7)
UPGRADE_BACKUPS = env.number("POOLDECK_UPGRADE_BACKUPS", 3, least=1)
HISTORY_DAYS = env.number("POOLDECK_HISTORY_DAYS", 14, least=1)
METRICS_ALLOW = env.read("POOLDECK_METRICS_ALLOW", env.NOWHERE, env.networks)
RESTART_FILE = env.text("POOLDECK_RESTART_FILE")
CREATE_FILE = env.text("POOLDECK_CREATE_FILE")
OUTPUT_CAP_BYTES = env.number("POOLDECK_OUTPUT_CAP_BYTES", 8 * 1024 * 1024, least=65536)

# Whom events are told, see pools.monitoring.channels.
CONTENTION_PERCENT = env.number("POOLDECK_CONTENTION_PERCENT", 25)
TIE_BAND_PERCENT = env.number("POOLDECK_TIE_BAND_PERCENT", 3)
CONNECTION_RESERVE = env.number("POOLDECK_CONNECTION_RESERVE", 3)
REQUESTS_PER_HOUR = env.number("POOLDECK_REQUESTS_PER_HOUR", 5000, least=1)
CLEARTEXT_PASSWORDS = env.flag("POOLDECK_CLEARTEXT_PASSWORDS")
PUBLIC_URL = env.read("POOLDECK_PUBLIC_URL", "http://localhost:8000", env.web_address)
WEBHOOK_URL = env.read("POOLDECK_WEBHOOK_URL", "", env.web_address)
WEBHOOK_SECRET = env.text("POOLDECK_WEBHOOK_SECRET")
EMAIL_HOST = env.text("POOLDECK_EMAIL_HOST")
EMAIL_PORT = env.number("POOLDECK_EMAIL_PORT", 587, least=1)
EMAIL_HOST_USER = env.text("POOLDECK_EMAIL_USER")
EMAIL_HOST_PASSWORD = env.text("POOLDECK_EMAIL_PASSWORD")
EMAIL_USE_TLS = env.read("POOLDECK_EMAIL_SECURITY", "starttls", env.mail_security) == "starttls"
EMAIL_USE_SSL = env.read("POOLDECK_EMAIL_SECURITY", "starttls", env.mail_security) == "tls"
DEFAULT_FROM_EMAIL = env.text("POOLDECK_EMAIL_FROM", "pooldeck@localhost")
EMAIL_TO = env.words("POOLDECK_EMAIL_TO", [])

DEFAULT_EXCEPTION_REPORTER = "core.lib.secret_addresses.RedactedReporter"
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"()": "core.lib.log_lines.Lines", "format": "%(asctime)s %(levelname)s %(name)s %(message)s"}
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "loggers": {
        # two lines for each of the tasks that beat sends every few seconds
        **{name: {"level": "WARNING"} for name in ("celery.worker.strategy", "celery.app.trace")},
        # the addresses of chat services are secrets, and these write them at their lower levels
        **{name: {"level": "CRITICAL"} for name in ("apprise", "requests", "urllib3")},
    },
    "root": {"handlers": ["console"], "level": env.text("POOLDECK_LOG_LEVEL", "INFO")},
}
