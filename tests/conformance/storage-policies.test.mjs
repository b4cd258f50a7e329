// Policies of the project: a folder for each, texts for all, and what the service role may do in spite of them.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { withKey } from './clients.mjs'
import { anonymous, bad, exists, fetched, forbidden, good, notFound, person, service, textOf } from './storage-people.mjs'

let ada, bob
before(async () => {
  [ada, bob] = await Promise.all([person(), person()])
})
after(async () => {
  for (const id of ['papers', 'avatars', 'shared']) await service.emptyBucket(id)
})
const papers = (whose) => whose.storage.from('papers')

test('each has a folder, and only that', async () => {
  const key = ada.own('diary/today.txt')
  const { id } = await good(papers(ada).upload(key, 'dear diary'))

  assert.equal(await textOf(papers(ada), key), 'dear diary')
  assert.equal((await good(papers(ada).info(key))).id, id)
  assert.deepEqual((await good(papers(ada).list(ada.id))).map((each) => each.name), ['diary'])
  assert.deepEqual(await bad(papers(ada).upload('today.txt', 'x')), forbidden)
  assert.deepEqual(await bad(papers(ada).upload(bob.own('x.txt'), 'x')), forbidden)
  assert.deepEqual(await bad(papers(ada).upload(key, 'x')), exists)
  assert.equal((await good(papers(ada).update(key, 'dear old diary'))).id, id)
  for (const files of [papers(bob), anonymous.from('papers')]) {
    assert.deepEqual(await bad(files.download(key)), notFound)
    assert.deepEqual(await bad(files.info(key)), notFound)
    assert.deepEqual(await good(files.list(ada.id)), [])
    assert.deepEqual((await good(files.listV2({ prefix: ada.id }))).objects, [])
    assert.deepEqual(await bad(files.upload(ada.own('x.txt'), 'x')), forbidden)
    assert.deepEqual(await bad(files.upload(key, 'x', { upsert: true })), forbidden)
    assert.deepEqual(await bad(files.update(key, 'x')), forbidden)
    assert.deepEqual(await bad(files.move(key, ada.own('x.txt'))), notFound)
    assert.deepEqual(await bad(files.copy(key, ada.own('x.txt'))), notFound)
    assert.deepEqual(await good(files.remove([key])), [])
  }
  assert.equal(await textOf(papers(ada), key), 'dear old diary')
})

test('things move and are copied within the folder, and not out of it', async () => {
  await good(papers(ada).upload(ada.own('a.txt'), 'words'))

  await good(papers(ada).copy(ada.own('a.txt'), ada.own('b.txt')))
  await good(papers(ada).move(ada.own('a.txt'), ada.own('c.txt')))
  await good(papers(ada).copy(ada.own('b.txt'), ada.own('b.txt'), { destinationBucket: 'avatars' }))

  assert.deepEqual((await good(papers(ada).list(ada.id, { search: 'b' }))).map((each) => each.name), ['b.txt'])
  assert.equal(await textOf(papers(ada), ada.own('c.txt')), 'words')
  assert.equal((await fetched(ada.storage.from('avatars').getPublicUrl(ada.own('b.txt')).data.publicUrl)).text, 'words')
  assert.deepEqual(await bad(papers(ada).move(ada.own('b.txt'), bob.own('b.txt'))), forbidden)
  assert.deepEqual(await bad(papers(ada).copy(ada.own('b.txt'), bob.own('b.txt'))), forbidden)
  assert.deepEqual(await bad(papers(ada).copy(ada.own('b.txt'), ada.own('b.bin'), { destinationBucket: 'shared' })), forbidden)
  assert.deepEqual((await good(papers(ada).remove([ada.own('b.txt'), bob.own('b.txt')]))).map((each) => each.name), [ada.own('b.txt')])
})

test('a policy judges what an upload declares, before a byte is stored', async () => {
  const shared = ada.storage.from('shared')

  await good(shared.upload('short.txt', 'words'))
  await good(shared.upload('form.txt', new Blob(['words'], { type: 'text/plain' })))
  assert.deepEqual(await bad(shared.upload('short.bin', 'words')), forbidden)
  assert.deepEqual(await bad(shared.upload('json.txt', '{}', { contentType: 'application/json' })), forbidden)
  assert.deepEqual(await bad(shared.upload('long.txt', 'x'.repeat(2000))), forbidden)
  assert.deepEqual(await bad(shared.upload('long.txt', new Blob(['x'.repeat(2_000_000)], { type: 'text/plain' }))), forbidden)
  assert.deepEqual((await good(shared.list())).map((each) => each.name), ['form.txt', 'short.txt'])
})

test('all read what one of them shares, and only the owner changes it', async () => {
  const [adas, bobs] = [ada, bob].map((each) => each.storage.from('shared'))
  await good(adas.upload('news.txt', 'sun'))

  assert.equal(await textOf(bobs, 'news.txt'), 'sun')
  assert.deepEqual(await bad(anonymous.from('shared').download('news.txt')), notFound)
  assert.deepEqual(await bad(bobs.upload('news.txt', 'rain', { upsert: true })), forbidden)
  assert.deepEqual(await good(bobs.remove(['news.txt'])), [])
  await good(adas.upload('news.txt', 'moon', { upsert: true }))
  assert.equal(await textOf(bobs, 'news.txt'), 'moon')
  const { signedUrl } = await good(bobs.createSignedUrl('news.txt', 60))
  assert.equal((await fetched(signedUrl)).text, 'moon')
  assert.deepEqual((await good(adas.remove(['news.txt']))).map((each) => each.owner_id), [ada.id])
})

test('a server does what it likes', async () => {
  const files = service.from('papers')

  await good(files.upload(bob.own('gift.txt'), 'for Bob'))
  await good(files.upload('at the root.txt', 'words'))

  assert.equal(await textOf(papers(bob), bob.own('gift.txt')), 'for Bob')
  await good(files.move(bob.own('gift.txt'), ada.own('gift.txt')))
  assert.equal(await textOf(papers(ada), ada.own('gift.txt')), 'for Bob')
  assert.deepEqual(await bad(papers(bob).download(bob.own('gift.txt'))), notFound)
})

test('a person who signs out reads no more', async () => {
  const eve = await person()
  await good(papers(eve).upload(eve.own('a.txt'), 'words'))

  await eve.client.auth.signOut()

  assert.deepEqual(await bad(papers(eve).download(eve.own('a.txt'))), notFound)
})

test('the tables of storage are not offered to clients', async () => {
  for (const client of [ada.client, withKey(process.env.SERVICE_ROLE_KEY)]) {
    const { error } = await client.schema('storage').from('objects').delete().eq('bucket_id', 'papers')

    assert.equal(error.code, 'PGRST106')
  }
})
