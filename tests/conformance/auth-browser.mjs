// As much of a browser as the client looks at: an address bar, a page that is seen, and an authenticator.
// Importing it turns this process into one; so it is for tests in a process of their own.
import { newAuthenticator } from '../../examples/auth/authenticator.mjs'
import { site } from './auth-post.mjs'

/** Every address that the application left for. */
export const left = []
const bar = new URL(site)
const location = {
  get href() { return bar.href },
  get hostname() { return bar.hostname },
  get origin() { return bar.origin },
  get hash() { return bar.hash },
  set hash(text) { bar.hash = text },
  assign: (url) => left.push(String(url)),
}
/** Open an address in the browser. */
export const open = (url) => { bar.href = url }
/** What stands in the address bar. */
export const shown = () => bar.href

const authenticator = newAuthenticator(site)
class PublicKeyCredential {
  static parseCreationOptionsFromJSON = (options) => options
  static parseRequestOptionsFromJSON = (options) => options
  constructor(json) { this.json = json }
  toJSON() { return this.json }
}
const credentials = {
  create: async ({ publicKey }) => new PublicKeyCredential(authenticator.create(publicKey)),
  get: async ({ publicKey }) => new PublicKeyCredential(authenticator.get(publicKey)),
}

const define = (name, value) => Object.defineProperty(globalThis, name, { value, configurable: true, writable: true })
define('window', { location, history: { state: null, replaceState: (_, __, url) => open(url) }, PublicKeyCredential })
define('document', { visibilityState: 'visible' })
define('navigator', { credentials, userAgent: 'node' })
define('PublicKeyCredential', PublicKeyCredential)
