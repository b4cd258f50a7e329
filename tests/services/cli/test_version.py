def test_version_names_all_parts(project_folder):
    shown = project_folder.run("version").stdout

    assert "headwater" in shown
    assert "Postgres 18." in shown
    assert "NATS 2." in shown


def test_the_usual_options_show_the_version_alone(project_folder):
    for option in ("--version", "-V"):
        shown = project_folder.run(option)

        assert (shown.returncode, shown.stderr) == (0, "")
        assert shown.stdout == project_folder.run("version").stdout.splitlines(keepends=True)[0]


def test_without_a_command_the_commands_are_listed(project_folder):
    shown = project_folder.run()

    assert shown.returncode == 0
    assert shown.stdout == project_folder.run("--help").stdout
    assert "\n  start " in shown.stdout


def test_every_command_and_option_has_help(project_folder):
    commands = ["init", "start", "status", "stop", "psql", "logs", "keys", "version"]
    overview = project_folder.run("--help").stdout

    assert all(f"\n  {command}" in overview for command in commands)
    for command in commands:
        shown = project_folder.run(command, "--help")
        assert shown.returncode == 0
        assert "--data DIR" in shown.stdout
