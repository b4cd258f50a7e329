// The items of the lists that the signed-in user may see: a copy on the device that follows the database, and an outbox for writes.
import { createCollection } from '@tanstack/db'
import { electricCollectionOptions } from '@tanstack/electric-db-collection'
import { NonRetriableError, startOfflineExecutor } from '@tanstack/offline-transactions'

const KEPT = 'tags of own writes'

/**
 * The one window that has the outbox, and its successors. The library's own election asks once: a window that opens while another one is
 * there, or is just closing, would never have an outbox, and what is written in it without a network would be lost.
 */
function oneWindow(name) {
  let leads = false
  const listeners = new Set()
  let release = () => {}
  const held = new Promise((resolve) => { release = resolve })
  return {
    isLeader: () => leads,
    async requestLeadership() {
      return new Promise((answer) => {
        navigator.locks.request(name, { ifAvailable: true }, (lock) => {
          leads = lock !== null
          answer(leads)
          return leads ? held : undefined
        })
      })
    },
    releaseLeadership: () => release(),
    onLeadershipChange(listener) {
      listeners.add(listener)
      if (!leads) {
        navigator.locks.request(name, () => {
          leads = true
          for (const one of listeners) one(true)
          return held
        })
      }
      return () => listeners.delete(listener)
    },
  }
}

/**
 * Open the items of a user; fulfilled when writes can be made. `onRefused` is called with a message when the database refuses a write for
 * good, `onConflict` with both versions of an item that somebody else changed first: what this device wanted and what is there (null: it is
 * gone). The write is undone by then.
 *
 * One window has the outbox. Writes of the others are sent at once, and undone where there is no network: `onRefused` says so.
 */
export async function openItems({ supabase, url, key, onRefused, onConflict }) {
  const token = async () => (await supabase.auth.getSession()).data.session?.access_token
  const authorization = async () => `Bearer ${await token()}`
  const items = createCollection(electricCollectionOptions({
    id: 'items',
    getKey: (row) => row.id,
    shapeOptions: {
      url: `${url}/sync/v1/shape`,
      params: { table: 'list_items', etags: 'true' }, // each row carries the tag that If-Match takes
      headers: { apikey: key, authorization },
      onError: (error) => (error.status === 401 ? {} : undefined), // the next attempt takes the new token
    },
  }))

  /** Send one write; return the number of its transaction. Throws NonRetriableError where another attempt would end the same. */
  async function send(mutation, seen, idempotencyKey) {
    const { type, modified, changes } = mutation
    const known = JSON.parse(localStorage.getItem(KEPT) ?? '{}')
    const own = known[modified.id]
    // Several writes on top of one version follow each other: only what others wrote is a conflict.
    const tag = own && own.seen === seen ? own.now : seen
    const [method, condition, body] = {
      insert: ['PUT', { 'if-none-match': '*' }, modified],
      update: ['PATCH', tag ? { 'if-match': tag } : {}, changes],
      delete: ['DELETE', {}, undefined],
    }[type]
    const answer = await fetch(`${url}/rest/v1/list_items?id=eq.${modified.id}`, {
      method,
      body: body && JSON.stringify(body),
      headers: {
        apikey: key,
        authorization: await authorization(),
        'content-type': 'application/json',
        prefer: 'return=representation',
        'idempotency-key': idempotencyKey,
        ...condition,
      },
    })
    if (answer.status === 401 || answer.status === 429 || answer.status >= 500) throw new Error(`not now: ${answer.status}`)
    const rows = await answer.json().catch(() => [])
    if (answer.status === 412) {
      localStorage.setItem(KEPT, JSON.stringify({ ...known, [modified.id]: undefined }))
      throw Object.assign(new NonRetriableError('somebody else was first'), { theirs: rows.current?.[0] ?? null })
    }
    if (!answer.ok) throw new NonRetriableError(`refused: ${rows.message}`)
    const now = answer.headers.get('etag')
    if (now) localStorage.setItem(KEPT, JSON.stringify({ ...known, [modified.id]: { seen, now } }))
    return Number(answer.headers.get('headwater-txid'))
  }

  const outbox = startOfflineExecutor({
    collections: { items },
    leaderElection: oneWindow('outbox of items'),
    mutationFns: {
      async write({ transaction, idempotencyKey }) {
        for (const [place, mutation] of transaction.mutations.entries()) {
          try {
            const txid = await send(mutation, transaction.metadata.seen, `${idempotencyKey}/${place}`)
            // The write is confirmed once it has come back with the rows; a row that is out of sight by then never does.
            if (txid) await items.utils.awaitTxId(txid, 10_000).catch(() => undefined)
          } catch (error) {
            if ('theirs' in error) onConflict({ mine: mutation.modified, theirs: error.theirs, changes: mutation.changes })
            else if (error instanceof NonRetriableError) onRefused(`${mutation.modified.title}: ${error.message}`)
            throw error
          }
        }
      },
    },
  })

  await outbox.waitForInit() // a write before this would be sent once and not be kept

  function write(change) {
    const metadata = {}
    const transaction = outbox.createOfflineTransaction({ mutationFnName: 'write', autoCommit: false, metadata })
    // What the user saw when the write was made; it is kept with the write, also over a reload.
    metadata.seen = transaction.mutate(change).mutations[0]?.syncMetadata.etag ?? null
    transaction.commit().catch((error) => {
      // A write from the outbox fails for good or not at all, and has been reported; one of a window without it has one attempt.
      if (!(error instanceof NonRetriableError)) onRefused(`not written, another window has the outbox: ${error.message}`)
    })
  }

  return {
    items,
    outbox,
    add: (listId, title) => write(() => items.insert({ id: crypto.randomUUID(), list_id: listId, title, done: false })),
    change: (id, changes) => write(() => items.update(id, (draft) => Object.assign(draft, changes))),
    remove: (id) => write(() => items.delete(id)),
  }
}
