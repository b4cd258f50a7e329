import { createServerClient } from "@supabase/ssr";
import { cookies } from "next/headers";

export async function supabase() {
  const store = await cookies();
  return createServerClient(process.env.NEXT_PUBLIC_SUPABASE_URL, process.env.NEXT_PUBLIC_SUPABASE_PUBLISHABLE_KEY, {
    cookies: {
      getAll: () => store.getAll(),
      setAll: (changed) => {
        try {
          for (const { name, value, options } of changed) store.set(name, value, options);
        } catch {
          // A page cannot set cookies; the proxy has.
        }
      },
    },
  });
}
