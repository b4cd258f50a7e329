"""The part of the official Management API that its command line uses: `/v1/...` and `/v2/projects/{ref}/config`.

    edge --`/v1/projects/{ref}/functions`--> endpoints.py (which endpoint) --> projects, functions, database or settings
                                                                                 |--> operations by name, with their rights and audit

Endpoints of the official interface that mean nothing here answer 501 (elsewhere.py). Facts about the interface: the published
description of api.supabase.com/api/v1, and what the command line 3.1 sends.
"""
