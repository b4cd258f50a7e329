// The page: sign in, see the list, write with and without a network.
import { createClient } from '@supabase/supabase-js'
import { openItems } from './items.mjs'

const $ = (id) => document.getElementById(id)
const { url, key } = await (await fetch('config.json')).json()
const supabase = createClient(url, key)

$('sign-in').addEventListener('submit', async (event) => {
  event.preventDefault()
  const { error } = await supabase.auth.signInWithPassword({ email: $('email').value, password: $('password').value })
  if (error) say(error.message)
  else await open()
})

function say(text, ...more) {
  const line = document.createElement('li')
  line.append(text, ...more)
  $('messages').append(line)
}

async function open() {
  $('sign-in').hidden = true
  $('app').hidden = false
  const { items, outbox, add, change, remove } = await openItems({ supabase, url, key, onRefused: say, onConflict: compare })
  let list = localStorage.getItem('list')

  /** Show both versions of an item, and offer to write the own one over the other. */
  function compare({ mine, theirs, changes }) {
    const text = theirs
      ? `somebody else changed it before: "${theirs.title}", ${theirs.done ? 'done' : 'to do'}; yours: "${mine.title}", ${mine.done ? 'done' : 'to do'} `
      : `somebody else removed it before; yours: "${mine.title}" `
    const again = Object.assign(document.createElement('button'), { textContent: 'Write mine', onclick: () => { again.remove(); change(mine.id, changes) } })
    say(text, ...(theirs ? [again] : []))
  }

  function show() {
    const rows = items.toArray.toSorted((one, other) => one.title.localeCompare(other.title))
    list = rows[0]?.list_id ?? list
    if (list) localStorage.setItem('list', list)
    $('items').replaceChildren(...rows.map((row) => {
      const line = document.createElement('li')
      line.dataset.id = row.id
      line.append(
        Object.assign(document.createElement('input'), { type: 'checkbox', checked: row.done, ariaLabel: `done: ${row.title}`, onchange: () => change(row.id, { done: !row.done }) }),
        Object.assign(document.createElement('input'), { value: row.title, ariaLabel: 'title', onchange: (event) => change(row.id, { title: event.target.value }) }),
        Object.assign(document.createElement('button'), { textContent: 'Remove', onclick: () => remove(row.id) }),
      )
      return line
    }))
  }
  async function count() {
    const waiting = (await outbox.peekOutbox()).length
    $('waiting').textContent = `${waiting} waiting${outbox.isOfflineEnabled ? '' : ' in another window'}`
  }
  items.subscribeChanges(() => { show(); count() }, { includeInitialState: true })
  setInterval(count, 500)
  $('add').addEventListener('submit', (event) => {
    event.preventDefault()
    add(list, $('title').value)
    $('title').value = ''
  })
  $('app').dataset.ready = 'true'
}

if ((await supabase.auth.getSession()).data.session) await open()
else $('sign-in').hidden = false
