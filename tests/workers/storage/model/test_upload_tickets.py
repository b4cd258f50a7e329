"""Sealed tickets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.mutate import near
from workers.storage.model.errors import StorageError
from workers.storage.model.names_and_sizes import UploadRules
from workers.storage.model.upload_tickets import AllowanceTicket, TicketSealer, UploadTicket

TICKET = UploadTicket("b", "k", "v", True, "authenticated", "me")


def test_ticket_comes_back_as_it_was() -> None:
    tickets = TicketSealer(b"secret of the project")

    assert tickets.open(tickets.seal(TICKET)) == TICKET


def test_ticket_of_another_project_is_refused() -> None:
    with pytest.raises(StorageError, match="Invalid signature"):
        TicketSealer(b"one").open(TicketSealer(b"other").seal(TICKET))


SEALED = TicketSealer(b"secret").seal(TICKET)


@given(near([SEALED]).filter(lambda data: data != SEALED) | st.binary(max_size=200))
def test_no_other_bytes_are_a_ticket(data: bytes) -> None:
    with pytest.raises(StorageError):
        TicketSealer(b"secret").open(data)


ALLOWANCE = AllowanceTicket("b", "authenticated", "me", "a1b2c3-d4e5", UploadRules(5, ["image/*"]), 1e9)


def test_tickets_of_grants_and_of_allowances_do_not_pass_for_each_other() -> None:
    tickets = TicketSealer(b"secret")
    sealed = tickets.seal_allowance(ALLOWANCE)

    assert tickets.open_allowance(sealed) == ALLOWANCE
    assert tickets.open_allowance(SEALED) is None
    with pytest.raises(StorageError):
        tickets.open(sealed)


@given(near([TicketSealer(b"secret").seal_allowance(ALLOWANCE)]) | st.binary(max_size=200))
def test_other_bytes_are_no_allowance(data: bytes) -> None:
    assert TicketSealer(b"secret").open_allowance(data) in (None, ALLOWANCE)


def test_secret_is_not_shown() -> None:
    assert "secret" not in repr(TicketSealer(b"secret of the project")).replace("secret=", "")
