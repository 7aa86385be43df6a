import { createRoute, z } from '@hono/zod-openapi'
import { type JsonObject, SallyportError } from '@sallyport/core'
import {
  ADAPTERS,
  type FoundServer,
  findAdapter,
  listFoundServers,
  mergeServers,
  parsePastedServers,
  readAgentConfigs,
  toNewServer,
} from '../../../agents/agents.ts'
import type { ConfigPreview, ServerChange } from '../../../config/config.ts'
import type { AdminContext } from '../../admin/admin-context.ts'
import { strictInput } from '../invalid-input.ts'
import { looseObject } from '../loose-object.ts'
import { callerOf, createRoutes, diffLineSchema, jsonResponse, PROBLEM_RESPONSES, viaField } from '../routes.ts'

const idField = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/i, 'expected letters, digits, "-" and "_", at most 64')
  .openapi({ description: 'The name of the server.' })

/** An entry as it is under `mcp_servers` in config.yaml. */
const fieldsSchema = looseObject

const changeSchema = z
  .discriminatedUnion('kind', [
    strictInput({ kind: z.literal('add'), id: idField, entry: fieldsSchema }),
    strictInput({ kind: z.literal('remove'), id: idField }),
    strictInput({ kind: z.literal('enable'), id: idField, enabled: z.boolean() }),
    strictInput({
      kind: z.literal('change'),
      id: idField,
      fields: fieldsSchema.openapi({
        description: 'The fields to set; `null` removes one. Others stay, and so do secrets that are left masked.',
      }),
      was: z.string().max(100).optional().openapi({ description: '`version` of the entry that the person has seen.' }),
    }),
    strictInput({
      kind: z.literal('paste'),
      text: z.string().min(1).max(200_000).openapi({ description: 'JSON, TOML or YAML in the format of any agent.' }),
      agent: z.string().max(100).optional().openapi({ description: 'The agent whose format it is.' }),
      id: idField.optional().openapi({ description: 'For a single entry without a name.' }),
    }),
    strictInput({
      kind: z.literal('import'),
      agent: z.string().max(100).openapi({ description: 'The agent whose files are read.' }),
      servers: z.array(z.string().max(1_000)).max(1_000).optional().openapi({ description: 'All if missing.' }),
      projects: z.boolean().default(false).openapi({
        description: 'Also servers of files in the working folder, which anybody may have written.',
      }),
    }),
  ])
  .openapi('ServerChange')

const previewBody = strictInput({ changes: z.array(changeSchema).min(1).max(1_000) })
const applyBody = strictInput({
  changes: z.array(changeSchema).min(1).max(1_000),
  hash: z.string().max(100).openapi({ description: '`hash` of the preview that the person has seen.' }),
  via: viaField,
})

const originSchema = z.object({ agent: z.string(), file: z.string(), name: z.string() })

const previewSchema = z
  .object({
    path: z.string(),
    hash: z.string().openapi({ description: 'Changes when the file changes, or what would be written.' }),
    diff: z
      .array(diffLineSchema)
      .openapi({ description: 'The changed lines, with secrets masked. Empty if nothing would change.' }),
    warnings: z.array(z.string()),
    added: z.array(z.string()),
    removed: z.array(z.string()),
    imported: z
      .object({
        added: z.array(
          z.object({
            id: z.string(),
            from: z.array(originSchema),
            notes: z.array(z.string()),
            unset: z.array(z.string()).openapi({ description: 'Variables to set; until then the server is disabled.' }),
          }),
        ),
        present: z.array(originSchema.extend({ id: z.string() })).openapi({ description: 'Already in the file.' }),
        skipped: z.array(originSchema.extend({ why: z.string() })),
      })
      .optional()
      .openapi({ description: 'What was found, for `paste` and `import`.' }),
  })
  .openapi('ConfigPreview')

export type ServerChangeInput = z.input<typeof changeSchema>
export type ConfigPreviewView = z.infer<typeof previewSchema>

const jsonBody = <Schema extends z.ZodType>(schema: Schema) => ({
  body: { required: true, content: { 'application/json': { schema } } },
})

const previewRoute = createRoute({
  method: 'post',
  path: '/config/preview',
  summary: 'What changes of the servers would do to config.yaml; nothing is written',
  request: jsonBody(previewBody),
  responses: { 200: jsonResponse(previewSchema, 'The exact change.'), ...PROBLEM_RESPONSES },
})

const applyRoute = createRoute({
  method: 'post',
  path: '/config/apply',
  summary: 'Write a change of config.yaml that was previewed; it is in force within a second',
  request: jsonBody(applyBody),
  responses: { 200: jsonResponse(previewSchema, 'It is written.'), ...PROBLEM_RESPONSES },
})

export const serverChangeRoutes = (context: AdminContext) =>
  createRoutes()
    .openapi(previewRoute, async (c) => {
      const resolved = await resolveChanges(c.req.valid('json').changes, context)
      return c.json(toView(await context.servers.preview(resolved.changes), resolved), 200)
    })
    .openapi(applyRoute, async (c) => {
      const { changes, hash, via } = c.req.valid('json')
      const resolved = await resolveChanges(changes, context)
      const applied = await context.servers.apply(resolved.changes, hash)
      const { path: file, added, removed } = applied
      const changed = resolved.changes.flatMap(({ kind, id }) => (kind === 'change' || kind === 'enable' ? [id] : []))
      context.record({ type: 'CONFIG_WRITTEN', file, added, removed, changed, by: callerOf(c.env).user, via })
      return c.json(toView(applied, resolved), 200)
    })

interface ResolvedChanges {
  readonly changes: readonly ServerChange[]
  readonly imported: ConfigPreviewView['imported']
}

/** Pasted text and files of agents become servers to add, with secrets replaced by variables. */
async function resolveChanges(
  inputs: readonly z.infer<typeof changeSchema>[],
  context: AdminContext,
): Promise<ResolvedChanges> {
  const changes: ServerChange[] = []
  const found: FoundServer[] = []
  let projects: 'take' | 'leave' = 'leave'
  for (const input of inputs) {
    if (input.kind === 'paste') found.push(...readPasted(input, context))
    else if (input.kind === 'import') {
      if (input.projects) projects = 'take'
      found.push(...(await readFilesOf(input, context)))
    } else if (input.kind === 'add') changes.push({ ...input, entry: input.entry as JsonObject })
    else if (input.kind === 'change') changes.push(toFieldsChange(input))
    else changes.push(input)
  }
  if (found.length === 0) return { changes, imported: undefined }
  const { environment, settings } = context
  const plan = mergeServers({
    ...{ found, projects, secrets: 'hide', port: settings.gateway.port },
    existing: await context.servers.readWritten(),
    lookup: (name) => environment[name],
  })
  const additions = plan.added.map((added): ServerChange => ({ kind: 'add', ...toNewServer(added) }))
  const origin = ({ agent, file, name }: FoundServer | (typeof plan.skipped)[number]) => ({ agent, file, name })
  return {
    changes: [...changes, ...additions],
    imported: {
      added: plan.added.map(({ id, sources, notes, unset }) => ({
        ...{ id, notes: [...notes], unset: [...unset] },
        from: sources.map(({ agent, file, name }) => ({ agent, file, name })),
      })),
      present: plan.present.map(({ id, agent, file, name }) => ({ id, agent, file, name })),
      skipped: plan.skipped.map((skipped) => ({ ...origin(skipped), why: skipped.why })),
    },
  }
}

type ChangeOf<Kind> = Extract<z.infer<typeof changeSchema>, { kind: Kind }>

const toFieldsChange = ({ id, fields, was }: ChangeOf<'change'>): ServerChange => ({
  ...{ kind: 'change', id, fields: fields as JsonObject },
  ...(was !== undefined && { was }),
})

function readPasted({ text, agent, id }: ChangeOf<'paste'>, { host }: AdminContext): readonly FoundServer[] {
  return parsePastedServers({ text, adapter: agent === undefined ? undefined : findAdapter(agent), host, name: id })
}

async function readFilesOf(
  { agent, servers: wanted }: ChangeOf<'import'>,
  { host }: AdminContext,
): Promise<readonly FoundServer[]> {
  const adapter = findAdapter(agent)
  const files = await readAgentConfigs(adapter, host)
  const found = files.flatMap((file) => listFoundServers(adapter, file))
  const missing = wanted?.find((name) => !found.some((one) => one.name === name))
  if (missing !== undefined)
    throw new SallyportError('SERVER_UNKNOWN', `${adapter.title} has no server ${JSON.stringify(missing)}.`)
  if (found.length === 0)
    throw new SallyportError('INVALID_PARAMS', `${adapter.title} has no servers in its files on this machine.`, {
      hint: `It supports ${ADAPTERS.length} agents: see GET /api/agents/{agent}/files.`,
    })
  return wanted === undefined ? found : found.filter(({ name }) => wanted.includes(name))
}

const toView = ({ diff, ...preview }: ConfigPreview, { imported }: ResolvedChanges): ConfigPreviewView => ({
  ...preview,
  diff: [...diff],
  warnings: [...preview.warnings],
  added: [...preview.added],
  removed: [...preview.removed],
  ...(imported && { imported }),
})
