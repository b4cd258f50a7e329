insert into public.role_permissions (role, permission)
values
    ('admin', 'channels.delete'),
    ('admin', 'messages.delete'),
    ('moderator', 'messages.delete');

DO $$
DECLARE
    user_id uuid;
BEGIN
    user_id := gen_random_uuid();
    INSERT INTO auth.users (id, email) VALUES (user_id, 'supabot+supaadmin@example.com');

    INSERT INTO public.channels (slug, created_by) VALUES ('public', user_id), ('random', user_id);
    INSERT INTO public.channel_members (channel_id, user_id) SELECT id, user_id FROM public.channels;

    INSERT INTO public.messages (message, channel_id, user_id)
    VALUES
      ('Hello World 👋', 1, user_id),
      (E'It''s in two lines:\nhere (edited)', 2, user_id);
END $$;
