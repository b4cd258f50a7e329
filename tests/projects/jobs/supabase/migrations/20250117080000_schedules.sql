select cron.schedule('process-mail', '30 seconds', $$
  select net.http_post(
    url := (select decrypted_secret from vault.decrypted_secrets where name = 'project_url') || '/functions/v1/process-queue',
    headers := jsonb_build_object(
      'Content-type', 'application/json',
      'Authorization', 'Bearer ' || (select decrypted_secret from vault.decrypted_secrets where name = 'service_key')
    ),
    body := concat('{"time": "', now(), '"}')::jsonb
  ) as request_id;
$$);

select cron.schedule ('tidy', '0 3 * * *', 'delete from public.jobs where state = ''done'' and run_at < now() - interval ''7 days''');
select cron.schedule('every-five-minutes', '*/5 * * * *', $job$ call public.retry_failed(); $job$);
select cron.schedule('nightly-vacuum', '0 22 * * *', 'VACUUM');
select cron.unschedule('nightly-vacuum');
select cron.unschedule(jobid) from cron.job where jobname like 'old-%';

create or replace procedure public.retry_failed() language plpgsql as $$
declare
  retried int;
begin
  update public.jobs set state = 'waiting', run_at = now() + attempts * interval '1 minute'
  where state = 'failed' and attempts < max_attempts;
  get diagnostics retried = row_count;
  raise log 'retried % jobs', retried;
  commit;
end $$;

create or replace view public.job_runs with (security_barrier) as
select j.jobname, d.status, d.return_message, d.start_time, d.end_time
from cron.job_run_details d join cron.job j using (jobid);
revoke all on public.job_runs from anon, authenticated;

create table public.webhook_log (id bigserial primary key, request_id bigint, answered timestamptz);
alter table public.webhook_log enable row level security;
create or replace function public.collect_answers() returns int language sql security definer set search_path = '' as $$
  with answered as (
    insert into public.webhook_log (request_id, answered)
    select id, created from net._http_response where status_code between 200 and 299
    returning 1
  ) select count(*)::int from answered
$$;
