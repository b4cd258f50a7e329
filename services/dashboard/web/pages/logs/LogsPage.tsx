import { useSubpath } from "../../address.tsx";
import { RequestTrace } from "./RequestTrace.tsx";
import { SearchPage } from "./SearchPage.tsx";
import "uplot/dist/uPlot.min.css";
import "./logs.css";

/** Log lines: `logs` searches and follows them, `logs/request/<id>` shows one request through all parts. */
export default function LogsPage() {
  const [part, id] = useSubpath();
  return part === "request" && id ? <RequestTrace id={id} /> : <SearchPage />;
}
