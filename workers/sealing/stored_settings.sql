-- Statements of seal_again.py in the superuser's session.

-- name: stored_settings
select version, sealed from headwater.stored_settings

-- name: store_settings
update headwater.stored_settings set sealed = $3 where version = $1 and sealed = $2

-- name: webhooks
select id, sealed from headwater.webhooks

-- name: store_webhook
update headwater.webhooks set sealed = $3 where id = $1 and sealed = $2
