create index subscriptions_refunded on public.subscriptions (user_id) where status = 'refunded';
alter table public.prices alter column type set default 'single';
comment on type public.subscription_status is E'@graphql({"name": "SubscriptionState"})';
