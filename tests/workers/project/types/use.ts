import { createClient } from "@supabase/supabase-js"
import { Constants, type Database, type Tables, type TablesInsert, type TablesUpdate, type Enums, type CompositeTypes, type Json } from "./database"
const client = createClient<Database>("http://localhost", "key")

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const same = <A, B>(_: Same<A, B>) => undefined

async function tables() {
  const { data } = await client.from("posts").select("id, title, author:authors(name, mood), boss").eq("title", "x").single()
  const name: string = data!.author.name
  const mood: "sad" | "ok" | 'very "happy"' = data!.author.mood
  await client.from("posts").insert({ author: "a", title: "b" })
  // @ts-expect-error title is missing
  await client.from("posts").insert({ author: "a" })
  // @ts-expect-error id is always made
  await client.from("posts").update({ id: 3 })
  // @ts-expect-error words are generated
  await client.from("posts").insert({ author: "a", title: "b", words: 3 })
  await client.from("posts").insert({ author: "a", title: "b", serial_no: 3 })
  // @ts-expect-error there is no such label
  await client.from("authors").insert({ name: "a", mood: "glad" })
  // @ts-expect-error there is no such table
  client.from("nowhere")
  const { data: odd } = await client.from("Odd Table").select("*").single()
  same<NonNullable<typeof odd>["docs"], Json[] | null>(true)
  same<NonNullable<typeof odd>["doc"], NonNullable<Json>>(true)
  same<NonNullable<typeof odd>["moods"], Enums<"mood">[]>(true)
  same<NonNullable<typeof odd>["home"], CompositeTypes<"address"> | null>(true)
  same<NonNullable<typeof odd>["iv"], string | null>(true)
  same<NonNullable<typeof odd>["ip"], unknown>(true)
  await client.from("Odd Table").insert({ doc: { a: 1 }, moods: ["ok"], "with space": 1, homes: [{ street: "x", zip: 1, mood: null }] })
  return [name, mood]
}

async function relationships() {
  const { data: profile } = await client.from("authors").select("name, profiles(bio)").single()
  same<NonNullable<typeof profile>["profiles"], { bio: string | null } | null>(true)
  const { data: authors } = await client.from("authors").select("name, posts(title)")
  same<NonNullable<typeof authors>[0]["posts"], { title: string }[]>(true)
  const { data: badge } = await client.from("badges").select("label, members(role)").single()
  same<NonNullable<typeof badge>["members"], { role: Enums<"mood"> } | null>(true)
  const { data: liked } = await client.from("authors").select("name, liked:posts!likes(title)").single()
  same<NonNullable<typeof liked>["liked"], { title: string }[]>(true)
}

async function views() {
  const { data } = await client.from("titles").select("author_name, title").single()
  same<NonNullable<typeof data>["author_name"], string>(true)
  await client.from("simple").insert({ title: "x" })
  // @ts-expect-error loud is computed
  await client.from("simple").insert({ title: "x", loud: "X" })
  // @ts-expect-error a grouped view takes no rows
  await client.from("grouped").insert({ n: 1 })
  await client.from("by_trigger").insert({ n: 1 })
  // @ts-expect-error its trigger takes no updates
  await client.from("by_trigger").update({ n: 1 })
}

async function functions() {
  const { data: sum } = await client.rpc("add", { a: 1 })
  same<typeof sum, number | null>(true)
  const { data: found } = await client.rpc("search_posts", { term: "x" }).select("id, title")
  const first: number = found![0].id
  const { data: one } = await client.rpc("one_post", { id: 1 })
  same<NonNullable<typeof one>["title"], string>(true)
  const { data: pairs } = await client.rpc("pairs")
  same<typeof pairs, { k: string; v: number }[] | null>(true)
  const { data: none } = await client.rpc("nothing")
  same<typeof none, undefined | null>(true)
  const { data: moods } = await client.rpc("moods")
  same<typeof moods, Enums<"mood">[] | null>(true)
  const { data: address } = await client.rpc("addr")
  same<NonNullable<typeof address>["street"], string | null>(true)
  const { data: numbers } = await client.rpc("arr", { a: [1, 2] })
  same<typeof numbers, number[] | null>(true)
  const { data: out } = await client.rpc("one_out", { a: 1 })
  same<typeof out, { b: string } | null>(true)
  const { data: row } = await client.rpc("view_rows").limit(1).single()
  same<NonNullable<typeof row>["author_name"], string>(true)
  const { data: js } = await client.rpc("js")
  same<typeof js, Json>(true)
  const { data: either } = await client.rpc("amb", { b: "x" })
  same<typeof either, string | null>(true)
  // @ts-expect-error term is missing
  await client.rpc("search_posts", { lim: 1 })
  // @ts-expect-error there is no such function
  await client.rpc("hidden")
  // @ts-expect-error arguments cannot tell which of the two is meant
  const both: string = (await client.rpc("both", { a: 1 })).data
  return [first, both]
}

async function helpers() {
  const { data: thing } = await client.schema("api").from("things").select("*").single()
  const m: Enums<"mood"> | null = thing!.mood
  const row: Tables<"posts"> = null as never
  const t: string = row.title
  const v: Tables<"simple">["loud"] = null
  const ins: TablesInsert<"authors"> = { name: "x" }
  const upd: TablesUpdate<{ schema: "api" }, "things"> = { id: 1 }
  const p: CompositeTypes<"point3"> = { x: 1, y: null, z: 2, moods: ["ok"] }
  const c: readonly ["sad", "ok", 'very "happy"'] = Constants.public.Enums.mood
  const j: Json = { a: [1, null] }
  return [m, t, v, ins, upd, p, c, j]
}
export { tables, relationships, views, functions, helpers }
