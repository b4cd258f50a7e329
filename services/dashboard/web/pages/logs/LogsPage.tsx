import { lazy } from "react";
import { useSubpath } from "../../address.tsx";
import { RequestTrace } from "./RequestTrace.tsx";
import { SearchPage } from "./SearchPage.tsx";
import "uplot/dist/uPlot.min.css";
import "./logs.css";

const SqlPage = lazy(async () => ({ default: (await import("./SqlPage.tsx")).SqlPage }));

/** Log lines: `logs` searches and follows them, `logs/sql` asks for them by SQL, `logs/request/<id>` shows one request through all parts. */
export default function LogsPage() {
  const [part, id] = useSubpath();
  if (part === "sql") return <SqlPage />;
  return part === "request" && id ? <RequestTrace id={id} /> : <SearchPage />;
}
