// A private gallery: somebody signs up, keeps pictures in a folder that only they can open, and hands out addresses.
// Environment: API_URL, ANON_KEY and SERVICE_ROLE_KEY, as `headwater status -o env` prints them.
import { randomUUID } from 'node:crypto'
import { readFile, readdir, writeFile } from 'node:fs/promises'
import { createClient } from '@supabase/supabase-js'
import WebSocket from 'ws' // Node 20 has none of its own

const { API_URL, ANON_KEY, SERVICE_ROLE_KEY } = process.env
if (!API_URL || !ANON_KEY || !SERVICE_ROLE_KEY) {
  console.error('Set the environment first:  set -a; eval "$(headwater status -o env)"; set +a')
  process.exit(2)
}
const connect = (key) => createClient(API_URL, key, { auth: { persistSession: false }, realtime: { transport: WebSocket } })
const HOUR = 3600

// 1. The server makes the bucket once. schema.sql holds the policies: everybody has a folder named by their id.
const server = connect(SERVICE_ROLE_KEY)
const { error } = await server.storage.createBucket('gallery', { public: false, fileSizeLimit: '10mb', allowedMimeTypes: ['image/*'] })
if (error && error.statusCode !== '409') throw error // 409: it is there from last time

// 2. Somebody signs up and uploads. The picture is stored as it is: WebP, AVIF and small ones are made when they are asked for.
const visitor = connect(ANON_KEY)
const email = `painter-${randomUUID().slice(0, 8)}@example.com`
const { user } = await done(visitor.auth.signUp({ email, password: 'over the river' }))
const pictures = visitor.storage.from('gallery')
const samples = new URL('samples/', import.meta.url)
for (const name of await readdir(samples)) {
  const body = new Blob([await readFile(new URL(name, samples))], { type: 'image/svg+xml' })
  const { path } = await done(pictures.upload(`${user.id}/${name}`, body, { cacheControl: '86400', metadata: { title: name.split('.')[0] } }))
  console.log(`uploaded ${path}`)
}

// 3. What others see of it: nothing.
const stranger = connect(ANON_KEY).storage.from('gallery')
if ((await done(stranger.list(user.id))).length) throw new Error('a stranger sees the folder')
console.log('a stranger sees nothing')

// 4. Addresses that open one picture for an hour, in the size and format that the page wants.
const cards = []
for (const { name } of await done(pictures.list(user.id, { sortBy: { column: 'name', order: 'asc' } }))) {
  const path = `${user.id}/${name}`
  const { metadata } = await done(pictures.info(path))
  const small = await signed(path, { transform: { width: 320, height: 320, resize: 'cover', format: 'webp', quality: 75 } })
  const large = await signed(path, { transform: { width: 1600, resize: 'contain', format: 'avif' } })
  const original = await signed(path, { download: name })
  const sizes = await Promise.all([small, large, original].map(weigh))
  console.log(`${metadata.title}: ${sizes.join(', ')}\n  ${small}`)
  cards.push({ title: metadata.title, small, large, original })
}
await writeFile('gallery.html', page(cards))
console.log(`gallery.html shows ${cards.length} pictures for an hour`)

async function signed(path, options) {
  return (await done(pictures.createSignedUrl(path, HOUR, options))).signedUrl
}

/** Open an address as a browser would, without any key; give type and size of what comes. */
async function weigh(url) {
  const answer = await fetch(url)
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`)
  return `${answer.headers.get('content-type')} of ${(await answer.arrayBuffer()).byteLength} bytes`
}

function page(entries) {
  const safe = (text) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')
  const figures = entries.map(({ title, small, large, original }) => `    <figure>
      <a href="${safe(large)}"><img src="${safe(small)}" width="320" height="320" alt="${safe(title)}"></a>
      <figcaption>${safe(title)} · <a href="${safe(original)}">original</a></figcaption>
    </figure>`)
  return `<!doctype html>
<html lang="en">
  <meta charset="utf-8">
  <title>Gallery</title>
  <style>body { display: flex; flex-wrap: wrap; gap: 1rem; font-family: sans-serif } figure { margin: 0 }</style>
  <body>
${figures.join('\n')}
  </body>
</html>
`
}

/** Give the data of a call, or end with its error. */
async function done(call) {
  const { data, error } = await call
  if (error) throw new Error(`${error.code ?? error.name}: ${error.message}`)
  return data
}
