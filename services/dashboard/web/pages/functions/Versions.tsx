import { useState } from "react";
import { useChange, useMay, useOperation } from "../../api/hooks.ts";
import { Badge, Card } from "../../components/basics.tsx";
import { IconButton } from "../../components/Button.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { confirm, Dialog } from "../../components/Dialog.tsx";
import { Menu } from "../../components/Menu.tsx";
import { EmptyState, QueryView } from "../../components/states.tsx";
import { Time } from "../../components/Time.tsx";
import { formatBytes } from "../../format.ts";
import type { Version } from "../../generated/operations.ts";
import { Differences } from "./Deploy.tsx";
import { functionsTexts as texts } from "./texts.ts";

/** The deployed versions, the newest first; older ones are compared and run again. */
export function Versions({ name }: { name: string }) {
  const versions = useOperation("functions.versions", { name });
  const [compared, setCompared] = useState<number | null>(null);
  const mayRollBack = useMay("functions.roll_back");
  const roll = useChange("functions.roll_back", {
    invalidates: ["functions."],
    doneText: ({ version }) => texts.deployed(version?.number ?? 0),
  });
  const rollBack = async (version: number) => {
    const question = {
      title: texts.rollBackTitle(version),
      body: texts.rollBackText,
      action: texts.rollBack,
      isDanger: false,
    };
    if (await confirm(question)) roll.mutate({ name, version });
  };
  const columns: readonly Column<Version>[] = [
    {
      id: "version",
      title: texts.version,
      cell: ({ number, is_active }) => (
        <span className="functions-badges">
          <span className="number">{number}</span>
          {is_active && <Badge tone="good">{texts.running}</Badge>}
        </span>
      ),
    },
    { id: "at", title: texts.deployedAt, cell: ({ at }) => <Time value={at} /> },
    { id: "size", title: texts.size, cell: ({ size }) => formatBytes(size), width: "6rem", align: "end" },
    {
      id: "menu",
      title: "",
      name: texts.rollBack,
      cell: ({ number, is_active }) =>
        !is_active && (
          <Menu
            label={texts.versionActions(number)}
            button={<IconButton icon="more" size="small" label={texts.versionActions(number)} />}
            entries={[
              { id: "compare", label: texts.compare, icon: "columns", onAction: () => setCompared(number) },
              ...(mayRollBack
                ? [{
                  id: "roll",
                  label: texts.rollBack,
                  icon: "restore" as const,
                  onAction: () => void rollBack(number),
                }]
                : []),
            ]}
          />
        ),
      width: "3rem",
    },
  ];
  return (
    <Card isFlush>
      <QueryView
        query={versions}
        isEmpty={(rows) => rows.length === 0}
        empty={<EmptyState icon="layers" title={texts.noVersions}>{texts.notDeployedText}</EmptyState>}
      >
        {(rows) => (
          <DataTable
            label={texts.tabs.versions}
            columns={columns}
            rows={rows}
            keyOf={({ number }) => String(number)}
            height="auto"
          />
        )}
      </QueryView>
      {compared !== null && <Compare name={name} version={compared} onClose={() => setCompared(null)} />}
    </Card>
  );
}

function Compare({ name, version, onClose }: { name: string; version: number; onClose: () => void }) {
  const differences = useOperation("functions.differences", { name, before: version });
  return (
    <Dialog title={texts.compare} isOpen size="large" onClose={onClose}>
      <QueryView query={differences}>{(data) => <Differences differences={data} />}</QueryView>
    </Dialog>
  );
}
