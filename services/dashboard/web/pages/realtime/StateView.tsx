import { useOperation } from "../../api/hooks.ts";
import { Card, Figure, KeyValue } from "../../components/basics.tsx";
import { EmptyState, Note, QueryView } from "../../components/states.tsx";
import { formatBytes, formatNumber, formatSpan } from "../../format.ts";
import type { RealtimeLimits, RealtimeState } from "../../generated/operations.ts";
import { realtimeTexts } from "./texts.ts";

const texts = realtimeTexts.state;
const refreshMs = 5_000;

/** Sockets, deliveries, the reader of the change log, and the limits in force. */
export function StateView() {
  const state = useOperation("realtime.state", {}, { refreshEvery: refreshMs });
  return (
    <QueryView
      query={state}
      isEmpty={(data) => !data.is_enabled}
      empty={<EmptyState icon="radio" title={texts.off}>{texts.offText}</EmptyState>}
    >
      {(data) => <State state={data} />}
    </QueryView>
  );
}

function State({ state }: { state: RealtimeState }) {
  const { figures, slot, publication } = state;
  return (
    <>
      {!state.has_leader && <Note kind="warn">{texts.leader} {texts.missing}. {texts.missingHint}</Note>}
      <div className="figures">
        <Figure label={texts.sockets} value={formatNumber(figures.sockets)} />
        <Figure label={texts.channels} value={formatNumber(figures.channels)} />
        <Figure label={texts.deliveries} value={formatNumber(figures.deliveries)} />
        <Figure
          label={texts.dropped}
          value={formatNumber(figures.dropped)}
          tone={figures.dropped > 0 ? "warn" : "neutral"}
        />
        <Figure label={texts.lag} value={slot ? formatBytes(slot.lag_bytes) : "–"} />
        <Figure label={texts.unconfirmed} value={formatNumber(state.unconfirmed)} />
      </div>
      <div className="realtime-cards">
        <Card title={texts.publication}>
          {publication === null ? <p className="soft">{texts.noPublication}</p> : (
            <KeyValue
              entries={Object.entries(publication).map(([name, value]) => [name.replaceAll("_", " "), spelled(value)])}
            />
          )}
        </Card>
        <Card title={texts.slot}>
          {slot === null ? <p className="soft">{texts.noSlot}</p> : (
            <KeyValue
              entries={[
                ["name", <code key="name">{slot.name}</code>],
                [texts.leader, slot.is_active ? texts.running : texts.missing],
                [texts.lag, formatBytes(slot.lag_bytes)],
                ["current LSN", <code key="current">{slot.current_lsn}</code>],
                ["confirmed LSN", <code key="confirmed">{slot.confirmed_lsn ?? "–"}</code>],
              ]}
            />
          )}
        </Card>
        <Card title={texts.limits}>
          <KeyValue
            entries={(Object.keys(texts.names) as (keyof RealtimeLimits)[]).map((name) => [
              texts.names[name],
              name === "retention_s" ? formatSpan(state.limits[name]) : spelled(state.limits[name]),
            ])}
          />
        </Card>
      </div>
    </>
  );
}

function spelled(value: boolean | number | string): string {
  return typeof value === "boolean"
    ? (value ? texts.yes : texts.no)
    : typeof value === "number"
    ? formatNumber(value)
    : value;
}
