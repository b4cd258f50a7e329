// The items of the lists that the signed-in user may see: a copy on the device that follows the database, and an outbox for writes.
import { createCollection } from '@tanstack/db'
import { electricCollectionOptions } from '@tanstack/electric-db-collection'
import { NonRetriableError, startOfflineExecutor } from '@tanstack/offline-transactions'

const KEPT = 'versions of own writes'

/** Open the items of a user. `onRefused` is called with a message when the database refuses a write for good; it is undone by then. */
export function openItems({ supabase, url, key, onRefused }) {
  const token = async () => (await supabase.auth.getSession()).data.session?.access_token
  const authorization = async () => `Bearer ${await token()}`
  const items = createCollection(electricCollectionOptions({
    id: 'items',
    getKey: (row) => row.id,
    shapeOptions: {
      url: `${url}/sync/v1/shape`,
      params: { table: 'list_items' },
      headers: { apikey: key, authorization },
      onError: (error) => (error.status === 401 ? {} : undefined), // the next attempt takes the new token
    },
  }))

  /** Send one write; return the number of its transaction. Throws NonRetriableError where another attempt would end the same. */
  async function send(mutation, idempotencyKey) {
    const { type, modified, original, changes } = mutation
    const known = JSON.parse(localStorage.getItem(KEPT) ?? '{}')
    // Versions that this device has written follow each other: only those of others are a conflict.
    const version = Math.max(original.version ?? 0, known[modified.id] ?? 0)
    const place = `${url}/rest/v1/list_items`
    const [method, address, body] = {
      insert: ['POST', place, modified],
      update: ['PATCH', `${place}?id=eq.${modified.id}&version=eq.${version}`, changes],
      delete: ['DELETE', `${place}?id=eq.${modified.id}`, undefined],
    }[type]
    const answer = await fetch(address, {
      method,
      body: body && JSON.stringify(body),
      headers: {
        apikey: key,
        authorization: await authorization(),
        'content-type': 'application/json',
        prefer: 'return=representation',
        'idempotency-key': idempotencyKey,
      },
    })
    if (answer.status === 401 || answer.status === 429 || answer.status >= 500) throw new Error(`not now: ${answer.status}`)
    const rows = await answer.json().catch(() => [])
    if (!answer.ok) throw new NonRetriableError(`refused: ${rows.message}`)
    if (type === 'update' && rows.length === 0) throw new NonRetriableError('somebody else changed it before')
    if (type !== 'delete') localStorage.setItem(KEPT, JSON.stringify({ ...known, [modified.id]: rows[0].version }))
    return Number(answer.headers.get('headwater-txid'))
  }

  const outbox = startOfflineExecutor({
    collections: { items },
    mutationFns: {
      async write({ transaction, idempotencyKey }) {
        for (const [place, mutation] of transaction.mutations.entries()) {
          try {
            const txid = await send(mutation, `${idempotencyKey}/${place}`)
            // The write is confirmed once it has come back with the rows; a row that is out of sight by then never does.
            if (txid) await items.utils.awaitTxId(txid, 10_000).catch(() => undefined)
          } catch (error) {
            if (error instanceof NonRetriableError) onRefused(`${mutation.modified.title}: ${error.message}`)
            throw error
          }
        }
      },
    },
  })

  function write(change) {
    const transaction = outbox.createOfflineTransaction({ mutationFnName: 'write', autoCommit: false })
    transaction.mutate(change)
    transaction.commit().catch(() => undefined) // `onRefused` has it
  }

  return {
    items,
    outbox,
    add: (listId, title) => write(() => items.insert({ id: crypto.randomUUID(), list_id: listId, title, done: false })),
    change: (id, changes) => write(() => items.update(id, (draft) => Object.assign(draft, changes))),
    remove: (id) => write(() => items.delete(id)),
  }
}
