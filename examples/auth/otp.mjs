// Sign in with six digits from a letter, and from a text message where the platform has phones on.
// To see the message: HEADWATER_AUTH_SMS_ENABLE_SIGNUP=true headwater start
// Without an SMS provider, messages are shown in the mail catcher, as letters to <number>@sms.localhost.
import { randomInt } from 'node:crypto'
import { check, done, letterTo, newAddress, visitor } from './platform.mjs'

const email = newAddress('grace')
const auth = visitor()
await done(auth.signInWithOtp({ email }))
const { code } = await letterTo(email)
const { user } = await done(auth.verifyOtp({ email, token: code, type: 'email' }))
check(user.email === email, 'somebody else signed in')
console.log('signed in by letter as', user.email)

const { error } = await visitor().verifyOtp({ email, token: code, type: 'email' })
console.log('the same code once more:', error?.code)
check(error?.code === 'otp_expired', 'a code was taken twice')

const phone = `+4915${randomInt(1e9, 1e10)}`
const asked = await visitor().signInWithOtp({ phone })
if (asked.error?.code === 'phone_provider_disabled') {
  console.log('phones are off on this platform')
} else {
  await done(asked)
  const { code: digits } = await letterTo(`${phone.slice(1)}@sms.localhost`)
  const caller = await done(visitor().verifyOtp({ phone, token: digits, type: 'sms' }))
  console.log('signed in by text message as', `+${caller.user.phone}`)
}
