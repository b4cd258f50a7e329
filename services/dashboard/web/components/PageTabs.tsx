import { type ElementType, Suspense } from "react";
import { useGo, useSubpath } from "../address.tsx";
import { Loading } from "./states.tsx";
import { Tabs } from "./Tabs.tsx";

/** The parts of a page as tabs, each loaded when it is chosen. The address of a part is `path/id`, and `path` shows the first. */
export function PageTabs<Part extends string>({ path, label, parts, titles }: {
  path: string;
  label: string;
  parts: Readonly<Partial<Record<Part, ElementType>>>;
  titles: Readonly<Record<Part, string>>;
}) {
  const [part] = useSubpath();
  const go = useGo();
  const entries = Object.entries(parts) as [Part, ElementType][];
  return (
    <Tabs
      label={label}
      selected={(entries.find(([id]) => id === part) ?? entries[0]!)[0]}
      onSelect={(id) => go(`${path}/${id}`)}
      tabs={entries.map(([id, Content]) => ({
        id,
        title: titles[id],
        content: (
          <Suspense fallback={<Loading />}>
            <Content />
          </Suspense>
        ),
      }))}
    />
  );
}
