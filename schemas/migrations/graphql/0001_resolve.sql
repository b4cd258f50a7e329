-- GraphQL is answered outside the database; the function that projects may call says so.
-- as: superuser

create or replace function graphql_public.graphql(
  "operationName" text default null, query text default null, variables jsonb default null, extensions jsonb default null
) returns jsonb
language plpgsql as $$
begin
  raise exception 'GraphQL is answered at /graphql/v1, not inside the database'
    using errcode = 'feature_not_supported', hint = 'Send the query to /graphql/v1.';
end $$;

grant execute on function graphql_public.graphql(text, text, jsonb, jsonb) to postgres, anon, authenticated, service_role;
