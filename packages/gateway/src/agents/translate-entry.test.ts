// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the entries hold references.

import type { JsonObject } from '@sallyport/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { parseTree } from '../config/reading/located-tree.ts'
import { readConfig } from '../config/reading/read-config.ts'
import { ADAPTERS } from './registry.ts'

/** What our own config makes of an entry, with every variable set. */
function problemsOf(config: unknown): readonly string[] {
  const { errors, warnings } = readConfig({
    file: '/home/ada/.config/sallyport/config.yaml',
    tree: parseTree(JSON.stringify({ mcp_servers: { imported: config } })),
    home: '/home/ada/.config/sallyport',
    userHome: '/home/ada',
    lookup: () => 'https://host/mcp',
    docker: { enabled: false } as never,
  })
  return [...errors, ...warnings].map(({ key, problem }) => `${key}: ${problem}`)
}

const NATIVE_KEYS = [
  ...['type', 'command', 'cmd', 'args', 'env', 'envs', 'environment', 'env_vars', 'env_keys', 'cwd', 'url', 'uri'],
  ...[
    'httpUrl',
    'headers',
    'http_headers',
    'env_http_headers',
    'bearer_token_env_var',
    'enabled',
    'disabled',
    'timeout',
  ],
  ...['startup_timeout_sec', 'tool_timeout_sec', 'includeTools', 'excludeTools', 'enabled_tools', 'disabledTools'],
  ...[
    'tools',
    'available_tools',
    'description',
    'display_name',
    'source',
    'requestOptions',
    '__proto__',
    'constructor',
  ],
]

const text = fc.oneof(
  fc.constantFrom(
    'npx',
    './x',
    'https://h/mcp',
    'http://u:p@h',
    '${A}',
    '$A',
    '{env:A}',
    '${env:A}',
    'a\u0000b',
    '',
    '*',
  ),
  fc.constantFrom(
    'stdio',
    'http',
    'sse',
    'local',
    'remote',
    'builtin',
    'extension',
    'Authorization',
    'x: y\r\nz',
    '${',
    'ü',
  ),
  fc.string({ maxLength: 12 }),
)
const value = fc.oneof(
  { weight: 6, arbitrary: text },
  { weight: 2, arbitrary: fc.array(fc.oneof(text, fc.integer(), fc.constant(null)), { maxLength: 3 }) },
  { weight: 3, arbitrary: fc.dictionary(text, fc.oneof(text, fc.integer(), fc.constant(null)), { maxKeys: 3 }) },
  { weight: 1, arbitrary: fc.oneof(fc.integer(), fc.double(), fc.boolean(), fc.constant(null)) },
)
const entry = fc
  .array(fc.tuple(fc.constantFrom(...NATIVE_KEYS), value), { maxLength: 8 })
  .map((pairs) => Object.fromEntries(pairs) as JsonObject)

describe(`an entry of an agent (${promise('AG-1')})`, () => {
  it.each(ADAPTERS.map((adapter) => [adapter.id, adapter] as const))(
    'of %s becomes one that our config accepts, or is refused with a reason',
    (_, adapter) => {
      fc.assert(
        fc.property(entry, (native) => {
          const imported = adapter.toServer({ name: 'x', entry: native })
          if (!imported.ok) expect(imported.why).toMatch(/\S.*\.$/)
          if (!imported.ok) return
          // What a variable holds may make a good address of it, or a bad one.
          const isOpen = String(imported.config.url).includes('${')
          const problems = problemsOf(imported.config).filter((problem) => !(isOpen && problem.includes('.url:')))
          expect(problems.filter((problem) => !problem.includes('SSE transport'))).toEqual([])
        }),
        { numRuns: 200, examples: [[{ httpUrl: 'https://h/mcp', includeTools: [''], excludeTools: [''] }]] },
      )
    },
  )

  it('never quotes a value of it in a note or a reason', () => {
    const secret = 'sk-4f9a8b7c6d'
    const secretive = fc
      .array(
        fc.tuple(
          fc.constantFrom(...NATIVE_KEYS, 'unknown'),
          fc.constantFrom(secret, [secret], { A: secret }, { A: [secret] }, `https://u:${secret}@h`, `\${x ${secret}}`),
        ),
        { maxLength: 6 },
      )
      .map((pairs) => Object.fromEntries(pairs) as unknown as JsonObject)
    fc.assert(
      fc.property(secretive, fc.constantFrom(...ADAPTERS), (native, adapter) => {
        const imported = adapter.toServer({ name: 'x', entry: native })
        expect(imported.ok ? imported.notes.join() : imported.why).not.toContain(secret)
      }),
    )
  })
})
