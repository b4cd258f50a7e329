CREATE SEQUENCE order_number START 10000 INCREMENT BY 7;

CREATE TABLE orders (
  id uuid PRIMARY KEY DEFAULT uuid_generate_v4(),
  number bigint NOT NULL DEFAULT nextval('order_number') UNIQUE,
  user_id uuid REFERENCES auth.users ON DELETE SET NULL,
  status text NOT NULL DEFAULT 'cart' CHECK (status = ANY (ARRAY['cart', 'placed', 'paid', 'shipped', 'cancelled'])),
  currency char(3) NOT NULL DEFAULT 'eur',
  shipping_address jsonb,
  placed_at timestamptz,
  metadata jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(metadata) = 'object')
);
ALTER SEQUENCE order_number OWNED BY orders.number;

CREATE TABLE order_items (
  order_id uuid REFERENCES orders ON DELETE CASCADE,
  line smallint,
  product_id text REFERENCES products,
  quantity int NOT NULL CHECK (quantity > 0),
  unit_amount bigint NOT NULL,
  total_amount bigint GENERATED ALWAYS AS (quantity * unit_amount) STORED,
  PRIMARY KEY (order_id, line)
);

ALTER TABLE orders ENABLE ROW LEVEL SECURITY;
ALTER TABLE order_items ENABLE ROW LEVEL SECURITY;

CREATE POLICY own_orders ON orders FOR ALL TO authenticated USING (user_id = auth.uid()) WITH CHECK (user_id = auth.uid() AND status IN ('cart', 'placed'));
CREATE POLICY own_items ON order_items FOR ALL TO authenticated
  USING (order_id IN (SELECT id FROM orders WHERE user_id = auth.uid()));

CREATE INDEX orders_metadata_idx ON orders USING gin (metadata jsonb_path_ops);
CREATE INDEX order_items_product_id_idx ON order_items (product_id);

CREATE VIEW order_totals WITH (security_invoker) AS
  SELECT o.id, o.number, o.status, sum(i.total_amount)::bigint AS amount, jsonb_agg(to_jsonb(i) - 'order_id' ORDER BY i.line) AS items
  FROM orders o LEFT JOIN order_items i ON i.order_id = o.id GROUP BY o.id;

CREATE FUNCTION amount(orders) RETURNS bigint STABLE LANGUAGE sql AS
  'SELECT sum(total_amount)::bigint FROM order_items WHERE order_id = $1.id';

CREATE OR REPLACE FUNCTION place_order(order_id uuid, address jsonb DEFAULT NULL)
RETURNS orders
LANGUAGE plpgsql
SECURITY INVOKER
AS $$
DECLARE
  placed orders;
BEGIN
  UPDATE orders o
  SET status = 'placed', placed_at = now(), shipping_address = coalesce(address, o.shipping_address)
  WHERE o.id = place_order.order_id AND o.status = 'cart'
  RETURNING * INTO placed;
  IF NOT FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'PT409', MESSAGE = 'this order was placed already', DETAIL = order_id::text;
  END IF;
  RETURN placed;
END
$$;

CREATE PROCEDURE expire_carts(days int DEFAULT 30) LANGUAGE sql BEGIN ATOMIC
  UPDATE orders SET status = 'cancelled' WHERE status = 'cart' AND placed_at < now() - make_interval(days => days);
END;
