// @supabase/postgres-meta, the interface of database editors, reads and changes the catalog of a running platform.
// Environment: DB_URL.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { PostgresMeta } from '@supabase/postgres-meta'

const meta = new PostgresMeta({ connectionString: process.env.DB_URL, max: 1 })
after(() => meta.end())

/** Await a call that must succeed, and return its data. */
const good = async (call) => {
  const { data, error } = await call
  assert.equal(error, null, JSON.stringify(error))
  return data
}
const list = (kind) => good(meta[kind].list({ includeSystemSchemas: true }))
const qualified = ({ schema, name }) => `${schema}.${name}`

/** Objects that must be in each list. */
const listed = {
  schemas: [({ name }) => name, ['auth', 'extensions', 'graphql_public', 'public', 'realtime', 'storage', 'vault']],
  tables: [qualified, ['auth.users', 'auth.sessions', 'storage.objects', 'storage.buckets', 'realtime.messages', 'vault.secrets', 'public.diaries']],
  columns: [({ schema, table, name }) => `${schema}.${table}.${name}`, ['auth.users.email', 'storage.objects.metadata', 'public.diaries.owner']],
  policies: [({ schema, table, name }) => `${schema}.${table}.${name}`, ['public.diaries.own', 'public.profiles.own']],
  functions: [qualified, ['auth.uid', 'auth.jwt', 'storage.foldername', 'realtime.topic', 'realtime.send']],
  roles: [({ name }) => name, ['anon', 'authenticated', 'authenticator', 'postgres', 'service_role', 'supabase_admin']],
  extensions: [({ name }) => name, ['pgcrypto', 'uuid-ossp', 'supabase_vault', 'pg_net', 'http', 'pg_cron', 'pgmq']],
  types: [qualified, ['auth.aal_level', 'auth.factor_type']],
  publications: [({ name }) => name, ['supabase_realtime']],
  views: [qualified, ['vault.decrypted_secrets']],
  triggers: [({ table }) => table, ['users']],
  indexes: [({ id }) => typeof id, ['number']],
  relationships: [({ schema, relation }) => `${schema}.${relation}`, ['auth.sessions', 'storage.objects', 'public.diaries']],
  tablePrivileges: [qualified, ['public.diaries', 'storage.objects']],
  config: [({ name }) => name, ['search_path', 'wal_level']],
  materializedViews: [qualified, []],
  foreignTables: [qualified, []],
}
for (const [kind, [nameOf, names]] of Object.entries(listed)) {
  test(`${kind} of all schemas are listed`, async () => {
    const rows = await list(kind)

    const present = new Set(rows.map(nameOf))
    assert.deepEqual(names.filter((name) => !present.has(name)), [])
  })
}

test('privileges of columns need a superuser, as role postgres may not read verifiers of passwords', async () => {
  const { error } = await meta.columnPrivileges.list()

  assert.equal(error.message, 'permission denied for table pg_authid')
})

test('a table has its columns, keys and relationships', async () => {
  const table = await good(meta.tables.retrieve({ schema: 'public', name: 'diaries' }))

  assert.deepEqual(table.columns.map(({ name }) => name), ['id', 'owner', 'entry'])
  assert.deepEqual(table.primary_keys.map(({ name }) => name), ['id'])
  assert.deepEqual(table.relationships.map(({ target_table_schema, target_table_name }) => [target_table_schema, target_table_name]), [['auth', 'users']])
  assert.equal(table.rls_enabled, true)
})

test('an editor makes a table with a column and a policy, publishes and drops it', async () => {
  const table = await good(meta.tables.create({ name: 'edited', comment: 'by an editor' }))
  const column = await good(meta.columns.create({ table_id: table.id, name: 'note', type: 'text', is_nullable: false, default_value: '' }))
  const policy = await good(meta.policies.create({ table: 'edited', name: 'see all', definition: 'true', command: 'SELECT', roles: ['anon'] }))
  await good(meta.tables.update(table.id, { rls_enabled: true, replica_identity: 'FULL' }))
  await good(meta.columns.update(column.id, { name: 'remark', comment: 'renamed' }))
  await good(meta.policies.update(policy.id, { name: 'see none', definition: 'false' }))
  const publication = (await list('publications')).find(({ name }) => name === 'supabase_realtime')
  const withTable = await good(meta.publications.update(publication.id, { tables: [...publication.tables.map(qualified), 'public.edited'] }))
  const changed = await good(meta.tables.retrieve({ id: table.id }))

  assert.deepEqual([changed.rls_enabled, changed.comment, changed.columns.map(({ name }) => name)], [true, 'by an editor', ['remark']])
  assert.ok(withTable.tables.some(({ name }) => name === 'edited'))
  await good(meta.tables.remove(table.id, { cascade: true }))
  assert.notEqual((await meta.tables.retrieve({ id: table.id })).error, null)
})

test('an editor makes a function and calls it', async () => {
  const made = await good(meta.functions.create({
    name: 'doubled', args: ['n integer'], definition: 'select n * 2', return_type: 'integer', language: 'sql', behavior: 'IMMUTABLE',
  }))

  assert.deepEqual(await good(meta.query('select public.doubled(21) as n')), [{ n: 42 }])
  await good(meta.functions.remove(made.id))
})
