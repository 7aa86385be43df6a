/**
 * Which room may import what: the layers of ARCHITECTURE.md, as one table.
 *
 *   node lint/layers.mjs      checks every file below packages, and fails on an import that the table does not allow
 *
 * A room is a folder. Its files may import each other, folders without an entry of their own belong to the room around
 * them, and a room is entered by its door: the file with its name. Tests may look inside.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const GATEWAY = 'packages/gateway/src'
const KIT = 'packages/kit/src'
const CORE = '@sallyport/core'
const NODE = 'node:*'

/**
 * From the bottom up; rooms of one level do not know each other.
 * @type {readonly (readonly string[])[]}
 */
export const LEVELS = [
  ['disk'],
  ['config', 'store', 'telemetry', 'sandbox'],
  ['upstream', 'agents', 'sessions', 'governance'],
  ['catalog', 'isolation'],
  ['pipeline'],
  ['serve', 'replay'],
]

/**
 * What a room of a level takes besides the doors below it.
 * @type {Readonly<Record<string, readonly string[]>>}
 */
const TAKES = {
  config: ['yaml'],
  store: ['@sallyport/kit/labels'],
  telemetry: ['@opentelemetry/*'],
  sandbox: [`${GATEWAY}/package-root.ts`, ...doors(`${GATEWAY}/sandbox`, ['egress'])],
  upstream: ['@sallyport/kit', ...doors(`${GATEWAY}/upstream`, ['stdio', 'http', 'docker', 'processes', 'built-in'])],
  agents: ['jsonc-parser', 'smol-toml', 'yaml', `${GATEWAY}/agents/*/*.ts`],
  sessions: ['@sallyport/kit/identity', '@sallyport/kit/keys'],
  governance: ['re2js', ...doors(`${GATEWAY}/governance`, ['tools-file', 'schema-check'])],
  isolation: ['@sallyport/kit', '@sallyport/kit/keys', 'ai', '@ai-sdk/*'],
  pipeline: ['@sallyport/kit/http-intake'],
  serve: [
    '@sallyport/kit/http-intake',
    '@sallyport/kit/line-reader',
    `${GATEWAY}/serve/api/api-listener.ts`,
    `${GATEWAY}/package-root.ts`,
  ],
}

const ALL_DOORS = doors(GATEWAY, LEVELS.flat())
const TRANSPORT = ['transport', 'permit', 'answers/frame-reader', 'answers/utf8-check', 'stderr-tail'].map(
  (name) => `${GATEWAY}/upstream/${name}.ts`,
)
const CONFIG = `${GATEWAY}/config/config.ts`

/**
 * Folder → what its files may import. The deepest folder that holds a file decides.
 * @type {Readonly<Record<string, readonly string[]>>}
 */
export const ROOMS = {
  'packages/core/src': ['packages/core/src/json/json.ts', 'packages/core/src/shaping/shaping.ts'],
  'packages/core/src/json': ['packages/core/src/*.ts', 'packages/core/src/text/*.ts', 'packages/core/src/secrets/*.ts'],
  'packages/core/src/shaping': [
    'packages/core/src/*.ts',
    'packages/core/src/text/*.ts',
    'packages/core/src/json/json.ts',
  ],

  [KIT]: [
    ...[NODE, CORE, `${KIT}/connectors/connector-error.ts`],
    ...doors(
      KIT,
      'schema call keys offers protocol identity config http private-data workspace results client'.split(' '),
    ),
  ],
  ...kitRoom('schema', [CORE]),
  ...kitRoom('call', [NODE, CORE, 'json-rpc.ts', 'tool-error.ts'], ['schema']),
  ...kitRoom(
    'offers',
    [NODE, CORE, 'json-rpc.ts', 'to-json.ts', 'tool-error.ts', 'tool-result.ts'],
    ['schema', 'call', 'identity', 'keys', 'private-data'],
  ),
  ...kitRoom(
    'protocol',
    [NODE, CORE, 'json-rpc.ts', 'era.ts', 'tool-error.ts', 'tool-result.ts'],
    ['call', 'offers', 'identity', 'private-data', 'results', 'workspace'],
  ),
  ...kitRoom('results', [NODE, CORE, 'tool-error.ts', 'tool-result.ts'], ['identity', 'keys', 'workspace']),
  ...kitRoom(
    'http',
    [NODE, CORE, 'era.ts', 'json-rpc.ts', 'unhandled-rejections.ts', 'mcp-server.ts'],
    ['call', 'protocol', 'identity'],
  ),
  ...kitRoom('keys', [NODE, CORE, 'add-file.ts']),
  ...kitRoom('identity', [NODE, CORE, 'jose'], ['keys']),
  ...kitRoom('config', [NODE, CORE, 'yaml'], ['identity']),
  ...kitRoom('private-data', [NODE, CORE, 'add-file.ts'], ['identity']),
  ...kitRoom('workspace', [NODE, CORE, 'add-file.ts', 'retry-fatal-errors.ts'], ['identity', 'keys', 'private-data']),
  ...kitRoom(
    'connectors',
    [NODE, CORE, 'retry-fatal-errors.ts', 'connectors/sql/sql.ts', 'connectors/open-api/open-api.ts'],
    ['private-data', 'workspace'],
  ),
  ...kitRoom('connectors/sql', connectorParts(), ['private-data', 'workspace']),
  ...kitRoom('connectors/open-api', connectorParts(), ['private-data', 'workspace']),
  ...kitRoom('testing', ['node:crypto', CORE, 'form.ts', 'mcp-server.ts', 'tool-result.ts'], ['protocol', 'identity']),
  ...kitRoom(
    'client',
    [
      ...[NODE, CORE, 'form.ts', 'mcp-server.ts', 'tool-error.ts', 'tool-result.ts'],
      ...['ai', '@modelcontextprotocol/client', '@modelcontextprotocol/client/stdio'],
    ],
    ['protocol', 'config', 'identity', 'private-data'],
  ),

  // Types only: `web-types.grit` holds that.
  'packages/web/src': [
    ...['@base-ui/react/*', '@tanstack/*', 'hono/client', 'lucide-react', 'react', 'react-dom/client'],
    ...['react-router', 'react-router/dom', 'uplot', `${GATEWAY}/serve/api/api.ts`],
  ],

  ...gatewayRooms(),
  [`${GATEWAY}/sandbox/egress`]: [NODE, CORE],
  [`${GATEWAY}/sandbox/export`]: [CORE, 'yaml'],
  [`${GATEWAY}/upstream/processes`]: [NODE, CORE],
  [`${GATEWAY}/upstream/stdio`]: [
    ...[NODE, CORE, CONFIG, `${GATEWAY}/sandbox/sandbox.ts`, ...TRANSPORT],
    ...doors(`${GATEWAY}/upstream`, ['processes']),
  ],
  [`${GATEWAY}/upstream/http`]: [NODE, CORE, CONFIG, ...TRANSPORT, '@sallyport/kit/http-intake'],
  [`${GATEWAY}/upstream/docker`]: [
    ...[NODE, CORE, CONFIG, `${GATEWAY}/upstream/transport.ts`, `${GATEWAY}/upstream/stderr-tail.ts`],
    ...doors(`${GATEWAY}/upstream`, ['stdio', 'http', 'processes']),
  ],
  [`${GATEWAY}/upstream/built-in`]: [NODE, CORE, '@sallyport/kit', ...TRANSPORT],
  // An agent stands on what all agents have in common, and knows no other.
  [`${GATEWAY}/agents/*`]: [
    NODE,
    CORE,
    `${GATEWAY}/agents/*.ts`,
    `${GATEWAY}/agents/files/*.ts`,
    `${GATEWAY}/disk/disk.ts`,
    CONFIG,
  ],
  [`${GATEWAY}/agents/files`]: [
    NODE,
    CORE,
    'jsonc-parser',
    'smol-toml',
    'yaml',
    `${GATEWAY}/agents/*.ts`,
    `${GATEWAY}/disk/disk.ts`,
    CONFIG,
  ],
  [`${GATEWAY}/governance/tools-file`]: [NODE, CORE, 'yaml', CONFIG],
  [`${GATEWAY}/governance/schema-check`]: [NODE, CORE, 'ajv', 'ajv/dist/*'],
  [`${GATEWAY}/serve/api`]: [
    ...[NODE, CORE, '@sallyport/kit/http-intake', 'hono', 'hono/**', '@hono/*', 'zod', `${GATEWAY}/serve/**`],
    ...doors(GATEWAY, LEVELS.slice(0, -1).flat()),
  ],

  // The composition enters every room, and nothing but the cli imports the cli.
  [GATEWAY]: [NODE, CORE, '@sallyport/kit', '@sallyport/kit/http-intake', '@sallyport/kit/keys', ...ALL_DOORS],
  // The light ways in are explained in ARCHITECTURE.md.
  [`${GATEWAY}/cli`]: [
    ...[
      NODE,
      CORE,
      '@sallyport/kit/line-reader',
      '@stricli/core',
      `${GATEWAY}/*.ts`,
      `${GATEWAY}/compose/*.ts`,
      ...ALL_DOORS,
    ],
    ...['api/api.ts', 'gateway-socket.ts', 'problem.ts'].map((file) => `${GATEWAY}/serve/${file}`),
    ...doors(`${GATEWAY}/sandbox`, ['export']),
  ],
}

function doors(parent, names) {
  return names.map((name) => `${parent}/${name}/${name}.ts`)
}

/** `takes`: packages, and files of the kit; `rooms`: entered by their doors. */
function kitRoom(name, takes, rooms = []) {
  const allowed = takes.map((taken) => (taken.endsWith('.ts') ? `${KIT}/${taken}` : taken))
  return { [`${KIT}/${name}`]: [...allowed, ...doors(KIT, rooms)] }
}

function connectorParts() {
  return [NODE, CORE, 'pg', 'yaml', 'connectors/connector-error.ts', 'connectors/with-workspace.ts']
}

function gatewayRooms() {
  const rooms = LEVELS.flatMap((level, height) => {
    const below = doors(GATEWAY, LEVELS.slice(0, height).flat())
    return level.map((name) => [`${GATEWAY}/${name}`, [NODE, CORE, ...below, ...(TAKES[name] ?? [])]])
  })
  return Object.fromEntries(rooms)
}

const SPECIFIER = /^\s*(?:import|export)\b[^'"]*?\bfrom\s*'([\w@./:-]+)'|\bimport\s*\(?\s*'([\w@./:-]+)'/gm
const IS_TEST = /\.test\.tsx?$|\.test-kit\./

/**
 * Each import that the table does not allow.
 * @param {string} root
 * @returns {readonly { readonly file: string; readonly source: string; readonly room: string | undefined }[]}
 */
export function checkLayers(root) {
  const found = []
  for (const entry of readdirSync(join(root, 'packages'), { recursive: true, withFileTypes: true })) {
    const file = relative(root, join(entry.parentPath, entry.name))
    if (!/^packages\/\w+\/src\/.*\.tsx?$/.test(file) || IS_TEST.test(file)) continue
    for (const source of importsOf(readFileSync(join(root, file), 'utf8'))) {
      const room = roomOf(file)
      if (room === undefined || !isAllowed(file, room, source)) found.push({ file, source, room })
    }
  }
  return found
}

function importsOf(text) {
  return [...text.matchAll(SPECIFIER)].map(([, from, bare]) => from ?? bare)
}

function roomOf(file) {
  for (let folder = dirname(file); folder !== '.'; folder = dirname(folder)) {
    if (ROOMS[folder] !== undefined) return folder
    const siblings = `${dirname(folder)}/*`
    if (ROOMS[siblings] !== undefined) return folder
  }
  return undefined
}

function isAllowed(file, room, source) {
  const allowed = ROOMS[room] ?? ROOMS[`${dirname(room)}/*`]
  if (!source.startsWith('.')) return allowed.some((pattern) => matches(pattern, source))
  const target = normalize(join(dirname(file), source))
  return roomOf(target) === room || allowed.some((pattern) => matches(pattern, target))
}

/** `*` stands for one part of a path, `**` for any number. */
function matches(pattern, path) {
  const parts = pattern.split(/(\*\*|\*)/).map((part) => {
    if (part === '**') return '.*'
    return part === '*' ? '[^/]*' : part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&')
  })
  const shape = pattern === NODE ? 'node:.*' : parts.join('')
  return new RegExp(`^${shape}$`).test(path)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const found = checkLayers(fileURLToPath(new URL('..', import.meta.url)))
  for (const { file, source, room } of found)
    console.error(`${file}: "${source}" may not be imported from ${room} (lint/layers.mjs, ARCHITECTURE.md)`)
  process.exitCode = found.length > 0 ? 1 : 0
}
