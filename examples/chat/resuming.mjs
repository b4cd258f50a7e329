// A transport for supabase-js whose channels lose no row changes with a connection: after a reconnect each goes on behind
// the last change it heard (the join option `resume`, docs/realtime.md). createClient(url, key, { realtime: { transport: resuming() } })

/** Make the transport out of a WebSocket class. It keeps, for each topic, the position of the last change. */
export function resuming(Socket = globalThis.WebSocket) {
  const positions = new Map()

  return class ResumingSocket extends Socket {
    constructor(...given) {
      super(...given)
      this.addEventListener('message', ({ data }) => {
        if (typeof data !== 'string' || !data.includes('"postgres_changes"')) return
        const [, , topic, event, payload] = JSON.parse(data)
        if (event === 'postgres_changes' && payload.data.position) positions.set(topic, payload.data.position)
      })
    }

    send(data) {
      super.send(typeof data === 'string' ? withPosition(data, positions) : data)
    }
  }
}

function withPosition(text, positions) {
  if (!text.includes('"phx_join"') && !text.includes('"phx_leave"')) return text
  const [joinRef, ref, topic, event, payload] = JSON.parse(text)
  if (event === 'phx_leave') positions.delete(topic)
  if (event !== 'phx_join' || !positions.has(topic)) return text
  const config = { ...payload.config, resume: positions.get(topic) }
  return JSON.stringify([joinRef, ref, topic, event, { ...payload, config }])
}
