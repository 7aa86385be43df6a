import { createRoute, z } from '@hono/zod-openapi'
import {
  compareSensitivity,
  isJsonObject,
  PERMISSIONS,
  type PolicyValue,
  RISK_LEVELS,
  SENSITIVITIES,
  type SensitivityRule,
  type ToolEntry,
} from '@sallyport/core'
import type { Offer } from '../../catalog/catalog.ts'
import { PIN_STATES, PROBLEM_KINDS } from '../../pipeline/pipeline.ts'
import type { AdminContext } from '../admin/admin-context.ts'
import { waitForServers } from './find-tool.ts'
import { createRoutes, jsonResponse, PROBLEM_RESPONSES } from './routes.ts'

const toolsFileSchema = z
  .object({
    path: z.string(),
    entries: z.number().int().openapi({ description: 'Number of entries in force.' }),
    problems: z.array(
      z.object({
        kind: z.enum(PROBLEM_KINDS),
        level: z.enum(['wrong', 'warning']),
        tool: z.string().optional(),
        problem: z.string(),
        fix: z.string(),
      }),
    ),
  })
  .openapi('ToolsFile')

const VALUE_SOURCES = ['entry', 'pattern', 'server', 'inferred'] as const

const sourceFields = {
  from: z.enum(VALUE_SOURCES).openapi({
    description:
      '`entry`: of this tool alone; `pattern`: of several tools, here or in config.yaml; `server`: the entry of its server; `inferred`: not written.',
  }),
  rule: z.object({ file: z.string(), line: z.number().int() }).optional(),
  reason: z.string().optional().openapi({ description: 'Why, if it is not written.' }),
}

const ruledToolSchema = z
  .object({
    canonical: z.string(),
    server: z.string(),
    tool: z.string(),
    builtIn: z.literal(true).optional().openapi({ description: 'It is part of the gateway.' }),
    entry: z
      .object({ key: z.string(), line: z.number().int() })
      .optional()
      .openapi({ description: 'The entry of this tool alone, whose fields can be edited.' }),
    risk: z.object({ value: z.enum(RISK_LEVELS), ...sourceFields }),
    permission: z.object({ value: z.array(z.enum(PERMISSIONS)), ...sourceFields }),
    requiresApproval: z.object({ value: z.boolean(), ...sourceFields }),
    sensitivity: z
      .object({ value: z.enum(SENSITIVITIES), ...sourceFields, paths: z.literal(true).optional() })
      .optional()
      .openapi({ description: 'Missing if nothing says so. `paths`: only for calls with such paths.' }),
    claims: z
      .object({
        readOnly: z.boolean().optional(),
        destructive: z.boolean().optional(),
        idempotent: z.boolean().optional(),
        openWorld: z.boolean().optional(),
      })
      .openapi({ description: 'What its server says about its side effects.' }),
    pin: z.enum(PIN_STATES),
    findings: z.number().int(),
    openFindings: z.number().int().openapi({ description: 'Findings that nobody has accepted yet.' }),
  })
  .openapi('RuledTool')

const rulesSchema = z.object({ path: z.string(), tools: z.array(ruledToolSchema) }).openapi('ToolRules')

export type ToolsFileView = z.infer<typeof toolsFileSchema>
export type RuledTool = z.infer<typeof ruledToolSchema>

const getToolsFile = createRoute({
  method: 'get',
  path: '/tools-file',
  summary: 'tools.yaml, and the problems of it and of the tools that a person should check',
  responses: { 200: jsonResponse(toolsFileSchema, 'The file that is in force.'), ...PROBLEM_RESPONSES },
})

const getRules = createRoute({
  method: 'get',
  path: '/tools-file/rules',
  summary: 'The main rules of every tool, and where each of them comes from',
  responses: { 200: jsonResponse(rulesSchema, 'All tools of all servers.'), ...PROBLEM_RESPONSES },
})

export const toolsFileRoutes = (context: AdminContext) =>
  createRoutes()
    .openapi(getToolsFile, async (c) => {
      await waitForServers(context)
      const { path, entries } = context.review
      return c.json({ path, entries, problems: [...context.review.problems()] }, 200)
    })
    .openapi(getRules, async (c) => {
      await waitForServers(context)
      const servers = new Map(context.settings.servers.map((server) => [server.id, server]))
      const tools = context.catalog.snapshot.allTools.map((offer) => {
        const { sensitivity, location } = servers.get(offer.server) ?? {}
        const ofServer = sensitivity && { value: sensitivity, reason: '', ...(location && { rule: location }) }
        return ruledTool(offer, context, ofServer)
      })
      return c.json({ path: context.review.path, tools }, 200)
    })

function ruledTool(
  offer: Offer,
  { review }: AdminContext,
  ofServer: PolicyValue<SensitivityRule> | undefined,
): RuledTool {
  const { policy, ownEntries, pin, findings, openFindings } = review.reviewOf(offer)
  const { recordName: canonical, server, name: tool } = offer
  const [entry] = ownEntries
  const sourceOf = (value: PolicyValue<unknown>) => findSource(value, ownEntries, review.path)
  return {
    ...{ canonical, server, tool, pin },
    ...(!offer.isMcp && { builtIn: true as const }),
    ...(entry && { entry: { key: entry.key, line: entry.line } }),
    risk: { value: policy.risk.value, ...sourceOf(policy.risk) },
    permission: { value: [...policy.permission.value], ...sourceOf(policy.permission) },
    requiresApproval: { value: policy.requiresApproval.value, ...sourceOf(policy.requiresApproval) },
    ...sensitivityView(policy.sensitivity, ofServer, sourceOf),
    claims: readClaims(offer),
    ...{ findings: findings.length, openFindings: openFindings.length },
  }
}

type Source = Pick<RuledTool['risk'], 'from' | 'rule' | 'reason'>

/** The lines of an entry begin with its own and end before the next one: a field names its own line. */
function findSource({ rule, reason }: PolicyValue<unknown>, own: readonly ToolEntry[], path: string): Source {
  if (rule === undefined) return { from: 'inferred', reason }
  const isOwn =
    rule.file === path && own.some(({ line, lines }) => line === rule.line || Object.values(lines).includes(rule.line))
  return { from: isOwn ? 'entry' : 'pattern', rule: { file: rule.file, line: rule.line } }
}

/** All that apply to the tool: the highest level decides most of its calls. */
function sensitivityView(
  ofTool: readonly PolicyValue<SensitivityRule>[],
  ofServer: PolicyValue<SensitivityRule> | undefined,
  sourceOf: (value: PolicyValue<unknown>) => Source,
): Pick<RuledTool, 'sensitivity'> {
  const [highest] = [...ofTool, ...(ofServer ? [ofServer] : [])].toSorted((a, b) =>
    compareSensitivity(b.value.sensitivity, a.value.sensitivity),
  )
  if (highest === undefined) return {}
  const { sensitivity: value, paths } = highest.value
  const source = highest === ofServer ? { ...sourceOf(highest), from: 'server' as const } : sourceOf(highest)
  return { sensitivity: { value, ...source, ...(paths && { paths: true as const }) } }
}

function readClaims({ original }: Offer): RuledTool['claims'] {
  const { annotations } = original
  if (!isJsonObject(annotations)) return {}
  const claim = (name: string) => (typeof annotations[name] === 'boolean' ? annotations[name] : undefined)
  return Object.fromEntries(
    CLAIMS.flatMap((name) => {
      const said = claim(`${name}Hint`)
      return said === undefined ? [] : [[name, said]]
    }),
  )
}

const CLAIMS = ['readOnly', 'destructive', 'idempotent', 'openWorld'] as const
