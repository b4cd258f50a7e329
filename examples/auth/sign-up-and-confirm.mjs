// Sign up, confirm the address where the platform asks for it, sign in.
// To see the letter: HEADWATER_AUTH_EMAIL_ENABLE_CONFIRMATIONS=true headwater start
import { check, done, letterTo, newAddress, refused, visitor } from './platform.mjs'

const email = newAddress('ada')
const password = 'over the river'

const auth = visitor()
const { user, session } = await done(auth.signUp({ email, password, options: { data: { name: 'Ada' } } }))
console.log('signed up as', user.email)

if (session) {
  console.log('the platform confirms addresses at once: here is the session already')
} else {
  const { code } = await refused(visitor().signInWithPassword({ email, password }))
  console.log('signing in now would fail:', code)
  const letter = await letterTo(email)
  console.log(`letter "${letter.subject}", code ${letter.code}`)
  await done(auth.verifyOtp({ email, token: letter.code, type: 'signup' }))
  console.log('confirmed, and signed in')
}

const later = await done(visitor().signInWithPassword({ email, password }))
check(later.user.id === user.id, 'somebody else signed in')
console.log('signed in with the password as', later.user.user_metadata.name)
