// Sign in by a provider, link it to an account that has a password, and unlink it.
// Environment besides: PROVIDER, its name (keycloak if unset). Where nobody sits at a browser, PROVIDER_URL: the script
// then follows the redirects itself, which works for providers that ask nothing; LOGIN_HINT is passed on to it.
// The platform: HEADWATER_AUTH_EXTERNAL_KEYCLOAK_{ENABLED,CLIENT_ID,SECRET,URL}, and for the second half
// HEADWATER_AUTH_ENABLE_MANUAL_LINKING=true; HEADWATER_AUTH_ADDITIONAL_REDIRECT_URLS='http://127.0.0.1:*/**'.
import { createServer } from 'node:http'
import { admin, check, done, newAddress, opened, visitor } from './platform.mjs'

const { API_URL, PROVIDER = 'keycloak', PROVIDER_URL, LOGIN_HINT } = process.env

// The page of the application that people come back to.
const page = createServer()
await new Promise((resolve) => page.listen(0, '127.0.0.1', resolve))
const redirectTo = `http://127.0.0.1:${page.address().port}/welcome`
const options = { redirectTo, skipBrowserRedirect: true, queryParams: LOGIN_HINT ? { login_hint: LOGIN_HINT } : {} }

/** Give the code with which somebody comes back from the provider. */
async function comingBack(address) {
  const landing = PROVIDER_URL ? await followed(address) : await visited(address)
  const code = landing.searchParams.get('code')
  check(code, `no code came: ${landing.searchParams.get('error_description')}`)
  return code
}

function visited(address) {
  console.log('open this in a browser:', address)
  return new Promise((resolve) => {
    page.once('request', (request, answer) => {
      answer.end('Signed in. You may close this page.')
      resolve(new URL(request.url, redirectTo))
    })
  })
}

async function followed(address) {
  const ways = [new URL(API_URL).origin, new URL(PROVIDER_URL).origin]
  const cookies = new Map() // a sign-in comes back to the browser that began it
  let landing = await opened(address, cookies)
  while (ways.includes(landing.origin)) landing = await opened(landing, cookies)
  return landing
}

try {
  const auth = visitor({ flowType: 'pkce' })
  const { url } = await done(auth.signInWithOAuth({ provider: PROVIDER, options }))
  const { user, session } = await done(auth.exchangeCodeForSession(await comingBack(url)))
  console.log(`signed in by ${PROVIDER} as`, user.email)
  check(session.provider_token, 'the token of the provider is missing')

  const [email, password] = [newAddress('mary'), 'over the river']
  await done(admin.createUser({ email, password, email_confirm: true }))
  const own = visitor({ flowType: 'pkce' })
  await done(own.signInWithPassword({ email, password }))
  const { data, error } = await own.linkIdentity({ provider: PROVIDER, options: { ...options, queryParams: { login_hint: email } } })
  if (error) {
    console.log('linking is off on this platform:', error.code)
  } else {
    const { user: both } = await done(own.exchangeCodeForSession(await comingBack(data.url)))
    console.log('linked; the ways in now:', both.identities.map((each) => each.provider).join(', '))
    await done(own.unlinkIdentity(both.identities.find((each) => each.provider === PROVIDER)))
    const { identities } = await done(own.getUserIdentities())
    console.log('unlinked; the ways in now:', identities.map((each) => each.provider).join(', '))
  }
} finally {
  page.close()
}
