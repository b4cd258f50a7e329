// Reading: downloads, streams, what is known of an object, public addresses.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { before, test } from 'node:test'
import { anonymous, bad, bucket, fetched, good, noBucket, notFound, service, textOf } from './storage-people.mjs'

let open, closed
before(async () => {
  [open, closed] = await Promise.all([bucket({ public: true }), bucket()])
  await Promise.all([open, closed].map(({ files }) => files.upload('a folder/words.txt', 'many words', { metadata: { a: 1 } })))
})
const key = 'a folder/words.txt'

test('an object is downloaded, as a Blob and as a stream', async () => {
  const blob = await good(closed.files.download(key))
  const pieces = []
  for await (const piece of await good(closed.files.download(key).asStream())) pieces.push(piece)

  assert.deepEqual([blob.type, blob.size, await blob.text()], ['text/plain;charset=utf-8', 10, 'many words'])
  assert.equal(Buffer.concat(pieces).toString(), 'many words')
  assert.equal(await (await good(closed.files.download(key, { cacheNonce: '7' }))).text(), 'many words')
})

test('a download that is given up ends', async () => {
  const end = new AbortController()
  end.abort()

  const { data, error } = await closed.files.download(key, {}, { signal: end.signal })

  assert.deepEqual([data, error.name], [null, 'StorageUnknownError'])
})

test('what is not there, and what nobody may see', async () => {
  assert.deepEqual(await bad(closed.files.download('none')), notFound)
  assert.deepEqual(await bad(closed.files.download('none').asStream()), notFound)
  assert.deepEqual(await bad(service.from('no-such-bucket').download(key)), noBucket)
  assert.deepEqual(await bad(closed.files.info('none')), notFound)
  assert.deepEqual(await bad(anonymous.from(closed.id).download(key)), notFound)
  assert.deepEqual(await bad(anonymous.from(closed.id).info(key)), notFound)
})

test('what is known of an object', async () => {
  const { id, version, createdAt, lastModified, ...info } = await good(closed.files.info(key))

  assert.deepEqual(info, {
    name: key, bucketId: closed.id, size: 10, contentType: 'text/plain;charset=UTF-8', cacheControl: 'max-age=3600',
    etag: `"${createHash('md5').update('many words').digest('hex')}"`, metadata: { a: 1 },
  })
  for (const text of [id, version]) assert.match(text, /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/)
  assert.ok(Date.parse(lastModified) >= Date.parse(createdAt))
})

test('whether an object is there', async () => {
  assert.deepEqual(await closed.files.exists(key), { data: true, error: null })
  const { data, error } = await closed.files.exists('none')
  assert.deepEqual([data, { ...error.toJSON() }], [false, notFound])
  assert.equal((await anonymous.from(closed.id).exists(key)).data, false)
  await assert.rejects(service.from('no-such-bucket').exists(key), { code: 'NoSuchBucket' })
})

test('a public bucket is read by everybody at a plain address', async () => {
  const { publicUrl } = open.files.getPublicUrl(key).data

  const { status, text, headers } = await fetched(publicUrl)

  assert.deepEqual([status, text], [200, 'many words'])
  assert.deepEqual(['content-type', 'content-length', 'cache-control', 'accept-ranges', 'content-disposition', 'x-robots-tag'].map((name) => headers.get(name)),
    ['text/plain;charset=UTF-8', '10', 'max-age=3600', 'bytes', null, 'none'])
  assert.equal(headers.get('access-control-allow-origin'), '*')
  assert.equal((await fetched(publicUrl, { headers: { 'if-none-match': headers.get('etag') } })).status, 304)
  assert.equal((await fetched(publicUrl, { headers: { 'if-modified-since': headers.get('last-modified') } })).status, 304)
  const part = await fetched(publicUrl, { headers: { range: 'bytes=5-' } })
  assert.deepEqual([part.status, part.text, part.headers.get('content-range')], [206, 'words', 'bytes 5-9/10'])
  const head = await fetched(publicUrl, { method: 'HEAD' })
  assert.deepEqual([head.status, head.text, head.headers.get('content-length')], [200, '', '10'])
  assert.equal(await textOf(anonymous.from(open.id), key), 'many words')
  assert.equal((await good(anonymous.from(open.id).info(key))).size, 10)
})

test('a public address may ask for a download, under a name', async () => {
  const named = async (options) => (await fetched(open.files.getPublicUrl(key, options).data.publicUrl)).headers.get('content-disposition')

  assert.equal(await named({ download: true }), 'attachment;')
  assert.equal(await named({ download: 'other.txt' }), "attachment; filename=other.txt; filename*=UTF-8''other.txt")
  assert.equal(await named({ download: 'späte Wörter.txt', cacheNonce: 'x' }),
    "attachment; filename=sp%C3%A4te%20W%C3%B6rter.txt; filename*=UTF-8''sp%C3%A4te%20W%C3%B6rter.txt")
})

test('a private bucket has no public addresses', async () => {
  const { publicUrl } = closed.files.getPublicUrl(key).data

  const { status, text } = await fetched(publicUrl)

  assert.equal(status, 400)
  assert.deepEqual([JSON.parse(text).statusCode, JSON.parse(text).code], ['404', 'NoSuchBucket'])
})

test('pages that are uploaded are served as plain text', async () => {
  await good(open.files.upload('page.html', '<script>alert(1)</script>', { contentType: 'text/html' }))

  const { headers } = await fetched(open.files.getPublicUrl('page.html').data.publicUrl)

  assert.match(headers.get('content-type'), /^text\/plain/)
  assert.equal(headers.get('x-content-type-options'), 'nosniff')
})

test('a bucket that becomes private is closed at once, and the other way round', async () => {
  const { id, files } = await bucket({ public: true })
  await good(files.upload('a.txt', 'words'))
  const { publicUrl } = files.getPublicUrl('a.txt').data
  const status = async () => (await fetched(publicUrl)).status

  assert.equal(await status(), 200)
  await good(service.updateBucket(id, { public: false }))
  assert.equal(await status(), 400)
  await good(service.updateBucket(id, { public: true }))
  assert.equal(await status(), 200)
})
