// Todos with the official client. Run: node todos.mjs (it reads API_URL, ANON_KEY and JWT_SECRET from the environment,
// as `headwater status -o env` prints them).
import { createHmac, randomUUID } from 'node:crypto'
import { createClient } from '@supabase/supabase-js'
import WebSocket from 'ws' // Node 20 has none of its own

const { API_URL, ANON_KEY, JWT_SECRET } = process.env
if (!API_URL || !ANON_KEY || !JWT_SECRET) {
  console.error('Set the environment first:  set -a; eval "$(headwater status -o env)"; set +a')
  process.exit(2)
}

// Until the accounts area is built, the example signs its own access tokens with the platform's secret.
function signIn(user) {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const now = Math.floor(Date.now() / 1000)
  const claims = { sub: user, role: 'authenticated', aud: 'authenticated', iat: now, exp: now + 3600 }
  const unsigned = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`
  const token = `${unsigned}.${createHmac('sha256', JWT_SECRET).update(unsigned).digest('base64url')}`
  return createClient(API_URL, ANON_KEY, { accessToken: async () => token, realtime: { transport: WebSocket } })
}

function rows({ data, error }) {
  if (error) throw new Error(`${error.code}: ${error.message}`)
  return data
}

const ada = signIn(randomUUID())
const grace = signIn(randomUUID())

const todo = rows(await ada.from('todos').insert({ title: 'Measure the river' }).select().single())
rows(await ada.from('tags').insert([{ todo_id: todo.id, name: 'water' }, { todo_id: todo.id, name: 'field' }]))
console.log('Ada sees', JSON.stringify(rows(await ada.from('todos').select('title, done, tags(name)'))))
console.log('Grace sees', JSON.stringify(rows(await grace.from('todos').select('title'))))
console.log('Finished', rows(await ada.rpc('finish_all')))
console.log('Open now', rows(await ada.from('todos').select('id').eq('done', false)).length)
rows(await ada.from('todos').delete().eq('id', todo.id))
