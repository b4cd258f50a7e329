create table core.documents (
  tenant_id uuid not null default core.tenant_id() references core.tenants on delete cascade,
  id bigint generated always as identity,
  title text not null,
  content jsonb not null default '{}',
  visibility text not null default 'tenant',
  author uuid default auth.uid() references auth.users on delete set null,
  primary key (tenant_id, id)
);
create table core.document_versions (
  tenant_id uuid not null,
  document_id bigint not null,
  version int not null,
  content jsonb,
  primary key (tenant_id, document_id, version),
  foreign key (tenant_id, document_id) references core.documents (tenant_id, id) on delete cascade deferrable initially deferred
);

alter table core.tenants enable row level security;
alter table core.documents enable row level security;
alter table core.document_versions enable row level security;
alter table core.role_permissions enable row level security;

create function core.wanted_levels() returns text[] language sql stable security definer set search_path = '' as $$
  select case when count(id) > 0 then array['aal2'] else array['aal1', 'aal2'] end
  from auth.mfa_factors where (select auth.uid()) = user_id and status = 'verified';
$$;

-- Whatever else is allowed, nothing leaves its tenant, and a second factor is wanted where the person has one.
create policy "tenant isolation" on core.documents as restrictive for all to authenticated
  using (tenant_id = (select core.tenant_id())) with check (tenant_id = (select core.tenant_id()));
create policy "second factor" on core.documents as restrictive to authenticated
  using (array[(select auth.jwt() ->> 'aal')] <@ (select core.wanted_levels()));
create policy "read" on core.documents for select to authenticated using ((select core.authorize('documents.read')));
create policy "write" on core.documents for insert to authenticated with check ((select core.authorize('documents.write')));
create policy "change" on core.documents for update to authenticated using ((select core.authorize('documents.write')));
create policy "delete" on core.documents for delete to authenticated using ((select core.authorize('documents.delete')));
create policy "see" on core.tenants for select to authenticated using (id = (select core.tenant_id()) or parent_id = core.tenant_id());
create policy "versions" on core.document_versions for select to authenticated
  using (exists (select 1 from core.documents d where d.tenant_id = document_versions.tenant_id and d.id = document_id));

create function core.keep_version() returns trigger language plpgsql security definer set search_path = core as $$
begin
  insert into document_versions
  select old.tenant_id, old.id, coalesce(max(v.version), 0) + 1, old.content
  from document_versions v where v.tenant_id = old.tenant_id and v.document_id = old.id;
  return new;
end $$;
create trigger keep_version before update of content on core.documents for each row execute function core.keep_version();

-- A table, whose rows the public schema shows under an older name.
create view public.docs with (security_invoker = true) as select id, title, content from core.documents;
create rule docs_insert as on insert to public.docs do instead
  insert into core.documents (title, content) values (new.title, coalesce(new.content, '{}'));
