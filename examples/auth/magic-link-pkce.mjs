// Sign in by the link of a letter. With `flowType: 'pkce'` the link brings a code that only this client can exchange: a
// link that somebody else reads, or that lies in a log, is worth nothing.
import { check, done, letterTo, newAddress, opened, refused, visitor } from './platform.mjs'

const email = newAddress('joan')
const auth = visitor({ flowType: 'pkce' })
await done(auth.signInWithOtp({ email }))

const { subject, link } = await letterTo(email)
console.log(`letter "${subject}"`)
const landing = await opened(link)
const code = landing.searchParams.get('code')
check(code, `the link led to ${landing}`)
console.log('the link leads to', landing.origin, 'with a code')

const stranger = visitor({ flowType: 'pkce' })
await done(stranger.signInWithOtp({ email: newAddress('eve') })) // so that it has a secret of its own
console.log('a stranger with that code:', (await refused(stranger.exchangeCodeForSession(code))).code)

const { user } = await done(auth.exchangeCodeForSession(code))
check(user.email === email, 'somebody else signed in')
console.log('the client that asked is signed in as', user.email)
