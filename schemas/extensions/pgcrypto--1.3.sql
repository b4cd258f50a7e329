-- pgcrypto 1.3 written in SQL and PL/pgSQL, for a server that lacks the compiled module.
--
-- Hashes, keyed hashes, password hashes (bcrypt, MD5-crypt, DES, extended DES, SHA-crypt), random bytes, ASCII armor
-- and the ciphers AES and Blowfish give the same bytes as the compiled module. The other ciphers and everything PGP
-- refuse with feature_not_supported and say what to do instead.
--
-- How it is built:
-- - It may be made in a schema that its caller owns, so nothing may look for its own functions there by name when it runs.
--   Steps are PL/pgSQL functions that call nothing of this extension, and SQL functions with a parsed body (bound by
--   identity when they are made) join them; the last statement makes sure what they were bound to.
-- - Every PL/pgSQL function fixes its search path, and parsed bodies have none: a hostile search path changes nothing.
-- - 32-bit words are kept in bigint and masked with 4294967295 (2^32 - 1), because integer addition would overflow.
-- - Tables are arrays counted from 0, local to one call: PL/pgSQL reads and writes their elements in place.
-- - Constants are checked by the tests: Blowfish's against the digits of pi, the others by published vectors.
-- - Calls between them pass exactly the declared types, so that no function planted in the target schema fits better.
-- - Functions named pgcrypto_* are steps of the others and no part of the interface.

\echo Use "CREATE EXTENSION pgcrypto" to load this file. \quit

-- Names are looked up in pg_catalog alone while this script runs: it runs as the superuser, and the schema that the extension
-- is made in may hold operators and functions that fit better.
set local search_path = pg_catalog, pg_temp;

-- Refusals

-- Volatile on purpose: an immutable one with constant arguments would be raised while a CASE is planned.
create function @extschema@.pgcrypto_refuse(message text, state text, hint text) returns bytea
language plpgsql volatile parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception using message = message, errcode = state, hint = hint;
end
$$;

create function @extschema@.pgcrypto_refuse_pgp() returns bytea
language sql volatile parallel safe
return @extschema@.pgcrypto_refuse(
  'PGP functions are not supported by this edition of pgcrypto',
  '0A000',
  'Use an outside PostgreSQL server with the compiled pgcrypto module, or encrypt in the application.'
);


-- Hashes

-- SHA-1 (FIPS 180-4). The five words of the state change places from line to line instead of being copied.
create function @extschema@.pgcrypto_sha1(data bytea) returns bytea
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  m constant bigint := 4294967295;
  message bytea := data || '\x80'::bytea
    || decode(repeat('00', (119 - octet_length(data) % 64) % 64), 'hex')
    || int8send(octet_length(data)::bigint * 8);
  w bigint[] := array_fill(0::bigint, array[80], array[0]);
  x bigint;
  h0 bigint := 1732584193;
  h1 bigint := 4023233417;
  h2 bigint := 2562383102;
  h3 bigint := 271733878;
  h4 bigint := 3285377520;
  a bigint;
  b bigint;
  c bigint;
  d bigint;
  e bigint;
begin
  for block in 0 .. octet_length(message) / 64 - 1 loop
    for i in 0 .. 7 loop
      x := substr(message, block * 64 + i * 8 + 1, 8)::bigint;
      w[i * 2] := (x >> 32) & m;
      w[i * 2 + 1] := x & m;
    end loop;
    for i in 16 .. 79 loop
      x := w[i - 3] # w[i - 8] # w[i - 14] # w[i - 16];
      w[i] := ((x << 1) | (x >> 31)) & m;
    end loop;
    a := h0;
    b := h1;
    c := h2;
    d := h3;
    e := h4;
    for i in 0 .. 15 by 5 loop
      e := ((((a << 5) | (a >> 27)) + (d # (b & (c # d)))) + e + 1518500249 + w[i]) & m;
      b := ((b << 30) | (b >> 2)) & m;
      d := ((((e << 5) | (e >> 27)) + (c # (a & (b # c)))) + d + 1518500249 + w[i + 1]) & m;
      a := ((a << 30) | (a >> 2)) & m;
      c := ((((d << 5) | (d >> 27)) + (b # (e & (a # b)))) + c + 1518500249 + w[i + 2]) & m;
      e := ((e << 30) | (e >> 2)) & m;
      b := ((((c << 5) | (c >> 27)) + (a # (d & (e # a)))) + b + 1518500249 + w[i + 3]) & m;
      d := ((d << 30) | (d >> 2)) & m;
      a := ((((b << 5) | (b >> 27)) + (e # (c & (d # e)))) + a + 1518500249 + w[i + 4]) & m;
      c := ((c << 30) | (c >> 2)) & m;
    end loop;
    for i in 20 .. 35 by 5 loop
      e := ((((a << 5) | (a >> 27)) + (b # c # d)) + e + 1859775393 + w[i]) & m;
      b := ((b << 30) | (b >> 2)) & m;
      d := ((((e << 5) | (e >> 27)) + (a # b # c)) + d + 1859775393 + w[i + 1]) & m;
      a := ((a << 30) | (a >> 2)) & m;
      c := ((((d << 5) | (d >> 27)) + (e # a # b)) + c + 1859775393 + w[i + 2]) & m;
      e := ((e << 30) | (e >> 2)) & m;
      b := ((((c << 5) | (c >> 27)) + (d # e # a)) + b + 1859775393 + w[i + 3]) & m;
      d := ((d << 30) | (d >> 2)) & m;
      a := ((((b << 5) | (b >> 27)) + (c # d # e)) + a + 1859775393 + w[i + 4]) & m;
      c := ((c << 30) | (c >> 2)) & m;
    end loop;
    for i in 40 .. 55 by 5 loop
      e := ((((a << 5) | (a >> 27)) + ((b & c) | (d & (b | c)))) + e + 2400959708 + w[i]) & m;
      b := ((b << 30) | (b >> 2)) & m;
      d := ((((e << 5) | (e >> 27)) + ((a & b) | (c & (a | b)))) + d + 2400959708 + w[i + 1]) & m;
      a := ((a << 30) | (a >> 2)) & m;
      c := ((((d << 5) | (d >> 27)) + ((e & a) | (b & (e | a)))) + c + 2400959708 + w[i + 2]) & m;
      e := ((e << 30) | (e >> 2)) & m;
      b := ((((c << 5) | (c >> 27)) + ((d & e) | (a & (d | e)))) + b + 2400959708 + w[i + 3]) & m;
      d := ((d << 30) | (d >> 2)) & m;
      a := ((((b << 5) | (b >> 27)) + ((c & d) | (e & (c | d)))) + a + 2400959708 + w[i + 4]) & m;
      c := ((c << 30) | (c >> 2)) & m;
    end loop;
    for i in 60 .. 75 by 5 loop
      e := ((((a << 5) | (a >> 27)) + (b # c # d)) + e + 3395469782 + w[i]) & m;
      b := ((b << 30) | (b >> 2)) & m;
      d := ((((e << 5) | (e >> 27)) + (a # b # c)) + d + 3395469782 + w[i + 1]) & m;
      a := ((a << 30) | (a >> 2)) & m;
      c := ((((d << 5) | (d >> 27)) + (e # a # b)) + c + 3395469782 + w[i + 2]) & m;
      e := ((e << 30) | (e >> 2)) & m;
      b := ((((c << 5) | (c >> 27)) + (d # e # a)) + b + 3395469782 + w[i + 3]) & m;
      d := ((d << 30) | (d >> 2)) & m;
      a := ((((b << 5) | (b >> 27)) + (c # d # e)) + a + 3395469782 + w[i + 4]) & m;
      c := ((c << 30) | (c >> 2)) & m;
    end loop;
    h0 := (h0 + a) & m;
    h1 := (h1 + b) & m;
    h2 := (h2 + c) & m;
    h3 := (h3 + d) & m;
    h4 := (h4 + e) & m;
  end loop;
  return int8send((h0 << 32) | h1) || int8send((h2 << 32) | h3) || substr(int8send(h4), 5, 4);
end
$$;

create function @extschema@.digest(bytea, text) returns bytea
language sql immutable strict parallel safe
return case pg_catalog.lower($2)
  when 'md5' then pg_catalog.decode(pg_catalog.md5($1), 'hex')
  when 'sha1' then @extschema@.pgcrypto_sha1($1)
  when 'sha224' then pg_catalog.sha224($1)
  when 'sha256' then pg_catalog.sha256($1)
  when 'sha384' then pg_catalog.sha384($1)
  when 'sha512' then pg_catalog.sha512($1)
  else @extschema@.pgcrypto_refuse(
    pg_catalog.format('Cannot use "%s": No such hash algorithm', pg_catalog.left(pg_catalog.lower($2), 63)),
    '22023',
    'This edition of pgcrypto has md5, sha1, sha224, sha256, sha384 and sha512.'
  )
end;

create function @extschema@.digest(text, text) returns bytea
language sql immutable strict parallel safe
return @extschema@.digest(pg_catalog.convert_to($1, pg_catalog.getdatabaseencoding()), $2);

-- The key filled up with zeros to one block, each eight bytes of it combined with `mask` (RFC 2104).
create function @extschema@.pgcrypto_hmac_pad(key bytea, block integer, mask bigint) returns bytea
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  filled bytea := key || decode(repeat('00', block - octet_length(key)), 'hex');
  pad bytea := ''::bytea;
begin
  for i in 0 .. block / 8 - 1 loop
    pad := pad || int8send(substr(filled, i * 8 + 1, 8)::bigint # mask);
  end loop;
  return pad;
end
$$;

create function @extschema@.pgcrypto_hmac_block(type text) returns integer
language sql immutable strict parallel safe
return case when pg_catalog.lower(type) in ('sha384', 'sha512') then 128 else 64 end;

create function @extschema@.pgcrypto_hmac_key(key bytea, type text) returns bytea
language sql immutable strict parallel safe
return case
  when pg_catalog.octet_length(key) > @extschema@.pgcrypto_hmac_block(type) then @extschema@.digest(key, type)
  else key
end;

create function @extschema@.hmac(bytea, bytea, text) returns bytea
language sql immutable strict parallel safe
return @extschema@.digest(
  @extschema@.pgcrypto_hmac_pad(@extschema@.pgcrypto_hmac_key($2, $3), @extschema@.pgcrypto_hmac_block($3), 6655295901103053916)
  || @extschema@.digest(
    @extschema@.pgcrypto_hmac_pad(@extschema@.pgcrypto_hmac_key($2, $3), @extschema@.pgcrypto_hmac_block($3), 3906369333256140342) || $1,
    $3
  ),
  $3
);

create function @extschema@.hmac(text, text, text) returns bytea
language sql immutable strict parallel safe
return @extschema@.hmac(
  pg_catalog.convert_to($1, pg_catalog.getdatabaseencoding()),
  pg_catalog.convert_to($2, pg_catalog.getdatabaseencoding()),
  $3
);


-- Random bytes

create function @extschema@.gen_random_uuid() returns uuid
language sql volatile parallel safe
return pg_catalog.gen_random_uuid();

-- 14 of the 16 bytes of a version 4 UUID come untouched from the server's strong random source;
-- the two others carry its version and variant and are left out.
create function @extschema@.gen_random_bytes(integer) returns bytea
language plpgsql volatile strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  random bytea := ''::bytea;
  fresh bytea;
begin
  if $1 < 1 or $1 > 1024 then
    raise exception 'Length not in range' using errcode = 'external_routine_invocation_exception';
  end if;
  while octet_length(random) < $1 loop
    fresh := uuid_send(pg_catalog.gen_random_uuid());
    random := random || substr(fresh, 1, 6) || substr(fresh, 8, 1) || substr(fresh, 10, 7);
  end loop;
  return substr(random, 1, $1);
end
$$;


-- Blowfish, for bcrypt and for the cipher

-- The first 1042 words of the fraction of pi: the start values of Blowfish, 18 subkeys and four boxes of 256 words.
create function @extschema@.pgcrypto_blowfish_pi() returns bytea
language sql immutable parallel safe
return pg_catalog.decode('
243f6a8885a308d313198a2e03707344a4093822299f31d0082efa98ec4e6c89452821e638d01377be5466cf34e90c6cc0ac29b7c97c50dd
3f84d5b5b54709179216d5d98979fb1bd1310ba698dfb5ac2ffd72dbd01adfb7b8e1afed6a267e96ba7c9045f12c7f9924a19947b3916cf7
0801f2e2858efc16636920d871574e69a458fea3f4933d7e0d95748f728eb658718bcd5882154aee7b54a41dc25a59b59c30d5392af26013
c5d1b023286085f0ca417918b8db38ef8e79dcb0603a180e6c9e0e8bb01e8a3ed71577c1bd314b2778af2fda55605c60e65525f3aa55ab94
5748986263e8144055ca396a2aab10b6b4cc5c341141e8cea15486af7c72e993b3ee1411636fbc2a2ba9c55d741831f6ce5c3e169b87931e
afd6ba336c24cf5c7a325381289586773b8f48986b4bb9afc4bfe81b6628219361d809ccfb21a991487cac605dec8032ef845d5de98575b1
dc262302eb651b8823893e81d396acc50f6d6ff383f442392e0b4482a484200469c8f04a9e1f9b5e21c66842f6e96c9a670c9c61abd388f0
6a51a0d2d8542f68960fa728ab5133a36eef0b6c137a3be4ba3bf0507efb2a98a1f1651d39af017666ca593e82430e888cee8619456f9fb4
7d84a5c33b8b5ebee06f75d885c12073401a449f56c16aa64ed3aa62363f77061bfedf72429b023d37d0d724d00a1248db0fead349f1c09b
075372c980991b7b25d479d8f6e8def7e3fe501ab6794c3b976ce0bd04c006bac1a94fb6409f60c45e5c9ec2196a246368fb6faf3e6c53b5
1339b2eb3b52ec6f6dfc511f9b30952ccc814544af5ebd09bee3d004de334afd660f2807192e4bb3c0cba85745c8740fd20b5f39b9d3fbdb
5579c0bd1a60320ad6a100c6402c7279679f25fefb1fa3cc8ea5e9f8db3222f83c7516dffd616b152f501ec8ad0552ab323db5fafd238760
53317b483e00df829e5c57bbca6f8ca01a87562edf1769dbd542a8f6287effc3ac6732c68c4f5573695b27b0bbca58c8e1ffa35db8f011a0
10fa3d98fd2183b84afcb56c2dd1d35b9a53e479b6f84565d28e49bc4bfb9790e1ddf2daa4cb7e3362fb1341cee4c6e8ef20cada36774c01
d07e9efe2bf11fb495dbda4dae909198eaad8e716b93d5a0d08ed1d0afc725e08e3c5b2f8e7594b78ff6e2fbf2122b648888b812900df01c
4fad5ea0688fc31cd1cff191b3a8c1ad2f2f2218be0e1777ea752dfe8b021fa1e5a0cc0fb56f74e818acf3d6ce89e299b4a84fe0fd13e0b7
7cc43b81d2ada8d9165fa2668095770593cc7314211a1477e6ad206577b5fa86c75442f5fb9d35cfebcdaf0c7b3e89a0d6411bd3ae1e7e49
00250e2d2071b35e226800bb57b8e0af2464369bf009b91e5563911d59dfa6aa78c14389d95a537f207d5ba202e5b9c5832603766295cfa9
11c819684e734a41b3472dca7b14a94a1b5100529a532915d60f573fbc9bc6e42b60a47681e6740008ba6fb5571be91ff296ec6b2a0dd915
b6636521e7b9f9b6ff34052ec585566453b02d5da99f8fa108ba47996e85076a4b7a70e9b5b32944db75092ec4192623ad6ea6b049a7df7d
9cee60b88fedb266ecaa8c71699a17ff5664526cc2b19ee1193602a575094c29a0591340e4183a3e3f54989a5b429d656b8fe4d699f73fd6
a1d29c07efe830f54d2d38e6f0255dc14cdd20868470eb266382e9c6021ecc5e09686b3f3ebaefc93c9718146b6a70a1687f358452a0e286
b79c5305aa5007373e07841c7fdeae5c8e7d44ec5716f2b8b03ada37f0500c0df01c1f040200b3ffae0cf51a3cb574b225837a58dc0921bd
d19113f97ca92ff69432477322f547013ae5e58137c2dadcc8b576349af3dda7a94461460fd0030eecc8c73ea4751e41e238cd993bea0e2f
3280bba1183eb3314e548b384f6db9086f420d03f60a04bf2cb8129024977c795679b072bcaf89afde9a771fd9930810b38bae12dccf3f2e
5512721f2e6b7124501adde69f84cd877a5847187408da17bc9f9abce94b7d8cec7aec3adb851dfa63094366c464c3d2ef1c18473215d908
dd433b3724c2ba1612a14d432a65c45150940002133ae4dd71dff89e10314e5581ac77d65f11199b043556f1d7a3c76b3c11183b5924a509
f28fe6ed97f1fbfa9ebabf2c1e153c6e86e34570eae96fb1860e5e0a5a3e2ab3771fe71c4e3d06fa2965dcb999e71d0f803e89d65266c825
2e4cc9789c10b36ac6150eba94e2ea78a5fc3c531e0a2df4f2f74ea7361d2b3d1939260f19c279605223a708f71312b6ebadfe6eeac31f66
e3bc4595a67bc883b17f37d1018cff28c332ddefbe6c5aa56558218568ab9802eecea50fdb2f953b2aef7dad5b6e2f841521b62829076170
ecdd4775619f151013cca830eb61bd960334fe1eaa0363cfb5735c904c70a239d59e9e0bcbaade14eecc86bc60622ca79cab5cabb2f3846e
648b1eaf19bdf0caa02369b9655abb5040685a323c2ab4b3319ee9d5c021b8f79b540b19875fa09995f7997e623d7da8f837889a97e32d77
11ed935f166812810e358829c7e61fd696dedfa17858ba9957f584a51b2272639b83c3ff1ac24696cdb30aeb532e30548fd948e46dbc3128
58ebf2ef34c6ffeafe28ed61ee7c3c735d4a14d9e864b7e342105d14203e13e045eee2b6a3aaabeadb6c4f15facb4fd0c742f442ef6abbb5
654f3b1d41cd2105d81e799e86854dc7e44b476a3d816250cf62a1f25b8d2646fc8883a0c1c7b6a37f1524c369cb749247848a0b5692b285
095bbf00ad19489d1462b17423820e0058428d2a0c55f5ea1dadf43e233f70613372f0928d937e41d65fecf16c223bdb7cde3759cbee7460
4085f2a7ce77326ea607808419f8509ee8efd85561d99735a969a7aac50c06c25a04abfc800bcadc9e447a2ec3453484fdd567050e1e9ec9
db73dbd3105588cd675fda79e3674340c5c43465713e38d83d28f89ef16dff20153e21e78fb03d4ae6e39f2bdb83adf7e93d5a68948140f7
f64c261c94692934411520f77602d4f7bcf46b2ed4a20068d40824713320f46a43b7d4b7500061af1e39f62e9724454614214f74bf8b8840
4d95fc1d96b591af70f4ddd366a02f45bfbc09ec03bd97857fac6dd031cb850496eb27b355fd3941da2547e6abca0a9a28507825530429f4
0a2c86dae9b66dfb68dc1462d7486900680ec0a427a18dee4f3ffea2e887ad8cb58ce0067af4d6b6aace1e7cd3375fecce78a399406b2a42
20fe9e35d9f385b9ee39d7ab3b124e8b1dc9faf74b6d185626a36631eae397b23a6efa74dd5b43326841e7f7ca7820fbfb0af54ed8feb397
454056acba48952755533a3a20838d87fe6ba9b7d096954b55a867bca1159a58cca9296399e1db33a62a4a563f3125f95ef47e1c9029317c
fdf8e80204272f7080bb155c05282ce395c11548e4c66d2248c1133fc70f86dc07f9c9ee41041f0f404779a45d886e17325f51ebd59bc0d1
f2bcc18f41113564257b7834602a9c60dff8e8a31f636c1b0e12b4c202e1329eaf664fd1cad181156b2395e0333e92e13b240b62eebeb922
85b2a20ee6ba0d99de720c8c2da2f728d012784595b794fd647d0862e7ccf5f05449a36f877d48fac39dfd27f33e8d1e0a476341992eff74
3a6f6eabf4f8fd37a812dc60a1ebddf8991be14cdb6e6b0dc67b55106d672c372765d43bdcd0e804f1290dc7cc00ffa3b5390f92690fed0b
667b9ffbcedb7d9ca091cf0bd9155ea3bb132f88515bad247b9479bf763bd6eb37392eb3cc1159798026e297f42e312d6842ada7c66a2b3b
12754ccc782ef11c6a124237b79251e706a1bbe64bfb63501a6b101811caedfa3d25bdd8e2e1c3c9444216590a121386d90cec6ed5abea2a
64af674eda86a85fbebfe98864e4c3fe9dbc8057f0f7c08660787bf86003604dd1fd8346f6381fb07745ae04d736fccc83426b33f01eab71
b08041873c005e5f77a057bebde8ae2455464299bf582e614e58f48ff2ddfda2f474ef388789bdc25366f9c3c8b38e74b475f25546fcd9b9
7aeb26618b1ddf84846a0e79915f95e2466e598e20b457708cd55591c902de4cb90bace1bb8205d011a862487574a99eb77f19b6e0a9dc09
662d09a1c4324633e85a1f0209f0be8c4a99a0251d6efe101ab93d1d0ba5a4dfa186f20f2868f169dcb7da83573906fea1e2ce9b4fcd7f52
50115e01a70683faa002b5c40de6d0279af88c27773f8641c3604c0661a806b5f0177a28c0f586e0006058aa30dc7d6211e69ed72338ea63
53c2dd94c2c21634bbcbee5690bcb6deebfc7da1ce591d766f05e4094b7c018839720a3d7c927c2486e3725f724d9db91ac15bb4d39eb8fc
ed54557808fca5b5d83d7cd34dad0fc41e50ef5eb161e6f8a28514d96c51133c6fd5c7e756e14ec4362abfceddc6c837d79a323492638212
670efa8e406000e03a39ce37d3faf5cfabc277375ac52d1b5cb0679e4fa33742d382274099bc9bbed5118e9dbf0f7315d62d1c7ec700c47b
b78c1b6b21a19045b26eb1be6a366eb45748ab2fbc946e79c6a376d26549c2c8530ff8ee468dde7dd5730a1d4cd04dc62939bbdba9ba4650
ac9526e8be5ee304a1fad5f06a2d519a63ef8ce29a86ee22c089c2b843242ef6a51e03aa9cf2d0a483c061ba9be96a4d8fe51550ba645bd6
2826a2f9a73a3ae14ba99586ef5562e9c72fefd3f752f7da3f046f6977fa0a5980e4a91587b086019b09e6ad3b3ee593e990fd5a9e34d797
2cf0b7d9022b8b5196d5ac3a017da67dd1cf3ed67c7d2d281f9f25cfadf2b89b5ad6b4725a88f54ce029ac71e019a5e647b0acfded93fa9b
e8d3c48d283b57ccf8d5662979132e28785f0191ed756055f7960e44e3d35e8c15056dd488f46dba03a161250564f0bdc3eb9e153c9057a2
97271aeca93a072a1b3f6d9b1e6321f5f59c66fb26dcf3197533d928b155fdf5035634828aba3cbb28517711c20ad9f8abcc5167ccad925f
4de817513830dc8e379d58629320f991ea7a90c2fb3e7bce5121ce64774fbe32a8b6e37ec3293d4648de53696413e680a2ae0810dd6db224
69852dfd09072166b39a460a6445c0dd586cdecf1c20c8ae5bbef7dd1b588d40ccd2017f6bb4e3bbdda26a7e3a59ff453e350a44bcb4cdd5
72eacea8fa6484bb8d6612aebf3c6f47d29be463542f5d9eaec2771bf64e6370740e0d8de75b1357f8721671af537d5d4040cb084eb4e2cc
34d2466a0115af84e1b0042895983a1d06b89fb4ce6ea0486f3f3b823520ab82011a1d4b277227f8611560b1e7933fdcbb3a792b344525bd
a08839e151ce794b2f32c9b7a01fbac9e01cc87ebcc7d1f6cf0111c3a1e8aac71a908749d44fbd9ad0dadecbd50ada380339c32ac6913667
8df9317ce0b12b4ff79e59b743f5bb3af2d519ff27d9459cbf97222c15e6fc2a0f91fc719b941525fae59361ceb69cebc2a8645912baa8d1
b6c1075ee3056a0c10d25065cb03a442e0ec6e0e1698db3b4c98a0be3278e9649f1f9532e0d392dfd3a0342b8971f21e1b0a74414ba3348c
c5be7120c37632d8df359f8d9b992f2ee60b6f470fe3f11de54cda541edad891ce6279cfcd3e7e6f1618b166fd2c1d05848fd2c5f6fb2299
f523f357a632762393a8353156cccd02acf081625a75ebb56e16369788d273ccde96629281b949d04c50901b71c65614e6c6c7bd327a140a
45e1d006c3f27b9ac9aa53fd62a80f00bb25bfe235bdd2f671126905b2040222b6cbcf7ccd769c2b53113ec01640e3d338abbd602547adf0
ba38209cf746ce7677afa1c52075606085cbfe4e8ae88dd87aaaf9b04cf9aa7e1948c25c02fb8a8c01c36ae4d6ebe1f990d4f869a65cdea0
3f09252dc208e69fb74e6132ce77e25b578fdfe33ac372e6
', 'hex');

-- Blowfish with its key worked in: 18 subkeys, then the four boxes, counted from 1.
-- `key` has 72 bytes (a shorter key repeated), `salt` 16. One plain key schedule with the salt mixed in, then `rounds`
-- times one with the key and one with the salt; zeros and 0 rounds are the plain cipher, 2^cost rounds bcrypt.
-- The sixteen rounds of a block are written out and subkeys stand in plain variables: half the time of a loop.
create function @extschema@.pgcrypto_blowfish_schedule(key bytea, salt bytea, rounds bigint, pi bytea) returns bigint[]
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  m constant bigint := 4294967295;
  k bigint[] := array_fill(0::bigint, array[18], array[0]);
  t bigint[] := array_fill(0::bigint, array[18], array[0]);
  u bigint[];
  s0 bigint[] := array_fill(0::bigint, array[256], array[0]);
  s1 bigint[] := s0;
  s2 bigint[] := s0;
  s3 bigint[] := s0;
  pass bigint := 0;  -- a FOR loop counts in integer, too short for the highest costs
  l bigint;
  r bigint;
  x bigint;
  y bigint;
  p0 bigint;
  p1 bigint;
  p2 bigint;
  p3 bigint;
  p4 bigint;
  p5 bigint;
  p6 bigint;
  p7 bigint;
  p8 bigint;
  p9 bigint;
  p10 bigint;
  p11 bigint;
  p12 bigint;
  p13 bigint;
  p14 bigint;
  p15 bigint;
  p16 bigint;
  p17 bigint;
begin
  for i in 0 .. 8 loop
    x := substr(key, i * 8 + 1, 8)::bigint;
    k[i * 2] := (x >> 32) & m;
    k[i * 2 + 1] := x & m;
    x := substr(salt, i * 8 % 16 + 1, 8)::bigint;
    t[i * 2] := (x >> 32) & m;
    t[i * 2 + 1] := x & m;
    x := substr(pi, i * 8 + 1, 8)::bigint;
    case i
      when 0 then
        p0 := (x >> 32) & m;
        p1 := x & m;
      when 1 then
        p2 := (x >> 32) & m;
        p3 := x & m;
      when 2 then
        p4 := (x >> 32) & m;
        p5 := x & m;
      when 3 then
        p6 := (x >> 32) & m;
        p7 := x & m;
      when 4 then
        p8 := (x >> 32) & m;
        p9 := x & m;
      when 5 then
        p10 := (x >> 32) & m;
        p11 := x & m;
      when 6 then
        p12 := (x >> 32) & m;
        p13 := x & m;
      when 7 then
        p14 := (x >> 32) & m;
        p15 := x & m;
      when 8 then
        p16 := (x >> 32) & m;
        p17 := x & m;
    end case;
  end loop;
  for i in 0 .. 255 loop
    s0[i] := substr(pi, i * 4 + 73, 4)::integer & m;
    s1[i] := substr(pi, i * 4 + 1097, 4)::integer & m;
    s2[i] := substr(pi, i * 4 + 2121, 4)::integer & m;
    s3[i] := substr(pi, i * 4 + 3145, 4)::integer & m;
  end loop;

  while pass <= rounds * 2 loop
    if pass = 0 or pass % 2 = 1 then
      u := k;
    else
      u := t;
    end if;
    p0 := p0 # u[0];
    p1 := p1 # u[1];
    p2 := p2 # u[2];
    p3 := p3 # u[3];
    p4 := p4 # u[4];
    p5 := p5 # u[5];
    p6 := p6 # u[6];
    p7 := p7 # u[7];
    p8 := p8 # u[8];
    p9 := p9 # u[9];
    p10 := p10 # u[10];
    p11 := p11 # u[11];
    p12 := p12 # u[12];
    p13 := p13 # u[13];
    p14 := p14 # u[14];
    p15 := p15 # u[15];
    p16 := p16 # u[16];
    p17 := p17 # u[17];
    l := 0;
    r := 0;
    for box in -1 .. 3 loop
      for i in 0 .. case when box < 0 then 16 else 254 end by 2 loop
        if pass = 0 then
          -- Blocks take the two halves of the salt in turn; nine blocks lie before the boxes.
          y := case when box < 0 then i & 2 else 2 - (i & 2) end;
          l := l # t[y];
          r := r # t[y + 1];
        end if;
        l := l # p0;
        r := r # p1 # ((((s0[l >> 24] + s1[(l >> 16) & 255]) # s2[(l >> 8) & 255]) + s3[l & 255]) & 4294967295);
        l := l # p2 # ((((s0[r >> 24] + s1[(r >> 16) & 255]) # s2[(r >> 8) & 255]) + s3[r & 255]) & 4294967295);
        r := r # p3 # ((((s0[l >> 24] + s1[(l >> 16) & 255]) # s2[(l >> 8) & 255]) + s3[l & 255]) & 4294967295);
        l := l # p4 # ((((s0[r >> 24] + s1[(r >> 16) & 255]) # s2[(r >> 8) & 255]) + s3[r & 255]) & 4294967295);
        r := r # p5 # ((((s0[l >> 24] + s1[(l >> 16) & 255]) # s2[(l >> 8) & 255]) + s3[l & 255]) & 4294967295);
        l := l # p6 # ((((s0[r >> 24] + s1[(r >> 16) & 255]) # s2[(r >> 8) & 255]) + s3[r & 255]) & 4294967295);
        r := r # p7 # ((((s0[l >> 24] + s1[(l >> 16) & 255]) # s2[(l >> 8) & 255]) + s3[l & 255]) & 4294967295);
        l := l # p8 # ((((s0[r >> 24] + s1[(r >> 16) & 255]) # s2[(r >> 8) & 255]) + s3[r & 255]) & 4294967295);
        r := r # p9 # ((((s0[l >> 24] + s1[(l >> 16) & 255]) # s2[(l >> 8) & 255]) + s3[l & 255]) & 4294967295);
        l := l # p10 # ((((s0[r >> 24] + s1[(r >> 16) & 255]) # s2[(r >> 8) & 255]) + s3[r & 255]) & 4294967295);
        r := r # p11 # ((((s0[l >> 24] + s1[(l >> 16) & 255]) # s2[(l >> 8) & 255]) + s3[l & 255]) & 4294967295);
        l := l # p12 # ((((s0[r >> 24] + s1[(r >> 16) & 255]) # s2[(r >> 8) & 255]) + s3[r & 255]) & 4294967295);
        r := r # p13 # ((((s0[l >> 24] + s1[(l >> 16) & 255]) # s2[(l >> 8) & 255]) + s3[l & 255]) & 4294967295);
        l := l # p14 # ((((s0[r >> 24] + s1[(r >> 16) & 255]) # s2[(r >> 8) & 255]) + s3[r & 255]) & 4294967295);
        r := r # p15 # ((((s0[l >> 24] + s1[(l >> 16) & 255]) # s2[(l >> 8) & 255]) + s3[l & 255]) & 4294967295);
        l := l # p16 # ((((s0[r >> 24] + s1[(r >> 16) & 255]) # s2[(r >> 8) & 255]) + s3[r & 255]) & 4294967295);
        x := r # p17;
        r := l;
        l := x;
        if box = 0 then
          s0[i] := l;
          s0[i + 1] := r;
        elsif box = 1 then
          s1[i] := l;
          s1[i + 1] := r;
        elsif box = 2 then
          s2[i] := l;
          s2[i + 1] := r;
        elsif box = 3 then
          s3[i] := l;
          s3[i + 1] := r;
        else
          case i
            when 0 then
              p0 := l;
              p1 := r;
            when 2 then
              p2 := l;
              p3 := r;
            when 4 then
              p4 := l;
              p5 := r;
            when 6 then
              p6 := l;
              p7 := r;
            when 8 then
              p8 := l;
              p9 := r;
            when 10 then
              p10 := l;
              p11 := r;
            when 12 then
              p12 := l;
              p13 := r;
            when 14 then
              p14 := l;
              p15 := r;
            when 16 then
              p16 := l;
              p17 := r;
          end case;
        end if;
      end loop;
    end loop;
    pass := pass + 1;
  end loop;
  return array[p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15, p16, p17]
    || s0 || s1 || s2 || s3;
end
$$;

-- Whole blocks of eight bytes through Blowfish: `state` from the schedule, `chained` for CBC (else ECB),
-- `forward` to encrypt, each block `times` over.
create function @extschema@.pgcrypto_blowfish_blocks(
  state bigint[], data bytea, iv bytea, chained boolean, forward boolean, times integer
) returns bytea
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  m constant bigint := 4294967295;
  flat bytea := data || ''::bytea;  -- fetched and unpacked once, not at each substr
  count integer := octet_length(data) / 8;
  done bigint[] := array_fill(0::bigint, array[count]);
  p bigint[] := state[1:18];
  last bigint := iv::bigint;
  block bigint;
  l bigint;
  r bigint;
begin
  if not forward then
    p := array(select p[19 - i] from generate_series(1, 18) as i);
  end if;
  for n in 1 .. count loop
    block := substr(flat, n * 8 - 7, 8)::bigint;
    if chained and forward then
      block := block # last;
    end if;
    l := (block >> 32) & m;
    r := block & m;
    for again in 1 .. times loop
      l := l # p[1];
      for i in 2 .. 16 by 2 loop
        r := r # p[i] # ((((state[(l >> 24) + 19] + state[((l >> 16) & 255) + 275])
          # state[((l >> 8) & 255) + 531]) + state[(l & 255) + 787]) & m);
        l := l # p[i + 1] # ((((state[(r >> 24) + 19] + state[((r >> 16) & 255) + 275])
          # state[((r >> 8) & 255) + 531]) + state[(r & 255) + 787]) & m);
      end loop;
      block := r # p[18];
      r := l;
      l := block;
    end loop;
    block := (l << 32) | r;
    if chained and forward then
      last := block;
    elsif chained then
      block := block # last;
      last := substr(flat, n * 8 - 7, 8)::bigint;
    end if;
    done[n] := block;
  end loop;
  return (
    select coalesce(string_agg(int8send(word), ''::bytea order by n), ''::bytea)
    from unnest(done) with ordinality as words (word, n)
  );
end
$$;


-- Password hashes

-- bcrypt's base64: another alphabet, no filling.
create function @extschema@.pgcrypto_bcrypt_encode(data bytea) returns text
language sql immutable strict parallel safe
return pg_catalog.translate(
  pg_catalog.encode(data, 'base64'),
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=',
  './ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
);

-- The 16 bytes of salt in a setting such as $2a$06$ and 22 signs.
create function @extschema@.pgcrypto_bcrypt_salt(setting text) returns bytea
language sql immutable strict parallel safe
return pg_catalog.decode(
  pg_catalog.translate(
    pg_catalog.substr(setting, 8, 22),
    './ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789',
    'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
  ) || '==',
  'base64'
);

-- The password with its closing zero, repeated to 72 bytes. Variant 2x repeats the flaw of old hashes, in which
-- a byte of 128 or more overwrote those before it in its word.
create function @extschema@.pgcrypto_bcrypt_key(password bytea, flawed boolean) returns bytea
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  closed bytea := substr(password, 1, 72) || '\x00'::bytea;
  key bytea := ''::bytea;
  word bigint := 0;
  byte bigint;
begin
  for i in 0 .. 71 loop
    byte := get_byte(closed, i % octet_length(closed));
    if flawed and byte > 127 then
      byte := byte | 4294967040;
    end if;
    word := ((word << 8) | byte) & 4294967295;
    if i % 4 = 3 then
      key := key || substr(int8send(word), 5, 4);
    end if;
  end loop;
  return key;
end
$$;

create function @extschema@.pgcrypto_bcrypt(password bytea, setting text) returns text
language sql immutable strict parallel safe
return case
  when setting ~ E'^\\$2[abxy]\\$(0[4-9]|[12][0-9]|3[01])\\$[./A-Za-z0-9]{22}' then
    pg_catalog.left(setting, 7)
    || @extschema@.pgcrypto_bcrypt_encode(@extschema@.pgcrypto_bcrypt_salt(setting))
    || @extschema@.pgcrypto_bcrypt_encode(pg_catalog.substr(
      @extschema@.pgcrypto_blowfish_blocks(
        @extschema@.pgcrypto_blowfish_schedule(
          @extschema@.pgcrypto_bcrypt_key(password, pg_catalog.substr(setting, 3, 1) = 'x'),
          @extschema@.pgcrypto_bcrypt_salt(setting),
          1::bigint << pg_catalog.substr(setting, 5, 2)::integer,
          @extschema@.pgcrypto_blowfish_pi()
        ),
        'OrpheanBeholderScryDoubt'::bytea, E'\\x0000000000000000'::bytea, false, true, 64
      ),
      1, 23
    ))
  else @extschema@.pgcrypto_refuse('invalid salt', '22023', 'Make a salt with gen_salt(''bf'').')::text
end;

-- Base64 of the older password hashes: each group of three bytes comes out with its lowest bits first. `places` are
-- the bytes in output order, last group first; a place past the end is a zero.
create function @extschema@.pgcrypto_crypt64(digest bytea, places integer[], length integer) returns text
language sql immutable strict parallel safe
return pg_catalog.left(
  pg_catalog.reverse(pg_catalog.translate(
    pg_catalog.encode(
      (
        select pg_catalog.string_agg(pg_catalog.substr(digest || E'\\x00'::bytea, place + 1, 1), ''::bytea order by n)
        from pg_catalog.unnest(places) with ordinality as list (place, n)
      ),
      'base64'
    ),
    'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/' || pg_catalog.chr(10),
    './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  )),
  length
);

-- MD5-crypt, the digest of a thousand rounds.
create function @extschema@.pgcrypto_md5_rounds(password bytea, salt bytea) returns bytea
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  size integer := octet_length(password);
  seed bytea := password || '$1$'::bytea || salt;
  hash bytea := decode(md5(password || salt || password), 'hex');
  rest integer := size;
begin
  while rest > 0 loop
    seed := seed || substr(hash, 1, least(rest, 16));
    rest := rest - 16;
  end loop;
  rest := size;
  while rest > 0 loop
    seed := seed || case when rest & 1 = 1 then '\x00'::bytea else substr(password, 1, 1) end;
    rest := rest >> 1;
  end loop;
  hash := decode(md5(seed), 'hex');
  for i in 0 .. 999 loop
    seed := case when i & 1 = 1 then password else hash end;
    if i % 3 > 0 then
      seed := seed || salt;
    end if;
    if i % 7 > 0 then
      seed := seed || password;
    end if;
    hash := decode(md5(seed || case when i & 1 = 1 then hash else password end), 'hex');
  end loop;
  return hash;
end
$$;

create function @extschema@.pgcrypto_md5_crypt(password bytea, setting text) returns text
language sql immutable strict parallel safe
return pg_catalog.substring(setting, E'^\\$1\\$[^$]{0,8}') || '$' || @extschema@.pgcrypto_crypt64(
  @extschema@.pgcrypto_md5_rounds(
    password,
    pg_catalog.convert_to(
      pg_catalog.substr(pg_catalog.substring(setting, E'^\\$1\\$[^$]{0,8}'), 4), pg_catalog.getdatabaseencoding()
    )
  ),
  '{16,16,11, 4,10,5, 3,9,15, 2,8,14, 1,7,13, 0,6,12}'::integer[],
  22
);

-- A SHA-crypt setting as it stands before the hash, its salt, and its rounds.
create function @extschema@.pgcrypto_sha_setting(setting text) returns text[]
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  rest text := substr(setting, 4);
  asked numeric := substring(rest, '^rounds=([0-9]+)\$')::numeric;
  rounds integer := least(greatest(coalesce(asked, 5000), 1000), 999999999);
  salt text;
begin
  if asked is null and starts_with(rest, 'rounds=') then
    raise exception 'could not parse salt options' using errcode = 'syntax_error';
  elsif asked > rounds then
    raise notice 'rounds=% exceeds maximum supported value (%), using % instead', asked, rounds, rounds;
  elsif asked < rounds then
    raise notice 'rounds=% is below supported value (%), using % instead', asked, rounds, rounds;
  end if;
  rest := ltrim(regexp_replace(rest, '^rounds=[0-9]+\$', ''), '$');
  salt := left(split_part(rest, '$', 1), 16);
  if salt !~ '^[./0-9A-Za-z]*$' then
    raise exception 'invalid character in salt string: "%"', substring(salt, '[^./0-9A-Za-z]')
      using errcode = 'invalid_parameter_value';
  end if;
  return array[
    left(setting, 3) || case when asked is null then '' else format('rounds=%s$', rounds) end || salt,
    salt,
    rounds::text
  ];
end
$$;

-- SHA-crypt, the digest of its rounds; `wide` for SHA-512, else SHA-256.
create function @extschema@.pgcrypto_sha_rounds(password bytea, salt bytea, rounds integer, wide boolean) returns bytea
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  width integer := case when wide then 64 else 32 end;
  size integer := octet_length(password);
  seed bytea := password || salt || password;
  hash bytea := case when wide then sha512(seed) else sha256(seed) end;
  fill bytea;
  p bytea;
  s bytea;
  rest integer := size;
begin
  fill := decode(repeat(encode(hash, 'hex'), size / width + 1), 'hex');
  seed := password || salt || substr(fill, 1, size);
  while rest > 0 loop
    seed := seed || case when rest & 1 = 1 then hash else password end;
    rest := rest >> 1;
  end loop;
  hash := case when wide then sha512(seed) else sha256(seed) end;
  -- The password and the salt are each stretched from a hash of themselves, many times over.
  seed := decode(repeat(encode(password, 'hex'), size), 'hex');
  fill := case when wide then sha512(seed) else sha256(seed) end;
  p := substr(decode(repeat(encode(fill, 'hex'), size / width + 1), 'hex'), 1, size);
  seed := decode(repeat(encode(salt, 'hex'), 16 + get_byte(hash, 0)), 'hex');
  s := substr(case when wide then sha512(seed) else sha256(seed) end, 1, octet_length(salt));
  for i in 0 .. rounds - 1 loop
    seed := case when i & 1 = 1 then p else hash end;
    if i % 3 > 0 then
      seed := seed || s;
    end if;
    if i % 7 > 0 then
      seed := seed || p;
    end if;
    seed := seed || case when i & 1 = 1 then hash else p end;
    if wide then
      hash := sha512(seed);
    else
      hash := sha256(seed);
    end if;
  end loop;
  return hash;
end
$$;

create function @extschema@.pgcrypto_sha_crypt(password bytea, setting text) returns text
language sql immutable strict parallel safe
begin atomic
  select parts[1] || '$' || case pg_catalog.left(setting, 3)
    when '$5$' then @extschema@.pgcrypto_crypt64(
      @extschema@.pgcrypto_sha_rounds(password, parts[2]::bytea, parts[3]::integer, false),
      '{32,31,30, 9,19,29, 18,28,8, 27,7,17, 6,16,26, 15,25,5, 24,4,14, 3,13,23, 12,22,2,
        21,1,11, 0,10,20}'::integer[],
      43
    )
    else @extschema@.pgcrypto_crypt64(
      @extschema@.pgcrypto_sha_rounds(password, parts[2]::bytea, parts[3]::integer, true),
      '{64,64,63, 62,20,41, 40,61,19, 18,39,60, 59,17,38, 37,58,16, 15,36,57, 56,14,35, 34,55,13,
        12,33,54, 53,11,32, 31,52,10, 9,30,51, 50,8,29, 28,49,7, 6,27,48, 47,5,26, 25,46,4,
        3,24,45, 44,2,23, 22,43,1, 0,21,42}'::integer[],
      86
    )
  end
  from (select @extschema@.pgcrypto_sha_setting(setting) as parts offset 0) as split;
end;

-- One block through DES, `count` times over, with the bits of `salt` exchanging the halves of each expanded word.
-- The tables are those of FIPS 46-3; the eight boxes are joined with the permutation that follows them.
create function @extschema@.pgcrypto_des(block bigint, key bigint, salt integer, count integer) returns bigint
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  boxes constant text :=
    'e4d12fb83a6c59070f74e2d1a6cb953841e8d62bfc973a50fc8249175b3ea06d'
    || 'f18e6b34972dc05a3d47f28ec01a69b50e7ba4d158c6932fd8a13f42b67c05e9'
    || 'a09e63f51dc7b428d709346a285ecbf1d6498f30b12c5ae71ad069874fe3b52c'
    || '7de3069a1285bc4fd8b56f03472c1ae9a690cb7df13e52843f06a1d8945bc72e'
    || '2c417ab6853fd0e9eb2c47d150fa3986421bad78f9c5630eb8c71e2d6f09a453'
    || 'c1af92680d34e75baf427c9561de0b389ef528c3704a1db6432c95fabe17608d'
    || '4b2ef08d3c975a61d0b7491ae35c2f8614bdc37eaf6805926bd814a7950fe23c'
    || 'd2846fb1a93e50c71fd8a374c56b0e927b419ce206adf35821e74a8dfc90356b';
  after_boxes constant integer[] := '{9,17,23,31,13,28,2,18,24,16,30,6,26,20,10,1,
    8,14,25,3,4,29,11,19,32,12,22,7,5,27,15,21}';
  key_choice constant integer[] := '{57,49,41,33,25,17,9,1,58,50,42,34,26,18,10,2,59,51,43,35,27,19,11,3,60,52,44,36,
    63,55,47,39,31,23,15,7,62,54,46,38,30,22,14,6,61,53,45,37,29,21,13,5,28,20,12,4}';
  subkey_choice constant integer[] := '{14,17,11,24,1,5,3,28,15,6,21,10,23,19,12,4,26,8,16,7,27,20,13,2,
    41,52,31,37,47,55,30,40,51,45,33,48,44,49,39,56,34,53,46,42,50,36,29,32}';
  key_turns constant integer[] := '{1,1,2,2,2,2,2,2,1,2,2,2,2,2,2,1}';
  sp bigint[] := array_fill(0::bigint, array[512], array[0]);
  high_keys bigint[] := array_fill(0::bigint, array[16]);
  low_keys bigint[] := array_fill(0::bigint, array[16]);
  swaps bigint := 0;
  c bigint := 0;
  d bigint := 0;
  l bigint := 0;
  r bigint := 0;
  wide bigint;
  high bigint;
  low bigint;
  nibble bigint;
begin
  for i in 0 .. 511 loop
    -- The outer two of the six bits choose the row of a box, the inner four the column.
    nibble := ascii(substr(boxes, (i & 448) + ((i & 32) | ((i & 1) << 4) | ((i >> 1) & 15)) + 1, 1));
    nibble := case when nibble > 57 then nibble - 87 else nibble - 48 end;
    low := (i >> 6) * 4 + 1;
    sp[i] := ((nibble >> 3) << (32 - after_boxes[low]))
      | (((nibble >> 2) & 1) << (32 - after_boxes[low + 1]))
      | (((nibble >> 1) & 1) << (32 - after_boxes[low + 2]))
      | ((nibble & 1) << (32 - after_boxes[low + 3]));
  end loop;

  for i in 1 .. 28 loop
    c := (c << 1) | ((key >> (64 - key_choice[i])) & 1);
    d := (d << 1) | ((key >> (64 - key_choice[i + 28])) & 1);
  end loop;
  for i in 1 .. 16 loop
    c := ((c << key_turns[i]) | (c >> (28 - key_turns[i]))) & 268435455;
    d := ((d << key_turns[i]) | (d >> (28 - key_turns[i]))) & 268435455;
    wide := (c << 28) | d;
    high := 0;
    low := 0;
    for j in 1 .. 24 loop
      high := (high << 1) | ((wide >> (56 - subkey_choice[j])) & 1);
      low := (low << 1) | ((wide >> (56 - subkey_choice[j + 24])) & 1);
    end loop;
    high_keys[i] := high;
    low_keys[i] := low;
  end loop;

  for i in 0 .. 23 loop
    swaps := (swaps << 1) | ((salt >> i) & 1);
  end loop;

  -- First permutation: even bits of all bytes, from the last byte to the first, make the left half,
  -- odd bits the right.
  for i in 0 .. 31 loop
    l := (l << 1) | ((block >> ((i & 7) * 8 + 6 - (i >> 3) * 2)) & 1);
    r := (r << 1) | ((block >> ((i & 7) * 8 + 7 - (i >> 3) * 2)) & 1);
  end loop;

  for again in 1 .. count loop
    for i in 1 .. 16 by 2 loop
      wide := ((r & 1) << 33) | (r << 1) | (r >> 31);
      high := ((wide >> 10) & 16515072) | ((wide >> 12) & 258048) | ((wide >> 14) & 4032) | ((wide >> 16) & 63);
      low := ((wide << 6) & 16515072) | ((wide << 4) & 258048) | ((wide << 2) & 4032) | (wide & 63);
      wide := (high # low) & swaps;
      high := high # wide # high_keys[i];
      low := low # wide # low_keys[i];
      l := l # (
        sp[high >> 18] | sp[((high >> 12) & 63) + 64] | sp[((high >> 6) & 63) + 128] | sp[(high & 63) + 192]
        | sp[(low >> 18) + 256] | sp[((low >> 12) & 63) + 320] | sp[((low >> 6) & 63) + 384] | sp[(low & 63) + 448]
      );
      wide := ((l & 1) << 33) | (l << 1) | (l >> 31);
      high := ((wide >> 10) & 16515072) | ((wide >> 12) & 258048) | ((wide >> 14) & 4032) | ((wide >> 16) & 63);
      low := ((wide << 6) & 16515072) | ((wide << 4) & 258048) | ((wide << 2) & 4032) | (wide & 63);
      wide := (high # low) & swaps;
      high := high # wide # high_keys[i + 1];
      low := low # wide # low_keys[i + 1];
      r := r # (
        sp[high >> 18] | sp[((high >> 12) & 63) + 64] | sp[((high >> 6) & 63) + 128] | sp[(high & 63) + 192]
        | sp[(low >> 18) + 256] | sp[((low >> 12) & 63) + 320] | sp[((low >> 6) & 63) + 384] | sp[(low & 63) + 448]
      );
    end loop;
    wide := l;
    l := r;
    r := wide;
  end loop;

  -- Last permutation: the inverse of the first.
  wide := 0;
  for i in 0 .. 31 loop
    wide := wide
      | (((l >> (31 - i)) & 1) << ((i & 7) * 8 + 6 - (i >> 3) * 2))
      | (((r >> (31 - i)) & 1) << ((i & 7) * 8 + 7 - (i >> 3) * 2));
  end loop;
  return wide;
end
$$;

-- Eight bytes of a password as a DES key: seven bits each, zeros behind the end.
create function @extschema@.pgcrypto_des_key(password bytea, part integer) returns bigint
language sql immutable strict parallel safe
return (
  pg_catalog.substr(pg_catalog.substr(password, part * 8 + 1, 8) || E'\\x0000000000000000'::bytea, 1, 8)::bigint
  & 9187201950435737471
) << 1;

-- The number that signs of the DES alphabet stand for, lowest first; any other sign is 0, as in the original.
create function @extschema@.pgcrypto_des_number(signs text) returns integer
language sql immutable strict parallel safe
begin atomic
  select coalesce(
    pg_catalog.sum(
      greatest(
        pg_catalog.strpos('./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', sign) - 1, 0
      ) << ((n - 1) * 6)::integer
    ),
    0
  )::integer
  from pg_catalog.regexp_split_to_table(signs, '') with ordinality as list (sign, n);
end;

-- DES-crypt (a salt of two signs, 25 times) and extended DES (_, four signs of count, four of salt). The extended form
-- folds a long password: the key encrypts itself, then the next eight bytes are added to it.
create function @extschema@.pgcrypto_des_crypt(password bytea, setting text) returns text
language sql immutable strict parallel safe
begin atomic
  with recursive folded (part, key) as (
    select 0, @extschema@.pgcrypto_des_key(password, 0)
    union all
    select part + 1, @extschema@.pgcrypto_des(key, key, 0, 1) # @extschema@.pgcrypto_des_key(password, part + 1)
    from folded
    where pg_catalog.left(setting, 1) = '_' and (part + 1) * 8 < pg_catalog.octet_length(password)
  ), settings (prefix, salt, count) as (
    select
      case when pg_catalog.left(setting, 1) = '_' then pg_catalog.left(setting, 9)
        else pg_catalog.left(setting, 2) end,
      case when pg_catalog.left(setting, 1) = '_' then @extschema@.pgcrypto_des_number(pg_catalog.substr(setting, 6, 4))
        else @extschema@.pgcrypto_des_number(pg_catalog.left(setting, 2)) end,
      case when pg_catalog.left(setting, 1) = '_' then @extschema@.pgcrypto_des_number(pg_catalog.substr(setting, 2, 4))
        else 25 end
  )
  select case
    when pg_catalog.octet_length(prefix) <> pg_catalog.length(prefix)
      or pg_catalog.length(prefix) not in (2, 9) or (pg_catalog.left(setting, 1) = '_' and count < 1)
    then @extschema@.pgcrypto_refuse('invalid salt', '22023', 'Make a salt with gen_salt.')::text
    else prefix || pg_catalog.translate(
      pg_catalog.encode(pg_catalog.int8send(@extschema@.pgcrypto_des(0::bigint, key, salt, count)), 'base64'),
      'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=',
      './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
    )
  end
  from folded, settings
  order by part desc
  limit 1;
end;

-- The cost makes the planner try cheaper conditions of a WHERE clause first.
create function @extschema@.crypt(text, text) returns text
language sql immutable strict parallel safe cost 10000
return case
  when $2 ~ E'^\\$2.?\\$' then @extschema@.pgcrypto_bcrypt(pg_catalog.convert_to($1, pg_catalog.getdatabaseencoding()), $2)
  when $2 ~ E'^\\$1\\$' then @extschema@.pgcrypto_md5_crypt(pg_catalog.convert_to($1, pg_catalog.getdatabaseencoding()), $2)
  when $2 ~ E'^\\$[56]\\$' then @extschema@.pgcrypto_sha_crypt(pg_catalog.convert_to($1, pg_catalog.getdatabaseencoding()), $2)
  else @extschema@.pgcrypto_des_crypt(pg_catalog.convert_to($1, pg_catalog.getdatabaseencoding()), $2)
end;

-- A salt of the given kind from 16 random bytes; 0 rounds means the kind's default.
create function @extschema@.pgcrypto_make_salt(kind text, rounds integer, random bytea) returns text
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  signs constant text := './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  asked integer := rounds;
  fits boolean;
  salt text := '';
begin
  case lower(kind)
    when 'des' then fits := asked in (0, 25);
    when 'md5' then fits := asked in (0, 1000);
    when 'xdes' then
      asked := case when asked = 0 then 725 else asked end;
      fits := asked between 1 and 16777215 and asked % 2 = 1;
    when 'bf' then
      asked := case when asked = 0 then 6 else asked end;
      fits := asked between 4 and 31;
    when 'sha256crypt', 'sha512crypt' then
      asked := case when asked = 0 then 5000 else asked end;
      fits := asked between 1000 and 999999999;
    else
      raise exception 'gen_salt: Unknown salt algorithm' using errcode = 'invalid_parameter_value';
  end case;
  if not fits then
    raise exception 'gen_salt: Incorrect number of rounds' using errcode = 'invalid_parameter_value';
  end if;

  for i in 0 .. 15 loop
    salt := salt || substr(signs, (get_byte(random, i) & 63) + 1, 1);
  end loop;
  return case lower(kind)
    when 'des' then left(salt, 2)
    when 'md5' then '$1$' || left(salt, 8)
    when 'xdes' then '_' || substr(signs, (asked & 63) + 1, 1) || substr(signs, ((asked >> 6) & 63) + 1, 1)
      || substr(signs, ((asked >> 12) & 63) + 1, 1) || substr(signs, ((asked >> 18) & 63) + 1, 1) || left(salt, 4)
    when 'bf' then '$2a$' || lpad(asked::text, 2, '0') || '$' || translate(
      encode(random, 'base64'),
      'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=',
      './ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
    )
    when 'sha256crypt' then format('$5$rounds=%s$%s', asked, salt)
    else format('$6$rounds=%s$%s', asked, salt)
  end;
end
$$;

create function @extschema@.gen_salt(text, integer) returns text
language sql volatile strict parallel safe
return @extschema@.pgcrypto_make_salt($1, $2, @extschema@.gen_random_bytes(16));

create function @extschema@.gen_salt(text) returns text
language sql volatile strict parallel safe
return @extschema@.pgcrypto_make_salt($1, 0, @extschema@.gen_random_bytes(16));


-- Ciphers

-- A cipher's type such as 'aes-cbc/pad:none' as {cipher, mode, padding}.
create function @extschema@.pgcrypto_cipher(type text) returns text[]
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  name text := left(lower(type), 63);
  parts text[] := string_to_array(name, '/');
  padding text := 'pkcs';
  cipher text;
  reason text;
begin
  for i in 2 .. cardinality(parts) loop
    if parts[i] like 'pad:%' then
      padding := substr(parts[i], 5);
    elsif parts[i] <> '' then
      reason := case when parts[i] like '%:%' then 'Unknown option' else 'Badly formatted type' end;
    end if;
  end loop;
  cipher := regexp_replace(parts[1], '^(rijndael|aes|blowfish|bf)$', '\1-cbc');
  cipher := regexp_replace(regexp_replace(cipher, '^rijndael-(cbc|ecb)$', 'aes-\1'), '^blowfish-', 'bf-');
  if reason is null and padding not in ('pkcs', 'none') then
    reason := 'No such cipher algorithm';
  elsif reason is null and cipher ~ '^((3?des|des3|cast5)(-ecb|-cbc)?|(aes|bf)-cfb)$' then
    raise exception 'cipher "%" is not supported by this edition of pgcrypto', parts[1] using
      errcode = 'feature_not_supported',
      hint = 'Use aes or bf, an outside PostgreSQL server with the compiled pgcrypto module, '
        'or encrypt in the application.';
  elsif reason is null and cipher !~ '^(aes|bf)-(cbc|ecb)$' then
    reason := 'No such cipher algorithm';
  end if;
  if reason is not null then
    raise exception 'Cannot use "%": %', name, reason using errcode = 'invalid_parameter_value';
  end if;
  return string_to_array(cipher, '-') || padding;
end
$$;

-- The data filled to whole blocks; without padding it must have that length already.
create function @extschema@.pgcrypto_pad(data bytea, block integer, padding text, verb text) returns bytea
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  rest integer := block - octet_length(data) % block;
begin
  if padding = 'pkcs' then
    return data || decode(repeat(lpad(to_hex(rest), 2, '0'), rest), 'hex');
  elsif rest < block then
    raise exception '% error: Encryption failed', verb using
      errcode = 'external_routine_invocation_exception',
      hint = format('Without padding the data must be a multiple of %s bytes.', block);
  end if;
  return data;
end
$$;

create function @extschema@.pgcrypto_require_blocks(data bytea, block integer, padding text, verb text) returns bytea
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if octet_length(data) % block > 0 then
    raise exception '% error: Data not a multiple of block size', verb
      using errcode = 'external_routine_invocation_exception';
  elsif padding = 'pkcs' and octet_length(data) = 0 then
    raise exception '% error: Decryption failed', verb using errcode = 'external_routine_invocation_exception';
  end if;
  return data;
end
$$;

create function @extschema@.pgcrypto_unpad(data bytea, block integer, padding text, verb text) returns bytea
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  size integer := octet_length(data);
  filled integer;
begin
  if padding = 'none' then
    return data;
  end if;
  filled := get_byte(data, size - 1);
  if filled not between 1 and block
    or substr(data, size - filled + 1) <> decode(repeat(lpad(to_hex(filled), 2, '0'), filled), 'hex')
  then
    raise exception '% error: Decryption failed', verb using errcode = 'external_routine_invocation_exception';
  end if;
  return substr(data, 1, size - filled);
end
$$;

-- A key or start value cut or filled with zeros to a length.
create function @extschema@.pgcrypto_fit(data bytea, length integer) returns bytea
language sql immutable strict parallel safe
return pg_catalog.substr(data || pg_catalog.decode(pg_catalog.repeat('00', length), 'hex'), 1, length);

-- The AES substitution: x to its inverse in GF(2^8), then an affine map (FIPS 197, 5.1.1).
create function @extschema@.pgcrypto_aes_box() returns bytea
language sql immutable parallel safe
return pg_catalog.decode('
637c777bf26b6fc53001672bfed7ab76ca82c97dfa5947f0add4a2af9ca472c0
b7fd9326363ff7cc34a5e5f171d8311504c723c31896059a071280e2eb27b275
09832c1a1b6e5aa0523bd6b329e32f8453d100ed20fcb15b6acbbe394a4c58cf
d0efaafb434d338545f9027f503c9fa851a3408f929d38f5bcb6da2110fff3d2
cd0c13ec5f974417c4a77e3d645d197360814fdc222a908846eeb814de5e0bdb
e0323a0a4906245cc2d3ac629195e479e7c8376d8dd54ea96c56f4ea657aae08
ba78252e1ca6b4c6e8dd741f4bbd8b8a703eb5664803f60e613557b986c11d9e
e1f8981169d98e949b1e87e9ce5528df8ca1890dbfe6426841992d0fb054bb16
', 'hex');

-- Whole blocks of 16 bytes through AES (FIPS 197), with keys of 16, 24 or 32 bytes. Substitution and column mixing are
-- joined into four tables, turned by a byte each; decryption runs the same rounds with inverse tables and mixed keys.
create function @extschema@.pgcrypto_aes(data bytea, key bytea, iv bytea, chained boolean, forward boolean, box bytea) returns bytea
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  m constant bigint := 4294967295;
  flat bytea := data || ''::bytea;  -- fetched and unpacked once, not at each substr
  count integer := octet_length(data) / 16;
  done bigint[] := array_fill(0::bigint, array[count * 2]);
  words integer := octet_length(key) / 4;
  rounds integer := words + 6;
  s bigint[] := array_fill(0::bigint, array[256], array[0]);
  t0 bigint[] := s;
  t1 bigint[] := s;
  t2 bigint[] := s;
  t3 bigint[] := s;
  k bigint[] := array_fill(0::bigint, array[(rounds + 1) * 4], array[0]);
  mixed bigint[] := k;
  u bigint[] := s;
  constant_bit bigint := 1;
  last0 bigint := substr(iv, 1, 8)::bigint;
  last1 bigint := substr(iv, 9, 8)::bigint;
  x bigint;
  y bigint;
  z bigint;
  w bigint;
  a bigint;
  b bigint;
  c bigint;
  d bigint;
  e bigint;
  f bigint;
  g bigint;
  h bigint;
begin
  for i in 0 .. 255 loop
    s[i] := get_byte(box, i);
  end loop;

  for i in 0 .. words - 1 loop
    k[i] := substr(key, i * 4 + 1, 4)::integer & m;
  end loop;
  for i in words .. rounds * 4 + 3 loop
    x := k[i - 1];
    if i % words = 0 then
      x := ((x << 8) | (x >> 24)) & m;
    end if;
    if i % words = 0 or (words = 8 and i % 8 = 4) then
      x := (s[x >> 24] << 24) | (s[(x >> 16) & 255] << 16) | (s[(x >> 8) & 255] << 8) | s[x & 255];
    end if;
    if i % words = 0 then
      x := x # (constant_bit << 24);
      constant_bit := (constant_bit << 1) # (constant_bit >> 7) * 283;
    end if;
    k[i] := k[i - words] # x;
  end loop;

  if forward then
    for i in 0 .. 255 loop
      x := s[i];
      y := (x << 1) # (x >> 7) * 283;
      t0[i] := (y << 24) | (x << 16) | (x << 8) | (x # y);
    end loop;
  else
    -- From here on s is the inverse substitution.
    for i in 0 .. 255 loop
      u[s[i]] := i;
    end loop;
    for i in 0 .. 255 loop
      x := u[i];
      y := (x << 1) # (x >> 7) * 283;
      z := (y << 1) # (y >> 7) * 283;
      w := (z << 1) # (z >> 7) * 283;
      t0[i] := ((y # z # w) << 24) | ((x # w) << 16) | ((x # z # w) << 8) | (x # y # w);
    end loop;
  end if;
  for i in 0 .. 255 loop
    x := t0[i];
    t1[i] := (x >> 8) | ((x & 255) << 24);
    t2[i] := (x >> 16) | ((x & 65535) << 16);
    t3[i] := (x >> 24) | ((x & 16777215) << 8);
  end loop;
  if not forward then
    for i in 0 .. rounds * 4 + 3 loop
      x := k[(rounds - i / 4) * 4 + i % 4];
      if i between 4 and rounds * 4 - 1 then
        x := t0[s[x >> 24]] # t1[s[(x >> 16) & 255]] # t2[s[(x >> 8) & 255]] # t3[s[x & 255]];
      end if;
      mixed[i] := x;
    end loop;
    k := mixed;
    s := u;
  end if;

  for n in 0 .. count - 1 loop
    x := substr(flat, n * 16 + 1, 8)::bigint;
    y := substr(flat, n * 16 + 9, 8)::bigint;
    if chained and forward then
      x := x # last0;
      y := y # last1;
    end if;
    a := ((x >> 32) & m) # k[0];
    b := (x & m) # k[1];
    c := ((y >> 32) & m) # k[2];
    d := (y & m) # k[3];
    -- The rows of a block turn to the left to encrypt, to the right to decrypt: columns b and d change places.
    if not forward then
      x := b;
      b := d;
      d := x;
    end if;
    for i in 1 .. rounds - 1 loop
      e := t0[a >> 24] # t1[(b >> 16) & 255] # t2[(c >> 8) & 255] # t3[d & 255] # k[i * 4];
      f := t0[b >> 24] # t1[(c >> 16) & 255] # t2[(d >> 8) & 255] # t3[a & 255];
      g := t0[c >> 24] # t1[(d >> 16) & 255] # t2[(a >> 8) & 255] # t3[b & 255] # k[i * 4 + 2];
      h := t0[d >> 24] # t1[(a >> 16) & 255] # t2[(b >> 8) & 255] # t3[c & 255];
      a := e;
      c := g;
      if forward then
        b := f # k[i * 4 + 1];
        d := h # k[i * 4 + 3];
      else
        b := f # k[i * 4 + 3];
        d := h # k[i * 4 + 1];
      end if;
    end loop;
    e := (s[a >> 24] << 24) | (s[(b >> 16) & 255] << 16) | (s[(c >> 8) & 255] << 8) | s[d & 255];
    f := (s[b >> 24] << 24) | (s[(c >> 16) & 255] << 16) | (s[(d >> 8) & 255] << 8) | s[a & 255];
    g := (s[c >> 24] << 24) | (s[(d >> 16) & 255] << 16) | (s[(a >> 8) & 255] << 8) | s[b & 255];
    h := (s[d >> 24] << 24) | (s[(a >> 16) & 255] << 16) | (s[(b >> 8) & 255] << 8) | s[c & 255];
    if not forward then
      x := f;
      f := h;
      h := x;
    end if;
    x := ((e # k[rounds * 4]) << 32) | (f # k[rounds * 4 + 1]);
    y := ((g # k[rounds * 4 + 2]) << 32) | (h # k[rounds * 4 + 3]);
    if chained and forward then
      last0 := x;
      last1 := y;
    elsif chained then
      x := x # last0;
      y := y # last1;
      last0 := substr(flat, n * 16 + 1, 8)::bigint;
      last1 := substr(flat, n * 16 + 9, 8)::bigint;
    end if;
    done[n * 2 + 1] := x;
    done[n * 2 + 2] := y;
  end loop;
  return (
    select coalesce(string_agg(int8send(word), ''::bytea order by n), ''::bytea)
    from unnest(done) with ordinality as words (word, n)
  );
end
$$;

-- Whole blocks through a cipher. An AES key is filled to the next of its three lengths, a Blowfish key repeated.
create function @extschema@.pgcrypto_blocks(data bytea, key bytea, iv bytea, cipher text[], forward boolean) returns bytea
language sql immutable strict parallel safe
return case
  when cipher[1] = 'aes' then @extschema@.pgcrypto_aes(
    data,
    @extschema@.pgcrypto_fit(key, case when pg_catalog.octet_length(key) <= 16 then 16
      when pg_catalog.octet_length(key) <= 24 then 24 else 32 end),
    @extschema@.pgcrypto_fit(iv, 16),
    cipher[2] = 'cbc',
    forward,
    @extschema@.pgcrypto_aes_box()
  )
  when pg_catalog.octet_length(key) = 0 then @extschema@.pgcrypto_refuse(
    'Cipher cannot be initialized ?', '39000', 'A Blowfish key has at least one byte.'
  )
  else @extschema@.pgcrypto_blowfish_blocks(
    @extschema@.pgcrypto_blowfish_schedule(
      pg_catalog.substr(
        pg_catalog.decode(
          pg_catalog.repeat(pg_catalog.encode(pg_catalog.substr(key, 1, 56), 'hex'), 72), 'hex'
        ),
        1, 72
      ),
      E'\\x00000000000000000000000000000000'::bytea, 0::bigint, @extschema@.pgcrypto_blowfish_pi()
    ),
    data, @extschema@.pgcrypto_fit(iv, 8), cipher[2] = 'cbc', forward, 1
  )
end;

create function @extschema@.pgcrypto_encrypt(data bytea, key bytea, iv bytea, cipher text[], verb text) returns bytea
language sql immutable strict parallel safe
return @extschema@.pgcrypto_blocks(
  @extschema@.pgcrypto_pad(data, case cipher[1] when 'aes' then 16 else 8 end, cipher[3], verb), key, iv, cipher, true
);

create function @extschema@.pgcrypto_decrypt(data bytea, key bytea, iv bytea, cipher text[], verb text) returns bytea
language sql immutable strict parallel safe
return @extschema@.pgcrypto_unpad(
  @extschema@.pgcrypto_blocks(
    @extschema@.pgcrypto_require_blocks(data, case cipher[1] when 'aes' then 16 else 8 end, cipher[3], verb),
    key, iv, cipher, false
  ),
  case cipher[1] when 'aes' then 16 else 8 end, cipher[3], verb
);

create function @extschema@.encrypt(bytea, bytea, text) returns bytea
language sql immutable strict parallel safe
return @extschema@.pgcrypto_encrypt($1, $2, ''::bytea, @extschema@.pgcrypto_cipher($3), 'encrypt');

create function @extschema@.decrypt(bytea, bytea, text) returns bytea
language sql immutable strict parallel safe
return @extschema@.pgcrypto_decrypt($1, $2, ''::bytea, @extschema@.pgcrypto_cipher($3), 'decrypt');

create function @extschema@.encrypt_iv(bytea, bytea, bytea, text) returns bytea
language sql immutable strict parallel safe
return @extschema@.pgcrypto_encrypt($1, $2, $3, @extschema@.pgcrypto_cipher($4), 'encrypt_iv');

create function @extschema@.decrypt_iv(bytea, bytea, bytea, text) returns bytea
language sql immutable strict parallel safe
return @extschema@.pgcrypto_decrypt($1, $2, $3, @extschema@.pgcrypto_cipher($4), 'decrypt_iv');


-- ASCII armor (RFC 4880, chapter 6)

-- The 24-bit checksum, four bits at a time; `steps` holds what four bits pushed out at the top add below.
create function @extschema@.pgcrypto_crc24(data bytea) returns bytea
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  steps constant integer[] := '[0:15]={0,8801531,9098509,825846,9692897,1419802,1651692,10452759,
    10584377,2608578,2839604,11344079,3303384,11807523,12104405,4128302}';
  flat bytea := data || ''::bytea;  -- fetched and unpacked once, not at each get_byte
  crc integer := 11994318;
begin
  for i in 0 .. octet_length(flat) - 1 loop
    crc := crc # (get_byte(flat, i) << 16);
    crc := ((crc << 4) & 16777215) # steps[crc >> 20];
    crc := ((crc << 4) & 16777215) # steps[crc >> 20];
  end loop;
  return substr(int4send(crc), 2, 3);
end
$$;

-- The header lines of an armor; keys and values are plain ASCII of one line, in arrays of the same length.
create function @extschema@.pgcrypto_armor_lines(keys text[], headers text[]) returns text
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  lines text := '';
  key text;
  value text;
begin
  if array_ndims(keys) > 1 or array_ndims(keys) is distinct from array_ndims(headers) then
    raise exception 'wrong number of array subscripts' using errcode = 'array_subscript_error';
  elsif cardinality(keys) <> cardinality(headers) then
    raise exception 'mismatched array dimensions' using errcode = 'array_subscript_error';
  elsif array_position(keys, null) is not null then
    raise exception 'null value not allowed for header key' using errcode = 'null_value_not_allowed';
  elsif array_position(headers, null) is not null then
    raise exception 'null value not allowed for header value' using errcode = 'null_value_not_allowed';
  end if;
  for key, value in select k, v from unnest(keys, headers) as pairs (k, v) loop
    if key ~ '[^\x01-\x7f]' then
      raise exception 'header key must not contain non-ASCII characters' using errcode = 'invalid_parameter_value';
    elsif strpos(key, ': ') > 0 then
      raise exception 'header key must not contain ": "' using errcode = 'invalid_parameter_value';
    elsif strpos(key, chr(10)) > 0 then
      raise exception 'header key must not contain newlines' using errcode = 'invalid_parameter_value';
    elsif value ~ '[^\x01-\x7f]' then
      raise exception 'header value must not contain non-ASCII characters' using errcode = 'invalid_parameter_value';
    elsif strpos(value, chr(10)) > 0 then
      raise exception 'header value must not contain newlines' using errcode = 'invalid_parameter_value';
    end if;
    lines := lines || key || ': ' || value || chr(10);
  end loop;
  return lines;
end
$$;

create function @extschema@.pgcrypto_armor(data bytea, lines text) returns text
language sql immutable strict parallel safe
return pg_catalog.concat(
  E'-----BEGIN PGP MESSAGE-----\n', lines, E'\n',
  pg_catalog.rtrim(pg_catalog.encode(data, 'base64'), E'\n'),
  case when pg_catalog.octet_length(data) > 0 then E'\n' end,
  '=', pg_catalog.encode(@extschema@.pgcrypto_crc24(data), 'base64'),
  E'\n-----END PGP MESSAGE-----\n'
);

create function @extschema@.armor(bytea) returns text
language sql immutable strict parallel safe
return @extschema@.pgcrypto_armor($1, '');

create function @extschema@.armor(bytea, text[], text[]) returns text
language sql immutable strict parallel safe
return @extschema@.pgcrypto_armor($1, @extschema@.pgcrypto_armor_lines($2, $3));

-- The first armor of a text: its header lines as they stand, and all after them up to the closing line.
create function @extschema@.pgcrypto_armor_parts(armored text) returns text[]
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  lines text[] := string_to_array(armored, chr(10));
  first integer;
  blank integer;
  last integer;
begin
  for i in 1 .. cardinality(lines) loop
    if first is null and starts_with(lines[i], '-----BEGIN') then
      first := i;
      exit when lines[i] !~ '^-----BEGIN[^-\x01-\x1f]*-----\r?$';
    elsif first is not null and starts_with(lines[i], '-----END') then
      last := i;
      exit;
    elsif first is not null and blank is null and rtrim(lines[i], chr(13)) = '' then
      blank := i;
    end if;
  end loop;
  if first is null or blank is null or last is null or lines[last] !~ '^-----END[^-\x01-\x1f]*-----\r?$' then
    raise exception 'Corrupt ascii-armor' using errcode = 'external_routine_invocation_exception';
  end if;
  return array[
    array_to_string(lines[first + 1:blank - 1], chr(10)),
    array_to_string(lines[blank + 1:last - 1], chr(10))
  ];
end
$$;

-- The base64 body of an armor and its checksum, each without white space.
create function @extschema@.pgcrypto_armor_body(body text) returns text[]
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  packed text := regexp_replace(body, '[ \t\r\n]', '', 'g');
  parts text[] := regexp_match(packed, '^([A-Za-z0-9+/]*={0,2})=([A-Za-z0-9+/]{4})');
begin
  if parts is null or length(parts[1]) % 4 > 0 then
    raise exception 'Corrupt ascii-armor' using errcode = 'external_routine_invocation_exception';
  end if;
  return parts;
end
$$;

create function @extschema@.pgcrypto_checked(data bytea, checksum bytea, expected bytea) returns bytea
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if checksum <> expected then
    raise exception 'Corrupt ascii-armor' using errcode = 'external_routine_invocation_exception';
  end if;
  return data;
end
$$;

create function @extschema@.dearmor(text) returns bytea
language sql immutable strict parallel safe
begin atomic
  select @extschema@.pgcrypto_checked(data, @extschema@.pgcrypto_crc24(data), checksum)
  from (
    select pg_catalog.decode(body[1], 'base64') as data, pg_catalog.decode(body[2], 'base64') as checksum
    from (select @extschema@.pgcrypto_armor_body((@extschema@.pgcrypto_armor_parts($1))[2]) as body offset 0) as bodies
    offset 0
  ) as decoded;
end;

create function @extschema@.pgcrypto_armor_header(line text) returns text[]
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if strpos(line, ': ') = 0 then
    raise exception 'Corrupt ascii-armor' using errcode = 'external_routine_invocation_exception';
  end if;
  return array[substr(line, 1, strpos(line, ': ') - 1), rtrim(substr(line, strpos(line, ': ') + 2), chr(13))];
end
$$;

create function @extschema@.pgp_armor_headers(text, key out text, value out text) returns setof record
language sql immutable strict parallel safe
begin atomic
  select header[1], header[2]
  from (
    select @extschema@.pgcrypto_armor_header(line) as header, n
    from pg_catalog.string_to_table((@extschema@.pgcrypto_armor_parts($1))[1], E'\n') with ordinality as list (line, n)
    where line <> ''
    offset 0
  ) as headers
  order by n;
end;


-- PGP: there so that schemas that name these functions apply, and clear when they are called

create function @extschema@.pgp_sym_encrypt(text, text) returns bytea
language sql volatile strict parallel safe
return @extschema@.pgcrypto_refuse_pgp();

create function @extschema@.pgp_sym_encrypt(text, text, text) returns bytea
language sql volatile strict parallel safe
return @extschema@.pgcrypto_refuse_pgp();

create function @extschema@.pgp_sym_encrypt_bytea(bytea, text) returns bytea
language sql volatile strict parallel safe
return @extschema@.pgcrypto_refuse_pgp();

create function @extschema@.pgp_sym_encrypt_bytea(bytea, text, text) returns bytea
language sql volatile strict parallel safe
return @extschema@.pgcrypto_refuse_pgp();

create function @extschema@.pgp_sym_decrypt(bytea, text) returns text
language sql immutable strict parallel safe
return @extschema@.pgcrypto_refuse_pgp()::text;

create function @extschema@.pgp_sym_decrypt(bytea, text, text) returns text
language sql immutable strict parallel safe
return @extschema@.pgcrypto_refuse_pgp()::text;

create function @extschema@.pgp_sym_decrypt_bytea(bytea, text) returns bytea
language sql immutable strict parallel safe
return @extschema@.pgcrypto_refuse_pgp();

create function @extschema@.pgp_sym_decrypt_bytea(bytea, text, text) returns bytea
language sql immutable strict parallel safe
return @extschema@.pgcrypto_refuse_pgp();

create function @extschema@.pgp_pub_encrypt(text, bytea) returns bytea
language sql volatile strict parallel safe
return @extschema@.pgcrypto_refuse_pgp();

create function @extschema@.pgp_pub_encrypt(text, bytea, text) returns bytea
language sql volatile strict parallel safe
return @extschema@.pgcrypto_refuse_pgp();

create function @extschema@.pgp_pub_encrypt_bytea(bytea, bytea) returns bytea
language sql volatile strict parallel safe
return @extschema@.pgcrypto_refuse_pgp();

create function @extschema@.pgp_pub_encrypt_bytea(bytea, bytea, text) returns bytea
language sql volatile strict parallel safe
return @extschema@.pgcrypto_refuse_pgp();

create function @extschema@.pgp_pub_decrypt(bytea, bytea) returns text
language sql immutable strict parallel safe
return @extschema@.pgcrypto_refuse_pgp()::text;

create function @extschema@.pgp_pub_decrypt(bytea, bytea, text) returns text
language sql immutable strict parallel safe
return @extschema@.pgcrypto_refuse_pgp()::text;

create function @extschema@.pgp_pub_decrypt(bytea, bytea, text, text) returns text
language sql immutable strict parallel safe
return @extschema@.pgcrypto_refuse_pgp()::text;

create function @extschema@.pgp_pub_decrypt_bytea(bytea, bytea) returns bytea
language sql immutable strict parallel safe
return @extschema@.pgcrypto_refuse_pgp();

create function @extschema@.pgp_pub_decrypt_bytea(bytea, bytea, text) returns bytea
language sql immutable strict parallel safe
return @extschema@.pgcrypto_refuse_pgp();

create function @extschema@.pgp_pub_decrypt_bytea(bytea, bytea, text, text) returns bytea
language sql immutable strict parallel safe
return @extschema@.pgcrypto_refuse_pgp();

create function @extschema@.pgp_key_id(bytea) returns text
language sql immutable strict parallel safe
return @extschema@.pgcrypto_refuse_pgp()::text;

-- By now parsed bodies are bound. If one is bound to anything but the server's own and this extension's objects, because a
-- function in the target schema fitted a call better, nothing is made.
do $$
begin
  if exists (
    select from pg_depend as used
    join pg_depend as mine on mine.classid = used.classid and mine.objid = used.objid and mine.deptype = 'e'
    join pg_extension as made on made.oid = mine.refobjid and made.extname = 'pgcrypto'
    where mine.refclassid = 'pg_extension'::regclass
      and used.classid = 'pg_proc'::regclass
      and used.refclassid not in ('pg_namespace'::regclass, 'pg_language'::regclass, 'pg_extension'::regclass)
      and not exists (
        select from pg_depend as other
        where other.classid = used.refclassid and other.objid = used.refobjid
          and other.deptype = 'e' and other.refclassid = 'pg_extension'::regclass and other.refobjid = made.oid
      )
      and not exists (
        select from pg_depend as inner_type
        join pg_depend as other on other.classid = inner_type.refclassid and other.objid = inner_type.refobjid
        where inner_type.classid = used.refclassid and inner_type.objid = used.refobjid and inner_type.deptype = 'i'
          and other.deptype = 'e' and other.refclassid = 'pg_extension'::regclass and other.refobjid = made.oid
      )
  ) then
    raise exception 'an object of the schema would take the place of one of the extension'
      using errcode = 'insufficient_privilege', hint = 'Create the extension in a schema without functions of its names.';
  end if;
end
$$;
