// Pictures in other sizes and formats: by download, by public and by signed address.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { anonymous, bad, bucket, good, notFound, person } from './storage-people.mjs'
import { measured, png, svg } from './storage-pictures.mjs'

let open, closed
before(async () => {
  [open, closed] = await Promise.all([bucket({ public: true }), bucket()])
  for (const { files } of [open, closed]) {
    await good(files.upload('wide.png', png(400, 200), { contentType: 'image/png', cacheControl: '77' }))
    await good(files.upload('drawing.svg', svg, { contentType: 'image/svg+xml' }))
    await good(files.upload('words.png', 'words', { contentType: 'image/png' }))
  }
})
const shown = async (transform, key = 'wide.png', files = closed.files) => {
  const blob = await good(files.download(key, { transform }))
  return [measured(Buffer.from(await blob.arrayBuffer())), blob.type]
}
const opened = async (url, headers) => {
  const answer = await fetch(url, { headers })
  return { status: answer.status, headers: answer.headers, picture: measured(Buffer.from(await answer.arrayBuffer())) }
}

const sizes = [
  [{ width: 100, height: 100 }, '100x100'],
  [{ width: 100, height: 100, resize: 'cover' }, '100x100'],
  [{ width: 100, height: 100, resize: 'contain' }, '100x50'],
  [{ width: 100, height: 100, resize: 'fill' }, '100x100'],
  [{ width: 100 }, '100x50'],
  [{ height: 50 }, '100x50'],
  [{ width: 100, resize: 'contain' }, '100x50'],
  [{ width: 4000, height: 4000, resize: 'contain' }, '400x200'],
]
for (const [transform, size] of sizes) {
  test(`a picture of 400x200 in the size ${JSON.stringify(transform)}`, async () => {
    assert.deepEqual(await shown({ ...transform, format: 'origin' }), [`png ${size}`, 'image/png'])
  })
}

for (const [format, written] of [['origin', 'png'], ['webp', 'webp'], ['avif', 'avif'], ['jpeg', 'jpeg'], ['jpg', 'jpeg'], ['png', 'png']]) {
  test(`a picture in the format ${format}`, async () => {
    assert.deepEqual(await shown({ width: 64, format }), [`${written} 64x32`, `image/${written}`])
  })
}

test('a picture of less quality is smaller', async () => {
  const size = async (quality) => (await good(closed.files.download('wide.png', { transform: { format: 'jpeg', quality } }))).size

  assert.ok(await size(20) < await size(95))
})

test('the format is that of the source, unless the client takes WebP', async () => {
  const { publicUrl } = open.files.getPublicUrl('wide.png', { transform: { width: 64 } }).data

  const [plain, modern] = [await opened(publicUrl, { accept: '*/*' }), await opened(publicUrl, { accept: 'image/avif,image/webp,*/*' })]

  assert.deepEqual([plain.picture, modern.picture], ['png 64x32', 'webp 64x32'])
  assert.deepEqual([plain.headers.get('vary'), plain.headers.get('cache-control')].map((each) => each.toLowerCase()), ['accept', 'max-age=77'])
  assert.notEqual(plain.headers.get('etag'), modern.headers.get('etag'))
})

test('a public address of a picture', async () => {
  const { publicUrl } = open.files.getPublicUrl('wide.png', {
    download: 'small.png', transform: { width: 80, height: 40, resize: 'contain', quality: 60, format: 'webp' },
  }).data

  const { status, picture, headers } = await opened(publicUrl)

  assert.deepEqual([status, picture], [200, 'webp 80x40'])
  assert.equal(headers.get('x-transformations'), 'height:40,width:80,resizing_type:fit,quality:60,format:webp')
  assert.match(headers.get('content-disposition'), /small\.png/)
  assert.equal((await fetch(publicUrl, { headers: { 'if-none-match': headers.get('etag') } })).status, 304)
})

test('a signed address of a picture: what is made of it stands in the token alone', async () => {
  const transform = { width: 50, height: 50, resize: 'fill', format: 'jpeg', quality: 50 }
  const { signedUrl } = await good(closed.files.createSignedUrl('wide.png', 60, { transform, download: true }))

  const { status, picture, headers } = await opened(signedUrl)

  assert.deepEqual([status, picture, headers.get('content-disposition')], [200, 'jpeg 50x50', 'attachment;'])
  assert.match(new URL(signedUrl).pathname, /\/render\/image\/sign\//)
  assert.equal((await opened(`${signedUrl}&width=10&height=10`)).picture, 'jpeg 50x50')
})

test('drawings stay drawings, unless another format is asked for', async () => {
  assert.deepEqual(await shown({ width: 50 }, 'drawing.svg'), ['svg', 'image/svg+xml'])
  assert.deepEqual(await shown({ width: 50, format: 'png' }, 'drawing.svg'), ['png 50x25', 'image/png'])
})

test('what was made of a picture is made anew when that changes', async () => {
  await good(closed.files.upload('changing.png', png(40, 20), { contentType: 'image/png' }))
  assert.equal((await shown({ height: 10, format: 'origin' }, 'changing.png'))[0], 'png 20x10')

  await good(closed.files.update('changing.png', png(20, 20), { contentType: 'image/png' }))

  assert.equal((await shown({ height: 10, format: 'origin' }, 'changing.png'))[0], 'png 10x10')
  await good(closed.files.purgeCache('changing.png', { transformations: true }))
  assert.equal((await shown({ height: 10, format: 'origin' }, 'changing.png'))[0], 'png 10x10')
})

test('pictures that cannot be', async () => {
  const refusal = async (transform, key = 'wide.png') => {
    const { statusCode, code, message } = await bad(closed.files.download(key, { transform }))
    return [statusCode, code, message]
  }
  const invalid = 'The source image is invalid or unsupported for rendering'

  assert.deepEqual(await refusal({ width: 50, format: 'png' }, 'words.png'), ['400', 'InvalidRequest', invalid])
  assert.deepEqual(await refusal({ width: -1 }), ['400', 'InvalidRequest', 'querystring/width must be >= 0'])
  assert.equal((await refusal({ quality: 101 }))[1], 'InvalidRequest')
  assert.equal((await refusal({ width: 5, format: 'bmp' }))[1], 'InvalidRequest')
  assert.equal((await refusal({ width: 5, resize: 'stretch' }))[1], 'InvalidRequest')
  assert.deepEqual(await bad(closed.files.download('none.png', { transform: { width: 5 } })), notFound)
})

test('policies hold for pictures made of objects', async () => {
  const [ada, bob] = await Promise.all([person(), person()])
  const key = ada.own('me.png')
  await good(ada.storage.from('papers').upload(key, png(100, 100), { contentType: 'image/png' }))
  const transform = { width: 10, format: 'origin' }

  assert.equal((await shown(transform, key, ada.storage.from('papers')))[0], 'png 10x10')
  for (const storage of [bob.storage, anonymous]) {
    assert.deepEqual(await bad(storage.from('papers').download(key, { transform })), notFound)
    assert.deepEqual(await bad(storage.from('papers').createSignedUrl(key, 60, { transform })), notFound)
  }
})
