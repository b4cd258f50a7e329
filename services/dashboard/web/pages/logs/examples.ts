/** Queries over log lines to begin with; their names are in texts.ts. */

export const examples = [
  {
    id: "areas",
    sql: `select area, count(*) as lines, sum(level = 'error') as errors,
  round(avg(duration_ms), 1) as mean_ms, max(duration_ms) as slowest_ms
from lines
group by area
order by lines desc`,
  },
  {
    id: "slow",
    sql: `select at, area, status, duration_ms, text, request_id
from lines
where duration_ms is not null
order by duration_ms desc
limit 50`,
  },
  {
    id: "minutes",
    sql: `select strftime('%Y-%m-%d %H:%M', at) as minute, count(*) as lines, sum(status >= 500) as failed
from lines
group by minute
order by minute desc`,
  },
  {
    id: "clients",
    sql: `select fields ->> 'client' as client, count(*) as requests, sum(status >= 400) as refused
from lines
where fields ->> 'client' is not null
group by client
order by requests desc
limit 50`,
  },
] as const;
