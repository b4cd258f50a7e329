// All of supabase-js' interface to the accounts: all themes in one process, and then whether anything was left out.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { offeredByAuth } from './auth-people.mjs'
import { called } from './clients.mjs'
import './auth-sessions.test.mjs'
import './auth-user.test.mjs'
import './auth-refusals.test.mjs'
import './auth-admin.test.mjs'
import './auth-project.test.mjs'
import './auth-unbuilt.test.mjs'

/** What needs a browser, a wallet, a key in hardware or keys that others may read; and what is for the client itself. */
const elsewhere = [
  'signInWithWeb3', 'signInWithEthereum', 'signInWithSolana', 'signInWithPasskey', 'registerPasskey', 'jwks', 'jwks_cached_at', 'fetchJwk',
  'startAutoRefresh', 'stopAutoRefresh', 'dispose', 'isThrowOnErrorEnabled', 'linkIdentityIdToken',
]

test('every public method of the accounts was called', () => {
  const missing = Object.entries(offeredByAuth).flatMap(([owner, names]) =>
    names.filter((name) => !called.has(name) && !elsewhere.includes(name)).map((name) => `${owner}.${name}`))
  assert.deepEqual(missing, [])
})
