COPY public.prices (id, product_id, active, description, unit_amount, currency, type, "interval", interval_count, trial_period_days, metadata) FROM stdin;
price_kettle	prod_kettle	t	\N	4900	eur	single	\N	\N	\N	{}
price_cup	prod_cup	t	one cup	900	eur	single	\N	\N	\N	{"tier": "a\\tb"}
price_tea	prod_tea	f	monthly	1500	usd	recurring	month	1	14	\N
\.

SELECT pg_catalog.setval('public.order_number', 20000, true);
