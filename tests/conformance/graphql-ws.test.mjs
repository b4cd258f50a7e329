// Subscriptions with clients that applications use: graphql-ws by itself and under urql. Environment: as in clients.mjs.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Client, fetchExchange, gql, subscriptionExchange } from '@urql/core'
import { GraphQLClient } from 'graphql-request'
import { createClient } from 'graphql-ws'
import { pipe, subscribe } from 'wonka'
import WebSocket from 'ws'

const { API_URL, ANON_KEY, TOKEN_ADA, TOKEN_BOB, TOKEN_EXPIRED } = process.env
const url = `${API_URL.replace(/^http/, 'ws')}/graphql/v1`
const opened = []
const open = (connectionParams, options = {}) => {
  const client = createClient({ url, webSocketImpl: WebSocket, connectionParams, retryAttempts: 5, retryWait: async () => {}, ...options })
  opened.push(client)
  return client
}
const as = (token) => ({ apikey: ANON_KEY, Authorization: `Bearer ${token}` })
const ada = new GraphQLClient(`${API_URL}/graphql/v1`, { headers: as(TOKEN_ADA) })
const write = (what) =>
  ada.request(`mutation ($what: String!) { insertIntowishCollection(objects: [{ shop_id: 1, what: $what }]) { records { id } } }`, { what })
const MINE = 'subscription { wishCollection(orderBy: [{ id: AscNullsLast }]) { totalCount edges { node { what shop { name } } } } }'
const CHANGES = 'subscription ($what: String) { wishChanges(filter: { what: { eq: $what } }) { event node { what shop { name } } old { id } } }'
const whats = ({ data }) => data.wishCollection.edges.map(({ node }) => node.what)

after(async () => {
  for (const client of opened) await client.dispose()
  await ada.request('mutation { deleteFromwishCollection(atMost: 100) { affectedCount } }')
})

// A result that holds; those before it are passed over.
async function until(results, holds) {
  for (;;) {
    const { value, done } = await results.next()
    assert(!done, 'the subscription ended')
    if (holds(value)) return value
  }
}

// Resolves when every change of the next subscription to changes comes for certain: the server says so in a ping.
const begun = (client) => new Promise((resolve) => { const stop = client.on('ping', (_, payload) => { if (payload?.subscribed) { stop(); resolve() } }) })

test('a live query follows what is written, for its own caller', async () => {
  const mine = open(as(TOKEN_ADA)).iterate({ query: MINE })
  const others = open(as(TOKEN_BOB)).iterate({ query: MINE })
  assert.deepEqual(whats((await mine.next()).value), [])
  assert.deepEqual(whats((await others.next()).value), [])
  await write('lamp')
  const seen = await until(mine, (each) => each.data.wishCollection.totalCount === 1)
  assert.equal(seen.data.wishCollection.edges[0].node.shop.name, 'Bakery')
  await write('rug')
  assert.deepEqual(whats(await until(mine, (each) => each.data.wishCollection.totalCount === 2)), ['lamp', 'rug'])
  await mine.return()
  await others.return()
})

test('row changes come with their row, filtered by a variable', async () => {
  const client = open(as(TOKEN_ADA))
  const ready = begun(client)
  const changes = client.iterate({ query: CHANGES, variables: { what: 'mug' } })
  const first = changes.next()
  await ready
  await write('not this')
  const { insertIntowishCollection: { records: [{ id }] } } = await write('mug')
  assert.deepEqual((await first).value.data.wishChanges, { event: 'INSERT', node: { what: 'mug', shop: { name: 'Bakery' } }, old: null })
  await ada.request('mutation ($id: BigInt!) { updatewishCollection(set: { cost: "2" }, filter: { id: { eq: $id } }) { affectedCount } }', { id })
  assert.deepEqual((await changes.next()).value.data.wishChanges, { event: 'UPDATE', node: { what: 'mug', shop: { name: 'Bakery' } }, old: { id } })
  await changes.return()
})

test('queries and mutations go over the socket as well', async () => {
  const client = open(as(TOKEN_ADA))
  const once = async (query) => (await client.iterate({ query }).next()).value
  assert.deepEqual(await once('{ shopCollection(first: 1) { edges { node { name } } } }'), { data: { shopCollection: { edges: [{ node: { name: 'Bakery' } }] } } })
  const written = await once('mutation { insertIntowishCollection(objects: [{ shop_id: 2, what: "over the socket" }]) { affectedCount } }')
  assert.equal(written.data.insertIntowishCollection.affectedCount, 1)
})

test('an error of the document arrives as errors, and others go on', async () => {
  const client = open(as(TOKEN_ADA))
  await assert.rejects(client.iterate({ query: 'subscription { nothing { id } }' }).next(), (errors) => {
    assert.match(errors[0].message, /Unknown field "nothing" on type Subscription/)
    return true
  })
  assert.equal((await client.iterate({ query: '{ __typename }' }).next()).value.data.__typename, 'Query')
})

test('a client whose token is over comes back with another', async () => {
  const tokens = [TOKEN_EXPIRED, TOKEN_ADA]
  const closes = []
  const client = open(() => as(tokens.shift()), { on: { closed: (event) => closes.push(event.code) } })
  assert.equal((await client.iterate({ query: '{ __typename }' }).next()).value.data.__typename, 'Query')
  assert.equal(closes[0], 4403)
})

test('urql follows a live query with its exchange for subscriptions', async () => {
  const socket = open(as(TOKEN_ADA))
  const client = new Client({
    url: `${API_URL}/graphql/v1`,
    preferGetMethod: false,
    exchanges: [
      fetchExchange,
      subscriptionExchange({
        forwardSubscription: (request) => ({
          subscribe: (sink) => ({ unsubscribe: socket.subscribe({ ...request, query: request.query ?? '' }, sink) }),
        }),
      }),
    ],
  })
  let count
  await new Promise((resolve, reject) => {
    const { unsubscribe } = pipe(
      client.subscription(gql(MINE), {}),
      subscribe(({ data, error }) => {
        if (error) return reject(error)
        const now = data.wishCollection.totalCount
        if (count === undefined) {
          count = now
          write('seen by urql').catch(reject)
        } else if (now === count + 1) {
          unsubscribe()
          resolve()
        }
      }),
    )
  })
})
