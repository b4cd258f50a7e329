import { createClient } from "@supabase/supabase-js"
import { Constants, type Database, type Tables, type TablesInsert, type TablesUpdate, type Enums, type CompositeTypes, type Json } from "./database"
const client = createClient<Database>("http://localhost", "key")
async function main() {
  const { data } = await client.from("posts").select("id, title, author:authors(name, mood), boss").eq("title", "x").single()
  const name: string = data!.author.name
  const mood: "sad" | "ok" | 'very "happy"' = data!.author.mood
  await client.from("posts").insert({ author: "a", title: "b" })
  // @ts-expect-error title is missing
  await client.from("posts").insert({ author: "a" })
  // @ts-expect-error id is always made
  await client.from("posts").update({ id: 3 })
  const { data: sum } = await client.rpc("add", { a: 1 })
  const n: number | null = sum
  const { data: found } = await client.rpc("search_posts", { term: "x" }).select("id, title")
  const first: number = found![0].id
  const { data: thing } = await client.schema("api").from("things").select("*").single()
  const m: Enums<"mood"> | null = thing!.mood
  const row: Tables<"posts"> = null as never
  const t: string = row.title
  const v: Tables<"titles">["author_name"] = null
  const ins: TablesInsert<"authors"> = { name: "x" }
  const upd: TablesUpdate<{ schema: "api" }, "things"> = { id: 1 }
  const p: CompositeTypes<"point3"> = { x: 1, y: null, z: 2, moods: ["ok"] }
  const c: readonly ["sad", "ok", 'very "happy"'] = Constants.public.Enums.mood
  const j: Json = { a: [1, null] }
  return [name, mood, n, first, m, t, v, ins, upd, p, c, j]
}
main()
