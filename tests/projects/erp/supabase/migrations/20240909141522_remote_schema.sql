--
-- PostgreSQL database dump
--

-- Dumped from database version 15.8
-- Dumped by pg_dump version 15.8

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;


CREATE EXTENSION IF NOT EXISTS "pg_net" WITH SCHEMA "extensions";






CREATE SCHEMA IF NOT EXISTS "internal";


ALTER SCHEMA "internal" OWNER TO "postgres";


COMMENT ON SCHEMA "public" IS 'standard public schema';



CREATE EXTENSION IF NOT EXISTS "btree_gist" WITH SCHEMA "extensions";






CREATE EXTENSION IF NOT EXISTS "pg_stat_statements" WITH SCHEMA "extensions";






CREATE EXTENSION IF NOT EXISTS "pg_trgm" WITH SCHEMA "extensions";






CREATE EXTENSION IF NOT EXISTS "pgcrypto" WITH SCHEMA "extensions";






CREATE EXTENSION IF NOT EXISTS "uuid-ossp" WITH SCHEMA "extensions";






CREATE TYPE "public"."document_state" AS ENUM (
    'draft',
    'sent',
    'accepted',
    'closed',
    'cancelled'
);


ALTER TYPE "public"."document_state" OWNER TO "postgres";


CREATE TYPE "public"."currency" AS ENUM (
    'EUR',
    'USD',
    'CHF',
    'GBP'
);


ALTER TYPE "public"."currency" OWNER TO "postgres";


CREATE TYPE "public"."priority" AS ENUM (
    'low',
    'normal',
    'high',
    'urgent'
);


ALTER TYPE "public"."priority" OWNER TO "postgres";


CREATE TYPE "public"."payment_method" AS ENUM (
    'card',
    'transfer',
    'cash',
    'direct debit'
);


ALTER TYPE "public"."payment_method" OWNER TO "postgres";


CREATE TYPE "public"."party_kind" AS ENUM (
    'person',
    'company'
);


ALTER TYPE "public"."party_kind" OWNER TO "postgres";


CREATE TYPE "public"."money_amount" AS (
	"amount" numeric(14,2),
	"currency" "public"."currency"
);


ALTER TYPE "public"."money_amount" OWNER TO "postgres";


CREATE DOMAIN "public"."email_address" AS "text"
	CONSTRAINT "email_address_check" CHECK ((VALUE ~ '^[^@\s]+@[^@\s]+$'::"text"));


ALTER DOMAIN "public"."email_address" OWNER TO "postgres";


CREATE OR REPLACE FUNCTION "internal"."current_tenant"() RETURNS "uuid"
    LANGUAGE "sql" STABLE SECURITY DEFINER
    SET "search_path" TO ''
    AS $$
  select tenant_id from public.memberships where user_id = (select auth.uid()) order by created_at limit 1
$$;


ALTER FUNCTION "internal"."current_tenant"() OWNER TO "postgres";


CREATE OR REPLACE FUNCTION "public"."audit"() RETURNS "trigger"
    LANGUAGE "plpgsql" SECURITY DEFINER
    SET "search_path" TO 'public', 'pg_temp'
    AS $_$
begin
  insert into public.audit_entries (tenant_id, name, data)
  values (coalesce(new.tenant_id, old.tenant_id), tg_op || ' ' || tg_table_name, jsonb_build_object('old', to_jsonb(old), 'new', to_jsonb(new), 'cost', '$1'));
  return null;
end
$_$;


ALTER FUNCTION "public"."audit"() OWNER TO "postgres";


CREATE OR REPLACE FUNCTION "public"."touch"() RETURNS "trigger"
    LANGUAGE "plpgsql"
    AS $$
BEGIN
  NEW.updated_at = now();
  RETURN NEW;
END;
$$;


ALTER FUNCTION "public"."touch"() OWNER TO "postgres";


SET default_tablespace = '';

SET default_table_access_method = "heap";


CREATE TABLE IF NOT EXISTS "public"."crm_accounts" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "valid" "tstzrange" DEFAULT "tstzrange"("now"(), NULL::timestamp with time zone) NOT NULL,
    "weight" real,
    "position" smallint
);

ALTER TABLE ONLY "public"."crm_accounts" FORCE ROW LEVEL SECURITY;


ALTER TABLE "public"."crm_accounts" OWNER TO "postgres";


COMMENT ON TABLE "public"."crm_accounts" IS 'Crm accounts; the customer''s own.';


CREATE SEQUENCE IF NOT EXISTS "public"."crm_accounts_id_seq"
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE "public"."crm_accounts_id_seq" OWNER TO "postgres";


ALTER SEQUENCE "public"."crm_accounts_id_seq" OWNED BY "public"."crm_accounts"."id";



CREATE TABLE IF NOT EXISTS "public"."crm_contacts" (
    "id" "uuid" DEFAULT "gen_random_uuid"() NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "amount" numeric(14,2) DEFAULT 0 NOT NULL,
    "currency" "public"."currency" DEFAULT 'EUR'::"public"."currency",
    "gross" numeric(14,2) GENERATED ALWAYS AS (("amount" * 1.19)) STORED,
    "parent_id" bigint
);


ALTER TABLE "public"."crm_contacts" OWNER TO "postgres";


CREATE TABLE IF NOT EXISTS "public"."crm_leads" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "state" "public"."document_state" DEFAULT 'draft'::"public"."document_state" NOT NULL,
    "number" "text",
    "due" "date"
);


ALTER TABLE "public"."crm_leads" OWNER TO "postgres";


ALTER TABLE "public"."crm_leads" ALTER COLUMN "id" ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME "public"."crm_leads_id_seq"
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);



CREATE TABLE IF NOT EXISTS "public"."crm_opportunities" (
    "id" "uuid" DEFAULT "gen_random_uuid"() NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "amount" numeric(14,2) DEFAULT 0 NOT NULL,
    "currency" "public"."currency" DEFAULT 'EUR'::"public"."currency",
    "gross" numeric(14,2) GENERATED ALWAYS AS (("amount" * 1.19)) STORED,
    "parent_id" bigint
);

ALTER TABLE ONLY "public"."crm_opportunities" FORCE ROW LEVEL SECURITY;


ALTER TABLE "public"."crm_opportunities" OWNER TO "postgres";


CREATE TABLE IF NOT EXISTS "public"."crm_activities" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "body" "text",
    "search" "tsvector" GENERATED ALWAYS AS ("to_tsvector"('"english"'::"regconfig", COALESCE("body", ''::"text"))) STORED,
    "seen" boolean DEFAULT false NOT NULL
);

ALTER TABLE ONLY "public"."crm_activities" FORCE ROW LEVEL SECURITY;


ALTER TABLE "public"."crm_activities" OWNER TO "postgres";


ALTER TABLE "public"."crm_activities" ALTER COLUMN "id" ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME "public"."crm_activities_id_seq"
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);



CREATE TABLE IF NOT EXISTS "public"."crm_notes" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "valid" "tstzrange" DEFAULT "tstzrange"("now"(), NULL::timestamp with time zone) NOT NULL,
    "weight" real,
    "position" smallint
);

ALTER TABLE ONLY "public"."crm_notes" FORCE ROW LEVEL SECURITY;


ALTER TABLE "public"."crm_notes" OWNER TO "postgres";


COMMENT ON TABLE "public"."crm_notes" IS 'Crm notes; the customer''s own.';


ALTER TABLE "public"."crm_notes" ALTER COLUMN "id" ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME "public"."crm_notes_id_seq"
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);



CREATE TABLE IF NOT EXISTS "public"."crm_campaigns" (
    "id" "uuid" DEFAULT "gen_random_uuid"() NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "quantity" double precision DEFAULT 1 NOT NULL,
    "unit" character varying(12) DEFAULT 'piece'::character varying,
    "tags" "text"[] DEFAULT '{}'::"text"[] NOT NULL,
    CONSTRAINT "crm_campaigns_quantity_check" CHECK (("quantity" > (0)::double precision))
);


ALTER TABLE "public"."crm_campaigns" OWNER TO "postgres";


COMMENT ON TABLE "public"."crm_campaigns" IS 'Crm campaigns; the customer''s own.';


CREATE TABLE IF NOT EXISTS "public"."crm_segments" (
    "id" "uuid" DEFAULT "extensions"."uuid_generate_v4"() NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "amount" numeric(14,2) DEFAULT 0 NOT NULL,
    "currency" "public"."currency" DEFAULT 'EUR'::"public"."currency",
    "gross" numeric(14,2) GENERATED ALWAYS AS (("amount" * 1.19)) STORED
);


ALTER TABLE "public"."crm_segments" OWNER TO "postgres";


CREATE TABLE IF NOT EXISTS "public"."crm_consents" (
    "id" "uuid" DEFAULT "extensions"."uuid_generate_v4"() NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "email" "public"."email_address",
    "phone" "text",
    "kind" "public"."party_kind",
    "address" "jsonb"
);


ALTER TABLE "public"."crm_consents" OWNER TO "postgres";


CREATE TABLE IF NOT EXISTS "public"."crm_calls" (
    "id" "uuid" DEFAULT "gen_random_uuid"() NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "data" "jsonb" DEFAULT '{}'::"jsonb" NOT NULL,
    "digest" "bytea",
    "source" "inet",
    "lasts" interval
);


ALTER TABLE "public"."crm_calls" OWNER TO "postgres";


CREATE TABLE IF NOT EXISTS "public"."sales_quotes" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "data" "jsonb" DEFAULT '{}'::"jsonb" NOT NULL,
    "digest" "bytea",
    "source" "inet",
    "lasts" interval
);

ALTER TABLE ONLY "public"."sales_quotes" FORCE ROW LEVEL SECURITY;


ALTER TABLE "public"."sales_quotes" OWNER TO "postgres";


CREATE SEQUENCE IF NOT EXISTS "public"."sales_quotes_id_seq"
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE "public"."sales_quotes_id_seq" OWNER TO "postgres";


ALTER SEQUENCE "public"."sales_quotes_id_seq" OWNED BY "public"."sales_quotes"."id";



CREATE TABLE IF NOT EXISTS "public"."sales_quote_lines" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "valid" "tstzrange" DEFAULT "tstzrange"("now"(), NULL::timestamp with time zone) NOT NULL,
    "weight" real,
    "position" smallint,
    "parent_id" bigint
);


ALTER TABLE "public"."sales_quote_lines" OWNER TO "postgres";


ALTER TABLE "public"."sales_quote_lines" ALTER COLUMN "id" ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME "public"."sales_quote_lines_id_seq"
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);



CREATE TABLE IF NOT EXISTS "public"."sales_orders" (
    "id" "uuid" DEFAULT "extensions"."uuid_generate_v4"() NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "data" "jsonb" DEFAULT '{}'::"jsonb" NOT NULL,
    "digest" "bytea",
    "source" "inet",
    "lasts" interval
);


ALTER TABLE "public"."sales_orders" OWNER TO "postgres";


CREATE TABLE IF NOT EXISTS "public"."sales_order_lines" (
    "id" "uuid" DEFAULT "gen_random_uuid"() NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "data" "jsonb" DEFAULT '{}'::"jsonb" NOT NULL,
    "digest" "bytea",
    "source" "inet",
    "lasts" interval,
    "parent_id" "uuid"
);


ALTER TABLE "public"."sales_order_lines" OWNER TO "postgres";


COMMENT ON TABLE "public"."sales_order_lines" IS 'Sales order lines; the customer''s own.';


CREATE TABLE IF NOT EXISTS "public"."sales_discounts" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "state" "public"."document_state" DEFAULT 'draft'::"public"."document_state" NOT NULL,
    "number" "text",
    "due" "date"
);


ALTER TABLE "public"."sales_discounts" OWNER TO "postgres";


COMMENT ON TABLE "public"."sales_discounts" IS 'Sales discounts; the customer''s own.';


CREATE SEQUENCE IF NOT EXISTS "public"."sales_discounts_id_seq"
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE "public"."sales_discounts_id_seq" OWNER TO "postgres";


ALTER SEQUENCE "public"."sales_discounts_id_seq" OWNED BY "public"."sales_discounts"."id";



CREATE TABLE IF NOT EXISTS "public"."sales_price_lists" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "email" "public"."email_address",
    "phone" "text",
    "kind" "public"."party_kind",
    "address" "jsonb"
);


ALTER TABLE "public"."sales_price_lists" OWNER TO "postgres";


COMMENT ON TABLE "public"."sales_price_lists" IS 'Sales price lists; the customer''s own.';


ALTER TABLE "public"."sales_price_lists" ALTER COLUMN "id" ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME "public"."sales_price_lists_id_seq"
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);



CREATE TABLE IF NOT EXISTS "public"."sales_price_list_items" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "email" "public"."email_address",
    "phone" "text",
    "kind" "public"."party_kind",
    "address" "jsonb",
    "parent_id" bigint
);

ALTER TABLE ONLY "public"."sales_price_list_items" FORCE ROW LEVEL SECURITY;


ALTER TABLE "public"."sales_price_list_items" OWNER TO "postgres";


ALTER TABLE "public"."sales_price_list_items" ALTER COLUMN "id" ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME "public"."sales_price_list_items_id_seq"
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);



CREATE TABLE IF NOT EXISTS "public"."sales_returns" (
    "id" "uuid" DEFAULT "gen_random_uuid"() NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "email" "public"."email_address",
    "phone" "text",
    "kind" "public"."party_kind",
    "address" "jsonb"
);

ALTER TABLE ONLY "public"."sales_returns" FORCE ROW LEVEL SECURITY;


ALTER TABLE "public"."sales_returns" OWNER TO "postgres";


CREATE TABLE IF NOT EXISTS "public"."sales_return_lines" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "amount" numeric(14,2) DEFAULT 0 NOT NULL,
    "currency" "public"."currency" DEFAULT 'EUR'::"public"."currency",
    "gross" numeric(14,2) GENERATED ALWAYS AS (("amount" * 1.19)) STORED,
    "parent_id" "uuid"
);

ALTER TABLE ONLY "public"."sales_return_lines" FORCE ROW LEVEL SECURITY;


ALTER TABLE "public"."sales_return_lines" OWNER TO "postgres";


CREATE SEQUENCE IF NOT EXISTS "public"."sales_return_lines_id_seq"
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE "public"."sales_return_lines_id_seq" OWNER TO "postgres";


ALTER SEQUENCE "public"."sales_return_lines_id_seq" OWNED BY "public"."sales_return_lines"."id";



CREATE TABLE IF NOT EXISTS "public"."sales_commissions" (
    "id" "uuid" DEFAULT "gen_random_uuid"() NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "data" "jsonb" DEFAULT '{}'::"jsonb" NOT NULL,
    "digest" "bytea",
    "source" "inet",
    "lasts" interval
);


ALTER TABLE "public"."sales_commissions" OWNER TO "postgres";


CREATE TABLE IF NOT EXISTS "public"."inventory_products" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "body" "text",
    "search" "tsvector" GENERATED ALWAYS AS ("to_tsvector"('"english"'::"regconfig", COALESCE("body", ''::"text"))) STORED,
    "seen" boolean DEFAULT false NOT NULL
);


ALTER TABLE "public"."inventory_products" OWNER TO "postgres";


ALTER TABLE "public"."inventory_products" ALTER COLUMN "id" ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME "public"."inventory_products_id_seq"
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);



CREATE TABLE IF NOT EXISTS "public"."inventory_variants" (
    "id" "uuid" DEFAULT "gen_random_uuid"() NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "data" "jsonb" DEFAULT '{}'::"jsonb" NOT NULL,
    "digest" "bytea",
    "source" "inet",
    "lasts" interval,
    "parent_id" bigint
);

ALTER TABLE ONLY "public"."inventory_variants" FORCE ROW LEVEL SECURITY;


ALTER TABLE "public"."inventory_variants" OWNER TO "postgres";


CREATE TABLE IF NOT EXISTS "public"."inventory_warehouses" (
    "id" "uuid" DEFAULT "gen_random_uuid"() NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "body" "text",
    "search" "tsvector" GENERATED ALWAYS AS ("to_tsvector"('"english"'::"regconfig", COALESCE("body", ''::"text"))) STORED,
    "seen" boolean DEFAULT false NOT NULL
);


ALTER TABLE "public"."inventory_warehouses" OWNER TO "postgres";


CREATE TABLE IF NOT EXISTS "public"."inventory_locations" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "body" "text",
    "search" "tsvector" GENERATED ALWAYS AS ("to_tsvector"('"english"'::"regconfig", COALESCE("body", ''::"text"))) STORED,
    "seen" boolean DEFAULT false NOT NULL,
    "parent_id" "uuid"
);


ALTER TABLE "public"."inventory_locations" OWNER TO "postgres";


COMMENT ON TABLE "public"."inventory_locations" IS 'Inventory locations; the customer''s own.';


CREATE SEQUENCE IF NOT EXISTS "public"."inventory_locations_id_seq"
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE "public"."inventory_locations_id_seq" OWNER TO "postgres";


ALTER SEQUENCE "public"."inventory_locations_id_seq" OWNED BY "public"."inventory_locations"."id";



CREATE TABLE IF NOT EXISTS "public"."inventory_stock_levels" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "amount" numeric(14,2) DEFAULT 0 NOT NULL,
    "currency" "public"."currency" DEFAULT 'EUR'::"public"."currency",
    "gross" numeric(14,2) GENERATED ALWAYS AS (("amount" * 1.19)) STORED,
    "parent_id" bigint
);


ALTER TABLE "public"."inventory_stock_levels" OWNER TO "postgres";


COMMENT ON TABLE "public"."inventory_stock_levels" IS 'Inventory stock levels; the customer''s own.';


CREATE SEQUENCE IF NOT EXISTS "public"."inventory_stock_levels_id_seq"
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE "public"."inventory_stock_levels_id_seq" OWNER TO "postgres";


ALTER SEQUENCE "public"."inventory_stock_levels_id_seq" OWNED BY "public"."inventory_stock_levels"."id";



CREATE TABLE IF NOT EXISTS "public"."inventory_stock_moves" (
    "id" "uuid" DEFAULT "extensions"."uuid_generate_v4"() NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "state" "public"."document_state" DEFAULT 'draft'::"public"."document_state" NOT NULL,
    "number" "text",
    "due" "date"
);


ALTER TABLE "public"."inventory_stock_moves" OWNER TO "postgres";


COMMENT ON TABLE "public"."inventory_stock_moves" IS 'Inventory stock moves; the customer''s own.';


CREATE TABLE IF NOT EXISTS "public"."inventory_lots" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "email" "public"."email_address",
    "phone" "text",
    "kind" "public"."party_kind",
    "address" "jsonb"
);


ALTER TABLE "public"."inventory_lots" OWNER TO "postgres";


COMMENT ON TABLE "public"."inventory_lots" IS 'Inventory lots; the customer''s own.';


ALTER TABLE "public"."inventory_lots" ALTER COLUMN "id" ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME "public"."inventory_lots_id_seq"
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);



CREATE TABLE IF NOT EXISTS "public"."inventory_serials" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "state" "public"."document_state" DEFAULT 'draft'::"public"."document_state" NOT NULL,
    "number" "text",
    "due" "date",
    "parent_id" bigint
);


ALTER TABLE "public"."inventory_serials" OWNER TO "postgres";


COMMENT ON TABLE "public"."inventory_serials" IS 'Inventory serials; the customer''s own.';


CREATE SEQUENCE IF NOT EXISTS "public"."inventory_serials_id_seq"
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE "public"."inventory_serials_id_seq" OWNER TO "postgres";


ALTER SEQUENCE "public"."inventory_serials_id_seq" OWNED BY "public"."inventory_serials"."id";



CREATE TABLE IF NOT EXISTS "public"."inventory_counts" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "email" "public"."email_address",
    "phone" "text",
    "kind" "public"."party_kind",
    "address" "jsonb"
);

ALTER TABLE ONLY "public"."inventory_counts" FORCE ROW LEVEL SECURITY;


ALTER TABLE "public"."inventory_counts" OWNER TO "postgres";


CREATE SEQUENCE IF NOT EXISTS "public"."inventory_counts_id_seq"
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE "public"."inventory_counts_id_seq" OWNER TO "postgres";


ALTER SEQUENCE "public"."inventory_counts_id_seq" OWNED BY "public"."inventory_counts"."id";



CREATE TABLE IF NOT EXISTS "public"."inventory_count_lines" (
    "id" "uuid" DEFAULT "gen_random_uuid"() NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "quantity" double precision DEFAULT 1 NOT NULL,
    "unit" character varying(12) DEFAULT 'piece'::character varying,
    "tags" "text"[] DEFAULT '{}'::"text"[] NOT NULL,
    "parent_id" bigint,
    CONSTRAINT "inventory_count_lines_quantity_check" CHECK (("quantity" > (0)::double precision))
);


ALTER TABLE "public"."inventory_count_lines" OWNER TO "postgres";


CREATE TABLE IF NOT EXISTS "public"."purchasing_suppliers" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "data" "jsonb" DEFAULT '{}'::"jsonb" NOT NULL,
    "digest" "bytea",
    "source" "inet",
    "lasts" interval
);


ALTER TABLE "public"."purchasing_suppliers" OWNER TO "postgres";


CREATE SEQUENCE IF NOT EXISTS "public"."purchasing_suppliers_id_seq"
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE "public"."purchasing_suppliers_id_seq" OWNER TO "postgres";


ALTER SEQUENCE "public"."purchasing_suppliers_id_seq" OWNED BY "public"."purchasing_suppliers"."id";



CREATE TABLE IF NOT EXISTS "public"."purchasing_supplier_products" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "valid" "tstzrange" DEFAULT "tstzrange"("now"(), NULL::timestamp with time zone) NOT NULL,
    "weight" real,
    "position" smallint,
    "parent_id" bigint
);


ALTER TABLE "public"."purchasing_supplier_products" OWNER TO "postgres";


CREATE SEQUENCE IF NOT EXISTS "public"."purchasing_supplier_products_id_seq"
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE "public"."purchasing_supplier_products_id_seq" OWNER TO "postgres";


ALTER SEQUENCE "public"."purchasing_supplier_products_id_seq" OWNED BY "public"."purchasing_supplier_products"."id";



CREATE TABLE IF NOT EXISTS "public"."purchasing_requests" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "quantity" double precision DEFAULT 1 NOT NULL,
    "unit" character varying(12) DEFAULT 'piece'::character varying,
    "tags" "text"[] DEFAULT '{}'::"text"[] NOT NULL,
    CONSTRAINT "purchasing_requests_quantity_check" CHECK (("quantity" > (0)::double precision))
);


ALTER TABLE "public"."purchasing_requests" OWNER TO "postgres";


COMMENT ON TABLE "public"."purchasing_requests" IS 'Purchasing requests; the customer''s own.';


CREATE SEQUENCE IF NOT EXISTS "public"."purchasing_requests_id_seq"
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE "public"."purchasing_requests_id_seq" OWNER TO "postgres";


ALTER SEQUENCE "public"."purchasing_requests_id_seq" OWNED BY "public"."purchasing_requests"."id";



CREATE TABLE IF NOT EXISTS "public"."purchasing_request_lines" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "valid" "tstzrange" DEFAULT "tstzrange"("now"(), NULL::timestamp with time zone) NOT NULL,
    "weight" real,
    "position" smallint,
    "parent_id" bigint
);


ALTER TABLE "public"."purchasing_request_lines" OWNER TO "postgres";


COMMENT ON TABLE "public"."purchasing_request_lines" IS 'Purchasing request lines; the customer''s own.';


CREATE SEQUENCE IF NOT EXISTS "public"."purchasing_request_lines_id_seq"
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE "public"."purchasing_request_lines_id_seq" OWNER TO "postgres";


ALTER SEQUENCE "public"."purchasing_request_lines_id_seq" OWNED BY "public"."purchasing_request_lines"."id";



CREATE TABLE IF NOT EXISTS "public"."purchasing_purchase_orders" (
    "id" "uuid" DEFAULT "extensions"."uuid_generate_v4"() NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "body" "text",
    "search" "tsvector" GENERATED ALWAYS AS ("to_tsvector"('"english"'::"regconfig", COALESCE("body", ''::"text"))) STORED,
    "seen" boolean DEFAULT false NOT NULL
);


ALTER TABLE "public"."purchasing_purchase_orders" OWNER TO "postgres";


CREATE TABLE IF NOT EXISTS "public"."purchasing_purchase_lines" (
    "id" "uuid" DEFAULT "extensions"."uuid_generate_v4"() NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "valid" "tstzrange" DEFAULT "tstzrange"("now"(), NULL::timestamp with time zone) NOT NULL,
    "weight" real,
    "position" smallint,
    "parent_id" "uuid"
);


ALTER TABLE "public"."purchasing_purchase_lines" OWNER TO "postgres";


CREATE TABLE IF NOT EXISTS "public"."purchasing_receipts" (
    "id" "uuid" DEFAULT "gen_random_uuid"() NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "state" "public"."document_state" DEFAULT 'draft'::"public"."document_state" NOT NULL,
    "number" "text",
    "due" "date"
);


ALTER TABLE "public"."purchasing_receipts" OWNER TO "postgres";


CREATE TABLE IF NOT EXISTS "public"."purchasing_receipt_lines" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "valid" "tstzrange" DEFAULT "tstzrange"("now"(), NULL::timestamp with time zone) NOT NULL,
    "weight" real,
    "position" smallint,
    "parent_id" "uuid"
);


ALTER TABLE "public"."purchasing_receipt_lines" OWNER TO "postgres";


ALTER TABLE "public"."purchasing_receipt_lines" ALTER COLUMN "id" ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME "public"."purchasing_receipt_lines_id_seq"
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);



CREATE TABLE IF NOT EXISTS "public"."purchasing_contracts" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "email" "public"."email_address",
    "phone" "text",
    "kind" "public"."party_kind",
    "address" "jsonb"
);


ALTER TABLE "public"."purchasing_contracts" OWNER TO "postgres";


ALTER TABLE "public"."purchasing_contracts" ALTER COLUMN "id" ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME "public"."purchasing_contracts_id_seq"
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);



CREATE TABLE IF NOT EXISTS "public"."purchasing_ratings" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "data" "jsonb" DEFAULT '{}'::"jsonb" NOT NULL,
    "digest" "bytea",
    "source" "inet",
    "lasts" interval
);


ALTER TABLE "public"."purchasing_ratings" OWNER TO "postgres";


COMMENT ON TABLE "public"."purchasing_ratings" IS 'Purchasing ratings; the customer''s own.';


ALTER TABLE "public"."purchasing_ratings" ALTER COLUMN "id" ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME "public"."purchasing_ratings_id_seq"
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);



CREATE TABLE IF NOT EXISTS "public"."accounting_ledgers" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "state" "public"."document_state" DEFAULT 'draft'::"public"."document_state" NOT NULL,
    "number" "text",
    "due" "date"
);

ALTER TABLE ONLY "public"."accounting_ledgers" FORCE ROW LEVEL SECURITY;


ALTER TABLE "public"."accounting_ledgers" OWNER TO "postgres";


ALTER TABLE "public"."accounting_ledgers" ALTER COLUMN "id" ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME "public"."accounting_ledgers_id_seq"
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);



CREATE TABLE IF NOT EXISTS "public"."accounting_journals" (
    "id" "uuid" DEFAULT "extensions"."uuid_generate_v4"() NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "quantity" double precision DEFAULT 1 NOT NULL,
    "unit" character varying(12) DEFAULT 'piece'::character varying,
    "tags" "text"[] DEFAULT '{}'::"text"[] NOT NULL,
    CONSTRAINT "accounting_journals_quantity_check" CHECK (("quantity" > (0)::double precision))
);


ALTER TABLE "public"."accounting_journals" OWNER TO "postgres";


CREATE TABLE IF NOT EXISTS "public"."accounting_entries" (
    "id" "uuid" DEFAULT "gen_random_uuid"() NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "quantity" double precision DEFAULT 1 NOT NULL,
    "unit" character varying(12) DEFAULT 'piece'::character varying,
    "tags" "text"[] DEFAULT '{}'::"text"[] NOT NULL,
    CONSTRAINT "accounting_entries_quantity_check" CHECK (("quantity" > (0)::double precision))
);


ALTER TABLE "public"."accounting_entries" OWNER TO "postgres";


CREATE TABLE IF NOT EXISTS "public"."accounting_entry_lines" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "state" "public"."document_state" DEFAULT 'draft'::"public"."document_state" NOT NULL,
    "number" "text",
    "due" "date",
    "parent_id" "uuid"
);


ALTER TABLE "public"."accounting_entry_lines" OWNER TO "postgres";


CREATE SEQUENCE IF NOT EXISTS "public"."accounting_entry_lines_id_seq"
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE "public"."accounting_entry_lines_id_seq" OWNER TO "postgres";


ALTER SEQUENCE "public"."accounting_entry_lines_id_seq" OWNED BY "public"."accounting_entry_lines"."id";



CREATE TABLE IF NOT EXISTS "public"."accounting_tax_codes" (
    "id" "uuid" DEFAULT "gen_random_uuid"() NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "amount" numeric(14,2) DEFAULT 0 NOT NULL,
    "currency" "public"."currency" DEFAULT 'EUR'::"public"."currency",
    "gross" numeric(14,2) GENERATED ALWAYS AS (("amount" * 1.19)) STORED
);

ALTER TABLE ONLY "public"."accounting_tax_codes" FORCE ROW LEVEL SECURITY;


ALTER TABLE "public"."accounting_tax_codes" OWNER TO "postgres";


CREATE TABLE IF NOT EXISTS "public"."accounting_tax_rates" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "amount" numeric(14,2) DEFAULT 0 NOT NULL,
    "currency" "public"."currency" DEFAULT 'EUR'::"public"."currency",
    "gross" numeric(14,2) GENERATED ALWAYS AS (("amount" * 1.19)) STORED,
    "parent_id" "uuid"
);


ALTER TABLE "public"."accounting_tax_rates" OWNER TO "postgres";


COMMENT ON TABLE "public"."accounting_tax_rates" IS 'Accounting tax rates; the customer''s own.';


CREATE SEQUENCE IF NOT EXISTS "public"."accounting_tax_rates_id_seq"
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE "public"."accounting_tax_rates_id_seq" OWNER TO "postgres";


ALTER SEQUENCE "public"."accounting_tax_rates_id_seq" OWNED BY "public"."accounting_tax_rates"."id";



CREATE TABLE IF NOT EXISTS "public"."accounting_fiscal_years" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "body" "text",
    "search" "tsvector" GENERATED ALWAYS AS ("to_tsvector"('"english"'::"regconfig", COALESCE("body", ''::"text"))) STORED,
    "seen" boolean DEFAULT false NOT NULL
);


ALTER TABLE "public"."accounting_fiscal_years" OWNER TO "postgres";


CREATE SEQUENCE IF NOT EXISTS "public"."accounting_fiscal_years_id_seq"
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE "public"."accounting_fiscal_years_id_seq" OWNER TO "postgres";


ALTER SEQUENCE "public"."accounting_fiscal_years_id_seq" OWNED BY "public"."accounting_fiscal_years"."id";



CREATE TABLE IF NOT EXISTS "public"."accounting_periods" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "amount" numeric(14,2) DEFAULT 0 NOT NULL,
    "currency" "public"."currency" DEFAULT 'EUR'::"public"."currency",
    "gross" numeric(14,2) GENERATED ALWAYS AS (("amount" * 1.19)) STORED,
    "parent_id" bigint
);

ALTER TABLE ONLY "public"."accounting_periods" FORCE ROW LEVEL SECURITY;


ALTER TABLE "public"."accounting_periods" OWNER TO "postgres";


COMMENT ON TABLE "public"."accounting_periods" IS 'Accounting periods; the customer''s own.';


CREATE SEQUENCE IF NOT EXISTS "public"."accounting_periods_id_seq"
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE "public"."accounting_periods_id_seq" OWNER TO "postgres";


ALTER SEQUENCE "public"."accounting_periods_id_seq" OWNED BY "public"."accounting_periods"."id";



CREATE TABLE IF NOT EXISTS "public"."accounting_bank_accounts" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "amount" numeric(14,2) DEFAULT 0 NOT NULL,
    "currency" "public"."currency" DEFAULT 'EUR'::"public"."currency",
    "gross" numeric(14,2) GENERATED ALWAYS AS (("amount" * 1.19)) STORED
);


ALTER TABLE "public"."accounting_bank_accounts" OWNER TO "postgres";


CREATE SEQUENCE IF NOT EXISTS "public"."accounting_bank_accounts_id_seq"
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE "public"."accounting_bank_accounts_id_seq" OWNER TO "postgres";


ALTER SEQUENCE "public"."accounting_bank_accounts_id_seq" OWNED BY "public"."accounting_bank_accounts"."id";



CREATE TABLE IF NOT EXISTS "public"."accounting_bank_lines" (
    "id" "uuid" DEFAULT "gen_random_uuid"() NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "state" "public"."document_state" DEFAULT 'draft'::"public"."document_state" NOT NULL,
    "number" "text",
    "due" "date",
    "parent_id" bigint
);


ALTER TABLE "public"."accounting_bank_lines" OWNER TO "postgres";


CREATE TABLE IF NOT EXISTS "public"."billing_invoices" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "data" "jsonb" DEFAULT '{}'::"jsonb" NOT NULL,
    "digest" "bytea",
    "source" "inet",
    "lasts" interval
);


ALTER TABLE "public"."billing_invoices" OWNER TO "postgres";


COMMENT ON TABLE "public"."billing_invoices" IS 'Billing invoices; the customer''s own.';


ALTER TABLE "public"."billing_invoices" ALTER COLUMN "id" ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME "public"."billing_invoices_id_seq"
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);



CREATE TABLE IF NOT EXISTS "public"."billing_invoice_lines" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "data" "jsonb" DEFAULT '{}'::"jsonb" NOT NULL,
    "digest" "bytea",
    "source" "inet",
    "lasts" interval,
    "parent_id" bigint
);


ALTER TABLE "public"."billing_invoice_lines" OWNER TO "postgres";


COMMENT ON TABLE "public"."billing_invoice_lines" IS 'Billing invoice lines; the customer''s own.';


ALTER TABLE "public"."billing_invoice_lines" ALTER COLUMN "id" ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME "public"."billing_invoice_lines_id_seq"
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);



CREATE TABLE IF NOT EXISTS "public"."billing_payments" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "quantity" double precision DEFAULT 1 NOT NULL,
    "unit" character varying(12) DEFAULT 'piece'::character varying,
    "tags" "text"[] DEFAULT '{}'::"text"[] NOT NULL,
    CONSTRAINT "billing_payments_quantity_check" CHECK (("quantity" > (0)::double precision))
);


ALTER TABLE "public"."billing_payments" OWNER TO "postgres";


CREATE SEQUENCE IF NOT EXISTS "public"."billing_payments_id_seq"
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE "public"."billing_payments_id_seq" OWNER TO "postgres";


ALTER SEQUENCE "public"."billing_payments_id_seq" OWNED BY "public"."billing_payments"."id";



CREATE TABLE IF NOT EXISTS "public"."billing_payment_allocations" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "state" "public"."document_state" DEFAULT 'draft'::"public"."document_state" NOT NULL,
    "number" "text",
    "due" "date",
    "parent_id" bigint
);


ALTER TABLE "public"."billing_payment_allocations" OWNER TO "postgres";


COMMENT ON TABLE "public"."billing_payment_allocations" IS 'Billing payment allocations; the customer''s own.';


CREATE SEQUENCE IF NOT EXISTS "public"."billing_payment_allocations_id_seq"
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE "public"."billing_payment_allocations_id_seq" OWNER TO "postgres";


ALTER SEQUENCE "public"."billing_payment_allocations_id_seq" OWNED BY "public"."billing_payment_allocations"."id";



CREATE TABLE IF NOT EXISTS "public"."billing_credit_notes" (
    "id" "uuid" DEFAULT "extensions"."uuid_generate_v4"() NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "amount" numeric(14,2) DEFAULT 0 NOT NULL,
    "currency" "public"."currency" DEFAULT 'EUR'::"public"."currency",
    "gross" numeric(14,2) GENERATED ALWAYS AS (("amount" * 1.19)) STORED
);


ALTER TABLE "public"."billing_credit_notes" OWNER TO "postgres";


COMMENT ON TABLE "public"."billing_credit_notes" IS 'Billing credit notes; the customer''s own.';


CREATE TABLE IF NOT EXISTS "public"."billing_credit_lines" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "amount" numeric(14,2) DEFAULT 0 NOT NULL,
    "currency" "public"."currency" DEFAULT 'EUR'::"public"."currency",
    "gross" numeric(14,2) GENERATED ALWAYS AS (("amount" * 1.19)) STORED,
    "parent_id" "uuid"
);

ALTER TABLE ONLY "public"."billing_credit_lines" FORCE ROW LEVEL SECURITY;


ALTER TABLE "public"."billing_credit_lines" OWNER TO "postgres";


ALTER TABLE "public"."billing_credit_lines" ALTER COLUMN "id" ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME "public"."billing_credit_lines_id_seq"
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);



CREATE TABLE IF NOT EXISTS "public"."billing_dunning_runs" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "data" "jsonb" DEFAULT '{}'::"jsonb" NOT NULL,
    "digest" "bytea",
    "source" "inet",
    "lasts" interval
);


ALTER TABLE "public"."billing_dunning_runs" OWNER TO "postgres";


CREATE SEQUENCE IF NOT EXISTS "public"."billing_dunning_runs_id_seq"
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE "public"."billing_dunning_runs_id_seq" OWNER TO "postgres";


ALTER SEQUENCE "public"."billing_dunning_runs_id_seq" OWNED BY "public"."billing_dunning_runs"."id";



CREATE TABLE IF NOT EXISTS "public"."billing_dunning_items" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "body" "text",
    "search" "tsvector" GENERATED ALWAYS AS ("to_tsvector"('"english"'::"regconfig", COALESCE("body", ''::"text"))) STORED,
    "seen" boolean DEFAULT false NOT NULL,
    "parent_id" bigint
);


ALTER TABLE "public"."billing_dunning_items" OWNER TO "postgres";


CREATE SEQUENCE IF NOT EXISTS "public"."billing_dunning_items_id_seq"
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE "public"."billing_dunning_items_id_seq" OWNER TO "postgres";


ALTER SEQUENCE "public"."billing_dunning_items_id_seq" OWNED BY "public"."billing_dunning_items"."id";



CREATE TABLE IF NOT EXISTS "public"."billing_subscriptions" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "amount" numeric(14,2) DEFAULT 0 NOT NULL,
    "currency" "public"."currency" DEFAULT 'EUR'::"public"."currency",
    "gross" numeric(14,2) GENERATED ALWAYS AS (("amount" * 1.19)) STORED
);


ALTER TABLE "public"."billing_subscriptions" OWNER TO "postgres";


ALTER TABLE "public"."billing_subscriptions" ALTER COLUMN "id" ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME "public"."billing_subscriptions_id_seq"
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);



CREATE TABLE IF NOT EXISTS "public"."billing_usage_records" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "state" "public"."document_state" DEFAULT 'draft'::"public"."document_state" NOT NULL,
    "number" "text",
    "due" "date",
    "parent_id" bigint
);


ALTER TABLE "public"."billing_usage_records" OWNER TO "postgres";


ALTER TABLE "public"."billing_usage_records" ALTER COLUMN "id" ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME "public"."billing_usage_records_id_seq"
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);



CREATE TABLE IF NOT EXISTS "public"."hr_employees" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "amount" numeric(14,2) DEFAULT 0 NOT NULL,
    "currency" "public"."currency" DEFAULT 'EUR'::"public"."currency",
    "gross" numeric(14,2) GENERATED ALWAYS AS (("amount" * 1.19)) STORED
);


ALTER TABLE "public"."hr_employees" OWNER TO "postgres";


ALTER TABLE "public"."hr_employees" ALTER COLUMN "id" ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME "public"."hr_employees_id_seq"
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);



CREATE TABLE IF NOT EXISTS "public"."hr_departments" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "valid" "tstzrange" DEFAULT "tstzrange"("now"(), NULL::timestamp with time zone) NOT NULL,
    "weight" real,
    "position" smallint
);


ALTER TABLE "public"."hr_departments" OWNER TO "postgres";


CREATE SEQUENCE IF NOT EXISTS "public"."hr_departments_id_seq"
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE "public"."hr_departments_id_seq" OWNER TO "postgres";


ALTER SEQUENCE "public"."hr_departments_id_seq" OWNED BY "public"."hr_departments"."id";



CREATE TABLE IF NOT EXISTS "public"."hr_positions" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "valid" "tstzrange" DEFAULT "tstzrange"("now"(), NULL::timestamp with time zone) NOT NULL,
    "weight" real,
    "position" smallint,
    "parent_id" bigint
);


ALTER TABLE "public"."hr_positions" OWNER TO "postgres";


COMMENT ON TABLE "public"."hr_positions" IS 'Hr positions; the customer''s own.';


CREATE SEQUENCE IF NOT EXISTS "public"."hr_positions_id_seq"
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE "public"."hr_positions_id_seq" OWNER TO "postgres";


ALTER SEQUENCE "public"."hr_positions_id_seq" OWNED BY "public"."hr_positions"."id";



CREATE TABLE IF NOT EXISTS "public"."hr_employments" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "amount" numeric(14,2) DEFAULT 0 NOT NULL,
    "currency" "public"."currency" DEFAULT 'EUR'::"public"."currency",
    "gross" numeric(14,2) GENERATED ALWAYS AS (("amount" * 1.19)) STORED,
    "parent_id" bigint
);


ALTER TABLE "public"."hr_employments" OWNER TO "postgres";


CREATE SEQUENCE IF NOT EXISTS "public"."hr_employments_id_seq"
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE "public"."hr_employments_id_seq" OWNER TO "postgres";


ALTER SEQUENCE "public"."hr_employments_id_seq" OWNED BY "public"."hr_employments"."id";



CREATE TABLE IF NOT EXISTS "public"."hr_absences" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "amount" numeric(14,2) DEFAULT 0 NOT NULL,
    "currency" "public"."currency" DEFAULT 'EUR'::"public"."currency",
    "gross" numeric(14,2) GENERATED ALWAYS AS (("amount" * 1.19)) STORED,
    "parent_id" bigint
);


ALTER TABLE "public"."hr_absences" OWNER TO "postgres";


CREATE SEQUENCE IF NOT EXISTS "public"."hr_absences_id_seq"
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE "public"."hr_absences_id_seq" OWNER TO "postgres";


ALTER SEQUENCE "public"."hr_absences_id_seq" OWNED BY "public"."hr_absences"."id";



CREATE TABLE IF NOT EXISTS "public"."hr_absence_kinds" (
    "id" "uuid" DEFAULT "extensions"."uuid_generate_v4"() NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "body" "text",
    "search" "tsvector" GENERATED ALWAYS AS ("to_tsvector"('"english"'::"regconfig", COALESCE("body", ''::"text"))) STORED,
    "seen" boolean DEFAULT false NOT NULL
);


ALTER TABLE "public"."hr_absence_kinds" OWNER TO "postgres";


CREATE TABLE IF NOT EXISTS "public"."hr_timesheets" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "quantity" double precision DEFAULT 1 NOT NULL,
    "unit" character varying(12) DEFAULT 'piece'::character varying,
    "tags" "text"[] DEFAULT '{}'::"text"[] NOT NULL,
    CONSTRAINT "hr_timesheets_quantity_check" CHECK (("quantity" > (0)::double precision))
);


ALTER TABLE "public"."hr_timesheets" OWNER TO "postgres";


CREATE SEQUENCE IF NOT EXISTS "public"."hr_timesheets_id_seq"
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE "public"."hr_timesheets_id_seq" OWNER TO "postgres";


ALTER SEQUENCE "public"."hr_timesheets_id_seq" OWNED BY "public"."hr_timesheets"."id";



CREATE TABLE IF NOT EXISTS "public"."hr_timesheet_lines" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "valid" "tstzrange" DEFAULT "tstzrange"("now"(), NULL::timestamp with time zone) NOT NULL,
    "weight" real,
    "position" smallint,
    "parent_id" bigint
);


ALTER TABLE "public"."hr_timesheet_lines" OWNER TO "postgres";


CREATE SEQUENCE IF NOT EXISTS "public"."hr_timesheet_lines_id_seq"
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE "public"."hr_timesheet_lines_id_seq" OWNER TO "postgres";


ALTER SEQUENCE "public"."hr_timesheet_lines_id_seq" OWNED BY "public"."hr_timesheet_lines"."id";



CREATE TABLE IF NOT EXISTS "public"."hr_skills" (
    "id" "uuid" DEFAULT "gen_random_uuid"() NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "data" "jsonb" DEFAULT '{}'::"jsonb" NOT NULL,
    "digest" "bytea",
    "source" "inet",
    "lasts" interval
);


ALTER TABLE "public"."hr_skills" OWNER TO "postgres";


COMMENT ON TABLE "public"."hr_skills" IS 'Hr skills; the customer''s own.';


CREATE TABLE IF NOT EXISTS "public"."hr_employee_skills" (
    "id" "uuid" DEFAULT "gen_random_uuid"() NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "body" "text",
    "search" "tsvector" GENERATED ALWAYS AS ("to_tsvector"('"english"'::"regconfig", COALESCE("body", ''::"text"))) STORED,
    "seen" boolean DEFAULT false NOT NULL,
    "parent_id" bigint
);


ALTER TABLE "public"."hr_employee_skills" OWNER TO "postgres";


COMMENT ON TABLE "public"."hr_employee_skills" IS 'Hr employee skills; the customer''s own.';


CREATE TABLE IF NOT EXISTS "public"."projects_projects" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "amount" numeric(14,2) DEFAULT 0 NOT NULL,
    "currency" "public"."currency" DEFAULT 'EUR'::"public"."currency",
    "gross" numeric(14,2) GENERATED ALWAYS AS (("amount" * 1.19)) STORED
);


ALTER TABLE "public"."projects_projects" OWNER TO "postgres";


CREATE SEQUENCE IF NOT EXISTS "public"."projects_projects_id_seq"
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE "public"."projects_projects_id_seq" OWNER TO "postgres";


ALTER SEQUENCE "public"."projects_projects_id_seq" OWNED BY "public"."projects_projects"."id";



CREATE TABLE IF NOT EXISTS "public"."projects_milestones" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "state" "public"."document_state" DEFAULT 'draft'::"public"."document_state" NOT NULL,
    "number" "text",
    "due" "date",
    "parent_id" bigint
);


ALTER TABLE "public"."projects_milestones" OWNER TO "postgres";


COMMENT ON TABLE "public"."projects_milestones" IS 'Projects milestones; the customer''s own.';


ALTER TABLE "public"."projects_milestones" ALTER COLUMN "id" ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME "public"."projects_milestones_id_seq"
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);



CREATE TABLE IF NOT EXISTS "public"."projects_tasks" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "email" "public"."email_address",
    "phone" "text",
    "kind" "public"."party_kind",
    "address" "jsonb",
    "parent_id" bigint
);


ALTER TABLE "public"."projects_tasks" OWNER TO "postgres";


ALTER TABLE "public"."projects_tasks" ALTER COLUMN "id" ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME "public"."projects_tasks_id_seq"
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);



CREATE TABLE IF NOT EXISTS "public"."projects_task_links" (
    "id" "uuid" DEFAULT "gen_random_uuid"() NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "quantity" double precision DEFAULT 1 NOT NULL,
    "unit" character varying(12) DEFAULT 'piece'::character varying,
    "tags" "text"[] DEFAULT '{}'::"text"[] NOT NULL,
    "parent_id" bigint,
    CONSTRAINT "projects_task_links_quantity_check" CHECK (("quantity" > (0)::double precision))
);


ALTER TABLE "public"."projects_task_links" OWNER TO "postgres";


CREATE TABLE IF NOT EXISTS "public"."projects_task_comments" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "email" "public"."email_address",
    "phone" "text",
    "kind" "public"."party_kind",
    "address" "jsonb",
    "parent_id" bigint
);


ALTER TABLE "public"."projects_task_comments" OWNER TO "postgres";


CREATE SEQUENCE IF NOT EXISTS "public"."projects_task_comments_id_seq"
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE "public"."projects_task_comments_id_seq" OWNER TO "postgres";


ALTER SEQUENCE "public"."projects_task_comments_id_seq" OWNED BY "public"."projects_task_comments"."id";



CREATE TABLE IF NOT EXISTS "public"."projects_assignments" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "state" "public"."document_state" DEFAULT 'draft'::"public"."document_state" NOT NULL,
    "number" "text",
    "due" "date",
    "parent_id" bigint
);

ALTER TABLE ONLY "public"."projects_assignments" FORCE ROW LEVEL SECURITY;


ALTER TABLE "public"."projects_assignments" OWNER TO "postgres";


ALTER TABLE "public"."projects_assignments" ALTER COLUMN "id" ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME "public"."projects_assignments_id_seq"
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);



CREATE TABLE IF NOT EXISTS "public"."projects_boards" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "data" "jsonb" DEFAULT '{}'::"jsonb" NOT NULL,
    "digest" "bytea",
    "source" "inet",
    "lasts" interval
);


ALTER TABLE "public"."projects_boards" OWNER TO "postgres";


ALTER TABLE "public"."projects_boards" ALTER COLUMN "id" ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME "public"."projects_boards_id_seq"
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);



CREATE TABLE IF NOT EXISTS "public"."projects_columns" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "valid" "tstzrange" DEFAULT "tstzrange"("now"(), NULL::timestamp with time zone) NOT NULL,
    "weight" real,
    "position" smallint,
    "parent_id" bigint
);


ALTER TABLE "public"."projects_columns" OWNER TO "postgres";


CREATE SEQUENCE IF NOT EXISTS "public"."projects_columns_id_seq"
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE "public"."projects_columns_id_seq" OWNER TO "postgres";


ALTER SEQUENCE "public"."projects_columns_id_seq" OWNED BY "public"."projects_columns"."id";



CREATE TABLE IF NOT EXISTS "public"."projects_labels" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "body" "text",
    "search" "tsvector" GENERATED ALWAYS AS ("to_tsvector"('"english"'::"regconfig", COALESCE("body", ''::"text"))) STORED,
    "seen" boolean DEFAULT false NOT NULL
);


ALTER TABLE "public"."projects_labels" OWNER TO "postgres";


ALTER TABLE "public"."projects_labels" ALTER COLUMN "id" ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME "public"."projects_labels_id_seq"
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);



CREATE TABLE IF NOT EXISTS "public"."projects_task_labels" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "email" "public"."email_address",
    "phone" "text",
    "kind" "public"."party_kind",
    "address" "jsonb",
    "parent_id" bigint
);


ALTER TABLE "public"."projects_task_labels" OWNER TO "postgres";


COMMENT ON TABLE "public"."projects_task_labels" IS 'Projects task labels; the customer''s own.';


ALTER TABLE "public"."projects_task_labels" ALTER COLUMN "id" ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME "public"."projects_task_labels_id_seq"
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);



CREATE TABLE IF NOT EXISTS "public"."service_tickets" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "valid" "tstzrange" DEFAULT "tstzrange"("now"(), NULL::timestamp with time zone) NOT NULL,
    "weight" real,
    "position" smallint
);


ALTER TABLE "public"."service_tickets" OWNER TO "postgres";


CREATE SEQUENCE IF NOT EXISTS "public"."service_tickets_id_seq"
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE "public"."service_tickets_id_seq" OWNER TO "postgres";


ALTER SEQUENCE "public"."service_tickets_id_seq" OWNED BY "public"."service_tickets"."id";



CREATE TABLE IF NOT EXISTS "public"."service_ticket_events" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "state" "public"."document_state" DEFAULT 'draft'::"public"."document_state" NOT NULL,
    "number" "text",
    "due" "date",
    "parent_id" bigint
);


ALTER TABLE "public"."service_ticket_events" OWNER TO "postgres";


CREATE SEQUENCE IF NOT EXISTS "public"."service_ticket_events_id_seq"
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE "public"."service_ticket_events_id_seq" OWNER TO "postgres";


ALTER SEQUENCE "public"."service_ticket_events_id_seq" OWNED BY "public"."service_ticket_events"."id";



CREATE TABLE IF NOT EXISTS "public"."service_slas" (
    "id" "uuid" DEFAULT "gen_random_uuid"() NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "amount" numeric(14,2) DEFAULT 0 NOT NULL,
    "currency" "public"."currency" DEFAULT 'EUR'::"public"."currency",
    "gross" numeric(14,2) GENERATED ALWAYS AS (("amount" * 1.19)) STORED
);


ALTER TABLE "public"."service_slas" OWNER TO "postgres";


CREATE TABLE IF NOT EXISTS "public"."service_queues" (
    "id" "uuid" DEFAULT "gen_random_uuid"() NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "quantity" double precision DEFAULT 1 NOT NULL,
    "unit" character varying(12) DEFAULT 'piece'::character varying,
    "tags" "text"[] DEFAULT '{}'::"text"[] NOT NULL,
    CONSTRAINT "service_queues_quantity_check" CHECK (("quantity" > (0)::double precision))
);


ALTER TABLE "public"."service_queues" OWNER TO "postgres";


COMMENT ON TABLE "public"."service_queues" IS 'Service queues; the customer''s own.';


CREATE TABLE IF NOT EXISTS "public"."service_queue_members" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "body" "text",
    "search" "tsvector" GENERATED ALWAYS AS ("to_tsvector"('"english"'::"regconfig", COALESCE("body", ''::"text"))) STORED,
    "seen" boolean DEFAULT false NOT NULL,
    "parent_id" "uuid"
);


ALTER TABLE "public"."service_queue_members" OWNER TO "postgres";


CREATE SEQUENCE IF NOT EXISTS "public"."service_queue_members_id_seq"
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE "public"."service_queue_members_id_seq" OWNER TO "postgres";


ALTER SEQUENCE "public"."service_queue_members_id_seq" OWNED BY "public"."service_queue_members"."id";



CREATE TABLE IF NOT EXISTS "public"."service_articles" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "amount" numeric(14,2) DEFAULT 0 NOT NULL,
    "currency" "public"."currency" DEFAULT 'EUR'::"public"."currency",
    "gross" numeric(14,2) GENERATED ALWAYS AS (("amount" * 1.19)) STORED
);


ALTER TABLE "public"."service_articles" OWNER TO "postgres";


COMMENT ON TABLE "public"."service_articles" IS 'Service articles; the customer''s own.';


ALTER TABLE "public"."service_articles" ALTER COLUMN "id" ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME "public"."service_articles_id_seq"
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);



CREATE TABLE IF NOT EXISTS "public"."service_article_versions" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "state" "public"."document_state" DEFAULT 'draft'::"public"."document_state" NOT NULL,
    "number" "text",
    "due" "date",
    "parent_id" bigint
);


ALTER TABLE "public"."service_article_versions" OWNER TO "postgres";


ALTER TABLE "public"."service_article_versions" ALTER COLUMN "id" ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME "public"."service_article_versions_id_seq"
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);



CREATE TABLE IF NOT EXISTS "public"."service_devices" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "state" "public"."document_state" DEFAULT 'draft'::"public"."document_state" NOT NULL,
    "number" "text",
    "due" "date"
);


ALTER TABLE "public"."service_devices" OWNER TO "postgres";


ALTER TABLE "public"."service_devices" ALTER COLUMN "id" ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME "public"."service_devices_id_seq"
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);



CREATE TABLE IF NOT EXISTS "public"."service_maintenance_plans" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "state" "public"."document_state" DEFAULT 'draft'::"public"."document_state" NOT NULL,
    "number" "text",
    "due" "date"
);


ALTER TABLE "public"."service_maintenance_plans" OWNER TO "postgres";


CREATE SEQUENCE IF NOT EXISTS "public"."service_maintenance_plans_id_seq"
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE "public"."service_maintenance_plans_id_seq" OWNER TO "postgres";


ALTER SEQUENCE "public"."service_maintenance_plans_id_seq" OWNED BY "public"."service_maintenance_plans"."id";



CREATE TABLE IF NOT EXISTS "public"."service_visits" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "valid" "tstzrange" DEFAULT "tstzrange"("now"(), NULL::timestamp with time zone) NOT NULL,
    "weight" real,
    "position" smallint,
    "parent_id" bigint
);


ALTER TABLE "public"."service_visits" OWNER TO "postgres";


CREATE SEQUENCE IF NOT EXISTS "public"."service_visits_id_seq"
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE "public"."service_visits_id_seq" OWNER TO "postgres";


ALTER SEQUENCE "public"."service_visits_id_seq" OWNED BY "public"."service_visits"."id";



CREATE TABLE IF NOT EXISTS "public"."tenants" (
    "id" "uuid" DEFAULT "gen_random_uuid"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "email" "public"."email_address",
    "phone" "text",
    "kind" "public"."party_kind",
    "address" "jsonb"
);


ALTER TABLE "public"."tenants" OWNER TO "postgres";


CREATE TABLE IF NOT EXISTS "public"."memberships" (
    "id" "uuid" DEFAULT "gen_random_uuid"() NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "user_id" "uuid" NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "valid" "tstzrange" DEFAULT "tstzrange"("now"(), NULL::timestamp with time zone) NOT NULL,
    "weight" real,
    "position" smallint,
    "parent_id" "uuid"
);


ALTER TABLE "public"."memberships" OWNER TO "postgres";


CREATE TABLE IF NOT EXISTS "public"."roles" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "state" "public"."document_state" DEFAULT 'draft'::"public"."document_state" NOT NULL,
    "number" "text",
    "due" "date"
);


ALTER TABLE "public"."roles" OWNER TO "postgres";


ALTER TABLE "public"."roles" ALTER COLUMN "id" ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME "public"."roles_id_seq"
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);



CREATE TABLE IF NOT EXISTS "public"."permissions" (
    "id" "uuid" DEFAULT "extensions"."uuid_generate_v4"() NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "body" "text",
    "search" "tsvector" GENERATED ALWAYS AS ("to_tsvector"('"english"'::"regconfig", COALESCE("body", ''::"text"))) STORED,
    "seen" boolean DEFAULT false NOT NULL
);


ALTER TABLE "public"."permissions" OWNER TO "postgres";


CREATE TABLE IF NOT EXISTS "public"."role_permissions" (
    "id" "uuid" DEFAULT "extensions"."uuid_generate_v4"() NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "state" "public"."document_state" DEFAULT 'draft'::"public"."document_state" NOT NULL,
    "number" "text",
    "due" "date",
    "parent_id" bigint
);


ALTER TABLE "public"."role_permissions" OWNER TO "postgres";


CREATE TABLE IF NOT EXISTS "public"."settings" (
    "id" "uuid" DEFAULT "gen_random_uuid"() NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "body" "text",
    "search" "tsvector" GENERATED ALWAYS AS ("to_tsvector"('"english"'::"regconfig", COALESCE("body", ''::"text"))) STORED,
    "seen" boolean DEFAULT false NOT NULL
);


ALTER TABLE "public"."settings" OWNER TO "postgres";


CREATE TABLE IF NOT EXISTS "public"."files" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "amount" numeric(14,2) DEFAULT 0 NOT NULL,
    "currency" "public"."currency" DEFAULT 'EUR'::"public"."currency",
    "gross" numeric(14,2) GENERATED ALWAYS AS (("amount" * 1.19)) STORED
);


ALTER TABLE "public"."files" OWNER TO "postgres";


COMMENT ON TABLE "public"."files" IS 'Files; the customer''s own.';


ALTER TABLE "public"."files" ALTER COLUMN "id" ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME "public"."files_id_seq"
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);



CREATE TABLE IF NOT EXISTS "public"."audit_entries" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "data" "jsonb" DEFAULT '{}'::"jsonb" NOT NULL,
    "digest" "bytea",
    "source" "inet",
    "lasts" interval
);


ALTER TABLE "public"."audit_entries" OWNER TO "postgres";


CREATE SEQUENCE IF NOT EXISTS "public"."audit_entries_id_seq"
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE "public"."audit_entries_id_seq" OWNER TO "postgres";


ALTER SEQUENCE "public"."audit_entries_id_seq" OWNED BY "public"."audit_entries"."id";



CREATE TABLE IF NOT EXISTS "public"."outbox" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "valid" "tstzrange" DEFAULT "tstzrange"("now"(), NULL::timestamp with time zone) NOT NULL,
    "weight" real,
    "position" smallint
);


ALTER TABLE "public"."outbox" OWNER TO "postgres";


COMMENT ON TABLE "public"."outbox" IS 'Outbox; the customer''s own.';


CREATE SEQUENCE IF NOT EXISTS "public"."outbox_id_seq"
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE "public"."outbox_id_seq" OWNER TO "postgres";


ALTER SEQUENCE "public"."outbox_id_seq" OWNED BY "public"."outbox"."id";



CREATE TABLE IF NOT EXISTS "public"."feature_flags" (
    "id" bigint NOT NULL,
    "tenant_id" "uuid" DEFAULT "internal"."current_tenant"() NOT NULL,
    "name" character varying(200) NOT NULL,
    "created_at" timestamp with time zone DEFAULT "now"() NOT NULL,
    "updated_at" timestamp with time zone,
    "quantity" double precision DEFAULT 1 NOT NULL,
    "unit" character varying(12) DEFAULT 'piece'::character varying,
    "tags" "text"[] DEFAULT '{}'::"text"[] NOT NULL,
    CONSTRAINT "feature_flags_quantity_check" CHECK (("quantity" > (0)::double precision))
);


ALTER TABLE "public"."feature_flags" OWNER TO "postgres";


ALTER TABLE "public"."feature_flags" ALTER COLUMN "id" ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME "public"."feature_flags_id_seq"
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);



CREATE OR REPLACE FUNCTION "public"."search_accounts"("term" "text", "most" integer DEFAULT 20) RETURNS SETOF "public"."crm_accounts"
    LANGUAGE "sql" STABLE
    SET "search_path" TO 'public', 'extensions'
    AS $$
  select * from crm_accounts where name % term order by similarity(name, term) desc limit most
$$;


ALTER FUNCTION "public"."search_accounts"("term" "text", "most" integer) OWNER TO "postgres";


CREATE OR REPLACE VIEW "public"."open_invoices" AS
 SELECT "i"."id",
    "i"."name",
    "count"("l"."id") AS "lines"
   FROM ("public"."billing_invoices" "i"
     LEFT JOIN "public"."billing_invoice_lines" "l" ON (("l"."parent_id" = "i"."id")))
  GROUP BY "i"."id", "i"."name";


ALTER TABLE "public"."open_invoices" OWNER TO "postgres";


CREATE MATERIALIZED VIEW "public"."tenant_sizes" AS
 SELECT "t"."id",
    "t"."name",
    ( SELECT "count"(*) AS "count"
           FROM "public"."memberships" "m"
          WHERE ("m"."tenant_id" = "t"."id")) AS "members"
   FROM "public"."tenants" "t"
  WITH NO DATA;


ALTER TABLE "public"."tenant_sizes" OWNER TO "postgres";


ALTER TABLE ONLY "public"."crm_accounts" ALTER COLUMN "id" SET DEFAULT "nextval"('"public"."crm_accounts_id_seq"'::"regclass");



ALTER TABLE ONLY "public"."sales_quotes" ALTER COLUMN "id" SET DEFAULT "nextval"('"public"."sales_quotes_id_seq"'::"regclass");



ALTER TABLE ONLY "public"."sales_discounts" ALTER COLUMN "id" SET DEFAULT "nextval"('"public"."sales_discounts_id_seq"'::"regclass");



ALTER TABLE ONLY "public"."sales_return_lines" ALTER COLUMN "id" SET DEFAULT "nextval"('"public"."sales_return_lines_id_seq"'::"regclass");



ALTER TABLE ONLY "public"."inventory_locations" ALTER COLUMN "id" SET DEFAULT "nextval"('"public"."inventory_locations_id_seq"'::"regclass");



ALTER TABLE ONLY "public"."inventory_stock_levels" ALTER COLUMN "id" SET DEFAULT "nextval"('"public"."inventory_stock_levels_id_seq"'::"regclass");



ALTER TABLE ONLY "public"."inventory_serials" ALTER COLUMN "id" SET DEFAULT "nextval"('"public"."inventory_serials_id_seq"'::"regclass");



ALTER TABLE ONLY "public"."inventory_counts" ALTER COLUMN "id" SET DEFAULT "nextval"('"public"."inventory_counts_id_seq"'::"regclass");



ALTER TABLE ONLY "public"."purchasing_suppliers" ALTER COLUMN "id" SET DEFAULT "nextval"('"public"."purchasing_suppliers_id_seq"'::"regclass");



ALTER TABLE ONLY "public"."purchasing_supplier_products" ALTER COLUMN "id" SET DEFAULT "nextval"('"public"."purchasing_supplier_products_id_seq"'::"regclass");



ALTER TABLE ONLY "public"."purchasing_requests" ALTER COLUMN "id" SET DEFAULT "nextval"('"public"."purchasing_requests_id_seq"'::"regclass");



ALTER TABLE ONLY "public"."purchasing_request_lines" ALTER COLUMN "id" SET DEFAULT "nextval"('"public"."purchasing_request_lines_id_seq"'::"regclass");



ALTER TABLE ONLY "public"."accounting_entry_lines" ALTER COLUMN "id" SET DEFAULT "nextval"('"public"."accounting_entry_lines_id_seq"'::"regclass");



ALTER TABLE ONLY "public"."accounting_tax_rates" ALTER COLUMN "id" SET DEFAULT "nextval"('"public"."accounting_tax_rates_id_seq"'::"regclass");



ALTER TABLE ONLY "public"."accounting_fiscal_years" ALTER COLUMN "id" SET DEFAULT "nextval"('"public"."accounting_fiscal_years_id_seq"'::"regclass");



ALTER TABLE ONLY "public"."accounting_periods" ALTER COLUMN "id" SET DEFAULT "nextval"('"public"."accounting_periods_id_seq"'::"regclass");



ALTER TABLE ONLY "public"."accounting_bank_accounts" ALTER COLUMN "id" SET DEFAULT "nextval"('"public"."accounting_bank_accounts_id_seq"'::"regclass");



ALTER TABLE ONLY "public"."billing_payments" ALTER COLUMN "id" SET DEFAULT "nextval"('"public"."billing_payments_id_seq"'::"regclass");



ALTER TABLE ONLY "public"."billing_payment_allocations" ALTER COLUMN "id" SET DEFAULT "nextval"('"public"."billing_payment_allocations_id_seq"'::"regclass");



ALTER TABLE ONLY "public"."billing_dunning_runs" ALTER COLUMN "id" SET DEFAULT "nextval"('"public"."billing_dunning_runs_id_seq"'::"regclass");



ALTER TABLE ONLY "public"."billing_dunning_items" ALTER COLUMN "id" SET DEFAULT "nextval"('"public"."billing_dunning_items_id_seq"'::"regclass");



ALTER TABLE ONLY "public"."hr_departments" ALTER COLUMN "id" SET DEFAULT "nextval"('"public"."hr_departments_id_seq"'::"regclass");



ALTER TABLE ONLY "public"."hr_positions" ALTER COLUMN "id" SET DEFAULT "nextval"('"public"."hr_positions_id_seq"'::"regclass");



ALTER TABLE ONLY "public"."hr_employments" ALTER COLUMN "id" SET DEFAULT "nextval"('"public"."hr_employments_id_seq"'::"regclass");



ALTER TABLE ONLY "public"."hr_absences" ALTER COLUMN "id" SET DEFAULT "nextval"('"public"."hr_absences_id_seq"'::"regclass");



ALTER TABLE ONLY "public"."hr_timesheets" ALTER COLUMN "id" SET DEFAULT "nextval"('"public"."hr_timesheets_id_seq"'::"regclass");



ALTER TABLE ONLY "public"."hr_timesheet_lines" ALTER COLUMN "id" SET DEFAULT "nextval"('"public"."hr_timesheet_lines_id_seq"'::"regclass");



ALTER TABLE ONLY "public"."projects_projects" ALTER COLUMN "id" SET DEFAULT "nextval"('"public"."projects_projects_id_seq"'::"regclass");



ALTER TABLE ONLY "public"."projects_task_comments" ALTER COLUMN "id" SET DEFAULT "nextval"('"public"."projects_task_comments_id_seq"'::"regclass");



ALTER TABLE ONLY "public"."projects_columns" ALTER COLUMN "id" SET DEFAULT "nextval"('"public"."projects_columns_id_seq"'::"regclass");



ALTER TABLE ONLY "public"."service_tickets" ALTER COLUMN "id" SET DEFAULT "nextval"('"public"."service_tickets_id_seq"'::"regclass");



ALTER TABLE ONLY "public"."service_ticket_events" ALTER COLUMN "id" SET DEFAULT "nextval"('"public"."service_ticket_events_id_seq"'::"regclass");



ALTER TABLE ONLY "public"."service_queue_members" ALTER COLUMN "id" SET DEFAULT "nextval"('"public"."service_queue_members_id_seq"'::"regclass");



ALTER TABLE ONLY "public"."service_maintenance_plans" ALTER COLUMN "id" SET DEFAULT "nextval"('"public"."service_maintenance_plans_id_seq"'::"regclass");



ALTER TABLE ONLY "public"."service_visits" ALTER COLUMN "id" SET DEFAULT "nextval"('"public"."service_visits_id_seq"'::"regclass");



ALTER TABLE ONLY "public"."audit_entries" ALTER COLUMN "id" SET DEFAULT "nextval"('"public"."audit_entries_id_seq"'::"regclass");



ALTER TABLE ONLY "public"."outbox" ALTER COLUMN "id" SET DEFAULT "nextval"('"public"."outbox_id_seq"'::"regclass");



ALTER TABLE ONLY "public"."crm_accounts"
    ADD CONSTRAINT "crm_accounts_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."crm_contacts"
    ADD CONSTRAINT "crm_contacts_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."crm_leads"
    ADD CONSTRAINT "crm_leads_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."crm_opportunities"
    ADD CONSTRAINT "crm_opportunities_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."crm_activities"
    ADD CONSTRAINT "crm_activities_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."crm_notes"
    ADD CONSTRAINT "crm_notes_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."crm_campaigns"
    ADD CONSTRAINT "crm_campaigns_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."crm_segments"
    ADD CONSTRAINT "crm_segments_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."crm_segments"
    ADD CONSTRAINT "crm_segments_tenant_id_name_key" UNIQUE ("tenant_id", "name");



ALTER TABLE ONLY "public"."crm_consents"
    ADD CONSTRAINT "crm_consents_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."crm_calls"
    ADD CONSTRAINT "crm_calls_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."sales_quotes"
    ADD CONSTRAINT "sales_quotes_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."sales_quote_lines"
    ADD CONSTRAINT "sales_quote_lines_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."sales_orders"
    ADD CONSTRAINT "sales_orders_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."sales_orders"
    ADD CONSTRAINT "sales_orders_tenant_id_name_key" UNIQUE ("tenant_id", "name");



ALTER TABLE ONLY "public"."sales_order_lines"
    ADD CONSTRAINT "sales_order_lines_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."sales_discounts"
    ADD CONSTRAINT "sales_discounts_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."sales_price_lists"
    ADD CONSTRAINT "sales_price_lists_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."sales_price_list_items"
    ADD CONSTRAINT "sales_price_list_items_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."sales_returns"
    ADD CONSTRAINT "sales_returns_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."sales_return_lines"
    ADD CONSTRAINT "sales_return_lines_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."sales_commissions"
    ADD CONSTRAINT "sales_commissions_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."inventory_products"
    ADD CONSTRAINT "inventory_products_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."inventory_variants"
    ADD CONSTRAINT "inventory_variants_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."inventory_warehouses"
    ADD CONSTRAINT "inventory_warehouses_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."inventory_locations"
    ADD CONSTRAINT "inventory_locations_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."inventory_stock_levels"
    ADD CONSTRAINT "inventory_stock_levels_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."inventory_stock_levels"
    ADD CONSTRAINT "inventory_stock_levels_tenant_id_name_key" UNIQUE ("tenant_id", "name");



ALTER TABLE ONLY "public"."inventory_stock_moves"
    ADD CONSTRAINT "inventory_stock_moves_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."inventory_stock_moves"
    ADD CONSTRAINT "inventory_stock_moves_tenant_id_name_key" UNIQUE ("tenant_id", "name");



ALTER TABLE ONLY "public"."inventory_lots"
    ADD CONSTRAINT "inventory_lots_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."inventory_serials"
    ADD CONSTRAINT "inventory_serials_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."inventory_counts"
    ADD CONSTRAINT "inventory_counts_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."inventory_counts"
    ADD CONSTRAINT "inventory_counts_tenant_id_name_key" UNIQUE ("tenant_id", "name");



ALTER TABLE ONLY "public"."inventory_count_lines"
    ADD CONSTRAINT "inventory_count_lines_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."purchasing_suppliers"
    ADD CONSTRAINT "purchasing_suppliers_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."purchasing_supplier_products"
    ADD CONSTRAINT "purchasing_supplier_products_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."purchasing_supplier_products"
    ADD CONSTRAINT "purchasing_supplier_products_tenant_id_name_key" UNIQUE ("tenant_id", "name");



ALTER TABLE ONLY "public"."purchasing_requests"
    ADD CONSTRAINT "purchasing_requests_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."purchasing_requests"
    ADD CONSTRAINT "purchasing_requests_tenant_id_name_key" UNIQUE ("tenant_id", "name");



ALTER TABLE ONLY "public"."purchasing_request_lines"
    ADD CONSTRAINT "purchasing_request_lines_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."purchasing_purchase_orders"
    ADD CONSTRAINT "purchasing_purchase_orders_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."purchasing_purchase_orders"
    ADD CONSTRAINT "purchasing_purchase_orders_tenant_id_name_key" UNIQUE ("tenant_id", "name");



ALTER TABLE ONLY "public"."purchasing_purchase_lines"
    ADD CONSTRAINT "purchasing_purchase_lines_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."purchasing_receipts"
    ADD CONSTRAINT "purchasing_receipts_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."purchasing_receipt_lines"
    ADD CONSTRAINT "purchasing_receipt_lines_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."purchasing_contracts"
    ADD CONSTRAINT "purchasing_contracts_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."purchasing_ratings"
    ADD CONSTRAINT "purchasing_ratings_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."accounting_ledgers"
    ADD CONSTRAINT "accounting_ledgers_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."accounting_journals"
    ADD CONSTRAINT "accounting_journals_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."accounting_entries"
    ADD CONSTRAINT "accounting_entries_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."accounting_entry_lines"
    ADD CONSTRAINT "accounting_entry_lines_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."accounting_tax_codes"
    ADD CONSTRAINT "accounting_tax_codes_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."accounting_tax_codes"
    ADD CONSTRAINT "accounting_tax_codes_tenant_id_name_key" UNIQUE ("tenant_id", "name");



ALTER TABLE ONLY "public"."accounting_tax_rates"
    ADD CONSTRAINT "accounting_tax_rates_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."accounting_fiscal_years"
    ADD CONSTRAINT "accounting_fiscal_years_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."accounting_periods"
    ADD CONSTRAINT "accounting_periods_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."accounting_bank_accounts"
    ADD CONSTRAINT "accounting_bank_accounts_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."accounting_bank_accounts"
    ADD CONSTRAINT "accounting_bank_accounts_tenant_id_name_key" UNIQUE ("tenant_id", "name");



ALTER TABLE ONLY "public"."accounting_bank_lines"
    ADD CONSTRAINT "accounting_bank_lines_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."billing_invoices"
    ADD CONSTRAINT "billing_invoices_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."billing_invoice_lines"
    ADD CONSTRAINT "billing_invoice_lines_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."billing_payments"
    ADD CONSTRAINT "billing_payments_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."billing_payment_allocations"
    ADD CONSTRAINT "billing_payment_allocations_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."billing_credit_notes"
    ADD CONSTRAINT "billing_credit_notes_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."billing_credit_lines"
    ADD CONSTRAINT "billing_credit_lines_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."billing_dunning_runs"
    ADD CONSTRAINT "billing_dunning_runs_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."billing_dunning_runs"
    ADD CONSTRAINT "billing_dunning_runs_tenant_id_name_key" UNIQUE ("tenant_id", "name");



ALTER TABLE ONLY "public"."billing_dunning_items"
    ADD CONSTRAINT "billing_dunning_items_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."billing_subscriptions"
    ADD CONSTRAINT "billing_subscriptions_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."billing_usage_records"
    ADD CONSTRAINT "billing_usage_records_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."hr_employees"
    ADD CONSTRAINT "hr_employees_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."hr_departments"
    ADD CONSTRAINT "hr_departments_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."hr_positions"
    ADD CONSTRAINT "hr_positions_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."hr_employments"
    ADD CONSTRAINT "hr_employments_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."hr_employments"
    ADD CONSTRAINT "hr_employments_tenant_id_name_key" UNIQUE ("tenant_id", "name");



ALTER TABLE ONLY "public"."hr_absences"
    ADD CONSTRAINT "hr_absences_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."hr_absence_kinds"
    ADD CONSTRAINT "hr_absence_kinds_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."hr_timesheets"
    ADD CONSTRAINT "hr_timesheets_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."hr_timesheet_lines"
    ADD CONSTRAINT "hr_timesheet_lines_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."hr_skills"
    ADD CONSTRAINT "hr_skills_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."hr_employee_skills"
    ADD CONSTRAINT "hr_employee_skills_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."projects_projects"
    ADD CONSTRAINT "projects_projects_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."projects_milestones"
    ADD CONSTRAINT "projects_milestones_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."projects_tasks"
    ADD CONSTRAINT "projects_tasks_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."projects_tasks"
    ADD CONSTRAINT "projects_tasks_tenant_id_name_key" UNIQUE ("tenant_id", "name");



ALTER TABLE ONLY "public"."projects_task_links"
    ADD CONSTRAINT "projects_task_links_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."projects_task_comments"
    ADD CONSTRAINT "projects_task_comments_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."projects_task_comments"
    ADD CONSTRAINT "projects_task_comments_tenant_id_name_key" UNIQUE ("tenant_id", "name");



ALTER TABLE ONLY "public"."projects_assignments"
    ADD CONSTRAINT "projects_assignments_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."projects_boards"
    ADD CONSTRAINT "projects_boards_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."projects_columns"
    ADD CONSTRAINT "projects_columns_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."projects_columns"
    ADD CONSTRAINT "projects_columns_tenant_id_name_key" UNIQUE ("tenant_id", "name");



ALTER TABLE ONLY "public"."projects_labels"
    ADD CONSTRAINT "projects_labels_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."projects_task_labels"
    ADD CONSTRAINT "projects_task_labels_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."service_tickets"
    ADD CONSTRAINT "service_tickets_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."service_tickets"
    ADD CONSTRAINT "service_tickets_tenant_id_name_key" UNIQUE ("tenant_id", "name");



ALTER TABLE ONLY "public"."service_ticket_events"
    ADD CONSTRAINT "service_ticket_events_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."service_slas"
    ADD CONSTRAINT "service_slas_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."service_queues"
    ADD CONSTRAINT "service_queues_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."service_queue_members"
    ADD CONSTRAINT "service_queue_members_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."service_articles"
    ADD CONSTRAINT "service_articles_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."service_article_versions"
    ADD CONSTRAINT "service_article_versions_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."service_devices"
    ADD CONSTRAINT "service_devices_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."service_maintenance_plans"
    ADD CONSTRAINT "service_maintenance_plans_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."service_visits"
    ADD CONSTRAINT "service_visits_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."service_visits"
    ADD CONSTRAINT "service_visits_tenant_id_name_key" UNIQUE ("tenant_id", "name");



ALTER TABLE ONLY "public"."tenants"
    ADD CONSTRAINT "tenants_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."memberships"
    ADD CONSTRAINT "memberships_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."roles"
    ADD CONSTRAINT "roles_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."roles"
    ADD CONSTRAINT "roles_tenant_id_name_key" UNIQUE ("tenant_id", "name");



ALTER TABLE ONLY "public"."permissions"
    ADD CONSTRAINT "permissions_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."permissions"
    ADD CONSTRAINT "permissions_tenant_id_name_key" UNIQUE ("tenant_id", "name");



ALTER TABLE ONLY "public"."role_permissions"
    ADD CONSTRAINT "role_permissions_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."role_permissions"
    ADD CONSTRAINT "role_permissions_tenant_id_name_key" UNIQUE ("tenant_id", "name");



ALTER TABLE ONLY "public"."settings"
    ADD CONSTRAINT "settings_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."settings"
    ADD CONSTRAINT "settings_tenant_id_name_key" UNIQUE ("tenant_id", "name");



ALTER TABLE ONLY "public"."files"
    ADD CONSTRAINT "files_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."files"
    ADD CONSTRAINT "files_tenant_id_name_key" UNIQUE ("tenant_id", "name");



ALTER TABLE ONLY "public"."audit_entries"
    ADD CONSTRAINT "audit_entries_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."outbox"
    ADD CONSTRAINT "outbox_pkey" PRIMARY KEY ("id");



ALTER TABLE ONLY "public"."feature_flags"
    ADD CONSTRAINT "feature_flags_pkey" PRIMARY KEY ("id");



CREATE UNIQUE INDEX "tenant_sizes_id" ON "public"."tenant_sizes" USING "btree" ("id");



CREATE INDEX "crm_accounts_tenant_id_idx" ON "public"."crm_accounts" USING "btree" ("tenant_id");



CREATE INDEX "crm_contacts_tenant_id_idx" ON "public"."crm_contacts" USING "btree" ("tenant_id");



CREATE INDEX "crm_contacts_parent_id_idx" ON "public"."crm_contacts" USING "btree" ("parent_id");



CREATE INDEX "crm_leads_tenant_id_idx" ON "public"."crm_leads" USING "btree" ("tenant_id");



CREATE INDEX "crm_opportunities_tenant_id_idx" ON "public"."crm_opportunities" USING "btree" ("tenant_id");



CREATE INDEX "crm_opportunities_parent_id_idx" ON "public"."crm_opportunities" USING "btree" ("parent_id");



CREATE INDEX "crm_activities_tenant_id_idx" ON "public"."crm_activities" USING "btree" ("tenant_id");



CREATE INDEX "crm_notes_tenant_id_idx" ON "public"."crm_notes" USING "btree" ("tenant_id");



CREATE INDEX "crm_campaigns_tenant_id_idx" ON "public"."crm_campaigns" USING "btree" ("tenant_id");



CREATE INDEX "crm_segments_tenant_id_idx" ON "public"."crm_segments" USING "btree" ("tenant_id");



CREATE INDEX "crm_consents_tenant_id_idx" ON "public"."crm_consents" USING "btree" ("tenant_id");



CREATE INDEX "crm_calls_tenant_id_idx" ON "public"."crm_calls" USING "btree" ("tenant_id");



CREATE INDEX "sales_quotes_tenant_id_idx" ON "public"."sales_quotes" USING "btree" ("tenant_id");



CREATE INDEX "sales_quote_lines_tenant_id_idx" ON "public"."sales_quote_lines" USING "btree" ("tenant_id");



CREATE INDEX "sales_quote_lines_parent_id_idx" ON "public"."sales_quote_lines" USING "btree" ("parent_id");



CREATE INDEX "sales_orders_tenant_id_idx" ON "public"."sales_orders" USING "btree" ("tenant_id");



CREATE INDEX "sales_order_lines_tenant_id_idx" ON "public"."sales_order_lines" USING "btree" ("tenant_id");



CREATE INDEX "sales_order_lines_parent_id_idx" ON "public"."sales_order_lines" USING "btree" ("parent_id");



CREATE INDEX "sales_discounts_tenant_id_idx" ON "public"."sales_discounts" USING "btree" ("tenant_id");



CREATE INDEX "sales_price_lists_tenant_id_idx" ON "public"."sales_price_lists" USING "btree" ("tenant_id");



CREATE INDEX "sales_price_list_items_tenant_id_idx" ON "public"."sales_price_list_items" USING "btree" ("tenant_id");



CREATE INDEX "sales_price_list_items_parent_id_idx" ON "public"."sales_price_list_items" USING "btree" ("parent_id");



CREATE INDEX "sales_returns_tenant_id_idx" ON "public"."sales_returns" USING "btree" ("tenant_id");



CREATE INDEX "sales_return_lines_tenant_id_idx" ON "public"."sales_return_lines" USING "btree" ("tenant_id");



CREATE INDEX "sales_return_lines_parent_id_idx" ON "public"."sales_return_lines" USING "btree" ("parent_id");



CREATE INDEX "sales_commissions_tenant_id_idx" ON "public"."sales_commissions" USING "btree" ("tenant_id");



CREATE INDEX "inventory_products_tenant_id_idx" ON "public"."inventory_products" USING "btree" ("tenant_id");



CREATE INDEX "inventory_variants_tenant_id_idx" ON "public"."inventory_variants" USING "btree" ("tenant_id");



CREATE INDEX "inventory_variants_parent_id_idx" ON "public"."inventory_variants" USING "btree" ("parent_id");



CREATE INDEX "inventory_warehouses_tenant_id_idx" ON "public"."inventory_warehouses" USING "btree" ("tenant_id");



CREATE INDEX "inventory_locations_tenant_id_idx" ON "public"."inventory_locations" USING "btree" ("tenant_id");



CREATE INDEX "inventory_locations_parent_id_idx" ON "public"."inventory_locations" USING "btree" ("parent_id");



CREATE INDEX "inventory_stock_levels_tenant_id_idx" ON "public"."inventory_stock_levels" USING "btree" ("tenant_id");



CREATE INDEX "inventory_stock_levels_parent_id_idx" ON "public"."inventory_stock_levels" USING "btree" ("parent_id");



CREATE INDEX "inventory_stock_moves_tenant_id_idx" ON "public"."inventory_stock_moves" USING "btree" ("tenant_id");



CREATE INDEX "inventory_lots_tenant_id_idx" ON "public"."inventory_lots" USING "btree" ("tenant_id");



CREATE INDEX "inventory_serials_tenant_id_idx" ON "public"."inventory_serials" USING "btree" ("tenant_id");



CREATE INDEX "inventory_serials_parent_id_idx" ON "public"."inventory_serials" USING "btree" ("parent_id");



CREATE INDEX "inventory_counts_tenant_id_idx" ON "public"."inventory_counts" USING "btree" ("tenant_id");



CREATE INDEX "inventory_count_lines_tenant_id_idx" ON "public"."inventory_count_lines" USING "btree" ("tenant_id");



CREATE INDEX "inventory_count_lines_parent_id_idx" ON "public"."inventory_count_lines" USING "btree" ("parent_id");



CREATE INDEX "purchasing_suppliers_tenant_id_idx" ON "public"."purchasing_suppliers" USING "btree" ("tenant_id");



CREATE INDEX "purchasing_supplier_products_tenant_id_idx" ON "public"."purchasing_supplier_products" USING "btree" ("tenant_id");



CREATE INDEX "purchasing_supplier_products_parent_id_idx" ON "public"."purchasing_supplier_products" USING "btree" ("parent_id");



CREATE INDEX "purchasing_requests_tenant_id_idx" ON "public"."purchasing_requests" USING "btree" ("tenant_id");



CREATE INDEX "purchasing_request_lines_tenant_id_idx" ON "public"."purchasing_request_lines" USING "btree" ("tenant_id");



CREATE INDEX "purchasing_request_lines_parent_id_idx" ON "public"."purchasing_request_lines" USING "btree" ("parent_id");



CREATE INDEX "purchasing_purchase_orders_tenant_id_idx" ON "public"."purchasing_purchase_orders" USING "btree" ("tenant_id");



CREATE INDEX "purchasing_purchase_lines_tenant_id_idx" ON "public"."purchasing_purchase_lines" USING "btree" ("tenant_id");



CREATE INDEX "purchasing_purchase_lines_parent_id_idx" ON "public"."purchasing_purchase_lines" USING "btree" ("parent_id");



CREATE INDEX "purchasing_receipts_tenant_id_idx" ON "public"."purchasing_receipts" USING "btree" ("tenant_id");



CREATE INDEX "purchasing_receipt_lines_tenant_id_idx" ON "public"."purchasing_receipt_lines" USING "btree" ("tenant_id");



CREATE INDEX "purchasing_receipt_lines_parent_id_idx" ON "public"."purchasing_receipt_lines" USING "btree" ("parent_id");



CREATE INDEX "purchasing_contracts_tenant_id_idx" ON "public"."purchasing_contracts" USING "btree" ("tenant_id");



CREATE INDEX "purchasing_ratings_tenant_id_idx" ON "public"."purchasing_ratings" USING "btree" ("tenant_id");



CREATE INDEX "accounting_ledgers_tenant_id_idx" ON "public"."accounting_ledgers" USING "btree" ("tenant_id");



CREATE INDEX "accounting_journals_tenant_id_idx" ON "public"."accounting_journals" USING "btree" ("tenant_id");



CREATE INDEX "accounting_entries_tenant_id_idx" ON "public"."accounting_entries" USING "btree" ("tenant_id");



CREATE INDEX "accounting_entry_lines_tenant_id_idx" ON "public"."accounting_entry_lines" USING "btree" ("tenant_id");



CREATE INDEX "accounting_entry_lines_parent_id_idx" ON "public"."accounting_entry_lines" USING "btree" ("parent_id");



CREATE INDEX "accounting_tax_codes_tenant_id_idx" ON "public"."accounting_tax_codes" USING "btree" ("tenant_id");



CREATE INDEX "accounting_tax_rates_tenant_id_idx" ON "public"."accounting_tax_rates" USING "btree" ("tenant_id");



CREATE INDEX "accounting_tax_rates_parent_id_idx" ON "public"."accounting_tax_rates" USING "btree" ("parent_id");



CREATE INDEX "accounting_fiscal_years_tenant_id_idx" ON "public"."accounting_fiscal_years" USING "btree" ("tenant_id");



CREATE INDEX "accounting_periods_tenant_id_idx" ON "public"."accounting_periods" USING "btree" ("tenant_id");



CREATE INDEX "accounting_periods_parent_id_idx" ON "public"."accounting_periods" USING "btree" ("parent_id");



CREATE INDEX "accounting_bank_accounts_tenant_id_idx" ON "public"."accounting_bank_accounts" USING "btree" ("tenant_id");



CREATE INDEX "accounting_bank_lines_tenant_id_idx" ON "public"."accounting_bank_lines" USING "btree" ("tenant_id");



CREATE INDEX "accounting_bank_lines_parent_id_idx" ON "public"."accounting_bank_lines" USING "btree" ("parent_id");



CREATE INDEX "billing_invoices_tenant_id_idx" ON "public"."billing_invoices" USING "btree" ("tenant_id");



CREATE INDEX "billing_invoice_lines_tenant_id_idx" ON "public"."billing_invoice_lines" USING "btree" ("tenant_id");



CREATE INDEX "billing_invoice_lines_parent_id_idx" ON "public"."billing_invoice_lines" USING "btree" ("parent_id");



CREATE INDEX "billing_payments_tenant_id_idx" ON "public"."billing_payments" USING "btree" ("tenant_id");



CREATE INDEX "billing_payment_allocations_tenant_id_idx" ON "public"."billing_payment_allocations" USING "btree" ("tenant_id");



CREATE INDEX "billing_payment_allocations_parent_id_idx" ON "public"."billing_payment_allocations" USING "btree" ("parent_id");



CREATE INDEX "billing_credit_notes_tenant_id_idx" ON "public"."billing_credit_notes" USING "btree" ("tenant_id");



CREATE INDEX "billing_credit_lines_tenant_id_idx" ON "public"."billing_credit_lines" USING "btree" ("tenant_id");



CREATE INDEX "billing_credit_lines_parent_id_idx" ON "public"."billing_credit_lines" USING "btree" ("parent_id");



CREATE INDEX "billing_dunning_runs_tenant_id_idx" ON "public"."billing_dunning_runs" USING "btree" ("tenant_id");



CREATE INDEX "billing_dunning_items_tenant_id_idx" ON "public"."billing_dunning_items" USING "btree" ("tenant_id");



CREATE INDEX "billing_dunning_items_parent_id_idx" ON "public"."billing_dunning_items" USING "btree" ("parent_id");



CREATE INDEX "billing_subscriptions_tenant_id_idx" ON "public"."billing_subscriptions" USING "btree" ("tenant_id");



CREATE INDEX "billing_usage_records_tenant_id_idx" ON "public"."billing_usage_records" USING "btree" ("tenant_id");



CREATE INDEX "billing_usage_records_parent_id_idx" ON "public"."billing_usage_records" USING "btree" ("parent_id");



CREATE INDEX "hr_employees_tenant_id_idx" ON "public"."hr_employees" USING "btree" ("tenant_id");



CREATE INDEX "hr_departments_tenant_id_idx" ON "public"."hr_departments" USING "btree" ("tenant_id");



CREATE INDEX "hr_positions_tenant_id_idx" ON "public"."hr_positions" USING "btree" ("tenant_id");



CREATE INDEX "hr_positions_parent_id_idx" ON "public"."hr_positions" USING "btree" ("parent_id");



CREATE INDEX "hr_employments_tenant_id_idx" ON "public"."hr_employments" USING "btree" ("tenant_id");



CREATE INDEX "hr_employments_parent_id_idx" ON "public"."hr_employments" USING "btree" ("parent_id");



CREATE INDEX "hr_absences_tenant_id_idx" ON "public"."hr_absences" USING "btree" ("tenant_id");



CREATE INDEX "hr_absences_parent_id_idx" ON "public"."hr_absences" USING "btree" ("parent_id");



CREATE INDEX "hr_absence_kinds_tenant_id_idx" ON "public"."hr_absence_kinds" USING "btree" ("tenant_id");



CREATE INDEX "hr_timesheets_tenant_id_idx" ON "public"."hr_timesheets" USING "btree" ("tenant_id");



CREATE INDEX "hr_timesheet_lines_tenant_id_idx" ON "public"."hr_timesheet_lines" USING "btree" ("tenant_id");



CREATE INDEX "hr_timesheet_lines_parent_id_idx" ON "public"."hr_timesheet_lines" USING "btree" ("parent_id");



CREATE INDEX "hr_skills_tenant_id_idx" ON "public"."hr_skills" USING "btree" ("tenant_id");



CREATE INDEX "hr_employee_skills_tenant_id_idx" ON "public"."hr_employee_skills" USING "btree" ("tenant_id");



CREATE INDEX "hr_employee_skills_parent_id_idx" ON "public"."hr_employee_skills" USING "btree" ("parent_id");



CREATE INDEX "projects_projects_tenant_id_idx" ON "public"."projects_projects" USING "btree" ("tenant_id");



CREATE INDEX "projects_milestones_tenant_id_idx" ON "public"."projects_milestones" USING "btree" ("tenant_id");



CREATE INDEX "projects_milestones_parent_id_idx" ON "public"."projects_milestones" USING "btree" ("parent_id");



CREATE INDEX "projects_tasks_tenant_id_idx" ON "public"."projects_tasks" USING "btree" ("tenant_id");



CREATE INDEX "projects_tasks_parent_id_idx" ON "public"."projects_tasks" USING "btree" ("parent_id");



CREATE INDEX "projects_task_links_tenant_id_idx" ON "public"."projects_task_links" USING "btree" ("tenant_id");



CREATE INDEX "projects_task_links_parent_id_idx" ON "public"."projects_task_links" USING "btree" ("parent_id");



CREATE INDEX "projects_task_comments_tenant_id_idx" ON "public"."projects_task_comments" USING "btree" ("tenant_id");



CREATE INDEX "projects_task_comments_parent_id_idx" ON "public"."projects_task_comments" USING "btree" ("parent_id");



CREATE INDEX "projects_assignments_tenant_id_idx" ON "public"."projects_assignments" USING "btree" ("tenant_id");



CREATE INDEX "projects_assignments_parent_id_idx" ON "public"."projects_assignments" USING "btree" ("parent_id");



CREATE INDEX "projects_boards_tenant_id_idx" ON "public"."projects_boards" USING "btree" ("tenant_id");



CREATE INDEX "projects_columns_tenant_id_idx" ON "public"."projects_columns" USING "btree" ("tenant_id");



CREATE INDEX "projects_columns_parent_id_idx" ON "public"."projects_columns" USING "btree" ("parent_id");



CREATE INDEX "projects_labels_tenant_id_idx" ON "public"."projects_labels" USING "btree" ("tenant_id");



CREATE INDEX "projects_task_labels_tenant_id_idx" ON "public"."projects_task_labels" USING "btree" ("tenant_id");



CREATE INDEX "projects_task_labels_parent_id_idx" ON "public"."projects_task_labels" USING "btree" ("parent_id");



CREATE INDEX "service_tickets_tenant_id_idx" ON "public"."service_tickets" USING "btree" ("tenant_id");



CREATE INDEX "service_ticket_events_tenant_id_idx" ON "public"."service_ticket_events" USING "btree" ("tenant_id");



CREATE INDEX "service_ticket_events_parent_id_idx" ON "public"."service_ticket_events" USING "btree" ("parent_id");



CREATE INDEX "service_slas_tenant_id_idx" ON "public"."service_slas" USING "btree" ("tenant_id");



CREATE INDEX "service_queues_tenant_id_idx" ON "public"."service_queues" USING "btree" ("tenant_id");



CREATE INDEX "service_queue_members_tenant_id_idx" ON "public"."service_queue_members" USING "btree" ("tenant_id");



CREATE INDEX "service_queue_members_parent_id_idx" ON "public"."service_queue_members" USING "btree" ("parent_id");



CREATE INDEX "service_articles_tenant_id_idx" ON "public"."service_articles" USING "btree" ("tenant_id");



CREATE INDEX "service_article_versions_tenant_id_idx" ON "public"."service_article_versions" USING "btree" ("tenant_id");



CREATE INDEX "service_article_versions_parent_id_idx" ON "public"."service_article_versions" USING "btree" ("parent_id");



CREATE INDEX "service_devices_tenant_id_idx" ON "public"."service_devices" USING "btree" ("tenant_id");



CREATE INDEX "service_maintenance_plans_tenant_id_idx" ON "public"."service_maintenance_plans" USING "btree" ("tenant_id");



CREATE INDEX "service_visits_tenant_id_idx" ON "public"."service_visits" USING "btree" ("tenant_id");



CREATE INDEX "service_visits_parent_id_idx" ON "public"."service_visits" USING "btree" ("parent_id");



CREATE INDEX "memberships_tenant_id_idx" ON "public"."memberships" USING "btree" ("tenant_id");



CREATE INDEX "memberships_parent_id_idx" ON "public"."memberships" USING "btree" ("parent_id");



CREATE INDEX "roles_tenant_id_idx" ON "public"."roles" USING "btree" ("tenant_id");



CREATE INDEX "permissions_tenant_id_idx" ON "public"."permissions" USING "btree" ("tenant_id");



CREATE INDEX "role_permissions_tenant_id_idx" ON "public"."role_permissions" USING "btree" ("tenant_id");



CREATE INDEX "role_permissions_parent_id_idx" ON "public"."role_permissions" USING "btree" ("parent_id");



CREATE INDEX "settings_tenant_id_idx" ON "public"."settings" USING "btree" ("tenant_id");



CREATE INDEX "files_tenant_id_idx" ON "public"."files" USING "btree" ("tenant_id");



CREATE INDEX "audit_entries_tenant_id_idx" ON "public"."audit_entries" USING "btree" ("tenant_id");



CREATE INDEX "outbox_tenant_id_idx" ON "public"."outbox" USING "btree" ("tenant_id");



CREATE INDEX "feature_flags_tenant_id_idx" ON "public"."feature_flags" USING "btree" ("tenant_id");



CREATE INDEX "crm_accounts_name_trgm" ON "public"."crm_accounts" USING "gin" ("name" "extensions"."gin_trgm_ops");



CREATE OR REPLACE TRIGGER "crm_accounts_touch" BEFORE UPDATE ON "public"."crm_accounts" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "crm_contacts_touch" BEFORE UPDATE ON "public"."crm_contacts" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "crm_leads_touch" BEFORE UPDATE ON "public"."crm_leads" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "crm_opportunities_touch" BEFORE UPDATE ON "public"."crm_opportunities" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "crm_activities_touch" BEFORE UPDATE ON "public"."crm_activities" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "crm_notes_touch" BEFORE UPDATE ON "public"."crm_notes" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "crm_notes_audit" AFTER INSERT OR DELETE OR UPDATE ON "public"."crm_notes" FOR EACH ROW EXECUTE FUNCTION "public"."audit"();



CREATE OR REPLACE TRIGGER "crm_campaigns_touch" BEFORE UPDATE ON "public"."crm_campaigns" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "crm_segments_touch" BEFORE UPDATE ON "public"."crm_segments" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "crm_consents_touch" BEFORE UPDATE ON "public"."crm_consents" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "crm_calls_touch" BEFORE UPDATE ON "public"."crm_calls" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "sales_quotes_touch" BEFORE UPDATE ON "public"."sales_quotes" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "sales_quote_lines_touch" BEFORE UPDATE ON "public"."sales_quote_lines" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "sales_orders_touch" BEFORE UPDATE ON "public"."sales_orders" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "sales_order_lines_touch" BEFORE UPDATE ON "public"."sales_order_lines" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "sales_discounts_touch" BEFORE UPDATE ON "public"."sales_discounts" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "sales_price_lists_touch" BEFORE UPDATE ON "public"."sales_price_lists" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "sales_price_list_items_touch" BEFORE UPDATE ON "public"."sales_price_list_items" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "sales_returns_touch" BEFORE UPDATE ON "public"."sales_returns" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "sales_return_lines_touch" BEFORE UPDATE ON "public"."sales_return_lines" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "sales_commissions_touch" BEFORE UPDATE ON "public"."sales_commissions" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "inventory_products_touch" BEFORE UPDATE ON "public"."inventory_products" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "inventory_variants_touch" BEFORE UPDATE ON "public"."inventory_variants" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "inventory_warehouses_touch" BEFORE UPDATE ON "public"."inventory_warehouses" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "inventory_locations_touch" BEFORE UPDATE ON "public"."inventory_locations" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "inventory_stock_levels_touch" BEFORE UPDATE ON "public"."inventory_stock_levels" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "inventory_stock_moves_touch" BEFORE UPDATE ON "public"."inventory_stock_moves" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "inventory_lots_touch" BEFORE UPDATE ON "public"."inventory_lots" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "inventory_serials_touch" BEFORE UPDATE ON "public"."inventory_serials" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "inventory_counts_touch" BEFORE UPDATE ON "public"."inventory_counts" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "inventory_counts_audit" AFTER INSERT OR DELETE OR UPDATE ON "public"."inventory_counts" FOR EACH ROW EXECUTE FUNCTION "public"."audit"();



CREATE OR REPLACE TRIGGER "inventory_count_lines_touch" BEFORE UPDATE ON "public"."inventory_count_lines" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "purchasing_suppliers_touch" BEFORE UPDATE ON "public"."purchasing_suppliers" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "purchasing_supplier_products_touch" BEFORE UPDATE ON "public"."purchasing_supplier_products" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "purchasing_requests_touch" BEFORE UPDATE ON "public"."purchasing_requests" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "purchasing_request_lines_touch" BEFORE UPDATE ON "public"."purchasing_request_lines" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "purchasing_purchase_orders_touch" BEFORE UPDATE ON "public"."purchasing_purchase_orders" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "purchasing_purchase_lines_touch" BEFORE UPDATE ON "public"."purchasing_purchase_lines" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "purchasing_receipts_touch" BEFORE UPDATE ON "public"."purchasing_receipts" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "purchasing_receipt_lines_touch" BEFORE UPDATE ON "public"."purchasing_receipt_lines" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "purchasing_contracts_touch" BEFORE UPDATE ON "public"."purchasing_contracts" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "purchasing_ratings_touch" BEFORE UPDATE ON "public"."purchasing_ratings" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "accounting_ledgers_touch" BEFORE UPDATE ON "public"."accounting_ledgers" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "accounting_journals_touch" BEFORE UPDATE ON "public"."accounting_journals" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "accounting_entries_touch" BEFORE UPDATE ON "public"."accounting_entries" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "accounting_entry_lines_touch" BEFORE UPDATE ON "public"."accounting_entry_lines" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "accounting_tax_codes_touch" BEFORE UPDATE ON "public"."accounting_tax_codes" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "accounting_tax_rates_touch" BEFORE UPDATE ON "public"."accounting_tax_rates" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "accounting_fiscal_years_touch" BEFORE UPDATE ON "public"."accounting_fiscal_years" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "accounting_periods_touch" BEFORE UPDATE ON "public"."accounting_periods" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "accounting_bank_accounts_touch" BEFORE UPDATE ON "public"."accounting_bank_accounts" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "accounting_bank_lines_touch" BEFORE UPDATE ON "public"."accounting_bank_lines" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "billing_invoices_touch" BEFORE UPDATE ON "public"."billing_invoices" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "billing_invoice_lines_touch" BEFORE UPDATE ON "public"."billing_invoice_lines" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "billing_payments_touch" BEFORE UPDATE ON "public"."billing_payments" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "billing_payment_allocations_touch" BEFORE UPDATE ON "public"."billing_payment_allocations" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "billing_credit_notes_touch" BEFORE UPDATE ON "public"."billing_credit_notes" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "billing_credit_lines_touch" BEFORE UPDATE ON "public"."billing_credit_lines" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "billing_dunning_runs_touch" BEFORE UPDATE ON "public"."billing_dunning_runs" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "billing_dunning_items_touch" BEFORE UPDATE ON "public"."billing_dunning_items" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "billing_subscriptions_touch" BEFORE UPDATE ON "public"."billing_subscriptions" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "billing_usage_records_touch" BEFORE UPDATE ON "public"."billing_usage_records" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "hr_employees_touch" BEFORE UPDATE ON "public"."hr_employees" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "hr_departments_touch" BEFORE UPDATE ON "public"."hr_departments" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "hr_positions_touch" BEFORE UPDATE ON "public"."hr_positions" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "hr_employments_touch" BEFORE UPDATE ON "public"."hr_employments" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "hr_absences_touch" BEFORE UPDATE ON "public"."hr_absences" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "hr_absence_kinds_touch" BEFORE UPDATE ON "public"."hr_absence_kinds" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "hr_timesheets_touch" BEFORE UPDATE ON "public"."hr_timesheets" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "hr_timesheet_lines_touch" BEFORE UPDATE ON "public"."hr_timesheet_lines" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "hr_timesheet_lines_audit" AFTER INSERT OR DELETE OR UPDATE ON "public"."hr_timesheet_lines" FOR EACH ROW EXECUTE FUNCTION "public"."audit"();



CREATE OR REPLACE TRIGGER "hr_skills_touch" BEFORE UPDATE ON "public"."hr_skills" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "hr_employee_skills_touch" BEFORE UPDATE ON "public"."hr_employee_skills" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "projects_projects_touch" BEFORE UPDATE ON "public"."projects_projects" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "projects_milestones_touch" BEFORE UPDATE ON "public"."projects_milestones" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "projects_tasks_touch" BEFORE UPDATE ON "public"."projects_tasks" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "projects_task_links_touch" BEFORE UPDATE ON "public"."projects_task_links" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "projects_task_comments_touch" BEFORE UPDATE ON "public"."projects_task_comments" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "projects_assignments_touch" BEFORE UPDATE ON "public"."projects_assignments" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "projects_boards_touch" BEFORE UPDATE ON "public"."projects_boards" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "projects_columns_touch" BEFORE UPDATE ON "public"."projects_columns" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "projects_labels_touch" BEFORE UPDATE ON "public"."projects_labels" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "projects_task_labels_touch" BEFORE UPDATE ON "public"."projects_task_labels" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "service_tickets_touch" BEFORE UPDATE ON "public"."service_tickets" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "service_tickets_audit" AFTER INSERT OR DELETE OR UPDATE ON "public"."service_tickets" FOR EACH ROW EXECUTE FUNCTION "public"."audit"();



CREATE OR REPLACE TRIGGER "service_ticket_events_touch" BEFORE UPDATE ON "public"."service_ticket_events" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "service_slas_touch" BEFORE UPDATE ON "public"."service_slas" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "service_queues_touch" BEFORE UPDATE ON "public"."service_queues" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "service_queues_audit" AFTER INSERT OR DELETE OR UPDATE ON "public"."service_queues" FOR EACH ROW EXECUTE FUNCTION "public"."audit"();



CREATE OR REPLACE TRIGGER "service_queue_members_touch" BEFORE UPDATE ON "public"."service_queue_members" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "service_articles_touch" BEFORE UPDATE ON "public"."service_articles" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "service_article_versions_touch" BEFORE UPDATE ON "public"."service_article_versions" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "service_devices_touch" BEFORE UPDATE ON "public"."service_devices" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "service_maintenance_plans_touch" BEFORE UPDATE ON "public"."service_maintenance_plans" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "service_visits_touch" BEFORE UPDATE ON "public"."service_visits" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "tenants_touch" BEFORE UPDATE ON "public"."tenants" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "memberships_touch" BEFORE UPDATE ON "public"."memberships" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "roles_touch" BEFORE UPDATE ON "public"."roles" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "permissions_touch" BEFORE UPDATE ON "public"."permissions" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "role_permissions_touch" BEFORE UPDATE ON "public"."role_permissions" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "settings_touch" BEFORE UPDATE ON "public"."settings" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "files_touch" BEFORE UPDATE ON "public"."files" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "audit_entries_touch" BEFORE UPDATE ON "public"."audit_entries" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "outbox_touch" BEFORE UPDATE ON "public"."outbox" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



CREATE OR REPLACE TRIGGER "feature_flags_touch" BEFORE UPDATE ON "public"."feature_flags" FOR EACH ROW EXECUTE FUNCTION "public"."touch"();



ALTER TABLE ONLY "public"."crm_accounts"
    ADD CONSTRAINT "crm_accounts_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."crm_contacts"
    ADD CONSTRAINT "crm_contacts_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."crm_contacts"
    ADD CONSTRAINT "crm_contacts_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."crm_accounts"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."crm_leads"
    ADD CONSTRAINT "crm_leads_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."crm_opportunities"
    ADD CONSTRAINT "crm_opportunities_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."crm_opportunities"
    ADD CONSTRAINT "crm_opportunities_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."crm_accounts"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."crm_activities"
    ADD CONSTRAINT "crm_activities_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."crm_notes"
    ADD CONSTRAINT "crm_notes_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."crm_campaigns"
    ADD CONSTRAINT "crm_campaigns_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."crm_segments"
    ADD CONSTRAINT "crm_segments_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."crm_consents"
    ADD CONSTRAINT "crm_consents_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."crm_calls"
    ADD CONSTRAINT "crm_calls_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."sales_quotes"
    ADD CONSTRAINT "sales_quotes_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."sales_quote_lines"
    ADD CONSTRAINT "sales_quote_lines_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."sales_quote_lines"
    ADD CONSTRAINT "sales_quote_lines_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."sales_quotes"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."sales_orders"
    ADD CONSTRAINT "sales_orders_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."sales_order_lines"
    ADD CONSTRAINT "sales_order_lines_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."sales_order_lines"
    ADD CONSTRAINT "sales_order_lines_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."sales_orders"("id") ON UPDATE CASCADE ON DELETE SET NULL;



ALTER TABLE ONLY "public"."sales_discounts"
    ADD CONSTRAINT "sales_discounts_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."sales_price_lists"
    ADD CONSTRAINT "sales_price_lists_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."sales_price_list_items"
    ADD CONSTRAINT "sales_price_list_items_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."sales_price_list_items"
    ADD CONSTRAINT "sales_price_list_items_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."sales_price_lists"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."sales_returns"
    ADD CONSTRAINT "sales_returns_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."sales_return_lines"
    ADD CONSTRAINT "sales_return_lines_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."sales_return_lines"
    ADD CONSTRAINT "sales_return_lines_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."sales_returns"("id") ON UPDATE CASCADE ON DELETE SET NULL;



ALTER TABLE ONLY "public"."sales_commissions"
    ADD CONSTRAINT "sales_commissions_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."inventory_products"
    ADD CONSTRAINT "inventory_products_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."inventory_variants"
    ADD CONSTRAINT "inventory_variants_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."inventory_variants"
    ADD CONSTRAINT "inventory_variants_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."inventory_products"("id") ON UPDATE CASCADE ON DELETE SET NULL;



ALTER TABLE ONLY "public"."inventory_warehouses"
    ADD CONSTRAINT "inventory_warehouses_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."inventory_locations"
    ADD CONSTRAINT "inventory_locations_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."inventory_locations"
    ADD CONSTRAINT "inventory_locations_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."inventory_warehouses"("id") ON UPDATE CASCADE ON DELETE RESTRICT;



ALTER TABLE ONLY "public"."inventory_stock_levels"
    ADD CONSTRAINT "inventory_stock_levels_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."inventory_stock_levels"
    ADD CONSTRAINT "inventory_stock_levels_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."inventory_locations"("id") ON UPDATE CASCADE ON DELETE RESTRICT;



ALTER TABLE ONLY "public"."inventory_stock_moves"
    ADD CONSTRAINT "inventory_stock_moves_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."inventory_lots"
    ADD CONSTRAINT "inventory_lots_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."inventory_serials"
    ADD CONSTRAINT "inventory_serials_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."inventory_serials"
    ADD CONSTRAINT "inventory_serials_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."inventory_lots"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."inventory_counts"
    ADD CONSTRAINT "inventory_counts_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."inventory_count_lines"
    ADD CONSTRAINT "inventory_count_lines_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."inventory_count_lines"
    ADD CONSTRAINT "inventory_count_lines_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."inventory_counts"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."purchasing_suppliers"
    ADD CONSTRAINT "purchasing_suppliers_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."purchasing_supplier_products"
    ADD CONSTRAINT "purchasing_supplier_products_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."purchasing_supplier_products"
    ADD CONSTRAINT "purchasing_supplier_products_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."purchasing_suppliers"("id") ON UPDATE CASCADE ON DELETE SET NULL;



ALTER TABLE ONLY "public"."purchasing_requests"
    ADD CONSTRAINT "purchasing_requests_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."purchasing_request_lines"
    ADD CONSTRAINT "purchasing_request_lines_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."purchasing_request_lines"
    ADD CONSTRAINT "purchasing_request_lines_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."purchasing_requests"("id") ON UPDATE CASCADE ON DELETE RESTRICT;



ALTER TABLE ONLY "public"."purchasing_purchase_orders"
    ADD CONSTRAINT "purchasing_purchase_orders_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."purchasing_purchase_lines"
    ADD CONSTRAINT "purchasing_purchase_lines_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."purchasing_purchase_lines"
    ADD CONSTRAINT "purchasing_purchase_lines_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."purchasing_purchase_orders"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."purchasing_receipts"
    ADD CONSTRAINT "purchasing_receipts_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."purchasing_receipt_lines"
    ADD CONSTRAINT "purchasing_receipt_lines_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."purchasing_receipt_lines"
    ADD CONSTRAINT "purchasing_receipt_lines_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."purchasing_receipts"("id") ON UPDATE CASCADE ON DELETE SET NULL;



ALTER TABLE ONLY "public"."purchasing_contracts"
    ADD CONSTRAINT "purchasing_contracts_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."purchasing_ratings"
    ADD CONSTRAINT "purchasing_ratings_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."accounting_ledgers"
    ADD CONSTRAINT "accounting_ledgers_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."accounting_journals"
    ADD CONSTRAINT "accounting_journals_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."accounting_entries"
    ADD CONSTRAINT "accounting_entries_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."accounting_entry_lines"
    ADD CONSTRAINT "accounting_entry_lines_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."accounting_entry_lines"
    ADD CONSTRAINT "accounting_entry_lines_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."accounting_entries"("id") ON UPDATE CASCADE ON DELETE RESTRICT;



ALTER TABLE ONLY "public"."accounting_tax_codes"
    ADD CONSTRAINT "accounting_tax_codes_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."accounting_tax_rates"
    ADD CONSTRAINT "accounting_tax_rates_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."accounting_tax_rates"
    ADD CONSTRAINT "accounting_tax_rates_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."accounting_tax_codes"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."accounting_fiscal_years"
    ADD CONSTRAINT "accounting_fiscal_years_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."accounting_periods"
    ADD CONSTRAINT "accounting_periods_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."accounting_periods"
    ADD CONSTRAINT "accounting_periods_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."accounting_fiscal_years"("id") ON UPDATE CASCADE ON DELETE SET NULL;



ALTER TABLE ONLY "public"."accounting_bank_accounts"
    ADD CONSTRAINT "accounting_bank_accounts_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."accounting_bank_lines"
    ADD CONSTRAINT "accounting_bank_lines_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."accounting_bank_lines"
    ADD CONSTRAINT "accounting_bank_lines_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."accounting_bank_accounts"("id") ON UPDATE CASCADE ON DELETE SET NULL;



ALTER TABLE ONLY "public"."billing_invoices"
    ADD CONSTRAINT "billing_invoices_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."billing_invoice_lines"
    ADD CONSTRAINT "billing_invoice_lines_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."billing_invoice_lines"
    ADD CONSTRAINT "billing_invoice_lines_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."billing_invoices"("id") ON UPDATE CASCADE ON DELETE SET NULL;



ALTER TABLE ONLY "public"."billing_payments"
    ADD CONSTRAINT "billing_payments_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."billing_payment_allocations"
    ADD CONSTRAINT "billing_payment_allocations_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."billing_payment_allocations"
    ADD CONSTRAINT "billing_payment_allocations_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."billing_payments"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."billing_credit_notes"
    ADD CONSTRAINT "billing_credit_notes_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."billing_credit_lines"
    ADD CONSTRAINT "billing_credit_lines_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."billing_credit_lines"
    ADD CONSTRAINT "billing_credit_lines_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."billing_credit_notes"("id") ON UPDATE CASCADE ON DELETE RESTRICT;



ALTER TABLE ONLY "public"."billing_dunning_runs"
    ADD CONSTRAINT "billing_dunning_runs_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."billing_dunning_items"
    ADD CONSTRAINT "billing_dunning_items_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."billing_dunning_items"
    ADD CONSTRAINT "billing_dunning_items_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."billing_dunning_runs"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."billing_subscriptions"
    ADD CONSTRAINT "billing_subscriptions_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."billing_usage_records"
    ADD CONSTRAINT "billing_usage_records_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."billing_usage_records"
    ADD CONSTRAINT "billing_usage_records_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."billing_subscriptions"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."hr_employees"
    ADD CONSTRAINT "hr_employees_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."hr_departments"
    ADD CONSTRAINT "hr_departments_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."hr_positions"
    ADD CONSTRAINT "hr_positions_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."hr_positions"
    ADD CONSTRAINT "hr_positions_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."hr_departments"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."hr_employments"
    ADD CONSTRAINT "hr_employments_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."hr_employments"
    ADD CONSTRAINT "hr_employments_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."hr_employees"("id") ON UPDATE CASCADE ON DELETE SET NULL;



ALTER TABLE ONLY "public"."hr_absences"
    ADD CONSTRAINT "hr_absences_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."hr_absences"
    ADD CONSTRAINT "hr_absences_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."hr_employees"("id") ON UPDATE CASCADE ON DELETE RESTRICT;



ALTER TABLE ONLY "public"."hr_absence_kinds"
    ADD CONSTRAINT "hr_absence_kinds_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."hr_timesheets"
    ADD CONSTRAINT "hr_timesheets_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."hr_timesheet_lines"
    ADD CONSTRAINT "hr_timesheet_lines_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."hr_timesheet_lines"
    ADD CONSTRAINT "hr_timesheet_lines_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."hr_timesheets"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."hr_skills"
    ADD CONSTRAINT "hr_skills_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."hr_employee_skills"
    ADD CONSTRAINT "hr_employee_skills_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."hr_employee_skills"
    ADD CONSTRAINT "hr_employee_skills_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."hr_employees"("id") ON UPDATE CASCADE ON DELETE RESTRICT;



ALTER TABLE ONLY "public"."projects_projects"
    ADD CONSTRAINT "projects_projects_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."projects_milestones"
    ADD CONSTRAINT "projects_milestones_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."projects_milestones"
    ADD CONSTRAINT "projects_milestones_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."projects_projects"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."projects_tasks"
    ADD CONSTRAINT "projects_tasks_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."projects_tasks"
    ADD CONSTRAINT "projects_tasks_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."projects_milestones"("id") ON UPDATE CASCADE ON DELETE RESTRICT;



ALTER TABLE ONLY "public"."projects_task_links"
    ADD CONSTRAINT "projects_task_links_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."projects_task_links"
    ADD CONSTRAINT "projects_task_links_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."projects_tasks"("id") ON UPDATE CASCADE ON DELETE RESTRICT;



ALTER TABLE ONLY "public"."projects_task_comments"
    ADD CONSTRAINT "projects_task_comments_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."projects_task_comments"
    ADD CONSTRAINT "projects_task_comments_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."projects_tasks"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."projects_assignments"
    ADD CONSTRAINT "projects_assignments_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."projects_assignments"
    ADD CONSTRAINT "projects_assignments_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."projects_tasks"("id") ON UPDATE CASCADE ON DELETE SET NULL;



ALTER TABLE ONLY "public"."projects_boards"
    ADD CONSTRAINT "projects_boards_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."projects_columns"
    ADD CONSTRAINT "projects_columns_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."projects_columns"
    ADD CONSTRAINT "projects_columns_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."projects_boards"("id") ON UPDATE CASCADE ON DELETE SET NULL;



ALTER TABLE ONLY "public"."projects_labels"
    ADD CONSTRAINT "projects_labels_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."projects_task_labels"
    ADD CONSTRAINT "projects_task_labels_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."projects_task_labels"
    ADD CONSTRAINT "projects_task_labels_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."projects_tasks"("id") ON UPDATE CASCADE ON DELETE RESTRICT;



ALTER TABLE ONLY "public"."service_tickets"
    ADD CONSTRAINT "service_tickets_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."service_ticket_events"
    ADD CONSTRAINT "service_ticket_events_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."service_ticket_events"
    ADD CONSTRAINT "service_ticket_events_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."service_tickets"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."service_slas"
    ADD CONSTRAINT "service_slas_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."service_queues"
    ADD CONSTRAINT "service_queues_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."service_queue_members"
    ADD CONSTRAINT "service_queue_members_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."service_queue_members"
    ADD CONSTRAINT "service_queue_members_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."service_queues"("id") ON UPDATE CASCADE ON DELETE SET NULL;



ALTER TABLE ONLY "public"."service_articles"
    ADD CONSTRAINT "service_articles_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."service_article_versions"
    ADD CONSTRAINT "service_article_versions_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."service_article_versions"
    ADD CONSTRAINT "service_article_versions_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."service_articles"("id") ON UPDATE CASCADE ON DELETE SET NULL;



ALTER TABLE ONLY "public"."service_devices"
    ADD CONSTRAINT "service_devices_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."service_maintenance_plans"
    ADD CONSTRAINT "service_maintenance_plans_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."service_visits"
    ADD CONSTRAINT "service_visits_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."service_visits"
    ADD CONSTRAINT "service_visits_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."service_devices"("id") ON UPDATE CASCADE ON DELETE SET NULL;



ALTER TABLE ONLY "public"."memberships"
    ADD CONSTRAINT "memberships_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."memberships"
    ADD CONSTRAINT "memberships_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE RESTRICT;



ALTER TABLE ONLY "public"."roles"
    ADD CONSTRAINT "roles_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."permissions"
    ADD CONSTRAINT "permissions_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."role_permissions"
    ADD CONSTRAINT "role_permissions_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."role_permissions"
    ADD CONSTRAINT "role_permissions_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."roles"("id") ON UPDATE CASCADE ON DELETE SET NULL;



ALTER TABLE ONLY "public"."settings"
    ADD CONSTRAINT "settings_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."files"
    ADD CONSTRAINT "files_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."audit_entries"
    ADD CONSTRAINT "audit_entries_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."outbox"
    ADD CONSTRAINT "outbox_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."feature_flags"
    ADD CONSTRAINT "feature_flags_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY "public"."memberships"
    ADD CONSTRAINT "memberships_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "auth"."users"("id") ON DELETE CASCADE;



CREATE POLICY "tenant" ON "public"."crm_accounts" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."crm_accounts" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."crm_contacts" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."crm_contacts" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."crm_leads" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."crm_leads" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."crm_opportunities" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."crm_opportunities" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."crm_activities" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."crm_activities" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."crm_notes" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."crm_notes" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."crm_campaigns" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."crm_campaigns" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."crm_segments" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."crm_segments" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."crm_consents" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."crm_consents" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."crm_calls" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."crm_calls" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."sales_quotes" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."sales_quotes" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."sales_quote_lines" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."sales_quote_lines" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."sales_orders" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."sales_orders" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."sales_order_lines" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."sales_order_lines" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."sales_discounts" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."sales_discounts" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."sales_price_lists" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."sales_price_lists" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."sales_price_list_items" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."sales_price_list_items" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."sales_returns" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."sales_returns" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."sales_return_lines" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."sales_return_lines" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."sales_commissions" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."sales_commissions" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."inventory_products" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."inventory_products" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."inventory_variants" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."inventory_variants" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."inventory_warehouses" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."inventory_warehouses" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."inventory_locations" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."inventory_locations" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."inventory_stock_levels" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."inventory_stock_levels" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."inventory_stock_moves" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."inventory_stock_moves" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."inventory_lots" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."inventory_lots" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."inventory_serials" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."inventory_serials" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."inventory_counts" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."inventory_counts" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."inventory_count_lines" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."inventory_count_lines" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."purchasing_suppliers" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."purchasing_suppliers" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."purchasing_supplier_products" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."purchasing_supplier_products" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."purchasing_requests" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."purchasing_requests" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."purchasing_request_lines" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."purchasing_request_lines" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."purchasing_purchase_orders" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."purchasing_purchase_orders" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."purchasing_purchase_lines" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."purchasing_purchase_lines" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."purchasing_receipts" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."purchasing_receipts" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."purchasing_receipt_lines" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."purchasing_receipt_lines" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."purchasing_contracts" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."purchasing_contracts" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."purchasing_ratings" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."purchasing_ratings" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."accounting_ledgers" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."accounting_ledgers" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."accounting_journals" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."accounting_journals" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."accounting_entries" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."accounting_entries" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."accounting_entry_lines" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."accounting_entry_lines" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."accounting_tax_codes" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."accounting_tax_codes" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."accounting_tax_rates" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."accounting_tax_rates" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."accounting_fiscal_years" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."accounting_fiscal_years" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."accounting_periods" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."accounting_periods" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."accounting_bank_accounts" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."accounting_bank_accounts" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."accounting_bank_lines" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."accounting_bank_lines" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."billing_invoices" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."billing_invoices" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."billing_invoice_lines" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."billing_invoice_lines" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."billing_payments" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."billing_payments" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."billing_payment_allocations" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."billing_payment_allocations" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."billing_credit_notes" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."billing_credit_notes" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."billing_credit_lines" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."billing_credit_lines" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."billing_dunning_runs" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."billing_dunning_runs" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."billing_dunning_items" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."billing_dunning_items" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."billing_subscriptions" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."billing_subscriptions" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."billing_usage_records" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."billing_usage_records" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."hr_employees" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."hr_employees" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."hr_departments" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."hr_departments" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."hr_positions" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."hr_positions" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."hr_employments" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."hr_employments" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."hr_absences" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."hr_absences" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."hr_absence_kinds" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."hr_absence_kinds" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."hr_timesheets" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."hr_timesheets" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."hr_timesheet_lines" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."hr_timesheet_lines" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."hr_skills" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."hr_skills" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."hr_employee_skills" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."hr_employee_skills" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."projects_projects" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."projects_projects" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."projects_milestones" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."projects_milestones" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."projects_tasks" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."projects_tasks" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."projects_task_links" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."projects_task_links" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."projects_task_comments" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."projects_task_comments" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."projects_assignments" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."projects_assignments" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."projects_boards" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."projects_boards" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."projects_columns" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."projects_columns" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."projects_labels" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."projects_labels" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."projects_task_labels" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."projects_task_labels" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."service_tickets" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."service_tickets" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."service_ticket_events" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."service_ticket_events" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."service_slas" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."service_slas" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."service_queues" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."service_queues" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."service_queue_members" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."service_queue_members" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."service_articles" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."service_articles" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."service_article_versions" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."service_article_versions" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."service_devices" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."service_devices" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."service_maintenance_plans" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."service_maintenance_plans" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."service_visits" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."service_visits" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "members see their tenant" ON "public"."tenants" FOR SELECT TO "authenticated" USING (("id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."tenants" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."memberships" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."memberships" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."roles" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."roles" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."permissions" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."permissions" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."role_permissions" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."role_permissions" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."settings" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."settings" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."files" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."files" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."audit_entries" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."audit_entries" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."outbox" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."outbox" ENABLE ROW LEVEL SECURITY;


CREATE POLICY "tenant" ON "public"."feature_flags" TO "authenticated" USING (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant"))) WITH CHECK (("tenant_id" = ( SELECT "internal"."current_tenant"() AS "current_tenant")));



ALTER TABLE "public"."feature_flags" ENABLE ROW LEVEL SECURITY;





ALTER PUBLICATION "supabase_realtime" OWNER TO "postgres";


ALTER PUBLICATION "supabase_realtime" ADD TABLE ONLY "public"."projects_tasks";



ALTER PUBLICATION "supabase_realtime" ADD TABLE ONLY "public"."service_tickets";






GRANT USAGE ON SCHEMA "public" TO "postgres";
GRANT USAGE ON SCHEMA "public" TO "anon";
GRANT USAGE ON SCHEMA "public" TO "authenticated";
GRANT USAGE ON SCHEMA "public" TO "service_role";



GRANT USAGE ON SCHEMA "internal" TO "authenticated";
GRANT USAGE ON SCHEMA "internal" TO "service_role";



REVOKE ALL ON FUNCTION "internal"."current_tenant"() FROM PUBLIC;
GRANT ALL ON FUNCTION "internal"."current_tenant"() TO "authenticated";
GRANT ALL ON FUNCTION "internal"."current_tenant"() TO "service_role";



GRANT ALL ON FUNCTION "public"."audit"() TO "anon";
GRANT ALL ON FUNCTION "public"."audit"() TO "authenticated";
GRANT ALL ON FUNCTION "public"."audit"() TO "service_role";



GRANT ALL ON FUNCTION "public"."touch"() TO "anon";
GRANT ALL ON FUNCTION "public"."touch"() TO "authenticated";
GRANT ALL ON FUNCTION "public"."touch"() TO "service_role";



GRANT ALL ON FUNCTION "public"."search_accounts"("term" "text", "most" integer) TO "anon";
GRANT ALL ON FUNCTION "public"."search_accounts"("term" "text", "most" integer) TO "authenticated";
GRANT ALL ON FUNCTION "public"."search_accounts"("term" "text", "most" integer) TO "service_role";



GRANT ALL ON TABLE "public"."crm_accounts" TO "anon";
GRANT ALL ON TABLE "public"."crm_accounts" TO "authenticated";
GRANT ALL ON TABLE "public"."crm_accounts" TO "service_role";



GRANT ALL ON TABLE "public"."crm_contacts" TO "anon";
GRANT ALL ON TABLE "public"."crm_contacts" TO "authenticated";
GRANT ALL ON TABLE "public"."crm_contacts" TO "service_role";



GRANT ALL ON TABLE "public"."crm_leads" TO "anon";
GRANT ALL ON TABLE "public"."crm_leads" TO "authenticated";
GRANT ALL ON TABLE "public"."crm_leads" TO "service_role";



GRANT ALL ON TABLE "public"."crm_opportunities" TO "anon";
GRANT ALL ON TABLE "public"."crm_opportunities" TO "authenticated";
GRANT ALL ON TABLE "public"."crm_opportunities" TO "service_role";



GRANT ALL ON TABLE "public"."crm_activities" TO "anon";
GRANT ALL ON TABLE "public"."crm_activities" TO "authenticated";
GRANT ALL ON TABLE "public"."crm_activities" TO "service_role";



GRANT ALL ON TABLE "public"."crm_notes" TO "anon";
GRANT ALL ON TABLE "public"."crm_notes" TO "authenticated";
GRANT ALL ON TABLE "public"."crm_notes" TO "service_role";



GRANT ALL ON TABLE "public"."crm_campaigns" TO "anon";
GRANT ALL ON TABLE "public"."crm_campaigns" TO "authenticated";
GRANT ALL ON TABLE "public"."crm_campaigns" TO "service_role";



GRANT ALL ON TABLE "public"."crm_segments" TO "anon";
GRANT ALL ON TABLE "public"."crm_segments" TO "authenticated";
GRANT ALL ON TABLE "public"."crm_segments" TO "service_role";



GRANT ALL ON TABLE "public"."crm_consents" TO "anon";
GRANT ALL ON TABLE "public"."crm_consents" TO "authenticated";
GRANT ALL ON TABLE "public"."crm_consents" TO "service_role";



GRANT ALL ON TABLE "public"."crm_calls" TO "anon";
GRANT ALL ON TABLE "public"."crm_calls" TO "authenticated";
GRANT ALL ON TABLE "public"."crm_calls" TO "service_role";



GRANT ALL ON TABLE "public"."sales_quotes" TO "anon";
GRANT ALL ON TABLE "public"."sales_quotes" TO "authenticated";
GRANT ALL ON TABLE "public"."sales_quotes" TO "service_role";



GRANT ALL ON TABLE "public"."sales_quote_lines" TO "anon";
GRANT ALL ON TABLE "public"."sales_quote_lines" TO "authenticated";
GRANT ALL ON TABLE "public"."sales_quote_lines" TO "service_role";



GRANT ALL ON TABLE "public"."sales_orders" TO "anon";
GRANT ALL ON TABLE "public"."sales_orders" TO "authenticated";
GRANT ALL ON TABLE "public"."sales_orders" TO "service_role";



GRANT ALL ON TABLE "public"."sales_order_lines" TO "anon";
GRANT ALL ON TABLE "public"."sales_order_lines" TO "authenticated";
GRANT ALL ON TABLE "public"."sales_order_lines" TO "service_role";



GRANT ALL ON TABLE "public"."sales_discounts" TO "anon";
GRANT ALL ON TABLE "public"."sales_discounts" TO "authenticated";
GRANT ALL ON TABLE "public"."sales_discounts" TO "service_role";



GRANT ALL ON TABLE "public"."sales_price_lists" TO "anon";
GRANT ALL ON TABLE "public"."sales_price_lists" TO "authenticated";
GRANT ALL ON TABLE "public"."sales_price_lists" TO "service_role";



GRANT ALL ON TABLE "public"."sales_price_list_items" TO "anon";
GRANT ALL ON TABLE "public"."sales_price_list_items" TO "authenticated";
GRANT ALL ON TABLE "public"."sales_price_list_items" TO "service_role";



GRANT ALL ON TABLE "public"."sales_returns" TO "anon";
GRANT ALL ON TABLE "public"."sales_returns" TO "authenticated";
GRANT ALL ON TABLE "public"."sales_returns" TO "service_role";



GRANT ALL ON TABLE "public"."sales_return_lines" TO "anon";
GRANT ALL ON TABLE "public"."sales_return_lines" TO "authenticated";
GRANT ALL ON TABLE "public"."sales_return_lines" TO "service_role";



GRANT ALL ON TABLE "public"."sales_commissions" TO "anon";
GRANT ALL ON TABLE "public"."sales_commissions" TO "authenticated";
GRANT ALL ON TABLE "public"."sales_commissions" TO "service_role";



GRANT ALL ON TABLE "public"."inventory_products" TO "anon";
GRANT ALL ON TABLE "public"."inventory_products" TO "authenticated";
GRANT ALL ON TABLE "public"."inventory_products" TO "service_role";



GRANT ALL ON TABLE "public"."inventory_variants" TO "anon";
GRANT ALL ON TABLE "public"."inventory_variants" TO "authenticated";
GRANT ALL ON TABLE "public"."inventory_variants" TO "service_role";



GRANT ALL ON TABLE "public"."inventory_warehouses" TO "anon";
GRANT ALL ON TABLE "public"."inventory_warehouses" TO "authenticated";
GRANT ALL ON TABLE "public"."inventory_warehouses" TO "service_role";



GRANT ALL ON TABLE "public"."inventory_locations" TO "anon";
GRANT ALL ON TABLE "public"."inventory_locations" TO "authenticated";
GRANT ALL ON TABLE "public"."inventory_locations" TO "service_role";



GRANT ALL ON TABLE "public"."inventory_stock_levels" TO "anon";
GRANT ALL ON TABLE "public"."inventory_stock_levels" TO "authenticated";
GRANT ALL ON TABLE "public"."inventory_stock_levels" TO "service_role";



GRANT ALL ON TABLE "public"."inventory_stock_moves" TO "anon";
GRANT ALL ON TABLE "public"."inventory_stock_moves" TO "authenticated";
GRANT ALL ON TABLE "public"."inventory_stock_moves" TO "service_role";



GRANT ALL ON TABLE "public"."inventory_lots" TO "anon";
GRANT ALL ON TABLE "public"."inventory_lots" TO "authenticated";
GRANT ALL ON TABLE "public"."inventory_lots" TO "service_role";



GRANT ALL ON TABLE "public"."inventory_serials" TO "anon";
GRANT ALL ON TABLE "public"."inventory_serials" TO "authenticated";
GRANT ALL ON TABLE "public"."inventory_serials" TO "service_role";



GRANT ALL ON TABLE "public"."inventory_counts" TO "anon";
GRANT ALL ON TABLE "public"."inventory_counts" TO "authenticated";
GRANT ALL ON TABLE "public"."inventory_counts" TO "service_role";



GRANT ALL ON TABLE "public"."inventory_count_lines" TO "anon";
GRANT ALL ON TABLE "public"."inventory_count_lines" TO "authenticated";
GRANT ALL ON TABLE "public"."inventory_count_lines" TO "service_role";



GRANT ALL ON TABLE "public"."purchasing_suppliers" TO "anon";
GRANT ALL ON TABLE "public"."purchasing_suppliers" TO "authenticated";
GRANT ALL ON TABLE "public"."purchasing_suppliers" TO "service_role";



GRANT ALL ON TABLE "public"."purchasing_supplier_products" TO "anon";
GRANT ALL ON TABLE "public"."purchasing_supplier_products" TO "authenticated";
GRANT ALL ON TABLE "public"."purchasing_supplier_products" TO "service_role";



GRANT ALL ON TABLE "public"."purchasing_requests" TO "anon";
GRANT ALL ON TABLE "public"."purchasing_requests" TO "authenticated";
GRANT ALL ON TABLE "public"."purchasing_requests" TO "service_role";



GRANT ALL ON TABLE "public"."purchasing_request_lines" TO "anon";
GRANT ALL ON TABLE "public"."purchasing_request_lines" TO "authenticated";
GRANT ALL ON TABLE "public"."purchasing_request_lines" TO "service_role";



GRANT ALL ON TABLE "public"."purchasing_purchase_orders" TO "anon";
GRANT ALL ON TABLE "public"."purchasing_purchase_orders" TO "authenticated";
GRANT ALL ON TABLE "public"."purchasing_purchase_orders" TO "service_role";



GRANT ALL ON TABLE "public"."purchasing_purchase_lines" TO "anon";
GRANT ALL ON TABLE "public"."purchasing_purchase_lines" TO "authenticated";
GRANT ALL ON TABLE "public"."purchasing_purchase_lines" TO "service_role";



GRANT ALL ON TABLE "public"."purchasing_receipts" TO "anon";
GRANT ALL ON TABLE "public"."purchasing_receipts" TO "authenticated";
GRANT ALL ON TABLE "public"."purchasing_receipts" TO "service_role";



GRANT ALL ON TABLE "public"."purchasing_receipt_lines" TO "anon";
GRANT ALL ON TABLE "public"."purchasing_receipt_lines" TO "authenticated";
GRANT ALL ON TABLE "public"."purchasing_receipt_lines" TO "service_role";



GRANT ALL ON TABLE "public"."purchasing_contracts" TO "anon";
GRANT ALL ON TABLE "public"."purchasing_contracts" TO "authenticated";
GRANT ALL ON TABLE "public"."purchasing_contracts" TO "service_role";



GRANT ALL ON TABLE "public"."purchasing_ratings" TO "anon";
GRANT ALL ON TABLE "public"."purchasing_ratings" TO "authenticated";
GRANT ALL ON TABLE "public"."purchasing_ratings" TO "service_role";



GRANT ALL ON TABLE "public"."accounting_ledgers" TO "anon";
GRANT ALL ON TABLE "public"."accounting_ledgers" TO "authenticated";
GRANT ALL ON TABLE "public"."accounting_ledgers" TO "service_role";



GRANT ALL ON TABLE "public"."accounting_journals" TO "anon";
GRANT ALL ON TABLE "public"."accounting_journals" TO "authenticated";
GRANT ALL ON TABLE "public"."accounting_journals" TO "service_role";



GRANT ALL ON TABLE "public"."accounting_entries" TO "anon";
GRANT ALL ON TABLE "public"."accounting_entries" TO "authenticated";
GRANT ALL ON TABLE "public"."accounting_entries" TO "service_role";



GRANT ALL ON TABLE "public"."accounting_entry_lines" TO "anon";
GRANT ALL ON TABLE "public"."accounting_entry_lines" TO "authenticated";
GRANT ALL ON TABLE "public"."accounting_entry_lines" TO "service_role";



GRANT ALL ON TABLE "public"."accounting_tax_codes" TO "anon";
GRANT ALL ON TABLE "public"."accounting_tax_codes" TO "authenticated";
GRANT ALL ON TABLE "public"."accounting_tax_codes" TO "service_role";



GRANT ALL ON TABLE "public"."accounting_tax_rates" TO "anon";
GRANT ALL ON TABLE "public"."accounting_tax_rates" TO "authenticated";
GRANT ALL ON TABLE "public"."accounting_tax_rates" TO "service_role";



GRANT ALL ON TABLE "public"."accounting_fiscal_years" TO "anon";
GRANT ALL ON TABLE "public"."accounting_fiscal_years" TO "authenticated";
GRANT ALL ON TABLE "public"."accounting_fiscal_years" TO "service_role";



GRANT ALL ON TABLE "public"."accounting_periods" TO "anon";
GRANT ALL ON TABLE "public"."accounting_periods" TO "authenticated";
GRANT ALL ON TABLE "public"."accounting_periods" TO "service_role";



GRANT ALL ON TABLE "public"."accounting_bank_accounts" TO "anon";
GRANT ALL ON TABLE "public"."accounting_bank_accounts" TO "authenticated";
GRANT ALL ON TABLE "public"."accounting_bank_accounts" TO "service_role";



GRANT ALL ON TABLE "public"."accounting_bank_lines" TO "anon";
GRANT ALL ON TABLE "public"."accounting_bank_lines" TO "authenticated";
GRANT ALL ON TABLE "public"."accounting_bank_lines" TO "service_role";



GRANT ALL ON TABLE "public"."billing_invoices" TO "anon";
GRANT ALL ON TABLE "public"."billing_invoices" TO "authenticated";
GRANT ALL ON TABLE "public"."billing_invoices" TO "service_role";



GRANT ALL ON TABLE "public"."billing_invoice_lines" TO "anon";
GRANT ALL ON TABLE "public"."billing_invoice_lines" TO "authenticated";
GRANT ALL ON TABLE "public"."billing_invoice_lines" TO "service_role";



GRANT ALL ON TABLE "public"."billing_payments" TO "anon";
GRANT ALL ON TABLE "public"."billing_payments" TO "authenticated";
GRANT ALL ON TABLE "public"."billing_payments" TO "service_role";



GRANT ALL ON TABLE "public"."billing_payment_allocations" TO "anon";
GRANT ALL ON TABLE "public"."billing_payment_allocations" TO "authenticated";
GRANT ALL ON TABLE "public"."billing_payment_allocations" TO "service_role";



GRANT ALL ON TABLE "public"."billing_credit_notes" TO "anon";
GRANT ALL ON TABLE "public"."billing_credit_notes" TO "authenticated";
GRANT ALL ON TABLE "public"."billing_credit_notes" TO "service_role";



GRANT ALL ON TABLE "public"."billing_credit_lines" TO "anon";
GRANT ALL ON TABLE "public"."billing_credit_lines" TO "authenticated";
GRANT ALL ON TABLE "public"."billing_credit_lines" TO "service_role";



GRANT ALL ON TABLE "public"."billing_dunning_runs" TO "anon";
GRANT ALL ON TABLE "public"."billing_dunning_runs" TO "authenticated";
GRANT ALL ON TABLE "public"."billing_dunning_runs" TO "service_role";



GRANT ALL ON TABLE "public"."billing_dunning_items" TO "anon";
GRANT ALL ON TABLE "public"."billing_dunning_items" TO "authenticated";
GRANT ALL ON TABLE "public"."billing_dunning_items" TO "service_role";



GRANT ALL ON TABLE "public"."billing_subscriptions" TO "anon";
GRANT ALL ON TABLE "public"."billing_subscriptions" TO "authenticated";
GRANT ALL ON TABLE "public"."billing_subscriptions" TO "service_role";



GRANT ALL ON TABLE "public"."billing_usage_records" TO "anon";
GRANT ALL ON TABLE "public"."billing_usage_records" TO "authenticated";
GRANT ALL ON TABLE "public"."billing_usage_records" TO "service_role";



GRANT ALL ON TABLE "public"."hr_employees" TO "anon";
GRANT ALL ON TABLE "public"."hr_employees" TO "authenticated";
GRANT ALL ON TABLE "public"."hr_employees" TO "service_role";



GRANT ALL ON TABLE "public"."hr_departments" TO "anon";
GRANT ALL ON TABLE "public"."hr_departments" TO "authenticated";
GRANT ALL ON TABLE "public"."hr_departments" TO "service_role";



GRANT ALL ON TABLE "public"."hr_positions" TO "anon";
GRANT ALL ON TABLE "public"."hr_positions" TO "authenticated";
GRANT ALL ON TABLE "public"."hr_positions" TO "service_role";



GRANT ALL ON TABLE "public"."hr_employments" TO "anon";
GRANT ALL ON TABLE "public"."hr_employments" TO "authenticated";
GRANT ALL ON TABLE "public"."hr_employments" TO "service_role";



GRANT ALL ON TABLE "public"."hr_absences" TO "anon";
GRANT ALL ON TABLE "public"."hr_absences" TO "authenticated";
GRANT ALL ON TABLE "public"."hr_absences" TO "service_role";



GRANT ALL ON TABLE "public"."hr_absence_kinds" TO "anon";
GRANT ALL ON TABLE "public"."hr_absence_kinds" TO "authenticated";
GRANT ALL ON TABLE "public"."hr_absence_kinds" TO "service_role";



GRANT ALL ON TABLE "public"."hr_timesheets" TO "anon";
GRANT ALL ON TABLE "public"."hr_timesheets" TO "authenticated";
GRANT ALL ON TABLE "public"."hr_timesheets" TO "service_role";



GRANT ALL ON TABLE "public"."hr_timesheet_lines" TO "anon";
GRANT ALL ON TABLE "public"."hr_timesheet_lines" TO "authenticated";
GRANT ALL ON TABLE "public"."hr_timesheet_lines" TO "service_role";



GRANT ALL ON TABLE "public"."hr_skills" TO "anon";
GRANT ALL ON TABLE "public"."hr_skills" TO "authenticated";
GRANT ALL ON TABLE "public"."hr_skills" TO "service_role";



GRANT ALL ON TABLE "public"."hr_employee_skills" TO "anon";
GRANT ALL ON TABLE "public"."hr_employee_skills" TO "authenticated";
GRANT ALL ON TABLE "public"."hr_employee_skills" TO "service_role";



GRANT ALL ON TABLE "public"."projects_projects" TO "anon";
GRANT ALL ON TABLE "public"."projects_projects" TO "authenticated";
GRANT ALL ON TABLE "public"."projects_projects" TO "service_role";



GRANT ALL ON TABLE "public"."projects_milestones" TO "anon";
GRANT ALL ON TABLE "public"."projects_milestones" TO "authenticated";
GRANT ALL ON TABLE "public"."projects_milestones" TO "service_role";



GRANT ALL ON TABLE "public"."projects_tasks" TO "anon";
GRANT ALL ON TABLE "public"."projects_tasks" TO "authenticated";
GRANT ALL ON TABLE "public"."projects_tasks" TO "service_role";



GRANT ALL ON TABLE "public"."projects_task_links" TO "anon";
GRANT ALL ON TABLE "public"."projects_task_links" TO "authenticated";
GRANT ALL ON TABLE "public"."projects_task_links" TO "service_role";



GRANT ALL ON TABLE "public"."projects_task_comments" TO "anon";
GRANT ALL ON TABLE "public"."projects_task_comments" TO "authenticated";
GRANT ALL ON TABLE "public"."projects_task_comments" TO "service_role";



GRANT ALL ON TABLE "public"."projects_assignments" TO "anon";
GRANT ALL ON TABLE "public"."projects_assignments" TO "authenticated";
GRANT ALL ON TABLE "public"."projects_assignments" TO "service_role";



GRANT ALL ON TABLE "public"."projects_boards" TO "anon";
GRANT ALL ON TABLE "public"."projects_boards" TO "authenticated";
GRANT ALL ON TABLE "public"."projects_boards" TO "service_role";



GRANT ALL ON TABLE "public"."projects_columns" TO "anon";
GRANT ALL ON TABLE "public"."projects_columns" TO "authenticated";
GRANT ALL ON TABLE "public"."projects_columns" TO "service_role";



GRANT ALL ON TABLE "public"."projects_labels" TO "anon";
GRANT ALL ON TABLE "public"."projects_labels" TO "authenticated";
GRANT ALL ON TABLE "public"."projects_labels" TO "service_role";



GRANT ALL ON TABLE "public"."projects_task_labels" TO "anon";
GRANT ALL ON TABLE "public"."projects_task_labels" TO "authenticated";
GRANT ALL ON TABLE "public"."projects_task_labels" TO "service_role";



GRANT ALL ON TABLE "public"."service_tickets" TO "anon";
GRANT ALL ON TABLE "public"."service_tickets" TO "authenticated";
GRANT ALL ON TABLE "public"."service_tickets" TO "service_role";



GRANT ALL ON TABLE "public"."service_ticket_events" TO "anon";
GRANT ALL ON TABLE "public"."service_ticket_events" TO "authenticated";
GRANT ALL ON TABLE "public"."service_ticket_events" TO "service_role";



GRANT ALL ON TABLE "public"."service_slas" TO "anon";
GRANT ALL ON TABLE "public"."service_slas" TO "authenticated";
GRANT ALL ON TABLE "public"."service_slas" TO "service_role";



GRANT ALL ON TABLE "public"."service_queues" TO "anon";
GRANT ALL ON TABLE "public"."service_queues" TO "authenticated";
GRANT ALL ON TABLE "public"."service_queues" TO "service_role";



GRANT ALL ON TABLE "public"."service_queue_members" TO "anon";
GRANT ALL ON TABLE "public"."service_queue_members" TO "authenticated";
GRANT ALL ON TABLE "public"."service_queue_members" TO "service_role";



GRANT ALL ON TABLE "public"."service_articles" TO "anon";
GRANT ALL ON TABLE "public"."service_articles" TO "authenticated";
GRANT ALL ON TABLE "public"."service_articles" TO "service_role";



GRANT ALL ON TABLE "public"."service_article_versions" TO "anon";
GRANT ALL ON TABLE "public"."service_article_versions" TO "authenticated";
GRANT ALL ON TABLE "public"."service_article_versions" TO "service_role";



GRANT ALL ON TABLE "public"."service_devices" TO "anon";
GRANT ALL ON TABLE "public"."service_devices" TO "authenticated";
GRANT ALL ON TABLE "public"."service_devices" TO "service_role";



GRANT ALL ON TABLE "public"."service_maintenance_plans" TO "anon";
GRANT ALL ON TABLE "public"."service_maintenance_plans" TO "authenticated";
GRANT ALL ON TABLE "public"."service_maintenance_plans" TO "service_role";



GRANT ALL ON TABLE "public"."service_visits" TO "anon";
GRANT ALL ON TABLE "public"."service_visits" TO "authenticated";
GRANT ALL ON TABLE "public"."service_visits" TO "service_role";



GRANT ALL ON TABLE "public"."tenants" TO "anon";
GRANT ALL ON TABLE "public"."tenants" TO "authenticated";
GRANT ALL ON TABLE "public"."tenants" TO "service_role";



GRANT ALL ON TABLE "public"."memberships" TO "anon";
GRANT ALL ON TABLE "public"."memberships" TO "authenticated";
GRANT ALL ON TABLE "public"."memberships" TO "service_role";



GRANT ALL ON TABLE "public"."roles" TO "anon";
GRANT ALL ON TABLE "public"."roles" TO "authenticated";
GRANT ALL ON TABLE "public"."roles" TO "service_role";



GRANT ALL ON TABLE "public"."permissions" TO "anon";
GRANT ALL ON TABLE "public"."permissions" TO "authenticated";
GRANT ALL ON TABLE "public"."permissions" TO "service_role";



GRANT ALL ON TABLE "public"."role_permissions" TO "anon";
GRANT ALL ON TABLE "public"."role_permissions" TO "authenticated";
GRANT ALL ON TABLE "public"."role_permissions" TO "service_role";



GRANT ALL ON TABLE "public"."settings" TO "anon";
GRANT ALL ON TABLE "public"."settings" TO "authenticated";
GRANT ALL ON TABLE "public"."settings" TO "service_role";



GRANT ALL ON TABLE "public"."files" TO "anon";
GRANT ALL ON TABLE "public"."files" TO "authenticated";
GRANT ALL ON TABLE "public"."files" TO "service_role";



GRANT ALL ON TABLE "public"."audit_entries" TO "anon";
GRANT ALL ON TABLE "public"."audit_entries" TO "authenticated";
GRANT ALL ON TABLE "public"."audit_entries" TO "service_role";



GRANT ALL ON TABLE "public"."outbox" TO "anon";
GRANT ALL ON TABLE "public"."outbox" TO "authenticated";
GRANT ALL ON TABLE "public"."outbox" TO "service_role";



GRANT ALL ON TABLE "public"."feature_flags" TO "anon";
GRANT ALL ON TABLE "public"."feature_flags" TO "authenticated";
GRANT ALL ON TABLE "public"."feature_flags" TO "service_role";



GRANT ALL ON TABLE "public"."open_invoices" TO "anon";
GRANT ALL ON TABLE "public"."open_invoices" TO "authenticated";
GRANT ALL ON TABLE "public"."open_invoices" TO "service_role";



GRANT ALL ON TABLE "public"."tenant_sizes" TO "anon";
GRANT ALL ON TABLE "public"."tenant_sizes" TO "authenticated";
GRANT ALL ON TABLE "public"."tenant_sizes" TO "service_role";



GRANT ALL ON SEQUENCE "public"."crm_leads_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."crm_leads_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."crm_leads_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."crm_activities_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."crm_activities_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."crm_activities_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."crm_notes_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."crm_notes_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."crm_notes_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."sales_quote_lines_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."sales_quote_lines_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."sales_quote_lines_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."sales_price_lists_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."sales_price_lists_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."sales_price_lists_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."sales_price_list_items_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."sales_price_list_items_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."sales_price_list_items_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."inventory_products_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."inventory_products_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."inventory_products_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."inventory_lots_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."inventory_lots_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."inventory_lots_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."purchasing_receipt_lines_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."purchasing_receipt_lines_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."purchasing_receipt_lines_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."purchasing_contracts_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."purchasing_contracts_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."purchasing_contracts_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."purchasing_ratings_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."purchasing_ratings_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."purchasing_ratings_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."accounting_ledgers_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."accounting_ledgers_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."accounting_ledgers_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."billing_invoices_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."billing_invoices_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."billing_invoices_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."billing_invoice_lines_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."billing_invoice_lines_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."billing_invoice_lines_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."billing_credit_lines_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."billing_credit_lines_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."billing_credit_lines_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."billing_subscriptions_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."billing_subscriptions_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."billing_subscriptions_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."billing_usage_records_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."billing_usage_records_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."billing_usage_records_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."hr_employees_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."hr_employees_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."hr_employees_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."projects_milestones_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."projects_milestones_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."projects_milestones_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."projects_tasks_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."projects_tasks_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."projects_tasks_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."projects_assignments_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."projects_assignments_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."projects_assignments_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."projects_boards_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."projects_boards_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."projects_boards_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."projects_labels_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."projects_labels_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."projects_labels_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."projects_task_labels_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."projects_task_labels_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."projects_task_labels_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."service_articles_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."service_articles_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."service_articles_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."service_article_versions_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."service_article_versions_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."service_article_versions_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."service_devices_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."service_devices_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."service_devices_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."roles_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."roles_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."roles_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."files_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."files_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."files_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."feature_flags_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."feature_flags_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."feature_flags_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."crm_accounts_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."crm_accounts_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."crm_accounts_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."sales_quotes_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."sales_quotes_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."sales_quotes_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."sales_discounts_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."sales_discounts_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."sales_discounts_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."sales_return_lines_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."sales_return_lines_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."sales_return_lines_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."inventory_locations_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."inventory_locations_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."inventory_locations_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."inventory_stock_levels_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."inventory_stock_levels_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."inventory_stock_levels_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."inventory_serials_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."inventory_serials_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."inventory_serials_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."inventory_counts_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."inventory_counts_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."inventory_counts_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."purchasing_suppliers_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."purchasing_suppliers_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."purchasing_suppliers_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."purchasing_supplier_products_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."purchasing_supplier_products_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."purchasing_supplier_products_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."purchasing_requests_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."purchasing_requests_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."purchasing_requests_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."purchasing_request_lines_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."purchasing_request_lines_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."purchasing_request_lines_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."accounting_entry_lines_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."accounting_entry_lines_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."accounting_entry_lines_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."accounting_tax_rates_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."accounting_tax_rates_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."accounting_tax_rates_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."accounting_fiscal_years_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."accounting_fiscal_years_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."accounting_fiscal_years_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."accounting_periods_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."accounting_periods_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."accounting_periods_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."accounting_bank_accounts_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."accounting_bank_accounts_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."accounting_bank_accounts_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."billing_payments_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."billing_payments_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."billing_payments_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."billing_payment_allocations_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."billing_payment_allocations_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."billing_payment_allocations_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."billing_dunning_runs_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."billing_dunning_runs_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."billing_dunning_runs_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."billing_dunning_items_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."billing_dunning_items_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."billing_dunning_items_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."hr_departments_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."hr_departments_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."hr_departments_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."hr_positions_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."hr_positions_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."hr_positions_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."hr_employments_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."hr_employments_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."hr_employments_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."hr_absences_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."hr_absences_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."hr_absences_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."hr_timesheets_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."hr_timesheets_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."hr_timesheets_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."hr_timesheet_lines_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."hr_timesheet_lines_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."hr_timesheet_lines_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."projects_projects_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."projects_projects_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."projects_projects_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."projects_task_comments_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."projects_task_comments_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."projects_task_comments_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."projects_columns_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."projects_columns_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."projects_columns_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."service_tickets_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."service_tickets_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."service_tickets_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."service_ticket_events_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."service_ticket_events_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."service_ticket_events_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."service_queue_members_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."service_queue_members_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."service_queue_members_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."service_maintenance_plans_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."service_maintenance_plans_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."service_maintenance_plans_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."service_visits_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."service_visits_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."service_visits_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."audit_entries_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."audit_entries_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."audit_entries_id_seq" TO "service_role";



GRANT ALL ON SEQUENCE "public"."outbox_id_seq" TO "anon";
GRANT ALL ON SEQUENCE "public"."outbox_id_seq" TO "authenticated";
GRANT ALL ON SEQUENCE "public"."outbox_id_seq" TO "service_role";



ALTER DEFAULT PRIVILEGES FOR ROLE "postgres" IN SCHEMA "public" GRANT ALL ON SEQUENCES TO "postgres";
ALTER DEFAULT PRIVILEGES FOR ROLE "postgres" IN SCHEMA "public" GRANT ALL ON SEQUENCES TO "anon";
ALTER DEFAULT PRIVILEGES FOR ROLE "postgres" IN SCHEMA "public" GRANT ALL ON SEQUENCES TO "authenticated";
ALTER DEFAULT PRIVILEGES FOR ROLE "postgres" IN SCHEMA "public" GRANT ALL ON SEQUENCES TO "service_role";






ALTER DEFAULT PRIVILEGES FOR ROLE "postgres" IN SCHEMA "public" GRANT ALL ON FUNCTIONS TO "postgres";
ALTER DEFAULT PRIVILEGES FOR ROLE "postgres" IN SCHEMA "public" GRANT ALL ON FUNCTIONS TO "anon";
ALTER DEFAULT PRIVILEGES FOR ROLE "postgres" IN SCHEMA "public" GRANT ALL ON FUNCTIONS TO "authenticated";
ALTER DEFAULT PRIVILEGES FOR ROLE "postgres" IN SCHEMA "public" GRANT ALL ON FUNCTIONS TO "service_role";






ALTER DEFAULT PRIVILEGES FOR ROLE "postgres" IN SCHEMA "public" GRANT ALL ON TABLES TO "postgres";
ALTER DEFAULT PRIVILEGES FOR ROLE "postgres" IN SCHEMA "public" GRANT ALL ON TABLES TO "anon";
ALTER DEFAULT PRIVILEGES FOR ROLE "postgres" IN SCHEMA "public" GRANT ALL ON TABLES TO "authenticated";
ALTER DEFAULT PRIVILEGES FOR ROLE "postgres" IN SCHEMA "public" GRANT ALL ON TABLES TO "service_role";










RESET ALL;

--
-- PostgreSQL database dump complete
--

