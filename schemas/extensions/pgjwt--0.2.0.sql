-- pgjwt 0.2 written in SQL and PL/pgSQL: tokens signed with HS256, HS384 and HS512 (RFC 7515, RFC 7518).
--
-- How it is built:
-- - The extension is relocatable: SQL functions have parsed bodies, which are bound by identity, and PL/pgSQL functions call
--   nothing of this extension. A hostile search path changes nothing.
-- - HMAC (RFC 2104) stands on the server's own SHA-2, so that pgcrypto need not be there.

\echo Use "CREATE EXTENSION pgjwt" to load this file. \quit

create function url_encode(data bytea) returns text
language sql immutable strict parallel safe
return translate(encode(data, 'base64'), E'+/=\n', '-_');

create function url_decode(data text) returns bytea
language sql immutable strict parallel safe
return decode(translate(data, '-_', '+/') || repeat('=', (4 - length(data) % 4) % 4), 'base64');

create function pgjwt_sha2(data bytea, bits integer) returns bytea
language sql immutable strict parallel safe
return case bits when 256 then sha256(data) when 384 then sha384(data) when 512 then sha512(data) end;

-- The key of HMAC as a block, each byte XOR `mask`.
create function pgjwt_pad(key bytea, block integer, mask integer) returns bytea
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  padded bytea := decode(repeat('00', block), 'hex');
begin
  for place in 0 .. block - 1 loop
    padded := set_byte(padded, place, case when place < octet_length(key) then get_byte(key, place) else 0 end # mask);
  end loop;
  return padded;
end
$$;

create function pgjwt_block(bits integer) returns integer
language sql immutable strict parallel safe
return case bits when 256 then 64 else 128 end;

create function pgjwt_key(secret bytea, bits integer) returns bytea
language sql immutable strict parallel safe
return case when octet_length(secret) > pgjwt_block(bits) then pgjwt_sha2(secret, bits) else secret end;

-- How many bits an algorithm has.
create function pgjwt_bits(algorithm text) returns integer
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if algorithm is null or algorithm not in ('HS256', 'HS384', 'HS512') then
    raise exception 'algorithm "%" is not supported: use HS256, HS384 or HS512', coalesce(algorithm, '')
      using errcode = 'invalid_parameter_value';
  end if;
  return substr(algorithm, 3)::integer;
end
$$;

create function pgjwt_hmac(data bytea, key bytea, bits integer) returns bytea
language sql immutable strict parallel safe
return pgjwt_sha2(
  pgjwt_pad(key, pgjwt_block(bits), 92) || pgjwt_sha2(pgjwt_pad(key, pgjwt_block(bits), 54) || data, bits),
  bits
);

create function algorithm_sign(signables text, secret text, algorithm text) returns text
language sql immutable parallel safe
return url_encode(pgjwt_hmac(
  convert_to(signables, 'UTF8'), pgjwt_key(convert_to(secret, 'UTF8'), pgjwt_bits(algorithm)), pgjwt_bits(algorithm)
));

create function pgjwt_signed(signables text, secret text, algorithm text) returns text
language sql immutable parallel safe
return signables || '.' || algorithm_sign(signables, secret, algorithm);

create function sign(payload json, secret text, algorithm text default 'HS256') returns text
language sql immutable parallel safe
return pgjwt_signed(
  url_encode(convert_to('{"alg":"' || algorithm || '","typ":"JWT"}', 'UTF8'))
  || '.' || url_encode(convert_to(payload::text, 'UTF8')),
  secret,
  algorithm
);

-- A number; null if the text is none.
create function try_cast_double(inp text) returns double precision
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return inp::double precision;
exception when others then
  return null;
end
$$;

-- Whether now lies within `nbf` and `exp`; what is missing, or no number, sets no limit.
create function pgjwt_in_time(payload json) returns boolean
language sql stable parallel safe
return coalesce(to_timestamp(try_cast_double(payload ->> 'nbf')) <= current_timestamp, true)
  and coalesce(current_timestamp < to_timestamp(try_cast_double(payload ->> 'exp')), true);

-- Header and payload as they stand in the token, and whether signature and times are good.
create function verify(
  token text, secret text, algorithm text default 'HS256', out header json, out payload json, out valid boolean
) returns setof record
language sql stable parallel safe
begin atomic
  select read.header, read.payload, read.is_signed and pgjwt_in_time(read.payload)
  from (
    select
      convert_from(url_decode(part[1]), 'UTF8')::json as header,
      convert_from(url_decode(part[2]), 'UTF8')::json as payload,
      cardinality(part) = 3
        and part[3] is not distinct from algorithm_sign(part[1] || '.' || part[2], secret, algorithm) as is_signed
    from regexp_split_to_array(token, '\.') as part
  ) as read;
end;
