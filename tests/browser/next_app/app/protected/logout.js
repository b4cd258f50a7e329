"use client";
import { useRouter } from "next/navigation";
import { supabase } from "../../lib/browser.js";

export default function Logout() {
  const router = useRouter();
  const leave = async () => {
    await supabase().auth.signOut();
    router.push("/");
  };
  return <button onClick={leave}>Logout</button>;
}
