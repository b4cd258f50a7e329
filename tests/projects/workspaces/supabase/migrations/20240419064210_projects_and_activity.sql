CREATE TABLE IF NOT EXISTS public.projects (
  id uuid DEFAULT extensions.uuid_generate_v4() NOT NULL PRIMARY KEY,
  organization_id uuid NOT NULL,
  name text NOT NULL,
  archived boolean DEFAULT false NOT NULL,
  created_at timestamptz DEFAULT timezone('utc'::text, now()) NOT NULL
);
ALTER TABLE ONLY public.projects
  ADD CONSTRAINT projects_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id) ON DELETE CASCADE NOT VALID;
ALTER TABLE public.projects VALIDATE CONSTRAINT projects_organization_id_fkey;

CREATE TABLE public.activity (
  id bigserial PRIMARY KEY,
  organization_id uuid REFERENCES public.organizations ON DELETE CASCADE,
  actor uuid,
  verb text NOT NULL,
  payload jsonb,
  at timestamptz NOT NULL DEFAULT clock_timestamp()
);

ALTER TABLE public.projects ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.activity ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.activity FORCE ROW LEVEL SECURITY;

DO $$
DECLARE
  t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['projects', 'activity'] LOOP
    EXECUTE format('CREATE POLICY "members read %1$s" ON public.%1$I FOR SELECT TO authenticated USING (private.is_member_of(organization_id))', t);
  END LOOP;
END
$$;
CREATE POLICY "members write projects" ON public.projects FOR INSERT TO authenticated WITH CHECK (private.is_member_of(organization_id));

CREATE OR REPLACE FUNCTION private.log_activity() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $body$
BEGIN
  INSERT INTO public.activity (organization_id, actor, verb, payload)
  VALUES (COALESCE(NEW.organization_id, OLD.organization_id), auth.uid(), lower(TG_OP) || ' ' || TG_TABLE_NAME,
          jsonb_build_object('old', to_jsonb(OLD), 'new', to_jsonb(NEW)));
  RETURN COALESCE(NEW, OLD);
END
$body$;
CREATE TRIGGER projects_activity AFTER INSERT OR UPDATE OR DELETE ON public.projects
  FOR EACH ROW EXECUTE FUNCTION private.log_activity();

CREATE OR REPLACE VIEW public.my_organizations WITH (security_invoker = on) AS
  SELECT o.id, o.name, o.slug, m.role, count(p.id) FILTER (WHERE NOT p.archived) AS projects
  FROM public.organizations o
  JOIN public.organization_members m ON m.organization_id = o.id AND m.user_id = (SELECT auth.uid())
  LEFT JOIN public.projects p ON p.organization_id = o.id
  GROUP BY o.id, m.role;
