// A transport for supabase-js whose channels lose no row changes with a connection: after a reconnect each goes on behind
// what it heard last (the join option `resume`, docs/realtime.md). createClient(url, key, { realtime: { transport: resuming() } })

/** Make the transport out of a WebSocket class. It keeps, for each topic, the position up to which nothing is missing. */
export function resuming(Socket = globalThis.WebSocket) {
  const positions = new Map()

  return class ResumingSocket extends Socket {
    constructor(...given) {
      super(...given)
      this.addEventListener('message', ({ data }) => {
        if (typeof data !== 'string' || !data.includes('"position')) return
        const [, , topic, event, payload] = JSON.parse(data)
        if (event === 'postgres_changes') positions.set(topic, payload.data.position) // of a change
        if (event === 'system' && payload.position) positions.set(topic, payload.position) // where the subscription begins
        const idle = topic === 'phoenix' ? payload.response?.positions : {} // of those who heard nothing for long
        for (const [each, position] of Object.entries(idle ?? {})) positions.set(each, position)
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
