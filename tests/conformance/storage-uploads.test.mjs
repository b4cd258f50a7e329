// Uploads: every kind of body the client takes, what is said of them, replacing, limits.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createReadStream, openAsBlob } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { before, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { bad, bucket, exists, good, noBucket, refused, service, textOf } from './storage-people.mjs'

let own
before(async () => {
  own = await bucket()
})
const usual = 'text/plain;charset=UTF-8'
const stream = (...pieces) => new ReadableStream({
  start(controller) {
    for (const piece of pieces) controller.enqueue(new TextEncoder().encode(piece))
    controller.close()
  },
})
const form = (entries) => {
  const data = new FormData()
  for (const entry of entries) data.append(...entry)
  return data
}
const bodies = {
  'a string': ['words', usual],
  'a Buffer': [Buffer.from('words'), usual],
  'an ArrayBuffer': [new TextEncoder().encode('words').buffer, usual],
  'a view of an ArrayBuffer': [new Uint8Array(new TextEncoder().encode('<words>')).subarray(1, 6), usual],
  'a Blob': [new Blob(['words'], { type: 'text/x-words' }), 'text/x-words'],
  'a Blob without a type': [new Blob(['words']), 'application/octet-stream'],
  'a File': [new File(['words'], 'name.csv', { type: 'text/csv' }), 'text/csv'],
  'a FormData': [form([['file', new Blob(['words'], { type: 'text/x-words' }), 'words.txt']]), 'text/x-words'],
  'a web stream': [stream('wo', 'rds'), usual],
  'a Node stream': [Readable.from([Buffer.from('wo'), Buffer.from('rds')]), usual],
  'URL parameters': [new URLSearchParams({ wo: 'rds' }), usual],
}

for (const [name, [body, contentType]] of Object.entries(bodies)) {
  test(`an upload of ${name}`, async () => {
    const key = `kinds/${name}.txt`

    const { id, path, fullPath } = await good(own.files.upload(key, body))

    const info = await good(own.files.info(key))
    const wanted = name === 'URL parameters' ? 'wo=rds' : 'words'
    assert.deepEqual([path, fullPath, id], [key, `${own.id}/${key}`, info.id])
    assert.deepEqual([info.contentType, info.size, info.cacheControl, info.metadata], [contentType, wanted.length, 'max-age=3600', {}])
    assert.equal(info.etag, `"${createHash('md5').update(wanted).digest('hex')}"`)
    assert.equal(await textOf(own.files, key), wanted)
  })
}

test('what an upload says of itself is kept, for raw bodies and forms', async () => {
  const said = { contentType: 'text/markdown', cacheControl: '60', metadata: { author: 'Ada', tags: ['ä', 1], deep: { a: null } } }
  const blob = new Blob(['# words'], { type: 'text/markdown' })
  const fields = form([['cacheControl', '60'], ['metadata', JSON.stringify(said.metadata)], ['contentType', 'text/markdown'], ['', new Blob(['# words'])]])

  for (const body of ['# words', Buffer.from('# words'), blob, fields]) {
    await good(own.files.upload('said.md', body, { ...said, upsert: true }))

    const { contentType, cacheControl, metadata, bucketId, name } = await good(own.files.info('said.md'))
    assert.deepEqual({ contentType, cacheControl, metadata }, { ...said, cacheControl: 'max-age=60' })
    assert.deepEqual([bucketId, name], [own.id, 'said.md'])
  }
})

test('headers of an upload of the caller go along', async () => {
  await good(own.files.upload('robots.txt', 'words', { headers: { 'x-robots-tag': 'all', 'cache-control': 'no-store' } }))

  const [{ metadata }] = await good(own.files.list('', { search: 'robots' }))
  assert.deepEqual([metadata.xRobotsTag, metadata.cacheControl], ['all', 'no-store'])
  assert.equal((await bad(own.files.upload('robots-2.txt', 'words', { headers: { 'x-robots-tag': 'dance' } }))).statusCode, '400')
})

test('bytes that are compressed stay so, and are unpacked by who knows their encoding', async () => {
  const words = 'words '.repeat(100)
  const packed = gzipSync(words)

  await good(own.files.upload('packed.gz', packed, { contentType: 'application/gzip' }))
  await good(own.files.upload('raw.txt', packed, { contentType: 'text/plain', contentEncoding: 'gzip' }))
  await good(own.files.upload('blob.txt', new Blob([packed]), { contentType: 'text/plain', contentEncoding: 'gzip' }))

  const back = Buffer.from(await (await good(own.files.download('packed.gz'))).arrayBuffer())
  assert.deepEqual(back, packed)
  for (const name of ['raw.txt', 'blob.txt']) {
    assert.equal((await good(own.files.info(name))).size, packed.length)
    assert.equal(await textOf(own.files, name), words)
  }
})

test('an object is not replaced unless that is asked for; its id stays', async () => {
  const first = await good(own.files.upload('once.txt', 'one', { metadata: { take: 1 } }))

  assert.deepEqual(await bad(own.files.upload('once.txt', 'two')), exists)
  assert.deepEqual(await bad(own.files.upload('once.txt', new Blob(['two']))), exists)
  assert.equal(await textOf(own.files, 'once.txt'), 'one')
  const second = await good(own.files.upload('once.txt', 'three', { upsert: true, contentType: 'text/csv' }))
  const info = await good(own.files.info('once.txt'))
  assert.equal(second.id, first.id)
  assert.deepEqual([info.contentType, info.size, info.metadata], ['text/csv', 5, {}])
  assert.equal(await textOf(own.files, 'once.txt'), 'three')
})

test('an update replaces an object, and makes one', async () => {
  const made = await good(own.files.update('updated.txt', 'one'))
  const { version } = await good(own.files.info('updated.txt'))

  const changed = await good(own.files.update('updated.txt', new Blob(['two'], { type: 'text/csv' }), { cacheControl: '7' }))

  const info = await good(own.files.info('updated.txt'))
  assert.equal(changed.id, made.id)
  assert.notEqual(info.version, version)
  assert.deepEqual([info.contentType, info.cacheControl], ['text/csv', 'max-age=7'])
  assert.equal(await textOf(own.files, 'updated.txt'), 'two')
})

test('empty objects, deep folders, and keys with odd letters', async () => {
  const keys = ['empty.txt', 'a/b/c/d/e/f/g.txt', "it's (1) & $2 = @;:+,!.txt", 'façade/Ünï·日本語 🎉.txt', '100 percent.txt', 'a b/c d']

  for (const key of keys) {
    const text = key === 'empty.txt' ? '' : key
    const { path } = await good(own.files.upload(key, text))
    assert.equal(path, key)
    assert.equal(await textOf(own.files, key), text)
  }
  assert.equal((await good(own.files.upload('//slashes//between/', 'words'))).path, '/slashes/between')
  for (const key of ['', 'a\u0000b']) assert.notEqual((await own.files.upload(key, 'words')).error, null, key)
})

test('a big file goes in pieces and comes back whole', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'upload-'))
  const bytes = Buffer.alloc(12 * 1024 * 1024, 'twelve megabytes of words ')
  await writeFile(join(folder, 'big'), bytes)
  const hash = createHash('md5').update(bytes).digest('hex')

  await good(own.files.upload('big-1', createReadStream(join(folder, 'big')), { contentType: 'application/x-big' }))
  await good(own.files.upload('big-2', await openAsBlob(join(folder, 'big'))))

  for (const key of ['big-1', 'big-2']) {
    const back = createHash('md5')
    for await (const piece of await good(own.files.download(key).asStream())) back.update(piece)
    assert.equal(back.digest('hex'), hash)
    assert.equal((await good(own.files.info(key))).etag, `"${hash}"`)
  }
  await rm(folder, { recursive: true })
})

test('the limits of a bucket hold, whatever the body', async () => {
  const { files } = await bucket({ public: false, fileSizeLimit: '1kb', allowedMimeTypes: ['text/*', 'image/png'] })
  const tooLarge = refused(413, 'EntityTooLarge', 'The object exceeded the maximum allowed size')
  const wrong = refused(415, 'InvalidMimeType', 'mime type application/json is not supported')
  const long = 'x'.repeat(3_000_000)

  await good(files.upload('fits.txt', 'x'.repeat(1000)))
  await good(files.upload('fits.png', new Blob(['x'.repeat(1000)], { type: 'image/png' })))
  for (const body of [long, Buffer.from(long), new Blob([long], { type: 'text/plain' }), stream(long), stream(...Array(3).fill('x'.repeat(400)))]) {
    assert.deepEqual(await bad(files.upload('long.txt', body)), tooLarge)
  }
  for (const text of ['{}', long]) {
    assert.deepEqual(await bad(files.upload('x.json', text, { contentType: 'application/json' })), wrong)
    assert.deepEqual(await bad(files.upload('x.json', new Blob([text], { type: 'application/json' }))), wrong)
  }
  assert.deepEqual((await good(files.list())).map((each) => each.name), ['fits.png', 'fits.txt'])
})

test('uploads that cannot be', async () => {
  assert.deepEqual(await bad(service.from('no-such-bucket').upload('a.txt', 'words')), noBucket)
  assert.deepEqual(await bad(service.from('no-such-bucket').upload('a.txt', new Blob(['words']))), noBucket)
  assert.deepEqual(await bad(own.files.upload('none.txt', new FormData())), refused(400, 'InvalidRequest', 'No content provided'))
})
