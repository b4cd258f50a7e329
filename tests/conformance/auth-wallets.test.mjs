// Sign-in with a wallet: the client writes the message, the wallet signs it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bad, claimsOf, good, visitor } from './auth-people.mjs'
import { ethereumWallet, keccak, solanaWallet } from './auth-wallets.mjs'
import { site } from './auth-post.mjs'

const statement = 'I accept the terms'
const options = { url: `${site}/in` }

test('the hash is Keccak', () => {
  assert.equal(keccak(Buffer.from('')).toString('hex'), 'c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470')
})

for (const [chain, make] of [['ethereum', ethereumWallet], ['solana', solanaWallet]]) {
  test(`a wallet of ${chain} signs in, and finds its account again`, async () => {
    const wallet = make()
    const client = visitor()

    const { user, session } = await good(client.auth.signInWithWeb3({ chain, wallet, statement, options }))

    const { custom_claims: told } = user.user_metadata
    assert.deepEqual([user.app_metadata.provider, told.chain, told.domain, told.statement], ['web3', chain, 'localhost:3000', statement])
    assert.equal(user.identities[0].id, `web3:${chain}:${told.address}`)
    assert.deepEqual(claimsOf(session.access_token).amr.map((each) => each.method), ['web3'])
    const again = await good(visitor().auth.signInWithWeb3({ chain, wallet, statement: 'Once more', options }))
    assert.equal(again.user.id, user.id)
  })
}

test('a message for another place, or signed by another, is refused', async () => {
  const wallet = ethereumWallet()
  const call = (credentials) => bad(visitor().auth.signInWithWeb3({ chain: 'ethereum', ...credentials }))
  const signed = []
  const listening = { request: async (asked) => {
    const answer = await wallet.request(asked)
    if (asked.method === 'personal_sign') signed.push(Buffer.from(asked.params[0].slice(2), 'hex').toString(), answer)
    return answer
  } }

  assert.equal((await call({ wallet, options: { url: 'https://elsewhere.example/in' } })).status, 400)
  await good(visitor().auth.signInWithWeb3({ chain: 'ethereum', wallet: listening, options }))
  const [message, signature] = signed
  assert.equal((await call({ message, signature })).status, 400, 'a message was taken twice')
  assert.equal((await call({ message, signature: ethereumWallet().signature(message) })).status, 400)
  await assert.rejects(visitor().auth.signInWithWeb3({ chain: 'doge' }), /Unsupported chain/)
})
