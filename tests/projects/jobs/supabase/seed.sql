insert into public.orders (customer_email, total) select 'buyer' || n || '@jobs.example', n * 10 from generate_series(1, 3) n;
select pgmq.send_batch('thumbnails', array['{"path": "a.png"}', '{"path": "b.png"}']::jsonb[]);
select pgmq.archive('thumbnails', 1);
select count(*) from public.take_jobs('seed', 2);
do $$ begin
  assert (select count(*) from pgmq.q_mail) = 3;
  assert (select queue_length from pgmq.metrics('thumbnails')) = 1;
  assert (select count(*) from cron.job) = 3;
end $$;
