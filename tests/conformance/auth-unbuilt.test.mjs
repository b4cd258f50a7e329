// Methods whose endpoints are not built yet: the client gives a clear error that names them, and keeps its session.
// A line leaves this table when its endpoint comes; the test of the method then stands with its theme.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { address, admin, bad, good, password, signedUp, visitor } from './auth-people.mjs'

const { API_URL } = process.env
const { client, email } = await signedUp()
const { auth } = client
const nobody = visitor().auth
const [id, factorId] = [randomUUID(), randomUUID()]

const unbuilt = {
  reauthenticate: [() => auth.reauthenticate(), 'GET /reauthenticate'],
  signInWithSSO: [() => nobody.signInWithSSO({ domain: 'example.com' }), 'POST /sso'],
  signInWithIdToken: [() => nobody.signInWithIdToken({ provider: 'google', token: 'x' }), 'grant_type=id_token'],
  'updateUser, another address': [() => auth.updateUser({ email: address() }), 'Confirming addresses'],
  linkIdentity: [() => auth.linkIdentity({ provider: 'github' }), 'GET /user/identities/authorize'],
  unlinkIdentity: [() => auth.unlinkIdentity({ identity_id: id }), `DELETE /user/identities/${id}`],
  'mfa.enroll': [() => auth.mfa.enroll({ factorType: 'totp' }), 'POST /factors'],
  'mfa.challenge': [() => auth.mfa.challenge({ factorId }), `POST /factors/${factorId}/challenge`],
  'mfa.verify': [() => auth.mfa.verify({ factorId, challengeId: id, code: '123456' }), `POST /factors/${factorId}/verify`],
  'mfa.challengeAndVerify': [() => auth.mfa.challengeAndVerify({ factorId, code: '123456' }), `POST /factors/${factorId}/challenge`],
  'mfa.unenroll': [() => auth.mfa.unenroll({ factorId }), `DELETE /factors/${factorId}`],
  'admin.inviteUserByEmail': [() => admin.inviteUserByEmail(address()), 'POST /invite'],
  'admin.generateLink': [() => admin.generateLink({ type: 'magiclink', email }), 'POST /admin/generate_link'],
  'admin.mfa.listFactors': [() => admin.mfa.listFactors({ userId: id }), `GET /admin/users/${id}/factors`],
  'admin.mfa.deleteFactor': [() => admin.mfa.deleteFactor({ userId: id, id: factorId }), `DELETE /admin/users/${id}/factors/${factorId}`],
  'admin.oauth.listClients': [() => admin.oauth.listClients(), 'GET /admin/oauth/clients'],
  'admin.customProviders.listProviders': [() => admin.customProviders.listProviders(), 'GET /admin/custom-providers'],
}

test('a method whose endpoint is not built yet gives an error that says so', async (t) => {
  for (const [name, [call, what]] of Object.entries(unbuilt)) {
    await t.test(name, async () => {
      assert.deepEqual(await bad(call()), {
        name: 'AuthRetryableFetchError', status: 501, code: undefined, message: `${what} is not built yet in this version`,
      })
    })
  }
})

test('the session lives on after such an error', async () => {
  assert.equal((await good(auth.getUser())).user.email, email)
})

test('a sign-in with a provider gives the address to go to', async () => {
  const options = { redirectTo: 'http://localhost:3000/welcome', scopes: 'repo gist', queryParams: { prompt: 'consent' } }

  const { url, provider } = await good(nobody.signInWithOAuth({ provider: 'github', options: { ...options, skipBrowserRedirect: true } }))

  const target = new URL(url)
  assert.deepEqual([provider, target.origin + target.pathname], ['github', `${API_URL}/auth/v1/authorize`])
  assert.deepEqual(Object.fromEntries(target.searchParams), {
    provider: 'github', redirect_to: options.redirectTo, scopes: options.scopes, prompt: 'consent',
  })
  const answer = await fetch(url, { redirect: 'manual' })
  assert.equal(answer.status, 501)
  assert.equal((await answer.json()).msg, 'GET /authorize is not built yet in this version')
})
