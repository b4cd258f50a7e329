// The page: signs a visitor up, enters the room that the address names (`?room=`), and draws what `chat.mjs` tells.
import { enter } from './chat.mjs'
import { resuming } from './resuming.mjs'

const { url, key } = await (await fetch('config.json')).json()
const client = supabase.createClient(url, key, { realtime: { transport: resuming() } })
const room = new URLSearchParams(location.search).get('room') ?? 'lobby'
const name = prompt('Your name?') || 'somebody'
const { data: { session } } = await client.auth.getSession()
if (!session) {
  const { error } = await client.auth.signUp({ email: `${crypto.randomUUID()}@example.com`, password: crypto.randomUUID() })
  if (error) throw error
}

const place = (id) => document.getElementById(id)
const line = ({ name, body }) => {
  const item = document.createElement('li')
  item.textContent = `${name}: ${body}`
  return item
}
const chat = await enter(client, room, name, ({ messages, people, typing }) => {
  place('people').textContent = `In ${room}: ${people.join(', ')}`
  place('messages').replaceChildren(...messages.map(line))
  const others = typing.filter((each) => each !== name)
  place('typing').textContent = others.length ? `${others.join(', ')} typing…` : '\u00a0'
})
const form = document.querySelector('form')
form.addEventListener('input', () => chat.type())
form.addEventListener('submit', async (event) => {
  event.preventDefault()
  const { value } = form.body
  if (!value) return
  form.reset()
  await chat.say(value)
})
