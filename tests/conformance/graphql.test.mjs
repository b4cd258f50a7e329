// Clients of GraphQL that applications use: graphql-request and urql. Environment: as in clients.mjs.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { Client, cacheExchange, fetchExchange, gql as urqlGql } from '@urql/core'
import { buildClientSchema, getIntrospectionQuery, parse, validate } from 'graphql'
import { ClientError, GraphQLClient, gql, rawRequest } from 'graphql-request'

const { API_URL, ANON_KEY, TOKEN_ADA, TOKEN_BOB } = process.env
const url = `${API_URL}/graphql/v1`
const as = (token) => new GraphQLClient(url, { headers: { apikey: ANON_KEY, ...(token && { Authorization: `Bearer ${token}` }) } })
const ada = as(TOKEN_ADA)
const bob = as(TOKEN_BOB)

const ADD = gql`
  mutation add($wishes: [wishInsertInput!]!) {
    insertIntowishCollection(objects: $wishes) { affectedCount records { id what shop { name } } }
  }`
const MINE = gql`
  query mine($first: Int = 10, $after: Cursor) {
    wishCollection(first: $first, after: $after, orderBy: [{ what: AscNullsLast }]) {
      totalCount
      pageInfo { hasNextPage endCursor }
      edges { node { what shop { name } } }
    }
  }`
const REMOVE = gql`mutation remove { deleteFromwishCollection(atMost: 100) { affectedCount } }`

test('people write and read their own rows, and nobody else sees them', async () => {
  const { insertIntowishCollection: added } = await ada.request(ADD, {
    wishes: [{ shop_id: 1, what: 'bread' }, { shop_id: 2, what: 'novel', cost: '12.50' }, { shop_id: 2, what: 'atlas' }],
  })
  assert.equal(added.affectedCount, 3)
  assert.deepEqual(added.records.map((each) => each.shop.name), ['Bakery', 'Bookshop', 'Bookshop'])
  assert.equal((await ada.request(MINE)).wishCollection.totalCount, 3)
  assert.equal((await bob.request(MINE)).wishCollection.totalCount, 0)
  assert.equal((await as().request(MINE)).wishCollection.totalCount, 0)
  assert.equal((await bob.request(REMOVE)).deleteFromwishCollection.affectedCount, 0)
})

test('pages are read with cursors from the variables', async () => {
  const seen = []
  let after = null
  do {
    const { wishCollection: page } = await ada.request(MINE, { first: 2, after })
    seen.push(...page.edges.map((edge) => edge.node.what))
    after = page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null
  } while (after)
  assert.deepEqual(seen, ['atlas', 'bread', 'novel'])
})

test('an error arrives as an error of the client', async () => {
  await assert.rejects(ada.request(gql`{ nothing { id } }`), (error) => {
    assert(error instanceof ClientError)
    assert.match(error.response.errors[0].message, /Unknown field "nothing" on type Query/)
    assert.equal(error.response.status, 400) // the client accepts application/graphql-response+json
    return true
  })
  await assert.rejects(ada.request(ADD, { wishes: [{ shop_id: 99, what: 'x' }] }), (error) => {
    assert.match(error.message, /foreign key/)
    assert.equal(error.response.status, 200)
    return true
  })
})

test('several documents go one after the other, and headers come back', async () => {
  const { data, headers, status } = await rawRequest({ url, query: '{ shopCollection { edges { node { name } } } }', requestHeaders: { apikey: ANON_KEY } })
  assert.equal(status, 200)
  assert.match(headers.get('content-type'), /^application\/graphql-response\+json/)
  assert.deepEqual(data.shopCollection.edges.map((edge) => edge.node.name), ['Bakery', 'Bookshop'])
})

test('without a key there is no answer', async () => {
  await assert.rejects(new GraphQLClient(url).request('{ __typename }'), (error) => error.response.status === 401)
})

test('the introspection query builds a schema against which documents are valid', async () => {
  const schema = buildClientSchema(await ada.request(getIntrospectionQuery()))
  for (const text of [ADD, MINE, REMOVE]) assert.deepEqual(validate(schema, parse(text)), [])
})

test('urql asks, writes and keeps its cache by type names', async () => {
  const client = new Client({
    url,
    preferGetMethod: false,
    exchanges: [cacheExchange, fetchExchange],
    fetchOptions: { headers: { apikey: ANON_KEY, Authorization: `Bearer ${TOKEN_ADA}` } },
  })
  const query = urqlGql`{ wishCollection(filter: { what: { eq: "bread" } }) { edges { node { id what } } } }`
  const { data, error } = await client.query(query, {}).toPromise()
  assert.equal(error, undefined)
  const [{ node }] = data.wishCollection.edges
  assert.equal(node.__typename, 'wish')
  const change = urqlGql`mutation ($id: BigInt!) { updatewishCollection(set: { what: "rye bread" }, filter: { id: { eq: $id } }) { records { id what } } }`
  const changed = await client.mutation(change, { id: node.id }).toPromise()
  assert.equal(changed.data.updatewishCollection.records[0].what, 'rye bread')
  const refused = await client.query(urqlGql`{ nothing { id } }`, {}).toPromise()
  assert.match(refused.error.graphQLErrors[0].message, /Unknown field "nothing" on type Query/)
  assert.equal(refused.error.response.status, 400)
  const again = await client.query(query, {}, { requestPolicy: 'cache-first' }).toPromise()
  assert.deepEqual(again.data.wishCollection.edges, []) // the mutation named the type: the answer was thrown away
})

test('urql may use GET for queries', async () => {
  const client = new Client({ url, preferGetMethod: 'force', exchanges: [fetchExchange], fetchOptions: { headers: { apikey: ANON_KEY } } })
  const { data, error } = await client.query(urqlGql`query shops($first: Int) { shopCollection(first: $first) { edges { node { id } } } }`, { first: 1 }).toPromise()
  assert.equal(error, undefined)
  assert.deepEqual(data.shopCollection.edges.map((edge) => edge.node.id), [1])
})

test('a document is sent once and then named by its hash', async () => {
  const query = '{ shopCollection(first: 1) { edges { node { name } } } }'
  const extensions = { persistedQuery: { version: 1, sha256Hash: createHash('sha256').update(query).digest('hex') } }
  const ask = async (body) =>
    (await fetch(url, { method: 'POST', headers: { apikey: ANON_KEY, 'Content-Type': 'application/json' }, body: JSON.stringify(body) })).json()
  assert.equal((await ask({ extensions })).errors[0].message, 'PersistedQueryNotFound')
  for (const body of [{ query, extensions }, { extensions }]) {
    assert.equal((await ask(body)).data.shopCollection.edges[0].node.name, 'Bakery')
  }
})

test('what was written is removed again', async () => {
  assert.equal((await ada.request(REMOVE)).deleteFromwishCollection.affectedCount, 3)
})
