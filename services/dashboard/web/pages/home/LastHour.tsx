import { useSearch } from "../../address.tsx";
import { useOperation } from "../../api/hooks.ts";
import { Card } from "../../components/basics.tsx";
import { Select } from "../../components/Select.tsx";
import { QueryView } from "../../components/states.tsx";
import type { RequestSeries } from "../../generated/operations.ts";
import RequestCharts from "./RequestCharts.tsx";
import { homeTexts } from "./texts.ts";

const texts = homeTexts.hour;

/** Requests, errors and times of the last hour as charts, of all pools or of one. */
export default function LastHour() {
  const [search] = useSearch();
  const pool = search["pool"] ?? "";
  const series = useOperation("platform.figures", { pool }, { refreshEvery: 30_000, keepsPrevious: true });
  return (
    <Card title={texts.title} actions={series.data && <PoolChoice pool={pool} series={series.data} />}>
      <QueryView query={series}>
        {(data) =>
          data.points.length === 0 ? <p className="soft">{texts.none}</p> : <RequestCharts points={data.points} />}
      </QueryView>
    </Card>
  );
}

function PoolChoice({ pool, series: { pools } }: { pool: string; series: RequestSeries }) {
  const [, changeSearch] = useSearch();
  const names = pool === "" || pools.includes(pool) ? pools : [pool, ...pools];
  return (
    <Select
      label={texts.pool}
      hidesLabel
      size="small"
      choices={[{ id: "", label: texts.all }, ...names.map((id) => ({ id, label: id }))]}
      value={pool}
      onChange={(id) => changeSearch({ pool: id })}
    />
  );
}
