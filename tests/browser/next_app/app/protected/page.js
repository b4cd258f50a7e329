import { redirect } from "next/navigation";
import { Suspense } from "react";
import { supabase } from "../../lib/server.js";
import Logout from "./logout.js";

async function Claims() {
  const { data } = await (await supabase()).auth.getClaims();
  if (!data?.claims) redirect("/");
  return <p>Signed in as {data.claims.email}</p>;
}

export default function Protected() {
  return <main><Suspense><Claims /></Suspense><Logout /></main>;
}
