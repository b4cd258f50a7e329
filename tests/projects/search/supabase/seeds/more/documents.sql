alter table public.documents disable trigger user;
insert into public.documents (title, body, tags, embedding) values
  ('Crème brûlée', 'Sugar is burnt on top.', '{dessert,french}', '[1,0,0,0,0,0,0,0]'),
  ('Bread', E'Flour, water, salt;\nand time.', array['basic'], '[0,1,0,0,0,0,0,0]'),
  ('An index of vectors', 'Approximate neighbours.', '{}', array_fill(0.5, array[8])::vector::halfvec);
alter table public.documents enable trigger user;

update public.documents set body = body || ' Bake it.' where title = 'Bread';
do $$ begin
  assert (select embedding is null from public.documents where title = 'Bread'), 'the trigger clears the embedding';
  assert (select title from public.hybrid_search('creme') limit 1) = 'Crème brûlée', 'search finds without accents';
end $$;
