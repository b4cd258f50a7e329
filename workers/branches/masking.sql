-- Masking of a branch, in sessions of the tables' owners (masking.py).

-- name: functions
-- What masks a value, for the rules and for branches/mask.sql. The setting headwater.mask is a random text of the branch that is stored nowhere.
create function pg_temp.mask_hash(given text) returns text language sql stable strict as $$
  select pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(
    pg_catalog.current_setting('headwater.mask') operator(pg_catalog.||) given, 'UTF8')), 'hex'), 32)
$$;
create function pg_temp.mask_number(given text, lowest bigint, highest bigint) returns numeric language sql stable strict as $$
  select lowest::pg_catalog.numeric operator(pg_catalog.+) pg_catalog.mod(
    ('x' operator(pg_catalog.||) pg_catalog.left(pg_temp.mask_hash(given), 15))::pg_catalog.bit(60)::pg_catalog.int8::pg_catalog.numeric,
    highest::pg_catalog.numeric operator(pg_catalog.-) lowest::pg_catalog.numeric operator(pg_catalog.+) 1)
$$;
create function pg_temp.mask_email(given text) returns text language sql stable strict as $$
  select case when given operator(pg_catalog.=) '' then '' else
    'user-' operator(pg_catalog.||) pg_catalog.left(pg_temp.mask_hash(pg_catalog.lower(given)), 20) operator(pg_catalog.||) '@example.invalid' end
$$;
create function pg_temp.mask_phone(given text) returns text language sql stable strict as $$
  select case when given operator(pg_catalog.=) '' then '' else
    '999' operator(pg_catalog.||) pg_catalog.lpad(pg_temp.mask_number(given, 0, 999999999999)::pg_catalog.text, 12, '0') end
$$;
create function pg_temp.mask_name(given text) returns text language sql stable strict as $$
  select (array['Ada', 'Ben', 'Cleo', 'Dan', 'Eva', 'Finn', 'Gina', 'Hugo', 'Ines', 'Jan', 'Kira', 'Leo', 'Mia', 'Nils', 'Olga', 'Paul'])
      [pg_temp.mask_number(given, 1, 16)::pg_catalog.int4]
    operator(pg_catalog.||) ' ' operator(pg_catalog.||)
    (array['Adler', 'Berg', 'Costa', 'Dahl', 'Engel', 'Falk', 'Gruber', 'Holm', 'Ivers', 'Jensen', 'Kraus', 'Lund', 'Moser', 'Novak', 'Olsen', 'Pohl'])
      [pg_temp.mask_number('last' operator(pg_catalog.||) given, 1, 16)::pg_catalog.int4]
$$;
create function pg_temp.mask_text(given text) returns text language sql stable strict as $$
  select pg_catalog.left(pg_catalog.translate(
    pg_catalog.repeat(pg_temp.mask_hash(given), pg_catalog.length(given) / 32 + 1), '0123456789abcdef', 'aeioulnrstmdchkp'), pg_catalog.length(given))
$$

-- name: accounts
-- The default rule of auth's own tables: addresses, phone numbers, what providers said of a person, and whatever was logged of him.
update auth.users set
  email = pg_temp.mask_email(email), phone = pg_temp.mask_phone(phone), email_change = '', phone_change = '', raw_user_meta_data = '{}';
update auth.identities set
  provider_id = case when provider_id = user_id::text then provider_id else pg_temp.mask_hash(provider_id) end,
  identity_data = pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
    'sub', case when provider_id = user_id::text then provider_id else pg_temp.mask_hash(provider_id) end,
    'email', pg_temp.mask_email(identity_data ->> 'email'), 'phone', pg_temp.mask_phone(identity_data ->> 'phone'),
    'email_verified', identity_data -> 'email_verified', 'phone_verified', identity_data -> 'phone_verified'));
update auth.mfa_factors set phone = pg_temp.mask_phone(phone), friendly_name = pg_temp.mask_text(friendly_name);
update auth.webauthn_credentials set friendly_name = pg_temp.mask_text(friendly_name)
