create index concurrently if not exists messages_user_idx on public.messages using btree (user_id);
