// Signed addresses: to read one object or many, to write one.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { claimsOf, signed } from './auth-people.mjs'
import { anonymous, bad, bucket, exists, fetched, forbidden, good, noBucket, notFound, person, refused, service, textOf } from './storage-people.mjs'

let own
before(async () => {
  own = await bucket()
  for (const key of ['a folder/words.txt', 'other.txt', 'ünï 日本.txt']) await good(own.files.upload(key, `words of ${key}`))
})
const tokenOf = (url) => new URL(url).searchParams.get('token')

test('whoever has a signed address reads its object', async () => {
  const { signedUrl } = await good(own.files.createSignedUrl('a folder/words.txt', 60))

  const { status, text, headers } = await fetched(signedUrl)

  assert.deepEqual([status, text], [200, 'words of a folder/words.txt'])
  const { url, scope, iat, exp } = claimsOf(tokenOf(signedUrl))
  assert.deepEqual([url, scope, exp - iat], [`${own.id}/a folder/words.txt`, 'download', 60])
  assert.deepEqual([headers.get('cache-control'), Date.parse(headers.get('expires'))], [null, exp * 1000])
  assert.equal((await fetched(signedUrl, { headers: { range: 'bytes=0-4' } })).text, 'words')
  assert.equal((await fetched(signedUrl, { method: 'HEAD' })).status, 200)
})

test('a signed address may ask for a download, under a name', async () => {
  const named = async (options) => {
    const { signedUrl } = await good(own.files.createSignedUrl('a folder/words.txt', 60, options))
    return (await fetched(signedUrl)).headers.get('content-disposition')
  }

  assert.equal(await named(), null)
  assert.equal(await named({ download: true }), 'attachment;')
  assert.equal(await named({ download: 'a b.txt', cacheNonce: '1' }), "attachment; filename=a%20b.txt; filename*=UTF-8''a%20b.txt")
})

test('a key in any script is signed', async () => {
  const { signedUrl } = await good(own.files.createSignedUrl('ünï 日本.txt', 60))

  assert.equal((await fetched(signedUrl)).text, 'words of ünï 日本.txt')
})

test('many addresses are signed at once; those of nothing say so', async () => {
  const paths = ['a folder/words.txt', 'none.txt', 'other.txt']

  const entries = await good(own.files.createSignedUrls(paths, 60, { download: 'x.txt' }))

  assert.deepEqual(entries.map((each) => each.path), paths)
  assert.deepEqual(entries[1], { error: 'Either the object does not exist or you do not have access to it', path: 'none.txt', signedURL: null, signedUrl: null })
  for (const { error, signedUrl, path } of [entries[0], entries[2]]) {
    const { text, headers } = await fetched(signedUrl)
    assert.deepEqual([error, text], [null, `words of ${path}`])
    assert.match(headers.get('content-disposition'), /x\.txt/)
  }
})

test('what nobody may see is not signed', async () => {
  assert.deepEqual(await bad(own.files.createSignedUrl('none.txt', 60)), notFound)
  assert.deepEqual(await bad(service.from('no-such-bucket').createSignedUrl('a.txt', 60)), noBucket)
  assert.deepEqual(await bad(anonymous.from(own.id).createSignedUrl('other.txt', 60)), notFound)
  assert.deepEqual((await good(anonymous.from(own.id).createSignedUrls(['other.txt'], 60))).map((each) => each.signedUrl), [null])
  assert.deepEqual(await bad(own.files.createSignedUrl('other.txt', 0)), refused(400, 'InvalidRequest', 'body/expiresIn must be >= 1'))
  assert.deepEqual(await bad(own.files.createSignedUrl('other.txt', 604801)), refused(400, 'InvalidRequest', 'body/expiresIn must be <= 604800'))
})

test('a token opens one object, for one use, for a time', async () => {
  const { signedUrl } = await good(own.files.createSignedUrl('other.txt', 60))
  const token = tokenOf(signedUrl)
  const claims = claimsOf(token)
  const open = async (one, url = signedUrl) => {
    const asked = new URL(url)
    asked.searchParams.set('token', one)
    const { status, text } = await fetched(asked)
    return [status, JSON.parse(text).code]
  }

  assert.deepEqual(await open(token, signedUrl.replace('other.txt', 'a%20folder/words.txt')), [400, 'InvalidSignature'])
  assert.deepEqual(await open(signed({ ...claims, exp: claims.iat - 1 })), [400, 'InvalidJWT'])
  assert.deepEqual(await open(signed(claims, 'another-secret-that-is-long-enough')), [400, 'InvalidJWT'])
  assert.deepEqual(await open('words'), [400, 'InvalidJWT'])
  assert.deepEqual(await open(process.env.SERVICE_ROLE_KEY), [400, 'InvalidSignature'])
  assert.equal((await bad(anonymous.from(own.id).uploadToSignedUrl('other.txt', token, 'x'))).code, 'InvalidSignature')
  assert.equal((await fetched(signedUrl)).status, 200)
})

test('whoever has a signed address writes its object, once', async () => {
  const { signedUrl, token, path } = await good(own.files.createSignedUploadUrl('up/loaded.txt'))
  const files = anonymous.from(own.id)

  const uploaded = await good(files.uploadToSignedUrl(path, token, new Blob(['words'], { type: 'text/csv' }), { metadata: { a: 1 }, cacheControl: '9' }))

  const info = await good(own.files.info('up/loaded.txt'))
  assert.deepEqual(uploaded, { path: 'up/loaded.txt', fullPath: `${own.id}/up/loaded.txt` })
  assert.deepEqual([info.contentType, info.metadata, info.cacheControl], ['text/csv', { a: 1 }, 'max-age=9'])
  assert.ok(signedUrl.includes(token))
  const { scope, exp, iat, upsert } = claimsOf(token)
  assert.deepEqual([scope, exp - iat, upsert], ['upload', 7200, false])
  assert.deepEqual(await bad(files.uploadToSignedUrl(path, token, 'more words')), exists)
  assert.deepEqual(await bad(files.uploadToSignedUrl(path, token, 'more words', { upsert: true })), exists)
  assert.deepEqual(await bad(own.files.createSignedUploadUrl('up/loaded.txt')), exists)
  assert.equal(await textOf(own.files, 'up/loaded.txt'), 'words')
})

test('an address that replaces is used as often as one likes', async () => {
  const { token, path } = await good(own.files.createSignedUploadUrl('up/often.txt', { upsert: true }))

  for (const text of ['one', 'two', 'three']) {
    await good(anonymous.from(own.id).uploadToSignedUrl(path, token, text))
    assert.equal(await textOf(own.files, path), text)
  }
})

test('an address is signed only by who may write, and what is written is his', async () => {
  const ada = await person()
  const files = ada.storage.from('papers')

  assert.deepEqual(await bad(files.createSignedUploadUrl('nobody/a.txt')), forbidden)
  assert.deepEqual(await bad(anonymous.from('papers').createSignedUploadUrl(ada.own('a.txt'))), forbidden)
  const { token, path } = await good(files.createSignedUploadUrl(ada.own('a.txt')))
  assert.equal((await bad(anonymous.from('papers').uploadToSignedUrl(ada.own('b.txt'), token, 'x'))).code, 'InvalidSignature')
  await good(anonymous.from('papers').uploadToSignedUrl(path, token, 'words'))
  assert.equal(await textOf(files, path), 'words')
  assert.equal((await good(service.from('papers').remove([path])))[0].owner_id, ada.id)
})
