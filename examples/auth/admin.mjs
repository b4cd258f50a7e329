// Accounts in the hands of a server: make, find, change, invite, link, ban and delete.
import { admin, check, done, letterTo, newAddress, opened, refused, visitor } from './platform.mjs'

const [email, password] = [newAddress('katherine'), 'over the river']
const { user } = await done(admin.createUser({
  email, password, email_confirm: true, user_metadata: { name: 'Katherine' }, app_metadata: { team: 'flight' },
}))
console.log('made', user.email, 'of team', user.app_metadata.team)

const { total } = await done(admin.listUsers({ page: 1, perPage: 1 }))
console.log('users in all:', total)

const { user: changed } = await done(admin.updateUserById(user.id, { app_metadata: { team: 'orbit' }, user_metadata: { city: 'Hampton' } }))
console.log('changed:', JSON.stringify([changed.app_metadata.team, changed.user_metadata]))

const { properties } = await done(admin.generateLink({ type: 'magiclink', email }))
const landing = await opened(properties.action_link)
check(landing.hash.includes('access_token='), `the link led to ${landing}`)
console.log('a link of the server signs in without any letter')

const guest = newAddress('mary')
await done(admin.inviteUserByEmail(guest, { data: { invited_by: email } }))
const { subject, code } = await letterTo(guest)
const { user: joined } = await done(visitor().verifyOtp({ email: guest, token: code, type: 'invite' }))
console.log(`letter "${subject}", and ${joined.email} has joined`)

await done(admin.updateUserById(user.id, { ban_duration: '1h' }))
console.log('while banned:', (await refused(visitor().signInWithPassword({ email, password }))).code)
await done(admin.updateUserById(user.id, { ban_duration: 'none' }))
const { session } = await done(visitor().signInWithPassword({ email, password }))

await admin.signOut(session.access_token, 'global')
console.log('signed out everywhere:', (await refused(visitor().getUser(session.access_token))).name)

for (const each of [user, joined]) await done(admin.deleteUser(each.id))
check((await admin.getUserById(user.id)).error?.code === 'user_not_found', 'the user is still there')
console.log('both deleted')
