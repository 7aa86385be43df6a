/** The JSON Schema of config.yaml, for editors. */
export async function configJsonSchema(): Promise<Readonly<Record<string, unknown>>> {
  const { buildJsonSchema } = await import('./config-schema.ts')
  return buildJsonSchema()
}
