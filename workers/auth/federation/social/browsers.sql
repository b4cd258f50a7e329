-- Browsers on their way to a provider (browsers.py). All run as supabase_auth_admin.

-- name: store_destination
insert into auth.browser_departures (ticket_hash, flow_id, kind, destination, created_at) values ($1, $2, $3, $4, $5)

-- name: take
-- It is handed out once.
delete from auth.browser_departures where ticket_hash = $1 returning row_to_json(browser_departures)

-- name: bind_oauth
-- Once: the browser that came first.
update auth.flow_state set browser_hash = $2 where id = $1 and browser_hash is null returning 1

-- name: bind_saml
update auth.saml_relay_states set browser_hash = $2 where id = $1 and browser_hash is null returning 1
