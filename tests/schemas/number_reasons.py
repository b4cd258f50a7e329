"""Why a conversion of text into a number outside of `schemas/numbers.py` is safe, by module and source."""

BROKER = "read from the broker, which this process trusts; the shape is its protocol's"
DATABASE = "a column that a statement of the platform, or the server itself, gives as a number"
NUMBER = "a number already: it changes its type alone"
OWN = "written by this platform or by the kernel: a file, a pipe, /proc, the name of a folder"
PARSED = "aiohttp's parser has refused a length that is not digits of a 64-bit number"
PATTERN = "a pattern in the same module takes ASCII digits alone, and few of them or those of base 16"
PRINTED = "printed by Postgres when the filter was checked; a text that is no number is caught"
SETTING = "a setting of the operator, whose form a pattern of the module has checked"
TEMPLATE = "a template of the operator; what is no number is refused with its line"

REASONS: dict[str, dict[str, str]] = {
    "broker/processes/definition_cache.py": {
        "int(flags)": NUMBER,
        "int(found)": NUMBER,
        "int(number)": NUMBER,
    },
    "workers/management/areas/index_trials/trial.py": {
        "float(first)": DATABASE,
        "float(plan['Total Cost'])": NUMBER,
        "float(second)": DATABASE,
    },
    "services/cli/branch.py": {
        "float(Duration(f'{int(days) * 24}h' if days != text else text))": "an option of the user's own command line; what is no number is refused",
        "int(days)": "an option of the user's own command line; what is no number is refused",
    },
    "services/supervisor/branches/create.py": {
        "float(stops)": NUMBER,
    },
    "services/supervisor/drill_webhook.py": {
        "int(status.began_at)": NUMBER,
    },
    "services/supervisor/branches/idleness.py": {
        "float(value)": OWN,
    },
    "workers/project/access/catalog.py": {
        "int(await connection.fetchval(_SQL['user_count']))": DATABASE,
    },
    "workers/project/access/plain_reads.py": {
        "int(rows[0][2])": DATABASE,
    },
    "workers/project/access/row_classes.py": {
        "int(await connection.fetchval(f'select pg_catalog.count(*) from {_table(relation)}'))": DATABASE,
        "int(number)": NUMBER,
    },
    "broker/blobs/blob_names.py": {
        "int(match[1])": PATTERN,
    },
    "broker/blobs/file_systems.py": {
        "int(match[1])": "two runs of digits of the kernel's own release",
        "int(match[2])": "two runs of digits of the kernel's own release",
    },
    "broker/blobs/watch.py": {
        "float(not self.reason)": NUMBER,
    },
    "broker/jetstream/ordered_reader.py": {
        "int(_EXPIRES_S * _NS)": NUMBER,
        "int(_HEARTBEAT_S * _NS)": NUMBER,
        "int(_UNUSED_S * _NS)": NUMBER,
        "int(parts[at + 1])": BROKER,
        "int(parts[at + 3])": BROKER,
        "int(parts[at])": BROKER,
    },
    "broker/jetstream/replica_watch.py": {
        "float(len(self._reported))": NUMBER,
    },
    "broker/jetstream/stream_watch.py": {
        "float(not self._reason)": NUMBER,
    },
    "broker/logs/query.py": {
        "int(self.status)": PATTERN,
    },
    "broker/logs/segment.py": {
        "int(lines)": OWN,
    },
    "broker/logs/store.py": {
        "int(broken.stem)": OWN,
        "int(path.stem)": OWN,
    },
    "broker/observability/log_buffer.py": {
        "int(time.monotonic())": NUMBER,
    },
    "broker/nats/server_link.py": {
        "int(port)": BROKER,
    },
    "broker/nats/protocol.py": {
        "int(digits)": BROKER,
        "int(words[-1])": BROKER,
        "int(words[-2])": BROKER,
    },
    "broker/observability/metrics.py": {
        "int(is_up)": NUMBER,
    },
    "broker/processes/confinement.py": {
        "int(answer)": NUMBER,
        "int(count)": OWN,
        "int(start)": OWN,
    },
    "broker/processes/control_groups.py": {
        "int(octal[1], 8)": PATTERN,
    },
    "broker/processes/fork_server.py": {
        "int(os.environ.pop(FORK_FD))": OWN,
        "int(os.environ.pop(READY_FD))": OWN,
    },
    "broker/processes/lifecycle.py": {
        "int(number)": OWN,
    },
    "broker/processes/mapped_files.py": {
        "int(head[1], 16)": PATTERN,
        "int(head[2], 16)": PATTERN,
    },
    "broker/processes/title.py": {
        "int(fields[_ARG_END])": OWN,
        "int(fields[_ARG_START])": OWN,
    },
    "broker/token_buckets.py": {
        "float(max(burst, 1))": NUMBER,
    },
    "schemas/branch_masks.py": {
        "int(match[1])": PATTERN,
        "int(match[2])": PATTERN,
    },
    "schemas/changes.py": {
        "int(part, 16)": PATTERN,
        "int(id.partition('-')[0], 16)": OWN,
    },
    "schemas/functions/archive_reading.py": {
        "int(digits)": "bytes that are five ASCII digits at most, looked at in the same line",
        "int(digits, 8)": "bytes without any but the digits 0 to 7, of a field of 12",
    },
    "schemas/images/reading.py": {
        "float(text)": PATTERN,
        "int(value)": NUMBER,
    },
    "schemas/claims_path.py": {
        "int(groups['index'])": SETTING,
    },
    "schemas/json_path.py": {
        "float(len(value))": NUMBER,
        "float(number[0])": PATTERN,
        "float(sum((1 for _ in nodes)))": NUMBER,
        "int(found[1][1:], 16)": PATTERN,
        "int(start[0])": PATTERN,
        "int(start[0] if start else self.fail())": PATTERN,
        "int(step[0])": PATTERN,
        "int(stop[0])": PATTERN,
    },
    "schemas/realtime_rules.py": {
        "Decimal(expected)": DATABASE,
        "Decimal(value.decode())": DATABASE,
    },
    "schemas/schedules.py": {
        "int(match[1])": SETTING,
    },
    "schemas/settings/types.py": {
        "float(number)": SETTING,
        "float(over)": SETTING,
        "float(self)": SETTING,
        "float(text)": SETTING,
        "int(number)": SETTING,
        "int(number[:_DIGITS])": SETTING,
        "int(self)": SETTING,
        "int(size)": SETTING,
        "int(value)": SETTING,
    },
    "services/cli/project_commands/server.py": {
        "int(folder.lock.read_text() or 0)": OWN,
    },
    "services/cli/rotate.py": {
        "int(match[1])": PATTERN,
    },
    "services/cli/stop.py": {
        "int(folder.lock.read_text())": OWN,
    },
    "services/gateway/direct/exchange.py": {
        "int(length)": "at most five decimal digits",
    },
    "services/gateway/direct/known_heads.py": {
        "int(length[1])": PATTERN,
        "int(match[0])": PATTERN,
    },
    "services/gateway/node_figures.py": {
        "float(word)": OWN,
        "float(number)": OWN,
        "float(value)": NUMBER,
        "float(words[0])": OWN,
        "int(code[1], 8)": PATTERN,
    },
    "services/gateway/objects/resumable/uploads.py": {
        "int(most)": NUMBER,
    },
    "services/gateway/objects/upload_allowances.py": {
        "int(now)": NUMBER,
    },
    "services/mail_catcher/edge.py": {
        "int(self._runner.addresses[0][1])": NUMBER,
    },
    "services/mail_catcher/smtp.py": {
        "int(self._server.sockets[0].getsockname()[1])": NUMBER,
    },
    "services/projects/code_template.py": {
        "int(os.environ.pop(FORK_FD))": OWN,
    },
    "services/projects/forward.py": {
        "int(length)": PARSED,
    },
    "services/projects/platform_process.py": {
        "int(self.data.lock.read_text())": OWN,
    },
    "services/projects/starter.py": {
        "int(code)": OWN,
    },
    "schemas/row_filters.py": {
        "Decimal(text)": PRINTED,
    },
    "services/realtime/limits.py": {
        "int(self._left)": NUMBER,
    },
    "services/realtime/protocol/frames.py": {
        "int(is_json)": NUMBER,
    },
    "services/realtime/tokens.py": {
        "int(now - until)": NUMBER,
    },
    "services/sync/cursors.py": {
        "int(sent)": "at most 12 ASCII digits, checked on the line before",
    },
    "services/supervisor/data_folder/starting.py": {
        "int(entry.name)": OWN,
    },
    "services/supervisor/postgres/major_upgrade/copy.py": {
        "int(entry[1])": PATTERN,
    },
    "services/supervisor/postgres/major_upgrade/upgrade.py": {
        "int((present.data / 'PG_VERSION').read_text().strip())": OWN,
    },
    "services/supervisor/port_holder.py": {
        "int(fields[1].rpartition(':')[2], 16)": OWN,
    },
    "services/supervisor/ports.py": {
        "int(probe.getsockname()[1])": OWN,
    },
    "services/supervisor/postgres/database_home.py": {
        "float(mark.read_text())": OWN,
        "int((home / 'data' / 'postmaster.pid').read_text().split('\\n', 1)[0])": OWN,
    },
    "services/supervisor/processes/prepared_programs.py": {
        "int(code is not None)": NUMBER,
        "int(process.stop_signal)": NUMBER,
    },
    "services/supervisor/postgres/programs.py": {
        "int(version_text(programs).partition('.')[0])": PATTERN,
    },
    "services/supervisor/postgres/server.py": {
        "int((cluster.data / 'postmaster.pid').read_text().splitlines()[0])": OWN,
        "map(int, numbers.groups())": PATTERN,
    },
    "services/supervisor/processes/forks.py": {
        "int(await read_to_end(pid_pipe))": OWN,
        "int(pid)": OWN,
    },
    "services/supervisor/processes/identity.py": {
        "int(entry.name)": OWN,
    },
    "services/supervisor/project/buckets.py": {
        "int(bucket.file_size_limit)": OWN,
        "int(bucket.quota)": OWN,
    },
    "workers/auth/accounts/codes/code_messages.py": {
        "float(settings.email.max_frequency if '@' in address else settings.sms.max_frequency)": NUMBER,
    },
    "workers/auth/accounts/context.py": {
        "float(duration)": NUMBER,
    },
    "workers/credentials/password_hashes.py": {
        "int(match['cost'])": PATTERN,
        "int(match['m'])": PATTERN,
        "int(match['n'])": PATTERN,
        "int(match['p'])": PATTERN,
        "int(match['r'])": PATTERN,
        "int(match['t'])": PATTERN,
        "int(match['version'])": PATTERN,
    },
    "workers/auth/cleanup.py": {
        "float(max(settings.email.otp_expiry, settings.sms.otp_expiry))": NUMBER,
    },
    "workers/auth/delivery/email/mail_services.py": {
        "float(auth_settings.email.otp_expiry)": NUMBER,
    },
    "workers/auth/delivery/gotext/functions.py": {
        "int(precision)": TEMPLATE,
        "int(value)": TEMPLATE,
        "int(width or 0)": TEMPLATE,
    },
    "workers/auth/delivery/gotext/parse.py": {
        "float(text)": TEMPLATE,
        "int(text)": TEMPLATE,
    },
    "workers/auth/delivery/sms/form_requests.py": {
        "int(digits_of_code or reply.status)": PATTERN,
    },
    "workers/credentials/totp.py": {
        "int(at)": NUMBER,
    },
    "workers/auth/federation/providers/oauth1.py": {
        "int(now)": NUMBER,
    },
    "workers/auth/federation/saml/xml_times.py": {
        "int((match[7] or '')[:6].ljust(6, '0'))": PATTERN,
        "int(found[10])": PATTERN,
        "int(found[11])": PATTERN,
        "int(group)": PATTERN,
        "int(match[at] or 0)": PATTERN,
    },
    "workers/auth/federation/social/browsers.py": {
        "float(settings.saml.relay_state_validity_period if kind == SAML else settings.flow_state_expiry_duration)": NUMBER,
    },
    "workers/auth/federation/wallets/ethereum.py": {
        "int(nibble, 16)": PATTERN,
    },
    "workers/auth/model/rate_limits.py": {
        "float(least_s)": NUMBER,
        "float(quota.most)": NUMBER,
        "int(limit.burst)": NUMBER,
    },
    "workers/database/schema_cache/view_columns.py": {
        "int(column)": DATABASE,
        "int(number)": DATABASE,
        "int(relation)": DATABASE,
    },
    "workers/database/sessions/passwords.py": {
        "int(iterations)": DATABASE,
    },
    "workers/database/sessions/throwaway_logins.py": {
        "int(login.rpartition('_')[2][:8], 16)": OWN,
    },
    "workers/functions/deployments/store.py": {
        "int(match[1])": PATTERN,
    },
    "workers/functions/host/file_rules.py": {
        "int(match[1])": PATTERN,
    },
    "workers/functions/host/host.py": {
        "int(number)": OWN,
    },
    "workers/functions/host/loopback.py": {
        "int(words[1].rpartition(':')[2], 16)": OWN,
    },
    "workers/functions/imports/fetch_proxy.py": {
        "int(parts[3])": PATTERN,
        "int(server.server_address[1])": NUMBER,
    },
    "workers/functions/imports/reachable_hosts.py": {
        "int(answer.status)": NUMBER,
    },
    "workers/functions/imports/specifiers.py": {
        "int(code, 16)": PATTERN,
    },
    "workers/functions/placeholder.py": {
        "int(number)": OWN,
    },
    "workers/functions/processes/http_wire.py": {
        "int(status[1])": PATTERN,
    },
    "workers/functions/processes/limits.py": {
        "int(fields[11])": OWN,
        "int(fields[12])": OWN,
        "int(file.read().split()[1])": OWN,
        "int(status[at + len(name):].split(None, 1)[0])": OWN,
    },
    "workers/functions/sandbox/control_groups.py": {
        "int(pair[1])": OWN,
    },
    "workers/functions/sandbox/features.py": {
        "int(match[1])": OWN,
        "int(match[2])": OWN,
    },
    "workers/functions/sandbox/landlock.py": {
        "int(_LIBC.syscall(number, *arguments))": NUMBER,
    },
    "workers/functions/sandbox/loopback_wall.py": {
        "int(_LIBC.syscall(number, command, buffer, len(attributes)))": NUMBER,
    },
    "workers/functions/sandbox/system_call_filter.py": {
        "int(_LIBC.syscall(self._number, _SET_MODE_FILTER, ctypes.c_uint(self._flags), ctypes.byref(self._program)))": NUMBER,
    },
    "workers/graphql/plan/paging.py": {
        "int(convert(size.resolved()))": NUMBER,
    },
    "workers/graphql/reflect/functions.py": {
        "Decimal(repr(float(number)))": DATABASE,
        "float(number)": DATABASE,
    },
    "workers/http_client/retry_after.py": {
        "float(retry_after[:6])": "at most 6 ASCII digits, checked on the line before",
    },
    "workers/http_client/address_guard.py": {
        "int(address)": NUMBER,
    },
    "workers/idempotency/statements.py": {
        "float(keep_s)": NUMBER,
    },
    "workers/idempotency/writes.py": {
        "int(keys or 0)": DATABASE,
        "int(size or 0)": DATABASE,
    },
    "workers/images/pool.py": {
        "float(image_settings.process_idle_timeout)": NUMBER,
    },
    "workers/images/render.py": {
        "int(image.get(name))": NUMBER,
    },
    "workers/management/operations/created_keys.py": {
        "float(seconds)": OWN,
    },
    "workers/management/operations/history.py": {
        "int(row[0] or 0)": DATABASE,
    },
    "workers/management/interface/identity/grants.py": {
        "float(ACCESS_S)": NUMBER,
    },
    "workers/management/areas/settings/change.py": {
        "int(rows[0][0])": DATABASE,
    },
    "workers/management/interface/backends/metrics_text.py": {
        "float(value)": OWN,
    },
    "workers/management/operations/storage_webhook.py": {
        "float(storage.webhook_give_up)": NUMBER,
    },
    "workers/management/interface/backends/request_history.py": {
        "float(labels.get('le', 'inf'))": OWN,
    },
    "workers/management/spellings/schema_metadata/query.py": {
        "float(text or 0)": PATTERN,
        "int(position)": DATABASE,
    },
    "workers/project/types/view_columns.py": {
        "int(value)": PATTERN,
    },
    "workers/project/errors.py": {
        "int(position)": DATABASE,
    },
    "workers/database/transaction_snapshot.py": {
        "int(end)": DATABASE,
        "map(int, running.split(','))": DATABASE,
    },
    "workers/replication/failover.py": {
        "int(timeline)": DATABASE,
    },
    "workers/replication/messages.py": {
        "int(lsn, 16)": DATABASE,
        "int(number, 16)": DATABASE,
    },
    "workers/backup/continuous/archive.py": {
        "int(match[1], 16)": PATTERN,
        "int(match[2], 16)": PATTERN,
        "int(match[3])": PATTERN,
    },
    "workers/backup/continuous/copy_lists.py": {
        "int(text)": "twelve ASCII digits, looked at before",
    },
    "workers/backup/continuous/moments.py": {
        "int(match['count'] or match['last'] or 1)": PATTERN,
        "int(match['high'], 16)": PATTERN,
        "int(match['low'], 16)": PATTERN,
        "int(match['value'])": PATTERN,
    },
    "workers/backup/continuous/object_restore.py": {
        "int(milliseconds[:16])": OWN,
    },
    "workers/backup/continuous/progress.py": {
        "float(len(drill.faults))": NUMBER,
        "float(LOG not in self.faults and self.covered_until is not None)": NUMBER,
        "float(self.waiting_bytes)": NUMBER,
    },
    "workers/branches/check_database.py": {
        "float(MOST_ROWS)": NUMBER,
    },
    "workers/backup/continuous/recovery_plan.py": {
        "float(time + BEHIND_S)": NUMBER,
    },
    "workers/backup/continuous/slots.py": {
        "int(facts['segment_size'])": DATABASE,
        "int(row['kept'] or 0)": DATABASE,
    },
    "workers/database/sessions/replication.py": {
        "int(high, 16)": DATABASE,
        "int(low, 16)": DATABASE,
    },
    "workers/replication/slot_monitor.py": {
        "float(self.confirmed())": NUMBER,
        "float(self.held_bytes)": NUMBER,
        "float(self.is_leader)": NUMBER,
        "float(self.unconfirmed())": NUMBER,
    },
    "workers/replication/term_start.py": {
        "int(state.notes.get(_TIMELINE, server.timeline))": DATABASE,
    },
    "workers/replication/values.py": {
        "Decimal(text.decode())": DATABASE,
    },
    "workers/rest/execute.py": {
        "int(count)": DATABASE,
        "int(explained[0]['Plan']['Plan Rows'])": DATABASE,
        "int(page_total or 0)": DATABASE,
        "int(total)": DATABASE,
    },
    "workers/rest/respond.py": {
        "int(result.status)": PATTERN,
    },
    "workers/scheduler/durable_jobs/durable_jobs.py": {
        "float(Duration(job.backoff))": "checked when the setting was read, or the function deployed",
    },
    "workers/scheduler/jobs.py": {
        "int((await self._leadership.ask(JOBS['take_over']))[0][0])": DATABASE,
        "int(due.key.removeprefix(PREFIX))": DATABASE,
    },
    "workers/scheduler/pool.py": {
        "float(self.is_leader)": NUMBER,
    },
    "workers/settings/live_settings.py": {
        "int(version)": DATABASE,
    },
    "workers/storage/buckets/emptying.py": {
        "int(count or 0)": DATABASE,
    },
    "workers/storage/events/delivery.py": {
        "float(storage_settings.events_max_age)": NUMBER,
        "float(storage_settings.webhook_give_up)": NUMBER,
        "int(storage_settings.events_max_size)": NUMBER,
    },
    "workers/storage/events/outbox.py": {
        "int(id or b'0')": DATABASE,
        "int(row[0] or b'0')": DATABASE,
    },
    "workers/storage/requests/body_reader.py": {
        "int(value)": NUMBER,
    },
    "workers/storage/sweeps/sweep.py": {
        "float(cache.cache_max_age)": NUMBER,
    },
    "workers/storage/tus/append.py": {
        "int(limit_by_quota(rules, most))": NUMBER,
    },
    "workers/storage/tus/creation.py": {
        "int(limit_by_quota(rules, most))": NUMBER,
    },
    "workers/storage/uploads/commit.py": {
        "int(most)": NUMBER,
        "int(now)": NUMBER,
    },
    "workers/storage/uploads/move_and_copy.py": {
        "int(count or 0)": DATABASE,
    },
    "workers/sync/follower.py": {
        "int(id.split('-')[0], 16)": DATABASE,
    },
    "workers/sync/overview.py": {
        "int(options.get('limit', _MOST))": "written by the pool management, whose operation has checked it",
        "int(shape.handle.rpartition('-')[2])": OWN,
    },
    "workers/sync/parameters.py": {
        "int(match.group(1))": PATTERN,
        "int(match.group(2))": PATTERN,
    },
    "workers/sync/reading.py": {
        "int(row[1] or 0)": DATABASE,
        "int(limit or 0)": DATABASE,
    },
    "workers/sync/store.py": {
        "int(found[0])": OWN,
        "int(found[1])": OWN,
        "int(count)": OWN,
    },
    "workers/sync/where/grammar.py": {
        "int(token.value)": PATTERN,
    },
    "workers/sync/worker.py": {
        "int(lsn)": OWN,
        "int(number)": OWN,
    },
    "workers/streams/iceberg/arrow_values.py": {
        "float(value)": "a text of a float in the log of changes, which Postgres wrote",
    },
    "workers/streams/iceberg/folder_catalog.py": {
        "int(bytes(obstore.get(self._store, HINT).bytes()))": "the platform's own file in the operator's folder; another text ends this table's copy alone",
        "int(location.rpartition('/v')[2].partition('.')[0])": "the name of the platform's own file",
    },
    "workers/streams/iceberg/snapshot_writer.py": {
        "int(table.properties.get(ORDER, '0'))": "a property that the platform wrote",
    },
    "workers/streams/iceberg/table_writer.py": {
        "int(table.properties.get(ORDER, '0'))": "a property that the platform wrote",
    },
    "workers/streams/reading.py": {
        "int(row[1] or 0)": DATABASE,
    },
    "workers/streams/targets/iceberg_target.py": {
        "float(self._copy.unfit)": NUMBER,
    },
    "workers/streams/targets/nats_target.py": {
        "int(part, 16)": "within a try: another text is the id of a message that is not ours",
    },
    "workers/webhooks/intake.py": {
        "int(seq)": NUMBER,
    },
}
