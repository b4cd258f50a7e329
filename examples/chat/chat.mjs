// A room of the chat, for the page and for the script alike: rows for what is said, presence for who is here, broadcasts
// for who is typing. What is shown is `view`, told anew at every change.

/** Enter a room. `show` is called with `{ messages, people, typing }`, oldest message first. */
export async function enter(client, room, name, show) {
  const view = { messages: [], people: [], typing: [] }
  const timers = new Map()
  const told = () => show(structuredClone(view))
  const channel = client.channel(`chat:${room}`, { config: { presence: { key: name } } })

  channel
    .on('postgres_changes', { event: 'INSERT', schema: 'public', table: 'messages', filter: `room=eq.${room}` }, ({ new: row }) => add(row))
    .on('presence', { event: 'sync' }, () => {
      view.people = Object.keys(channel.presenceState()).sort()
      told()
    })
    .on('broadcast', { event: 'typing' }, ({ payload }) => {
      clearTimeout(timers.get(payload.name))
      timers.set(payload.name, setTimeout(() => stop(payload.name), 2000))
      view.typing = [...timers.keys()]
      told()
    })

  function add(row) {
    if (view.messages.some((each) => each.id === row.id)) return // read with the table already
    view.messages.push(row)
    view.messages.sort((one, other) => one.id - other.id)
    stop(row.name)
  }
  function stop(who) {
    clearTimeout(timers.get(who))
    timers.delete(who)
    view.typing = [...timers.keys()]
    told()
  }
  /** Read what was said before, and all of it anew after a gap. */
  async function read() {
    const { data, error } = await client.from('messages').select().eq('room', room).order('id', { ascending: false }).limit(100)
    if (error) throw error
    data.forEach(add)
    told()
  }

  // First listen, then read: what is said in between comes by both ways, and is shown once.
  await new Promise((resolve, reject) => {
    channel.on('system', {}, ({ extension, status, message }) => {
      if (extension !== 'postgres_changes') return
      if (status === 'ok') resolve()
      else if (message.startsWith('gap: ')) read()
      else reject(new Error(message))
    })
    channel.subscribe(async (status, error) => {
      if (status === 'SUBSCRIBED') await channel.track({ since: Date.now() }) // after every reconnect, too
      else if (status === 'CHANNEL_ERROR' && error?.message.includes('Unauthorized')) reject(error)
    })
  })
  await read()

  return {
    say: async (body) => {
      const { error } = await client.from('messages').insert({ room, name, body })
      if (error) throw error
    },
    type: () => channel.send({ type: 'broadcast', event: 'typing', payload: { name } }),
    leave: () => client.removeChannel(channel),
  }
}
