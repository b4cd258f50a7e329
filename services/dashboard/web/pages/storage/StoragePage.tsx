import { useSubpath } from "../../address.tsx";
import { Bucket } from "./Bucket.tsx";
import { Buckets } from "./Buckets.tsx";
import "./storage.css";

/** All buckets, or the files of one. */
export default function StoragePage() {
  const [bucket] = useSubpath();
  return bucket === undefined ? <Buckets /> : <Bucket key={bucket} bucket={bucket} />;
}
