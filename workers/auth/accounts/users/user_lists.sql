-- Lists of users (user_lists.py). All run as supabase_auth_admin. {of_user} stands for the identities and factors of a user.

-- name: newest
-- $3 is a part of the address or of the full name; an empty one selects all.
select row_to_json(shown) from (
  select users.*, {of_user}
  from auth.users
  where users.deleted_at is null
    and ($3 = '' or strpos(lower(users.email), lower($3)) > 0
      or strpos(lower(users.raw_user_meta_data ->> 'full_name'), lower($3)) > 0)
  order by users.created_at desc, users.id
  limit $1::int offset $2::bigint
) shown

-- name: oldest
select row_to_json(shown) from (
  select users.*, {of_user}
  from auth.users
  where users.deleted_at is null
    and ($3 = '' or strpos(lower(users.email), lower($3)) > 0
      or strpos(lower(users.raw_user_meta_data ->> 'full_name'), lower($3)) > 0)
  order by users.created_at, users.id
  limit $1::int offset $2::bigint
) shown

-- name: count
select count(*) from auth.users
where deleted_at is null
  and ($1 = '' or strpos(lower(email), lower($1)) > 0 or strpos(lower(raw_user_meta_data ->> 'full_name'), lower($1)) > 0)

-- name: count_all
select count(*) from auth.users where deleted_at is null

-- name: by_email
select row_to_json(shown) from (
  select users.*, {of_user} from auth.users
  where lower(users.email) = lower($1) and users.deleted_at is null order by users.created_at, users.id limit 1000
) shown

-- name: by_phone
select row_to_json(shown) from (
  select users.*, {of_user} from auth.users where users.phone = $1 and users.deleted_at is null
) shown

-- name: by_id
select row_to_json(shown) from (
  select users.*, {of_user} from auth.users where users.id = $1 and users.deleted_at is null
) shown

-- name: after
-- Oldest first, after a position ($2, $3). Users without a creation time, which SQL made, come last, as after infinity. Both parts
-- read no more than a page from the index.
select row_to_json(shown) from (
  select users.*, {of_user}
  from (
    (select * from auth.users
      where deleted_at is null and (created_at, id) > ($2::timestamptz, $3::uuid)
      order by created_at, id
      limit $1::int)
    union all
    (select * from auth.users
      where deleted_at is null and created_at is null and ($2::timestamptz < 'infinity' or id > $3::uuid)
      order by id
      limit $1::int)
  ) users
  order by users.created_at, users.id
  limit $1::int
) shown
