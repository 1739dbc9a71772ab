"""The REST API of the channels of notices; all of it needs the scope `admin`."""

from typing import Any
from uuid import UUID

from django.http import Http404
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from core.accounts.permissions import person
from core.lib.chat_services import LONGEST
from core.lib.known_fields import KnownFields
from pools.api.versions import expected_version
from pools.inventory import notification_channels
from pools.models import NotificationChannel
from pools.monitoring import channels, notifications

CHANNEL = "3f0c9a52-7d1e-4b86-9a44-5e6f7a8b9c0d"


class ChannelSerializer(KnownFields, serializers.ModelSerializer[NotificationChannel]):
    """A channel of notices. Its `url` is written and never read: all of it is a secret."""

    version = serializers.IntegerField(required=False, min_value=1)
    name = serializers.CharField(max_length=63, help_text=_("`webhook` and `email` are those of the environment"))
    url = serializers.CharField(
        max_length=LONGEST,
        required=False,
        write_only=True,
        help_text=_(
            "An address of apprise such as `slack://…`, or the web address that the service shows; it has one recipient"
        ),
    )
    service = serializers.CharField(read_only=True, help_text=_("The service of its address"))
    configured = serializers.SerializerMethodField()
    time_zone = serializers.CharField(max_length=64, required=False, help_text=_("Such as `Europe/Berlin`"))

    class Meta:
        model = NotificationChannel
        fields = [
            "id",
            "version",
            "name",
            "service",
            "url",
            "configured",
            "enabled",
            "group_s",
            "quiet_from",
            "quiet_until",
            "time_zone",
            "urgent_passes",
        ]

    example: dict[str, object] = {
        "id": CHANNEL,
        "version": 1,
        "name": "on-call",
        "service": "Slack",
        "configured": True,
        "enabled": True,
        "group_s": 60,
        "quiet_from": "22:00:00",
        "quiet_until": "07:00:00",
        "time_zone": "Europe/Berlin",
        "urgent_passes": True,
    }

    def get_configured(self, channel: NotificationChannel) -> bool:
        """Return whether it has an address, here or in the environment."""
        return channels.has_address(channel)


class ChannelTestSerializer(serializers.Serializer[dict[str, object]]):
    """What became of a test message."""

    accepted = serializers.BooleanField()
    reason = serializers.CharField(allow_blank=True, help_text=_("Why it was not; what the other side answered"))

    example: dict[str, object] = {"accepted": False, "reason": "Slack did not take it: 403 invalid_token"}


class ChannelViewSet(GenericViewSet[NotificationChannel]):
    """The channels over which events are told: those of the environment, then services by name."""

    queryset = NotificationChannel.objects.all()
    serializer_class = ChannelSerializer
    lookup_value_converter = "uuid"
    filter_backends = ()
    operations = {
        "list": "channel.view",
        "retrieve": "channel.view",
        "create": "channel.change",
        "partial_update": "channel.change",
        "destroy": "channel.change",
        "test": "channel.change",
    }

    @extend_schema(responses=ChannelSerializer(many=True))
    def list(self, request: Request) -> Response:
        """List the channels, configured or not."""
        page: Any = self.paginate_queryset(notification_channels.everything())
        return self.get_paginated_response(ChannelSerializer(page, many=True).data)

    def retrieve(self, request: Request, pk: UUID) -> Response:
        """Return a channel."""
        return Response(ChannelSerializer(_channel(pk)).data)

    def create(self, request: Request) -> Response:
        """Add a channel of a service; nothing is sent."""
        serializer = ChannelSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        serializer.validated_data.pop("version", None)
        channel = notification_channels.register(serializer.validated_data, person(request.user))
        return Response(ChannelSerializer(channel).data, status=status.HTTP_201_CREATED)

    def partial_update(self, request: Request, pk: UUID) -> Response:
        """Change the given fields unless it was edited since `version`; what quiet hours held back is sent."""
        channel = _channel(pk)
        serializer = ChannelSerializer(channel, data=request.data, partial=True)
        serializer.is_valid(raise_exception=True)
        values = serializer.validated_data
        version = expected_version(request, values)
        channel = notification_channels.change(channel, values, version, person(request.user))
        return Response(ChannelSerializer(channel).data)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: UUID) -> Response:
        """Remove a channel with its address and what it did not send yet; 409 for one of the environment."""
        notification_channels.remove(_channel(pk))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=None, responses=ChannelTestSerializer)
    @action(detail=True, methods=["post"])
    def test(self, request: Request, pk: UUID) -> Response:
        """Send a test message now, and return what the other side answered."""
        reason = notifications.test(_channel(pk).code)
        return Response(ChannelTestSerializer({"accepted": not reason, "reason": reason}).data)


def _channel(pk: UUID) -> NotificationChannel:
    channel = notification_channels.find(pk)
    if channel is None:
        raise Http404
    return channel
