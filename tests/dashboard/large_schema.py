"""The schema of a shop with 50 tables that refer to one another, as those of grown applications do: many to a few hubs, chains,
trees, tables of pairs, a circle, and some that stand alone.
"""

_TABLES = """
organizations: name text, slug text unique, country_id > countries, plan_id > plans, settings jsonb
plans: name text unique, price numeric(10,2), monthly_orders integer, features text[]
users: organization_id > organizations, email text unique, display_name text, avatar_url text, locale text, last_seen_at timestamptz
teams: organization_id > organizations, name text, parent_id > teams
team_members: team_id > teams, user_id > users, role text, joined_at timestamptz
api_keys: organization_id > organizations, created_by > users, name text, digest bytea, expires_at timestamptz
invitations: organization_id > organizations, invited_by > users, email text, token uuid, accepted_at timestamptz
countries: iso_code char(2) unique, name text, currency_id > currencies
currencies: code char(3) unique, symbol text, digits smallint
addresses: country_id > countries, street text, house_number text, postal_code text, city text, region text, location point
customers: organization_id > organizations, user_id > users, email text, first_name text, last_name text, phone text, default_address_id > addresses, marketing_consent boolean
customer_groups: organization_id > organizations, name text, discount_percent numeric(5,2)
customer_group_members: customer_group_id > customer_groups, customer_id > customers
categories: organization_id > organizations, parent_id > categories, name text, slug text, sort_order integer
brands: organization_id > organizations, name text, website text
products: organization_id > organizations, brand_id > brands, category_id > categories, tax_class_id > tax_classes, name text, slug text, description text, status text, search tsvector, weight_grams integer, published_at timestamptz
product_variants: product_id > products, sku text unique, barcode text, price numeric(12,2), compare_at_price numeric(12,2), cost numeric(12,2), attributes jsonb
product_images: product_id > products, path text, alt_text text, position integer
product_tags: product_id > products, tag_id > tags
tags: name text unique
tax_classes: name text, description text
tax_rates: tax_class_id > tax_classes, country_id > countries, rate numeric(5,4), valid_from date, valid_until date
warehouses: organization_id > organizations, address_id > addresses, name text, is_active boolean
inventory_levels: warehouse_id > warehouses, variant_id > product_variants, available integer, reserved integer, reorder_point integer
inventory_movements: inventory_level_id > inventory_levels, order_item_id > order_items, quantity integer, reason text, moved_by > users
suppliers: organization_id > organizations, address_id > addresses, name text, contact_email text
purchase_orders: supplier_id > suppliers, warehouse_id > warehouses, ordered_by > users, status text, expected_at date
purchase_order_items: purchase_order_id > purchase_orders, variant_id > product_variants, quantity integer, unit_cost numeric(12,2)
carts: customer_id > customers, currency_id > currencies, session_token uuid, abandoned_at timestamptz
cart_items: cart_id > carts, variant_id > product_variants, quantity integer
orders: organization_id > organizations, customer_id > customers, currency_id > currencies, billing_address_id > addresses, shipping_address_id > addresses, coupon_id > coupons, number text unique, status text, subtotal numeric(12,2), tax_total numeric(12,2), total numeric(12,2), placed_at timestamptz, latest_payment_id > payments
order_items: order_id > orders, variant_id > product_variants, name text, quantity integer, unit_price numeric(12,2), tax_rate numeric(5,4)
payments: order_id > orders, payment_method_id > payment_methods, amount numeric(12,2), status text, provider_reference text, captured_at timestamptz
payment_methods: customer_id > customers, kind text, last_digits char(4), expires_on date
refunds: payment_id > payments, requested_by > users, amount numeric(12,2), reason text
shipments: order_id > orders, warehouse_id > warehouses, carrier_id > carriers, tracking_number text, shipped_at timestamptz, delivered_at timestamptz
shipment_items: shipment_id > shipments, order_item_id > order_items, quantity integer
carriers: name text, tracking_url text
coupons: organization_id > organizations, code text unique, discount_percent numeric(5,2), valid_until timestamptz
reviews: product_id > products, customer_id > customers, rating smallint, title text, body text, is_verified boolean
wishlists: customer_id > customers, name text, is_public boolean
wishlist_items: wishlist_id > wishlists, variant_id > product_variants
support_tickets: customer_id > customers, order_id > orders, assigned_to > users, subject text, priority text, status text
support_messages: ticket_id > support_tickets, author_id > users, body text, attachments jsonb
notifications: user_id > users, kind text, payload jsonb, read_at timestamptz
webhook_endpoints: organization_id > organizations, url text, secret text, events text[]
webhook_deliveries: endpoint_id > webhook_endpoints, event text, status_code integer, duration_ms integer, response text
feature_flags: name text unique, is_enabled boolean, rules jsonb
exchange_rates: base char(3), quote char(3), rate numeric(18,8), day date
search_synonyms: term text, synonyms text[]
"""

TABLES = tuple(line.partition(":")[0] for line in _TABLES.strip().splitlines())


def large_schema(schema: str) -> str:
    """Return the SQL that creates the tables in a new schema."""
    tables, keys = [], []
    for line in _TABLES.strip().splitlines():
        table, _, columns = line.partition(": ")
        texts = ["id bigint generated by default as identity primary key"]
        for column in columns.split(", "):
            name, is_reference, target = column.partition(" > ")
            texts.append(f"{name} bigint" if is_reference else column)
            if is_reference:
                keys.append(
                    f"alter table {schema}.{table} add foreign key ({name}) references {schema}.{target};"
                )
        texts.append("created_at timestamptz not null default now()")
        tables.append(f"create table {schema}.{table} ({', '.join(texts)});")
    return "\n".join([f"create schema {schema};", *tables, *keys])
