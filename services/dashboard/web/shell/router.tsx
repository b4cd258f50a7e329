import { createRootRoute, createRoute, createRouter, lazyRouteComponent, useRouterState } from "@tanstack/react-router";
import { dashboardPath } from "../api/address.ts";
import { useMe } from "../api/hooks.ts";
import { Link } from "../address.tsx";
import { PageHeader } from "../components/basics.tsx";
import { CrashGuard, EmptyState, ErrorState, Loading } from "../components/states.tsx";
import { pages } from "../pages.ts";
import { texts } from "../texts.ts";
import { isClosed } from "./listedPages.ts";
import type { PageEntry } from "./page.ts";
import { loadPageStyles } from "./pageStyles.ts";
import { Shell } from "./Shell.tsx";

/** Make the router of all pages: each serves its path and everything below it. */
export function makeRouter() {
  const root = createRootRoute({ component: Shell, notFoundComponent: NotFound });
  const routes = pages.flatMap((page) => {
    const component = lazyRouteComponent(async () => {
      const [content] = await Promise.all([page.load(), page.path === "" ? undefined : loadPageStyles()]);
      return { default: guarded(page, content.default) };
    });
    const paths = page.path === "" ? ["/", "sign-in"] : [`/${page.path}`, `/${page.path}/$`];
    return paths.map((path) => createRoute({ getParentRoute: () => root, path, component }));
  });
  return createRouter({
    routeTree: root.addChildren(routes),
    basepath: dashboardPath || "/",
    defaultPreload: "intent",
    defaultPendingComponent: () => <Loading />,
    defaultPendingMs: 150,
    defaultErrorComponent: ({ error }) => <ErrorState error={error} onRetry={() => location.reload()} />,
    scrollRestoration: true,
    parseSearch: parseValues,
    stringifySearch: formatValues,
    trailingSlash: "never",
  });
}

function guarded(page: PageEntry, Content: PageEntry["load"] extends () => Promise<{ default: infer C }> ? C : never) {
  return function GuardedPage() {
    const path = useRouterState({ select: (state) => state.location.pathname });
    const me = useMe();
    if (isClosed(page, me)) return <ClosedPage page={page} role={me.role?.name ?? ""} />;
    return (
      <CrashGuard name={`${page.path} ${path}`}>
        <Content />
      </CrashGuard>
    );
  };
}

function ClosedPage({ page, role }: { page: PageEntry; role: string }) {
  return (
    <>
      <PageHeader title={page.title} />
      <EmptyState
        icon="lock"
        title={texts.shell.closed(page.title)}
        action={<Link to="">{texts.shell.home}</Link>}
      >
        {texts.shell.closedHint(role, page.areas.join(", "))}
      </EmptyState>
    </>
  );
}

function NotFound() {
  return (
    <>
      <PageHeader title={texts.shell.notFound} />
      <EmptyState title={texts.shell.notFound} action={<Link to="">{texts.shell.home}</Link>}>
        {texts.shell.notFoundHint}
      </EmptyState>
    </>
  );
}

/** Read what stands after `?` as plain texts: addresses stay readable, and a value is never taken for a number. */
function parseValues(search: string): { [name: string]: string } {
  return Object.fromEntries(new URLSearchParams(search));
}

function formatValues(values: { [name: string]: unknown }): string {
  const text = new URLSearchParams(Object.entries(values).map(([name, value]) => [name, String(value)])).toString();
  return text && `?${text}`;
}
