-- The hook runs as supabase_auth_admin when a token is made.
create or replace function public.custom_access_token_hook(event jsonb)
returns jsonb
language plpgsql
stable
as $$
declare
  claims jsonb;
  tenant record;
begin
  select r.role, r.tenant_id into tenant from core.user_roles r
  where r.user_id = (event ->> 'user_id')::uuid
  order by r.role limit 1;

  claims := event -> 'claims';
  if jsonb_typeof(claims -> 'app_metadata') is null then
    claims := jsonb_set(claims, '{app_metadata}', '{}');
  end if;
  if tenant.role is not null then
    claims := jsonb_set(claims, '{app_metadata,role}', to_jsonb(tenant.role));
    claims := jsonb_set(claims, '{app_metadata,tenant_id}', to_jsonb(tenant.tenant_id));
  else
    claims := jsonb_set(claims, '{app_metadata,role}', 'null');
  end if;
  event := jsonb_set(event, '{claims}', claims);
  return event;
end;
$$;

grant usage on schema public to supabase_auth_admin;
grant execute on function public.custom_access_token_hook to supabase_auth_admin;
revoke execute on function public.custom_access_token_hook from authenticated, anon, public;
grant all on table core.user_roles to supabase_auth_admin;

create function public.hook_password_verification_attempt(event jsonb) returns jsonb language plpgsql as $$
declare
  last_failed timestamptz;
begin
  if event->'valid' is true then
    return jsonb_build_object('decision', 'continue');
  end if;
  select l.last_failed_at into last_failed from core.login_attempts l where l.user_id = (event->>'user_id')::uuid;
  if last_failed is not null and now() - last_failed < interval '10 seconds' then
    return jsonb_build_object('error', jsonb_build_object('http_code', 429, 'message', 'Please wait a moment before trying again.'));
  end if;
  insert into core.login_attempts (user_id, last_failed_at) values ((event->>'user_id')::uuid, now())
  on conflict (user_id) do update set last_failed_at = now();
  return jsonb_build_object('decision', 'continue');
end;
$$;
grant execute on function public.hook_password_verification_attempt to supabase_auth_admin;
revoke execute on function public.hook_password_verification_attempt from authenticated, anon, public;

alter table core.user_roles enable row level security;
create policy "Allow auth admin to read user roles" on core.user_roles as permissive for select to supabase_auth_admin using (true);

create or replace function core.tenant_id() returns uuid language sql stable parallel safe as
$$ select nullif(((current_setting('request.jwt.claims', true))::jsonb -> 'app_metadata' ->> 'tenant_id'), '')::uuid $$;

create or replace function core.authorize(requested_permission core.app_permission)
returns boolean as $$
declare
  bind_permissions int;
  user_role core.app_role;
begin
  -- Fetch the role once, and store it to reduce the number of calls.
  select (auth.jwt() -> 'app_metadata' ->> 'role')::core.app_role into user_role;
  select count(*) into bind_permissions from core.role_permissions
  where role_permissions.permission = requested_permission and role_permissions.role = user_role;
  return bind_permissions > 0;
end;
$$ language plpgsql stable security definer set search_path = '';
