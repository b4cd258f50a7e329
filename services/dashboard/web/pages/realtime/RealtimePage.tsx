/** Realtime: a channel joined as an application, which tables are published, the shapes of sync, and the state of the service. */

import { useGo, useSubpath } from "../../address.tsx";
import { PageHeader } from "../../components/basics.tsx";
import { CallerMenu } from "../../components/Caller.tsx";
import { Tabs } from "../../components/Tabs.tsx";
import { Inspector } from "./Inspector.tsx";
import { PublishedTables } from "./PublishedTables.tsx";
import { ShapesView } from "./ShapesView.tsx";
import { StateView } from "./StateView.tsx";
import { realtimeTexts as texts } from "./texts.ts";
import "./realtime.css";

const parts = { channel: Inspector, tables: PublishedTables, shapes: ShapesView, state: StateView };
const ids = Object.keys(parts) as (keyof typeof parts)[];

export default function RealtimePage() {
  const [part] = useSubpath();
  const go = useGo();
  const selected = ids.find((id) => id === part) ?? "channel";
  return (
    <>
      <PageHeader title={texts.title} actions={selected === "channel" && <CallerMenu />} />
      <Tabs
        label={texts.title}
        selected={selected}
        onSelect={(id) => go(`realtime/${id}`)}
        tabs={ids.map((id) => {
          const Content = parts[id];
          return { id, title: texts.tabs[id], content: <Content /> };
        })}
      />
    </>
  );
}
