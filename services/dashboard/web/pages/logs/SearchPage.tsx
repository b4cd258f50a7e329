import { lazy, Suspense, useEffect, useState } from "react";
import { Link, useSearch } from "../../address.tsx";
import { useOperation } from "../../api/hooks.ts";
import { PageHeader } from "../../components/basics.tsx";
import { Button, IconButton } from "../../components/Button.tsx";
import { Icon } from "../../components/Icon.tsx";
import { formatBytes, formatNumber } from "../../format.ts";
import { useCommands } from "../../shell/commands.ts";
import { Filters } from "./Filters.tsx";
import { useCountedLines } from "./countedLines.ts";
import { useArguments } from "./filters.ts";
import { LineList } from "./LineList.tsx";
import { logsTexts as texts } from "./texts.ts";
import { useLiveLines } from "./useLines.ts";

const Histogram = lazy(() => import("./Histogram.tsx"));

/** Search, histogram and list of lines. */
export function SearchPage() {
  const [search, changeSearch] = useSearch();
  const [now, setNow] = useState(() => Date.now());
  const args = useArguments(now);
  useCountedLines(args);
  const isFollowing = search["follow"] === "1" && !args.until;
  const [isPaused, setPaused] = useState(false);
  const live = useLiveLines(args, isFollowing && !isPaused);
  const onSearchAgain = () => setNow(Date.now());
  useEffect(() => {
    if (isFollowing || live.hasGap) onSearchAgain();
  }, [isFollowing, live.hasGap]);
  const onFollow = () => {
    setPaused(false);
    changeSearch({ follow: isFollowing ? null : "1", until: null, line: null });
  };
  useCommands([{ id: "logs.follow", label: texts.live, run: onFollow }]);
  return (
    <div className="fill logs">
      <PageHeader
        title={texts.title}
        info={<Stored />}
        actions={
          <>
            {isFollowing && (
              <Button icon={isPaused ? "play" : "pause"} onPress={() => setPaused(!isPaused)}>
                {isPaused ? texts.resume : texts.pause}
              </Button>
            )}
            <Button
              variant={isFollowing ? "primary" : "plain"}
              icon="activity"
              aria-pressed={isFollowing}
              onPress={onFollow}
            >
              {texts.live}
            </Button>
            <Link to="logs/sql" search={search} className="button button-plain">
              <Icon name="terminal" /> {texts.sql.open}
            </Link>
            <IconButton icon="refresh" variant="plain" label={texts.refresh} onPress={onSearchAgain} />
          </>
        }
      />
      <section className="card card-flush logs-card">
        <Filters />
        <Suspense fallback={<div className="logs-histogram" />}>
          <Histogram args={args} now={now} />
        </Suspense>
        <LineList args={args} live={live} isFollowing={isFollowing} isPaused={isPaused} />
      </section>
    </div>
  );
}

function Stored() {
  const stored = useOperation("logs.fields", {}, { staleAfter: 60_000 });
  if (!stored.data) return null;
  return (
    <span className="faint">
      {texts.counted(formatNumber(stored.data.lines), formatBytes(stored.data.bytes))}
    </span>
  );
}
