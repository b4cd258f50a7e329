import { useSearch } from "../../address.tsx";
import { useChange, useMay, useOperation } from "../../api/hooks.ts";
import { Badge, Card, Figure, KeyValue } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { confirm, Dialog } from "../../components/Dialog.tsx";
import { EmptyState, QueryView } from "../../components/states.tsx";
import { formatBytes, formatNumber, formatSpan } from "../../format.ts";
import type { ShapeDescription, ShapeList } from "../../generated/operations.ts";
import { realtimeTexts } from "./texts.ts";

const texts = realtimeTexts.shapes;
const refreshMs = 5_000;
const most = 500;

/** Shapes of sync: whose they are, how large, how many requests wait for changes; one can be ended. */
export function ShapesView() {
  const shapes = useOperation("sync.shapes", { limit: most }, { refreshEvery: refreshMs, keepsPrevious: true });
  return (
    <QueryView
      query={shapes}
      isEmpty={(data) => data.total === 0}
      empty={<EmptyState icon="layers" title={texts.none}>{texts.noneText}</EmptyState>}
    >
      {(data) => <Shapes list={data} />}
    </QueryView>
  );
}

function Shapes({ list }: { list: ShapeList }) {
  const [search, changeSearch] = useSearch();
  const open = list.shapes.find(({ handle }) => handle === search["open"]);
  return (
    <>
      <div className="figures">
        <Figure label={texts.count} value={formatNumber(list.total)} />
        <Figure label={texts.waiting} value={formatNumber(list.waiting)} />
        <Figure label={texts.size} value={formatBytes(list.total_bytes)} />
      </div>
      <Card title={texts.title} isFlush>
        <DataTable
          label={texts.title}
          columns={columns}
          rows={list.shapes}
          keyOf={({ handle }) => handle}
          openKey={search["open"] ?? null}
          onOpen={({ handle }) => changeSearch({ open: handle }, false)}
          height={`${Math.min(list.shapes.length, 16) * 33 + 36}px`}
        />
      </Card>
      {list.total > list.shapes.length && <p className="soft">{texts.cut(list.shapes.length)}</p>}
      {open && <ShapeDialog shape={open} onClose={() => changeSearch({ open: null })} />}
    </>
  );
}

function ShapeDialog({ shape, onClose }: { shape: ShapeDescription; onClose: () => void }) {
  const mayEnd = useMay("sync.end_shape");
  const end = useChange("sync.end_shape", { invalidates: ["sync."], doneText: texts.ended, onDone: onClose });
  const name = nameOf(shape);
  const isEnding = end.isPending;
  const onEnd = async () => {
    const question = { title: texts.endTitle(name), body: texts.endText(shape.waiting), action: texts.end };
    if (await confirm({ ...question, names: [whoseOf(shape)] })) end.mutate({ handle: shape.handle });
  };
  return (
    <Dialog
      title={name}
      isOpen
      size="side"
      onClose={onClose}
      footer={mayEnd && <Button icon="stop" onPress={() => void onEnd()} isDisabled={isEnding}>{texts.end}</Button>}
    >
      <KeyValue
        entries={[
          [texts.whose, texts.sharedBy[shape.shared_by as keyof typeof texts.sharedBy]],
          [texts.role, shape.role],
          ...Object.entries(shape.claims).map(([claim, value]): [string, string] => [
            texts.claim(claim),
            typeof value === "string" ? value : JSON.stringify(value),
          ]),
          [texts.where, <code key="where">{shape.where || texts.allRows}</code>],
          ...shape.params.map((value, place): [string, string] => [`$${place + 1}`, value ?? "null"]),
          [texts.columns, shape.columns.join(", ")],
          [texts.kind, [`replica=${shape.replica}`, `log=${shape.log}`, shape.has_tags ? "etags" : ""].join(" ")],
          [texts.rows, formatBytes(shape.snapshot_bytes)],
          [texts.size, formatBytes(shape.total_bytes)],
          [texts.age, formatSpan(shape.age_s)],
          [texts.handle, <code key="handle">{shape.handle}</code>],
        ]}
      />
    </Dialog>
  );
}

const columns: readonly Column<ShapeDescription>[] = [
  { id: "table", title: texts.table, cell: (shape) => <code className="cut">{nameOf(shape)}</code> },
  {
    id: "whose",
    title: texts.whose,
    width: "minmax(8rem, 2fr)",
    cell: (shape) => <span className="cut" title={whoseOf(shape)}>{whoseOf(shape)}</span>,
  },
  {
    id: "where",
    title: texts.where,
    width: "minmax(8rem, 2fr)",
    isMinor: true,
    cell: ({ where }) => where && <code className="cut" title={where}>{where}</code>,
  },
  {
    id: "state",
    title: texts.state,
    width: "7rem",
    isMinor: true,
    cell: ({ state, is_behind: isBehind }) =>
      state === "building"
        ? <Badge>{texts.building}</Badge>
        : isBehind
        ? <Badge tone="warn">{texts.behind}</Badge>
        : texts.live,
  },
  figure("waiting", texts.waiting, ({ waiting }) => formatNumber(waiting)),
  figure("size", texts.size, ({ total_bytes: bytes }) => formatBytes(bytes)),
  { ...figure("used", texts.used, ({ idle_s: idle }) => idle === null ? "–" : formatSpan(idle)), isMinor: true },
];

function figure(id: string, title: string, of: (shape: ShapeDescription) => string): Column<ShapeDescription> {
  return { id, title, width: "6.5rem", align: "end", cell: (shape) => <span className="number">{of(shape)}</span> };
}

function nameOf({ schema, table }: ShapeDescription): string {
  return schema === "public" ? table : `${schema}.${table}`;
}

/** The role, and the claim by which its callers differ, if there is one. */
function whoseOf({ role, claims }: ShapeDescription): string {
  const subject = claims["sub"];
  const shown = typeof subject === "string" ? subject : Object.keys(claims).length > 0 ? JSON.stringify(claims) : "";
  return shown === "" ? role : `${role} ${shown}`;
}
