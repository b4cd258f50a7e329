create function clear_completed() returns setof bigint language sql volatile as $$
  delete from todos where is_complete and user_id = auth.uid() returning id
$$;
create function overdue(t todos) returns boolean language sql stable as $$ select t.due < current_date and not t.is_complete $$;
create function todo_counts(out open bigint, out done bigint) language sql stable as
$$ select count(*) filter (where not is_complete), count(*) filter (where is_complete) from todos $$;
grant execute on function clear_completed() to authenticated;
revoke execute on function clear_completed() from anon, public;
create view profile_pictures as
  select p.id, p.username, o.name, o.metadata ->> 'mimetype' as kind, o.created_at
  from profiles p join storage.objects o on o.bucket_id = 'avatars' and o.name = p.avatar_url;
