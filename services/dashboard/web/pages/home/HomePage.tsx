import { useMe } from "../../api/hooks.ts";
import { PageHeader } from "../../components/basics.tsx";

export default function HomePage() {
  const me = useMe();
  return <PageHeader title="Home">{me.name}</PageHeader>;
}
