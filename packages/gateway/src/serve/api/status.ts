import { createRoute, z } from '@hono/zod-openapi'
import { MODES } from '@sallyport/core'
import type { AdminContext } from '../admin/admin-context.ts'
import { createRoutes, jsonResponse, PROBLEM_RESPONSES } from './routes.ts'

const statusSchema = z
  .object({
    version: z.string(),
    pid: z.number().int(),
    startedAt: z.iso.datetime(),
    uptimeMs: z.number().int(),
    home: z.object({ path: z.string(), origin: z.enum(['flag', 'environment', 'project', 'user']) }),
    state: z.string(),
    urls: z.array(z.string()).openapi({ description: 'Where clients reach it over HTTP.' }),
    mode: z.enum(MODES),
    callsInFlight: z.number().int(),
    sessions: z.number().int(),
    servers: z.record(z.string(), z.number().int()).openapi({ description: 'How many servers are in each state.' }),
    tools: z.number().int(),
    warnings: z.array(z.string()),
  })
  .openapi('Status')

export type Status = z.infer<typeof statusSchema>

const getStatus = createRoute({
  method: 'get',
  path: '/status',
  summary: 'The status of the gateway',
  responses: { 200: jsonResponse(statusSchema, 'The current status.'), ...PROBLEM_RESPONSES },
})

export const statusRoutes = (context: AdminContext) =>
  createRoutes().openapi(getStatus, async (c) => {
    await context.fleet.waitUntilConfigured()
    return c.json(buildStatus(context), 200)
  })

function buildStatus(context: AdminContext): Status {
  const { version, startedAt, home, state, gauge, sessions, catalog } = context
  return {
    version,
    pid: process.pid,
    startedAt: new Date(startedAt).toISOString(),
    uptimeMs: Date.now() - startedAt,
    home: { path: home.path, origin: home.origin },
    state,
    urls: [...context.urls()],
    mode: context.mode.current.mode,
    callsInFlight: gauge.inFlight,
    sessions: sessions.size,
    servers: countStates(context),
    tools: catalog.snapshot.tools.length,
    warnings: [...catalog.snapshot.warnings, ...toolWarnings(context)],
  }
}

/** The others are in /api/tools-file. */
const MAX_TOOL_WARNINGS = 50

function toolWarnings({ review }: AdminContext): readonly string[] {
  // A tool that was just discovered will soon get its entry.
  const problems = review.problems().filter(({ kind }) => kind !== 'no-entry')
  const texts = [...review.notWritten, ...problems.map(({ problem }) => problem)]
  const shown = texts.slice(0, MAX_TOOL_WARNINGS)
  const more = texts.length - shown.length
  return more > 0 ? [...shown, `and ${more} more: sallyport tools check`] : shown
}

function countStates({ fleet }: AdminContext): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const upstream of fleet.all()) {
    const { state } = upstream.status()
    counts[state] = (counts[state] ?? 0) + 1
  }
  return counts
}
