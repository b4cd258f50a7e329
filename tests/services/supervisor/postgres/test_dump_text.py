import pytest

from services.supervisor.postgres import dump_text


def test_what_every_platform_has_is_left_out_of_a_schema():
    lines = [
        "\\restrict abc\n",
        'CREATE EVENT TRIGGER "watch" ON "ddl_command_end"\n',
        '   EXECUTE FUNCTION "extensions"."watch"();\n',
        "CREATE PUBLICATION \"supabase_realtime\" WITH (publish = 'insert');\n",
        'ALTER PUBLICATION "supabase_realtime" OWNER TO "postgres";\n',
        'ALTER PUBLICATION "supabase_realtime_messages_publication" ADD TABLE ONLY "realtime"."messages";\n',
        'ALTER PUBLICATION "supabase_realtime" ADD TABLE ONLY "public"."a";\n',
        'ALTER DEFAULT PRIVILEGES FOR ROLE "supabase_admin" IN SCHEMA "public" GRANT ALL ON TABLES TO "anon";\n',
        'CREATE TRIGGER "headwater_history" BEFORE INSERT OR UPDATE ON "public"."a"\n',
        '   FOR EACH STATEMENT EXECUTE FUNCTION "headwater"."write_cause"();\n',
        'ALTER TABLE "public"."a" ENABLE ALWAYS TRIGGER "headwater_history";\n',
        'CREATE TABLE "public"."a" (\n',
    ]

    assert list(dump_text.schema_text(lines)) == [
        'ALTER PUBLICATION "supabase_realtime" ADD TABLE ONLY "public"."a";\n',
        'CREATE TABLE IF NOT EXISTS "public"."a" (\n',
    ]


def test_rows_are_written_with_triggers_and_foreign_keys_at_rest():
    assert list(dump_text.data_text(["INSERT;\n"])) == [
        "SET session_replication_role = replica;\n", "INSERT;\n", "RESET ALL;\n",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ('CREATE ROLE "mine";\n', True),
        ('ALTER ROLE "mine" WITH NOLOGIN;\n', True),
        ('GRANT "anon" TO "mine" WITH INHERIT TRUE;\n', True),
        ('CREATE ROLE "anon";\n', False),
        ('ALTER ROLE "authenticator" SET "lock_timeout" TO \'8s\';\n', False),
        ('GRANT "anon" TO "authenticator";\n', False),
        ('CREATE ROLE "headwater_http_16384";\n', False),
        ('GRANT "postgres" TO "headwater_job_5_16384";\n', False),
        ("SET x = 1;\n", False),
    ],
)
def test_only_roles_of_the_project_are_kept(line, kept):
    assert list(dump_text.role_text([line])) == ([line] if kept else [])


def test_names_of_schemas_are_no_patterns():
    assert '--schema="a*b"' in dump_text.schema_options(["a*b"])
    assert '--exclude-schema="auth"' in dump_text.schema_options([])
    assert '--exclude-schema="auth"' not in dump_text.data_options([], [], use_copy=False)
