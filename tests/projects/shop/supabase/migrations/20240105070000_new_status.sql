ALTER TYPE public.subscription_status ADD VALUE IF NOT EXISTS 'refunded' AFTER 'canceled';
ALTER TYPE public.pricing_type RENAME VALUE 'one_time' TO 'single';
