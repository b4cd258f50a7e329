import { useSearch } from "../../address.tsx";
import { Card } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { Menu } from "../../components/Menu.tsx";
import { QueryView } from "../../components/states.tsx";
import type { RequestSeries } from "../../generated/operations.ts";
import { useHourFigures } from "./hourFigures.ts";
import RequestCharts from "./RequestCharts.tsx";
import { homeTexts } from "./texts.ts";

const texts = homeTexts.hour;

/** Requests, errors and times of the last hour as charts, of all pools or of one. */
export default function LastHour() {
  const [search] = useSearch();
  const pool = search["pool"] ?? "";
  const series = useHourFigures(pool);
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
    <Menu
      label={texts.pool}
      button={<Button size="small" icon="filter">{texts.pool}: {pool === "" ? texts.all : pool}</Button>}
      entries={["", ...names].map((id) => ({
        id: id || "all",
        label: id || texts.all,
        onAction: () => changeSearch({ pool: id }),
      }))}
    />
  );
}
