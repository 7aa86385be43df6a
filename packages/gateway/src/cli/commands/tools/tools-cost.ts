import { findEffectiveProfile, type Profiles, ProfilesEditor, profileKey } from '../../../config/config.ts'
import type { CliContext } from '../../cli-context.ts'
import { defineCommand } from '../../define-command.ts'
import { findHome } from '../../find-home.ts'
import { waitForServers } from '../../gateway/wait-for-servers.ts'
import { withGateway } from '../../gateway/with-gateway.ts'
import type { GlobalFlags } from '../../global-flags.ts'
import { parseProfileRef } from '../../profiles-view.ts'
import { createScreen, type Screen } from '../../terminal/screen.ts'
import type { Column } from '../../terminal/table.ts'
import {
  calculateProfileCosts,
  calculateToolCosts,
  type ProfileCost,
  type ServerCost,
  selectedTools,
  type ToolCosts,
} from '../../tool-costs.ts'

interface CostFlags {
  readonly server?: string
  readonly profile?: string
}

export const costCommand = defineCommand<CostFlags>({
  brief: 'Estimate how many tokens the definitions of the tools cost an agent in every turn',
  description:
    'An agent that is shown all tools sends their names, descriptions and schemas with every turn. The numbers are\n' +
    'estimates for the tokenizer o200k_base; other models count differently, but the expensive tools are the same.',
  examples: [
    ['tools cost', 'Each server, tool and profile, the most expensive first, and the sum'],
    ['tools cost --profile claude-code.reviewer', 'What an agent with this profile pays'],
    ['tools cost --server github --json', 'The tools of one server, for programs'],
  ],
  flags: {
    server: { kind: 'parsed', parse: String, optional: true, placeholder: 'name', brief: 'Only those of this server' },
    profile: {
      kind: 'parsed',
      parse: String,
      optional: true,
      placeholder: 'agent.variant',
      brief: 'Only those that this profile selects',
    },
  },
  run: showCosts,
})

async function showCosts(context: CliContext, flags: CostFlags & GlobalFlags): Promise<void> {
  const screen = createScreen(context, flags)
  const { signal } = context
  const found = await findHome(context, flags)
  const { profiles } = await new ProfilesEditor(found).read()
  const wanted =
    flags.profile === undefined ? undefined : findEffectiveProfile(profiles, parseProfileRef(flags.profile))
  const all = await withGateway(context, flags, async (client, age) => {
    if (flags.server !== undefined) await client.server(flags.server, signal)
    if (age === 'fresh') await waitForServers(client, signal)
    return client.tools({}, signal)
  })
  const selected = selectedTools(wanted?.selectedMcpTools, all)
  const costs = calculateToolCosts(
    selected.filter(({ server }) => flags.server === undefined || server === flags.server),
  )
  const isWhole = flags.server === undefined && wanted === undefined
  const byProfile = isWhole ? calculateProfileCosts(withNames(profiles), all) : undefined
  if (screen.json)
    return screen.printJson({ estimate: true, tokenizer: 'o200k_base', ...costs, ...(byProfile && { byProfile }) })
  printCosts(screen, costs, byProfile)
}

const withNames = (profiles: Profiles) =>
  [...profiles.values()].map((profile) => ({ ...profile, name: profileKey(profile.agent, profile.variant) }))

function printCosts(screen: Screen, costs: ToolCosts, byProfile: readonly ProfileCost[] = []): void {
  if (costs.tools === 0)
    return screen.printMessage('There are no such tools. `sallyport servers` shows the state of the servers.')
  const share = ({ tokens }: { readonly tokens: number }): string => `${Math.round((100 * tokens) / costs.tokens)} %`
  screen.printTable<ServerCost>(
    [
      { title: 'SERVER', value: ({ server }) => server, paint: (_row, style) => style.bold },
      { title: 'TOOLS', value: ({ tools }) => tools, align: 'right' },
      ...costColumns<ServerCost>(share),
    ],
    [...costs.byServer, { ...costs, server: 'all' }],
  )
  screen.print('\n')
  screen.printTable<ToolCosts['byTool'][number]>(
    [{ title: 'TOOL', value: ({ server, tool }) => `${server}/${tool}`, flexible: true }, ...costColumns(share)],
    costs.byTool,
  )
  if (byProfile.length > 0) printProfiles(screen, byProfile, share)
  screen.printMessage(`About ${costs.tokens} tokens in every turn of an agent that is shown all of these: an estimate.`)
}

function printProfiles(screen: Screen, rows: readonly ProfileCost[], share: (row: ProfileCost) => string): void {
  screen.print('\n')
  screen.printTable<ProfileCost>(
    [
      { title: 'PROFILE', value: ({ profile }) => profile },
      { title: 'TOOLS', value: ({ tools }) => tools, align: 'right' },
      ...costColumns<ProfileCost>(share),
      {
        title: 'BUDGET',
        value: ({ tokenBudget }) => tokenBudget,
        align: 'right',
        paint: ({ tokens, tokenBudget }, style) => (tokens > (tokenBudget ?? tokens) ? style.red : style.dim),
      },
    ],
    rows,
  )
}

function costColumns<Row extends { readonly tokens: number }>(share: (row: Row) => string): readonly Column<Row>[] {
  return [
    { title: 'TOKENS', value: ({ tokens }) => tokens, align: 'right' },
    { title: 'SHARE', value: share, align: 'right' },
  ]
}
