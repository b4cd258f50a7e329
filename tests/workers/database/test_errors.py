import pytest

from workers.database.errors import DatabaseError, database_error, read_fields, status_of, unstorable_text

STATUSES = [
    ("08006", 503), ("09000", 500), ("0LP01", 403), ("0P000", 403), ("0A000", 400), ("21000", 500), ("22012", 400),
    ("22021", 400), ("22023", 400), ("23502", 400), ("23503", 409), ("23505", 409), ("23514", 400), ("25006", 405),
    ("25001", 500), ("26000", 400), ("28000", 403), ("2D000", 500), ("38000", 500), ("39000", 500), ("3B001", 500),
    ("3D000", 400), ("40001", 500), ("40P01", 500), ("42501", 403), ("42601", 400), ("42703", 400), ("42883", 404),
    ("42P01", 404), ("42P17", 500), ("53300", 503), ("53400", 500), ("54000", 500), ("55P03", 500), ("57014", 500),
    ("57P01", 503), ("57P03", 500), ("58000", 500), ("F0000", 500), ("HV000", 500), ("P0001", 400), ("P0002", 500),
    ("XX000", 500), ("PT402", 402), ("PT599", 599), ("PT099", 500), ("PT101", 500), ("PT4x2", 500), ("PT", 500),
]  # fmt: skip


@pytest.mark.parametrize(("sqlstate", "status"), STATUSES)
def test_each_sqlstate_has_its_status(sqlstate, status):
    assert status_of(sqlstate, "something", is_anonymous=False) == status


def test_a_right_that_anonymous_callers_lack_is_401():
    assert status_of("42501", "permission denied", is_anonymous=True) == 401


@pytest.mark.parametrize(
    ("sqlstate", "message", "status"),
    [
        ("21000", "UPDATE requires a WHERE clause", 400),
        ("21000", "more than one row returned by a subquery", 500),
        ("22023", 'role "nobody" does not exist', 401),
        ("22023", 'invalid value for parameter "x"', 400),
        ("42883", "function xmlagg(json) does not exist", 406),
    ],
)
def test_some_statuses_depend_on_the_message(sqlstate, message, status):
    assert status_of(sqlstate, message, is_anonymous=False) == status


def test_all_fields_of_an_error_are_read():
    body = b"SFEHLER\0VERROR\0C23505\0Mdouble\0DKey (a)=(1)\0Hdo not\0P15\0spublic\0titems\0cid\0nitems_pkey\0Wcaller\0R_bt\0\0"

    error = database_error(read_fields(body))

    assert (error.code, error.message, error.details, error.hint) == (
        "23505",
        "double",
        "Key (a)=(1)",
        "do not",
    )
    assert (error.severity, error.position, error.context, error.routine) == ("ERROR", 15, "caller", "_bt")
    assert (error.schema, error.table, error.column, error.constraint) == (
        "public",
        "items",
        "id",
        "items_pkey",
    )
    assert error.statement_index is None


def test_what_an_error_does_not_say_is_none():
    error = database_error(read_fields(b"C57P01\0Mgone\0\0"))

    assert (error.details, error.hint, error.position, error.schema) == (None, None, None, None)


def test_text_of_an_error_shows_code_and_message_but_no_details():
    error = DatabaseError("23505", "double", details="Key (email)=(someone@example.com)")

    assert str(error) == "23505: double"
    assert "someone" not in repr(error)


def test_text_that_cannot_be_stored_is_the_callers_mistake():
    error = unstorable_text()

    assert status_of(error.code, error.message, is_anonymous=False) == 400
