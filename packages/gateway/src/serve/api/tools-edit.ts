import { createRoute, z } from '@hono/zod-openapi'
import type { Json, ToolEntry } from '@sallyport/core'
import type { FieldChange } from '../../governance/governance.ts'
import type { AdminContext, ReplaySummary } from '../admin/admin-context.ts'
import { waitForServers } from './find-tool.ts'
import { strictInput } from './invalid-input.ts'
import { callerOf, createRoutes, diffLineSchema, jsonResponse, PROBLEM_RESPONSES, viaField } from './routes.ts'
import { toFieldName } from './tools.ts'

const entriesSchema = z
  .object({
    path: z.string(),
    entries: z.array(
      z.object({
        key: z.string().openapi({ description: 'The name as written; it may be a pattern.' }),
        line: z.number().int(),
        fields: z
          .record(z.string(), z.unknown())
          .openapi({ description: 'Its fields by their names in the file, such as `risk_level`.' }),
      }),
    ),
  })
  .openapi('ToolsFileEntries')

const editsField = z
  .array(
    strictInput({
      key: z.string().min(1).max(1_000).openapi({ description: 'The key of an entry.' }),
      field: z.string().regex(/^[a-z_]{1,60}$/, 'expected the name of a field, such as risk_level'),
      value: z
        .unknown()
        .refine((value) => value !== undefined, 'expected a value')
        .openapi({ description: 'The new value of the field.' }),
    }),
  )
  .min(1)
  .max(5_000)

const replaySchema = z
  .object({
    since: z.iso.datetime(),
    calls: z.number().int(),
    refused: z.number().int().openapi({ description: 'Calls that were not refused and would be.' }),
    asked: z.number().int().openapi({ description: 'Calls that did not need approval and would.' }),
    allowed: z.number().int().openapi({ description: 'Calls that were refused or asked for and would be allowed.' }),
    undecided: z.number().int().openapi({ description: 'Calls whose records do not say enough.' }),
    changes: z.array(
      z.object({
        tool: z.string(),
        from: z.string(),
        to: z.string(),
        reason: z.string(),
        calls: z.number().int(),
        examples: z.array(z.string()).openapi({ description: 'Ids of some of these calls.' }),
      }),
    ),
  })
  .openapi('RulesReplay')

const previewSchema = z
  .object({
    path: z.string(),
    hash: z.string().openapi({ description: 'Changes when the file changes, or what would be written.' }),
    diff: z.array(diffLineSchema).openapi({ description: 'With lines of context. Empty if nothing would change.' }),
    warnings: z.array(z.string()),
    replay: replaySchema.optional().openapi({ description: 'If `since` was given.' }),
  })
  .openapi('ToolsFilePreview')

export type ToolsFileEntries = z.infer<typeof entriesSchema>
export type ToolsFilePreview = z.infer<typeof previewSchema>

const entriesRoute = createRoute({
  method: 'get',
  path: '/tools-file/entries',
  summary: 'The entries of tools.yaml that are in force',
  responses: { 200: jsonResponse(entriesSchema, 'In the order of the file.'), ...PROBLEM_RESPONSES },
})

const previewBody = strictInput({
  edits: editsField,
  since: z.iso.datetime({ offset: true }).optional().openapi({
    description: 'Decide the calls since then again, by the changed rules.',
  }),
})

const previewRoute = createRoute({
  method: 'post',
  path: '/tools-file/preview',
  summary: 'What edits would do to tools.yaml, and to the calls of the last days; nothing is written',
  request: { body: { required: true, content: { 'application/json': { schema: previewBody } } } },
  responses: { 200: jsonResponse(previewSchema, 'The exact change.'), ...PROBLEM_RESPONSES },
})

const applyBody = strictInput({
  edits: editsField,
  hash: z.string().max(100).openapi({ description: '`hash` of the preview that the person has seen.' }),
  via: viaField,
})

const applyRoute = createRoute({
  method: 'post',
  path: '/tools-file/apply',
  summary: 'Write edits of tools.yaml that were previewed',
  request: { body: { required: true, content: { 'application/json': { schema: applyBody } } } },
  responses: { 200: jsonResponse(entriesSchema, 'They are written and in force.'), ...PROBLEM_RESPONSES },
})

export const toolsEditRoutes = (context: AdminContext) =>
  createRoutes()
    .openapi(entriesRoute, async (c) => {
      await waitForServers(context)
      return c.json(entriesView(context), 200)
    })
    .openapi(previewRoute, async (c) => {
      const { edits, since } = c.req.valid('json')
      const { file, hash, diff, warnings } = await context.tools.draft(toChanges(edits, callerOf(c.env).user))
      const from = since === undefined ? undefined : new Date(since)
      const replay = from && (await context.replay({ tools: file, since: from, signal: c.req.raw.signal }))
      return c.json(
        {
          ...{ path: file.path, hash, diff: [...diff], warnings: [...warnings] },
          ...(replay && from && { replay: replayView(replay, from) }),
        },
        200,
      )
    })
    .openapi(applyRoute, async (c) => {
      const { edits, hash, via } = c.req.valid('json')
      await context.tools.setAll(toChanges(edits, callerOf(c.env).user), hash)
      const entries = [...new Set(edits.map(({ key }) => key))].slice(0, MAX_RECORDED)
      context.record({
        ...{ type: 'TOOLS_EDITED', file: context.tools.file.path, entries, by: callerOf(c.env).user, via },
      })
      return c.json(entriesView(context), 200)
    })

/** What a person has set is not inferred any more. */
const toChanges = (edits: z.infer<typeof editsField>, user: string): readonly FieldChange[] =>
  edits.map(({ key, field, value }) => ({
    ...{ key, field, value: value as Json },
    insteadOfGuess: `set by ${user}, ${new Date().toISOString().slice(0, 10)}`,
  }))

/** Of long lists only the first names are recorded. */
const MAX_RECORDED = 100

const entriesView = ({ tools }: AdminContext): ToolsFileEntries => ({
  path: tools.file.path,
  entries: tools.file.entries.map(({ key, line, fields }) => ({ key, line, fields: fieldsView(fields) })),
})

const fieldsView = (fields: ToolEntry['fields']): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => (name === 'misspelt' ? [] : [[fieldName(name), value]])),
  )

const fieldName = (name: string): string => (name === 'riskLevel' ? 'risk_level' : toFieldName(name))

const replayView = (
  { calls, undecided, changes }: ReplaySummary,
  since: Date,
): NonNullable<ToolsFilePreview['replay']> => {
  const count = (to: string): number =>
    changes.filter((change) => change.to === to).reduce((sum, change) => sum + change.calls, 0)
  return {
    ...{ since: since.toISOString(), calls, undecided },
    ...{ refused: count('deny'), asked: count('ask'), allowed: count('allow') },
    changes: changes.slice(0, MAX_RECORDED).map(({ tool, from, to, reason, calls: number, examples }) => ({
      ...{ tool, from, to, reason, calls: number, examples: [...examples] },
    })),
  }
}
