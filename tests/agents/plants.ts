import { createHash } from 'node:crypto'
import { json, type LocalServer } from './agent-cli.ts'
import { codexPlants } from './codex-plants.ts'
import type { Plant } from './planted-agent.ts'
import { markdown, mcpServers, OWN, REFUSED_FLAG, yaml } from './planted-files.ts'

const extension = (server: LocalServer, name: string): string =>
  json({ name: 'ext', version: '1.0.0', mcpServers: { [name]: server } })

/** What an extension's folder holds where the extension lies elsewhere. */
const linkTo = (source: string): string => json({ type: 'link', source })

const CLAUDE_PLUGIN = json({ name: 'plug', description: 'A plugin.', version: '1.0.0' })
const claudeCode: readonly Plant[] = [
  { source: 'files of the user, of the project and for one folder', place: 'user', ...OWN },
  {
    source: 'files of the user, of the project and for one folder',
    place: 'project',
    work: (server) => ({ '.mcp.json': mcpServers({ type: 'stdio', ...server }) }),
  },
  {
    source: 'files of sub-agents',
    script: '[[call Agent {"description":"help","prompt":"say hello","subagent_type":"helper"}]]',
    home: (server) => ({
      '.claude/agents/helper.md': markdown({ mcpServers: [{ planted: { type: 'stdio', ...server } }] }),
    }),
  },
  {
    source: 'plugins',
    args: (prompt, { root }) => ['--plugin-dir', `${root}/work/plug`, '-p', prompt],
    work: (server) => ({ 'plug/.claude-plugin/plugin.json': CLAUDE_PLUGIN, 'plug/.mcp.json': mcpServers(server) }),
  },
  {
    source: 'flags',
    args: (prompt, { server }) => ['-p', prompt, '--mcp-config', mcpServers(server)],
    refusal: REFUSED_FLAG,
  },
]

const geminiAgent = (server: LocalServer, name: string): string => markdown({ mcp_servers: { [name]: server } })
const CALL_GEMINI = {
  script: '[[call invoke_agent {"agent_name":"helper","prompt":"say hello"}]]',
  args: (prompt: string) => ['-m', 'gemini-2.5-flash', '-y', '-p', prompt],
}
const geminiCli: readonly Plant[] = [
  { source: 'settings of the user', ...OWN },
  {
    source: 'settings of the project and of the system',
    work: (server) => ({ '.gemini/settings.json': mcpServers({ ...server, trust: true }) }),
  },
  ...['planted', 'gw'].flatMap((name): readonly Plant[] => [
    {
      source: 'extensions',
      place: `named ${name}`,
      home: (server) => ({ '.gemini/extensions/ext/gemini-extension.json': extension(server, name) }),
    },
    {
      source: 'sub-agents',
      place: `named ${name}`,
      ...CALL_GEMINI,
      home: (server) => ({ '.gemini/agents/helper.md': geminiAgent(server, name) }),
    },
  ]),
  {
    ...{ source: 'sub-agents', place: 'of a linked extension, named gw', ...CALL_GEMINI },
    home: (_, root) => ({ '.gemini/extensions/ext/.gemini-extension-install.json': linkTo(`${root}/work/ext`) }),
    work: (server) => ({
      'ext/gemini-extension.json': json({ name: 'ext', version: '1.0.0' }),
      'ext/agents/helper.md': geminiAgent(server, 'gw'),
    }),
  },
  {
    source: 'flags',
    args: (prompt) => ['--allowed-mcp-server-names', 'planted', '-m', 'gemini-2.5-flash', '-p', prompt],
    ...OWN,
    refusal: REFUSED_FLAG,
  },
]

const CALL_QWEN = {
  script: '[[call agent {"description":"help","prompt":"say hello","subagent_type":"helper"}]]',
  args: (prompt: string) => ['--auth-type', 'openai', '-y', '-p', prompt],
  refusal: /helper\.md/,
}
const qwenAgent = (server: LocalServer, name = 'planted'): string =>
  markdown({ mcpServers: { [name]: { ...server, trust: true } } })
const qwenCode: readonly Plant[] = [
  { source: 'settings of the user, of the project and of the system', ...OWN },
  {
    source: 'extensions',
    home: (server) => ({ '.qwen/extensions/ext/qwen-extension.json': extension(server, 'planted') }),
  },
  ...['planted', 'gw'].map(
    (name): Plant => ({
      ...{ source: 'sub-agents', place: `of the project, named ${name}`, ...CALL_QWEN },
      work: (server) => ({ '.qwen/agents/helper.md': qwenAgent(server, name) }),
    }),
  ),
  {
    ...{ source: 'sub-agents', place: 'of the user', ...CALL_QWEN },
    home: (server) => ({ '.qwen/agents/helper.md': qwenAgent(server) }),
  },
  {
    ...{ source: 'sub-agents', place: 'of an extension', ...CALL_QWEN },
    home: (server) => ({
      '.qwen/extensions/ext/qwen-extension.json': json({ name: 'ext', version: '1.0.0' }),
      '.qwen/extensions/ext/agents/helper.md': qwenAgent(server),
    }),
  },
  {
    ...{ source: 'sub-agents', place: 'of a linked extension', ...CALL_QWEN },
    home: (_, root) => ({ '.qwen/extensions/ext/.qwen-extension-install.json': linkTo(`${root}/work/ext`) }),
    work: (server) => ({
      'ext/qwen-extension.json': json({ name: 'ext', version: '1.0.0' }),
      'ext/agents/helper.md': qwenAgent(server),
    }),
  },
  ...['of the project', 'of the user, in an older file'].map((place, at): Plant => {
    const settings = ({ command, args }: LocalServer): string => {
      const line = [command, ...args].join(' ')
      return json(at === 0 ? { mcp: { serverCommand: line } } : { mcpServerCommand: line })
    }
    return {
      ...{ source: 'a command in its settings', place, refusal: /settings\.json/ },
      ...(at === 0
        ? { work: (server) => ({ '.qwen/settings.json': settings(server) }) }
        : { home: (server) => ({ '.qwen/settings.json': settings(server) }) }),
    }
  }),
  {
    source: 'flags',
    args: (prompt, { server }) => ['--auth-type', 'openai', '-p', prompt, '--mcp-config', mcpServers(server)],
    refusal: REFUSED_FLAG,
  },
]

const COPILOT_AGENT = {
  args: (prompt: string) => ['--agent', 'helper', '-p', prompt, '--allow-all-tools'],
  refusal: /helper\.md/,
}
const copilotServer = (server: LocalServer): object => ({ type: 'local', ...server, tools: ['*'] })
const copilotAgent = (server: LocalServer): string => markdown({ 'mcp-servers': { planted: copilotServer(server) } })
/** Setting it to this also trusts the folder. */
const TRUSTED = { environment: () => ({ COPILOT_ALLOW_ALL: 'true' }) }
const copilot: readonly Plant[] = [
  { source: 'files of the user and of the project', place: 'user', ...OWN },
  {
    ...{ source: 'files of the user and of the project', place: 'project', ...TRUSTED },
    work: (server) => ({ '.github/mcp.json': mcpServers(copilotServer(server)) }),
  },
  {
    ...{ source: 'files of the project without `mcpServers`', ...TRUSTED, refusal: /\.mcp\.json/ },
    work: (server) => ({ '.mcp.json': json({ planted: copilotServer(server) }) }),
  },
  {
    ...{ source: 'sessions that are resumed', ...TRUSTED },
    work: (server) => ({ '../other/.mcp.json': mcpServers(copilotServer(server)) }),
    earlier: (prompt) => ['-C', '../other', '--name=before', '-p', prompt, '--allow-all-tools'],
    args: (prompt) => ['--resume=before', '-p', prompt, '--allow-all-tools'],
    refusal: /--resume/,
  },
  ...['.github', '.claude'].map(
    (folder): Plant => ({
      ...{ source: 'custom agents', place: folder, ...COPILOT_AGENT },
      work: (server) => ({ [`${folder}/agents/helper.md`]: copilotAgent(server) }),
    }),
  ),
  {
    ...{ source: 'custom agents', place: 'user', ...COPILOT_AGENT },
    home: (server) => ({ '.copilot/agents/helper.md': copilotAgent(server) }),
  },
  {
    source: 'plugins',
    args: (prompt) => ['--plugin-dir', 'plug', '-p', prompt, '--allow-all-tools'],
    work: (server) => ({ 'plug/plugin.json': CLAUDE_PLUGIN, 'plug/.mcp.json': mcpServers(copilotServer(server)) }),
    refusal: REFUSED_FLAG,
  },
  {
    ...{ source: 'plugins', place: 'that lie elsewhere', refusal: /plug\/\.mcp\.json/ },
    home: (_, root) => ({
      '.copilot/settings.json': json({
        enabledPlugins: { 'plug@local': true },
        extraKnownMarketplaces: { local: { source: { source: 'directory', path: `${root}/work/market` } } },
      }),
    }),
    work: (server) => ({
      'market/.claude-plugin/marketplace.json': json({
        ...{ name: 'local', owner: { name: 'o' } },
        plugins: [{ name: 'plug', source: './plug', description: 'A plugin.' }],
      }),
      'market/plug/plugin.json': CLAUDE_PLUGIN,
      'market/plug/.mcp.json': mcpServers(copilotServer(server)),
    }),
  },
  {
    source: 'flags',
    args: (prompt, { server }) => [
      ...['-p', prompt, '--allow-all-tools'],
      `--additional-mcp-config=${mcpServers(copilotServer(server))}`,
    ],
    refusal: REFUSED_FLAG,
  },
]

const opencodeServer = ({ command, args }: LocalServer): object => ({ type: 'local', command: [command, ...args] })
const opencodeLike = (name: string, prefix: string, homeFolder: string): readonly Plant[] => [
  { source: 'configuration of the user', ...OWN },
  {
    source: 'configuration of the project',
    work: (server) => ({ [`${name}.json`]: json({ mcp: { planted: opencodeServer(server) } }) }),
  },
  {
    source: 'variables',
    work: (server) => ({ [`more/${name}.json`]: json({ mcp: { planted: opencodeServer(server) } }) }),
    environment: (root) => ({ [`${prefix}_CONFIG_DIR`]: `${root}/work/more` }),
  },
  {
    source: 'configuration of the user',
    place: 'its oldest file',
    home: ({ command, args }) => ({
      [`.config/${name}/config`]: `[mcp.planted]\ntype = "local"\ncommand = ${JSON.stringify([command, ...args])}\n`,
    }),
  },
  {
    source: 'configuration of the project',
    place: 'its folder',
    work: (server) => ({ [`.${name}/${name}.json`]: json({ mcp: { planted: opencodeServer(server) } }) }),
  },
  {
    source: 'folders of the home',
    home: (server) => ({ [`${homeFolder}/${name}.json`]: json({ mcp: { planted: opencodeServer(server) } }) }),
  },
]
const kilo: readonly Plant[] = [
  ...opencodeLike('kilo', 'KILO', '.kilo'),
  ...['.kilocode', '.kilo'].map(
    (folder): Plant => ({
      ...{ source: 'older files of the project', place: folder },
      work: (server) => ({ [`${folder}/mcp.json`]: mcpServers(server) }),
    }),
  ),
]

const gooseExtension = ({ command, args }: LocalServer): object => ({
  ...{ type: 'stdio', name: 'planted', cmd: command, args, enabled: true, timeout: 60 },
})
const GOOSE_PLUGIN = json({ name: 'plug', version: '1.0.0', description: 'A plugin.' })
const goosePlugin = (folder: string, server: LocalServer): Readonly<Record<string, string>> => ({
  [`${folder}/plug/plugin.json`]: GOOSE_PLUGIN,
  [`${folder}/plug/.mcp.json`]: mcpServers(server),
})
const goose: readonly Plant[] = [
  { source: 'extensions of the user', ...OWN },
  {
    source: 'variables',
    work: (server) => ({ 'more.yaml': yaml({ extensions: { planted: gooseExtension(server) } }) }),
    environment: (root) => ({ GOOSE_ADDITIONAL_CONFIG_FILES: `${root}/work/more.yaml` }),
  },
  { source: 'plugins', place: 'user', home: (server) => goosePlugin('.agents/plugins', server) },
  { source: 'plugins', place: 'project', work: (server) => goosePlugin('.agents/plugins', server) },
  {
    source: 'sessions that are resumed',
    ...OWN,
    earlier: (prompt) => ['run', '-n', 'before', '-t', prompt],
    args: (prompt) => ['run', '--resume', '-n', 'before', '-t', prompt],
    refusal: /"own" in the session/,
  },
  {
    source: 'flags and commands',
    args: (prompt, { server: { command, args } }) => [
      ...['run', '-t', prompt, '--with-extension', `planted:${[command, ...args].join(' ')}`],
    ],
    refusal: REFUSED_FLAG,
  },
]

const AGENT_PLUGINS = 'https://agent-plugins.org/schemas/1.0.0'
const cline: readonly Plant[] = [
  { source: 'settings of the user', ...OWN },
  {
    source: 'variables',
    work: (server) => ({ 'other.json': mcpServers(server) }),
    environment: (root) => ({ CLINE_MCP_SETTINGS_PATH: `${root}/work/other.json` }),
  },
  {
    source: 'plugins',
    refusal: /plugins\/plug\/mcp\.json/,
    home: ({ args }) => ({
      '.agents/plugins/plug/plugin.json': json({ $schema: `${AGENT_PLUGINS}/plugin.schema.json`, name: 'plug' }),
      '.agents/plugins/plug/mcp.json': json({
        $schema: `${AGENT_PLUGINS}/mcp.schema.json`,
        mcpServers: { planted: { type: 'stdio', command: 'node', args } },
      }),
    }),
  },
]

const continueCli: readonly Plant[] = [
  { source: 'configuration of the user', ...OWN },
  {
    source: 'blocks that flags name',
    args: (prompt, { root }) => ['--rule', `${root}/work/block.yaml`, '-p', prompt],
    work: (server) => ({
      'block.yaml': json({ name: 'b', version: '1.0.0', schema: 'v1', mcpServers: [{ name: 'planted', ...server }] }),
    }),
    refusal: /block\.yaml/,
  },
]

/** A plugin that Droid takes for an installed one, wherever it lies. */
const droidInstalled = (root: string): string => {
  const at = '2026-01-01T00:00:00.000Z'
  const entry = { scope: 'user', installPath: `${root}/work/plug`, version: '1.0.0', installedAt: at, lastUpdated: at }
  return json({ schemaVersion: 1, plugins: { 'plug@local': [{ ...entry, source: 'local' }] } })
}
const droid: readonly Plant[] = [
  { source: 'file of the user', ...OWN },
  {
    ...{ source: 'plugins', place: 'that lie elsewhere', refusal: /plug\/mcp\.json/ },
    home: (_, root) => ({ '.factory/plugins/installed_plugins.json': droidInstalled(root) }),
    work: (server) => ({
      '.factory/settings.json': json({ enabledPlugins: { 'plug@local': true } }),
      'plug/.factory-plugin/plugin.json': CLAUDE_PLUGIN,
      'plug/mcp.json': mcpServers({ type: 'stdio', ...server }),
    }),
  },
  {
    source: 'files of the project',
    work: (server) => ({ '.factory/mcp.json': mcpServers({ type: 'stdio', ...server }) }),
    refusal: /\.factory\/mcp\.json/,
  },
  ...['a flag', 'a variable'].map(
    (place, at): Plant => ({
      ...{ source: 'settings for one run', place, refusal: /run\.json/ },
      work: (server) => ({
        'run.json': json({ mcp: { mcpServers: { planted: { type: 'stdio', ...server, disabled: false } } } }),
      }),
      args: (prompt, { root }) => [
        ...['exec', '--auto', 'high', '--model', 'custom:scripted-0', prompt],
        ...(at === 0 ? ['--settings', `${root}/work/run.json`] : []),
      ],
      environment: (root) => (at === 0 ? {} : { FACTORY_RUNTIME_SETTINGS_PATH: `${root}/work/run.json` }),
    }),
  ),
]

/** Kimi starts servers of folders that somebody trusted. */
const kimiTrust = (root: string): Readonly<Record<string, string>> => {
  const folder = `${root}/work`
  const hash = createHash('sha256').update(folder).digest('hex').slice(0, 12)
  return { [`.kimi-code/workspace-trust/wd_work_${hash}`]: json({ root: folder, trustedAt: 1 }) }
}
const kimi: readonly Plant[] = [
  { source: 'file of the user', ...OWN },
  ...['.mcp.json', '.kimi-code/mcp.json'].map(
    (path): Plant => ({
      ...{ source: 'files of the project', place: path, refusal: /mcp\.json/ },
      home: (_, root) => kimiTrust(root),
      work: (server) => ({ [path]: mcpServers(server) }),
    }),
  ),
  {
    ...{ source: 'plugins', place: 'that lie elsewhere', refusal: /kimi\.plugin\.json/ },
    home: (_, root) => ({
      '.kimi-code/plugins/installed.json': json({
        version: 1,
        plugins: [{ id: 'plug', root: `${root}/work/plug`, source: 'local-path', enabled: true }],
      }),
    }),
    work: ({ args }) => ({
      'plug/kimi.plugin.json': json({ name: 'plug', mcpServers: { planted: { command: 'node', args } } }),
    }),
  },
]

/** For each agent what of its sources was tried, by name. */
export const PLANTS: Readonly<Record<string, readonly Plant[]>> = {
  ...{ 'claude-code': claudeCode, codex: codexPlants, 'gemini-cli': geminiCli, 'qwen-code': qwenCode, copilot, goose },
  ...{ opencode: opencodeLike('opencode', 'OPENCODE', '.opencode'), kilo, cline, continue: continueCli, droid, kimi },
}
