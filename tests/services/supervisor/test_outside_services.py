from services.supervisor.outside_services import outside_services
from services.supervisor.project.settings import load_project


def lines(root, overrides=None, **environment):
    return outside_services(load_project(root, None, None, overrides or {}, environment))


def test_a_platform_on_its_own_servers_uses_no_outside_service(open_tmp):
    assert lines(open_tmp, DATABASE_URL="postgresql://app@h/d", NATS_URL="nats://h") == []


def test_each_outside_service_is_named_with_its_host_and_source_and_without_its_login(open_tmp):
    (open_tmp / ".env").write_text("HEADWATER_BROKER_URL=nats://u:hidden@n1:4222,nats://u:hidden@n2")
    (open_tmp / "supabase").mkdir()
    config = open_tmp / "supabase" / "config.toml"
    config.write_text(
        '[auth.email.smtp]\nhost = "mail.example"\nadmin_email = "a@b.example"\n[storage]\nbackend = "s3"\ns3 = { bucket = "b" }'
    )

    reported = lines(
        open_tmp,
        {"HEADWATER_DB_URL": "postgresql://u:hidden@db.example:5432/d"},
        STORAGE_S3_ENDPOINT="http://store:9000",
        OTEL_EXPORTER_OTLP_ENDPOINT="http://collector:4318",
        WEBHOOK_URL="https://u:hidden@hooks.example/secret",
    )

    assert reported == [
        "Using the database at db.example, named by --database-url",
        f"Using the NATS server at n1:4222, n2, named by HEADWATER_BROKER_URL in {open_tmp / '.env'}",
        "Using the object store at http://store:9000, named by STORAGE_S3_ENDPOINT in the environment",
        "Using a receiver of storage's events at hooks.example, named by WEBHOOK_URL in the environment",
        f"Using the mail server at mail.example:587, named by auth.email.smtp.host in {config}",
        "Using the collector of traces at http://collector:4318, named by OTEL_EXPORTER_OTLP_ENDPOINT in the environment",
    ]


def test_the_process_environment_is_the_source_where_a_file_names_the_same(open_tmp):
    (open_tmp / ".env").write_text("HEADWATER_DB_URL=postgresql://a@file/d")

    assert lines(open_tmp, HEADWATER_DB_URL="postgresql://a@shell/d") == [
        "Using the database at shell, named by HEADWATER_DB_URL in the environment"
    ]
