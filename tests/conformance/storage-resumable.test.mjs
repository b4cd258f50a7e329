// Resumable uploads by tus-js-client, as the hosted service's manual writes them: 6 MB at a time, with a user's token.
// Environment: as in storage-people.mjs.
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { after, before, test } from 'node:test'
import { FileUrlStorage, Upload } from 'tus-js-client'
import { bucket, good, person, service } from './storage-people.mjs'

const { API_URL, ANON_KEY, SERVICE_ROLE_KEY } = process.env
const ENDPOINT = `${API_URL}/storage/v1/upload/resumable`
const CHUNK = 6 * 1024 * 1024
const data = randomBytes(20_000_000)

let own, ada, token, folder
before(async () => {
  own = await bucket()
  ada = await person()
  token = (await ada.client.auth.getSession()).data.session.access_token
  folder = await mkdtemp(join(tmpdir(), 'resumable-'))
})
after(() => rm(folder, { recursive: true }))

const hashOf = (bytes) => createHash('sha256').update(bytes).digest('hex')
const read = async (files, key) => Buffer.from(await (await good(files.download(key))).arrayBuffer())
const same = async (files, key, expected = data) => assert.equal(hashOf(await read(files, key)), hashOf(expected))

/** An upload, a note of its requests, and a promise of its end. `on` is called with each progress and the request underway. */
const upload = (bucketName, objectName, { body = data, headers, on = () => {}, ...options } = {}) => {
  const asked = []
  let one, underway
  const done = new Promise((resolve, reject) => {
    one = new Upload(body, {
      endpoint: ENDPOINT,
      chunkSize: CHUNK,
      retryDelays: null,
      uploadDataDuringCreation: true,
      removeFingerprintOnSuccess: true,
      headers: headers ?? { authorization: `Bearer ${SERVICE_ROLE_KEY}` },
      metadata: { bucketName, objectName, contentType: 'video/mp4', cacheControl: '3600', metadata: JSON.stringify({ film: 7 }) },
      onBeforeRequest: (request) => { asked.push(request.getMethod()); underway = request },
      onProgress: (sent) => on(sent, one, underway),
      onSuccess: resolve,
      onError: reject,
      ...options,
    })
  })
  done.catch(() => {})
  return { one, asked, done, start: () => (one.start(), done) }
}

/** Wait until an upload has sent some bytes, and pause it. The client would take the late error of the request that it breaks off for one of its next. */
const paused = (bucketName, objectName, options = {}) => new Promise((resolve, reject) => {
  const started = upload(bucketName, objectName, {
    ...options,
    onError: reject,
    on: (sent, one, underway) => {
      if (sent <= CHUNK * 1.5) return
      const request = underway.getUnderlyingObject()
      const closed = request.closed ? null : new Promise((isClosed) => { request.once('close', isClosed) })
      one.abort().then(() => closed).then(() => resolve(started), reject)
    },
  })
  started.one.start()
})

const statusOf = async (promise) => {
  const error = await promise.then(() => assert.fail('it was taken'), (error) => error)
  return [error.originalResponse.getStatus(), error.originalResponse.getBody()]
}

test('20 MB come in pieces of 6 MB, as a user under policies', async () => {
  const key = ada.own('film.mp4')
  const { start, asked } = upload('papers', key, { headers: { authorization: `Bearer ${token}` } })

  await start()

  assert.deepEqual(asked, ['POST', 'PATCH', 'PATCH', 'PATCH'])
  await same(ada.storage.from('papers'), key)
  const info = await good(ada.storage.from('papers').info(key))
  assert.deepEqual([info.size, info.contentType, info.cacheControl, info.metadata], [data.length, 'video/mp4', 'max-age=3600', { film: 7 }])
})

test('an upload that was paused goes on where it was', async () => {
  const { one, asked } = await paused(own.id, 'paused')
  asked.length = 0

  await new Promise((resolve, reject) => {
    Object.assign(one.options, { onSuccess: resolve, onError: reject, onProgress: null })
    one.start()
  })

  assert.equal(asked[0], 'HEAD')
  await same(own.files, 'paused')
})

test('another process finds what was begun by the fingerprint of the file', async () => {
  const path = join(folder, 'film.mp4')
  await writeFile(path, data)
  const remembered = () => ({ body: createReadStream(path), urlStorage: new FileUrlStorage(join(folder, 'urls.json')) })
  await paused(own.id, 'found', remembered())

  const { one, start, asked } = upload(own.id, 'found', remembered())
  const [previous, ...others] = await one.findPreviousUploads()
  one.resumeFromPreviousUpload(previous)
  await start()

  assert.deepEqual([others, asked[0], asked.includes('POST')], [[], 'HEAD', false])
  await same(own.files, 'found')
  assert.deepEqual(await one.findPreviousUploads(), [])
})

test('an upload that is given up is gone', async () => {
  const { one } = await paused(own.id, 'given-up')

  await one.abort(true)

  const headers = { 'tus-resumable': '1.0.0', authorization: `Bearer ${SERVICE_ROLE_KEY}` }
  assert.equal((await fetch(one.url, { method: 'HEAD', headers })).status, 404)
  assert.equal((await own.files.exists('given-up')).data, false)
})

test('what is there is replaced when that is asked for', async () => {
  await good(own.files.upload('taken', 'old words'))
  const headers = { authorization: `Bearer ${SERVICE_ROLE_KEY}` }

  assert.deepEqual(await statusOf(upload(own.id, 'taken').start()), [409, 'The resource already exists'])
  await upload(own.id, 'taken', { headers: { ...headers, 'x-upsert': 'true' } }).start()

  await same(own.files, 'taken')
})

test('whoever has the token of a signed upload needs no other', async () => {
  const { token } = await good(own.files.createSignedUploadUrl('signed'))
  const signed = (key, headers) => upload(own.id, key, { endpoint: `${ENDPOINT}/sign`, headers })
  const { one, start } = signed('signed', { 'x-signature': token })

  assert.deepEqual(await statusOf(signed('other', { 'x-signature': token }).start()), [400, 'Invalid signature'])
  assert.deepEqual(await statusOf(signed('signed', {}).start()), [400, 'Missing x-signature header'])
  await start()

  assert.ok(one.url.startsWith(`${ENDPOINT}/sign/`))
  await same(own.files, 'signed')
})

test('whom the policies do not know is refused before the first byte', async () => {
  const denied = [403, 'new row violates row-level security policy']

  assert.deepEqual(await statusOf(upload('papers', 'any', { headers: { authorization: `Bearer ${ANON_KEY}` } }).start()), denied)
  assert.deepEqual(await statusOf(upload('papers', 'not/ada', { headers: { authorization: `Bearer ${token}` } }).start()), denied)
  assert.equal((await statusOf(upload('papers', 'any', { headers: {} }).start()))[0], 401)
  assert.equal((await statusOf(upload('papers', 'any', { headers: { authorization: 'Bearer x.y.z' } }).start()))[0], 403)
  assert.deepEqual(await statusOf(upload('none', 'any').start()), [404, 'Bucket not found'])
})

test('limits of a bucket hold', async () => {
  const small = await bucket({ public: false, fileSizeLimit: 1_000_000, allowedMimeTypes: ['video/*'] })
  const words = { bucketName: small.id, objectName: 'words', contentType: 'text/plain' }

  assert.deepEqual(await statusOf(upload(small.id, 'film').start()), [413, 'Maximum size exceeded'])
  assert.deepEqual(await statusOf(upload('', '', { metadata: words, body: data.subarray(0, 9) }).start()), [415, 'mime type text/plain is not supported'])
  await upload(small.id, 'film', { body: data.subarray(0, 1_000_000) }).start()
})

test('a stream whose length nobody knows is taken', async () => {
  const body = Readable.from(Array.from({ length: 10 }, (_, i) => data.subarray(i * 2_000_000, (i + 1) * 2_000_000)))

  await upload(own.id, 'stream', { body, uploadLengthDeferred: true }).start()

  await same(own.files, 'stream')
})

test('a file without bytes is a file', async () => {
  await upload(own.id, 'empty', { body: Buffer.alloc(0) }).start()

  assert.equal((await read(own.files, 'empty')).length, 0)
})

test('a line that breaks twice costs a retry, not the upload', async () => {
  const line = await brokenLine([CHUNK + 3_000_000, 5_000_000])
  try {
    const endpoint = ENDPOINT.replace(new URL(API_URL).host, `127.0.0.1:${line.address().port}`)
    const { start, asked, one } = upload(own.id, 'broken', { endpoint, retryDelays: [0, 100, 500, 1000, 1000] })

    await start()

    assert.ok(one.url.startsWith(endpoint), 'the address is that under which the client came')
    assert.ok(asked.filter((method) => method === 'HEAD').length >= 2, `${asked}`)
    await same(own.files, 'broken')
  } finally {
    line.close()
  }
})

/** Give a server that passes bytes on to the platform, and cuts the line after so many of them: once for each number. */
async function brokenLine(limits) {
  const { hostname, port } = new URL(API_URL)
  let passed = 0
  const server = createServer((from) => {
    const to = connect(Number(port), hostname)
    from.on('data', (bytes) => {
      passed += bytes.length
      to.write(bytes)
      if (passed > limits[0]) {
        passed = 0
        limits.shift()
        from.destroy()
        to.destroy()
      }
    })
    to.pipe(from)
    for (const each of [from, to]) {
      each.on('error', () => {})
      each.on('close', () => { from.destroy(); to.destroy() })
    }
  })
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready))
  return server
}
