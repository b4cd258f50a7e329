// Lists: the first form with folders, search, order and offset; the second with cursors.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { anonymous, bad, bucket, good, service } from './storage-people.mjs'

let own
const keys = ['Zebra.txt', 'apple.txt', 'banana.txt', 'docs/one.txt', 'docs/two.txt', 'docs/old/zero.txt', 'cherry/pie.txt', 'docs.txt']
before(async () => {
  own = await bucket()
  for (const key of keys) await good(own.files.upload(key, key)) // one after the other: their dates are in this order
})
const names = (rows) => rows.map((each) => each.name)

// A folder's place is that of its name with the slash behind it.
test('a list shows the files and folders of one level', async () => {
  const rows = await good(own.files.list())

  assert.deepEqual(names(rows), ['apple.txt', 'banana.txt', 'cherry', 'docs.txt', 'docs', 'Zebra.txt'])
  const [{ id, created_at, updated_at, last_accessed_at, metadata, ...apple }, , cherry] = rows
  assert.deepEqual(apple, { name: 'apple.txt' })
  assert.deepEqual([metadata.size, metadata.mimetype, metadata.cacheControl], [9, 'text/plain;charset=UTF-8', 'max-age=3600'])
  assert.deepEqual([typeof id, created_at, last_accessed_at], ['string', updated_at, updated_at])
  assert.deepEqual(cherry, { name: 'cherry', id: null, created_at: null, updated_at: null, last_accessed_at: null, metadata: null })
})

test('a list of a folder', async () => {
  assert.deepEqual(names(await good(own.files.list('docs'))), ['old', 'one.txt', 'two.txt'])
  assert.deepEqual(names(await good(own.files.list('docs/'))), ['old', 'one.txt', 'two.txt'])
  assert.deepEqual(names(await good(own.files.list('docs/old'))), ['zero.txt'])
  assert.deepEqual(await good(own.files.list('nowhere')), [])
  assert.deepEqual(await good(service.from('no-such-bucket').list()), [])
  assert.deepEqual(await good(anonymous.from(own.id).list()), [])
})

test('a list in pages, in either order', async () => {
  assert.deepEqual(names(await good(own.files.list('', { limit: 2 }))), ['apple.txt', 'banana.txt'])
  assert.deepEqual(names(await good(own.files.list('', { limit: 2, offset: 4 }))), ['docs', 'Zebra.txt'])
  assert.deepEqual(await good(own.files.list('', { offset: 100 })), [])
  assert.deepEqual(names(await good(own.files.list('', { sortBy: { order: 'desc' } }))),
    ['Zebra.txt', 'docs', 'docs.txt', 'cherry', 'banana.txt', 'apple.txt'])
})

test('a list by date: folders first', async () => {
  for (const column of ['created_at', 'updated_at', 'last_accessed_at']) {
    assert.deepEqual(names(await good(own.files.list('', { sortBy: { column, order: 'desc' } }))).filter((name) => name.includes('.')),
      ['docs.txt', 'banana.txt', 'apple.txt', 'Zebra.txt'], column)
  }
  assert.deepEqual(names(await good(own.files.list('', { sortBy: { column: 'created_at' } }))),
    ['cherry', 'docs', 'Zebra.txt', 'apple.txt', 'banana.txt', 'docs.txt'])
})

test('a search is for the beginning of a name', async () => {
  assert.deepEqual(names(await good(own.files.list('', { search: 'DOC' }))), ['docs.txt', 'docs'])
  assert.deepEqual(names(await good(own.files.list('docs', { search: 'o' }))), ['old', 'one.txt'])
  assert.deepEqual(await good(own.files.list('', { search: '%' })), [])
  assert.deepEqual(await good(own.files.list('', { search: '.txt' })), [])
})

test('lists that cannot be', async () => {
  assert.match((await bad(own.files.list('', { limit: 0 }))).message, /limit/)
  assert.match((await bad(own.files.list('', { sortBy: { column: 'id' } }))).message, /sortBy/)
  assert.match((await bad(own.files.listV2({ cursor: 'not one' }))).message, /continuation token/)
})

test('the second form lists full keys, all levels at once', async () => {
  const { hasNext, nextCursor, folders, objects } = await good(own.files.listV2())

  assert.deepEqual([hasNext, nextCursor, folders], [false, undefined, []])
  assert.deepEqual(names(objects), keys.toSorted())
  assert.deepEqual(Object.keys(objects[0]).toSorted().filter((name) => name !== 'key'),
    ['created_at', 'id', 'last_accessed_at', 'metadata', 'name', 'updated_at'])
})

test('the second form with folders', async () => {
  const { folders, objects } = await good(own.files.listV2({ with_delimiter: true }))
  const below = await good(own.files.listV2({ with_delimiter: true, prefix: 'docs/' }))
  const prefixed = await good(own.files.listV2({ prefix: 'docs' }))

  assert.deepEqual(folders.map((each) => [each.key, each.name]), [['cherry', 'cherry/'], ['docs', 'docs/']])
  assert.deepEqual(names(objects), ['Zebra.txt', 'apple.txt', 'banana.txt', 'docs.txt'])
  assert.deepEqual([names(below.folders), names(below.objects)], [['docs/old/'], ['docs/one.txt', 'docs/two.txt']])
  assert.deepEqual(names(prefixed.objects), ['docs.txt', 'docs/old/zero.txt', 'docs/one.txt', 'docs/two.txt'])
})

for (const sortBy of [{ column: 'name', order: 'asc' }, { column: 'name', order: 'desc' }, { column: 'created_at', order: 'asc' }, { column: 'updated_at', order: 'desc' }]) {
  test(`the second form goes on where it stopped: ${sortBy.column} ${sortBy.order}`, async () => {
    const found = []
    let cursor
    for (let page = 0; page < 10; page += 1) {
      const { hasNext, nextCursor, objects } = await good(own.files.listV2({ limit: 3, cursor, sortBy }))
      found.push(...names(objects))
      assert.equal(hasNext, nextCursor !== undefined)
      cursor = nextCursor
      if (!hasNext) break
    }

    const wanted = sortBy.column === 'name' ? keys.toSorted() : [...keys]
    assert.deepEqual(found, sortBy.order === 'asc' ? wanted : wanted.reverse())
  })
}
