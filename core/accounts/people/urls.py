"""Addresses of teams, people and invitations."""

from django.urls import URLPattern, path

from core.accounts.people import invitation_pages, ownership_page, person_pages, team_pages

urlpatterns: list[URLPattern] = [
    path("teams/", team_pages.team_list, name="team-list"),
    path("teams/new/", team_pages.team_create, name="team-create"),
    path("teams/<uuid:pk>/", team_pages.team_detail, name="team-detail"),
    path("teams/<uuid:pk>/edit/", team_pages.team_edit, name="team-edit"),
    path("teams/<uuid:pk>/remove/", team_pages.team_delete, name="team-delete"),
    path("teams/<uuid:pk>/members/add/", team_pages.team_member_add, name="team-member-add"),
    path("teams/<uuid:pk>/members/<int:member>/", team_pages.team_member_edit, name="team-member-edit"),
    path("teams/<uuid:pk>/members/<int:member>/remove/", team_pages.team_member_remove, name="team-member-remove"),
    path("teams/of/<str:kind>/<slug:pk>/", ownership_page.team_of, name="team-of"),
    path("people/", person_pages.person_list, name="person-list"),
    path("people/<int:pk>/", person_pages.person_detail, name="person-detail"),
    path("people/<int:pk>/promote/", person_pages.person_promote, name="person-promote"),
    path("people/<int:pk>/demote/", person_pages.person_demote, name="person-demote"),
    path("people/<int:pk>/deactivate/", person_pages.person_deactivate, name="person-deactivate"),
    path("people/<int:pk>/reactivate/", person_pages.person_reactivate, name="person-reactivate"),
    path("people/<int:pk>/reset-factor/", person_pages.person_reset_second_factor, name="person-reset-second-factor"),
    path("invitations/", invitation_pages.invitation_list, name="invitation-list"),
    path("invitations/new/", invitation_pages.invitation_create, name="invitation-create"),
    path("invitations/<uuid:pk>/revoke/", invitation_pages.invitation_revoke, name="invitation-revoke"),
    path("invitation/", invitation_pages.invitation_accept, name="invitation-accept"),
]
