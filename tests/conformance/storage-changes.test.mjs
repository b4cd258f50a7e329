// Moving, copying, removing; purging what was made of objects.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { anonymous, bad, bucket, exists, forbidden, good, notFound, refused, service, textOf } from './storage-people.mjs'

let own, other
before(async () => {
  [own, other] = await Promise.all([bucket(), bucket()])
})
const upload = (key, options) => good(own.files.upload(key, `words of ${key}`, options))

test('an object is moved: it keeps its id and all that was said of it', async () => {
  const { id } = await upload('move/a.txt', { metadata: { a: 1 }, cacheControl: '5', contentType: 'text/csv' })

  assert.deepEqual(await good(own.files.move('move/a.txt', 'moved/b.txt')), { message: 'Successfully moved' })

  const info = await good(own.files.info('moved/b.txt'))
  assert.deepEqual([info.id, info.metadata, info.cacheControl, info.contentType], [id, { a: 1 }, 'max-age=5', 'text/csv'])
  assert.equal(await textOf(own.files, 'moved/b.txt'), 'words of move/a.txt')
  assert.deepEqual(await bad(own.files.download('move/a.txt')), notFound)
})

test('an object is moved into another bucket', async () => {
  await upload('to-move.txt')

  await good(own.files.move('to-move.txt', 'here.txt', { destinationBucket: other.id }))

  assert.equal(await textOf(other.files, 'here.txt'), 'words of to-move.txt')
  assert.deepEqual(await bad(own.files.download('to-move.txt')), notFound)
})

test('an object is copied: with what was said of it, or with something else', async () => {
  const { id } = await upload('copy.txt', { metadata: { a: 1 }, cacheControl: '5', contentType: 'text/csv' })

  const { path } = await good(own.files.copy('copy.txt', 'copies/one.txt'))
  await good(own.files.copy('copy.txt', 'copies/two.txt', { copyMetadata: false, metadata: { mimetype: 'text/markdown', cacheControl: 'max-age=9' } }))
  await good(own.files.copy('copy.txt', 'three.txt', { destinationBucket: other.id }))

  const [one, two, three] = await Promise.all([own.files.info('copies/one.txt'), own.files.info('copies/two.txt'), other.files.info('three.txt')].map(good))
  assert.equal(path, `${own.id}/copies/one.txt`)
  assert.notEqual(one.id, id)
  assert.deepEqual([one.metadata, one.cacheControl, one.contentType], [{ a: 1 }, 'max-age=5', 'text/csv'])
  assert.deepEqual([two.metadata, two.cacheControl, two.contentType], [{}, 'max-age=9', 'text/markdown'])
  assert.deepEqual([three.metadata, three.size], [{ a: 1 }, 17])
  assert.equal(await textOf(other.files, 'three.txt'), 'words of copy.txt')
})

test('a copy lives on when its source is gone', async () => {
  await upload('source.txt')
  await good(own.files.copy('source.txt', 'copy-of-source.txt'))

  await good(own.files.remove(['source.txt']))

  assert.equal(await textOf(own.files, 'copy-of-source.txt'), 'words of source.txt')
})

test('nothing is moved or copied over something, from nothing, or into nowhere', async () => {
  await upload('here.txt')
  await upload('there.txt')

  for (const change of ['move', 'copy']) {
    assert.deepEqual(await bad(own.files[change]('here.txt', 'there.txt')), exists)
    assert.deepEqual(await bad(own.files[change]('none.txt', 'other.txt')), notFound)
    assert.equal((await bad(own.files[change]('here.txt', 'x.txt', { destinationBucket: 'no-such-bucket' }))).statusCode, '404')
  }
  assert.equal(await textOf(own.files, 'there.txt'), 'words of there.txt')
})

test('objects are removed: the answer tells which', async () => {
  for (const key of ['gone/1.txt', 'gone/2.txt', 'gone/3.txt']) await upload(key)

  const rows = await good(own.files.remove(['gone/1.txt', 'gone/3.txt', 'never/there.txt']))

  assert.deepEqual(rows.map((each) => each.name).toSorted(), ['gone/1.txt', 'gone/3.txt'])
  assert.deepEqual([rows[0].bucket_id, typeof rows[0].id, rows[0].metadata.size], [own.id, 'string', 19])
  assert.deepEqual((await good(own.files.list('gone'))).map((each) => each.name), ['2.txt'])
  assert.deepEqual(await good(own.files.remove(['gone/1.txt'])), [])
  assert.deepEqual(await bad(own.files.remove([])), refused(400, 'InvalidRequest', 'body/prefixes must NOT have fewer than 1 items'))
})

test('a hundred objects are removed at once', async () => {
  const keys = Array.from({ length: 100 }, (_, n) => `many/${n}.txt`)
  await Promise.all(keys.map((key) => upload(key)))

  assert.equal((await good(own.files.remove(keys))).length, 100)

  assert.deepEqual(await good(own.files.list('many')), [])
})

test('strangers change nothing', async () => {
  await upload('mine.txt')
  const files = anonymous.from(own.id)

  assert.deepEqual(await bad(files.upload('theirs.txt', 'words')), forbidden)
  assert.deepEqual(await bad(files.update('mine.txt', 'words')), forbidden)
  assert.deepEqual(await bad(files.move('mine.txt', 'theirs.txt')), notFound)
  assert.deepEqual(await bad(files.copy('mine.txt', 'theirs.txt')), notFound)
  assert.deepEqual(await good(files.remove(['mine.txt'])), [])
  assert.equal(await textOf(own.files, 'mine.txt'), 'words of mine.txt')
})

test('an object is purged by a server alone', async () => {
  await upload('purge me.txt')

  for (const options of [undefined, { transformations: true }]) {
    assert.equal((await good(own.files.purgeCache('purge me.txt', options))).message, 'success')
  }
  assert.equal((await bad(anonymous.from(own.id).purgeCache('purge me.txt'))).statusCode, '403')
  assert.equal((await good(service.from(own.id).purgeCache('never there.txt'))).message, 'success')
})
