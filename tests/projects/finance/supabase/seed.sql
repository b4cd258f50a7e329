insert into auth.users (id, email, aud, role) values ('70000000-0000-0000-0000-000000000001', 'holder@finance.example', 'authenticated', 'authenticated');
insert into ledger.accounts (id, number, holder) values
  ('80000000-0000-0000-0000-000000000001', 'A-1', '70000000-0000-0000-0000-000000000001'),
  ('80000000-0000-0000-0000-000000000002', 'A-2', null);
select ledger.set_pin('80000000-0000-0000-0000-000000000001', '1234');

set request.jwt.claims = '{"sub": "70000000-0000-0000-0000-000000000001", "role": "authenticated"}';
set role authenticated;
select ledger.transfer('80000000-0000-0000-0000-000000000001', '80000000-0000-0000-0000-000000000002', 12.50, 'rent');
reset role;
insert into ledger.entries (account_id, booked_on, direction, amount)
select '80000000-0000-0000-0000-000000000002', d::date, case when extract(day from d) > 15 then 'debit' else 'credit' end::ledger.direction, 1.25
from generate_series('2024-12-01'::date, '2025-02-01', '3 days') d;
insert into ledger.rates (base, quote, rate, valid) values ('EUR', 'USD', 1.1, '[2024-01-01,2025-01-01)'), ('EUR', 'USD', 1.2, '[2025-01-01,)');
insert into ledger.bookings (room, during) values ('vault', '[2025-01-01 10:00,2025-01-01 11:00)');
do $$ begin
  assert ledger.check_pin('80000000-0000-0000-0000-000000000001', '1234');
  assert (select count(*) from audit.record_version where auth_uid = '70000000-0000-0000-0000-000000000001') > 1;
  begin
    insert into ledger.bookings (room, during) values ('vault', '[2025-01-01 10:30,2025-01-01 12:00)');
    raise 'overlap was taken';
  exception when exclusion_violation then
    null;
  end;
end $$;
