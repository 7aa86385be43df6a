import { json, type LocalServer } from './agent-cli.ts'
import type { Plant } from './planted-agent.ts'
import { mcpServers, OWN, REFUSED_FLAG } from './planted-files.ts'

const CODEX_SESSION = '01900000-0000-7000-8000-000000000000'
/** A session in which somebody chose a plugin, as a program that drives Codex can do. */
const codexSession = (root: string): string => {
  const timestamp = '2026-01-01T00:00:00.000Z'
  const location = { type: 'environment', environmentId: 'local', path: `${root}/work/plug` }
  const about = { id: CODEX_SESSION, timestamp, cwd: `${root}/work`, originator: 'codex_exec', cli_version: '0.166.0' }
  const greeting = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hello' }] }
  return [
    {
      type: 'session_meta',
      payload: { ...about, source: 'exec', selected_capability_roots: [{ id: 'plug', location }] },
    },
    { type: 'response_item', payload: greeting },
    { type: 'event_msg', payload: { type: 'user_message', message: 'hello' } },
  ]
    .map((line) => JSON.stringify({ timestamp, ...line }))
    .join('\n')
    .concat('\n')
}
const CODEX_PLUGIN = json({ name: 'plug', version: '1.0.0', description: 'A plugin.' })
const codexPlugin = (folder: string, server: LocalServer): Readonly<Record<string, string>> => ({
  [`${folder}/.codex-plugin/plugin.json`]: CODEX_PLUGIN,
  [`${folder}/.mcp.json`]: mcpServers(server),
})
/** Codex reads the files of a project that somebody trusts. */
const CODEX_TRUST: Pick<Plant, 'args'> = {
  args: (prompt, { root }) => [
    ...['exec', '--skip-git-repo-check', prompt],
    ...['-c', `projects={${JSON.stringify(`${root}/work`)}={trust_level="trusted"}}`],
  ],
}
export const codexPlants: readonly Plant[] = [
  { source: 'files of the user and of the project', ...OWN },
  {
    ...{ source: 'files of the user and of the project', place: 'project', ...CODEX_TRUST },
    work: ({ command, args }) => ({
      '.codex/config.toml': `[mcp_servers.planted]\ncommand = ${JSON.stringify(command)}\nargs = ${JSON.stringify(args)}\nrequired = true\n`,
    }),
  },
  {
    ...{ source: 'plugins, apps and skills', ...CODEX_TRUST },
    work: () => ({ '.codex/config.toml': '[plugins."plug@local"]\nenabled = true\n' }),
    home: (server) => codexPlugin('.codex/plugins/cache/local/plug/1.0.0', server),
  },
  {
    source: 'where its commands run',
    home: ({ command, args }) => ({
      '.codex/environments.toml': `default = "far"\n[[environments]]\nid = "far"\nprogram = ${JSON.stringify(command)}\nargs = ${JSON.stringify(args)}\n`,
    }),
    refusal: /environments\.toml/,
  },
  {
    source: 'sessions that are resumed',
    home: (_, root) => ({
      [`.codex/sessions/2026/01/01/rollout-2026-01-01T00-00-00-${CODEX_SESSION}.jsonl`]: codexSession(root),
    }),
    work: (server) => codexPlugin('plug', server),
    args: (prompt) => [
      'exec',
      'resume',
      '--skip-git-repo-check',
      '--dangerously-bypass-approvals-and-sandbox',
      CODEX_SESSION,
      prompt,
    ],
  },
  {
    source: 'flags',
    args: (prompt, { server: { command, args } }) => [
      ...['exec', '--skip-git-repo-check', prompt, '-c', `mcp_servers.planted.command=${JSON.stringify(command)}`],
      ...['-c', `mcp_servers.planted.args=${JSON.stringify(args)}`, '-c', 'mcp_servers.planted.required=true'],
    ],
    refusal: REFUSED_FLAG,
  },
]
