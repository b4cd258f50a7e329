// PGlite with its sync, unchanged, against a running platform: two shapes that are committed together, and moves.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PGlite } from '@electric-sql/pglite'
import { electricSync } from '@electric-sql/pglite-sync'

const { API_URL, SERVICE_ROLE_KEY } = process.env
const headers = { apikey: SERVICE_ROLE_KEY }
const rest = async (method, path, body) => {
  const answer = await fetch(`${API_URL}/rest/v1/${path}`, {
    method, headers: { ...headers, 'content-type': 'application/json' }, body: body && JSON.stringify(body),
  })
  assert.ok(answer.ok, await answer.text())
}
const member = '00000000-0000-4000-8000-0000000000aa'
const shape = (table, params = {}) => ({ url: `${API_URL}/sync/v1/shape`, headers, params: { table, ...params } })

test('two tables are kept, and committed together', { timeout: 150_000 }, async () => {
  const database = await PGlite.create({ extensions: { electric: electricSync() } })
  await database.exec(`
    create table notes (id bigint primary key, team int, title text, done bool, amount numeric, seen timestamptz);
    create table members (team int, member uuid, primary key (team, member))`)
  await rest('POST', 'sync_notes', [{ id: 101, team: 7, title: 'first' }, { id: 102, team: 8, title: 'outside' }])
  const synced = await database.electric.syncShapesToTables({
    key: null,
    shapes: {
      notes: { shape: shape('sync_notes', { where: 'team = $1', params: ['7'] }), table: 'notes', primaryKey: ['id'] },
      members: { shape: shape('sync_members', { where: 'team = 7' }), table: 'members', primaryKey: ['team', 'member'] },
    },
  })
  const holds = async (text, expected) => {
    for (const end = Date.now() + 40_000; ;) {
      const { rows } = await database.query(text)
      const found = rows.map((row) => Object.values(row)[0])
      if (JSON.stringify(found) === JSON.stringify(expected)) return
      if (Date.now() > end) assert.deepEqual(found, expected)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  const titles = 'select title from notes order by title'
  await holds(titles, ['first'])

  await rest('POST', 'sync_members', [{ team: 7, member }])
  await rest('PATCH', 'sync_notes?id=eq.101', { title: 'changed' })
  await rest('PATCH', 'sync_notes?id=eq.102', { team: 7 })
  await holds(titles, ['changed', 'outside'])
  await holds('select member from members', [member])
  await rest('DELETE', 'sync_notes?id=eq.101')
  await holds(titles, ['outside'])
  synced.unsubscribe()
  await rest('DELETE', 'sync_notes?id=eq.102')
  await rest('DELETE', 'sync_members?team=eq.7')
})
