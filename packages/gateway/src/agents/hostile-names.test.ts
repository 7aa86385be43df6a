import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { configWith } from './adapter.test-kit.ts'
import { ADAPTERS } from './agents.ts'

const name = fc.oneof(
  fc.constantFrom(
    '__proto__',
    'constructor',
    'hasOwnProperty',
    'toString',
    '',
    ' ',
    '.',
    'a.b',
    'a b',
    '"',
    "'",
    '\\',
    '#',
  ),
  fc.constantFrom(
    '\n',
    '\r\n',
    '\u2028',
    '\u0000',
    '\uFEFFx',
    '\u202E',
    '<<',
    '*a',
    '&a',
    '!!x',
    '- ',
    '~',
    'null',
    '1e3',
    '-0',
  ),
  fc.string({ unit: 'grapheme', maxLength: 8 }),
  fc.string({ unit: 'binary', maxLength: 8 }),
)

describe.each(ADAPTERS.filter(({ supportsMcp }) => supportsMcp).map((adapter) => [adapter.id, adapter] as const))(
  `servers of %s (${promise('AG-3')})`,
  (_, adapter) => {
    it('keep their names and entries, whatever their names are', () => {
      fc.assert(
        fc.property(fc.uniqueArray(name, { maxLength: 6 }), (names) => {
          const entries = names.map((one, at) => [one, { command: `c${at}`, args: ['$A', one] }] as const)
          const native = configWith(adapter, entries)
          const { servers, problems } = native
          expect(problems).toEqual([])
          expect(new Map(servers.map((server) => [server.name, server.entry.command]))).toEqual(
            new Map(names.map((one, at) => [one, `c${at}`])),
          )
          expect(Object.prototype).not.toHaveProperty('command')
          for (const server of servers) {
            expect(server.entry.args).toEqual(['$A', server.name])
            expect(adapter.toServer(server)).toBeDefined()
            const { config, wrap } = adapter.filterAvailableMcpTools(native, [server.name], [])
            expect(config.servers.length + wrap.length).toBeLessThanOrEqual(names.length)
          }
        }),
        { numRuns: 40 },
      )
    })
  },
)
