import { createCollection } from '@tanstack/db'
import { electricCollectionOptions } from '@tanstack/electric-db-collection'
import { ShapeStream } from '@electric-sql/client'
const { API_URL, SERVICE_ROLE_KEY } = process.env
const url = `${API_URL}/sync/v1/shape`, headers = { apikey: SERVICE_ROLE_KEY }
const c = createCollection(electricCollectionOptions({ id: 'n', getKey: (r) => r.id, shapeOptions: { url, headers, params: { table: 'sync_notes' } } }))
const s = new ShapeStream({ url, headers, params: { table: 'sync_notes' } }); s.subscribe((m) => console.log(JSON.stringify(m, (k, v) => typeof v === 'bigint' ? `${v}n` : v)))
await c.preload(); const show = () => console.log('TS', c.toArray.map((r) => r.title))
show(); c.subscribeChanges((ch) => { console.log('changes', ch.map((x) => [x.type, String(x.key)])); show() })
const rest = (method, q, body) => fetch(`${API_URL}/rest/v1/sync_notes?${q}`, { method, headers: { ...headers, 'content-type': 'application/json' }, body: body && JSON.stringify(body) }).then(async (r) => r.ok || console.log(await r.text()))
await rest('POST', '', [{ id: 50, team: 1, title: 'a' }, { id: 51, team: 1, title: 'b' }])
await new Promise((r) => setTimeout(r, 500))
await rest('PATCH', 'id=eq.51', { title: 'bb' }); await rest('DELETE', 'id=eq.50')
await new Promise((r) => setTimeout(r, 1000)); show(); await rest('DELETE', 'id=eq.51'); await new Promise((r) => setTimeout(r, 500)); process.exit()
