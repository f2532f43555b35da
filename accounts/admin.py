"""Players and mails for the staff; what a mail says is shown to nobody."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.forms import AdminUserCreationForm, UserChangeForm, UsernameField
from django.contrib.auth.models import Group
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from accounts.models import Mail, User


class NewUserForm(AdminUserCreationForm):
    class Meta:
        model = User
        fields = ("username",)
        field_classes = {"username": UsernameField}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # The page's own script puts the focus there, and the browser complains of two who do.
        del self.fields["username"].widget.attrs["autofocus"]


class ChangeUserForm(UserChangeForm):
    class Meta:
        model = User
        fields = "__all__"  # the fieldsets below say which are shown


@admin.register(User)
class PlayerAdmin(UserAdmin):
    form = ChangeUserForm
    add_form = NewUserForm
    list_display = ("username", "kind", "email", "date_joined", "last_navigation", "is_staff")
    list_filter = ("kind", "is_staff", "is_active")
    search_fields = ("username", "email")
    ordering = ("-date_joined",)
    date_hierarchy = "date_joined"
    show_full_result_count = False
    # An address changes where it can be confirmed, and in allauth's own list.
    readonly_fields = (
        *("last_login", "last_navigation", "date_joined", "kind", "email"),
        *("bounces", "away_hours", "away_until"),
    )
    fieldsets = (
        (None, {"fields": ("username", "password", "kind")}),
        (_("Reader"), {"fields": ("email", "bounces", "time_zone", "confirm_moves")}),
        (_("Rights"), {"fields": ("is_active", "is_staff", "is_superuser", "groups")}),
        (_("Times"), {"fields": ("date_joined", "last_login", "last_navigation")}),
        (_("Away time"), {"fields": ("away_hours", "away_until")}),
    )
    add_fieldsets = ((None, {"fields": ("username", "usable_password", "password1", "password2")}),)
    # Django's pair of boxes gives its boxes names that readers aloud may not say.
    filter_horizontal = ()


admin.site.unregister(Group)


@admin.register(Group)
class PlainGroupAdmin(GroupAdmin):
    filter_horizontal = ()


@admin.register(Mail)
class MailAdmin(admin.ModelAdmin):
    list_display = ("created", "recipient", "subject", "sent", "failed", "tries", "next_try")
    list_display_links = ("created", "subject")
    list_filter = (("sent", admin.EmptyFieldListFilter), ("failed", admin.EmptyFieldListFilter))
    search_fields = ("recipient", "subject", "key")
    ordering = ("-pk",)
    date_hierarchy = "created"
    show_full_result_count = False
    fields = (
        *("key", "recipient", "subject", "created"),
        *("next_try", "tries", "sent", "failed", "error"),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Mail]:
        return super().get_queryset(request).defer("message")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Mail | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Mail | None = None) -> bool:
        return False
