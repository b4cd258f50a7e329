// People for the tests of the accounts: each test makes its own, so that none can disturb another.
// Environment: as in clients.mjs, and JWT_SECRET. CALLED_DIR is a folder to note in which methods were called.
import assert from 'node:assert/strict'
import { createHmac, randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { withKey as unnoted } from './clients.mjs'

const { ANON_KEY, SERVICE_ROLE_KEY, JWT_SECRET, CALLED_DIR } = process.env

/** Every public method that the accounts' client offers, and those that were called: `auth.mfa.enroll`. */
export const surface = { offered: new Set(), called: new Set() }
/** Functions that a client holds for itself. */
const inside = ['constructor', 'fetch', 'logger', 'lock']
if (CALLED_DIR) {
  process.on('exit', () => {
    const [offered, called] = [surface.offered, surface.called].map((names) => [...names])
    writeFileSync(join(CALLED_DIR, `${process.pid}.json`), JSON.stringify({ offered, called }))
  })
}

/** A client with a key, and further options, that notes what is called. */
export const withKey = (key, options) => noted(unnoted(key, options))
/** The accounts in the hands of a server. */
export const admin = withKey(SERVICE_ROLE_KEY).auth.admin
/** A client that nobody has signed in with yet. */
export const visitor = () => withKey(ANON_KEY)
/** A client that keeps its session in a store of ours, so that a test can make its token old. */
export const forgetful = (options) => {
  const kept = new Map()
  const storage = { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value), removeItem: (key) => kept.delete(key) }
  const client = withKey(ANON_KEY, { auth: { storage, storageKey: 'session', persistSession: true, autoRefreshToken: false, ...options } })
  const growOld = () => kept.set('session', JSON.stringify({ ...JSON.parse(kept.get('session')), expires_at: 1 }))
  return { client, growOld }
}
export const password = 'over the river'
export const address = (name = 'person') => `${name}-${randomUUID()}@example.com`

/** Await a call that must succeed, and give its data. */
export const good = async (call) => {
  const { data, error } = await call
  assert.equal(error, null, JSON.stringify(error))
  return data
}

/** Await a call that must fail, and give its error as plain data. */
export const bad = async (call) => {
  const { data, error } = await call
  assert.notEqual(error, null, `no error, but ${JSON.stringify(data)}`)
  return { ...error.toJSON() }
}

/** What the client says when there is no session, or when the one there was has ended. */
export const missing = { name: 'AuthSessionMissingError', status: 400, code: undefined, message: 'Auth session missing!' }
export const refused = (status, code, message) => ({ name: 'AuthApiError', status, code, message })

/** Sign a new person up. */
export const signedUp = async (data) => {
  const client = visitor()
  const email = address()
  const { user, session } = await good(client.auth.signUp({ email, password, options: { data } }))
  return { client, email, user, session }
}

/** Sign a person in from one more device. */
export const signedIn = async (email, word = password) => {
  const client = visitor()
  const { user, session } = await good(client.auth.signInWithPassword({ email, password: word }))
  return { client, email, user, session }
}

/** Sign in a person whose account a server made, with the address confirmed. */
export const member = async (attributes) => {
  const email = address()
  await good(admin.createUser({ email, password, email_confirm: true, ...attributes }))
  return await signedIn(email)
}

/** What a token says, unverified. */
export const claimsOf = (token) => JSON.parse(Buffer.from(token.split('.')[1], 'base64url').toString())

/** Sign claims as the platform does. */
export const signed = (claims, secret = JWT_SECRET) => {
  const parts = [{ alg: 'HS256', typ: 'JWT' }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
  return [...parts, createHmac('sha256', secret).update(parts.join('.')).digest('base64url')].join('.')
}

/** Keep what a client tells of itself; give what it told, with a way to wait for the first word. */
export const listen = async (client) => {
  const events = []
  await new Promise((resolve) => {
    client.auth.onAuthStateChange((event, session) => {
      events.push([event, session?.user.id ?? null])
      resolve()
    })
  })
  return events
}

/** Give the objects that methods are called on, by the path that applications write. */
function parts({ auth }) {
  const { mfa, admin } = auth
  return {
    auth, 'auth.mfa': mfa, 'auth.mfa.webauthn': mfa.webauthn, 'auth.mfa.recoveryCodes': mfa.recoveryCodes, 'auth.oauth': auth.oauth,
    'auth.passkey': auth.passkey, admin, 'admin.mfa': admin.mfa, 'admin.oauth': admin.oauth,
    'admin.customProviders': admin.customProviders, 'admin.passkey': admin.passkey,
  }
}

/** Let a client note which of its public methods are called. */
function noted(client) {
  for (const [path, object] of Object.entries(parts(client))) {
    for (const name of methods(object)) {
      const original = object[name]
      surface.offered.add(`${path}.${name}`)
      object[name] = function (...given) {
        surface.called.add(`${path}.${name}`)
        return original.apply(this, given)
      }
    }
  }
  return client
}

/** Give the names of public methods, the object's own and the inherited ones. */
function methods(object) {
  const names = new Set()
  for (let each = object; each !== Object.prototype; each = Object.getPrototypeOf(each)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(each))) {
      if (typeof value === 'function' && !name.startsWith('_') && !inside.includes(name)) names.add(name)
    }
  }
  return names
}
