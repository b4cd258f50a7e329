type DatabaseWithoutInternals = Omit<Database, "__InternalSupabase">

type SchemaName = keyof DatabaseWithoutInternals

type DefaultSchema = DatabaseWithoutInternals[Extract<SchemaName, "public">]

type AnySchema = { schema: SchemaName }

type Rows<S extends SchemaName> = DatabaseWithoutInternals[S]["Tables"] &
  DatabaseWithoutInternals[S]["Views"]

type DefaultRows = DefaultSchema["Tables"] & DefaultSchema["Views"]

export type Tables<
  NameOrSchema extends keyof DefaultRows | AnySchema,
  Name extends NameOrSchema extends AnySchema
    ? keyof Rows<NameOrSchema["schema"]>
    : never = never,
> = NameOrSchema extends AnySchema
  ? Rows<NameOrSchema["schema"]>[Name] extends { Row: infer R }
    ? R
    : never
  : NameOrSchema extends keyof DefaultRows
    ? DefaultRows[NameOrSchema] extends { Row: infer R }
      ? R
      : never
    : never

export type TablesInsert<
  NameOrSchema extends keyof DefaultSchema["Tables"] | AnySchema,
  Name extends NameOrSchema extends AnySchema
    ? keyof DatabaseWithoutInternals[NameOrSchema["schema"]]["Tables"]
    : never = never,
> = NameOrSchema extends AnySchema
  ? DatabaseWithoutInternals[NameOrSchema["schema"]]["Tables"][Name] extends {
      Insert: infer I
    }
    ? I
    : never
  : NameOrSchema extends keyof DefaultSchema["Tables"]
    ? DefaultSchema["Tables"][NameOrSchema] extends { Insert: infer I }
      ? I
      : never
    : never

export type TablesUpdate<
  NameOrSchema extends keyof DefaultSchema["Tables"] | AnySchema,
  Name extends NameOrSchema extends AnySchema
    ? keyof DatabaseWithoutInternals[NameOrSchema["schema"]]["Tables"]
    : never = never,
> = NameOrSchema extends AnySchema
  ? DatabaseWithoutInternals[NameOrSchema["schema"]]["Tables"][Name] extends {
      Update: infer U
    }
    ? U
    : never
  : NameOrSchema extends keyof DefaultSchema["Tables"]
    ? DefaultSchema["Tables"][NameOrSchema] extends { Update: infer U }
      ? U
      : never
    : never

export type Enums<
  NameOrSchema extends keyof DefaultSchema["Enums"] | AnySchema,
  Name extends NameOrSchema extends AnySchema
    ? keyof DatabaseWithoutInternals[NameOrSchema["schema"]]["Enums"]
    : never = never,
> = NameOrSchema extends AnySchema
  ? DatabaseWithoutInternals[NameOrSchema["schema"]]["Enums"][Name]
  : NameOrSchema extends keyof DefaultSchema["Enums"]
    ? DefaultSchema["Enums"][NameOrSchema]
    : never

export type CompositeTypes<
  NameOrSchema extends keyof DefaultSchema["CompositeTypes"] | AnySchema,
  Name extends NameOrSchema extends AnySchema
    ? keyof DatabaseWithoutInternals[NameOrSchema["schema"]]["CompositeTypes"]
    : never = never,
> = NameOrSchema extends AnySchema
  ? DatabaseWithoutInternals[NameOrSchema["schema"]]["CompositeTypes"][Name]
  : NameOrSchema extends keyof DefaultSchema["CompositeTypes"]
    ? DefaultSchema["CompositeTypes"][NameOrSchema]
    : never
