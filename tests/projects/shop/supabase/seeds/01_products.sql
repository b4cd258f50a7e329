INSERT INTO products (id, active, name, description, image, metadata) VALUES
('prod_kettle', true, 'Kettle', 'Boils water; quickly.', NULL, '{"colour": "red", "sizes": [1, 1.5]}'),
('prod_cup', true, 'Cup', $$A cup
of two lines$$, 'cup.png', '{}'),
('prod_tea', false, 'Tea ''Earl''', NULL, NULL, NULL);
