"""Mail to one person about their account or an invitation."""

import logging
from smtplib import SMTPException

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.utils.translation import gettext as _

logger = logging.getLogger(__name__)

WITHIN_S = 10


def is_sent() -> bool:
    """Tell whether this panel sends mail."""
    return bool(settings.EMAIL_HOST)


def send(address: str, subject: str, text: str, about: str) -> str:
    """Send a mail; return why that failed, empty where it did not. `about` names it in the log."""
    connection = get_connection(timeout=WITHIN_S)
    message = EmailMessage(subject, text, settings.DEFAULT_FROM_EMAIL, [address], connection=connection)
    try:
        message.send()
    except UnicodeError:  # its text is the password of the mail server
        connection.close()  # what Django does after the errors that it expects
        logger.warning("%s was not mailed: SMTP can't carry the user or the password", about)
        return _("the mail server's user or password has letters beyond ASCII, which can't be sent to it")
    except (OSError, SMTPException) as error:
        logger.warning("%s was not mailed: %s", about, error)
        return str(error)
    return ""
