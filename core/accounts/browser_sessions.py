"""Browser sessions as their owner sees them: from where, with what browser, last seen when; and their end."""

import re
import time

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import models
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _

SEEN_EVERY_S = 60  # a session's row is written at most so often by each web process
BROWSER_CHARS = 200
BROWSERS = {"Edg": "Edge", "OPR": "Opera", "Firefox": "Firefox", "Chrome": "Chrome", "Safari": "Safari"}
SYSTEMS = ("Windows", "Android", "iPhone", "iPad", "Mac OS X", "CrOS", "Linux")

_noted: dict[str, float] = {}  # session key → monotonic time until which this process leaves its row as it is


class BrowserSessionQuerySet(models.QuerySet["BrowserSession"]):
    """Finds sessions that last, and ends them."""

    def lasting(self) -> "BrowserSessionQuerySet":
        """Exclude those that were logged out or have expired."""
        alive = Session.objects.filter(session_key=models.OuterRef("session_key"), expire_date__gt=timezone.now())
        return self.filter(models.Exists(alive))

    def end(self) -> int:
        """End these sessions now, with their event streams; return how many lasted until then."""
        keys = list(self.values_list("session_key", flat=True))
        ended, _details = Session.objects.filter(session_key__in=keys).delete()
        self.model.objects.filter(session_key__in=keys).delete()
        return ended


class BrowserSession(models.Model):
    """One login of a person in a browser. Its end is that of Django's session with the same key."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="browser_sessions")
    session_key = models.CharField(max_length=40, unique=True)
    address = models.CharField(max_length=45, blank=True)
    browser = models.CharField(max_length=BROWSER_CHARS, blank=True)  # the start of its User-Agent
    created_at = models.DateTimeField(default=timezone.now)
    last_seen_at = models.DateTimeField(default=timezone.now)

    objects = BrowserSessionQuerySet.as_manager()

    class Meta:
        app_label = "accounts"
        ordering = ["-last_seen_at"]

    def __str__(self) -> str:
        return self.browser_name

    @property
    def browser_name(self) -> str:
        """The browser and its system in words, such as `Firefox 131, Linux`."""
        found = [name for mark, name in BROWSERS.items() if f"{mark}/" in self.browser]
        if not found:
            return self.browser.partition("/")[0] or _("unknown browser")
        mark = next(mark for mark, name in BROWSERS.items() if name == found[0])
        version = re.search(rf"{mark}/(\d+)", self.browser)
        system = next((system for system in SYSTEMS if system in self.browser), "")
        return ", ".join(filter(None, [f"{found[0]} {version[1]}" if version else found[0], system]))


def note_use(request: HttpRequest, user: User) -> None:
    """Record that the session was used now, and from where; at most once in `SEEN_EVERY_S`."""
    key = request.session.session_key
    if not key or _noted.get(key, 0) > time.monotonic():
        return
    if len(_noted) > 10_000:
        _noted.clear()
    _noted[key] = time.monotonic() + SEEN_EVERY_S
    seen = {
        "user": user,
        "address": request.META.get("REMOTE_ADDR") or "",
        "browser": request.headers.get("User-Agent", "")[:BROWSER_CHARS],
        "last_seen_at": timezone.now(),
    }
    BrowserSession.objects.update_or_create(session_key=key, defaults=seen)


def end_others(request: HttpRequest, user: User) -> int:
    """End all sessions of the user but the one of this request; return how many."""
    forget_ended(user)
    return BrowserSession.objects.filter(user=user).exclude(session_key=request.session.session_key).end()


def forget_ended(user: User) -> None:
    """Remove the rows of the user's sessions that have ended by themselves."""
    lasting = BrowserSession.objects.filter(user=user).lasting().values("pk")
    BrowserSession.objects.filter(user=user).exclude(pk__in=list(lasting.values_list("pk", flat=True))).delete()
