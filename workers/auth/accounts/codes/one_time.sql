-- One-time codes (one_time.py). All run as supabase_auth_admin. A code stands in a column of its user, by which the
-- project sees it, and in auth.one_time_tokens, by which it is found. Who locks several rows locks the user first, then
-- codes in the order of their ids.

-- name: do_not_wait
-- A commit that waits for the disk would tell that there was something to write.
select set_config('synchronous_commit', 'off', true)

-- name: note
-- The user's column of a kind, and when its code was sent.
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
-- One live code of a kind: the new one takes the place of the old.
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
-- The codes that were sent to an address, locked, so that wrong ones typed at the same time are all counted. Several
-- users may want to change to one address. $4 is a user, empty for any.
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
-- $2: at a network that the user is known at.
update auth.one_time_tokens set
  failed_attempts = failed_attempts + case when $2::boolean then 0 else 1 end,
  failed_at_known = failed_at_known + case when $2::boolean then 1 else 0 end,
  updated_at = now()
where id = any($1::uuid[])

-- name: take
-- One code is used up, unless it was before, or another has taken its place.
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
-- The codes of some kinds are void.
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
