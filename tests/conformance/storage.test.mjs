// The storage of a platform: all themes in one process, then what of the client was called.
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { surface } from './storage-people.mjs'
import './storage-buckets.test.mjs'
import './storage-uploads.test.mjs'
import './storage-reads.test.mjs'
import './storage-lists.test.mjs'
import './storage-changes.test.mjs'
import './storage-signed.test.mjs'
import './storage-images.test.mjs'
import './storage-policies.test.mjs'

after(() => {
  assert.ok(surface.offered.size > 30)
  assert.deepEqual([...surface.offered].filter((name) => !surface.called.has(name)), [])
})
