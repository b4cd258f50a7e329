insert into todos (user_id, task, due) values
('60000000-0000-0000-0000-000000000001', 'Water the plants; gently', '2024-01-01'),
('60000000-0000-0000-0000-000000000001', 'Write "the letter"', null);
