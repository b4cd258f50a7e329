"use client";
import Link from "next/link";
import { useRouter } from "next/navigation";
import { supabase } from "../lib/browser.js";

export default function Home() {
  const router = useRouter();
  const signIn = async (event) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const { error } = await supabase().auth.signInWithPassword({ email: form.get("email"), password: form.get("password") });
    if (error) document.title = error.message;
    else router.push("/protected");
  };
  return (
    <main>
      <h1>Welcome</h1>
      <form onSubmit={signIn}>
        <input name="email" aria-label="Email" /><input name="password" type="password" aria-label="Password" />
        <button>Login</button>
      </form>
      <Link href="/protected" prefetch={false}>Protected page</Link>
    </main>
  );
}
