// What the platform sends, and where its links lead: letters and text messages in the mail catcher, landings of a browser.
// Environment: API_URL, MAILPIT_URL; PROVIDER_URL where there is one.
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'

const { API_URL, MAILPIT_URL, PROVIDER_URL } = process.env
const ways = [API_URL, PROVIDER_URL].filter(Boolean).map((url) => new URL(url).origin)
const patience = 30_000

/** Where the application runs. */
export const site = 'http://localhost:3000'

/** A number that nobody has. */
export const phoneNumber = () => `+4915${randomInt(1e9, 1e10)}`
/** Where the messages to a number are caught. */
export const inboxOf = (phone) => `${phone.replace('+', '')}@sms.localhost`

/** The next letter to an address that nobody opened: its subject, text, code and link. */
export const letterTo = async (address) => {
  const until = Date.now() + patience
  for (;;) {
    const { messages } = await catcher(`search?query=${encodeURIComponent(`to:"${address}" is:unread`)}`)
    if (messages.length > 0) return opened(await catcher(`message/${messages.at(-1).ID}`))
    assert.ok(Date.now() < until, `no letter came to ${address}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
/** The code in the next message to a number. */
export const codeTo = async (phone) => (await letterTo(inboxOf(phone))).code

/** How many letters to an address nobody opened. */
export const unread = async (address) =>
  (await catcher(`search?query=${encodeURIComponent(`to:"${address}" is:unread`)}`)).messages_count

/** Follow an address as a browser does, until it leads out of the platform and its provider; give where it landed. */
export const land = async (address) => {
  let url = address
  const cookies = new Map()
  for (let steps = 0; steps < 8; steps += 1) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const answer = await fetch(url, { redirect: 'manual', headers: cookie ? { cookie } : {} })
    for (const line of answer.headers.getSetCookie()) {
      const [name, value] = line.split(';')[0].split('=')
      cookies.set(name, value)
    }
    assert.ok([302, 303].includes(answer.status), `${url} answered ${answer.status} ${await answer.text()}`)
    url = answer.headers.get('location')
    if (!ways.includes(new URL(url).origin)) return landing(url)
  }
  throw new Error(`${address} leads round in a circle`)
}

/** What an address says where a browser landed: its target, query and fragment. */
export const landing = (url) => {
  const parts = new URL(url)
  return {
    url,
    target: url.split(/[?#]/)[0],
    query: Object.fromEntries(parts.searchParams),
    fragment: Object.fromEntries(new URLSearchParams(parts.hash.slice(1))),
  }
}

async function catcher(path) {
  const answer = await fetch(`${MAILPIT_URL}/api/v1/${path}`)
  assert.equal(answer.status, 200, path)
  return await answer.json()
}

function opened({ Subject: subject, Text: text }) {
  return { subject, text, code: text.match(/\b\d{6}\b/)?.[0], link: text.match(/\bhttp\S+\/verify\?\S+/)?.[0] }
}
