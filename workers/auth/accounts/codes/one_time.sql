-- One-time codes (one_time.py). All run as supabase_auth_admin. A code is stored in a column of its user, for the
-- project's SQL, and in auth.one_time_tokens, by which it is found. Lock order: first the user, then
-- codes in the order of their ids.

-- name: do_not_wait
-- Timing: a commit that waits for the disk would reveal that there was something to write.
select set_config('synchronous_commit', 'off', true)

-- name: note
-- Stores the code in the user's column of a kind, and when it was sent.
update auth.users set
  confirmation_token = case $2 when 'confirmation_token' then $3 else confirmation_token end,
  confirmation_sent_at = case $2 when 'confirmation_token' then $4::timestamptz else confirmation_sent_at end,
  recovery_token = case $2 when 'recovery_token' then $3 else recovery_token end,
  recovery_sent_at = case $2 when 'recovery_token' then $4::timestamptz else recovery_sent_at end,
  email_change_token_current = case $2 when 'email_change_token_current' then $3 else email_change_token_current end,
  email_change_token_new = case $2 when 'email_change_token_new' then $3 else email_change_token_new end,
  email_change_sent_at = case when $2 like 'email_change_token%' then $4::timestamptz else email_change_sent_at end,
  phone_change_token = case $2 when 'phone_change_token' then $3 else phone_change_token end,
  phone_change_sent_at = case $2 when 'phone_change_token' then $4::timestamptz else phone_change_sent_at end,
  reauthentication_token = case $2 when 'reauthentication_token' then $3 else reauthentication_token end,
  reauthentication_sent_at = case $2 when 'reauthentication_token' then $4::timestamptz else reauthentication_sent_at end,
  updated_at = now()
where id = $1

-- name: keep
-- One valid code of a kind: the new one replaces the old.
insert into auth.one_time_tokens (id, user_id, token_type, token_hash, relates_to)
values (gen_random_uuid(), $1, $2::auth.one_time_token_type, $3, $4)
on conflict (user_id, token_type) do update set
  token_hash = excluded.token_hash, relates_to = excluded.relates_to, failed_attempts = 0, failed_at_known = 0,
  created_at = now(), updated_at = now()

-- name: of_link
select row_to_json(found) from (
  select token.id, token.user_id, token.token_type, token.token_hash, token.relates_to, token.failed_attempts,
    token.failed_at_known,
    case
      when token.token_type = 'confirmation_token' then users.confirmation_sent_at
      when token.token_type = 'recovery_token' then users.recovery_sent_at
      when token.token_type = 'phone_change_token' then users.phone_change_sent_at
      when token.token_type = 'reauthentication_token' then users.reauthentication_sent_at
      else users.email_change_sent_at
    end as sent_at
  from auth.one_time_tokens token join auth.users on users.id = token.user_id
  where token.token_hash = $1 and token.token_type = any($2::auth.one_time_token_type[]) and users.deleted_at is null
) found

-- name: of_address
-- The codes that were sent to an address, locked, so that concurrent wrong attempts are all counted. Several
-- users may be changing to one address. $4 is a user, empty for any.
select row_to_json(found) from (
  select token.id, token.user_id, token.token_type, token.token_hash, token.relates_to, token.failed_attempts,
    token.failed_at_known,
    case
      when token.token_type = 'confirmation_token' then users.confirmation_sent_at
      when token.token_type = 'recovery_token' then users.recovery_sent_at
      when token.token_type = 'phone_change_token' then users.phone_change_sent_at
      when token.token_type = 'reauthentication_token' then users.reauthentication_sent_at
      else users.email_change_sent_at
    end as sent_at
  from auth.one_time_tokens token join auth.users on users.id = token.user_id
  where token.relates_to = $1 and token.token_type = any($2::auth.one_time_token_type[])
    and users.aud = $3 and users.deleted_at is null and ($4 = '' or users.id = nullif($4, '')::uuid)
  order by token.id
  for update of token
) found

-- name: count_wrong
-- $2: whether the attempt came from a known network.
update auth.one_time_tokens set
  failed_attempts = failed_attempts + case when $2::boolean then 0 else 1 end,
  failed_at_known = failed_at_known + case when $2::boolean then 1 else 0 end,
  updated_at = now()
where id = any($1::uuid[])

-- name: take
-- Uses a code up; no row if it was used before, or another replaced it.
with gone as (
  delete from auth.one_time_tokens where id = $1 and token_hash = $2 returning user_id, token_type
)
update auth.users set
  confirmation_token = case gone.token_type when 'confirmation_token' then '' else confirmation_token end,
  recovery_token = case gone.token_type when 'recovery_token' then '' else recovery_token end,
  email_change_token_current = case gone.token_type when 'email_change_token_current' then '' else email_change_token_current end,
  email_change_token_new = case gone.token_type when 'email_change_token_new' then '' else email_change_token_new end,
  phone_change_token = case gone.token_type when 'phone_change_token' then '' else phone_change_token end,
  reauthentication_token = case gone.token_type when 'reauthentication_token' then '' else reauthentication_token end
from gone where users.id = gone.user_id
returning 1

-- name: drop
-- Deletes the codes of some kinds.
with gone as (
  delete from auth.one_time_tokens where id in (
    select id from auth.one_time_tokens
    where user_id = $1 and token_type = any($2::auth.one_time_token_type[])
    order by id for update
  )
)
update auth.users set
  confirmation_token = case when 'confirmation_token' = any($2::text[]) then '' else confirmation_token end,
  recovery_token = case when 'recovery_token' = any($2::text[]) then '' else recovery_token end,
  email_change_token_current = case when 'email_change_token_current' = any($2::text[]) then '' else email_change_token_current end,
  email_change_token_new = case when 'email_change_token_new' = any($2::text[]) then '' else email_change_token_new end,
  phone_change_token = case when 'phone_change_token' = any($2::text[]) then '' else phone_change_token end,
  reauthentication_token = case when 'reauthentication_token' = any($2::text[]) then '' else reauthentication_token end
where users.id = $1
