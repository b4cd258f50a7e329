// Clients of the storage for the tests, buckets of a test's own, and a note of which methods were called.
// Environment: as in auth-people.mjs.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after } from 'node:test'
import { signedUp } from './auth-people.mjs'
import { withKey } from './clients.mjs'

const { ANON_KEY, SERVICE_ROLE_KEY } = process.env

/** The storage in the hands of a server, and as nobody in particular sees it. */
export const service = withKey(SERVICE_ROLE_KEY).storage
export const anonymous = withKey(ANON_KEY).storage
/** A client like `service`, with options of its own: `setHeader` and `throwOnError` change the client they are called on. */
export const ownService = () => withKey(SERVICE_ROLE_KEY).storage

/** Every public method that the storage client offers for buckets and files, and those that were called: `file.upload`. */
export const surface = { offered: new Set(), called: new Set() }
/** What the classes keep to themselves; TypeScript hides it, JavaScript does not. */
const inside = ['constructor', 'uploadOrUpdate', 'prepareUploadFormData', 'encodeMetadata', 'toBase64', 'applyTransformOptsToQuery',
  'listBucketOptionsToQueryString', 'bucketLifecycleUrl', 'handleOperation', 'execute', 'promise']
const file = service.from('any')
const download = Object.getPrototypeOf(file.download('any'))
const buckets = Object.getPrototypeOf(Object.getPrototypeOf(service))
note('storage', Object.getPrototypeOf(service), ['vectors', 'analytics'])
note('bucket', buckets)
note('client', Object.getPrototypeOf(buckets))
note('file', Object.getPrototypeOf(file))
note('download', download, ['then', 'catch', 'finally'])

/** Await a call that must succeed, and give its data. */
export const good = async (call) => {
  const { data, error } = await call
  assert.equal(error, null, JSON.stringify(error))
  return data
}

/** Await a call that must fail, and give what the client shows of its error. */
export const bad = async (call) => {
  const { data, error } = await call
  assert.notEqual(error, null, `no error, but ${JSON.stringify(data)}`)
  assert.equal(data, null)
  return { ...error.toJSON() }
}

/** What the client shows of a refusal: HTTP says 400 for nearly all of them, and the inner status stands in the body. */
export const refused = (statusCode, code, message, status = 400) =>
  ({ name: 'StorageApiError', status, statusCode: String(statusCode), code, message })
export const notFound = refused(404, 'NoSuchKey', 'Object not found')
export const noBucket = refused(404, 'NoSuchBucket', 'Bucket not found')
export const exists = refused(409, 'KeyAlreadyExists', 'The resource already exists')
export const forbidden = refused(403, 'AccessDenied', 'new row violates row-level security policy')

/** Make a bucket of the test's own, which goes when all tests are done. Gives its name, and its files as the service sees them. */
export const bucket = async (options = { public: false }) => {
  const id = `b-${randomUUID()}`
  await good(service.createBucket(id, options))
  made.push(id)
  return { id, files: service.from(id) }
}
const made = []
after(() => Promise.all(made.map(async (id) => {
  await service.emptyBucket(id)
  await service.deleteBucket(id)
})))

/** Somebody with an account: the id, the storage, and a key in the folder that is theirs. */
export const person = async () => {
  const { client, user } = await signedUp()
  return { client, id: user.id, storage: client.storage, own: (name) => `${user.id}/${name}` }
}

/** Give the text that lies at a URL, with status and headers. */
export const fetched = async (url, options) => {
  const answer = await fetch(url, options)
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}

/** Give the text of an object. */
export const textOf = async (files, key) => (await good(files.download(key))).text()

function note(part, prototype, leftOut = []) {
  for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
    if (typeof value !== 'function' || name.startsWith('_') || inside.includes(name) || leftOut.includes(name)) continue
    surface.offered.add(`${part}.${name}`)
    prototype[name] = function (...given) {
      surface.called.add(`${part}.${name}`)
      return value.apply(this, given)
    }
  }
}
