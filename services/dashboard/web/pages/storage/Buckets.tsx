import { useState } from "react";
import { pathOf, useGo, useSearch } from "../../address.tsx";
import { useDelayed } from "../../api/delayed.ts";
import { useChange, useMay, useOperation } from "../../api/hooks.ts";
import { Badge, Card, Figure, PageHeader, Toolbar } from "../../components/basics.tsx";
import { Button, IconButton } from "../../components/Button.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { confirm } from "../../components/Dialog.tsx";
import { SearchField } from "../../components/Field.tsx";
import { Menu } from "../../components/Menu.tsx";
import { EmptyState, ErrorState, Loading } from "../../components/states.tsx";
import { Time } from "../../components/Time.tsx";
import { formatBytes, formatNumber } from "../../format.ts";
import type { BucketSummary } from "../../generated/operations.ts";
import { BucketForm } from "./BucketForm.tsx";
import { useBuckets } from "./lists.ts";
import { storageTexts } from "./texts.ts";
import { Unfinished } from "./Unfinished.tsx";

const texts = storageTexts.buckets;

/** All buckets, what they hold together, and uploads that have not ended. */
export function Buckets() {
  const [search, changeSearch] = useSearch();
  const [form, setForm] = useState<BucketSummary | "new" | null>(null);
  const mayChange = useMay("storage.create_bucket");
  const go = useGo();
  const text = search["find"] ?? "";
  const pages = useBuckets(useDelayed(text));
  const rows = pages.data?.pages.flatMap((page) => page.rows) ?? [];
  const create = <Button icon="plus" variant="primary" onPress={() => setForm("new")}>{texts.create}</Button>;
  const columns = useColumns(mayChange, setForm);
  return (
    <>
      <PageHeader title={storageTexts.title} actions={mayChange && create} />
      <Usage />
      <Card isFlush>
        <Toolbar label={storageTexts.filters}>
          <SearchField label={texts.search} value={text} onChange={(find) => changeSearch({ find })} />
        </Toolbar>
        {pages.data === undefined
          ? pages.error ? <ErrorState error={pages.error} onRetry={() => void pages.refetch()} /> : <Loading />
          : rows.length === 0
          ? (
            <EmptyState icon={text ? "search" : "box"} title={text ? texts.noMatch : texts.none}>
              {!text && texts.noneText}
            </EmptyState>
          )
          : (
            <DataTable
              label={texts.title}
              columns={columns}
              rows={rows}
              keyOf={({ id }) => id}
              onOpen={({ id }) => go(pathOf("storage", id))}
              onEnd={() => pages.hasNextPage && !pages.isFetching && void pages.fetchNextPage()}
              height={rows.length < 12 ? "auto" : "28rem"}
            />
          )}
      </Card>
      <Unfinished />
      {form && <BucketForm bucket={form === "new" ? null : form} onClose={() => setForm(null)} />}
    </>
  );
}

function Usage() {
  const { data } = useOperation("storage.usage", {});
  const usage = storageTexts.usage;
  if (!data) return null;
  return (
    <div className="figures">
      <Figure
        label={usage.bytes}
        value={formatBytes(data.bytes)}
        hint={data.quota === null ? usage.noQuota : `${usage.quota}: ${formatBytes(data.quota)}`}
      />
      <Figure label={usage.objects} value={formatNumber(data.objects)} />
      <Figure label={usage.unfinished} value={formatBytes(data.unfinished_bytes)} />
    </div>
  );
}

function useColumns(
  mayChange: boolean,
  onEdit: (bucket: BucketSummary) => void,
): readonly Column<BucketSummary>[] {
  const invalidates = ["storage."] as const;
  const empty = useChange("storage.empty_bucket", {
    invalidates,
    doneText: (_, { bucket }) => texts.emptied(bucket),
  });
  const remove = useChange("storage.delete_bucket", {
    invalidates,
    doneText: (_, { bucket }) => texts.deleted(bucket),
  });
  const destroy = async (bucket: string, title: string, body: string, act: typeof empty) => {
    if (await confirm({ title, body, names: [bucket], typeName: bucket, action: title })) act.mutate({ bucket });
  };
  const menu = ({ id, ...rest }: BucketSummary) => (
    <Menu
      label={id}
      button={<IconButton icon="more" size="small" label={storageTexts.objects.actions(id)} />}
      entries={[
        { id: "edit", label: texts.edit, icon: "edit", onAction: () => onEdit({ id, ...rest }) },
        {
          id: "empty",
          label: texts.empty,
          icon: "archive",
          isDanger: true,
          onAction: () => void destroy(id, texts.empty, texts.emptyText, empty),
        },
        {
          id: "delete",
          label: texts.delete,
          icon: "trash",
          isDanger: true,
          onAction: () => void destroy(id, texts.delete, texts.deleteText, remove),
        },
      ]}
    />
  );
  return mayChange ? [...columns, { id: "menu", title: "", name: texts.edit, cell: menu, width: "3rem" }] : columns;
}

const columns: readonly Column<BucketSummary>[] = [
  { id: "name", title: texts.name, cell: ({ id }) => <span className="cut">{id}</span>, width: "minmax(8rem, 2fr)" },
  {
    id: "access",
    title: texts.access,
    cell: (bucket) =>
      bucket.public
        ? <Badge tone="warn" icon="globe">{texts.public}</Badge>
        : <Badge icon="lock">{texts.private}</Badge>,
    width: "7rem",
  },
  {
    id: "objects",
    title: texts.objects,
    cell: ({ objects }) => <span className="number">{formatNumber(objects)}</span>,
    width: "6rem",
    align: "end",
    isMinor: true,
  },
  {
    id: "bytes",
    title: texts.bytes,
    cell: ({ bytes }) => <span className="number">{formatBytes(bytes)}</span>,
    width: "6rem",
    align: "end",
  },
  {
    id: "limit",
    title: texts.limit,
    cell: ({ file_size_limit }) => (
      <span className="number soft">{file_size_limit === null ? "" : formatBytes(file_size_limit)}</span>
    ),
    width: "8rem",
    align: "end",
    isMinor: true,
  },
  {
    id: "updated",
    title: texts.updated,
    cell: ({ updated_at }) => <Time value={updated_at} />,
    width: "9rem",
    isMinor: true,
  },
];
