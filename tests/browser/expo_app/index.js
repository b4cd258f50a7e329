// The usual form of an application of Expo: the client keeps its session in AsyncStorage.
import AsyncStorage from "@react-native-async-storage/async-storage"
import { createClient } from "@supabase/supabase-js"
import { registerRootComponent } from "expo"
import * as DocumentPicker from "expo-document-picker"
import { useEffect, useState } from "react"
import { Pressable, Text, TextInput, View } from "react-native"

const client = createClient(process.env.EXPO_PUBLIC_SUPABASE_URL, process.env.EXPO_PUBLIC_SUPABASE_KEY, {
  auth: { storage: AsyncStorage, autoRefreshToken: true, persistSession: true, detectSessionInUrl: false },
})

function Button({ title, onPress }) {
  return (
    <Pressable accessibilityRole="button" onPress={onPress}>
      <Text>{title}</Text>
    </Pressable>
  )
}

function SignIn() {
  const [email, setEmail] = useState("")
  const [password, setPassword] = useState("")
  const [fault, setFault] = useState("")
  const signIn = async () => setFault((await client.auth.signInWithPassword({ email, password })).error?.message ?? "")
  return (
    <View>
      <TextInput accessibilityLabel="Email" autoCapitalize="none" onChangeText={setEmail} value={email} />
      <TextInput accessibilityLabel="Password" onChangeText={setPassword} secureTextEntry value={password} />
      <Button onPress={signIn} title="Sign in" />
      <Text>{fault}</Text>
    </View>
  )
}

function Chat({ user }) {
  const [messages, setMessages] = useState([])
  const [state, setState] = useState("connecting")
  const [draft, setDraft] = useState("")
  const [upload, setUpload] = useState("nothing")
  useEffect(() => {
    const channel = client
      .channel("chat")
      .on("postgres_changes", { event: "INSERT", schema: "public", table: "news", filter: "room=eq.expo" }, ({ new: row }) =>
        setMessages((before) => [...before, row.title]),
      )
      .subscribe((status) => setState(status))
    return () => {
      client.removeChannel(channel)
    }
  }, [])
  const send = async () => {
    await client.from("news").insert({ room: "expo", title: draft })
    setDraft("")
  }
  const attach = async () => {
    const picked = await DocumentPicker.getDocumentAsync()
    if (picked.canceled) return
    const [asset] = picked.assets
    const body = await (await fetch(asset.uri)).arrayBuffer()
    const { data, error } = await client.storage
      .from("pictures")
      .upload(`${user.id}/${asset.name}`, body, { contentType: asset.mimeType })
    setUpload(error?.message ?? data.path)
  }
  return (
    <View>
      <Text>Signed in as {user.email}</Text>
      <Text>Channel: {state}</Text>
      {messages.map((message, place) => (
        <Text key={place}>Message: {message}</Text>
      ))}
      <TextInput accessibilityLabel="Draft" onChangeText={setDraft} value={draft} />
      <Button onPress={send} title="Send" />
      <Button onPress={attach} title="Attach" />
      <Text>Uploaded: {upload}</Text>
      <Button onPress={() => client.auth.signOut()} title="Sign out" />
    </View>
  )
}

function App() {
  const [session, setSession] = useState(undefined)
  useEffect(() => {
    const { data } = client.auth.onAuthStateChange((_event, present) => setSession(present))
    return () => data.subscription.unsubscribe()
  }, [])
  if (session === undefined) return <Text>Loading</Text>
  return session ? <Chat key={session.user.id} user={session.user} /> : <SignIn />
}

registerRootComponent(App)
