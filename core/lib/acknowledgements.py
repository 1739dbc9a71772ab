"""Lets a worker take messages again after Redis was away while it acknowledged some.

For kombu a message counts as unacknowledged until Redis answers. Celery logs an acknowledgement that failed and does
not repeat it, so each one would take a place of the worker's prefetch limit for good. With as many as it has child
processes the worker would take no message ever again, nor notice that its connection is lost, and still be alive.
"""

from kombu.transport import redis, virtual


class ReleasingQoS(redis.QoS):
    """Counts a message as acknowledged also where Redis could not be told: rows are claimed, so it may come again."""

    def ack(self, delivery_tag: str) -> None:
        """Acknowledge a message, and make room for the next; raises the errors of the connection."""
        try:
            super().ack(delivery_tag)
        except Exception:
            self._release(delivery_tag)
            raise

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        """Reject a message, and make room for the next; raises the errors of the connection."""
        try:
            super().reject(delivery_tag, requeue=requeue)
        except Exception:
            self._release(delivery_tag)
            raise

    def _release(self, delivery_tag: str) -> None:
        virtual.QoS.ack(self, delivery_tag)


def install() -> None:
    """Use it for all connections of this process."""
    redis.Channel.QoS = ReleasingQoS
