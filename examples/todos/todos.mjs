// Todos with the official client. Run: node todos.mjs (it reads API_URL and ANON_KEY from the environment,
// as `headwater status -o env` prints them).
import { randomUUID } from 'node:crypto'
import { createClient } from '@supabase/supabase-js'
import WebSocket from 'ws' // Node 20 has none of its own

const { API_URL, ANON_KEY } = process.env
if (!API_URL || !ANON_KEY) {
  console.error('Set the environment first:  set -a; eval "$(headwater status -o env)"; set +a')
  process.exit(2)
}

// Two people who sign up; new accounts are confirmed at once unless the project wants it otherwise.
async function signUp(name) {
  const db = createClient(API_URL, ANON_KEY, { auth: { persistSession: false }, realtime: { transport: WebSocket } })
  const email = `${name}-${randomUUID()}@example.com`
  const { error } = await db.auth.signUp({ email, password: 'over the river' })
  if (error) throw new Error(`${error.code}: ${error.message}`)
  return db
}

function rows({ data, error }) {
  if (error) throw new Error(`${error.code}: ${error.message}`)
  return data
}

const ada = await signUp('ada')
const grace = await signUp('grace')

const todo = rows(await ada.from('todos').insert({ title: 'Measure the river' }).select().single())
rows(await ada.from('tags').insert([{ todo_id: todo.id, name: 'water' }, { todo_id: todo.id, name: 'field' }]))
console.log('Ada sees', JSON.stringify(rows(await ada.from('todos').select('title, done, tags(name)'))))
console.log('Grace sees', JSON.stringify(rows(await grace.from('todos').select('title'))))
console.log('Finished', rows(await ada.rpc('finish_all')))
console.log('Open now', rows(await ada.from('todos').select('id').eq('done', false)).length)
rows(await ada.from('todos').delete().eq('id', todo.id))
