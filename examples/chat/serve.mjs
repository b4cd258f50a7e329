// Serves the page on http://127.0.0.1:3000 (PORT), with the address and the public key of the platform as config.json.
// Environment: API_URL and ANON_KEY, as `headwater status -o env` prints them.
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { extname } from 'node:path'

const { API_URL, ANON_KEY, PORT = '3000' } = process.env
if (!API_URL || !ANON_KEY) {
  console.error('Set the environment first:  set -a; eval "$(headwater status -o env)"; set +a')
  process.exit(2)
}
const FILES = new Set(['/index.html', '/page.mjs', '/chat.mjs', '/resuming.mjs', '/node_modules/@supabase/supabase-js/dist/umd/supabase.js'])
const TYPES = { '.html': 'text/html; charset=utf-8', '.mjs': 'text/javascript', '.js': 'text/javascript' }

const server = createServer(async (request, response) => {
  const { pathname } = new URL(request.url, 'http://page')
  const path = pathname === '/' ? '/index.html' : pathname
  if (path === '/config.json') {
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ url: API_URL, key: ANON_KEY }))
  } else if (FILES.has(path)) {
    response.setHeader('content-type', TYPES[extname(path)]).end(await readFile(new URL(`.${path}`, import.meta.url)))
  } else {
    response.writeHead(404).end()
  }
})
server.listen(Number(PORT), '127.0.0.1', () => console.log(`the chat is at http://127.0.0.1:${server.address().port}`))
