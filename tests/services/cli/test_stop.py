def test_stopping_what_does_not_run_says_so_and_is_no_error(project_folder):
    stopped = project_folder.run("stop")

    assert stopped.returncode == 0
    assert "No platform is running" in stopped.stdout


def test_a_stop_waits_until_everything_has_ended(servers):
    stopped = servers.run("stop")

    assert stopped.returncode == 0
    assert stopped.stdout.startswith("Stopped after")
    assert servers.processes() == []
