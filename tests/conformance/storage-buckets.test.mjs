// Buckets: made, looked at, listed, changed, emptied, deleted; and what is offered elsewhere, but not here.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { anonymous, bad, bucket, good, noBucket, notFound, ownService, refused, service } from './storage-people.mjs'

test('a bucket is made, and looked at', async () => {
  const id = `b-${randomUUID()}`

  const made = await good(service.createBucket(id, { public: true, fileSizeLimit: '2mb', allowedMimeTypes: ['image/*', 'text/plain'] }))

  const { created_at, updated_at, ...shown } = await good(service.getBucket(id))
  assert.deepEqual(made, { name: id })
  assert.deepEqual(shown, {
    id, name: id, public: true, owner: '', file_size_limit: 2_000_000, allowed_mime_types: ['image/*', 'text/plain'],
  })
  assert.match(created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.equal(created_at, updated_at)
  assert.deepEqual(await bad(service.createBucket(id)), refused(409, 'BucketAlreadyExists', 'The resource already exists'))
  await good(service.deleteBucket(id))
})

test('a bucket is private and without limits, unless something is said', async () => {
  const { id } = await bucket(undefined)

  const { file_size_limit, allowed_mime_types, public: isPublic } = await good(service.getBucket(id))

  assert.deepEqual([isPublic, file_size_limit, allowed_mime_types], [false, null, null])
})

test('buckets are listed: searched, sorted, in pages', async () => {
  const mark = randomUUID()
  for (const name of ['Cherry', 'apple', 'banana']) await good(service.createBucket(`${name}-${mark}`))
  const names = async (options) => (await good(service.listBuckets({ search: mark, ...options }))).map((each) => each.name.split('-')[0])

  assert.deepEqual((await names()).toSorted(), ['Cherry', 'apple', 'banana'])
  assert.deepEqual(await names({ sortColumn: 'created_at', sortOrder: 'desc' }), ['banana', 'apple', 'Cherry'])
  assert.deepEqual(await names({ sortColumn: 'created_at', limit: 1, offset: 1 }), ['apple'])
  assert.deepEqual(await names({ search: `ANANA-${mark}`.toUpperCase() }), ['banana'])
  assert.deepEqual(await names({ search: '%' }), [])
  const all = await good(service.listBuckets())
  assert.ok(all.length >= 3)
  assert.ok(all.every((each) => each.type === 'STANDARD'))
  for (const name of ['Cherry', 'apple', 'banana']) await good(service.deleteBucket(`${name}-${mark}`))
})

test('a bucket is changed: what is not said stays', async () => {
  const { id } = await bucket({ public: false, fileSizeLimit: 1000, allowedMimeTypes: ['text/*'] })

  assert.deepEqual(await good(service.updateBucket(id, { public: true, fileSizeLimit: '2kb' })), { message: 'Successfully updated' })

  const changed = await good(service.getBucket(id))
  assert.deepEqual([changed.public, changed.file_size_limit, changed.allowed_mime_types], [true, 2000, ['text/*']])
  await good(service.updateBucket(id, { public: true, fileSizeLimit: null, allowedMimeTypes: null }))
  const freed = await good(service.getBucket(id))
  assert.deepEqual([freed.file_size_limit, freed.allowed_mime_types], [null, null])
  assert.deepEqual(await bad(service.updateBucket(randomUUID(), { public: true })), noBucket)
})

test('a bucket is deleted once it is empty', async () => {
  const { id, files } = await bucket()
  await good(files.upload('a/b.txt', 'words'))

  const full = await bad(service.deleteBucket(id))
  const { message } = await good(service.emptyBucket(id))
  const deleted = await good(service.deleteBucket(id))

  assert.deepEqual(full, refused(409, 'ResourceNotEmpty', 'The bucket you tried to delete is not empty'))
  assert.match(message, /^Empty bucket has been queued/)
  assert.deepEqual(deleted, { message: 'Successfully deleted' })
  assert.deepEqual(await bad(service.getBucket(id)), noBucket)
  assert.deepEqual(await bad(service.deleteBucket(id)), noBucket)
  assert.deepEqual(await bad(files.download('a/b.txt')), noBucket)
})

test('names and limits of buckets have bounds', async () => {
  const nameless = refused(400, 'InvalidBucketName', 'Bucket name invalid')
  assert.deepEqual(await bad(service.createBucket(' spaced')), nameless)
  assert.deepEqual(await bad(service.createBucket('a/b')), nameless)
  assert.deepEqual(await bad(service.createBucket('x'.repeat(101))), nameless)
  assert.deepEqual(await bad(service.createBucket(`b-${randomUUID()}`, { fileSizeLimit: '6000gb' })),
    refused(413, 'EntityTooLarge', 'The object exceeded the maximum allowed size'))
  assert.equal((await bad(service.createBucket(`b-${randomUUID()}`, { allowedMimeTypes: ['words'] }))).statusCode, '415')
})

test('only a server makes, changes and empties buckets', async () => {
  const { id } = await bucket({ public: true })

  assert.deepEqual(await bad(anonymous.createBucket(`b-${randomUUID()}`)),
    refused(403, 'AccessDenied', 'new row violates row-level security policy'))
  assert.deepEqual(await bad(anonymous.updateBucket(id, { public: false })), noBucket)
  assert.deepEqual(await bad(anonymous.deleteBucket(id)), noBucket)
  const role = refused(403, 'AccessDenied', 'Access denied: Invalid role', 403)
  assert.deepEqual(await bad(anonymous.emptyBucket(id)), role)
  assert.deepEqual(await bad(anonymous.purgeBucketCache(id)), role)
  assert.deepEqual(await good(anonymous.listBuckets({ search: 'papers' })), [])
  assert.deepEqual((await good(anonymous.listBuckets({ search: 'avatars' }))).map((each) => each.id), ['avatars'])
})

test('what is made of a bucket is purged', async () => {
  const { id } = await bucket()

  for (const options of [{}, { transformations: true }]) {
    assert.equal((await good(service.purgeBucketCache(id, options))).message, 'success')
  }
})

test('what is not offered here says so', async () => {
  const { id } = await bucket()
  const off = refused(409, 'FeatureNotEnabled', 'The feature ANALYTICS bucket is not enabled for this resource')
  const lifecycle = refused(409, 'FeatureNotEnabled', 'The feature lifecycle is not enabled for this resource')

  assert.deepEqual(await bad(service.createBucket(`b-${randomUUID()}`, { type: 'ANALYTICS' })), off)
  assert.equal((await bad(service.createBucket(`b-${randomUUID()}`, { versioningStatus: 'ENABLED' }))).code, 'FeatureNotEnabled')
  assert.equal((await bad(service.updateBucket(id, { public: true, versioningStatus: 'ENABLED' }))).code, 'FeatureNotEnabled')
  assert.deepEqual(await bad(service.getBucketLifecycle(id)), lifecycle)
  assert.deepEqual(await bad(service.updateBucketLifecycle(id, { rules: [] })), lifecycle)
  assert.deepEqual(await bad(service.deleteBucketLifecycle(id)), lifecycle)
  assert.equal((await bad(service.analytics.listBuckets())).status, 404)
  assert.equal((await bad(service.vectors.listBuckets())).status, 404)
})

test('a client throws instead, and sends headers of its own', async () => {
  const client = ownService().throwOnError().setHeader('x-request-id', 'from-a-test')

  await assert.rejects(client.getBucket(randomUUID()), { name: 'StorageApiError', statusCode: '404' })
  await assert.rejects(client.from('papers').throwOnError().download('none'), { name: 'StorageApiError', code: notFound.code })
})
