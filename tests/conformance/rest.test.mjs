// The whole of supabase-js' REST interface: all themes in one process, and then whether anything was left out.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { called, offered } from './clients.mjs'
import './rest-filters.test.mjs'
import './rest-reads.test.mjs'
import './rest-shapes.test.mjs'
import './rest-writes.test.mjs'
import './rest-functions.test.mjs'
import './rest-schemas.test.mjs'
import './rest-errors.test.mjs'
import './rest-wire.test.mjs'
import './rest-idempotency.test.mjs'

const embedded = ['referencedTable', 'foreignTable']
const options = {
  from: ['fetch', 'urlLengthLimit', 'retry'],
  select: ['head', 'count'],
  insert: ['count', 'defaultToNull'],
  upsert: ['onConflict', 'ignoreDuplicates', 'count', 'defaultToNull'],
  update: ['count'],
  delete: ['count'],
  rpc: ['head', 'get', 'count'],
  order: ['ascending', 'nullsFirst', ...embedded],
  limit: embedded,
  range: embedded,
  or: embedded,
  textSearch: ['config', 'type'],
  explain: ['analyze', 'verbose', 'settings', 'buffers', 'wal', 'format'],
}

test('every public method of the client was called', () => {
  const missing = Object.entries(offered).flatMap(([owner, names]) =>
    names.filter((name) => !called.has(name)).map((name) => `${owner}.${name}`))
  assert.deepEqual(missing, [])
})

test('every option was given', () => {
  const missing = Object.entries(options).flatMap(([method, names]) =>
    names.map((name) => `${method}.${name}`).filter((name) => !called.has(name)))
  assert.deepEqual(missing, [])
})
